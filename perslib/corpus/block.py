"""The leak-proof unit of judging: one user, one target scenario; and how blocks are cut out of a corpus."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus.schema import SESSION, TURN, coerce
from perslib.errors import UnknownName

Message = dict[str, str]

#: All columns of a target. It has no score, reason, rating, click, time or session outcome: gold labels are joined to
#: verdicts in `metrics`. `prefix` is the conversation before the reply; nothing after the reply is included.
TARGET_COLUMNS = ["user", "scenario", "session", "turn", "task", "assistant", "prefix", "response"]

#: All columns of a user's other sessions that remain where no label may be seen: the assistant, the messages, and the
#: logs of the user's device before the session.
SAID_IN_SESSIONS = ["user", "scenario", "session", "task", "assistant", "position", "trailing"]
LOGGED = ["user", "scenario", "session", "at", "kind", "content"]
SAID_IN_TURNS = ["user", "scenario", "session", "turn", "request", "earlier", "response", "task", "assistant"]


@dataclass(frozen=True)
class Target:
    """A reply to judge, with the conversation before it and nothing after it."""

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
        """Return the user's message that the reply answers, or None."""
        last = self.prefix[-1] if self.prefix else None
        return last["content"] if last and last["role"] == "user" else None

    def window(self, messages: int = 5) -> tuple[Message, ...]:
        """Return the last messages of both roles before the reply (PersTurnBench shows five)."""
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
    """False if labels were removed: the evidence then has the user's requests, but no scores."""
    events: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=LOGGED), repr=False)
    """Device logs in the order of time, each with the session that follows it."""

    def hide_labels(self) -> Block:
        """Return the block for those who write replies: without labels of turns and sessions, and without recorded
        replies of targets.

        Only listed columns stay, so a column that is not known here is removed. Documented columns are still present,
        but empty. Replies of earlier turns stay: they are part of a target's prefix.
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
        """Return the block with nothing but the keys of its replies: enough for a block that has been judged."""
        nothing = pd.DataFrame()  # an empty part of a frame would keep the whole in memory
        return replace(self, targets=self.targets[TURN], evidence=nothing, sessions=nothing, events=nothing)

    @property
    def id(self) -> str:
        """Return `user__scenario`, the name under which published artefacts store a block."""
        return f"{self.user}__{self.scenario}"

    def __len__(self) -> int:
        return len(self.targets)

    def __iter__(self) -> Iterator[Target]:
        columns = (self.targets[name].to_numpy(object) for name in TARGET_COLUMNS)
        for user, scenario, session, turn, task, assistant, prefix, response in zip(*columns):
            task, assistant = (name if isinstance(name, str) else None for name in (task, assistant))
            yield Target(user, scenario, session, int(turn), task, assistant, prefix, response)

    def target(self, session: str, turn: int) -> Target:
        """Return the target of this session and turn; raise UnknownName if there is none."""
        for target in self:
            if (target.session, target.turn) == (session, turn):
                return target
        raise UnknownName("target", f"{session}/{turn}", [f"{t.session}/{t.turn}" for t in self])

    def with_replies(self, session: str, turn: int, replies: Sequence[str]) -> Block:
        """Return the block with only these replies to one of its turns as targets."""
        is_turn = (self.targets["session"] == session) & (self.targets["turn"] == turn)
        row = self.targets[is_turn]
        targets = row.loc[row.index.repeat(len(replies))].reset_index(drop=True)
        return replace(self, targets=targets.assign(response=list(replies)))

    def __repr__(self) -> str:
        return f"Block({self.id}: {len(self.targets)} targets, {len(self.evidence)} turns of evidence)"


#: So many blocks of a corpus are kept, some kilobytes each beside its texts.
KEPT = 1024
_TOLD = ["task", "assistant"]
_NONE = np.array([], dtype=np.intp)
Rows = Mapping[Hashable, np.ndarray]


class Cutter:
    """The frames of a corpus, arranged so that a block is a few selections of rows."""

    def __init__(
        self,
        sessions: pd.DataFrame,
        turns: pd.DataFrame,
        events: pd.DataFrame,
        scenarios: Sequence[str],
        only_earlier: bool = False,
    ) -> None:
        self.only_earlier = only_earlier
        self._rank = {scenario: place for place, scenario in enumerate(scenarios)}
        order = np.argsort(sessions["scenario"].map(self._rank).to_numpy(), kind="stable")
        self._sessions = sessions.iloc[order]  # by scenario, within one as the source lists them
        self._listing = order
        self._listed, self._turns, self._events = sessions, turns, events
        #: Turns that only lead up to a reply (`perslib.corpus.by_reply`): neither evidence nor judged.
        self._leads = turns["leads"].to_numpy(bool) if "leads" in turns else np.zeros(len(turns), bool)
        self._blocks: dict[tuple[str, str], Block] = {}

    @cached_property
    def _session_rows(self) -> Rows:
        return _rows(self._sessions)

    @cached_property
    def _scenario(self) -> np.ndarray:
        return self._sessions["scenario"].to_numpy(dtype=object)

    @cached_property
    def _session_of(self) -> np.ndarray:
        """Return the position of the session of each turn."""
        known = pd.MultiIndex.from_frame(self._sessions[SESSION])
        return known.get_indexer(pd.MultiIndex.from_frame(self._turns[SESSION]))

    @cached_property
    def _by_session(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of turns, session after session, and where each session begins."""
        order = np.argsort(self._session_of, kind="stable")
        return order, np.searchsorted(self._session_of[order], np.arange(len(self._sessions) + 1))

    def block(self, user: str, scenario: str, profile: dict[str, object]) -> Block:
        """Return the user's other scenarios as evidence and this scenario's replies as targets, without labels.

        The last blocks are kept, since many judges are asked about the same ones; whoever changes a frame changes a copy.
        """
        key = (user, scenario)
        if key not in self._blocks:
            if len(self._blocks) >= KEPT:
                self._blocks.clear()
            self._blocks[key] = self._cut(user, scenario, profile)
        own_frames = self._blocks[key]
        frames = ("evidence", "sessions", "targets", "events")
        return replace(own_frames, **{name: getattr(own_frames, name).copy(deep=False) for name in frames})

    def _cut(self, user: str, scenario: str, profile: dict[str, object]) -> Block:
        own = self._session_rows.get(user, _NONE)
        there = self._scenario[own] == scenario
        others = own[~there]
        if self.only_earlier:
            others = others[self._listing[others] < self._listing[own[there]].min()]
        return Block(
            user,
            scenario,
            profile,
            self._evidence(self._turns_of(others)),
            _select_rows(self._sessions, others),
            self._targets(own[there]),
            events=self._led_up(user, scenario),
        )

    def iterate_messages(self, user: str, scenario: str, session: str) -> Iterator[list[Message]]:
        """Yield the messages that each turn adds to this conversation, the reply last."""
        own = self._session_rows.get(user, _NONE)
        named = self._sessions["session"].iloc[own].to_numpy(dtype=object) == session
        return _iterate_turn_messages(self._turns.iloc[self._turns_of(own[named & (self._scenario[own] == scenario)])])

    def _turns_of(self, sessions: np.ndarray) -> np.ndarray:
        order, begin = self._by_session
        positions = [order[begin[i] : begin[i + 1]] for i in sessions]
        return np.concatenate(positions) if positions else _NONE

    def _evidence(self, rows: np.ndarray) -> pd.DataFrame:
        rows = rows[~self._leads[rows]]
        return _select_rows(self._turns, rows).assign(**self._select_task_and_assistant(rows))

    def _select_task_and_assistant(self, turns: np.ndarray) -> dict[str, Any]:
        """Return the task and the assistant of the sessions of these turns."""
        return {name: self._sessions[name].array.take(self._session_of[turns]) for name in _TOLD}

    @cached_property
    def _spoken(self) -> pd.DataFrame:
        return self._turns[[*TURN, "request", "earlier", "response"]]

    def _targets(self, sessions: np.ndarray) -> pd.DataFrame:
        rows = self._turns_of(sessions)
        part, is_target = self._spoken.iloc[rows], ~self._leads[rows]
        prefixes: list[tuple[Message, ...]] = []
        last: tuple[object, ...] = ()
        prefix: tuple[Message, ...] = ()
        for key, (*asked, reply) in zip(zip(*(part[name] for name in SESSION)), _iterate_turn_messages(part)):
            prefix = (*prefix, *asked) if key == last else tuple(asked)
            prefixes.append(prefix)
            last, prefix = key, (*prefix, reply)
        columns = {name: part[name].array for name in (*SESSION, "response")} | self._select_task_and_assistant(rows)
        columns |= {"turn": part["turn"].to_numpy("int64"), "prefix": pd.Series(prefixes, dtype=object).array}
        return pd.DataFrame({name: columns[name][is_target] for name in TARGET_COLUMNS})

    # -- device logs ---------------------------------------------------------------------------------

    @cached_property
    def _logs(self) -> tuple[Rows, np.ndarray, np.ndarray]:
        """Return the rows of each user's logs in time; for each log, the session that follows it and the scenario
        before it.

        A log belongs to the session that it names, otherwise to the user's next session in time. The two arrays
        (position in the list, rank; otherwise -1) are filled only in the second case, because only there they decide
        whether the log may be shown.
        """
        at, started = self._events["at"].to_numpy(), self._listed["started_at"].to_numpy()
        scenario = self._listed["scenario"].map(self._rank).to_numpy(np.intp)
        unnamed = self._events["session"].isna().to_numpy()
        sessions, shown = _rows(self._listed), {}
        led, before = (np.full(len(at), -1, np.int32) for _ in range(2))
        for user, rows in _rows(self._events).items():
            own = sessions.get(user, _NONE)
            own = own[~np.isnat(started[own])]
            own = own[np.argsort(started[own], kind="stable")]
            place = np.searchsorted(started[own], at[rows])
            follows = unnamed[rows] & ~np.isnat(at[rows]) & (place < len(own))
            led[rows[follows]] = own[place[follows]]
            before[rows[follows]] = np.append(-1, scenario[own])[place[follows]]
            rows = rows[~unnamed[rows] | follows]
            shown[user] = rows[np.argsort(at[rows], kind="stable")]
        return shown, led, before

    def _led_up(self, user: str, scenario: str) -> pd.DataFrame:
        """Return the user's device logs, each with its session: the one it names, otherwise the next in time.

        A log between a session of this scenario and the next session could show how the user took the replies. It is
        left out unless it is known to belong to the next session.
        """
        shown, led, before = self._logs
        rows = shown.get(user, _NONE)
        rows = rows[before[rows] != self._rank[scenario]]
        if self.only_earlier:
            own = self._listed[(self._listed["user"] == user) & (self._listed["scenario"] == scenario)]
            rows = rows[self._events["at"].to_numpy()[rows] < own["started_at"].to_numpy().min()]
        logs = _select_rows(self._events, rows)
        for column in ("scenario", "session"):
            next_one = self._listed[column].array.take(led[rows], allow_fill=True)
            logs[column] = logs[column].where(led[rows] < 0, next_one)
        return logs


def _iterate_turn_messages(turns: pd.DataFrame) -> Iterator[list[Message]]:
    for request, earlier, response in zip(turns["request"], turns["earlier"], turns["response"]):
        asked = [*earlier, request] if isinstance(request, str) else [*earlier]
        messages = [{"role": "user", "content": text} for text in asked]
        yield [*messages, {"role": "assistant", "content": response}]


def _select_rows(frame: pd.DataFrame, rows: np.ndarray) -> pd.DataFrame:
    """Return these rows with a new index (`reset_index` would copy them again)."""
    return frame.iloc[rows].set_axis(pd.RangeIndex(len(rows)))


def _rows(frame: pd.DataFrame) -> Rows:
    """Return the rows of each user."""
    return dict(frame.groupby("user", sort=False).indices)
