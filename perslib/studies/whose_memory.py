"""Memories that need no model, measured with the learned judge: how much of a memory is enough, and whose it has to be.

judged = judge_without_model(corpus)
compare_sizes(judged, corpus)           nothing, the level, statements, the nearest turns, all of the history
compare_owners(judged.owners, corpus)   the user's own evidence against that of others
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import Any, get_args

import numpy as np
import pandas as pd

from perslib.corpus import Block, Corpus
from perslib.judge import FromStatements, Judge, LearnedJudge, Nearest, Preferences, Verdict, borrowed, targets
from perslib.judge.base import frame
from perslib.judge.evaluate import fit, verdicts_on
from perslib.llm import Backbone, answered
from perslib.memory import turns_by_id
from perslib.memory.borrowed import Whose
from perslib.stats import agreement
from perslib.stats.resample.leave_out import name_bounds

OWN = "own"
OTHERS: tuple[Whose, ...] = get_args(Whose)
METRICS = ("pearson", "wb_pearson")
NOTHING, LEVEL, NEAREST, ALL = "nothing", "level", "nearest turns", "all of the history"
#: Numbers of statements, by what the memory is called then.
STATEMENTS = {"1 statement": 1, "3 statements": 3, "5 statements": 5, "all statements": 60}
#: Judged replies, if nothing else is said.
REPLIES = 600


@dataclass(frozen=True)
class FreeMemories:
    """Verdicts of the learned judge with several memories on the same replies."""

    sizes: pd.DataFrame
    """With more and more of the user's own history; judges are called by what they know."""
    owners: pd.DataFrame
    """With the user's own history and with those of others; judges are called by whose it is."""
    costs: pd.DataFrame
    """For each of the sizes what is read: memory, characters (a reply), milliseconds (a reply)."""


def judge_without_model(corpus: Corpus, limit: int = REPLIES, seed: int = 42) -> FreeMemories:
    """Judge the same replies of test users with each memory that no model has to write."""
    blocks = list(targets(corpus, limit=limit, seed=seed, has_score=True))
    learned = LearnedJudge()
    fit(learned, corpus, blocks)
    pool = corpus.of_users(dict.fromkeys(block.user for block in blocks))
    lent: dict[str, Judge] = {whose: borrowed(learned, pool, whose, seed) for whose in OTHERS}
    statements = {name: FromStatements.from_learned(learned, most=most) for name, most in STATEMENTS.items()}
    level = FromStatements.from_learned(learned, most=0)
    sizes: dict[str, Judge] = {NOTHING: lent["nothing"], LEVEL: level, **statements, NEAREST: Nearest(), ALL: learned}
    frames, costs = {}, []
    for name, judge in (sizes | lent).items():
        began = process_time()
        verdicts = verdicts_on(judge, blocks)
        took = 1000 * (process_time() - began)
        frames[name] = frame(judge, corpus, None, blocks, verdicts).assign(judge=name)
        if name in sizes:
            read = np.mean([_count_read(name, learned, *pair) for pair in zip(blocks, verdicts)])
            replies = sum(map(len, blocks))
            costs.append({"memory": name, "characters": read, "milliseconds": took / replies})
    owners = {OWN: frames[ALL].assign(judge=OWN), **{name: frames[name] for name in lent}}
    return FreeMemories(
        pd.concat([frames[name] for name in sizes], ignore_index=True),
        pd.concat(owners.values(), ignore_index=True),
        pd.DataFrame(costs),
    )


def _count_read(name: str, learned: LearnedJudge, block: Block, verdicts: Sequence[Verdict]) -> float:
    """How many characters of the user's a judge goes by for a reply."""
    turns = turns_by_id(block)
    lengths = {
        key: len(row["request"] or "") + len(row["response"]) for key, row in turns.items() if pd.notna(row["score"])
    }
    if name == ALL:
        return sum(lengths.values())
    if name == NEAREST:
        return float(np.mean([sum(lengths.get(key, 0) for key in verdict.evidence) for verdict in verdicts]))
    if name == NOTHING:
        return 0.0
    most = STATEMENTS.get(name, 0)
    memory = answered(partial(Preferences(judge=learned, most=most).build, block))
    return float(sum(len(statement.text) for statement in memory.statements if statement.points is not None))


def compare_sizes(judged: FreeMemories, corpus: Corpus) -> pd.DataFrame:
    """Compare memories by how much they hold, over users.

    Columns: memory, metric, value, value_low, value_high, gain over knowing nothing with its bounds and gain_p_holm,
    turns, users, characters, milliseconds (a reply).
    """
    found = agreement(judged.sizes, corpus, metrics=METRICS, controls=[NOTHING]).rename(columns={"judge": "memory"})
    kept = ["memory", "metric", *name_bounds("value"), *name_bounds("gain"), "gain_p_holm", "turns", "users"]
    return found[kept].merge(judged.costs, on="memory", how="left")


def judge_with_memories_of(
    judge: Judge,
    corpus: Corpus,
    backbone: Backbone | None = None,
    whose: Sequence[Whose] = OTHERS,
    limit: int | None = None,
    seed: int = 42,
) -> pd.DataFrame:
    """The judge's verdicts on the same replies with the user's own evidence and with that of others.

    Judges are called by whose evidence they saw: own, nearest …; the judge learns once. Evidence is lent among the users
    that are judged.
    """
    blocks = list(targets(corpus, limit=limit, seed=seed, has_score=True))
    fit(judge, corpus, blocks, backbone)
    pool = corpus.of_users(dict.fromkeys(block.user for block in blocks))
    asking = backbone if judge.sees.model else None
    frames = []
    judges: dict[str, Judge] = {OWN: judge} | {owner: borrowed(judge, pool, owner, seed) for owner in whose}
    for owner, one in judges.items():
        verdicts = frame(one, corpus, asking, blocks, verdicts_on(one, blocks, asking))
        frames.append(verdicts.assign(judge=owner))
    return pd.concat(frames, ignore_index=True)


def compare_owners(verdicts: pd.DataFrame, corpus: Corpus, metrics: Sequence[str] = METRICS) -> pd.DataFrame:
    """Compare a judge with its user's own memory and with those of others, over users.

    Columns: whose, metric, value, value_low, value_high, less (own less this one's, on the same replies), less_low,
    less_high, less_p, turns, users. A judge is personal by `less` of the nearest other's.
    """
    owners = [owner for owner in dict.fromkeys(verdicts["judge"]) if owner != OWN]
    measured = partial(agreement, corpus=corpus, metrics=metrics)
    values = measured(verdicts).rename(columns={"judge": "whose"})
    gains = []
    for owner in owners:
        both = verdicts[verdicts["judge"].isin([OWN, owner])]
        found = measured(both, controls=[owner])
        gains.append(found[found["judge"] == OWN].assign(whose=owner))
    names = {f"gain{end}": f"less{end}" for end in ("", "_low", "_high", "_p")}
    of_others = pd.concat(gains).rename(columns=names)[["whose", "metric", *names.values()]]
    kept = ["whose", "metric", "value", "value_low", "value_high", "turns", "users"]
    return values[kept].merge(of_others, how="left", on=["whose", "metric"])


def describe_memories(sizes: pd.DataFrame, owners: pd.DataFrame) -> dict[str, Any]:
    """Return the numbers of the sentences on both tables, all of Pearson's r.

    Keys: nothing, nearest, all (r); gain (all less nothing); own, own_low, own_high (the user's own less the nearest
    other's), has_interval, is_sure (whether that is above zero); smallest (the first memory within a tenth of the gain of
    all), reached, characters, all_characters.
    """
    r = sizes[sizes["metric"] == METRICS[0]].set_index("memory")
    nearest = owners[(owners["whose"] == "nearest") & (owners["metric"] == METRICS[0])].iloc[0]
    nothing, most = float(r.loc[NOTHING, "value"]), float(r.loc[ALL, "value"])
    near = r["value"] >= most - 0.1 * (most - nothing)
    smallest = str(r.index[near.to_numpy().argmax()])
    own, low, high = (float(nearest[f"less{end}"]) for end in ("", "_low", "_high"))
    return {
        **{"nothing": nothing, "nearest": float(nearest["value"]), "all": most, "gain": most - nothing},
        **{"own": own, "own_low": low, "own_high": high, "has_interval": np.isfinite(low), "is_sure": low > 0},
        **{"smallest": smallest, "reached": float(r.loc[smallest, "value"])},
        "characters": float(r.loc[smallest, "characters"]),
        "all_characters": float(r.loc[ALL, "characters"]),
    }
