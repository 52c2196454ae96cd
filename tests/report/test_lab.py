"""The lab's first page, and the commands that open the lab."""

from __future__ import annotations

import ast
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import nbformat
import psutil
import pytest

from perslib.report import app, begin
from perslib.report.page import index
from perslib.report.page.rendering import title_of
from perslib.report.run.plan import find_studies
from perslib.report.show import html
from perslib.text import set_language, translate_markdown

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The HTML that the index shows."""
    pieces: list[str] = []
    for module in (index, html):
        monkeypatch.setattr(module, "show_html", lambda body, plain="", record=None: pieces.append(body))
    begin()
    return pieces


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_first_page_links_every_notebook_by_its_title(language):
    set_language(language)
    cells = nbformat.read(NOTEBOOKS / "index.ipynb", as_version=4).cells
    text = translate_markdown(cells[0].source)
    links = {path: title for title, path in re.findall(r"\[([^]]+)\]\(([^)]+)\)", text)}
    assert all((NOTEBOOKS / path).is_file() for path in links)
    for path in NOTEBOOKS.glob("*.ipynb"):
        if path.name != "index.ipynb":
            title = title_of(nbformat.read(path, as_version=4))
            assert links[path.name] in title and links[path.name] != ""


def test_only_studies_run_unasked():
    assert all(re.match(r"\d\d_", study.name) for study in find_studies())
    assert find_studies("index")[0].declared == {"language": "en"}


def test_rendered_pages_are_linked_from_where_the_notebook_lies(home, shown, monkeypatch):
    folder = home / "reports" / "mine" / "none"
    folder.mkdir(parents=True)
    (home / "notebooks").mkdir()
    monkeypatch.chdir(home / "notebooks")
    index.show_reports()
    assert "Nothing has been run yet" in shown.pop()

    page = {"title": "<b>What</b> is in it", "language": "en", "corpus": {"label": "mine"}, "figures": {}, "tables": {}}
    pages = {
        "00_corpus": {**page, "status": "success", "started": "2026-11-20T10:00:00+00:00"},
        "01_verification": {**page, "status": "failed", "title": "Judges"},
        "02_ablations": {**page, "status": "success"},  # its page is not there
    }
    for name, entry in pages.items():
        (folder / f"{name}.json").write_text(json.dumps(entry), encoding="utf-8")
    for name in ("00_corpus", "01_verification"):
        (folder / f"{name}.html").touch()
    index.show_reports()
    (html,) = shown
    assert '<a href="../reports/mine/none/00_corpus.html">&lt;b&gt;What&lt;/b&gt; is in it</a> · 2026-11-20' in html
    assert "Judges</a> · failed" in html and "02_ablations" not in html and "index.html" not in html


def test_models_are_listed_without_their_keys(home, shown, monkeypatch):
    monkeypatch.setenv("MY_SECRET", "sk-hidden")
    (home / "backbones.toml").write_text(
        '[mine]\nbase_url = "http://localhost:9/v1"\nmodel = "<i>m</i>"\nkey_env = "MY_SECRET"\n', encoding="utf-8"
    )
    index.show_backbones()
    (html,) = shown
    assert "&lt;i&gt;m&lt;/i&gt;" in html and "MY_SECRET, set" in html and "sk-hidden" not in html
    assert "OPENAI_API_KEY" in html and "started on this machine" in html
    set_language("zh")
    index.show_backbones()
    assert ">mine<" in shown[1]
    assert shown[0].count("<th ") == shown[1].count("<th ") == 4


def test_an_app_listens_on_this_machine_only_and_shows_no_code(home):
    words = app.command(Path("memory_explorer.ipynb"), 8900, browser=False)
    assert words == [
        *(sys.executable, "-m", "perslib.report.app", "memory_explorer.ipynb"),
        *("--Voila.ip=127.0.0.1", "--port=8900", "--no-browser"),
    ]
    settings = json.loads((Path(app.SETTINGS) / "voila.json").read_text("utf-8"))
    assert settings["VoilaConfiguration"]["strip_sources"] is True
    policy = settings["Voila"]["tornado_settings"]["headers"]["Content-Security-Policy"]
    assert policy.startswith("default-src 'self';") and "http:" not in policy and "*" not in policy
    assert 0 < settings["MappingKernelManager"]["cull_idle_timeout"] <= 600
    told = app.environment({"JUPYTER_PATH": "elsewhere"})
    assert told["JUPYTER_PATH"].split(os.pathsep)[0] == app.SETTINGS and told["JUPYTER_PATH"].endswith("elsewhere")
    assert told["PERSLIB_HOME"] == str(home)


PORT_OF = re.compile(r"http://127\.0\.0\.1:(\d+)/")


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, psutil.Process, Path]]:
    """A small notebook as an app, opened by a browser that only notes its address; kernels end two seconds idle."""
    kernel = {"name": "python3", "display_name": "python3", "language": "python"}
    parameters = nbformat.v4.new_code_cell('language = "zh"', metadata={"tags": ["parameters"]})
    heading = nbformat.v4.new_markdown_cell("# Memory explorer")
    cells = [heading, parameters, nbformat.v4.new_code_cell("print('shown', 6 * 7)")]
    notebook, opened, log = tmp_path / "tiny.ipynb", tmp_path / "opened.html", tmp_path / "log"
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), notebook)
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\ncp "${{1#file://}}" {opened}\n', encoding="utf-8")
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    command = [*app.command(notebook, 8950), "--MappingKernelManager.cull_idle_timeout=2"]
    command += ["--MappingKernelManager.cull_interval=1"]
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=app.environment(), stdout=out, stderr=out, cwd=tmp_path)
    try:
        wait_until(lambda: opened.is_file() and opened.read_text() and PORT_OF.search(log.read_text()), log)
        yield int(PORT_OF.search(log.read_text())[1]), psutil.Process(process.pid), opened
    finally:
        process.terminate()
        process.wait(30)


def wait_until(done, log: Path | None = None) -> None:
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end, log.read_text() if log else "waited in vain"
        time.sleep(0.1)


def asked(port: int, path: str, host: str | None = None, *headers: str) -> tuple[int, str]:
    """Status and text of a GET, as any program on this machine can send it."""
    lines = [f"GET {path} HTTP/1.1", f"Host: {host or '127.0.0.1'}:{port}", *headers]
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
        line.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode())
        if "Upgrade: websocket" in headers:
            said = line.recv(4096)
        else:
            said = b"".join(iter(lambda: line.recv(65536), b""))
    return int(said.split()[1]), said.decode("utf-8", "replace")


@pytest.mark.kernel
def test_an_app_answers_to_its_token_and_its_own_name_and_ends_its_kernels(served):
    port, process, opened = served
    token = re.search(r"/\?token=\w{40,}", opened.read_text())[0]
    assert asked(port, "/")[0] == 302 and asked(port, "/", "evil.example")[0] == 403
    assert asked(port, token, "evil.example")[0] == 403 and process.children() == []

    status, page = asked(port, token)
    assert status == 200 and "shown 42" in page and len(process.children()) == 1
    kernel = re.search(r'"kernelId": ?"([\w-]+)"', page)[1]
    upgrade = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
    upgrade += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    channels = f"/api/kernels/{kernel}/channels"
    assert asked(port, channels + token[1:], None, *upgrade)[0] == 101
    assert asked(port, channels, None, *upgrade)[0] == 403
    assert asked(port, channels + token[1:], "evil.example", *upgrade)[0] == 403
    wait_until(lambda: process.children() == [])


@pytest.mark.kernel
def test_an_app_shows_its_markdown_in_the_language_of_its_parameters(served):
    port, _, opened = served
    page = unescape(asked(port, re.search(r"/\?token=\w{40,}", opened.read_text())[0])[1])
    assert ">记忆浏览器<" in page and ">Memory explorer<" not in page and "shown 42" in page


def test_no_two_notebooks_give_a_figure_or_table_the_same_name():
    """They lie in one folder, and the later page would overwrite what the earlier one links."""
    place = {"save_table": 1, "save_figure": 1, "draw": 2}
    made: dict[str, set[str]] = {}
    for path in NOTEBOOKS.glob("[0-9]*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            for call in ast.walk(ast.parse(cell.source)) if cell.cell_type == "code" else ():
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in place:
                    given = call.args[place[call.func.attr]] if len(call.args) > place[call.func.attr] else None
                    if isinstance(given, ast.Constant) and isinstance(given.value, str):
                        kind = "table" if call.func.attr == "save_table" else "figure"
                        made.setdefault(f"{kind} {given.value}", set()).add(path.name)
    assert len(made) > 40
    assert {name: where for name, where in made.items() if len(where) > 1} == {}
