"""USS, User Satisfaction Simulation (Sun et al., SIGIR 2021): rated dialogues in tab-separated text.

One utterance a line: role, text, action, ratings of several annotators joined by commas. Dialogues are
separated by blank lines; the last line of a dialogue has the text OVERALL and rates the whole of it.
A rating on a USER line says how satisfied the user is with what the system had said *before* that line.
Users are not identified: a dialogue is its own user, and the file it stands in is its scenario.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from perslib.corpus.corpus import Corpus
from perslib.corpus.reading import Intake, Reading, frame
from perslib.corpus.schema import SCHEMA
from perslib.errors import DataError, Problem

ROLES = ("USER", "SYSTEM")
NOT_UTF8 = "\0"
CHINESE = ("JDDC",)
Line = tuple[int, list[str]]


def looks_like(path: Path) -> bool:
    """Whether a file, or the text files of a folder, hold USS dialogues."""
    files = sorted(path.glob("*.txt")) if path.is_dir() else [path] if path.suffix == ".txt" else []
    return any(_first_line(f).split("\t")[0] in ROLES for f in files)


def read(path: Path, *, skip_bad: bool = False, name: str = "uss") -> Reading:
    """Read one USS file or all of a folder; see `perslib import uss`."""
    files = sorted(path.glob("*.txt")) if path.is_dir() else [path]
    chinese = [f for f in files if f.stem in CHINESE]
    if chinese and len(chinese) < len(files):
        raise DataError(
            Problem(str(path), f"mixes English with Chinese ({chinese[0].name}); import them one by one")
        )
    intake = Intake(skip_bad)
    sessions: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    for file in files:
        dialogues = _dialogues(file)
        width = max(4, len(str(len(dialogues))))
        for i, lines in enumerate(dialogues):
            _read_dialogue(lines, f"{file.stem}_{i:0{width}d}", file, intake, sessions, turns)
    intake.settle()
    if not sessions:
        raise DataError(
            intake.problems or Problem(str(path), "holds no dialogue"),
            "USS files are tab-separated text such as SGD.txt.",
        )
    users = pd.DataFrame({"user": [s["user"] for s in sessions], "profile": [{} for _ in sessions]})
    meta = {"kind": "uss", "irregularities": dict(sorted(intake.irregularities.items()))}
    frames = frame(sessions, list(SCHEMA["sessions"])), frame(turns, list(SCHEMA["turns"]))
    return Reading(Corpus(name, "zh" if chinese else "en", users, *frames, meta=meta), intake.rejected)


def _first_line(file: Path) -> str:
    with file.open("rb") as stream:
        return next((line.decode("utf-8", "replace") for line in stream if line.strip()), "")


def _dialogues(file: Path) -> list[list[Line]]:
    """The dialogues of a file as numbered, split lines."""
    dialogues: list[list[Line]] = [[]]
    for number, raw in enumerate(file.read_bytes().split(b"\n"), start=1):
        if not raw.strip():
            dialogues.append([])
            continue
        try:
            dialogues[-1].append((number, raw.decode("utf-8").rstrip("\r").split("\t")))
        except UnicodeDecodeError:
            dialogues[-1].append((number, [NOT_UTF8, repr(raw)]))
    return [d for d in dialogues if d]


def _read_dialogue(
    lines: list[Line],
    user: str,
    file: Path,
    intake: Intake,
    sessions: list[dict[str, Any]],
    turns: list[dict[str, Any]],
) -> None:
    problems: list[Problem] = []
    key = {"user": user, "scenario": file.stem, "session": "0"}
    own: list[dict[str, Any]] = []
    waiting: list[tuple[str, str]] = []
    session: dict[str, Any] = {**key, "satisfaction": None, "opening_ratings": ()}
    for number, fields in lines:
        place = f"{file.name}:{number}"
        if fields[0] == NOT_UTF8:
            problems.append(Problem(place, "is not UTF-8; save the file as UTF-8"))
            continue
        if fields[0] not in ROLES or len(fields) < 2:
            problems.append(
                Problem(place, f"starts with {fields[0][:30]!r}, expected USER or SYSTEM, a tab, and a text")
            )
            continue
        role, text, action, rated = (*fields, "", "")[:4]
        ratings = _ratings(rated, place, problems)
        if text == "OVERALL":
            session |= {"satisfaction": fmean(ratings) if ratings else None, "overall_ratings": ratings}
        elif role == "SYSTEM":
            own.append(
                {
                    **key,
                    "turn": len(own),
                    **_asked(waiting),
                    "response": text,
                    "response_action": action or None,
                }
            )
            waiting = []
        else:
            waiting.append((text, action))
            _rate(own, session, ratings)
    if problems:
        intake.reject(problems, ["\t".join(fields) for _, fields in lines])
        return
    for turn in own:
        turn["ratings"] = tuple(turn.get("ratings", ()))
        turn["score"] = consensus(turn["ratings"])
    intake.note("dialogues without a system turn", int(not own))
    intake.note("dialogues without an OVERALL rating", int(session["satisfaction"] is None))
    sessions.append({**session, "trailing": tuple(text for text, _ in waiting)})
    turns += own


def _asked(waiting: list[tuple[str, str]]) -> dict[str, Any]:
    request, action = waiting[-1] if waiting else (None, None)
    return {
        "request": request,
        "earlier": tuple(t for t, _ in waiting[:-1]),
        "request_action": action or None,
    }


def _rate(own: list[dict[str, Any]], session: dict[str, Any], ratings: tuple[int, ...]) -> None:
    """Give a USER line's ratings to the system turn above it; before the first one they rate nothing yet."""
    if own:
        own[-1]["ratings"] = (*own[-1].get("ratings", ()), *ratings)
    else:
        session["opening_ratings"] = (*session["opening_ratings"], *ratings)


def _ratings(text: str, place: str, problems: list[Problem]) -> tuple[int, ...]:
    values = [v.strip() for v in text.split(",") if v.strip()]
    bad = [v for v in values if v not in ("1", "2", "3", "4", "5")]
    problems += [Problem(place, f"rating is {v!r}, expected 1–5") for v in bad]
    return () if bad else tuple(int(v) for v in values)


def consensus(ratings: tuple[int, ...]) -> int | None:
    """The rating that most annotators gave; on a tie the rounded mean, halves going to the lower score."""
    if not ratings:
        return None
    (first, n), *others = Counter(ratings).most_common()
    if not others or others[0][1] < n:
        return first
    return math.ceil(fmean(ratings) - 0.5)
