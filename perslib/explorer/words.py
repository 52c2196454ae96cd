"""What the explorer says, in English and Chinese; the words stand in `words.toml` beside this file."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from perslib.errors import UnknownName


@cache
def _entries() -> dict[str, dict[str, str]]:
    with (Path(__file__).parent / "words.toml").open("rb") as file:
        return tomllib.load(file)


def say(key: str, language: str, **fields: object) -> str:
    """The words for `key`, with `{fields}` filled in."""
    entry = _entries().get(key)
    if entry is None:
        raise UnknownName("phrase", key, _entries())
    if language not in entry:
        raise UnknownName("language", language, entry)
    return entry[language].format(**fields) if fields else entry[language]


def named(kind: str, value: str, language: str) -> str:
    """How a stored value of some kind is called, `named("system", "measured", "zh")`; itself where it is unlisted."""
    key = f"{kind} {value}"
    return say(key, language) if key in _entries() else value
