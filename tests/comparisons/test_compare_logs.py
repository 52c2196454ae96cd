"""Two logs of another tool, paired on the items that both have: what moved, how sure it is, and what was left out."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from perslib.cli import main
from perslib.comparisons.logs import compare_logs
from perslib.errors import DataError, NotEnough


def make_logs(topics=16, each=6, gain=0.2, epochs=1, seed=3):
    """Two logs: the second is correct more often, its style the same; topics differ in how hard they are."""
    rng = np.random.default_rng(seed)
    hard = rng.uniform(0.2, 0.7, topics)
    logs = [
        [
            {
                "sample_id": f"s{t}-{k}", "topic": f"t{t}", "epoch": epoch,
                "correct": bool(rng.random() < hard[t] + second * gain), "style": int(rng.integers(1, 6)),
            }
            for t in range(topics) for k in range(each) for epoch in range(1, epochs + 1)
        ]
        for second in (False, True)
    ]  # fmt: skip
    return [pd.DataFrame(log) for log in logs]


def test_what_moved_is_told_from_what_did_not():
    before, after = make_logs()
    found = compare_logs(before, after, by="topic")
    table = found.table.set_index("metric")
    mean = after.set_index("sample_id")["correct"] - before.set_index("sample_id")["correct"].astype(int)
    assert set(table.index) == {"correct", "style"} and set(table["units"]) == {16} and set(table["items"]) == {96}
    assert table.loc["correct", "difference"] == pytest.approx(
        mean.groupby(before.set_index("sample_id")["topic"]).mean().mean()
    )
    assert table.loc["correct", "difference_low"] > 0 > table.loc["style", "difference_low"]
    assert table.loc["correct", "higher"] - table.loc["correct", "lower"] == mean.sum()
    assert table.loc["correct", "difference_p_holm"] == pytest.approx(2 * table.loc["correct", "difference_p"])
    assert found.answer.startswith("correct is higher in the second log") and "style is not shown" in found.answer
    assert not any("open: style" in note for note in found.notes), "sixteen topics do not foretell how many would tell"
    (note,) = [n for n in compare_logs(*make_logs(topics=40), by="topic").notes if n.startswith("open: style")]
    assert "between" in note or "or many more" in note
    unnamed = compare_logs(before.drop(columns="topic"), after.drop(columns="topic"))
    assert "correct is not shown to be higher or lower" in unnamed.answer and "--by FIELD" in unnamed.answer
    alone = compare_logs(before, after, by="sample_id")
    assert alone.answer.startswith("correct is higher")


def test_order_of_rows_and_types_of_names_make_no_difference():
    before, after = make_logs()
    names = {name: k for k, name in enumerate(before["sample_id"])}
    numbered = [log.assign(sample_id=log["sample_id"].map(names)) for log in (before, after)]
    shuffled = numbered[1].sample(frac=1, random_state=1).assign(sample_id=lambda log: log["sample_id"].astype(str))
    own = compare_logs(*numbered, by="topic", metrics=["correct"]).table
    pd.testing.assert_frame_equal(own, compare_logs(numbered[0], shuffled, by="topic", metrics=["correct"]).table)


def test_items_of_one_log_alone_and_rows_of_one_item_are_named():
    before, after = make_logs(epochs=3)
    found = compare_logs(before, after[after["sample_id"] != "s0-0"], by="topic", metrics=["correct"])
    assert "up to 3 rows of an item are averaged" in " ".join(found.notes)
    assert "1 items of the first log are not in the other" in " ".join(found.notes) and found.table["items"][0] == 95


def test_words_are_read_on_one_scale_of_both():
    """A log in which every answer is wrong is on the scale of the other."""
    before, after = make_logs()
    before["verdict"], after["verdict"] = "I", np.where(after["correct"], "C", "I")
    row = compare_logs(before, after, by="topic", metrics=["verdict"]).table.iloc[0]
    assert row["first"] == 0 and row["second"] == pytest.approx(after["correct"].mean())


def test_every_number_of_both_logs_is_a_result_or_named_as_left_out():
    before, after = make_logs()
    rng = np.random.default_rng(0)
    for log in (before, after):
        log["helpfulness"], log["score_0"] = rng.normal(size=(2, len(log)))
        log["tokens"] = rng.integers(100, 900, len(log))
    found = compare_logs(before, after, by="topic")
    assert set(found.table["metric"]) == {"correct", "style", "helpfulness", "score_0"}
    assert any("left out" in note and "epoch" not in note and "tokens" in note for note in found.notes), found.notes


def test_what_cannot_be_paired_is_refused():
    before, after = make_logs()
    with pytest.raises(NotEnough, match="nothing is paired"):
        compare_logs(before, after.assign(sample_id="other " + after["sample_id"]))
    with pytest.raises(DataError, match="not a field of both logs"):
        compare_logs(before, after, by="user")
    with pytest.raises(DataError, match="no field that both logs have names the item"):
        compare_logs(before[["correct"]], after[["correct"]])


def write_eval(path, log):
    """Write a log as Inspect does: a ZIP of samples, in which scores are letters."""
    with zipfile.ZipFile(path, "w") as whole:
        whole.writestr("header.json", json.dumps({"eval": {"task": "made"}}))
        for row in log.to_dict("records"):
            sample = {
                "id": row["sample_id"], "epoch": row["epoch"], "input": "Which?", "metadata": {"topic": row["topic"]},
                "scores": {"match": {"value": "C" if row["correct"] else "I"}},
            }  # fmt: skip
            whole.writestr(f"samples/{row['sample_id']}_epoch_{row['epoch']}.json", json.dumps(sample))
    return str(path)


def test_the_command_compares_logs_of_inspect(tmp_path):
    paths = [write_eval(tmp_path / f"{k}.eval", log) for k, log in enumerate(make_logs())]
    found = CliRunner().invoke(main, ["compare", *paths, "--by", "metadata.topic"])
    assert found.exit_code == 0, found.output
    assert "is higher in the second log" in found.output and "96 items of 16 clusters" in found.output
    refused = CliRunner().invoke(main, ["compare", "sample-en/a", "sample-en/b", "--by", "topic"])
    assert refused.exit_code == 2 and "two logs of another tool" in refused.output
