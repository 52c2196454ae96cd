"""Who is learned from and who is judged: splits by user."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np


def group_shuffle_split(users: Iterable[str], train: float = 0.2, seed: int = 42) -> dict[str, list[str]]:
    """Draw train and test users the way PersTurnBench does (section 4.1).

    The sorted users are permuted by NumPy's legacy generator; the first ⌈(1−train)·n⌉ are test users, the
    next ⌊train·n⌋ train users. The same users come out as from scikit-learn's GroupShuffleSplit.
    """
    if not 0 < train < 1:
        raise ValueError(f"train is the share of users to learn from, between 0 and 1; got {train}")
    names = sorted(set(users))
    order = np.random.RandomState(seed).permutation(len(names))
    # Rounded first, so that 0.8 × 5 is 4 users and not 4.000000001.
    n_test = math.ceil(round((1 - train) * len(names), 9))
    n_train = math.floor(round(train * len(names), 9))
    return {
        "train": sorted(names[i] for i in order[n_test : n_test + n_train]),
        "test": sorted(names[i] for i in order[:n_test]),
    }
