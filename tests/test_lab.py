"""The lab's first page, and the commands that open the lab."""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from pathlib import Path

import nbformat
import pytest

from perslib.report import app, begin, launcher, show
from perslib.report.parameters import find_studies
from perslib.report.render import title_of

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The HTML that the launcher shows."""
    pieces: list[str] = []
    for module in (launcher, show):
        monkeypatch.setattr(module, "show_html", lambda body, plain="", record=None: pieces.append(body))
    begin()
    return pieces


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_first_page_links_every_notebook_by_its_title(language):
    cells = nbformat.read(NOTEBOOKS / "index.ipynb", as_version=4).cells
    (text,) = [cell.source for cell in cells if f"lang-{language}" in cell.metadata.get("tags", [])]
    links = {path: title for title, path in re.findall(r"\[([^]]+)\]\(([^)]+)\)", text)}
    assert all((NOTEBOOKS / path).is_file() for path in links)
    for path in NOTEBOOKS.glob("*.ipynb"):
        if path.name != "index.ipynb":
            title = title_of(nbformat.read(path, as_version=4), language)
            assert links[path.name] in title and links[path.name] != ""


def test_only_studies_run_unasked():
    assert all(re.match(r"\d\d_", study.name) for study in find_studies())
    assert find_studies("index")[0].declared == {}


def test_rendered_pages_are_linked_from_where_the_notebook_lies(home, shown, monkeypatch):
    folder = home / "reports" / "mine" / "embedded"
    folder.mkdir(parents=True)
    (home / "notebooks").mkdir()
    monkeypatch.chdir(home / "notebooks")
    launcher.show_reports()
    assert "Nothing has been run yet" in shown.pop()

    page = {
        "title": "<b>What</b> is in it",
        "language": "en",
        "corpus": {"label": "mine"},
        "figures": {},
        "tables": {},
    }
    pages = {
        "00_corpus": {**page, "status": "success", "started": "2026-11-20T10:00:00+00:00"},
        "01_verification": {**page, "status": "failed", "title": "Judges"},
        "02_ablations": {**page, "status": "success"},  # its page is not there
    }
    (folder / "manifest.json").write_text(json.dumps({"pages": pages}), encoding="utf-8")
    for name in ("00_corpus", "01_verification"):
        (folder / f"{name}.html").touch()
    launcher.show_reports()
    (html,) = shown
    assert (
        '<a href="../reports/mine/embedded/00_corpus.html">&lt;b&gt;What&lt;/b&gt; is in it</a> · 2026-11-20'
        in html
    )
    assert "Judges</a> · failed" in html and "02_ablations" not in html and "index.html" not in html


def test_models_are_listed_without_their_keys(home, shown, monkeypatch):
    monkeypatch.setenv("MY_SECRET", "sk-hidden")
    (home / "backbones.toml").write_text(
        '[mine]\nbase_url = "http://localhost:9/v1"\nmodel = "<i>m</i>"\nkey_env = "MY_SECRET"\n',
        encoding="utf-8",
    )
    launcher.show_backbones()
    (html,) = shown
    assert "&lt;i&gt;m&lt;/i&gt;" in html and "MY_SECRET, set" in html and "sk-hidden" not in html
    assert "OPENAI_API_KEY" in html and "started on this machine" in html


def test_an_app_listens_on_this_machine_only_and_shows_no_code(home):
    words = app.command(Path("memory_explorer.ipynb"), 8900, browser=False)
    assert words == [
        *(sys.executable, "-m", "voila", "memory_explorer.ipynb"),
        *("--Voila.ip=127.0.0.1", "--port=8900", "--no-browser"),
    ]
    settings = json.loads((app.SETTINGS / "voila.json").read_text("utf-8"))
    assert settings["VoilaConfiguration"]["strip_sources"] is True
    policy = settings["Voila"]["tornado_settings"]["headers"]["Content-Security-Policy"]
    assert policy.startswith("default-src 'self';") and "http:" not in policy and "*" not in policy
    told = app.environment({"JUPYTER_PATH": "elsewhere"})
    assert told["JUPYTER_PATH"].split(os.pathsep)[0] == str(app.SETTINGS) and told["JUPYTER_PATH"].endswith(
        "elsewhere"
    )
    assert told["PERSLIB_HOME"] == str(home)


def test_no_two_notebooks_give_a_figure_or_table_the_same_name():
    """They lie in one folder, and the later page would overwrite what the earlier one links."""
    place = {"save_table": 1, "save_figure": 1, "draw": 2}
    made: dict[str, set[str]] = {}
    for path in NOTEBOOKS.glob("[0-9]*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            for call in ast.walk(ast.parse(cell.source)) if cell.cell_type == "code" else ():
                if (
                    isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Attribute)
                    and call.func.attr in place
                ):
                    given = (
                        call.args[place[call.func.attr]] if len(call.args) > place[call.func.attr] else None
                    )
                    if isinstance(given, ast.Constant) and isinstance(given.value, str):
                        kind = "table" if call.func.attr == "save_table" else "figure"
                        made.setdefault(f"{kind} {given.value}", set()).add(path.name)
    assert len(made) > 40
    assert {name: where for name, where in made.items() if len(where) > 1} == {}
