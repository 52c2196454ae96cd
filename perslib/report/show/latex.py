r"""A frame as a LaTeX table that fits its place: every cell escaped, symbols for pdfLaTeX.

The tabular stands in an `adjustbox`, which scales down what is wider than the column or higher than a page; tables of many
columns are set in smaller type and, in a paper of two columns, across both. The first line of the file names its packages.
Text that pdfLaTeX has no letters for (Chinese) stays as it is, and the file says what sets it.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from functools import cache

import pandas as pd

from perslib.paths import read_toml
from perslib.report.show.html import cell_texts, header_of, is_numeric
from perslib.text import show_hidden, translate

_ACTING = re.compile(r"[A-Za-z][\u0300-\u036f]+|-(?=-)|[\\&%$#_{}<>|~^\n\t]|[^\x00-\x7f]")
#: Up to so many columns: the size of type, and that of intervals.
_SIZES = ((5, "", r"\footnotesize"), (8, r"\small", r"\scriptsize"), (999, r"\footnotesize", r"\tiny"))
_ONE_COLUMN = 5
#: Texts of more characters are broken into lines so wide, unless a word is longer than a line.
_TEXTS = ((150, 30), (40, 16))
_LONGEST_WORD = 20
_INTERVAL = re.compile(r" (\[[^\]]*,~[^\]]*\])")


def escape_latex(text: str) -> str:
    """Return the text that LaTeX sets as it stands, whatever it holds."""
    return _ACTING.sub(lambda match: _set(match[0]), show_hidden(text))


@cache
def _set(character: str) -> str:
    """Return how a character (with its accents) is written for pdfLaTeX; itself where there is no way."""
    known = read_toml(__file__, "latex.toml")
    if character in known["text"]:
        return str(known["text"][character])
    if character in known["math"]:
        return f"${known['math'][character]}$"
    decomposed = unicodedata.normalize("NFD", character)
    base, marks = decomposed[0], decomposed[1:]
    if not base.isascii() or not set(marks) <= set(known["accents"]):
        return character
    for mark in marks:
        base = rf"\{known['accents'][mark]}{{{base}}}"
    return base


def latex_table(frame: pd.DataFrame, name: str, caption: str = "", digits: int = 2, note: str = "") -> str:
    """Return the frame as a `table`: numbers flush right, intervals smaller than their estimates.

    Parameters
    ----------
    name, caption : the label is `tab:name`.
    digits : decimals of numbers.
    note : a sentence below the table.
    """
    texts = cell_texts(frame, digits)
    kinds = [_column(own, is_numeric(frame.iloc[:, i])) for i, own in enumerate(texts)]
    size, small = next(sizes for most, *sizes in _SIZES if len(kinds) <= most)
    cells = [[_cell(text, small) for text in own] for own in texts]
    if frame.empty:
        none = escape_latex(translate("No rows: nothing to list."))
        cells = [[none], *[[""]] * len(kinds)][: len(kinds)]
    heads = [_head(header_of(c), kind, own) for c, kind, own in zip(frame.columns, kinds, texts)]
    body = pd.DataFrame(list(zip(*cells)), columns=heads)
    tabular = body.style.hide(axis="index").to_latex(column_format="".join(kinds), hrules=True)
    place = "table" if len(kinds) <= _ONE_COLUMN and not any("p{" in kind for kind in kinds) else "table*"
    lines = [
        *(rf"\begin{{{place}}}[t]", r"\centering", rf"\caption{{{escape_latex(caption)}}}"),
        rf"\label{{tab:{name}}}{size}",
        r"\begin{adjustbox}{max totalsize={\linewidth}{0.8\textheight}}",
        tabular.rstrip(),
        r"\end{adjustbox}",
        *([rf"\par\smallskip{{\footnotesize {escape_latex(note)}}}"] if note else []),
        rf"\end{{{place}}}",
    ]
    text = "\n".join(lines) + "\n"
    needed = "% \\usepackage{adjustbox,array,booktabs}\n"
    if not text.isascii():
        needed += "% Not for pdfLaTeX: compile with XeLaTeX or LuaLaTeX; Chinese needs \\usepackage{ctex}\n"
    return needed + text


def _cell(text: str, small: str = "") -> str:
    """Return a cell; what begins like an option of the line before is text."""
    shown = _INTERVAL.sub(rf" {{\{small} \1}}" if small else r" \1", escape_latex(text))
    return re.sub(r"^[*\[]", r"{\g<0>}", shown)


def _head(text: str, kind: str, below: list[str]) -> str:
    """Return the head of a column, broken into lines where it is wider than what stands below it."""
    lines = textwrap.wrap(show_hidden(text), max([8, *map(len, below)]), break_long_words=False)
    if len(lines) < 2:
        return _cell(text)
    stacked = r" \\ ".join(map(_cell, lines))
    return rf"\shortstack[{kind if kind == 'r' else 'l'}]{{{stacked}}}"


def _column(texts: list[str], is_number: bool) -> str:
    """Return how a column is set: flush right, flush left, or broken into lines."""
    longest = max(map(len, texts), default=0)
    # Chinese is broken after any character.
    words = (len(word) for text in texts for word in re.split(r"\s|(?=[\u2e80-\uffef])", text))
    if is_number or longest <= _TEXTS[-1][0] or max(words) > _LONGEST_WORD:
        return "r" if is_number else "l"
    width = next(width for least, width in _TEXTS if longest > least)
    return rf">{{\raggedright\arraybackslash}}p{{{width}em}}"
