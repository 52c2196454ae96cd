"""A judge that is shown two replies and says which of them would satisfy the user more (UXBench, Table 10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from perslib.corpus import Target
from perslib.llm import Answer, Ask, Steps
from perslib.ux.asking import Form, last_json

Choice = Literal["first", "second", "tie"]
CHOICES: dict[str, Choice] = {
    "1": "first",
    "2": "second",
    "tie": "tie",
    "first": "first",
    "second": "second",
    "0": "tie",
}


@dataclass(frozen=True)
class Chosen:
    """The choice by place, or why there is none."""

    choice: Choice | None
    answer: Answer = field(repr=False)
    error: str | None = None


@dataclass(frozen=True)
class PairJudge:
    """Asks which of two replies is better; ties are allowed. Show every pair in both orders (`position_audit` does)."""

    form: Form = field(default_factory=Form)
    name: str = "pairwise"

    def choice(self, target: Target, first: str, second: str) -> Steps[Chosen]:
        """One question about one pair, in this order."""
        said = [dict(message) for message in target.prefix]
        request = self.form.request(
            "ux_prefer", conversation=self.form.shown(said), first=first, second=second
        )
        (answer,) = yield Ask([request], "judge")
        choice = read_choice(answer)
        return Chosen(choice, answer, None if choice else answer.error or "no choice in the answer")


def read_choice(answer: Answer) -> Choice | None:
    """The choice in an answer: of the last object with a `better`, else of a bare 1, 2 or tie."""
    found: Any = answer.data if isinstance(answer.data, Mapping) else last_json(answer.text, "better")
    said = found.get("better") if isinstance(found, Mapping) else answer.text
    return CHOICES.get(str(said).strip().strip("\"'.。").casefold())
