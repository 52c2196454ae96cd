"""A frame as a LaTeX table: booktabs rules, every cell escaped, Chinese left as it is."""

from __future__ import annotations

import pandas as pd

from perslib.report.controls import controls_shown
from perslib.report.show import cell, header_of, is_numeric

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "–": "--",
    "−": "$-$",
    "\n": " ",
    "\t": " ",
}


def escaped(text: str) -> str:
    """Text that LaTeX sets as it stands, whatever it holds."""
    return "".join(_SPECIAL.get(c, c) for c in controls_shown(text))


def latex_table(frame: pd.DataFrame, name: str, caption: str = "", digits: int = 2) -> str:
    """The frame as a `table` environment; numbers flush right with `digits` decimals."""
    columns = "".join("r" if is_numeric(frame.iloc[:, i]) else "l" for i in range(frame.shape[1]))
    head = " & ".join(escaped(header_of(c)) for c in frame.columns)
    rows = (
        " & ".join(escaped(cell(v, digits, c)) for v, c in zip(values, frame.columns))
        for values in frame.itertuples(index=False, name=None)
    )
    lines = [
        r"% \usepackage{booktabs}; for Chinese text, \usepackage{ctex} or xeCJK",
        r"\begin{table}[t]",
        r"\centering",
        rf"\caption{{{escaped(caption)}}}",
        rf"\label{{tab:{name}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        rf"{head} \\",
        r"\midrule",
        *(rf"{row} \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"
