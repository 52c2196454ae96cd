"""What is learned from how dialogues end: f, what a turn does to the budget, and h, the budget at the start.

Both are small multilayer perceptrons (DEUS, section 4.1.2); their sizes are not in the paper. f has no
constraint on its sign: eq. 9 sees to it. h is positive by a softplus (eq. 5), or `raw` as the paper's losses leave it.

The losses (sections 3.4 and 3.5): of a dialogue with m system turns, f_t = f(s_t, a_t) is what turn t does to the budget
(a negative number), and h = h(goal). What is left after turn k is

    B_k = f_1 + … + f_k + h             B_k = f_1 + … + f_k + h − h'_k   (a user who looks forward, eq. 16)

and the user's leaving says where it must lie. With y = +1 for success, −1 for failure, 0 for not known:

    loss1 = max(0, d − y · B_m)         eq. 7 and 10: satisfied users leave with budget, the others without
    loss2 = max(0, d − B_(m−1))         eq. 8 and 11: before the last turn there was budget, or they had left
    loss3 = Σ_t max(0, f_t − v_b)       eq. 9: every turn costs at least |v_b|

`full` is the sum of all three, `light` leaves loss2 out; the margin d is 0 in the paper. Losses are
functions of tensors, padded to dialogues × turns; the mask says which turns there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from perslib.errors import PerslibError
from perslib.patience.dialogues import Dialogues
from perslib.patience.inputs import Batch, Inputs
from perslib.patience.recovery import status_accuracy

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    from perslib.patience.estimator import Patience

Variant = Literal["full", "light"]
#: The ratio of eq. 16 is kept between 0 and this: h near zero must not blow the loss up.
MOST_RATIO = 10.0
TINY = 1e-6


@dataclass(frozen=True)
class Losses:
    """What each dialogue of a batch adds, and the budgets that this was read off."""

    loss1: Tensor
    loss2: Tensor
    """Zeros in the light variant."""
    loss3: Tensor
    budget_m: Tensor
    """What was left when the dialogue ended."""
    budget_m1: Tensor
    """What was left before its last turn."""

    @property
    def total(self) -> Tensor:
        """Mean over dialogues, however long they are, of the sum."""
        return (self.loss1 + self.loss2 + self.loss3).mean()


def losses(
    f: Tensor,
    h: Tensor,
    y: Tensor,
    mask: Tensor,
    v_b: float,
    variant: Variant = "full",
    *,
    ahead: Tensor | None = None,
    margin: float = 0.0,
) -> Losses:
    """The losses of a batch: f, mask and ahead are dialogues × turns, h and y have one value a dialogue.

    `ahead` is what a user who looks forward expects to pay for the rest of the goal after each turn
    (`expected_cost`); before the first turn, h'_0 = 0. A dialogue that was cut off (y = 0) only says that its user
    had budget left: loss1 is max(0, d − B_m) there.
    """
    # The last turn is where each dialogue ends, not where the padding does.
    turns = mask.sum(dim=1)
    last = (turns.long() - 1)[:, None]
    after_m = (f * mask).sum(dim=1) + h
    after_m1 = after_m - f.gather(1, last)[:, 0]
    if ahead is not None:
        after_m = after_m - ahead.gather(1, last)[:, 0]
        after_m1 = after_m1 - ahead.gather(1, (last - 1).clamp(min=0))[:, 0] * (turns > 1)
    toward = y.where(y != 0, y.new_ones(()))
    loss1 = (margin - toward * after_m).relu()
    loss2 = (margin - after_m1).relu() if variant == "full" else after_m1.new_zeros(len(after_m1))
    loss3 = ((f - v_b).relu() * mask).sum(dim=1)
    return Losses(loss1, loss2, loss3, after_m, after_m1)


def expected_cost(
    spent: Tensor,
    h_done: Tensor,
    h_rest: Tensor,
    gamma: float,
    *,
    done: Tensor,
    rest: Tensor,
    unproven: float = 1.0,
    detach: bool = False,
) -> Tensor:
    """h'(g') = spent / h(g − g') · h(g') · γ: what the rest will cost at the rate seen so far (eq. 16).

    `done` and `rest` say whether anything is finished, and whether anything is left: with nothing left h' is 0, and
    with nothing finished the ratio is `unproven`. `detach` keeps gradients out of the ratio, which recovers turn
    costs far worse; it is there to show that.
    """
    ratio = (spent / (h_done + TINY)).clamp(0.0, MOST_RATIO)
    if detach:
        ratio = ratio.detach()
    ratio = ratio.where(done, ratio.new_full((), unproven))
    return ratio * h_rest * gamma * rest


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
    return perceptron(inputs, hidden)


def patience_network(goal: int, hidden: Sequence[int] = (64, 64), output: Output = "softplus") -> Module:
    """h: features of the goal → the budget at the start, in one column."""
    positive = [torch_here().nn.Softplus()] if output == "softplus" else []
    return perceptron(goal, hidden, positive)


def perceptron(inputs: int, hidden: Sequence[int], last: Sequence[Module] = (), outputs: int = 1) -> Module:
    """Linear layers with ReLU between them, and what comes `last`."""
    nn = torch_here().nn
    widths = [inputs, *hidden]
    layers = [part for a, b in pairwise(widths) for part in (nn.Linear(a, b), nn.ReLU())]
    network: Module = nn.Sequential(*layers, nn.Linear(widths[-1], outputs), *last)
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


def train(
    model: Patience, torch: ModuleType, seen: Inputs, status: np.ndarray, validation: Dialogues | None
) -> tuple[pd.DataFrame, int]:
    """Train the networks of `model`; a row an epoch (epoch, loss, loss1 … loss3, balanced), and the epoch kept.

    With validation dialogues that is the one with the best balanced status accuracy there, of equal ones the last,
    because the slope of the estimates keeps growing while dialogues that fit already give no gradient.
    """
    networks = torch.nn.ModuleList([model.f_, model.h_])
    adam = torch.optim.Adam(networks.parameters(), lr=model.rate, fused=True)
    order, y = np.random.default_rng(model.seed), status.astype(np.float32)
    rows: list[dict[str, float]] = []
    best: tuple[float, int, dict[str, Any]] = (-1.0, model.epochs, {})
    for epoch in range(1, model.epochs + 1):
        sums = np.zeros(3)
        for some in np.array_split(order.permutation(len(y)), -(-len(y) // model.batch)):
            batch = seen.batch(torch, some)
            of = model.estimate(batch)
            found = losses(
                of.f, of.h, torch.from_numpy(y[some]), batch.mask, model.v_b, model.loss,
                ahead=of.ahead, margin=model.margin,
            )  # fmt: skip
            adam.zero_grad()
            found.total.backward()
            torch.nn.utils.clip_grad_norm_(networks.parameters(), model.clip)
            adam.step()
            sums += [float(part.detach().sum()) for part in (found.loss1, found.loss2, found.loss3)]
        means = sums / len(y)
        rows.append({"epoch": epoch, "loss": means.sum(), **dict(zip(("loss1", "loss2", "loss3"), means))})
        if validation is not None:
            balanced = status_accuracy(model.predict_status(validation), validation.status)["balanced"]
            rows[-1]["balanced"] = balanced
            if balanced >= best[0]:
                best = (balanced, epoch, {k: v.clone() for k, v in networks.state_dict().items()})
    if best[2]:
        networks.load_state_dict(best[2])
    return pd.DataFrame(rows), best[1]
