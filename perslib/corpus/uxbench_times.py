"""Times and flags as logs write them."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

_EPOCH = datetime(1970, 1, 1)
_MILLISECONDS_FROM = 1e11  # seconds would be the year 5138, milliseconds are 1973
_YES = {"1", "true", "yes", "y", "t"}


def seconds(value: Any) -> float | None:
    """Seconds since 1970 of `2026-01-31 08:00:00`, ISO 8601 with or without zone, or epoch s/ms; None if unreadable.

    A time without a zone counts as if it were UTC: only differences within a session are used.
    """
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return _loose(value)
    elif isinstance(value, datetime):
        moment = value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        return _epoch(value)
    else:
        return None
    try:
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        return (moment - _EPOCH).total_seconds()
    except (OverflowError, ValueError):
        return None  # a zone that leads out of the calendar; a missing time that is typed as one


def _loose(text: str) -> float | None:
    text = text.strip().replace("/", "-")
    try:
        return _epoch(float(text))
    except ValueError:
        pass
    try:
        return seconds(datetime.fromisoformat(text))
    except ValueError:
        return None


def _epoch(number: float) -> float | None:
    if not math.isfinite(number) or number <= 0:
        return None
    return float(number) / 1000 if number > _MILLISECONDS_FROM else float(number)


def truth(value: Any) -> bool:
    """Whether a flag is set, written as a number, a text or a boolean; what says nothing is not set."""
    if isinstance(value, str):
        return value.strip().lower() in _YES
    return value in (True, 1)
