"""What the researcher has open: user, target scenario, memory, turn, verdict. No widgets; the panels watch it.

Gold labels of the target scenario are hidden until they are asked for (`perslib.explorer.journal` remembers that).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import pandas as pd
from traitlets import Bool, HasTraits, Instance, Int, Unicode, observe

from perslib.corpus import BLOCK, TURN, Block, Corpus, Target
from perslib.errors import UnknownName
from perslib.explorer.journal import Journal, Key
from perslib.explorer.words import say
from perslib.judge import Judge, Personal, Verdict
from perslib.llm import Backbone
from perslib.memory import MEMORIES, Draft, Given, MemorySystem, UserMemory, memory, turns_by_id
from perslib.studies.extent import Extent, extent

#: The memory systems one can look at, by the names that studies use; the first is built at once.
SYSTEMS = ("measured", *(name for name in MEMORIES if name != "measured"))


class Looking(HasTraits):
    """The state that all panels share.

    Opening another user or scenario closes what belonged to the one before: draft, verdict, pasted reply.
    """

    opened = Instance(tuple, (), help="(user, target scenario)")
    at = Instance(tuple, allow_none=True, help="(session, turn) of the reply that is open")
    reply = Unicode(None, allow_none=True, help="a pasted reply, judged in place of the recorded one")
    system = Unicode(SYSTEMS[0], help="the memory that is looked at")
    draft = Instance(Draft, allow_none=True, help="that memory, once it is built, with all edits")
    verdict = Instance(Verdict, allow_none=True, help="the last verdict on the reply that is open")
    gold_shown = Int(0, help="grows when gold labels are shown")
    past_in_view = Bool(False, help="whether the panels in view show how the user scored in other scenarios")

    def __init__(self, corpus: Corpus, backbone: Backbone, language: str = "zh"):
        super().__init__()
        self.corpus, self.backbone, self.language = corpus, backbone, language
        self.prompts = corpus.language if corpus.language in ("zh", "en") else language
        self.extent: Extent = extent(backbone, 0)
        self.journal = Journal(corpus.name)
        pairs = corpus.block_ids() or list(corpus.sessions[BLOCK].itertuples(index=False, name=None))
        self.open(*pairs[0])

    def say(self, key: str, **fields: object) -> str:
        """The interface's words for `key`, in its language."""
        return say(key, self.language, **fields)

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
        """Open a user, with the scenario given, else the one that was open, else the user's first."""
        own = self.scenarios_of(user)
        if scenario is not None and scenario not in own:
            raise UnknownName(f"scenario of user {user}", scenario, own)
        before = self.opened[1] if self.opened else None
        self.opened = (user, scenario or (before if before in own else own[0]))

    @observe("opened")
    def _close_the_one_before(self, change: Mapping[str, Any]) -> None:
        for name in ("block", "evidence"):
            self.__dict__.pop(name, None)
        targets = self.block.targets
        self.draft = self.reply = None
        self.at = (targets["session"].iloc[0], int(targets["turn"].iloc[0])) if len(targets) else None
        self.verdict = None

    @observe("at", "reply")
    def _forget_the_verdict(self, change: Mapping[str, Any]) -> None:
        self.verdict = None

    @observe("at")
    def _forget_the_reply(self, change: Mapping[str, Any]) -> None:
        self.reply = None

    @observe("system")
    def _forget_the_memory(self, change: Mapping[str, Any]) -> None:
        self.draft = self.verdict = None

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
        return None if self.at is None else (self.user, self.scenario, str(self.at[0]), int(self.at[1]))

    @property
    def target(self) -> Target | None:
        """The turn that is open, with the pasted reply if there is one."""
        if self.at is None:
            return None
        found = self.block.target(*self.at)
        return found if self.reply is None else replace(found, response=self.reply)

    def scenarios_of(self, user: str) -> list[str]:
        """The scenarios in which the user has rated or unrated replies, in the corpus's order."""
        return self._scenarios[user]

    @cached_property
    def _scenarios(self) -> dict[str, list[str]]:
        pairs = self.corpus.turns[BLOCK].drop_duplicates()
        own = pairs.groupby("user", sort=False)["scenario"].agg(set).to_dict()
        return {str(u): [s for s in self.corpus.scenarios if s in there] for u, there in own.items()}

    # -- memories and judges ----------------------------------------------------------------------------------

    def memory_system(self, name: str | None = None) -> MemorySystem:
        """The memory system of this name (`edited: …` for a saved one), prompts in the corpus's language."""
        look = self.extent
        return memory(name or self.system, self.prompts, evidence=look.evidence, budget=look.budget)

    def judge(self, memory: UserMemory | None, *, written: bool = True) -> Judge:
        """The personal judge with this memory, as the studies ask it on this backbone."""
        given = None if memory is None else Given(memory)
        return Personal(given, self.extent.manner(self.prompts, written=written), name="personal")

    def asked(self) -> Block | None:
        """The block with nothing to judge but the open reply, recorded or pasted."""
        if self.at is None:
            return None
        targets = self.block.targets
        row = targets[(targets["session"] == self.at[0]) & (targets["turn"] == self.at[1])]
        if self.reply is not None:
            row = row.assign(response=self.reply)
        return replace(self.block, targets=row.reset_index(drop=True))

    # -- gold -----------------------------------------------------------------------------------------------

    def show_gold(self) -> None:
        """Show the user's own scores in the open scenario; the journal remembers it."""
        for session, turn in self.block.targets[["session", "turn"]].itertuples(index=False, name=None):
            self.journal.note("gold", (self.user, self.scenario, session, int(turn)))
        self.gold_shown += 1

    def is_gold_shown(self, key: Key | None = None) -> bool:
        """Whether the user's own score of this turn (the open one) was shown, now or in an earlier session."""
        key = key or self.key
        return key is not None and self.journal.has("gold", key)

    @observe("opened", "past_in_view")
    def _note_the_past(self, change: Mapping[str, Any]) -> None:
        """Whoever sees how a user scored in a scenario has not judged its replies blindly from then on."""
        if self.past_in_view:
            for scenario in self.scenarios_of(self.user):
                if scenario != self.scenario:
                    self.journal.note("past", (self.user, scenario, "", -1))

    def is_label_seen(self, key: Key | None = None) -> bool:
        """Whether the user's score of this turn could be seen: asked for, or as part of the past of another target."""
        key = key or self.key
        return key is not None and (self.is_gold_shown(key) or self.journal.has("past", (*key[:2], "", -1)))

    def is_verdict_shown(self, key: Key | None = None) -> bool:
        """Whether a verdict on the recorded reply of this turn was shown, now or in an earlier session."""
        key = key or self.key
        return key is not None and self.journal.has("verdict", key)

    def show_verdict(self, verdict: Verdict) -> None:
        """Make this the verdict on the open reply; on a recorded reply the journal remembers it."""
        if self.key is not None and self.reply is None:
            self.journal.note("verdict", self.key)
        self.verdict = verdict

    def gold(self) -> tuple[int | None, str | None]:
        """The user's score and reason of the open turn, once gold is shown."""
        if self.key is None or not self.is_gold_shown():
            return None, None
        turns = self.corpus.turns
        row = turns[(turns[TURN] == list(self.key)).all(axis=1)].iloc[0]
        return (None if pd.isna(row["score"]) else int(row["score"])), row["reason"]
