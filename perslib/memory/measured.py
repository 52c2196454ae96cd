"""A memory without a model: which measurable traits of replies went with this user's high and low scores.

A language model reads well and counts badly. Here length, numbers, tables and the like are counted in the rated turns
of the user's history, and the memory says in words where replies that scored high and replies that scored low differ.
For the reply to judge it says how that reply stands in the same traits, and what score they speak for:

    ȳ + z·w,   w = (ZᵀZ + 2nI)⁻¹ Zᵀ(y − ȳ)

ridge regression over the user's own n rated turns, Z their traits in the user's own standard units. The penalty of
2n shrinks a trait that goes with no other to a third of what its correlation alone would say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from perslib.corpus import Block, Corpus, Target
from perslib.llm import Ask
from perslib.memory.base import MemorySystem, Statement, UserMemory, make_counts_memory
from perslib.memory.features import NAMES, TurnContext, measure_traits, read_evidence_turns, read_target_turn
from perslib.memory.retrieval import turn_id
from perslib.paths import read_toml
from perslib.prompts import read_phrases
from perslib.text import check_language

#: Trait → whether it is a number ("count"), a share, or there or not ("mark"); what it is called stands with the prompts.
TRAITS: dict[str, str] = read_toml(__file__, "cues.toml")["traits"]
PENALTY = 2.0
SAID_AT_MOST = 5
CITED = 4
FEWEST = 5
"""Rated turns below which nothing is concluded from traits."""

_COLUMNS = [NAMES.index(name) for name in TRAITS]

Array = np.ndarray


@dataclass(frozen=True)
class MeasuredMemory(UserMemory):
    """Statements about traits, and what they speak for in a reply at hand."""

    traits: Traits | None = None
    language: str = "en"
    trait_of: Mapping[str, str] = field(default_factory=dict)
    """Statement → the trait that it is about."""

    def with_statements(self, statements: Sequence[Statement]) -> MeasuredMemory:
        """Return the memory with these statements alone; a trait whose statement is gone neither describes a reply nor counts."""
        gone = set(self.trait_of) - {s.id for s in statements}
        traits = self.traits and self.traits.without({self.trait_of[id] for id in gone})
        return replace(self, statements=tuple(statements), traits=traits)

    def describe_target(self, target: Target) -> str | None:
        """Return how this reply stands in the traits that the statements name, and the score they speak for.

        None where there is no such trait.
        """
        if self.traits is None or not self.traits.statements:
            return None
        words, values = read_phrases("measured", self.language), _measure_turns([read_target_turn(target)])[0]
        sentences = [
            words["is"].format(
                trait=read_phrases("traits", self.language)[name],
                value=(words["yes"] if values[i] > 0.5 else words["no"])
                if TRAITS[name] == "mark"
                else _format_trait(name, values[i]),
            )
            for name, i in self.traits.statements
        ]
        score = f"{self.traits.score(values):.1f}"
        return words["here"].format(traits=words["join"].join(sentences), score=score)


class MeasuredSystem(MemorySystem):
    """Counts, no model. With a `leading_system`, what another memory says comes first: words and measures together."""

    def __init__(self, language: str = "en", *, leading_system: MemorySystem | None = None, name: str | None = None):
        self.language, self.leading_system = check_language(language), leading_system
        self.name = name or ("measured" if leading_system is None else f"{leading_system.name} + measured")
        self.learns = leading_system is not None and leading_system.learns

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Let the other memory learn, if there is one."""
        if self.leading_system is not None:
            await self.leading_system.fit(train, ask)

    async def build(self, block: Block, ask: Ask, judged: pd.DataFrame | None = None) -> UserMemory:
        """Measure the rated turns; the other memory, if any, is built as it builds itself."""
        other = None if self.leading_system is None else await self.leading_system.build(block, ask, judged)
        return self.measure(block, judged, other)

    def measure(
        self, block: Block, judged: pd.DataFrame | None = None, other: UserMemory | None = None
    ) -> MeasuredMemory:
        """Return the measured memory, with what another one says in front."""
        memory, known = make_counts_memory(MeasuredMemory, block, judged, self.name, language=self.language)
        rated = known[known["score"].notna()].reset_index(drop=True)
        statements = () if other is None else other.statements
        if other is not None:
            memory = replace(memory, statements=statements, error=other.error, prompt=other.prompt)
        if len(rated) < FEWEST or rated["score"].nunique() < 2:
            return memory
        # Replies that nobody rated are there all the same: the next is not the first, may repeat them, or outgrow them.
        said_there = [reply for reply, has in zip(read_evidence_turns(known), known["score"].notna()) if has]
        traits = Traits(said_there, rated["score"].to_numpy(float))
        ids = [turn_id(*row) for row in rated[["scenario", "session", "turn"]].itertuples(index=False)]
        own = tuple(self._statements(traits, ids, first=len(statements) + 1))
        trait_of = {s.id: name for s, (name, _) in zip(own, traits.statements)}
        return replace(memory, statements=(*statements, *own), turns=tuple(ids), traits=traits, trait_of=trait_of)

    def _statements(self, traits: Traits, ids: list[str], first: int) -> Iterator[Statement]:
        for name, i in traits.statements:
            high, low, cut = traits.contrast(i, name)
            filled = {"high": _format_compared(name, high), "low": _format_compared(name, low), "cut": cut}
            cited = tuple(ids[k] for k in traits.find_extreme_turns(i))
            phrases, named = read_phrases("measured", self.language), read_phrases("traits", self.language)
            text = phrases[TRAITS[name]].format(trait=named[name], **filled)
            yield Statement(f"M{first}", "measured", text, cited)
            first += 1


class Traits:
    """The traits of a user's rated replies and the ridge regression of the scores on them."""

    def __init__(self, contexts: list[TurnContext], scores: Array):
        self.values, self.scores = _measure_turns(contexts), scores
        self._mean, self._spread = self.values.mean(0), np.maximum(self.values.std(0), 0.05)
        self._z = (self.values - self._mean) / self._spread
        n, off = len(scores), scores - scores.mean()
        self.weights = np.linalg.solve(self._z.T @ self._z + PENALTY * n * np.eye(len(TRAITS)), self._z.T @ off)
        self.correlations = self._z.T @ off / n / max(float(scores.std()), 1e-9)
        names = list(TRAITS)
        worth = [i for i in np.argsort(-np.abs(self.correlations), kind="stable") if self._says(names[i], i)]
        self.statements = [(names[i], int(i)) for i in worth[:SAID_AT_MOST]]

    def _says(self, name: str, i: int) -> bool:
        """Return whether a trait is worth a sentence: beyond one standard error of no correlation, in whose direction
        the weight points and the sentence as well, with a difference that shows in its numbers.
        """
        beyond = abs(self.correlations[i]) > 1 / np.sqrt(len(self.scores))
        if TRAITS[name] == "hidden" or not beyond or self.correlations[i] * self.weights[i] <= 0:
            return False
        high, low, _ = self.contrast(i, name)
        return (high - low) * self.correlations[i] > 0 and _format_compared(name, high) != _format_compared(name, low)

    def score(self, values: Array) -> float:
        """Return what the traits of a reply speak for, on the scale 1 to 5."""
        z = np.clip((values - self._mean) / self._spread, -3, 3)
        return float(np.clip(self.scores.mean() + z @ self.weights, 1, 5))

    def without(self, names: Collection[str]) -> Traits:
        """Return the same with these traits neither told nor weighed."""
        copied = copy(self)
        copied.statements = [(name, i) for name, i in self.statements if name not in names]
        copied.weights = np.where([name in names for name in TRAITS], 0.0, self.weights)
        return copied

    def contrast(self, i: int, name: str) -> tuple[float, float, int]:
        """Return where a trait differs: for a mark, the mean score with and without it; else its mean in high and low."""
        if TRAITS[name] == "mark":
            there = self.values[:, i] > 0.5
            return float(self.scores[there].mean()), float(self.scores[~there].mean()), 0
        cut = split_scores(self.scores)
        high = self.scores >= cut
        return float(self.values[high, i].mean()), float(self.values[~high, i].mean()), cut

    def find_extreme_turns(self, i: int) -> list[int]:
        """Return the turns that say most of a trait: far from the mean in trait and score at once, as the weight says."""
        off = self._z[:, i] * (self.scores - self.scores.mean()) * np.sign(self.correlations[i])
        return sorted(int(k) for k in np.argsort(-off, kind="stable")[:CITED])


def split_scores(scores: Array) -> int:
    """Return the score from which on the user's scores are high: what splits them most evenly; 4 where all are alike."""
    cuts = [int(s) for s in np.unique(scores)[1:]]
    return min(cuts, key=lambda s: abs((scores >= s).mean() - 0.5), default=4)


def _measure_turns(contexts: list[TurnContext]) -> Array:
    return np.array([measure_traits(s)[_COLUMNS] for s in contexts])


def _format_compared(trait: str, value: float) -> str:
    """Return what is compared in a sentence: for a mark mean scores, else the trait itself."""
    return f"{value:.1f}" if TRAITS[trait] == "mark" else _format_trait(trait, value)


def _format_trait(trait: str, value: float) -> str:
    """Return a trait's value for reading: logs as the numbers they stand for, shares in per cent."""
    return f"{value:.0%}" if TRAITS[trait] == "share" else f"{np.expm1(value):.0f}"
