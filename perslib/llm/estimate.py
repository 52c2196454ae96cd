"""What a run will take, before it starts: tokens by a rough rule, cost by the price table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from perslib.llm.types import Message

_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_OTHER = re.compile(r"[^\x00-\x7f]")

USUAL_REPLY = 256
"""Tokens taken for a reply whose length the request does not bound."""


def tokens_of(text: str) -> int:
    """Tokens of a text, roughly: ¾ a Chinese, Japanese or Korean character, ½ a character of other scripts
    beyond ASCII, ¼ an ASCII character. Tokenizers differ by a third either way; this is for planning."""
    if text.isascii():
        return -(-len(text) // 4)
    wide = len(_WIDE.findall(text))
    other = len(_OTHER.findall(text)) - wide
    return round(wide * 0.75 + other * 0.5 + (len(text) - wide - other) * 0.25 + 0.5)


def tokens_of_messages(messages: Iterable[Message]) -> int:
    """Tokens of a conversation, with four a message for its frame."""
    return sum(
        4 + tokens_of(m["content"] if isinstance(m["content"], str) else str(m["content"])) for m in messages
    )


@dataclass(frozen=True)
class Estimate:
    """A run before it starts. Costs are for full replies and nothing from the provider's prefix cache; re-asks come on top."""

    requests: int
    answered: int
    """Already in the answer cache."""
    repeated: int
    """The same question twice; asked once."""
    tokens_in: int
    tokens_out: int
    cost: float | None

    @property
    def calls(self) -> int:
        """Calls that will be made."""
        return self.requests - self.answered - self.repeated

    def __str__(self) -> str:
        known = [f"{self.answered:,} in the cache"] * bool(self.answered)
        known += [f"{self.repeated:,} repeated"] * bool(self.repeated)
        without = f" ({', '.join(known)})" if known else ""
        price = "unpriced" if self.cost is None else f"about ${self.cost:,.2f}"
        return (
            f"{self.requests:,} requests, {self.calls:,} calls{without}: "
            f"about {self.tokens_in:,} tokens in, {self.tokens_out:,} out, {price}"
        )
