"""Documents name what there is, and their first examples run as they stand there."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

from perslib.llm import dry_run

ROOT = Path(__file__).resolve().parents[1]


def _resolves(name: str) -> bool:
    with contextlib.suppress(ImportError, AttributeError):
        return pkgutil.resolve_name(name) is not None
    return False


@pytest.mark.system("mem_pal", "deus", "uxbench")
def test_documents_and_docstrings_name_what_there_is():
    named = set()
    for file in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("*/README.md")):
        text = file.read_text("utf-8")
        if file.name == "CHANGELOG.md":
            continue
        for place, names in re.findall(r"^from (perslib[\w.]*) import \(?([\w,\s]+?)\)?$", text, flags=re.M):
            named |= {f"{place}.{name}" for name in re.findall(r"\w+", names)}
        named |= set(re.findall(r"\bperslib(?:\.[A-Za-z_]\w*)+(?!\.?[\w*])", text))
        if file.name == "architecture.md":
            table = text.partition("| question | function of `perslib.stats` |")[2].partition("\n\n")[0]
            named |= {f"perslib.stats.{name}" for name in re.findall(r"`(\w+)`", table)}
    for module in (ROOT / "perslib").rglob("*.py"):
        named |= set(re.findall(r"\bperslib(?:\.[A-Za-z_]\w*)+", module.read_text("utf-8")))
    named -= {"perslib.cites", "perslib.methods", "perslib.mplstyle"}  # keys of a notebook's metadata, and a file
    named = {name for name in named if not name.endswith((".md", ".py", ".toml"))}
    assert len(named) > 500 and [name for name in sorted(named) if not _resolves(name)] == []


def _run_first_example(page: str, names: dict[str, object]) -> None:
    code = re.search(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), flags=re.S)[1]
    waits = eval(compile(code, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    if inspect.iscoroutine(waits):
        asyncio.run(waits)


@pytest.mark.sample
def test_the_judge_of_the_readme_and_what_goes_on_from_it_run(home, monkeypatch):
    """A dry run takes the place of the model."""
    model = dry_run("vllm-qwen3-8b")
    monkeypatch.setattr("perslib.llm.backbone", lambda name: model)
    names: dict[str, object] = {}
    for page in ("README.md", "docs/library.md", "docs/04_replay.md"):
        _run_first_example(page, names)
    scored = names["verdicts"].groupby("candidate")["expected"].count()
    of_model = {"vllm-qwen3-8b", "vllm-qwen3-8b · memory: structured"}
    assert set(scored.index) == {"original", *of_model} and model.ledger.total.calls > 2 * 4
    assert scored.eq(4).all()  # one turn of each scenario


@pytest.mark.sample
@pytest.mark.system("deus")
def test_the_example_on_patience_runs():
    names: dict[str, object] = {}
    _run_first_example("docs/06_patience.md", names)
    assert len(names["dialogues"]) == 3000
