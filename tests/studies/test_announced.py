"""What a report announces is what its page then asks, and nobody is asked for that, for every page that asks a model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from endpoint import Endpoint
from goldens import BACKBONE, answer
from made import shortened

from perslib.corpus import save
from perslib.report import rehearse_report, run_report
from perslib.worlds import world

#: Pages, and what makes them ask for all that they can ask for, a little of each.
PAGES = {
    "13": {"judges": "zero-shot, nearest", "limit": 2},
    "00": {},
    "01": {"judges": "personal, zero-shot, learned + measured", "limit": 4},
    "02": {"limit": 4},
    "03": {"limit": 4},
    "04": {"judge": "nearest", "others": "zero-shot", "limit": 4},
    "05": {"limit": 2, "history": 2, "logs": 2, "embedder": "tfidf"},
    "07": {"answers": True, "builds": True, "limit": 6, "cases": 40},
    "08": {"asks": True, "limit": 6},
    "09": {"memories": "structured", "limit": 2},
    "12": {"judge": "zero-shot", "draws": 20, "limit": 6},
}
#: A page whose questions follow from answers (which memories merge, which cases are kept) asks somewhat fewer, hardly more.
MORE, FEWER = 0.02, 0.25


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small corpus with several replies to half of its requests."""
    folder = tmp_path_factory.mktemp("small") / "mine"
    save(shortened(world(12, 3, "en", candidates=0.5), sessions=1, turns=2), folder)
    return folder


@pytest.fixture
def asked(home: Path) -> Iterator[Endpoint]:
    """An endpoint whose answers follow from the question alone, as the backbone `scripted`."""
    with Endpoint(answer) as server:
        (home / "backbones.toml").write_text(BACKBONE.format(server.base_url), encoding="utf-8")
        yield server


@pytest.mark.kernel
@pytest.mark.parametrize("page", PAGES)
def test_calls_that_are_announced_are_those_made(page, small, home, asked, capsys, monkeypatch):
    monkeypatch.setattr("perslib.report.run.estimate.LONGEST", 600.0)
    run_report(page, corpus=small, backbones="scripted", out=home / "out", **PAGES[page])
    announced = int(re.search(r"about ([\d,]+) calls", capsys.readouterr().err)[1].replace(",", ""))
    made = len(asked.bodies)
    assert 0 < made <= announced * (1 + MORE) and announced <= made * (1 + FEWER)
    (manifest,) = (home / "out").glob(f"**/{page}_*.json")
    assert json.loads(manifest.read_text("utf-8"))["ledger"]["total"]["calls"] == made


def test_every_page_that_takes_a_backbone_is_among_them():
    from perslib.report.run.plan import numbered_studies

    takes = {study.name[:2] for study in numbered_studies() if "backbone" in study.declared}
    assert takes == set(PAGES)


def test_a_dry_run_without_a_model_runs_no_page(home):
    """A kernel would fail this test, which announces none."""
    lines = list(rehearse_report(corpus="sample/en"))
    assert len(lines) >= len(PAGES) and all("asks no model" in line for line in lines)
