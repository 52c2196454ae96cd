"""Ratings as people and tools write them: 4, "4/5", "4 stars", ★★★★☆, 👍, "very satisfied", true, C."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from perslib.corpus.files.reading import number_in
from perslib.systems.readers.any_file.shapes import WORDS

_NUMBER = re.compile(
    r"\s*(-?\d+(?:[.,]\d+)?)\s*(?:/\s*\d+|out of \d+|stars?|points?|%|[-–:=.(]\s*[^\W\d][^\d]*)?\s*", re.I
)
_STARS = re.compile(r"[★⭐]+[☆]*")
#: A share of ratings of which the others are strays, which are refused with their place.
MOSTLY = 0.9
#: What a scale may end at.
ENDS = (1, 2, 3, 4, 5, 6, 7, 10, 100)
_SCALES: dict[str, dict[str, float]] = {
    own.get("name", own["scale"]): {word: float(number) for number, words in own["values"].items() for word in words}
    for own in WORDS["words"]
}

_PLAIN = {*WORDS["plain"]["words"]}


def find_scale_of(values: Sequence[Any]) -> str | None:
    """Return the scale that values are ratings on, `1-5` for what lies on it; None where they are none."""
    if (scale := find_words(values)) is not None:
        return scale
    numbers = [number for number in map(number_of, values) if number is not None]
    if len(numbers) < MOSTLY * len(values) or not numbers:
        return None
    low, high = min(numbers), max(numbers)
    if low == -1 and high <= 1:
        return "-1-1"
    if low < 0 or high > ENDS[-1]:
        return None
    if low >= 1 and high <= 5:
        return "1-5"
    return f"{0 if low < 1 else 1}-{next(end for end in ENDS if end >= high)}"


def find_named_scale(name: str) -> str | None:
    """Return the scale that stands in the name of a field, as in "quality (1-7)"."""
    match = re.search(r"[(\[]\s*(\d+)\s*(?:-|–|to)\s*(\d+)\s*[)\]]", name)
    return f"{match[1]}-{match[2]}" if match and int(match[1]) < int(match[2]) else None


def find_words(values: Sequence[Any]) -> str | None:
    """Return the scale of ratings in words (or true and false); None where some value is no such word."""
    held = {_word(value) for value in values}
    if held <= {"true", "false"} and any(isinstance(value, bool) for value in values):
        return "0-1"
    if all(number_of(value) is not None and not isinstance(value, bool) for value in values):
        return None
    return next((scale for scale, words in _SCALES.items() if held <= set(words)), None)


def spell_scale(scale: str | None) -> str:
    """Return the lowest and highest number of a scale that may have a name of its own."""
    return next((own["scale"] for own in WORDS["words"] if own.get("name", "") == scale), scale or "")


def is_plain(values: Sequence[Any]) -> bool:
    """Return whether values are ratings by their words alone, whatever they are called."""
    return {_word(value) for value in values} <= _PLAIN


def _word(value: Any) -> str:
    text = str(value).strip().strip(":").lower()
    return text if text in ("+1", "-1") else " ".join(re.split(r"[\s_-]+", text))


def number_of(value: Any) -> float | None:
    """Return the number in a rating: 4, "4", "4/5", "4 stars", "★★★★☆", "85%"."""
    if isinstance(value, bool):
        return float(value)
    if (number := number_in(value)) is not None:
        return number
    text = str(value).strip()
    if _STARS.fullmatch(text):
        return float(text.count("★") + text.count("⭐"))
    match = _NUMBER.fullmatch(text)
    return float(match[1].replace(",", ".")) if match else None


def read_rating(value: Any, scale: str | None) -> Any:
    """Return a rating as a number on its scale; what is no rating stays as it is, and is refused with its place."""
    if value in (None, ""):
        return None
    words = _SCALES.get(scale or "", {})
    number = words.get(_word(value), number_of(value))
    if scale == "-1-1" and number is not None:
        return (number + 1) / 2
    return value if number is None else number
