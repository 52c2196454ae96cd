"""Turn costs and patience, learned from how dialogues end: `Patience().fit(dialogues)` (DEUS, section 3).

    fitted = Patience(v_b=-1.0).fit(train, validation=some)
    fitted.turn_satisfaction(test)      # one row a turn: satisfaction f, budget left
    fitted.remaining_budget(test)       # one row a dialogue: patience h, cost, budget at the end
    fitted.save("runs/user2"); Patience.load("runs/user2")

Only v_b fixes the scale: (c·f, c·h) satisfies whatever (f, h) does for any c ≥ 1, so estimates are compared up to a
positive factor.

A saved model is weights without code (`weights.npz`), and a card that says what they are (`card.json`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

import perslib
from perslib.errors import DataError, PerslibError, Problem, UnknownName
from perslib.patience.dialogues import CENSORED, FAILURE, SUCCESS, Dialogues
from perslib.patience.inputs import ActionFeatures, Batch, Granularity, Inputs, inputs
from perslib.patience.networks import (
    Estimate,
    Output,
    Variant,
    estimate,
    patience_network,
    seeded,
    torch_here,
    train,
    turn_network,
)
from perslib.patience.recovery import status_accuracy

CARD, WEIGHTS, FORMAT = "card.json", "weights.npz", 1
Timeout = Literal["drop", "failed", "censored"]
CHOICES = {
    "loss": ("full", "light"),
    "granularity": ("slot", "domain"),
    "timeout": ("drop", "failed", "censored"),
    "actions": ("multihot", "onehot", "none"),
    "profile": ("", "h", "f", "hf"),
    "h_output": ("softplus", "raw"),
}


class Patience(BaseEstimator):
    """f(s, a) ≤ v_b, the satisfaction with a turn, and h(goal), the patience at the start; both perceptrons.

    v_b           what every turn costs at least, a negative number; it sets the scale
    loss          "full", or "light" without loss2
    gamma         0 < γ ≤ 1: users look forward and expect to pay h' for the rest (eq. 16); None: they do not
    granularity   what counts as finished for them: every slot, or whole domains
    detach_ratio  keep gradients out of the ratio of eq. 16 (recovers far worse)
    timeout       dialogues that the limit on turns ended: "drop", count as "failed", or "censored" (had budget left)
    margin        how far from zero budgets should end
    actions       "multihot" over what an action consists of, "onehot", or "none" where states say all
    state         whether f sees the state
    profile       which functions see the user's profile: "", "h", "f" or "hf"

    After `fit`: `f_` and `h_` (torch modules), `history_` (a row an epoch), `epoch_` (the one kept), `card_`.
    """

    def __init__(
        self,
        v_b: float = -1.0,
        *,
        loss: Variant = "full",
        gamma: float | None = None,
        granularity: Granularity = "slot",
        detach_ratio: bool = False,
        timeout: Timeout = "drop",
        margin: float = 0.0,
        actions: ActionFeatures = "multihot",
        state: bool = True,
        profile: str = "",
        h_output: Output = "softplus",
        hidden: Sequence[int] = (64, 64),
        epochs: int = 40,
        batch: int = 64,
        rate: float = 1e-3,
        clip: float = 5.0,
        seed: int = 42,
        threads: int = 1,
    ):
        self.v_b, self.loss, self.gamma, self.granularity = v_b, loss, gamma, granularity
        self.detach_ratio, self.timeout, self.margin = detach_ratio, timeout, margin
        self.actions, self.state, self.profile, self.h_output = actions, state, profile, h_output
        self.hidden, self.epochs, self.batch, self.rate, self.clip = hidden, epochs, batch, rate, clip
        self.seed, self.threads = seed, threads

    def fit(self, dialogues: Dialogues, validation: Dialogues | None = None) -> Self:
        """Learn f and h from goals, states, actions and status.

        With `validation` that epoch is kept whose status accuracy there, balanced over success and failure, is best
        (of equal ones the last: slopes still grow); without, the last.
        """
        self._check()
        known = self._known(dialogues)
        status = np.where(
            known.status == CENSORED, FAILURE if self.timeout == "failed" else CENSORED, known.status
        )
        _both(status, len(dialogues) - len(known))
        seen = self._inputs(known)
        with seeded(self.seed, self.threads) as torch:
            self.f_ = turn_network(seen.turns.shape[1], self.hidden)
            self.h_ = patience_network(seen.goals.shape[1], self.hidden, self.h_output)
            self.action_digest_ = dialogues.action_list.digest
            self.history_, self.epoch_ = train(self, torch, seen, status, validation)
        self.card_ = _card(self, known, status, validation)
        return self

    def turn_satisfaction(self, dialogues: Dialogues) -> pd.DataFrame:
        """One row a turn: dialogue, user, turn, action, satisfaction (f), budget (left after it), and patience (h).

        For users who look forward, ahead is what they expect the rest to cost, and budget is what is left beyond it.
        """
        seen = self._inputs(self._fitted(dialogues))
        with seeded(self.seed, self.threads) as torch, torch.no_grad():
            batch = seen.batch(torch)
            found = self.estimate(batch)
            mask = batch.mask.numpy()
            f, h = found.f.numpy(), found.h.numpy()
            ahead = np.zeros_like(f) if found.ahead is None else found.ahead.numpy()
        of = np.repeat(np.arange(len(dialogues)), dialogues.turns)
        return pd.DataFrame(
            {
                "dialogue": np.array([d.id or str(i) for i, d in enumerate(dialogues)], dtype=object)[of],
                "user": np.array([d.user for d in dialogues], dtype=object)[of],
                "turn": np.broadcast_to(np.arange(1, mask.shape[1] + 1), mask.shape)[mask],
                "action": np.concatenate([d.actions for d in dialogues]),
                "satisfaction": f[mask].astype(float),
                "budget": (np.cumsum(f, axis=1, dtype=float) + h[:, None] - ahead)[mask],
                "patience": h.astype(float)[of],
                "ahead": ahead[mask].astype(float),
            }
        )

    def remaining_budget(self, dialogues: Dialogues) -> pd.DataFrame:
        """One row a dialogue: dialogue, user, turns, patience (h), cost (−F_m), ahead (h'), budget at the end,
        before_last (budget before the last turn), and first_spent (the first turn after which it was negative).
        """
        turns = self.turn_satisfaction(dialogues)
        ends = np.cumsum(dialogues.turns) - 1
        starts = np.append(0, ends[:-1] + 1)
        last = turns.iloc[ends].reset_index(drop=True)
        previous = np.where(ends > starts, turns["budget"].to_numpy()[ends - 1], last["patience"])
        below = turns["turn"].where(turns["budget"] < 0).to_numpy()
        spent = np.fmin.reduceat(below, starts)
        return pd.DataFrame(
            {
                "dialogue": last["dialogue"],
                "user": last["user"],
                "turns": last["turn"],
                "patience": last["patience"],
                "cost": -np.add.reduceat(turns["satisfaction"].to_numpy(), starts),
                "ahead": last["ahead"],
                "budget": last["budget"],
                "before_last": previous,
                "first_spent": pd.array(spent, dtype="Int64"),
            }
        )

    def predict_status(self, dialogues: Dialogues) -> np.ndarray:
        """+1 where the dialogue ended with budget left (zero is left), −1 where it did not (eq. 2 and 3)."""
        return np.where(self.remaining_budget(dialogues)["budget"] >= 0, SUCCESS, FAILURE)

    def save(self, folder: str | Path) -> Path:
        """Weights, and a card of what they were learned from, in this folder."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        parts = {"f": self.f_, "h": self.h_}
        weights = {
            f"{p}.{name}": v.numpy() for p, own in parts.items() for name, v in own.state_dict().items()
        }
        np.savez(folder / WEIGHTS, **weights)
        (folder / CARD).write_text(json.dumps(self.card_, indent=1, ensure_ascii=False) + "\n", "utf-8")
        return folder

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """What `save` wrote; its history of epochs is not kept."""
        folder = Path(folder)
        try:
            found = json.loads((folder / CARD).read_text("utf-8"))
            with np.load(folder / WEIGHTS) as stored:
                weights = {name: stored[name] for name in stored.files}
            parameters: dict[str, Any] = found["parameters"]
            model = cls(**{**parameters, "hidden": tuple(parameters["hidden"])})
            model.f_ = turn_network(found["inputs"]["f"], model.hidden)
            model.h_ = patience_network(found["inputs"]["h"], model.hidden, model.h_output)
            model.action_digest_, model.epoch_, model.card_ = found["action_list"], found["epoch"], found
            torch = torch_here()
            for part in ("f", "h"):
                own = {k[2:]: torch.from_numpy(v) for k, v in weights.items() if k.startswith(f"{part}.")}
                getattr(model, f"{part}_").load_state_dict(own)
        except (OSError, ValueError, KeyError, TypeError, RuntimeError) as reason:
            raise DataError(
                Problem(str(folder), f"no fitted patience can be read here ({reason})"),
                "Give a folder that Patience.save wrote, or fit and save anew.",
            ) from None
        return model

    def estimate(self, batch: Batch) -> Estimate:
        """f, h and h' of a batch, with gradients: what is trained on, and what everything else is read off."""
        unproven = 1.0 if self.granularity == "slot" else 0.0
        return estimate(
            self.f_, self.h_, batch, self.gamma, unproven=unproven, detach=self.detach_ratio
        )  # fmt: skip

    def _inputs(self, dialogues: Dialogues) -> Inputs:
        return inputs(
            dialogues, actions=self.actions, state=self.state, profile=self.profile,
            forward=self.gamma is not None, granularity=self.granularity,
        )  # fmt: skip

    def _known(self, dialogues: Dialogues) -> Dialogues:
        return dialogues.by_status(SUCCESS, FAILURE) if self.timeout == "drop" else dialogues

    def _fitted(self, dialogues: Dialogues) -> Dialogues:
        if not hasattr(self, "f_"):
            raise PerslibError("This estimator has not learned anything yet: run its fit(dialogues) first.")
        if dialogues.action_list.digest != self.action_digest_:
            raise DataError(
                f"The model was fitted on another action list (its hash is {self.action_digest_[:12]}, that of these "
                f"dialogues {dialogues.action_list.digest[:12]}), so the same number means another action.",
                "Collect the dialogues with the list it was fitted on, or fit it anew.",
            )
        return dialogues

    def _check(self) -> None:
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise UnknownName(name, str(getattr(self, name)), known)
        if not self.v_b < 0:
            raise PerslibError(f"v_b is {self.v_b}; every turn costs something, so it is below 0, say -1.")
        if self.gamma is not None and not 0 < self.gamma <= 1:
            raise PerslibError(
                f"gamma is {self.gamma}; expected 0 < gamma ≤ 1, or None for users who do not look ahead."
            )


def _both(status: np.ndarray, left_out: int) -> None:
    """Refuse data that knows only one way to end."""
    apart = f" ({left_out} that the limit on turns ended are left out)" if left_out else ""
    for way, lacking, why in (
        (FAILURE, "failed", "no budget was ever used up, so any patience that is large enough fits"),
        (SUCCESS, "succeeded", "nobody was ever content at the end, so any turn may cost too much"),
    ):
        if not (status == way).any():
            raise DataError(
                f"None of the {len(status)} dialogues {lacking}{apart}: {why}.",
                f"Add dialogues that {lacking}; where the limit on turns ended many, see `timeout`.",
            )


def _card(
    model: Patience, fitted: Dialogues, status: np.ndarray, validation: Dialogues | None
) -> dict[str, Any]:
    """What a model was fitted on, how, and how far it explains the endings it has seen."""
    numbers = {"fitted": status_accuracy(model.predict_status(fitted), status)}
    if validation is not None:
        numbers["validation"] = status_accuracy(model.predict_status(validation), validation.status)
    return {
        "format": FORMAT,
        "parameters": model.get_params(),
        "fitted_on": {
            "dialogues": len(fitted),
            "turns": int(fitted.turns.sum()),
            "users": len({d.user for d in fitted}),
            "succeeded": int((status == SUCCESS).sum()),
            "failed": int((status == FAILURE).sum()),
            "reasons": dict(Counter(d.reason for d in fitted)),
        },
        "action_list": model.action_digest_,
        "inputs": {"f": int(model.f_[0].in_features), "h": int(model.h_[0].in_features)},
        "epoch": model.epoch_,
        "losses": {k: float(v) for k, v in model.history_.iloc[model.epoch_ - 1].items()},
        "status": numbers,
        "versions": {"perslib": perslib.__version__, "torch": torch_here().__version__},
    }
