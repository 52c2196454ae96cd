"""Judge: a recorded or pasted reply, the verdict of the memory as it is now, and how the verdict moved with edits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets as widgets

from perslib.explorer.asking import Asking
from perslib.explorer.drawing import distribution_html
from perslib.explorer.looking import Looking
from perslib.explorer.verdicts import score_of, verdict_html
from perslib.explorer.words import named
from perslib.judge import Verdict
from perslib.memory import Draft, UserMemory
from perslib.report.controls import controls_shown
from perslib.report.show import conversation_html, escape, score_chip
from perslib.report.words import name_of
from perslib.studies.rationale_cases import beginning

WINDOW = 5
KEPT = 8
"""Verdicts of one reply that are kept in view, the newest first."""


@dataclass(frozen=True)
class Seen:
    """A verdict, the memory it was made with, and what had been done to that memory last."""

    verdict: Verdict
    memory: UserMemory | None
    label: str


class Judging(widgets.VBox):
    """The reply that is open; `said` is a second box, with what the judge says of it."""

    def __init__(self, looking: Looking):
        self.looking = looking
        self._seen: list[Seen] = []
        self.turn = widgets.Dropdown(
            description=self.looking.say("turn"), layout=widgets.Layout(width="100%")
        )
        self.paste = widgets.Textarea(
            placeholder=self.looking.say("paste"),
            rows=4,
            continuous_update=False,
            layout=widgets.Layout(width="100%"),
        )
        self.context, self.verdict, self.course, self.gold = (widgets.HTML() for _ in range(4))
        self.score, self.write = (
            self._button("judge_score", "tachometer"),
            self._button("judge_written", "pencil"),
        )
        self.show_gold = self._button("show_gold", "eye")
        self.follow = widgets.Checkbox(
            value=True,
            description=self.looking.say("follow"),
            indent=False,
            layout=widgets.Layout(width="auto"),
        )
        self.asking = Asking(looking)
        self.score.on_click(lambda _: self.ask(written=False))
        self.write.on_click(lambda _: self.ask(written=True))
        self.show_gold.on_click(lambda _: looking.show_gold())
        self.turn.observe(self._choose, "value")
        self.paste.observe(self._paste, "value")
        looking.observe(self._opened, "opened")
        looking.observe(self._other_reply, ["at", "reply"])
        looking.observe(self._edited, "draft")
        looking.observe(self._show_gold, ["gold_shown", "at", "reply"])
        super().__init__([self.turn, self.context, self.paste])
        self.said = widgets.VBox(
            [
                widgets.HBox([self.score, self.write, self.follow]).add_class("pl-bar"),
                self.asking,
                self.verdict,
                self.course,
                widgets.HBox([self.show_gold, self.gold]).add_class("pl-bar"),
            ]
        )
        self._opened()

    # -- which reply ------------------------------------------------------------------------------------------

    def _opened(self, change: Any = None) -> None:
        targets = self.looking.block.targets
        options = []
        for session, turn, prefix in zip(targets["session"], targets["turn"], targets["prefix"]):
            asked = prefix[-1]["content"] if prefix and prefix[-1]["role"] == "user" else "–"
            options.append((f"{session}/{turn}  {controls_shown(beginning(asked))}", (session, int(turn))))
        self.turn.unobserve(self._choose, "value")
        self.turn.options, self.turn.value = options, self.looking.at
        self.turn.observe(self._choose, "value")
        self._other_reply()

    def _choose(self, change: Any) -> None:
        if change["new"] is not None:
            self.looking.at = change["new"]

    def _paste(self, change: Any) -> None:
        self.looking.reply = change["new"] if change["new"].strip() else None

    def _other_reply(self, change: Any = None) -> None:
        self.asking.clear()
        self._seen = []
        self.verdict.value = self.course.value = ""
        if self.looking.at != self.turn.value and self.looking.at in [v for _, v in self.turn.options]:
            self.turn.value = self.looking.at
        if self.looking.reply is None and self.paste.value:
            self.paste.unobserve(self._paste, "value")
            self.paste.value = ""
            self.paste.observe(self._paste, "value")
        self._show_context()
        self._show_gold()

    def _show_context(self) -> None:
        target = self.looking.target
        if target is None:
            self.context.value = f'<p class="pl-empty">{self.looking.say("no_target")}</p>'
            return
        note = self.looking.say("pasted" if self.looking.reply is not None else "to_judge")
        said = [*target.prefix, {"role": "assistant", "content": target.response, "note": note}]
        self.context.value = conversation_html(said, target.task or "", recent=WINDOW + 1)

    def _show_gold(self, change: Any = None) -> None:
        looking = self.looking
        shown = looking.is_gold_shown()
        self.show_gold.disabled = shown or looking.at is None
        if not shown:
            self.gold.value = f'<span class="pl-small">{self.looking.say("gold_hidden")}</span>'
            return
        score, reason = looking.gold()
        said = score_chip(float("nan") if score is None else score)
        why = f" {escape(name_of(reason, looking.language))}" if isinstance(reason, str) else ""
        other = (
            f' <span class="pl-small">{self.looking.say("gold_of_recorded")}</span>'
            if looking.reply is not None
            else ""
        )
        self.gold.value = f'<span class="pl-small">{self.looking.say("gold_shown")}</span> {said}{why}{other}'

    # -- what the judge says -----------------------------------------------------------------------------------

    def ask(self, *, written: bool) -> None:
        """Ask the judge about the open reply, with the memory as it is."""
        looking, block = self.looking, self.looking.asked()
        if block is None:
            return
        if looking.draft is None:
            self.asking.fail(self.looking.say("no_memory_yet"))
            return
        draft, memory = looking.draft, looking.draft.memory

        def done(found: Sequence[Verdict]) -> None:
            self._seen = [Seen(found[0], memory, self._label(draft)), *self._seen][:KEPT]
            looking.show_verdict(found[0])
            self._show_verdict()

        label = self.looking.say("judging_written" if written else "judging")
        self.asking.start(lambda: looking.judge(memory, written=written).judge(block), done, label)

    def _edited(self, change: Any) -> None:
        draft, before = change["new"], change["old"]
        if draft is None or before is None:
            self._seen, self.verdict.value, self.course.value = [], "", ""
            self.asking.clear()
        elif self.follow.value and self._seen and draft.memory != before.memory:
            self.ask(written=False)

    def _show_verdict(self) -> None:
        seen, language = self._seen[0], self.looking.language
        self.verdict.value = verdict_html(seen.verdict, self.looking.block, seen.memory, language)
        if len(self._seen) < 2:
            self.course.value = ""
            return
        rows = [(s.label, s.verdict.p, score_of(s.verdict)) for s in self._seen]
        head = f'<div class="pl-part">{self.looking.say("course")}</div>'
        self.course.value = head + distribution_html(rows, self.looking.say("no_distribution"))

    def _label(self, draft: Draft) -> str:
        if not draft.changed:
            return self.looking.say("as_built")
        what, id = draft.made
        return f"{id} {named('made', what, self.looking.language)}".strip() or self.looking.say("by_hand")

    def _button(self, key: str, icon: str) -> widgets.Button:
        return widgets.Button(
            description=self.looking.say(key),
            tooltip=self.looking.say(f"{key}_tip"),
            icon=icon,
            layout=widgets.Layout(width="auto"),
        )
