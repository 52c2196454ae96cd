"""What is learned from how dialogues end: f, what a turn does to the budget, and h, the budget at the start.

Both are small multilayer perceptrons (DEUS, section 4.1.2); their sizes are not in the paper. f has no
constraint on its sign: eq. 9 sees to it. h is positive by a softplus (eq. 5).

They see goal, states, actions, what is unfinished, and the profile. What the simulator knows in truth (`true_costs`,
`true_patience`) stays behind in `features`.

The losses (sections 3.4 and 3.5): of a dialogue with m system turns, f_t = f(s_t, a_t) is what turn t does to the budget
(a negative number), and h = h(goal). What is left after turn k is

    B_k = f_1 + … + f_k + h             B_k = f_1 + … + f_k + h − h'_k   (a user who looks forward, eq. 16)

and the user's leaving says where it must lie. With y = +1 for success, −1 for failure, 0 for not known:

    loss1 = max(0, −y · B_m)         eq. 7 and 10: satisfied users leave with budget, the others without
    loss2 = max(0, −B_(m−1))         eq. 8 and 11: before the last turn there was budget, or they had left
    loss3 = Σ_t max(0, f_t − v_b)    eq. 9: every turn costs at least |v_b|

`full` is the sum of all three, `light` leaves loss2 out. Losses are functions of tensors, padded to dialogues × turns;
the mask says which turns there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from perslib.errors import DataError
from perslib.extras import import_extra
from perslib.systems.deus.world.records import Dialogues

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

Variant = Literal["full", "light"]
ActionFeatures = Literal["multihot", "onehot", "none"]
#: The ratio of eq. 16 is kept between 0 and this: h near zero must not blow the loss up.
MOST_RATIO = 10.0
TINY = 1e-6


# -- torch -------------------------------------------------------------------------------------------------


def torch_here() -> ModuleType:
    """Return the torch module; without it, an error that says what to install."""
    module: ModuleType = import_extra("patience", "A network (the linear estimator and other encoders need none)")[0]
    return module


@contextmanager
def seed_torch(seed: int) -> Iterator[ModuleType]:
    """Give torch with a fixed seed and one thread, both put back afterwards.

    Networks as small as these gain nothing from a second thread, and lose much when cores are shared.
    """
    torch = torch_here()
    before = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        try:
            yield torch
        finally:
            torch.set_num_threads(before)


def perceptron(inputs: int, hidden: Sequence[int], last: Sequence[Module] = ()) -> Module:
    """Return linear layers with ReLU between them, and what comes `last`."""
    nn = torch_here().nn
    widths = [inputs, *hidden]
    layers = [part for a, b in pairwise(widths) for part in (nn.Linear(a, b), nn.ReLU())]
    network: Module = nn.Sequential(*layers, nn.Linear(widths[-1], 1), *last)
    return network


# -- what f and h see --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Features:
    """Features of dialogues; turns of all dialogues stand below each other, and are padded when batches are cut."""

    by_turn: dict[str, np.ndarray]
    """turns (for f); where users look forward, rest and done: features for h of the unfinished and the finished part of
    the goal after each turn, left and begun: whether there is any."""
    goals: np.ndarray
    lengths: np.ndarray

    def batch(self, torch: ModuleType, chosen: np.ndarray | slice = slice(None)) -> dict[str, Tensor]:
        """Return the dialogues at these positions, all of them by default: goals, mask (which turns there are), by
        turn.
        """
        lengths = self.lengths[chosen]
        mask = np.arange(lengths.max()) < lengths[:, None]
        starts = (np.cumsum(self.lengths) - self.lengths)[chosen]
        rows = (starts[:, None] + np.arange(mask.shape[1]))[mask]
        cut = {"goals": self.goals[chosen], "mask": mask, **{k: v[rows] for k, v in self.by_turn.items()}}
        return {name: torch.from_numpy(values) for name, values in cut.items()}


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


# -- estimates and losses ----------------------------------------------------------------------------------


class NetworkOutput(NamedTuple):
    """f and h of a batch: dialogues × turns, and one value a dialogue."""

    f: Tensor
    h: Tensor
    ahead: Tensor | None
    """h' after each turn, where users look forward."""


def apply_networks(f: Module, h: Module, batch: dict[str, Tensor], gamma: float | None = None) -> NetworkOutput:
    """Return f of every turn, h of every goal; with γ also h' after every turn, with the same h (see `expected_cost`)."""
    mask = batch["mask"]
    of_turns = _pad_values(f(batch["turns"])[:, 0], mask)
    of_goals = h(batch["goals"])[:, 0]
    if gamma is None:
        return NetworkOutput(of_turns, of_goals, None)
    paid = -of_turns.cumsum(dim=1)
    h_done, h_rest = h(batch["done"])[:, 0], h(batch["rest"])[:, 0]
    ahead = expected_cost(paid[mask], h_done, h_rest, gamma, done=batch["begun"], rest=batch["left"])
    return NetworkOutput(of_turns, of_goals, _pad_values(ahead, mask))


def _pad_values(values: Tensor, mask: Tensor) -> Tensor:
    return values.new_zeros(mask.shape).masked_scatter(mask, values)


def expected_cost(spent: Any, h_done: Any, h_rest: Any, gamma: float, *, done: Any, rest: Any) -> Any:
    """Return h'(g') = spent / h(g − g') · h(g') · γ: what the rest will cost at the rate seen so far (eq. 16).

    All are tensors, or all are arrays. `done` and `rest` say whether anything is finished, and whether anything is left: with nothing left h' is 0, and
    with nothing finished the ratio is 1.
    """
    ratio = (spent / (h_done + TINY)).clip(0.0, MOST_RATIO)
    return (ratio * done + ~done) * h_rest * gamma * rest


def losses(
    of: NetworkOutput, y: Tensor, mask: Tensor, v_b: float, variant: Variant = "full"
) -> tuple[Tensor, Tensor, Tensor]:
    """Return what each dialogue of a batch adds to the three losses; y has one value a dialogue.

    Before the first turn, h'_0 = 0. A dialogue that was cut off (y = 0) only says that its user had budget left: loss1
    is max(0, −B_m) there. In the light variant loss2 is 0.
    """
    # The last turn is where each dialogue ends, not where the padding does.
    turns = mask.sum(dim=1)
    last = (turns.long() - 1)[:, None]
    after_m = (of.f * mask).sum(dim=1) + of.h
    after_m1 = after_m - of.f.gather(1, last)[:, 0]
    if of.ahead is not None:
        after_m = after_m - of.ahead.gather(1, last)[:, 0]
        after_m1 = after_m1 - of.ahead.gather(1, (last - 1).clamp(min=0))[:, 0] * (turns > 1)
    toward = y.where(y != 0, y.new_ones(()))
    loss2 = (-after_m1).relu() if variant == "full" else after_m1.new_zeros(len(after_m1))
    return (-toward * after_m).relu(), loss2, ((of.f - v_b).relu() * mask).sum(dim=1)
