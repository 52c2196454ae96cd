"""Long tables sort by their heads on pages, with one script let in."""

from __future__ import annotations

import base64
import hashlib
import re

import pandas as pd
from pages import rendered

from perslib.report.show.html import SORTABLE

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


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
    assert html.count("<script") == 1 and "alert(2)" not in html
