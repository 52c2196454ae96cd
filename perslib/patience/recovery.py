"""How much of the truth an estimate has found: turn costs, patience, and when users leave (DEUS, section 5.1).

Estimates are compared with the simulator's own numbers up to a positive scale, since only v_b fixes it. Intervals
resample dialogues. Status accuracy by itself says little where few dialogues succeed: it stands beside the share
of the majority and beside the same balanced over success and failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from perslib.patience.dialogues import CENSORED, FAILURE, SUCCESS, Dialogues
from perslib.stats import SEED, interval, pearson, resample_users

if TYPE_CHECKING:
    from perslib.patience.estimator import Patience

#: Levels with fewer turns are shown, and left out of correlation and slope of the level means.
FEWEST_TURNS = 30
RESAMPLES = 2_000


def levels(turns: pd.DataFrame, dialogues: Dialogues) -> pd.DataFrame:
    """Estimated reward at each level of the true one (Tables 3 and 4): true, mean, std, turns; −1 comes first."""
    found = turns.assign(true=-_costs(dialogues).round(6)).groupby("true")["satisfaction"]
    table = found.agg(mean="mean", std=lambda values: values.std(ddof=0), turns="size")
    return table.sort_index(ascending=False).reset_index()


def reward_shares(dialogues: Dialogues) -> pd.DataFrame:
    """How often each true reward occurs (Table 2): true, share, turns."""
    true = pd.Series(-_costs(dialogues).round(6), name="true")
    counts = true.value_counts().sort_index(ascending=False)
    return pd.DataFrame(
        {"true": counts.index, "share": counts.to_numpy() / len(true), "turns": counts.to_numpy()}
    )


def status_accuracy(predicted: np.ndarray, status: np.ndarray) -> dict[str, float]:
    """How often the end is foretold (Table 5): accuracy, majority, balanced, within_success, within_failure.

    Dialogues that the limit on turns ended count for nothing. `majority` is what the more frequent answer scores
    without looking; `balanced` is the mean of the accuracies within success and failure.
    """
    known = status != CENSORED
    right, true = (predicted == status)[known], status[known]
    within = {
        w: float(right[true == w].mean()) if (true == w).any() else float("nan") for w in (SUCCESS, FAILURE)
    }
    share = float((true == SUCCESS).mean()) if len(true) else float("nan")
    return {
        "accuracy": float(right.mean()) if len(true) else float("nan"),
        "majority": max(share, 1 - share),
        "balanced": (within[SUCCESS] + within[FAILURE]) / 2,
        "within_success": within[SUCCESS],
        "within_failure": within[FAILURE],
    }


def recovered(
    model: Patience, dialogues: Dialogues, *, resamples: int = RESAMPLES, seed: int = SEED
) -> pd.DataFrame:
    """Everything in numbers: a row a measure, with value, low and high (95 %, over resampled dialogues).

    step_r             Pearson over all turns, of f and the true reward
    level_r            Pearson over levels of the true reward with at least 30 turns, of their means
    slope, intercept   of these means on the true reward
    slope_per_v_b      slope / |v_b|, which should not depend on v_b
    within_std         spread of f within levels: √ of the pooled variance
    h_r                Pearson over dialogues, of h and the true patience
    accuracy …         as in `status_accuracy`
    stop_accuracy      share of failed dialogues whose budget is first negative at the end, no earlier and no later
    """
    turns, ends = model.turn_satisfaction(dialogues), model.remaining_budget(dialogues)
    weights = resample_users(len(dialogues), resamples, seed).astype(float)
    of = np.repeat(np.arange(len(dialogues)), dialogues.turns)
    # One place for all resamples: each measure is a function of sums over dialogues.
    values = {
        **_of_turns(turns["satisfaction"].to_numpy(), -_costs(dialogues).round(6), of, weights),
        **_of_ends(ends, dialogues, weights),
    }
    values["slope_per_v_b"] = values["slope"] / abs(model.v_b)
    order = ["step_r", "level_r", "slope", "slope_per_v_b", "intercept", "within_std", "h_r"]
    order += ["accuracy", "majority", "balanced", "within_success", "stop_accuracy"]
    return pd.DataFrame(
        [
            {
                "measure": name,
                "value": float(values[name][0]),
                **dict(zip(("low", "high"), interval(values[name][1:]))),
            }
            for name in order
        ]
    )


def _of_turns(f: np.ndarray, true: np.ndarray, of: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:
    def sums(*columns: np.ndarray) -> np.ndarray:
        by_dialogue = np.stack([np.bincount(of, c, minlength=len(weights)) for c in columns])
        return by_dialogue @ weights

    x, y = true - true.mean(), f - f.mean()
    step_r = pearson(sums(np.ones_like(x), x, y, x * x, y * y, x * y))
    at = np.unique(true)[::-1]
    counts, totals, squares = (
        sums(*(np.where(true == level, column, 0.0) for level in at))
        for column in (np.ones_like(f), y, y * y)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        means = totals / counts
        within = np.sqrt(np.maximum(np.nansum(squares - totals * means, axis=0), 0) / counts.sum(axis=0))
        # Which levels count is settled by the sample, not anew in every resample.
        enough = (counts[:, 0] >= FEWEST_TURNS)[:, None] & (counts > 0)
        n, level = enough.sum(axis=0), np.where(enough, at[:, None], 0.0)
        mean = np.where(enough, means, 0.0)
        moments = [n, level.sum(0), mean.sum(0), (level**2).sum(0), (mean**2).sum(0), (level * mean).sum(0)]
        slope = (n * moments[5] - moments[1] * moments[2]) / (n * moments[3] - moments[1] ** 2)
        intercept = (moments[2] - slope * moments[1]) / n + f.mean()
    several = n > 1
    return {
        "step_r": step_r,
        "level_r": np.where(several, pearson(np.stack(moments)), np.nan),
        "slope": np.where(several, slope, np.nan),
        "intercept": np.where(several, intercept, np.nan),
        "within_std": within,
    }


def _of_ends(ends: pd.DataFrame, dialogues: Dialogues, weights: np.ndarray) -> dict[str, np.ndarray]:
    status, said = dialogues.status, np.where(ends["budget"] >= 0, SUCCESS, FAILURE)
    stops = ends["first_spent"].fillna(0).to_numpy(int) == dialogues.turns
    succeeded, failed = status == SUCCESS, status == FAILURE
    known = succeeded | failed
    with np.errstate(invalid="ignore", divide="ignore"):
        n, yes, no, right, right_yes, right_no, stopped = (
            flags.astype(float) @ weights
            for flags in (
                known, succeeded, failed, known & (said == status),
                succeeded & (said == status), failed & (said == status), failed & stops,
            )
        )  # fmt: skip
        found = {
            "accuracy": right / n,
            "majority": np.maximum(yes, no) / n,
            "balanced": (right_yes / yes + right_no / no) / 2,
            "within_success": right_yes / yes,
            "stop_accuracy": stopped / no,
        }
    h = ends["patience"].to_numpy()
    true = np.array([np.nan if d.true_patience is None else d.true_patience for d in dialogues])
    if np.isnan(true).any():
        return {**found, "h_r": np.full(weights.shape[1], np.nan)}
    x, y = true - true.mean(), h - h.mean()
    moments = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y])
    return {**found, "h_r": pearson(moments @ weights)}


def _costs(dialogues: Dialogues) -> np.ndarray:
    costs = dialogues.each(
        "true_costs",
        "carry no true turn costs",
        "Recovery is measured where the truth is known, on simulated users.",
    )
    return np.concatenate(costs).astype(float)
