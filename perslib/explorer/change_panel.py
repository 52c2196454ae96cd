"""Change: a memory's statements edited, switched off or reordered, what leaving each out would do, undo and saving."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import ipywidgets as widgets
import pandas as pd

from perslib.corpus import TURN
from perslib.errors import PerslibError
from perslib.explorer.controls import RequestStatus, bar, button, div, make_field, render_macro, watch
from perslib.explorer.explorer_state import ExplorerState, keys_of
from perslib.explorer.user_panel import missing_memory
from perslib.judge import Verdict
from perslib.llm import Ask
from perslib.memory import Draft, save_draft
from perslib.memory.edited import DraftStatement
from perslib.paths import workspace
from perslib.text import mark, show_hidden, translate

Edit = Callable[[Draft], Draft]
#: Points of a statement are dragged in steps of this size.
STEP = 0.02
#: Replies judged to find statements that mislead.
MOST = 10


class EditPanel(widgets.VBox):
    """The draft that is open, with everything that can be done to it."""

    def __init__(self, state: ExplorerState):
        self.state = state
        self.statements = Statements(state, self.edit)
        self.counts, self.saved, self.effects = (widgets.HTML() for _ in range(3))
        self.text = make_field(widgets.Textarea, "", "your own statement", "100%", rows=2)
        self.name = make_field(widgets.Text, "", "name to save as", "14em")
        self.asking = RequestStatus(state)
        self.add = button(state, "Add", self._add, "plus", "add this statement at the end")
        self.undo = button(state, "Undo", lambda: self.edit(Draft.undo), "undo", "undo the last edit")
        tip = mark("what if the user had scored every past reply one lower?")
        self.stricter = button(state, "Stricter", lambda: self._shift(1), "minus", tip)
        tip = mark("what if the user had scored every past reply one higher?")
        self.milder = button(state, "Milder", lambda: self._shift(-1), "plus", tip)
        tip = mark("score the reply without each statement in turn")
        self.leave_out = button(state, "Leave each one out", self._leave_out, "bar-chart", tip)
        tip = mark("judge rated replies of this scenario with reasons; the user's own scores are shown then")
        self.mislead = button(state, "Which statements mislead?", self._mislead, "search", tip)
        tip = mark("save the edited memory for studies; it stays marked as edited by hand")
        self.save = button(state, "Save", self._save, "save", tip)
        super().__init__(
            [
                *(self.counts, self.statements, widgets.HBox([self.text, self.add])),
                *(bar(self.undo, self.stricter, self.milder, self.leave_out, self.mislead), self.asking, self.effects),
                bar(self.name, self.save, self.saved),
            ]
        )
        state.observe(self.show, ["draft", "verdict"])
        state.observe(self._forget, ["at", "reply", "draft"])
        state.observe(self._leave, "opened")
        self.show()

    def edit(self, what: Edit) -> None:
        """Do something to the draft; panels that watch it follow."""
        if self.state.draft is not None:
            try:
                self.state.draft = what(self.state.draft)
            except PerslibError as error:
                self.effects.value = div("nowhere", error, "alert")
            self.show()

    def show(self, change: Any = None) -> None:
        """Show the draft as it is."""
        draft, verdict = self.state.draft, self.state.verdict
        self.statements.show(draft, {id.strip().upper() for id in verdict.evidence} if verdict else ())
        self.undo.disabled = draft is None or draft.before is None
        for each in (self.add, self.stricter, self.milder, self.leave_out, self.mislead):
            each.disabled = draft is None
        self.save.disabled = draft is None or not draft.is_changed
        self.counts.value = render_macro("counts", memory=draft.memory, edited=draft.is_changed) if draft else ""

    def _add(self) -> None:
        text, self.text.value = self.text.value, ""
        self.edit(lambda draft: draft.add(text))

    def _shift(self, by: int) -> None:
        self.edit(lambda draft: draft.shift_scores(by))

    def _leave_out(self) -> None:
        """Ask for the score alone, with the memory as it is and without each of its statements."""
        draft, block = self.state.draft, self.state.make_open_block()
        if draft is None or block is None:
            return
        statements = draft.memory.statements
        memories = [draft.memory, *(draft.without(s.id) for s in statements)]
        self.effects.value = ""

        async def judge_memories(ask: Ask) -> list[Sequence[Verdict]]:
            judges = [self.state.judge(memory, written=False) for memory in memories]
            return list(await asyncio.gather(*(judge.judge(block, ask) for judge in judges)))

        def show_effects(verdicts: list[Sequence[Verdict]]) -> None:
            if not statements:
                self.effects.value = div("empty", missing_memory(draft.memory))
                return
            scores = pd.Series([v[0].score for v in verdicts], dtype=float)
            effects = scores[0] - scores[1:]
            most = max(0.05, effects.abs().max())  # NaN, where nothing has a score, is not greater
            rows = [
                {"id": s.id, "text": s.text, "effect": e, "width": e / most * 50, "known": e == e}
                for s, e in zip(statements, effects)
            ]
            error = next((v[0].error for v in verdicts if v[0].error), "")
            self.effects.value = render_macro("effects", rows=rows, error=error)

        waiting = translate("Requesting {n} scores …", n=len(memories))
        self.asking.start(judge_memories, show_effects, waiting)

    def _mislead(self) -> None:
        """Judge some rated replies of the open scenario; say how wrong verdicts are that cite each statement."""
        draft, state = self.state.draft, self.state
        targets = state.block.targets.merge(state.corpus.turns[[*TURN, "score"]].dropna(subset=["score"]), on=TURN)
        if draft is None or targets.empty:
            return
        targets = targets.head(MOST)
        block = replace(state.block, targets=targets.drop(columns="score"))
        memory = draft.memory

        def show_effects(verdicts: Sequence[Verdict]) -> None:
            state.show_gold()
            for key in keys_of(block.targets):
                state.journal.note("verdict", key)
            scores = pd.Series([verdict.score for verdict in verdicts], dtype=float)
            wrong = (scores - targets["score"].astype(float)).abs()
            cited = {
                s.id: [s.id in {e.strip().upper() for e in v.evidence} for v in verdicts] for s in memory.statements
            }
            rows = [
                {"id": s.id, "text": s.text, "cited": sum(cited[s.id]), "error": wrong[cited[s.id]].mean()}
                for s in memory.statements
            ]
            rows.sort(key=lambda row: (row["error"] != row["error"], -row["error"]))
            self.effects.value = render_macro("misleading", rows=rows, replies=int(wrong.count()), error=wrong.mean())

        waiting = translate("The judge reads {n} replies …", n=len(targets))
        self.asking.start(partial(state.judge(memory, written=True).judge, block), show_effects, waiting)

    def _forget(self, change: Any) -> None:
        self.asking.clear()
        self.effects.value = ""

    def _leave(self, change: Any) -> None:
        """Clear the fields, so that nothing written about one user is offered for the next."""
        self.text.value = self.name.value = self.saved.value = ""

    def _save(self) -> None:
        name = self.name.value.strip()
        try:
            path = save_draft(self.state.draft, name)  # type: ignore[arg-type]
        except PerslibError as error:
            self.saved.value = div("nowhere", error, "alert")
            return
        where, how = path.relative_to(workspace()).as_posix(), f"judges='edited: {name}'"
        message = translate("Saved as {where}. In a study: {how}", where=where, how=how)
        self.saved.value = div("small", message, "status")


# -- the statements ------------------------------------------------------------------------------------------


class Statements(widgets.VBox):
    """All rows of the draft that is open; `change` is called with what is to be done to it.

    Rows are made once and filled anew for every user: making widgets is what takes time, not filling them.
    """

    def __init__(self, state: ExplorerState, change: Callable[[Edit], None]):
        self.state, self._change = state, change
        self._rows: list[StatementRow] = []
        self._empty = widgets.HTML()
        super().__init__()

    def show(self, draft: Draft | None, cited: Collection[str] = ()) -> None:
        """Show a draft, with what is cited marked."""
        lines = draft.lines if draft else ()
        while len(self._rows) < len(lines):
            self._rows.append(StatementRow(self.state, self._change))
        for row, line in zip(self._rows, lines):
            row.fill(line, line.statement.id in cited)
        self._empty.value = div("empty", missing_memory(draft.built if draft else None))
        self.children = [*self._rows[: len(lines)]] if lines else [self._empty]


class StatementRow(widgets.VBox):
    """One statement: on or off, its words, up and down, and the turns behind it."""

    def __init__(self, state: ExplorerState, change: Callable[[Edit], None]):
        self.state = state
        self._id, self._change = "", change
        self._line: DraftStatement | None = None
        self._shown: tuple[object, ...] = ()
        self.on = make_field(widgets.Checkbox, width="5.2em", indent=False, tooltip=translate("on or off"))
        self.text = make_field(widgets.Textarea, width="100%", continuous_update=False)
        self.points = make_field(widgets.FloatSlider, "Points, about", width="22em", min=-2.0, max=2.0, step=STEP)
        watch(state, self.points, self._weigh)
        up = button(state, "", lambda: change(lambda d: d.move(self._id, -1)), "arrow-up", "up")
        down = button(state, "", lambda: change(lambda d: d.move(self._id, 1)), "arrow-down", "down")
        self.about = widgets.HTML()
        watch(state, self.on, lambda on: change(lambda d: d.switch(self._id, bool(on))))
        watch(state, self.text, lambda text: change(lambda d: d.edit(self._id, str(text))))
        buttons = widgets.HBox([up, down], layout={"flex": "0 0 auto"})
        super().__init__([widgets.HBox([self.on, self.text, buttons]), self.points, self.about])
        self.add_class("pl-row")

    def _weigh(self, points: float) -> None:
        """Give the statement so many points; a browser that rounds what it was given is nobody's edit."""
        now = self._line.statement.points if self._line else None
        if now is not None and abs(points - now) > STEP:
            self._change(lambda draft: draft.weigh(self._id, float(points)))

    def fill(self, line: DraftStatement, cited: bool) -> None:
        """Show this statement, unless it is shown already: its turns are long."""
        if (now := (self.state.opened, line, cited)) == self._shown:
            return
        self._shown, self._line = now, line
        statement, marks = line.statement, {mark("edited by hand"): line.by_hand, mark("cited"): cited}
        with self.state.pause_field_events():
            self._id = self.on.description = statement.id
            self.on.value = line.on
            self.points.layout.display = "none" if statement.points is None else None
            self.points.value = round(statement.points or 0.0, 2)
            self.text.value, self.text.rows = show_hidden(statement.text), _rows(statement.text)
        shown = [translate(text) for text, holds in marks.items() if holds]
        about = {"statement": statement, "evidence": self.state.evidence, "by_hand": line.by_hand}
        self.about.value = render_macro("about", marks=shown, **about)
        (self.add_class if cited else self.remove_class)("pl-cited")
        (self.remove_class if line.on else self.add_class)("pl-off")


def _rows(text: str) -> int:
    """Return lines that the text takes in its box; a Chinese character is as wide as two letters."""
    width = sum(2 if ord(c) > 0x2E7F else 1 for c in text)
    return max(1, min(8, -(-width // 66)))
