"""Which turns a rater goes through, and which comes next."""

from __future__ import annotations

from collections.abc import Container, Sequence

import numpy as np

from perslib.corpus import TURN, Block, Corpus
from perslib.explorer.journal import Key
from perslib.replay import stratified_set


def of_block(block: Block) -> list[Key]:
    """The replies of one user in one scenario, in the order in which they were given."""
    return [_key(row) for row in block.targets[TURN].itertuples(index=False, name=None)]


def drawn(corpus: Corpus, size: int, seed: int) -> list[Key]:
    """Turns drawn evenly from all users and scenarios, whatever they were scored (`perslib.replay.stratified_set`).

    They come in random order, so that whoever stops early has rated a sample all the same.
    """
    turns = stratified_set(corpus, size, split=None, seed=seed)
    rows = list(turns[TURN].itertuples(index=False, name=None))
    return [_key(rows[i]) for i in np.random.default_rng(seed).permutation(len(rows))]


def next_unrated(turns: Sequence[Key], rated: Container[Key], after: Key | None) -> Key | None:
    """The first turn behind `after` that is not rated, beginning anew at the end; None when all are."""
    start = turns.index(after) + 1 if after in turns else 0
    return next((key for key in [*turns[start:], *turns[:start]] if key not in rated), None)


def _key(row: tuple[object, ...]) -> Key:
    user, scenario, session, turn = row
    return str(user), str(scenario), str(session), int(str(turn))
