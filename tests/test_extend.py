"""What docs/extend.md says works as it stands there: each block is written to its file and run."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner

from perslib import registry
from perslib.cli import main
from perslib.cluster import connect_cluster, spread
from perslib.corpus import corpus_names, import_release, load
from perslib.errors import PerslibError, UnknownName
from perslib.judge import JudgeSettings, Personal, asks_model, evaluate, judge, make_judge, make_judges
from perslib.memory import make_memory, memory
from perslib.replay import context, make_context
from perslib.report.run.execution import kernel_environment

PAGE = Path(__file__).resolve().parents[1] / "docs" / "extend.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A folder with the module and the prompt of the page; what it registers is gone afterwards."""
    module = "\n".join(text for kind, text in BLOCKS if kind == "python" and text.startswith("# mymodule.py"))
    (tmp_path / "mymodule.py").write_text(module, "utf-8")
    (tmp_path / "prompts" / "en").mkdir(parents=True)
    (table,) = [text for kind, text in BLOCKS if kind == "toml" and not text.startswith("# ")]
    (tmp_path / "backbones.toml").write_text(table, "utf-8")
    (prompt,) = [text for kind, text in BLOCKS if kind == "markdown"]
    (tmp_path / "prompts" / "en" / "prices.md").write_text(prompt, "utf-8")
    monkeypatch.setenv("PERSLIB_HOME", str(tmp_path))
    before = {each: dict(each._factories) for each in (judge, memory, context, registry_of_loaders())}
    monkeypatch.setattr(registry, "_used", set())
    monkeypatch.setattr(registry, "_named", {})
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("mymodule", None)
    for each, factories in before.items():
        each._factories = factories


def registry_of_loaders():
    from perslib.corpus import loader

    return loader


def test_the_blocks_of_the_page_run(workspace, monkeypatch):
    monkeypatch.setenv(registry.VARIABLE, "mymodule")
    for kind, text in BLOCKS:
        if kind == "python" and not text.startswith("# "):
            exec(compile(text, "docs/extend.md", "exec"), {})


def test_names_of_a_module_of_ones_own_are_known_everywhere(workspace):
    (workspace / "settings.toml").write_text('plugins = ["mymodule"]\n', "utf-8")
    assert {"longer is better", "asks about prices"} <= set(judge)
    assert "last complaint" in memory and "first name terms" in context
    corpus = load("sample/en")
    block = next(corpus.blocks("test"))
    assert isinstance(make_judge("last complaint"), Personal)
    assert make_memory("last complaint").name == "last complaint"
    assert make_context("first name terms").hide_labels(block).labelled is False
    (workspace / "mine.txt").write_text("ada|gift|a scarf?|a red one|4\nada|food|soup?|leek|2\n", "utf-8")
    import_release("stars", workspace / "mine.txt")
    assert "mine" in corpus_names() and load("mine").turns["score"].tolist() == [4, 2]


def test_a_judge_defined_in_a_cell_works_there_at_once():
    from perslib.judge import Computed

    class Four(Computed):
        name = "four"

        def scores(self, block):
            return [4.0] * len(block)

    one, two = make_judges([Four(), "user mean"])
    found = evaluate(one, load("sample/en"), limit=20)
    assert set(found["judge"]) == {"four"} and (found["raw"] == 4).all() and two.name == "user mean"


@pytest.mark.kernel
def test_a_command_uses_the_module_that_it_is_told_of(workspace):
    cell = nbformat.v4.new_code_cell('corpus = "sample/en"\nbackbone = "embedded"\njudges = ""\nout = ""\nseed = 42')
    cell.metadata = {"tags": ["parameters"], "choices": {"judges": ["perslib.judge:judge_choices"]}}
    text = (
        "from perslib import report\nfrom perslib.corpus import load\nfrom perslib.judge import evaluate, make_judges\n"
        "report.begin(out=out)\n(one,) = make_judges(judges)\n"
        'report.save_table(evaluate(one, load(corpus), limit=9)[["judge", "raw"]], "scores", "Scores.")'
    )
    notebook = nbformat.v4.new_notebook(cells=[cell, nbformat.v4.new_code_cell(text)])
    nbformat.write(notebook, workspace / "mine.ipynb")

    command = ["report", "mine.ipynb", "-p", "judges=longer is better"]
    assert CliRunner().invoke(main, command).exit_code == 1
    using = [sys.executable, "-m", "perslib", *command, "--use", "mymodule"]
    done = subprocess.run(using, cwd=workspace, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (table,) = workspace.glob("reports/**/scores.csv")
    assert "longer is better" in table.read_text("utf-8")


@pytest.mark.cluster
def test_modules_reach_other_processes_and_leave_the_environment_alone(workspace, tmp_path):
    """Kernels of pages get their names by their environment, workers by what they are sent."""
    before = dict(os.environ)
    registry.use_plugins("mymodule")
    assert "longer is better" in set(judge) and dict(os.environ) == before
    found = kernel_environment(tmp_path, {})
    code = "from perslib.judge import judge; print('longer is better' in judge)"
    child = subprocess.run([sys.executable, "-c", code], env=found, capture_output=True, text=True)
    assert child.stdout == "True\n", child.stderr
    (workspace / "settings.toml").write_text("", "utf-8")
    with connect_cluster("local") as client:
        assert list(spread(client, lambda name: name in set(judge), ["longer is better", "no such"])) == [True, False]
    assert registry.VARIABLE not in os.environ


def test_a_worker_in_the_users_process_leaves_the_environment_alone(workspace, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.delenv("PERSLIB_HOME")
    monkeypatch.chdir(workspace)
    before = dict(os.environ)
    with distributed.Client(processes=False, dashboard_address=None) as client:
        assert list(spread(client, len, ["ab"])) == [2]
    assert dict(os.environ) == before


def test_what_is_wrong_with_a_module_is_said(workspace):
    (workspace / "settings.toml").write_text('plugins = ["nowhere"]\n', "utf-8")
    with pytest.raises(PerslibError, match="no module 'nowhere'"):
        list(judge)
    (workspace / "settings.toml").write_text("plugins = 3\n", "utf-8")
    with pytest.raises(PerslibError, match="expected a list"):
        list(judge)
    (workspace / "settings.toml").unlink()
    with pytest.raises(UnknownName, match="user mean"):
        make_judge("user means")


@pytest.mark.parametrize("name", list(judge))
def test_every_judge_is_made_by_its_name(name):
    options = {"evidence": "full", "budget": 600, "max_tokens": None, "profile": "none"}
    made = make_judge(name, JudgeSettings("zh", with_rationale=False), **options)
    assert asks_model(name) == made.inputs.model
    if isinstance(made, Personal) and made.memory is not None:
        assert made.settings.language == "zh" and getattr(made.memory, "language", "zh") == "zh"


def test_the_tables_of_names_are_complete():
    text = (PAGE.parent / "01_verification.md").read_text("utf-8")
    missing = [name for each in (judge, memory, context) for name in each if f"`{name}`" not in text]
    assert missing == []


@pytest.mark.process
def test_a_system_of_ones_own_is_built_installed_and_found(tmp_path):
    source, site = tmp_path / "source", tmp_path / "site"
    for _, text in BLOCKS:
        if text.startswith(("# brevity/", "# pyproject.toml")):
            file = source / text.splitlines()[0].removeprefix("# ")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(source)]
    subprocess.run(install, check=True, capture_output=True)
    environment = os.environ | {"PYTHONPATH": str(site), "PERSLIB_HOME": str(tmp_path)}

    def run(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command], check=True, capture_output=True, text=True, env=environment, cwd=tmp_path
        )
        return done.stdout

    assert "brevity: how much a user likes short replies\n    commands: shorten\n    options of: systems\n" in run(
        "-m", "perslib", "systems"
    )
    assert run("-m", "perslib", "shorten", "one two three four") == "one two three\n"
    assert "shorten" in run("-m", "perslib", "--help")
    assert "--count" in run("-m", "perslib", "systems", "--help")
    assert int(run("-m", "perslib", "systems", "--count")) >= 1
    code = "from perslib import make_judge; print(make_judge('short is good').name)"
    assert run("-c", code) == "short is good\n"
    code = (
        "import sys; from perslib.registry import find_systems; find_systems(); print('brevity.judges' in sys.modules)"
    )
    assert run("-c", code) == "False\n"


def test_the_language_model_of_the_page_is_a_judge():
    (block,) = [text for kind, text in BLOCKS if kind == "python" and text.startswith("# mylora.py")]
    tree = ast.parse(block)
    imported = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module.startswith("perslib")]
    exec(compile(ast.Module(imported, []), "mylora.py", "exec"), {})
    (kind,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert {"fit", "judge"} <= {node.name for node in kind.body if isinstance(node, ast.AsyncFunctionDef)}
