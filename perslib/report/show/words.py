"""How stored values and times are shown on pages."""

from __future__ import annotations

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
    whole = round(seconds)
    with using_language(language or current_language()):
        return translate("{n} s", n=whole) if whole < 90 else translate("{m} min {s} s", m=whole // 60, s=whole % 60)
