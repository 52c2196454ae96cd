"""What keeps the library legible: imports flow one way, exports are what they say, files stay short."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "perslib"
MODULES = sorted(PACKAGE.rglob("*.py"))

#: Each part may import itself and what stands before it.
ORDER = [
    *[
        "errors",
        "paths",
        "cluster",
        "llm",
        "prompts",
        "corpus",
        "memory",
        "palsynth",
        "judge",
        "calibrate",
    ],
    *["inference", "metrics", "replay", "palbench", "patience", "signals", "ux"],
    *["report", "studies", "explorer", "cli", "__main__"],
]


def part(module: str) -> str:
    """`perslib.corpus.schema` → `corpus`; the package itself counts as the base."""
    return [*module.split("."), "errors"][1]


def imports(file: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "perslib":
            inner = [f"perslib.{a.name}" for a in node.names] if node.module == "perslib" else [node.module]
            found += [m for m in inner if m != "perslib.__version__"]
        elif isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.startswith("perslib.")]
    return found


@pytest.mark.parametrize("file", MODULES, ids=lambda f: f.relative_to(PACKAGE).as_posix())
def test_imports_flow_one_way(file):
    here = file.relative_to(PACKAGE).with_suffix("").parts[0]
    if here == "__init__":
        return
    assert here in ORDER, f"{here} has no place in the order of parts"
    for module in imports(file):
        assert ORDER.index(part(module)) <= ORDER.index(here), f"{here} must not import {module}"


@pytest.mark.parametrize(
    "name",
    [
        f"perslib.{p}"
        for p in (
            "calibrate",
            "corpus",
            "inference",
            "judge",
            "llm",
            "memory",
            "metrics",
            "palbench",
            "palsynth",
            "patience",
            "replay",
            "report",
            "signals",
            "ux",
            "ux.construct",
        )
    ],
)
def test_exports_are_listed_and_real(name):
    module = importlib.import_module(name)
    listed = list(module.__all__)
    assert listed == sorted(listed, key=lambda n: (not n.isupper(), not n[0].isupper(), n)), (
        "sorted as ruff does"
    )
    public = {n for n, v in vars(module).items() if not n.startswith("_") and not inspect.ismodule(v)}
    assert set(listed) == public - {"annotations"}
    for export in listed:
        value = getattr(module, export)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), f"{name}.{export} has no docstring"


@pytest.mark.parametrize("file", MODULES, ids=lambda f: f.relative_to(PACKAGE).as_posix())
def test_a_file_is_one_idea(file):
    if "words" in file.relative_to(PACKAGE).as_posix():
        return  # banks of text, not code
    assert len(file.read_text("utf-8").splitlines()) <= 400


def test_nothing_tells_of_a_machine():
    """No absolute paths, and no addresses of package registries, in what the project ships."""
    root = PACKAGE.parent
    files = [
        f
        for folder in (PACKAGE, root / "prompts", root / "notebooks", root / "tests")
        for f in folder.rglob("*.*")
    ]
    for file in [*files, *root.glob("*.*")]:
        if file.suffix in {".py", ".md", ".toml", ".yml", ".ipynb", ".j2", ".css"}:
            text = file.read_text("utf-8")
            for sign in ("/" + "home/", "/" + "root/", "py" + "pi.org", "python" + "hosted"):
                assert sign not in text, f"{file.relative_to(root)} mentions {sign}"
