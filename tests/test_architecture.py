"""What keeps the library legible: imports flow one way, exports are what they say, files stay short."""

from __future__ import annotations

import ast
import graphlib
import importlib
import importlib.metadata
import inspect
import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import perslib
from perslib.paths import find_bundled, read_csv
from perslib.registry import find_systems

PACKAGE = Path(__file__).resolve().parents[1] / "perslib"
MODULES = sorted(PACKAGE.rglob("*.py"))

DOCUMENT = PACKAGE.parent / "docs" / "architecture.md"


def read_order() -> list[str]:
    """Read the packages in the order of the document's table: each may import itself and those before it."""
    table = re.search(r"^\| package \| content \|\n\|.*\n((?:\|.*\n)+)", DOCUMENT.read_text("utf-8"), flags=re.M)
    return [name for row in table[1].splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])]


ORDER = [*read_order(), "__main__"]


def part(module: str) -> str:
    """`perslib.corpus.schema` → `corpus`; the package itself counts as the base."""
    return [*module.split("."), "errors"][1]


@cache
def nodes(file: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(file.read_text("utf-8"))))


def imports(file: Path) -> list[str]:
    found = []
    for node in nodes(file):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "perslib":
            inner = [f"perslib.{a.name}" for a in node.names] if node.module == "perslib" else [node.module]
            found += [m for m in inner if m != "perslib.__version__"]
        elif isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.startswith("perslib.")]
    return found


def test_chinese_is_data_and_stands_in_no_code():
    chinese = re.compile("[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
    assert [f.name for f in MODULES if chinese.search(f.read_text("utf-8"))] == []


def test_imports_flow_one_way():
    faults = []
    for file in MODULES:
        here = file.relative_to(PACKAGE).with_suffix("").parts[0]
        if here != "__init__":
            assert here in ORDER, f"{here} is not in the table of docs/architecture.md"
            later = {module for module in imports(file) if ORDER.index(part(module)) > ORDER.index(here)}
            faults += [f"{file.relative_to(PACKAGE)} must not import {module}" for module in sorted(later)]
    assert faults == []


def test_no_system_needs_another():
    faults = []
    for file in (PACKAGE / "systems").glob("*/**/*.py"):
        own = file.relative_to(PACKAGE).parts[1]
        others = {module for module in imports(file) if module.startswith("perslib.systems.")}
        faults += [f"{file.name} of {own} imports {module}" for module in others if module.split(".")[2] != own]
    assert faults == []


@pytest.mark.system("mem_pal", "deus", "uxbench")
def test_no_page_of_the_core_names_a_system():
    brought = tuple(page for system in find_systems().values() for page in system.pages)
    pages = [page for page in find_bundled("notebooks").glob("*.ipynb") if not page.name.startswith(brought)]
    assert len(pages) > 8 and [page.name for page in pages if "perslib.systems" in page.read_text("utf-8")] == []


def name_of(file: Path) -> str:
    return ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def test_the_document_lists_what_there_is():
    parts = {f.relative_to(PACKAGE).with_suffix("").parts[0] for f in MODULES} | {"systems"}
    assert set(ORDER) == parts - {"__init__"} and len(ORDER) == len(set(ORDER))


def test_no_module_imports_itself_by_a_detour():
    """Neither within a function nor for types alone."""
    names = {name_of(file) for file in MODULES}
    graph = {}
    for file in MODULES:
        found = [n for n in nodes(file) if isinstance(n, ast.ImportFrom) and n.module]
        wanted = {m for n in found for a in n.names for m in (f"{n.module}.{a.name}", n.module) if m in names}
        # `from package import module` needs the module only.
        inner = {n.module for n in found if all(f"{n.module}.{a.name}" in names for a in n.names)}
        graph[name_of(file)] = wanted - inner - {name_of(file)}
    list(graphlib.TopologicalSorter(graph).static_order())


EXPORTING = [
    "corpus",
    "judge",
    "llm",
    "memory",
    "stats",
    "replay",
    "report",
    "systems.deus",
    "systems.mem_pal.bench",
    "systems.mem_pal.synthesis",
    "systems.uxbench.bench",
    "systems.uxbench.construction",
    "systems.uxbench.signals",
]


@pytest.mark.parametrize(
    "name", [f"perslib.{name}" for name in EXPORTING if PACKAGE.joinpath(*name.split(".")[:2]).exists()]
)
def test_exports_are_listed_and_real(name):
    module = importlib.import_module(name)
    listed = list(module.__all__)
    assert listed == sorted(listed, key=lambda n: (not n.isupper(), not n[0].isupper(), n)), "sorted as ruff does"
    public = {n for n, v in vars(module).items() if not n.startswith("_") and not inspect.ismodule(v)}
    assert set(listed) == public - {"annotations"}
    for export in listed:
        value = getattr(module, export)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), f"{name}.{export} has no docstring"


#: What the first sentence of a function begins with.
VERBS = {
    *["Add", "Answer", "Append", "Ask", "Attach", "Audit", "Await", "Be", "Begin", "Bring", "Build", "Check", "Choose", "Claim", "Clear", "Close", "Collect", "Compare", "Compute", "Correct", "Count", "Delete", "Describe", "Display", "Do", "Draw", "Drop", "Encode", "End", "Estimate", "Fill", "Find", "Fine-tune", "Fit", "Foretell", "Forget", "Fork", "Get", "Give", "Hand", "Have", "Hear", "Hold", "Import", "Index", "Induce", "Join", "Judge", "Keep", "Label", "Lay", "Learn", "Leave", "Let", "Link", "List", "Live", "Load", "Look", "Lower", "Make", "Map", "Mark", "Measure", "Mine", "Name", "Note", "Offer", "Open", "Parse", "Pause", "Place", "Put", "Raise", "Read", "Record", "Refuse", "Register", "Reject", "Remember", "Remove", "Render", "Return", "Run", "Save", "Say", "Score", "Send", "Serve", "Set", "Show", "Simulate", "Split", "Start", "Stop", "Take", "Tell", "Test", "Train", "Translate", "Turn", "Use", "Wait", "Warn", "Work", "Write", "Yield"]
}  # fmt: skip


def functions():
    """Yield file and node of every function of the package."""
    for file in MODULES:
        for node in nodes(file):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield file.relative_to(PACKAGE).as_posix(), node


def test_functions_say_what_they_do():
    """A docstring begins with a verb, but for a property's, and for a command's, which is its help."""
    named = ("property", "cached_property", "click.")
    odd = [
        f"{file}:{node.lineno} {text.split()[0]}"
        for file, node in functions()
        if (text := ast.get_docstring(node)) and text.split()[0].strip(".,;:") not in VERBS
        if node.name != "__init__" and not any(ast.unparse(d).startswith(named) for d in node.decorator_list)
    ]
    assert odd == [], "begin with a verb; one that is missing from VERBS is added there"


def test_no_function_is_named_by_what_was_done():
    """No `checked`, `said` or `kept`: a function is named by a verb, mostly with its object."""
    participles = re.compile(r"_?([a-z]+ed|said|told|heard|shown|given|made|done|known|found|kept|left|drawn|spent)")
    nouns = {"seed", "need", "feed", "embed", "speed", "proceed"}
    named = [f"{file} {node.name}" for file, node in functions() if participles.fullmatch(node.name)]
    assert [name for name in named if name.split("_")[-1].split()[-1] not in nouns] == []


def test_variables_say_what_they_hold():
    """No `found`, `said` or `kept`: a variable and a parameter are named by what is in them."""
    words = {"said", "told", "heard", "beside", "whoever", "found", "kept", "apart"}
    named = [
        f"{file.relative_to(PACKAGE)}:{node.lineno} {name}"
        for file in MODULES
        for node in nodes(file)
        if (name := node.arg if isinstance(node, ast.arg) else getattr(node, "id", "")) in words
    ]
    assert named == []


def test_a_file_is_one_idea():
    code = [file.relative_to(PACKAGE).as_posix() for file in MODULES if len(file.read_text("utf-8").splitlines()) > 400]
    assert [name for name in code if "words" not in name] == [], "banks of text may be longer than code"


def test_nothing_tells_of_a_machine():
    """No absolute paths, and no addresses of package registries, in what the project ships."""
    root = PACKAGE.parent
    files = [
        f for folder in (PACKAGE, root / "prompts", root / "notebooks", root / "tests") for f in folder.rglob("*.*")
    ]
    for file in [*files, *root.glob("*.*")]:
        if file.suffix in {".py", ".md", ".toml", ".yml", ".ipynb", ".j2", ".css"}:
            text = file.read_text("utf-8")
            for sign in ("/" + "home/", "/" + "root/", "py" + "pi.org", "python" + "hosted"):
                assert sign not in text, f"{file.relative_to(root)} mentions {sign}"


def test_no_text_is_run_as_code():
    for file in MODULES:
        for node in nodes(file):
            called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id
            assert called not in ("eval", "exec", "compile"), f"{file.relative_to(PACKAGE)}:{node.lineno}"


def test_cells_of_notebooks_are_short():
    cells = [
        (notebook.name, "".join(cell["source"]).split("\n"))
        for notebook in find_bundled("notebooks").glob("*.ipynb")
        for cell in json.loads(notebook.read_text("utf-8"))["cells"]
        if cell["cell_type"] == "code"
    ]
    long = [
        (name, lines[0]) for name, lines in cells if len(lines) > 25 and not lines[0].startswith(("import", "from"))
    ]
    assert len(cells) > 200 and long == []


def test_published_tables_name_their_source():
    tables = sorted(PACKAGE.rglob("published/*.csv"))
    brought = {system.name for system in (PACKAGE / "systems").glob("*/") if system.name in ("deus", "uxbench")}
    assert {table.parents[1].name for table in tables} >= {"studies", *brought}
    for table in tables:
        assert table.read_text("utf-8").startswith("# "), f"{table} does not say in its first line where it is from"
        frame = read_csv(str(table), table.name)
        assert len(frame) and not frame.columns.str.startswith("Unnamed").any(), table


def test_the_first_names_are_at_the_top_and_importing_it_loads_nothing():
    code = (
        "import perslib, sys; print({'pandas', 'numpy', 'importlib.metadata'} & set(sys.modules)); "
        "import perslib.cli; print({'pandas', 'numpy', 'perslib.report'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\nset()\n"
    for name, place in perslib._PLACE.items():
        assert getattr(perslib, name) is getattr(importlib.import_module(place), name)
        assert name in dir(perslib)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        perslib.nothing  # noqa: B018
    assert perslib.__version__ == importlib.metadata.version("perslib")


@pytest.mark.process
def test_the_core_judges_without_any_system(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "perslib", ignore=shutil.ignore_patterns("systems", "__pycache__"))
    shutil.copytree(PACKAGE.parent / "prompts", tmp_path / "prompts")
    modules = [name_of(f) for f in MODULES if not {"systems", "worlds", "__main__.py", "_engine.py"} & {*f.parts}]
    code = (
        "import importlib, sys\n"
        f"assert importlib.import_module('perslib').__file__.startswith({str(tmp_path)!r})\n"
        f"for name in {modules}: importlib.import_module(name)\n"
        "from perslib import agreement, controls, evaluate, load\n"
        f"corpus = load({str(PACKAGE.parent / 'data' / 'sample' / 'en')!r})\n"
        "print(len(evaluate(controls()[0], corpus)), any('systems.' in name for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    replies, has_system = done.stdout.split()
    assert int(replies) > 1000 and has_system == "False"
