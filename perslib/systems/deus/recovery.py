"""How much of the truth an estimate has found: turn costs, patience, and when users leave (DEUS, section 5.1).

Estimates are compared with the simulator's own numbers up to a positive scale, since only v_b fixes it. Intervals
are over dialogues. Status accuracy by itself says little where few dialogues succeed: it stands beside the share
of the majority and beside the same balanced over success and failure.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from perslib.stats import Resamples, correlation, estimate, pearson_from_moments, ratio
from perslib.stats.resample.leave_one_out import Scale
from perslib.systems.deus.estimator import PatienceModel, status_rates
from perslib.systems.deus.world.records import FAILURE, SUCCESS, Dialogues

#: Levels with fewer turns are shown, and left out of correlation and slope of the level means.
FEWEST_TURNS = 30
MEASURES = (
    *("step_r", "level_r", "slope", "slope_per_v_b", "intercept", "within_std", "h_r"),
    *("accuracy", "majority", "balanced", "within_success", "stop_accuracy"),
)


def levels(turns: pd.DataFrame, dialogues: Dialogues) -> pd.DataFrame:
    """Return estimated reward at each level of the true one (Tables 3 and 4): true, mean, std, turns; −1 comes first."""
    means = turns.assign(true=-_costs(dialogues).round(6)).groupby("true")["satisfaction"]
    table = means.agg(mean="mean", std=lambda values: values.std(ddof=0), turns="size")
    return table.sort_index(ascending=False).reset_index()


def reward_shares(dialogues: Dialogues) -> pd.DataFrame:
    """Return how often each true reward occurs (Table 2): true, share, turns."""
    true = pd.Series(-_costs(dialogues).round(6), name="true")
    counts = true.value_counts().sort_index(ascending=False)
    return pd.DataFrame({"true": counts.index, "share": counts.to_numpy() / len(true), "turns": counts.to_numpy()})


def score_recovery(model: PatienceModel, dialogues: Dialogues) -> pd.DataFrame:
    """Return everything in numbers: a row a measure, with value, value_low and value_high (95 %, over dialogues).

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
    number = pd.Series(np.arange(len(dialogues)))
    of = number.repeat(dialogues.turns)
    f, true = turns["satisfaction"], pd.Series(-_costs(dialogues).round(6))
    patience = pd.Series([d.true_patience for d in dialogues], dtype=float)
    status, predicted = dialogues.status, np.where(ends["budget"] >= 0, SUCCESS, FAILURE)
    stops = ends["first_spent"].fillna(0).to_numpy(int) == dialogues.turns
    each = Resamples(number)
    drawn = {
        **_of_levels(f.to_numpy(), true.to_numpy(), Resamples(of)),
        **status_rates(predicted, status, each),
        "stop_accuracy": ratio(each.total(stops & (status == FAILURE)), each.total(status == FAILURE)),
    }
    drawn["slope_per_v_b"] = drawn["slope"] / abs(model.v_b)
    plain: dict[str, Scale] = dict.fromkeys(("slope", "intercept", "slope_per_v_b", "within_std"), "plain")
    scales: dict[str, Scale] = {"level_r": "correlation", **plain}
    row = {name: tuple(estimate(own, scale=scales.get(name, "share")).values()) for name, own in drawn.items()}
    row["step_r"] = correlation(f, true, of)
    row["h_r"] = correlation(ends["patience"], patience, number)
    table = pd.DataFrame.from_dict(row, orient="index", columns=["value", "value_low", "value_high"])
    return table.loc[list(MEASURES)].rename_axis("measure").reset_index()


def _of_levels(f: np.ndarray, true: np.ndarray, turns: Resamples) -> dict[str, np.ndarray]:
    """Return mean and spread of f at each level of the true reward, summed up; from sums over dialogues."""
    y, at = f - f.mean(), np.unique(true)[::-1]
    counts, totals, squares = (
        np.stack([turns.total(np.where(true == level, column, 0.0)) for level in at])
        for column in (np.ones_like(f), y, y * y)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        means = totals / counts
        within = np.sqrt(np.maximum(np.nansum(squares - totals * means, axis=0), 0) / counts.sum(axis=0))
        # Which levels count is settled by the sample, not anew without each dialogue.
        enough = (counts[:, 0] >= FEWEST_TURNS)[:, None] & (counts > 0)
        n, level = enough.sum(axis=0), np.where(enough, at[:, None], 0.0)
        mean = np.where(enough, means, 0.0)
        moments = [n, level.sum(0), mean.sum(0), (level**2).sum(0), (mean**2).sum(0), (level * mean).sum(0)]
        slope = (n * moments[5] - moments[1] * moments[2]) / (n * moments[3] - moments[1] ** 2)
        intercept = (moments[2] - slope * moments[1]) / n + f.mean()
        row = {"level_r": pearson_from_moments(np.stack(moments)), "slope": slope, "intercept": intercept}
    return {name: np.where(n > 1, drawn, np.nan) for name, drawn in row.items()} | {"within_std": within}


def _costs(dialogues: Dialogues) -> np.ndarray:
    costs = dialogues.each(
        "true_costs", "carry no true turn costs", "Recovery is measured where the truth is known, on simulated users."
    )
    return np.concatenate(costs).astype(float)
