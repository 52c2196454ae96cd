"""The page on UXBench, its reward model: learned from one half of the users, asked about the other."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from perslib.corpus import Corpus
from perslib.errors import NotEnough
from perslib.signals import behavioural
from perslib.stats import SEED
from perslib.studies.ux_bench import Judging
from perslib.ux import (
    Case,
    Reward,
    RewardWarning,
    discrimination,
    lessons_of,
    out_of_fold,
    scored_replies,
    swapped,
)

#: The reward model that has learned from all rated replies of other users, not from the judged cases alone.
ALL_RATED = "reward, all ratings"


@dataclass(frozen=True)
class Rewards:
    """Two reward models, each learned from one half of the users and asked about the other."""

    models: tuple[Reward, Reward]
    half: dict[str, int]
    """User → which of the models has not seen this user."""
    verdicts: pd.DataFrame
    """On every labelled reply, by the model that has not seen its user."""
    labels: str
    """What they learned from: ratings, or behaviour."""

    def scored(self, replies: pd.DataFrame, cases: Sequence[Case]) -> pd.DataFrame:
        """The replies with a verdict each, by the model that has not seen the case's user."""
        which = replies["case"].map({c.case: self.half.get(c.user or c.case, 0) for c in cases})
        parts = [
            scored_replies(replies[which == i], cases, m)
            for i, m in enumerate(self.models)
            if (which == i).any()
        ]
        return pd.concat(parts).sort_index() if parts else pd.DataFrame()

    def on(self, cases: Sequence[Case]) -> pd.DataFrame:
        """Those of the verdicts that are on these cases."""
        return self.verdicts[self.verdicts["case"].isin({case.case for case in cases})]


def rewards(corpus: Corpus, seed: int = SEED) -> Rewards:
    """Learned from all ratings (else clicks); where there are none, from what behaviour says."""
    lessons, labels = lessons_of(corpus), "ratings"
    if len({c.gold for c in lessons}) < 2:
        lessons, labels = lessons_of(behavioural(corpus)), "behaviour"
    users = sorted({c.user or c.case for c in lessons})
    order = np.random.default_rng(seed).permutation(len(users))
    half = {users[i]: place % 2 for place, i in enumerate(order)}
    sides = [[c for c in lessons if half[c.user or c.case] == side] for side in (0, 1)]
    if any(len({c.gold for c in own}) < 2 for own in sides):
        good = sum(c.gold == 1 for c in lessons)
        raise NotEnough(
            "A reward model is trained on good and bad replies of one half of the users and applied to the other "
            "half; here one half lacks either (in all {good} good and {bad} bad ones, users: {users}). Add "
            "ratings, likes and dislikes, or complaints and thanks, of more users.",
            good=good,
            bad=len(lessons) - good,
            users=len(users),
        )
    models = tuple(Reward(seed=seed, name=ALL_RATED).fit(sides[1 - side]) for side in (0, 1))
    verdicts = pd.concat([m.verdicts(own) for m, own in zip(models, sides)], ignore_index=True)
    return Rewards((models[0], models[1]), half, verdicts, labels)


def own_fold(cases: Sequence[Case], seed: int = SEED) -> pd.DataFrame:
    """A reward model that learns from the judged cases of other users only, as the baselines do."""
    return out_of_fold(Reward(seed=seed), cases, seed=seed)


def against(judging: Judging, seed: int = SEED) -> pd.DataFrame:
    """AUROC of the reward model and of the baselines, all learned from the same cases; the page says itself what is warned of."""
    own = judging.verdicts[judging.verdicts["judge"] == "reward"]
    if own.empty or judging.wall.empty:
        raise NotEnough(
            "A reward model and baselines could not be trained on the same cases: this takes good and bad ones of "
            "several users."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RewardWarning)
        return discrimination(own, judging.wall, seed=seed)


def swap(found: Rewards, cases: Sequence[Case], seed: int = SEED) -> pd.Series:
    """What the first model says of unseen users' cases when replies change places."""
    own = [c for c in cases if found.half.get(c.user or c.case, 0) == 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RewardWarning)
        return swapped(found.models[0], own, seed=seed)
