"""A run again: what it saved comes out the same from stored answers alone, what was changed is named, figures take another form."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
import warnings
import zipfile
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from endpoint import Endpoint
from test_runs import written

import perslib
from perslib.cli import main
from perslib.corpus import load
from perslib.errors import DataError, UnknownName
from perslib.llm import Cache
from perslib.report import run_report
from perslib.report.run.again import DRAWN, OTHER, SAME, compare_frames
from perslib.report.run.export_run import BROWSER
from perslib.report.run.methods import find_references
from perslib.report.run.plan import find_studies, numbered_studies, read_notebook
from perslib.report.show import style

ASKING = """
import pandas as pd

from perslib import report
from perslib.corpus import load
from perslib.judge import UserMean, evaluate
from perslib.llm import backbone as model
from perslib.report.show import plots

report.begin(out, language)
means = evaluate(UserMean(), load(corpus))
answers = [model(backbone).ask(word) for word in ["one", "two", "three"]]
table = pd.DataFrame({"answer": [a.text for a in answers], "length": [len(a.text) for a in answers]})
report.answer(f"The mean is {means['raw'].mean():.3f}.")
report.save_verdicts(means, "means")
report.save_table(table, "answers")
fig = plots.points(table, "length", "length", marks="answer")
report.save_figure(fig, "lengths", table)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A workspace with one page, whose model has gone since."""
    folder = tmp_path_factory.mktemp("again")
    with pytest.MonkeyPatch.context() as patch, Endpoint(lambda body: body["messages"][-1]["content"][::-1]) as server:
        (folder / "backbones.toml").write_text(f'[mine]\nbase_url = "{server.base_url}"\nmodel = "m"\n', "utf-8")
        patch.setenv("PERSLIB_HOME", str(folder))
        run_report([written(folder, "asking", ASKING)], backbones="mine")
        asked = len(server.bodies)
    assert asked >= 3
    return folder


@pytest.fixture
def page(home, tmp_path, monkeypatch):
    """A copy of the run on another machine: its folder and the answers, and nobody who answers."""
    monkeypatch.setenv("PERSLIB_HOME", str(tmp_path))
    for name in ("reports", ".perslib", "backbones.toml"):
        (shutil.copytree if (home / name).is_dir() else shutil.copy)(home / name, tmp_path / name)
    return tmp_path / "reports" / "sample-en" / "mine" / "asking"


def verify(page: Path, *options: str):
    return CliRunner().invoke(main, ["verify", str(page), "--yes", *options])


@pytest.mark.kernel
def test_a_run_that_was_copied_verifies_without_its_model(page):
    found = verify(page)
    assert found.exit_code == 0 and "all 6 parts come out the same" in found.output, found.output


@pytest.mark.kernel
@pytest.mark.parametrize("command", ["verify", "figures"])
def test_code_of_strangers_runs_only_on_a_word(home, page, tmp_path, command):
    """Neither in a cell, nor in one that looks like injected parameters; what stands in the workspace's notebooks is no stranger's."""
    ran = tmp_path / "ran"
    stored = page.with_suffix(".ipynb")
    own = nbformat.read(stored, as_version=4)
    found = CliRunner().invoke(main, [command, str(page)])
    assert found.exit_code == 1 and "it may come from anybody" in found.output and "--yes" in found.output
    (tmp_path / "notebooks").mkdir()
    shutil.copy(home / "asking.ipynb", tmp_path / "notebooks")
    for tags in ([], ["injected-parameters"]):
        more = nbformat.v4.new_code_cell(f"open({str(ran)!r}, 'w')", metadata={"tags": tags})
        nbformat.write(nbformat.from_dict({**own, "cells": [*own.cells, more]}), stored)
        found = CliRunner().invoke(main, [command, str(page)])
        assert found.exit_code == 1 and "it may come from anybody" in found.output and not ran.exists()
    nbformat.write(own, stored)
    manifest = page.with_suffix(".json")
    manifest.write_text(manifest.read_text("utf-8").replace('"drawn": {', '"drawn": {"PYTHONSTARTUP": "/x"'), "utf-8")
    found = CliRunner().invoke(main, [command, str(page)])
    assert found.exit_code == 0, found.output


def spoilt(value):
    """Yield the value with each of its parts in turn replaced by something of another type."""
    yield from (None, 5, "a\0b", [1], {"a": 1})
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        for other in spoilt(part):
            changed = copy.copy(value)
            changed[key] = other
            yield changed


@pytest.mark.kernel
@pytest.mark.parametrize("ending", [".json", ".ipynb"])
def test_a_manifest_or_notebook_of_other_types_is_refused_in_a_sentence(page, ending):
    """Whatever stands in them, `methods`, `export` and `verify` end without a traceback; so do a hundred thousand brackets."""
    file = page.with_suffix(ending)
    whole = json.loads(file.read_text("utf-8"))
    if ending == ".ipynb":
        whole["cells"] = whole["cells"][:3]
    else:
        whole |= {"packages": {}, "prompts": {}}
    texts = [json.dumps(value) for value in spoilt(whole)] + ["[" * 100_000, '{"a":' * 100_000]
    for text in texts[:: 1 + len(texts) // 100]:
        file.write_text(text, "utf-8")
        for command in (["methods"], ["export", "--to", "rocrate"], ["verify"]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                done = CliRunner().invoke(main, [command[0], str(page), *command[1:]])
            assert done.exit_code == 0 or isinstance(done.exception, SystemExit), (command, text[:200], done.exception)


@pytest.mark.kernel
def test_what_was_changed_is_named(page):
    table = page.parent / "tables" / "answers.csv"
    table.write_text(table.read_text("utf-8").replace("eno,3", "eno,4"), "utf-8")
    verdicts = next((page.parent / "verdicts").glob("*.parquet"))
    frame = pd.read_parquet(verdicts)
    frame.loc[[0, 5], "raw"] = 1.25
    frame.to_parquet(verdicts)
    (page.parent / "figures" / "lengths.csv").unlink()
    found = verify(page)
    assert found.exit_code == 1, found.output
    assert "tables/answers.csv: differs; length in 1 of 3 rows, by up to 1" in found.output
    assert f"raw in 2 of {len(frame):,} rows" in found.output and "lengths.csv: missing" in found.output
    assert "3 of 6 parts differ" in found.output


@pytest.mark.kernel
def test_an_answer_that_is_gone_is_no_other_number(page):
    shutil.rmtree(page.parents[3] / ".perslib")
    found = verify(page)
    assert found.exit_code == 1 and "is missing" in found.output and "copy .perslib/cache.sqlite" in found.output
    (page.parents[3] / ".perslib").mkdir()
    Cache(page.parents[3] / ".perslib" / "cache.sqlite").connection().close()
    found = verify(page)
    assert found.exit_code == 1 and "answers.csv: differs; answer in 3 of 3 rows" in found.output, found.output


@pytest.mark.kernel
def test_another_corpus_and_a_page_without_its_notebook_are_refused(page):
    found = verify(page, "--corpus", "sample/zh")
    assert found.exit_code == 1 and "is another corpus than" in found.output and "--corpus NAME" in found.output
    found = verify(page, "--corpus", "/gone/mine")
    assert found.exit_code == 1 and "/gone/mine: is not here" in found.output and "--corpus NAME" in found.output
    page.with_suffix(".ipynb").unlink()
    found = verify(page)
    assert found.exit_code == 1 and "copy the whole folder" in found.output


@pytest.mark.kernel
def test_figures_take_another_width_and_style(page, tmp_path):
    own = tmp_path / "paper.mplstyle"
    own.write_text("axes.prop_cycle: cycler('color', ['d55e00'])\n", "utf-8")
    options = ["--yes", "--width", "column", "--formats", "svg", "--style", str(own), "--out", str(tmp_path / "new")]
    found = CliRunner().invoke(main, ["figures", str(page), *options])
    assert found.exit_code == 0 and "3 files" in found.output, found.output
    before, after = (plt.imread(folder / "lengths.png") for folder in (page.parent / "figures", tmp_path / "new"))
    assert after.shape[1] < before.shape[1] * 0.6 and "#d55e00" in (tmp_path / "new" / "lengths.svg").read_text("utf-8")
    assert (tmp_path / "new" / "lengths.csv").read_bytes() == (page.parent / "figures" / "lengths.csv").read_bytes()


@pytest.mark.kernel
def test_methods_of_a_run(page, tmp_path):
    """All that the manifest knows is there, and what it does not know is an open box."""
    (tmp_path / "references.bib").write_text("@misc{own2026,\n  title = {Own}\n}\n", "utf-8")
    notebook = nbformat.read(page.with_suffix(".ipynb"), as_version=4)
    notebook.metadata["perslib"] = {"methods": "Words are turned round.", "cites": ["own2026", "li2021deus"]}
    nbformat.write(notebook, page.with_suffix(".ipynb"))
    found = CliRunner().invoke(main, ["methods", str(page), "--out", str(tmp_path / "methods.md")])
    text = (tmp_path / "methods.md").read_text("utf-8")
    assert found.exit_code == 0 and "Words are turned round. " in text
    assert "The model is m, asked between 20" in text and ": 3 requests, beside 0 answers from the cache" in text
    assert r"`\input{tables/answers.tex}`" in text and r"`\includegraphics{figures/lengths.png}`" in text
    assert all(f"{{{key},\n" in text for key in ("perslib", "own2026", "li2021deus")) and "2103.01287" in text
    assert "wang2026" not in text and "with backbone" not in text and "- [ ] who rated" in text
    assert "digest 241b0abc2fcb" in text and "verify sample-en/mine/asking" in text


@pytest.mark.kernel
@pytest.mark.parametrize("command", [["methods"], ["export", "--to", "rocrate"], ["export", "--to", "inspect"]])
def test_what_is_written_of_a_run_is_none_of_its_files(page, command):
    for file in (page.with_suffix(".json"), page.with_suffix(".html"), page.parent / "tables" / "answers.csv"):
        before = file.read_bytes()
        done = CliRunner().invoke(main, [command[0], str(page), *command[1:], "--out", str(file)])
        assert done.exit_code == 1 and "would be written over" in done.output and file.read_bytes() == before


@pytest.mark.kernel
def test_a_run_goes_to_others(page, tmp_path):
    """Verdicts as CSV; a log of Inspect, with the user's own score as the target; all files in a crate, with their digests."""
    run = CliRunner().invoke
    rows = pd.read_parquet(next((page.parent / "verdicts").glob("*.parquet")))
    assert "verdicts.csv" in run(main, ["export", str(page), "--to", "csv", "--out", str(tmp_path / "rows")]).output
    written = pd.read_csv(tmp_path / "rows" / "verdicts.csv")
    assert len(written) == len(rows) and written["raw"].to_numpy() == pytest.approx(rows["raw"].to_numpy(float))

    assert run(main, ["export", str(page), "--to", "inspect", "--out", str(tmp_path / "log.json")]).exit_code == 0
    log = json.loads((tmp_path / "log.json").read_text("utf-8"))
    turns = load("sample/en").turns.set_index(["user", "scenario", "session", "turn"])
    assert len(log["samples"]) == len(rows) == log["results"]["total_samples"]
    for sample, (_, row) in list(zip(log["samples"], rows.iterrows()))[::50]:
        turn = turns.loc[(row["user"], row["scenario"], row["session"], row["turn"])]
        assert sample["target"] == str(turn["score"]) and sample["input"] == turn["request"]
        assert sample["messages"][1]["content"] == turn["response"]
        assert sample["scores"]["user mean"]["value"] == pytest.approx(row["raw"])
    found = perslib.agree(str(tmp_path / "log.json"), user="metadata.user", label="target")
    assert found.table["judge"].iloc[0].startswith("scores.user mean") and len(found.verdicts) >= len(rows)

    assert run(main, ["export", str(page), "--to", "rocrate", "--out", str(tmp_path / "run.zip")]).exit_code == 0
    with zipfile.ZipFile(tmp_path / "run.zip") as crate:
        graph = {e["@id"]: e for e in json.loads(crate.read("ro-crate-metadata.json"))["@graph"]}
        parts = {part["@id"] for part in graph["./"]["hasPart"]}
        assert parts | {"ro-crate-metadata.json"} == set(crate.namelist()) and {"asking.ipynb", "asking.json"} < parts
        own = crate.read("tables/answers.csv")
    assert graph["tables/answers.csv"]["sha256"] == hashlib.sha256(own).hexdigest()
    assert graph["ro-crate-metadata.json"]["about"] == {"@id": "./"}


@pytest.mark.browser
@pytest.mark.kernel
def test_a_page_is_printed(page, tmp_path, monkeypatch):
    found = CliRunner().invoke(main, ["export", str(page), "--to", "pdf", "--out", str(tmp_path / "page.pdf")])
    assert found.exit_code == 0, found.output
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    monkeypatch.setenv(BROWSER, "no-such-browser")
    found = CliRunner().invoke(main, ["export", str(page), "--to", "pdf"])
    assert found.exit_code == 1 and "There is no no-such-browser to print with" in found.output


def test_all_studies_say_what_they_do_and_cite_what_is_known():
    for study in [*numbered_studies(), *find_studies("compare")]:
        about = read_notebook(study.path).metadata["perslib"]
        assert about["methods"].endswith(".") and len(find_references(about["cites"])) == len(about["cites"])
    with pytest.raises(UnknownName, match="reference"):
        find_references(["nobody1900"])


def test_frames_are_the_same_to_a_rounding():
    frame = pd.DataFrame({"r": [0.5, np.nan, 0.25], "who": ["a", None, "b"], "seconds": [1.0, 2.0, 3.0]})
    assert compare_frames(frame, frame.assign(r=frame["r"] + 1e-9, seconds=9.0)) == (SAME, "")
    assert compare_frames(frame, frame.assign(r=[0.5, 1.0, 0.25]))[0] == OTHER
    assert compare_frames(frame, frame.assign(who=["a", "c", "b"])) == (OTHER, "who in 1 of 3 rows")
    assert "other columns: who" in compare_frames(frame, frame.drop(columns="who"))[1]
    assert "3 rows in the run, 2 now" in compare_frames(frame, frame.head(2))[1]
    assert DRAWN not in (SAME, OTHER)


def test_a_style_is_followed_and_left_again(tmp_path, monkeypatch):
    before, file = list(style.CATEGORIES), tmp_path / "own.mplstyle"
    file.write_text("font.family: serif\naxes.prop_cycle: cycler('color', ['111111', '222222'])\n", "utf-8")
    monkeypatch.setenv(style.STYLE_VARIABLE, str(file))
    style.figure_style()
    assert mpl.rcParams["font.family"][:2] == ["serif", "DejaVu Sans"] and style.CATEGORIES == ["#111111", "#222222"]
    file.write_text("font.size: huge\n", "utf-8")
    with pytest.raises(DataError, match="Could not convert 'huge'"):
        style.figure_style()
    monkeypatch.delenv(style.STYLE_VARIABLE)
    style.figure_style()
    assert before == style.CATEGORIES and mpl.rcParams["font.family"][0] == "DejaVu Sans"
