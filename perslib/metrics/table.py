"""An agreement table as a paper prints it: one row a judge and score, one column a metric."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

_ABOUT = ["judge", "backbone", "score", "turns", "unscored"]


class Shown:
    """What people read of numbers, and the numbers: a page shows the text, a CSV has a column for each number.

    `numbers` maps the end of a column's name to what stands there: nothing to the value, `_low` to the lower bound.
    """

    def __init__(self, text: str, value: float | None, **further: float | str):
        self.text = text
        own: dict[str, float | str] = {} if value is None else {"": value}
        self.numbers = own | {f"_{name}": number for name, number in further.items()}

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, (str, Shown)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    def __add__(self, mark: str) -> Shown:
        marked = Shown(self.text + mark, None)
        marked.numbers = self.numbers | ({"_mark": mark} if mark else {})
        return marked


def table(
    agreement: pd.DataFrame,
    metrics: Sequence[str] | None = None,
    intervals: bool = True,
    gains: Sequence[str] = (),
    digits: int = 3,
) -> pd.DataFrame:
    """The wide form of an agreement frame, cells as people read them: `.360 [.300, .410]`.

    `gains` names metrics whose gain over the best control gets a column of its own behind the metric's,
    called `gain: pearson`; a star marks gains whose Holm-corrected p is below .05. A value that is not
    defined is `–`.
    """
    names = list(dict.fromkeys(agreement["metric"])) if metrics is None else list(metrics)
    stratum = list(agreement.columns[: list(agreement.columns).index("judge")])
    about = [*stratum, *_ABOUT]
    wide = agreement[about].drop_duplicates(ignore_index=True)
    for name in names:
        own = agreement[agreement["metric"] == name]
        wide = _beside(wide, own, about, name, _cells(own, "value", "low", "high", intervals, digits))
        if name in gains:
            text = _cells(own, "gain", "gain_low", "gain_high", intervals, digits)
            stars = own["gain_p_holm"].lt(0.05).map({True: "*", False: ""})
            wide = _beside(wide, own, about, f"gain: {name}", [t + s for t, s in zip(text, stars)])
    return wide.drop(columns=[c for c in ("backbone", "unscored") if _empty(wide[c])])


def _beside(
    wide: pd.DataFrame, own: pd.DataFrame, about: list[str], name: str, text: Sequence[Shown]
) -> pd.DataFrame:
    return wide.merge(own[about].assign(**{name: list(text)}), on=about, how="left", sort=False)


def _empty(column: pd.Series) -> bool:
    return bool(column.isna().all() or column.eq(0).all())


def _cells(own: pd.DataFrame, value: str, low: str, high: str, intervals: bool, digits: int) -> list[Shown]:
    bounds = own[[low, high]].astype(float) if intervals else own[[low, high]].astype(float) * np.nan
    rows = zip(own[value].astype(float), *(bounds[c] for c in (low, high)))
    return [with_interval(v, a, b, digits) for v, a, b in rows]


def with_interval(
    value: float, low: float = np.nan, high: float = np.nan, digits: int = 3, zero: bool = False
) -> Shown:
    """A value and its interval as papers print them, `.360 [.300, .410]`; without bounds the value alone.

    With `zero`, numbers keep the zero before their point.
    """
    text = number(value, digits, zero)
    if np.isnan(low) or np.isnan(high) or not np.isfinite(value):
        return Shown(text, value)
    if np.isinf(low) or np.isinf(high):
        return Shown(f"{text} (−∞, ∞)", value, low=low, high=high)
    return Shown(
        f"{text} [{number(low, digits, zero)}, {number(high, digits, zero)}]", value, low=low, high=high
    )


def number(value: float, digits: int = 3, zero: bool = False) -> str:
    """A number as papers print it: `.360`, `−.042`, `1.250`; `–` where there is none."""
    if not np.isfinite(value):
        return "–"
    text = f"{abs(value):.{digits}f}"
    sign = "−" if value < 0 and float(text) > 0 else ""
    return sign + (text[1:] if text.startswith("0.") and not zero else text)
