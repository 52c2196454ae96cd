"""The statements of a draft as rows that can be switched, reworded, moved and opened.

Rows are made once and filled anew for every user: making widgets is what takes time, not filling them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import ipywidgets as widgets

from perslib.explorer.looking import Looking
from perslib.explorer.see import evidence_html, statement_about
from perslib.explorer.words import say
from perslib.memory import Draft
from perslib.memory.draft import Line
from perslib.report.controls import controls_shown
from perslib.report.show import escape


class Row(widgets.VBox):
    """One statement: on or off, its words, up and down, and the turns behind it."""

    def __init__(self, looking: Looking, change: Callable[[Callable[[Draft], Draft]], None]):
        self.looking, self._change = looking, change
        self._id, self._filling = "", False
        say_ = looking.say
        self.on = widgets.Checkbox(indent=False, tooltip=say_("switch"), layout=widgets.Layout(width="5.2em"))
        self.text = widgets.Textarea(
            continuous_update=False, layout=widgets.Layout(flex="1 1 auto", width="auto")
        )
        self.up = widgets.Button(icon="arrow-up", tooltip=say_("up"), layout=widgets.Layout(width="2.6em"))
        self.down = widgets.Button(
            icon="arrow-down", tooltip=say_("down"), layout=widgets.Layout(width="2.6em")
        )
        self.about = widgets.HTML()
        self.on.observe(lambda c: self._do(lambda d: d.switch(self._id, bool(c["new"]))), "value")
        self.text.observe(lambda c: self._do(lambda d: d.edit(self._id, str(c["new"]))), "value")
        self.up.on_click(lambda _: self._do(lambda d: d.move(self._id, -1)))
        self.down.on_click(lambda _: self._do(lambda d: d.move(self._id, 1)))
        buttons = widgets.HBox([self.up, self.down], layout=widgets.Layout(flex="0 0 auto"))
        super().__init__([widgets.HBox([self.on, self.text, buttons]), self.about])
        self.add_class("pl-row")

    def fill(self, line: Line, cited: bool) -> None:
        """Show this statement."""
        language, statement = self.looking.language, line.statement
        self._id, self._filling = statement.id, True
        try:
            self.on.description, self.on.value = statement.id, line.on
            self.text.value, self.text.rows = controls_shown(statement.text), _rows(statement.text)
            marks = [statement_about(statement, language)]
            marks += [say("by_hand", language)] if line.by_hand else []
            marks += [say("cited", language)] if cited else []
            small = " · ".join(filter(None, marks))
            told = f'<div class="pl-small">{escape(small)}</div>' if small else ""
            self.about.value = told + evidence_html(self.looking, statement)
            (self.add_class if cited else self.remove_class)("pl-cited")
            (self.remove_class if line.on else self.add_class)("pl-off")
        finally:
            self._filling = False

    def _do(self, edit: Callable[[Draft], Draft]) -> None:
        if not self._filling:
            self._change(edit)


class Statements(widgets.VBox):
    """All rows of the draft that is open; `change` is called with what is to be done to it."""

    def __init__(self, looking: Looking, change: Callable[[Callable[[Draft], Draft]], None]):
        self.looking, self._change = looking, change
        self._rows: list[Row] = []
        self._shown: list[widgets.Widget] = []
        self._empty = widgets.HTML()
        super().__init__()

    def show(self, draft: Draft | None, cited: Collection[str] = ()) -> None:
        """Show a draft, with what is cited marked."""
        lines = draft.lines if draft else ()
        while len(self._rows) < len(lines):
            self._rows.append(Row(self.looking, self._change))
        for row, line in zip(self._rows, lines):
            row.fill(line, line.statement.id in cited)
        language = self.looking.language
        if draft is None:
            said = say("no_memory_yet", language)
        elif draft.built.error:
            said = say("memory_failed", language, why=draft.built.error)
        else:
            said = say("no_statements", language)
        self._empty.value = f'<p class="pl-empty">{escape(said)}</p>'
        wanted: list[widgets.Widget] = [*self._rows[: len(lines)]] if lines else [self._empty]
        if wanted != self._shown:
            self.children = self._shown = wanted


def _rows(text: str) -> int:
    """Lines that the text takes in its box; a Chinese character is as wide as two letters."""
    width = sum(2 if ord(c) > 0x2E7F else 1 for c in text)
    return max(1, min(8, -(-width // 66)))
