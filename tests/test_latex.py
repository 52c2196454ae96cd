"""Tables in LaTeX: symbols that pdfLaTeX knows, cells that stay text, widths that fit a column of 345 pt."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from perslib import catalogue, report
from perslib.report.latex import escaped

SYMBOLS = "αβγδεζηθικλμνξοπρςστυφχψωΑΓΔΘΛΞΠΣΦΨΩ✓✗→←↑↓↦≤≥≠≈−±×÷·√∞∑′½²³⁻₁₂–—…“”‘’•àéüñçȳ⟨⟩µ\u00a0"


def saved(folder: Path, frame: pd.DataFrame, name: str = "t", caption: str = "A caption.") -> str:
    report.begin(language="en")
    return report.save_table(frame, name, caption, out=folder)[1].read_text("utf-8")


def frames() -> dict[str, pd.DataFrame]:
    """Tables that once did not compile, or ran out of the text."""
    interval = ".371 [−.237, .455]"
    judges = ["user mean", "nearest 6, weighted", "supervised", "learned + measured"]
    metrics = [f"gain: {m}" for m in ("pearson", "spearman", "qwk", "f1_dsat", "wc_pearson", "mae")]
    return {
        "symbols": pd.DataFrame({"symbol": list(SYMBOLS), "what": [f"a {s} b" for s in SYMBOLS]}),
        "acting": pd.DataFrame({"[first]": ["[.1, .2]", "*", "<a|b>", "a--b---c"], "*b": list("\\&%$")}),
        "sees": pd.DataFrame({"judge": judges, "reply": [True, False, True, True]}),
        "wide": pd.DataFrame([[1 / 7] * 30] * 2, columns=[f"column {i}" for i in range(30)]),
        "intervals": pd.DataFrame({"judge": judges} | dict.fromkeys(metrics, interval)),
        "long": pd.DataFrame({"n": range(3), "text": ["A long text that is broken. " * 30] * 3, "why": "so"}),
        "many": pd.DataFrame({"user": [f"u{i}" for i in range(120)], "score": 3.25}),
        "empty": pd.DataFrame({"judge": [], "value": pd.Series([], dtype="Float64")}),
    }


@pytest.mark.parametrize("character", SYMBOLS)
def test_a_symbol_is_written_in_ascii(character):
    assert escaped(character).isascii()


def test_every_english_word_of_ours_is_written_in_ascii():
    for message, file in catalogue.messages():
        for text in message if isinstance(message, tuple) else (message,):
            assert escaped(text).isascii(), (text, file)


def test_symbols_and_acting_characters():
    assert escaped("ρ ≤ .05 ✓ x² → β₁") == r"$\rho$ $\leq$ .05 $\surd$ x$^{2}$ $\to$ $\beta$$_{1}$"
    assert escaped("Σ ς λ −.1 p̄ ȳ") == r"$\Sigma$ $\varsigma$ $\lambda$ $-$.1 \={p} \={y}"
    assert escaped("<a|b> a--b a-b") == "$<$a$|$b$>$ a-{}-b a-b"
    assert escaped("满意") == "满意"


def test_a_row_that_begins_like_an_option_is_text(tmp_path):
    text = saved(tmp_path, frames()["acting"])
    assert "{[}first] & {*}b" in text and "\n{[}.1,~.2] & " in text and "\n{*} & " in text


def test_what_does_not_fit_is_broken_or_scaled_and_the_file_names_what_it_needs(tmp_path):
    text = {name: saved(tmp_path, frame, name) for name, frame in frames().items()}
    assert text["sees"].startswith("% \\usepackage{booktabs}\n\\begin{table}")
    assert not re.search(r"p\{|small|scriptsize|resizebox", text["sees"])
    assert re.search(r"\{rp\{[\d.]+pt\}l\}", text["long"]) and r"\raggedright A long text" in text["long"]
    assert (
        text["wide"].startswith("% \\usepackage{booktabs,graphicx}\n")
        and r"\resizebox{\textwidth}" in text["wide"]
    )
    assert text["many"].startswith("% \\usepackage{booktabs,longtable}\n") and text["many"].count("u119") == 1
    chinese = saved(tmp_path, pd.DataFrame({"评价": ["满意"]}), caption="说明。")
    assert "XeLaTeX" in chinese.splitlines()[1] and "ctex" in chinese.splitlines()[1]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("name", frames())
def test_every_table_compiles_and_stands_in_the_text(tmp_path, name):
    table = saved(tmp_path, frames()[name], name)
    packages = re.match(r"% (\\usepackage\{.*\})\n", table)[1]
    whole = f"\\documentclass{{article}}\n{packages}\n\\begin{{document}}\n{table}\\end{{document}}\n"
    (tmp_path / "paper.tex").write_text(whole, "utf-8")
    order = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(order, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    overfull = [float(width) for width in re.findall(r"Overfull \\[hv]box \(([\d.]+)pt", done.stdout)]
    assert max(overfull, default=0) < 1 and "Float too large" not in done.stdout, done.stdout[-2000:]
