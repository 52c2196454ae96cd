"""Memories that need no model, measured with the learned judge: how much of a memory is enough, and whose it has to be.

    judged = judge_without_model(corpus)
    compare_sizes(judged, corpus)           nothing, the level, statements, the nearest turns, all of the history
    trace_ladder(judged, corpus)            what the user's level adds, and what the user's tastes add beyond it
    compare_owners(judged.owners, corpus)   the user's own evidence against that of others

`judge_with_memories_of` compares owners for any judge, those that ask a model included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import process_time
from typing import Any, get_args

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, Block, Corpus
from perslib.judge import FromStatements, Judge, LearnedJudge, Nearest, Preferences, lend_history, select_blocks
from perslib.judge.base import make_verdict_frame
from perslib.judge.evaluate import fit_judge, judge_blocks
from perslib.llm import Backbone
from perslib.memory import turns_by_id
from perslib.memory.base import RecordingSystem
from perslib.memory.borrowed import Whose
from perslib.report.show.claims import Estimate, choose
from perslib.report.show.tables import format_number, show_estimate
from perslib.stats import agreement
from perslib.stats.resample.leave_one_out import name_bounds

OWN = "own"
OTHERS: tuple[Whose, ...] = get_args(Whose)
METRICS = ("pearson", "wb_pearson")
NOTHING, LEVEL, NEAREST, ALL = "nothing", "level", "nearest turns", "all of the history"
#: Numbers of statements beside the level, by what the memory is called then.
STATEMENTS = {LEVEL: 0, "1 statement": 1, "3 statements": 3, "5 statements": 5, "all statements": 60}
#: A gain in r below this does not matter, however sure it is.
LEAST = 0.005
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
    blocks, learned = list(select_blocks(corpus, limit=limit, seed=seed, has_score=True)), LearnedJudge()
    fit_judge(learned, corpus, blocks)
    owners = _judge_as(_lend(learned, corpus, blocks, OTHERS, seed), corpus, blocks)
    read = {name: RecordingSystem(Preferences(judge=learned, most=most)) for name, most in STATEMENTS.items()}
    judges: dict[str, Judge] = {name: FromStatements.from_learned(learned, memory) for name, memory in read.items()}
    nobody = _lend(learned, corpus, blocks, ["nothing"], seed)["nothing"]
    sizes, costs = [], []
    for name, judge in ({NOTHING: nobody} | judges | {NEAREST: Nearest(), ALL: learned}).items():
        began = process_time()
        sizes.append(_judge_as({name: judge}, corpus, blocks))
        took = 1000 * (process_time() - began) / len(sizes[-1])
        notes = read[name].notes.values() if name in read else ()
        lengths = [sum(len(s.text) for s in note.memory.statements if s.points is not None) for note in notes]
        characters = np.mean(lengths) if lengths else _count_characters(name, blocks, sizes[-1])
        costs.append({"memory": name, "characters": characters, "milliseconds": took})
    return FreeMemories(pd.concat(sizes, ignore_index=True), owners, pd.DataFrame(costs))


def _count_characters(name: str, blocks: Sequence[Block], verdicts: pd.DataFrame) -> float:
    """Return how many characters of rated turns a verdict rests on, on average: those it cites, all of the history, or
    none.
    """
    read = []
    for block, (_, own) in zip(blocks, verdicts.groupby(BLOCK, sort=False)):
        turns = turns_by_id(block).items()
        lengths = {id: len(t["request"] or "") + len(t["response"]) for id, t in turns if pd.notna(t["score"])}
        read += [sum(lengths.get(id, 0) for id in (lengths if name == ALL else cited)) for cited in own["evidence"]]
    return float(np.mean(read))


def compare_sizes(judged: FreeMemories, corpus: Corpus) -> pd.DataFrame:
    """Compare memories by how much they hold, over users.

    Columns: memory, metric, value, value_low, value_high, gain over knowing nothing with its bounds and gain_p_holm,
    turns, users, characters, milliseconds (a reply).
    """
    table = agreement(judged.sizes, corpus, metrics=METRICS, controls=[NOTHING]).rename(columns={"judge": "memory"})
    columns = ["memory", "metric", *name_bounds("value"), *name_bounds("gain"), "gain_p_holm", "turns", "users"]
    return table[columns].merge(judged.costs, on="memory", how="left")


def judge_with_memories_of(
    judge: Judge,
    corpus: Corpus,
    backbone: Backbone | None = None,
    whose: Sequence[Whose] = OTHERS,
    limit: int | None = None,
    seed: int = 42,
) -> pd.DataFrame:
    """Return the judge's verdicts on the same replies with the user's own evidence and with that of others.

    Judges are called by whose evidence they saw: own, nearest …; the judge learns once. Evidence is lent among the users
    that are judged.
    """
    blocks = list(select_blocks(corpus, limit=limit, seed=seed, has_score=True))
    fit_judge(judge, corpus, blocks, backbone)
    return _judge_as(
        _lend(judge, corpus, blocks, whose, seed), corpus, blocks, backbone if judge.inputs.model else None
    )


def _lend(judge: Judge, corpus: Corpus, blocks: Sequence[Block], whose: Sequence[Whose], seed: int) -> dict[str, Judge]:
    """Return the judge with the user's own evidence and with that of others, by whose it is."""
    pool = corpus.of_users(dict.fromkeys(block.user for block in blocks))
    return {OWN: judge} | {owner: lend_history(judge, pool, owner, seed) for owner in whose}


def _judge_as(
    judges: Mapping[str, Judge], corpus: Corpus, blocks: Sequence[Block], backbone: Backbone | None = None
) -> pd.DataFrame:
    """Return the verdicts of judges that have learned, each under the name that it has here."""
    frames = [
        make_verdict_frame(judge, corpus, backbone, blocks, judge_blocks(judge, blocks, backbone)).assign(judge=name)
        for name, judge in judges.items()
    ]
    return pd.concat(frames, ignore_index=True)


def compare_owners(verdicts: pd.DataFrame, corpus: Corpus, metrics: Sequence[str] = METRICS) -> pd.DataFrame:
    """Compare a judge with its user's own memory and with those of others, over users.

    Columns: whose, metric, value, value_low, value_high, less (own less this one's, on the same replies), less_low,
    less_high, less_p, turns, users. What the nearest other lacks is mostly the user's level: `trace_ladder` has what tastes add.
    """
    owners = [owner for owner in dict.fromkeys(verdicts["judge"]) if owner != OWN]
    measured = partial(agreement, corpus=corpus, metrics=metrics)
    values = measured(verdicts).rename(columns={"judge": "whose"})
    gains = []
    for owner in owners:
        both = verdicts[verdicts["judge"].isin([OWN, owner])]
        table = measured(both, controls=[owner])
        gains.append(table[table["judge"] == OWN].assign(whose=owner))
    names = {f"gain{end}": f"less{end}" for end in ("", "_low", "_high", "_p")}
    of_others = pd.concat(gains).rename(columns=names)[["whose", "metric", *names.values()]]
    columns = ["whose", "metric", "value", "value_low", "value_high", "turns", "users"]
    return values[columns].merge(of_others, how="left", on=["whose", "metric"])


def describe_own_history(owned: pd.DataFrame) -> tuple[str, dict[str, Any]]:
    """Return the wording and the numbers of what the user's own history is worth beside the nearest other's and a panel."""
    rows = owned[owned["metric"] == "pearson"].set_index("whose")
    own, nearest, panel = (rows.loc[name, "value"] for name in ("own", "nearest", "panel"))
    less = Estimate.of(rows.loc["nearest"], "less").between(own, nearest)
    numbers = {
        "own": format_number(own),
        "nearest": format_number(nearest),
        "panel": format_number(panel),
        "less": less,
    }
    return choose(
        less,
        open="With the most similar other user's history in place of the user's own r is {nearest}, with their own {own}: a difference of "
        "{less}. With a panel it is {panel}.",
        unknown="With the most similar other user's history in place of the user's own r is {nearest}, with their own {own}, with a panel "
        "{panel}; the difference has no interval.",
    ), numbers


def trace_ladder(judged: FreeMemories, corpus: Corpus) -> pd.DataFrame:
    """Return what knowing the user adds in two steps: the user's level, and what this user likes.

    Columns: step (likes: what everybody likes; level: that and how strict the user is; tastes: all of the history), metric, value with
    bounds, added (to the step before, on the same replies) with bounds and p, turns, users.
    """
    names = {NOTHING: "likes", LEVEL: "level", ALL: "tastes"}
    rows = []
    for memory, before in zip(names, [None, *names]):
        both = judged.sizes[judged.sizes["judge"].isin([memory, before])]
        table = agreement(both, corpus, metrics=METRICS, controls=[before] if before else [])
        rows.append(table[table["judge"] == memory].assign(step=names[memory]))
    table = pd.concat(rows).rename(columns={f"gain{end}": f"added{end}" for end in ("", "_low", "_high", "_p")})
    columns = ["step", "metric", *name_bounds("value"), *name_bounds("added", p=True), "turns", "users"]
    return table[columns].reset_index(drop=True)


def describe_ladder(ladder: pd.DataFrame) -> tuple[str, dict[str, Any]]:
    """Return the wording and the numbers of what knowing the user adds to r, of `trace_ladder`."""
    likes, level, tastes = (row for _, row in ladder[ladder["metric"] == METRICS[0]].iterrows())
    taste = replace(Estimate.of(tastes, "added", digits=2), least=LEAST)
    return choose(
        taste,
        above="**What this user likes adds {taste} to r**, beyond what everybody likes ({likes}) and how strict this user is (the level, "
        "{level}).",
        open="Everybody's likes give r = {likes}, how strict this user is (the level) adds {level}. What this user likes beyond that adds nothing "
        "that is shown, or that matters: {taste}.",
        below="Everybody's likes give r = {likes}, how strict this user is (the level) adds {level}; what is remembered beyond that makes the "
        "judge worse, by {taste}.",
        unknown="Everybody's likes give r = {likes}, this user's level adds {level}, what this user likes {taste}. Intervals need ten users.",
    ), {"likes": format_number(likes["value"], 2), "level": show_estimate(level, "added", 2), "taste": taste}


def find_smallest(sizes: pd.DataFrame) -> dict[str, Any]:
    """Return the first memory that is within a tenth of what all of the history gains in r: its name, r and characters, and those of all."""
    r = sizes[sizes["metric"] == METRICS[0]].set_index("memory")
    nothing, most = float(r.loc[NOTHING, "value"]), float(r.loc[ALL, "value"])
    near = r["value"] >= most - 0.1 * (most - nothing)
    smallest = str(r.index[near.to_numpy().argmax()])
    return {
        "smallest": smallest,
        "reached": float(r.loc[smallest, "value"]),
        "characters": float(r.loc[smallest, "characters"]),
        "all": most,
        "all_characters": float(r.loc[ALL, "characters"]),
    }
