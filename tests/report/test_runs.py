"""Runs as data: what was rendered, its verdicts, and the notebook as it ran."""

from __future__ import annotations

import nbformat
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_notebook

import perslib
from perslib.corpus import load
from perslib.errors import NotEnough
from perslib.report import run_report

PARAMETERS = 'corpus = ""\nbackbone = ""\nlanguage = "en"\nseed = 42\nout = ""'
JUDGING = """
from perslib import report
from perslib.corpus import load
from perslib.judge import evaluate, UserMean
from perslib.studies import shared

report.begin(out, language)
verdicts = evaluate(UserMean(), load(corpus))
report.say(shared.describe_judgments(verdicts), counted=shared.count_judgments(verdicts))
report.answer("Means are means.")
report.save_verdicts(verdicts, "means")
report.save_replies(load(corpus).turns[["user", "response"]], "said")
"""


def written(folder, name, *code):
    cells = [new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}), *map(new_code_cell, code)]
    nbformat.write(new_notebook(cells=cells), folder / f"{name}.ipynb")
    return folder / f"{name}.ipynb"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    run_report([written(folder, "means", JUDGING), written(folder, "other", "print(seed)")], out=folder / "pages")
    return folder / "pages"


@pytest.mark.kernel
def test_runs_are_a_frame(root):
    found = perslib.list_runs(root).set_index("notebook")
    assert list(found.index) == ["means", "other"]
    page = found.loc["means"]
    assert (page["corpus"], page["backbone"], page["status"], page["seed"]) == ("sample/en", "none", "success", 42)
    assert page["answer"] == "Means are means." and page["calls"] == 0 and page["page"].is_file()
    assert found.loc["other", "verdicts"] == []


@pytest.mark.kernel
def test_verdicts_of_a_run(root):
    found = perslib.list_runs(root)
    verdicts = perslib.verdicts(found)
    page = found[found["notebook"] == "means"].iloc[0]
    assert perslib.verdicts(page).equals(verdicts)
    assert len(verdicts) == page["judgments"] > 0 and verdicts["raw"].isna().sum() == page["unscored"]
    assert set(verdicts["table"]) == {"means"} and {"user", "turn", "judge", "raw", "asked"} <= set(verdicts)
    with pytest.raises(NotEnough, match="pages 01 to 04, 09 and 12 do"):
        perslib.verdicts(found[found["notebook"] == "other"])


@pytest.mark.kernel
def test_replies_of_a_run(root):
    found = perslib.list_runs(root)
    replies = perslib.replies(found)
    assert len(replies) == len(load("sample/en").turns) and replies["response"].notna().any()
    assert set(replies["table"]) == {"said"}
    with pytest.raises(NotEnough, match="page 04 does"):
        perslib.replies(found[found["notebook"] == "other"])


@pytest.mark.kernel
def test_the_notebook_as_it_ran_can_be_opened_and_run_again(root):
    page = perslib.list_runs(root).set_index("notebook").loc["means"]
    notebook = nbformat.read(page["executed"], as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code[-1].outputs
    given = next(cell.source for cell in code if "injected-parameters" in cell.metadata.tags)
    assert f'out = "{page["page"].parent}"' in given and "sample/en" in given
    before = perslib.verdicts(perslib.list_runs(root))
    page["verdicts"][0].unlink()
    exec("\n".join(cell.source for cell in code), {})
    assert perslib.verdicts(perslib.list_runs(root)).equals(before)


def test_no_run_is_an_empty_frame(tmp_path):
    found = perslib.list_runs(tmp_path)
    assert found.empty and isinstance(found, pd.DataFrame) and "answer" in found
