"""Characters that act instead of showing, made to show.

A reply can carry terminal escapes, direction overrides or invisible tag characters. On a page they would
recolour, reorder or hide text; here each of them becomes a mark that can be read.
"""

from __future__ import annotations

import re

# Joiners and variation selectors are left alone: emoji and several scripts need them to be written at all.
_ACTING = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but for tab and newline
    "\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\ud800-\udfff"  # halves of a character, which no file can hold
    "\U000e0000-\U000e0fff"  # tags and further selectors: invisible copies of ASCII
    "]"
)
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")


def _mark(match: re.Match[str]) -> str:
    return f"⟨U+{ord(match.group()):04X}⟩"


def controls_shown(text: str) -> str:
    """The text with every control, direction and invisible character replaced by a readable mark.

    For people who read a page; what a prompt shows to a model goes through `perslib.fence.visible`.
    """
    return _ACTING.sub(_mark, text.replace("\r\n", "\n"))


def without_ansi(text: str) -> str:
    """The text as a terminal without colours would show it; for tracebacks, which IPython colours."""
    return _ANSI.sub("", text)
