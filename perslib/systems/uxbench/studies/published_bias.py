"""Bias in the published tables of UXBench: mildness, sensitivity, agreement of rankings, and sample sizes."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import kendalltau, norm, pearsonr, spearmanr

from perslib import stats
from perslib.systems.uxbench.bench import CASES, REWARD_MODEL, families, read_ux_table
from perslib.systems.uxbench.statistics import cases_needed, detection

#: Tasks of Table 3 by the column with their percentage.
TASKS = {"accuracy": "UX Judge", "eval_good": "UX Eval", "recovery_good": "UX Recovery"}
#: Names of rankings of models by the column of Table 3 or 5.
RANKINGS = {
    **TASKS,
    "good_acc": "good recall",
    "bad_acc": "bad recall",
    "uxbench": "UXBench",
    "arena_hard": "Arena-Hard",
    "wildbench": "WildBench",
    "alpaca_eval": "AlpacaEval",
}
#: Table → the pairs of its rankings that are compared.
COMPARED_RANKINGS = {
    "table3": [*combinations(TASKS, 2), ("good_acc", "bad_acc")],
    "table5": [("uxbench", other) for other in ("arena_hard", "wildbench", "alpaca_eval")],
}
#: Coefficient → its function, and a, b, c of the variance (a + b r²) / (n − c) of its Fisher z (Bonett & Wright 2000).
COEFFICIENTS = {
    "pearson_r": (pearsonr, 1.0, 0.0, 3),
    "spearman_rho": (spearmanr, 1.0, 0.5, 3),
    "kendall_tau_b": (kendalltau, 0.437, 0.0, 4),
}


def measure_sensitivity() -> pd.DataFrame:
    """Return Table 3 with intervals and signal detection: how mild each judge is, and how well it separates cases.

    Columns: model, family, accuracy, accuracy_low, accuracy_high (Wilson), good_acc, bad_acc, positive_bias (all in
    percent), d_prime, d_prime_low, d_prime_high, d_prime_se, criterion, at_best (accuracy at the best threshold,
    percent).
    """
    columns = ["model", "family", "accuracy", "good_acc", "bad_acc"]
    table = stats.with_wilson(read_ux_table("table3")[columns], "accuracy", CASES["accuracy"])
    n_good, n_bad = CASES["good_acc"], CASES["bad_acc"]
    detected = detection(table["bad_acc"] / 100 * n_bad, n_bad, n_good - table["good_acc"] / 100 * n_good, n_good)
    reach = 1.96 * detected.d_prime_se
    return table.assign(
        positive_bias=table["good_acc"] - table["bad_acc"],
        d_prime=detected.d_prime,
        d_prime_low=detected.d_prime - reach,
        d_prime_high=detected.d_prime + reach,
        d_prime_se=detected.d_prime_se,
        criterion=detected.criterion,
        at_best=100 * detected.at_best,
    )


def compute_accuracy(d_prime: np.ndarray, criterion: np.ndarray) -> np.ndarray:
    """Return the accuracy on a balanced set of a judge with this sensitivity and criterion."""
    accuracies: np.ndarray = norm.cdf(d_prime / 2 - criterion) + norm.cdf(d_prime / 2 + criterion)
    return accuracies / 2


def summarize_mildness(table: pd.DataFrame) -> dict[str, Any]:
    """Return the mildest and the strictest of the zero-shot judges, and their mean."""
    bias = table[table["model"] != REWARD_MODEL].set_index("model")["positive_bias"]
    return {
        "n": len(bias),
        "mean": bias.mean(),
        "least": bias.min(),
        "strictest": bias.idxmin(),
        "most": bias.max(),
        "mildest": bias.idxmax(),
    }


def correlate_models(one: pd.Series, other: pd.Series) -> dict[str, float]:
    """Return the correlation of two numbers of models: each of `COEFFICIENTS` with a 95 % interval; and their number.

    Intervals are those of Fisher's z, with the models as independent units. The number of models is small, so intervals
    are needed.
    """
    n = len(one)
    correlations: dict[str, float] = {"models": n}
    for name, (correlate, a, b, c) in COEFFICIENTS.items():
        r = float(correlate(one, other)[0])
        reach = 1.96 * np.sqrt((a + b * r**2) / (n - c))
        low, high = np.tanh(np.arctanh(r) + np.array([-reach, reach])).tolist()
        correlations |= {name: r, f"{name}_low": low, f"{name}_high": high}
    return correlations


def summarize_sensitivity(table: pd.DataFrame) -> dict[str, Any]:
    """Return how much of the trained judge's lead is a threshold; with_c and with_d are as in `correlate_models`."""
    zero_shot, trained = table[table["model"] != REWARD_MODEL], table[table["model"] == REWARD_MODEL].iloc[0]
    best = zero_shot.loc[zero_shot["at_best"].idxmax()]
    return {
        "with_c": correlate_models(zero_shot["accuracy"], zero_shot["criterion"]),
        "with_d": correlate_models(zero_shot["accuracy"], zero_shot["d_prime"]),
        "n": len(zero_shot),
        "equal": (zero_shot["d_prime"] >= trained["d_prime"]).sum(),
        "best": best["model"],
        "best_accuracy": best["at_best"],
        "d_prime": trained["d_prime"],
        "trained_best": trained["at_best"],
        "trained_accuracy": trained["accuracy"],
        "least_error": table["d_prime_se"].min(),
        "most_error": table["d_prime_se"].max(),
    }


def list_rank_sets() -> pd.DataFrame:
    """Return the ranks that Table 3 does not exclude in each task, by task (without the trained judge).

    Columns: those of `rank_sets_of_shares`, the best and worst rank as rank_low and rank_high, and task.
    """
    table = read_ux_table("table3").set_index("model").drop(REWARD_MODEL)
    parts = [stats.rank_sets_of_shares(table[c], CASES[c]).assign(task=task) for c, task in TASKS.items()]
    bounds = {"best_rank": "rank_low", "worst_rank": "rank_high"}
    return pd.concat(parts, ignore_index=True).rename(columns=bounds)


def correlate_tasks() -> pd.DataFrame:
    """Return how the tasks of Table 3, and the benchmarks of Table 5, order the same models, one row per pair.

    Columns: ranking, with, and the keys of `correlate_models`.
    """
    rows = []
    for name, pairs in COMPARED_RANKINGS.items():
        table = read_ux_table(name).query("model != @REWARD_MODEL")
        for one, other in pairs:
            names = {"ranking": RANKINGS[one], "with": RANKINGS[other]}
            rows.append(names | correlate_models(table[one], table[other]))
    return pd.DataFrame(rows)


def mark_own_family(matrix: pd.DataFrame) -> pd.DataFrame:
    """Return whether the model of each row is of the family of the judge of each column."""
    is_same = matrix.index.map(families()).to_numpy()[:, None] == matrix.columns.map(families()).to_numpy()
    return pd.DataFrame(is_same, matrix.index, matrix.columns)


def count_pair_outcomes() -> pd.DataFrame:
    """Return Table 10 as counts of 500 cases per pair; a is of the judge's own family in every row."""
    table = read_ux_table("table10").rename(columns={"tie": "ties"})
    wins = ["a_wins", "b_wins", "ties"]
    return table.assign(**(table[wins] / 100 * CASES["pair"]).round().astype(int))


def list_neutral_and_effort() -> pd.DataFrame:
    """Return two tables of bad cases in percent with intervals: called neutral, and recall by reasoning effort.

    The effort is low or high.
    """
    names = {
        "bad_to_neutral": "called neutral",
        "low": "bad recall, low effort",
        "high": "bad recall, high effort",
        "model": "model_name",
    }
    both = pd.concat([read_ux_table("neutral"), read_ux_table("effort")]).rename(columns=names)
    table = both.melt("model_name", var_name="quantity", value_name="percent").dropna(ignore_index=True)
    return stats.with_wilson(table, "percent", CASES["bad_acc"])


def compute_sample_sizes() -> pd.DataFrame:
    """Return the number of cases that separate two judges on the same cases, at 80 % power."""
    rhos = {f"rho_{100 * r:.0f}": r for r in (0.0, 0.5, 0.8)}
    rows = [
        {"points": n, **{name: cases_needed(n, correlation=r) for name, r in rhos.items()}} for n in (1, 2, 3, 5, 10)
    ]
    return pd.DataFrame(rows)
