"""Interaction logs as UXBench has them (Hong et al., 2026): raw logs, and the four released splits.

A raw log holds a session a line, or in Parquet a session or a message a row (`perslib.corpus.uxbench_records`). Nobody
rated anything in it; what users did is in the times and in `feedback`, and `perslib.signals` reads it.

A released split holds a case a line: what was said before, a request, and what is to be judged (Task 1), answered
(Task 2) or made good (Task 3). Its cases are in `extras["cases"]`, in the columns that `perslib.ux` takes, with their
annotations; the same conversations are turns, liked or disliked as the case says.

Users are not identified unless a record has a `user`: a dialogue is its own user. Records that are none are left out and
counted, whatever `skip_bad` says, for a log is never whole; with nothing readable at all there is an error.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus.reading import Intake, Reading, Rejected, is_too_deep
from perslib.corpus.uxbench_cases import split_of, split_session
from perslib.corpus.uxbench_reading import blocks, records
from perslib.corpus.uxbench_records import Session, Unreadable, session
from perslib.errors import DataError, Problem

REMEDY = (
    "Give a released split (uxbench_task….jsonl), a raw log (.jsonl or .parquet, with `history` and `cid`), "
    "or a folder of such files."
)
_HAN = re.compile("[\u3400-\u9fff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
Rows = list[dict[str, Any]]


def looks_like(path: Path) -> bool:
    """Whether a file is a released split by its name, or a folder holds one."""
    if path.is_dir():
        return any(split_of(file) for file in path.glob("*.jsonl"))
    return split_of(path) is not None


def read(path: Path, *, skip_bad: bool = False, name: str | None = None) -> Reading:
    """Read splits or raw logs; see `perslib import uxbench`."""
    intake = Intake(skip_bad=True)
    built = _Built(intake)
    for file in _files(path):
        split = split_of(file)
        for block in blocks(file):
            for place, record in records(block):
                try:
                    built.add(_read(record, split, place), split, file)
                except Unreadable as error:
                    shown = None if isinstance(record, Unreadable) or is_too_deep(record) else record
                    intake.rejected.append(Rejected(place, str(error), shown))
    intake.note("records that are no session, left out", len(intake.rejected))
    if not built.sessions:
        reasons = Counter(one.reason for one in intake.rejected)
        found = [Problem(str(path), f"{n} records: {why}") for why, n in reasons.most_common(10)]
        raise DataError(found or Problem(str(path), "holds no session"), REMEDY)
    intake.lost = len(intake.rejected)
    return built.reading(name or path.stem)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(f for f in path.iterdir() if f.suffix in (".jsonl", ".parquet"))
    if not files:
        raise DataError(Problem(str(path), "holds no .jsonl and no .parquet file"), REMEDY)
    splits = [f for f in files if split_of(f)]
    return splits or files


def _read(record: Any, split: str | None, place: str) -> tuple[Session, dict[str, Any]]:
    """The session of a record, and its case where it comes from a split."""
    if isinstance(record, Unreadable):
        raise record
    if is_too_deep(record):
        raise Unreadable("nested too deeply")
    if split is None:
        return session(record, name=place), {}
    return split_session(record, split, place)


class _Built:
    """The rows of a corpus as they come together."""

    def __init__(self, intake: Intake) -> None:
        self.intake = intake
        self.users: dict[str, dict[str, Any]] = {}
        self.sessions: Rows = []
        self.turns: Rows = []
        self.cases: Rows = []
        self._names: Counter[str] = Counter()
        self._positions: Counter[str] = Counter()
        self._han = self._texts = 0

    def add(self, found: tuple[Session, dict[str, Any]], split: str | None, file: Path) -> None:
        """Take in one session, with its case where there is one."""
        one, case = found
        for note in one.notes:
            self.intake.note(note)
        user, scenario = self._whose(one, case)
        where = {"user": user, "scenario": scenario, "session": self._own(f"{user}\0{scenario}\0", one.cid)}
        rows, trailing = turns(one)
        first = next((m.t for m in one.messages if m.t is not None), None)
        self.sessions.append(
            {**where, "position": self._positions[user], "started_at": _time(first), "trailing": trailing}
        )
        self._positions[user] += 1
        self.turns += [{**where, **row} for row in rows]
        for message in one.messages:
            if message.role == "user":
                self._texts += 1
                self._han += bool(_HAN.search(message.text))
        if split is not None:
            last = len(rows) - 1
            self.cases.append({**case, **where, "turn": last if case["reply"] and last >= 0 else None})

    def _whose(self, one: Session, case: Mapping[str, Any]) -> tuple[str, str]:
        meta = one.meta
        user = next((meta[k] for k in ("user", "user_id", "uid") if meta.get(k)), None)
        user = self._own("", one.cid) if user is None else _text(str(user))
        self.users.setdefault(user, _profile(meta.get("user_profile")))
        return user, _text(str(meta.get("scenario") or case.get("scenario") or "all"))

    def _own(self, space: str, name: str) -> str:
        """The name, with a number where it was there before: a `cid` is not unique."""
        name = _text(name)
        self._names[space + name] += 1
        times = self._names[space + name]
        if times == 1:
            return name
        self.intake.note("cid seen before, numbered", int(space == ""))
        return self._own(space, f"{name}#{times}")

    def reading(self, name: str) -> Reading:
        """The corpus; its language is that of most user messages."""
        extras = {"cases": pd.DataFrame(self.cases)} if self.cases else {}
        language = "zh" if 2 * self._han >= self._texts else "en"
        rows = self.users, self.sessions, self.turns
        return self.intake.reading({"kind": "uxbench"}, name, language, *rows, extras=extras)


def turns(one: Session) -> tuple[Rows, tuple[str, ...]]:
    """A session's replies as rows of `turns`, and what the user said after the last one.

    A reply that follows a reply, a regeneration, has no request of its own. Messages of other roles are left out.
    """
    rows: Rows = []
    waiting: list[tuple[str, float | None]] = []
    for message in one.messages:
        text = _text(message.text)
        if message.role == "user":
            waiting.append((text, message.t))
        elif message.role == "assistant":
            asked, at = waiting[-1] if waiting else (None, None)
            rows.append(
                {
                    "turn": len(rows),
                    "request": asked,
                    "earlier": tuple(said for said, _ in waiting[:-1]),
                    "response": text,
                    "asked_at": _time(at),
                    "answered_at": _time(message.t),
                    "feedback": {1: "like", -1: "dislike"}.get(message.feedback),
                }
            )
            waiting = []
    return rows, tuple(said for said, _ in waiting)


def _time(seconds: float | None) -> pd.Timestamp | None:
    if seconds is None:
        return None
    try:
        return pd.Timestamp(seconds, unit="s")
    except (ValueError, OverflowError):
        return None


def _text(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)


def _profile(value: Any) -> dict[str, Any]:
    """The user's profile; `interest_tags`, a text with commas, as a list."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    if not isinstance(value, Mapping):
        return {}
    profile = dict(value)
    if isinstance(tags := profile.get("interest_tags"), str):
        profile["interest_tags"] = [tag.strip() for tag in re.split("[,\uff0c]", tags) if tag.strip()]
    return profile
