"""Phrases that code puts before a model, in the language of the prompt."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any

from perslib.paths import bundled


@cache
def phrases(group: str, language: str) -> Mapping[str, Any]:
    """Return the phrases of one group, as `prompts/<language>/phrases.toml` has them.

    What a language does not have is taken from English.
    """
    return _read("en")[group] | _read(language).get(group, {})


@cache
def _read(language: str) -> dict[str, dict[str, Any]]:
    file = bundled("prompts", language, "phrases.toml")
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
