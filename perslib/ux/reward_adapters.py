"""A judge as a reward model, and a reward model as a judge.

Reward(FromJudge(Personal(...), backbone, corpus)).fit(cases)     # a judge's scores, calibrated into P(good)
evaluate(RewardJudge(model), corpus)                              # a reward model wherever a judge goes
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import logit

from perslib.corpus import TURN, Block, Corpus
from perslib.corpus.block import LOGGED, TARGET_COLUMNS
from perslib.corpus.schema import SCHEMA, coerce
from perslib.errors import PerslibError, UnknownName
from perslib.judge import Judge, Sees, Verdict
from perslib.judge.evaluate import verdicts_on
from perslib.llm import Backbone, asks_nothing
from perslib.ux.cases import Case
from perslib.ux.judging import UXJudge, judged_by
from perslib.ux.reward import Reward
from perslib.ux.reward_lessons import lessons_of
from perslib.ux.reward_words import EXPLAINED

Floats = npt.NDArray[np.float64]
#: A judge that is certain is held to be wrong once in a hundred.
CERTAIN = 0.99
FOLDS = 5


class FromJudge:
    """Log odds of good from what a judge says; calibration is all that is learned.

    P(good) is p4 + p5 where a judge gives a distribution (a `UXJudge`: its probability of "good"), else its score brought
    from 1–5 to 0–1 (its verdict). What it leaves unscored is missing. With a `corpus`, cases named `user/scenario/session/turn` are
    judged with what the corpus knows of their user; without one, a judge sees the conversation alone.
    """

    kind = "judge"

    def __init__(
        self,
        judge: Judge | UXJudge,
        backbone: Backbone | None = None,
        corpus: Corpus | None = None,
        *,
        progress: bool = False,
    ):
        self.judge, self.backbone, self.corpus, self.progress = judge, backbone, corpus, progress
        self.name = f"reward from {judge.name}"

    def fit(self, cases: Sequence[Case], good: Any, weight: Any, seed: int = 0) -> None:
        """A judge comes as it is: fit one that learns before."""

    def logits(self, cases: Sequence[Case]) -> Floats:
        """Log odds, clipped where the judge is certain."""
        if isinstance(self.judge, UXJudge):
            p = self._by_ux_judge(self.judge, cases)
        else:
            blocks = [self._block(case) for case in cases]
            found = verdicts_on(self.judge, blocks, self.backbone, progress=self.progress)
            p = np.array([_p_good(of[0]) for of in found], dtype=float)
        return np.asarray(logit(np.clip(p, 1 - CERTAIN, CERTAIN)), dtype=float)

    def _by_ux_judge(self, judge: UXJudge, cases: Sequence[Case]) -> Floats:
        if self.backbone is None:
            raise PerslibError(f"Judge {judge.name!r} asks a model; say which with backbone=backbone('…').")
        found = judged_by(judge, cases, self.backbone, progress=self.progress)
        said = found["said"].astype("Float64").map({1.0: 1.0, -1.0: 0.0, 0.0: 0.5})
        return found["p_good"].fillna(said).to_numpy(float, na_value=np.nan)

    def _block(self, case: Case) -> Block:
        """The case as a block of one target."""
        prefix = tuple(dict(m) for m in case.said)
        names: dict[str, Any] = dict(
            zip(TURN, [case.user or case.case, case.scenario or "case", case.case, 0])
        )
        known = None
        if self.corpus is not None and len(parts := case.case.split("/")) == len(TURN):
            names = dict(zip(TURN, [*parts[:3], int(parts[3])]))
            try:
                known = self.corpus.block(names["user"], names["scenario"])
            except UnknownName:  # a case of elsewhere: the judge sees what is in it
                known = None
        target = {**names, "task": None, "assistant": None, "prefix": prefix, "response": case.reply}
        one = pd.DataFrame([target], columns=TARGET_COLUMNS)
        if known is None:
            evidence, sessions = _nothing()
            logged = pd.DataFrame(columns=LOGGED)
            return Block(names["user"], names["scenario"], {}, evidence, sessions, one, events=logged)
        recorded = known.targets
        own = recorded[(recorded["session"] == names["session"]) & (recorded["turn"] == names["turn"])]
        if len(own):
            one = one.assign(task=own["task"].tolist(), assistant=own["assistant"].tolist())
        return replace(known, targets=one)

    def explain(self, case: Case) -> pd.DataFrame:
        """A judge's rationale is in its verdicts; there is no sum of contributions."""
        return pd.DataFrame(columns=list(EXPLAINED))

    def another(self) -> FromJudge:
        """Itself: there is nothing that it has learned."""
        return self

    def settings(self) -> dict[str, Any]:
        """The judge's name, and the model's."""
        model = self.backbone.name if self.backbone is not None else None
        return {"kind": self.kind, "judge": self.judge.name, "backbone": model}

    def write(self, folder: Path) -> None:
        """Nothing: load with `backend=FromJudge(…)`."""


@cache
def _nothing() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The evidence and sessions of a user of whom nothing is known."""
    turns, sessions = (
        coerce(pd.DataFrame(columns=[c for c, spec in SCHEMA[name].items() if spec.required]), name)
        for name in ("turns", "sessions")
    )
    return turns.assign(task=None, assistant=None), sessions


def _p_good(verdict: Verdict) -> float:
    if verdict.p is not None:
        return float(sum(verdict.p[3:]) / (sum(verdict.p) or 1.0))
    score = verdict.raw if verdict.expected is None else verdict.expected
    return float("nan") if score is None else (float(score) - 1) / 4


class RewardJudge(Judge):
    """A reward model in a judge's place: `evaluate`, a replay's frozen judge, audits of place and length.

    P(good) becomes a score by two straight lines, 0 ↦ 1, τ ↦ 3.5, 1 ↦ 5, so that from the model's threshold τ on it rounds
    to satisfied. A model that has learned already is taken as it is; any other learns from the train users' rated replies.
    """

    def __init__(self, reward: Reward | None = None, *, name: str | None = None):
        self.reward = reward or Reward(folds=FOLDS)  # train users are few
        self.name = name or self.reward.name
        self.sees = Sees(reply=True, train=self.reward.card_ is None)

    @asks_nothing
    def fit(self, train: Corpus) -> None:
        """The reward model learns good and bad from these users' scores and clicks."""
        self.reward.fit(lessons_of(train))

    @asks_nothing
    def judge(self, block: Block) -> Sequence[Verdict]:
        """One verdict a target; the block's evidence is not looked at."""
        cases = [
            Case(f"{i}", t.request or "", _before(t.prefix, t.request), t.response, user=t.user)
            for i, t in enumerate(block)
        ]
        if not cases:
            return []
        p = self.reward.scores(cases)
        error = f"no score: {self.reward.backend.name} says nothing of it"
        return [
            Verdict(mode="computed", error=error)
            if np.isnan(x)
            else Verdict(raw=score_of(float(x), self.reward.threshold), mode="computed")
            for x in p
        ]


def _before(prefix: Sequence[dict[str, str]], request: str | None) -> tuple[dict[str, str], ...]:
    return tuple(prefix if request is None else prefix[:-1])


def score_of(p: float, threshold: float) -> float:
    """P(good) as a score: 0 ↦ 1, the threshold ↦ 3.5 (from where on a score rounds to satisfied), 1 ↦ 5."""
    if p >= threshold:
        return 3.5 + 1.5 * (p - threshold) / (1 - threshold) if threshold < 1 else 5.0
    return 1.0 + 2.5 * p / threshold
