"""What the text of a log looks like, type by type (Mem-PAL, Table 7): parts between semicolons, each saying one thing."""

from __future__ import annotations

import re
from collections.abc import Iterable

from perslib.corpus.palset_names import LOG_TYPES

#: The parts of each type, in the order of `LOG_TYPES`.
PARTS = (
    ("keywords", "what was viewed"),
    ("platform", "publication", "summary"),
    ("platform", "page", "summary"),
    ("receiver", "message"),
    ("sender", "message"),
    ("calendar", "name", "span", "place"),
    ("channel", "purchase", "name and size"),
    ("device", "operation", "details"),
)
#: Parts that say one of a few words; the first word is the one a stand-in takes.
WORDS: dict[str, dict[str, tuple[str, ...]]] = {
    "zh": {
        "publication": ("帖子", "文章", "视频"),
        "page": ("文章", "商品页面", "视频"),
        "purchase": ("商品", "服务"),
    },
    "en": {
        "publication": ("post", "article", "video"),
        "page": ("article", "product page", "video"),
        "purchase": ("product", "service"),
    },
}
_BETWEEN = {"zh": "；", "en": "; "}
_SPAN = re.compile(r"\d.*\d|全天|all.day", re.IGNORECASE | re.DOTALL)
"""From when to when: two numbers at least."""


def pattern_fault(kind: str, text: str, language: str) -> str | None:
    """What keeps a text from being a log of this type; None where it is one."""
    parts = PARTS[LOG_TYPES[language].index(kind)]
    # The last part may hold semicolons of its own.
    said = [part.strip(" .…。") for part in re.split("[;；]", text, maxsplit=len(parts) - 1)]
    if len(said) < len(parts) or not all(said):
        return f"is no {kind}: expected {', '.join(parts)}, with semicolons between"
    for part, own in zip(parts, said, strict=True):
        words = WORDS[language].get(part, ())
        if words and not any(word in own.lower() for word in words):
            return f"is no {kind}: expected {', '.join(words)} as its {part}, not {own!r}"
        if part == "span" and not _SPAN.search(own):
            return f"is no {kind}: expected from when to when, not {own!r}"
    return None


def filled(kind: str, texts: Iterable[str], language: str) -> str:
    """A text of this type that says nothing, its free parts taken from `texts`."""
    free = iter(texts)
    words = {part: own[0] for part, own in WORDS[language].items()} | {"span": "09:00–10:00"}
    said = [words.get(part) or next(free) for part in PARTS[LOG_TYPES[language].index(kind)]]
    return _BETWEEN[language].join(said)
