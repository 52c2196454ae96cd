"""The tables of the replay page: who answered, who stands where, how firmly, and against the truth."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import pandas as pd

from perslib.corpus import TURN, Corpus
from perslib.llm import Backbone
from perslib.replay import (
    ORIGINAL,
    judged_by_themselves,
    prediction_powered,
    view_means,
)
from perslib.replay.candidates import family_of
from perslib.report.tables import formatted, interval
from perslib.report.words import name_of
from perslib.studies.replay import VIEWS, Standing
from perslib.text import join

#: A set with fewer turns says nothing of a ranking.
FEWEST_TURNS = 20
INTERVAL = interval(digits=3, zero=False)


def candidates_table(replies: pd.DataFrame) -> pd.DataFrame:
    """Who answers: candidate, context, backbone, replies, without (a reply), cut (by length), characters (median)."""
    rows = []
    for name, own in replies.groupby("candidate", sort=False):
        first = own.iloc[0]
        rows.append(
            {
                "candidate": name,
                "context": first["context"],
                "backbone": first["backbone"],
                "temperature": first["temperature"],
                "replies": len(own),
                "without": int(own["response"].isna().sum()),
                "cut": int((own["finish"] == "length").sum()),
                "characters": round(own["response"].str.len().median()),
            }
        )
    return pd.DataFrame(rows).dropna(axis=1, how="all")


def standings(summary: pd.DataFrame, ranks: pd.DataFrame) -> pd.DataFrame:
    """Table 8: candidates by user macro, with the ranks that the data leave open."""
    both = ranks[["candidate", "best_rank", "worst_rank"]].merge(summary, on="candidate", validate="1:1")
    return formatted(
        both.assign(rank_set=_ranks(both)),
        candidate="candidate",
        rank_set="rank_set",
        user_macro=INTERVAL,
        **{name: name for name in ("micro", "task_macro", "block_macro")},
        dsat=INTERVAL,
        **({"unscored": "unscored"} if both["unscored"].any() else {}),
    )


def by_set(on_each: Mapping[str, Standing]) -> pd.DataFrame:
    """Table 8 for each replay set, one below the other."""
    tables = {
        name: standings(on.summary, on.ranks).assign(turns=len(on.turns)) for name, on in on_each.items()
    }
    return pd.concat(tables, names=["replay_set"]).reset_index("replay_set").reset_index(drop=True)


def _ranks(both: pd.DataFrame) -> list[str]:
    ranks = both[["best_rank", "worst_rank"]].itertuples(index=False)
    return [
        "–" if pd.isna(best) else f"{best}" if best == worst else f"{best}–{worst}" for best, worst in ranks
    ]


def outcomes_table(compared: pd.DataFrame) -> pd.DataFrame:
    """Win, tie and lose with intervals, the mean difference, and its corrected p.

    Comparisons by several scores, which a column `score` names, and by several judges stay apart.
    """
    apart = [c for c in ("score", "judge") if c in compared and compared[c].nunique() > 1]
    ordered = compared.sort_values(
        [*apart, "mean_delta"], ascending=[True] * len(apart) + [False], kind="stable"
    )
    about = {"against": "other"} if ordered["other"].nunique() > 1 else {}
    cells = dict.fromkeys(("win", "tie", "lose", "mean_delta"), INTERVAL)
    return formatted(ordered, *apart, "candidate", **about, turns="n", **cells, p_holm="p_holm")


def enough_turns(sets: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The verdicts by replay set; sets with fewer than `FEWEST_TURNS` turns say nothing and are left out."""
    return {name: part for name, part in sets.items() if len(part[TURN].drop_duplicates()) >= FEWEST_TURNS}


def turns_in(sets: Mapping[str, pd.DataFrame]) -> str:
    """How many turns each set has, in words."""
    return join(f"{name_of(name)} {len(part[TURN].drop_duplicates())}" for name, part in sets.items())


def with_few_labels(
    verdicts: pd.DataFrame, labels: pd.DataFrame, score: str = "reference_cdf"
) -> pd.DataFrame:
    """Each candidate's mean by the labels alone, and by both labels and judge (prediction-powered).

    Columns: candidate, labels, labels_alone, both, width (of the second interval as a share of the first).
    """
    found = prediction_powered(verdicts, labels, score).query("labelled > 0")
    width = {name: found[f"{name}_high"] - found[f"{name}_low"] for name in ("powered", "classical")}
    return formatted(
        found.assign(width=width["powered"] / width["classical"]),
        candidate="candidate",
        labels="labelled",
        labels_alone=interval("classical", digits=3, zero=False),
        both=interval("powered", digits=3, zero=False),
        width="width",
    )


def some_labels(truth: pd.DataFrame, users: int, seed: int = 42) -> pd.DataFrame:
    """The true satisfaction of all replies of a few users drawn by the seed, as labels."""
    chosen = truth["user"].drop_duplicates().sample(min(users, truth["user"].nunique()), random_state=seed)
    return truth[truth["user"].isin(chosen)][["candidate", *TURN, "expected"]].rename(
        columns={"expected": "score"}
    )


def gain_by_selection(compared: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Mean difference from the recorded replies on each set of turns: a row a candidate, a column a set."""
    columns = {}
    for name, table in compared.items():
        own = table[table["other"] == ORIGINAL].set_index("candidate")
        columns[name] = pd.Series(INTERVAL(own, "mean_delta"), index=own.index)
    table = pd.DataFrame(columns).rename_axis("candidate").reset_index()
    first = next(iter(compared.values())).set_index("candidate")["mean_delta"]
    return table.sort_values("candidate", key=lambda names: -names.map(first), ignore_index=True)


def context_table(replies: pd.DataFrame, summary: pd.DataFrame) -> pd.DataFrame:
    """Table 9: who answered with what beside the prefix, and how satisfying that was."""
    about = candidates_table(replies)[["candidate", "context", "characters"]].merge(summary, on="candidate")
    return formatted(
        about,
        "candidate",
        "context",
        "characters",
        "micro",
        user_macro=INTERVAL,
        dsat=INTERVAL,
        turns="turns",
    )


def truth_of(corpus: Corpus, replies: pd.DataFrame) -> pd.DataFrame:
    """The true satisfaction with these replies, where a synthetic world knows it; empty elsewhere."""
    known = corpus.extras.get(
        "candidates", pd.DataFrame(columns=["candidate", *TURN, "expected", "response"])
    )
    return known.merge(replies[["candidate", *TURN, "response"]], on=["candidate", *TURN, "response"])


def side_by_side(
    verdicts: pd.DataFrame, frozen: pd.DataFrame, inclusion: pd.DataFrame | None = None
) -> pd.DataFrame:
    """User macros by judge, then by calibration of the frozen judge; candidates in rows."""
    judges, calibrations = (
        view_means(of, scores, inclusion=inclusion)
        for of, scores in ((verdicts, ("reference_cdf",)), (frozen, VIEWS))
    )
    if verdicts["judge"].nunique() == 1:
        return calibrations
    return pd.concat([judges, calibrations.drop(columns="reference_cdf")], axis=1)


def families(replies: pd.DataFrame, judging: Backbone) -> dict[str, str]:
    """Model families of the candidates and of the judges' model, as far as they are known."""
    known = replies.dropna(subset="family").drop_duplicates("candidate")
    of = dict(zip(known["candidate"], known["family"]))
    family = family_of(judging.model)
    return of | ({judging.name: family} if family else {})


def preference_table(found: pd.DataFrame) -> pd.DataFrame:
    """Self-preference with its interval, or why it cannot be told."""
    preference = interval(low="low", high="high", digits=3, zero=False)
    return formatted(found, "judge", "family", preference=preference, why="why")


def beside_truth(summary: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Judged and true user macro of each candidate whose truth is known, a row a judge and candidate."""
    by_user = truth.groupby(["candidate", "user"])["expected"].mean()
    true = by_user.groupby("candidate").mean().rename("true").reset_index()
    columns = ["judge", "candidate", "user_macro", "user_macro_low", "user_macro_high"]
    return summary[columns].merge(true, on="candidate")


def leaderboard(
    corpus: Corpus,
    replies: pd.DataFrame,
    verdicts: pd.DataFrame,
    summary: pd.DataFrame,
    ranks: pd.DataFrame,
    *,
    calibration: str,
    selection: str,
    first_look: bool,
    models: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """One judge's standings with all that says what they may be compared with: for the page over all runs."""
    turns = replies[TURN].drop_duplicates().sort_values(TURN)
    digest = hashlib.sha256(turns.to_csv(index=False).encode()).hexdigest()[:12]
    about = (
        replies.groupby("candidate", sort=False)[["context", "backbone", "temperature"]].first().reset_index()
    )
    both = about.merge(summary.drop(columns=["judge", "backbone"]), on="candidate").merge(
        ranks[["candidate", "best_rank", "worst_rank", "tied_first"]], on="candidate"
    )
    own = {candidate for candidate, _ in judged_by_themselves(replies, verdicts, models)}
    intervals = [f"{n}{end}" for n in ("user_macro", "dsat") for end in ("", "_low", "_high")]
    return pd.DataFrame(
        {
            **{c: both[c] for c in ("candidate", "context", "backbone", "temperature")},
            "judge": verdicts["judge"].iloc[0],
            "judge_prompt": verdicts["prompt"].dropna().iloc[0] if verdicts["prompt"].notna().any() else None,
            "judge_backbone": verdicts["backbone"].iloc[0],
            "calibration": calibration,
            "corpus": corpus.name,
            "corpus_digest": corpus.digest,
            "replay_set": selection,
            "set_digest": digest,
            **{c: both[c] for c in ("turns", "users", *intervals)},
            "rank_set": _ranks(both),
            "tied_first": both["tied_first"].astype(bool),
            "self_judged": both["candidate"].isin(own),
            "first_look": first_look,
        }
    )
