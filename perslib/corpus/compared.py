"""Community Alignment (one of four replies preferred) and compar:IA's reactions (thumbs for replies of two models).

Each is one table, as CSV, JSONL or Parquet; where its columns are not those of the published card, the import stops and
lists what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perslib.corpus.reading import Reading, truth
from perslib.corpus.scale import Scale
from perslib.corpus.table import Row, read_placed, rows_of
from perslib.errors import DataError, Problem

ORDINALS = ("first", "second", "third", "fourth")
#: Columns of compar:IA's reactions: user, conversation, text asked, text replied, model, thumb up, thumb down.
REACTION = (
    "visitor_id",
    "session_hash",
    "question_content",
    "response_content",
    "refers_to_model",
    "liked",
    "disliked",
)
#: Why a reply was liked or not.
WHY = ("useful", "complete", "creative", "clear_formatting", "incorrect", "superficial", "instructions_not_followed")


def _rows(path: Path, reading: Reading, needed: tuple[str, ...]) -> Iterator[Row]:
    """The rows of a table that has these columns."""
    for number, (place, row) in enumerate(rows_of(path, reading)):
        if row is None:
            continue
        if not number and (missing := [column for column in needed if column not in row]):
            found = (
                f"Found: {', '.join(row)}. If the columns have new names, rename them, or use `perslib import table`."
            )
            raise DataError(Problem(place, f"has no column {', '.join(missing)}"), found)
        yield place, row


def read_community_alignment(
    path: Path, *, skip_bad: bool = False, name: str = "community-alignment", evidence: str = "conversations"
) -> Reading:
    """Read the table of conversations; candidates are called a to d, for the data do not say which model each was."""
    reading = Reading(skip_bad, evidence=evidence)
    needed = (
        "conversation_id",
        "annotator_id",
        *(f"first_turn_{own}" for own in ("prompt", "response_a", "preferred_response")),
    )
    rows: list[Row] = []
    for place, row in _rows(path, reading, needed):
        about = {"user": row["annotator_id"], "session": row["conversation_id"]}
        for number, ordinal in enumerate(ORDINALS):
            own = {c.removeprefix(f"{ordinal}_turn_"): v for c, v in row.items() if c.startswith(f"{ordinal}_turn_")}
            said = {c.removeprefix("response_"): v for c, v in own.items() if c.startswith("response_") and v}
            preferred = str(own.get("preferred_response") or "").lower().removeprefix("response_")
            if preferred and preferred not in said:
                problem = Problem(
                    place, f"{ordinal}_turn_preferred_response is {preferred!r}, expected {', '.join(said)}"
                )
                reading.reject([problem], row)
                break
            turn = {**about, "turn": number, "request": own.get("prompt"), "why": own.get("feedback")}
            rows += [
                (place, {**turn, "candidate": one, "response": text, "chosen": one == preferred if preferred else None})
                for one, text in said.items()
            ]
    return read_placed(rows, reading, name, "en", None, "community-alignment")


def read_comparia(
    path: Path, *, skip_bad: bool = False, name: str = "comparia", evidence: str = "conversations"
) -> Reading:
    """Read the table of reactions: a reply a row, liked or disliked, with the reasons that were ticked."""
    reading = Reading(skip_bad, evidence=evidence)
    rows: list[Row] = []
    for place, row in _rows(path, reading, REACTION):
        user, session, request, response, model, liked, disliked = (row[column] for column in REACTION)
        if truth(liked) == truth(disliked):
            reading.note("reactions that are neither or both, left out")
            continue
        about: dict[str, Any] = {"user": user, "session": session, "request": request, "response": response}
        ticked = ", ".join(reason for reason in WHY if truth(row.get(reason)))
        about |= {
            "candidate": model,
            "score": int(truth(liked)),
            "ticked": ticked or None,
            "comment": row.get("comment"),
        }
        rows.append((place, about))
    return read_placed(rows, reading, name, "en", Scale(0, 1), "comparia")  # prompts and pages have no French
