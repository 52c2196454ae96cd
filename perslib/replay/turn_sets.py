"""Which turns are replayed, and what they are like beside all turns of the split.

`stratified_set` is a fair draw from every block, which never looks at what the users said of the turns: every turn can
be drawn, and it is known how likely, so that means over the set estimate means over all turns of the split.

`hard_set` is the published set (PersTurnBench, section 5): turns that went badly, chosen by the users' scores. It is here
to reproduce published numbers. It holds no reply that was rated 5, so new replies look better than the recorded ones by
regression to the mean alone. `describe_turn_sets` looks at gold, for reports only.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, SESSION, TURN, Corpus, coerce
from perslib.errors import DataError, Problem
from perslib.paths import read_toml
from perslib.replay.replies import known_turns
from perslib.stats.resample.leave_one_out import Bools, Floats, Ints, floats

#: Turns of the published set; a fair one is as large, so that the two can be compared.
SIZE = 300


def stratified_set(corpus: Corpus, size: int = SIZE, split: str | None = "test", seed: int = 42) -> pd.DataFrame:
    """Return turns drawn from the blocks (user, scenario) of a split, with the probability of each: a replay set.

    All turns with a request can be drawn, also the first of a session and unrated ones. Of block h with N_h of the
    N turns, n_h are drawn without replacement, all of its turns alike; `inclusion` is E[n_h] / N_h. With H blocks,

        E[n_h] = size / H            if size ≤ H: one turn of that many blocks, spread evenly over the users
        E[n_h] = max(1, c · N_h)     else: every block has a turn, larger ones more; c makes them sum to `size`

    and n_h is E[n_h] rounded down or up by systematic sampling over the blocks, user after user, a user's scenarios in
    random order: exactly `size` turns come, and each user's number is within one of its expectation. Hence Σ y / π is
    unbiased for the total of y over all turns. With size ≥ N every turn is taken, with probability 1.
    """
    check_size(size)
    turns = split_turns(corpus, split)
    turns = turns.loc[turns["request"].notna(), TURN].reset_index(drop=True)
    if turns.empty:
        raise DataError(
            Problem(corpus.name, f"no turn with a request to replay in split {split!r}"),
            "Take another split, or None for all users.",
        )
    if size >= len(turns):
        return coerce(turns.assign(inclusion=1.0), "replay_turns")
    user, block = (turns.groupby(by, sort=False).ngroup().to_numpy() for by in ("user", BLOCK))
    chosen, inclusion = sample_turns(user, block, size, np.random.default_rng(seed))
    return coerce(turns.assign(inclusion=inclusion)[chosen], "replay_turns")


def split_turns(corpus: Corpus, split: str | None) -> pd.DataFrame:
    """Return the turns of a split's blocks (None: of all), block after block; users in the order of their names."""
    blocks = pd.DataFrame(corpus.block_ids(corpus.users_of(split)), columns=BLOCK, dtype="str")
    return blocks.merge(corpus.turns, on=BLOCK, how="inner", sort=False)


def check_size(size: int) -> None:
    """Raise an error for a set of no turns."""
    if size < 1:
        raise DataError(Problem("size of the replay set", f"is {size}, expected 1 or more"))


def sample_turns(user: Ints, block: Ints, size: int, rng: np.random.Generator) -> tuple[Bools, Floats]:
    """Return which turns are drawn, and how likely each was, from the numbers (0, 1, …) of each turn's user and block."""
    held = np.bincount(block)
    expected = _divide_among_blocks(held, size)
    owner = np.zeros(len(held), dtype=np.int64)
    owner[block] = user
    # Were a user's scenarios in a fixed order, every fourth block would be the same scenario.
    order = np.lexsort((rng.random(len(held)), owner))
    drawn = _round_at_random(expected, order, rng)
    # The first n_h turns of a block in random order are a simple random sample of it.
    shuffled = np.lexsort((rng.random(len(block)), block))
    place = np.empty(len(block), dtype=np.int64)
    place[shuffled] = np.arange(len(block)) - np.repeat(np.cumsum(held) - held, held)
    return place < drawn[block], (expected / held)[block]


def _divide_among_blocks(held: Ints, size: int) -> Floats:
    """Return how many turns each block gives on average, from how many it holds."""
    if size <= len(held):
        return np.full(len(held), size / len(held))
    least = np.zeros(len(held), dtype=bool)  # blocks so small that their share is the one turn that all have
    while True:
        share = (size - least.sum()) / held[~least].sum()
        below = ~least & (share * held < 1)
        if not below.any():
            return np.where(least, 1.0, share * held)
        least |= below


def _round_at_random(expected: Floats, order: Ints, rng: np.random.Generator) -> Ints:
    """Return each number rounded down, or up with the probability of its fraction, so that the sum stays what it is.

    Systematic sampling: fractions laid end to end in this order, one random start, a hit at each whole step.
    """
    whole = np.floor(expected)
    ends = np.cumsum((expected - whole)[order])
    hits = rng.random() + np.arange(round(ends[-1]))
    up = np.zeros(len(expected), dtype=np.int64)
    up[order[np.minimum(np.searchsorted(ends, hits, side="right"), len(order) - 1)]] = 1
    return whole.astype(np.int64) + up


#: At most this many turns of a block.
OF_BLOCK = 3
#: Gold score → how many turns with it are added after each user's first.
QUOTAS = {1: 25, 2: 50, 4: 75}
_SAID = read_toml(__file__, "hard_set.toml")


def hard_set(corpus: Corpus, budget: int = SIZE, split: str | None = "test") -> pd.DataFrame:
    """Return the published selection of at most `budget` turns, without chance: a replay set.

    Every rated turn but the first of a session has a selection score, the sum of what `why` lists:

        +3 dissatisfied (gold ≤ 3)                    +1 substantive, −1.5 not substantive
        +2 near the boundary (gold 3 or 4)            +1 long request (≥ 20 characters)
        +1.5 specific reason (gold ≤ 3, not "other")  −0.5 rated 5

    *Substantive*: the request has 8 characters or more, the reply is no bare acknowledgement (full stops and exclamation
    marks aside), and not both are shorter than 25. What is not, and was rated 4 or 5, is dropped.

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
            Problem(corpus.name, f"no turn in split {split!r} is rated, and the published selection goes by ratings"),
            "Take stratified_set, which needs no ratings.",
        )
    turns = turns[turns["turn"] >= 1]
    candidates = _best_of_blocks(_rank_turns(turns))
    return coerce(candidates.loc[_within(candidates, budget), [*TURN, "selection_score", "why"]], "replay_turns")


def _rank_turns(turns: pd.DataFrame) -> pd.DataFrame:
    """Return the turns that can be chosen, with ids, selection score and reasons, in the order of (−score, ids)."""
    gold, substantive = turns["score"].astype(int), _substantive(turns)
    specific = ~turns["reason"].fillna("").str.strip().str.lower().isin(_SAID["unspecific"])
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
    bare = reply.str.replace("[\u3002\uff01!]", "", regex=True).isin(_SAID["acknowledgements"])
    return (asked >= 8) & ~bare & ~((reply.str.len() < 25) & (asked < 25))


def _best_of_blocks(ranked: pd.DataFrame) -> pd.DataFrame:
    """Return one turn a session, up to three a block, still in order."""
    best = ranked.groupby(SESSION, sort=False).head(1)
    low, controls = best[best["gold"] <= 4], best[best["gold"] == 5].groupby("block", sort=False).head(1)
    full = low["block"].value_counts().loc[lambda held: held >= OF_BLOCK].index
    taken = pd.concat([low.groupby("block", sort=False).head(OF_BLOCK), controls[~controls["block"].isin(full)]])
    return taken.sort_values(["rank", "block", "sample"])


def _within(candidates: pd.DataFrame, budget: int) -> list[int]:
    """Return which candidates the budget buys, in the order of the corpus."""
    firsts = candidates.drop_duplicates("user").sort_values("user")
    chosen = list(firsts.index[:budget])
    rest = candidates.drop(index=firsts.index)
    for score, quota in QUOTAS.items():
        chosen += rest.index[rest["gold"] == score][: min(quota, budget - len(chosen))].tolist()
    chosen += rest.index.difference(chosen, sort=False)[: budget - len(chosen)].tolist()
    return sorted(chosen)


def describe_turn_sets(corpus: Corpus, sets: Mapping[str, pd.DataFrame], split: str | None = "test") -> pd.DataFrame:
    """Return replay sets side by side, and "all", the split that they stand for: one column each, indexed by part and
    value.

    Parts "turns", "users", "blocks" and "rated" are counts, "mean gold" a mean; "mean gold, weighted" is the Hájek mean
    Σ y/π / Σ 1/π, which estimates the mean of all turns (missing where no chance was involved). "gold", "scenario" and
    "turn" have one row a value, with the share of turns (of the rated turns for gold); 0 where a set has no such turn.
    """
    profiles = {"all": _profile(corpus, split_turns(corpus, split))}
    profiles |= {name: _profile(corpus, chosen) for name, chosen in sets.items()}
    order = pd.concat(profiles.values()).index.drop_duplicates()
    table = pd.DataFrame({name: profiles[name].reindex(order) for name in (*sets, "all")})
    listed = order.get_level_values("value") != ""
    return table.where(~listed[:, None] | table.notna(), 0.0)


def _profile(corpus: Corpus, replay_turns: pd.DataFrame) -> pd.Series:
    """Return a replay set in numbers, indexed by part and value."""
    turns = known_turns(corpus, replay_turns)
    gold = floats(turns[TURN].merge(corpus.turns[[*TURN, "score"]], on=TURN, how="left")["score"])
    rated = np.isfinite(gold)
    weight = np.where(rated, 1 / floats(turns["inclusion"]), 0.0)
    numbers = {
        "turns": len(turns),
        "users": turns["user"].nunique(),
        "blocks": len(turns[BLOCK].drop_duplicates()),
        "rated": rated.sum(),
        "mean gold": gold[rated].mean() if rated.any() else np.nan,
        "mean gold, weighted": np.nansum(weight * gold) / weight.sum() if rated.any() else np.nan,
    }
    shares = {(part, ""): float(number) for part, number in numbers.items()}
    listed = {
        "gold": (pd.Series(gold[rated], dtype=int), range(1, 6)),
        "scenario": (turns["scenario"], corpus.scenarios),
        "turn": (turns["turn"], sorted(turns["turn"].unique())),
    }
    for part, (values, known) in listed.items():
        counted = values.value_counts(normalize=True)
        shares |= {(part, str(value)): float(counted.get(value, 0.0)) for value in known}
    return pd.Series(shares).rename_axis(["part", "value"])
