"""Which of two replies a person will choose: what everybody likes, the person's habit of side, and the person's own tastes.

    taste = TasteModel.fit(choices)     # of other people
    taste.predict(own, TASTES)          # of a person, each pair foretold from the person's other pairs

A choice y is 1 for the first reply, −1 for the second, 0 for a tie. With x the differences of both replies' traits, and 1 for the side,

    y = x · (β + γ_person) + noise,   γ ~ N(0, diag Ω)

β, Ω and the noise are of largest likelihood (EM, Dempster, Laird & Rubin 1977; Laird & Ware 1982), from sums a person: so a fit takes as
long as there are people, and leaving a pair out is subtracting it. Prediction and explanation are sums over traits, without a remainder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from perslib.memory.features import measure_reply, tokens

Array = np.ndarray
SIDE = "side"
LIKES, HABIT, TASTES = "everybody's likes", "habit of side", "own tastes"
_SENTENCE, _CITATION = re.compile(r"(?<=[.!?])\s+|[\u3002\uff01\uff1f\n]+"), re.compile(r"\[\d+(?:\s*[,–-]\s*\d+)*\]")
STEPS, JITTER, CLIP = 60, 1e-9, 4.0
#: Variances of tastes before the first step, beside noise of 1.
START = 0.02


def _measure(name: str, request: str, reply: str) -> float:
    return measure_reply(reply)[name]


def _list(request: str, reply: str) -> float:
    return float(measure_reply(reply)["items"] >= np.log1p(2))


def _sentence_length(request: str, reply: str) -> float:
    sentences = [part for part in _SENTENCE.split(reply) if part.strip()]
    return float(np.log1p(len(tokens(reply)) / max(len(sentences), 1)))


def _word_length(request: str, reply: str) -> float:
    words = tokens(reply)
    return sum(map(len, words)) / max(len(words), 1)


def _request_words(request: str, reply: str) -> float:
    asked = {*tokens(request)}
    return len(asked & {*tokens(reply)}) / max(len(asked), 1)


def _citations(request: str, reply: str) -> float:
    return float(np.log1p(len(_CITATION.findall(reply))))


#: What is measured of a reply, by name; the names in words are in the phrases `choices`.
TRAITS: dict[str, Callable[[str, str], float]] = {
    "list": _list,
    "length": partial(_measure, "length"),
    "items": partial(_measure, "items"),
    "variety": partial(_measure, "variety"),
    "numbers": partial(_measure, "numbers"),
    "sentence_length": _sentence_length,
    "word_length": _word_length,
    "request_words": _request_words,
    "citations": _citations,
}
#: The columns of measured traits, in the order of `TRAITS`; frames without texts bring them along.
MEASURED = [f"trait_{name}" for name in TRAITS]
#: Of which weights a person's own are known at each step: of none, of the side's, of all.
KNOWN = {LIKES: slice(0), HABIT: slice(1), TASTES: slice(None)}


def measure_traits_of(request: str, reply: str) -> list[float]:
    """Return the traits of a reply, in the order of `TRAITS`."""
    return [measure(request, reply) for measure in TRAITS.values()]


def measure_replies(replies: pd.DataFrame) -> pd.DataFrame:
    """Return the traits of replies in `MEASURED` columns; those that were measured before, where texts are not there."""
    if set(MEASURED) <= set(replies):
        return replies[MEASURED].astype(float)
    texts = pd.MultiIndex.from_arrays([replies["request"].fillna("").astype(str), replies["response"].astype(str)])
    which, kinds = texts.factorize()
    traits = np.array([measure_traits_of(*own) for own in kinds]).reshape(len(kinds), len(TRAITS))
    return pd.DataFrame(traits[which], replies.index, MEASURED)


@dataclass(frozen=True)
class Choices:
    """People's choices between two replies each, a row a choice; see `perslib.studies.choices.collect_choices`."""

    x: Array
    """Traits of the first reply less those of the second."""
    y: Array
    """1 where the first was chosen, −1 the second, 0 a tie."""
    user: Array
    pair: Array
    """Which two replies they are, whoever compares them: all choices between them are left out together."""

    def take(self, rows: Array) -> Choices:
        """Return these choices only."""
        return Choices(self.x[rows], self.y[rows], self.user[rows], self.pair[rows])

    def with_column(self, values: Array) -> Choices:
        """Return the choices with one more trait, such as a judge's verdict."""
        return Choices(np.column_stack([self.x, values]), self.y, self.user, self.pair)


@dataclass(frozen=True)
class TasteModel:
    """What people like on average, and how far persons differ in it."""

    scale: Array
    """Standard deviation of each difference, by which it is divided; 1 for the side."""
    shared: Array
    own: Array
    """Variance of persons' own weights."""
    noise: float

    @classmethod
    def fit(cls, choices: Choices) -> TasteModel:
        """Learn from these people's choices."""
        spread = choices.x.std(axis=0)
        scale = np.r_[1.0, np.where(spread > 1e-9, spread, np.inf)]  # a trait that never differs says nothing
        x = _scale(choices.x, scale)
        people = pd.factorize(choices.user)[0]
        xx, xy = _sum_by(people, x[:, :, None] * x[:, None]), _sum_by(people, x * choices.y[:, None])
        k, n, yy = x.shape[1], len(x), float(choices.y @ choices.y)
        own, noise, shared = np.full(k, START), 1.0, np.zeros(k)
        for _ in range(STEPS):
            spread_of = np.linalg.inv(np.diag(1 / (own + JITTER)) + xx / noise)
            shrunk = spread_of @ xx / noise  # how far a person's own weights follow the person's choices
            unexplained = xx @ (np.eye(k) - shrunk)
            shared = np.linalg.solve(
                unexplained.sum(axis=0) + JITTER * np.eye(k),
                (xy - np.einsum("pij,pjk,pk->pi", xx, spread_of, xy) / noise).sum(axis=0),
            )
            mean = np.einsum("pij,pj->pi", spread_of, xy - xx @ shared) / noise
            whole = shared + mean
            left = yy - 2 * (whole * xy).sum() + np.einsum("pi,pij,pj->", whole, xx, whole)
            noise = float(left + np.einsum("pij,pji->", xx, spread_of)) / n
            own = (mean**2 + np.diagonal(spread_of, axis1=1, axis2=2)).mean(axis=0)
        return cls(scale, shared, own, noise)

    def weigh(
        self, choices: Choices, known: str, taught: Array | None = None, leave_out: bool = True
    ) -> tuple[Array, Array]:
        """Return x, and for each choice β + γ of its person from that person's other choices, or with `leave_out=False` from all.

        `known` is one of `KNOWN`, `taught` from which choices, if not all.
        """
        x = _scale(choices.x, self.scale)
        people = pd.factorize(choices.user)[0]
        xx, xy = x[:, :, None] * x[:, None], x * (choices.y - x @ self.shared)[:, None]
        if taught is not None:
            xx, xy = xx * taught[:, None, None], xy * taught[:, None]
        all_xx, all_xy = _sum_by(people, xx)[people], _sum_by(people, xy)[people]
        if leave_out:
            again = pd.MultiIndex.from_arrays([people, choices.pair]).factorize()[0]
            all_xx, all_xy = all_xx - _sum_by(again, xx)[again], all_xy - _sum_by(again, xy)[again]
        own = np.zeros_like(self.own)
        own[KNOWN[known]] = self.own[KNOWN[known]]
        # (Ω⁻¹ + X'X/σ²)⁻¹ X'r/σ², written so that a variance of zero is no division by zero
        inner = np.eye(len(own)) + (own[:, None] * all_xx) / self.noise
        return x, self.shared + np.linalg.solve(inner, (own * all_xy / self.noise)[..., None])[..., 0]

    def predict(self, choices: Choices, known: str) -> Array:
        """Return the expected choice of each pair, from −1 to 1, foretold from its person's other pairs."""
        x, weights = self.weigh(choices, known)
        return np.asarray((x * weights).sum(axis=1).clip(-1, 1))

    def explain(self, choices: Choices, names: Sequence[str]) -> pd.DataFrame:
        """Return what each trait adds to each expected choice: everybody's part and the person's own; the rows add up to it."""
        x, weights = self.weigh(choices, TASTES)
        return pd.DataFrame(x * weights, columns=[SIDE, *names])

    def describe_person(self, choices: Choices, names: Sequence[str]) -> pd.DataFrame:
        """Return one person's weights beside everybody's, a trait a row: weight, everybody, own (the difference), own_sd."""
        x, weights = self.weigh(choices, TASTES, leave_out=False)
        spread = np.linalg.inv(np.diag(1 / (self.own + JITTER)) + x.T @ x / self.noise)
        about: dict[str, Any] = {"weight": weights[0], "everybody": self.shared, "own": weights[0] - self.shared}
        return pd.DataFrame({"trait": [SIDE, *names], **about, "own_sd": np.sqrt(np.diag(spread))})


def _scale(x: Array, scale: Array) -> Array:
    """Return the side and the differences in standard deviations."""
    return np.column_stack([np.ones(len(x)), (x / scale[1:]).clip(-CLIP, CLIP)])


def _sum_by(group: Array, values: Array) -> Array:
    """Return the sum of the values of each group."""
    sums = np.zeros((int(group.max(initial=-1)) + 1, *values.shape[1:]))
    np.add.at(sums, group, values)
    return sums
