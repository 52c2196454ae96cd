"""What a judge is: something that says of each reply of a block how satisfied the user is with it.

    judge.fit(train)      once, with the corpus of the train users; most judges have nothing to learn
    judge.judge(block)    one verdict a target, in the order of the targets

Both are methods in steps (`perslib.llm.steps`): a judge says what it wants to ask of a model and never does
the asking, so every judge can be run with every backbone, concurrently, from the cache, or in a test. A judge
sees blocks only: evidence of other scenarios, targets without labels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from math import isnan

import pandas as pd

from perslib.corpus import Block, Corpus
from perslib.llm import Steps, asks_nothing


@dataclass(frozen=True)
class Sees:
    """What a judge goes by; the like-for-like table lists it."""

    reply: bool = False
    """the reply and the conversation before it"""
    task: bool = False
    """the task background or the scenario"""
    profile: bool = False
    """the user's profile"""
    history: bool = False
    """the user's rated turns in other scenarios"""
    train: bool = False
    """labels of train users"""
    model: bool = False
    """a language model is asked"""


@dataclass(frozen=True)
class Verdict:
    """What a judge says of one reply. Unscored is a verdict too: `raw` is None and `error` says why."""

    raw: float | None = None
    """The score as the judge gives it, 1–5; a whole number where the judge writes one."""
    expected: float | None = None
    """Mean of the score distribution, where there is one."""
    p: tuple[float, ...] | None = None
    """Probabilities of the scores 1 to 5, where there are any."""
    reason: str | None = None
    rationale: str | None = None
    evidence: tuple[str, ...] = ()
    """Ids of the turns (`scenario/session/turn`) and statements that the rationale rests on."""
    mode: str | None = None
    """How the score was read: computed, schema, json, text, reask, prose, digit, weighed, samples; or unscored."""
    memory: str | None = None
    """The memory behind it, and what it lacked."""
    prompt: str | None = None
    tokens_in: int | None = None
    tokens_cached: int | None = None
    tokens_out: int | None = None
    seconds: float | None = None
    cost: float | None = None
    error: str | None = None


class Judge(ABC):
    """One row of an agreement table."""

    name: str
    """How tables and verdicts call this judge."""
    sees: Sees = Sees()

    @asks_nothing  # noqa: B027 - most judges have nothing to learn
    def fit(self, train: Corpus) -> None:
        """Learn from the labels of train users; the default has nothing to learn."""

    @abstractmethod
    def judge(self, block: Block) -> Steps[Sequence[Verdict]]:
        """One verdict for each target of the block, in order."""


class Computed(Judge):
    """A judge that computes its scores and asks no model: `scores` is all it has to say."""

    @abstractmethod
    def scores(self, block: Block) -> Sequence[float | None] | pd.Series:
        """One score a target, real-valued where the method gives real values; None or NaN is unscored."""

    @asks_nothing
    def judge(self, block: Block) -> Sequence[Verdict]:
        """The scores as verdicts."""
        unscored = Verdict(mode="computed", error="no score: the block has nothing to compute it from")
        scores = pd.Series(self.scores(block), dtype=float)
        return [unscored if isnan(s) else Verdict(raw=s, mode="computed") for s in scores]


def like_for_like(judges: Iterable[Judge]) -> pd.DataFrame:
    """What each judge sees, one a row; judges with the same marks can be compared like for like."""
    names = [f.name for f in fields(Sees)]
    return pd.DataFrame(
        [[j.name, *(getattr(j.sees, n) for n in names)] for j in judges], columns=["judge", *names]
    )
