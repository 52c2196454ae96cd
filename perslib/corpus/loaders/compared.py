"""Community Alignment (one of four replies preferred) and compar:IA's reactions (thumbs for replies of two models).

Each is one table, as CSV, JSONL or Parquet; where its columns are not those of the published card, the import stops and
lists what is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

from perslib.corpus.files.reading import Reading, truth
from perslib.corpus.files.records import read_each
from perslib.corpus.loaders.table import Row, read_placed, records_of
from perslib.corpus.scale import Scale
from perslib.errors import DataError, Problem
from perslib.paths import read_toml
from perslib.schemas import read_schema

ORDINALS = ("first", "second", "third", "fourth")
#: Columns of compar:IA's reactions: user, conversation, text asked, text replied, model, thumb up, thumb down.
REACTION: list[str] = read_toml(__file__, "records.schema.toml")["comparia"]["required"]
#: Why a reply was liked or not.
WHY = ("useful", "complete", "creative", "clear_formatting", "incorrect", "superficial", "instructions_not_followed")


def _read(path: Path, reading: Reading, part: str, read: Callable[[dict[str, Any], str], list[Row]]) -> list[Row]:
    """The rows that a reader makes of the records of a table; an error where the table lacks columns."""
    schema = read_schema(__file__, "records.schema.toml", part)
    lines = records_of(path)
    place, first, _ = next(lines, (path.name, {}, None))
    if isinstance(first, dict) and (missing := [c for c in schema.document[part]["required"] if c not in first]):
        found = f"Found: {', '.join(first)}. If the columns have new names, rename them, or use `perslib import table`."
        raise DataError(Problem(place, f"has no column {', '.join(missing)}"), found)
    every = read_each(chain([(place, first, first)], lines), reading, schema, read)
    return [row for _, rows in every for row in rows or ()]


def read_community_alignment(
    path: Path, *, skip_bad: bool = False, name: str = "community-alignment", evidence: str = "conversations"
) -> Reading:
    """Read the table of conversations; candidates are called a to d, for the data do not say which model each was."""
    reading = Reading(skip_bad, evidence=evidence)

    def read(row: dict[str, Any], place: str) -> list[Row]:
        rows: list[Row] = []
        for number, ordinal in enumerate(ORDINALS):
            own = {c.removeprefix(f"{ordinal}_turn_"): v for c, v in row.items() if c.startswith(f"{ordinal}_turn_")}
            said = {c.removeprefix("response_"): v for c, v in own.items() if c.startswith("response_") and v}
            preferred = str(own.get("preferred_response") or "").lower().removeprefix("response_")
            if preferred and preferred not in said:
                wrong = f"{ordinal}_turn_preferred_response is {preferred!r}, expected {', '.join(said)}"
                raise DataError(Problem(place, wrong))
            turn = {"user": row["annotator_id"], "session": row["conversation_id"], "turn": number}
            turn |= {"request": own.get("prompt"), "why": own.get("feedback")}
            rows += [
                (place, {**turn, "candidate": one, "response": text, "chosen": one == preferred if preferred else None})
                for one, text in said.items()
            ]
        return rows

    rows = _read(path, reading, "community_alignment", read)
    return read_placed(rows, reading, name, "en", None, "community-alignment")


def read_comparia(
    path: Path, *, skip_bad: bool = False, name: str = "comparia", evidence: str = "conversations"
) -> Reading:
    """Read the table of reactions: a reply a row, liked or disliked, with the reasons that were ticked."""
    reading = Reading(skip_bad, evidence=evidence)

    def read(row: dict[str, Any], place: str) -> list[Row]:
        user, session, request, response, model, liked, disliked = (row[column] for column in REACTION)
        if truth(liked) == truth(disliked):
            reading.note("reactions that are neither or both, left out")
            return []
        about: dict[str, Any] = {"user": user, "session": session, "request": request, "response": response}
        ticked = ", ".join(reason for reason in WHY if truth(row.get(reason)))
        about |= {"candidate": model, "score": int(truth(liked))}
        return [(place, about | {"ticked": ticked or None, "comment": row.get("comment")})]

    rows = _read(path, reading, "comparia", read)
    return read_placed(rows, reading, name, "en", Scale(0, 1), "comparia")  # prompts and pages have no French
