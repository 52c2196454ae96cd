"""Settings that all questions of a run share: language, sampling, how much history is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from perslib.errors import DataError, Problem
from perslib.llm.types import Message, Request
from perslib.prompts.library import Prompt, prompt


@dataclass(frozen=True)
class PromptSettings:
    """What all questions of a run have in common; what is None is left to the prompt or to the endpoint."""

    language: str = "en"
    """Language of the prompts."""
    temperature: float | None = field(default=None, kw_only=True)
    seed: int | None = field(default=42, kw_only=True)
    effort: str | None = field(default=None, kw_only=True)
    """`reasoning_effort` of endpoints that have one ("low", "high"); sent as it is."""
    max_tokens: int | None = field(default=None, kw_only=True)
    """Instead of the prompt's; reasoning models need room for their thoughts (20,000 as published)."""
    window: int | None = field(default=None, kw_only=True)
    """So many messages of history at most; None shows all."""
    characters: int = field(default=12_000, kw_only=True)
    """So many characters of history at most, from its end: further messages are left out, the first kept is cut."""
    extra: tuple[tuple[str, Any], ...] = field(default=(), kw_only=True)
    """Further fields of the request body."""
    prompts: str | Path | None = field(default=None, kw_only=True)
    """A folder with prompts of one's own."""

    def __post_init__(self) -> None:
        if self.window is not None and self.window < 0:
            raise DataError(Problem("window", f"is {self.window}, expected 0 or more, or None for all"))
        if self.characters < 0:
            raise DataError(Problem("characters", f"is {self.characters}, expected 0 or more"))

    def prompt(self, name: str) -> Prompt:
        """Find a prompt in this language and folder."""
        return prompt(name, self.language, self.prompts)

    def request(self, name: str, **fields: Any) -> Request:
        """Fill in a prompt and apply these settings."""
        return self.apply(self.prompt(name).render(**fields))

    def apply(self, request: Request) -> Request:
        """Apply these settings to a request."""
        effort = {"reasoning_effort": self.effort} if self.effort is not None else {}
        return replace(
            request,
            temperature=request.temperature if self.temperature is None else self.temperature,
            max_tokens=request.max_tokens if self.max_tokens is None else self.max_tokens,
            seed=self.seed,
            extra={**request.extra, **dict(self.extra), **effort},
        )

    def history(self, messages: Sequence[Message]) -> list[Message]:
        """Cut a history to its last `window` messages and `characters`, inside a message where need be."""
        recent = messages if self.window is None else messages[max(0, len(messages) - self.window) :]
        return last_characters(recent, self.characters)


def last_characters(conversation: Sequence[Message], most: int) -> list[Message]:
    """Cut a conversation to its last characters, inside a message where need be."""
    kept: list[Message] = []
    for message in reversed(conversation):
        if most <= 0:
            break
        text = str(message["content"])
        kept.append({"role": message["role"], "content": text if len(text) <= most else "…" + text[-most:]})
        most -= len(text)
    return kept[::-1]
