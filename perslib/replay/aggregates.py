"""What each candidate reached (PersTurnBench, Table 8): averages, satisfied and dissatisfied shares, distribution.

Beside the bare rank, the ranks of each candidate that the data leave open, and the rows of the leaderboard; and, where
people rated some of the replies, means of all that the judge rated, powered by both.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from perslib import stats
from perslib.corpus import TURN, Corpus
from perslib.replay.judging import judged_by_themselves
from perslib.replay.replies import ORIGINAL
from perslib.replay.score_arrays import SCORE, CandidateScores, Groups, align_column, by_judge
from perslib.stats import SEED, MeanEstimate, classical_mean, estimate, ppi_mean, to_scale
from perslib.stats.resample.leave_one_out import count_carriers, drop_if_few, name_bounds

#: From here on a user counts as satisfied.
SATISFIED = 4


def summarize_candidates(
    verdicts: pd.DataFrame, score: str = SCORE, *, inclusion: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return one row a judge, backbone and candidate.

    - candidate; turns (scored), unscored (judged without a score: in no average, and counted here), users, tasks,
      blocks (a block is one user's turns in one scenario)
    - micro, the mean over turns; user_macro, task_macro, block_macro, the means of the users', scenarios' and
      blocks' means
    - sat, dsat: shares of turns at 4 and above, 3 and below, after rounding by `perslib.stats.to_scale`, so
      that every scored turn is one of the two
    - each of these six with …_low and …_high, an interval over users (from ten on)
    - n1 … n5: how many scores round to 1 … 5; share1 … share5: the share of turns they stand for

    With `inclusion`, the replay set the turns were drawn in, every mean and share weighs a turn by the inverse of
    its probability (Hájek): within groups, that is; users, scenarios and blocks count alike. n1 … n5 stay counts.
    """
    summaries = _summaries(verdicts, score, inclusion)
    return pd.DataFrame([row for _, rows in summaries for row in rows])


def _summaries(
    verdicts: pd.DataFrame, score: str, inclusion: pd.DataFrame | None
) -> Iterator[tuple[CandidateScores, list[dict[str, Any]]]]:
    """Yield each judge's scores, and the rows of its candidates."""
    for of in by_judge(verdicts, score, inclusion):
        yield of, [{**of.judged_by, "candidate": c, **_row(of, i)} for i, c in enumerate(of.candidates)]


def _row(of: CandidateScores, place: int) -> dict[str, Any]:
    score = of.score[:, place]
    known, whole, groups = np.isfinite(score), to_scale(score), Groups(of, score)
    blocks = groups.turns > 0
    counts = {
        "turns": int(known.sum()),
        "unscored": int((of.judged[:, place] & ~known).sum()),
        "users": int(groups.present.sum()),
        "tasks": int(blocks.any(axis=0).sum()),
        "blocks": int(blocks.sum()),
    }
    means = {
        "micro": groups.over("turn"),
        **{f"{group}_macro": groups.over(group) for group in ("user", "task", "block")},
        "sat": groups.over_turns(known & (whole >= SATISFIED)),
        "dsat": groups.over_turns(known & (whole < SATISFIED)),
    }
    carriers = count_carriers(whole[known] >= SATISFIED, of.user[known])
    bounds: dict[str, float] = {}
    for name, values in means.items():
        is_share = name in ("sat", "dsat")
        bounds |= estimate(
            drop_if_few(values, carriers) if is_share else values, name, "share" if is_share else "score"
        )
    by_score = {s: whole == s for s in range(1, 6)}
    shares = {f"share{s}": of.weight[at].sum() / of.weight[known].sum() for s, at in by_score.items() if known.any()}
    return {**counts, **bounds, **{f"n{s}": int(at.sum()) for s, at in by_score.items()}, **shares}


def official_interval(user_means: Mapping[str, float] | pd.Series) -> tuple[float, float]:
    """Return the published 95 % interval of the user macro, number for number.

    `random.Random(42).choice` over the sorted users, as many as there are, 1,000 times; of the sorted means those at
    2.5 % and 97.5 %.
    """
    means = pd.Series(user_means, dtype=float).dropna()
    users = sorted(means.index)
    if not users:
        return float("nan"), float("nan")
    of, chance = dict(zip(means.index, means.tolist(), strict=True)), random.Random(42)
    drawn = sorted(sum(of[chance.choice(users)] for _ in users) / len(users) for _ in range(1000))
    return drawn[25], drawn[975]


def summarize_rank_sets(
    verdicts: pd.DataFrame, score: str = SCORE, *, inclusion: pd.DataFrame | None = None, seed: int = SEED
) -> pd.DataFrame:
    """Return the summary of each candidate with the ranks that the data do not rule out, the highest user macro first.

    All paired differences of the user macro are tested at once (`perslib.stats.rank_sets`), a judge after another. A
    candidate without any score has no rank, is not tied for first, and rules out no rank of others.

    Columns: judge, backbone, candidate, rank_set (as text, "1–3"), rank (by user macro as observed), best_rank,
    worst_rank, tied_first, and those of `summarize_candidates`. With fewer than five users nothing is ruled out.
    """
    rows: list[dict[str, Any]] = []
    parts: list[pd.DataFrame] = []
    for of, own in _summaries(verdicts, score, inclusion):
        scores, users = pd.DataFrame(of.score, columns=of.candidates), of.turns["user"]
        parts.append(stats.rank_sets(scores, users, weight=of.weight, seed=seed).assign(place=len(parts)))
        rows += own
    if not rows:
        return pd.DataFrame()
    means, ranks = pd.DataFrame(rows), pd.concat(parts, ignore_index=True)
    ends = zip(ranks["best_rank"], ranks["worst_rank"])
    ranks.insert(0, "rank_set", ["–" if pd.isna(a) else f"{a}" if a == b else f"{a}–{b}" for a, b in ends])
    order = np.lexsort((-means["user_macro"], ranks["place"]))
    first = [c for c in ("judge", "backbone", "candidate") if c in means]
    ranks = ranks.drop(columns=["contender", "mean", "place"])
    table = pd.concat([means[first], ranks, means.drop(columns=first)], axis=1)
    return table.iloc[order].reset_index(drop=True)


def leaderboard(
    corpus: Corpus,
    replies: pd.DataFrame,
    verdicts: pd.DataFrame,
    ranked: pd.DataFrame,
    *,
    replay_set: str,
    calibration: str = SCORE,
    first_look: bool = False,
    models: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return one judge's standings with all that says what they may be compared with.

    A page that saves this as its table `leaderboard` is in the leaderboard over all pages.

    Parameters
    ----------
    corpus, replies, verdicts : what was replayed, and one judge's verdicts on it.
    ranked : the candidates' means and ranks by these verdicts, from `rank_sets`.
    replay_set, calibration : what the turns and the score are called.
    first_look : whether the verdicts show the way and measure nothing.
    models : as in `judged_by_themselves`.
    """
    turns = replies[TURN].drop_duplicates().sort_values(TURN)
    about = ["candidate", "context", "backbone", "temperature"]
    answered = replies.groupby("candidate", sort=False)[about[1:]].first().reset_index()
    both = answered.merge(ranked.drop(columns=["judge", "backbone"]), on="candidate")
    own = {candidate for candidate, _ in judged_by_themselves(replies, verdicts, models)}
    intervals = [*name_bounds("user_macro"), *name_bounds("dsat")]
    return both[[*about, "turns", "users", *intervals, "rank_set"]].assign(
        judge=verdicts["judge"].iloc[0],
        judge_prompt=next(iter(verdicts["prompt"].dropna()), None),
        judge_backbone=verdicts["backbone"].iloc[0],
        calibration=calibration,
        corpus=corpus.name,
        corpus_digest=corpus.digest,
        replay_set=replay_set,
        set_digest=hashlib.sha256(turns.to_csv(index=False).encode()).hexdigest()[:12],
        tied_first=both["tied_first"].astype(bool),
        self_judged=both["candidate"].isin(own),
        first_look=first_look,
    )


def prediction_powered(verdicts: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """Return each candidate's mean score by people, with the judge's help: `perslib.stats.ppi_mean`, clustered by user.

    `labels` holds people's scores in the column `score` by candidate and the keys of a turn (without `candidate`, as in
    the turns of a corpus, they are on the recorded replies); which replies were rated must have been left to chance.

    Columns: judge, backbone, candidate, labelled and unlabelled (judged replies), users (with labels), classical (labels
    alone) and powered (both), each with …_low and …_high, width (of the interval of `powered` as a share of that of
    `classical`), lam (the weight given to the judge; near 0 where it knows nothing), left_out (labels on replies that this
    judge did not see).
    """
    rows = []
    for of in by_judge(verdicts, SCORE):
        rated = labels.dropna(subset="score")
        names = rated["candidate"] if "candidate" in rated else pd.Series(ORIGINAL, rated.index)
        in_all = names.astype("str").fillna(ORIGINAL).value_counts()
        scores = zip(of.candidates, align_column(labels, "score", of).T, of.score.T, of.judged.T)
        for candidate, gold, judged, asked in scores:
            few = asked & np.isfinite(gold)
            rest = asked & ~few
            alone = both = MeanEstimate(np.nan, np.nan, np.nan, np.nan, 0, int(rest.sum()), 0)
            if few.any():
                alone = classical_mean(gold[few], cluster=of.user[few])
                clusters = {"cluster": of.user[few], "cluster_unlabelled": of.user[rest]}
                both = ppi_mean(gold[few], judged[few], judged[rest], **clusters)
            row: dict[str, Any] = {"labelled": both.n, "unlabelled": both.N, "users": both.clusters}
            for name, one in (("classical", alone), ("powered", both)):
                row |= zip(name_bounds(name), one)
            width = (both.high - both.low) / (alone.high - alone.low) if alone.high > alone.low else np.nan
            row |= {"width": width, "lam": both.lam, "left_out": int(in_all.get(candidate, 0) - few.sum())}
            rows.append({**of.judged_by, "candidate": candidate, **row})
    return pd.DataFrame(rows)
