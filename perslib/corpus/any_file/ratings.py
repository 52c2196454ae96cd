"""Ratings as people and tools write them: 4, "4/5", "4 stars", ★★★★☆, 👍, "very satisfied", true, C; and cells that hold none.

A scale is a text, `1-5`, or the name of one in words. Ends of a scale that stand in a field's name or cells ("1 = best") say
which way it goes; a number far beyond all others never widens it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from perslib.corpus.any_file.shapes import WORDS
from perslib.corpus.files.reading import number_in
from perslib.errors import DataError, Problem

_NUMBER = re.compile(
    r"\s*(-?\d+(?:[.,]\d+)?)\s*(?:(?:/|out of|von|sur|de)\s*(?P<of>\d+)(?:\s*stars?)?|(?P<stars>stars?|sterne?|étoiles?)|points?|%|[-–:=.(]\s*[^\W\d][^\d]*)?\s*",
    re.I,
)
#: A label with its number behind it: "Very satisfied (5)".
_LABELLED = re.compile(r"[^\W\d][^\d()]*\((\d+)\)")
_STARS = re.compile(r"([★⭐]+)(☆*)")
#: A share of ratings of which the others are strays, which are refused with their place.
MOSTLY = 0.9
#: What a scale may end at.
ENDS = (1, 2, 3, 4, 5, 6, 7, 10, 11, 100)
#: So many ratings that end below 5 are on a shorter scale.
ENOUGH = 20
#: Numbers that stand for no answer, where all others are small.
CODES = (-1, -8, -9, -77, -88, -98, -99, -999, -9999, 77, 88, 98, 99, 888, 998, 999, 9999)
_SCALES: dict[str, dict[str, float]] = {
    own.get("name", own["scale"]): {word: float(number) for number, words in own["values"].items() for word in words}
    for own in WORDS["words"]
}
_PLAIN = {*WORDS["plain"]["words"]}
_MISSING = {*WORDS["missing"]["words"]}
_ANCHOR = re.compile(r"(?<!\d)(\d{1,3})\s*(?:=|:|→|\(|[-–.)]\s)\s*([^\d=;,…/()\[\]]+)")
_LETTERS = re.compile(r"[^\W\d_]+")
_RANGE = re.compile(r"(?<![\d.])([01])\s*(?:-|–|—|to|bis|a|à|\u81f3|~|_|\.\.)\s*(\d{1,3})(?![\d.])", re.I)


def is_missing(value: Any) -> bool:
    """Return whether a cell says that there is no rating: `N/A`, `-`, an error of a spreadsheet."""
    return value is None or _word(value) in _MISSING


def find_codes(values: Sequence[Any]) -> set[float]:
    """Return the numbers among ratings that stand for no answer: −99, 999."""
    numbers = Counter(number for number in map(number_of, values) if number is not None)
    rest = [number for number in numbers if number not in CODES]
    if not rest and find_word_scale(_drop_codes(values)):
        return {number for number in numbers if number in CODES}
    if not rest or min(rest) < 0 or max(rest) > ENDS[-1]:
        return set()
    top = max(rest)
    has_zero_one = top <= 1 and -1 in numbers and set(numbers) <= {-1, 0, 1}
    return {n for n in numbers if n in CODES and (n > 2 * top + 5 if n > 0 else not has_zero_one)}


def _drop_codes(values: Sequence[Any]) -> list[Any]:
    return [value for value in values if number_of(value) not in CODES or isinstance(value, bool)]


def find_scale_of(values: Sequence[Any], name: str = "") -> str | None:
    """Return the scale that values are ratings on, `1-5` for what lies on it; None where they are none."""
    values = [value for value in values if not is_missing(value)]
    if (scale := find_word_scale(values)) is not None or (scale := find_word_scale(_drop_codes(values))) is not None:
        return scale
    codes = find_codes(values)
    read = [rating for value in values if (rating := _read(value)) is not None and rating[0] not in codes]
    if len(read) < MOSTLY * (len(values) - sum(number_of(value) in codes for value in values)) or not read:
        return None
    numbers = _drop_strays([number for number, _ in read])
    low, high = min(numbers), max(numbers)
    ends = {end for _, end in read if end is not None}
    if ends == {100} and low >= 0 and high <= 100:
        return "0-100"
    if len(ends) == 1 and all(end is not None for _, end in read) and high <= max(ends):
        return f"{0 if low < 1 else 1}-{max(ends)}"
    if low == -1 and high <= 1:
        return "-1-1"
    if -5 <= low < 0 < high <= 5 and all(number.is_integer() for number in numbers):
        end = max(-low, high)
        return f"{-end:g}-{end:g}"
    if low < 0 or high > ENDS[-1]:
        return None
    if (named := find_named_scale(name, [name, *map(str, values[:ENOUGH])])) and _fits(named, low, high):
        return named
    if low >= 1 and high <= 5:
        is_shorter = low == 1 and high < 5 and len(numbers) >= ENOUGH and all(n.is_integer() for n in numbers)
        return f"1-{high:g}" if is_shorter and high > 1 else "1-5"
    return f"{0 if low < 1 else 1}-{next(end for end in ENDS if end >= high)}"


def _drop_strays(numbers: Sequence[float]) -> list[float]:
    """Return the numbers without a few that lie far beyond all others: they never widen a scale."""
    counts, left = Counter(numbers), [*numbers]
    while len(counts) > 3 and (top := max(counts)) > 2 * sorted(counts)[-2] and counts[top] <= max(1, len(left) // 50):
        del counts[top]
        left = [number for number in left if number != top]
    return left


def _fits(scale: str, low: float, high: float) -> bool:
    first, last = split_scale(scale)
    return first <= low and high <= last


def refuse_mixed_ends(values: Sequence[Any], path: str) -> None:
    """Raise DataError where ratings have several denominators: 4/5 and 7/10."""
    ends = Counter(rating[1] for value in values if (rating := _read(value)) is not None)
    if len(ends) > 1 and None not in ends:
        seen = ", ".join(f"/{end} ({count:,})" for end, count in sorted(ends.items()))
        raise DataError(Problem(path, f"has ratings out of different numbers: {seen}"), "Put them on one scale.")


def find_named_scale(name: str, texts: Sequence[str] = ()) -> str | None:
    """Return the scale that stands in the name of a field, as in "quality (1-7)", or that the ends named in texts span."""
    for match in _RANGE.finditer(name):
        if int(match[2]) > 2 > int(match[1]):
            return f"{match[1]}-{match[2]}"
    ends = {int(number) for text in texts for number, words in _ANCHOR.findall(text) if _judge(words)}
    return f"{min(ends)}-{max(ends)}" if len(ends) > 1 else None


def is_turned(name: str, values: Sequence[Any], scale: str) -> bool | None:
    """Return whether a low number is a good rating, by what a field's name or cells say of its ends; None where they say nothing."""
    low, high = split_scale(scale)
    meant = {
        float(number): _judge(words)
        for text in {name, *(str(value) for value in values[:200])}
        for number, words in _ANCHOR.findall(text)
        if _judge(words)
    }
    good, bad = ([number for number, side in meant.items() if side == sign] for sign in (1, -1))
    if good and bad:
        return max(good) < min(bad)
    is_low = [number - low < high - number for number in meant]
    return None if not meant else is_low[0] if good else not is_low[-1]


def _judge(words: str) -> int:
    """Return 1 for words of praise, −1 for words of blame, 0 for others."""
    text = " ".join(["", *_LETTERS.findall(words.lower()), ""])
    for sign, key in ((-1, "bad"), (1, "good")):
        if any(f" {word} " in text if word.isascii() else word in text for word in WORDS["ends"][key]):
            return sign
    return 0


def find_word_scale(values: Sequence[Any]) -> str | None:
    """Return the scale of ratings in words (or true and false); None where some value is no such word."""
    held = {_word(value) for value in values}
    if not held:
        return None
    if held <= {"true", "false"} and any(isinstance(value, bool) for value in values):
        return "0-1"
    if all(number_of(value) is not None and not isinstance(value, bool) for value in values):
        return None
    return next((scale for scale, words in _SCALES.items() if held <= set(words)), None)


def spell_scale(scale: str | None) -> str:
    """Return the lowest and highest number of a scale that may have a name of its own."""
    return next((own["scale"] for own in WORDS["words"] if own.get("name", "") == scale), scale or "")


def split_scale(scale: str | None) -> tuple[float, float]:
    """Return the lowest and the highest number of a scale."""
    low, high = re.fullmatch(r"(-?\d+)-(-?\d+)", spell_scale(scale) or "1-5").groups()  # type: ignore[union-attr]
    return float(low), float(high)


def turn_scale(scale: str | None) -> str:
    """Return a scale as `--scale` takes it where the lowest number is the best: of 1-6 6-1."""
    low, high = split_scale(scale)
    return f"{high:g}-{low:g}"


def is_plain(values: Sequence[Any]) -> bool:
    """Return whether values are ratings by their words alone, whatever they are called."""
    held = {_word(value) for value in values if not is_missing(value)}
    return bool(held) and held <= _PLAIN


def _word(value: Any) -> str:
    text = str(value).strip().strip(":").lower()
    return text if text in ("+1", "-1") else " ".join(re.split(r"[\s_-]+", text)).strip() or text


def _read(value: Any) -> tuple[float, int | None] | None:
    """Return the number in a rating, and what it is out of where that is said: 4 of 5 in "4/5", "4 stars", "★★★★☆"."""
    if isinstance(value, bool):
        return float(value), None
    if (number := number_in(value)) is not None:
        return number, None
    text = str(value).strip().replace("\ufe0f", "").replace("\u20e3", "")
    if match := _LABELLED.fullmatch(text):
        return float(match[1]), None
    if match := _STARS.fullmatch(text):
        return float(len(match[1])), max(5, len(match[1]) + len(match[2]))
    if (match := _NUMBER.fullmatch(text)) is None:
        return None
    end = int(match["of"]) if match["of"] else 5 if match["stars"] else 100 if text.endswith("%") else None
    return float(match[1].replace(",", ".")), end


def number_of(value: Any) -> float | None:
    """Return the number in a rating: 4, "4", "4/5", "4 stars", "★★★★☆", "85%"."""
    rating = _read(value)
    return rating[0] if rating else None


def read_rating(value: Any, scale: str | None, codes: Iterable[float] = ()) -> Any:
    """Return a rating as a number on its scale, None for a cell without one; what is no rating stays, and is refused with its place."""
    if value in (None, "") or is_missing(value):
        return None
    words = _SCALES.get(scale or "", {})
    number = words.get(_word(value), number_of(value))
    if number is None:
        return value
    if number in codes:
        return None
    if scale == "-1-1":
        return (number + 1) / 2
    return number
