"""Judge: a recorded or pasted reply, the verdict of the memory as it is now, and how the verdict moved with edits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import ipywidgets as widgets

from perslib.explorer.looking import Looking
from perslib.explorer.parts import WINDOW, Asking, bar, button, div, judge_buttons
from perslib.explorer.see import missing_memory
from perslib.explorer.verdicts import chip_html, distribution_html, score_of, verdict_html
from perslib.judge import Verdict
from perslib.memory import Draft, UserMemory
from perslib.report.show import conversation_html
from perslib.report.words import beginning, controls_shown, name_of
from perslib.text import translate

#: Verdicts of one reply that are kept in view, the newest first.
KEPT = 8


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
        self._chosen, self._pasted = looking.telling(self._choose), looking.telling(self._paste)
        wide = widgets.Layout(width="100%")
        self.turn = widgets.Dropdown(description=translate("Turn"), layout=wide)
        hint = translate(
            "Paste any reply here to have it judged instead of the recorded one; clear it to go back."
        )
        self.paste = widgets.Textarea(placeholder=hint, rows=4, continuous_update=False, layout=wide)
        self.context, self.verdict, self.course, self.gold = (widgets.HTML() for _ in range(4))
        self.asking = Asking(looking)
        self.score, self.write = judge_buttons(looking, self.ask)
        self.show_gold = button(
            looking,
            "Show the user's own score",
            lambda: looking.show_gold(),
            "eye",
            "of all replies of this scenario; it is recorded that you saw them",
        )
        self.follow = widgets.Checkbox(
            value=True,
            description=translate("score again after every edit"),
            indent=False,
            layout=widgets.Layout(width="auto"),
        )
        self.turn.observe(self._chosen, "value")
        self.paste.observe(self._pasted, "value")
        looking.observe(self._opened, "opened")
        looking.observe(self._other_reply, ["at", "reply"])
        looking.observe(self._edited, "draft")
        looking.observe(self._show_gold, ["gold_shown", "at", "reply"])
        super().__init__([self.turn, self.context, self.paste])
        asks, gold = bar(self.score, self.write, self.follow), bar(self.show_gold, self.gold)
        self.said = widgets.VBox([asks, self.asking, self.verdict, self.course, gold])
        self._opened()

    # -- which reply ------------------------------------------------------------------------------------------

    def _opened(self, change: Any = None) -> None:
        targets = self.looking.block.targets
        options = []
        for session, turn, prefix in zip(targets["session"], targets["turn"], targets["prefix"]):
            asked = prefix[-1]["content"] if prefix and prefix[-1]["role"] == "user" else "–"
            options.append((f"{session}/{turn}  {controls_shown(beginning(asked))}", (session, int(turn))))
        self.turn.unobserve(self._chosen, "value")
        self.turn.options, self.turn.value = options, self.looking.at
        self.turn.observe(self._chosen, "value")
        self._other_reply()

    def _choose(self, change: Any) -> None:
        if change["new"] is not None:
            self.looking.at = change["new"]

    def _paste(self, change: Any) -> None:
        self.looking.reply = change["new"] if change["new"].strip() else None

    def _other_reply(self, change: Any = None) -> None:
        self._forget()
        if self.looking.at != self.turn.value and self.looking.at in [v for _, v in self.turn.options]:
            self.turn.value = self.looking.at
        if self.looking.reply is None and self.paste.value:
            self.paste.unobserve(self._pasted, "value")
            self.paste.value = ""
            self.paste.observe(self._pasted, "value")
        self._show_context()
        self._show_gold()

    def _show_context(self) -> None:
        target = self.looking.target
        if target is None:
            self.context.value = div("empty", translate("There is no reply to judge in this scenario."))
            return
        mark = translate("pasted, to be judged" if self.looking.reply is not None else "to be judged")
        said = [*target.prefix, {"role": "assistant", "content": target.response, "note": mark}]
        self.context.value = conversation_html(said, target.task or "", recent=WINDOW + 1)

    def _show_gold(self, change: Any = None) -> None:
        looking = self.looking
        shown = looking.is_gold_shown()
        self.show_gold.disabled = shown or looking.at is None
        if not shown:
            self.gold.value = div("small", translate("hidden, so that you can judge for yourself first"))
            return
        pasted = looking.reply is not None
        said = translate(
            "The user gave the recorded reply {score}" if pasted else "The user gave {score}",
            score=chip_html(*looking.gold()),
        )
        self.gold.value = f'<div class="pl-small">{said}</div>'

    # -- what the judge says -----------------------------------------------------------------------------------

    def ask(self, *, written: bool) -> None:
        """Ask the judge about the open reply, with the memory as it is."""
        looking, block, draft = self.looking, self.looking.asked(), self.looking.draft
        if block is None:
            return
        if draft is None:
            self.asking.fail(missing_memory(None))
            return
        memory = draft.memory

        def done(found: Sequence[Verdict]) -> None:
            self._seen = [Seen(found[0], memory, _last_edit(draft)), *self._seen][:KEPT]
            looking.show_verdict(found[0])
            self._show_verdict()

        label = translate(
            "The judge reads the reply and writes …" if written else "The judge reads the reply …"
        )
        self.asking.start(partial(looking.judge(memory, written=written).judge, block), done, label)

    def _edited(self, change: Any) -> None:
        draft, before = change["new"], change["old"]
        if draft is None or before is None:
            self._forget()
        elif self.follow.value and self._seen and draft.memory != before.memory:
            self.ask(written=False)

    def _forget(self) -> None:
        self.asking.clear()
        self._seen, self.verdict.value, self.course.value = [], "", ""

    def _show_verdict(self) -> None:
        newest = self._seen[0]
        self.verdict.value = verdict_html(newest.verdict, self.looking.block, newest.memory)
        rows = [(s.label, s.verdict.p, score_of(s.verdict)) for s in self._seen]
        head = div("part", translate("Changes of the verdict, newest first"))
        self.course.value = head + distribution_html(rows) if len(rows) > 1 else ""


def _last_edit(draft: Draft) -> str:
    """What was done to a memory last, and to which of its statements."""
    what, statement = draft.made
    return f"{statement} {name_of(f'made {what}')}".strip() if draft.changed else translate("as built")
