r"""A frame as a LaTeX table that stands in a column of 345 pt: every cell escaped, symbols for pdfLaTeX.

A table that is too wide is set smaller, then its heads and texts are broken into lines; only what is too wide even so
is scaled. The first line of the file names its packages. Text that pdfLaTeX has no letters for (Chinese) stays as it
is, and the file says what sets it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import pandas as pd

from perslib.report.show import cell, header_of, is_numeric, unbroken
from perslib.report.words import controls_shown
from perslib.text import translate

_SPECIAL = {
    "\\": r"\textbackslash{}",
    **{c: rf"\{c}" for c in "&%$#_{}"},
    **{c: f"${c}$" for c in "<>|"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "-": "-{}",  # only before another one: no dash is made of two
    **{
        "–": "--",
        "—": "---",
        "“": "``",
        "”": "''",
        "‘": "`",
        "’": "'",
        "…": r"\ldots{}",
        "•": r"\textbullet{}",
    },
    **{"\u00a0": "~", "\n": " ", "\t": " "},
}
_MATHS = {
    **{"−": "-", "±": r"\pm", "×": r"\times", "÷": r"\div", "·": r"\cdot", "√": r"\surd", "∞": r"\infty"},
    **{"≤": r"\leq", "≥": r"\geq", "≠": r"\neq", "≈": r"\approx", "∑": r"\sum", "′": "'", "½": r"\frac12"},
    **{"→": r"\to", "←": r"\leftarrow", "↑": r"\uparrow", "↓": r"\downarrow", "↦": r"\mapsto"},
    **{
        "✓": r"\surd",
        "✗": r"\times",
        "✕": r"\times",
        "★": r"\star",
        "⟨": r"\langle",
        "⟩": r"\rangle",
        "µ": r"\mu",
    },
    **{c: rf"\mathrm{{{latin}}}" for c, latin in zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧο", "ABEZHIKMNOPTXo")},
}
_ACCENTS = dict(zip("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030c\u0327", "`'^~=u.\"rvc"))
_ACTING = re.compile(r"[A-Za-z][\u0300-\u036f]+|-(?=-)|[\\&%$#_{}<>|~^\n\t]|[^\x00-\x7f]")

_TEXT_WIDTH, _TEXT_HEIGHT = 345.0, 540.0
#: Sizes of type: command, width beside the normal one, gap between columns and height of a line in points.
_SIZES = (
    ("", 1.0, 12.0, 12.0),
    (r"\small", 0.94, 8.0, 11.0),
    (r"\footnotesize", 0.87, 6.0, 9.5),
    (r"\scriptsize", 0.81, 4.0, 8.0),
)
#: A text that is broken into lines gets so much, where its column is not narrower anyway.
_NARROWEST = 55.0
#: How wide characters are in points, in Computer Modern at 10 pt; others are as wide as a capital.
_ADVANCES = {
    character: width
    for width, characters in {
        2.8: "!',.:;[]`il|",
        3.4: " \u00a0-fjI",
        4.0: "()rst",
        4.5: "cez?",
        5.0: '0123456789"$*/\\agov^_{}~–',
        5.6: "bdhknpquxySJ",
        8.4: "m#%M",
        10.3: "W—",
    }.items()
    for character in characters
}
_CAPITAL, _CHINESE = 7.8, 10.5


def escaped(text: str) -> str:
    """Text that LaTeX sets as it stands, whatever it holds."""
    return _ACTING.sub(lambda match: _set(match[0]), controls_shown(text))


@cache
def _set(character: str) -> str:
    """How a character (with its accents) is written for pdfLaTeX; itself where there is no way."""
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character in _MATHS:
        return f"${_MATHS[character]}$"
    if greek := re.fullmatch(
        r"GREEK (SMALL|CAPITAL) LETTER (FINAL )?(\w+)", unicodedata.name(character[0], "")
    ):
        letter = ("var" if greek[2] else "") + greek[3].replace("LAMDA", "LAMBDA").lower()
        return rf"$\{letter.capitalize() if greek[1] == 'CAPITAL' else letter}$"
    if found := re.fullmatch(r"<(super|sub)> (\w+)", unicodedata.decomposition(character[0])):
        raised = _set(chr(int(found[2], 16))).strip("$")
        return f"${'^' if found[1] == 'super' else '_'}{{{raised}}}$"
    apart = unicodedata.normalize("NFD", character)
    base, marks = apart[0], apart[1:]
    if not base.isascii() or not all(mark in _ACCENTS for mark in marks):
        return character
    for mark in marks:
        base = rf"\{_ACCENTS[mark]}{{{base}}}"
    return base


def latex_table(frame: pd.DataFrame, name: str, caption: str = "", digits: int = 2) -> str:
    """The frame as a `table`, a `longtable` where it fills more than a page; numbers flush right."""
    heads = [controls_shown(header_of(c)) for c in frame.columns]
    rows = [
        [unbroken(controls_shown(cell(v, digits, c))) for v, c in zip(values, frame.columns)]
        for values in frame.itertuples(index=False, name=None)
    ]
    form = _form(heads, rows, [is_numeric(frame.iloc[:, i]) for i in range(frame.shape[1])])
    title = [rf"\caption{{{escaped(caption)}}}", rf"\label{{tab:{name}}}"]
    head = [r"\toprule", form.row(heads, form.heads), r"\midrule"]
    none = rf"\multicolumn{{{len(heads)}}}{{l}}{{{escaped(translate('No rows: nothing to list.'))}}} \\"
    body = [form.row(row) for row in rows] or [none]
    if form.is_long:
        lines = [
            "{",
            *form.size,
            rf"\begin{{longtable}}{{{''.join(form.columns)}}}",
            *title[:1],
            rf"{title[1]} \\",
        ]
        lines += [*head, r"\endhead", r"\bottomrule", r"\endfoot", *body, r"\end{longtable}", "}"]
    else:
        lines = [
            rf"\begin{{tabular}}{{{''.join(form.columns)}}}",
            *head,
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
        if form.is_scaled:
            lines = [r"\resizebox{\textwidth}{!}{%", *lines, "}"]
        lines = [r"\begin{table}[t]", r"\centering", *title, *form.size, *lines, r"\end{table}"]
    text = "\n".join(lines) + "\n"
    packages = ["booktabs", *["longtable"] * form.is_long, *["graphicx"] * form.is_scaled]
    needed = f"% \\usepackage{{{','.join(packages)}}}\n"
    if not text.isascii():
        needed += "% Not for pdfLaTeX: compile with XeLaTeX or LuaLaTeX; Chinese needs \\usepackage{ctex}\n"
    return needed + text


@dataclass(frozen=True)
class _Form:
    """How a table is set; widths are in points."""

    size: list[str]
    columns: list[str]
    heads: list[float]  # heads are broken at these widths
    texts: list[bool]  # columns whose texts are broken; LaTeX does it
    is_scaled: bool
    is_long: bool

    def row(self, texts: Sequence[str], widths: Sequence[float] = ()) -> str:
        """A row of cells; texts wider than `widths` are broken into lines."""
        cells = []
        for i, text in enumerate(texts):
            lines = [escaped(line) for line in (_lines(text, widths[i]) if widths else [text])]
            if self.texts[i]:
                cells.append(rf"\raggedright {' '.join(lines)}")
            elif len(lines) > 1:
                cells.append(rf"\shortstack[{self.columns[i]}]{{" + r" \\ ".join(lines) + "}")
            else:
                cells.append(re.sub(r"^[*\[]", r"{\g<0>}", lines[0]))  # else an option of the line before
        return " & ".join(cells) + (r" \tabularnewline" if any(self.texts) else r" \\")


def _form(heads: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> _Form:
    """The largest type in which the table fits; heads and texts are broken where smaller type alone does not help."""
    columns = list(zip(*rows)) or [()] * len(heads)
    bodies = [max(map(_width, column), default=0.0) for column in columns]
    whole = [max(body, _width(head)) for body, head in zip(bodies, heads)]
    broken = [max(body, _longest_word([head])) for body, head in zip(bodies, heads)]
    least = [
        width if is_number else min(width, max(_longest_word([head, *column]), _NARROWEST))
        for width, is_number, head, column in zip(broken, numeric, heads, columns)
    ]
    ways = [
        (smallest, natural, *size, (_TEXT_WIDTH - size[2] * len(heads)) / size[1])
        for smallest, natural, sizes in ((whole, whole, _SIZES[:2]), (least, broken, _SIZES))
        for size in sizes
    ]
    fitting = (way for way in ways if sum(way[0]) <= way[-1])
    smallest, natural, size, factor, gap, line, room = next(fitting, ways[-1])
    widths = _shared(smallest, natural, room)
    texts = [width < full for width, full in zip(widths, broken)]
    kinds = ["r" if is_number else "l" for is_number in numeric]
    lines = [max((_width(t) // w + 1 for t, w, b in zip(row, widths, texts) if b), default=1) for row in rows]
    return _Form(
        size=[size, rf"\setlength{{\tabcolsep}}{{{gap / 2:g}pt}}"] if size else [],
        columns=[f"p{{{w * factor:.1f}pt}}" if b else kind for w, b, kind in zip(widths, texts, kinds)],
        heads=widths,
        texts=texts,
        is_scaled=sum(widths) > room,
        is_long=line * (1.1 * sum(lines) + 3) > _TEXT_HEIGHT,  # a broken line is rarely full
    )


def _shared(least: Sequence[float], natural: Sequence[float], room: float) -> list[float]:
    """Widths that fit the room: what is wider is broken at the same width, the largest that leaves room for all."""
    for cap in range(int(max(natural, default=0)) + 1, 0, -1):
        widths = [max(low, min(width, cap)) for low, width in zip(least, natural)]
        if sum(widths) <= room:
            return widths
    return list(least)


def _lines(text: str, width: float) -> list[str]:
    """The text broken at spaces into lines of this width."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and _width(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _longest_word(texts: Sequence[str]) -> float:
    """How wide the longest part is that cannot be broken; Chinese is broken after any character."""
    return max(
        (_width(word) for t in texts for word in re.split(r"[ \n\t]|(?=[\u2e80-\uffef])", t)), default=0.0
    )


def _width(text: str) -> float:
    return sum(_ADVANCES.get(c, _CHINESE if ord(c) > 0x2E7F else _CAPITAL) for c in text)
