"""URS, the User Reported Scenarios (Wang et al., EMNLP 2024): whole conversations that their users rated.

Two files of two languages. Users become zh_<id> or en_<id>, intents scenarios. The rating is of the whole conversation;
single replies have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

from perslib.corpus.files.reading import ImportResult
from perslib.corpus.files.records import json_items
from perslib.corpus.loaders.form import Form
from perslib.corpus.loaders.rows import read_rows_of
from perslib.corpus.scale import FIVE
from perslib.errors import DataError, Problem
from perslib.paths import read_toml
from perslib.schemas import read_schema

ROLES = ("user", "assistant")
#: The files, each with its language.
FILES = {"chinese_merged.json": "zh", "english_processed.json": "en"}
_NAMES = read_toml(__file__, "names.toml")["urs"]
_SCENARIOS = {word: own for own, words in _NAMES["scenarios"].items() for word in (own, *words)}
_RATINGS = {word: int(own) for own, words in _NAMES["ratings"].items() for word in words}
_UNRATED = "conversations without a rating"


def looks_like(path: Path) -> bool:
    """Return whether a path is, or a folder holds, one of the two files."""
    return bool(_find_files(path))


def read(path: Path, *, skip_bad: bool = False, name: str | None = None, evidence: str | None = None) -> ImportResult:
    """Read one of the files; see `perslib import urs`."""
    files = _find_files(path)
    if not files:
        raise DataError(Problem(str(path), f"is not, and does not hold, {' or '.join(FILES)}"))
    if len(files) > 1:
        listed = " and ".join(file.name for file in files)
        remedy = f"Import them one by one, such as {files[0]}"
        raise DataError(Problem(str(path), f"holds {listed}; a corpus has one language"), remedy)
    language = FILES[files[0].name]
    form = Form(
        "urs",
        language,
        scale=FIVE,
        evidence=evidence or "scenarios",
        order="user",
        scenarios=tuple(_NAMES["scenarios"]),
        theirs={"satisfaction": "user_satisfaction"},
        words=" < ".join("/".join(words) for words in _NAMES["ratings"].values()),
        unanswered="conversations without any reply",
        nothing="holds none",
        remedy="No conversation of the file can be read.",
    )
    reading = form.begin(skip_bad)

    def make_row(record: dict[str, Any], _: str) -> Iterator[dict[str, Any]]:
        intent, user = str(record["intent_label"]).strip(), str(record["user_id"]).strip()
        given = record.get("user_satisfaction")
        if (scenario := _SCENARIOS.get(_fold(intent))) is None:
            reading.note(f"conversations under an intent of another name ({intent})")
        reading.note(_UNRATED, given in (None, ""))
        yield {
            "user": user if user.startswith(f"{language}_") else f"{language}_{user}",
            "scenario": scenario or intent,
            "task": record.get("title") or None,
            "assistant": record.get("llm") or None,
            "satisfaction": _RATINGS.get(_fold(given), given) if given != "" else None,
            "messages": list(_list_messages(record["conversation_history"])),
        }

    schema = read_schema(__file__, "records.schema.toml", "urs")
    return read_rows_of(json_items(files[0]), make_row, reading, name or f"urs-{language}", form, schema)


def _find_files(path: Path) -> list[Path]:
    files = [path / name for name in FILES] if path.is_dir() else [path]
    return [file for file in files if file.is_file() and file.name in FILES]


def _fold(value: Any) -> str:
    """Write a word in the form in which words are compared, whatever their case and blanks."""
    return " ".join(str(value).lower().split())


def _list_messages(history: Iterable[Any]) -> Iterator[Mapping[str, str]]:
    """Yield the messages of a history, which may hold pairs or alternating texts."""
    roles = cycle(ROLES)
    for message in history:
        if isinstance(message, str):
            yield {"role": next(roles), "content": message}
        elif isinstance(message, list):
            yield from ({"role": role, "content": text} for role, text in zip(ROLES, message))
        else:
            yield message
