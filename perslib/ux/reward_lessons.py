"""What a reward model learns from: cases with a label, how far it is to be trusted, and where it comes from.

    lessons_of(corpus)                     # rated replies: good from 4 on
    lessons_of(behavioural(corpus))        # nobody rated: what users did after a reply (`perslib.signals`)
    by_exposure(lessons_of(corpus))        # users who said much weigh no more than those who said little

A lesson is a case, so that whatever takes cases takes lessons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from perslib.corpus import SESSION, TURN, Corpus
from perslib.errors import DataError, Problem
from perslib.llm.types import Message
from perslib.ux.cases import Case
from perslib.ux.labels import BAD, GOOD

SATISFIED = 4
_WEAK = ("weak_weight", "weak_why")
#: How far a label of each source is trusted beside the others (UXBench, section 3: a button says most, the clock least).
SOURCE_WEIGHTS: dict[str, float] = {
    "score": 1.0,
    "dislike": 1.0,
    "like": 1.0,
    "complain": 0.8,
    "thanks": 0.7,
    "dismiss": 0.7,
    "repeat": 0.6,
    "rephrase": 0.5,
    "skim": 0.3,
}


@dataclass(frozen=True)
class Lesson(Case):
    """A case to learn from: `weight` scales its loss, `source` says where the label comes from."""

    weight: float = 1.0
    source: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.weight >= 0 and np.isfinite(self.weight)):
            raise DataError(Problem(f"case {self.case}", f"weight is {self.weight}, expected 0 or more"))


def lessons_of(corpus: Corpus, *, good_from: int = SATISFIED) -> list[Lesson]:
    """Every reply of a corpus that has a label, in the order of the corpus.

    Scores come first: good from `good_from` on, else bad. Of a corpus of weak labels (`perslib.signals.behavioural`) the
    weights are theirs, and the source is the signal that spoke loudest. Without a score a click decides.
    """
    found: list[Lesson] = []
    weak = "weak_weight" in corpus.turns
    columns = [*TURN, "request", "earlier", "response", "score", "feedback", *(_WEAK if weak else ())]
    rows = corpus.turns[columns].astype({"score": "Float64"}).to_dict("records")
    for (user, scenario, _), own in corpus.turns.groupby(SESSION, sort=False).indices.items():
        said: list[Message] = []
        for row in (rows[i] for i in own):
            said += [{"role": "user", "content": text} for text in row["earlier"]]
            gold, source, weight = _label(row, good_from, weak)
            request = row["request"]
            if gold and isinstance(request, str):
                name = "/".join(str(row[c]) for c in TURN)
                found.append(
                    Lesson(
                        name, request, tuple(said), row["response"], gold=gold, user=str(user),
                        scenario=str(scenario), weight=weight, source=source,
                    )
                )  # fmt: skip
            if isinstance(request, str):
                said.append({"role": "user", "content": request})
            said.append({"role": "assistant", "content": row["response"]})
    return found


def _label(row: Mapping[Any, Any], good_from: int, weak: bool) -> tuple[int, str, float]:
    """Label (0 for none), source and weight of a turn."""
    if not pd.isna(row["score"]):
        gold = GOOD if row["score"] >= good_from else BAD
        if not weak:
            return gold, "score", 1.0
        return gold, str(row["weak_why"]).split(",")[0], float(row["weak_weight"])
    click = row["feedback"]
    if weak or pd.isna(click):
        return 0, "", 0.0
    return (GOOD if click == "like" else BAD), str(click), 1.0


def labelled(cases: Sequence[Case]) -> list[Case]:
    """The cases with a label; an error unless there are good and bad ones."""
    known = [c for c in cases if c.gold is not None]
    if not {GOOD, BAD} <= {c.gold for c in known}:
        raise DataError(
            Problem("cases", f"hold {sum(c.gold == GOOD for c in known)} good and "
                    f"{sum(c.gold == BAD for c in known)} bad ones"),
            "A reward model learns from good and bad cases.",
        )  # fmt: skip
    return known


def goods(cases: Sequence[Case]) -> npt.NDArray[np.bool_]:
    """Which of these labelled cases are good."""
    return np.array([c.gold == GOOD for c in cases], dtype=bool)


def weights(cases: Sequence[Case]) -> npt.NDArray[np.float64]:
    """How much each case counts: a lesson its weight, any other case 1."""
    return np.array([getattr(c, "weight", 1.0) for c in cases], dtype=float)


def owners(cases: Sequence[Case]) -> npt.NDArray[np.object_]:
    """Whose case each is: the user's, or its own where nobody knows. What is held out is held out by owner."""
    return np.array([c.user or c.case for c in cases], dtype=object)


def as_lesson(case: Case, **changes: Any) -> Lesson:
    """The case as a lesson, with these fields of it changed."""
    if isinstance(case, Lesson):
        return replace(case, **changes)
    return Lesson(**{f.name: getattr(case, f.name) for f in fields(Case)} | changes)


def by_source(cases: Sequence[Case], trust: Mapping[str, float] = SOURCE_WEIGHTS) -> list[Lesson]:
    """Lessons weighed by how far their source is trusted; a source that is not named keeps its weight."""
    return [
        as_lesson(c, weight=float(w) * trust.get(getattr(c, "source", ""), 1.0))
        for c, w in zip(cases, weights(cases))
    ]


def by_exposure(cases: Sequence[Case], power: float = 1.0) -> list[Lesson]:
    """Lessons weighed against how often their user is heard: w ∝ 1 / (cases of the user)^power, of the same total.

    With power 1 every user counts alike, with 0 every case.
    """
    of = owners(cases)
    heard = Counter(of.tolist())
    old = weights(cases)
    new = old / np.array([heard[user] for user in of], dtype=float) ** power
    new *= old.sum() / new.sum() if new.sum() > 0 else 1.0
    return [as_lesson(c, weight=float(w)) for c, w in zip(cases, new)]
