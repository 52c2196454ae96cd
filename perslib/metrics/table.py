"""An agreement table as a paper prints it: one row a judge and score, one column a metric."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

_ABOUT = ["judge", "backbone", "score", "turns", "unscored"]


def table(
    agreement: pd.DataFrame,
    metrics: Sequence[str] | None = None,
    intervals: bool = True,
    gains: Sequence[str] = (),
    digits: int = 3,
) -> pd.DataFrame:
    """The wide form of an agreement frame, cells as text: `.360 [.300, .410]`.

    `gains` names metrics whose gain over the best control gets a column of its own behind the metric's,
    called `gain: pearson`; a star marks gains whose Holm-corrected p is below .05. A value that is not
    defined is `–`.
    """
    shown = list(dict.fromkeys(agreement["metric"])) if metrics is None else list(metrics)
    stratum = list(agreement.columns[: list(agreement.columns).index("judge")])
    about = [*stratum, *_ABOUT]
    wide = agreement[about].drop_duplicates(ignore_index=True)
    for name in shown:
        own = agreement[agreement["metric"] == name]
        wide = _beside(wide, own, about, name, _cells(own, "value", "low", "high", intervals, digits))
        if name in gains:
            text = _cells(own, "gain", "gain_low", "gain_high", intervals, digits)
            stars = own["gain_p_holm"].lt(0.05).map({True: "*", False: ""})
            wide = _beside(wide, own, about, f"gain: {name}", [f"{t}{s}" for t, s in zip(text, stars)])
    return wide.drop(columns=[c for c in ("backbone", "unscored") if _empty(wide[c])])


def _beside(
    wide: pd.DataFrame, own: pd.DataFrame, about: list[str], name: str, text: Sequence[str]
) -> pd.DataFrame:
    return wide.merge(own[about].assign(**{name: list(text)}), on=about, how="left", sort=False)


def _empty(column: pd.Series) -> bool:
    return bool(column.isna().all() or column.eq(0).all())


def _cells(own: pd.DataFrame, value: str, low: str, high: str, intervals: bool, digits: int) -> list[str]:
    bounds = own[[low, high]].astype(float) if intervals else own[[low, high]].astype(float) * np.nan
    rows = zip(own[value].astype(float), *(bounds[c] for c in (low, high)))
    return [with_interval(v, a, b, digits) for v, a, b in rows]


def with_interval(value: float, low: float, high: float, digits: int = 3) -> str:
    """A value and its interval as papers print them, `.360 [.300, .410]`; without bounds the value alone."""
    text = number(value, digits)
    if np.isfinite(low) and np.isfinite(value):
        text += f" [{number(low, digits)}, {number(high, digits)}]"
    return text


def number(value: float, digits: int = 3) -> str:
    """A number as papers print it: `.360`, `−.042`, `1.250`; `–` where there is none."""
    if not np.isfinite(value):
        return "–"
    text = f"{abs(value):.{digits}f}"
    sign = "−" if value < 0 and float(text) > 0 else ""
    return sign + (text[1:] if text.startswith("0.") else text)
