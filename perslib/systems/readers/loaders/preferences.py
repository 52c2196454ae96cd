"""Tables of replies that people preferred or liked: Community Alignment (2025) and compar:IA's reactions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perslib.corpus.files.reading import ImportResult, truth
from perslib.corpus.files.records import Lines
from perslib.corpus.files.tables import open_rows, refuse_missing
from perslib.corpus.loaders.form import Form
from perslib.corpus.loaders.rows import read_rows_of
from perslib.corpus.scale import Scale
from perslib.errors import DataError, Problem
from perslib.schemas import Schema, read_schema, show

ALIGNED = Form("community-alignment", evidence="conversations")
REACTIONS = Form("comparia", scale=Scale(0, 1), evidence="conversations")
LETTERS = "abcd"
#: What a user may tick beside the thumbs of compar:IA.
TICKED = ("useful", "complete", "creative", "clear_formatting", "incorrect", "superficial", "instructions_not_followed")
_ALIGNED, _REACTION = (read_schema(__file__, "records.schema.toml", own) for own in ("aligned", "reaction"))


def read_aligned(
    path: Path, *, skip_bad: bool = False, name: str = ALIGNED.kind, evidence: str | None = None
) -> ImportResult:
    """Read conversations of Community Alignment, a row each, in whose turns one of up to four replies is preferred.

    Replies are called a to d, for the data do not say which model each was.
    """
    form = ALIGNED.using(evidence=evidence)
    return read_rows_of(_open(path, _ALIGNED), _make_turns, form.begin(skip_bad), name, form, _ALIGNED)


def _make_turns(record: dict[str, Any], place: str) -> Iterator[dict[str, Any]]:
    for number, word in enumerate(("first", "second", "third", "fourth")):
        own = {column.removeprefix(f"{word}_turn_"): cell for column, cell in record.items()}
        if not own.get("response_a"):
            continue  # a turn that did not take place
        preferred = own.get("preferred_response")
        letter = preferred.strip().lower().removeprefix("response_") if preferred else None
        if letter and letter not in LETTERS:
            wrong = f"{word}_turn_preferred_response is {show(preferred)}, expected {', '.join(LETTERS)}"
            raise DataError(Problem(place, wrong))
        about = {"user": record["annotator_id"], "session": record["conversation_id"], "turn": number}
        about |= {"request": own.get("prompt"), "preferred": letter, "why": own.get("feedback")}
        yield about | {f"response_{reply}": own.get(f"response_{reply}") for reply in LETTERS}


def read_reactions(
    path: Path, *, skip_bad: bool = False, name: str = REACTIONS.kind, evidence: str | None = None
) -> ImportResult:
    """Read compar:IA's reactions: a reply a row, liked or disliked, with the reasons that were ticked."""
    form = REACTIONS.using(evidence=evidence)
    reading = form.begin(skip_bad)

    def make_row(record: dict[str, Any], _: str) -> Iterator[dict[str, Any]]:
        liked = truth(record["liked"])
        if liked == truth(record["disliked"]):
            reading.note("reactions that are neither or both, left out")
            return
        yield {
            "user": record["visitor_id"],
            "session": record["session_hash"],
            "request": record["question_content"],
            "response": record["response_content"],
            "candidate": record["refers_to_model"],
            "score": int(liked),
            "ticked": ", ".join(word for word in TICKED if truth(record.get(word))) or None,
            "comment": record.get("comment"),
        }

    return read_rows_of(_open(path, _REACTION), make_row, reading, name, form, _REACTION, sessions=0)


def _open(path: Path, schema: Schema) -> Lines:
    """Return the rows of a table; raise DataError where it has columns, but not those that its records need."""
    header, lines = open_rows(path)
    refuse_missing(
        [column for column in schema.at(())["required"] if header and column not in header], header, path.name
    )
    return lines
