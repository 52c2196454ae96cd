"""A table of one's own: JSONL or CSV with one row a reply.

Columns `user`, `request`, `response` must be there; `session` groups the rows of a conversation, in their
order; `scenario`, `turn`, `score`, `reason`, `task`, `assistant`, `profile`, `asked_at`, `answered_at`,
`feedback` are understood when they are there, and `satisfaction` and `success` of the whole session; anything
else is kept as it is. `perslib.corpus.schema` says what each means. A profile is a JSON object (in CSV: its
text) and may stand in any one row of the user.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus.reading import Reading, Rejected, csv_lines, json_lines, parse_json
from perslib.corpus.schema import SCHEMA, SESSION
from perslib.errors import DataError, Problem
from perslib.schemas import check, read_schema, unfit

REQUIRED = ("user", "request", "response")
#: What rates a whole session, and what else is said once for it.
RATINGS = ("satisfaction", "success")
OF_SESSION = ("task", "assistant", *RATINGS)
SUFFIXES = (".jsonl", ".csv", ".tsv")
Row = tuple[str, dict[str, Any]]


def looks_like(path: Path) -> bool:
    """Whether a file is a table by its ending."""
    return path.is_file() and path.suffix.lower() in SUFFIXES


def read(path: Path, *, skip_bad: bool = False, name: str | None = None, language: str = "en") -> Reading:
    """Read a table of one's own; see `perslib import table`."""
    reading = Reading(skip_bad)
    return _read(_rows(path, reading), reading, name or path.stem, language)


def read_rows(rows: Iterable[dict[str, Any]], name: str, *, language: str = "en", skip_bad: bool = False) -> Reading:
    """Read rows as of a table: what a loader of one's own makes of its files."""
    placed = ((f"row {number}", dict(row)) for number, row in enumerate(rows, 1))
    return _read(placed, Reading(skip_bad), name, language)


def _read(placed: Iterable[Row | tuple[str, None]], reading: Reading, name: str, language: str) -> Reading:
    by_session: dict[tuple[str, str, str], list[Row]] = {}
    spoiled: set[tuple[str, str, str]] = set()
    before: tuple[str, str, str] | None = None
    for place, row in placed:
        if row is None:  # an unreadable line may belong to the session before it, or to the one after
            spoiled |= {before} if before else set()
            before = None
            continue
        problems = _check(row, place, reading)
        named = [row.get(column) for column in ("user", "scenario", "session")]
        user, scenario, session = (str(d if v is None else v) for v, d in zip(named, ("", "all", "0")))
        key = (user, scenario, session)
        if before is None and reading.problems:
            spoiled.add(key)
        before = key
        if problems:
            reading.reject(problems, row, sessions=0)
            spoiled.add(key)
        else:
            by_session.setdefault(key, []).append((place, row))
    for key, rows in by_session.items():
        if key in spoiled:
            reading.rejected += [Rejected(p, "another row of the same session is bad", row) for p, row in rows]
        elif problems := [*_duplicates(rows), *_differing(rows)]:
            reading.reject(problems, [row for _, row in rows], sessions=0)
            spoiled.add(key)
        else:
            reading.faults += _alternatives(rows)
    reading.faults += _mixed(row for rows in by_session.values() for row in rows)
    reading.lost = len(spoiled)
    _fill(reading, {key: rows for key, rows in by_session.items() if key not in spoiled})
    remedy = f"Not one session is left. Each row needs {', '.join(REQUIRED)}."
    return reading.finish({"kind": "table"}, name, language, Problem(name, "holds no row"), remedy)


def _rows(path: Path, reading: Reading) -> Iterator[Row | tuple[str, None]]:
    """Place and content of each row; None for a line of no known session, which is rejected already."""
    if not path.is_file() or path.suffix.lower() not in SUFFIXES:
        raise DataError(Problem(str(path), f"is no table; expected a file ending in {', '.join(SUFFIXES)}"))
    raw = path.read_bytes()
    if path.suffix.lower() == ".jsonl":
        lines: Iterator[tuple[str, Any, Any]] = json_lines(raw, path.name)
    else:
        lines = csv_lines(raw, path.name, REQUIRED, "\t" if path.suffix.lower() == ".tsv" else ",")
    for place, value, held in lines:
        if isinstance(value, Problem):
            problems = [value]
        elif not isinstance(value, dict):
            problems = [Problem(place, "is no JSON object")]
        else:
            problems = list(unfit({c: value.get(c) for c in SESSION}, place))
        if not problems:
            yield place, value
        else:
            shown = held.decode("utf-8", "replace") if isinstance(held, bytes) else held
            reading.reject(problems, shown, sessions=0)
            yield place, None


def _check(row: dict[str, Any], place: str, reading: Reading) -> list[Problem]:
    """What is wrong with a row; puts ratings and the profile into their form on the way."""
    profile = row.get("profile")
    if isinstance(profile, str) and not any(unfit(profile, place)):
        row["profile"] = parse_json(profile.encode(), f"{place} profile")
        if isinstance(row["profile"], Problem):
            return [row["profile"]]
    problems = check(row, _SCHEMA, place)
    for column in ("score", "satisfaction"):
        if row.get(column) is not None and not any(unfit(row[column], place)):
            row[column] = reading.score(row[column], column, place, whole=column == "score")
            problems += [row[column]] if isinstance(row[column], Problem) else []
    if row.get("success") is not None:
        row["success"] = str(row["success"]).lower() in ("true", "1")
    return problems


def _is_moment(text: str) -> bool:
    return bool(pd.notna(pd.to_datetime(text, errors="coerce")))


_SCHEMA = read_schema(__file__, "records.schema.toml", "table", moment=_is_moment)


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


def _differing(rows: list[Row]) -> list[Problem]:
    """Where rows of one session rate it as a whole, but not alike."""
    problems = []
    for column in RATINGS:
        (at, first), *others = [(p, r[column]) for p, r in rows if r.get(column) is not None] or [("", None)]
        problems += [
            Problem(
                place,
                f"{column} is {value}, but {first} at {at}; it is of the whole session (ratings of replies: score)",
            )
            for place, value in others
            if value != first
        ]
    return problems


def _alternatives(rows: list[Row]) -> list[Problem]:
    """Several replies to one request, which without numbers cannot be told from one after another.

    A user may say "go on" twice. Replies of two assistants, three in a row, or a session of one request are none of that.
    """
    if rows[0][1].get("turn") is not None:
        return []
    requests = [row["request"] for _, row in rows]
    is_one_request = len(set(requests)) == 1
    seen: dict[str, tuple[int, str, Any]] = {}
    problems = []
    for i, (place, row) in enumerate(rows):
        request, assistant = row["request"], row.get("assistant")
        n, at, other = seen.get(request, (i, place, assistant))
        is_in_a_row = n == i - 1 and (is_one_request or requests[max(0, i - 2) : i] == [request] * 2)
        if request is not None and at != place and (is_in_a_row or other != assistant):
            message = (
                f"has the request of {at} again, and no turn: are these replies to choose from, or one after the other?"
            )
            remedy = "Give each alternative a session of its own, or number the rows in the column turn."
            problems.append(Problem(place, f"{message} {remedy}"))
        seen[request] = i, place, assistant
    return problems


def _mixed(rows: Iterator[Row]) -> Iterator[Problem]:
    """Columns of one's own whose cells are not of one kind, which no file of columns can hold."""
    kinds: dict[str, tuple[str, str]] = {}
    for place, row in rows:
        for column, value in row.items():
            if column in SCHEMA["turns"] or column in OF_SESSION or column == "profile" or value is None:
                continue
            kind = _KINDS.get(type(value), "an object")
            first, at = kinds.setdefault(column, (kind, place))
            if kind != first:
                kinds[column] = kind, place
                yield Problem(place, f"{column} is {kind}, but {first} at {at}; give the column one kind of value")


_KINDS = {str: "a text", int: "a number", float: "a number", bool: "true or false", list: "a list"}


def _fill(reading: Reading, by_session: dict[tuple[str, str, str], list[Row]]) -> None:
    """The users' profiles, the sessions and the turns."""
    for position, (key, rows) in enumerate(by_session.items()):
        where = dict(zip(SESSION, key))
        if rows[0][1].get("turn") is not None:
            rows = sorted(rows, key=lambda r: int(r[1]["turn"]))
        first = {c: v for _, row in reversed(rows) for c, v in row.items() if c in OF_SESSION and v is not None}
        reading.sessions.append({**where, **first, "position": position})
        for i, (_, row) in enumerate(rows):
            own = {k: v for k, v in row.items() if k not in (*OF_SESSION, "profile")}
            own |= {c: _time(row.get(c)) for c in ("asked_at", "answered_at")}
            number = i if row.get("turn") is None else int(row["turn"])
            reading.turns.append({**own, **where, "turn": number})
            reading.profiles[key[0]] = reading.profiles.get(key[0]) or row.get("profile") or {}


def _time(value: Any) -> pd.Timestamp | None:
    return None if value is None else pd.Timestamp(str(value))
