"""How the tasks of UXBench put their questions: language, temperature, reasoning effort, how much history is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from perslib.errors import DataError, Problem
from perslib.llm import Request
from perslib.llm.types import Message
from perslib.prompts import prompt


@dataclass(frozen=True)
class Form:
    """What all questions of a run have in common; what is None is left to the prompt or to the endpoint."""

    language: str = "en"
    temperature: float | None = None
    seed: int | None = 42
    effort: str | None = None
    """`reasoning_effort` of endpoints that have one ("low", "high"); sent as it is."""
    max_tokens: int | None = None
    """Instead of the prompt's; reasoning models need room for their thoughts (20,000 as published)."""
    window: int | None = None
    """So many messages of history at most; None shows all."""
    characters: int = 12_000
    """So many characters of history at most, from its end: further messages are left out, the first kept is cut."""
    extra: tuple[tuple[str, Any], ...] = ()
    """Further fields of the request body."""
    prompts: str | Path | None = None
    """A folder with prompts of one's own."""

    def __post_init__(self) -> None:
        if self.window is not None and self.window < 0:
            raise DataError(Problem("window", f"is {self.window}, expected 0 or more, or None for all"))
        if self.characters < 0:
            raise DataError(Problem("characters", f"is {self.characters}, expected 0 or more"))

    def request(self, name: str, **fields: Any) -> Request:
        """The question of this prompt."""
        return self.formed(prompt(name, self.language, self.prompts).render(**fields))

    def formed(self, request: Request) -> Request:
        """A question with this form's settings."""
        effort = {"reasoning_effort": self.effort} if self.effort is not None else {}
        return replace(
            request,
            temperature=request.temperature if self.temperature is None else self.temperature,
            max_tokens=request.max_tokens if self.max_tokens is None else self.max_tokens,
            seed=self.seed,
            extra={**request.extra, **dict(self.extra), **effort},
        )

    def shown(self, history: Sequence[Message]) -> list[Message]:
        """The end of a history, as far as window and characters allow."""
        kept: list[Message] = []
        left = self.characters
        recent = history if self.window is None else history[len(history) - min(self.window, len(history)) :]
        for message in reversed(recent):
            if left <= 0:
                break
            text = str(message["content"])
            kept.append(
                {"role": message["role"], "content": text if len(text) <= left else "…" + text[-left:]}
            )
            left -= len(text)
        return kept[::-1]


_OBJECT = re.compile(r"\{[^{}]*\}")


def last_json(text: str, key: str) -> Mapping[str, Any] | None:
    """The last JSON object in a text that has the key; objects without nested ones."""
    for found in reversed(_OBJECT.findall(text)):
        try:
            value = json.loads(found)
        except ValueError:
            continue
        if isinstance(value, dict) and key in value:
            return value
    return None
