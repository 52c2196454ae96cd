"""Comparing verdicts on one turn: under two users or two memories, and of the candidates that answered it anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import pandas as pd

from perslib.corpus import Block
from perslib.explorer.asking import Asking
from perslib.explorer.drawing import distribution_html
from perslib.explorer.looking import Looking
from perslib.explorer.replayed import Replayed
from perslib.explorer.see import system_name, systems
from perslib.explorer.verdicts import score_of, verdict_html
from perslib.explorer.words import say
from perslib.judge import Verdict
from perslib.llm import Steps, side_by_side
from perslib.memory import UserMemory
from perslib.report.show import escape, fold_html, profile_html, text_html

#: Choices of a memory beside the systems: the one being edited, and none.
DRAFT, NONE = "draft", "none"
#: Scores nearer to each other than this would be written as the same.
SAME = 0.005


def compare(looking: Looking, replies: pd.DataFrame | str | Path | None = None) -> widgets.Widget:
    """The panel that sets verdicts on one turn side by side; `replies` are those of candidates, else the corpus's."""
    return widgets.VBox([Two(looking), Replayed(looking, replies)])


@dataclass(frozen=True)
class Side:
    """One of two verdicts on the same reply."""

    label: str
    block: Block
    memory: UserMemory | None
    verdict: Verdict


class Two(widgets.VBox):
    """The open reply before the same judge, with two memories or as two users."""

    def __init__(self, looking: Looking):
        self.looking = looking
        language = looking.language
        users = list(dict.fromkeys(user for user, _ in looking.corpus.block_ids())) or [looking.user]
        self.users = [widgets.Dropdown(options=users, description=self.looking.say("user")) for _ in range(2)]
        self.memories = [widgets.Dropdown(description=self.looking.say("memory")) for _ in range(2)]
        self.score, self.write = (_button(key, language) for key in ("judge_score", "judge_written"))
        self.asking, self.shown = Asking(looking), widgets.HTML()
        self._offer()
        self._opened()
        self.memories[0].value, self.memories[1].value = looking.system, NONE
        self.score.on_click(lambda _: self.ask(written=False))
        self.write.on_click(lambda _: self.ask(written=True))
        for choice in (*self.users, *self.memories):
            choice.observe(self._clear, "value")
        looking.observe(self._opened, "opened")
        looking.observe(self._edited, "draft")
        looking.observe(self._clear, ["at", "reply"])
        said = f"<h3 class='pl-h'>{escape(self.looking.say('compare_two'))}</h3>"
        said += f"<div class='pl-small'>{escape(self.looking.say('compare_two_said'))}</div>"
        rows = [
            widgets.HBox(
                [
                    widgets.HTML(
                        f"<b>{escape(self.looking.say(key))}</b>", layout=widgets.Layout(width="5em")
                    ),
                    user,
                    memory,
                ]
            ).add_class("pl-bar")
            for key, user, memory in zip(("compare_first", "compare_second"), self.users, self.memories)
        ]
        buttons = widgets.HBox([self.score, self.write]).add_class("pl-bar")
        super().__init__([widgets.HTML(said), *rows, buttons, self.asking, self.shown])

    # -- what is compared -----------------------------------------------------------------------------------

    def _offer(self) -> None:
        """The memories there are now."""
        language = self.looking.language
        options = [(system_name(name, language), name) for name in systems()]
        options += [(self.looking.say("compare_draft"), DRAFT), (self.looking.say("compare_none"), NONE)]
        for memory in self.memories:
            chosen = memory.value
            memory.options = options
            memory.value = chosen if chosen in [value for _, value in options] else options[0][1]

    def _opened(self, change: Any = None) -> None:
        for user in self.users:
            if self.looking.user in user.options:
                user.value = self.looking.user
        self._clear()

    def _edited(self, change: Any = None) -> None:
        self._offer()
        if DRAFT in (memory.value for memory in self.memories):
            self._clear()

    def _clear(self, change: Any = None) -> None:
        self.asking.clear()
        self.shown.value = ""

    def ask(self, *, written: bool) -> None:
        """Have the open reply judged for both sides."""
        self._clear()
        asked = self.looking.asked()
        if asked is None:
            self.asking.fail(self.looking.say("no_target"))
            return
        chosen = [(u.value, m.value) for u, m in zip(self.users, self.memories)]
        for user, memory in chosen:
            if memory == DRAFT and self.looking.draft is None:
                self.asking.fail(self.looking.say("compare_no_draft"))
                return
            if memory == DRAFT and user != self.looking.user:
                self.asking.fail(self.looking.say("compare_draft_of", user=self.looking.user))
                return
        recorded = self.looking.reply is None

        def done(sides: list[Side]) -> None:
            if recorded and self.looking.key is not None:
                self.looking.journal.note("verdict", self.looking.key)
            self._show(sides, asked)

        def both() -> Steps[list[Side]]:
            return (yield from side_by_side([self._side(asked, *side, written) for side in chosen]))

        self.asking.start(both, done, self.looking.say("compare_judging"))

    def _side(self, asked: Block, user: str, name: str, written: bool) -> Steps[Side]:
        """The reply judged as this user with this memory."""
        looking = self.looking
        block = looking.corpus.block(user, asked.scenario)
        block = replace(block, targets=asked.targets.assign(user=user))
        memory: UserMemory | None = None
        if name == DRAFT and looking.draft is not None:
            memory = looking.draft.memory
        elif name != NONE:
            memory = yield from looking.memory_system(name).build(block)
        verdicts = yield from looking.judge(memory, written=written).judge(block)
        own = {DRAFT: "compare_draft", NONE: "compare_none"}
        called = self.looking.say(own[name]) if name in own else system_name(name, looking.language)
        return Side(f"{user} · {called}", block, memory, verdicts[0])

    # -- what is shown --------------------------------------------------------------------------------------

    def _show(self, sides: Sequence[Side], asked: Block) -> None:
        language = self.looking.language
        rows = [(side.label, side.verdict.p, score_of(side.verdict)) for side in sides]
        reply = fold_html(
            escape(self.looking.say("compare_reply")), text_html(str(asked.targets["response"].iloc[0]))
        )
        columns = [
            f"<div><div class='pl-part'>{escape(side.label)}</div>"
            f"{fold_html(escape(self.looking.say('rate_profile')), profile_html(side.block.profile))}"
            f"{verdict_html(side.verdict, side.block, side.memory, language)}</div>"
            for side in sides
        ]
        grid = "display:grid;grid-template-columns:repeat(auto-fit,minmax(min(20em,100%),1fr));gap:1.5em"
        self.shown.value = (
            f"{self._apart(sides)}{distribution_html(rows, say('no_distribution', language))}{reply}"
            f"<div style='{grid}'>{''.join(columns)}</div>"
        )

    def _apart(self, sides: Sequence[Side]) -> str:
        """By how much the second is above the first, in words."""
        first, second = (score_of(side.verdict) for side in sides)
        if first is None or second is None:
            return ""
        by = second - first
        key = "compare_same" if abs(by) < SAME else "compare_apart" if by > 0 else "compare_below"
        return f"<p role='status'>{escape(self.looking.say(key, by=f'{abs(by):.2f}'))}</p>"


def _button(key: str, language: str) -> widgets.Button:
    tip = say(f"{key}_tip", language)
    return widgets.Button(description=say(key, language), tooltip=tip, layout=widgets.Layout(width="auto"))
