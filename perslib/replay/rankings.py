"""Does the ranking depend on how one looks? Kendall's τ between judges, calibrators, replay sets, and the truth.

And the turns on which the candidates' scores lie furthest apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, TURN
from perslib.errors import DataError, Problem
from perslib.replay.score_arrays import SCORE, CandidateScores, Floats, align_column, by_judge
from perslib.stats import LEVEL, SEED, ratio, resample_users
from perslib.stats.compare.best_reply import signs_of_pairs, tau
from perslib.stats.compare.paired import EXACT


def ranking_views(
    verdicts: pd.DataFrame | Mapping[str, pd.DataFrame],
    scores: Sequence[str] = (SCORE,),
    *,
    inclusion: pd.DataFrame | None = None,
    seed: int = SEED,
) -> pd.DataFrame:
    """Return how alike different views rank the candidates: Kendall's τ-b of their user macros, every two views a row.

    A view is one judge and backbone with one score column of `scores` (one column a calibrator), for each frame of a
    mapping (one frame a replay set).
    Columns: view, other (told apart by what they differ in), candidates (in both), users (in either), tau, tau_low,
    tau_high (resampled users), best_agrees, worst_agrees (the observed first and last are the same;
    never so where fewer than two candidates are ranked in both, for then nothing was compared).
    """
    rows = []
    for (name, one), (other, two) in combinations(_views(verdicts, scores, inclusion), 2):
        shared, users = [c for c in one if c in two], one.index.union(two.index)
        weights = resample_users(len(users), seed=seed)
        a, b = (_resample_macros(means[shared].reindex(users), weights) for means in (one, two))
        rows.append({"view": name, "other": other, "users": len(users), **_compare(a, b, shared)})
    counts, taus = ["view", "other", "candidates", "users"], ["tau", "tau_low", "tau_high"]
    return pd.DataFrame(rows, columns=[*counts, *taus, "best_agrees", "worst_agrees"])


def view_means(
    verdicts: pd.DataFrame | Mapping[str, pd.DataFrame],
    scores: Sequence[str] = (SCORE,),
    *,
    inclusion: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return the user macro of each candidate (rows) in each view (columns), as `ranking_views` compares them."""
    views = _views(verdicts, scores, inclusion)
    return pd.DataFrame({name: means.mean() for name, means in views}).rename_axis("candidate")


def _views(
    verdicts: pd.DataFrame | Mapping[str, pd.DataFrame], scores: Sequence[str], inclusion: pd.DataFrame | None
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each way to rank by its name, with the users' means of each candidate."""
    views: list[tuple[dict[str, str], pd.DataFrame]] = []
    for label, frame in (verdicts if isinstance(verdicts, Mapping) else {"": verdicts}).items():
        for score in scores:
            for of in by_judge(frame, score, inclusion):
                names = {k: "" if v is None else str(v) for k, v in of.judged_by.items()}
                views.append(({"set": label, **names, "score": score}, of.user_means()))
    keys = ("set", "judge", "backbone", "score")
    telling = [k for k in keys if len({about.get(k) for about, _ in views}) > 1] or ["score"]
    for about, means in views:
        yield " · ".join(about[k] for k in telling if about.get(k)), means


def against_truth(
    scored: pd.DataFrame, truth: pd.DataFrame, *, true_score: str = "expected", seed: int = SEED
) -> pd.DataFrame:
    """Return how well a replay ranks the candidates against their true satisfaction, where a synthetic world knows it.

    Verdicts and a frame of the truth (candidate, the keys of a turn, `true_score`) are compared by user macros
    over the replies that have both, one row a judge, τ with its interval over resampled users.

    Columns: judge, backbone, candidates, users, turns (replies compared), left_out (scored replies of which the
    truth is not known), tau, tau_low, tau_high, best, true_best, best_agrees, worst, true_worst, worst_agrees. Several
    that stand first together are all named, and agree only with the same ones; fewer than two candidates agree
    on nothing.
    """
    rows = []
    for of in by_judge(scored, SCORE):
        true = align_column(truth, true_score, of, "truth")
        both = np.isfinite(true) & np.isfinite(of.score)
        users = len(np.unique(of.user[both.any(axis=1)]))
        weights = resample_users(len(np.unique(of.user)), seed=seed)
        means = (of.user_means(np.where(both, scores, np.nan)) for scores in (of.score, true))
        ours, theirs = (_resample_macros(own, weights) for own in means)
        left_out = int((np.isfinite(of.score) & ~both).sum())
        counts = {"users": users, "turns": int(both.sum()), "left_out": left_out}
        rows.append({**of.judged_by, **counts, **_compare(ours, theirs, of.candidates)})
    return pd.DataFrame(rows)


def _resample_macros(means: pd.DataFrame, weights: Floats) -> Floats:
    """Return resampled user macros, candidates × resamples, from the users' means."""
    values = means.to_numpy().T
    return ratio(np.nan_to_num(values) @ weights, np.isfinite(values) @ weights)


def _bound(taus: Floats) -> dict[str, float]:
    """Return τ with its percentile interval: rankings move in steps, so users are resampled."""
    known = taus[1:][np.isfinite(taus[1:])]
    is_known = 2 * len(known) > len(taus) - 1
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) if is_known else (np.nan, np.nan)
    return {"tau": float(taus[0]), "tau_low": float(low), "tau_high": float(high)}


def _compare(a: Floats, b: Floats, candidates: Sequence[str]) -> dict[str, Any]:
    """Return how alike two rankings are: τ, and who is first and last in each."""
    ranked = np.isfinite(a[:, 0]) & np.isfinite(b[:, 0])
    compared = int(ranked.sum())
    row: dict[str, Any] = {"candidates": compared, **_bound(tau(*signs_of_pairs(a.T, b.T)))}
    for end, sign in (("best", 1), ("worst", -1)):
        ours, theirs = (_first(sign * side[:, 0], ranked, candidates) for side in (a, b))
        row |= {end: ", ".join(ours), f"true_{end}": ", ".join(theirs)}
        row[f"{end}_agrees"] = compared > 1 and ours == theirs
    return row


def _first(means: Floats, ranked: np.ndarray, candidates: Sequence[str]) -> list[str]:
    """Return who has the highest mean; several where the highest are equal."""
    top = np.max(means, where=ranked, initial=-np.inf)
    return [c for c, m, r in zip(candidates, means, ranked, strict=True) if r and m > top - EXACT]


# -- turns -------------------------------------------------------------------------------------------------------


def differing_turns(verdicts: pd.DataFrame, score: str = SCORE, most: int = 8) -> pd.DataFrame:
    """Return the turns on which one judge's scores of the candidates lie furthest apart.

    One row a turn: user, scenario, session, turn; spread (highest − lowest score over the candidates), deviation
    (their standard deviation), mean; lowest, highest; best, worst (tuples of candidates: several where they are
    equal); scored, unscored (replies judged without a score, which are in none of the numbers).

    Largest spread first, then largest deviation, then in order of the keys. Every block (user and scenario) gives
    its first turn before any gives a second. Turns without two scores, or with equal ones only, are no cases. No score
    that a user gave is looked at.
    """
    of = scores_of_one_judge(verdicts, score)
    scores = pd.DataFrame(of.score, columns=of.candidates)
    low, high, number = scores.min(axis=1), scores.max(axis=1), scores.notna().sum(axis=1)

    def name_members(which: pd.DataFrame) -> pd.Series:
        return pd.Series([tuple(which.columns[row]) for row in which.to_numpy()], which.index, dtype=object)

    spreads = of.turns.assign(
        spread=high - low,
        deviation=scores.std(axis=1, ddof=0),
        mean=scores.mean(axis=1),
        lowest=low,
        highest=high,
        best=name_members(scores.ge(high - EXACT, axis=0)),
        worst=name_members(scores.le(low + EXACT, axis=0)),
        scored=number,
        unscored=(scores.isna() & of.judged).sum(axis=1),
    )
    differing = spreads[(number > 1) & (spreads["spread"] > EXACT)]
    # Rounded, so that what is equal but for the machine's rounding is a tie.
    order = differing.assign(spread=-differing["spread"].round(9), deviation=-differing["deviation"].round(9))
    ordered = differing.loc[order.sort_values(["spread", "deviation", *TURN], kind="stable").index]
    is_later = ordered.groupby(BLOCK).cumcount().to_numpy() > 0
    chosen = np.sort(np.argsort(is_later, kind="stable")[:most])
    return ordered.iloc[chosen].reset_index(drop=True)


def scores_of_one_judge(verdicts: pd.DataFrame, score: str = SCORE) -> CandidateScores:
    """Return one judge's scores; an error where the verdicts are of none or of several."""
    judges = list(by_judge(verdicts, score))
    if len(judges) == 1:
        return judges[0]
    if not judges:
        raise DataError("There are no verdicts", "Score the replies first: perslib.replay.judge_candidates.")
    names = [" on ".join(str(n) for n in of.judged_by.values() if n is not None) for of in judges]
    raise DataError(
        [Problem("verdicts", f"are of several judges: {', '.join(names)}")],
        "Cases show one judge's opinion; pass verdicts[verdicts['judge'] == …] (and one backbone).",
    )
