"""Remaining budget against what people said of the whole dialogue (DEUS, section 5.2 and Figure 6).

The paper correlates five level means. That is easily reached: whatever tells success from failure puts five means in
order. So the same is asked of single dialogues, within successes and within failures, and of predictors that know
nothing but the status or the length.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from perslib.stats import estimate, leave_out, mean_by
from perslib.systems.deus.world.records import FAILURE, SUCCESS


def by_rating(budgets: pd.DataFrame, rated: pd.DataFrame, rating: str) -> pd.DataFrame:
    """Return the mean remaining budget at each rating (Figure 6a and b): rating, mean, mean_low, mean_high, dialogues."""
    frame = budgets[["dialogue", "budget"]].merge(rated[["dialogue", rating]], on="dialogue").dropna()
    frame[rating] = frame[rating].round()
    means = mean_by(frame, "budget", rating, user="dialogue")
    return means.rename(columns={rating: "rating", "turns": "dialogues"}).drop(columns="users")


def success_by_budget(budgets: pd.DataFrame, rated: pd.DataFrame, bins: int = 6) -> pd.DataFrame:
    """Return the share of successes by remaining budget, in bins of equal size (Figure 6c): budget, success,
    success_low, success_high, dialogues.
    """
    frame = budgets[["dialogue", "budget"]].merge(rated[["dialogue", "status"]], on="dialogue")
    frame = frame[frame["status"] != 0]
    frame["bin"] = pd.qcut(frame["budget"], bins, labels=False, duplicates="drop")
    frame["success"] = (frame["status"] == SUCCESS).astype(float)
    shares = mean_by(frame, "success", "bin", user="dialogue", scale="share").rename(
        columns=lambda name: name.replace("mean", "success").replace("turns", "dialogues")
    )
    middle = frame.groupby("bin")["budget"].mean()
    return shares.assign(budget=shares["bin"].map(middle)).drop(columns=["bin", "users"])


def against_ratings(budgets: pd.DataFrame, rated: pd.DataFrame, rating: str) -> pd.DataFrame:
    """Return how well each predictor goes with ratings of the whole dialogue.

    Columns: predictor (budget, status alone, fewer turns), level_means_r, spearman, spearman_low, spearman_high (over
    dialogues), spearman_success and spearman_failure (within either), dialogues.
    """
    frame = budgets[["dialogue", "budget"]].merge(rated, on="dialogue").dropna(subset=rating)
    gold, status = frame[rating].to_numpy(float), frame["status"].to_numpy()
    samples = leave_out(len(frame)).T > 0
    predictors = {"budget": frame["budget"], "status alone": frame["status"], "fewer turns": -frame["turns"]}
    rows = []
    for name, column in predictors.items():
        ratings = column.to_numpy(float)
        ends = {"success": status == SUCCESS, "failure": status == FAILURE}
        rows.append(
            {
                "predictor": name,
                "level_means_r": _level_means_r(ratings, gold),
                **estimate([spearman_of_sample(ratings[own], gold[own]) for own in samples], "spearman", "correlation"),
                **{f"spearman_{end}": spearman_of_sample(ratings[own], gold[own]) for end, own in ends.items()},
                "dialogues": len(frame),
            }
        )
    return pd.DataFrame(rows)


def spearman_of_sample(x: np.ndarray, y: np.ndarray) -> float:
    """Return the rank correlation; missing where one of them does not vary."""
    return _pearson(rankdata(x), rankdata(y))


def _level_means_r(ratings: np.ndarray, gold: np.ndarray) -> float:
    means = pd.Series(ratings).groupby(np.round(gold)).mean()
    return _pearson(means.index.to_numpy(float), means.to_numpy())


def _pearson(x: np.ndarray, y: np.ndarray) -> float:
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])
