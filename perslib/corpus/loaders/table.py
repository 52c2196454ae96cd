"""A table of one's own: JSONL, CSV, Parquet or a data frame, with one row a reply or one row a conversation.

A row of a reply has `user`, `request`, `response`; `session` groups the rows of a conversation, in their order (see
`perslib.corpus.loaders.conversations`); `scenario`, `turn`, `score`, `reason`, `task`, `assistant`, `profile`, `asked_at`,
`answered_at`, `feedback` are understood when they are there, and `satisfaction` and `success` of the whole session;
anything else is kept as it is.
`perslib.corpus.schema` says what each means. A profile is a JSON object (in CSV: its text) and may stand in any one row
of the user. A row of a conversation has `messages` in place of request and response, a list of `{role, content}` as
chat APIs take them, where a reply may carry its own `score` and other columns. Replies to choose from have a `candidate`
each (see `perslib.corpus.several_replies`), or stand in one row as `response_a`, `response_b` and `preferred`: a, b or tie.

`columns` gives columns of other names, ours → theirs. The scale of the ratings is declared, or read off the data where
it is plain; what was found is part of the corpus (`Corpus.scale`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import several_replies as several
from perslib.corpus.corpus import Corpus
from perslib.corpus.files.parquet import read_frame
from perslib.corpus.files.reading import AUTO, Reading, Rejected, find_scale, number_in, parse_json
from perslib.corpus.files.records import COLUMNS, csv_lines, json_items, json_lines, naming, read_bounded, read_each
from perslib.corpus.files.times import is_time, read_times
from perslib.corpus.loaders.conversations import Placed, Row, group_rows, say_alone, split_conversations
from perslib.corpus.scale import Scale
from perslib.corpus.schema import SCHEMA, SESSION, coerce
from perslib.errors import DataError, Problem
from perslib.schemas import check, read_schema, unfit

REQUIRED = ("user", "request", "response")
#: What rates a whole session, and what else is said once for it.
RATINGS = ("satisfaction", "success")
TIMES = ("asked_at", "answered_at")
OF_SESSION = ("task", "assistant", "trailing", *RATINGS)
#: So many conversations are not all rated in the lower half of their scale by chance.
FEW = 10
SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
NOTHING: Mapping[str, str] = MappingProxyType({})


def looks_like(path: Path) -> bool:
    """Whether a file is a table by its ending; a JSON file, where it begins with a list."""
    if not path.is_file() or path.suffix.lower() != ".json":
        return path.is_file() and path.suffix.lower() in SUFFIXES
    with path.open("rb") as stream:
        return stream.read(100).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


def read(
    path: Path,
    *,
    skip_bad: bool = False,
    name: str | None = None,
    language: str = "en",
    columns: Mapping[str, str] | None = None,
    scale: Scale | None = None,
    session_scale: Scale | None = None,
    evidence: str | None = None,
    dates: str | None = None,
) -> Reading:
    """Read a table of one's own; see `perslib import table`."""
    reading = Reading(skip_bad, evidence=evidence or AUTO, dates=dates, session_scale=session_scale)
    rows = read_each(
        records_of(path, columns or {}), reading, None, partial(_rename, columns=columns or {}), sessions=0
    )
    names = dict.fromkeys(column for _, row in rows if row for column in row)
    if names and path.suffix.lower().startswith(".json"):  # without a header: it has the columns that some row has
        _refuse_missing([own for ours, own in (columns or {}).items() if ours not in names], names, path.name)
    return read_placed(rows, reading, name or path.stem, language, scale)


def read_rows(
    rows: Iterable[Any],
    name: str,
    *,
    language: str = "en",
    skip_bad: bool = False,
    scale: Scale | None = None,
    session_scale: Scale | None = None,
    evidence: str | None = None,
    dates: str | None = None,
    row_of: Callable[[Any], dict[str, Any]] = dict,
) -> Reading:
    """Read rows as of a table: what a loader of one's own makes of its files.

    Rows may be records of any form that `row_of` makes a row of; a record for which it fails is named with the error, and
    left out under `skip_bad` like any other bad row.
    """
    reading = Reading(skip_bad, evidence=evidence or AUTO, dates=dates, session_scale=session_scale)
    placed = read_each(_numbered(rows), reading, None, lambda row, place: _rename(row_of(row), place), sessions=0)
    return read_placed(placed, reading, name, language, scale)


def _numbered(rows: Iterable[Any]) -> Iterator[tuple[str, Any, Any]]:
    """The rows with a place; an error in what makes them ends the reading, for those behind it are not known."""
    todo, end = iter(rows), object()
    for number in itertools.count(1):
        with naming(f"row {number}"):
            row = next(todo, end)
        if row is end:
            return
        yield f"row {number}", row, row


def from_frame(
    frame: pd.DataFrame,
    name: str,
    *,
    columns: Mapping[str, str] | None = None,
    scale: Scale | str | None = None,
    session_scale: Scale | str | None = None,
    evidence: str | None = None,
    dates: str | None = None,
    language: str = "en",
) -> Corpus:
    """The corpus that a data frame holds; rows and options as of a table of one's own."""
    replies, sessions = (Scale.parse(s) if isinstance(s, str) else s for s in (scale, session_scale))
    _check_columns(columns or {}, frame.columns, name)
    rows = (_under_ours(row, columns or {}) for row in _of_frame(frame))
    how: dict[str, Any] = {"scale": replies, "session_scale": sessions, "evidence": evidence, "dates": dates}
    return read_rows(rows, name, language=language, **how).corpus


def _of_frame(frame: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Rows of plain Python values, without cells that are missing."""
    for row in frame.astype(object).to_dict("records"):
        cells = {str(c): v.tolist() if isinstance(v, np.generic | np.ndarray) else v for c, v in row.items()}
        yield {c: str(v) if isinstance(v, pd.Timestamp) else v for c, v in cells.items() if not _is_missing(v)}


def _is_missing(value: Any) -> bool:
    return value is None or (not isinstance(value, list | dict | tuple) and bool(pd.isna(value)))


def _refuse_missing(missing: list[str], names: Iterable[str], place: str) -> None:
    """Raise an error that names the columns that are missing, where there are any."""
    if missing:
        raise DataError(Problem(place, f"has no column {', '.join(missing)}"), f"Found: {', '.join(names)}")


def _check_columns(columns: Mapping[str, str], found: Iterable[object], place: str) -> None:
    names = [str(c) for c in found]
    _refuse_missing([own for own in columns.values() if own not in names], names, place)
    known = {*names, *columns}
    required: tuple[str, ...] = REQUIRED
    if "messages" in known:
        required = "user", "messages"
    elif "preferred" in known:
        required = *REQUIRED[:2], *several.PAIR
    if lacking := [c for c in required if c not in known]:
        remedy = f"Found: {', '.join(names)}. Name yours: --columns {','.join(f'{c}=YOURS' for c in lacking)}"
        raise DataError(Problem(place, f"has no column {', '.join(lacking)}"), remedy)


def read_placed(
    placed: Placed, reading: Reading, name: str, language: str, scale: Scale | None = None, kind: str = "table"
) -> Reading:
    """Read rows with the place of each in its file; None for a row that cannot be read, and was rejected."""
    placed = list(placed)
    names = {str(row["session"]) for _, row in placed if row is not None and row.get("session") is not None}
    placed = list(split_conversations(placed, reading, names, RATINGS))
    good = [(place, row) for place, row in placed if row is not None]
    rated = [row for _, row in good]
    notes = list(_find_scales(reading, rated, scale))
    times, faults = read_times(good, TIMES, reading.dates)
    reading.faults += faults
    by_session, spoiled, alone = group_rows(placed, reading, names, _check)
    for key, rows in by_session.items():
        if key in spoiled:
            reading.rejected += [Rejected(p, "another row of the same session is bad", row) for p, row in rows]
        elif problems := [*several.problems_of(several.by_turn(rows)), *_differing(rows)]:
            reading.reject(problems, [row for _, row in rows], sessions=0)
            spoiled.add(key)
        else:
            reading.faults += several.unclear(rows)
    reading.faults += [fault for rows in alone for fault in several.unclear(rows)]
    reading.faults += _mixed(row for rows in by_session.values() for row in rows)
    reading.lost += len(spoiled)
    replies = _fill(reading, {key: rows for key, rows in by_session.items() if key not in spoiled})
    extras = {"candidates": coerce(pd.DataFrame(replies), "candidates")} if replies else {}
    remedy = f"Not one session is left. Each row needs {', '.join(REQUIRED)}."
    said = [*(f"times: {note}" for note in times), *say_alone(alone), *notes]
    meta = {"kind": kind} | ({"said": said} if said else {})
    return reading.finish(meta, name, language, Problem(name, "holds no row"), remedy, extras=extras)


def _find_scales(reading: Reading, rows: list[dict[str, Any]], declared: Scale | None) -> Iterator[str]:
    """Find the scale of replies and that of conversations, and say where they are two, or may be."""
    given = {c: [number_in(row[c]) for row in rows if row.get(c) is not None] for c in ("score", "satisfaction")}
    scores, ratings = ([number for number in given[c] if number is not None] for c in given)
    if not scores:
        declared, reading.session_scale = declared or reading.session_scale, None
    reading.scale = scale = find_scale(declared, rows, list(given))
    own = find_scale(reading.session_scale, rows, ["satisfaction"], scale)
    middle = (scale.low + scale.high) / 2
    if (own.low, own.high) != (scale.low, scale.high):
        reading.session_scale = own
        yield f"scales: conversations were rated on {own}, replies on {scale}; each is mapped to 1–5 by itself"
    elif reading.session_scale is None and len(ratings) >= FEW and max(ratings) <= middle < max(scores, default=middle):
        yield (
            f"scales: no conversation was rated above {max(ratings):g}, but replies on {scale}; taken as one scale. "
            "If conversations have one of their own: --session-scale LOW-HIGH"
        )


def records_of(path: Path, columns: Mapping[str, str] | None = None) -> Iterator[tuple[str, Any, Any]]:
    """Place, content (or Problem) and what stands there of each row; `columns` as of a table of one's own.

    Without `columns` the table is of some other format: its reader checks them, and cells that are missing are None.
    """
    suffix = path.suffix.lower()
    if not path.is_file() or suffix not in SUFFIXES:
        raise DataError(Problem(str(path), f"is no table; expected a file ending in {', '.join(SUFFIXES)}"))
    if suffix == ".parquet":
        frame = read_frame(path, most=COLUMNS)
        if columns is not None:
            _check_columns(columns, frame.columns, path.name)
        every = dict.fromkeys(map(str, frame)) if columns is None else {}
        return ((f"{path.name}:{number}", every | row, None) for number, row in enumerate(_of_frame(frame), 1))
    if suffix == ".jsonl":
        return json_lines(read_bounded(path), path.name)
    if suffix == ".json":
        return iter(json_items(path, "a list of rows"))
    lines = csv_lines(read_bounded(path), path.name, (), "\t" if suffix == ".tsv" else ",")
    first = next(lines, None)
    if first is not None and columns is not None:
        _check_columns(columns, first[2], f"{path.name}:1")
    return iter([]) if first is None else itertools.chain([first], lines)


def _under_ours(row: dict[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """The row under our names; one column may be several of ours, and `user` stays what it is beside another."""
    renamed = {*columns, *columns.values()} - ({"user"} - columns.keys())
    kept = {c: v for c, v in row.items() if c not in renamed}
    return kept | {ours: row[own] for ours, own in columns.items() if own in row}


def _rename(row: Any, place: str, columns: Mapping[str, str] = NOTHING) -> dict[str, Any]:
    """The row under our names; an error where it is none, or of no session that can be named."""
    if not isinstance(row, dict):
        raise DataError(Problem(place, "is no JSON object"))
    row = _under_ours(row, columns)
    if problems := list(unfit({c: row.get(c) for c in SESSION}, place)):
        raise DataError(problems)
    return row


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
            row[column] = reading.score(row[column], column, place, whole=False)
            problems += [row[column]] if isinstance(row[column], Problem) else []
    for column in ("success", "chosen"):
        if row.get(column) is not None:
            row[column] = str(row[column]).lower() in ("true", "1")
    return problems


_SCHEMA = read_schema(__file__, "records.schema.toml", "table", moment=is_time)


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


def _fill(reading: Reading, by_session: dict[tuple[str, str, str], list[Row]]) -> list[dict[str, Any]]:
    """The users' profiles, the sessions, the turns; the replies where a turn has several."""
    replies: list[dict[str, Any]] = []
    for position, (key, rows) in enumerate(by_session.items()):
        where = dict(zip(SESSION, key))
        turns = several.by_turn(rows)
        if rows[0][1].get("turn") is not None:
            turns = sorted(turns, key=lambda own: int(own[0][1]["turn"]))
        first = {c: v for _, row in reversed(rows) for c, v in row.items() if c in OF_SESSION and v is not None}
        if first.get("satisfaction") is not None:
            first["satisfaction"] = float(reading.scale_of("satisfaction").to_five(first["satisfaction"]))
        for i, own in enumerate(turns):
            row = several.main_of(own)
            number = i if row.get("turn") is None else int(row["turn"])
            replies += several.candidates(where, number, own, reading.rated)
            reading.note("equal replies to one request, rated differently", several.rated_differently(own))
            said = {k: v for k, v in row.items() if k not in (*OF_SESSION, *several.OF_REPLY, "profile")}
            said |= {c: None if row.get(c) is None else pd.Timestamp(row[c]) for c in TIMES}
            reading.turns.append({**said, **reading.rated(row.get("score")), **where, "turn": number})
            reading.profiles[key[0]] = reading.profiles.get(key[0]) or row.get("profile") or {}
            first.setdefault("assistant", row.get("candidate"))
        reading.sessions.append({"trailing": (), **where, **first, "position": position})
    return replies
