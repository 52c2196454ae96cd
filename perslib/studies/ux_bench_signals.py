"""The page on UXBench, its first part: what behaviour says, how far it is right, and what a memory makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from perslib.corpus import SESSION, TURN, Corpus
from perslib.errors import NotEnough
from perslib.judge import Judge, LearnedJudge, OfTask, UserMean
from perslib.judge.evaluate import evaluate, targets
from perslib.report.tables import labelled
from perslib.signals import (
    NEGATIVE,
    POSITIVE,
    PRECEDENCE,
    VOTES,
    behavioural,
    fit_votes,
    mined,
    signals_of,
    weak_labels,
)
from perslib.stats import RESAMPLES, SEED, Resamples, compare_auroc, correlation, floats, of_turns, with_wilson
from perslib.stats.measures import resampled
from perslib.stats.sums import Sums
from perslib.studies.extent import FEWEST_REPLIES
from perslib.text import as_paragraph, join, translate
from perslib.ux import name_turns, published

STRENGTHS = ["explicit", "strong", "weak"]
#: Signals of which only the primary one of a reply counts.
PRIMARY = ["continue", "no_followup", "superseded"]
#: A label counts as surer from these weights on.
WEIGHTS = (0.0, 0.3, 0.7)
#: Replies that judges with either memory are tried on.
JUDGED = 120
SATISFIED = 4


class Behaviour(NamedTuple):
    """What users did after replies."""

    replies: pd.DataFrame
    """A row a reply, as `perslib.signals.table` has it, and `conversation`, which session it belongs to."""
    rejected: pd.DataFrame
    """What of a log could not be read: kind, reason, count."""


def find_behaviour(corpus: Corpus, log: str = "") -> Behaviour:
    """Find the signals of a log (a .jsonl or .parquet file, or a folder of them), else of the corpus' conversations."""
    odd: list[tuple[str, str, int]] = []
    if log:
        found = mined(log)
        replies, session = found.table, ["record"]
        odd += [("no session", reason, n) for reason, n in found.rejected.items()]
        odd += [("odd", reason, n) for reason, n in found.notes.items()]
    else:
        replies, session = signals_of(corpus), SESSION
    if replies.empty:
        raise NotEnough(
            "Signals are what users do after a reply, and no session with a reply could be read from {log}."
            if log
            else "Signals are what users do after a reply, and {name} has requests without replies. Give a raw log: "
            "`-p log=PATH`.",
            log=log,
            name=corpus.name,
        )
    rejected = pd.DataFrame(odd, columns=["kind", "reason", "count"])
    return Behaviour(replies.assign(conversation=name_turns(replies, session)), rejected)


def count_signals(found: Behaviour) -> pd.DataFrame:
    """Count how often each signal was found, by strength, and in how many sessions; the paper's shares stand beside it.

    Columns: signal, found, explicit, strong, weak, primary, sessions_percent with Wilson bounds, published_percent.
    """
    replies, every = found.replies, list(PRECEDENCE)
    each = replies.explode("signals").dropna(subset="signals")
    each = each.assign(signal=each["signals"].str["name"], strength=each["signals"].str["strength"])
    table = pd.crosstab(each["signal"], each["strength"]).reindex(index=every, columns=STRENGTHS)
    table["primary"] = replies["primary"].value_counts()
    table.insert(0, "found", each["signal"].value_counts())
    table = table.fillna(0).astype(int)
    table["found"] = table["found"].where(table["found"] > 0, table["primary"])
    there = each.groupby("signal")["conversation"].nunique().reindex(every, fill_value=0)
    as_primary = replies.groupby("primary")["conversation"].nunique().reindex(every, fill_value=0)
    there = there.mask(there.index.isin(PRIMARY), as_primary)
    sessions = replies["conversation"].nunique()
    table = with_wilson(table.assign(sessions_percent=100 * there / sessions), "sessions_percent", sessions)
    theirs = published("signals").set_index("signal")
    table["published_percent"] = 100 * theirs["found"] / theirs["sessions"]
    table = table[(table["found"] > 0) | table["published_percent"].notna()]
    return table.rename_axis("signal").reset_index()


def count_outcomes(found: Behaviour) -> pd.DataFrame:
    """Count what became of replies that users spoke against.

    Columns: outcome, replies, percent with Wilson bounds. No row where users spoke against none.
    """
    outcomes = ["recovered", "failed_recovery", "unknown_left"]
    counts = found.replies["outcome"].value_counts().reindex(outcomes, fill_value=0)
    table = pd.DataFrame({"outcome": outcomes, "replies": counts.to_numpy()})
    if not counts.sum():
        return table.assign(percent=np.nan, percent_low=np.nan, percent_high=np.nan)[:0]
    return with_wilson(table.assign(percent=100 * table["replies"] / counts.sum()), "percent", counts.sum())


# -- against ratings --------------------------------------------------------------------------------------------------


def compare_with_ratings(corpus: Corpus, seed: int = SEED) -> pd.DataFrame:
    """Compare weak labels with test users' own scores, for labels of at least a weight; AUROC for a score of 4 and up.

    Columns: votes (as decided, and as train users' ratings teach them), least_weight, turns, share_of_turns, users, r and
    auroc with bounds.
    """
    signals, score = signals_of(corpus), floats(corpus.turns["score"])
    made = {"votes set by hand": weak_labels(signals)}
    with suppress(NotEnough):
        made["votes fitted on train users"] = weak_labels(signals, fit_votes(corpus))
    test = corpus.turns["user"].isin(corpus.split().get("test", corpus.users["user"])).to_numpy()
    rows = []
    for (votes, labels), least in product(made.items(), WEIGHTS):
        label = floats(labels["label"])
        gold = np.where(score >= SATISFIED, 1, -1)
        every = pd.DataFrame({"judge": "behaviour", "user": corpus.turns["user"].to_numpy(), "score": score})
        every = every.assign(case=every.index.astype(str), label=label, p_good=(label - 1) / 4, gold=gold)
        own = every[test & (labels["weight"].to_numpy() >= least)].dropna(subset=["score", "label"])
        if len(own) >= FEWEST_REPLIES and own["score"].nunique() > 1:
            r = correlation(own["label"], own["score"], own["user"], RESAMPLES, seed)
            about = {"votes": votes, "least_weight": least, "turns": len(own), "share_of_turns": len(own) / test.sum()}
            about |= {"users": own["user"].nunique(), **dict(zip(("r", "r_low", "r_high"), r))}
            auroc = compare_auroc(own, seed=seed)[["auroc", "auroc_low", "auroc_high"]]
            rows.append(about | auroc.iloc[0].to_dict())
    if not rows:
        raise NotEnough(
            "Too few of these replies have ratings. This section and the next need scores from 1 to 5 of {least} of "
            "them.",
            least=FEWEST_REPLIES,
        )
    return pd.DataFrame(rows)


def compare_scores_by_signal(corpus: Corpus, seed: int = SEED) -> pd.DataFrame:
    """Compare the users' mean score of replies with a signal with that of all others; users resampled.

    Columns: signal, turns, mean, difference with bounds; dissatisfied (share of 3 or lower) with bounds, beside that of all
    replies that were followed by a message, low_all.
    """
    found, known = signals_of(corpus), corpus.turns["score"].notna().to_numpy()
    score = floats(corpus.turns["score"])[known]
    users, rows = Resamples(corpus.turns["user"][known], seed=seed), []
    spoke = (found["primary"] != "no_followup").to_numpy()[known]
    base = float((score[spoke] < SATISFIED).mean()) if spoke.any() else np.nan
    for name in (*NEGATIVE, *POSITIVE, "ack"):
        shows = (found[name] > 0).to_numpy()[known]
        if 0 < shows.sum() < len(shows):
            with np.errstate(invalid="ignore", divide="ignore"):
                one, other = (users.total(score * own) / users.total(own) for own in (shows, ~shows))
            about = {"signal": name, "turns": int(shows.sum()), "mean": one[0]}
            low = users.estimate(users.mean(np.where(shows, score < SATISFIED, np.nan)), "dissatisfied")
            rows.append(about | users.estimate(one - other, "difference") | low | {"low_all": base})
    bounds = [f"{value}{end}" for value in ("difference", "dissatisfied") for end in ("", "_low", "_high")]
    return pd.DataFrame(rows, columns=["signal", "turns", "mean", *bounds, "low_all"])


@as_paragraph
def say_votes(by_signal: pd.DataFrame) -> Iterator[str]:
    """Which signals of dissatisfaction are not followed by more low scores here, and which have no vote at all."""
    own = by_signal[by_signal["signal"].isin(NEGATIVE)].dropna(subset="dissatisfied_low")
    sure = own["dissatisfied_low"] > own["low_all"]
    name = partial(labelled, prefix="ux ")
    if len(own):
        yield translate(
            "Their whole interval lies above the base rate: **{above}**; this corpus does not show it for: {others}.",
            above=join(map(name, own["signal"][sure])) or translate("none"),
            others=join(map(name, own["signal"][~sure])) or translate("none"),
        )
    yield translate(
        "Without a vote: {signals}, which did not lie above the base rate where it was tried on people's ratings.",
        signals=join(name(signal) for signal, (_, weight) in VOTES.items() if not weight),
    )


def quote_signals(corpus: Corpus, each: int = 10, seed: int = SEED) -> pd.DataFrame:
    """Quote replies by signal, at most so many of each, drawn at random: what was asked, and what the user said next.

    Columns: signal, score, user, assistant, request, next_message.
    """
    found, turns = signals_of(corpus), corpus.turns
    after = turns.groupby(SESSION, sort=False)["request"].shift(-1)
    about = {"score": turns["score"], "user": turns["user"], "assistant": of_turns(corpus, "assistant").to_numpy()}
    told = pd.DataFrame({**about, "request": turns["request"], "next_message": after})
    parts = []
    for name in (*NEGATIVE, *POSITIVE):
        own = told[(found[name] > 0).to_numpy() & after.notna().to_numpy()]
        parts.append(own.sample(min(each, len(own)), random_state=seed).assign(signal=name))
    table = pd.concat(parts)[["signal", *told]]
    for column in ("request", "next_message"):
        table[column] = table[column].str.replace(r"\s+", " ", regex=True).str.slice(0, 80)
    return table.reset_index(drop=True)


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
    memories = {"rated": corpus, "behaviour": weak, "shuffled": shuffled}
    blocks = {memory: list(targets(own, limit=limit, seed=seed)) for memory, own in memories.items()}
    # The least and the most that can be made of a memory without asking a model.
    ways = list(product([UserMean(), LearnedJudge()] if judges is None else judges, memories))
    said = {}
    for judge, memory in [*ways, (OfTask("mean"), "rated")]:
        own = [block for block in blocks[memory] if len(block)]
        found = evaluate(judge, memories[memory], blocks=own, progress=False).set_index(TURN)
        said[judge.name, memory] = found["expected"].fillna(found["raw"]).astype(float)
    scores = corpus.turns.set_index(TURN)["score"].dropna().astype(float)
    wide = pd.concat(said, axis=1).sort_index()
    known = wide[wide.index.isin(scores.index)].dropna()
    if len(known) < FEWEST_REPLIES:
        raise NotEnough("Memories are not compared: only {n} rated replies were scored by all judges.", n=len(known))
    users = Resamples(known.index.get_level_values("user"), seed=seed)
    gold, drawn, rows = scores.loc[known.index].to_numpy(), {}, []
    for name, memory in said:
        sums = Sums(gold, known[name, memory].to_numpy(), users.group, len(users))
        r = drawn[name, memory] = resampled(sums, ["pearson"], users.weights)["pearson"]
        rated = drawn[name, "rated"]
        share = np.divide(r, rated, out=np.full(len(r), np.nan), where=np.abs(rated) > 1e-9)
        about = {"judge": name, "memory": memory, "turns": len(known), "users": len(users)}
        kept = share if memory != "rated" else share[:1]
        rows.append(about | users.estimate(r, "r") | users.estimate(kept, "kept"))
    return pd.DataFrame(rows)
