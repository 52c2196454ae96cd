"""Turn costs and patience, learned from how dialogues end: `PatienceModel().fit(dialogues)` (DEUS, section 3).

    fitted = PatienceModel(v_b=-1.0).fit(train)
    fitted.turn_satisfaction(test)      # one row a turn: satisfaction f, budget left
    fitted.remaining_budget(test)       # one row a dialogue: patience h, cost, budget at the end
    fitted.save("runs/user2"); PatienceModel.load("runs/user2")

Only v_b fixes the scale: (c·f, c·h) satisfies whatever (f, h) does for any c ≥ 1, so estimates are compared up to a
positive factor.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from perslib.errors import DataError, PerslibError, UnknownName
from perslib.model_files import load_model, save_model
from perslib.stats import Resamples, ratio, resample_users
from perslib.systems.deus.features import ActionFeatures, Features, Variant, expected_cost, features
from perslib.systems.deus.likelihood import Likelihood, Likely
from perslib.systems.deus.linear import LinearFunction, fit_linear
from perslib.systems.deus.world.records import CENSORED, FAILURE, SUCCESS, Dialogues

Estimator = Literal["linear", "likelihood"]
Timeout = Literal["drop", "failed", "censored"]
CHOICES = {
    "estimator": ("linear", "likelihood"),
    "loss": ("full", "light"),
    "timeout": ("drop", "failed", "censored"),
    "actions": ("multihot", "onehot", "none"),
}


class PatienceModel(BaseEstimator):
    """f(s, a) ≤ v_b, the satisfaction with a turn, and h(goal), the patience at the start.

    estimator     "linear": weighted sums, solved exactly (`perslib.systems.deus.linear`); "likelihood": weighted sums for users
                  whose patience varies and who leave by chance (`perslib.systems.deus.likelihood`), for people above all
    v_b           what every turn costs at least, a negative number; it sets the scale
    loss          "full", or "light" without loss2
    gamma         0 < γ ≤ 1: users look forward and expect to pay h' for the rest (eq. 16); None: they do not
    timeout       dialogues that the limit on turns ended: "drop", count as "failed", or "censored" (had budget left)
    actions       "multihot" over what an action consists of, "onehot", or "none" where states say all
    profile       whether h sees the user's profile
    margin        of the linear form: how far beyond zero a budget must end, in units of |v_b|; the paper's loss has 0. By
                  default ½, for users who count in whole units of the least cost; ¼ for users who look forward
    penalty       of the linear form: what the sum of all weights adds to the mean loss of a dialogue

    After `fit`: `f_` and `h_` (`LinearFunction`), `loss_` (what is left of the loss, or minus the log-likelihood), `card_`; of the
    likelihood also `noise_`, the standard deviation of patience, and `leaving_`, the chance to leave after a turn.
    """

    def __init__(
        self,
        v_b: float = -1.0,
        *,
        estimator: Estimator = "linear",
        loss: Variant = "full",
        gamma: float | None = None,
        timeout: Timeout = "drop",
        actions: ActionFeatures = "multihot",
        profile: bool = False,
        margin: float | None = None,
        penalty: float = 1e-4,
        seed: int = 42,
    ):
        self.v_b, self.loss, self.gamma, self.timeout = v_b, loss, gamma, timeout
        self.estimator, self.margin, self.penalty = estimator, margin, penalty
        self.actions, self.profile, self.seed = actions, profile, seed

    def fit(self, dialogues: Dialogues) -> Self:
        """Learn f and h from goals, states, actions and status."""
        self._check()
        known, status = self._select_ended(dialogues)
        _check_both_ends(status, len(dialogues) - len(known))
        seen = self._features(known)
        self.action_digest_ = dialogues.action_list.digest
        if self.estimator == "linear":
            self.f_, self.h_, losses = fit_linear(self, seen, status)
            self.loss_ = losses[-1]
        else:
            self._take(self._likelihood(known, seen, status).choose(self.seed))
        ends = {"succeeded": int((status == SUCCESS).sum()), "failed": int((status == FAILURE).sum())}
        self.card_ = {
            "parameters": self.get_params(),
            "fitted_on": {"dialogues": len(known), "turns": int(known.turns.sum()), **ends},
            "action_list": self.action_digest_,
        }
        if self.estimator == "likelihood":
            numbers = ("noise", "leaving", "pooling", "chance")
            self.card_["likely"] = {name: getattr(self.likely_, name) for name in numbers}
        return self

    def resample(self, dialogues: Dialogues, draws: int = 40) -> list[Self]:
        """Return fits on dialogues drawn with replacement from those that this one was fitted on, with its pooling: the spread of
        whatever they say is that of the estimate. For the likelihood only.
        """
        if self.estimator != "likelihood":
            raise PerslibError(f"The {self.estimator} estimator has no resamples; fit with estimator='likelihood'.")
        known, status = self._select_ended(self._check_fitted(dialogues))
        chances, samples = self._likelihood(known, self._features(known), status), []
        for counts in resample_users(len(known), draws, self.seed).T[1:]:
            model = type(self)(**self.get_params())
            model.action_digest_, model.card_ = self.action_digest_, self.card_
            model._take(chances.fit(self.likely_.pooling, counts, self.likely_))
            samples.append(model)
        return samples

    def _select_ended(self, dialogues: Dialogues) -> tuple[Dialogues, np.ndarray]:
        """Return the dialogues that are learned from, and how each ended as `timeout` has it."""
        known = dialogues.by_status(SUCCESS, FAILURE) if self.timeout == "drop" else dialogues
        status = np.where(known.status == CENSORED, FAILURE if self.timeout == "failed" else CENSORED, known.status)
        return known, status

    def _likelihood(self, dialogues: Dialogues, seen: Features, status: np.ndarray) -> Likelihood:
        if self.actions == "none" or self.timeout == "censored":
            raise PerslibError(
                "The likelihood is of numbered actions, and of dialogues that ended: leave actions at multihot or onehot, and "
                "timeout at drop or failed; or take estimator='linear'."
            )
        first = next(iter(dialogues))
        signed = seen.goals.shape[1] - len(first.goal)  # of the profile, which may lower patience
        kinds = [name.partition("(")[0] if "(" in name else "" for name in dialogues.action_list.atoms]
        states = first.states.shape[1]
        return Likelihood(
            self.v_b, seen, status, states, signed, kinds if self.actions == "multihot" else (), self.gamma
        )

    def _take(self, likely: Likely) -> None:
        self.likely_, self.noise_, self.leaving_ = likely, likely.noise, likely.leaving
        self.f_, self.h_ = LinearFunction(-likely.costs), LinearFunction(likely.patience)
        self.loss_ = -likely.chance

    def turn_satisfaction(self, dialogues: Dialogues) -> pd.DataFrame:
        """Return one row a turn: dialogue, user, turn, action, satisfaction (f), budget (left after it), and patience
        (h).

        For users who look forward, ahead is what they expect the rest to cost, and budget is what is left beyond it.
        """
        seen = self._features(self._check_fitted(dialogues))
        f, h = self.f_(seen.by_turn["turns"]), self.h_(seen.goals)
        of = np.repeat(np.arange(len(dialogues)), dialogues.turns)
        spent, ahead = -pd.Series(f).groupby(of).cumsum().to_numpy(), np.zeros(len(of))
        if self.gamma is not None:
            done, rest = (self.h_(seen.by_turn[name]) for name in ("done", "rest"))
            begun, left = seen.by_turn["begun"], seen.by_turn["left"]
            ahead = expected_cost(spent, done, rest, self.gamma, done=begun, rest=left)
        return pd.DataFrame(
            {
                "dialogue": np.array([d.id or str(i) for i, d in enumerate(dialogues)], dtype=object)[of],
                "user": np.array([d.user for d in dialogues], dtype=object)[of],
                "turn": np.concatenate([np.arange(1, turns + 1) for turns in dialogues.turns]),
                "action": np.concatenate([d.actions for d in dialogues]),
                "satisfaction": f,
                "budget": h[of] - spent - ahead,
                "patience": h[of],
                "ahead": ahead,
            }
        )

    def remaining_budget(self, dialogues: Dialogues) -> pd.DataFrame:
        """Return one row a dialogue: dialogue, user, turns, patience (h), cost (−F_m), ahead (h'), budget at the end,
        and first_spent (the first turn after which it was negative).
        """
        turns = self.turn_satisfaction(dialogues)
        ends = np.cumsum(dialogues.turns) - 1
        starts = ends - dialogues.turns + 1
        last = turns.iloc[ends].reset_index(drop=True).rename(columns={"turn": "turns"})
        below = turns["turn"].where(turns["budget"] < 0).to_numpy()
        return last[["dialogue", "user", "turns", "patience", "ahead", "budget"]].assign(
            cost=-np.add.reduceat(turns["satisfaction"].to_numpy(), starts),
            first_spent=pd.array(np.fmin.reduceat(below, starts), dtype="Int64"),
        )

    def predict_status(self, dialogues: Dialogues) -> np.ndarray:
        """Return +1 where the dialogue ended with budget left (zero is left), −1 where it did not (eq. 2 and 3)."""
        return np.where(self.remaining_budget(dialogues)["budget"] >= 0, SUCCESS, FAILURE)

    def save(self, folder: str | Path) -> Path:
        """Return weights, and a card of what they were learned from, in this folder (`perslib.model_files`)."""
        return save_model(folder, self.card_, {"f": self.f_.weights, "h": self.h_.weights})

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Return what `save` wrote."""
        with load_model(folder, "fitted patience") as (card, weights):
            if card["parameters"].get("estimator") == "network":
                raise DataError(f"{folder} holds networks, which are not read any more.", "Fit its dialogues anew.")
            known = cls().get_params()
            model = cls(**{name: value for name, value in card["parameters"].items() if name in known})
            model.action_digest_, model.card_ = card["action_list"], card
            model.f_, model.h_ = (LinearFunction(weights[part]) for part in ("f", "h"))
            if model.estimator == "likelihood":
                model._take(Likely(-weights["f"], weights["h"], **card["likely"]))
        return model

    def _features(self, dialogues: Dialogues) -> Features:
        return features(dialogues, actions=self.actions, profile=self.profile, forward=self.gamma is not None)

    def _check_fitted(self, dialogues: Dialogues) -> Dialogues:
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


def _check_both_ends(status: np.ndarray, left_out: int) -> None:
    """Refuse data that knows only one way to end."""
    note = f" ({left_out} that the limit on turns ended are left out)" if left_out else ""
    for way, lacking, why in (
        (FAILURE, "failed", "no budget was ever used up, so any patience that is large enough fits"),
        (SUCCESS, "succeeded", "nobody was ever content at the end, so any turn may cost too much"),
    ):
        if not (status == way).any():
            raise DataError(
                f"None of the {len(status)} dialogues {lacking}{note}: {why}.",
                f"Add dialogues that {lacking}; where the limit on turns ended many, see `timeout`.",
            )


def status_accuracy(predicted: np.ndarray, status: np.ndarray) -> dict[str, float]:
    """Return how often the end is foretold (Table 5): accuracy, majority, balanced, within_success, within_failure.

    Dialogues that the limit on turns ended count for nothing. `majority` is what the more frequent answer scores
    without looking; `balanced` is the mean of the accuracies within success and failure.
    """
    rates = status_rates(predicted, status, Resamples(np.arange(len(status))))
    return {name: float(drawn[0]) for name, drawn in rates.items()}


def status_rates(predicted: np.ndarray, status: np.ndarray, dialogues: Resamples) -> dict[str, np.ndarray]:
    """Return `status_accuracy` of all dialogues and without each."""

    def share(flags: np.ndarray, among: np.ndarray) -> np.ndarray:
        return ratio(dialogues.total(flags & among), dialogues.total(among))

    right, known = predicted == status, status != CENSORED
    success, failure = (share(right, status == end) for end in (SUCCESS, FAILURE))
    return {
        "accuracy": share(right, known),
        "majority": np.maximum(*(share(status == end, known) for end in (SUCCESS, FAILURE))),
        "balanced": (success + failure) / 2,
        "within_success": success,
        "within_failure": failure,
    }
