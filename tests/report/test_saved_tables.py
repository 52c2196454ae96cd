"""Tables that a notebook saves: what stands on the page, and what the CSV beside it keeps."""

from __future__ import annotations

import nbformat
import pandas as pd
import pytest
from made import tiny_corpus

from perslib import report
from perslib.corpus import load, save
from perslib.judge import Constant, Nearest, UserMean, evaluate
from perslib.paths import write_csv
from perslib.report import run_report
from perslib.report.show.html import table_html
from perslib.report.show.tables import agreement_table
from perslib.stats import agreement, disagreements

CODE = """
report.save_table(pd.DataFrame({"n": range(50), "x": 1.5}), "folded", caption="Folded.", shown=False)
report.save_table(pd.DataFrame({"x": pd.array([], dtype="Float64")}), "empty", caption="Empty.")
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    home = tmp_path_factory.mktemp("tables")
    save(tiny_corpus(), home / "data" / "tiny")
    begin = "import pandas as pd\nfrom perslib import report\nreport.begin(out=out, language='en')"
    parameters = nbformat.v4.new_code_cell("out = ''\ncorpus = ''", metadata={"tags": ["parameters"]})
    cells = [parameters, *map(nbformat.v4.new_code_cell, (begin, CODE))]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), home / "tables.ipynb")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERSLIB_HOME", str(home))
        run_report(home / "tables.ipynb", corpus="tiny")
    return (home / "reports" / "tiny" / "none" / "tables.html").read_text("utf-8")


@pytest.mark.kernel
def test_every_caption_has_its_table(page):
    folded, empty = (page.split(f'id="table-{name}"')[1].split("</table>")[0] for name in ("folded", "empty"))
    assert folded.index("Folded.") < folded.index("<details") < folded.index("<td") and "10 more rows" in page
    assert "<details" not in empty and "No rows: nothing to list." in empty


def test_no_text_of_a_csv_is_a_formula_and_numbers_stay_numbers(tmp_path):
    evil = [
        "=1+1",
        "+cmd|' /C calc'!A0",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        " =1",
        "-2+3",
        "\uff1d1",
        "-",
        "plain",
        "-0.5",
        "+5 %",
        "1-2",
    ]
    frame = pd.DataFrame({"=name": evil, "x": -1.5, "mixed": pd.Series([-1, "=2", None] + [0] * 10, dtype=object)})
    csv = write_csv(frame.set_index(pd.Index([f"@{i}" for i in range(13)], name="i")), tmp_path / "t.csv", index=True)
    back = pd.read_csv(csv, dtype=str, keep_default_na=False)
    quoted = [f"'{text}".replace("\r", "\n") for text in evil[:9]]
    assert list(back) == ["i", "'=name", "x", "mixed"] and back["'=name"].tolist() == quoted + evil[9:]
    assert back["x"].eq("-1.5").all() and back["mixed"][:3].tolist() == ["-1", "'=2", ""] and back["i"][0] == "'@0"


@pytest.mark.parametrize("dtype", ["Float64", "Int64", "boolean", "float64", "object", "str", "datetime64[ns]"])
def test_a_table_without_rows_says_so(dtype):
    frame = pd.DataFrame({"score": pd.Series([], dtype=dtype)})
    assert "No rows" in table_html(frame)
    assert "<td class=" in table_html(pd.DataFrame({"score": pd.Series([None], dtype=dtype)}))


def test_judges_without_a_readable_answer_leave_an_empty_table_not_a_failed_page(tmp_path):
    corpus = load("sample/en")
    verdicts = evaluate(UserMean(), corpus, limit=5).assign(raw=pd.array([pd.NA] * 5, dtype="Float64"))
    two = pd.concat([verdicts, verdicts.assign(judge="another")], ignore_index=True)
    apart = disagreements(two, corpus)
    assert apart.empty and {"Float64", "boolean", "Int64"} & set(map(str, apart.dtypes))
    report.begin(tmp_path)
    csv, tex = report.save_table(apart, "disagreements")
    assert pd.read_csv(csv).empty and "No rows: nothing to list. & " in tex.read_text("utf-8")


@pytest.mark.sample
def test_the_csv_keeps_the_numbers_that_the_page_rounds(tmp_path):
    corpus = load("sample/en")
    verdicts = pd.concat([evaluate(judge, corpus) for judge in (Constant(4), UserMean(), Nearest(2))])
    found = agreement(verdicts, corpus, metrics=("qwk", "pearson"), controls=["constant 4"])
    shown = agreement_table(found, gains=("qwk",))
    report.begin(tmp_path)
    csv, tex = report.save_table(shown, "agreement")
    kept = pd.read_csv(csv)
    assert all(pd.api.types.is_numeric_dtype(kept[c]) for c in kept if c.startswith(("qwk", "pearson")))
    own = found[found["metric"] == "qwk"].set_index("judge").loc[kept["judge"]]
    for column, true in (("qwk", "value"), ("qwk_low", "value_low"), ("qwk_high", "value_high"), ("gain: qwk", "gain")):
        assert kept[column].tolist() == pytest.approx(own[true].astype(float).tolist(), rel=1e-12, nan_ok=True)
    assert set(kept.get("gain: qwk_mark", pd.Series(["*"])).dropna()) <= {"*"}
    assert kept["pearson"].isna().sum() == 1 and "−" not in csv.read_text("utf-8")
    value, bounds = str(shown["qwk"][1]).split(" ", 1)
    smaller = f"{value} {{\\scriptsize {bounds}}}".replace(", ", ",~")
    assert smaller in tex.read_text("utf-8"), "the paper rounds"


def test_other_texts_and_columns_of_the_csv_stay_as_they_are(tmp_path):
    frame = pd.DataFrame(
        {"user": ["=1+1", "–", "@a"], "n": pd.array([1, None, 3], dtype="Int64"), "p": [0.1 + 0.2] * 3}
    )
    report.begin(tmp_path)
    (csv, _) = report.save_table(frame, "as_is")
    assert csv.read_text("utf-8").splitlines()[1:] == [
        f"{u},{n},{0.1 + 0.2!r}" for u, n in (("'=1+1", 1), ("–", ""), ("'@a", 3))
    ]
