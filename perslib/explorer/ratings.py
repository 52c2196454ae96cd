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
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from perslib.corpus import coerce
from perslib.corpus.files.records import json_lines
from perslib.corpus.schema import REASONS, SATISFIED
from perslib.errors import DataError, Problem
from perslib.schemas import check, read_schema, show

REMEDY = "Mend or delete the lines named; what the others say stays."
#: Labels, in any language, that say what was wrong with a reply.
FAULTS = {label for labels in REASONS.values() for key, label in labels.items() if key != SATISFIED}
_SCHEMA = read_schema(__file__, "rating.schema.toml", "rating")
_TEXTS = ("rater", "user", "scenario", "session")


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
        for name in ("turn", "score"):  # frames give NumPy's numbers, which JSON does not know, and 3.0 for 3
            value = getattr(self, name)
            if isinstance(value, np.integer) or (isinstance(value, float) and value.is_integer()):
                object.__setattr__(self, name, int(value))

    @property
    def is_blind(self) -> bool:
        """Made without having seen the user's score or a verdict."""
        return not (self.gold_shown or self.verdict_shown)

    @property
    def problem(self) -> str | None:
        """What is wrong with it, if anything."""
        if faults := check(asdict(self), _SCHEMA, ""):
            return faults[0].message
        if self.score >= 4 and self.reason is not None:
            return (
                f"reason is {show(self.reason)} with score {self.score}; from 4 on the user is satisfied: expected none"
            )
        if self.score <= 3 and self.reason not in FAULTS:
            return (
                f"reason is {show(self.reason)} with score {self.score}, expected one of: {', '.join(sorted(FAULTS))}"
            )
        return None


def rater(name: str) -> str:
    """Return how tables call a person, so that no one takes them for a judge: `rater: Ann`."""
    return f"rater: {name}"


def save_rating(path: str | Path, rating: Rating) -> Rating:
    """Append a rating to the file and return it as written; it is on the disk when this returns.

    A line that an earlier crash has cut stays as it is: the new rating begins a line of its own.
    """
    path = Path(path)
    if rating.problem:
        raise DataError(Problem("rating", rating.problem), "Nothing was written.")
    rating = rating if rating.at else replace(rating, at=datetime.now(UTC).isoformat(timespec="seconds"))
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
    """Return the ratings as verdicts that `agreement` takes: judge is `rater: NAME`, raw the score; one row a rater and
    turn.

    The last rating of a rater on a turn counts. With `blind`, ratings made after the user's own score or a verdict
    was shown are left out first, so that an earlier blind one is heard. Further columns: note, at, gold_shown,
    verdict_shown. `attrs`: `not_blind` counts the ratings left out, `replaced` those that a later one replaced,
    `torn` names the lines that a crash has cut short. A file that is not there has no ratings.
    """
    ratings, torn = _read(Path(path))
    wanted = [r for r in ratings if r.is_blind or not blind]
    last = {(r.rater, r.user, r.scenario, r.session, r.turn): r for r in wanted}
    rows = pd.DataFrame(map(asdict, last.values()), columns=[f.name for f in fields(Rating)])
    named = rows.assign(judge=[rater(r.rater) for r in last.values()]).rename(columns={"score": "raw"})
    named = named.astype(dict.fromkeys((*_TEXTS, "judge"), "str"))
    verdicts = coerce(named.assign(satisfied=named["raw"] >= 4).drop(columns="rater"), "verdicts")
    verdicts.attrs.update(not_blind=len(ratings) - len(wanted), replaced=len(wanted) - len(last), torn=torn)
    return verdicts


def _read(path: Path) -> tuple[list[Rating], list[str]]:
    """Return the ratings in their order, and the places of lines cut short; an error names all lines that say nothing."""
    ratings, problems, torn = [], [], []
    for place, record, line in json_lines(path.read_bytes() if path.exists() else b"", path.name):
        if isinstance(record, Problem):
            is_cut = not line.strip().endswith(b"}") or "Unterminated string" in record.message
            if line.strip().startswith(b"{") and is_cut:
                torn.append(place)
            else:
                problems.append(record)
        elif faults := check(record, _SCHEMA, place):
            problems.append(faults[0])
        else:
            rating = Rating(**{f.name: record[f.name] for f in fields(Rating) if f.name in record})
            if rating.problem:
                problems.append(Problem(place, rating.problem))
            ratings.append(rating)
    if problems:
        raise DataError(problems, REMEDY)
    return ratings, torn
