"""The memory explorer in Voilà and in JupyterLab, used as a researcher uses it, in a real browser.

The judge is a loopback endpoint that scores by how often a prompt says "prices".
"""

from __future__ import annotations

import re
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from endpoint import Endpoint
from judging_endpoint import judging

NASTY = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\"> prices"


@pytest.fixture
def judge(workspace):
    """The endpoint, known to kernels as the backbone "judge"."""
    with ExitStack() as running:
        endpoint = running.enter_context(Endpoint(judging))
        endpoint.gone = running.close
        entry = f'[judge]\nbase_url = "{endpoint.base_url}"\nmodel = "m"\nstructured = "schema"\nconcurrency = 8\n'
        (workspace.folder / "backbones.toml").write_text(entry, encoding="utf-8")
        yield endpoint


@pytest.fixture
def notebook(workspace, judge):
    """A notebook with the explorer of a language: `notebook("en")` is its name."""

    def made(language: str) -> str:
        name = f"explore-{language}.ipynb"
        workspace.write_notebook(
            name, f"from perslib.explorer import explore\nexplore('sample/{language}', 'judge', '{language}')"
        )
        return name

    return made


def button(page, text):
    return page.locator(f'button:visible:text-is("{text}")')


def mean(page):
    """The mean of the newest verdict's raw distribution."""
    return float(page.locator(".pl-verdict .pl-dist-mean").first.inner_text())


def settled(page):
    """Nothing is asked any more."""
    page.locator(".pl-line-asking").first.wait_for(state="detached")


def test_a_user_is_read_judged_and_changed_in_the_app(app, page, notebook, judge, outside, screenshot):
    shown = app.open(page, notebook("en"))
    shown.wait_for("rated replies in order of time")

    # pick a user, open a statement's evidence
    page.get_by_label("Memory", exact=True).select_option("measured memory")
    page.get_by_label("User", exact=True).select_option("u003")
    page.locator(".pl-profile .pl-title", has_text="u003").wait_for()
    drawn = page.locator(".pl-statement details.pl-drawn").first
    drawn.locator("summary").first.click()
    turn = drawn.locator("details.pl-turn").first
    turn.locator("summary").first.click()
    assert turn.locator(".pl-assistant .pl-text").first.is_visible()
    screenshot("explorer-see-1280")
    page.set_viewport_size({"width": 1920, "height": 1080})
    screenshot("explorer-see-1920")
    page.set_viewport_size({"width": 1280, "height": 900})

    # judge, edit a statement, see the verdict move, undo
    page.get_by_role("tab", name="Judge and change").click()
    button(page, "Score with reasons").click()
    page.locator(".pl-verdict").wait_for()
    settled(page)
    assert page.locator(".pl-verdict .pl-nowhere").inner_text().startswith("M99")
    assert page.locator(".pl-row.pl-cited").count() == 1
    before = mean(page)
    screenshot("explorer-judged-1280")
    words = page.locator(".pl-row textarea").first
    words.fill("Wants prices, exact prices.")
    words.blur()
    page.get_by_text("Changes of the verdict").wait_for()
    settled(page)
    assert mean(page) > before + 0.3
    screenshot("explorer-edited-1280")
    button(page, "Undo").click()
    page.get_by_text("answer from the cache").or_(page.get_by_text("calls: 1")).first.wait_for()
    button(page, "Leave each one out").click()
    page.locator(".pl-effects").wait_for()
    screenshot("explorer-effects-1280")

    # text that would act is text
    page.locator("textarea[placeholder^='Paste']").fill(NASTY)
    page.locator("textarea[placeholder^='Paste']").blur()
    page.get_by_text("<script>document.title").first.wait_for()
    button(page, "Score only").click()
    page.locator(".pl-verdict").wait_for()
    assert page.title() != "owned" and page.locator("img[src=x]").count() == 0
    assert outside == []
    screenshot("explorer-pasted-1280")


def test_a_reply_is_scored_at_once_taken_apart_and_its_memory_moved(app, page, notebook, judge, outside, screenshot):
    shown = app.open(page, notebook("en"))
    shown.wait_for("rated replies in order of time")
    page.get_by_label("User", exact=True).select_option("u003")
    page.locator(".pl-statement details.pl-drawn").first.wait_for(timeout=60_000)
    page.get_by_role("tab", name="Judge and change").click()
    button(page, "Score at once").click()
    page.locator(".pl-why-row").first.wait_for()
    page.get_by_text("What would change its mind").wait_for()
    settled(page)
    own = page.locator("details.pl-why-turns").first
    own.locator("summary").first.click()
    assert own.locator("details.pl-turn").first.is_visible()
    screenshot("explorer-why-1280")
    before = mean(page)
    handle = page.locator(".pl-row [role=slider]").first
    handle.focus()
    for _ in range(12):
        handle.press("ArrowRight")
    page.get_by_text("Changes of the verdict").wait_for()
    settled(page)
    milder = mean(page)
    assert milder > before
    page.locator("button:visible", has_text="→").first.click()
    settled(page)
    screenshot("explorer-edits-1280")
    page.get_by_label("Whose memory").select_option(index=1)
    page.wait_for_function(
        f"Math.abs(parseFloat(document.querySelector('.pl-verdict .pl-dist-mean').innerText) - {milder}) > 0.001"
    )
    assert judge.bodies == [] and outside == []


def test_the_backbone_goes_away_and_the_error_stands_where_it_was_asked(app, page, notebook, judge, screenshot):
    app.open(page, notebook("zh")).wait_for("全体平均")
    page.get_by_role("tab", name="评判与改动").click()
    judge.gone()
    button(page, "打分").click()
    page.get_by_role("alert").wait_for(timeout=120_000)
    assert re.search("未能完成|读不出评分", page.get_by_role("alert").inner_text())
    screenshot("explorer-gone-1280")
    page.get_by_role("tab", name="用户", exact=True).click()
    page.get_by_label("用户", exact=True).select_option("u004")
    page.locator(".pl-profile .pl-title", has_text="u004").wait_for()


def test_it_works_in_jupyterlab_with_the_keyboard_alone(lab, page, notebook, judge, screenshot):
    opened = lab.open(page, notebook("en"))
    opened.run_all()
    opened.wait_for("rated replies in order of time")
    page.locator(".pl-statement").first.wait_for(timeout=60_000)
    tab = page.get_by_role("tab", name="The user")
    tab.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.locator("textarea[placeholder^='Paste']").wait_for()
    page.get_by_label("Turn", exact=True).focus()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText.trim()") == "Score only":
            break
    page.keyboard.press("Enter")
    page.locator(".pl-verdict").wait_for()
    screenshot("explorer-lab-1280")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "checkbox" and page.evaluate(
            "document.activeElement.closest('.pl-row') !== null"
        ):
            break
    page.keyboard.press("Space")
    page.get_by_text("switched off").first.wait_for()
