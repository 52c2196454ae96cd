"""f and h as weighted sums: then the losses of eq. 7–9 are a linear program, solved exactly.

With cost(s, a) = w · (features, 1) and h(goal) = v · (features, 1), the budget after a turn is linear in z = (w, v), and each
max(0, …) of a loss is a slack variable. z is never negative: a slot can cost nothing but not give patience back, so that no
turn is cheaper than its constant, which is at least |v_b|, and eq. 9 holds by itself. Where features are words or numbers, a
weight may have any sign; eq. 9 then is a slack for each distinct turn.

Users who look forward compare with h' = spent / h(done) · h(rest) · γ (eq. 16), which is not linear. It is homogeneous
(twice z, twice h'), so its tangent at z has no constant, and a few programs in a row follow it: each is solved within a box
around the last solution, which grows after a step that lowers the loss and shrinks after one that does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from perslib.systems.deus.features import Features, differentiate_rest

#: Steps along the tangent, by how much the loss must fall to go on, and the box in units of |v_b|, first and smallest.
STEPS, ENOUGH, BOX, SMALLEST = 30, 1e-3, 3.0, 0.1


class Settings(Protocol):
    """What `perslib.systems.deus.PatienceModel` says of itself that a program depends on."""

    v_b: float
    loss: str
    gamma: float | None
    margin: float | None
    penalty: float
    actions: str
    profile: bool


@dataclass(frozen=True)
class LinearFunction:
    """A weighted sum of features, with a constant."""

    weights: np.ndarray

    def __call__(self, features: np.ndarray) -> np.ndarray:
        """Return the sum for each row."""
        values: np.ndarray = features @ self.weights[:-1] + self.weights[-1]
        return values


def fit_linear(
    model: Settings, seen: Features, status: np.ndarray
) -> tuple[LinearFunction, LinearFunction, list[float]]:
    """Return f, h, and the loss after each program, with the model's settings."""
    program, gamma, least = _Program(model, seen, status), model.gamma, abs(model.v_b)
    z = program.solve(program.budgets(None))
    losses = [program.loss(program.budgets(gamma, z), z)]
    box = BOX * least
    while gamma is not None and len(losses) <= STEPS and box > SMALLEST * least:
        tangent = program.budgets(gamma, z)
        tried = program.solve(tangent, around=z, box=box)
        enough = losses[-1] * (1 - ENOUGH)
        if program.loss(tangent, tried) > enough:
            break
        lower = program.loss(program.budgets(gamma, tried), tried)
        box *= 1.5 if lower < enough else 1 / 3
        if lower < enough:
            z = tried
            losses.append(lower)
    f, h = program.weights(z)
    return LinearFunction(-f), LinearFunction(h), losses


class _Program:
    """The budgets that the losses speak of, after the last turn and before it, as rows to be multiplied by z."""

    def __init__(self, model: Settings, seen: Features, status: np.ndarray):
        self.v_b, self.penalty, self.n = model.v_b, model.penalty, len(status)
        #: Whether weights of f and of h may be negative.
        self.signed = model.actions == "none", model.actions == "none" or model.profile
        usual = 0.5 if model.gamma is None else 0.25
        margin = abs(model.v_b) * (usual if model.margin is None else model.margin)
        turns, goals = _columns(seen.by_turn["turns"], self.signed[0]), _columns(seen.goals, self.signed[1])
        ends = np.cumsum(seen.lengths) - 1
        sums = np.cumsum(turns, axis=0)
        at_end = sums[ends] - np.vstack([np.zeros(turns.shape[1]), sums[ends[:-1]]])
        toward = np.where(status == 0, 1.0, status)
        self.paid, self.goals, self.toward, turn = at_end, goals, toward, ends
        self.least = np.where(status == 0, 0.0, margin)
        started = np.ones(self.n, dtype=bool)
        if model.loss == "full":
            self.paid, self.goals = np.vstack([at_end, at_end - turns[ends]]), np.vstack([goals, goals])
            self.toward = np.append(toward, np.ones(self.n))
            self.least = np.append(self.least, np.full(self.n, margin))
            started = np.append(started, seen.lengths > 1)  # before the first turn, h'_0 = 0
            turn = np.append(ends, ends - (seen.lengths > 1))
        self.parts: dict[str, np.ndarray] = {}
        if "rest" in seen.by_turn:
            self.parts = {name: _columns(seen.by_turn[name][turn], self.signed[1]) for name in ("rest", "done")}
            self.begun, self.left = seen.by_turn["begun"][turn], seen.by_turn["left"][turn] & started
        self.lower = np.zeros(turns.shape[1] + goals.shape[1])
        distinct, often = np.unique(turns if self.signed[0] else turns[:0], axis=0, return_counts=True)
        self.turns = np.hstack([distinct, np.zeros((len(distinct), goals.shape[1]))])
        self.often = often.astype(float)
        self.lower[turns.shape[1] - 1] = 0.0 if self.signed[0] else -model.v_b

    def budgets(self, gamma: float | None, z: np.ndarray | None = None) -> np.ndarray:
        """Return rows whose product with z is the budget, without h' for gamma None; else with h' along its tangent at
        z.
        """
        paid, goals = self.paid, self.goals
        if gamma is not None and z is not None:
            width = self.paid.shape[1]
            spent, rest, done = paid @ z[:width], *(self.parts[p] @ z[width:] for p in ("rest", "done"))
            by_spent, by_rest, by_done = differentiate_rest(spent, done, rest, gamma, done=self.begun, rest=self.left)
            goals = goals - by_rest[:, None] * self.parts["rest"] + by_done[:, None] * self.parts["done"]
            paid = paid * (1 + by_spent)[:, None]
        return self.toward[:, None] * np.hstack([-paid, goals])

    def loss(self, budgets: np.ndarray, z: np.ndarray) -> float:
        """Return what a program minimises, at z."""
        short = np.maximum(0, self.least - budgets @ z).sum() + self.often @ np.maximum(0, -self.v_b - self.turns @ z)
        return float(short / self.n + self.penalty * z.sum())

    def solve(self, budgets: np.ndarray, around: np.ndarray | None = None, box: float = np.inf) -> np.ndarray:
        """Return the z with the least loss, at most `box` away from another."""
        rows = sparse.csc_matrix(np.vstack([budgets, self.turns]))
        width, slacks = len(self.lower), rows.shape[0]
        cost = np.concatenate([np.full(width, self.penalty), np.full(len(budgets), 1 / self.n), self.often / self.n])
        low, high = self.lower, np.full(width, np.inf)
        if around is not None:
            low, high = np.maximum(low, around - box), around + box
        bounds = np.column_stack([np.append(low, np.zeros(slacks)), np.append(high, np.full(slacks, np.inf))])
        least = np.append(self.least, np.full(len(self.turns), -self.v_b))
        optimum = linprog(
            cost, -sparse.hstack([rows, sparse.eye(slacks)]).tocsc(), -least, bounds=bounds, method="highs"
        )
        solution: np.ndarray = optimum.x[:width]
        return solution

    def weights(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of f and of h, each with its constant last."""
        width = self.paid.shape[1]
        return _merge(z[:width], self.signed[0]), _merge(z[width:], self.signed[1])


def _columns(features: np.ndarray, signed: bool) -> np.ndarray:
    """Return features and a constant; for weights of any sign, every feature twice, as it is and negative."""
    own = [features, -features] if signed else [features]
    return np.hstack([*own, np.ones((len(features), 1))]).astype(float)


def _merge(weights: np.ndarray, signed: bool) -> np.ndarray:
    if not signed:
        return weights
    up, down = np.split(weights[:-1], 2)
    return np.append(up - down, weights[-1])
