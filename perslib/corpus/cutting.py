"""Cut blocks out of a corpus: what stands in each of its frames is found and joined once, a block takes its rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import pandas as pd

from perslib.corpus.block import TARGET_COLUMNS, Block, Message
from perslib.corpus.schema import SESSION, TURN

_SHOWN = [*TURN, "task", "assistant"]
_NONE = np.array([], dtype=np.intp)
Rows = Mapping[Hashable, np.ndarray]


class Cutter:
    """The frames of a corpus, laid out so that a block is a few selections of rows."""

    def __init__(
        self, sessions: pd.DataFrame, turns: pd.DataFrame, events: pd.DataFrame, scenarios: Sequence[str]
    ) -> None:
        rank = {scenario: place for place, scenario in enumerate(scenarios)}
        order = np.argsort(sessions["scenario"].map(rank).to_numpy(), kind="stable")
        self._sessions = sessions.iloc[order]  # by scenario, within one as the source lists them
        self._listed, self._turns, self._events = sessions, turns, events

    @cached_property
    def _turn_rows(self) -> Rows:
        """(user, scenario, session) → its rows among the turns."""
        return _rows(self._turns, SESSION)

    @cached_property
    def _session_rows(self) -> Rows:
        return _rows(self._sessions, ["user"])

    @cached_property
    def _keys(self) -> list[tuple[str, str, str]]:
        return list(zip(*(self._sessions[name] for name in SESSION)))

    @cached_property
    def _scenario(self) -> np.ndarray:
        return self._sessions["scenario"].to_numpy(dtype=object)

    @cached_property
    def _evidence(self) -> pd.DataFrame:
        """All turns, each with the task and the assistant of its session."""
        session = np.empty(len(self._turns), dtype=np.intp)
        for place, key in enumerate(self._keys):
            session[self._turn_rows.get(key, _NONE)] = place
        of_session = self._sessions[["task", "assistant"]].iloc[session].set_axis(self._turns.index)
        return self._turns.assign(task=of_session["task"], assistant=of_session["assistant"])

    @cached_property
    def _spoken(self) -> pd.DataFrame:
        return self._evidence[[*_SHOWN, "request", "earlier", "response"]]

    def block(self, user: str, scenario: str, profile: dict[str, object]) -> Block:
        """The user's other scenarios as evidence, this one's replies as targets, free of labels."""
        own = self._session_rows.get(user, _NONE)
        there = self._scenario[own] == scenario
        others = own[~there]
        return Block(
            user,
            scenario,
            profile,
            _taken(self._evidence, self._turns_of(others)),
            _taken(self._sessions, others),
            self._targets(own[there]),
            events=self._led_up(user, scenario),
        )

    def said(self, user: str, scenario: str, session: str) -> Iterator[list[Message]]:
        """The messages that each turn adds to this conversation, the reply last."""
        return _said(self._turns.iloc[self._turn_rows.get((user, scenario, session), _NONE)])

    def _turns_of(self, sessions: np.ndarray) -> np.ndarray:
        found = [self._turn_rows.get(self._keys[i], _NONE) for i in sessions]
        return np.concatenate(found) if found else _NONE

    def _targets(self, sessions: np.ndarray) -> pd.DataFrame:
        part = self._spoken.iloc[self._turns_of(sessions)]
        targets: list[tuple[object, ...]] = []
        last: list[str] = []
        prefix: tuple[Message, ...] = ()
        for (*key, turn, task, assistant), (*asked, reply) in zip(
            zip(*(part[c] for c in _SHOWN)), _said(part)
        ):
            prefix = (*prefix, *asked) if key == last else tuple(asked)
            targets.append((*key, turn, task, assistant, prefix, reply["content"]))
            last, prefix = key, (*prefix, reply)
        return pd.DataFrame(targets, columns=TARGET_COLUMNS)

    # -- device logs ---------------------------------------------------------------------------------

    @cached_property
    def _logs(self) -> tuple[pd.DataFrame, np.ndarray, Rows]:
        """What is known of each log: the session it led up to, and the scenario of the session before it.

        A log belongs to the session that it names, else to the user's next in time; the scenario before is
        told for the latter alone, where it decides whether the log may be shown.
        """
        logs = self._events.reset_index(drop=True)
        before = np.full(len(logs), None, dtype=object)
        named = {column: logs[column].to_numpy(dtype=object, copy=True) for column in ("scenario", "session")}
        started = self._listed[self._listed["started_at"].notna()]
        of_user = _rows(started, ["user"])
        for user, rows in _rows(logs, ["user"]).items():
            starts = started.iloc[of_user.get(user, _NONE)].sort_values("started_at", kind="stable")
            own = logs.iloc[rows]
            place = np.searchsorted(starts["started_at"].to_numpy(), own["at"].to_numpy())
            unnamed = (own["session"].isna() & own["at"].notna()).to_numpy() & (place < len(starts))
            led = starts.iloc[place[unnamed]]
            for column in named:
                named[column][rows[unnamed]] = led[column].to_numpy(dtype=object)
            before[rows[unnamed]] = np.array([None, *starts["scenario"]], dtype=object)[place[unnamed]]
        logs = logs.assign(**{column: pd.Series(found, dtype="str") for column, found in named.items()})
        logs = logs[logs["session"].notna()].sort_values("at", kind="stable")
        return logs, before[logs.index], _rows(logs, ["user"])

    def _led_up(self, user: str, scenario: str) -> pd.DataFrame:
        """The user's device logs, each with the session that followed: the one it names, else the next in time.

        What was logged between a session of this scenario and the next one could tell how its replies were taken: it
        stays out unless it is known to have led up to the next.
        """
        logs, before, of_user = self._logs
        rows = of_user.get(user, _NONE)
        return _taken(logs, rows[before[rows] != scenario])


def _said(turns: pd.DataFrame) -> Iterator[list[Message]]:
    for request, earlier, response in zip(turns["request"], turns["earlier"], turns["response"]):
        asked = [*earlier, request] if isinstance(request, str) else [*earlier]
        messages = [{"role": "user", "content": text} for text in asked]
        yield [*messages, {"role": "assistant", "content": response}]


def _taken(frame: pd.DataFrame, rows: np.ndarray) -> pd.DataFrame:
    """These rows, counted anew (`reset_index` would copy them once more)."""
    return frame.iloc[rows].set_axis(pd.RangeIndex(len(rows)))


def _rows(frame: pd.DataFrame, by: list[str]) -> Rows:
    return dict(frame.groupby(by[0] if len(by) == 1 else by, sort=False).indices)
