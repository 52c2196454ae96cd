"""Judges: how satisfied is this user with this reply? One protocol for those that ask a model and those that compute."""

from perslib.judge.base import Computed, Judge, Sees, Verdict, like_for_like
from perslib.judge.history import (
    Constant,
    OfPopulation,
    OfTask,
    Random,
    UserCdfByHash,
    UserMajority,
    UserMean,
    UserMedian,
    controls,
    history_baselines,
    history_scores,
)
from perslib.judge.nearest import Nearest, nearest_baselines
from perslib.judge.supervised import Supervised, lessons

__all__ = [
    "Computed",
    "Constant",
    "Judge",
    "Nearest",
    "OfPopulation",
    "OfTask",
    "Random",
    "Sees",
    "Supervised",
    "UserCdfByHash",
    "UserMajority",
    "UserMean",
    "UserMedian",
    "Verdict",
    "controls",
    "history_baselines",
    "history_scores",
    "lessons",
    "like_for_like",
    "nearest_baselines",
]
