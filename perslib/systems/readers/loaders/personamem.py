"""PersonaMem-v2 (2025): a persona asks, one of several replies fits what came up in a long chat before, and the others do not.

`benchmark.csv` (or train or val) has a question a row; each names the file with its persona's chat. A persona has two
scenarios here: `history`, the chat, and `questions`, each a conversation of one turn whose fitting reply is the preferred one.
So judges know the chat when they judge a question, and no other question with its answer. What a question tests (`preference`
and the like) is kept, and not shown to them.
"""

from __future__ import annotations

from pathlib import Path
from string import ascii_lowercase
from typing import Any

from perslib.corpus.files.reading import ImportResult, read_json, read_literal
from perslib.corpus.files.records import csv_lines, read_bounded, read_each
from perslib.corpus.loaders.conversations import Row
from perslib.corpus.loaders.form import Form
from perslib.corpus.loaders.rows import read_placed
from perslib.errors import DataError, Problem
from perslib.schemas import read_schema, show

FILE = Path("benchmark/text/benchmark.csv")
COLUMNS = ("persona_id", "user_query", "correct_answer", "incorrect_answers")
#: Columns with the file of a chat, the shorter first.
LINKS = ("chat_history_32k_link", "chat_history_128k_link", "chat_history_link")
#: What is kept of a question: what it tests.
KEPT = ("preference", "pref_type", "prev_pref", "topic_preference", "topic_query", "conversation_scenario", "who", "updated", "sensitive_info")  # fmt: skip
REMEDY = "Download data/chat_history_32k of the data set, too, or leave questions without a chat out with --skip-bad."


def looks_like(path: Path) -> bool:
    """Return whether a path is a table of this release, or a folder that holds its benchmark."""
    file = path / FILE if path.is_dir() else path
    if file.suffix.lower() != ".csv" or not file.is_file():
        return False
    with file.open("rb") as opened:
        header = opened.readline().decode("utf-8-sig", "replace")
    return all(column in header for column in COLUMNS)


def read(path: Path, *, skip_bad: bool = False, name: str = "personamem-v2") -> ImportResult:
    """Read a table with the chats beside it; see `perslib import personamem`."""
    file = path / FILE if path.is_dir() else path
    reading = ImportResult(skip_bad, evidence="scenarios")
    schema = read_schema(__file__, "records.schema.toml", "personamem")
    placed: list[Row] = []
    chats: set[str] = set()

    def read_question(record: dict[str, Any], place: str) -> None:
        request, others = _read_query(record["user_query"], place), _read_others(record["incorrect_answers"], place)
        persona, link = record["persona_id"], next((record[c] for c in LINKS if record.get(c)), "")
        if persona not in chats:
            messages, said_of = _read_chat(file.parent, link, place)
            about = {"user": persona, "scenario": "history", "session": "history", "messages": messages}
            placed.append((place, {**about, "profile": {"persona": said_of} if said_of else {}}))
            chats.add(persona)
        replies = dict(zip(ascii_lowercase, [record["correct_answer"], *others]))
        placed.append(
            (
                place,
                {"user": persona, "scenario": "questions", "session": place, "request": request, "preferred": "a"}
                | {f"response_{own}": reply for own, reply in replies.items()}
                | {column: record[column] for column in KEPT if record.get(column)},
            )
        )

    read_each(csv_lines(read_bounded(file), file.name, COLUMNS), reading, schema, read_question)
    remedy = "Give benchmark.csv, or the folder of the data set."
    form = Form("personamem", scenarios=("history", "questions"), remedy=remedy)
    return read_placed(placed, reading, name, form)


def _read_query(text: str, place: str) -> str:
    """Return the question in a cell that is a message, or the question itself."""
    value = read_literal(text)
    if isinstance(value, dict):
        if not isinstance(value.get("content"), str):
            raise DataError(Problem(place, f"user_query is {show(text)}, expected a message with role and content"))
        return value["content"]
    return text


def _read_others(text: str, place: str) -> list[str]:
    """Return the replies that do not fit."""
    value = read_literal(text)
    if not isinstance(value, list) or not value or not all(isinstance(own, str) for own in value) or len(value) > 25:
        raise DataError(Problem(place, f"incorrect_answers is {show(text)}, expected a list of texts"))
    return value


def _read_chat(folder: Path, link: str, place: str) -> tuple[list[dict[str, Any]], str]:
    """Return the messages of a chat, and what its system message says of the persona; the release's root is above."""
    file = next((own for root in (folder, *folder.parents[:3]) if link and (own := root / link).is_file()), None)
    if file is None:
        lacking = f"names the chat {link}, which is not there" if link else f"names no chat in {' or '.join(LINKS)}"
        raise DataError(Problem(place, lacking), REMEDY)
    content = read_json(file, object, "a chat", REMEDY)
    messages = content if isinstance(content, list) else content.get("chat_history") or content.get("conversations")
    if not isinstance(messages, list) or not all(isinstance(own, dict) and "content" in own for own in messages):
        raise DataError(Problem(file.name, "holds no list of messages in chat_history"), REMEDY)
    said_of = "\n".join(str(own["content"]) for own in messages if own.get("role") == "system")
    return [own for own in messages if own.get("role") != "system"], said_of
