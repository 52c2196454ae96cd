"""PRISM (Kirk et al., 2024): people of many countries who rated several models' replies to their own requests, 1–100.

A folder with `survey.jsonl` (a person a line), `conversations.jsonl` (a conversation, with every reply and its rating) and
`utterances.jsonl` (the same replies, one a line; read for conversations that the former lacks). Scenarios are the three
kinds of conversation, candidates the models; a model that answered a request twice is `name#0` and `name#1`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus.files.reading import ImportResult
from perslib.corpus.files.records import json_lines, read_bounded, read_each, refuse_second
from perslib.corpus.loaders.form import Form
from perslib.corpus.loaders.rows import read_placed
from perslib.corpus.scale import Scale
from perslib.errors import DataError, Problem
from perslib.schemas import read_schema

FILES = ("survey.jsonl", "conversations.jsonl", "utterances.jsonl")
#: What a judge is told of a person; the survey's other answers are not for judging.
PROFILE = ("self_description", "system_string", "stated_prefs")
#: What is kept of a conversation beside its messages; of the attributes a column each, such as performance_fluency.
KEPT = ("open_feedback", "included_in_balanced_subset", "generated_datetime")
ATTRIBUTES = ("performance", "choice")
NO_REPLY = "EMPTY STRING"
#: Of the published release.
PUBLISHED = {"people": 1396, "conversations": 8011, "turns": 27172, "rated replies": 68371}
LICENCE = "licence: what people wrote CC BY 4.0, what models replied CC BY-NC 4.0; its terms forbid to find out who the people are"
Record = dict[str, Any]


def looks_like(path: Path) -> bool:
    """Return whether a folder holds the files of this release."""
    return path.is_dir() and all((path / name).is_file() for name in FILES)


def read(path: Path, *, skip_bad: bool = False, name: str = "prism", evidence: str = "conversations") -> ImportResult:
    """Read the folder; see `perslib import prism`."""
    if missing := [file for file in FILES if not (path / file).is_file()]:
        raise DataError(Problem(str(path), f"has no {', '.join(missing)}"))
    reading = ImportResult(skip_bad, evidence=evidence)
    survey, conversations, utterances = (_records(path / file, reading) for file in FILES)
    people = {person["user_id"]: {c: person[c] for c in PROFILE if person.get(c)} for _, person in survey}
    held = {own["conversation_id"]: own for _, own in conversations}
    long = defaultdict(list)
    for place, utterance in utterances:
        long[utterance["conversation_id"]].append((place, utterance))
    for bad in reading.rejected:  # what is left of its conversation is not what the user saw
        if isinstance(bad.record, dict) and isinstance(key := bad.record.get("conversation_id"), str):
            long.pop(key, None)
    placed = [row for place, own in conversations for row in _of_conversation(place, own)]
    alone = [
        (place, _row(own, own, own["user_prompt"], own["model_response"]))
        for key, every in long.items()
        if key not in held
        for place, own in every
    ]
    reading.note("conversations of utterances.jsonl only, read from there", len(long.keys() - held.keys()))
    reading.note("conversations of conversations.jsonl only", len(held.keys() - long.keys()))
    differing = [c for c in held.keys() & long.keys() if len(long[c]) != _replies(held[c])]
    reading.note(
        "conversations with another number of replies in utterances.jsonl, read as in conversations.jsonl",
        len(differing),
    )
    rows = [
        (place, {**row, "profile": people.get(row["user"])}) for place, row in _number_candidates([*placed, *alone])
    ]
    reading.note("replies that are empty", sum(row["response"] == "" for _, row in rows))
    reading.note(
        "people of the survey without a conversation, left out", len(people.keys() - {r["user"] for _, r in rows})
    )
    read_placed(rows, reading, name, Form("prism", scale=Scale(1, 100)))
    return _complete_sessions(reading, held)


def _records(file: Path, reading: ImportResult) -> list[tuple[str, Record]]:
    """Return place and content of each line that is as it should be; of a conversation the first."""
    schema, seen = read_schema(__file__, "records.schema.toml", f"prism_{file.stem}"), set[str]()

    def read(own: Record, place: str) -> Record:
        key = own["conversation_id"] if "conversation_history" in own else place
        refuse_second(seen, key, place, "is a second conversation with the conversation_id")
        return own

    lines, sessions = json_lines(read_bounded(file), file.name), int(file.stem == "conversations")
    return [(place, own) for place, own in read_each(lines, reading, schema, read, sessions) if own is not None]


def _replies(conversation: Record) -> int:
    return sum(message["role"] == "model" for message in conversation["conversation_history"])


def _of_conversation(place: str, own: Record) -> Iterator[tuple[str, Record]]:
    """Yield the rows of all replies of a conversation."""
    request: dict[int, str] = {}
    for message in own["conversation_history"]:
        if message["role"] == "user":
            request[message["turn"]] = message["content"]
        else:
            yield place, _row(own, message, request.get(message["turn"]), message["content"])


def _row(own: Record, utterance: Record, request: str | None, response: str) -> Record:
    return {
        "user": own["user_id"],
        "scenario": own["conversation_type"],
        "session": own["conversation_id"],
        "turn": utterance["turn"],
        "request": request,
        "response": "" if response == NO_REPLY else response,
        "candidate": utterance["model_name"],
        "score": utterance["score"],
        "chosen": utterance["if_chosen"],
        "number": utterance.get("within_turn_id"),
    }


def _number_candidates(rows: Iterable[tuple[str, Record]]) -> Iterator[tuple[str, Record]]:
    """Yield the rows with numbered models where a model answered a request twice."""
    rows = sorted(rows, key=lambda row: (row[1]["number"] is None, row[1]["number"] or 0))
    every = Counter((row["session"], row["turn"], row["candidate"]) for _, row in rows)
    seen: Counter[tuple[Any, ...]] = Counter()
    for place, row in rows:
        key = (row["session"], row["turn"], row["candidate"])
        model = row["candidate"] if every[key] == 1 else f"{row['candidate']}#{seen[key]}"
        seen[key] += 1
        yield place, {c: v for c, v in row.items() if c != "number"} | {"candidate": model}


def _select_columns(own: Record) -> Record:
    """Return the columns of a conversation that go to its session."""
    rated = {
        f"{kind}_{name}": None if value is None else float(value)
        for kind in ATTRIBUTES
        for name, value in (own.get(f"{kind}_attributes") or {}).items()
    }
    return {c: own[c] for c in KEPT if own.get(c) is not None} | rated


def _complete_sessions(reading: ImportResult, held: dict[str, Record]) -> ImportResult:
    """Return the corpus with the conversations' other columns, and its sizes next to the published ones."""
    corpus, replies = reading.corpus, reading.corpus.extras["candidates"]
    complete = pd.DataFrame([{"session": key, **_select_columns(own)} for key, own in held.items()])
    sizes = (len(corpus.users), len(corpus.sessions), len(corpus.turns), int(replies["score"].notna().sum()))
    pairs = zip(PUBLISHED.items(), sizes)
    differ = [f"{what} {count:,} ({published:,})" for (what, published), count in pairs if count != published]
    comparison = (
        "counts that differ from the published release: " + ", ".join(differ) if differ else "counts: as published"
    )
    sessions = corpus.sessions.merge(complete, on="session", how="left", validate="m:1")
    reading.corpus = replace(corpus, sessions=sessions, meta={**corpus.meta, "said": [LICENCE, comparison]})
    return reading
