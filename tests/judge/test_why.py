"""What docs/why.md shows works as it stands there, and is what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "why.md").read_text("utf-8")


@pytest.mark.sample
def test_the_example_of_the_page_runs_and_says_what_is_written_there():
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    names: dict = {}
    exec(compile(code, "docs/why.md", "exec"), names)
    first, verdicts = names["first"], names["verdicts"]
    (said,) = re.findall(r"^# (.*) …$", code, re.M)
    assert said in [statement.text for statement in names["memory"].statements]
    where = first[["user", "scenario", "session", "turn"]].drop_duplicates()
    assert where.merge(verdicts)["raw"].item() == pytest.approx(first["points"].sum(), abs=1e-9)
    assert [s.trait for s in names["edited"].memory.statements][-1] == "prices"
