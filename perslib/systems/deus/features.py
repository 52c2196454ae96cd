"""What the estimators of turn costs and patience see of a dialogue, and what a user who looks forward expects to pay.

They see goal, states, actions, what is unfinished, and the profile. What the simulator knows in truth (`true_costs`,
`true_patience`) stays behind in `features`.

Of a dialogue with m system turns, f_t = f(s_t, a_t) is what turn t does to the budget (a negative number), and h = h(goal) the budget
at the start (DEUS, section 4.1.2). What is left after turn k is

    B_k = f_1 + … + f_k + h             B_k = f_1 + … + f_k + h − h'_k   (a user who looks forward, eq. 16)

and the user's leaving says where it must lie. With y = +1 for success, −1 for failure, 0 for not known:

    loss1 = max(0, −y · B_m)         eq. 7 and 10: satisfied users leave with budget, the others without
    loss2 = max(0, −B_(m−1))         eq. 8 and 11: before the last turn there was budget, or they had left
    loss3 = Σ_t max(0, f_t − v_b)    eq. 9: every turn costs at least |v_b|

`full` is the sum of all three, `light` leaves loss2 out. The paper fits networks; weighted sums have the least loss exactly
(`perslib.systems.deus.linear`), and were nearer to the true costs wherever both were tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from perslib.errors import DataError
from perslib.stats import Floats
from perslib.systems.deus.world.records import Dialogues

Variant = Literal["full", "light"]
ActionFeatures = Literal["multihot", "onehot", "none"]
#: The ratio of eq. 16 is kept between 0 and this: h near zero must not blow the loss up.
MOST_RATIO = 10.0
TINY = 1e-6


@dataclass(frozen=True)
class Features:
    """Features of dialogues; turns of all dialogues stand below each other, and are padded when batches are cut."""

    by_turn: dict[str, np.ndarray]
    """turns (for f); where users look forward, rest and done: features for h of the unfinished and the finished part of
    the goal after each turn, left and begun: whether there is any."""
    goals: np.ndarray
    lengths: np.ndarray


def features(
    dialogues: Dialogues, *, actions: ActionFeatures = "multihot", profile: bool = False, forward: bool = False
) -> Features:
    """Return the features of dialogues; with `profile` h sees the user's.

    `forward` adds what is unfinished and finished after each turn.
    """
    if not len(dialogues):
        raise DataError("There are no dialogues.", "Collect or read some first.")
    of = np.repeat(np.arange(len(dialogues)), dialogues.turns)
    goal = np.stack([d.goal for d in dialogues]).astype(np.float32)
    profiles = np.zeros((len(dialogues), 0), np.float32)
    if profile:
        lacking, remedy = ("have no profile of their user", "Give every dialogue a profile, or fit without profile.")
        profiles = np.stack(dialogues.each("profile", lacking, remedy)).astype(np.float32)
    shown = [np.concatenate([d.states for d in dialogues])]
    if actions != "none":
        taken = np.concatenate([d.actions for d in dialogues])
        shown.append(getattr(dialogues.action_list, actions)[taken])
    by_turn: dict[str, np.ndarray] = {"turns": np.hstack(shown).astype(np.float32)}
    if forward:
        lacking = "do not say what is unfinished after each turn"
        remedy = "A user who looks forward is estimated from that; give `rest`, or fit with gamma=None."
        rest = np.concatenate(dialogues.each("rest", lacking, remedy)).astype(np.float32)
        done = goal[of] - rest
        by_turn |= {name: np.hstack([part, profiles[of]]) for name, part in (("rest", rest), ("done", done))}
        by_turn |= {"left": (rest > 0).max(axis=1), "begun": (done > 0).max(axis=1)}
    return Features(by_turn, np.hstack([goal, profiles]), dialogues.turns)


def expected_cost(
    spent: Floats, h_done: Floats, h_rest: Floats, gamma: float, *, done: np.ndarray, rest: np.ndarray
) -> Floats:
    """Return h'(g') = spent / h(g − g') · h(g') · γ: what the rest will cost at the rate seen so far (eq. 16).

    `done` and `rest` say whether anything is finished, and whether anything is left: with nothing left h' is 0, and
    with nothing finished the ratio is 1.
    """
    return np.asarray(differentiate_rest(spent, h_done, h_rest, gamma, done=done, rest=rest)[1] * h_rest, float)


def differentiate_rest(
    spent: Floats, h_done: Floats, h_rest: Floats, gamma: float, *, done: np.ndarray, rest: np.ndarray
) -> tuple[Floats, Floats, Floats]:
    """Return by how much `expected_cost` rises with what was spent and with h(rest), and falls with h(done)."""
    h_done = h_done + TINY
    ratio = np.clip(spent / h_done, 0.0, MOST_RATIO)
    by_spent = gamma * rest * (done & (ratio < MOST_RATIO)) * h_rest / h_done
    return by_spent, gamma * rest * np.where(done, ratio, 1.0), by_spent * ratio
