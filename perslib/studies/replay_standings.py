"""Comparison of the candidates of a replay: standings on each set of turns, by each judge, and next to the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from perslib.corpus import TURN, Corpus
from perslib.judge.scope import FEWEST_REPLIES
from perslib.llm import Backbone
from perslib.replay import ORIGINAL, compare_candidate_scores, summarize_candidates, summarize_rank_sets
from perslib.replay.candidates import family_of
from perslib.replay.score_arrays import SCORE
from perslib.report.show.claims import Estimate, choose
from perslib.report.show.words import name_of
from perslib.studies.replay import Replay, select_replies
from perslib.text import join, mark

#: The calibrations under which a ranking should be the same.
VIEWS = ("reference_cdf", "reference_mean_shift", "real")


def describe_candidates(replies: pd.DataFrame) -> pd.DataFrame:
    """Return a description of each candidate.

    Columns: candidate, context, backbone, temperature, replies, without (a reply), cut (by length), unlike (all replies
    that users were given), characters (median). Columns without any value are left out.
    """
    texts = replies["response"]
    counted = replies.assign(without=texts.isna(), cut=replies["finish"].eq("length"), characters=texts.str.len())
    by = counted.groupby("candidate", sort=False)
    table = by[["context", "backbone", "temperature"]].first().assign(replies=by.size())
    table[["without", "cut"]] = by[["without", "cut"]].sum().astype(int)
    if counted["unusual_feature"].notna().any():
        table["unlike"] = by["unusual_feature"].agg(lambda own: int(own.fillna("").ne("").sum()))
    table["characters"] = by["characters"].median().round().astype("Int64")
    return table.reset_index().dropna(axis=1, how="all")


def sum_up_unlike(replies: pd.DataFrame) -> dict[str, Any]:
    """Return how many replies are unlike all replies that users were given.

    Keys: n and all, of new replies; own and recorded, of recorded ones; candidates and features, the most frequent
    first.
    """
    checked = replies.dropna(subset="unusual_feature")
    is_own, is_unlike = checked["candidate"] == ORIGINAL, checked["unusual_feature"] != ""
    new = checked[is_unlike & ~is_own]
    counts = {
        "n": len(new),
        "all": int((~is_own).sum()),
        "own": int((is_unlike & is_own).sum()),
        "recorded": int(is_own.sum()),
    }
    by = {
        f"{name}s": list(new[column].value_counts().index[:3])
        for name, column in (("candidate", "candidate"), ("feature", "unusual_feature"))
    }
    return counts | by


def compare_as_read(verdicts: pd.DataFrame, inclusion: pd.DataFrame, seed: int = 42) -> pd.DataFrame:
    """Return each candidate's share of replies that do not answer, and its rank with them counted and as the judge
    reads them.

    Columns: candidate, unanswered (share), user_macro and rank_set, user_macro_as_read and rank_set_as_read. Empty where
    nothing could be learned of what answers.
    """
    known = verdicts.dropna(subset="unanswered")
    if known.empty:
        return pd.DataFrame(columns=["candidate", "unanswered", "user_macro", "rank_set"])
    share = known["unanswered"].astype(float).groupby(known["candidate"]).mean().rename("unanswered").reset_index()
    columns = ["candidate", "rank_set", "user_macro"]
    counted, as_read = (
        summarize_rank_sets(known, score, inclusion=inclusion, seed=seed)[columns] for score in (SCORE, "as_read")
    )
    return counted.merge(as_read, on="candidate", suffixes=("", "_as_read")).merge(share, on="candidate")


def measure_lead(verdicts: pd.DataFrame, ranked: pd.DataFrame) -> dict[str, Any] | None:
    """Return the lead of the first candidate over the second, with users weighted equally; None with fewer than two."""
    if len(ranked) < 2:
        return None
    first, second = ranked["candidate"].iloc[:2]
    (row,) = compare_candidate_scores(verdicts[verdicts["candidate"].isin([first, second])], second).to_dict("records")
    return {"first": first, "second": second, "lead": Estimate.of(row, "user_mean_delta", digits=2)}


def describe_first(ranked: pd.DataFrame, lead: Mapping[str, Any] | None) -> tuple[str, dict[str, Any]]:
    """Return the wording and the numbers of who is first: alone only where rank sets and the interval of the lead agree."""
    if lead is None:
        return mark(
            "No candidate answered all of these turns, so the recorded replies have no comparison. Candidates come "
            "from a model (`-b NAME`) or from a file of replies (`-p replies=FILE`)."
        ), {}
    tied = ranked[ranked["tied_first"]]["candidate"]
    numbers = {name: name_of(lead[name]) for name in ("first", "second")} | {
        "lead": lead["lead"],
        "users": ranked["users"].max(),
    }
    numbers |= {"tied": join(map(name_of, tied))}
    if len(tied) > 1:
        return choose(
            lead["lead"],
            open="Tied for first, by the data of these {users} users: **{tied}**. {first} is {lead} points ahead of {second}, users weighted "
            "equally.",
            unknown="{first} has the highest mean, {lead} points above {second}; {users} users are too few to say who is first.",
        ), numbers
    return choose(
        lead["lead"],
        above="**{first}** is first; the data of these {users} users exclude this for every other candidate. It leads {second} by {lead} "
        "points, users weighted equally.",
        open="By their ranks **{first}** is first for these {users} users, but its lead over {second}, {lead} points, is not shown to be above "
        "zero.",
        unknown="{first} has the highest mean, {lead} points above {second}; {users} users are too few to say who is first.",
    ), numbers


@dataclass(frozen=True)
class Standing:
    """One judge's candidates on one replay set, and their `rank_sets`."""

    turns: pd.DataFrame
    replies: pd.DataFrame
    verdicts: pd.DataFrame
    ranked: pd.DataFrame


def rank_candidates(run: Replay, verdicts: pd.DataFrame, seed: int = 42) -> dict[str, Standing]:
    """Return the ranks of the judge's candidates on each replay set of a page.

    All turns of a set count as they were drawn.
    """
    standings = {}
    for name, turns in run.sets.items():
        replies = run.common_replies.merge(turns[TURN], on=TURN)
        verdicts_on_set = select_replies(verdicts, replies)
        ranked = summarize_rank_sets(verdicts_on_set, inclusion=turns, seed=seed)
        standings[name] = Standing(turns, replies, verdicts_on_set, ranked)
    return standings


def split_by_selection(
    on_each: Mapping[str, Standing], selections: Mapping[str, pd.DataFrame], fewest: int = FEWEST_REPLIES
) -> dict[str, pd.DataFrame]:
    """Return the judge's verdicts by replay set, without sets of fewer than `fewest` turns.

    If the page replays only one set, the second part has those of its turns that the published selection would take.
    """
    parts = {name: standing.verdicts for name, standing in on_each.items()}
    if len(parts) == 1:
        (replayed,) = parts.values()
        parts = {"replayed": replayed}
        parts |= {"hard": replayed.merge(selections["hard"][TURN], on=TURN)} if "hard" in selections else {}
    return {name: part for name, part in parts.items() if count_turns(part) >= fewest}


def count_turns(frame: pd.DataFrame) -> int:
    """Return the number of turns of replies or verdicts."""
    return len(frame[TURN].drop_duplicates())


def measure_gains(sets: Mapping[str, pd.DataFrame], seed: int = 42) -> pd.DataFrame:
    """Return the mean difference from the recorded replies on each set of turns, one row per candidate.

    Columns: candidate, and for each set its name, `_low` and `_high`.
    """
    parts = []
    for name, verdicts in sets.items():
        deltas = (
            compare_candidate_scores(verdicts, seed=seed)
            .set_index("candidate")
            .filter(regex="^mean_delta(_low|_high)?$")
        )
        parts.append(deltas.rename(columns=lambda column, name=name: column.replace("mean_delta", name)))
    table = pd.concat(parts, axis=1).sort_values(next(iter(sets)), ascending=False, kind="stable")
    return table.rename_axis("candidate").reset_index()


def order_outcomes(compared: pd.DataFrame) -> pd.DataFrame:
    """Return comparisons by their difference, the greatest first; several scores or judges stay separate."""
    columns = [c for c in ("score", "judge") if c in compared and compared[c].nunique() > 1]
    order = [True] * len(columns) + [False]
    ordered = compared.sort_values([*columns, "mean_delta"], ascending=order, kind="stable")
    other = ["other"] if compared["other"].nunique() > 1 else []
    bounds = [f"{c}{end}" for c in ("win", "tie", "lose", "mean_delta") for end in ("", "_low", "_high")]
    shown = [*columns, "candidate", *other, "n", *bounds, "mean_delta_p_holm"]
    return ordered[shown].rename(columns={"other": "against", "n": "turns"})


def name_view_pairs(views: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `ranking_views` that have a τ; `pair` has both names in one line."""
    with_tau = views.dropna(subset="tau")
    names = with_tau[["view", "other"]].map(lambda view: ", ".join(map(name_of, view.split(" · "))))
    return with_tau.assign(pair=names["view"] + " – " + names["other"])


def find_families(replies: pd.DataFrame, judging: Backbone | None) -> dict[str, str]:
    """Return the known model families of the candidates and of the judges' model."""
    with_family = replies.dropna(subset="family").drop_duplicates("candidate")
    families = dict(zip(with_family["candidate"], with_family["family"]))
    own = judging and family_of(judging.model)
    return {**families, judging.name: own} if judging and own else families


# -- the truth ---------------------------------------------------------------------------------------------------


def find_truth(corpus: Corpus, replies: pd.DataFrame) -> pd.DataFrame:
    """Return the true satisfaction with these replies if a synthetic world provides it; otherwise an empty frame."""
    keys = ["candidate", *TURN, "response"]
    candidates = corpus.extras.get("candidates", pd.DataFrame(columns=[*keys, "expected"]))
    return candidates.merge(replies[keys], on=keys)


def draw_labels(truth: pd.DataFrame, users: int, seed: int = 42) -> pd.DataFrame:
    """Draw a few users; return the true satisfaction of all replies to them, as labels."""
    chosen = truth["user"].drop_duplicates().sample(min(users, truth["user"].nunique()), random_state=seed)
    labels = truth[truth["user"].isin(chosen)][["candidate", *TURN, "expected"]]
    return labels.rename(columns={"expected": "score"})


def compare_to_truth(verdicts: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Return the judged and the true user macro of each candidate with a known truth, per judge and candidate."""
    by_user = truth.groupby(["candidate", "user"])["expected"].mean()
    true = by_user.groupby("candidate").mean().rename("true").reset_index()
    columns = ["judge", "candidate", "user_macro", "user_macro_low", "user_macro_high"]
    return summarize_candidates(verdicts)[columns].merge(true, on="candidate")
