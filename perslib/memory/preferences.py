"""Preferences in words: statements with a trait, a direction and a strength, and what a sentence typed by hand is about.

A judge from statements reads trait and points, a language model and a person the words, and both say the same: an edit of
the words is understood anew, an edit of the strength is written anew. `perslib.judge.learned.preferences` finds the
preferences of a user.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from perslib.llm.embeddings import embedder, is_available
from perslib.memory.base import Statement, UserMemory
from perslib.memory.features import FEATURES, KINDS
from perslib.paths import read_toml
from perslib.prompts import read_phrases

LEVEL = "level"
#: A trait of replies by one assistant begins so; its name follows.
ASSISTANT = "assistant="
#: Strength of a sentence typed by hand, until it is made weaker or stronger.
TYPED_POINTS = 0.5
#: The nearest name of a trait counts from so many standard deviations above the mean of all names.
SURE = 3.0
_TYPED: dict[str, dict[str, list[str]]] = read_toml(__file__, "cues.toml")["typed"]
_NEGATION: dict[str, list[str]] = read_toml(__file__, "cues.toml")["negation"]


@dataclass(frozen=True)
class PreferenceMemory(UserMemory):
    """Statements of where a user differs from everybody."""

    language: str = "en"
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict, repr=False)
    """Trait → a low and a high value of it, as features have them."""

    def with_statements(self, statements: Sequence[Statement]) -> PreferenceMemory:
        """Return the memory saying this instead; where words do not say what trait and points say, the words count."""
        return replace(self, statements=tuple(map(self._understand, statements)))

    def scale(self, statement: Statement, by: float) -> Statement:
        """Return the statement so many times as strong, in new words."""
        if statement.points is None:
            return statement
        ends = [None if end is None else end * by for end in (statement.points_low, statement.points_high)]
        low, high = sorted(ends, key=lambda end: end or 0.0)
        scaled = replace(statement, points=statement.points * by, points_low=low, points_high=high)
        return replace(scaled, text=self.word(scaled))

    def explain_effect(self, statement: Statement) -> str:
        """Return what a sentence that somebody wrote counts as, or that it has no effect."""
        phrases = read_phrases("preferences", self.language)
        if statement.field != "preference" or statement.text == self.word(statement):
            return ""
        words = self.word(statement)
        return str(phrases["effect"].format(words=words) if words else phrases["no_effect"])

    def word(self, statement: Statement) -> str:
        """Return the trait, direction and strength in words; nothing without points."""
        trait, points = statement.trait, statement.points
        if trait is None or points is None:
            return ""
        phrases, names = read_phrases("preferences", self.language), read_phrases("traits", self.language)
        low, high = (show_value(trait, value) for value in self.ranges.get(trait, (0.0, 1.0)))
        if trait == LEVEL:
            form = "milder" if points >= 0 else "stricter"
        elif trait.startswith(ASSISTANT):
            form = "better" if points >= 0 else "worse"
        elif KINDS[trait] == "mark":
            form = "welcome" if points >= 0 else "unwelcome"
        else:
            form = "more" if points >= 0 else "less"
        named = trait.removeprefix(ASSISTANT) if trait.startswith(ASSISTANT) else names.get(trait, trait)
        text = phrases[form].format(trait=named, low=low, high=high, points=f"{abs(points):.2f}")
        if statement.points_low is None or statement.points_high is None:
            return str(text)
        ends = sorted(np.sign(points or 1.0) * np.array([statement.points_low, statement.points_high]))
        least, most = (f"{end:.2f}" for end in ends)
        uncertain = phrases["uncertain"] if ends[0] < 0 else ""
        return str(text + phrases["between"].format(least=least, most=most) + uncertain)

    def _understand(self, statement: Statement) -> Statement:
        """Return a statement of a preference whose trait and points are those of its words."""
        if statement.text == self.word(statement) or statement.field == "unknown":
            return statement
        traits = parse_preference(statement.text, self.language)
        trait, points = traits or (None, None)
        return replace(statement, field="preference", trait=trait, points=points, points_low=None, points_high=None)


def show_value(trait: str, value: float) -> str:
    """Return a trait's value for reading: counts as the numbers they stand for, shares in per cent, ratios with a times
    sign.
    """
    kind = KINDS.get(trait, "mark")
    if kind == "count":
        count = float(np.expm1(max(value, 0.0)))
        return f"{count:.0f}" if count >= 2 or count < 0.05 else f"{count:.1f}"
    if kind == "times":
        return f"{np.exp(value):.1f}×"
    return f"{value:.0%}" if kind == "share" else f"{value:.0f}"


def parse_preference(text: str, language: str = "en") -> tuple[str, float] | None:
    """Return the trait that a sentence is about and the points that it gives it; None where it is about none.

    Words are looked for first: those of the trait that stands first count, turned round by a negation. Without such
    words the trait whose name means the most similar is taken, where the embedded model is at hand and sure.
    """
    sentence = text.lower()
    traits = find_traits(text)
    trait_sign = traits[0] if traits else _most_similar(text, language)
    if trait_sign is None:
        return None
    trait, sign = trait_sign
    return trait, TYPED_POINTS * sign * (-1 if _is_negated(sentence) else 1)


def find_traits(text: str) -> list[tuple[str, int]]:
    """Return the traits that a text has words for, each with 1 for more of it or -1 for less, in the order of the
    words.
    """
    sentence = text.lower()
    matches = [(match.start(), trait, sign) for trait, sign, cue in _cues() if (match := cue.search(sentence))]
    return [(trait, sign) for _, trait, sign in sorted(matches)]


@cache
def _cues() -> list[tuple[str, int, re.Pattern[str]]]:
    signs = {"more": 1, "less": -1}
    return [
        (trait, signs[way], re.compile("|".join(words)))
        for trait, ways in _TYPED.items()
        for way, words in ways.items()
    ]


@cache
def _negations() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile("|".join(_NEGATION["any"])), re.compile("|".join(_NEGATION["but_not"]))


def _is_negated(sentence: str) -> bool:
    negation, exception = _negations()
    return negation.search(exception.sub(" ", sentence)) is not None


def _most_similar(text: str, language: str) -> tuple[str, int] | None:
    """Return the trait of replies whose name is much nearer to a text than names are to it on average."""
    if not is_available():
        return None
    named = read_phrases("traits", language)
    traits = [trait for group in ("size", "content", "faults", "match") for trait in FEATURES[group]]
    model = embedder("embedded")
    near = model.embed([named[trait] for trait in traits], "query") @ model.embed([text], "query")[0]
    best = int(near.argmax())
    return (traits[best], 1) if near[best] - near.mean() > SURE * near.std() else None
