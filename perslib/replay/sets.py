"""Which turns are replayed: a fair draw from every block, which never looks at what the users said of them.

The published set (`hard_set`) is chosen by the users' scores and holds no reply that was rated 5, so that whatever
answers it anew looks like an improvement. Here every turn can be drawn, and it is known how likely, so that means
over the set estimate means over all turns of the split.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from perslib.corpus import BLOCK, TURN, Corpus, coerce
from perslib.errors import DataError, Problem, UnknownName

Ints = npt.NDArray[np.int64]

#: Turns of the published set; a fair one is as large, so that the two can be compared.
SIZE = 300


def stratified_set(
    corpus: Corpus, size: int = SIZE, split: str | None = "test", seed: int = 42
) -> pd.DataFrame:
    """Turns drawn from the blocks (user, scenario) of a split, with the probability of each: a replay set.

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
        return _replay_turns(turns.assign(inclusion=1.0))
    user, block = (turns.groupby(by, sort=False).ngroup().to_numpy() for by in ("user", BLOCK))
    chosen, inclusion = draw(user, block, size, np.random.default_rng(seed))
    return _replay_turns(turns.assign(inclusion=inclusion)[chosen])


def split_turns(corpus: Corpus, split: str | None) -> pd.DataFrame:
    """The turns of a split's blocks (None: of all), block after block; users in the order of their names."""
    users = None
    if split is not None:
        parts = corpus.split()
        if split not in parts:
            raise UnknownName("split", split, parts)
        users = parts[split]
    blocks = pd.DataFrame(corpus.block_ids(users), columns=BLOCK, dtype="str")
    return blocks.merge(corpus.turns, on=BLOCK, how="inner", sort=False)


def check_size(size: int) -> None:
    """An error for a set of no turns."""
    if size < 1:
        raise DataError(Problem("size of the replay set", f"is {size}, expected 1 or more"))


def _replay_turns(turns: pd.DataFrame) -> pd.DataFrame:
    return coerce(turns, "replay_turns")


def draw(user: Ints, block: Ints, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Which turns are drawn, and how likely each was, from the numbers (0, 1, …) of each turn's user and block."""
    held = np.bincount(block)
    expected = _expected(held, size)
    owner = np.zeros(len(held), dtype=np.int64)
    owner[block] = user
    # Were a user's scenarios in a fixed order, every fourth block would be the same scenario.
    order = np.lexsort((rng.random(len(held)), owner))
    drawn = _rounded(expected, order, rng)
    # The first n_h turns of a block in random order are a simple random sample of it.
    shuffled = np.lexsort((rng.random(len(block)), block))
    place = np.empty(len(block), dtype=np.int64)
    place[shuffled] = np.arange(len(block)) - np.repeat(np.cumsum(held) - held, held)
    return place < drawn[block], (expected / held)[block]


def _expected(held: Ints, size: int) -> np.ndarray:
    """How many turns each block gives on average, from how many it holds."""
    if size <= len(held):
        return np.full(len(held), size / len(held))
    least = np.zeros(len(held), dtype=bool)  # blocks so small that their share is the one turn that all have
    while True:
        share = (size - least.sum()) / held[~least].sum()
        below = ~least & (share * held < 1)
        if not below.any():
            return np.where(least, 1.0, share * held)
        least |= below


def _rounded(expected: np.ndarray, order: Ints, rng: np.random.Generator) -> Ints:
    """Each number rounded down, or up with the probability of its fraction, so that the sum stays what it is.

    Systematic sampling: fractions laid end to end in this order, one random start, a hit at each whole step.
    """
    whole = np.floor(expected)
    ends = np.cumsum((expected - whole)[order])
    hits = rng.random() + np.arange(round(ends[-1]))
    up = np.zeros(len(expected), dtype=np.int64)
    up[order[np.minimum(np.searchsorted(ends, hits, side="right"), len(order) - 1)]] = 1
    return whole.astype(np.int64) + up
