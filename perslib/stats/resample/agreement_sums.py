"""Per-user sums from which every agreement metric can be computed, for the sample and without each user.

Nearly all metrics are functions of sums over turns: moments (Pearson, MAE, RMSE), the 5 × 5 confusion of gold
with rounded score (QWK and all of the boundary), a table of gold by score value (Spearman, AUC). Summed a user
first, the sample without one of them is a weighted sum of columns, and all of these are one matrix product.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.stats import rankdata

from perslib.stats.calibrate.user_scale import to_scale
from perslib.stats.resample.leave_one_out import Floats, Ints

#: Largest table of gold by score that intervals come from. Up to 204 different scores it is exact; finer scores are
#: taken together to as many groups of neighbouring ranks (32 where gold is centred and thus fine as well). The
#: sample's own value stays exact; those without a user move by less than 0.001 (0.003), far less than they vary.
CELLS = 1024
#: Columns of weights taken at a time: tables of this many fit into the processor's cache.
_CHUNK = 256


class AgreementSums:
    """Gold and scores of one judge, turn by turn, ready to be summed by user.

    `user` holds the user's number for each turn, `users` is how many users there are,
    including those of whom this judge scored nothing; `block` the number of the turn's block (user and scenario),
    without which a user counts as one block.
    """

    def __init__(
        self, gold: Floats, score: Floats, user: Ints, users: int, block: Ints | None = None, cells: int = CELLS
    ) -> None:
        self.gold, self.score = np.asarray(gold, float), np.asarray(score, float)
        self.user, self.users, self.cells = np.asarray(user, int), users, cells
        self.block = self.user if block is None else np.asarray(block, int)

    @classmethod
    def of(cls, frame: pd.DataFrame) -> AgreementSums:
        """Take turns from a frame with columns user, block, gold and score."""
        user, users = pd.factorize(frame["user"])
        gold, score, block = (frame[name].to_numpy() for name in ("gold", "score", "block"))
        return cls(gold, score, user, len(users), block)

    def __len__(self) -> int:
        return len(self.gold)

    def by_user(self, values: Floats) -> Floats:
        """Return the sum of the values over each user's turns."""
        return np.bincount(self.user, values, self.users).astype(float)

    @cached_property
    def turns(self) -> Ints:
        """Number of turns a user."""
        return np.bincount(self.user, minlength=self.users)

    @cached_property
    def moments(self) -> Floats:
        """Σ1, Σg, Σs, Σg², Σs², Σgs, Σ|s − g|, Σ(s − g)²; g and s shifted by their means for accuracy."""
        if not len(self):
            return np.zeros((8, self.users))
        g, s, error = self.gold - self.gold.mean(), self.score - self.score.mean(), self.score - self.gold
        parts = (np.ones(len(self)), g, s, g * g, s * s, g * s, np.abs(error), error**2)
        return np.stack([self.by_user(part) for part in parts])

    @cached_property
    def confusion(self) -> Floats:
        """Turns a user with gold i and rounded score j, as row 5 (i − 1) + j − 1."""
        cell = 5 * (to_scale(self.gold).astype(int) - 1) + to_scale(self.score).astype(int) - 1
        counts = np.bincount(cell * self.users + self.user, minlength=25 * self.users)
        return counts.reshape(25, self.users).astype(float)

    @cached_property
    def gold_levels(self) -> tuple[Ints, Floats]:
        """For each turn the number of its gold value, in ascending order; and a gold value of each number.

        It is the only one unless neighbours share the number: then the one that comes first in the data.
        """
        return _levels(self.gold, int(np.sqrt(self.cells)))

    @cached_property
    def score_levels(self) -> tuple[Ints, Floats]:
        """The same of the scores, as finely as the table allows."""
        return _levels(self.score, self.cells // max(len(self.gold_levels[1]), 1))

    @cached_property
    def table(self) -> csr_array:
        """Turns a user with each gold value and each score value: (gold value · scores + score value) × users."""
        (gold, golds), (score, scores) = self.gold_levels, self.score_levels
        shape = (len(golds) * len(scores), self.users)
        return csr_array((np.ones(len(self)), (gold * len(scores) + score, self.user)), shape=shape)

    @cached_property
    def each_user(self) -> WeightedSums:
        """Every user alone: one column a user."""
        return WeightedSums(self, np.eye(self.users))

    @cached_property
    def coarse(self) -> bool:
        """Whether different scores had to be taken together in the table."""
        exact = len(np.unique(self.gold)) == len(self.gold_levels[1])
        return not (exact and len(np.unique(self.score)) == len(self.score_levels[1]))

    @cached_property
    def within_users(self) -> AgreementSums:
        """Gold and scores less each user's own mean: what is left when the user's level is taken away."""
        return self._subtract_means(self.gold, self.user)

    @cached_property
    def within_blocks(self) -> AgreementSums:
        """Gold and scores less the mean of each block: nothing is left of what is known before the block."""
        return self._subtract_means(self.gold, self.block)

    @cached_property
    def centred_boundary(self) -> AgreementSums:
        """Satisfied or not (1, 0) and scores, less each user's own mean."""
        return self._subtract_means((to_scale(self.gold) >= 4).astype(float), self.user)

    @cached_property
    def of_ranks(self) -> AgreementSums:
        """Midranks of gold and of scores among each user's turns."""
        return AgreementSums(self._rank(self.gold), self._rank(self.score), self.user, self.users)

    def _subtract_means(self, gold: Floats, group: Floats) -> AgreementSums:
        turns = np.bincount(group)[group]
        # Rounded, or what is equal in decimals would be unequal in the last bit, and ranks would tell.
        gold, score = (np.round(v - np.bincount(group, v)[group] / turns, 12) for v in (gold, self.score))
        return AgreementSums(gold, score, self.user, self.users, cells=self.cells)

    def _rank(self, values: Floats) -> Floats:
        first = np.concatenate([[0], np.cumsum(self.turns)])[self.user]
        among_all = rankdata(values, method="dense") + self.user * (len(values) + 1.0)
        return rankdata(among_all) - first


def _levels(values: Floats, most: int) -> tuple[Ints, Floats]:
    """Return numbers the different values in ascending order; neighbours share a number where there are more than
    `most`.
    """
    unique, number = np.unique(values, return_inverse=True)
    if len(unique) > most:
        share = (rankdata(values) - 0.5) / len(values)
        _, first, number = np.unique((share * most).astype(int), return_index=True, return_inverse=True)
        unique = values[first]
    return number, unique


class WeightedSums:
    """The sums of one judge under each column of user weights (`perslib.stats.leave_out`)."""

    def __init__(self, sums: AgreementSums, weights: Floats) -> None:
        self.sums, self.weights = sums, weights

    @cached_property
    def moments(self) -> Floats:
        """See `AgreementSums.moments`; one column a sample."""
        return self.sums.moments @ self.weights

    @cached_property
    def confusion(self) -> Floats:
        """See `AgreementSums.confusion`; one column a sample."""
        return self.sums.confusion @ self.weights

    def tables(self) -> Iterator[Floats]:
        """Yield turns by gold value, score value and column, for some of the columns at a time."""
        values = len(self.sums.gold_levels[1]), len(self.sums.score_levels[1])
        for at in range(0, self.weights.shape[1], _CHUNK):
            part = self.weights[:, at : at + _CHUNK]
            yield (self.sums.table @ part).reshape(*values, part.shape[1])
