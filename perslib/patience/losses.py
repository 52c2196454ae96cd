"""The losses by which turn costs and patience are learned from how dialogues end (DEUS, sections 3.4 and 3.5).

Of a dialogue with m system turns, f_t = f(s_t, a_t) is what turn t does to the budget (a negative number), and
h = h(goal) the budget at the start. What is left after turn k is

    B_k = f_1 + … + f_k + h             B_k = f_1 + … + f_k + h − h'_k   (a user who looks forward, eq. 16)

and the user's leaving says where it must lie. With y = +1 for success, −1 for failure, 0 for not known:

    loss1 = max(0, d − y · B_m)         eq. 7 and 10: satisfied users leave with budget, the others without
    loss2 = max(0, d − B_(m−1))         eq. 8 and 11: before the last turn there was budget, or they had left
    loss3 = Σ_t max(0, f_t − v_b)       eq. 9: every turn costs at least |v_b|

`full` is the sum of all three, `light` leaves loss2 out; the margin d is 0 in the paper. Everything here is a
function of tensors, padded to dialogues × turns; the mask says which turns there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from torch import Tensor

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
