"""LLM-Rubric (Hashemi et al., ACL 2024): conversations with search assistants that people rated as a whole, 1–4.

A folder with `real_data.json` and the people's ratings beside it; scenarios are the five assistants. What a published model
expects people to answer is kept in the frame `published`: session, criterion, expected (1–4).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from perslib.corpus.reading import AUTO, Reading, csv_lines, read_json
from perslib.corpus.scale import Scale
from perslib.corpus.schema import SESSION
from perslib.corpus.table import read_placed
from perslib.errors import DataError, Problem

TEXTS, RATINGS = "real_data.json", "human_judges_real_convs_FIXED_ANON.tsv"
JUDGED = "gpt-3.5-turbo-16k_real_evaluations_FIXED.tsv"
#: Overall satisfaction, and questions about parts of it, where 0 says "does not apply".
OVERALL, QUESTIONS = "Q0", tuple(f"Q{n}" for n in range(1, 9))


def looks_like(path: Path) -> bool:
    """Whether a folder holds the files of this release."""
    return path.is_dir() and (path / TEXTS).is_file() and (path / RATINGS).is_file()


def read(path: Path, *, skip_bad: bool = False, name: str = "llm-rubric", evidence: str = AUTO) -> Reading:
    """Read the folder; see `perslib import llm-rubric`."""
    if not looks_like(path):
        raise DataError(Problem(str(path), f"does not hold {TEXTS} and {RATINGS}"))
    reading = Reading(skip_bad, evidence=evidence)
    said = {own.get("_id"): own for own in read_json(path / TEXTS, list, "a list of conversations")}
    rated = _table(path / RATINGS, ("text_id", "annotator_id", "dialogue_system", OVERALL), reading)
    rows = []
    for place, row in rated:
        own = said.get(row["text_id"])
        if own is None:
            reading.reject([Problem(place, f"rates a conversation that {TEXTS} does not have: {row['text_id']}")], row)
            continue
        about = {
            "user": row["annotator_id"],
            "scenario": f"assistant {row['dialogue_system']}",
            "session": row["text_id"],
        }
        about |= {"task": own.get("topic"), "assistant": own.get("openai_model"), "satisfaction": row[OVERALL]}
        rows.append((place, {**about, "messages": own.get("messages")}))
    reading.note("conversations that nobody rated, left out", len(said.keys() - {row["text_id"] for _, row in rated}))
    read_placed(rows, reading, name, "en", Scale(1, 4), "llm-rubric")
    answers = pd.DataFrame([row for _, row in rated]).rename(columns={"text_id": "session"})
    answers = answers[["session", *(q for q in QUESTIONS if q in answers)]]
    corpus = reading.corpus
    sessions = corpus.sessions.merge(answers, on="session", how="left", validate="1:1")
    extras = corpus.extras
    if (path / JUDGED).is_file():
        extras = extras | {
            "published": _published(path / JUDGED, reading).merge(corpus.sessions[SESSION], on="session")
        }
    reading.corpus = replace(corpus, sessions=sessions, extras=extras)
    return reading


def _table(file: Path, columns: tuple[str, ...], reading: Reading) -> list[tuple[str, dict[str, str]]]:
    rows = []
    for place, row, held in csv_lines(file.read_bytes(), file.name, columns, "\t"):
        if isinstance(row, Problem):
            reading.reject([row], held)
        else:
            rows.append((place, row))
    return rows


def _published(file: Path, reading: Reading) -> pd.DataFrame:
    """What the published model expects: session, criterion, expected."""
    chances = [f"answer{n}_prob" for n in range(1, 5)]
    rows = [row for _, row in _table(file, ("text_id", "criterion", *chances), reading)]
    told = pd.DataFrame(rows)
    odds = told[chances].astype(float)
    expected = odds.mul([1, 2, 3, 4]).sum(axis=1) / odds.sum(axis=1)
    return pd.DataFrame({"session": told["text_id"], "criterion": told["criterion"], "expected": expected})
