"""Typed questions on one text: whether a statement holds, which of some options, how much on ordered levels.

    Request(messages, questions=(Predicate("prices", "The reply names prices."), Score("score", "How satisfied …?", levels)))

Every backbone answers them. An endpoint for decisions gets all questions on a text in one request. Another one is asked for
one token a question, and the probabilities are those of the options at that token; one that gives no log probabilities, or
thinks first, names its options in one reply of JSON. In each case `Answer.data` has by the name of the question

    {"p": {option: probability}}     or, where there are no probabilities, {"choice": option}, or {"error": why}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

MOST = 400
"""Questions in one request."""
YES, NO = "yes", "no"


@dataclass(frozen=True)
class Question:
    """A question about the messages of its request, with a fixed set of answers."""

    name: str
    instructions: str
    options: Mapping[str, str] = field(default_factory=dict)
    """Each answer, with its description (or an empty text)."""
    kind: ClassVar[str] = ""
    counts: ClassVar[tuple[int, int]] = (2, 2)
    """How many options there may be."""

    def __post_init__(self) -> None:
        least, most = self.counts
        if not self.name or not self.instructions:
            raise ValueError(f"A question needs a name and instructions; found {self.name!r}, {self.instructions!r}")
        if not least <= len(self.options) <= most:
            raise ValueError(f"{self.kind} {self.name!r} has {len(self.options)} options, expected {least} to {most}")


@dataclass(frozen=True)
class Predicate(Question):
    """How likely a statement about the text is true."""

    options: Mapping[str, str] = field(default_factory=lambda: {YES: "", NO: ""})
    kind: ClassVar[str] = "predicate"


@dataclass(frozen=True)
class Choice(Question):
    """One of some options, without an order."""

    kind: ClassVar[str] = "choice"
    counts: ClassVar[tuple[int, int]] = (2, 255)


@dataclass(frozen=True)
class Score(Question):
    """A place on levels, the lowest first."""

    kind: ClassVar[str] = "score"
    counts: ClassVar[tuple[int, int]] = (2, 10)


def check_questions(questions: Sequence[Question]) -> None:
    """Refuse too many questions in one request, and two of one name."""
    names = [question.name for question in questions]
    if len(names) > MOST or len(set(names)) < len(names):
        raise ValueError(
            f"A request takes at most {MOST} questions of different names; found {len(names)}: {names[:5]}"
        )


def encode_questions(questions: Sequence[Question]) -> list[list[Any]]:
    """Return questions as plain data, in which the order of options counts."""
    return [[q.kind, q.name, q.instructions, [[*pair] for pair in q.options.items()]] for q in questions]
