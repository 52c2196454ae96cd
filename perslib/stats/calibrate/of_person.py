"""What a person's own ratings say of any judge's scores: how this person maps them, and how far off they are in this conversation.

    prior = fit_person_prior(held_out)                     how levels and slopes differ between the train users
    calibrate_by_person(verdicts, corpus, prior)           from the user's ratings in other scenarios
    correct_so_far(verdicts, corpus, imaginary=…)          from the earlier ratings of the same conversation

A person's label is taken as α + β · (score − centre) + noise, and (α, β) as drawn from a normal distribution over people, which
expectation maximisation learns from train users. A user without ratings has its mean, one with many their own line. A line with
β > 0 changes no rank within a person: it can mend level and error, and r over all people, but no r within a person.

The correction of a conversation is the mean of label − score over its earlier rated turns, beside imaginary turns without an
error; the weight of a turn halves with each turn since. Two imaginary turns were best for PersTurnBench's people; where that makes
train users' scores worse, there are more, up to so many that nothing is corrected.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from perslib.corpus import SESSION, Corpus
from perslib.stats.agreement.gold import with_gold
from perslib.stats.calibrate.verdicts import JUDGED_BY
from perslib.stats.resample.leave_one_out import Floats, floats

IMAGINARY: tuple[float, ...] = (2.0, 4.0, 8.0, 16.0, 32.0, np.inf)
KEPT_A_TURN = 0.5
#: How many of a person's ratings are tried, where it is shown what they add.
TRIED = (0, 1, 2, 5, 10, 20)
ROUNDS = 200


@dataclass(frozen=True)
class PersonPrior:
    """How the lines of people are distributed: mean and covariance of (α, β), the variance around a line, and the centre of scores."""

    mean: Floats
    covariance: Floats
    noise: float
    centre: float

    def draw_line(self, score: Floats, gold: Floats) -> tuple[Floats, Floats]:
        """Return the posterior mean and covariance of (α, β) of a person with these ratings; there may be none."""
        x = np.column_stack([np.ones(len(score)), score - self.centre])
        covariance: Floats = np.linalg.inv(x.T @ x / self.noise + self.precision).astype(float)
        return covariance @ (x.T @ gold / self.noise + self.precision @ self.mean), covariance

    @cached_property
    def precision(self) -> Floats:
        """The inverse of the covariance."""
        return np.asarray(np.linalg.pinv(self.covariance), float)

    def expect(self, line: Floats, score: Floats) -> Floats:
        """Return what a person with this line is expected to give, on 1–5."""
        return np.clip(line[0] + line[1] * (score - self.centre), 1, 5)


def fit_person_prior(rated: pd.DataFrame, score: str = "raw") -> PersonPrior:
    """Return the distribution of lines over the users of `rated`, which has user, gold and the judge's held-out scores."""
    rated = rated.dropna(subset=["gold", score])
    groups = [(floats(own[score]), floats(own["gold"])) for _, own in rated.groupby("user")]
    values, gold = (np.concatenate([group[i] for group in groups]) for i in (0, 1))
    centre = float(values.mean())
    slope = np.cov(values, gold)[0, 1] / max(values.var(), 1e-6)
    prior = PersonPrior(np.array([gold.mean(), slope]), np.diag([0.25, 0.05]), max(float(gold.var()), 0.05), centre)
    rows = [np.column_stack([np.ones(len(own)), own - centre]) for own, _ in groups]
    squares = np.array([x.T @ x for x in rows])
    products = np.array([x.T @ given for x, (_, given) in zip(rows, groups)])
    for _ in range(ROUNDS):
        spread = np.linalg.inv(squares / prior.noise + prior.precision)
        lines = np.einsum("uij,uj->ui", spread, products / prior.noise + prior.precision @ prior.mean)
        mean = lines.mean(axis=0)
        covariance = (spread.sum(axis=0) + (lines - mean).T @ (lines - mean)) / len(groups) + 1e-6 * np.eye(2)
        second = spread + lines[:, :, None] * lines[:, None, :]
        left = gold @ gold - 2 * (lines * products).sum() + (second * squares).sum()
        moved = np.abs(covariance - prior.covariance).max() + np.abs(mean - prior.mean).max()
        prior = PersonPrior(mean, covariance, max(float(left) / len(gold), 1e-3), centre)
        if moved < 1e-5:
            break
    return prior


def calibrate_by_person(
    verdicts: pd.DataFrame,
    corpus: Corpus,
    prior: PersonPrior,
    score: str = "real",
    *,
    most: int | None = None,
    of_other: str = "scenario",
    evidence: str | None = None,
) -> pd.Series:
    """Return each score as this person is expected to give it, from at most `most` of the person's ratings in other scenarios.

    Where only earlier conversations are evidence, later scenarios are none. With `of_other="session"` the ratings are those of other
    conversations, of any scenario.
    """
    frame = with_gold(verdicts, corpus, [score]).set_axis(verdicts.index)
    order = {key: i for i, key in enumerate(dict.fromkeys(corpus.sessions[of_other]))}
    is_earlier = (evidence or corpus.evidence) == "earlier"
    out = pd.Series(np.nan, frame.index)
    for _, own in frame.groupby([*(name for name in JUDGED_BY if name in frame), "user"], dropna=False, sort=False):
        place = own[of_other].map(order).to_numpy()
        known = own[["gold", score]].notna().all(axis=1).to_numpy()
        values, gold = floats(own[score]), floats(own["gold"])
        for at in np.unique(place):
            past = np.flatnonzero(known & (place < at if is_earlier else place != at))[:most]
            line, _ = prior.draw_line(values[past], gold[past])
            here = place == at
            out.loc[own.index[here]] = prior.expect(line, values[here])
    return out


def fit_so_far(held_out: pd.DataFrame, corpus: Corpus, score: str = "raw") -> float:
    """Return the fewest of `IMAGINARY` turns with which a judge's held-out scores of train users miss no more than without correction."""
    gold = with_gold(held_out, corpus, [score])["gold"].to_numpy(float)

    def measure_error(imaginary: float) -> float:
        return float(np.nanmean((floats(correct_so_far(held_out, corpus, score, imaginary)["so_far"]) - gold) ** 2))

    least = measure_error(np.inf)
    return next(count for count in IMAGINARY if measure_error(count) <= least)


def correct_so_far(
    verdicts: pd.DataFrame, corpus: Corpus, score: str = "real", imaginary: float = IMAGINARY[0]
) -> pd.DataFrame:
    """Return `so_far`, the score with the correction of its conversation, and `ratings_so_far`, the earlier ratings behind it.

    No rating of the turn itself, or of a later one, has any effect.
    """
    frame = with_gold(verdicts, corpus, [score]).set_axis(verdicts.index).sort_values("turn", kind="stable")
    who = [name for name in (*JUDGED_BY, "candidate") if name in frame]
    out = frame[[score]].rename(columns={score: "so_far"}).astype("Float64").assign(ratings_so_far=0)
    for _, own in frame.groupby([*who, *SESSION], dropna=False, sort=False):
        weight = error = 0.0
        seen, before, values, changed = 0, 0, floats(own[score]), []
        for turn, value, gold in zip(own["turn"].astype(int), values, floats(own["gold"])):
            weight, error = (part * KEPT_A_TURN ** (turn - before) for part in (weight, error))
            changed.append((np.clip(value + error / (weight + imaginary), 1, 5), seen))
            if np.isfinite(value) and np.isfinite(gold):
                weight, error, seen = weight + 1 / KEPT_A_TURN, error + (gold - value) / KEPT_A_TURN, seen + 1
            before = turn
        out.loc[own.index, ["so_far", "ratings_so_far"]] = changed
    return out.reindex(verdicts.index)
