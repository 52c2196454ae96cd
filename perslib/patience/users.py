"""When a user leaves: users 1, 2 and 3, and people who differ in patience (DEUS, sections 3.5 and 4.1.2).

User 1 says up to four things a turn and stays until done. User 2 says one thing, pays slot_number(a) + 1 a turn out of
h(goal), and leaves once the budget is below zero. User 3 also looks ahead: what is left must cover what the rest will
probably cost, given the cost of what is finished,

    h'(g') = cost_spent / h(g − g') · h(g') · γ                                        (eq. 16).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from perslib.errors import PerslibError
from perslib.patience.goals import Goal

MAX_TURNS = 20


@dataclass(frozen=True)
class User:
    """A kind of user; `scale`, `noise` (standard deviation) and `profile` make one differ from eq. 17."""

    kind: str
    items: int = 1
    budget: bool = True
    forward: bool = False
    gamma: float = 0.3
    granularity: str = "slot"
    max_turns: int = MAX_TURNS
    scale: float = 1.0
    noise: float = 0.0
    quits: float = 0.0  # chance to leave after a turn for no reason of the dialogue's
    profile: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < self.gamma <= 1:
            raise PerslibError(f"γ is {self.gamma}; expected 0 < γ ≤ 1 (eq. 16; 0.3 keeps dialogues alive).")
        if self.granularity not in ("slot", "domain"):
            raise PerslibError(f"Granularity is {self.granularity!r}; expected 'slot' or 'domain'.")
        if self.items < 1 or self.max_turns < 1:
            raise PerslibError("A user says at least one thing a turn, for at least one turn.")

    def patience(self, goal: Goal, rng: np.random.Generator) -> float:
        """What the user sets out with: eq. 17, for people scaled and with noise, never below one turn's cost."""
        if self.scale == 1 and not self.noise:
            return float(goal.patience)
        return float(max(1.0, self.scale * goal.patience + self.noise * rng.standard_normal()))

    def without_exits(self) -> User:
        """The same user, who stays however dear it gets: agents are trained with this one."""
        return replace(self, budget=False, forward=False, quits=0.0)


def user1() -> User:
    """Only wants the task done, in few turns."""
    return User("user1", items=4, budget=False)


def user2() -> User:
    """One question or answer a turn; leaves when the budget is overspent."""
    return User("user2")


def user3(gamma: float = 0.3, granularity: str = "slot") -> User:
    """User 2 who also leaves when the rest will probably cost more than is left."""
    return User("user3", forward=True, gamma=gamma, granularity=granularity)


def outlook(spent: float, done: float, rest: float, gamma: float, granularity: str = "slot") -> float:
    """h'(g') of eq. 16, for h(g − g') = `done` and h(g') = `rest`.

    Nothing left: 0. Nothing finished yet: by slots the ratio counts as 1; by domains there is no experience to go
    by, and the outlook is 0. By domains, `spent` is the cost up to the last finished domain.
    """
    if rest == 0 or (done == 0 and granularity == "domain"):
        return 0.0
    return (spent / done if done else 1.0) * rest * gamma


TRAITS = ("hurried", "expert", "chatty", "older")
#: What each trait adds to the share of eq. 17 that a person is ready to spend, on top of `PLAIN`.
EFFECTS, PLAIN = (-0.4, -0.2, 0.3, 0.5), 1.4


def people(number: int, seed: int = 42, like: User | None = None) -> list[User]:
    """Users of one kind who differ in patience by their traits, which stand in `profile`.

    patience = (1.4 + Σ effect · trait) · eq. 17, so profiles explain what goals cannot.
    """
    rng = np.random.default_rng(seed)
    traits = (rng.random((number, len(TRAITS))) < 0.5).astype(float)
    base = like or user2()
    return [
        replace(
            base, kind=f"{base.kind}:{i}", scale=float(PLAIN + row @ np.array(EFFECTS)), profile=tuple(row)
        )
        for i, row in enumerate(traits)
    ]


def profile_names(users: Iterable[User]) -> tuple[str, ...]:
    """Names for the profile vector: the traits, or nothing for users without a profile."""
    return TRAITS if any(user.profile for user in users) else ()
