"""How the candidates of a replay compare: their standings on each set of turns, by each judge, and beside the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from perslib.corpus import TURN, Corpus
from perslib.judge.extent import FEWEST_REPLIES
from perslib.llm import Backbone
from perslib.replay import ORIGINAL, against, rank_sets, summary
from perslib.replay.candidates import family_of
from perslib.report.show.words import name_of
from perslib.studies.replay import Replay, select_replies

#: The calibrations that a ranking should survive.
VIEWS = ("reference_cdf", "reference_mean_shift", "real")


def describe_candidates(replies: pd.DataFrame) -> pd.DataFrame:
    """Describe who answers.

    Columns: candidate, context, backbone, temperature, replies, without (a reply), cut (by length), unlike (all that users
    were given), characters (median); those without any value are left out.
    """
    said = replies["response"]
    made = replies.assign(without=said.isna(), cut=replies["finish"].eq("length"), characters=said.str.len())
    by = made.groupby("candidate", sort=False)
    table = by[["context", "backbone", "temperature"]].first().assign(replies=by.size())
    table[["without", "cut"]] = by[["without", "cut"]].sum().astype(int)
    if made["unlike"].notna().any():
        table["unlike"] = by["unlike"].agg(lambda own: int(own.fillna("").ne("").sum()))
    table["characters"] = by["characters"].median().round().astype("Int64")
    return table.reset_index().dropna(axis=1, how="all")


def sum_up_unlike(replies: pd.DataFrame) -> dict[str, Any]:
    """Return how many replies are unlike all that users were given.

    n and all: of new ones; own and recorded: of those that were given; candidates and features: the most frequent first.
    """
    known = replies.dropna(subset="unlike")
    is_own, is_unlike = known["candidate"] == ORIGINAL, known["unlike"] != ""
    new = known[is_unlike & ~is_own]
    counts = {
        "n": len(new),
        "all": int((~is_own).sum()),
        "own": int((is_unlike & is_own).sum()),
        "recorded": int(is_own.sum()),
    }
    by = {
        f"{name}s": list(new[of].value_counts().index[:3])
        for name, of in (("candidate", "candidate"), ("feature", "unlike"))
    }
    return counts | by


def measure_lead(verdicts: pd.DataFrame, ranked: pd.DataFrame) -> dict[str, Any] | None:
    """Return how far the first candidate is ahead of the second, users weighted equally; None with fewer than two."""
    if len(ranked) < 2:
        return None
    first, second = ranked["candidate"].iloc[:2]
    (row,) = against(verdicts[verdicts["candidate"].isin([first, second])], second).to_dict("records")
    lead = [row[f"user_mean_delta{end}"] for end in ("", "_low", "_high")]
    return {"first": first, "second": second, "lead": lead, "is_sure": bool(lead[1] > 0)}


@dataclass(frozen=True)
class Standing:
    """One judge's candidates on one replay set, and their `rank_sets`."""

    turns: pd.DataFrame
    replies: pd.DataFrame
    verdicts: pd.DataFrame
    ranked: pd.DataFrame


def rank_candidates(run: Replay, verdicts: pd.DataFrame, seed: int = 42) -> dict[str, Standing]:
    """Rank the judge's candidates on each replay set of a page, all turns of the set counted as they were drawn."""
    found = {}
    for name, turns in run.sets.items():
        replies = run.everywhere.merge(turns[TURN], on=TURN)
        own = select_replies(verdicts, replies)
        ranked = rank_sets(own, inclusion=turns, seed=seed)
        found[name] = Standing(turns, replies, own, ranked)
    return found


def split_by_selection(
    on_each: Mapping[str, Standing], drawn: Mapping[str, pd.DataFrame], fewest: int = FEWEST_REPLIES
) -> dict[str, pd.DataFrame]:
    """Split the judge's verdicts by replay set, without sets of fewer turns.

    If the page replays one set only, the second is those of its turns that the published selection would take.
    """
    found = {name: standing.verdicts for name, standing in on_each.items()}
    if len(found) == 1:
        (whole,) = found.values()
        found = {"replayed": whole}
        found |= {"hard": whole.merge(drawn["hard"][TURN], on=TURN)} if "hard" in drawn else {}
    return {name: part for name, part in found.items() if count_turns(part) >= fewest}


def count_turns(frame: pd.DataFrame) -> int:
    """Count the turns that replies or verdicts are on."""
    return len(frame[TURN].drop_duplicates())


def measure_gains(sets: Mapping[str, pd.DataFrame], seed: int = 42) -> pd.DataFrame:
    """Measure the mean difference from the recorded replies on each set of turns, a row a candidate.

    Columns: candidate, and for each set its name, `_low` and `_high`.
    """
    parts = []
    for name, verdicts in sets.items():
        own = against(verdicts, seed=seed).set_index("candidate").filter(regex="^mean_delta(_low|_high)?$")
        parts.append(own.rename(columns=lambda column, name=name: column.replace("mean_delta", name)))
    table = pd.concat(parts, axis=1).sort_values(next(iter(sets)), ascending=False, kind="stable")
    return table.rename_axis("candidate").reset_index()


def order_outcomes(compared: pd.DataFrame) -> pd.DataFrame:
    """Order comparisons by their difference, the greatest first; several scores or judges stay apart."""
    apart = [c for c in ("score", "judge") if c in compared and compared[c].nunique() > 1]
    order = [True] * len(apart) + [False]
    ordered = compared.sort_values([*apart, "mean_delta"], ascending=order, kind="stable")
    other = ["other"] if compared["other"].nunique() > 1 else []
    bounds = [f"{c}{end}" for c in ("win", "tie", "lose", "mean_delta") for end in ("", "_low", "_high")]
    shown = [*apart, "candidate", *other, "n", *bounds, "mean_delta_p_holm"]
    return ordered[shown].rename(columns={"other": "against", "n": "turns"})


def name_pairs(views: pd.DataFrame) -> pd.DataFrame:
    """Name those of `ranking_views` that have a τ; `pair` is both names in one line."""
    found = views.dropna(subset="tau")
    names = found[["view", "other"]].map(lambda view: ", ".join(map(name_of, view.split(" · "))))
    return found.assign(pair=names["view"] + " – " + names["other"])


def find_families(replies: pd.DataFrame, judging: Backbone) -> dict[str, str]:
    """Find the model families of the candidates and of the judges' model, as far as they are known."""
    known = replies.dropna(subset="family").drop_duplicates("candidate")
    family = family_of(judging.model)
    return dict(zip(known["candidate"], known["family"])) | ({judging.name: family} if family else {})


# -- the truth ---------------------------------------------------------------------------------------------------


def find_truth(corpus: Corpus, replies: pd.DataFrame) -> pd.DataFrame:
    """Find the true satisfaction with these replies, where a synthetic world knows it; empty elsewhere."""
    keys = ["candidate", *TURN, "response"]
    known = corpus.extras.get("candidates", pd.DataFrame(columns=[*keys, "expected"]))
    return known.merge(replies[keys], on=keys)


def draw_labels(truth: pd.DataFrame, users: int, seed: int = 42) -> pd.DataFrame:
    """Draw a few users; return the true satisfaction of all replies to them, as labels."""
    chosen = truth["user"].drop_duplicates().sample(min(users, truth["user"].nunique()), random_state=seed)
    own = truth[truth["user"].isin(chosen)][["candidate", *TURN, "expected"]]
    return own.rename(columns={"expected": "score"})


def compare_to_truth(verdicts: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Return the judged and the true user macro of each candidate whose truth is known, a row a judge and candidate."""
    by_user = truth.groupby(["candidate", "user"])["expected"].mean()
    true = by_user.groupby("candidate").mean().rename("true").reset_index()
    columns = ["judge", "candidate", "user_macro", "user_macro_low", "user_macro_high"]
    return summary(verdicts)[columns].merge(true, on="candidate")
