"""What the recipes here cannot express: fields computed from a record, and a file joined to a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import cycle, groupby, zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus.files.reading import ImportResult, number_in
from perslib.corpus.files.records import csv_lines, read_bounded, read_each
from perslib.corpus.loaders.recipe import function
from perslib.corpus.schema import SESSION
from perslib.errors import DataError, Problem
from perslib.schemas import read_schema

Record = Mapping[str, Any]


ROLES = ("user", "assistant")


@function("urs")
def describe_shared(record: Record) -> dict[str, Any]:
    """Return the user's name, which shows the language, and the messages, from pairs or from alternating texts."""
    prefix, user, messages = f"{record['this']['language']}_", str(record["user_id"]).strip(), []
    roles = cycle(ROLES)
    for message in record["conversation_history"]:
        if isinstance(message, str):
            messages.append({"role": next(roles), "content": message})
        elif isinstance(message, list):
            messages += [{"role": role, "content": text} for role, text in zip(ROLES, message)]
        else:
            messages.append(message)
    return {"user": user if user.startswith(prefix) else prefix + user, "messages": messages}


@function("convlab")
def describe_dialogue(record: Record) -> dict[str, Any]:
    """Return the items of a goal (items of one domain share a prefix:

    `hotel`, `hotel.info.area`), its domains, and the messages.
    """
    parts = {domain: part for domain, part in record["goal"].items() if part and isinstance(part, dict)}
    goal = tuple(item for domain, part in parts.items() for item in _items(domain, part))
    return {"scenario": "+".join(parts) or "all", "goal": goal, "messages": _join_messages(record["log"])}


def _join_messages(log: Iterable[tuple[int, str]]) -> list[dict[str, str]]:
    """Return the messages of a log of (0 for the user or 1 for the system, text), with consecutive ones of one side
    joined.
    """
    sides = groupby(log, itemgetter(0))
    return [{"role": ROLES[int(side)], "content": " ".join(text for _, text in own)} for side, own in sides]


def _items(domain: str, part: Record) -> Iterator[str]:
    yield domain
    for kind in ("info", "reqt", "book"):
        yield from (f"{domain}.{kind}.{slot}" for slot in part.get(kind) or ())


#: A part of the wording of a question in DSTC's questionnaire → the rating it is; the first that fits.
QUESTIONS = {"underst": "understanding", "phras": "appropriateness"}
#: Answers from 1 to 6.
ANSWERS = ("strongly disagree", "disagree", "slightly disagree", "slightly agree", "agree", "strongly agree")


@function("dstc")
def describe_call(record: Record) -> dict[str, Any]:
    """Return the goal of a call, its ratings (answers to a questionnaire), and the alternating messages."""
    label = record["label"]
    goal, feedback = label["task-information"]["goal"], label["task-information"]["feedback"]
    ratings = {}
    for question, answer in feedback.get("questionnaire") or ():
        rating = next((name for part, name in QUESTIONS.items() if part in question.lower()), None)
        if rating and str(answer).strip().lower() in ANSWERS:
            ratings[rating] = 1.0 + ANSWERS.index(str(answer).strip().lower())
    # The system opens the call: its first turn answers nothing.
    replies = ((1, turn["output"]["transcript"]) for turn in record["log"]["turns"])
    requests = ((0, turn["transcription"]) for turn in label["turns"])
    messages = _join_messages(one for pair in zip_longest(replies, requests) for one in pair if one)
    parts = {"info": [slot for slot, _ in goal["constraints"]], "reqt": goal["request-slots"]}
    return {"goal": tuple(_items("task", parts)), "messages": messages, **ratings}


#: What a published model expects people to answer.
JUDGED = "gpt-3.5-turbo-16k_real_evaluations_FIXED.tsv"
_EXPECTED = read_schema(__file__, "records.schema.toml", "rubric_expected")
_CHANCES = [f"answer{n}_prob" for n in range(1, 5)]


@function("llm-rubric")
def add_expected_answers(reading: ImportResult, folder: Path) -> ImportResult:
    """Add what a published model expects people to answer, as the frame `published`: session, criterion, expected
    (1–4).
    """
    if not (file := folder / JUDGED).is_file():
        return reading
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
    return reading


def _read_chances(row: dict[str, Any], place: str) -> dict[str, Any]:
    odds = {chance: number_in(row[chance]) for chance in _CHANCES}
    if any(one is None or one < 0 for one in odds.values()) or not any(odds.values()):
        shown = ", ".join(str(row[chance]) for chance in _CHANCES)
        raise DataError(Problem(place, f"{_CHANCES[0]} to {_CHANCES[-1]} are {shown}, expected probabilities"))
    return row | odds
