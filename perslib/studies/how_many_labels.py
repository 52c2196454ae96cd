"""The number of labels that a ranking needs, with a judge's help and without it, by repeated studies of known users.

For some users everything is known: their scores of each candidate's replies, and the judge's scores. They are the
population. A study draws users from it with replacement, lets the judge score all of their replies, and asks the first
few users for labels. Its result is compared with the exact means of the population.

Intervals are those of other users: the population itself is drawn anew from these users, and studies from each such
population are compared with its own means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from perslib import stats
from perslib.errors import PerslibError
from perslib.stats import Floats, estimate
from perslib.text import mark, translate

#: Judges without knowledge or with a bias. An honest method must stay valid with them.
SHUFFLED, CONSTANT, PARTIAL = "scores of other users", "always the same", "partial to the worst"
#: Populations that are drawn anew, and studies from each.
POPULATIONS, STUDIES_EACH = 60, 20
#: Methods of estimation: λ = 0 uses labels alone; tuned λ; λ = 1 as first published; only the judge's scores.
LABELS_ALONE, LABELS_AND_JUDGE, LABELS_AND_JUDGE_UNTUNED, JUDGE_ALONE = (
    "labels alone",
    "labels and judge",
    "labels and judge, λ = 1",
    "judge alone",
)
_LAM: dict[str, float | None] = {
    LABELS_ALONE: 0.0,
    LABELS_AND_JUDGE: None,
    LABELS_AND_JUDGE_UNTUNED: 1.0,
    JUDGE_ALONE: 0.0,
}


@dataclass(frozen=True)
class Pool:
    """The population: sums over the turns of each user (rows) with each candidate (columns)."""

    users: list[str]
    candidates: list[str]
    turns: Floats
    gold: Floats
    judge_sums: dict[str, Floats]
    """Sums of scores by judge, the judge under study first."""

    @property
    def judge(self) -> str:
        """Return the judge under study."""
        return next(iter(self.judge_sums))

    @property
    def true_means(self) -> Floats:
        """Return each candidate's mean over all turns, by people."""
        return np.asarray(self.gold.sum(axis=0) / self.turns.sum(axis=0))

    @property
    def is_paired(self) -> bool:
        """Return whether there are several candidates and all answer the same turns."""
        return len(self.candidates) > 1 and bool((self.turns == self.turns[:, :1]).all())

    def add_pairs(self, values: Floats) -> Floats:
        """Return values with a row per candidate, followed by the first less the second of every pair of rows.

        Pairs have the order of `np.triu_indices`. Without paired candidates, the values are returned unchanged.
        """
        return np.concatenate([values, _subtract_pairs(values)]) if self.is_paired else values


def build_pool(rated: pd.DataFrame, judge: str) -> Pool:
    """Return the sums of replies with `gold` and `judged`, for the judge and the controls.

    Scores of other users: the judge's scores, which each study assigns to random users (`estimate_means`). Always the
    same: the mean of the judge's scores. Partial: the judge's scores, raised for the candidate that people like least
    until it comes first.
    """
    mean = rated.groupby("candidate")[["gold", "judged"]].mean()
    score, worst = rated["judged"].astype(float), mean["gold"].idxmin()
    lean = mean["judged"].max() - mean.loc[worst, "judged"] + 0.2
    by_judge = {
        judge: score,
        PARTIAL: score + lean * (rated["candidate"] == worst),
        SHUFFLED: score,
        CONSTANT: pd.Series(score.to_numpy().mean(), rated.index),
    }
    if len(mean) < 2:
        del by_judge[PARTIAL]

    def sum_by_user(values: pd.Series) -> pd.DataFrame:
        return values.groupby([rated["user"], rated["candidate"]]).sum().unstack(fill_value=0.0).astype(float)

    turns = sum_by_user(pd.Series(1.0, rated.index))
    judged = {name: sum_by_user(values).to_numpy() for name, values in by_judge.items()}
    gold = sum_by_user(rated["gold"].astype(float)).to_numpy()
    return Pool(turns.index.tolist(), turns.columns.tolist(), turns.to_numpy(), gold, judged)


# -- studies drawn from the population ------------------------------------------------------------------


def draw_studies(pool: Pool, users: int, draws: int, seed: int = stats.SEED) -> np.ndarray:
    """Return the users of each study (studies × users); a user drawn twice counts as two identical users.

    Raise PerslibError for fewer than two users or two draws.
    """
    if users < 2 or draws < 2:
        raise PerslibError(f"A study of {users} users, drawn {draws} times, gives no estimate: set both to 2 or more.")
    return np.random.default_rng(seed).integers(0, len(pool.users), size=(draws, users))


def estimate_means(pool: Pool, drawn_users: np.ndarray, labelled: int, judge: str, method: str) -> stats.PpiEstimates:
    """Return an estimate of each candidate's mean (rows) in each study (columns) by one method.

    If all candidates answer the same turns, rows for the difference of every pair follow (`Pool.add_pairs`). With a
    judge, a candidate without a label has the judge's mean, corrected by its mean error on all labels, and no interval.

    Parameters
    ----------
    pool, drawn_users : the population, and the users of each study.
    labelled : the number of users, the first of a study, who are asked for labels.
    judge, method : whose scores are used, and how.
    """
    few = np.arange(drawn_users.shape[1]) < labelled
    gold, score = pool.add_pairs(pool.gold.T), pool.add_pairs(pool.judge_sums[judge].T)
    turns = pool.turns.T if len(gold) == len(pool.candidates) else np.repeat(pool.turns.T[:1], len(gold), axis=0)
    n, y, f = turns[:, drawn_users], gold[:, drawn_users], score[:, drawn_users]
    if judge == SHUFFLED:
        all_scores, all_turns = (values.sum(axis=1, keepdims=True) for values in (score, turns))
        mean = np.where(turns > 0, score, all_scores) / np.where(turns > 0, turns, all_turns)
        f = n * mean[:, np.random.default_rng([stats.SEED, 1]).integers(0, len(pool.users), drawn_users.shape)]
    parts = stats.UserSums(n * few, y * few, f * few, n * ~few, f * ~few)
    with np.errstate(invalid="ignore", divide="ignore"):  # without a labelled turn there is no estimate
        powered = stats.ppi_of_sums(
            stats.UserSums(n, f, f, 0 * n, 0 * n) if method == JUDGE_ALONE else parts, _LAM[method]
        )
        if method not in (LABELS_AND_JUDGE, LABELS_AND_JUDGE_UNTUNED):
            return powered
        error = (parts.gold - parts.judged).sum(axis=(0, 2)) / parts.n.sum(axis=(0, 2))
        expected = f.sum(axis=2) / n.sum(axis=2) + error
    return powered._replace(value=np.where(np.isnan(powered.value), expected, powered.value))


def measure_budgets(pool: Pool, drawn_users: np.ndarray, budgets: Sequence[int]) -> pd.DataFrame:
    """Return the quality of every method at every budget, with the judge under study.

    Values are means over candidates and studies. Raise PerslibError if no budget is below the number of users that the
    judge scores.

    Columns: judge, method, labelled (users), lam, and measures, most with an interval over populations like this one:

    - interval_width, of the 95 % interval of a candidate's mean;
    - holds_truth, the share of intervals that contain the truth;
    - best, the share of studies that rank the truly best candidate first; without an estimate a rank is random;
    - tau, Kendall's, with the true order;
    - apart, wrong, the shares of pairs whose difference has an interval beyond zero on the right or wrong side;
    - bias, |mean error|, mean over candidates; its interval is over studies;
    - worth, worth_pairs, the number of users whose labels alone would give the same error of a candidate's mean, of a
      difference: labelled · MSE of labels alone / MSE.

    Without a second candidate there is no ranking, and without the same turns for all candidates there are no pairs.
    """
    few = [k for k in budgets if k < drawn_users.shape[1]]
    if not few:
        raise PerslibError(
            f"No budget of {list(budgets)} is below the {drawn_users.shape[1]} users that the judge scores."
        )
    cases = [(pool.judge, method) for method in _LAM]
    return pd.concat([_measure_all(pool, drawn_users, k, cases) for k in few], ignore_index=True)


def measure_controls(pool: Pool, drawn_users: np.ndarray, labelled: int) -> pd.DataFrame:
    """Return the same measures for one budget, with the judge and with each control in its place.

    Scores of other users and equal scores are not shown alone, because they contain nothing about these users.
    """
    cases = [
        (name, method)
        for name in pool.judge_sums
        for method in (LABELS_AND_JUDGE, LABELS_AND_JUDGE_UNTUNED, JUDGE_ALONE)
    ]
    cases = [(name, method) for name, method in cases if method != JUDGE_ALONE or name in (pool.judge, PARTIAL)]
    return _measure_all(pool, drawn_users, labelled, [(pool.judge, LABELS_ALONE), *cases])


def measure_choices(pool: Pool, drawn_users: np.ndarray, labelled: int) -> pd.DataFrame:
    """Return the measures if labels are requested where the judge scored low, and if they are requested at random.

    The users for labels are the less satisfied half, by the judge's scores, of twice as many users as are labelled.

    Columns: chosen (at random, by low scores), method, and the measures, each with its interval.
    """
    mean = pool.judge_sums[pool.judge].sum(axis=1) / pool.turns.sum(axis=1)
    wide = min(2 * labelled, drawn_users.shape[1])

    def put_low_first(users: np.ndarray) -> np.ndarray:
        order = np.argsort(mean[users[:, :wide]], axis=1, kind="stable")
        return np.concatenate([np.take_along_axis(users[:, :wide], order, axis=1), users[:, wide:]], axis=1)

    cases = [(pool.judge, LABELS_ALONE), (pool.judge, LABELS_AND_JUDGE)]
    at_random = _measure_all(pool, drawn_users, labelled, cases).assign(chosen="at random")
    by_low = _measure_all(pool, drawn_users, labelled, cases, put_low_first).assign(chosen="by low scores")
    return pd.concat([at_random, by_low], ignore_index=True)


def pick_budget(measured: pd.DataFrame) -> int:
    """Return the budget that sentences describe: the nearest to ten users, with intervals if any budget has them."""
    tried = measured.loc[measured["method"] == LABELS_ALONE, "labelled"]
    enough = tried[tried >= stats.FEWEST_LABELLED]
    candidates = enough if len(enough) else tried
    return int(candidates.iloc[(candidates - 10).abs().argmin()])


def find_sufficient(measured: pd.DataFrame, method: str) -> int | None:
    """Return the smallest budget from which on nine of ten studies surely find the best candidate, or None.

    Surely: by the lower bound over populations, since of many judges without any skill some are lucky.
    """
    rows = measured[measured["method"] == method].sort_values("labelled")
    enough = rows["best_low"].ge(0.9)[::-1].cummin()[::-1]
    return int(rows["labelled"][enough].min()) if enough.any() else None


def phrase_width(change: float) -> str:
    """Return the wording of how much narrower or wider a judge makes intervals; less than one percent is neither."""
    if abs(change) < 0.005:
        return mark(
            "With {labelled:.0f} labelled users, the judge changes the interval of a candidate's mean by less than 1 %: {labelled:.0f} users "
            "are worth {worth:.0f} [{worth_low:.0f}, {worth_high:.0f}]."
        )
    if change < 0:
        return mark(
            "With {labelled:.0f} labelled users, the judge makes the interval of a candidate's mean {change:.0%} "
            "narrower: {labelled:.0f} users are worth {worth:.0f} [{worth_low:.0f}, {worth_high:.0f}]."
        )
    return mark(
        "With {labelled:.0f} labelled users, the judge makes the interval of a candidate's mean {change:.0%} "
        "wider: {labelled:.0f} users are worth {worth:.0f} [{worth_low:.0f}, {worth_high:.0f}]."
    )


def describe_coverage(held: pd.DataFrame) -> str:
    """Return a sentence on how often intervals contain the truth, beside the nominal level: over all budgets, and at the worst."""
    worst = held.loc[held["holds_truth"].idxmin()]
    if worst["holds_truth_high"] >= stats.LEVEL - 0.005 and held["holds_truth"].max() >= stats.LEVEL:
        return translate("This matches the nominal level of 95 %, as far as so many users show.")
    if stats.LEVEL - worst["holds_truth"] > 0.05:
        return translate("At its lowest this is **below 95 %**: so few users show too little of how users differ.")
    return translate("This is slightly below 95 %, as usual for intervals from few users.")


# -- one row per judge and method --------------------------------------------------------------------------


def _measure_all(
    pool: Pool,
    drawn_users: np.ndarray,
    k: int,
    cases: Iterable[tuple[str, str]],
    arrange: Callable[[np.ndarray], np.ndarray] = lambda users: users,
) -> pd.DataFrame:
    draws, users = drawn_users.shape
    populations, anew = _draw_populations(pool, users)
    everyone = arrange(np.concatenate([drawn_users, anew]))
    with np.errstate(invalid="ignore", divide="ignore"):  # nobody drawn may know a candidate
        anew_means = [pool.gold[own].sum(axis=0) / pool.turns[own].sum(axis=0) for own in populations]
    means = np.stack([pool.true_means, *anew_means], axis=1)
    truth = np.repeat(means, [draws] + [STUDIES_EACH] * POPULATIONS, axis=1)
    by_labels = estimate_means(pool, everyone, k, pool.judge, LABELS_ALONE)
    alone = by_labels.value - pool.add_pairs(truth)
    one, pair = slice(len(pool.candidates)), slice(len(pool.candidates), None)
    worths = {"worth": one, "worth_pairs": pair} if pool.is_paired else {"worth": one}
    rows = []
    for judge, method in cases:
        powered = by_labels if method == LABELS_ALONE else estimate_means(pool, everyone, k, judge, method)
        is_weighed = method in (LABELS_AND_JUDGE, LABELS_AND_JUDGE_UNTUNED)
        lam = float(powered.lam[one, :draws].mean()) if is_weighed else np.nan
        row = {"judge": None if method == LABELS_ALONE else judge, "method": method, "labelled": k, "lam": lam}
        errors = powered.value - pool.add_pairs(truth)
        row |= estimate(np.abs(_average_without_each(errors[one, :draws])).mean(axis=0), "bias", "error")
        by_study = _measure_by_study(pool, powered, truth)
        for name, rows_of in worths.items():
            known = np.isfinite(alone[rows_of]) & np.isfinite(errors[rows_of])
            for column, e in ((f"{name}, alone", alone), (name, errors)):
                by_study[column] = (np.where(known, e[rows_of], 0.0) ** 2).sum(axis=0)
        here, others = _average_studies(by_study, draws, k, worths)
        # Labels alone are worth exactly as many labels; of the judge alone, and of widths, such intervals cover too little.
        bare = ["interval_width", *(worths if method in (LABELS_ALONE, JUDGE_ALONE) else ())]
        row |= here.iloc[0].to_dict()
        for end, bound in zip(("_low", "_high"), others.drop(columns=bare).quantile([0.025, 0.975]).to_dict("records")):
            widen = min if end == "_low" else max  # of other populations, and never without the value itself
            row |= {
                f"{name}{end}": widen(value, row[name]) if value == value else value for name, value in bound.items()
            }
        rows.append(row)
    return pd.DataFrame(rows)


def _draw_populations(pool: Pool, users: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the users of each population that is drawn anew, and of each study from them, one below the other."""
    rng, n = np.random.default_rng([stats.SEED, 2]), len(pool.users)
    populations = rng.integers(0, n, (POPULATIONS, n))
    places = rng.integers(0, n, (POPULATIONS, STUDIES_EACH * users))
    return populations, np.take_along_axis(populations, places, axis=1).reshape(-1, users)


def _average_studies(by_study: pd.DataFrame, draws: int, k: int, worths: Iterable[str]) -> list[pd.DataFrame]:
    """Return the mean of each measure over the studies of the population, and over those of each one drawn anew."""
    number = np.repeat(np.arange(POPULATIONS), STUDIES_EACH)
    parts = [by_study[:draws].mean().to_frame().T, by_study[draws:].groupby(number).mean()]
    for part in parts:
        for name in worths:
            part[name] = k * part.pop(f"{name}, alone") / part[name].clip(lower=1e-300)
    return parts


def _measure_by_study(pool: Pool, powered: stats.PpiEstimates, truth: Floats) -> pd.DataFrame:
    """Return the measures that each study has: studies × measures; `truth` has the true means that each aims at."""
    k, half = len(pool.candidates), powered.half(stats.LEVEL)
    contains_truth = np.where(np.isnan(half), np.nan, np.abs(powered.value - pool.add_pairs(truth)) <= half)
    measures = {"interval_width": 2 * half[:k], "holds_truth": contains_truth[:k]}
    if k > 1:
        order = np.sign(_subtract_pairs(truth))
        has_value = np.isfinite(powered.value[:k])
        values = np.where(has_value, powered.value[:k], -np.inf)
        ahead = has_value & (values == values.max(axis=0))
        # Ties for the first rank are broken at random. A candidate without an estimate takes any of the k ranks.
        first = np.where(has_value, ahead / np.maximum(ahead.sum(axis=0), 1) * has_value.mean(axis=0), 1 / k)
        measures["best"] = np.take_along_axis(first, np.nan_to_num(truth, nan=-np.inf).argmax(axis=0)[None], axis=0)
        measures["tau"] = np.nan_to_num(np.sign(_subtract_pairs(powered.value[:k])) * order)
        if pool.is_paired:
            side = np.sign(powered.value[k:]) * (np.abs(powered.value[k:]) > half[k:]) * order
            for name, sign in (("apart", 1), ("wrong", -1)):
                measures[name] = np.where(np.isnan(powered.freedom[k:]), np.nan, side == sign)
    return pd.DataFrame({name: pd.DataFrame(values).mean() for name, values in measures.items()})


def _average_without_each(values: Floats) -> Floats:
    """Return each row's mean over all studies, then without each study."""
    known, weights = np.isfinite(values), stats.leave_out(values.shape[1])
    return np.asarray(np.where(known, values, 0) @ weights / np.maximum(known @ weights, 1))


def _subtract_pairs(values: Floats) -> Floats:
    """Return the first less the second of every pair of rows."""
    one, other = np.triu_indices(len(values), 1)
    return np.asarray(values[one] - values[other])
