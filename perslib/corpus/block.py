"""The leak-proof unit of judging: one user, one target scenario."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from perslib.corpus.schema import TURN, coerce
from perslib.errors import UnknownName

Message = dict[str, str]

#: All that a target shows. No score, reason, rating, click or time, and no session outcome: gold labels meet
#: verdicts in `metrics`. `prefix` is what was said before the reply; what came after is nowhere.
TARGET_COLUMNS = ["user", "scenario", "session", "turn", "task", "assistant", "prefix", "response"]

#: All that is left of a user's other sessions where nobody may see a label: who they were with, what was said, and what
#: the user's device logged before them.
SAID_IN_SESSIONS = ["user", "scenario", "session", "task", "assistant", "position", "trailing"]
LOGGED = ["user", "scenario", "session", "at", "kind", "content"]
SAID_IN_TURNS = ["user", "scenario", "session", "turn", "request", "earlier", "response", "task", "assistant"]


@dataclass(frozen=True)
class Target:
    """One reply to judge, with what had been said before it and nothing of what came after."""

    user: str
    scenario: str
    session: str
    turn: int
    task: str | None
    assistant: str | None
    prefix: tuple[Message, ...] = field(repr=False)
    response: str = field(repr=False)

    @property
    def request(self) -> str | None:
        """The user message that the reply answers, where there is one."""
        last = self.prefix[-1] if self.prefix else None
        return last["content"] if last and last["role"] == "user" else None

    def window(self, messages: int = 5) -> tuple[Message, ...]:
        """The last messages of either role before the reply (PersTurnBench shows five)."""
        return self.prefix[-messages:] if messages else ()


@dataclass(frozen=True)
class Block:
    """Evidence and targets of one (user, scenario), PersTurnBench section 3.1.

    `evidence` holds the user's labelled turns in all *other* scenarios, with task and assistant of their
    session; `sessions` those scenarios' sessions; `targets` the replies of this scenario without any label.
    """

    user: str
    scenario: str
    profile: dict[str, Any] = field(repr=False)
    evidence: pd.DataFrame = field(repr=False)
    sessions: pd.DataFrame = field(repr=False)
    targets: pd.DataFrame = field(repr=False)
    labelled: bool = True
    """False where labels were taken out: the past then tells what the user asked for, not how the user scores."""
    events: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=LOGGED), repr=False)
    """Device logs, each with the session that it led up to, in the order of time."""

    def unlabelled(self) -> Block:
        """The same block for whoever writes replies: no label of any turn or session, no recorded reply of a target.

        What may stay is listed, so that a column nobody thought of stays out. Documented columns are still there,
        empty. (Replies of earlier turns are part of a target's prefix: they had been said.)
        """
        sessions = self.sessions.filter(SAID_IN_SESSIONS)
        return replace(
            self,
            evidence=coerce(self.evidence.filter(SAID_IN_TURNS), "turns", self.id),
            sessions=coerce(sessions, "sessions", self.id),
            targets=self.targets.filter(TARGET_COLUMNS).assign(response=""),
            labelled=False,
            events=coerce(self.events.filter(LOGGED), "events", self.id),
        )

    def bare(self) -> Block:
        """Which replies it holds, and nothing else: what is kept of a block that has been judged."""
        nothing = pd.DataFrame()  # an empty part of a frame would keep the whole in memory
        return replace(self, targets=self.targets[TURN], evidence=nothing, sessions=nothing, events=nothing)

    @property
    def id(self) -> str:
        """`user__scenario`, the name under which published artefacts store a block."""
        return f"{self.user}__{self.scenario}"

    def __len__(self) -> int:
        return len(self.targets)

    def __iter__(self) -> Iterator[Target]:
        for row in self.targets.to_dict("records"):
            task, assistant = (None if pd.isna(row[c]) else row[c] for c in ("task", "assistant"))
            given = {str(c): v for c, v in row.items()}
            yield Target(**{**given, "task": task, "assistant": assistant, "turn": int(row["turn"])})

    def target(self, session: str, turn: int) -> Target:
        """The target of this session and turn."""
        for target in self:
            if (target.session, target.turn) == (session, turn):
                return target
        raise UnknownName("target", f"{session}/{turn}", [f"{t.session}/{t.turn}" for t in self])

    def __repr__(self) -> str:
        return f"Block({self.id}: {len(self.targets)} targets, {len(self.evidence)} turns of evidence)"
