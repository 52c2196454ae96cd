"""What may be said of an estimate: whether it is above a line, below it, open, or not known. Decided here, and nowhere else.

    lead = Estimate.of(row, "gain")
    report.answer(choose(lead, above="**{a}** leads by {lead}.", open="{a} is ahead by {lead}, within chance."), a=…, lead=lead)

A sentence has a wording for each side; pages choose none themselves. Above and below need the whole interval on that side, and p below
`SURE` where there is one: interval and corrected p must agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from perslib.report.show.tables import with_interval
from perslib.report.show.words import name_of
from perslib.stats.resample.leave_one_out import name_bounds
from perslib.text import join, translate

Side: TypeAlias = Literal["above", "below", "open", "unknown"]
SURE = 0.05
#: Of fewer cases a share is written as their number.
FEWEST_CASES = 10


@dataclass(frozen=True)
class Estimate:
    """A number with its interval, its p (corrected where several were tried), and the line beside which it is read."""

    value: float
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan
    line: float = 0.0
    digits: int = 3
    least: float = 0.0
    """By how much it has to be above or below to matter."""

    @classmethod
    def of(
        cls, row: Mapping[Any, Any] | pd.Series, name: str = "value", line: float = 0.0, digits: int = 3
    ) -> Estimate:
        """Take the estimate of this name out of a row, with its corrected p, or else its p."""
        p = next((row[key] for key in (f"{name}_p_holm", f"{name}_p") if key in row and pd.notna(row[key])), np.nan)
        value, low, high = (float(row[key]) for key in name_bounds(name))
        return cls(value, low, high, float(p), line, digits)

    @property
    def side(self) -> Side:
        """On which side of its line the estimate is."""
        if not (np.isfinite(self.low) and np.isfinite(self.high)):
            return "unknown"
        if np.isfinite(self.p) and self.p >= SURE:
            return "open"
        return (
            "above" if self.low > self.line + self.least else "below" if self.high < self.line - self.least else "open"
        )

    def between(self, one: float, other: float) -> Estimate:
        """Return the estimate as the difference of two numbers as they are printed."""
        return replace(self, value=round(one, self.digits) - round(other, self.digits))

    def __str__(self) -> str:
        return str(with_interval(self.value, self.low, self.high, self.digits))

    def __format__(self, _: str) -> str:
        return str(self)


def choose(estimate: Estimate | Side, above: str = "", below: str = "", open: str = "", unknown: str = "") -> str:
    """Return the wording for the side on which an estimate is; where a side has none, that of what is open, or nothing."""
    side = estimate.side if isinstance(estimate, Estimate) else estimate
    wordings: dict[Side, str] = {"above": above, "below": below, "open": open, "unknown": unknown}
    return wordings[side] or ("" if side == "unknown" else open)


def list_on_side(rows: pd.DataFrame, side: Side, name: str = "value", line: float = 0.0, label: str = "judge") -> str:
    """Return the names of the rows whose estimate is on this side; *none* where no row is."""
    on = [row[label] for row in rows.to_dict("records") if Estimate.of(row, name, line).side == side]
    return join(map(name_of, dict.fromkeys(on))) or translate("none")


def show_share(count: float, n: int) -> str:
    """Return a share in percent; of few cases as their number, and never all or none by rounding."""
    if n < FEWEST_CASES:
        return translate("{count} of {n}", count=round(count), n=n)
    share = count / n
    text = f"{share:.0%}"
    return f"{share:.1%}" if 0 < share < 1 and text in ("0%", "100%") else text
