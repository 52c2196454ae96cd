"""LaMP-QA (Salemi and Zamani, 2025): questions of people with what they asked before, and what their replies should take up.

A file of questions (`validation.json`, `test.json`, …), and beside it or alone the replies of any number of systems, one file
each: `{question id: [{"output": reply}]}`. Every question is of a person of its own. Earlier posts are requests without a
reply in the scenario `posts`; the question with all replies to it is in `questions`. Its task is what the person wrote about
the question, and a list of the aspects that a reply should take up, by which the judge `aspects` grades as published.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perslib.corpus.files.reading import ImportResult, parse_json
from perslib.corpus.files.records import json_items, read_each, refuse_second
from perslib.corpus.loaders.conversations import Row
from perslib.corpus.loaders.form import Form
from perslib.corpus.loaders.rows import read_placed
from perslib.errors import DataError, Problem
from perslib.schemas import read_schema

REMEDY = 'Give the questions as a JSON list, and replies as {question id: [{"output": reply}]}, in one folder.'
_EXPECTS = "A good reply takes up:"


def looks_like(path: Path) -> bool:
    """Return whether a path is, or a folder holds, questions of this release."""
    return any(_is_questions(file) for file in _list_files(path))


def read(path: Path, *, skip_bad: bool = False, name: str = "lamp-qa") -> ImportResult:
    """Read questions with the replies beside them; see `perslib import lamp-qa`."""
    files = _list_files(path)
    asked = [file for file in files if _is_questions(file)]
    if len(asked) != 1:
        listed = " and ".join(file.name for file in asked) or "no questions with rubric_aspects"
        raise DataError(Problem(str(path), f"holds {listed}, expected one file of questions"), REMEDY)
    reading = ImportResult(skip_bad, evidence="scenarios")
    systems = {file.stem: _read_replies(file) for file in files if file != asked[0]}
    placed: list[Row] = []
    seen: set[str] = set()

    def read_question(record: dict[str, Any], place: str) -> None:
        refuse_second(seen, key := str(record["id"]), place, "is a second question with the id")
        placed.extend((place, row) for row in _make_rows(key, record, systems))

    read_each(
        json_items(asked[0], "a list of questions"),
        reading,
        read_schema(__file__, "records.schema.toml", "lamp_qa"),
        read_question,
    )
    for system, replies in systems.items():
        reading.note(f"questions without a reply of {system}", len(seen - replies.keys()))
        reading.note(f"replies of {system} to other questions, left out", len(replies.keys() - seen))
    return read_placed(placed, reading, name, Form("lamp-qa", scenarios=("posts", "questions"), remedy=REMEDY))


def _list_files(path: Path) -> list[Path]:
    return sorted(path.glob("*.json")) if path.is_dir() else [path] if path.suffix.lower() == ".json" else []


def _is_questions(file: Path) -> bool:
    """Return whether the beginning of a file is a list with the fields of a question."""
    with file.open("rb") as opened:
        start = opened.read(1 << 20).decode("utf-8-sig", "replace").lstrip()
    return start.startswith("[") and all(f'"{field}"' in start for field in ("question", "profile", "rubric_aspects"))


def _read_replies(file: Path) -> dict[str, str]:
    """Return the reply of a system to each question."""
    content = parse_json(file.read_bytes(), file.name)
    if isinstance(content, Problem):
        raise DataError(content, REMEDY)
    try:
        return {str(key): str(own[0]["output"]) for key, own in content.items() if own}
    except (AttributeError, KeyError, IndexError, TypeError) as error:
        raise DataError(Problem(file.name, "holds neither questions nor replies"), REMEDY) from error


def _make_rows(key: str, record: dict[str, Any], systems: dict[str, dict[str, str]]) -> Iterator[dict[str, Any]]:
    for number, post in enumerate(record["profile"]):
        yield {"user": key, "scenario": "posts", "session": str(number), "request": post["text"], "response": ""}
    wanted = (
        ": ".join(str(own[c]).strip() for c in ("aspect", "reason") if own.get(c)) for own in record["rubric_aspects"]
    )
    listed = "\n".join(f"- {' '.join(own.split())}" for own in wanted)
    about = {"user": key, "scenario": "questions", "session": key, "request": record["question"]}
    about |= {"task": "\n\n".join(part for part in (record.get("narrative"), f"{_EXPECTS}\n{listed}") if part)}
    about |= {"category": record.get("category")}
    replies = {system: own[key] for system, own in systems.items() if key in own}
    for system, reply in replies.items():
        yield {**about, "response": reply, "candidate": system}
    if not replies:
        yield {**about, "response": ""}
