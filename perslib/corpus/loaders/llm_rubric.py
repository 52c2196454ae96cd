"""LLM-Rubric (Hashemi et al., ACL 2024): conversations with search assistants that people rated as a whole, 1–4.

A folder with `real_data.json` and the people's ratings beside it; scenarios are the five assistants. What a published model
expects people to answer is kept in the frame `published`: session, criterion, expected (1–4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from perslib.corpus.files.reading import AUTO, Reading, number_in
from perslib.corpus.files.records import csv_lines, json_items, read_bounded, read_each
from perslib.corpus.loaders.table import read_placed
from perslib.corpus.scale import Scale
from perslib.corpus.schema import SESSION
from perslib.errors import DataError, Problem
from perslib.schemas import Schema, read_schema

TEXTS, RATINGS = "real_data.json", "human_judges_real_convs_FIXED_ANON.tsv"
JUDGED = "gpt-3.5-turbo-16k_real_evaluations_FIXED.tsv"
#: Overall satisfaction, and questions about parts of it, where 0 says "does not apply".
OVERALL, QUESTIONS = "Q0", tuple(f"Q{n}" for n in range(1, 9))
_CONVERSATION, _RATING, _EXPECTED = (
    read_schema(__file__, "records.schema.toml", f"rubric_{part}") for part in ("conversation", "rating", "expected")
)
Record: TypeAlias = dict[str, Any]
_CHANCES = [f"answer{n}_prob" for n in range(1, 5)]


def looks_like(path: Path) -> bool:
    """Whether a folder holds the files of this release."""
    return path.is_dir() and (path / TEXTS).is_file() and (path / RATINGS).is_file()


def read(path: Path, *, skip_bad: bool = False, name: str = "llm-rubric", evidence: str = AUTO) -> Reading:
    """Read the folder; see `perslib import llm-rubric`."""
    if not looks_like(path):
        raise DataError(Problem(str(path), f"does not hold {TEXTS} and {RATINGS}"))
    reading = Reading(skip_bad, evidence=evidence)
    told: dict[str, Record] = {}

    def keep(own: Record, place: str) -> None:
        if own["_id"] in told:
            raise DataError(Problem(place, f"is a second conversation with the _id {own['_id']}"))
        told[own["_id"]] = own

    read_each(json_items(path / TEXTS), reading, _CONVERSATION, keep)
    rated: dict[str, Record] = {}

    def rate(row: Record, place: str) -> Record:
        key, own = row["text_id"], told.get(row["text_id"])
        if own is None or key in rated:
            wrong = f"{TEXTS} does not have" if own is None else "another row rates already"
            raise DataError(Problem(place, f"rates a conversation that {wrong}: {key}"))
        rated[key] = row
        about = {"user": row["annotator_id"], "scenario": f"assistant {row['dialogue_system']}", "session": key}
        about |= {"task": own.get("topic"), "assistant": own.get("openai_model"), "satisfaction": row[OVERALL]}
        return {**about, "messages": own["messages"]}

    columns = ("text_id", "annotator_id", "dialogue_system", OVERALL)
    rows = _table(path / RATINGS, columns, reading, _RATING, rate)
    published = _published(path / JUDGED, reading) if (path / JUDGED).is_file() else None
    reading.note("conversations that nobody rated, left out", len(told.keys() - rated.keys()))
    read_placed(rows, reading, name, "en", Scale(1, 4), "llm-rubric")
    answers = pd.DataFrame([*rated.values()]).rename(columns={"text_id": "session"})
    answers = answers[["session", *(q for q in QUESTIONS if q in answers)]]
    corpus = reading.corpus
    sessions = corpus.sessions.merge(answers, on="session", how="left", validate="1:1")
    extras = corpus.extras
    if published is not None:
        extras = extras | {"published": published.merge(corpus.sessions[SESSION], on="session")}
    reading.corpus = replace(corpus, sessions=sessions, extras=extras)
    return reading


def _table(
    file: Path, columns: tuple[str, ...], reading: Reading, schema: Schema, read: Callable[[Record, str], Record]
) -> list[tuple[str, Record]]:
    lines = csv_lines(read_bounded(file), file.name, columns, "\t")
    return [(place, row) for place, row in read_each(lines, reading, schema, read) if row is not None]


def _expected(row: Record, place: str) -> Record:
    odds = {chance: number_in(row[chance]) for chance in _CHANCES}
    if any(one is None or one < 0 for one in odds.values()) or not any(odds.values()):
        shown = ", ".join(str(row[chance]) for chance in _CHANCES)
        raise DataError(Problem(place, f"{_CHANCES[0]} to {_CHANCES[-1]} are {shown}, expected probabilities"))
    return row | odds


def _published(file: Path, reading: Reading) -> pd.DataFrame:
    """What the published model expects: session, criterion, expected."""
    columns = ["text_id", "criterion", *_CHANCES]
    rows = _table(file, tuple(columns), reading, _EXPECTED, _expected)
    told = pd.DataFrame([row for _, row in rows], columns=columns)
    odds = told[_CHANCES].astype(float)
    expected = odds.mul([1, 2, 3, 4]).sum(axis=1) / odds.sum(axis=1)
    return pd.DataFrame({"session": told["text_id"], "criterion": told["criterion"], "expected": expected})
