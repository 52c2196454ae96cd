"""Replay sets in files: read as they were saved, and whatever is wrong told with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from histories import corpus_of

from perslib.corpus import TURN, Corpus
from perslib.errors import DataError
from perslib.replay import read_turns, stratified_set


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    rows = [
        (user, scenario, "07", f"wish {i}", f"reply {i}", 4)
        for user in ("a", "b,c")
        for scenario in ("trip", "gift")
        for i in range(4)
    ]
    return corpus_of(rows)


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, "utf-8")
    return file


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_set_comes_back_as_it_was_saved(corpus: Corpus, tmp_path: Path, kind: str) -> None:
    drawn = stratified_set(corpus, 5, split=None)
    file = tmp_path / f"turns.{kind}"
    if kind == "csv":
        drawn.to_csv(file, index=False)
    else:
        drawn.to_json(file, orient="records", lines=True)
    pd.testing.assert_frame_equal(read_turns(file, corpus), drawn, check_exact=False)


def test_turns_by_their_published_names(corpus: Corpus, tmp_path: Path) -> None:
    lines = '{"sample_id": "a__trip__07.json__turn_2"}\n\n{"user": "b,c", "target_task": "trip", "target_file": "07.json", "turn_idx": 0}\n'
    found = read_turns(written(tmp_path, "turns.jsonl", lines), corpus)
    assert found[TURN].to_numpy().tolist() == [["a", "trip", "07", 2], ["b,c", "trip", "07", 0]]
    assert found["inclusion"].isna().all()


HEAD = "user,scenario,session,turn,inclusion\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("user,scenario,turn\na,trip,1\n", ["turns.csv:1: has no column session"]),
        (HEAD + "a,trip,07,9,\n", ["turns.csv:2: a__trip__07.json__turn_9 is not in the corpus"]),
        (HEAD + "a,trip,07,1,\na,trip,07,1,\n", ["turns.csv:2: stands again in turns.csv:3"]),
        (HEAD + "a,trip,07,last,\n", ['turns.csv:2: turn is "last", expected a whole number']),
        (HEAD + "a,trip,,1,\n", ["turns.csv:2: session is missing, expected a name (target_file or session)"]),
        (HEAD + "a,trip,07,1\n", ["turns.csv:2: has another number of fields"]),
        (HEAD + "a,trip,07,1,0.5\na,trip,07,2,\n", ["turns.csv: 1 lines have no inclusion"]),
        (HEAD + "a,trip,07,1,1.5\na,trip,07,2,nan\n", ["turns.csv:2: inclusion is 1.5, expected", 'turns.csv:3: inclusion is "nan", expected']),
        (HEAD, ["turns.csv: holds no line"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_line_and_remedy(corpus: Corpus, tmp_path: Path, text: str, told: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        read_turns(written(tmp_path, "turns.csv", text), corpus)
    assert [str(p)[: len(t)] for p, t in zip(caught.value.problems, told, strict=True)] == told
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"user": "\ud83d"}, "user holds half a character"),
        ({"turn": 10**400}, 'turn is "1000'),
        ({"turn": "9" * 5000}, 'turn is "9999'),
        ({"inclusion": 10**400}, "inclusion is a whole number of 401 digits"),
    ],
)
def test_what_no_table_can_hold_is_told_with_its_line(
    corpus: Corpus, tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    turn = {"user": "a", "scenario": "trip", "session": "07", "turn": 1}
    with pytest.raises(DataError) as caught:
        read_turns(written(tmp_path, "turns.jsonl", json.dumps(turn | change)), corpus)
    said = str(caught.value).encode().decode()
    assert said.startswith(f"turns.jsonl:1: {told}") and len(said) < 400


def test_broken_lines_and_files_of_another_kind(corpus: Corpus, tmp_path: Path) -> None:
    lines = '{"user": "a"\n[1]\n{"user": "a", "scenario": "trip", "turn": 1}\n'
    with pytest.raises(DataError) as caught:
        read_turns(written(tmp_path, "turns.jsonl", lines), corpus)
    assert [p.place for p in caught.value.problems] == ["turns.jsonl:1", "turns.jsonl:2", "turns.jsonl:3"]
    with pytest.raises(DataError, match="is no file"):
        read_turns(tmp_path / "missing.csv", corpus)
