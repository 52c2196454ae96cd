"""The two functions that are learned: f, what a turn does to the budget, and h, the budget at the start.

Both are small multilayer perceptrons (DEUS, section 4.1.2); their sizes are not in the paper. f has no
constraint on its sign: eq. 9 sees to it. h is positive by a softplus (eq. 5), or `raw` as the paper's losses leave it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from perslib.errors import PerslibError
from perslib.patience.inputs import Batch
from perslib.patience.losses import expected_cost

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

Output = Literal["softplus", "raw"]


def torch_here() -> ModuleType:
    """The torch module; without it, an error that says what to install."""
    try:
        import torch
    except ImportError as reason:
        raise PerslibError(
            f"Estimating patience needs torch, which is not installed ({reason}). "
            'Install it with: pip install "perslib[patience]"'
        ) from None
    module: ModuleType = torch
    return module


@contextmanager
def seeded(seed: int, threads: int = 1) -> Iterator[ModuleType]:
    """torch with a fixed seed and so many threads, both put back afterwards.

    Networks as small as these gain nothing from a second thread, and lose much when cores are shared.
    """
    torch = torch_here()
    before = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_num_threads(threads)
        try:
            yield torch
        finally:
            torch.set_num_threads(before)


def turn_network(inputs: int, hidden: Sequence[int] = (64, 64)) -> Module:
    """f: features of state and action → what the turn does to the budget, in one column."""
    return _perceptron(inputs, hidden)


def patience_network(goal: int, hidden: Sequence[int] = (64, 64), output: Output = "softplus") -> Module:
    """h: features of the goal → the budget at the start, in one column."""
    positive = [torch_here().nn.Softplus()] if output == "softplus" else []
    return _perceptron(goal, hidden, positive)


def _perceptron(inputs: int, hidden: Sequence[int], last: Sequence[Module] = ()) -> Module:
    nn = torch_here().nn
    widths = [inputs, *hidden]
    layers = [part for a, b in pairwise(widths) for part in (nn.Linear(a, b), nn.ReLU())]
    network: Module = nn.Sequential(*layers, nn.Linear(widths[-1], 1), *last)
    return network


@dataclass(frozen=True)
class Estimate:
    """f and h of a batch: dialogues × turns, and one value a dialogue."""

    f: Tensor
    h: Tensor
    ahead: Tensor | None
    """h' after each turn, where users look forward."""


def estimate(
    f: Module,
    h: Module,
    batch: Batch,
    gamma: float | None = None,
    *,
    unproven: float = 1.0,
    detach: bool = False,
) -> Estimate:
    """f of every turn, h of every goal; with γ also h' after every turn, with the same h (eq. 16)."""
    of_turns = _padded(f(batch.turns)[:, 0], batch.mask)
    of_goals = h(batch.goals)[:, 0]
    if gamma is None or batch.remaining is None:
        return Estimate(of_turns, of_goals, None)
    seen = batch.remaining
    dialogue = batch.mask.nonzero()[:, 0]
    # Of the cost so far, what was paid for the finished part; nothing was, where no turn counts yet.
    paid = -of_turns.cumsum(dim=1)[dialogue, (seen["counted"] - 1).clamp(min=0)]
    ahead = expected_cost(
        paid * (seen["counted"] > 0),
        h(seen["done"])[:, 0],
        h(seen["rest"])[:, 0],
        gamma,
        done=seen["begun"],
        rest=seen["left"],
        unproven=unproven,
        detach=detach,
    )
    return Estimate(of_turns, of_goals, _padded(ahead, batch.mask))


def _padded(values: Tensor, mask: Tensor) -> Tensor:
    return values.new_zeros(mask.shape).masked_scatter(mask, values)
