"""The fixtures themselves: a notebook that runs in JupyterLab, and the same one as an app."""

from __future__ import annotations

CELLS = (
    "import ipywidgets\nprint('six by nine is', 6 * 9)",
    "ipywidgets.Button(description='press me')",
    "ipywidgets.HTML('<img src=\"http://192.0.2.1/seen.png\"> a picture from elsewhere')",
)


def test_a_notebook_runs_in_jupyterlab(lab, page, screenshot):
    lab.workspace.write_notebook("tiny.ipynb", *CELLS)
    notebook = lab.open(page, "tiny.ipynb")
    notebook.run_all()
    notebook.wait_for("six by nine is 54")
    page.get_by_role("button", name="press me").wait_for()
    assert screenshot("fixture-lab").stat().st_size > 10_000


def test_the_same_notebook_is_an_app_without_code(app, page, outside, screenshot):
    app.workspace.write_notebook("tiny.ipynb", *CELLS)
    shown = app.open(page, "tiny.ipynb")
    shown.wait_for("six by nine is 54")
    page.get_by_role("button", name="press me").wait_for()
    shown.wait_for("a picture from elsewhere")
    assert "import ipywidgets" not in page.content()
    assert outside == [], "neither icons from a CDN nor a stranger's picture"
    screenshot("fixture-app")
    shown.page.set_viewport_size({"width": 1920, "height": 1080})
    box = page.locator(".jp-CodeCell").first.bounding_box()
    assert box["x"] < 30 and box["width"] > 1920 - 60, "all of the width"
