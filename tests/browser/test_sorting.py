"""Long tables sort by mouse and by keyboard on a rendered page."""

from __future__ import annotations

import pandas as pd
from test_sorting_tables import rendered

#: By value: .05, .2, .371, 1,000; the dash last. As text they would come otherwise.
MEANS = [".371 [.237, .455]", "–", "1,000", ".05 [.01, .1]", ".2"] + ["3.5"] * 8
TABLE = pd.DataFrame({"who": [f"u{i}" for i in range(len(MEANS))], "mean": MEANS})


def column(page, number: int) -> list[str]:
    return page.locator(f"table.pl-table tbody td:nth-child({number})").all_inner_texts()


def test_a_rendered_page_sorts_by_mouse_and_by_keyboard(page, tmp_path, screenshot, outside):
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    file = tmp_path / "page.html"
    file.write_text(rendered(TABLE, before="<script>document.title = 'taken'</script>"), encoding="utf-8")
    page.goto(file.as_uri())
    came = column(page, 1)
    head = page.get_by_role("columnheader", name="mean")
    page.get_by_role("button", name="mean").click()
    assert [m.split()[0] for m in column(page, 2)] == [".05", ".2", ".371", *["3.5"] * 8, "1,000", "–"]
    assert head.get_attribute("aria-sort") == "ascending"
    page.get_by_role("button", name="mean").click()
    assert column(page, 2)[0] == "1,000" and column(page, 2)[-1] == "–"
    assert head.get_attribute("aria-sort") == "descending"
    screenshot("sorted-page")
    page.keyboard.press("Enter")
    assert column(page, 1) == came and head.get_attribute("aria-sort") is None
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    assert column(page, 1) == [f"u{i}" for i in reversed(range(len(MEANS)))]
    assert page.title() == "Tables · tiny · none" and outside == [] and faults == []
