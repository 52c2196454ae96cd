"""A memory system of others, by what it exports: texts, each of a user and a time.

    ExportedMemory("en", path="mem0.json")       # one file for all users: JSON, JSON lines or CSV
    ExportedMemory("en", path="memories/")       # or a folder: a file or a folder per user, also Markdown and plain text

mem0, Zep, Letta and their like name the same things differently; `exported.toml` has the names. What they wrote about a user is
handed over as they wrote it: for a question, texts of that user that were there before the session, the nearest first. A
text whose time is not given counts as known from the beginning, one that was replaced only until then. Whether a text
rests on what is asked for, only those can know who ran the system: export before the sessions that are judged.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus.files.reading import parse_json
from perslib.corpus.files.records import read_bounded
from perslib.errors import DataError, Problem
from perslib.llm import Ask, Embedder
from perslib.paths import read_toml
from perslib.systems.mem_pal.memory.long_term import MemoryPiece, MemorySession, PromptedMemory, Purpose, Store

_NAMES: dict[str, list[str]] = read_toml(__file__, "exported.toml")
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


def read_notes(path: Path | str) -> list[Note]:
    """Return the texts of an export in their order; what cannot be read is named with its place."""
    path = Path(path)
    if not path.exists():
        raise DataError(Problem(str(path), "is no file or folder that can be read"), REMEDY)
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    read = [one for file in files for one in _read_file(file, path)]
    problems = [one for one in read if isinstance(one, Problem)]
    notes = [one for one in read if isinstance(one, Note)]
    if problems or not notes:
        raise DataError(problems or [Problem(str(path), "holds no text about anybody")], REMEDY)
    return notes


def _read_file(file: Path, root: Path) -> Iterator[Note | Problem]:
    place = file.name if file == root else str(file.relative_to(root))
    user = "" if file == root else Path(place).parts[0].removesuffix(file.suffix)
    kind, raw = file.suffix.lower(), read_bounded(file)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        yield Problem(place, "is no text in UTF-8")
        return
    if kind in (".md", ".txt"):
        if not user:
            yield Problem(place, "names no user: put it into a folder, one file or folder per user")
            return
        day = _DAY.search(file.stem)
        for n, part in enumerate(filter(None, map(str.strip, re.split(r"\n\s*\n", text))), 1):
            yield Note(f"{place}:{n}", user, part, f"{day[0]} 00:00:00" if day else "")
    elif kind == ".csv":
        for n, row in enumerate(csv.DictReader(io.StringIO(text)), 2):
            yield _make_note(row, f"{place}:{n}", user)
    elif kind in (".jsonl", ".ndjson"):
        for n, line in enumerate(text.split("\n"), 1):
            if line.strip():
                parsed = parse_json(line.encode(), f"{place}:{n}")
                yield parsed if isinstance(parsed, Problem) else _make_note(parsed, f"{place}:{n}", user)
    elif kind == ".json":
        parsed = parse_json(raw, place)
        if isinstance(parsed, Problem):
            yield parsed
            return
        for row, own in _find_rows(parsed, place, user):
            yield _make_note(row, own, user)


def _find_rows(data: Any, place: str, user: str) -> Iterator[tuple[Any, str]]:
    """Yield the records of a JSON text: a list, or the lists in it, by names of lists or of users."""
    if isinstance(data, list):
        for i, row in enumerate(data):
            yield row, f"{place}[{i}]"
    elif isinstance(data, dict) and not any(name in data for name in _NAMES["text"]):
        for name, rows in data.items():
            if isinstance(rows, list):
                is_user = name not in _NAMES["lists"]
                for row, own in _find_rows(rows, f"{place}.{name}", user):
                    if isinstance(row, str):
                        row = {"text": row}
                    yield ({"user": name, **row} if is_user and isinstance(row, dict) else row), own
    else:
        yield data, place


def _make_note(row: Any, place: str, user: str) -> Note | Problem:
    if not isinstance(row, Mapping):
        return Problem(place, f"is {json.dumps(row, ensure_ascii=False)[:60]}, expected a record")
    text, owner = _pick(row, "text"), _pick(row, "user") or user
    if not isinstance(text, str) or not text.strip():
        return Problem(
            place, f"has no text under any of {', '.join(_NAMES['text'])}; it has {', '.join(map(str, row))}"
        )
    if not owner:
        return Problem(
            place, f"has no user under any of {', '.join(_NAMES['user'])}; it has {', '.join(map(str, row))}"
        )
    times = [_parse_time(_pick(row, name)) for name in ("at", "until")]
    if None in times:
        name = ("at", "until")[times.index(None)]
        return Problem(place, f"has a time that cannot be read: {_pick(row, name)!r}")
    return Note(place, str(owner), text.strip(), times[0] or "", times[1] or "")


def _pick(row: Mapping[Any, Any], what: str) -> Any:
    return next((row[name] for name in _NAMES[what] if row.get(name) not in (None, "")), None)


def _parse_time(value: Any) -> str | None:
    """Return a time as sessions have it, in UTC; "" where none is given, None where it cannot be read."""
    if value is None:
        return ""
    if isinstance(value, str) and re.fullmatch(r"\d+(?:\.\d+)?", value):
        value = float(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    unit = ("ms" if value > 1e11 else "s") if is_number else None
    time = pd.to_datetime(value, utc=True, errors="coerce", unit=unit) if is_number or isinstance(value, str) else None
    return None if time is None or pd.isna(time) else f"{time:%Y-%m-%d %H:%M:%S}"


class ExportedMemory(PromptedMemory):
    """What another system wrote about each user, looked up by nearness; it learns nothing further."""

    called = "exported"

    def __init__(self, language: str = "en", *, path: Path | str, embedder: Embedder | str | None = None, k: int = 10):
        super().__init__(language, embedder=embedder, k=k, name=f"exported: {Path(path).name}")
        self.notes: dict[str, list[Note]] = {}
        for note in read_notes(path):
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
