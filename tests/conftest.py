"""Fixtures that several test files share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from endpoint import HASTY, Endpoint
from hypothesis import settings

if TYPE_CHECKING:
    from perslib.llm.backbone import Backbone

# The same examples on every machine; `pytest --hypothesis-profile=explore` looks for new ones.
settings.register_profile("same", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile("same")


#: Why a test marked `slow` is skipped: many simulations, or a whole page anew, for what quicker tests check in part.
SLOW = "slow: make test ARGS=--all runs it"
#: Where pytest's cache keeps the tests that were skipped because something was not there.
LACKING = "perslib/lacking"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--all`: the slow tests, too; and `--lacking`: those alone that lacked something before."""
    parser.addoption("--all", action="store_true", help="also run the tests that are marked slow")
    parser.addoption("--lacking", action="store_true", help="run only tests that earlier runs skipped, but not as slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the slow tests out unless they are asked for, and those that have run where only the others are wanted."""
    if config.getoption("--lacking"):
        lacking = set(config.cache.get(LACKING, []))  # type: ignore[union-attr]
        items[:] = [item for item in items if {item.nodeid, item.nodeid.partition("::")[0]} & lacking]
    if not config.getoption("--all"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason=SLOW))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Report how many were left out, and remember which tests lacked a package or a data set."""
    skipped = terminalreporter.stats.get("skipped", ())
    lacking = {report.nodeid for report in skipped if SLOW not in str(report.longrepr)}
    config.cache.set(LACKING, sorted(lacking.union(config.cache.get(LACKING, []))))  # type: ignore[union-attr]
    if left := sum(SLOW in str(report.longrepr) for report in skipped):
        terminalreporter.write_line(f"{left} slow tests were left out; `make test ARGS=--all` runs them.")


@pytest.fixture(autouse=True, scope="module")
def own_page() -> Iterator[None]:
    """The tests of a file do not see the page, with its language, that another file began."""
    from perslib import text
    from perslib.report.page import page

    before = page._current
    yield
    page._current = before
    text.set_language("en")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.setenv("PERSLIB_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def server() -> Iterator[Endpoint]:
    """A loopback endpoint that can misbehave."""
    with Endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def model(home: Path, server: Endpoint) -> Callable[..., Backbone]:
    """Makes a backbone at the loopback endpoint: `model(rpm=3)`."""

    from perslib.llm.backbone import backbone

    def made(name: str = "vllm-qwen3-8b", **options: Any) -> Backbone:
        options = {"base_url": server.base_url, "patience": HASTY, "structured": "schema", **options}
        return backbone(name, **options)

    return made
