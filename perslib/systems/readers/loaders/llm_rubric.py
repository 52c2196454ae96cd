"""LLM-Rubric (Hashemi et al., ACL 2024): conversations with search assistants that people rated as a whole, 1–4.

Scenarios are the five assistants; Q0 is overall satisfaction, Q1 to Q8 are questions about parts of it, where 0 says "does
not apply". What a published model expects people to answer is the frame `published`: session, criterion, expected (1–4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus.files.reading import ImportResult, number_in
from perslib.corpus.files.records import csv_lines, json_items, read_bounded, read_each, refuse_second
from perslib.corpus.loaders.form import Form
from perslib.corpus.loaders.rows import read_rows_of
from perslib.corpus.scale import Scale
from perslib.corpus.schema import SESSION
from perslib.errors import DataError, Problem
from perslib.schemas import read_schema

RATINGS, TEXTS = "human_judges_real_convs_FIXED_ANON.tsv", "real_data.json"
#: What a published model expects people to answer.
JUDGED = "gpt-3.5-turbo-16k_real_evaluations_FIXED.tsv"
QUESTIONS = tuple(f"Q{n}" for n in range(1, 9))
COLUMNS = ("text_id", "annotator_id", "dialogue_system", "Q0")
FORM = Form("llm-rubric", scale=Scale(1, 4), of_session=QUESTIONS, theirs={"satisfaction": "Q0"})
_RATED, _TEXT, _EXPECTED = (
    read_schema(__file__, "records.schema.toml", f"rubric_{own}") for own in ("rated", "text", "expected")
)
_CHANCES = [f"answer{n}_prob" for n in range(1, 5)]


def looks_like(path: Path) -> bool:
    """Return whether a folder, or that of a file, holds ratings and conversations of this release."""
    folder = path if path.is_dir() else path.parent
    return (path.is_dir() or path.name == RATINGS) and all((folder / file).is_file() for file in (RATINGS, TEXTS))


def read(path: Path, *, skip_bad: bool = False, name: str = "llm-rubric", evidence: str | None = None) -> ImportResult:
    """Read the folder; see `perslib import llm-rubric`."""
    if not looks_like(path):
        raise DataError(Problem(str(path), f"is not, and does not hold, {TEXTS} and {RATINGS}"))
    folder = path if path.is_dir() else path.parent
    form = FORM.using(evidence=evidence)
    reading = form.begin(skip_bad)
    texts: dict[str, dict[str, Any]] = {}
    seen: set[str] = set()

    def keep(text: dict[str, Any], place: str) -> None:
        if text["_id"] in texts:
            raise DataError(Problem(place, f"is a second record with the _id {text['_id']}"))
        texts[text["_id"]] = text

    def make_row(rated: dict[str, Any], place: str) -> Iterator[dict[str, Any]]:
        if (text := texts.get(key := rated["text_id"])) is None:
            raise DataError(Problem(place, f"rates a conversation that {TEXTS} does not have: {key}"))
        refuse_second(seen, key, place, "rates a conversation that another row rates already:")
        yield {
            "user": rated["annotator_id"],
            "scenario": f"assistant {rated['dialogue_system']}",
            "session": key,
            "task": text.get("topic"),
            "assistant": text.get("openai_model"),
            "satisfaction": rated["Q0"],
            "messages": text["messages"],
        } | {question: rated[question] for question in QUESTIONS if question in rated}

    read_each(json_items(folder / TEXTS), reading, _TEXT, keep)
    lines = csv_lines(read_bounded(folder / RATINGS), RATINGS, COLUMNS, "\t")
    read_rows_of(lines, make_row, reading, name, form, _RATED)
    reading.note("conversations that nobody rated, left out", len(texts.keys() - seen))
    reading.note(f"files that are not there: {JUDGED}", times=not (folder / JUDGED).is_file())
    _add_expected_answers(reading, folder / JUDGED)
    return reading


def _add_expected_answers(reading: ImportResult, file: Path) -> None:
    """Add what a published model expects people to answer, where it is there."""
    if not file.is_file():
        return
    columns = ["text_id", "criterion", *_CHANCES]
    rows = read_each(csv_lines(read_bounded(file), file.name, columns, "\t"), reading, _EXPECTED, _read_chances)
    answers = pd.DataFrame([row for _, row in rows if row], columns=columns)
    odds = answers[_CHANCES].astype(float)
    expected = odds.mul([1, 2, 3, 4]).sum(axis=1) / odds.sum(axis=1)
    published = pd.DataFrame({"session": answers["text_id"], "criterion": answers["criterion"], "expected": expected})
    corpus = reading.corpus
    published = published.merge(corpus.sessions[SESSION], on="session")
    reading.settle()
    reading.corpus = replace(corpus, extras={**corpus.extras, "published": published})


def _read_chances(row: dict[str, Any], place: str) -> dict[str, Any]:
    odds = {chance: number_in(row[chance]) for chance in _CHANCES}
    if any(one is None or one < 0 for one in odds.values()) or not any(odds.values()):
        shown = ", ".join(str(row[chance]) for chance in _CHANCES)
        raise DataError(Problem(place, f"{_CHANCES[0]} to {_CHANCES[-1]} are {shown}, expected probabilities"))
    return row | odds
