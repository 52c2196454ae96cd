"""Cue lists (what people say when they are pleased, displeased or done), languages, and how long a text takes to read.

The lists stand in `cues/`, one TOML file per language; a cue is a regular expression over lower-cased text, in which a
space stands for any whitespace.

    units(text) = n_cjk + n_words
    T(text)     = n_cjk / 8.3 + n_words / 6.7   seconds

n_cjk counts Han, Kana and Hangul characters, n_words runs of other letters and digits, after links and markup are
removed; code counts a third. 8.3 characters and 6.7 words per second are fast silent reading (500 and 400 a minute).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from perslib.paths import read_toml
from perslib.systems.uxbench.signals.text_patterns import count_characters

LANGUAGES = ("zh", "en")
CJK_A_SECOND = 8.3
WORDS_A_SECOND = 6.7
CODE_COUNTS = 1 / 3
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_LINKS = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,2000}\)|https?://[!-~]+|<[a-zA-Z/][^<>]{0,300}>")


def cues(lang: str) -> dict[str, Any]:
    """Return the cue file of a language."""
    return read_toml(__file__, f"cues/{lang}.toml")


def language(text: str) -> str:
    """Return zh where there is a Han character, else en."""
    return "en" if text.isascii() or not _HAN.search(text) else "zh"


@cache
def _traditional() -> tuple[re.Pattern[str], dict[int, str]]:
    """Return what finds a traditional character, and each one's simplified form."""
    import opencc

    convert = opencc.OpenCC("t2s").convert
    every = [chr(point) for point in range(0x4E00, 0xA000)]
    known = {ord(c): plain for c, plain in zip(every, convert("".join(every))) if c != plain}
    return re.compile(f"[{''.join(map(chr, known))}]"), known


def to_simplified(text: str) -> str:
    """Return the text in simplified characters, one for one."""
    if text.isascii():
        return text
    simplified, known = _traditional()
    return text.translate(known) if simplified.search(text) else text


def any_of(patterns: Iterable[str]) -> str:
    """Return a pattern that matches what one of these does."""
    return "(?:" + "|".join(p.replace(" ?", r"\s*").replace(" ", r"\s+") for p in patterns) + ")"


def expand(pattern: str, pieces: Mapping[str, str]) -> str:
    """Return a pattern with the pieces that it names, `{such}`, and those that they name."""
    return re.sub(r"\{([a-z_]+)\}", lambda piece: expand(pieces[piece[1]], pieces), pattern)


def reading_seconds(texts: Sequence[str]) -> np.ndarray:
    """Return T of every text."""
    counted = count_characters(texts)
    cjk, words = counted.cjk.astype(float), counted.words.astype(float)
    for i in np.flatnonzero(counted.markup > 1).tolist():
        text = texts[i]
        if "```" in text or "](" in text or "://" in text or "<" in text:
            code = "\n".join(_CODE.findall(text)) if "```" in text else ""
            rest = _LINKS.sub(r"\1", _CODE.sub(" ", text) if code else text)
            both = count_characters([rest, code])
            cjk[i], words[i] = both.cjk @ [1, CODE_COUNTS], both.words @ [1, CODE_COUNTS]
    return cjk / CJK_A_SECOND + words / WORDS_A_SECOND
