"""What the researcher has open: user, target scenario, memory, turn, verdict. No widgets; the panels watch it.

Gold labels of the target scenario are hidden until they are asked for, and a journal remembers that.
"""

from __future__ import annotations

import json
import logging
import re
import warnings
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal, TypeVar

import pandas as pd
from traitlets import Any as AnyValue
from traitlets import Bool, HasTraits, Instance, Int, Unicode, observe

from perslib.corpus import BLOCK, TURN, Block, Corpus, Target
from perslib.corpus.files.records import json_lines
from perslib.errors import DataError, FewTrainUsers, UnknownName
from perslib.judge import FromStatements, Judge, Personal, Preferences, Verdict
from perslib.judge.scope import StudyScope, choose_scope
from perslib.llm import Ask, Backbone
from perslib.memory import Draft, FixedSystem, MemorySystem, PreferenceMemory, UserMemory, make_memory, turns_by_id
from perslib.memory.registry import EDITED
from perslib.paths import state_folder
from perslib.studies.why import find_edits, list_changes, take_apart
from perslib.text import translate, using_language

L = TypeVar("L", bound=Judge | MemorySystem)
Key = tuple[str, str, str, int]
What = Literal["gold", "past", "verdict"]
#: Train users are parted so often; those of a part are judged by what the other parts teach.
PARTS = 3


def keys_of(turns: pd.DataFrame) -> list[Key]:
    """Return the keys of turns, in their order."""
    return [(*key, int(turn)) for *key, turn in turns[TURN].itertuples(index=False, name=None)]


def select_by_keys(turns: pd.DataFrame, keys: Container[Key | None]) -> pd.DataFrame:
    """Return those turns that have one of these keys."""
    return turns[[key in keys for key in keys_of(turns)]]


def file_of(corpus: str) -> str:
    """Return the name of a file of lines about the corpus of this name."""
    return re.sub(r"[^\w.-]+", "_", corpus) + ".jsonl"


class Journal:
    """`.perslib/explorer/<corpus>.jsonl`: once a turn's label or verdict was seen, it cannot be unseen."""

    def __init__(self, corpus: str):
        self.path = state_folder() / "explorer" / file_of(corpus)
        self._seen: set[tuple[str, Key]] = set()
        if self.path.is_file():
            fact: Any
            for _, fact, _ in json_lines(self.path.read_bytes(), self.path.name):
                with suppress(ValueError, KeyError, TypeError):  # a line cut off by a crash says nothing
                    user, scenario, session, turn = fact["turn"]
                    self._seen.add((fact["shown"], (user, scenario, session, int(turn))))

    def has(self, what: What, key: Key) -> bool:
        """Return whether it was shown."""
        return (what, key) in self._seen

    def note(self, what: What, key: Key) -> None:
        """Note that it is shown now."""
        if self.has(what, key):
            return
        self._seen.add((what, key))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fact = {"shown": what, "turn": key, "at": datetime.now(UTC).isoformat(timespec="seconds")}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(fact, ensure_ascii=False) + "\n")


@dataclass(frozen=True)
class AtOnce:
    """A verdict by statements on one reply, and what it is made of (`perslib.studies.why`)."""

    judge: FromStatements
    block: Block
    verdict: Verdict
    memory: UserMemory
    why: dict[str, Any]

    async def would_change(self, ask: Ask) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return what would change the verdict: changes of the reply, and edits of the memory."""
        changes = await list_changes(self.judge, self.block, ask)
        return changes, await find_edits(self.judge, self.block, self.memory.statements, ask)


class ExplorerState(HasTraits):
    """The state that all panels share.

    Opening another user or scenario closes what belonged to the one before: draft, verdict, pasted reply.
    """

    opened = Instance(tuple, (), help="(user, target scenario)")
    at = Instance(tuple, allow_none=True, help="(session, turn) of the reply that is open")
    reply = Unicode(None, allow_none=True, help="a pasted reply, judged in place of the recorded one")
    system = Unicode("preferences", help="the memory that is looked at")
    draft = Instance(Draft, allow_none=True, help="that memory, once it is built, with all edits")
    verdict = Instance(Verdict, allow_none=True, help="the last verdict on the reply that is open")
    gold_shown = Int(0, help="grows when gold labels are shown")
    failed = AnyValue(None, help="the error that the last callback ended with")
    past_in_view = Bool(False, help="whether the panels in view show how the user scored in other scenarios")

    def __init__(self, corpus: Corpus, backbone: Backbone, language: str = "zh"):
        super().__init__()
        self.corpus, self.backbone, self.language = corpus, backbone, language
        self.prompts = corpus.language if corpus.language in ("zh", "en") else language
        self.scope: StudyScope = choose_scope(backbone, 0)
        self.journal = Journal(corpus.name)
        self._taught: dict[tuple[str, ...], Any] = {}
        self._is_telling = self.is_filling = False
        pairs = corpus.block_ids() or list(corpus.sessions[BLOCK].itertuples(index=False, name=None))
        pairs = [(user, scenario) for user, scenario in pairs if scenario in self.scenarios.get(user, [])]
        if not pairs:
            message = translate(
                "The corpus {corpus} has no replies, so there is nothing to explore. Choose another one, or import "
                "conversations with replies.",
                corpus=corpus.name,
            )
            raise DataError(message)
        learnt = corpus.turns["user"].isin(corpus.split().get("train", [])) & corpus.turns["score"].notna()
        if not learnt.any():
            self.system = "measured"  # preferences are learned from train users who scored
        self.open(*pairs[0])

    def notify_change(self, change: Any) -> None:
        """Tell the panels of a change; they write in the language of this interface, whichever was begun last."""
        with using_language(self.language):
            super().notify_change(change)

    def report_errors(self, callback: Callable[[Any], object]) -> Callable[[Any], None]:
        """Return the callback of a widget; its error is shown at the top, where Jupyter and Voilà would show nothing.

        What one callback sets off is part of it: an error in there ends the whole.
        """

        def run(event: Any) -> None:
            if self._is_telling:
                callback(event)
                return
            self._is_telling, self.failed = True, None
            try:
                with using_language(self.language):
                    callback(event)
            except Exception as error:
                logging.getLogger(__name__).warning("a callback failed", exc_info=True)
                self.failed = error
            finally:
                self._is_telling = False

        return run

    @contextmanager
    def pause_field_events(self) -> Iterator[None]:
        """Let the program set fields in this block without anybody who watches them acting."""
        before, self.is_filling = self.is_filling, True
        try:
            yield
        finally:
            self.is_filling = before

    # -- what is open ---------------------------------------------------------------------------------------

    @property
    def user(self) -> str:
        """Whose memory it is."""
        return str(self.opened[0])

    @property
    def scenario(self) -> str:
        """The target scenario: its replies are judged, the others are evidence."""
        return str(self.opened[1])

    def open(self, user: str, scenario: str | None = None) -> None:
        """Open a user, with the scenario given, else the one that was open, else the user's first.

        When a panel cannot show it, user, scenario, turn and draft go back to what was open before.
        """
        own = self.scenarios[user]
        if scenario is not None and scenario not in own:
            raise UnknownName(f"scenario of user {user}", scenario, own)
        before, at, draft = self.opened, self.at, self.draft
        chosen = before[1] if before and before[1] in own else own[0]
        try:
            self.opened = (user, scenario or chosen)
        except Exception:
            if before:
                self.opened, self.at, self.draft = before, at, draft
            raise

    @observe("opened")
    def _close_the_one_before(self, change: Mapping[str, Any]) -> None:
        for name in ("block", "evidence"):
            self.__dict__.pop(name, None)
        targets = self.block.targets
        self.draft = self.reply = None
        self.at = (targets["session"].iloc[0], int(targets["turn"].iloc[0])) if len(targets) else None
        self.verdict = None

    @observe("at", "reply", "system")
    def _forget_what_belonged_to_it(self, change: Mapping[str, Any]) -> None:
        self.verdict = None
        if change["name"] == "at":
            self.reply = None
        elif change["name"] == "system":
            self.draft = None

    @cached_property
    def block(self) -> Block:
        """The user's other scenarios as evidence, this one's replies as targets, without labels."""
        return self.corpus.block(self.user, self.scenario)

    @cached_property
    def evidence(self) -> dict[str, dict[Any, Any]]:
        """The turns of the user's other scenarios by their ids."""
        return turns_by_id(self.block)

    @property
    def key(self) -> Key | None:
        """The keys of the turn that is open."""
        return None if self.at is None else (self.user, self.scenario, *self.at)

    @property
    def target(self) -> Target | None:
        """The turn that is open, with the pasted reply if there is one."""
        if self.at is None:
            return None
        target = self.block.target(*self.at)
        return target if self.reply is None else replace(target, response=self.reply)

    @cached_property
    def scenarios(self) -> dict[str, list[str]]:
        """The scenarios in which each user has rated or unrated replies, in the corpus's order."""
        pairs = self.corpus.turns[BLOCK].drop_duplicates()
        own = pairs.groupby("user", sort=False)["scenario"].agg(set).to_dict()
        return {str(u): [s for s in self.corpus.scenarios if s in there] for u, there in own.items()}

    # -- memories and judges ----------------------------------------------------------------------------------

    def memory_system(self, name: str | None = None) -> MemorySystem:
        """Return the memory system of this name (`edited: …` for a saved one), prompts in the corpus's language."""
        scope = self.scope
        system = make_memory(name or self.system, self.prompts, evidence=scope.evidence, budget=scope.budget)
        return Taught(system, self) if system.learns else system

    def judge(self, memory: UserMemory | None, *, written: bool = True) -> Judge:
        """Return the personal judge with this memory, as the studies ask it on this backbone."""
        given = None if memory is None else FixedSystem(memory)
        return Personal(given, self.scope.make_settings(self.prompts, written=written), name="personal")

    async def score_at_once(self, block: Block, memory: UserMemory | None, ask: Ask) -> AtOnce:
        """Score a reply by what everybody likes and by statements on this user, without a model.

        The statements are those of the memory, where it is one of preferences; else they are read off the history.
        """
        judge = copy(await self.teach(self.statement_judge(), block.user, ask))
        if not isinstance(memory, PreferenceMemory):
            memory = await Preferences(self.prompts, judge=judge).build(block, ask)
        judge.memory = FixedSystem(memory)
        (verdict,) = await judge.judge(block, ask)
        scored = [s for s in memory.statements if s.points is not None]
        verdict = replace(verdict, memory=memory.system)
        return AtOnce(judge, block, verdict, memory, await take_apart(judge, block, ask, scored))

    async def teach(self, learner: L, user: str, ask: Ask) -> L:
        """Return the judge or memory once it has learned from the train users but this one; of one name, the first that
        did.
        """
        key, train = self._lesson(learner, user)
        if key not in self._taught:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FewTrainUsers)
                await learner.fit(self.corpus.of_users(train), ask)
            self._taught[key] = learner
        result: L = self._taught[key]
        return result

    def _lesson(self, learner: Judge | MemorySystem, user: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return who teaches it for this user, and by what it is known: of train users those of the other parts, so
        that few are taught.
        """
        train = self.corpus.split().get("train", [])
        part = train.index(user) % PARTS if user in train else None
        teachers = tuple(name for i, name in enumerate(train) if part is None or i % PARTS != part)
        return (type(learner).__name__, learner.name, *teachers), teachers

    def needs_fit(self, name: str) -> bool:
        """Return whether a memory has yet to learn from other users before it can be built: seconds, the first time."""
        system = None if name.startswith(EDITED) else make_memory(name, self.prompts)
        if system is None or not system.learns:
            return False
        learner = self.statement_judge() if isinstance(system, Preferences) else system
        return self._lesson(learner, self.user)[0] not in self._taught

    def statement_judge(self) -> FromStatements:
        """Return the judge from statements, before it is taught; the memory of preferences is read off what it learns."""
        return FromStatements(language=self.prompts)

    def make_open_block(self) -> Block | None:
        """Return the block with nothing to judge but the open reply, recorded or pasted."""
        target = self.target
        return self.block.with_replies(target.session, target.turn, [target.response]) if target else None

    # -- gold -----------------------------------------------------------------------------------------------

    def show_gold(self, turns: pd.DataFrame | None = None) -> None:
        """Show the users' own scores of these turns, or of the open scenario; the journal remembers it."""
        for key in keys_of(self.block.targets if turns is None else turns):
            self.journal.note("gold", key)
        self.gold_shown += 1

    def is_gold_shown(self, key: Key | None = None) -> bool:
        """Return whether the user's own score of this turn (the open one) was shown, now or in an earlier session."""
        key = key or self.key
        return key is not None and self.journal.has("gold", key)

    @observe("opened", "past_in_view")
    def _note_the_past(self, change: Mapping[str, Any]) -> None:
        """Note the scenario as seen: its replies are not judged blindly from now on."""
        if self.past_in_view:
            for scenario in self.scenarios[self.user]:
                if scenario != self.scenario:
                    self.journal.note("past", (self.user, scenario, "", -1))

    def is_label_seen(self, key: Key | None = None) -> bool:
        """Return whether the user's score of this turn could be seen: asked for, or as part of the past of another
        target.
        """
        key = key or self.key
        return key is not None and (self.is_gold_shown(key) or self.journal.has("past", (*key[:2], "", -1)))

    def is_verdict_shown(self, key: Key | None = None) -> bool:
        """Return whether a verdict on the recorded reply of this turn was shown, now or in an earlier session."""
        key = key or self.key
        return key is not None and self.journal.has("verdict", key)

    def show_verdict(self, verdict: Verdict) -> None:
        """Make this the verdict on the open reply; on a recorded reply the journal remembers it."""
        if self.key is not None and self.reply is None:
            self.journal.note("verdict", self.key)
        self.verdict = verdict

    def gold(self) -> tuple[int | None, str | None]:
        """Return the user's score and reason of the open turn, once gold is shown."""
        if self.key is None or not self.is_gold_shown():
            return None, None
        row = select_by_keys(self.corpus.turns, [self.key]).iloc[0]
        return (None if pd.isna(row["score"]) else int(row["score"])), row["reason"]


class Taught(MemorySystem):
    """A memory that learns, taught from the train users of what is open when it is first built."""

    def __init__(self, system: MemorySystem, state: ExplorerState):
        self.system, self.state, self.name = system, state, system.name

    async def build(self, block: Block, ask: Ask, judged: pd.DataFrame | None = None) -> UserMemory:
        """Return the system's own memory."""
        if isinstance(self.system, Preferences):
            judge = await self.state.teach(self.state.statement_judge(), block.user, ask)
            return await Preferences(self.system.language, most=self.system.most, judge=judge).build(block, ask, judged)
        return await (await self.state.teach(self.system, block.user, ask)).build(block, ask, judged)
