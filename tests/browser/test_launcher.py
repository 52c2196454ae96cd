"""The lab's first page in JupyterLab: it runs, and its links open what they name."""

from __future__ import annotations

import json

from pages import rendered
from test_sorting import TABLE

from perslib.report.page.index import write_index


def a_report(folder) -> None:
    """A page under the workspace's `reports/`, and the index over it."""
    page = folder / "reports" / "tiny" / "none"
    page.mkdir(parents=True, exist_ok=True)
    (page / "tables.html").write_text(rendered(TABLE), encoding="utf-8")
    entry = {"title": "A page of tables", "language": "en", "status": "success", "corpus": {"label": "tiny"}}
    (page / "tables.json").write_text(json.dumps(entry), encoding="utf-8")
    write_index(folder / "reports")


def test_the_first_page_runs_and_its_links_open(lab, page, screenshot, outside):
    a_report(lab.workspace.folder)
    notebook = lab.open(page, "index.ipynb")
    notebook.page.get_by_role("heading", name="perslib: the lab").wait_for()
    notebook.run_all()
    notebook.wait_for("SmolLM2-135M-Instruct")
    screenshot("launcher-end")
    page.get_by_role("heading", name="perslib: the lab").scroll_into_view_if_needed()
    screenshot("launcher")

    with page.expect_popup() as tab:
        page.get_by_role("link", name="A page of tables").click()
    tab.value.get_by_role("button", name="mean").click()
    assert tab.value.locator("tbody tr").last.inner_text().split() == ["u1", "–"]
    with page.expect_popup() as tab:
        page.get_by_role("link", name="Reports", exact=True).click()
    tab.value.get_by_role("link", name="A page of tables").click()
    tab.value.get_by_text("0.371 [0.237, 0.455]").wait_for()

    page.get_by_role("link", name="What is in a corpus").click()
    page.get_by_role("heading", name="What is in a corpus").wait_for()
    assert page.get_by_role("tab", name="00_corpus.ipynb").is_visible() and outside == []
