"""How many tokens a text takes, by a rough rule: for plans, limits and budgets, before any model has counted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from perslib.llm.request import Message

_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_OTHER = re.compile(r"[^\x00-\x7f]")

USUAL_REPLY = 256
"""Tokens taken for a reply whose length the request does not bound."""


def count_tokens(text: str, languages: Collection[str] = ()) -> int:
    """Return tokens of a text, roughly: ¾ a Chinese, Japanese or Korean character, ½ a character of other scripts
    beyond ASCII, ¼ an ASCII character. Tokenizers differ by a third either way; this is for planning.

    `languages` are those that the model reads, where that is known: one that reads English only takes two tokens for
    a Chinese, Japanese or Korean character."""
    if text.isascii():
        return -(-len(text) // 4)
    wide = len(_WIDE.findall(text))
    other = len(_OTHER.findall(text)) - wide
    of_wide = 0.75 if not languages or {"zh", "ja", "ko"} & set(languages) else 2
    return round(wide * of_wide + other * 0.5 + (len(text) - wide - other) * 0.25 + 0.5)


def tokens_of_messages(messages: Iterable[Message], languages: Collection[str] = ()) -> int:
    """Return tokens of a conversation, with four a message for its frame."""
    return sum(
        4 + count_tokens(m["content"] if isinstance(m["content"], str) else str(m["content"]), languages)
        for m in messages
    )
