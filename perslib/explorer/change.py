"""Change: a memory's statements edited, switched off or reordered, what leaving each out would do, undo and saving."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets
import numpy as np
import pandas as pd

from perslib.errors import PerslibError
from perslib.explorer.asking import Asking
from perslib.explorer.drawing import effects_html
from perslib.explorer.looking import Looking
from perslib.explorer.see import counts_html
from perslib.explorer.statements import Statements
from perslib.explorer.verdicts import score_of
from perslib.judge import Verdict
from perslib.llm import side_by_side
from perslib.memory import Draft, save_draft
from perslib.paths import workspace
from perslib.report.show import escape


class Change(widgets.VBox):
    """The draft that is open, with everything that can be done to it."""

    def __init__(self, looking: Looking):
        self.looking = looking
        button = self._button
        self.statements = Statements(looking, self.edit)
        self.counts = widgets.HTML()
        self.text = widgets.Textarea(
            placeholder=self.looking.say("new_statement"),
            rows=2,
            layout=widgets.Layout(flex="1 1 auto", width="auto"),
        )
        self.add = button("add", "plus", lambda: self._add())
        self.undo = button("undo", "undo", lambda: self.edit(Draft.undo))
        self.stricter = button("stricter", "minus", lambda: self.edit(lambda d: d.stricter(1)))
        self.milder = button("milder", "plus", lambda: self.edit(lambda d: d.stricter(-1)))
        self.leave_out = button("leave_out", "bar-chart", self._leave_out)
        self.name = widgets.Text(placeholder=self.looking.say("save_as"), layout=widgets.Layout(width="14em"))
        self.save = button("save", "save", self._save)
        self.saved, self.effects, self.asking = widgets.HTML(), widgets.HTML(), Asking(looking)
        super().__init__(
            [
                self.counts,
                self.statements,
                widgets.HBox([self.text, self.add]),
                widgets.HBox([self.undo, self.stricter, self.milder, self.leave_out]).add_class("pl-bar"),
                self.asking,
                self.effects,
                widgets.HBox([self.name, self.save, self.saved]).add_class("pl-bar"),
            ]
        )
        looking.observe(self.show, ["draft", "verdict"])
        looking.observe(self._forget, ["at", "reply", "draft"])
        self.show()

    def edit(self, what: Callable[[Draft], Draft]) -> None:
        """Do something to the draft; panels that watch it follow."""
        if self.looking.draft is not None:
            self.looking.draft = what(self.looking.draft)
            self.show()

    def show(self, change: Any = None) -> None:
        """Show the draft as it is."""
        draft, verdict = self.looking.draft, self.looking.verdict
        found = {name.strip().upper() for name in verdict.evidence} if verdict else ()
        self.statements.show(draft, found)
        self.undo.disabled = draft is None or draft.before is None
        for button in (self.add, self.stricter, self.milder, self.leave_out, self.save):
            button.disabled = draft is None
        self.save.disabled = draft is None or not draft.changed
        self.counts.value = "" if draft is None else self._counts(draft)

    def _counts(self, draft: Draft) -> str:
        mark = f'<span class="pl-note">{self.looking.say("by_hand")}</span>' if draft.changed else ""
        return counts_html(draft.memory, self.looking.language) + mark

    def _add(self) -> None:
        text, self.text.value = self.text.value, ""
        self.edit(lambda draft: draft.add(text))

    # -- leaving each statement out ---------------------------------------------------------------------------

    def _leave_out(self) -> None:
        """Ask for the score alone, with the memory as it is and without each of its statements."""
        draft, block = self.looking.draft, self.looking.asked()
        if draft is None or block is None:
            return
        statements = draft.memory.statements
        memories = [draft.memory, *(draft.without(s.id) for s in statements)]
        self.effects.value = ""

        def steps() -> Any:
            return side_by_side(self.looking.judge(m, written=False).judge(block) for m in memories)

        def done(found: list[Sequence[Verdict]]) -> None:
            scores = [np.nan if (s := score_of(v[0])) is None else s for v in found]
            errors = [v[0].error for v in found if v[0].error]
            effects = pd.DataFrame({"id": [s.id for s in statements], "text": [s.text for s in statements]})
            self.effects.value = self._drawn(effects.assign(effect=scores[0] - np.array(scores[1:])), errors)

        self.asking.start(steps, done, self.looking.say("leaving_out", n=len(memories)))

    def _drawn(self, effects: pd.DataFrame, errors: list[str]) -> str:
        if effects.empty:
            return f'<p class="pl-empty">{escape(self.looking.say("no_statements"))}</p>'
        told = f'<div class="pl-nowhere">{escape(errors[0])}</div>' if errors else ""
        said = escape(self.looking.say("effects"))
        return f'<div class="pl-caption">{said}</div>{told}{effects_html(effects, said)}'

    def _forget(self, change: Any) -> None:
        self.asking.clear()
        self.effects.value = ""

    # -- keeping ------------------------------------------------------------------------------------------------

    def _save(self) -> None:
        try:
            path = save_draft(self.looking.draft, self.name.value.strip())  # type: ignore[arg-type]
        except PerslibError as error:
            self.saved.value = f'<span class="pl-nowhere" role="alert">{escape(error)}</span>'
            return
        where = path.relative_to(workspace()).as_posix()
        how = f"judges='edited: {self.name.value.strip()}'"
        self.saved.value = f'<span class="pl-small" role="status">{escape(self.looking.say("saved_as", where=where, how=how))}</span>'

    def _button(self, key: str, icon: str, act: Callable[[], None]) -> widgets.Button:
        button = widgets.Button(
            description=self.looking.say(key),
            tooltip=self.looking.say(f"{key}_tip"),
            icon=icon,
            layout=widgets.Layout(width="auto"),
        )
        button.on_click(lambda _: act())
        return button
