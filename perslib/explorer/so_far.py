"""How a rater agrees so far: with the users' own labels, and with the judge.

Whoever asks for this sees labels and verdicts, so the journal notes them as shown: a turn rated again is not blind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import ipywidgets as widgets
import pandas as pd

from perslib.corpus import BLOCK, TURN, Block
from perslib.errors import DataError
from perslib.explorer.asking import Asking
from perslib.explorer.looking import Looking
from perslib.inference import FEWEST_USERS
from perslib.judge import Judge, Personal, Verdict
from perslib.judge.rows import frame
from perslib.llm import Steps, side_by_side
from perslib.metrics import agreement, between, rater, read_ratings, with_gold, with_interval
from perslib.report.show import escape, fold_html, table_html

METRICS = ("mae", "accuracy", "qwk", "spearman")
RESAMPLES = 2000


class SoFar(widgets.VBox):
    """Agreement of one rater's blind ratings, shown when asked for; the judge is asked only when that is asked for."""

    def __init__(self, looking: Looking, path: Path):
        self.looking, self.path, self.name = looking, path, ""
        self.show = widgets.Button(description=self.looking.say("rate_agreement"), icon="balance-scale")
        self.ask = widgets.Button(description=self.looking.say("rate_ask_judge"), icon="gavel")
        self.asking = Asking(looking)
        self.table = widgets.HTML()
        self.verdicts: pd.DataFrame | None = None
        self.show.on_click(lambda _: self.update())
        self.ask.on_click(lambda _: self._judge())
        for button in (self.show, self.ask):
            button.layout.width = "auto"
        warning = widgets.HTML(
            f'<div class="pl-small">{escape(self.looking.say("rate_agreement_shows"))}</div>'
        )
        super().__init__([widgets.HBox([self.show, self.ask]), warning, self.asking, self.table])

    def forget(self) -> None:
        """Show nothing: the rater, or a rating, is another."""
        if self.asking.busy:
            self.asking.clear()
        self.table.value = ""

    def update(self) -> None:
        """The tables of now."""
        own = self._ratings()
        if own is None:
            return
        self._note("gold", own)
        judged = self._judged(own)
        parts = [self._left_out(own), self._agreement(own, judged), self._turn_by_turn(own, judged)]
        self.table.value = "\n".join(parts)

    # -- the judge ------------------------------------------------------------------------------------------

    def _judge(self) -> None:
        own = self._ratings()
        if own is None:
            return
        judge = Personal(
            self.looking.memory_system(),
            self.looking.extent.manner(self.looking.prompts, written=False),
            name=f"personal ({self.looking.system})",
        )
        blocks = [self._part(rows) for _, rows in own.groupby(BLOCK, sort=False)]

        def done(found: list[Sequence[Verdict]]) -> None:
            self.verdicts = frame(judge, self.looking.corpus, self.looking.backbone, blocks, found)
            self._note("verdict", own)
            self.update()

        label = self.looking.say("rate_judging", n=len(own))
        self.asking.start(lambda: _all(judge, blocks), done, label)

    def _part(self, rows: pd.DataFrame) -> Block:
        """The block that these turns are of, with no other targets."""
        block = self.looking.corpus.block(rows["user"].iloc[0], rows["scenario"].iloc[0])
        wanted = set(zip(rows["session"], rows["turn"]))
        keys = zip(block.targets["session"], block.targets["turn"])
        return replace(block, targets=block.targets[[key in wanted for key in keys]])

    def _judged(self, own: pd.DataFrame) -> pd.DataFrame | None:
        """The judge's verdicts on turns that this rater rated."""
        if self.verdicts is None:
            return None
        rated = set(own[TURN].itertuples(index=False, name=None))
        kept = [key in rated for key in self.verdicts[TURN].itertuples(index=False, name=None)]
        return self.verdicts[kept] if any(kept) else None

    # -- what is shown --------------------------------------------------------------------------------------

    def _ratings(self) -> pd.DataFrame | None:
        """The rater's blind ratings of this corpus; None, and a word about it, where there are none."""
        try:
            found = read_ratings(self.path)
        except (DataError, OSError) as error:
            self.table.value = self._line("rate_unreadable", what=str(error))
            return None
        there = set(self.looking.corpus.turns[TURN].itertuples(index=False, name=None))
        mine = found[found["judge"] == rater(self.name)]
        known = [key in there for key in mine[TURN].itertuples(index=False, name=None)]
        own = mine[known].reset_index(drop=True)
        if own.empty:
            self.table.value = self._line("rate_agreement_none", name=self.name)
            return None
        return own

    def _note(self, what: Literal["gold", "verdict"], own: pd.DataFrame) -> None:
        """From here on these turns are not blind to the rater."""
        for user, scenario, session, turn in own[TURN].itertuples(index=False, name=None):
            self.looking.journal.note(what, (user, scenario, session, int(turn)))
        if what == "gold":
            self.looking.gold_shown += 1

    def _left_out(self, own: pd.DataFrame) -> str:
        every = read_ratings(self.path, blind=False)
        left_out = int((every["judge"] == rater(self.name)).sum()) - len(own)
        users = own["user"].nunique()
        said = [self._line("rate_left_out", n=left_out)] if left_out else []
        if users < FEWEST_USERS:
            said.append(self._line("rate_few_users", n=users, least=FEWEST_USERS))
        return "\n".join(said)

    def _agreement(self, own: pd.DataFrame, judged: pd.DataFrame | None) -> str:
        """The rater, the users and the judge, each against each."""
        corpus = self.looking.corpus
        found = {"rate_with_user": agreement(own, corpus, metrics=METRICS, resamples=RESAMPLES)}
        if judged is not None:
            both = pd.concat([own, judged], ignore_index=True)
            judge = (judged["judge"].iloc[0], judged["backbone"].iloc[0])
            found["rate_with_judge"] = between(
                both, judge, rater(self.name), metrics=METRICS, resamples=RESAMPLES
            )
            found["rate_judge_with_user"] = agreement(judged, corpus, metrics=METRICS, resamples=RESAMPLES)
        return table_html(pd.DataFrame([self._row(title, table) for title, table in found.items()]))

    def _row(self, title: str, found: pd.DataFrame) -> dict[str, object]:
        values = zip(found["metric"], found["value"], found["low"], found["high"])
        return {
            self.looking.say("rate_between"): self.looking.say(title),
            **{self.looking.say(f"rate_metric_{m}"): with_interval(*value) for m, *value in values},
            self.looking.say("rate_turn_count"): int(found["turns"].iloc[0]),
            self.looking.say("rate_user_count"): int(found["users"].iloc[0]),
        }

    def _turn_by_turn(self, own: pd.DataFrame, judged: pd.DataFrame | None) -> str:
        """Every turn with all opinions of it, where they differ most first."""
        both = with_gold(own, self.looking.corpus, ["raw"])
        if judged is not None:
            both = both.merge(judged[[*TURN, "raw"]].rename(columns={"raw": "said"}), on=TURN, how="left")
        opinions = [c for c in ("raw", "gold", "said") if c in both]
        apart = both[opinions].max(axis=1) - both[opinions].min(axis=1)
        both = both.loc[apart.sort_values(ascending=False, kind="stable").index, [*TURN, *opinions]]
        places = [
            self.looking.say("rate_place", session=s, turn=t + 1)
            for s, t in zip(both["session"], both["turn"])
        ]
        both.insert(2, self.looking.say("turn"), places)
        both = both.drop(columns=["session", "turn"])
        called = {"raw": "rate_yours", "gold": "rate_users", "said": "rate_judges"}
        shown = both.rename(columns={c: self.looking.say(w) for c, w in called.items()})
        return fold_html(escape(self.looking.say("rate_turns")), table_html(shown, digits=0))

    def _line(self, key: str, **fields: object) -> str:
        return f'<p class="pl-small" role="status">{escape(self.looking.say(key, **fields))}</p>'


def _all(judge: Judge, blocks: Sequence[Block]) -> Steps[list[Sequence[Verdict]]]:
    """Every block judged."""
    return (yield from side_by_side([judge.judge(block) for block in blocks]))
