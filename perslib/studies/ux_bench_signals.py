"""The page on UXBench, its first part: what behaviour says, how far it is right, and what a memory makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from perslib.corpus import SESSION, TURN, Corpus
from perslib.errors import NotEnough
from perslib.judge import Judge, LearnedJudge, OfTask, UserMean
from perslib.judge.evaluate import evaluate, targets
from perslib.signals import NEGATIVE, POSITIVE, PRECEDENCE, behavioural, mined, signals_of, weak_labels
from perslib.stats import RESAMPLES, SEED, correlation, floats, pearson, wilson
from perslib.stats.resamples import Resamples
from perslib.studies.extent import FEWEST_REPLIES
from perslib.ux import discrimination, published

STRENGTHS = ["explicit", "strong", "weak"]
#: Signals of which only the primary one of a reply counts.
PRIMARY = ["continue", "no_followup", "superseded"]
#: A label counts as surer from these weights on.
WEIGHTS = (0.0, 0.3, 0.7)
#: Replies that judges with either memory are tried on.
JUDGED = 120
SATISFIED = 4


@dataclass(frozen=True)
class Behaviour:
    """A row a reply, as `perslib.signals.table` has it, and what of the log could not be read."""

    replies: pd.DataFrame
    session: list[str]
    """The columns that say to which session a reply belongs."""
    rejected: pd.DataFrame

    @property
    def sessions(self) -> int:
        """How many sessions have a reply."""
        return len(self.replies[self.session].drop_duplicates())


def find_behaviour(corpus: Corpus, log: str = "") -> Behaviour:
    """Find the signals of a log (a .jsonl or .parquet file, or a folder of them), else of the corpus' conversations."""
    if not log and corpus.turns.empty:
        raise NotEnough(
            "Signals are what users do after a reply, and {name} has requests without replies. Give a raw log: "
            "`-p log=PATH`.",
            name=corpus.name,
        )
    if not log:
        return Behaviour(signals_of(corpus), SESSION, pd.DataFrame(columns=["reason", "count"]))
    found = mined(log)
    if found.table.empty:
        raise NotEnough(
            "Signals are what users do after a reply, and no session with a reply could be read from {log}.",
            log=log,
        )
    odd = [("no session", r, n) for r, n in found.rejected.items()]
    odd += [("odd", r, n) for r, n in found.notes.items()]
    return Behaviour(found.table, ["record"], pd.DataFrame(odd, columns=["kind", "reason", "count"]))


def share_in_percent(counts: pd.Series, of: float) -> pd.DataFrame:
    """Counts as percent of a number of cases, with Wilson bounds: percent, percent_low, percent_high."""
    low, high = wilson(counts, of)
    return (
        pd.DataFrame({"percent": counts / of, "percent_low": low, "percent_high": high}, counts.index) * 100
    )


def count_signals(found: Behaviour) -> pd.DataFrame:
    """Count how often each signal was found, by strength, and in how many sessions; the paper's shares stand beside it.

    Columns: signal, found, explicit, strong, weak, primary, sessions_percent with Wilson bounds, published_percent.
    """
    replies, every = found.replies, list(PRECEDENCE)
    places = replies[found.session].astype(str).agg("/".join, axis=1)
    each = pd.DataFrame(
        [(place, s["name"], s["strength"]) for place, own in zip(places, replies["signals"]) for s in own],
        columns=["session", "signal", "strength"],
    )
    table = each.groupby(["signal", "strength"]).size().unstack().reindex(index=every, columns=STRENGTHS)
    table = table.fillna(0).astype(int)
    table["primary"] = replies["primary"].value_counts().reindex(every, fill_value=0)
    there = each.groupby("signal")["session"].nunique().reindex(every, fill_value=0)
    as_primary = places.groupby(replies["primary"]).nunique().reindex(every, fill_value=0)
    there = there.mask(there.index.isin(PRIMARY), as_primary)
    total = each["signal"].value_counts().reindex(every, fill_value=0)
    table.insert(0, "found", total.where(total > 0, table["primary"]))
    theirs = published("signals").set_index("signal").reindex(every)
    table = table.join(share_in_percent(there, found.sessions).add_prefix("sessions_"))
    table["published_percent"] = 100 * theirs["found"] / theirs["sessions"]
    table = table[(table["found"] > 0) | table["published_percent"].notna()]
    return table.rename_axis("signal").reset_index()


def count_outcomes(found: Behaviour) -> pd.DataFrame:
    """Count what became of replies that users spoke against.

    Columns: outcome, replies, percent with Wilson bounds. No row where users spoke against none.
    """
    outcomes = ["recovered", "failed_recovery", "unknown_left"]
    counts = found.replies["outcome"].value_counts().reindex(outcomes, fill_value=0).rename("replies")
    table = counts.to_frame().join(share_in_percent(counts, max(1, counts.sum())))
    return table.rename_axis("outcome").reset_index().iloc[: None if counts.sum() else 0]


# -- against ratings --------------------------------------------------------------------------------------------------


def compare_with_ratings(corpus: Corpus, seed: int = SEED) -> pd.DataFrame:
    """Compare weak labels with the users' own scores, for labels of at least a weight; AUROC for a score of 4 and up.

    Columns: least_weight, turns, share_of_turns, users, r and auroc with bounds.
    """
    labels, score = weak_labels(signals_of(corpus)), floats(corpus.turns["score"])
    every = pd.DataFrame({"judge": "behaviour", "user": corpus.turns["user"].to_numpy(), "score": score})
    every = every.assign(case=every.index.astype(str), label=floats(labels["label"]))
    every = every.assign(weight=labels["weight"].to_numpy(), p_good=(every["label"] - 1) / 4)
    every["gold"] = np.where(score >= SATISFIED, 1, -1)
    rows = []
    for least in WEIGHTS:
        own = every[every["weight"] >= least].dropna(subset=["score", "label"])
        if len(own) >= FEWEST_REPLIES and own["score"].nunique() > 1:
            r = correlation(own["label"], own["score"], own["user"], RESAMPLES, seed)
            about = {"least_weight": least, "turns": len(own), "share_of_turns": len(own) / len(every)}
            about |= {"users": own["user"].nunique(), **dict(zip(("r", "r_low", "r_high"), r))}
            rows.append(about | discrimination(own, seed=seed).iloc[0].to_dict())
    if not rows:
        raise NotEnough(
            "Too few of these replies have ratings. This section and the next need scores from 1 to 5 of {least} of "
            "them.",
            least=FEWEST_REPLIES,
        )
    bounds = [f"{name}{end}" for name in ("r", "auroc") for end in ("", "_low", "_high")]
    return pd.DataFrame(rows)[["least_weight", "turns", "share_of_turns", "users", *bounds]]


def compare_scores_by_signal(corpus: Corpus, seed: int = SEED) -> pd.DataFrame:
    """Compare the users' mean score of replies with a signal with that of all others; users resampled.

    Columns: signal, turns, mean, difference with bounds.
    """
    found, known = signals_of(corpus), corpus.turns["score"].notna().to_numpy()
    score = floats(corpus.turns["score"])[known]
    users, rows = Resamples(corpus.turns["user"][known], seed=seed), []
    for name in (*NEGATIVE, *POSITIVE, "ack"):
        shows = (found[name] > 0).to_numpy()[known]
        if 0 < shows.sum() < len(shows):
            with np.errstate(invalid="ignore", divide="ignore"):
                one, other = (users.total(score * own) / users.total(own) for own in (shows, ~shows))
            about = {"signal": name, "turns": int(shows.sum()), "mean": one[0]}
            rows.append(about | users.estimate(one - other, "difference"))
    bounds = ["difference", "difference_low", "difference_high"]
    return pd.DataFrame(rows, columns=["signal", "turns", "mean", *bounds])


# -- a memory of behaviour --------------------------------------------------------------------------------------------


def compare_memories(
    corpus: Corpus, limit: int = JUDGED, judges: Sequence[Judge] | None = None, seed: int = SEED
) -> pd.DataFrame:
    """Compare how well judges agree with the users' scores when they remember ratings, and when they remember behaviour.

    What a judge learns it learns from labels of the same kind; `task mean` on ratings and shuffled labels are the
    controls. All are compared on the replies that all scored, users resampled.

    Columns: judge, memory, turns, users, r, kept (r over that of the rated memory), both with bounds.
    """
    weak = behavioural(corpus)
    dealt = pd.array(weak.turns["score"].sample(frac=1, random_state=seed).to_numpy(), "Int64")
    shuffled = replace(weak, name=f"{corpus.name}-shuffled", turns=weak.turns.assign(score=dealt))
    said = {}
    for memory, own in {"rated": corpus, "behaviour": weak, "shuffled": shuffled}.items():
        blocks = [block for block in targets(own, limit=limit, seed=seed) if len(block)]
        control = [OfTask("mean")] if memory == "rated" else []
        # The least and the most that can be made of a memory without asking a model.
        for judge in [*([UserMean(), LearnedJudge()] if judges is None else judges), *control]:
            found = evaluate(judge, own, blocks=blocks, progress=False).set_index(TURN)
            said[judge.name, memory] = found["expected"].fillna(found["raw"]).astype(float)
    scores = corpus.turns.set_index(TURN)["score"].dropna().astype(float)
    wide = pd.concat(said, axis=1).sort_index()
    wide = wide[wide.index.isin(scores.index)]
    known = wide.dropna()
    if len(known) < FEWEST_REPLIES:
        raise NotEnough(
            "Memories are not compared: only {n} rated replies were scored by all judges.", n=len(known)
        )
    users = Resamples(known.index.get_level_values("user"), seed=seed)
    gold = scores.loc[known.index].to_numpy() - scores.loc[wide.index].mean()

    def correlate(column: tuple[str, str]) -> np.ndarray:
        x = known[column].to_numpy() - wide[column].mean()
        moments = (np.ones(len(x)), x, gold, x * x, gold * gold, x * gold)
        return pearson(np.array([users.by_unit(moment) for moment in moments]) @ users.weights)

    rows = []
    for name, memory in sorted(said, key=lambda column: [name for name, _ in said].index(column[0])):
        r, rated = correlate((name, memory)), correlate((name, "rated"))
        share = np.divide(r, rated, out=np.full(len(r), np.nan), where=np.abs(rated) > 1e-9)
        about = {"judge": name, "memory": memory, "turns": len(known), "users": len(users)}
        rows.append(
            about | users.estimate(r, "r") | users.estimate(share if memory != "rated" else share[:1], "kept")
        )
    return pd.DataFrame(rows)
