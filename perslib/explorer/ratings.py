"""People as raters: a file that ratings are appended to, and verdicts that stand beside those of judges.

    rate("ratings/zh.jsonl", Rating("Ann", "u000", "travel", "0", 1, score=3, reason="unusable"))
    agreement(read_ratings("ratings/zh.jsonl"), corpus)        # with the users' own labels
    agreement_between(verdicts, "personal memory", rater("Ann"))   # with a judge

The file is JSON Lines, one rating a line, and only ever grows: a rater who thinks again adds a line, and the last
one counts. The scale and the reasons are PersTurnBench's (section 3.2): a score up to 3 names the main fault, a
higher one names none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from perslib.corpus import TURN, coerce
from perslib.corpus.reading import parse_json, unfit
from perslib.corpus.schema import REASONS, SATISFIED
from perslib.errors import DataError, Problem

REMEDY = "Mend or delete the lines named; what the others say stays."
#: Labels, in any language, that say what was wrong with a reply.
FAULTS = {label for labels in REASONS.values() for key, label in labels.items() if key != SATISFIED}
_TEXTS = ("rater", "user", "scenario", "session")
_KEYS = ["candidate", *TURN]


@dataclass(frozen=True)
class Rating:
    """What a person thinks of one reply, and what they had seen of other opinions by then."""

    rater: str
    user: str
    scenario: str
    session: str
    turn: int
    score: int
    reason: str | None = None
    """The main fault, under a published label; given where the score is 3 or less, and only there."""
    note: str = ""
    gold_shown: bool = False
    """Whether the rater had seen the user's own score of this reply."""
    verdict_shown: bool = False
    """Whether the rater had seen a judge's verdict on it."""
    at: str = ""
    """When, in ISO 8601; `rate` fills it in."""

    def __post_init__(self) -> None:
        for name in ("turn", "score"):  # frames give NumPy's numbers, which JSON does not know
            if isinstance(value := getattr(self, name), np.integer):
                object.__setattr__(self, name, int(value))

    @property
    def is_blind(self) -> bool:
        """Made without having seen the user's score or a verdict."""
        return not (self.gold_shown or self.verdict_shown)

    @property
    def problem(self) -> str | None:
        """What is wrong with it, if anything."""
        if fault := next(unfit(asdict(self), ""), None):
            return fault.message
        if empty := [name for name in _TEXTS if not _is_text(getattr(self, name))]:
            return f"{empty[0]} is {getattr(self, empty[0])!r}, expected a text"
        if not _is_whole(self.turn) or self.turn < 0:
            return f"turn is {self.turn!r}, expected a number from 0"
        if not _is_whole(self.score) or not 1 <= self.score <= 5:
            return f"score is {self.score!r}, expected 1–5"
        if self.score >= 4 and self.reason is not None:
            return f"reason is {self.reason!r} with score {self.score}; from 4 on the user is satisfied: expected none"
        if self.score <= 3 and self.reason not in FAULTS:
            return f"reason is {self.reason!r} with score {self.score}, expected one of: {', '.join(sorted(FAULTS))}"
        if seen := [n for n in ("gold_shown", "verdict_shown") if not isinstance(getattr(self, n), bool)]:
            return f"{seen[0]} is {getattr(self, seen[0])!r}, expected true or false"
        if not isinstance(self.note, str) or not isinstance(self.at, str):
            return "note and at: expected texts"
        return None


def rater(name: str) -> str:
    """How tables call a person, so that no one takes them for a judge: `rater: Ann`."""
    return f"rater: {name}"


def rate(path: str | Path, rating: Rating) -> Rating:
    """Append a rating to the file and return it as written; it is on the disk when this returns.

    A line that an earlier crash has cut stays as it is: the new rating begins a line of its own.
    """
    path = Path(path)
    if rating.problem:
        raise DataError(Problem("rating", rating.problem), "Nothing was written.")
    rating = rating if rating.at else Rating(**{**asdict(rating), "at": _now()})
    line = json.dumps(asdict(rating), ensure_ascii=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        if end := file.seek(0, os.SEEK_END):
            file.seek(end - 1)
            line = line if file.read(1) == b"\n" else "\n" + line
        file.write(line.encode())  # one write at the end, wherever that now is
        file.flush()
        os.fsync(file.fileno())
    return rating


def read_ratings(path: str | Path, *, blind: bool = True) -> pd.DataFrame:
    """The ratings as verdicts that `agreement` takes: judge is `rater: NAME`, raw the score; one row a rater and turn.

    The last rating of a rater on a turn counts. With `blind`, ratings made after the user's own score or a verdict
    was shown are left out first, so that an earlier blind one is heard. Further columns: note, at, gold_shown,
    verdict_shown. `attrs`: `not_blind` counts the ratings left out, `replaced` those that a later one replaced,
    `torn` names the lines that a crash has cut short. A file that is not there has no ratings.
    """
    kept, torn = _read(Path(path))
    heard = [r for r in kept if r.is_blind or not blind]
    last = {(r.rater, r.user, r.scenario, r.session, r.turn): r for r in heard}
    rows = pd.DataFrame(map(asdict, last.values()), columns=[f.name for f in fields(Rating)])
    named = rows.assign(judge=[rater(r.rater) for r in last.values()]).rename(columns={"score": "raw"})
    named = named.astype(dict.fromkeys((*_TEXTS, "judge"), "str"))
    verdicts = coerce(named.assign(satisfied=named["raw"] >= 4).drop(columns="rater"), "verdicts")
    verdicts.attrs.update(not_blind=len(kept) - len(heard), replaced=len(heard) - len(last), torn=torn)
    return verdicts


def _read(path: Path) -> tuple[list[Rating], list[str]]:
    """The ratings in their order, and the places of lines cut short; an error names all lines that say nothing."""
    ratings, problems, torn = [], [], []
    for place, line in _lines(path):
        found = _rating(line)
        if isinstance(found, Rating):
            ratings.append(found)
        elif found is None:
            torn.append(place)
        else:
            problems.append(Problem(place, found))
    if problems:
        raise DataError(problems, REMEDY)
    return ratings, torn


def _lines(path: Path) -> Iterator[tuple[str, bytes]]:
    raw = path.read_bytes() if path.exists() else b""
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if line.strip():
            yield f"{path.name}:{number}", line.strip()


def _rating(line: bytes) -> Rating | str | None:
    """The rating in a line, or what is wrong with it; None where the line was begun well and is cut short."""
    said = parse_json(line, "")
    if isinstance(said, Problem):
        is_cut = not line.endswith(b"}") or "Unterminated string" in said.message
        return None if line.startswith(b"{") and is_cut else said.message
    known = [f.name for f in fields(Rating)]
    if not isinstance(said, dict):
        return "is no rating: expected an object"
    if missing := [name for name in known[: known.index("reason")] if name not in said]:
        return f"{missing[0]} is missing"
    rating = Rating(**{name: said[name] for name in known if name in said})
    return rating.problem or rating


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
