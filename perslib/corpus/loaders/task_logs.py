"""Dialogues about a task whose goal, success and ratings as a whole are known: logs of ConvLab and of DSTC.

ConvLab's human evaluation, also used in the eighth Dialog System Technology Challenge: one JSON file a dialogue, or a
list of dialogues in one file. `goal` has a part a domain (info, reqt, book; `domain_order` is no domain), `log` is a list
of [0 for the user or 1 for the system, text], then `success`, `understanding_score` and `appropriateness_score` (1–5).

DSTC-2 and DSTC-3: a folder a call with `log.json` (the system's turns) and `label.json` (the user's turns and
`task-information`: constraints and request-slots of the goal, success as the caller felt it, the questionnaire). Answers
are on an agree–disagree scale of six; they are kept as 1 to 6.

Sessions have `success` and further columns: `goal` (names; items of one domain begin alike, as `hotel`,
`hotel.info.area`), `understanding` and `appropriateness`. The domains of the goal are the scenario. A dialogue without a
worker or caller is its own user. Utterances of one side in a row are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby, zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any

from perslib.corpus.files.reading import Reading, parse_json
from perslib.corpus.files.records import Lines, read_each
from perslib.corpus.schema import SESSION
from perslib.errors import DataError, Problem
from perslib.schemas import read_schema

RATINGS = ("understanding", "appropriateness")
#: A part of the wording of a question in DSTC's questionnaire → the rating it is; the first that fits.
QUESTIONS = {"underst": "understanding", "phras": "appropriateness"}
#: Answers from 1 to 6.
ANSWERS = ("strongly disagree", "disagree", "slightly disagree", "slightly agree", "agree", "strongly agree")
SIDES = ("user", "assistant")
#: The row of `sessions`, and who said what (0 user, 1 system).
Described = tuple[dict[str, Any], Iterable[tuple[int, str]]]


def read_convlab(path: Path, *, skip_bad: bool = False, name: str | None = None) -> Reading:
    """Read a JSON file or the JSON files of a folder; see `perslib import convlab`."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    lines = chain.from_iterable(_dialogues(file) for file in files)
    return _read(lines, "convlab", _describe_convlab, Reading(skip_bad), name or "convlab")


def read_dstc(path: Path, *, skip_bad: bool = False, name: str | None = None) -> Reading:
    """Read all calls below a folder; see `perslib import dstc`."""
    folders = sorted(file.parent for file in path.rglob("log.json"))
    lines = ((str(folder.relative_to(path)), call, call) for folder in folders for call in [_call(folder)])
    return _read(lines, "dstc", _describe_dstc, Reading(skip_bad), name or "dstc")


def _read(
    lines: Lines, kind: str, describe: Callable[[dict[str, Any], str, Reading], Described], reading: Reading, name: str
) -> Reading:
    seen: set[tuple[str, ...]] = set()

    def add(record: dict[str, Any], place: str) -> None:
        session, log = describe(record, place, reading)
        key = tuple(session[part] for part in SESSION)
        if key in seen:
            raise DataError(Problem(place, f"is a second dialogue with the id {session['session']}"))
        seen.add(key)
        joined = [(side, " ".join(text for _, text in own)) for side, own in groupby(log, itemgetter(0))]
        own, _ = reading.add(session, ((SIDES[side], text, {}) for side, text in joined))
        reading.note("dialogues without a system turn", not own)

    read_each(lines, reading, read_schema(__file__, "task_logs.schema.toml", kind), add)
    remedy = "ConvLab: JSON files of dialogues. DSTC: a folder a call with log.json and label.json."
    return reading.finish({"kind": kind}, name, "en", Problem(name, "holds no dialogue"), remedy)


def _dialogues(file: Path) -> Lines:
    held = parse_json(file.read_bytes(), file.name)
    items = [(f"{file.name}:{i}", own) for i, own in enumerate(held)] if isinstance(held, list) else [(file.name, held)]
    return ((place, own, own) for place, own in items)


def _describe_convlab(record: dict[str, Any], place: str, reading: Reading) -> Described:
    ratings = {
        rating: reading.score(record[f"{rating}_score"], rating, place, whole=False)
        for rating in RATINGS
        if record.get(f"{rating}_score") is not None
    }
    if problems := [found for found in ratings.values() if isinstance(found, Problem)]:
        raise DataError(problems)
    parts = {domain: part for domain, part in record["goal"].items() if part and isinstance(part, dict)}
    session = str(record.get("id", place))
    return {
        "user": str(record.get("worker") or session),
        "scenario": "+".join(parts) or "all",
        "session": session,
        "assistant": record.get("system"),
        "success": bool(record["success"]),
        "goal": tuple(chain.from_iterable(_items(domain, part) for domain, part in parts.items())),
        **ratings,
    }, ((int(side), text) for side, text in record["log"])


def _items(domain: str, part: dict[str, Any]) -> Iterator[str]:
    yield domain
    for kind in ("info", "reqt", "book"):
        yield from (f"{domain}.{kind}.{slot}" for slot in part.get(kind) or ())


def _call(folder: Path) -> Any:
    record = {}
    for part in ("log", "label"):
        file = folder / f"{part}.json"
        if not file.is_file():
            return Problem(str(folder), f"has no {file.name}; it is not a labelled call")
        record[part] = parse_json(file.read_bytes(), str(file))
        if isinstance(record[part], Problem):
            return record[part]
    return record


def _describe_dstc(record: dict[str, Any], place: str, reading: Reading) -> Described:
    log, label = record["log"], record["label"]
    goal, feedback = label["task-information"]["goal"], label["task-information"]["feedback"]
    ratings = {}
    for question, answer in feedback.get("questionnaire") or ():
        rating = next((name for part, name in QUESTIONS.items() if part in question.lower()), None)
        if rating and str(answer).strip().lower() in ANSWERS:
            ratings[rating] = 1.0 + ANSWERS.index(str(answer).strip().lower())
    session = str(log.get("session-id", place))
    # The system opens the call: its first turn answers nothing.
    said = ((1, turn["output"]["transcript"]) for turn in log["turns"])
    heard = ((0, turn["transcription"]) for turn in label["turns"])
    return {
        "user": str(log.get("caller-id") or session),
        "scenario": "task",
        "session": session,
        "success": feedback["success"],
        "goal": (
            "task",
            *(f"task.info.{slot}" for slot, _ in goal["constraints"]),
            *(f"task.reqt.{slot}" for slot in goal["request-slots"]),
        ),
        **ratings,
    }, (turn for pair in zip_longest(said, heard) for turn in pair if turn is not None)
