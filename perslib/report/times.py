"""Times as people read them."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from perslib.report.words import word


def day(moment: str) -> str:
    """An ISO time in the reader's own time zone, to the minute."""
    with suppress(ValueError):
        return f"{datetime.fromisoformat(moment).astimezone():%Y-%m-%d %H:%M}"
    return ""


def took(seconds: float | None, language: str) -> str:
    """A duration: seconds below a minute and a half, then minutes."""
    if seconds is None:
        return ""
    if seconds < 90:
        return word("seconds", language, n=f"{seconds:.0f}")
    return word("minutes", language, m=f"{seconds // 60:.0f}", s=f"{seconds % 60:.0f}")
