"""The few words that figures, tables and pages are labelled with, in English and Chinese.

`words.toml` holds them; a researcher who wants another label on an axis edits that file.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from perslib.errors import UnknownName

LANGUAGES = ("en", "zh")


@cache
def _entries(table: str) -> dict[str, dict[str, str]]:
    with (Path(__file__).parent / "words.toml").open("rb") as file:
        entries: dict[str, dict[str, str]] = tomllib.load(file)[table]
    return entries


def word(key: str, language: str = "en", **fields: object) -> str:
    """The label `key` in a language, with `{fields}` filled in: `word("figure_n", "zh", n=2)`."""
    entry = _entries("words").get(key)
    if entry is None:
        raise UnknownName("label", key, _entries("words"))
    if language not in entry:
        raise UnknownName("language", language, entry)
    return entry[language].format(**fields) if fields else entry[language]


def name_of(value: str, language: str = "en") -> str:
    """How a scenario, reason, profile field, statistic or column is called in a language; itself if unlisted.

    Corpora store these by the names they were published under (`旅行规划`, `travel`).
    """
    names = _entries("names")
    if value in names:
        return names[value][language]
    group, colon, member = value.partition(": ")  # "conversations: travel"
    if not colon or group not in names:
        return value
    return f"{names[group][language]}{word('colon', language)}{name_of(member, language)}"
