"""Parquet files read by and by give what pandas reads at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from perslib.corpus import coerce
from perslib.corpus.files import parquet
from perslib.corpus.files.parquet import GrowingFrame, read_frame

ROWS = 53
FRAME = pd.DataFrame(
    {
        "text": pd.Series([None if i % 5 == 0 else "寿司 🍣\0" * (i % 4) for i in range(ROWS)], dtype="str"),
        "whole": pd.Series([f"row {i}" for i in range(ROWS)], dtype="str"),
        "number": pd.Series([None if i % 7 == 0 else i for i in range(ROWS)], dtype="Int64"),
        "real": np.linspace(0, 1, ROWS),
        "yes": pd.Series([None, True, False, *[True] * (ROWS - 3)], dtype="boolean"),
        "when": pd.to_datetime(["2026-01-31 18:30:00", None, *["2026-02-01 09:00:00"] * (ROWS - 2)]).as_unit("us"),
        "kind": pd.Categorical([["a", "b"][i % 2] for i in range(ROWS)]),
        "said": [None, [], *[[f"{i}", "x" * i] for i in range(ROWS - 2)]],
        "marks": [[i, i + 1] for i in range(ROWS)],
        "nothing": [None] * ROWS,
    }
)
TEXTS = ["text", "whole"]
LISTS = ["said", "marks"]


@pytest.fixture(params=[(4, 1000), (1000, 10), (7, 9), (1000, 1000)])
def file(request, tmp_path, monkeypatch):
    """The frame in row groups of so many, read so many rows at a time."""
    read, stored = request.param
    monkeypatch.setattr(parquet, "ROWS", read)
    FRAME.to_parquet(tmp_path / "frame.parquet", row_group_size=stored, index=False)
    return tmp_path / "frame.parquet"


def test_read_by_and_by_it_is_what_pandas_reads_at_once(file):
    mine, theirs = read_frame(file), pd.read_parquet(file)
    assert list(mine) == list(theirs)
    pd.testing.assert_frame_equal(mine.drop(columns=LISTS), theirs.drop(columns=LISTS))
    assert mine["said"].tolist() == [(), (), *[(f"{i}", "x" * i) for i in range(ROWS - 2)]]
    assert mine["marks"].tolist() == [(i, i + 1) for i in range(ROWS)]


def test_texts_lie_in_one_piece_of_the_size_they_have(file):
    mine = read_frame(file)
    for name in TEXTS:
        (texts,) = mine[name].array.__arrow_array__().chunks
        said = sum(len(text.encode()) for text in FRAME[name].dropna())
        assert texts.get_total_buffer_size() <= said + 8 * (ROWS + 1) + ROWS // 8 + 1
        assert texts.validate(full=True) is None
    assert mine.iloc[[3, 50, 3]]["text"].tolist() == FRAME["text"].iloc[[3, 50, 3]].tolist()


def test_a_file_without_rows_keeps_its_columns(tmp_path):
    FRAME.head(0).to_parquet(tmp_path / "none.parquet", index=False)
    mine = read_frame(tmp_path / "none.parquet")
    assert len(mine) == 0 and list(mine) == list(FRAME)
    assert mine["text"].dtype == "str" and mine["number"].dtype == "Int64"


def test_short_texts_of_arrow_are_read_too(tmp_path):
    """Other programs write texts with offsets of 32 bits, and no word of pandas."""
    table = pa.table({"user": pa.array(["ann", None, "bo"], pa.string()), "profile": ["{}", "{}", "{}"]})
    pq.write_table(table, tmp_path / "users.parquet")
    mine = read_frame(tmp_path / "users.parquet")
    pd.testing.assert_frame_equal(mine, pd.read_parquet(tmp_path / "users.parquet"))
    assert coerce(mine.dropna(), "users")["user"].tolist() == ["ann", "bo"]


def test_a_frame_that_grows_is_the_frames_joined():
    whole = FRAME.drop(columns=LISTS)
    parts = [whole.iloc[:0], whole.iloc[:7], whole.iloc[7:8], pd.concat([whole.iloc[8:20], whole.iloc[20:]])]
    growing = GrowingFrame()
    for part in parts:
        growing.add(part)
    grown = growing.frame()
    pd.testing.assert_frame_equal(grown, whole)
    assert all(grown[name].array.__arrow_array__().num_chunks == 1 for name in TEXTS)
