"""Read times: all cells of a column in one form, or a problem that asks which form.

`01.03.2026` is the first of March or the third of January. A column is read in the one form that all of its cells
allow. If two forms remain, the user has to choose, because a wrong guess would not be noticed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

import pandas as pd

from perslib.corpus.files.reading import number_in
from perslib.errors import Problem, UnknownName
from perslib.schemas import show

YEAR, DAY, MONTH, NAME = "year first", "day first", "month first", "month by name"
#: Option for dates such as 01.03.2026 → form.
ORDERS = {"day-first": DAY, "month-first": MONTH}
#: Unit → lowest number that counts as an epoch (in 1973), and units per second.
_UNITS = {"seconds": (1e8, 1), "milliseconds": (1e11, 1e3), "microseconds": (1e14, 1e6), "nanoseconds": (1e17, 1e9)}
_DATE = re.compile(r"(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})(?!\d)(.*)")
_ZONE = r" ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)?"
_CLOCK = re.compile(rf"(?:[T ,]+\d{{1,2}}:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[ap]m)?{_ZONE})?", re.IGNORECASE)
_MONTHS = frozenset(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"])
_WORDS = _MONTHS | frozenset(
    ["mon", "tue", "wed", "thu", "fri", "sat", "sun", "t", "z", "utc", "gmt", "am", "pm", "st", "nd", "rd", "th"]
)


class Cell(NamedTuple):
    """A cell with a time, and the time in each possible form."""

    row: dict[str, Any]
    column: str
    place: str
    readings: dict[str, datetime]

    def __str__(self) -> str:
        return show(self.row[self.column], 40)


def read_times(
    rows: Sequence[tuple[str, dict[str, Any]]], columns: Sequence[str], order: str | None = None
) -> tuple[list[str], list[Problem]]:
    """Write the times in these columns as ISO 8601, in UTC if they have a zone; cells without a time stay as they are.

    Parameters
    ----------
    rows
        Rows, each with its place in its file.
    columns
        Columns with times; each is read in one form.
    order
        One of `ORDERS`, for dates that do not begin with the year; None if the dates have to show it.

    Returns
    -------
    A note for each column on how it was read, and problems of columns that cannot be read in one form.
    """
    if order is not None and order not in ORDERS:
        raise UnknownName("order of day and month", order, ORDERS)
    notes: list[str] = []
    problems: list[Problem] = []
    zones: dict[bool, Cell] = {}
    chosen: list[tuple[Cell, datetime]] = []
    for column in columns:
        cells = list(_cells(rows, column, order))
        forms = set.intersection(*(set(cell.readings) for cell in cells)) if cells else set()
        if forms and all(len({cell.readings[form] for form in forms}) == 1 for cell in cells):
            form = next(form for form in cells[0].readings if form in forms)
            times = [(cell, cell.readings[form]) for cell in cells]
            zones |= {time.tzinfo is not None: cell for cell, time in reversed(times)}
            notes.append(f"{column}: {_describe(form, times)}")
            chosen += times
        elif cells:
            problems.append(_ask_order(cells) if forms else _name_two(cells))
    if len(zones) == 2:
        with_zone, without = zones[True], zones[False]
        message = (
            f"{with_zone.column} is {with_zone}, with a time zone, but {without.column} is {without} at {without.place}"
        )
        problems.append(
            Problem(with_zone.place, f"{message}, without one. Give all times their zone, or none of them.")
        )
    for cell, time in chosen:
        cell.row[cell.column] = _iso(time)
    return notes, problems


def is_time(text: str) -> bool:
    """Return whether a text is a time as `read_times` writes it."""
    try:
        return datetime.fromisoformat(text).tzinfo is None
    except ValueError:
        return False


def _cells(rows: Sequence[tuple[str, dict[str, Any]]], column: str, order: str | None) -> Iterator[Cell]:
    """Yield the cells of a column that hold a time, in any form or in the given order."""
    other = {DAY, MONTH} - {ORDERS[order]} if order else set()
    for place, row in rows:
        readings = {
            form: time for form, time in _readings(row.get(column)) if form not in other and 1 < time.year < 9999
        }
        if readings:
            yield Cell(row, column, place, readings)


def _describe(form: str, times: list[tuple[Cell, datetime]]) -> str:
    """Return how a column was read, with a cell as an example."""
    cell, time = min(times, key=lambda own: len(own[0].readings))
    is_days = all((own.hour, own.minute, own.second) == (0, 0, 0) for _, own in times)
    zone = " UTC" if time.tzinfo else ""
    return f"{form}{', days only' if is_days else ''} ({cell} is {_iso(time)}{zone})"


def _ask_order(cells: list[Cell]) -> Problem:
    """Return the problem of a column where no cell shows whether day or month stands first."""
    first, *others = cells
    other = next((cell for cell in others if str(cell) != str(first)), None)
    second = f" and {other} ({other.place})" if other else ""
    wrong = f"{first.column} is {first}{second}: no cell shows whether the day or the month stands first"
    return Problem(first.place, f"{wrong}. Say it: --dates {' or --dates '.join(ORDERS)}.")


def _name_two(cells: list[Cell]) -> Problem:
    """Return the problem of a column in several forms, with the first two cells that differ."""
    one, other = next((a, b) for b in cells for a in cells if not a.readings.keys() & b.readings.keys())
    (a, b), column = ((" or ".join(cell.readings)) for cell in (one, other)), one.column
    message = f"{column} is {other} ({b}), but {one} ({a}) at {one.place}"
    return Problem(other.place, f"{message}. Write all times of the column in one way, such as 2026-01-31 18:30:00.")


def _readings(value: Any) -> Iterator[tuple[str, datetime]]:
    """Yield the possible forms of a cell, each with its time; nothing if it holds no time."""
    if not isinstance(value, str | int | float | date) or (isinstance(value, int) and abs(value) >= 1 << 63):
        return
    text = str(value).strip()
    try:
        yield YEAR, _from_iso(text)
        return
    except ValueError:
        pass
    if (number := number_in(text)) is not None:
        for unit, (low, parts) in _UNITS.items():
            if low <= number < low * 1000:
                yield f"{unit} since 1970", _EPOCH.replace(tzinfo=UTC) + timedelta(seconds=number / parts)
    elif match := _DATE.fullmatch(text):
        a, b, c, clock = match.group(1, 3, 4, 5)
        for form, (year, month, day_of_month) in {YEAR: (a, b, c), DAY: (c, b, a), MONTH: (c, a, b)}.items():
            if len(year) == 4 and _CLOCK.fullmatch(clock):
                with suppress(ValueError):
                    day = date(int(year), int(month), int(day_of_month))
                    yield form, pd.Timestamp(f"{day} {clock.lstrip('Tt ,')}").to_pydatetime(warn=False)
    elif _names_a_day(text):
        with suppress(ValueError):
            yield NAME, pd.Timestamp(text).to_pydatetime(warn=False)


def _names_a_day(text: str) -> bool:
    """Return whether a text has the name of a month, a day, a year of four digits, and otherwise only words of times."""
    words = {word.lower()[:3] for word in re.findall(r"[^\W\d_]+", text)}
    numbers = re.findall(r"\d+", re.sub(r"\d+:[\d:.]+|(?<![^\W\d_])[+-]\d\d:?\d\d\b", "", text))
    return bool(words & _MONTHS) and words <= _WORDS and sorted(map(len, numbers)) in ([1, 4], [2, 4])


def _iso(time: datetime) -> str:
    return str(time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time)


_EPOCH = datetime(1970, 1, 1)
_EPOCHS = sorted(_UNITS.values(), reverse=True)


def parse_seconds(value: Any) -> float | None:
    """Return the seconds since 1970 of `2026-01-31 08:00:00`, of ISO 8601 with or without zone, or of an epoch; None if
    unreadable.

    A time without a zone counts as if it were UTC: only differences within a session are used.
    """
    if isinstance(value, str):
        value = _parse_moment(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not 0 < value < 1e300:
            return None  # of hundreds of digits, infinite, or no number
        for low, parts in _EPOCHS:  # faster than next() of a generator, and done for every message of a log
            if value >= low:
                return value / parts
        return float(value)
    if not isinstance(value, datetime):
        return None
    try:
        if value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        return (value - _EPOCH).total_seconds()
    except (OverflowError, ValueError):
        return None  # a zone that leads out of the calendar; a missing time that is typed as one


def _parse_moment(text: str) -> datetime | float | None:
    for parse in (_from_iso, float):
        try:  # faster than contextlib.suppress, and done for every message of a log
            return parse(text)
        except ValueError:
            continue
    return None


def _from_iso(text: str) -> datetime:
    """Return the time in ISO 8601, also with slashes; raise ValueError for more digits than a day has, because they are
    an epoch.
    """
    text = text.strip().replace("/", "-")
    if text.isdecimal() and len(text) != 8:
        raise ValueError("an epoch")
    return datetime.fromisoformat(text)
