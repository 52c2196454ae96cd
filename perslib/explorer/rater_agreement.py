"""How a rater agrees so far: with the users' own labels, and with the judge.

A rater who asks for this sees labels and verdicts, so the journal notes them as shown: a turn rated again is not blind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import pandas as pd

from perslib.corpus import BLOCK, TURN
from perslib.errors import DataError
from perslib.explorer.controls import RequestStatus, button, div, reply_place
from perslib.explorer.explorer_state import ExplorerState, keys_of, select_by_keys
from perslib.explorer.ratings import rater, read_ratings
from perslib.judge import Personal, Verdict
from perslib.judge.base import make_verdict_frame
from perslib.llm import Ask
from perslib.report.show.html import fold_html, table_html
from perslib.report.show.tables import widen
from perslib.stats import FEWEST_USERS, agreement, agreement_between, with_gold
from perslib.text import mark, translate

#: Measures of agreement, in plain words.
METRICS = {
    "mae": mark("mean difference (MAE)"),
    "accuracy": mark("both satisfied, or neither"),
    "qwk": mark("weighted kappa (QWK)"),
    "spearman": mark("rank correlation (Spearman)"),
}


def unreadable(error: Exception) -> str:
    """Return what to do about a file of ratings that cannot be read."""
    return translate("The file of ratings cannot be read; nothing is saved until it is repaired. {what}", what=error)


class RaterAgreement(widgets.VBox):
    """Agreement of one rater's blind ratings, shown when asked for; the judge is asked only when that is asked for."""

    def __init__(self, state: ExplorerState, path: Path):
        self.state, self.path, self.name = state, path, ""
        self.show = button(state, "Show agreement so far", self.update, "balance-scale")
        self.ask = button(state, "Have the judge rate these turns", self._judge, "gavel")
        self.asking, self.table = RequestStatus(state), widgets.HTML()
        self.verdicts: pd.DataFrame | None = None
        warning = translate(
            "This shows the users' own scores of the turns you rated. If you rate one of them again, the new rating "
            "counts as not blind."
        )
        buttons = widgets.HBox([self.show, self.ask])
        super().__init__([buttons, widgets.HTML(div("small", warning)), self.asking, self.table])

    def forget(self) -> None:
        """Show nothing: the rater, or a rating, is another."""
        if self.asking.busy:
            self.asking.clear()
        self.table.value = ""

    def update(self) -> None:
        """Show the tables as they are now."""
        own = self._ratings()
        if own is None:
            return
        self.state.show_gold(own)
        judged = None if self.verdicts is None else select_by_keys(self.verdicts, set(keys_of(own)))
        judged = None if judged is None or judged.empty else judged
        parts = [self._left_out(own), self._agreement(own, judged), self._turn_by_turn(own, judged)]
        self.table.value = "\n".join(parts)

    def _judge(self) -> None:
        own, state = self._ratings(), self.state
        if own is None:
            return
        keys, settings = set(keys_of(own)), state.scope.make_settings(state.prompts, written=False)
        judge = Personal(state.memory_system(), settings, name=f"personal ({state.system})")
        rated = [state.corpus.block(*of) for of in dict.fromkeys(own[BLOCK].itertuples(index=False, name=None))]
        blocks = [replace(block, targets=select_by_keys(block.targets, keys)) for block in rated]

        async def judge_blocks(ask: Ask) -> list[Sequence[Verdict]]:
            return await asyncio.gather(*(judge.judge(block, ask) for block in blocks))

        def show_agreement(verdicts: list[Sequence[Verdict]]) -> None:
            self.verdicts = make_verdict_frame(judge, state.corpus, state.backbone, blocks, verdicts)
            for key in keys_of(own):
                state.journal.note("verdict", key)
            self.update()

        self.asking.start(judge_blocks, show_agreement, translate("The judge rates {n} turns …", n=len(own)))

    # -- what is shown --------------------------------------------------------------------------------------

    def _ratings(self) -> pd.DataFrame | None:
        """Return the rater's blind ratings of this corpus; None, and a word about it, where there are none."""
        try:
            ratings = read_ratings(self.path)
        except (DataError, OSError) as error:
            self.table.value = div("small", unreadable(error), "status")
            return None
        mine = ratings[ratings["judge"] == rater(self.name)]
        own = select_by_keys(mine, set(keys_of(self.state.corpus.turns))).reset_index(drop=True)
        if own.empty:
            none = translate("There is no blind rating by {name} yet.", name=self.name)
            self.table.value = div("small", none, "status")
            return None
        return own

    def _left_out(self, own: pd.DataFrame) -> str:
        every = read_ratings(self.path, blind=False)
        left_out, users = int((every["judge"] == rater(self.name)).sum()) - len(own), own["user"].nunique()
        message = translate(
            "{n} ratings were made after the user's score or a verdict was shown; they are left out.", n=left_out
        )
        few = translate("Only {n} users: intervals need at least {least}.", n=users, least=FEWEST_USERS)
        messages = {message: left_out > 0, few: users < FEWEST_USERS}
        return "\n".join(div("small", text, "status") for text, holds in messages.items() if holds)

    def _agreement(self, own: pd.DataFrame, judged: pd.DataFrame | None) -> str:
        """Return the rater, the users and the judge, each against each."""
        corpus = self.state.corpus
        how: dict[str, Any] = {"metrics": list(METRICS)}
        frames = {translate("You and the users' own labels"): agreement(own, corpus, **how)}
        if judged is not None:
            both = pd.concat([own, judged], ignore_index=True)
            judge = (judged["judge"].iloc[0], judged["backbone"].iloc[0])
            between = agreement_between(both, judge, rater(self.name), **how)
            frames[translate("You and the judge")] = between
            frames[translate("The judge and the users' own labels")] = agreement(judged, corpus, **how)
        about = translate("between")
        rows = pd.concat([table.assign(**{about: title}) for title, table in frames.items()])
        rows["metric"] = [translate(METRICS[metric]) for metric in rows["metric"]]
        return table_html(widen(rows, [about, "turns", "users"], "metric", digits=3))

    def _turn_by_turn(self, own: pd.DataFrame, judged: pd.DataFrame | None) -> str:
        """Return every turn with all opinions of it, where they differ most first."""
        both = with_gold(own, self.state.corpus, ["raw"])
        if judged is not None:
            both = both.merge(judged[[*TURN, "raw"]].rename(columns={"raw": "said"}), on=TURN, how="left")
        opinions = [c for c in ("raw", "gold", "said") if c in both]
        difference = both[opinions].max(axis=1) - both[opinions].min(axis=1)
        both = both.loc[difference.sort_values(ascending=False, kind="stable").index, [*TURN, *opinions]]
        both["turn"] = [reply_place(session, turn) for session, turn in zip(both["session"], both["turn"])]
        called = {"raw": translate("Your score"), "said": "judge_score"}
        shown = both.drop(columns="session").rename(columns=called)
        return fold_html(translate("Turn by turn"), table_html(shown, digits=0))
