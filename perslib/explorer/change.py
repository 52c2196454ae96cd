"""Change: a memory's statements edited, switched off or reordered, what leaving each out would do, undo and saving."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Any

import ipywidgets as widgets
import numpy as np
import pandas as pd

from perslib.errors import PerslibError
from perslib.explorer.looking import Looking
from perslib.explorer.parts import Asking, bar, button, div, note, watch
from perslib.explorer.see import counts_html, evidence_html, missing_memory, statement_about
from perslib.explorer.verdicts import effects_html, score_of
from perslib.judge import Verdict
from perslib.llm import Ask
from perslib.memory import Draft, save_draft
from perslib.memory.edited import Line
from perslib.paths import workspace
from perslib.report.words import controls_shown
from perslib.text import translate

Edit = Callable[[Draft], Draft]


class Change(widgets.VBox):
    """The draft that is open, with everything that can be done to it."""

    def __init__(self, looking: Looking):
        self.looking = looking
        self.statements = Statements(looking, self.edit)
        self.counts, self.saved, self.effects = (widgets.HTML() for _ in range(3))
        wide = widgets.Layout(flex="1 1 auto", width="auto")
        self.text = widgets.Textarea(placeholder=translate("your own statement"), rows=2, layout=wide)
        self.name = widgets.Text(
            placeholder=translate("name to save as"), layout=widgets.Layout(width="14em")
        )
        self.asking = Asking(looking)
        self.add = button(looking, "Add", self._add, "plus", "add this statement at the end")
        self.undo = button(looking, "Undo", lambda: self.edit(Draft.undo), "undo", "undo the last edit")
        self.stricter = button(
            looking,
            "Stricter",
            lambda: self.edit(lambda d: d.stricter(1)),
            "minus",
            "what if the user had scored every past reply one lower?",
        )
        self.milder = button(
            looking,
            "Milder",
            lambda: self.edit(lambda d: d.stricter(-1)),
            "plus",
            "what if the user had scored every past reply one higher?",
        )
        self.leave_out = button(
            looking,
            "Leave each one out",
            self._leave_out,
            "bar-chart",
            "score the reply without each statement in turn",
        )
        self.save = button(
            looking,
            "Save",
            self._save,
            "save",
            "save the edited memory for studies; it stays marked as edited by hand",
        )
        super().__init__(
            [
                *(self.counts, self.statements, widgets.HBox([self.text, self.add])),
                *(bar(self.undo, self.stricter, self.milder, self.leave_out), self.asking, self.effects),
                bar(self.name, self.save, self.saved),
            ]
        )
        looking.observe(self.show, ["draft", "verdict"])
        looking.observe(self._forget, ["at", "reply", "draft"])
        self.show()

    def edit(self, what: Edit) -> None:
        """Do something to the draft; panels that watch it follow."""
        if self.looking.draft is not None:
            self.looking.draft = what(self.looking.draft)
            self.show()

    def show(self, change: Any = None) -> None:
        """Show the draft as it is."""
        draft, verdict = self.looking.draft, self.looking.verdict
        self.statements.show(draft, {id.strip().upper() for id in verdict.evidence} if verdict else ())
        self.undo.disabled = draft is None or draft.before is None
        for each in (self.add, self.stricter, self.milder, self.leave_out):
            each.disabled = draft is None
        self.save.disabled = draft is None or not draft.changed
        mark = note(translate("edited by hand")) if draft and draft.changed else ""
        self.counts.value = counts_html(draft.memory) + mark if draft else ""

    def _add(self) -> None:
        text, self.text.value = self.text.value, ""
        self.edit(lambda draft: draft.add(text))

    def _leave_out(self) -> None:
        """Ask for the score alone, with the memory as it is and without each of its statements."""
        draft, block = self.looking.draft, self.looking.asked()
        if draft is None or block is None:
            return
        statements = draft.memory.statements
        memories = [draft.memory, *(draft.without(s.id) for s in statements)]
        self.effects.value = ""

        async def judged(ask: Ask) -> list[Sequence[Verdict]]:
            judges = [self.looking.judge(memory, written=False) for memory in memories]
            return list(await asyncio.gather(*(judge.judge(block, ask) for judge in judges)))

        def done(found: list[Sequence[Verdict]]) -> None:
            if not statements:
                self.effects.value = div("empty", missing_memory(draft.memory))
                return
            scores = [np.nan if (s := score_of(v[0])) is None else s for v in found]
            effects = pd.DataFrame({"id": [s.id for s in statements], "text": [s.text for s in statements]})
            effects = effects.assign(effect=scores[0] - np.array(scores[1:]))
            self.effects.value = _effects(effects, [v[0].error for v in found if v[0].error])

        said = translate("Requesting {n} scores …", n=len(memories))
        self.asking.start(judged, done, said)

    def _forget(self, change: Any) -> None:
        self.asking.clear()
        self.effects.value = ""

    def _save(self) -> None:
        name = self.name.value.strip()
        try:
            path = save_draft(self.looking.draft, name)  # type: ignore[arg-type]
        except PerslibError as error:
            self.saved.value = div("nowhere", error, "alert")
            return
        where, how = path.relative_to(workspace()).as_posix(), f"judges='edited: {name}'"
        said = translate("Saved as {where}. In a study: {how}", where=where, how=how)
        self.saved.value = div("small", said, "status")


def _effects(effects: pd.DataFrame, errors: Sequence[str]) -> str:
    said = translate(
        "Effect of each statement on the expected score: bars to the right raise it, bars to the left lower "
        "it."
    )
    told = div("nowhere", errors[0]) if errors else ""
    return div("caption", said) + told + effects_html(effects, said)


# -- the statements ------------------------------------------------------------------------------------------


class Statements(widgets.VBox):
    """All rows of the draft that is open; `change` is called with what is to be done to it.

    Rows are made once and filled anew for every user: making widgets is what takes time, not filling them.
    """

    def __init__(self, looking: Looking, change: Callable[[Edit], None]):
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
        self._empty.value = div("empty", missing_memory(draft.built if draft else None))
        wanted: list[widgets.Widget] = [*self._rows[: len(lines)]] if lines else [self._empty]
        if wanted != self._shown:
            self.children = self._shown = wanted


class Row(widgets.VBox):
    """One statement: on or off, its words, up and down, and the turns behind it."""

    def __init__(self, looking: Looking, change: Callable[[Edit], None]):
        self.looking, self._change = looking, change
        self._id, self._filling = "", False
        wide = widgets.Layout(flex="1 1 auto", width="auto")
        tip = translate("on or off")
        self.on = widgets.Checkbox(indent=False, tooltip=tip, layout=widgets.Layout(width="5.2em"))
        self.text = widgets.Textarea(continuous_update=False, layout=wide)
        up = button(looking, "", lambda: self._do(lambda d: d.move(self._id, -1)), "arrow-up", "up")
        down = button(looking, "", lambda: self._do(lambda d: d.move(self._id, 1)), "arrow-down", "down")
        self.about = widgets.HTML()
        watch(looking, self.on, lambda on: self._do(lambda d: d.switch(self._id, bool(on))))
        watch(looking, self.text, lambda text: self._do(lambda d: d.edit(self._id, str(text))))
        buttons = widgets.HBox([up, down], layout=widgets.Layout(flex="0 0 auto"))
        super().__init__([widgets.HBox([self.on, self.text, buttons]), self.about])
        self.add_class("pl-row")

    def fill(self, line: Line, cited: bool) -> None:
        """Show this statement."""
        statement = line.statement
        self._id, self._filling = statement.id, True
        try:
            self.on.description, self.on.value = statement.id, line.on
            self.text.value, self.text.rows = controls_shown(statement.text), _rows(statement.text)
            marks = [
                statement_about(statement),
                translate("edited by hand") if line.by_hand else "",
                translate("cited") if cited else "",
            ]
            small = " · ".join(filter(None, marks))
            self.about.value = (div("small", small) if small else "") + evidence_html(self.looking, statement)
            (self.add_class if cited else self.remove_class)("pl-cited")
            (self.remove_class if line.on else self.add_class)("pl-off")
        finally:
            self._filling = False

    def _do(self, edit: Edit) -> None:
        if not self._filling:
            self._change(edit)


def _rows(text: str) -> int:
    """Lines that the text takes in its box; a Chinese character is as wide as two letters."""
    width = sum(2 if ord(c) > 0x2E7F else 1 for c in text)
    return max(1, min(8, -(-width // 66)))
