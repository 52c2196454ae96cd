"""Asking where an answer says more than score, reason and rationale, and is to be checked against itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from perslib.judge.asking import Manner
from perslib.judge.base import Verdict
from perslib.judge.reading import pooled
from perslib.llm import Answer, Ask, Steps


def ask_and_read(
    manner: Manner,
    name: str,
    questions: Sequence[Mapping[str, Any]],
    reading: Callable[[int, Answer], Verdict],
    stage: str = "judge",
) -> Steps[list[Verdict]]:
    """`Manner.ask` with a reading of one's own, which is told the number of the question."""
    asked = [manner.requests(name, fields) for fields in questions]
    answers = iter((yield Ask([request for group in asked for request in group], stage)))
    verdicts = []
    for number, group in enumerate(asked):
        drawn = [reading(number, next(answers)) for _ in group]
        verdicts.append(replace(drawn[0] if len(drawn) == 1 else pooled(drawn), prompt=group[0].prompt))
    return verdicts


def unscored(verdict: Verdict, error: str) -> Verdict:
    """The verdict without its score, and why; what it took and what it said stay."""
    return replace(verdict, raw=None, expected=None, p=None, reason=None, mode="unscored", error=error)
