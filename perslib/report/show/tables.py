"""Tables as pages show them: which columns, under which heads, in which form.

    format_table(agreed)                                       # every estimate with its interval, every p as a p
    format_table(counts, "judge", "r", weight="{:.1f}", share=format_as_interval("percent", digits=1), signal=format_as_label())

An estimate `x` has its bounds in `x_low` and `x_high`, and its p-value in `x_p`; the standard deviation of what it is the
mean of is `x_std`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from perslib.report.show.words import name_of
from perslib.text import show_minus, translate

#: Gives the cells of a column from the frame and the column's head.
Form = Callable[[pd.DataFrame, str], Any]


def format_table(frame: pd.DataFrame, *same: str, **columns: str | Form) -> pd.DataFrame:
    """Return a table of these columns, or of all where none is named, estimates and p-values in their form.

    Further columns by keyword: `head="column"` is the column under another head, `head="{:.1f}"` a format of Python's for
    the column of this name, `head=form` one of the forms below.
    """
    if not same and not columns:
        bounds = {f"{name}{end}" for name in frame for end in ("_low", "_high", "_std")}
        same = tuple(name for name in map(str, frame) if name not in bounds)
    cells = {head: _by_rule(frame, head) for head in same}
    for head, form in columns.items():
        if isinstance(form, str):
            cells[head] = format_as(form)(frame, head) if "{" in form else _by_rule(frame, form)
        else:
            cells[head] = form(frame, head)
    return pd.DataFrame(cells, index=frame.index)


def _by_rule(frame: pd.DataFrame, name: str) -> Any:
    """Return a column as it is, or in the form that its name asks for."""
    if f"{name}_low" in frame and f"{name}_high" in frame:
        return format_as_interval()(frame, name)
    if f"{name}_std" in frame:
        return _deviation(frame, name)
    if name.endswith(("_p", "_p_holm")):
        return p_value()(frame, name)
    return frame[name]


def widen(frame: pd.DataFrame, rows: Sequence[str], columns: str, x: str = "value", **form: Any) -> pd.DataFrame:
    """Return a row for each combination of `rows` and a column for each value of `columns`, holding the estimates `x`.

    All stand in the order of their first appearance; what is missing is `–`. `form` are the options of `format_as_interval`.
    """
    cells = frame.assign(cell=format_as_interval(**form)(frame, x) if f"{x}_low" in frame else _by_rule(frame, x))
    keys = list(dict.fromkeys(cells[list(rows)].itertuples(index=False, name=None)))
    wide = cells.pivot(index=list(rows), columns=columns, values="cell")[list(dict.fromkeys(cells[columns]))]
    ordered = wide.loc[[key[0] for key in keys] if len(rows) == 1 else keys]
    return ordered.fillna("–").rename_axis(columns=None).reset_index()


def format_as_interval(value: str = "", low: str = "", high: str = "", digits: int = 2, p: str = "") -> Form:
    """Return an estimate with its interval, `0.36 [0.30, 0.41]`.

    A star marks those whose p, in the column `p`, is below 0.05.
    """

    def cells(frame: pd.DataFrame, head: str) -> list[FormattedCell]:
        name = value or head
        ends = (low or f"{name}_low", high or f"{name}_high")
        texts = [with_interval(v, a, b, digits) for v, a, b in frame[[name, *ends]].to_numpy(float)]
        return [text + "*" * (own < 0.05) for text, own in zip(texts, frame[p])] if p else texts

    return cells


def format_as_number(value: str = "", digits: int = 2) -> Form:
    """Return a number with so many decimals, or a dash."""
    return _by_row(lambda v: with_interval(v, digits=digits), value)


def _deviation(frame: pd.DataFrame, name: str) -> list[FormattedCell]:
    """Return a mean with its standard deviation, `0.36 ± 0.05`, where that is known and does not read as zero."""

    def cell(mean: float, std: float) -> FormattedCell:
        alone = with_interval(mean, digits=2)
        if np.isnan(std):
            return alone
        return FormattedCell(f"{alone} ± {std:.2f}" if round(std, 2) else str(alone), mean, std=std)

    return [cell(*row) for row in frame[[name, f"{name}_std"]].to_numpy(float)]


def bounds(low: str = "low", high: str = "high") -> Form:
    """Return an interval alone, `[0.3, 0.4]`, or a dash."""

    def cell(below: float, above: float) -> FormattedCell | str:
        if not np.isfinite(below):
            return "–"
        ends = ", ".join(str(with_interval(end, digits=1)) for end in (below, above))
        return FormattedCell(f"[{ends}]", None, low=below, high=above)

    return _by_row(cell, low, high)


def format_as(form: str, value: str = "") -> Form:
    """Return a number in a format of Python's: `format_as("{:.0%}")`."""
    return lambda frame, head: [
        FormattedCell("–" if pd.isna(v) else show_minus(form.format(v)), v) for v in frame[value or head]
    ]


def p_value(value: str = "") -> Form:
    """Return a p-value, `0.012` or `< 0.001`."""
    return _by_row(lambda p: FormattedCell(write_p(p), p), value)


def write_p(p: float) -> str:
    """Return a p-value for a cell: `0.012`, `< 0.001`, or `–` where there is none."""
    return "< 0.001" if p < 0.001 else format_number(p)


def _by_row(cell: Callable[..., Any], *columns: str) -> Form:
    """Return a cell for each row, from the numbers in these columns; the one without a name is that of the head."""
    return lambda frame, head: [cell(*row) for row in frame[[c or head for c in columns]].to_numpy(float)]


def format_as_label(value: str = "", prefix: str = "") -> Form:
    """Return a stored value by its label in the page's language; one with the prefix comes first."""
    return lambda frame, head: [translate_value(v, prefix) for v in frame[value or head]]


def translate_value(value: object, prefix: str = "") -> str:
    """Return the label of a stored value; one with the prefix comes first, for some values are common words elsewhere."""
    own = name_of(f"{prefix}{value}")
    return name_of(str(value)) if own == f"{prefix}{value}" else own


_ABOUT = ["judge", "backbone", "score", "turns", "unscored"]


class FormattedCell:
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
        return str(self) == str(other) if isinstance(other, (str, FormattedCell)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    def __add__(self, mark: str) -> FormattedCell:
        marked = FormattedCell(self.text + mark, None)
        marked.numbers = self.numbers | ({"_mark": mark} if mark else {})
        return marked


def agreement_table(
    agreement: pd.DataFrame, metrics: Sequence[str] | None = None, gains: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the wide form of an agreement frame, cells as people read them: `0.360 [0.300, 0.410]`.

    `gains` names metrics whose gain over the best control gets a column of its own, behind the metric's where that is
    shown, called `gain: pearson`; a star marks gains whose Holm-corrected p is below 0.05. A value that is not
    defined is `–`. Where a metric rests on other turns than the first of its judge, `turns: metric` stands behind it.
    """
    names = list(dict.fromkeys(agreement["metric"])) if metrics is None else list(metrics)
    stratum = list(agreement.columns[: list(agreement.columns).index("judge")])
    judge = [*stratum, "judge", "backbone", "score"]
    wide = agreement[[*stratum, *_ABOUT]].loc[~agreement.duplicated(judge)]
    for name in dict.fromkeys([*names, *gains]):
        own = agreement[agreement["metric"] == name]
        cells = {name: format_as_interval("value", digits=3)(own, name)} if name in names else {}
        if name in gains:
            cells[f"gain: {name}"] = format_as_interval("gain", digits=3, p="gain_p_holm")(own, name)
        wide = wide.merge(own[[*judge, "turns"]].assign(**cells), on=judge, how="left", suffixes=("", f": {name}"))
    empty = [c for c in ("backbone", "unscored") if wide[c].isna().all() or wide[c].eq(0).all()]
    empty += [c for c in wide if c.startswith("turns: ") and wide[c].eq(wide["turns"]).all()]
    return wide.drop(columns=empty).rename(columns={"score": "calibration"})


_MOST_DIGITS = 5


def with_interval(value: float, low: float = np.nan, high: float = np.nan, digits: int = 3) -> FormattedCell:
    """Return a value and its interval, `0.360 [0.300, 0.410]`; without bounds the value alone.

    An interval that holds zero is never shown as one that ends there: a bound that would be rounded to zero has more digits.
    Where both bounds read as the value does, it stands alone.
    """
    while digits < _MOST_DIGITS and any(end and abs(end) < 0.5 * 10**-digits for end in (low, high)):
        digits += 1
    text = format_number(value, digits)
    if np.isnan(low) or np.isnan(high) or not np.isfinite(value):
        return FormattedCell(text, value)
    if np.isinf(low) or np.isinf(high):
        return FormattedCell(f"{text} (−∞, ∞)", value, low=low, high=high)
    ends = [format_number(end, digits) for end in (low, high)]
    shown = text if set(ends) == {text} else f"{text} [{', '.join(ends)}]"
    return FormattedCell(shown, value, low=low, high=high)


def show_estimate(row: Mapping[Any, Any] | pd.Series, name: str = "value", digits: int = 3) -> FormattedCell:
    """Return the estimate of this name in a row, with its interval."""
    value, low, high = (float(row[f"{name}{end}"]) for end in ("", "_low", "_high"))
    return with_interval(value, low, high, digits)


def show_range(values: pd.Series, digits: int = 2) -> str:
    """Return from where to where values go, `0.95 to 0.97`; one number where both ends read alike."""
    low, high = (format_number(end, digits) for end in (values.min(), values.max()))
    return low if low == high else translate("{low} to {high}", low=low, high=high)


def show_p(p: float) -> str:
    """Return a p-value for a sentence: `p = 0.012` or `p < 0.001`."""
    return f"p {write_p(p)}" if p < 0.001 else f"p = {write_p(p)}"


def format_number(value: float, digits: int = 3) -> str:
    """Return a number with so many decimals: `0.360`, `−0.042`; `–` where there is none."""
    return show_minus(f"{value:.{digits}f}") if np.isfinite(value) else "–"
