"""Where a user differs from everybody, as statements that can be read, edited, and judged from.

    memory = make_memory("preferences", "en")      learns what everybody likes from train users (`fit`)
    make_judge("from statements")                  scores by what everybody likes, the user's level and five statements

The mixed model gives each trait of replies a weight of the user's own, and its uncertainty. These weights are many and go
together: long replies have more lines. So the statements are the few traits that say the most about how the user's own
part of the score varies over the train users' replies: one is added at a time, the one that explains most of the rest,
and the points of all are set anew (orthogonal matching pursuit). A statement's points are what its trait moves from a
low to a high value, one standard deviation below and above the mean; of a mark, from absent to present.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from perslib.corpus import Block, Corpus
from perslib.judge.learned.explanation import GROUP_OF, Case, turn_ids
from perslib.judge.learned.learned_judge import LearnedJudge
from perslib.judge.learned.mixed import Array, EncodedTurns, MixedModel, Parts
from perslib.llm import Ask
from perslib.memory import MemorySystem, Statement, memory
from perslib.memory.base import UserMemory, make_counts_memory
from perslib.memory.features import NAMES
from perslib.memory.measured import TRAITS as MEASURED
from perslib.memory.preferences import ASSISTANT, LEVEL, PreferenceMemory
from perslib.prompts import read_phrases
from perslib.text import check_language

#: So many traits become statements; the level is one more.
STATEMENTS = 5
CITED = 3
#: Traits that move less than so many points are not worth a statement.
LEAST_POINTS = 0.01
#: Of a group of traits of which the history leaves more than this share of what people differ by, nothing is known yet.
UNKNOWN = 0.8
#: Groups in which people differ by less than this standard deviation, in points, are left out there.
LEAST_SPREAD = 0.1
Z95 = 1.96
PLAINER = 1.2


@dataclass(frozen=True)
class Difference:
    """A trait by which the user's scores differ from everybody's, in points a unit of its column."""

    trait: str
    column: int
    """Its place in `Columns`; −1 is the level."""
    weight: float
    error: float
    turns: Array
    """What each rated turn adds to the weight."""


class Columns:
    """What statements can be about: the numbers of a turn, and the assistants that the train users know."""

    def __init__(self, population: MixedModel):
        turns, own = population.turns, population.variances.own
        names = np.unique(turns.assistant.astype(str))
        self.assistants = names[names != ""] if len(names) > 1 else names[:0]
        self.traits = [*NAMES, *(ASSISTANT + name for name in self.assistants)]
        variances = [np.full(x.shape[1], o / max(x.shape[1], 1)) for x, o in zip(turns.numbers, own)]
        #: Variance of each column's weight among people.
        self.prior = np.concatenate([*variances, np.full(len(self.assistants), own[len(turns.numbers)])])
        self.mean = np.zeros(len(self.prior))
        values = self(turns)
        self.mean = values.mean(axis=0)
        #: Of two traits that say nearly the same, the one that people speak of makes the statement.
        self.plainness = np.where([trait in MEASURED for trait in self.traits], PLAINER, 1.0)
        #: How the columns go together over the train users' replies.
        self.covariance = np.cov(values.T, bias=True)

    def __call__(self, turns: EncodedTurns) -> Array:
        """Return the columns of these turns, around the mean of the train users'."""
        names = turns.assistant.astype(str)[:, None] == self.assistants
        return np.hstack([*turns.numbers, names]) - self.mean


_COLUMNS: WeakKeyDictionary[MixedModel, Columns] = WeakKeyDictionary()


def columns_of(population: MixedModel) -> Columns:
    """Return the columns of a population, which are laid out once."""
    if population not in _COLUMNS:
        _COLUMNS[population] = Columns(population)
    return _COLUMNS[population]


def find_differences(columns: Columns, weights: Array, remaining: Array, most: int = STATEMENTS) -> list[Difference]:
    """Find the few columns that say the most of what a user's own weights move."""
    moved, alike = weights.sum(axis=1), columns.covariance
    spread = np.sqrt(np.diag(alike)).clip(1e-9)
    chosen: list[int] = []
    rest, mixing = alike @ moved, np.zeros((0, len(moved)))
    for _ in range(min(most, len(moved))):
        gain = columns.plainness * np.abs(rest) / spread
        gain[chosen] = 0.0
        if gain.max() < 1e-9:
            break
        chosen.append(int(gain.argmax()))
        mixing = np.linalg.lstsq(alike[np.ix_(chosen, chosen)], alike[chosen], rcond=None)[0]
        rest = alike @ moved - alike[:, chosen] @ (mixing @ moved)
    return [
        Difference(
            columns.traits[column], column, float(row @ moved), float(np.sqrt(row @ remaining @ row)), row @ weights
        )
        for column, row in zip(chosen, mixing)
    ]


def weigh_columns(
    population: MixedModel, columns: Columns, history: EncodedTurns, tied: Array, scores: Array
) -> tuple[Array, Array, Difference]:
    """Return what each rated turn adds to each column's weight for this user, the covariance that is left, and the
    level.

    Columns are around their mean, so what the user's own weights move in the mean reply belongs to the level.
    """
    among, surprise = population.solve_history(history, tied, scores)
    seen, level = columns(history) + columns.mean, population.variances.level
    inverse = np.linalg.inv(among)
    gain = columns.prior[:, None] * (seen.T @ inverse)
    left = np.diag(columns.prior) - gain @ seen * columns.prior
    weights, of_level = gain * surprise, level * inverse.sum(axis=0)
    error = float(np.sqrt(max(level - level * of_level.sum(), 0.0)))
    raised = of_level * surprise + columns.mean @ weights
    return weights, left, Difference(LEVEL, -1, float(raised.sum()), error, raised)


@memory("preferences")
class Preferences(MemorySystem):
    """What sets a user apart, in statements; everybody is known from train users.

    Statements are the level and then the `most` traits that tell the user apart best, strongest first, each with its 95 %
    interval and the rated turns that speak for it most. The last one names what is not known.
    """

    name = "preferences"

    def __init__(self, language: str = "en", *, most: int = STATEMENTS, judge: LearnedJudge | None = None):
        self.language, self.most = check_language(language), most
        self.learns, self.judge = judge is None, judge or LearnedJudge()

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Learn what everybody likes, unless a judge that knows was given."""
        if self.learns:
            await self.judge.fit(train, ask)

    async def build(self, block: Block, ask: Ask, judged: pd.DataFrame | None = None) -> PreferenceMemory:
        """Read the preferences off the user's rated turns."""
        memory, known = make_counts_memory(PreferenceMemory, block, judged, self.name, language=self.language)
        if not sum(memory.counts):
            return memory
        case = self.judge.read_case(replace(block, evidence=known))
        return list_preferences(self.judge, case, memory, self.most)


def list_preferences(judge: LearnedJudge, case: Case, memory: PreferenceMemory, most: int) -> PreferenceMemory:
    """Return the memory with its statements."""
    columns = columns_of(judge.population)
    weights, remaining, level = weigh_columns(judge.population, columns, case.history, case.tied_history, case.scores)
    ids, ranges, stretch = turn_ids(case), judge.reading.ranges(), judge.stretch
    memory = replace(memory, ranges=ranges, turns=tuple(ids))
    statements: list[Statement] = []
    differences = find_differences(columns, weights, remaining, most)
    differences.sort(key=lambda d: -abs(d.weight) * judge.reading.width(d.trait))
    for one in (level, *differences):
        width = stretch * judge.reading.width(one.trait)
        if one is not level and abs(width * one.weight) < LEAST_POINTS:
            continue
        low, high = sorted(width * (one.weight + side * Z95 * one.error) for side in (-1, 1))
        telling = np.argsort(-np.sign(one.weight) * one.turns, kind="stable")[:CITED]
        statement = Statement(
            f"M{len(statements) + 1}",
            "preference",
            "",
            tuple(ids[i] for i in telling),
            trait=one.trait,
            points=width * one.weight,
            points_low=low,
            points_high=high,
        )
        statements.append(replace(statement, text=memory.word(statement)))
    if unknown := list(_list_unknown(columns, remaining)):
        phrases, named = read_phrases("preferences", memory.language), read_phrases("groups", memory.language)
        groups = phrases["join"].join(named[group] for group in unknown)
        text = phrases["unknown"].format(groups=groups)
        statements.append(Statement(f"M{len(statements) + 1}", "unknown", text))
    return replace(memory, statements=tuple(statements))


def _list_unknown(columns: Columns, remaining: Array) -> Iterator[str]:
    """Yield groups in which people differ, and of whose effect for this user the history leaves nearly everything open."""
    alike = columns.covariance
    groups = np.array([*GROUP_OF[:-3], *["assistant"] * len(columns.assistants)])
    for group in dict.fromkeys(groups):
        at = np.flatnonzero(groups == group)
        before = float(np.diag(alike)[at] @ columns.prior[at])
        after = float((alike[np.ix_(at, at)] * remaining[np.ix_(at, at)]).sum())
        if before > LEAST_SPREAD**2 and after > UNKNOWN * before:
            yield str(group)


class FromStatements(LearnedJudge):
    """Scores from what everybody likes, the user's level and statements: what the memory does not say counts nothing.

    Without a `memory` the statements are those of `Preferences`. Of another memory those count that have a trait and points:
    an edited one (`FixedSystem(draft.memory)`, `EditedSystem(name, otherwise=Preferences())`) scores as it was edited.
    """

    def __init__(self, memory: MemorySystem | None = None, language: str = "en", *, most: int = STATEMENTS):
        super().__init__(name="from statements")
        self.memory, self.language, self.most = memory, check_language(language), most

    @classmethod
    def from_learned(cls, judge: LearnedJudge, memory: MemorySystem | None = None) -> FromStatements:
        """Return a judge that knows what this one has learned, panel included, and trusts predictions as it does."""
        made = cls(memory)
        vars(made).update({name: value for name, value in vars(judge).items() if name != "name"})
        return made

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Learn as the learned judge does, trusting predictions as far as statements allow."""
        await super().fit(train, ask)
        if self.memory is not None:
            await self.memory.fit(train, ask)

    async def take_apart(self, case: Case, ask: Ask) -> Parts:
        """Return what everybody likes, and in place of all that the user's own weights say the statements."""
        if self.memory is None:
            blank = make_counts_memory(PreferenceMemory, case.block, None, "preferences", language=self.language)[0]
            memory: UserMemory = list_preferences(self, case, blank, self.most) if len(case.scores) else blank
        else:
            memory = await self.memory.build(case.block, ask)
        parts = self.population.explain(*case.inputs)
        columns = columns_of(self.population)
        return say_statements(parts, columns, columns(case.targets), memory.statements, self.width)

    def width(self, trait: str) -> float:
        """Return how many points of score a unit of a trait's weight is worth, from low to high."""
        return self.stretch * self.reading.width(trait)

    def predict_held_out(self, population: MixedModel, *given: Any) -> Array:
        """Return the same for a train user, by a population without that user."""
        parts, (targets, _, history, tied, scores) = population.explain(*given), given
        if not len(history):
            return parts.prediction
        columns = columns_of(population)
        weights, remaining, level = weigh_columns(population, columns, history, tied, scores)
        differences = find_differences(columns, weights, remaining, self.most)
        everybody = parts.prediction - sum(group.sum(axis=1) for group in parts.own) - parts.level
        own = columns(targets)[:, [d.column for d in differences]] @ np.array([d.weight for d in differences])
        return np.asarray(everybody + level.weight + own)


def say_statements(
    parts: Parts, columns: Columns, values: Array, statements: Sequence[Statement], width: Callable[[str], float]
) -> Parts:
    """Return the parts with what the statements say in place of the user's own weights and level."""
    own, level = np.hstack([np.zeros_like(group) for group in parts.own]), 0.0
    points = np.zeros((len(values), len(statements)))
    for number, statement in enumerate(statements):
        trait = statement.trait
        if trait is None or statement.points is None:
            continue
        weight = statement.points / width(trait)
        if trait == LEVEL:
            points[:, number], level = weight, level + weight
        elif trait in columns.traits:
            column = columns.traits.index(trait)
            points[:, number] = weight * values[:, column]
            own[:, min(column, len(NAMES))] += points[:, number]
    ends = np.cumsum([group.shape[1] for group in parts.own])[:-1]
    everybody = parts.mean + sum(group.sum(axis=1) for group in parts.everybody) + parts.session
    return replace(
        parts,
        own=np.split(own, ends, axis=1),
        level=np.full(len(values), level),
        population=everybody,
        turns=points,
        evidence=[statement.id for statement in statements],
    )
