"""Costs and patience where patience varies and users also leave by chance: the likeliest ones.

With cost(s, a) = w · (features, |v_b|) and patience h(goal) = v · (features, 1) + noise, a dialogue of m turns that cost c_m in
all, c_(m−1) before the last, has the chance

    (1 − λ)^m Φ((h − c_m) / σ)                                                           to succeed,
    (1 − λ)^(m−1) [Φ((h − c_(m−1)) / σ) − (1 − λ) Φ((h − c_m) / σ)]                       to fail,

less what a user who looks forward expects the rest to cost (eq. 16) where γ is given; for λ, the chance to leave after a turn whatever was said, and σ, the standard deviation of the noise, which is one draw for all
of a dialogue. σ has a floor, for the chance of exact users would grow without end as it shrinks; an estimate at the floor says
that no noise was found. The cheapest turn costs |v_b|, which sets the scale, also of σ.

Hundreds of weights and a few hundred dialogues need more than that. Weights of actions are drawn toward the mean of their kind
(the word before the bracket: *inform*, *request*), those of goals toward theirs, and those of states toward zero; how strongly is
chosen by the chance of dialogues that were held out. So slots that cost alike are found to, and slots that do not are told apart as
soon as the data says so. One mean for kinds that cost a slot and kinds that cost none would shrink the scale of costs, and σ with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import erfcx, expit, log_ndtr, logit
from threadpoolctl import threadpool_limits

from perslib.systems.deus.features import Features, differentiate_rest

#: How strongly weights are drawn toward each other, tried in this order; states, toward zero, so many times as strongly.
POOLING, OF_STATES = (10_000.0, 1000.0, 100.0, 10.0, 1.0, 0.1), 10.0
#: Parts of the data that are held out in turn, and how many dialogues at most the choice is made on.
FOLDS, CHOSEN_ON = 4, 1000
#: Smallest and largest σ in units of |v_b|, and λ on the scale of logits.
NOISE, LEAVING = (0.25, 30.0), (-9.0, 2.0)
#: Steps at most while pooling is chosen, and for the final estimate.
TRIED, STEPS = 150, 1500
TINY = 1e-12


@dataclass(frozen=True)
class Likely:
    """What is likeliest: weights of costs and of patience (each with its constant last), noise and chance to leave."""

    costs: np.ndarray
    patience: np.ndarray
    noise: float
    leaving: float
    pooling: float
    chance: float
    """Mean logarithm of the chance of a dialogue."""


@dataclass(frozen=True)
class End:
    """Budgets after the last turn of each dialogue, or before it: rows that are multiplied by the weights, and turns so far."""

    rows: np.ndarray
    turns: np.ndarray
    done: np.ndarray | None = None
    """Of users who look forward: the finished part of the goal with its constant; `rest`, the unfinished one."""
    rest: np.ndarray | None = None
    begun: np.ndarray | None = None
    left: np.ndarray | None = None

    def with_rest(self, seen: Features, at: np.ndarray, has_turn: np.ndarray) -> End:
        """Return it with what is finished and unfinished after these turns; where there is no turn, nothing is expected."""
        done, rest = (
            np.hstack([seen.by_turn[name][at], np.ones((len(at), 1))]).astype(float) for name in ("done", "rest")
        )
        return replace(
            self, done=done, rest=rest, begun=seen.by_turn["begun"][at], left=seen.by_turn["left"][at] & has_turn
        )

    def take(self, places: np.ndarray) -> End:
        """Return it for these dialogues."""
        return End(*(None if part is None else part[places] for part in vars(self).values()))  # type: ignore[arg-type]

    def measure_budget(
        self, z: np.ndarray, width: int, least: float, gamma: float | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the budgets, and their slopes by the weights; a turn costs `least` beside what its features cost."""
        budget = self.rows @ z - least * self.turns
        if gamma is None or self.done is None or self.rest is None or self.begun is None or self.left is None:
            return budget, self.rows
        spent = least * self.turns - self.rows[:, :width] @ z[:width]
        done, rest = self.done @ z[width:], self.rest @ z[width:]
        by_spent, by_rest, by_done = differentiate_rest(spent, done, rest, gamma, done=self.begun, rest=self.left)
        paid = self.rows[:, :width] * (1 + by_spent)[:, None]
        goals = self.rows[:, width:] - by_rest[:, None] * self.rest + by_done[:, None] * self.done
        return budget - by_rest * rest, np.hstack([paid, goals])


def _place_kinds(kinds: Sequence[str], first: int, last: int) -> list[np.ndarray]:
    """Return which weights belong to each kind of action; without kinds, those from `first` on to `last` are one."""
    numbers = pd.factorize(np.array(kinds or [""] * (last - first), object))[0]
    return [first + np.flatnonzero(numbers == kind) for kind in np.unique(numbers)]


class Likelihood:
    """The chance of dialogues as a function of the weights; the first `states` features of a turn are of the state.

    `kinds` has the kind of each feature of an action.
    """

    def __init__(
        self,
        v_b: float,
        seen: Features,
        status: np.ndarray,
        states: int,
        signed: int = 0,
        kinds: Sequence[str] = (),
        gamma: float | None = None,
    ):
        self.least, self.gamma = abs(v_b), gamma
        self.turns: np.ndarray = seen.lengths.astype(float)
        self.failed: np.ndarray = status < 0
        by_turn, ends = seen.by_turn["turns"].astype(float), np.cumsum(seen.lengths) - 1
        paid = np.add.reduceat(by_turn, ends - seen.lengths + 1, axis=0)
        goals = np.hstack([seen.goals, np.ones((len(status), 1))])
        after = End(np.hstack([-paid, goals]), self.turns)
        before = End(np.hstack([-(paid - by_turn[ends]), goals]), self.turns - 1)
        if gamma is not None:
            after = after.with_rest(seen, ends, np.ones(len(ends), bool))
            before = before.with_rest(seen, ends - (seen.lengths > 1), seen.lengths > 1)  # h'_0 = 0
        self.ends = after, before
        self.states, self.width, self.signed = states, paid.shape[1], signed
        last = after.rows.shape[1] - 1 - signed
        #: Which weights are drawn toward their mean (True) or toward zero, and how strongly beside the others.
        self.groups: tuple[tuple[Any, bool, float], ...] = (
            (slice(0, states), False, OF_STATES),
            *((place, True, 1.0) for place in _place_kinds(kinds, states, self.width)),
            (slice(self.width, last), True, 1.0),
            (slice(last, last + signed), False, 1.0),
        )

    def choose(self, seed: int = 0) -> Likely:
        """Return what is likeliest with the pooling under which held-out dialogues are likeliest."""
        some = np.random.default_rng(seed).permutation(len(self.failed))[:CHOSEN_ON]
        best = POOLING[0], -np.inf
        for pooling in POOLING:  # from strong to weak, as long as it helps
            chance = 0.0
            for fold in range(FOLDS):
                counts = np.zeros(len(self.failed))
                counts[np.delete(some, np.s_[fold::FOLDS])] = 1.0
                x = self._minimise(pooling, counts, steps=TRIED)
                chance += float(self._chances(x)[0][0][some[fold::FOLDS]].sum())
            if chance < best[1]:
                break
            best = pooling, chance
        return self.fit(best[0])

    def fit(self, pooling: float, counts: np.ndarray | None = None, start: Likely | None = None) -> Likely:
        """Return what is likeliest where each dialogue counts so often."""
        x = self._minimise(pooling, np.ones(len(self.failed)) if counts is None else counts, start)
        chance = float(self._chances(x)[0][0].mean())
        costs, patience = np.append(x[: self.width], self.least), x[self.width : -2]
        noise, leaving = float(np.exp(x[-2])) * self.least, float(expit(x[-1]))
        return Likely(costs, patience, noise, leaving if leaving > expit(LEAVING[0]) else 0.0, pooling, chance)

    def _minimise(
        self, pooling: float, counts: np.ndarray, start: Likely | None = None, steps: int = STEPS
    ) -> np.ndarray:
        n, width = self.ends[0].rows.shape[1], self.width
        x = np.concatenate([np.zeros(width), np.full(n - width, self.least), [0.0, -4.0]])
        x[self.states : width] = self.least / 2
        if start is not None:
            x = np.concatenate([start.costs[:-1], start.patience, [np.log(start.noise / self.least), 0.0]])
            x[-1] = np.clip(logit(start.leaving), *LEAVING)
        bounds = [(0.0, None)] * n + [(np.log(NOISE[0]), np.log(NOISE[1])), LEAVING]
        bounds[n - 1 - self.signed : n - 1] = [(None, None)] * self.signed
        some, used = copy(self), np.flatnonzero(counts)
        some.turns, some.failed = self.turns[used], self.failed[used]
        some.ends = self.ends[0].take(used), self.ends[1].take(used)
        with threadpool_limits(1):  # products as small as these only wait for each other
            minimum = minimize(
                some._lose, x, (pooling / self.least**2, counts[used]), jac=True, method="L-BFGS-B", bounds=bounds,
                options={"maxiter": steps, "maxfun": 2 * steps},
            )  # fmt: skip
        solution: np.ndarray = minimum.x
        return solution

    def _chances(self, x: np.ndarray) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
        """Return the logarithm of the chance of each dialogue and its slopes by the budgets after and before the last turn in units
        of σ, by the logit of λ and by log σ; and the slopes of these budgets by the weights.
        """
        z, noise, leaving = x[:-2], np.exp(x[-2]) * self.least, expit(x[-1])
        turns, failed = self.turns, self.failed
        budgets, rows = zip(*(end.measure_budget(z, self.width, self.least, self.gamma) for end in self.ends))
        u, v = (budget / noise for budget in budgets)
        log_kept, held = log_ndtr(u), log_ndtr(v)
        stays = np.exp(np.minimum(log_kept - held, 0.0)) * (1 - leaving)
        goes = np.maximum(1 - stays, TINY)
        log_told = np.where(
            failed, (turns - 1) * np.log1p(-leaving) + held + np.log(goes), turns * np.log1p(-leaving) + log_kept
        )
        of_u, of_v = (np.sqrt(2 / np.pi) / erfcx(-own / np.sqrt(2)) for own in (u, v))
        by_u = np.where(failed, -stays * of_u / goes, of_u)
        by_v = np.where(failed, of_v + stays * of_v / goes, 0.0)
        of_leaving = np.where(failed, stays * leaving / goes - (turns - 1) * leaving, -turns * leaving)
        return (log_told, by_u, by_v, of_leaving, -(by_u * u + by_v * v)), rows

    def _lose(self, x: np.ndarray, pooling: float, counts: np.ndarray) -> tuple[float, np.ndarray]:
        """Return what is minimised, and its slopes."""
        chances, (after, before) = self._chances(x)
        log_chances, by_u, by_v, of_leaving, of_noise = (own * counts for own in chances)
        slopes = (by_u @ after + by_v @ before) / (np.exp(x[-2]) * self.least)
        slopes = -np.concatenate([slopes, [of_noise.sum(), of_leaving.sum()]])
        loss = -float(log_chances.sum())
        for group, is_pooled, strength in self.groups:
            away = x[group] - (x[group].mean() if is_pooled else 0.0)
            loss += 0.5 * strength * pooling * float(away @ away)
            slopes[group] += strength * pooling * away
        return loss, slopes
