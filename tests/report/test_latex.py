"""Tables in LaTeX: symbols that pdfLaTeX knows, cells that stay text, widths that fit a paper of one or two columns."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from perslib import catalogue, report
from perslib.report.show.latex import escape_latex
from perslib.report.show.tables import format_table

SYMBOLS = "αβγδεζηθικλμνξοπρςστυφχψωΑΓΔΘΛΞΠΣΦΨΩ✓✗→←↑↓↦≤≥≠≈−±×÷·√∞∑′½¼²³⁻₁₂–—…“”‘’•àéüñçȳ⟨⟩µ\u00a0"


def saved(folder: Path, frame: pd.DataFrame, name: str = "t", caption: str = "A caption.") -> str:
    report.begin(folder)
    return report.save_table(frame, name, caption)[1].read_text("utf-8")


def frames() -> dict[str, pd.DataFrame]:
    """Tables that once did not compile, or ran out of the text."""
    interval = ".371 [−.237, .455]"
    judges = ["user mean", "nearest 6, weighted", "supervised", "learned + measured"]
    metrics = [f"gain: {m}" for m in ("pearson", "spearman", "qwk", "f1_dsat", "wc_pearson", "mae")]
    return {
        "symbols": pd.DataFrame({"symbol": list(SYMBOLS), "what": [f"a {s} b" for s in SYMBOLS]}),
        "acting": pd.DataFrame({"[first]": ["[.1, .2]", "*", "<a|b>", "a--b---c"], "*b": list("\\&%$")}),
        "words": pd.DataFrame({"digest": ["0123456789abcdef" * 4], "text": ["A short text; it is broken. " * 4]}),
        "sees": pd.DataFrame({"judge": judges, "reply": [True, False, True, True]}),
        "wide": pd.DataFrame([[1 / 7] * 30] * 2, columns=[f"column {i}" for i in range(30)]),
        "intervals": pd.DataFrame({"judge": judges} | dict.fromkeys(metrics, interval)),
        "long": pd.DataFrame({"n": range(3), "text": ["A long text that is broken. " * 30] * 3, "why": "so"}),
        "many": pd.DataFrame({"user": [f"u{i}" for i in range(120)], "score": 3.25}),
        "empty": pd.DataFrame({"judge": [], "value": pd.Series([], dtype="Float64")}),
    }


@pytest.mark.parametrize("character", SYMBOLS)
def test_a_symbol_is_written_in_ascii(character):
    assert escape_latex(character).isascii()


@pytest.mark.page
def test_every_english_word_of_ours_is_written_in_ascii():
    for message, file in catalogue.list_messages():
        for text in message if isinstance(message, tuple) else (message,):
            assert escape_latex(text).isascii(), (text, file)


def test_symbols_and_acting_characters():
    assert escape_latex("ρ ≤ .05 ✓ x² → β₁") == r"$\rho$ $\leq$ .05 $\surd$ x$^{2}$ $\to$ $\beta$$_{1}$"
    assert escape_latex("Σ ς λ −.1 p̄ ȳ") == r"$\Sigma$ $\varsigma$ $\lambda$ $-$.1 \={p} \={y}"
    assert escape_latex("<a|b> a--b a-b") == "$<$a$|$b$>$ a-{}-b a-b"
    assert escape_latex("满意") == "满意"


def test_a_row_that_begins_like_an_option_is_text(tmp_path):
    text = saved(tmp_path, frames()["acting"])
    assert "{[}first] & {*}b" in text and "\n{[}.1,~.2] & " in text and "\n{*} & " in text


@pytest.mark.parametrize("name", frames())
def test_a_table_stands_in_a_box_that_fits_its_place(tmp_path, name):
    """What pdfLaTeX would complain about, seen without it: rows of unequal length, words wider than their lines."""
    frame = frames()[name]
    text = saved(tmp_path, frame, name)
    assert text.startswith("% \\usepackage{adjustbox,array,booktabs}\n\\begin{table")
    environments = [found[1] for found in re.finditer(r"\\begin\{([a-z*]+)\}", text)]
    assert environments == ["table*" if "table*" in text else "table", "adjustbox", "tabular"]
    assert re.findall(r"\\end\{([a-z*]+)\}", text) == environments[::-1]
    assert "\\begin{adjustbox}{max totalsize={\\linewidth}{0.8\\textheight}}\n\\begin{tabular}" in text
    assert text.isascii() and text.count("{") - text.count("\\{") == text.count("}") - text.count("\\}")
    rows = re.findall(r"^(.*) \\\\$", text, re.MULTILINE)
    assert len(rows) == 1 + max(1, min(len(frame), 40))
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {frame.shape[1] - 1}
    format_ = re.search(r"\\begin\{tabular\}\{(.*)\}\n", text)[1]
    kinds = re.findall(r"[lr]|p\{\d+em\}", format_.replace(r">{\raggedright\arraybackslash}", ""))
    assert len(kinds) == frame.shape[1]
    for kind, column in zip(kinds, frame.columns):
        longest = max((len(word) for cell in frame[column] for word in str(cell).split()), default=0)
        assert kind in "lr" or longest <= int(re.sub(r"\D", "", kind)) * 1.25


def test_many_columns_and_long_texts_span_both_columns_of_a_paper(tmp_path):
    text = {name: saved(tmp_path, frame, name) for name, frame in frames().items()}
    across = {name for name, tex in text.items() if r"\begin{table*}" in tex}
    assert across == {"wide", "intervals", "long", "words"}
    assert r"p{30em}" in text["long"] and r"{l>{\raggedright\arraybackslash}p{16em}}" in text["words"]
    assert r"\label{tab:wide}\footnotesize" in text["wide"] and "\\label{tab:sees}\n" in text["sees"]
    assert r"\shortstack[l]{Gain, \\ Spearman $\rho$}" not in text["intervals"]  # its cells are wider
    assert r"\shortstack[r]{Column \\ 29}" in text["wide"]


def test_an_interval_is_smaller_than_its_estimate(tmp_path):
    agreed = pd.DataFrame({"judge": ["a"], "r": [0.36], "r_low": [0.3], "r_high": [0.41]})
    assert r"a & 0.36 {\footnotesize [0.30,~0.41]} \\" in saved(tmp_path, format_table(agreed))
    assert r".371 {\scriptsize [$-$.237,~.455]}" in saved(tmp_path, frames()["intervals"])


def test_more_rows_than_a_page_has_are_in_the_csv(tmp_path):
    text = saved(tmp_path, frames()["many"], "many")
    assert "u39 &" in text and "u40 &" not in text and "80 more rows are in the CSV." in text


def test_chinese_names_what_sets_it(tmp_path):
    chinese = saved(tmp_path, pd.DataFrame({"评价": ["满意"]}), caption="说明。")
    assert "XeLaTeX" in chinese.splitlines()[1] and "ctex" in chinese.splitlines()[1]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
@pytest.mark.parametrize("name", frames())
def test_every_table_compiles_and_stands_in_the_text(tmp_path, name, columns):
    table = saved(tmp_path, frames()[name], name)
    packages = re.match(r"% (\\usepackage\{.*\})\n", table)[1]
    whole = f"\\documentclass[{columns}]{{article}}\n{packages}\n\\begin{{document}}\n{table}\\end{{document}}\n"
    (tmp_path / "paper.tex").write_text(whole, "utf-8")
    order = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(order, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    overfull = [float(width) for width in re.findall(r"Overfull \\[hv]box \(([\d.]+)pt", done.stdout)]
    assert max(overfull, default=0) < 1 and "Float too large" not in done.stdout, done.stdout[-2000:]
