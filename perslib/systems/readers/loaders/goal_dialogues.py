"""Dialogues about a task, with a goal, success and ratings: ConvLab's human evaluation, and calls of DSTC-2 and DSTC-3."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any

from perslib.corpus.files.reading import ImportResult, parse_json, read_json
from perslib.corpus.files.records import Lines, refuse_second
from perslib.corpus.loaders.form import Form
from perslib.corpus.loaders.rows import read_rows_of
from perslib.corpus.scale import FIVE
from perslib.errors import Problem
from perslib.schemas import read_schema

Record = Mapping[str, Any]
ROLES = ("user", "assistant")
CONVLAB = Form(
    "convlab",
    scale=FIVE,
    evidence="scenarios",
    order="none",
    of_session=("goal", "understanding", "appropriateness"),
    ratings=("understanding", "appropriateness"),
    theirs={"understanding": "understanding_score", "appropriateness": "appropriateness_score"},
    unanswered="dialogues without a system turn",
    nothing="holds no dialogue",
    remedy="ConvLab: JSON files of dialogues.",
)
DSTC = CONVLAB.using(kind="dstc", ratings=(), theirs={}, remedy="DSTC: a folder a call with log.json and label.json.")
_DIALOGUE, _CALL = (read_schema(__file__, "records.schema.toml", own) for own in ("convlab", "dstc"))
#: A part of the wording of a question in DSTC's questionnaire → the rating it is; the first that fits.
QUESTIONS = {"underst": "understanding", "phras": "appropriateness"}
#: Answers from 1 to 6.
ANSWERS = ("strongly disagree", "disagree", "slightly disagree", "slightly agree", "agree", "strongly agree")


def read_convlab(
    path: Path, *, skip_bad: bool = False, name: str | None = None, evidence: str | None = None
) -> ImportResult:
    """Read dialogues in the format of ConvLab (also the eighth Dialog System Technology Challenge).

    One JSON file a dialogue, or a list of dialogues in one file. The goal has a part a domain (`domain_order` is none), the
    log is a list of [0 for the user or 1 for the system, text]. The domains of the goal are the scenario. A dialogue without
    a worker is its own user.
    """
    form, seen = CONVLAB.using(evidence=evidence), set[Any]()

    def make_row(record: dict[str, Any], place: str) -> Iterator[dict[str, Any]]:
        parts = {domain: part for domain, part in record["goal"].items() if part and isinstance(part, dict)}
        row = {
            "user": _find_first(record.get("worker"), record.get("id"), place),
            "scenario": "+".join(parts) or "all",
            "session": _find_first(record.get("id"), place),
            "assistant": record.get("system"),
            "success": record["success"],
            "goal": tuple(item for domain, part in parts.items() for item in _list_items(domain, part)),
            "understanding": record.get("understanding_score"),
            "appropriateness": record.get("appropriateness_score"),
            "messages": _join_messages(record["log"]),
        }
        _refuse_second(seen, row, place)
        yield row

    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    lines = (line for file in files for line in _open_dialogues(file))
    return read_rows_of(lines, make_row, form.begin(skip_bad), name or path.stem, form, _DIALOGUE)


def read_dstc(
    path: Path, *, skip_bad: bool = False, name: str | None = None, evidence: str | None = None
) -> ImportResult:
    """Read calls of DSTC-2 and DSTC-3: a folder a call with `log.json` (the system's turns) and `label.json`.

    The latter has the user's turns, the goal (constraints and request-slots), success as the caller felt it, and a
    questionnaire, whose answers are kept as 1 to 6. A call without a caller is its own user.
    """
    form, seen = DSTC.using(evidence=evidence), set[Any]()

    def make_row(record: dict[str, Any], place: str) -> Iterator[dict[str, Any]]:
        log, label = record["log"], record["label"]
        goal, feedback = label["task-information"]["goal"], label["task-information"]["feedback"]
        # The system opens the call: its first turn answers nothing.
        replies = ((1, turn["output"]["transcript"]) for turn in log["turns"])
        requests = ((0, turn["transcription"]) for turn in label["turns"])
        parts = {"info": [slot for slot, _ in goal["constraints"]], "reqt": goal["request-slots"]}
        row = {
            "user": _find_first(log.get("caller-id"), log.get("session-id"), place),
            "scenario": "task",
            "session": _find_first(log.get("session-id"), place),
            "success": feedback["success"],
            "goal": tuple(_list_items("task", parts)),
            "messages": _join_messages(one for pair in zip_longest(replies, requests) for one in pair if one),
            **_read_answers(feedback.get("questionnaire") or ()),
        }
        _refuse_second(seen, row, place)
        yield row

    return read_rows_of(_open_calls(path), make_row, form.begin(skip_bad), name or path.stem, form, _CALL)


def _open_dialogues(file: Path) -> Lines:
    """Yield the dialogues of a file: a list, or one."""
    content = read_json(file, object, "a dialogue, or a list of dialogues")
    items = [(f"{file.name}:{i}", own) for i, own in enumerate(content)] if isinstance(content, list) else None
    for place, own in [(file.name, content)] if items is None else items:
        yield place, own, own


def _open_calls(path: Path) -> Lines:
    """Yield the folders of calls, the content of their two files by name, or a Problem."""
    for folder in sorted(file.parent for file in path.rglob("log.json")):
        files = {part: folder / f"{part}.json" for part in ("log", "label")}
        record = {
            part: parse_json(file.read_bytes(), str(file))
            if file.is_file()
            else Problem(str(folder), f"has no {file.name}")
            for part, file in files.items()
        }
        wrong = next((own for own in record.values() if isinstance(own, Problem)), None)
        yield str(folder.relative_to(path)), wrong or record, wrong or record


def _find_first(*names: Any) -> Any:
    """Return the first of several names that is there."""
    return next(name for name in names if name not in (None, ""))


def _refuse_second(seen: set[Any], row: Record, place: str) -> None:
    key = tuple(str(row[column]) for column in ("user", "scenario", "session"))
    refuse_second(seen, key, place, "is a second dialogue with the id")


def _join_messages(log: Iterable[tuple[int, str]]) -> list[dict[str, str]]:
    """Return the messages of (0 for the user or 1 for the system, text), with consecutive ones of one side joined."""
    sides = groupby(log, itemgetter(0))
    return [{"role": ROLES[int(side)], "content": " ".join(text for _, text in own)} for side, own in sides]


def _list_items(domain: str, part: Record) -> Iterator[str]:
    """Yield the items of a part of a goal, which share its domain as prefix: `hotel`, `hotel.info.area`."""
    yield domain
    for kind in ("info", "reqt", "book"):
        yield from (f"{domain}.{kind}.{slot}" for slot in part.get(kind) or ())


def _read_answers(questionnaire: Iterable[Any]) -> dict[str, float]:
    """Return the ratings in the answers to a questionnaire."""
    ratings = {}
    for question, answer in questionnaire:
        rating = next((name for part, name in QUESTIONS.items() if part in question.lower()), None)
        if rating and (word := str(answer).strip().lower()) in ANSWERS:
            ratings[rating] = 1.0 + ANSWERS.index(word)
    return ratings
