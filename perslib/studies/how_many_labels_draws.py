"""Studies drawn from known users: what each way of estimating says with so many labels, and how often it is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from perslib.errors import PerslibError
from perslib.stats import (
    FEWEST_USERS,
    LEVEL,
    SEED,
    Powered,
    UserSums,
    interval,
    ppi_of_sums,
    resample_users,
    wilson,
)
from perslib.studies.how_many_labels import PARTIAL, SHUFFLED, Floats, Pool

#: Ways of estimating: λ = 0 is labels alone; tuned; λ = 1 as first published; the judge's own scores of all users.
LABELS, BOTH, PLAIN, ALONE = "labels alone", "labels and judge", "labels and judge, λ = 1", "judge alone"
_LAM: dict[str, float | None] = {LABELS: 0.0, BOTH: None, PLAIN: 1.0, ALONE: 0.0}


def drawn(pool: Pool, users: int, draws: int, seed: int = SEED) -> np.ndarray:
    """Studies × users: who takes part; one drawn twice counts as two who are alike."""
    if users < 2 or draws < 2:
        raise PerslibError(
            f"A study of {users} users, drawn {draws} times, says nothing: take two of each or more."
        )
    return np.random.default_rng(seed).integers(0, len(pool.users), size=(draws, users))


def estimates(
    pool: Pool, who: np.ndarray, labelled: int, judge: str, method: str, pairs: bool = False
) -> Powered:
    """What each study says of each candidate (rows), the first so many of its users being asked for labels.

    With `pairs`, of the difference of every two candidates, in the order of `itertools.combinations`.
    """
    few = np.arange(who.shape[1]) < labelled
    turns, gold, score = pool.turns.T, pool.gold.T, pool.judged[judge].T
    if pairs:
        one, other = np.array(list(combinations(range(len(turns)), 2))).T
        turns, gold, score = turns[one], gold[one] - gold[other], score[one] - score[other]
    n, y, f = turns[:, who], gold[:, who], score[:, who]
    if judge == SHUFFLED:
        mean = np.where(turns > 0, score, score.sum(axis=1, keepdims=True)) / np.where(
            turns > 0, turns, turns.sum(axis=1, keepdims=True)
        )
        f = n * mean[:, np.random.default_rng([SEED, 1]).integers(0, len(pool.users), who.shape)]
    parts = UserSums(n * few, y * few, f * few, n * ~few, f * ~few)
    with np.errstate(
        invalid="ignore", divide="ignore"
    ):  # candidates without a labelled turn have no estimate
        return ppi_of_sums(UserSums(n, f, f, 0 * n, 0 * n) if method == ALONE else parts, _LAM[method])


def measured(pool: Pool, who: np.ndarray, budgets: Sequence[int]) -> pd.DataFrame:
    """Every method at every budget, with the judge under study, averaged over candidates and studies.

    Columns: judge, method, labelled (users), lam, and of each measure its value, …_low and …_high over studies:
    interval_width, of the 95 % interval of a candidate's mean; holds_truth (share of intervals that hold the truth); bias (|mean
    error|, mean over candidates); best (share of studies that put the truly best candidate first); tau (Kendall's,
    with the true order); apart, wrong (share of pairs whose difference has an interval beyond zero on the right side, on
    the wrong one); worth, worth_pairs (how many users' labels alone would err as little about a candidate's mean, about
    a difference: labelled · MSE of labels alone / MSE). Without a second candidate there is no ranking, and without the
    same turns for all there are no pairs.
    """
    few = [k for k in budgets if k < who.shape[1]]
    if not few:
        raise PerslibError(
            f"No budget of {list(budgets)} is below the {who.shape[1]} users that the judge scores."
        )
    judge = next(iter(pool.judged))
    rows = []
    for k in few:
        by_labels = _said(pool, who, k, judge, LABELS)
        rows += [_row(pool, who, k, judge, method, by_labels) for method in _LAM]
    return pd.DataFrame(rows)


def controls(pool: Pool, who: np.ndarray, labelled: int) -> pd.DataFrame:
    """The same for one budget, with the judge and with each control in its place.

    What scores of other users or equal scores say alone is left out: it is nothing about these users.
    """
    judge = next(iter(pool.judged))
    by_labels = _said(pool, who, labelled, judge, LABELS)
    rows = [_row(pool, who, labelled, judge, LABELS, by_labels)]
    for name in pool.judged:
        alone = [ALONE] if name in (judge, PARTIAL) else []
        rows += [_row(pool, who, labelled, name, method, by_labels) for method in (BOTH, PLAIN, *alone)]
    return pd.DataFrame(rows)


def _said(pool: Pool, who: np.ndarray, k: int, judge: str, method: str) -> tuple[Powered, Powered | None]:
    """What a method says of candidates, and of their differences where they answer the same turns."""
    compares = pool.is_paired and len(pool.candidates) > 1
    pairs = estimates(pool, who, k, judge, method, pairs=True) if compares else None
    return estimates(pool, who, k, judge, method), pairs


def _row(
    pool: Pool,
    who: np.ndarray,
    k: int,
    judge: str,
    method: str,
    by_labels: tuple[Powered, Powered | None],
) -> dict[str, object]:
    of, pairs = by_labels if method == LABELS else _said(pool, who, k, judge, method)
    alone, alone_pairs = by_labels
    truth, half = pool.truth[:, None], of.half(LEVEL)
    errors, least = of.value - truth, alone.value - truth
    found = {
        "interval_width": _mean(2 * half),
        "holds_truth": _mean(np.where(np.isnan(half), np.nan, np.abs(errors) <= half)),
        **dict(_ranked(pool, of.value)),
    }
    # What is no mean over studies is resampled, studies being the unit.
    weights = resample_users(len(who), 500).astype(float)
    row: dict[str, object] = {"judge": None if method == LABELS else judge, "method": method, "labelled": k}
    row["lam"] = float(of.lam.mean()) if method in (BOTH, PLAIN) else np.nan
    known = np.isfinite(errors)
    bias = np.abs(np.where(known, errors, 0) @ weights / np.maximum(known @ weights, 1)).mean(axis=0)
    drawn_again = {"bias": bias, "worth": k * _ratio(least, errors, weights)}
    if pairs is not None and alone_pairs is not None:
        apart = _differences(pool.truth)[:, None]
        drawn_again["worth_pairs"] = k * _ratio(alone_pairs.value - apart, pairs.value - apart, weights)
        side = np.sign(pairs.value) * (np.abs(pairs.value) > pairs.half(LEVEL))
        for name, sign in (("apart", 1), ("wrong", -1)):
            said = np.where(np.isnan(pairs.freedom), np.nan, side == sign * np.sign(apart))
            found[name] = said.mean(axis=0)
    for name, by_study in found.items():
        mean, error = float(_mean(by_study)), np.nan
        if (told := by_study[np.isfinite(by_study)]).size > 1:
            error = float(1.96 * told.std(ddof=1) / np.sqrt(len(told)))
        row |= dict(zip(_columns(name), (mean, mean - error, mean + error)))
    if "best" in found:  # a share of studies, which may be all of them
        low, high = wilson(found["best"].sum(), len(who))
        row |= {"best_low": float(low), "best_high": float(high)}
    for name, values in drawn_again.items():
        varies = method != LABELS or name == "bias"  # labels alone are worth themselves
        row |= dict(zip(_columns(name), (values[0], *(interval(values[1:]) if varies else (np.nan, np.nan)))))
    return row


def _ratio(least: Floats, errors: Floats, weights: Floats) -> Floats:
    """Squared error of labels alone over that of a method, in all studies and in each resample of them."""
    known = np.isfinite(least) & np.isfinite(errors)
    by_labels, own = ((np.where(known, e, 0) ** 2).sum(axis=0) @ weights for e in (least, errors))
    return np.asarray(by_labels / np.maximum(own, 1e-300))


def _mean(values: Floats) -> Floats:
    """Over the first axis, of what is known; missing where nothing is."""
    known = np.isfinite(values)
    count = known.sum(axis=0)
    return np.asarray(
        np.where(count > 0, np.where(known, values, 0).sum(axis=0) / np.maximum(count, 1), np.nan)
    )


def _columns(name: str) -> tuple[str, str, str]:
    return name, f"{name}_low", f"{name}_high"


def _differences(values: Floats) -> Floats:
    """Of every two, the first less the second."""
    one, other = np.array(list(combinations(range(len(values)), 2))).T
    return np.asarray(values[one] - values[other])


def _ranked(pool: Pool, values: Floats) -> Iterator[tuple[str, Floats]]:
    """Whether the best is found, and τ, in each study; nothing for a single candidate."""
    if len(pool.candidates) < 2:
        return
    values = np.where(np.isfinite(values), values, -np.inf)  # of whom nothing is known cannot come first
    ahead = values == values.max(axis=0)
    first = ahead[pool.truth.argmax()] / ahead.sum(axis=0)  # of several first, one by lot
    yield "best", first
    with np.errstate(invalid="ignore"):
        sides = np.nan_to_num(np.sign(_differences(values)))
    yield "tau", (sides * np.sign(_differences(pool.truth))[:, None]).mean(axis=0)


def selected(pool: Pool, who: np.ndarray, labelled: int) -> pd.DataFrame:
    """What becomes of both methods if labels are asked for where the judge scored low, not by lot.

    Of twice as many users as are labelled, those take part whom the judge finds the less satisfied half. Columns:
    chosen (by lot, by low scores), method, and the measures, each with its interval.
    """
    judge = next(iter(pool.judged))
    mean = pool.judged[judge].sum(axis=1) / pool.turns.sum(axis=1)
    wide = min(2 * labelled, who.shape[1])
    order = np.argsort(mean[who[:, :wide]], axis=1, kind="stable")
    low = np.concatenate([np.take_along_axis(who[:, :wide], order, axis=1), who[:, wide:]], axis=1)
    rows = []
    for chosen, studies in (("by lot", who), ("by low scores", low)):
        by_labels = _said(pool, studies, labelled, judge, LABELS)
        for method in (LABELS, BOTH):
            row = _row(pool, studies, labelled, judge, method, by_labels)
            rows.append({"chosen": chosen, **row})
    return pd.DataFrame(rows)


def middling(measured: pd.DataFrame, about: int = 10) -> int:
    """The budget that sentences speak of: the one nearest ten users, of those with intervals where there are any."""
    tried = measured.loc[measured["method"] == LABELS, "labelled"]
    enough = tried[tried >= FEWEST_USERS]
    of = enough if len(enough) else tried
    return int(of.iloc[(of - about).abs().argmin()])
