"""Comparing verdicts on one turn: under two users or two memories, and of the candidates that answered it anew."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import pandas as pd

from perslib.corpus import TURN, Block
from perslib.errors import PerslibError
from perslib.explorer.looking import Looking, keys_of
from perslib.explorer.parts import (
    WHOLE,
    Asking,
    bar,
    div,
    heading,
    judge_buttons,
    line,
    profile_fold,
    reply_place,
    watch,
)
from perslib.explorer.see import system_name, systems
from perslib.explorer.verdicts import chip_html, distribution_html, rationale_html, score_of, verdict_html
from perslib.judge import Verdict
from perslib.llm import Ask
from perslib.memory import UserMemory
from perslib.replay import ORIGINAL, read_replies
from perslib.report.show import escape, fold_html, reply_html
from perslib.report.words import name_of
from perslib.text import join, translate

#: Choices of a memory beside the systems: the one being edited, and none.
DRAFT, NONE = "draft", "none"
#: Scores nearer to each other than this would be written as the same.
SAME = 0.005
_COLUMNS = ["candidate", *TURN, "response"]


def compare(looking: Looking) -> widgets.Widget:
    """The panel that sets verdicts on one turn side by side."""
    return widgets.VBox([Two(looking), Replayed(looking)])


@dataclass(frozen=True)
class Side:
    """One of two verdicts on the same reply."""

    user: str
    system: str
    block: Block
    memory: UserMemory | None
    verdict: Verdict

    @property
    def label(self) -> str:
        """Whose verdict it is, and with which memory."""
        return f"{self.user} · {_called(self.system)}"


class Compared(widgets.VBox):
    """Verdicts on the open turn that are asked for and shown together, until something else is open."""

    def __init__(self, looking: Looking):
        self.looking, self.asking, self.shown = looking, Asking(looking), widgets.HTML()
        self.score, self.write = judge_buttons(looking, self.ask)
        super().__init__()

    def ask(self, *, written: bool) -> None:
        """Ask the judge, for scores alone or with what it writes about them."""
        raise NotImplementedError

    def _clear(self, change: Any = None) -> None:
        self.asking.clear()
        self.shown.value = ""


class Two(Compared):
    """The open reply before the same judge, with two memories or as two users."""

    def __init__(self, looking: Looking):
        super().__init__(looking)
        users = list(dict.fromkeys(user for user, _ in looking.corpus.block_ids())) or [looking.user]
        self.users = [widgets.Dropdown(options=users, description=translate("User")) for _ in range(2)]
        self.memories = [widgets.Dropdown(description=translate("Memory")) for _ in range(2)]
        self._offer()
        self._opened()
        self.memories[0].value, self.memories[1].value = looking.system, NONE
        for choice in (*self.users, *self.memories):
            choice.observe(self._clear, "value")
        looking.observe(self._opened, "opened")
        looking.observe(self._edited, "draft")
        looking.observe(self._clear, ["at", "reply"])
        about = translate(
            "The open reply is judged twice. Another user comes with that user's profile and memory; the "
            "conversation before the reply stays the same."
        )
        names = [
            widgets.HTML(f"<b>{escape(name)}</b>", layout=widgets.Layout(width="5em"))
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
        """The memories there are now."""
        options = [(_called(name), name) for name in (*systems(), DRAFT, NONE)]
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

    def ask(self, *, written: bool) -> None:
        """Have the open reply judged for both sides."""
        self._clear()
        asked, looking = self.looking.asked(), self.looking
        chosen = [(u.value, m.value) for u, m in zip(self.users, self.memories)]
        if asked is None:
            self.asking.fail(translate("There is no reply to judge in this scenario."))
            return
        if looking.draft is None and DRAFT in (memory for _, memory in chosen):
            self.asking.fail(translate("No memory is being edited. Open one under “Judge and change”."))
            return
        if any(memory == DRAFT and user != looking.user for user, memory in chosen):
            message = translate(
                "The edited memory is that of user {user}. Choose a memory of the other user, or save the edit under "
                "a name.",
                user=looking.user,
            )
            self.asking.fail(message)
            return
        recorded = looking.reply is None

        def done(sides: list[Side]) -> None:
            if recorded and looking.key is not None:
                looking.journal.note("verdict", looking.key)
            self._show(sides, str(asked.targets["response"].iloc[0]))

        async def both(ask: Ask) -> list[Side]:
            return await asyncio.gather(*(self._side(asked, *side, written, ask) for side in chosen))

        self.asking.start(both, done, translate("The judge reads the reply twice …"))

    async def _side(self, asked: Block, user: str, name: str, written: bool, ask: Ask) -> Side:
        """The reply judged as this user with this memory."""
        looking = self.looking
        block = looking.corpus.block(user, asked.scenario)
        block = replace(block, targets=asked.targets.assign(user=user))
        memory: UserMemory | None = None
        if name == DRAFT and looking.draft is not None:
            memory = looking.draft.memory
        elif name != NONE:
            memory = await looking.memory_system(name).build(block, ask)
        verdicts = await looking.judge(memory, written=written).judge(block, ask)
        return Side(user, name, block, memory, verdicts[0])

    # -- what is shown --------------------------------------------------------------------------------------

    def _show(self, sides: Sequence[Side], said: str) -> None:
        rows = [(side.label, side.verdict.p, score_of(side.verdict)) for side in sides]
        reply = fold_html(escape(translate("The reply")), reply_html(said))
        columns = [
            f"<div>{div('part', side.label)}{profile_fold(side.block.profile)}"
            f"{verdict_html(side.verdict, side.block, side.memory)}</div>"
            for side in sides
        ]
        grid = "display:grid;grid-template-columns:repeat(auto-fit,minmax(min(20em,100%),1fr));gap:1.5em"
        columns_html = f"<div style='{grid}'>{''.join(columns)}</div>"
        self.shown.value = f"{_apart(sides)}{distribution_html(rows)}{reply}{columns_html}"


def _called(name: str) -> str:
    own = {DRAFT: translate("current edit"), NONE: translate("no memory")}
    return own.get(name) or system_name(name)


def _apart(sides: Sequence[Side]) -> str:
    """By how much the second is above the first, in words."""
    first, second = (score_of(side.verdict) for side in sides)
    if first is None or second is None:
        return ""
    by = second - first
    if abs(by) < SAME:
        said = translate("Both scores are equal.")
    else:
        said = translate(
            "The second is {by:.2f} above the first."
            if by > 0
            else "The second is {by:.2f} below the first.",
            by=abs(by),
        )
    return f"<p role='status'>{escape(said)}</p>"


class Replayed(Compared):
    """What candidates answered to the open turn, before the judge of its user: the best first.

    Their replies come with the corpus or from a file.
    """

    def __init__(self, looking: Looking):
        super().__init__(looking)
        wide: dict[str, Any] = {"style": WHOLE, "layout": widgets.Layout(width="min(46em, 100%)")}
        hint = translate("a JSONL file of candidates' replies; Enter loads it")
        self.file = widgets.Text(
            description=translate("File of replies"), placeholder=hint, continuous_update=False, **wide
        )
        self.turn = widgets.Dropdown(description=translate("Replayed turns"), **wide)
        self.said, self.loaded = widgets.HTML(), widgets.HTML()
        self._chosen = looking.telling(self._choose)
        self.turn.observe(self._chosen, "value")
        watch(looking, self.file, lambda file: self._take(file.strip()))
        self._take("")
        looking.observe(self._moved, ["opened", "at"])
        looking.observe(self._clear, ["draft", "system"])
        self.children = [
            heading("Candidates' replies to the same turn"),
            *(self.file, self.loaded, self.turn, self.said),
            *(bar(self.score, self.write), self.asking, self.shown),
        ]

    # -- which replies --------------------------------------------------------------------------------------

    def _take(self, file: str) -> None:
        """Replies from a file; without one, those that the corpus comes with."""
        corpus, said = self.looking.corpus, ""
        found = corpus.extras.get("candidates", pd.DataFrame())
        if file:
            try:
                found = read_replies(Path(file).expanduser(), corpus)
            except (PerslibError, OSError) as error:
                self.loaded.value = line(translate("The file was not loaded: {what}", what=error), "failed")
                return
            said = translate(
                "{n} replies of {candidates} candidates in {path}.",
                n=len(found),
                candidates=found["candidate"].nunique(),
                path=Path(file).name,
            )
        self.loaded.value = line(said) if said else ""
        found = found if set(_COLUMNS) <= set(found) else pd.DataFrame(columns=_COLUMNS)
        given = found[found["response"].notna()].drop_duplicates(["candidate", *TURN], keep="last")
        self.replies = given[_COLUMNS].reset_index(drop=True)
        self._moved()

    def _moved(self, change: Any = None) -> None:
        """Offer the replayed turns of the open block, and say how many answered the open one."""
        looking = self.looking
        replayed = set(keys_of(self.replies))
        there = [key[2:] for key in keys_of(looking.block.targets) if key in replayed]
        options = [(reply_place(*place), place) for place in there]
        self.turn.unobserve(self._chosen, "value")
        self.turn.options = options
        self.turn.value = looking.at if looking.at in there else None
        self.turn.observe(self._chosen, "value")
        self.turn.layout.display = None if there else "none"
        n = len(self._here())
        self.score.disabled = self.write.disabled = not n
        said = translate(
            "{n} candidates answered this turn, in addition to the recorded reply."
            if n
            else "No candidate answered this turn. {n} turns of this user and scenario were replayed; choose one of "
            "them."
            if len(self.replies)
            else "This corpus has no candidates' replies. Enter a file of replies.",
            n=n or len(there),
        )
        self.said.value = line(said)
        self._clear()

    def _here(self) -> pd.DataFrame:
        """The candidates' replies to the open turn."""
        return self.replies[[key == self.looking.key for key in keys_of(self.replies)]]

    def _choose(self, change: Any) -> None:
        if change["new"] is not None:
            self.looking.at = change["new"]

    # -- what the judge says --------------------------------------------------------------------------------

    def ask(self, *, written: bool) -> None:
        """Have the recorded reply and every candidate's judged with the same memory."""
        looking, key, here = self.looking, self.looking.key, self._here()
        if key is None or here.empty:
            return
        self._clear()
        names = [ORIGINAL, *here["candidate"]]
        said = [looking.block.target(*key[2:]).response, *here["response"]]
        targets = looking.block.targets
        row = targets[(targets["session"] == key[2]) & (targets["turn"] == key[3])]
        many = row.loc[row.index.repeat(len(said))].reset_index(drop=True)
        block = replace(looking.block, targets=many.assign(response=said))

        def done(verdicts: Sequence[Verdict]) -> None:
            looking.journal.note("verdict", key)
            self._show(names, said, verdicts)

        label = translate("The judge reads {n} replies …", n=len(said))
        self.asking.start(partial(self._judged, block, written), done, label)

    async def _judged(self, block: Block, written: bool, ask: Ask) -> Sequence[Verdict]:
        """With the memory as it is edited, or as it is built where it is not open yet."""
        looking = self.looking
        if looking.draft is not None:
            memory = looking.draft.memory
        else:
            memory = await looking.memory_system().build(block, ask)
        return await looking.judge(memory, written=written).judge(block, ask)

    def _show(self, names: Sequence[str], said: Sequence[str], verdicts: Sequence[Verdict]) -> None:
        """The best first; replies without a score at the end."""
        found = [(name_of(n) if n == ORIGINAL else n, s, v) for n, s, v in zip(names, said, verdicts)]
        found.sort(key=lambda of: -(score_of(of[2]) or 0))
        rows = [(name, verdict.p, score_of(verdict)) for name, _, verdict in found]
        draft, memory = self.looking.draft, system_name(self.looking.system)
        if draft is not None and draft.changed:
            memory = join([memory, _called(DRAFT)])
        head = line(translate("Judged with: {memory}", memory=memory))
        replies = "".join(_reply_html(*of) for of in found)
        self.shown.value = f"{head}{distribution_html(rows)}{replies}"


def _reply_html(name: str, text: str, verdict: Verdict) -> str:
    """A candidate's reply with its verdict, to be opened."""
    head = chip_html(score_of(verdict), verdict.reason, name)
    error = div("nowhere", verdict.error, "alert") if verdict.error else ""
    return fold_html(head, f"{reply_html(text)}{rationale_html(verdict)}{error}", "pl-group")
