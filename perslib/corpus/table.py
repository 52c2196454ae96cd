"""A table of one's own: JSONL or CSV with one row a reply.

Columns `user`, `request`, `response` must be there; `session` groups the rows of a conversation, in their
order; `scenario`, `turn`, `score`, `reason`, `task`, `assistant`, `profile`, `asked_at`, `answered_at`,
`feedback` are understood when they are there; anything else is kept as it is. `perslib.corpus.schema` says
what each means. A profile is a JSON object (in CSV: its text) and may stand in any one row of the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus.corpus import Corpus
from perslib.corpus.reading import (
    Intake,
    Reading,
    Rejected,
    csv_lines,
    frame,
    json_lines,
    parse_json,
    score_of,
)
from perslib.corpus.schema import SCHEMA
from perslib.errors import DataError, Problem

REQUIRED = ("user", "request", "response")
OF_SESSION = ("task", "assistant", "success")
_SURROGATE = re.compile("[\ud800-\udfff]")
SUFFIXES = (".jsonl", ".csv", ".tsv")
Row = tuple[str, dict[str, Any]]


def looks_like(path: Path) -> bool:
    """Whether a file is a table by its ending."""
    return path.is_file() and path.suffix.lower() in SUFFIXES


def read(path: Path, *, skip_bad: bool = False, name: str | None = None, language: str = "en") -> Reading:
    """Read a table of one's own; see `perslib import table`."""
    intake = Intake(skip_bad)
    by_session: dict[tuple[str, str, str], list[Row]] = {}
    spoiled: set[tuple[str, str, str]] = set()
    before: tuple[str, str, str] | None = None
    for place, row in _rows(path, intake):
        if row is None:  # an unreadable line may belong to the session before it, or to the one after
            spoiled |= {before} if before else set()
            before = None
            continue
        problems = _check(row, place)
        named = [row.get(column) for column in ("user", "scenario", "session")]
        user, scenario, session = (str(d if v is None else v) for v, d in zip(named, ("", "all", "0")))
        key = (user, scenario, session)
        if before is None and intake.problems:
            spoiled.add(key)
        before = key
        if problems:
            intake.reject(problems, row)
            spoiled.add(key)
        else:
            by_session.setdefault(key, []).append((place, row))
    for key, rows in by_session.items():
        if key in spoiled:
            intake.rejected += _rest_of_spoiled(rows)
        elif problems := _duplicates(rows):
            intake.reject(problems, [row for _, row in rows])
            spoiled.add(key)
    intake.settle()
    good = {key: rows for key, rows in by_session.items() if key not in spoiled}
    if not good:
        remedy = f"Not one session is left. Each row needs {', '.join(REQUIRED)}."
        raise DataError(intake.problems or Problem(path.name, "holds no row"), remedy)
    return Reading(_corpus(good, name or path.stem, language, intake), intake.rejected)


def _rows(path: Path, intake: Intake) -> Iterator[Row | tuple[str, None]]:
    """Place and content of each row; None for a line that could not be read, which is rejected already."""
    if not path.is_file() or path.suffix.lower() not in SUFFIXES:
        raise DataError(Problem(str(path), f"is no table; expected a file ending in {', '.join(SUFFIXES)}"))
    raw = path.read_bytes()
    if path.suffix.lower() == ".jsonl":
        lines: Iterator[tuple[str, Any, Any]] = json_lines(raw, path.name)
    else:
        lines = csv_lines(raw, path.name, REQUIRED, "\t" if path.suffix.lower() == ".tsv" else ",")
    for place, value, held in lines:
        if isinstance(value, dict):
            yield place, value
        else:
            problem = value if isinstance(value, Problem) else Problem(place, "is no JSON object")
            intake.reject([problem], held.decode("utf-8", "replace") if isinstance(held, bytes) else held)
            yield place, None


def _check(row: dict[str, Any], place: str) -> list[Problem]:
    """What is wrong with a row; puts the score and the profile into their form on the way."""
    problems = [
        Problem(place, f"{c!r} is missing")
        for c in REQUIRED
        if c not in row or (row[c] is None and c != "request")
    ]
    for column in ("request", "response", "reason", "task", "assistant"):
        if row.get(column) is not None and not isinstance(row[column], str):
            problems.append(Problem(place, f"{column} is {row[column]!r}, expected text"))
    for column in ("user", "scenario", "session"):
        if isinstance(row.get(column), dict | list | bool):
            problems.append(Problem(place, f"{column} is {row[column]!r}, expected a name or a number"))
    for column in ("earlier", "ratings"):
        if column in row:
            problems.append(
                Problem(place, f"{column!r} is a column that perslib fills itself; call yours otherwise")
            )
    for column, value in row.items():
        if isinstance(value, str) and _SURROGATE.search(value):
            problems.append(Problem(place, f"{column} holds half a character (a lone surrogate)"))
    if row.get("score") is not None:
        score = score_of(row["score"], "score", place)
        problems += [score] if isinstance(score, Problem) else []
        row["score"] = score
    if row.get("turn") is not None and not str(row["turn"]).isdecimal():
        problems.append(Problem(place, f"turn is {row['turn']!r}, expected a number from 0"))
    if isinstance(row.get("profile"), str):
        row["profile"] = parse_json(row["profile"].encode(), f"{place} profile")
    if not isinstance(row.get("profile") or {}, dict):
        found = row["profile"]
        problems.append(found if isinstance(found, Problem) else Problem(place, "profile is no JSON object"))
    if row.get("feedback") not in (None, "like", "dislike"):
        problems.append(Problem(place, f"feedback is {row['feedback']!r}, expected like or dislike"))
    for column in ("asked_at", "answered_at"):
        if row.get(column) is not None and pd.isna(pd.to_datetime(str(row[column]), errors="coerce")):
            problems.append(
                Problem(place, f"{column} is {row[column]!r}, expected a time such as 2026-01-31 18:30:00")
            )
    return problems


def _duplicates(rows: list[Row]) -> list[Problem]:
    seen: dict[int, str] = {}
    problems = []
    for place, row in rows:
        if row.get("turn") is None:
            continue
        number = int(row["turn"])
        if number in seen:
            problems.append(Problem(place, f"turn {number} of this session stands already at {seen[number]}"))
        seen.setdefault(number, place)
    if problems or not seen or len(seen) == len(rows):
        return problems
    place = next(place for place, row in rows if row.get("turn") is None)
    return [Problem(place, "has no turn number, while other rows of its session have one")]


def _rest_of_spoiled(rows: list[Row]) -> Iterator[Rejected]:
    return (Rejected(place, "another row of the same session is bad", row) for place, row in rows)


def _corpus(
    by_session: dict[tuple[str, str, str], list[Row]], name: str, language: str, intake: Intake
) -> Corpus:
    sessions, turns = [], []
    profiles: dict[str, Any] = {}
    for position, ((user, scenario, session), rows) in enumerate(by_session.items()):
        key = {"user": user, "scenario": scenario, "session": session}
        if rows[0][1].get("turn") is not None:
            rows = sorted(rows, key=lambda r: int(r[1]["turn"]))
        first = {
            c: v for _, row in reversed(rows) for c, v in row.items() if c in OF_SESSION and v is not None
        }
        sessions.append({**key, **first, "position": position})
        for i, (_, row) in enumerate(rows):
            own = {k: v for k, v in row.items() if k not in (*OF_SESSION, "profile")}
            turns.append({**own, **key, "turn": i if row.get("turn") is None else int(row["turn"])})
            profiles[user] = profiles.get(user) or row.get("profile") or {}
    users = pd.DataFrame({"user": list(profiles), "profile": list(profiles.values())})
    meta = {"kind": "table", "irregularities": dict(sorted(intake.irregularities.items()))}
    times = {c: [_time(t.get(c)) for t in turns] for c in ("asked_at", "answered_at")}
    turn_frame = frame(turns, list(SCHEMA["turns"])).assign(**times)
    return Corpus(name, language, users, frame(sessions, list(SCHEMA["sessions"])), turn_frame, meta=meta)


def _time(value: Any) -> pd.Timestamp | None:
    return None if value is None else pd.Timestamp(str(value))
