"""Hide keys wherever a text repeats them, in every spelling that a reader of JSON, HTML or Python would turn back into them."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Mapping

LEVELS = 16
"""Readings, one of the result of another, that are undone: JSON in HTML in JSON …"""
#: The outermost reader comes first: replies are JSON, and errors show a header as Python writes bytes.
_ESCAPES = (
    re.compile(r"""\\(?:(?:u00|x)(?P<hex>[0-9a-fA-F]{2})|(?P<itself>["'\\/])|(?P<control>[abfnrtv0]))"""),
    re.compile(
        r"&(?:\#0*(?P<decimal>[0-9]{1,7});?|\#[xX]0*(?P<hex>[0-9a-fA-F]{1,6});?"
        r"|(?P<itself>(?:[A-Za-z][A-Za-z0-9]{1,31};|amp|AMP|lt|LT|gt|GT|quot|QUOT)))"
    ),
)
_CONTROLS = dict(zip("abfnrtv0", "\a\b\f\n\r\t\v\0"))
#: A text without any of these spells letters and digits as they are.
_SPELLS_LETTERS = re.compile(r"\\u00|\\x|(?:&|amp;?|38;?|26;?)#", re.I)


def hide_keys(text: str, marks: Mapping[str, str]) -> str:
    """Return the text with its mark in place of each key, however it is spelled: plain, escaped, or escaped in part."""
    if not _SPELLS_LETTERS.search(text):
        words = {key: max(re.findall(r"[A-Za-z0-9]+", key) or [""], key=len) for key in marks}
        marks = {key: marks[key] for key, word in words.items() if word in text}
    if not marks:
        return text
    any_key = re.compile("|".join(re.escape(key) for key in sorted(marks, key=len, reverse=True)))
    spans: list[tuple[int, int, str]] = []
    levels: list[_Level] = []
    read = text
    for _ in range(LEVELS):
        for at in any_key.finditer(read):
            spans.append((_source(levels, at.start()), _source(levels, at.end()), marks[at[0]]))
        escapes = next((kind for kind in _ESCAPES if kind.search(read)), None)
        if escapes is None:
            break
        levels.append(_Level(read, escapes))
        if read == levels[-1].text:
            break
        read = levels[-1].text
    pieces: list[str] = []
    shown_to = 0
    for start, end, mark in sorted(spans):
        if start >= shown_to:
            pieces += text[shown_to:start], mark
        shown_to = max(shown_to, end)
    return "".join([*pieces, text[shown_to:]])


class _Level:
    """A text with its escapes undone once."""

    def __init__(self, escaped: str, escapes: re.Pattern[str]):
        pieces: list[str] = []
        self.ends, self.ends_escaped = [0], [0]
        for match in escapes.finditer(escaped):
            plain, between = _meaning(match), escaped[self.ends_escaped[-1] : match.start()]
            pieces += between, plain
            self.ends.append(self.ends[-1] + len(between) + len(plain))
            self.ends_escaped.append(match.end())
        self.text = "".join([*pieces, escaped[self.ends_escaped[-1] :]])


def _meaning(escape: re.Match[str]) -> str:
    """Return the text that an escape stands for."""
    number = escape.groupdict()
    if number.get("decimal") or number["hex"]:
        point = int(number["hex"], 16) if number["hex"] else int(number["decimal"])
        return chr(point) if point < 0x110000 else "\ufffd"
    if number.get("control"):
        return _CONTROLS[number["control"]]
    return html.unescape(escape[0]) if escape[0].startswith("&") else escape["itself"]


def _source(levels: list[_Level], position: int) -> int:
    """Return the place in the first text of a place in the last."""
    for level in reversed(levels):
        last = bisect_right(level.ends, position) - 1
        position += level.ends_escaped[last] - level.ends[last]
    return position
