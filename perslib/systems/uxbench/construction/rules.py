"""What the construction goes by, and the reasons for which something is left out.

Every number here is a decision that can be another one; the paper gives the stages and the five axes of the judge, and
few of the numbers (UXBench, section 3).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import pandas as pd

from perslib.paths import read_toml
from perslib.systems.uxbench.signals.gate import GateSettings
from perslib.systems.uxbench.signals.model import SignalSettings

_HALF = re.compile("[\ud800-\udfff]")
Side = Literal["bad", "good"]
SIDES: tuple[Side, ...] = ("bad", "good")


@dataclass(frozen=True)
class Rules:
    """The construction's thresholds."""

    bad: tuple[str, ...] = ("dislike", "complain", "repeat", "rephrase", "dismiss", "skim")
    """Signals that make a reply a candidate for a bad case; `good` for a good one."""
    good: tuple[str, ...] = ("like", "thanks")
    never_weak: tuple[str, ...] = ("skim", "dismiss")
    """Signals that count for nothing alone where they are weak."""
    gate: GateSettings = field(default_factory=GateSettings)
    signals: SignalSettings = field(default_factory=SignalSettings)
    shown: int = 1_500
    """Characters of a message that a model is shown, from its head and its tail."""
    dialogue: int = 24_000
    """Characters of a dialogue that a model is shown; messages far from the candidates go first."""
    confident: int = 50
    """Confidence in percent below which a mined case is not taken up."""
    high: tuple[float, int] = (4.0, 3)
    """Least mean and least axis of quality `high`; `medium` likewise; below is `low`."""
    medium: tuple[float, int] = (3.0, 2)
    qualities: tuple[str, ...] = ("high", "medium")
    """Qualities that pass."""
    least_mean: float = 3.5
    query: tuple[int, int] = (5, 2_000)
    """Fewest and most characters of a case's request; `reply` likewise of its reply."""
    reply: tuple[int, int] = (10, 20_000)
    languages: tuple[str, ...] = ("zh", "en")
    alike: float = 0.9
    """Estimated Jaccard similarity of request and reply from which two cases are near duplicates."""
    room: int | None = None
    """Tokens for an answer, instead of what it should take: models that think first want 20,000."""
    seed: int = 42
    attempts: int = 2
    """How often a question is put whose answer does not hold."""


class Rejection(NamedTuple):
    """Something that was left out: in which stage, why, and what it was."""

    stage: str
    reason: str
    place: str
    detail: str = ""


#: Stage → reason → what it means.
REASONS: Mapping[str, Mapping[str, str]] = read_toml(__file__, "reasons.toml")


def quality(axes: Mapping[str, int], rules: Rules) -> tuple[float, str]:
    """Return the mean of the axes and the quality that follows from it and from the lowest axis."""
    mean, lowest = sum(axes.values()) / len(axes), min(axes.values())
    for name in ("high", "medium"):
        least_mean, least = getattr(rules, name)
        if mean >= least_mean and lowest >= least:
            return mean, name
    return mean, "low"


def tier(severity: int) -> str:
    """Return how grave a failure is, from its axis."""
    return "critical" if severity >= 4 else "moderate" if severity == 3 else "mild"


def replace_half_characters(text: str) -> str:
    """Return a text without half characters (lone surrogates), which no file in UTF-8 can hold."""
    return _HALF.sub("\ufffd", text)


def clip_middle(text: str, most: int) -> str:
    """Return head and tail of a text."""
    half = max(1, (most - 3) // 2)
    return text if len(text) <= most else f"{text[:half]} … {text[-half:]}"


def to_json_data(value: Any) -> Any:
    """Return named tuples, tuples and missing values as JSON has them."""
    if value is pd.NA or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {k: to_json_data(v) for k, v in value._asdict().items()}
    if isinstance(value, list | tuple):
        return [to_json_data(v) for v in value]
    return {k: to_json_data(v) for k, v in value.items()} if isinstance(value, Mapping) else value
