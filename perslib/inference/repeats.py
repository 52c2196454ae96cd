"""A judge asked again about the same reply: how much of its scores is noise, and how many repeats are worth their cost.

A score y = μ + user + turn + noise has three variances: between users (σ_u²), between the turns of a user (σ_t²) and
between calls about the same turn (σ_e²), by the nested analysis of variance (method of moments for unequal numbers;
Searle, Casella & McCulloch 1992). The mean of k calls about a turn has reliability

    ρ_k = (σ_u² + σ_t²) / (σ_u² + σ_t² + σ_e² / k) = k ρ_1 / (1 + (k − 1) ρ_1)        (Spearman & Brown),

the correlation of two such means (ICC); and √ρ_k bounds how far it can correlate with anything, people included. Means
over U users with m turns each have the variance σ_u²/U + σ_t²/(U m) + σ_e²/(U m k): repeats help the last part only,
further turns the last two. So repeats are worth their cost where a further turn costs more than a call: for a given
budget and number of users the error is least at k = √(σ_e² / σ_t² · cost of a turn / cost of a call) (Cochran 1977,
chapter 10), and at k = 1 where turns cost nothing beside their calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from perslib.errors import DataError, UnknownName
from perslib.inference.bootstrap import FEWEST_USERS, LEVEL, RESAMPLES, SEED, interval, resample_users

REPEATS = (1, 2, 3, 5, 10)


class Retest(NamedTuple):
    """What the scores of a judge asked repeatedly vary by."""

    between_users: float
    between_turns: float
    noise: float
    users: int
    turns: int
    calls: int

    def reliability(self, repeats: float = 1, *, within_users: bool = False) -> float:
        """Of the mean of so many calls a turn; with `within_users`, for telling turns of one user apart."""
        true = self.between_turns + (0.0 if within_users else self.between_users)
        whole = true + self.noise / repeats
        return true / whole if whole > 0 else float("nan")

    def error(self, users: float, turns_per_user: float, repeats: float = 1) -> float:
        """Standard error of the mean over so many users, turns of each, and calls about each turn."""
        own = self.between_turns + self.noise / repeats
        return float(np.sqrt((self.between_users + own / turns_per_user) / users))


def retest(scores: pd.DataFrame, *, score: str = "score") -> Retest:
    """The three variances from one row a call: `user`, the score, and the columns that name a turn.

    A turn is named by those of `scenario`, `session`, `turn` and `candidate` that are there. Missing scores stay out. A
    component that comes out negative is 0.
    """
    sums = _sums(scores, score)
    between, turns, noise = _components(sums.to_numpy().T @ np.ones(len(sums)))
    return Retest(
        between_users=max(0.0, float(between)),
        between_turns=max(0.0, float(turns)),
        noise=max(0.0, float(noise)),
        users=len(sums),
        turns=int(sums["turns"].sum()),
        calls=int(sums["calls"].sum()),
    )


def reliability(
    scores: pd.DataFrame,
    repeats: Sequence[int] = REPEATS,
    *,
    score: str = "score",
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> pd.DataFrame:
    """How reliable the mean of k calls is, with intervals over resampled users; `scores` as for `retest`.

    Columns: repeats, reliability (over all turns), low, high, within (for telling turns of one user apart), within_low,
    within_high, ceiling (√ reliability: no correlation can exceed it). No interval below FEWEST_USERS users.
    """
    sums = _sums(scores, score)
    weights = resample_users(len(sums), resamples if len(sums) >= FEWEST_USERS else 0, seed)
    between, turns, noise = np.maximum(_components(sums.to_numpy().T @ weights.astype(float)), 0)
    rows = []
    for k in repeats:
        row: dict[str, float] = {"repeats": k}
        for name, true in (("reliability", between + turns), ("within", turns)):
            with np.errstate(invalid="ignore", divide="ignore"):
                values = true / (true + noise / k)
            prefix = "" if name == "reliability" else f"{name}_"
            low, high = interval(values[1:], level)
            row |= {name: float(values[0]), f"{prefix}low": low, f"{prefix}high": high}
        rows.append(row | {"ceiling": float(np.sqrt(row["reliability"]))})
    return pd.DataFrame(rows)


def repeats_worth(
    found: Retest,
    budget: float,
    *,
    call: float,
    turn: float = 0.0,
    user: float = 0.0,
    users: int | None = None,
    turns_at_most: int | None = None,
    repeats: Sequence[int] = REPEATS,
) -> pd.DataFrame:
    """For each number of repeats the turns that a budget pays for, the error reached with them, and which is best.

    A call costs `call`, a further turn `turn` beside its calls (collecting it, rating it, generating a reply), a further
    user `user` (its memory, say). `users` are as many as were measured unless given; each gets the same number of
    turns, at most `turns_at_most` of them. Where turns are free and there are enough, one call each is best.

    Columns: repeats, turns_per_user, cost, error (standard error of the mean over users), reliability, best.
    """
    if not call > 0 or min(turn, user, budget) < 0:
        raise DataError(
            f"Costs are {call:g} a call, {turn:g} a turn, {user:g} a user; the budget is {budget:g}",
            "A call costs something, and nothing costs less than nothing.",
        )
    many = found.users if users is None else users
    rows = []
    for k in repeats:
        each = (budget / many - user) / (turn + k * call)
        turns = int(each + 1e-9) if turns_at_most is None else min(int(each + 1e-9), turns_at_most)
        rows.append(
            {
                "repeats": k,
                "turns_per_user": turns,
                "cost": many * (user + turns * (turn + k * call)) if turns > 0 else np.nan,
                "error": found.error(many, turns, k) if turns > 0 else np.nan,
                "reliability": found.reliability(k),
            }
        )
    table = pd.DataFrame(rows)
    if table["error"].isna().all():
        raise DataError(
            f"A budget of {budget:g} does not pay for one turn of each of {many} users",
            "Give a larger budget, or fewer users.",
        )
    return table.assign(best=table["error"] <= table["error"].min() * (1 + 1e-12))


def _sums(scores: pd.DataFrame, score: str) -> pd.DataFrame:
    """A row a user with what the mean squares and their expectations are made of; they add up over users."""
    if missing := [c for c in ("user", score) if c not in scores]:
        raise UnknownName("column of the scores", missing[0], map(str, scores.columns))
    keys = [c for c in ("scenario", "session", "turn", "candidate") if c in scores]
    if not keys:
        raise DataError(
            "No column names the turns", "Give `turn`, and `session` where turns count from 0 in each."
        )
    judged_by = [c for c in ("judge", "backbone") if c in scores]
    if judged_by and len(scores[judged_by].drop_duplicates()) > 1:
        raise DataError("The scores are of several judges", "Take one judge's at a time.")
    known = scores[["user", *keys, score]].dropna(subset=[score])
    value = known[score].astype(float)
    shifted = known.assign(y=value - value.mean(), yy=(value - value.mean()) ** 2)
    by_turn = shifted.groupby(["user", *keys], dropna=False, sort=False)
    turns = pd.DataFrame({"k": by_turn["y"].size(), "y": by_turn["y"].sum(), "yy": by_turn["yy"].sum()})
    if not (turns["k"] > 1).any():
        raise DataError(
            "No turn was judged twice", "Judge the same turns again, with another seed, and give all rows."
        )
    turns = turns.assign(k2=turns["k"] ** 2, own=turns["y"] ** 2 / turns["k"], turns=1)
    users = turns.groupby("user").sum()
    if len(users) < 2:
        raise DataError("The scores are of one user", "How users differ takes two of them, better twenty.")
    n = users["k"]
    return pd.DataFrame(
        {
            "users": 1.0,
            "turns": users["turns"],
            "calls": n,
            "y": users["y"],
            "user_mean": users["y"] ** 2 / n,  # n ȳ_u²
            "turn_mean": users["own"],  # Σ k ȳ_t²
            "yy": users["yy"],
            "k2": users["k2"],
            "k2_n": users["k2"] / n,
            "n2": n**2,
        }
    ).astype(float)


def _components(sums: np.ndarray) -> np.ndarray:
    """σ_u², σ_t² and σ_e² (rows) from sums over users, in columns; below zero where chance will have it."""
    users, turns, calls, y, user_mean, turn_mean, yy, k2, k2_n, n2 = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        noise = (yy - turn_mean) / np.where(calls > turns, calls - turns, np.nan)
        within = np.where(turns > users, turns - users, np.nan)
        turn = ((turn_mean - user_mean) - noise * within) / (calls - k2_n)
        turn = np.where(turns > users, turn, 0.0)
        between = user_mean - y**2 / calls - noise * (users - 1) - np.maximum(turn, 0) * (k2_n - k2 / calls)
        user = between / (calls - n2 / calls)
    return np.array([user, turn, noise])
