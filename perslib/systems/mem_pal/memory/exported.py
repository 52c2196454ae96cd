"""A memory system of others, by what it exports: texts, each of a user and a time.

    ExportedMemory("en", path="mem0.json")       # one file for all users: JSON, JSON lines or CSV
    ExportedMemory("en", path="memories/")       # or a folder: a file or a folder per user, also Markdown and plain text

mem0, Zep, Letta and their like name the same things differently; `exported.toml` has the names. What they wrote about a user is
handed over as they wrote it: for a question, texts of that user that were there before the session, the nearest first. A
text is there from when it was last written (an update is another wording), not from when it became true, and until it expired. One
whose time is not given counts as known from the beginning. Whether a text rests on what is asked for, only those can know who ran
the system: export before the sessions that are judged. What describes the assistant (Letta's persona) is left out.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus.files.reading import parse_json
from perslib.corpus.files.records import LONGEST, read_bounded
from perslib.corpus.files.times import is_time, read_times
from perslib.errors import DataError, Problem
from perslib.llm import Ask, Embedder
from perslib.paths import read_toml
from perslib.systems.mem_pal.memory.long_term import MemoryPiece, MemorySession, PromptedMemory, Purpose, Store

_NAMES: dict[str, list[str]] = read_toml(__file__, "exported.toml")
KINDS = (".md", ".txt", ".csv", ".jsonl", ".ndjson", ".json", ".af")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
REMEDY = "Each record needs a text and a user; docs/extend.md lists the names that are known."


@dataclass(frozen=True)
class Note:
    """A text about a user, from when on it was there, and until when, where that is known."""

    id: str
    user: str
    text: str
    at: str = ""
    until: str = ""


def read_notes(path: Path | str, dates: str | None = None) -> list[Note]:
    """Return the texts of an export in their order; what cannot be read is named with its place.

    Times are read as those of a table: `03.04.2026` needs `dates` (day-first or month-first) unless another one shows the order.
    Files of other kinds in a folder, such as pictures, are left out, and a warning counts them.
    """
    path = Path(path)
    if not path.exists():
        raise DataError(Problem(str(path), "is no file or folder that can be read"), REMEDY)
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    if others := [file for file in files if path.is_dir() and file.suffix.lower() not in KINDS]:
        first = others[0].relative_to(path)
        warnings.warn(f"{path}: {len(others)} files are no notes, and left out; the first: {first}", stacklevel=2)
    read = [one for file in files if file not in others for one in _read_file(file, path)]
    problems = [one for one in read if isinstance(one, Problem)]
    raw = [one for one in read if isinstance(one, dict)]
    placed = [(str(row["id"]), row) for row in raw]
    times = list(dict.fromkeys(name for row in raw for name in row if name not in ("id", "user", "text")))
    for _, row in placed:
        row |= {name: _read_plain_time(row.get(name)) for name in times}
    of_days = [row for row in placed if any(isinstance(row[1][name], str) for name in times)]
    problems += read_times(of_days, times, dates)[1]
    problems += [
        Problem(place, f"has a time that cannot be read: {row[name]!r}")
        for place, row in placed
        for name in times
        if isinstance(row[name], str) and not is_time(row[name]) and not problems
    ]
    if problems or not raw:
        raise DataError(problems or [Problem(str(path), "holds no text about anybody")], REMEDY)
    return [_date_note(row) for row in raw]


def _date_note(row: Mapping[str, Any]) -> Note:
    """Return the note of a row, which is there from its last writing, or else from when it became true, and until the first end that is named."""
    spelled = {
        what: [_spell_time(row[name]) for name in _NAMES[what] if row.get(name) is not None]
        for what in ("at", "true", "until")
    }
    at, until = max(spelled["at"] or spelled["true"], default=""), next(iter(spelled["until"]), "")
    return Note(row["id"], row["user"], row["text"], at, until)


def _read_plain_time(value: Any) -> Any:
    """Return a number of seconds (or a smaller unit) or a time that begins with its year, in UTC; other texts as they are."""
    if isinstance(value, str) and re.fullmatch(r"\d+(?:\.\d+)?", value):
        value = float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        unit = next(
            unit for unit, least in (("ns", 1e17), ("us", 1e14), ("ms", 1e11), ("s", -math.inf)) if value > least
        )
        time = pd.to_datetime(value, utc=True, errors="coerce", unit=unit)
    elif isinstance(value, str) and re.match(r"\d{4}\D", value):
        time = pd.to_datetime(value, utc=True, errors="coerce")
    else:
        return value if value is None else str(value)
    return str(value) if pd.isna(time) or not 1 < time.year < 9999 else time


def _spell_time(value: Any) -> str:
    """Return a time as sessions have it, to the second."""
    return "" if value is None else f"{pd.Timestamp(value):%Y-%m-%d %H:%M:%S}"


def _read_file(file: Path, root: Path) -> Iterator[dict[str, Any] | Problem]:
    place = file.name if file == root else str(file.relative_to(root))
    user = "" if file == root else Path(place).parts[0].removesuffix(file.suffix)
    kind, raw = file.suffix.lower(), read_bounded(file)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        yield Problem(place, "is no text in UTF-8")
        return
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if kind in (".md", ".txt"):
        if not user:
            yield Problem(place, "names no user: put it into a folder, one file or folder per user")
            return
        day = _DAY.search(file.stem)
        for n, part in enumerate(filter(None, map(str.strip, re.split(r"\n\s*\n", text))), 1):
            yield {"id": f"{place}:{n}", "user": user, "text": part, "at": day[0] if day else None}
    elif kind == ".csv":
        csv.field_size_limit(LONGEST)
        for n, row in enumerate(csv.DictReader(io.StringIO(text, newline="")), 2):
            yield _make_note(row, f"{place}:{n}", user)
    elif kind in (".jsonl", ".ndjson"):
        for n, line in enumerate(text.split("\n"), 1):
            if line.strip():
                parsed = parse_json(line.encode(), f"{place}:{n}")
                yield parsed if isinstance(parsed, Problem) else _make_note(parsed, f"{place}:{n}", user)
    elif kind in (".json", ".af"):
        parsed = parse_json(raw, place)
        if isinstance(parsed, Problem):
            yield parsed
            return
        rows = list(_find_rows(parsed, place, user))
        of_user = [
            (row, own) for row, own in rows if not (isinstance(row, dict) and row.get("label") in _NAMES["assistant"])
        ]
        if len(of_user) < len(rows):
            warnings.warn(
                f"{place}: {len(rows) - len(of_user)} texts describe the assistant, and are left out", stacklevel=2
            )
        yield from (_make_note(row, own, user) for row, own in of_user)


def _find_rows(data: Any, place: str, user: str) -> Iterator[tuple[Any, str]]:
    """Yield the records of a JSON text: a list, or the lists in it, by names of lists or of users."""
    if isinstance(data, list):
        for i, row in enumerate(data):
            if isinstance(row, dict) and isinstance(row.get("memory"), dict):
                yield from _find_rows(row, f"{place}[{i}]", user)
            else:
                yield ({"text": row} if isinstance(row, str) else row), f"{place}[{i}]"
    elif isinstance(data, dict) and isinstance(memory := data.get("memory"), dict):  # an agent of Letta
        owner = next((data[name] for name in ("user_id", "id", "name") if data.get(name)), user)
        yield from _find_rows({owner: memory.get("blocks", [])}, f"{place}.memory", user)
    elif isinstance(data, dict) and not any(name in data for name in _NAMES["text"]):
        for name, rows in data.items():
            if isinstance(rows, list):
                for row, own in _find_rows(rows, f"{place}.{name}", user):
                    is_owned = name not in _NAMES["lists"] and isinstance(row, dict)
                    yield ({"user": name, **row} if is_owned else row), own
    else:
        yield data, place


def _make_note(row: Any, place: str, user: str) -> dict[str, Any] | Problem:
    if not isinstance(row, Mapping):
        return Problem(place, f"is {json.dumps(row, ensure_ascii=False)[:60]}, expected a record")
    if isinstance(space := row.get("namespace"), list) and space:  # LangGraph's store: (…, user) → value
        row = {**row, "user": space[-1]}
    if isinstance(value := row.get("value"), Mapping):
        row = {**value, **{name: own for name, own in row.items() if name != "value"}}
    if {"source", "relationship"} <= row.keys():  # mem0's graph
        row = {**row, "text": " ".join(str(row.get(name, "")) for name in ("source", "relationship", "target"))}
    text, owner = _pick(row, "text"), _pick(row, "user") or user
    if not isinstance(text, str) or not text.strip():
        return Problem(
            place, f"has no text under any of {', '.join(_NAMES['text'])}; it has {', '.join(map(str, row))}"
        )
    if not owner:
        return Problem(
            place, f"has no user under any of {', '.join(_NAMES['user'])}; it has {', '.join(map(str, row))}"
        )
    return {"id": place, "user": str(owner), "text": text.strip()} | {
        name: row[name] for what in ("at", "true", "until") for name in _NAMES[what] if row.get(name) not in (None, "")
    }


def _pick(row: Mapping[Any, Any], what: str) -> Any:
    return next((row[name] for name in _NAMES[what] if row.get(name) not in (None, "")), None)


class ExportedMemory(PromptedMemory):
    """What another system wrote about each user, looked up by nearness; it learns nothing further."""

    called = "exported"

    def __init__(
        self,
        language: str = "en",
        *,
        path: Path | str,
        embedder: Embedder | str | None = None,
        k: int = 10,
        dates: str | None = None,
    ):
        super().__init__(language, embedder=embedder, k=k, name=f"exported: {Path(path).name}")
        self.notes: dict[str, list[Note]] = {}
        for note in read_notes(path, dates):
            self.notes.setdefault(note.user, []).append(note)

    def start(self, user: str) -> Store:
        """Return what the export has of a user; that it has nothing is noted as a failure."""
        if user in self.notes:
            return Store(user)
        some = ", ".join(list(self.notes)[:5])
        return Store(user, failed=(f"{self.name} has nothing of user {user}, but of {some}",))

    async def add_logs(self, store: Store, session: MemorySession, ask: Ask) -> Store:
        """Return the store as it is."""
        return store

    async def add_dialogue(self, store: Store, session: MemorySession, ask: Ask) -> Store:
        """Return the store, with the session noted as heard."""
        return replace(store, session_ids=(*store.session_ids, session.id))

    def recall(self, store: Store, session: MemorySession, query: str, purpose: Purpose) -> list[MemoryPiece]:
        """Return the texts that were there when the session began, the nearest to the query first."""
        at = session.at
        own = [
            note
            for note in self.notes.get(store.user, [])
            if not at or (note.at <= at and not (note.until and note.until <= at))
        ]
        places = self.space.nearest(query, [note.text for note in own], self.k)
        return [MemoryPiece(own[i].id, "record", own[i].text) for i in places]
