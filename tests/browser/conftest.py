"""A real browser before JupyterLab and Voilà: what a test of the lab needs.

    def test_a_user_is_picked(lab, page, screenshot):
        notebook = lab.open(page, "memory_explorer.ipynb")    # a fresh copy, a fresh kernel
        notebook.run_all()                                    # returns when the last cell is done
        page.get_by_label("User").select_option("u003")
        notebook.wait_for("u003")                             # text anywhere in the notebook's outputs
        screenshot("explorer-user")                           # .perslib/screenshots/explorer-user.png

    def test_the_app(app, page):
        shown = app.open(page, "memory_explorer.ipynb")       # through Voilà, without code
        shown.wait_for("u003")

Fixtures: `workspace` (the folder both work in, `PERSLIB_HOME` of the kernels: write a `backbones.toml` there before
a notebook is opened; `workspace.write_notebook(name, *sources)` makes one), `lab`, `app`, `page` (Playwright's, 1280
pixels wide; `page.set_viewport_size` for another size), `outside` (addresses beyond loopback that the page asked
for; none is let through), `screenshot`. Servers are started once a session; kernels end with each test.

While a page is open an event loop runs in this thread: a test must not call `asyncio.run` or perslib's own asking.

Without a browser the tests skip, saying so; with PERSLIB_BROWSER=required, as in CI, they fail.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from servers import ROOT, Workspace, jupyterlab, make_workspace, voila
from sitting import App, Lab

SCREENSHOTS = ROOT / ".perslib" / "screenshots"
NAMES = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here needs a `browser`."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("browser")


def _without_browser(why: str) -> None:
    if os.environ.get("PERSLIB_BROWSER") == "required":
        pytest.fail(f"A browser is required here, and {why}")
    pytest.skip(f"no browser: {why}")


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium: $PERSLIB_CHROMIUM, or the first of its usual names."""
    named = os.environ.get("PERSLIB_CHROMIUM")
    found = next(filter(None, map(shutil.which, [named] if named else NAMES)), None)
    if found is None:
        _without_browser(
            f"there is no {named or ', '.join(NAMES)}; install one (Debian: apt-get install chromium) "
            "or name it in PERSLIB_CHROMIUM"
        )
    return str(found)


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    """A running Chromium with a profile of its own."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _without_browser("playwright is not installed (extra dev)")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=_ARGUMENTS, timeout=120_000)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The folder that JupyterLab and Voilà work in."""
    return make_workspace(tmp_path_factory.mktemp("lab") / "workspace")


@pytest.fixture(scope="session")
def _jupyterlab(chromium: str, workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with jupyterlab(workspace, tmp_path_factory.mktemp("jupyterlab")) as server:
        yield server


@pytest.fixture(scope="session")
def _voila(chromium: str, workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with voila(workspace, tmp_path_factory.mktemp("voila")) as server:
        yield server


@pytest.fixture
def lab(_jupyterlab: Any) -> Iterator[Lab]:
    """JupyterLab; `lab.open(page, "index.ipynb")` is the notebook as a person meets it."""
    yield Lab(_jupyterlab)
    _jupyterlab.end_kernels()


@pytest.fixture
def app(_voila: Any) -> App:
    """Voilà as `make app` starts it; `app.open(page, "memory_explorer.ipynb")` is that notebook as an app."""
    return App(_voila)


@pytest.fixture
def outside() -> list[str]:
    """Addresses beyond loopback that the page has asked for."""
    return []


@pytest.fixture
def page(browser: Any, outside: list[str], request: pytest.FixtureRequest) -> Iterator[Any]:
    """A page 1280 pixels wide in a fresh profile, cut off from the network but for loopback."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-US")

    def guard(route: Any) -> None:
        address = urlsplit(route.request.url)
        if address.scheme in ("http", "https") and address.hostname != "127.0.0.1":
            outside.append(route.request.url)
            route.abort()
        else:
            route.continue_()

    context.route("**/*", guard)
    context.set_default_timeout(30_000)
    opened = context.new_page()
    before = request.session.testsfailed
    yield opened
    if request.session.testsfailed > before:
        _save(opened, f"failed-{request.node.name}")
    opened.goto("about:blank")  # leaving tells Voilà to end the kernel
    context.close()


@pytest.fixture
def screenshot(page: Any) -> Callable[[str], Path]:
    """Keeps what the page shows: `screenshot("launcher")` writes .perslib/screenshots/launcher.png."""
    return lambda name: _save(page, name)


def _save(page: Any, name: str) -> Path:
    path = SCREENSHOTS / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path)
    return path
