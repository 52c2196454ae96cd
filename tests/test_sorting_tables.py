"""Long tables sort by their heads, in the lab and on pages, by the same rules and with one script let in."""

from __future__ import annotations

import base64
import hashlib
import re

import nbformat
import pandas as pd
import pytest

from perslib.report.render import PageInfo, render_page
from perslib.report.show import SORTABLE, table_html
from perslib.report.sorting import sortable, sorted_by

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def rendered(*frames: pd.DataFrame, before: str = "") -> str:
    outputs = [
        nbformat.v4.new_output("display_data", {"text/html": before + table_html(frame)}) for frame in frames
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", outputs=outputs)])
    return render_page(notebook, PageInfo("en", "tiny", "none", "index.html", title="Tables"))


def long(rows: int = SORTABLE) -> pd.DataFrame:
    return pd.DataFrame({"user": [f"u{i}" for i in range(rows)], "score": range(rows)})


def policy(html: str) -> str:
    return re.search(r'content="([^"]*)" http-equiv="Content-Security-Policy"', html)[1]


def test_a_page_without_a_long_table_runs_nothing():
    html = rendered(long(SORTABLE - 1))
    assert "<script" not in html and policy(html) == POLICY


def test_a_page_with_long_tables_lets_one_script_in_and_by_its_hash_only():
    html = rendered(long(), long())
    (script,) = re.findall(r"<script[^>]*>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy(html) == POLICY.replace("img-src", f"script-src 'sha256-{digest}'; img-src")


def test_what_a_stranger_wrote_gets_no_script_of_its_own_in():
    html = rendered(long().assign(user="<script>alert(1)</script>"), before="<script>alert(2)</script>")
    assert html.count("<script") == 1 and "&lt;script&gt;alert(2)" in html


@pytest.mark.parametrize(
    ("came", "ascending", "descending"),
    [
        ([3, 1.5, 20], [1.5, 3, 20], [20, 3, 1.5]),
        (
            [".371 [.237, .455]", "–", "−.100 [−.2, .0]", ".05"],
            ["−.100 [−.2, .0]", ".05", ".371 [.237, .455]", "–"],
            [".371 [.237, .455]", ".05", "−.100 [−.2, .0]", "–"],
        ),
        (["1,200", "90 %", "$7.5"], ["$7.5", "90 %", "1,200"], ["1,200", "90 %", "$7.5"]),
        (["u10", "U2", "–", "u1"], ["u1", "U2", "u10", "–"], ["u10", "U2", "u1", "–"]),
        (["2026-11-02", "2025-12-01"], ["2025-12-01", "2026-11-02"], ["2026-11-02", "2025-12-01"]),
    ],
)
def test_numbers_sort_as_numbers_text_as_text_and_dashes_stay_last(came, ascending, descending):
    frame = pd.DataFrame({"x": came})
    assert list(sorted_by(frame, 0, "ascending")["x"]) == ascending
    assert list(sorted_by(frame, 0, "descending")["x"]) == descending


def test_missing_numbers_stay_last_either_way():
    frame = pd.DataFrame({"x": [None, 2.0, 1.0]}, index=[7, 7, 7])
    assert list(sorted_by(frame, 0, "ascending")["x"].fillna(-1)) == [1, 2, -1]
    assert list(sorted_by(frame, 0, "descending")["x"].fillna(-1)) == [2, 1, -1]


def test_ties_stay_as_they_came_either_way():
    frame = pd.DataFrame({"x": [2, 1, 2, 1], "name": list("abcd")})
    assert "".join(sorted_by(frame, 0, "ascending")["name"]) == "bdac"
    assert "".join(sorted_by(frame, 0, "descending")["name"]) == "acbd"


def test_the_lab_table_sorts_by_pressing_heads():
    frame = pd.DataFrame({"name": ["b<i>", "a"], "weight in g": [1, 2]})
    heads, table = sortable(frame).children[0].children

    def order() -> list[int]:
        return [table.value.index(name) for name in ("b&lt;i&gt;", ">a<")]

    assert order() == sorted(order()) and "aria-sort" not in table.value.split("</style>")[1]
    heads.children[0].click()
    assert heads.children[0].description == "name ▲" and order() != sorted(order())
    assert re.search(r"<th style='width:[\d.]+%' aria-sort='ascending'[^>]*>name", table.value)
    heads.children[1].click()
    heads.children[1].click()
    assert [b.description for b in heads.children] == ["name", "weight in g ▼"] and order() != sorted(order())
    heads.children[1].click()
    assert [b.description for b in heads.children] == ["name", "weight in g"] and order() == sorted(order())
