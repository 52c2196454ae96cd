"""How stored values, times and characters that act are shown on pages."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime

from perslib.paths import read_toml
from perslib.text import current_language, translate, using_language


def name_of(value: str) -> str:
    """Return the label of a stored value in the current language; itself if it has none.

    Corpora store values by the names they were published under (`travel`). `group: member` has the
    labels of both.
    """
    labels = read_toml(__file__, "labels.toml")
    if value in labels:
        return translate(labels[value])
    group, colon, member = value.partition(": ")  # "conversations: travel"
    if not colon or group not in labels:
        return value
    return translate("{group}: {member}", group=name_of(group), member=name_of(member))


def beginning(text: str) -> str:
    """Return the first words of a text, in one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= 160 else flat[:160].rstrip() + " …"


def day(moment: str) -> str:
    """Return an ISO time in the reader's own time zone, to the minute."""
    with suppress(ValueError):
        return f"{datetime.fromisoformat(moment).astimezone():%Y-%m-%d %H:%M}"
    return ""


def format_duration(seconds: float, language: str = "") -> str:
    """Return a duration, in the current language or the one given: seconds below a minute and a half, then minutes."""
    with using_language(language or current_language()):
        if seconds < 90:
            return translate("{n} s", n=f"{seconds:.0f}")
        return translate("{m} min {s} s", m=f"{seconds // 60:.0f}", s=f"{seconds % 60:.0f}")


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
    """Return the text with every control, direction and invisible character replaced by a readable mark.

    For people who read a page; what a prompt shows to a model goes through `perslib.prompts.fencing.visible`.
    """
    return _ACTING.sub(_mark, text.replace("\r\n", "\n"))


def without_ansi(text: str) -> str:
    """Return the text as a terminal without colours would show it; for tracebacks, which IPython colours."""
    return _ANSI.sub("", text)
