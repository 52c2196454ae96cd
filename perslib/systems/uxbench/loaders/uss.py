"""USS, User Satisfaction Simulation (Sun et al., SIGIR 2021): rated dialogues in tab-separated text.

One utterance per line: role, text, action, ratings of several annotators joined by commas. Dialogues are
separated by blank lines; the last line of a dialogue has the text OVERALL and rates the whole of it (in JDDC with
explanations in a fifth field, joined by semicolons).
A rating on a USER line says how satisfied the user is with the system's message *before* that line.
Users are not identified: each dialogue counts as a user, and its file is its scenario.

The published folder also holds files without dialogues or without ratings, and one in Chinese (JDDC). A corpus
has one language: from a folder the English files are read, and what was left out is noted.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from functools import partial
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

from perslib.corpus.files.reading import ImportResult, not_utf8
from perslib.corpus.files.records import read_bounded, read_each
from perslib.errors import DataError, Problem

ROLES = ("USER", "SYSTEM")
CHINESE = ("JDDC",)
_DIALOGUE = re.compile(rb"^(USER|SYSTEM)\t", re.M)
_RATED = re.compile(rb"^USER\t[^\t\n]*\t[^\t\n]*\t *[0-9]", re.M)
Line = tuple[int, bytes]


def looks_like(path: Path) -> bool:
    """Return whether a file, or a text file of a folder, holds USS dialogues."""
    files = path.glob("*.txt") if path.is_dir() else [path] if path.suffix == ".txt" else []
    return any(_DIALOGUE.search(_content(file)) for file in files)


def read(path: Path, *, skip_bad: bool = False, name: str | None = None) -> ImportResult:
    """Read one USS file or the dialogue files of a folder; see `perslib import uss`."""
    reading = ImportResult(skip_bad)
    files = _files(path, reading) if path.is_dir() else [path]
    for file in files:
        dialogues = _dialogues(file)
        width = max(4, len(str(len(dialogues))))
        named = ((f"{file.stem}_{i:0{width}d}", own, [raw for _, raw in own]) for i, own in enumerate(dialogues))
        read_each(named, reading, None, partial(_read_dialogue, file=file, reading=reading))
    nothing, remedy = (Problem(str(path), "holds no dialogue"), "USS files are tab-separated text such as SGD.txt.")
    chinese = any(file.stem in CHINESE for file in files)
    name, language = (name or "uss-zh", "zh") if chinese else (name or "uss", "en")
    return reading.finish({"kind": "uss"}, name, language, nothing, remedy)


def _files(folder: Path, reading: ImportResult) -> list[Path]:
    """Return the files of a folder that are read together."""
    texts = sorted(folder.glob("*.txt"))
    dialogues = [file for file in texts if _DIALOGUE.search(_content(file))]
    rated = [file for file in dialogues if _RATED.search(_content(file))] or dialogues
    files = [file for file in rated if file.stem not in CHINESE] or rated
    for file in texts:
        if file not in dialogues:
            reading.note(f"files without a dialogue, left out ({file.name})")
        elif file not in rated:
            reading.note(f"files without a rating, left out ({file.name})")
        elif file not in files:
            reading.note(f"files in Chinese beside English ones, left out ({file.name}: import it by itself)")
    return files


def _content(file: Path) -> bytes:
    return read_bounded(file).removeprefix(b"\xef\xbb\xbf")


def _dialogues(file: Path) -> list[list[Line]]:
    """Return the dialogues of a file as numbered lines."""
    lines = enumerate(_content(file).split(b"\n"), start=1)
    return [list(own) for is_said, own in groupby(lines, lambda line: bool(line[1].strip())) if is_said]


def _read_dialogue(lines: list[Line], user: str, file: Path, reading: ImportResult) -> None:
    problems: list[Problem] = []
    session: dict[str, Any] = {"user": user, "scenario": file.stem, "session": "0", "satisfaction": None}
    utterances: list[tuple[str, str, dict[str, Any]]] = []
    rated: defaultdict[int, tuple[int, ...]] = defaultdict(tuple)  # by how many replies there were before
    for number, raw in lines:
        place = f"{file.name}:{number}"
        try:
            fields = raw.decode("utf-8").rstrip("\r").split("\t")
        except UnicodeDecodeError as error:
            problems.append(Problem(place, not_utf8(raw, error, "").message))
            continue
        if fields[0] not in ROLES or len(fields) < 2:
            wrong = f"starts with {fields[0][:30]!r}, expected USER or SYSTEM, a tab, and a text"
            problems.append(Problem(place, wrong))
            continue
        role, text, action, rating, explanations = (*fields, "", "", "")[:5]
        ratings = _ratings(rating, place, problems, reading)
        if text == "OVERALL":
            session |= {"satisfaction": fmean(ratings) if ratings else None, "overall_ratings": ratings}
            session |= {"explanations": tuple(explanations.split(";"))} if explanations else {}
        elif role == "SYSTEM":
            utterances.append(("assistant", text, {"response_action": action or None}))
        else:
            rated[sum(role == "assistant" for role, *_ in utterances)] += ratings
            utterances.append(("user", text, {"request_action": action or None}))
    if problems:
        raise DataError(problems)
    own, _ = reading.add({**session, "opening_ratings": rated[0]}, utterances, unasked={"request_action": None})
    for n, turn in enumerate(own, 1):
        turn |= {"ratings": rated[n], "score": consensus(rated[n])}
    reading.note("dialogues without a system turn", not own)
    reading.note("dialogues without an OVERALL rating", session["satisfaction"] is None)


def _ratings(text: str, place: str, problems: list[Problem], reading: ImportResult) -> tuple[int, ...]:
    values = [v.strip() for v in text.split(",") if v.strip()]
    scores = [reading.score(v, "rating", place) for v in values]
    problems += (bad := [f for f in scores if isinstance(f, Problem)])
    return () if bad else tuple(int(f) for f in scores if not isinstance(f, Problem))


def consensus(ratings: tuple[int, ...]) -> int | None:
    """Return the rating of most annotators; on a tie the rounded mean, with halves rounded down."""
    if not ratings:
        return None
    (first, n), *others = Counter(ratings).most_common()
    if not others or others[0][1] < n:
        return first
    return math.ceil(fmean(ratings) - 0.5)
