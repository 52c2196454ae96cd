"""Comparing verdicts on one turn: under two users or two memories, and of the candidates that answered it anew."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import pandas as pd

from perslib.corpus import TURN, Block
from perslib.errors import PerslibError
from perslib.explorer.controls import (
    JudgeButtons,
    bar,
    div,
    heading,
    line,
    make_field,
    render_macro,
    reply_place,
    watch,
)
from perslib.explorer.explorer_state import ExplorerState, keys_of, select_by_keys
from perslib.explorer.judge_panel import shares_of, verdict_html
from perslib.explorer.user_panel import needs_no_model, system_name, systems
from perslib.judge import Verdict
from perslib.llm import Ask
from perslib.memory import UserMemory
from perslib.replay import ORIGINAL, read_replies
from perslib.report.show.words import name_of
from perslib.text import join, mark, translate

#: Choices of a memory beside the systems: the one being edited, and none.
DRAFT, NONE = "draft", "none"
_COLUMNS = ["candidate", *TURN, "response"]
_WIDE = "min(46em, 100%)"


def compare(state: ExplorerState) -> widgets.Widget:
    """Return the panel that sets verdicts on one turn side by side."""
    return widgets.VBox([PairPanel(state), MemoriesPanel(state), CandidatesPanel(state)])


@dataclass(frozen=True)
class JudgedSide:
    """Verdicts on replies to the open turn as of one user with one memory, called `name`."""

    user: str
    name: str
    block: Block
    memory: UserMemory | None
    verdicts: Sequence[Verdict]

    @property
    def verdict(self) -> Verdict:
        """The verdict on the first reply."""
        return self.verdicts[0]


class SidesPanel(JudgeButtons):
    """Replies to the open turn before the same judge, as several users or with several memories."""

    def judge_sides(
        self, chosen: Sequence[tuple[str, str]], label: str, *, written: bool, asked: Block | None = None
    ) -> None:
        """Have replies judged as these users with these memories; `label` says what is done.

        `asked` is the block with these replies; without one it is the open reply, recorded or pasted.
        """
        state, key, is_recorded = self.state, self.state.key, asked is not None or self.state.reply is None
        replies = state.make_open_block() if asked is None else asked
        if replies is None or key is None:
            self.asking.fail(translate("There is no reply to judge in this scenario."))
            return

        def show_sides(sides: list[JudgedSide]) -> None:
            if is_recorded:
                state.journal.note("verdict", key)
            self.show(sides)

        async def judge_sides(ask: Ask) -> list[JudgedSide]:
            return await asyncio.gather(*(self._side(replies, *side, written, ask) for side in chosen))

        self.asking.start(judge_sides, show_sides, label)

    async def _side(self, asked: Block, user: str, name: str, written: bool, ask: Ask) -> JudgedSide:
        """Return the replies judged as this user with this memory."""
        state = self.state
        block = replace(state.corpus.block(user, asked.scenario), targets=asked.targets.assign(user=user))
        memory: UserMemory | None = None
        if name == DRAFT and state.draft is not None:
            memory = state.draft.memory
        elif name != NONE:
            memory = await state.memory_system(name).build(block, ask)
        verdicts = await state.judge(memory, written=written).judge(block, ask)
        return JudgedSide(user, _name_memory(name), block, memory, verdicts)

    def show(self, sides: Sequence[JudgedSide]) -> None:
        """Show the verdicts of all sides."""
        raise NotImplementedError


class PairPanel(SidesPanel):
    """The open reply before the same judge, with two memories or as two users."""

    def __init__(self, state: ExplorerState):
        super().__init__(state)
        users = list(dict.fromkeys(user for user, _ in state.corpus.block_ids())) or [state.user]
        self.users = [make_field(widgets.Dropdown, "User", options=users) for _ in range(2)]
        self.memories = [make_field(widgets.Dropdown, "Memory") for _ in range(2)]
        self._offer()
        self._on_block()
        self.memories[0].value, self.memories[1].value = state.system, NONE
        for choice in (*self.users, *self.memories):
            choice.observe(self.clear, "value")
        state.observe(self._on_block, "opened")
        state.observe(self._on_draft, "draft")
        state.observe(self.clear, ["at", "reply"])
        about = translate(
            "The open reply is judged twice. Another user comes with that user's profile and memory; the "
            "conversation before the reply stays the same."
        )
        names = [
            widgets.HTML(f"<b>{name}</b>", layout={"width": "5em"})
            for name in (translate("First"), translate("Second"))
        ]
        self.children = [
            heading("Two users, or two memories, on one reply"),
            widgets.HTML(div("small", about)),
            *map(bar, names, self.users, self.memories),
            *(bar(self.score, self.write), self.asking, self.shown),
        ]

    # -- what is compared -----------------------------------------------------------------------------------

    def _offer(self) -> None:
        """Offer the memories there are now."""
        options = [(_name_memory(name), name) for name in (*systems(), DRAFT, NONE)]
        for memory in self.memories:
            chosen = memory.value
            memory.options = options
            memory.value = chosen if chosen in [value for _, value in options] else options[0][1]

    def _on_block(self, change: Any = None) -> None:
        for user in self.users:
            if self.state.user in user.options:
                user.value = self.state.user
        self.clear()

    def _on_draft(self, change: Any = None) -> None:
        self._offer()
        if DRAFT in (memory.value for memory in self.memories):
            self.clear()

    def ask(self, *, written: bool) -> None:
        """Have the open reply judged for both sides."""
        self.clear()
        chosen = [(u.value, m.value) for u, m in zip(self.users, self.memories)]
        if self.state.target and (lacks := self._lacks(chosen)):
            self.asking.fail(lacks)
            return
        self.judge_sides(chosen, translate("The judge reads the reply twice …"), written=written)

    def _lacks(self, chosen: Sequence[tuple[str, str]]) -> str:
        """Return what is wrong with the choices; empty when nothing is."""
        own = self.state.user
        if self.state.draft is None and DRAFT in (memory for _, memory in chosen):
            return translate("No memory is being edited. Open one under “Judge and change”.")
        if all(memory != DRAFT or user == own for user, memory in chosen):
            return ""
        return translate(
            "The edited memory is that of user {user}. Choose a memory of the other user, or save the edit under a "
            "name.",
            user=own,
        )

    def show(self, sides: Sequence[JudgedSide]) -> None:
        """Show both verdicts, and by how much the second is above the first."""
        first, second = (side.verdict.score for side in sides)
        self.shown.value = render_macro(
            "compared",
            sides=sides,
            by=None if first is None or second is None else second - first,
            rows=[shares_of(f"{side.user} · {side.name}", side.verdict) for side in sides],
            response=str(sides[0].block.targets["response"].iloc[0]),
            verdicts=[verdict_html(side.verdict, side.block, side.memory) for side in sides],
        )


def _name_memory(name: str) -> str:
    own = {DRAFT: translate("current edit"), NONE: translate("no memory")}
    return own.get(name) or system_name(name)


class MemoriesPanel(SidesPanel):
    """The open reply before the same judge, once with each memory that is there at once, and once without any."""

    def __init__(self, state: ExplorerState):
        super().__init__(state)
        state.observe(self.clear, ["opened", "at", "reply", "draft"])
        about = translate("The open reply is scored once with each memory that asks no model, and once without any.")
        self.children = [
            heading("One reply, every memory"),
            *(widgets.HTML(div("small", about)), bar(self.score), self.asking, self.shown),
        ]

    def ask(self, *, written: bool) -> None:
        """Have the open reply scored with every memory."""
        chosen = [(self.state.user, name) for name in (*filter(needs_no_model, systems()), NONE)]
        self.judge_sides(chosen, translate("The judge reads {n} replies …", n=len(chosen)), written=written)

    def show(self, sides: Sequence[JudgedSide]) -> None:
        """Show the verdict with each memory."""
        self.shown.value = render_macro("distribution", rows=[shares_of(side.name, side.verdict) for side in sides])


class CandidatesPanel(SidesPanel):
    """What candidates answered to the open turn, before the judge of its user: the best first.

    Their replies come with the corpus or from a file.
    """

    def __init__(self, state: ExplorerState):
        super().__init__(state)
        hint = mark("a JSONL file of candidates' replies; Enter loads it")
        self.file = make_field(widgets.Text, "File of replies", hint, _WIDE, continuous_update=False)
        self.turn = make_field(widgets.Dropdown, "Replayed turns", width=_WIDE)
        self.message, self.loaded = widgets.HTML(), widgets.HTML()
        watch(state, self.turn, self._choose)
        watch(state, self.file, lambda file: self._take(file.strip()))
        self._take("")
        state.observe(self._on_block, ["opened", "at"])
        state.observe(self.clear, ["draft", "system"])
        self.children = [
            heading("Candidates' replies to the same turn"),
            *(self.file, self.loaded, self.turn, self.message),
            *(bar(self.score, self.write), self.asking, self.shown),
        ]

    # -- which replies --------------------------------------------------------------------------------------

    def _take(self, file: str) -> None:
        """Take replies from a file; without one, those that the corpus comes with."""
        corpus, message = self.state.corpus, ""
        replies = corpus.extras.get("candidates", pd.DataFrame()).reindex(columns=_COLUMNS)
        if file:
            try:
                replies = read_replies(Path(file).expanduser(), corpus)
            except (PerslibError, OSError) as error:
                self.loaded.value = line(translate("The file was not loaded: {what}", what=error), "failed")
                return
            message = translate(
                "{n} replies of {candidates} candidates in {path}.",
                n=len(replies),
                candidates=replies["candidate"].nunique(),
                path=Path(file).name,
            )
        self.loaded.value = line(message) if message else ""
        given = replies.loc[replies["response"].notna(), _COLUMNS].drop_duplicates(["candidate", *TURN], keep="last")
        self.replies = given.reset_index(drop=True)
        self._on_block()

    def _on_block(self, change: Any = None) -> None:
        """Offer the replayed turns of the open block, and say how many answered the open one."""
        state = self.state
        places = [key[2:] for key in keys_of(select_by_keys(state.block.targets, set(keys_of(self.replies))))]
        with state.pause_field_events():
            self.turn.options = [(reply_place(*place), place) for place in places]
            self.turn.value = state.at if state.at in places else None
        self.turn.layout.display = None if places else "none"
        n = len(select_by_keys(self.replies, [state.key]))
        self.score.disabled = self.write.disabled = not n
        message = translate(
            "{n} candidates answered this turn, in addition to the recorded reply."
            if n
            else "No candidate answered this turn. {n} turns of this user and scenario were replayed; choose one of "
            "them."
            if len(self.replies)
            else "This corpus has no candidates' replies. Enter a file of replies.",
            n=n or len(places),
        )
        self.message.value = line(message)
        self.clear()

    def _choose(self, place: tuple[str, int] | None) -> None:
        if place is not None:
            self.state.at = place

    # -- what the judge says --------------------------------------------------------------------------------

    def ask(self, *, written: bool) -> None:
        """Have the recorded reply and every candidate's judged with the same memory."""
        state, here = self.state, select_by_keys(self.replies, [self.state.key])
        if state.key is None or here.empty:
            return
        self.clear()
        place = state.key[2:]
        replies = [state.block.target(*place).response, *here["response"]]
        chosen = [(state.user, DRAFT if state.draft else state.system)]
        label = translate("The judge reads {n} replies …", n=len(replies))
        self.judge_sides(chosen, label, written=written, asked=state.block.with_replies(*place, replies))

    def show(self, sides: Sequence[JudgedSide]) -> None:
        """Show the best reply first, and those without a score at the end."""
        (side,), state = sides, self.state
        names = [name_of(ORIGINAL), *select_by_keys(self.replies, [state.key])["candidate"]]
        judged = zip(names, side.block.targets["response"], side.verdicts, (verdict.score for verdict in side.verdicts))
        ranked = sorted(judged, key=lambda of: -(of[3] or 0))
        memory = system_name(state.system)
        if state.draft is not None and state.draft.is_changed:
            memory = join([memory, side.name])
        rows = [shares_of(name, verdict) for name, _, verdict, _ in ranked]
        self.shown.value = render_macro("replayed", memory=memory, rows=rows, replies=ranked)
