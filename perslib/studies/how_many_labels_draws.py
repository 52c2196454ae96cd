"""Studies drawn from known users: what each way of estimating says with so many labels, and how often it is right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from perslib.errors import PerslibError
from perslib.stats import FEWEST_USERS, LEVEL, SEED, Powered, UserSums, ppi_of_sums, resample_users, wilson
from perslib.stats.resamples import Floats, estimate
from perslib.studies.how_many_labels import PARTIAL, SHUFFLED, Pool

#: Ways of estimating: λ = 0 is labels alone; tuned; λ = 1 as first published; the judge's own scores of all users.
LABELS, BOTH, PLAIN, ALONE = "labels alone", "labels and judge", "labels and judge, λ = 1", "judge alone"
_LAM: dict[str, float | None] = {LABELS: 0.0, BOTH: None, PLAIN: 1.0, ALONE: 0.0}
#: Of candidates, and of their differences where they answer the same turns.
Estimates = tuple[Powered, Powered | None]


def draw_studies(pool: Pool, users: int, draws: int, seed: int = SEED) -> np.ndarray:
    """Draw studies × users: who takes part; one drawn twice counts as two who are alike."""
    if users < 2 or draws < 2:
        raise PerslibError(
            f"A study of {users} users, drawn {draws} times, says nothing: take two of each or more."
        )
    return np.random.default_rng(seed).integers(0, len(pool.users), size=(draws, users))


def estimate_means(
    pool: Pool, who: np.ndarray, labelled: int, judge: str, method: str, pairs: bool = False
) -> Powered:
    """Estimate each candidate's mean (rows) in each study (columns) by one method.

    Parameters
    ----------
    pool, who : the population, and the users of each study.
    labelled : how many of them, the first, are asked for labels.
    judge, method : whose scores are used, and how.
    pairs : whether to estimate the difference of every two candidates instead, in the order of `np.triu_indices`.
    """
    few = np.arange(who.shape[1]) < labelled
    turns, gold, score = pool.turns.T, pool.gold.T, pool.judged[judge].T
    if pairs:
        turns, gold, score = (
            turns[np.triu_indices(len(turns), 1)[0]],
            _subtract_pairs(gold),
            _subtract_pairs(score),
        )
    n, y, f = turns[:, who], gold[:, who], score[:, who]
    if judge == SHUFFLED:
        mean = np.where(turns > 0, score, score.sum(axis=1, keepdims=True)) / np.where(
            turns > 0, turns, turns.sum(axis=1, keepdims=True)
        )
        f = n * mean[:, np.random.default_rng([SEED, 1]).integers(0, len(pool.users), who.shape)]
    parts = UserSums(n * few, y * few, f * few, n * ~few, f * ~few)
    with np.errstate(invalid="ignore", divide="ignore"):  # without a labelled turn there is no estimate
        return ppi_of_sums(UserSums(n, f, f, 0 * n, 0 * n) if method == ALONE else parts, _LAM[method])


def measure_budgets(pool: Pool, who: np.ndarray, budgets: Sequence[int]) -> pd.DataFrame:
    """Measure every method at every budget, with the judge under study, averaged over candidates and studies.

    Columns: judge, method, labelled (users), lam, and measures, each with its interval over studies: interval_width, of the
    95 % interval of a candidate's mean; holds_truth (share of intervals that hold the truth); best (share of studies that
    put the truly best candidate first); tau (Kendall's, with the true order); apart, wrong (share of pairs whose difference
    has an interval beyond zero on the right side, on the wrong one); bias (|mean error|, mean over candidates); worth,
    worth_pairs (how many users' labels alone would err as little about a candidate's mean, about a difference:
    labelled · MSE of labels alone / MSE). Without a second candidate there is no ranking, and without the same turns for all
    there are no pairs.
    """
    few = [k for k in budgets if k < who.shape[1]]
    if not few:
        raise PerslibError(
            f"No budget of {list(budgets)} is below the {who.shape[1]} users that the judge scores."
        )
    cases = [(pool.judge, method) for method in _LAM]
    return pd.concat([_measure_all(pool, who, k, cases) for k in few], ignore_index=True)


def measure_controls(pool: Pool, who: np.ndarray, labelled: int) -> pd.DataFrame:
    """Measure the same for one budget, with the judge and with each control in its place.

    What scores of other users or equal scores say alone is left out: it is nothing about these users.
    """
    cases = [(name, method) for name in pool.judged for method in (BOTH, PLAIN, ALONE)]
    cases = [(name, method) for name, method in cases if method != ALONE or name in (pool.judge, PARTIAL)]
    return _measure_all(pool, who, labelled, [(pool.judge, LABELS), *cases])


def measure_choices(pool: Pool, who: np.ndarray, labelled: int) -> pd.DataFrame:
    """Measure what becomes of methods if labels are asked for where the judge scored low, not at random.

    Of twice as many users as are labelled, those take part whom the judge finds the less satisfied half. Columns:
    chosen (at random, by low scores), method, and the measures, each with its interval.
    """
    mean = pool.judged[pool.judge].sum(axis=1) / pool.turns.sum(axis=1)
    wide = min(2 * labelled, who.shape[1])
    order = np.argsort(mean[who[:, :wide]], axis=1, kind="stable")
    low = np.concatenate([np.take_along_axis(who[:, :wide], order, axis=1), who[:, wide:]], axis=1)
    cases = [(pool.judge, LABELS), (pool.judge, BOTH)]
    parts = {"at random": who, "by low scores": low}
    found = [_measure_all(pool, own, labelled, cases).assign(chosen=name) for name, own in parts.items()]
    return pd.concat(found, ignore_index=True)


def pick_budget(measured: pd.DataFrame, about: int = 10) -> int:
    """Return the budget that sentences speak of: the one nearest ten users, with intervals where any has them."""
    tried = measured.loc[measured["method"] == LABELS, "labelled"]
    enough = tried[tried >= FEWEST_USERS]
    of = enough if len(enough) else tried
    return int(of.iloc[(of - about).abs().argmin()])


def find_sufficient(measured: pd.DataFrame, method: str, share: float = 0.9) -> int | None:
    """Return the least budget from which on this share of studies find the best candidate; None where none suffices."""
    own = measured[measured["method"] == method].sort_values("labelled")
    enough = own["best"].ge(share)[::-1].cummin()[::-1]
    return int(own["labelled"][enough].min()) if enough.any() else None


# -- one row a judge and method ----------------------------------------------------------------------------


def _measure_all(pool: Pool, who: np.ndarray, k: int, cases: Iterable[tuple[str, str]]) -> pd.DataFrame:
    by_labels = _estimate(pool, who, k, pool.judge, LABELS)
    rows = []
    for judge, method in cases:
        own = by_labels if method == LABELS else _estimate(pool, who, k, judge, method)
        lam = float(own[0].lam.mean()) if method in (BOTH, PLAIN) else np.nan
        about = {"judge": None if method == LABELS else judge, "method": method, "labelled": k, "lam": lam}
        # Labels alone are worth themselves.
        worth = {
            name: drawn if method != LABELS else drawn[:1] for name, drawn in _worth(pool, k, own, by_labels)
        }
        rows.append({**about, **_average(_by_study(pool, *own)), **estimate(_bias(pool, own[0]), "bias")})
        for name, drawn in worth.items():
            rows[-1] |= estimate(drawn, name)
    return pd.DataFrame(rows)


def _estimate(pool: Pool, who: np.ndarray, k: int, judge: str, method: str) -> Estimates:
    compares = pool.is_paired and len(pool.candidates) > 1
    pairs = estimate_means(pool, who, k, judge, method, pairs=True) if compares else None
    return estimate_means(pool, who, k, judge, method), pairs


def _by_study(pool: Pool, of: Powered, pairs: Powered | None) -> pd.DataFrame:
    """Return the measures that each study has by itself: studies × measures."""
    half, order = of.half(LEVEL), _subtract_pairs(pool.truth)[:, None]
    held = np.where(np.isnan(half), np.nan, np.abs(of.value - pool.truth[:, None]) <= half)
    found = {"interval_width": 2 * half, "holds_truth": held}
    if len(pool.candidates) > 1:
        values = np.where(np.isfinite(of.value), of.value, -np.inf)  # without an estimate none comes first
        ahead = values == values.max(axis=0)
        found["best"] = ahead[[pool.truth.argmax()]] / ahead.sum(axis=0)  # of several first, one at random
        with np.errstate(invalid="ignore"):
            found["tau"] = np.nan_to_num(np.sign(_subtract_pairs(values))) * np.sign(order)
    if pairs is not None:
        side = np.sign(pairs.value) * (np.abs(pairs.value) > pairs.half(LEVEL)) * np.sign(order)
        for name, sign in (("apart", 1), ("wrong", -1)):
            found[name] = np.where(np.isnan(pairs.freedom), np.nan, side == sign)
    return pd.DataFrame({name: pd.DataFrame(values).mean() for name, values in found.items()})


def _average(by_study: pd.DataFrame) -> dict[str, float]:
    """Return each measure's mean over studies with its interval; a share of all studies has Wilson's."""
    mean, error = by_study.mean(), 1.96 * by_study.sem()
    table = pd.DataFrame({"": mean, "_low": mean - error, "_high": mean + error})
    if "best" in by_study:
        table.loc["best", ["_low", "_high"]] = wilson(by_study["best"].sum(), len(by_study))
    return {f"{name}{end}": value for (name, end), value in table.stack(future_stack=True).items()}


def _bias(pool: Pool, of: Powered) -> Floats:
    """Return |mean error|, averaged over candidates, in all studies and in each resample of them."""
    errors = of.value - pool.truth[:, None]
    known, weights = np.isfinite(errors), _resample_studies(errors)
    return np.abs(np.where(known, errors, 0) @ weights / np.maximum(known @ weights, 1)).mean(axis=0)


def _worth(pool: Pool, k: int, own: Estimates, by_labels: Estimates) -> Iterable[tuple[str, Floats]]:
    """Yield worths in all studies and in each resample: k times the squared error of labels alone over the method's."""
    truths = {"worth": pool.truth, "worth_pairs": _subtract_pairs(pool.truth)}
    for (name, truth), of, alone in zip(truths.items(), own, by_labels):
        if of is not None and alone is not None:
            errors, least = of.value - truth[:, None], alone.value - truth[:, None]
            known, weights = np.isfinite(least) & np.isfinite(errors), _resample_studies(errors)
            squares = [(np.where(known, e, 0) ** 2).sum(axis=0) @ weights for e in (least, errors)]
            yield name, k * squares[0] / np.maximum(squares[1], 1e-300)


def _resample_studies(errors: Floats) -> Floats:
    """Return weights of the studies; what is no mean over them is resampled."""
    return resample_users(errors.shape[1], 500).astype(float)


def _subtract_pairs(values: Floats) -> Floats:
    """Return the first less the second of every two rows."""
    one, other = np.triu_indices(len(values), 1)
    return np.asarray(values[one] - values[other])
