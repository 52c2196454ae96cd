"""Tables as pages show them: which columns, under which heads, in which form.

    shown(counts, "found", "explicit", signal=label(), sessions_percent=interval(low="low", high="high", digits=1))

An estimate `x` has its bounds in `x_low` and `x_high` where nothing else is said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from perslib.metrics import Shown, with_interval
from perslib.report.words import name_of

#: Gives the cells of a column from the frame and the column's head.
Form = Callable[[pd.DataFrame, str], Any]


def shown(frame: pd.DataFrame, *same: str, **columns: str | Form) -> pd.DataFrame:
    """Return a table of columns that stay as they are, and others: by name, or in one of the forms below."""
    cells = {head: frame[head] for head in same}
    cells |= {
        head: frame[form] if isinstance(form, str) else form(frame, head) for head, form in columns.items()
    }
    return pd.DataFrame(cells, index=frame.index)


def interval(value: str = "", low: str = "", high: str = "", digits: int = 2, zero: bool = True) -> Form:
    """An estimate with its interval, `0.36 [0.30, 0.41]`, or `.36 [.30, .41]` without `zero`."""

    def cells(frame: pd.DataFrame, head: str) -> list[Shown]:
        name = value or head
        columns = [name, low or f"{name}_low", high or f"{name}_high"]
        return [with_interval(v, a, b, digits, zero) for v, a, b in frame[columns].to_numpy(float)]

    return cells


def number(value: str = "", digits: int = 2) -> Form:
    """A number with so many decimals, or a dash."""
    return lambda frame, head: [
        with_interval(v, digits=digits, zero=True) for v in frame[value or head].astype(float)
    ]


def bounds(low: str = "low", high: str = "high", digits: int = 1) -> Form:
    """An interval alone, `[0.3, 0.4]`, or a dash."""

    def cell(below: float, above: float) -> Shown | str:
        if not np.isfinite(below):
            return "–"
        ends = ", ".join(str(with_interval(end, digits=digits, zero=True)) for end in (below, above))
        return Shown(f"[{ends}]", None, low=below, high=above)

    return lambda frame, head: [cell(*row) for row in frame[[low, high]].to_numpy(float)]


def written(form: str, value: str = "") -> Form:
    """A number in a format of Python's: `written("{:.0%}")`."""
    return lambda frame, head: [Shown(form.format(v), v) for v in frame[value or head]]


def p_value(value: str = "") -> Form:
    """A p-value, `.012` or `< .001`."""

    def cell(p: float) -> Shown:
        if not np.isfinite(p):
            return Shown("–", p)
        return Shown("< .001" if p < 0.001 else f"{p:.3f}".removeprefix("0"), p)

    return lambda frame, head: [cell(p) for p in frame[value or head].astype(float)]


def label(value: str = "", prefix: str = "") -> Form:
    """A stored value by its label in the page's language; one with the prefix comes first."""
    return lambda frame, head: [labelled(v, prefix) for v in frame[value or head]]


def labelled(value: object, prefix: str = "") -> str:
    """The label of a stored value; one with the prefix comes first, for some values are common words elsewhere."""
    own = name_of(f"{prefix}{value}")
    return name_of(str(value)) if own == f"{prefix}{value}" else own
