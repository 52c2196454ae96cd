"""Saving, loading, finding and importing corpora."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys

import pandas as pd
import pytest
from made import GIFT, TRAVEL, simple_session, tiny_corpus, write_release

from perslib.corpus import import_release, load, save
from perslib.errors import DataError, UnknownName


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("PERSLIB_HOME", str(tmp_path / "my work"))
    return tmp_path / "my work"


def test_parquet_gives_everything_back_unchanged(tmp_path):
    corpus = tiny_corpus()
    again = load(save(corpus, tmp_path / "tiny"))
    for name in ("users", "sessions", "turns", "events"):
        pd.testing.assert_frame_equal(getattr(again, name), getattr(corpus, name))
    pd.testing.assert_frame_equal(again.extras["truth"], corpus.extras["truth"])
    assert (again.name, again.language, again.meta, again.digest) == ("tiny", "en", corpus.meta, corpus.digest)


def test_saving_twice_writes_the_same_bytes(tmp_path):
    first, second = save(tiny_corpus(), tmp_path / "a"), save(tiny_corpus(), tmp_path / "b")
    for file in first.iterdir():
        assert file.read_bytes() == (second / file.name).read_bytes(), file.name


def test_names_are_looked_up_in_the_workspace(workspace):
    save(tiny_corpus(), workspace / "data" / "mine")
    assert load("mine").name == "tiny"
    with pytest.raises(UnknownName, match=r"no corpus called 'mime'\. Did you mean mine"):
        load("mime")


def test_a_corpus_in_two_languages_asks_which(workspace):
    for language in ("en", "zh"):
        save(dataclasses.replace(tiny_corpus(), language=language), workspace / "data" / "both" / language)
    with pytest.raises(DataError, match="both/en, both/zh"):
        load("both")
    assert load("both", language="zh").name == "tiny"
    assert load("both/en").name == "tiny"
    assert load("both/en", language="zh").language == "en", "it chooses only where there is a choice"


def test_import_writes_parquet_and_what_was_rejected(workspace, tmp_path):
    release = write_release(
        tmp_path / "release", {("User_0", GIFT, "0"): simple_session(), ("User_0", TRAVEL, "0"): simple_session("8")}
    )
    with pytest.raises(DataError):
        import_release("persturnbench", release)
    assert not (workspace / "data").exists(), "a refused import leaves nothing behind"
    done = import_release("persturnbench", release, skip_bad=True)
    assert done.folder == workspace / "data" / "persturnbench"
    assert load("persturnbench").digest == done.corpus.digest
    (rejected,) = [json.loads(line) for line in (done.folder / "rejected.jsonl").read_text("utf-8").splitlines()]
    assert "expected 1–5" in rejected["reason"] and rejected["record"]["chat_model"] == "m"


def test_a_clean_import_takes_an_old_reject_list_away(workspace, tmp_path):
    file = tmp_path / "mine.jsonl"
    row = {"user": "u", "request": "q", "response": "r"}
    file.write_text(json.dumps(row) + "\n" + json.dumps({**row, "user": "v", "score": 9}) + "\n")
    folder = import_release("table", file, skip_bad=True).folder
    assert (folder / "rejected.jsonl").exists()
    file.write_text(json.dumps(row) + "\n")
    import_release("table", file)
    assert not (folder / "rejected.jsonl").exists()


def test_what_cannot_be_a_corpus_is_said_plainly(workspace, tmp_path):
    with pytest.raises(UnknownName, match="kind of corpus called 'persturn'"):
        import_release("persturn", tmp_path)
    with pytest.raises(DataError, match="does not exist"):
        import_release("persturnbench", tmp_path / "nowhere")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(DataError, match="is empty"):
        import_release("table", tmp_path / "empty.csv")
    (tmp_path / "odd.bin").write_text("x")
    with pytest.raises(DataError, match="is no corpus that perslib knows by its looks"):
        load(tmp_path / "odd.bin")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "rows.csv").write_text("user,request,response\nu,q,r\n")
    with pytest.raises(DataError, match=r"Give the path of what it holds: rows.csv \(table\)"):
        load(tmp_path / "mine")


def test_a_damaged_folder_is_named(tmp_path):
    folder = save(tiny_corpus(), tmp_path / "tiny")
    (folder / "turns.parquet").write_bytes(b"nonsense")
    with pytest.raises(DataError, match=r"turns.parquet: is not the file that corpus.json was written with"):
        load(folder)
    card = json.loads((folder / "corpus.json").read_text("utf-8"))
    del card["files"]  # as earlier versions wrote it
    (folder / "corpus.json").write_text(json.dumps(card), "utf-8")
    with pytest.raises(DataError, match=r"turns.parquet: is no readable Parquet file"):
        load(folder)
    (folder / "turns.parquet").unlink()
    with pytest.raises(DataError, match=r"turns.parquet: is missing"):
        load(folder)


def test_an_imported_name_goes_before_a_folder_of_that_name(workspace, tmp_path, monkeypatch):
    save(tiny_corpus(), workspace / "data" / "mine")
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    assert load("mine").name == "tiny"
    with pytest.raises(DataError, match="is no corpus that perslib knows"):
        load(f".{os.sep}mine")


def test_a_damaged_card_is_named(tmp_path):
    folder = save(tiny_corpus(), tmp_path / "tiny")
    (folder / "corpus.json").write_text("{")
    with pytest.raises(DataError, match=r"corpus.json: is damaged"):
        load(folder)
    (folder / "corpus.json").write_text('{"format": 1}')
    with pytest.raises(DataError, match="has no extras, language, meta, name"):
        load(folder)


def test_half_a_corpus_is_not_left_behind(tmp_path):
    corpus = tiny_corpus()
    mixed = dataclasses.replace(corpus, turns=corpus.turns.assign(odd=[1, "a", None, {}, 2.5]))
    with pytest.raises(DataError, match="tiny: turns: cannot be stored"):
        save(mixed, tmp_path / "tiny")
    assert not (tmp_path / "tiny").exists()


@pytest.mark.parametrize("name", ["../evil", "sample/en", "/somewhere"])
def test_names_stay_inside_data(workspace, tmp_path, name):
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps({"user": "u", "request": "q", "response": "r"}))
    with pytest.raises(DataError, match="cannot be the name of a corpus"):
        import_release("table", file, name=name)


def table(path, user):
    path.write_text(json.dumps({"user": user, "request": "q", "response": "r"}))
    return path


@pytest.mark.process
def test_an_import_that_is_killed_leaves_no_mixture(workspace, tmp_path):
    """Killed as `kill -9` does, before each file that is put in its place."""
    import_release("table", table(tmp_path / "a.jsonl", "old"), "mine")
    table(tmp_path / "b.jsonl", "new")
    program = """
import os, pathlib, sys
from perslib.corpus import import_release
moves, move = int(sys.argv[1]), pathlib.Path.replace
def killed(self, to):
    global moves
    if moves == 0:
        os.kill(os.getpid(), 9)
    moves -= 1
    return move(self, to)
pathlib.Path.replace = killed
import_release("table", pathlib.Path(sys.argv[2]), "mine")
"""
    for moves in range(6):
        command = [sys.executable, "-c", program, str(moves), str(tmp_path / "b.jsonl")]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            break
        assert done.returncode == -9, done.stderr
        if moves in (0, 4):  # nothing is moved before all is written; the empty events are the same in both
            assert load("mine").users["user"].tolist() == ["new" if moves else "old"]
        else:
            with pytest.raises(DataError, match=r"is not the file that corpus\.json was written with"):
                load("mine")
    assert moves == 5 and load("mine").users["user"].tolist() == ["new"]


@pytest.mark.process
def test_a_full_disk_leaves_the_older_corpus(workspace, tmp_path):
    """Files of a process may have so many bytes and no more: the last of the frames does not fit."""
    folder = import_release("table", table(tmp_path / "a.jsonl", "old"), "mine").folder
    (tmp_path / "b.jsonl").write_text(
        "".join(json.dumps({"user": "new", "request": f"q{i}", "response": f"{i * i}"}) + "\n" for i in range(9_999))
    )
    program = """
import pathlib, resource, signal, sys
from perslib.corpus import import_release
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
import_release("table", pathlib.Path(sys.argv[1]), "mine")
"""
    command = [sys.executable, "-c", program, str(tmp_path / "b.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "DataError" in done.stderr and "cannot be written: File too large" in done.stderr
    assert list(load("mine").users["user"]) == ["old"]
    assert not list(folder.glob("*.new"))


def test_what_is_imported_is_not_written_over(workspace, tmp_path):
    rows = pd.DataFrame({"user": ["u"] * 4, "request": list("abcd"), "response": list("efgh"), "score": [1, 2, 3, 4]})
    (tmp_path / "mine").mkdir()
    file = tmp_path / "mine" / "rejected.jsonl"
    rows.to_json(file, orient="records", lines=True)
    before = file.read_bytes()
    with pytest.raises(DataError, match=r"rejected\.jsonl: lies in .*mine, which would be written anew"):
        import_release("table", file, out=tmp_path / "mine")
    assert file.read_bytes() == before
