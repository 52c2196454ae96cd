"""What candidates answered to one turn, before the judge of its user: every reply with its verdict, the best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import pandas as pd

from perslib.corpus import TURN, Block
from perslib.errors import PerslibError
from perslib.explorer.asking import Asking
from perslib.explorer.drawing import distribution_html
from perslib.explorer.looking import Looking
from perslib.explorer.see import system_name
from perslib.explorer.verdicts import score_of
from perslib.explorer.words import say
from perslib.judge import Verdict
from perslib.llm import Steps
from perslib.memory import UserMemory
from perslib.replay import ORIGINAL, read_replies
from perslib.report.show import escape, fold_html, score_chip, text_html
from perslib.report.words import name_of

_COLUMNS = ["candidate", *TURN, "response"]


class Replayed(widgets.VBox):
    """The candidates of the open turn; their replies come with the corpus or from a file."""

    def __init__(self, looking: Looking, replies: pd.DataFrame | str | Path | None = None):
        self.looking = looking
        language = looking.language
        self.replies = pd.DataFrame(columns=_COLUMNS)
        wide: Mapping[str, Any] = {
            "style": {"description_width": "initial"},
            "layout": widgets.Layout(width="min(46em, 100%)"),
        }
        self.file = widgets.Text(
            description=self.looking.say("compare_file"),
            placeholder=self.looking.say("compare_file_hint"),
            continuous_update=False,
            **wide,
        )
        self.turn = widgets.Dropdown(description=self.looking.say("compare_turns"), **wide)
        self.score, self.write = (
            widgets.Button(
                description=say(key, language),
                tooltip=say(f"{key}_tip", language),
                layout=widgets.Layout(width="auto"),
            )
            for key in ("judge_score", "judge_written")
        )
        self.said, self.loaded, self.shown = widgets.HTML(), widgets.HTML(), widgets.HTML()
        self.asking = Asking(looking)
        self.turn.observe(self._choose, "value")
        self._take(replies)
        self.file.observe(lambda change: self._take(change["new"].strip() or None), "value")
        self.score.on_click(lambda _: self.ask(written=False))
        self.write.on_click(lambda _: self.ask(written=True))
        looking.observe(self._moved, ["opened", "at"])
        looking.observe(self._clear, ["draft", "system"])
        super().__init__(
            [
                widgets.HTML(f"<h3 class='pl-h'>{escape(self.looking.say('compare_candidates'))}</h3>"),
                *(self.file, self.loaded, self.turn, self.said),
                widgets.HBox([self.score, self.write]).add_class("pl-bar"),
                *(self.asking, self.shown),
            ]
        )

    # -- which replies --------------------------------------------------------------------------------------

    def _take(self, replies: pd.DataFrame | str | Path | None) -> None:
        """Replies from a frame or a file; without either, those that the corpus comes with."""
        corpus, found, said = self.looking.corpus, replies, ""
        try:
            if found is None:
                found = corpus.extras.get("candidates", pd.DataFrame())
            elif not isinstance(found, pd.DataFrame):
                found = read_replies(Path(found).expanduser(), corpus)
                counts = {"n": len(found), "candidates": found["candidate"].nunique()}
                said = self._line("compare_loaded", path=Path(str(replies)).name, **counts)
        except (PerslibError, OSError) as error:
            self.loaded.value = self._line("compare_unread", role="alert", what=str(error))
            return
        self.loaded.value = said
        found = found if set(_COLUMNS) <= set(found) else pd.DataFrame(columns=_COLUMNS)
        given = found[found["response"].notna()].drop_duplicates(["candidate", *TURN], keep="last")
        self.replies = given[_COLUMNS].reset_index(drop=True)
        self._moved()

    def _moved(self, change: Any = None) -> None:
        """Offer the replayed turns of the open block, and say how many answered the open one."""
        looking = self.looking
        own = self.replies[
            (self.replies["user"] == looking.user) & (self.replies["scenario"] == looking.scenario)
        ]
        pairs = {(str(s), int(t)) for s, t in zip(own["session"], own["turn"])}
        targets = looking.block.targets
        places = [(str(s), int(t)) for s, t in zip(targets["session"], targets["turn"])]
        there = [place for place in places if place in pairs]
        options = [(self.looking.say("rate_place", session=s, turn=t + 1), (s, t)) for s, t in there]
        self.turn.unobserve(self._choose, "value")
        self.turn.options = options
        self.turn.value = looking.at if looking.at in there else None
        self.turn.observe(self._choose, "value")
        self.turn.layout.display = None if there else "none"
        n = len(self._here())
        self.score.disabled = self.write.disabled = not n
        if n:
            self.said.value = self._line("compare_n_here", n=n)
        elif len(self.replies):
            self.said.value = self._line("compare_none_here", n=len(there))
        else:
            self.said.value = self._line("compare_no_candidates")
        self._clear()

    def _here(self) -> pd.DataFrame:
        """The candidates' replies to the open turn."""
        if self.looking.key is None:
            return self.replies.iloc[:0]
        user, scenario, session, turn = self.looking.key
        at = self.replies
        same = (at["user"] == user) & (at["scenario"] == scenario) & (at["session"] == session)
        return at[same & (at["turn"] == turn)]

    def _choose(self, change: Any) -> None:
        if change["new"] is not None:
            self.looking.at = change["new"]

    def _clear(self, change: Any = None) -> None:
        self.asking.clear()
        self.shown.value = ""

    # -- what the judge says --------------------------------------------------------------------------------

    def ask(self, *, written: bool) -> None:
        """Have the recorded reply and every candidate's judged with the same memory."""
        looking, key = self.looking, self.looking.key
        if key is None or self._here().empty:
            return
        self._clear()
        here = self._here()
        recorded = looking.block.target(*key[2:]).response
        names = [ORIGINAL, *here["candidate"]]
        said = [recorded, *here["response"]]
        targets = looking.block.targets
        row = targets[(targets["session"] == key[2]) & (targets["turn"] == key[3])]
        many = row.loc[row.index.repeat(len(said))].reset_index(drop=True)
        block = replace(looking.block, targets=many.assign(response=said))

        def done(found: tuple[UserMemory, Sequence[Verdict]]) -> None:
            looking.journal.note("verdict", key)
            self._show(names, said, *found)

        label = self.looking.say("compare_judging_n", n=len(said))
        self.asking.start(lambda: self._judged(block, written), done, label)

    def _judged(self, block: Block, written: bool) -> Steps[tuple[UserMemory, Sequence[Verdict]]]:
        """With the memory as it is edited, or as it is built where it is not open yet."""
        looking = self.looking
        if looking.draft is not None:
            memory = looking.draft.memory
        else:
            memory = yield from looking.memory_system().build(block)
        return memory, (yield from looking.judge(memory, written=written).judge(block))

    def _show(
        self, names: Sequence[str], said: Sequence[str], memory: UserMemory, verdicts: Sequence[Verdict]
    ) -> None:
        """The best first; replies without a score at the end."""
        language = self.looking.language
        scores = [score_of(verdict) for verdict in verdicts]
        order = sorted(range(len(names)), key=lambda i: (scores[i] is None, -(scores[i] or 0)))
        called = [name_of(name, language) if name == ORIGINAL else name for name in names]
        rows = [(called[i], verdicts[i].p, scores[i]) for i in order]
        replies = [self._reply(called[i], said[i], verdicts[i]) for i in order]
        name = system_name(self.looking.system, language)
        edited = self.looking.draft is not None and self.looking.draft.changed
        shown = f"{name}, {self.looking.say('compare_draft')}" if edited else name
        self.shown.value = (
            f"{self._line('compare_with', memory=shown)}"
            f"{distribution_html(rows, say('no_distribution', language))}{''.join(replies)}"
        )

    def _reply(self, name: str, text: str, verdict: Verdict) -> str:
        language = self.looking.language
        score = score_of(verdict)
        chip = score_chip(float("nan") if score is None else score)
        reason = (
            f' <span class="pl-note">{escape(name_of(verdict.reason, language))}</span>'
            if verdict.reason
            else ""
        )
        parts = [text_html(text)]
        if verdict.rationale:
            parts.append(
                f'<div class="pl-part">{escape(self.looking.say("rationale"))}</div>{text_html(verdict.rationale)}'
            )
        if verdict.error:
            parts.append(f'<div class="pl-nowhere" role="alert">{escape(verdict.error)}</div>')
        return fold_html(f"{chip} <b>{escape(name)}</b>{reason}", "".join(parts), "pl-group")

    def _line(self, key: str, role: str = "status", **fields: object) -> str:
        kind = "failed" if role == "alert" else "said"
        said = escape(self.looking.say(key, **fields))
        return f'<div class="pl-line pl-line-{kind}" role="{role}">{said}</div>'
