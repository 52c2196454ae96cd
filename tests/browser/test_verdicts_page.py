"""The file of all verdicts in a browser: found by words and by choice, opened by keyboard, and no text in it acts."""

from __future__ import annotations

import pytest

from tests.report.test_browse import HOSTILE, write_page


@pytest.mark.browser
def test_a_reader_finds_a_verdict_and_what_it_rests_on(tmp_path, browser):
    file = write_page(tmp_path)
    page, problems = browser.new_page(), []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_selector("#list tbody tr")
    rows = page.locator("#list tbody tr")
    assert rows.count() == 3 and rows.first.locator("td").all_text_contents()[-2:] == ["4.50", "2"]
    assert "ann/travel/1/1" in page.text_content("#detail h2")  # the largest disagreement is open
    assert HOSTILE in page.text_content("#detail .it") and page.locator("#detail img").count() == 0
    page.locator("#detail summary").first.click()
    assert "A book." in page.text_content("#detail .verdict") and "the user gave 5" in page.text_content(
        "#detail .verdict"
    )
    page.fill("input[type=search]", "because")
    assert rows.count() == 1 and page.text_content("output") == "1 of 3 replies"
    rows.first.focus()
    page.keyboard.press("Enter")
    assert "replaced by that of other" in page.text_content("#detail .note")
    page.fill("input[type=search]", "")
    page.get_by_label("User's score").select_option("4")
    assert rows.count() == 1 and "Rome" not in page.text_content("#list")
    page.goto(f"{file.as_uri()}#ann%2Ftravel%2F1%2F0")
    page.reload()
    page.wait_for_selector("#detail h2")
    assert page.text_content("#detail h2") == "ann/travel/1/0" and not problems
