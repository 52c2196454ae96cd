"""Patience of people rather than of tasks: the profile enters h (what the paper leaves as future work).

    people = make_profiles(115)                                     # users whose patience goes by their strictness
    dialogues = with_profiles(simulate_dialogues(policy, [p.user for p in people], 3000), {p.user.kind: p.words for p in people})
    train, test = split_by_user(dialogues)                             # no user stands on both sides
    model = PatienceModel(profile=True).fit(train)
    relative_patience(model, test)                             # estimated and true, a row a user

In the synthetic world a strict person brings less patience to the same task than a lenient one, and the profile
says so only in words ("demanding", "forgiving"), and only of some. So what a profile gives away is bounded; how much
of a held-out user's patience it does give away is the correlation over users.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from perslib.errors import DataError
from perslib.stats import SEED
from perslib.systems.deus.estimator import PatienceModel
from perslib.systems.deus.world.records import Dialogues
from perslib.systems.deus.world.users import User, user2
from perslib.worlds.lives import book, life

#: Patience = (usual − slope · strictness) · eq. 17, strictness held within ± 1.5; from about .9 to 2.1 times eq. 17.
USUAL, SLOPE, MOST = 1.5, 0.4, 1.5


class SimulatedUser(NamedTuple):
    """A simulated user, and what their profile says, entry by entry."""

    user: User
    words: tuple[str, ...]


def make_profiles(number: int, seed: int = SEED, language: str = "en") -> list[SimulatedUser]:
    """Return the first people of a synthetic world, each as patient as lenient.

    Of their profiles only the personality is read: few dialogues cannot tell what matters from a hundred entries.
    """
    profiles = []
    for i in range(number):
        one = life(i, seed, book(language))
        scale = USUAL - SLOPE * float(np.clip(one.strictness, -MOST, MOST))
        words = tuple(f"personality: {trait}" for trait in one.profile["personality"])
        profiles.append(SimulatedUser(replace(user2(), kind=one.user, scale=scale), words))
    return profiles


def with_profiles(dialogues: Dialogues, words: Mapping[str, Sequence[str]], least: int = 3) -> Dialogues:
    """Return the dialogues with their users' profiles as features: an entry each that at least so many users share."""
    missing = sorted({d.user for d in dialogues} - set(words))
    if missing:
        raise DataError(f"There is no profile of {', '.join(missing[:5])}.", "Give one for every user.")
    counts = pd.Series([entry for own in words.values() for entry in dict.fromkeys(own)]).value_counts()
    names = tuple(sorted(counts.index[counts >= least]))
    vectors = {user: np.array([name in set(own) for name in names], dtype=np.float32) for user, own in words.items()}
    return replace(
        dialogues, dialogues=tuple(replace(d, profile=vectors[d.user]) for d in dialogues), profile_names=names
    )


def split_by_user(dialogues: Dialogues, share: float = 0.7, seed: int = SEED) -> tuple[Dialogues, Dialogues]:
    """Return two parts by user: nobody is in both, the first has `share` of the users."""
    users = np.array(sorted({d.user for d in dialogues}))
    chosen = set(np.random.default_rng(seed).permutation(users)[: round(share * len(users))])
    first = np.array([d.user in chosen for d in dialogues])
    return dialogues[first], dialogues[~first]


def relative_patience(model: PatienceModel, dialogues: Dialogues) -> pd.DataFrame:
    """Return how patient each user is for the same task: patience over eq. 17, estimated and true; a row a user."""
    ends = model.remaining_budget(dialogues)
    frame = pd.DataFrame(
        [(d.user, d.true_patience, float(d.goal.sum())) for d in dialogues], columns=["user", "true", "task"]
    ).assign(estimated=ends["patience"].to_numpy())
    sums = frame.groupby("user").sum()
    table = pd.DataFrame({name: sums[name] / sums["task"] for name in ("estimated", "true")})
    return table.assign(dialogues=frame.groupby("user").size()).reset_index()
