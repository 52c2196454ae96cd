"""Long tables sort by mouse and by keyboard on a rendered page, and are filtered."""

from __future__ import annotations

import pandas as pd
from pages import rendered

#: By value: 0.05, 0.2, 0.371, 1,000; the dash last. As text they would come otherwise.
MEANS = ["0.371 [0.237, 0.455]", "–", "1,000", "0.05 [0.01, 0.1]", "0.2"] + ["3.5"] * 8
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
    assert [m.split()[0] for m in column(page, 2)] == ["0.05", "0.2", "0.371", *["3.5"] * 8, "1,000", "–"]
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


def test_rows_are_filtered_by_words_and_by_a_column(page, tmp_path, screenshot):
    signals = ["like", "dislike", "complain"]
    cases = {"signal": [signals[i % 3] for i in range(15)], "assistant": ["cedar", "brook", "cedar-2"] * 5}
    file = tmp_path / "page.html"
    frame = pd.DataFrame({**cases, "request": [f"How far is {i}?" for i in range(15)], "mean": range(15)})
    file.write_text(rendered(frame), encoding="utf-8")
    page.goto(file.as_uri())
    rows, box = page.locator("table.pl-table tbody tr:visible"), page.get_by_role("searchbox", name="Filter rows")
    assert page.get_by_role("combobox").count() == 2, "only columns of a few words have a choice"
    page.get_by_label("Filter rows: signal", exact=False).select_option("like")
    assert rows.count() == 5 and "dislike" not in "".join(rows.all_inner_texts())
    box.fill("FAR 1")
    assert rows.count() == 1 and page.get_by_text("1 / 15").is_visible()
    screenshot("filtered-page")
    page.get_by_role("button", name="mean").click()
    assert rows.count() == 1, "what is filtered stays so when rows are sorted"
    box.fill("")
    page.get_by_label("Filter rows: signal", exact=False).select_option("")
    assert rows.count() == 15
