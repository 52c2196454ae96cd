"""The memory explorer in JupyterLab and in Voilà, as a researcher uses it."""

from __future__ import annotations


def test_see(app, page, screenshot):
    shown = app.open(page, "memory_explorer.ipynb")
    shown.wait_for("实测记忆")
    page.wait_for_timeout(1500)
    screenshot("explorer-see-1280")
    page.get_by_role("tab", name="评判与改动").click()
    page.wait_for_timeout(1500)
    page.locator('button:text-is("打分")').click(timeout=3000)
    page.wait_for_timeout(20000)
    screenshot("explorer-judged-1280")
    page.get_by_role("tab", name="自己评分").click()
    page.wait_for_timeout(1500)
    screenshot("explorer-rate-1280")
