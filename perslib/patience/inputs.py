"""What f and h are shown of a dialogue, and nothing else: goal, states, actions, what is unfinished, the profile.

Whatever the simulator knows in truth (`true_costs`, `true_patience`) and what people said afterwards (`rating`) stays
behind here. Turns of all dialogues stand below each other; batches are padded when they are cut.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from types import ModuleType
from typing import TYPE_CHECKING, Literal

import numpy as np

from perslib.errors import DataError, PerslibError
from perslib.patience.dialogues import Dialogues

if TYPE_CHECKING:
    from torch import Tensor

ActionFeatures = Literal["multihot", "onehot", "none"]
Granularity = Literal["slot", "domain"]


@dataclass(frozen=True)
class Remaining:
    """What a user who looks forward sees after each turn, a row a turn (arrays, or tensors in a batch)."""

    rest: np.ndarray
    """Features for h of the unfinished part of the goal."""
    done: np.ndarray
    """Features for h of the finished part."""
    left: np.ndarray
    """Whether anything is unfinished."""
    begun: np.ndarray
    """Whether anything is finished."""
    counted: np.ndarray
    """How many turns have been paid for what is finished."""


@dataclass(frozen=True)
class Batch:
    """Some dialogues as tensors. `turns` and `remaining` have a row for each turn there is, as `mask` picks them."""

    turns: Tensor
    mask: Tensor
    """Dialogues × turns of the longest: which of them there are."""
    goals: Tensor
    remaining: dict[str, Tensor] | None


@dataclass(frozen=True)
class Inputs:
    """Features of dialogues: `turns` for f, `goals` (and parts of goals) for h."""

    turns: np.ndarray
    goals: np.ndarray
    lengths: np.ndarray
    remaining: Remaining | None = None

    def batch(self, torch: ModuleType, chosen: np.ndarray | None = None) -> Batch:
        """The dialogues at these positions; all of them by default."""
        chosen = np.arange(len(self.lengths)) if chosen is None else chosen
        lengths = self.lengths[chosen]
        mask = np.arange(lengths.max()) < lengths[:, None]
        starts = (np.cumsum(self.lengths) - self.lengths)[chosen]
        rows = (starts[:, None] + np.arange(mask.shape[1]))[mask]
        of = torch.from_numpy
        remaining = None
        if self.remaining is not None:
            remaining = {f.name: of(getattr(self.remaining, f.name)[rows]) for f in fields(self.remaining)}
        return Batch(of(self.turns[rows]), of(mask), of(self.goals[chosen]), remaining)


def inputs(
    dialogues: Dialogues,
    *,
    actions: ActionFeatures = "multihot",
    state: bool = True,
    profile: str = "",
    forward: bool = False,
    granularity: Granularity = "slot",
) -> Inputs:
    """The features of dialogues; `profile` names the functions that see it: "h", "f", both ("hf") or none ("").

    `forward` adds what is unfinished and finished after each turn. With granularity `domain` only domains
    that are done whole count, and of the cost what was paid until the last of them was done.
    """
    if not len(dialogues):
        raise DataError("There are no dialogues.", "Collect or read some first.")
    of = np.repeat(np.arange(len(dialogues)), dialogues.turns)
    goal = np.stack([d.goal for d in dialogues]).astype(np.float32)
    profiles = _profiles(dialogues) if profile else np.zeros((len(dialogues), 0), np.float32)
    for_h = profiles if "h" in profile else profiles[:, :0]
    shown = [profiles[of]] if "f" in profile else []
    if state:
        shown.append(np.concatenate([d.states for d in dialogues]))
    if actions != "none":
        taken = np.concatenate([d.actions for d in dialogues])
        shown.append(getattr(dialogues.action_list, actions)[taken])
    if not shown:
        raise PerslibError('f has nothing to look at: use state=True or actions="multihot".')
    turns, goals = np.hstack(shown).astype(np.float32), np.hstack([goal, for_h])
    if not forward:
        return Inputs(turns, goals, dialogues.turns)
    rest, asked = _rest(dialogues), goal[of]
    whole = granularity == "domain"
    if whole:
        rest = whole_domains(rest, asked, dialogues.goal_names)
    done = asked - rest
    remaining = Remaining(
        np.hstack([rest, for_h[of]]),
        np.hstack([done, for_h[of]]),
        (rest > 0).max(axis=1),
        (done > 0).max(axis=1),
        _counted(done, dialogues.turns, whole),
    )
    return Inputs(turns, goals, dialogues.turns, remaining)


def whole_domains(rest: np.ndarray, goal: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """The unfinished part with every domain back in whole that is not done whole.

    The names of goal items start with their domain, as in `hotel.reqt.phone`.
    """
    domains = np.array([name.split(".")[0] for name in names])
    full = rest.copy()
    for domain in dict.fromkeys(domains):
        items = np.flatnonzero(domains == domain)
        open_ = rest[:, items].any(axis=1)
        full[np.ix_(open_, items)] = goal[np.ix_(open_, items)]
    return full


def _counted(done: np.ndarray, lengths: np.ndarray, whole: bool) -> np.ndarray:
    """All turns so far; with whole domains those up to the last turn that finished one."""
    counted = np.concatenate([np.arange(1, n + 1) for n in lengths])
    if not whole:
        return counted
    before = np.vstack([np.zeros_like(done[:1]), done[:-1]])
    before[counted == 1] = 0.0
    finishes = (done != before).any(axis=1)
    cuts = np.cumsum(lengths)[:-1]
    return np.concatenate(
        [
            np.maximum.accumulate(np.where(f, c, 0))
            for f, c in zip(np.split(finishes, cuts), np.split(counted, cuts))
        ]
    )


def _rest(dialogues: Dialogues) -> np.ndarray:
    rest = dialogues.each(
        "rest",
        "do not say what is unfinished after each turn",
        "A user who looks forward is estimated from that; give `rest`, or fit with gamma=None.",
    )
    return np.concatenate(rest).astype(np.float32)


def _profiles(dialogues: Dialogues) -> np.ndarray:
    profiles = dialogues.each(
        "profile", "have no profile of their user", 'Give every dialogue a profile, or fit with profile="".'
    )
    return np.stack(profiles).astype(np.float32)
