"""Replies of candidates that people rated, for the page on labels: from files, from a corpus, from a synthetic world's users."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from perslib import stats
from perslib.corpus import TURN, Corpus
from perslib.corpus.known_truth import satisfaction_of
from perslib.corpus.scale import gold_of
from perslib.errors import DataError, NotEnough, PerslibError
from perslib.judge import Judge
from perslib.judge.scope import FEWEST_REPLIES, split_names
from perslib.llm import Backbone
from perslib.replay import ORIGINAL, judge_candidates, originals, read_labels, read_replies, select_recorded_replies
from perslib.stats import floats, of_turns

#: Default number of turns on which each candidate is judged.
TURNS = 150


def choose_judge(name: str, corpus: Corpus) -> str:
    """Return the name of the judge; of a corpus without texts, which a judge that learns would read, the user's mean."""
    return "user mean" if name == "learned" and "without_texts" in corpus.meta else name


def collect_ratings(
    corpus: Corpus, *, replies: str = "", labels: str = "", limit: int = TURNS, seed: int = stats.SEED
) -> pd.DataFrame:
    """Return replies to turns of test users that people rated: candidate, the keys of a turn, response, gold.

    They come from the files `replies` and `labels`, if given (labels: CSV or JSONL with candidate, user, scenario,
    session, turn and score). Otherwise they come from the corpus, if people rated several replies to a turn. A
    synthetic world provides the ratings that its users would give to each candidate's reply: by their own thresholds,
    with their own noise, once. In other corpora they are the recorded replies with their ratings, and the candidates
    are the assistants that gave them. `limit` turns are drawn at random.

    Raise PerslibError if only one of `replies` and `labels` is given, and DataError if too few users have ratings.
    """
    test = corpus.split().get("test", corpus.users["user"])
    if bool(replies) != bool(labels):
        raise PerslibError("Replies of candidates need people's labels, and labels need replies: give both or neither.")
    if labels:
        replies_read = pd.concat([read_replies(file, corpus) for file in split_names(replies)], ignore_index=True)
        turns = replies_read[TURN].drop_duplicates()
        everyone = pd.concat(
            [originals(corpus, turns), select_recorded_replies(replies_read, turns)], ignore_index=True
        )
        rated = everyone.merge(read_labels(labels), on=["candidate", *TURN])
    elif (brought := corpus.extras.get("candidates", pd.DataFrame())).get("score", pd.Series()).notna().any():
        rated = brought.assign(gold=gold_of(brought, corpus.scale)).dropna(subset="gold")
    elif {"utility", "expected"} <= set(brought):
        felt = satisfaction_of(brought, corpus.extras["truth_users"], np.random.default_rng(seed))
        rated = brought.assign(gold=np.rint(felt))
    else:
        by = of_turns(corpus, "assistant").to_numpy()
        is_named = pd.notna(by).all() and len(set(by)) > 1
        rated = corpus.turns.assign(candidate=by if is_named else ORIGINAL).rename(columns={"score": "gold"})
        rated = rated.dropna(subset=["gold", "response"])
    rated = rated[rated["user"].isin(test)][["candidate", *TURN, "response", "gold"]]
    turns = rated[TURN].drop_duplicates()
    if 0 < limit < len(turns):
        rated = rated.merge(turns.sample(limit, random_state=seed), on=TURN)
    if rated["user"].nunique() < stats.FEWEST_LABELLED:
        raise NotEnough(
            "Only {n} test users have replies that people scored. The study needs {least} users, better twenty: give more of them, or set "
            "limit = -1.",
            n=rated["user"].nunique(),
            least=stats.FEWEST_LABELLED,
        )
    return rated.reset_index(drop=True)


def score_replies(rated: pd.DataFrame, judge: Judge, corpus: Corpus, backbone: Backbone | None = None) -> pd.DataFrame:
    """Return the rated replies with the frozen judge's verdict and its score, `judged`.

    The score is the expected one, otherwise the raw one; an unscored reply gets the judge's mean. Raise DataError if
    the judge scored no reply.
    """
    verdicts = judge_candidates(judge, corpus, rated[["candidate", *TURN, "response"]], backbone, progress=False)
    score = floats(verdicts["expected"])
    score = np.where(np.isnan(score), floats(verdicts["raw"]), score)
    if np.isnan(score).all():
        raise DataError(f"The judge {judge.name!r} scored none of these replies", "Name another judge.")
    columns = verdicts[["judge", "backbone", "raw", "expected", "asked"]].set_index(rated.index)
    return rated.join(columns).assign(judged=np.where(np.isnan(score), np.nanmean(score), score))


def compare_candidates(rated: pd.DataFrame) -> pd.DataFrame:
    """Return each candidate's mean by people and by the judge, and the correlation of the two.

    Columns: candidate, turns, gold, gold_low, gold_high (over users), judged, bias, and the correlation of judge and
    people over turns (r_turns) and over users' means (r_users), missing below thirty turns.
    """
    by_people = stats.mean_by(rated, "gold", "candidate", scale="score").set_index("candidate").filter(like="mean")
    by_people = by_people.rename(columns=lambda name: name.replace("mean", "gold"))
    of_candidate = rated.groupby("candidate")
    table = pd.DataFrame({"turns": of_candidate.size()}).join(by_people).assign(judged=of_candidate["judged"].mean())
    table["bias"] = table["judged"] - of_candidate["gold"].mean()
    means = rated.groupby(["candidate", "user"])[["gold", "judged"]].mean().groupby("candidate")
    for name, parts in (("r_turns", of_candidate), ("r_users", means)):
        r = {candidate: _correlate(part) for candidate, part in parts}
        table[name] = pd.Series(r, dtype=float).where(table["turns"] >= FEWEST_REPLIES)
    return table.reset_index()


def correlate_differences(rated: pd.DataFrame) -> float:
    """Return the correlation of judge and people over users, in the differences of every two candidates.

    Each pair's mean is subtracted.
    """
    means = rated.groupby(["user", "candidate"])[["gold", "judged"]].mean().unstack("candidate")
    gaps = []
    for one, other in combinations(sorted(rated["candidate"].unique()), 2):
        gap = pd.DataFrame({v: means[v][one] - means[v][other] for v in ("gold", "judged")}).dropna()
        gaps.append(gap - gap.mean())
    return _correlate(pd.concat(gaps)) if gaps else np.nan


def _correlate(pairs: pd.DataFrame) -> float:
    return float(pairs[["gold", "judged"]].astype(float).corr(min_periods=3).iat[0, 1])
