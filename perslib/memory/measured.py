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

from perslib.corpus import Block, Target
from perslib.errors import UnknownName
from perslib.llm import Steps
from perslib.memory.base import MemorySystem, Statement, UserMemory, score_counts
from perslib.memory.features import NAMES, Said, read, said_by, said_of
from perslib.memory.retrieval import turn_id

#: Trait → how it is said (zh, en), and whether it is a number ("count"), a share, or there or not ("mark").
TRAITS: dict[str, tuple[str, str, str]] = {
    "length": ("篇幅（字）", "length in words", "count"),
    "items": ("列表条目", "list items", "count"),
    "headings": ("小标题", "headings", "count"),
    "bold": ("加粗处", "passages in bold", "count"),
    "table": ("有表格", "has a table", "mark"),
    "numbers": ("具体数字", "exact numbers", "count"),
    "prices": ("价格", "prices", "count"),
    "links": ("有链接", "has a link", "mark"),
    "asks_back": ("结尾有反问或客套", "ends with a question or an offer", "mark"),
    "hedges": ("模棱两可的话", "hedges", "count"),
    "keeps_numbers": ("要求里的数字得到照应的比例", "share of the request's numbers taken up", "share"),
    "answers": ("要求里的词得到照应的比例", "share of the request's words taken up", "share"),
    "variety": ("用词不重复的比例", "share of words not repeated", "share"),
    "repeats_reply": ("与上一条回复重复的比例", "share repeated from the previous reply", "share"),
    "growth": ("", "", "hidden"),
    "first": ("对话的第一条回复", "first reply of its conversation", "mark"),
    "apology": ("以道歉开头", "begins with an apology", "mark"),
}
PENALTY = 2.0
SAID_AT_MOST = 5
CITED = 4
FEWEST = 5
"""Rated turns below which nothing is concluded from traits."""

_COLUMNS = [NAMES.index(name) for name in TRAITS]
_WORDS = {
    "zh": {
        "mark": "{trait}：平均 {high} 分，其余平均 {low} 分",
        "count": "{trait}：打 {cut} 分及以上的通常约 {high}，更低的约 {low}",
        "share": "{trait}：打 {cut} 分及以上的平均 {high}，更低的平均 {low}",
        "here": "{traits}；只看这些特点，此人约打 {score} 分",
        "yes": "是", "no": "否", "join": "，", "is": "{trait}：{value}",
    },
    "en": {
        "mark": "{trait}: {high} on average, otherwise {low}",
        "count": "{trait}: about {high} where the score is {cut} or more, about {low} below",
        "share": "{trait}: {high} on average where the score is {cut} or more, {low} below",
        "here": "{traits}; going by these traits alone, this user gives about {score}",
        "yes": "yes", "no": "no", "join": ", ", "is": "{trait}: {value}",
    },
}  # fmt: skip

Array = np.ndarray


@dataclass(frozen=True)
class MeasuredMemory(UserMemory):
    """Statements about traits, and what they speak for in a reply at hand."""

    traits: Traits | None = None
    language: str = "en"
    trait_of: Mapping[str, str] = field(default_factory=dict)
    """Statement → the trait that it is about."""

    def with_statements(self, statements: Sequence[Statement]) -> MeasuredMemory:
        """A trait whose statement is gone is neither told of a reply nor counted for its score."""
        gone = set(self.trait_of) - {s.id for s in statements}
        traits = self.traits and self.traits.without({self.trait_of[id] for id in gone})
        return replace(self, statements=tuple(statements), traits=traits)

    def about(self, target: Target) -> str | None:
        """How this reply stands in the traits that the statements name, and the score they speak for.

        None where there is no such trait.
        """
        if self.traits is None or not self.traits.told:
            return None
        words, values = _WORDS[self.language], _measured([said_by(target)])[0]
        said = [
            words["is"].format(
                trait=_name(name, self.language),
                value=(words["yes"] if values[i] > 0.5 else words["no"])
                if TRAITS[name][2] == "mark"
                else _shown(name, values[i]),
            )
            for name, i in self.traits.told
        ]
        score = f"{self.traits.score(values):.1f}"
        return words["here"].format(traits=words["join"].join(said), score=score)


class Measured(MemorySystem):
    """Counts, no model. With `beside`, what another memory says comes first: words and measures together."""

    def __init__(self, language: str = "en", *, beside: MemorySystem | None = None, name: str | None = None):
        if language not in _WORDS:
            raise UnknownName("language", language, _WORDS)
        self.language, self.beside = language, beside
        self.name = name or ("measured" if beside is None else f"{beside.name} + measured")

    def build(self, block: Block, judged: pd.DataFrame | None = None) -> Steps[UserMemory]:
        """Measure the rated turns; the other memory, if any, is built as it builds itself."""
        known = block.evidence if judged is None else pd.concat([block.evidence, judged], ignore_index=True)
        rated = known[known["score"].notna()].reset_index(drop=True)
        other = None if self.beside is None else (yield from self.beside.build(block, judged))
        said = () if other is None else other.statements
        update = "" if judged is None else f"with {len(judged)} judged replies"
        memory = MeasuredMemory(
            block.user,
            block.scenario,
            self.name,
            score_counts(rated),
            said,
            update=update,
            language=self.language,
        )
        if other is not None:
            memory = replace(memory, error=other.error, prompt=other.prompt)
        if len(rated) < FEWEST or rated["score"].nunique() < 2:
            return memory
        # Replies that nobody rated are there all the same: the next is not the first, may repeat them, or outgrow them.
        said_there = [reply for reply, has in zip(said_of(known), known["score"].notna()) if has]
        traits = Traits(said_there, rated["score"].to_numpy(float))
        ids = [turn_id(*row) for row in rated[["scenario", "session", "turn"]].itertuples(index=False)]
        told = tuple(self._statements(traits, ids, first=len(said) + 1))
        trait_of = {s.id: name for s, (name, _) in zip(told, traits.told)}
        return replace(memory, statements=(*said, *told), turns=tuple(ids), traits=traits, trait_of=trait_of)

    def _statements(self, traits: Traits, ids: list[str], first: int) -> Iterator[Statement]:
        for name, i in traits.told:
            high, low, cut = traits.contrast(i, name)
            filled = {"high": _compared(name, high), "low": _compared(name, low), "cut": cut}
            cited = tuple(ids[k] for k in traits.telling(i))
            text = _WORDS[self.language][TRAITS[name][2]].format(trait=_name(name, self.language), **filled)
            yield Statement(f"M{first}", "measured", text, cited)
            first += 1


class Traits:
    """The traits of a user's rated replies and the ridge regression of the scores on them."""

    def __init__(self, said: list[Said], scores: Array):
        self.values, self.scores = _measured(said), scores
        self._mean, self._spread = self.values.mean(0), np.maximum(self.values.std(0), 0.05)
        self._z = (self.values - self._mean) / self._spread
        n, off = len(scores), scores - scores.mean()
        self.weights = np.linalg.solve(
            self._z.T @ self._z + PENALTY * n * np.eye(len(TRAITS)), self._z.T @ off
        )
        self.correlations = self._z.T @ off / n / max(float(scores.std()), 1e-9)
        names = list(TRAITS)
        worth = [i for i in np.argsort(-np.abs(self.correlations), kind="stable") if self._says(names[i], i)]
        self.told = [(names[i], int(i)) for i in worth[:SAID_AT_MOST]]

    def _says(self, name: str, i: int) -> bool:
        """Whether a trait is worth a sentence: beyond one standard error of no correlation, in whose direction the
        weight points and the sentence as well, with a difference that shows in its numbers."""
        beyond = abs(self.correlations[i]) > 1 / np.sqrt(len(self.scores))
        if TRAITS[name][2] == "hidden" or not beyond or self.correlations[i] * self.weights[i] <= 0:
            return False
        high, low, _ = self.contrast(i, name)
        return (high - low) * self.correlations[i] > 0 and _compared(name, high) != _compared(name, low)

    def score(self, values: Array) -> float:
        """What the traits of a reply speak for, on the scale 1 to 5."""
        z = np.clip((values - self._mean) / self._spread, -3, 3)
        return float(np.clip(self.scores.mean() + z @ self.weights, 1, 5))

    def without(self, names: Collection[str]) -> Traits:
        """The same with these traits neither told nor weighed."""
        kept = copy(self)
        kept.told = [(name, i) for name, i in self.told if name not in names]
        kept.weights = np.where([name in names for name in TRAITS], 0.0, self.weights)
        return kept

    def contrast(self, i: int, name: str) -> tuple[float, float, int]:
        """Where a trait differs: for a mark, the mean score with and without it; else its mean in high and low."""
        if TRAITS[name][2] == "mark":
            there = self.values[:, i] > 0.5
            return float(self.scores[there].mean()), float(self.scores[~there].mean()), 0
        cuts = [int(s) for s in np.unique(self.scores)[1:]]
        cut = min(cuts, key=lambda s: abs((self.scores >= s).mean() - 0.5))
        high = self.scores >= cut
        return float(self.values[high, i].mean()), float(self.values[~high, i].mean()), cut

    def telling(self, i: int) -> list[int]:
        """The turns that say most of a trait: far from the mean in trait and score at once, as the weight says."""
        off = self._z[:, i] * (self.scores - self.scores.mean()) * np.sign(self.correlations[i])
        return sorted(int(k) for k in np.argsort(-off, kind="stable")[:CITED])


def _measured(said: list[Said]) -> Array:
    return np.array([read(s)[_COLUMNS] for s in said])


def _name(trait: str, language: str) -> str:
    return TRAITS[trait][0 if language == "zh" else 1]


def _compared(trait: str, value: float) -> str:
    """What is compared in a sentence: for a mark mean scores, else the trait itself."""
    return f"{value:.1f}" if TRAITS[trait][2] == "mark" else _shown(trait, value)


def _shown(trait: str, value: float) -> str:
    """A trait's value for reading: logs as the numbers they stand for, shares in per cent."""
    return f"{value:.0%}" if TRAITS[trait][2] == "share" else f"{np.expm1(value):.0f}"
