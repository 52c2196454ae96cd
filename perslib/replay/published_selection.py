"""The published replay set: turns that went badly, chosen by what the users said of them (PersTurnBench, section 5).

It is here to reproduce published numbers. Because it picks replies that were rated low, new replies look better than
the recorded ones by regression to the mean alone; `stratified_set` does not.
"""

from __future__ import annotations

import pandas as pd

from perslib.corpus import SESSION, TURN, Corpus, coerce
from perslib.errors import DataError, Problem
from perslib.replay.sets import SIZE, check_size, split_turns

#: At most this many turns of a block.
OF_BLOCK = 3
#: Gold score → how many turns with it are added after each user's first.
QUOTAS = {1: 25, 2: 50, 4: 75}
#: Replies that say no more than that the request was heard. The published program has eight of them; these are ours.
ACKNOWLEDGEMENTS = frozenset(["好", "好的", "可以", "收到", "明白了", "没问题", "不客气", "谢谢"])
_UNSPECIFIC = frozenset(["", "其它", "其他", "other"])


def hard_set(corpus: Corpus, budget: int = SIZE, split: str | None = "test") -> pd.DataFrame:
    """The published selection of at most `budget` turns, without chance: a replay set.

    Every rated turn but the first of a session has a selection score, the sum of what `why` lists:

        +3 dissatisfied (gold ≤ 3)                    +1 substantive, −1.5 not substantive
        +2 near the boundary (gold 3 or 4)            +1 long request (≥ 20 characters)
        +1.5 specific reason (gold ≤ 3, not "other")  −0.5 rated 5

    *Substantive*: the request has 8 characters or more, the reply is no bare acknowledgement (without 。！!), and not
    both are shorter than 25. What is not, and was rated 4 or 5, is dropped.

    1. The best turn of each session. Of each block the best three rated 4 or lower; where there are fewer, one rated 5.
    2. All in the order of (−score, block id, sample id), compared as text, so that `turn_10` precedes `turn_2`.
    3. Each user's best, users in the order of their names; then, beyond those, the next 25 rated 1, the next 50 rated 2
       and the next 75 rated 4; then whatever is next, until the budget is spent.

    What the publication leaves open is decided so. The quotas count beyond each user's best, not together with them:
    the published set has 28, 53 and 86 such turns, and its 133 turns rated 3 are the 73 users' bests that remain and
    the 60 places that are left. The room for a turn rated 5 is within the three of a block. The request is the last
    message of a user before the reply, where several stand in a row, too; lengths do not count white space at the ends.

    Rows come in the order of the corpus. Gold is not in the frame; but `selection_score` and `why` tell of it, so they
    must not be shown to a candidate or a judge. A split without any rating is a `DataError`; where first turns alone are
    rated, the set is empty.
    """
    check_size(budget)
    turns = split_turns(corpus, split)
    # Before the first turns go: an unasked reply follows the user's last words, which may stand there.
    turns["asked"] = turns.groupby(SESSION, sort=False)["request"].ffill().fillna("").str.strip()
    turns = turns[turns["score"].notna()]
    if turns.empty:
        raise DataError(
            Problem(
                corpus.name,
                f"no turn in split {split!r} is rated, and the published selection goes by ratings",
            ),
            "Take stratified_set, which needs no ratings.",
        )
    turns = turns[turns["turn"] >= 1]
    candidates = _best_of_blocks(_ranked(turns))
    return coerce(
        candidates.loc[_within(candidates, budget), [*TURN, "selection_score", "why"]], "replay_turns"
    )


def _ranked(turns: pd.DataFrame) -> pd.DataFrame:
    """The turns that can be chosen, with ids, selection score and reasons, in the order of (−score, ids)."""
    gold, substantive = turns["score"].astype(int), _substantive(turns)
    specific = ~turns["reason"].fillna("").str.strip().str.lower().isin(_UNSPECIFIC)
    points = pd.DataFrame(
        {
            "dissatisfied": 3.0 * (gold <= 3),
            "near the boundary": 2.0 * gold.isin([3, 4]),
            "specific reason": 1.5 * ((gold <= 3) & specific),
            "substantive": 1.0 * substantive,
            "not substantive": -1.5 * ~substantive,
            "long request": 1.0 * (turns["asked"].str.len() >= 20),
            "rated 5": -0.5 * (gold == 5),
        }
    )
    block = turns["user"] + "__" + turns["scenario"]
    sample = block + "__" + turns["session"] + ".json__turn_" + turns["turn"].astype("str")
    why = [tuple(points.columns[row != 0]) for row in points.to_numpy()]
    turns = turns.assign(gold=gold, block=block, sample=sample, selection_score=points.sum(axis=1))
    turns["why"] = pd.Series(why, index=turns.index, dtype=object)
    turns["rank"] = -turns["selection_score"]
    return turns[substantive | (gold <= 3)].sort_values(["rank", "block", "sample"])


def _substantive(turns: pd.DataFrame) -> pd.Series:
    asked, reply = turns["asked"].str.len(), turns["response"].str.strip()
    bare = reply.str.replace("[。！!]", "", regex=True).isin(ACKNOWLEDGEMENTS)
    return (asked >= 8) & ~bare & ~((reply.str.len() < 25) & (asked < 25))


def _best_of_blocks(ranked: pd.DataFrame) -> pd.DataFrame:
    """One turn a session, up to three a block, still in order."""
    best = ranked.groupby(SESSION, sort=False).head(1)
    low, controls = best[best["gold"] <= 4], best[best["gold"] == 5].groupby("block", sort=False).head(1)
    full = low["block"].value_counts().loc[lambda held: held >= OF_BLOCK].index
    taken = pd.concat(
        [low.groupby("block", sort=False).head(OF_BLOCK), controls[~controls["block"].isin(full)]]
    )
    return taken.sort_values(["rank", "block", "sample"])


def _within(candidates: pd.DataFrame, budget: int) -> list[int]:
    """Which candidates the budget buys, in the order of the corpus."""
    firsts = candidates.drop_duplicates("user").sort_values("user")
    chosen = list(firsts.index[:budget])
    rest = candidates.drop(index=firsts.index)
    for score, quota in QUOTAS.items():
        chosen += rest.index[rest["gold"] == score][: min(quota, budget - len(chosen))].tolist()
    chosen += rest.index.difference(chosen, sort=False)[: budget - len(chosen)].tolist()
    return sorted(chosen)
