"""Cue lists: what people say when they are pleased, displeased or done, one TOML file a language.

The files stand in `cues/`; a cue is a regular expression over lower-cased text, in which a space stands for any space.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

LANGUAGES = ("zh", "en")
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")


@cache
def cues(lang: str) -> dict[str, Any]:
    """The cue file of a language."""
    with (Path(__file__).parent / "cues" / f"{lang}.toml").open("rb") as file:
        return tomllib.load(file)


def language(text: str) -> str:
    """zh where there is a Han character, else en."""
    return "en" if text.isascii() or not _HAN.search(text) else "zh"


def any_of(patterns: Iterable[str]) -> str:
    """A pattern that matches what one of these does."""
    return "(?:" + "|".join(p.replace(" ", r"\s+") for p in patterns) + ")"
