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


@pytest.fixture(autouse=True, scope="module")
def own_page() -> Iterator[None]:
    """The tests of a file do not see the page, with its language, that another file began."""
    from perslib import text
    from perslib.report import page

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
