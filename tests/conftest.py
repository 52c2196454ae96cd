"""Fixtures that several test files share."""

from __future__ import annotations

import os

# Two processes test side by side, and threads of a library that computes would wait for each other; before numpy is there.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import gc
import importlib.util
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import real
from endpoint import HASTY, Endpoint
from hypothesis import settings

from perslib.judge.taught import VARIABLE

if TYPE_CHECKING:
    from perslib.llm.backbone import Backbone

# The same examples on every machine; `pytest --hypothesis-profile=explore` looks for new ones.
settings.register_profile("same", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile("same")


#: What a test may need beyond an interpreter and a moment: each is a marker, explained in `pyproject.toml`.
NEEDS = {
    "browser", "cluster", "data", "engine", "extra", "kernel", "page", "process", "sample", "server", "simulation"
}  # fmt: skip
_marks: set[str] = set()
"""Those of the test that runs."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--all`: every test; and `--rest`: those alone that a plain run leaves out."""
    parser.addoption(
        "--all", action="store_true", help="also run the tests that need more: kernels, engines, browsers …"
    )
    parser.addoption("--rest", action="store_true", help="run only the tests that need more")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs more than a plain run gives, unless it is asked for by an option, a marker or its name."""
    rest = config.getoption("--rest")
    if not rest and not _leaves_out(config):
        return
    parted: dict[bool, list[pytest.Item]] = {True: [], False: []}
    for item in items:
        parted[any(mark.name in NEEDS for mark in item.iter_markers())].append(item)
    config.hook.pytest_deselected(items=parted[not rest])
    items[:] = parted[rest]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leave what was collected, thousands of tests and all that they import, out of every search for garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _leaves_out(config: pytest.Config) -> bool:
    """Tell whether only quick tests run: no option, no marker and no name asks for others."""
    return not (
        config.getoption("--all") or config.getoption("--rest") or config.getoption("-m") or "::" in str(config.args)
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose extra packages, systems or public data sets are not there."""
    _marks.clear()
    _marks.update(mark.name for mark in item.iter_markers())
    for mark in item.iter_markers("extra"):
        for package in mark.args:
            pytest.importorskip(package)
    for mark in item.iter_markers("system"):
        for name in mark.args:
            if (
                importlib.util.find_spec("perslib.systems") is None
                or importlib.util.find_spec(f"perslib.systems.{name}") is None
            ):
                pytest.skip(f"the system {name} is not here")
    for mark in item.iter_markers("data"):
        for name in mark.args:
            if not (real.ROOT / name).exists():
                pytest.skip(f"{name} is not at hand (set PERSLIB_REAL_DATA)")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Tell how to run what was left out."""
    if _leaves_out(config):
        terminalreporter.write_line(
            "Quick tests only; `make test ARGS=--rest` runs those that need kernels, engines, browsers …"
        )


@pytest.fixture(autouse=True, scope="session")
def kernels_are_announced() -> Iterator[None]:
    """Fail a test that starts a kernel without a mark of it: nothing costs a plain run more."""
    from jupyter_client.manager import KernelManager

    start = KernelManager._async_pre_start_kernel

    async def start_if_announced(manager: KernelManager, **options: Any) -> Any:
        assert _marks & NEEDS, "this test starts a kernel: mark it `kernel`"
        return await start(manager, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KernelManager, "_async_pre_start_kernel", start_if_announced)
        yield


@pytest.fixture(autouse=True, scope="session")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What judges learn is kept among the files of this run, for all its processes, and never in the user's own folder."""
    base = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "taught"))
        yield


@pytest.fixture(autouse=True, scope="session")
def interrupts() -> None:
    """Take Ctrl-C and a hang-up, for tests and the processes they start, also where what began them (a shell in the
    background, nohup) ignores them.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


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
