"""How the candidates of a replay compare: their standings on each set of turns, by each judge, and beside the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from perslib.corpus import TURN, Corpus
from perslib.llm import Backbone
from perslib.replay import against, rank_sets, summary, view_means
from perslib.replay.candidates import family_of
from perslib.report.words import name_of
from perslib.studies.extent import FEWEST_REPLIES
from perslib.studies.replay import Replay, chance, of_candidates

#: The calibrations that a ranking should survive.
VIEWS = ("reference_cdf", "reference_mean_shift", "real")


def candidates(replies: pd.DataFrame) -> pd.DataFrame:
    """Who answers: candidate, context, backbone, temperature, replies, without (a reply), cut (by length), characters
    (median); columns that say nothing are left out."""
    said = replies["response"]
    made = replies.assign(without=said.isna(), cut=replies["finish"].eq("length"), characters=said.str.len())
    by = made.groupby("candidate", sort=False)
    table = by[["context", "backbone", "temperature"]].first().assign(replies=by.size())
    table[["without", "cut"]] = by[["without", "cut"]].sum().astype(int)
    table["characters"] = by["characters"].median().round().astype("Int64")
    return table.reset_index().dropna(axis=1, how="all")


@dataclass(frozen=True)
class Standing:
    """One judge's candidates on one replay set, and their `rank_sets`."""

    turns: pd.DataFrame
    replies: pd.DataFrame
    verdicts: pd.DataFrame
    ranked: pd.DataFrame


def standings(run: Replay, verdicts: pd.DataFrame, seed: int = 42) -> dict[str, Standing]:
    """The judge's candidates on each replay set of a page, all turns of the set counted as they were drawn."""
    found = {}
    for name, turns in run.sets.items():
        replies = run.everywhere.merge(turns[TURN], on=TURN)
        own = of_candidates(verdicts, replies)
        found[name] = Standing(turns, replies, own, rank_sets(own, inclusion=chance(turns), seed=seed))
    return found


def beside(
    run: Replay,
    on_each: Mapping[str, Standing],
    drawn: Mapping[str, pd.DataFrame],
    fewest: int = FEWEST_REPLIES,
) -> dict[str, pd.DataFrame]:
    """The judge's verdicts by replay set: by each that the page replays in full, or where that is one alone, on it and
    on those of its turns that the published selection would take; without sets of fewer turns."""
    if len(on_each) > 1:
        found = {name: standing.verdicts for name, standing in on_each.items()}
    else:
        found = {"replayed": (whole := on_each[run.selection].verdicts)}
        found |= {"hard": whole.merge(drawn["hard"][TURN], on=TURN)} if "hard" in drawn else {}
    return {name: part for name, part in found.items() if count_turns(part) >= fewest}


def count_turns(frame: pd.DataFrame) -> int:
    """How many turns replies or verdicts are on."""
    return len(frame[TURN].drop_duplicates())


def gain_by_selection(sets: Mapping[str, pd.DataFrame], seed: int = 42) -> pd.DataFrame:
    """Mean difference from the recorded replies on each set of turns: a row a candidate, columns named by the sets."""
    parts = []
    for name, verdicts in sets.items():
        own = against(verdicts, seed=seed).set_index("candidate")
        named = {f"mean_delta{end}": f"{name}{end}" for end in ("", "_low", "_high")}
        parts.append(own[list(named)].rename(columns=named))
    table = pd.concat(parts, axis=1).sort_values(next(iter(sets)), ascending=False, kind="stable")
    return table.rename_axis("candidate").reset_index()


def outcomes(compared: pd.DataFrame) -> pd.DataFrame:
    """What a table of comparisons shows, the greatest difference first; several scores or judges stay apart."""
    apart = [c for c in ("score", "judge") if c in compared and compared[c].nunique() > 1]
    order = [True] * len(apart) + [False]
    ordered = compared.sort_values([*apart, "mean_delta"], ascending=order, kind="stable")
    other = ["other"] if compared["other"].nunique() > 1 else []
    bounds = [f"{c}{end}" for c in ("win", "tie", "lose", "mean_delta") for end in ("", "_low", "_high")]
    shown = [*apart, "candidate", *other, "n", *bounds, "mean_delta_p_holm"]
    return ordered[shown].rename(columns={"other": "against", "n": "turns"})


def side_by_side(
    verdicts: pd.DataFrame, frozen: pd.DataFrame, inclusion: pd.DataFrame | None = None
) -> pd.DataFrame:
    """User macros by judge, then by calibration of the frozen judge; candidates in rows."""
    judges = view_means(verdicts, inclusion=inclusion)
    calibrations = view_means(frozen, VIEWS[1:], inclusion=inclusion)
    return pd.concat([judges, calibrations], axis=1)


def name_pairs(views: pd.DataFrame) -> pd.DataFrame:
    """Those of `ranking_views` that have a τ; `pair` is both names in one line."""
    found = views.dropna(subset="tau")
    names = found[["view", "other"]].map(lambda view: ", ".join(map(name_of, view.split(" · "))))
    return found.assign(pair=names["view"] + " – " + names["other"])


def families(replies: pd.DataFrame, judging: Backbone) -> dict[str, str]:
    """Model families of the candidates and of the judges' model, as far as they are known."""
    known = replies.dropna(subset="family").drop_duplicates("candidate")
    family = family_of(judging.model)
    return dict(zip(known["candidate"], known["family"])) | ({judging.name: family} if family else {})


# -- the truth ---------------------------------------------------------------------------------------------------


def truth_of(corpus: Corpus, replies: pd.DataFrame) -> pd.DataFrame:
    """The true satisfaction with these replies, where a synthetic world knows it; empty elsewhere."""
    keys = ["candidate", *TURN, "response"]
    known = corpus.extras.get("candidates", pd.DataFrame(columns=[*keys, "expected"]))
    return known.merge(replies[keys], on=keys)


def some_labels(truth: pd.DataFrame, users: int, seed: int = 42) -> pd.DataFrame:
    """The true satisfaction of all replies of a few users drawn by the seed, as labels."""
    chosen = truth["user"].drop_duplicates().sample(min(users, truth["user"].nunique()), random_state=seed)
    own = truth[truth["user"].isin(chosen)][["candidate", *TURN, "expected"]]
    return own.rename(columns={"expected": "score"})


def beside_truth(verdicts: pd.DataFrame, truth: pd.DataFrame, seed: int = 42) -> pd.DataFrame:
    """Judged and true user macro of each candidate whose truth is known, a row a judge and candidate."""
    by_user = truth.groupby(["candidate", "user"])["expected"].mean()
    true = by_user.groupby("candidate").mean().rename("true").reset_index()
    columns = ["judge", "candidate", "user_macro", "user_macro_low", "user_macro_high"]
    return summary(verdicts, seed=seed)[columns].merge(true, on="candidate")
