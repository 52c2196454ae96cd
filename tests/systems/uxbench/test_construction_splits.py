"""Drawing cases with known chances, equal distributions, and windows in time."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from uxbench_made import judged, to_answer

from perslib.cli import main
from perslib.corpus import load
from perslib.errors import DataError
from perslib.systems.uxbench.construction import (
    count_unused,
    dimension_shares,
    sample_cases,
    sample_matched_cases,
    split_statistics,
    splits,
    systematic,
)
from perslib.systems.uxbench.construction.splits import add_bins

RNG = np.random.default_rng(7)


def cases(n, sides=("bad",), **columns):
    """Cases as the construction gives them, as far as drawing needs them."""
    frame = pd.DataFrame(
        {
            "case": [f"c{i}" for i in range(n)],
            "talk": [f"t{i}" for i in range(n)],
            "side": [sides[i % len(sides)] for i in range(n)],
            "dimension": [("verbosity", "factual_error", "factual_error")[i % 3] for i in range(n)],
            "scenario": [("entertainment", "decision_support")[i % 2] for i in range(n)],
            "query": ["word " * (1 + i % 40) for i in range(n)],
            "reply": [" ".join(f"w{(i * 31 + k * 7) % 997}" for k in range(30)) for i in range(n)],
            "history": [()] * n,
            "asked_at": [f"2026-{1 + i % 6:02d}-10 09:00:00" for i in range(n)],
            "complaint": ["That is wrong." if i % 4 == 0 else "" for i in range(n)],
            "signals": [("complain",) if i % 4 == 0 else ("dislike",) if i % 4 == 1 else ("skim",) for i in range(n)],
        }
    )
    return frame.assign(**columns)


# -- chances -----------------------------------------------------------------------------------------------


def test_draws_have_the_chances_that_are_said():
    cells, counts = pd.Series([0, 0, 0, 1, 1, 1, 1]), np.zeros(7)
    for _ in range(4_000):
        drawn = systematic(cells, 3, RNG)
        assert len(set(drawn.tolist())) == 3
        counts[drawn] += 1
    assert counts / 4_000 == pytest.approx(3 / 7, abs=0.03)
    assert systematic(cells, 7, RNG).tolist() == list(range(7)) and not len(systematic(cells, 0, RNG))


def test_cells_get_what_is_their_due_rounded_up_or_down():
    cells = pd.Series([0] * 10 + [1] * 25 + [2] * 5)
    seen = set()
    for _ in range(200):
        drawn = cells.iloc[systematic(cells, 10, RNG)].value_counts()
        seen |= {(cell, int(drawn.get(cell, 0))) for cell in (0, 1, 2)}
    assert seen == {(0, 2), (0, 3), (1, 6), (1, 7), (2, 1), (2, 2)}


# -- samples -----------------------------------------------------------------------------------------------


def test_a_sample_is_seeded_and_its_chances_sum_to_the_population():
    pool = cases(300)
    drawn = sample_cases(pool, 60)
    assert drawn.equals(sample_cases(pool, 60)) and drawn["case"].is_unique
    assert not drawn["case"].equals(sample_cases(pool, 60, seed=1)["case"])
    assert drawn["dimension"].value_counts().to_dict() == {"factual_error": 40, "verbosity": 20}
    assert drawn["inclusion"].tolist() == pytest.approx([60 / 300] * 60)
    assert (1 / drawn["inclusion"]).sum() == pytest.approx(300)  # Horvitz–Thompson of the population's size
    assert len(sample_cases(pool, 1000)) == 300 and not len(sample_cases(pool.iloc[:0], 5))


def test_a_session_gives_one_case_and_its_chance_says_so():
    pool = cases(30, talk=[f"t{i // 3}" for i in range(30)], dimension="verbosity")
    drawn = sample_cases(pool, 5)
    assert drawn["talk"].is_unique and drawn["inclusion"].tolist() == pytest.approx([0.5 / 3] * 5)
    often = sum((sample_cases(pool, 5, seed=s)["case"] == "c0").sum() for s in range(60))
    assert often / 60 == pytest.approx(0.5 / 3, abs=0.13)


def test_matched_sides_are_alike_in_length_and_place():
    pool = cases(200, sides=("bad", "good"))
    pool.loc[pool["side"] == "good", "query"] += "word " * 20  # good requests are longer
    pool["history"] = [({"turn_index": 0, "role": "user", "content": "x"},) * (i // 2 % 4) for i in range(200)]
    drawn = sample_matched_cases(pool, 30)
    table = drawn.groupby(["length", "rounds", "side"]).size().unstack("side")
    assert (table["bad"] == table["good"]).all() and len(drawn) == 60
    # Chances are known: weighed by them, draws estimate how many cases of a side lie in cells that both sides have.
    found = [(1 / one["inclusion"]).sum() for one in (sample_matched_cases(pool, 30, seed=s) for s in range(60))]
    sizes = add_bins(pool).groupby(["length", "rounds", "side"]).size().unstack("side")
    assert np.mean(found) == pytest.approx(sizes.dropna().to_numpy().sum(), rel=0.05)


def test_sides_can_be_matched_by_one_column():
    pool = cases(100, sides=("bad", "good"))
    pool.loc[pool["side"] == "good", "query"] += "word " * 20
    pool.loc[pool.index[:40], "query"] = "short"
    pool["history"] = [()] * len(pool)
    drawn = sample_matched_cases(pool, 10, by=("length",))
    table = drawn.groupby(["length", "side"]).size().unstack("side")
    assert (table["bad"] == table["good"]).all() and len(drawn) == 20


def test_splits_share_no_session_and_keep_the_proportions_of_the_release():
    pool = cases(400, sides=("bad", "good"))
    pool["history"] = [()] * 400
    pool["talk"] = [f"t{i // 2}-{s}" for i, s in enumerate(pool["side"])]
    made = splits(pool)
    sizes = {name: len(one) for name, one in made.items()}
    assert sizes["task1_judge_bad"] == sizes["task1_judge_good"] == 32 and sizes["task3_recovery"] == 16
    bad = pd.concat([made[n] for n in ("task1_judge_bad", "task2_eval", "task3_recovery")])
    assert bad["case"].is_unique
    assert made["task3_recovery"]["complaint"].ne("").all()
    assert made["task2_eval"]["signals"].isin([("complain",), ("dislike",)]).all()
    asked = splits(pool, {"task1_judge_bad": 5, "task1_judge_good": 9})
    assert {n: len(one) for n, one in asked.items()} == {
        "task1_judge_bad": 5, "task1_judge_good": 5, "task2_eval": 0, "task3_recovery": 0,
    }  # fmt: skip
    with pytest.raises(DataError, match="0 or more"):
        splits(pool, {"task2_eval": -1})


def test_imported_splits_are_described_beside_the_published_numbers(tmp_path, monkeypatch):
    monkeypatch.setenv("PERSLIB_HOME", str(tmp_path))
    bad = [judged(i, -1, failure_dimension=("冗余啰嗦", "verbosity", "no such")[i % 3]) for i in range(3)]
    files = {"uxbench_task1_judge_bad_1k": bad, "uxbench_task2_eval_4900": [to_answer(0)]}
    folder = tmp_path / "given"
    folder.mkdir()
    for name, records in files.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records), "utf-8")
    done = CliRunner().invoke(main, ["import", "uxbench", str(folder), "--name", "mine"])
    assert done.exit_code == 0 and "Table 2" in done.output and "Table 7" in done.output, done.output
    cases = load("mine").extras["cases"]
    table = split_statistics(cases).set_index("split")
    one = table.loc["judge_bad"]
    assert (one["instances"], one["instances_published"], one["multi_turn_published"]) == (3, 1000, 71.3)
    assert one["multi_turn"] == pytest.approx(100 / 3) and one["turns"] == pytest.approx(4 / 3)
    assert one["query_characters"] == pytest.approx(cases["query"][:3].str.len().mean())
    assert np.isnan(table.loc["eval", "response_characters"]) and table.loc["eval", "instances"] == 1
    shares = dimension_shares(cases).set_index("dimension")
    assert shares.loc["verbosity", ["cases", "percent_published"]].tolist() == [2, 34.3]
    assert (
        shares.loc["other", "cases"] == 1
        and shares.loc["factual_error", "cases"] == 0
        and set(shares["side"]) == {"bad"}
    )


def test_every_case_is_in_a_split_or_has_a_reason():
    pool = pd.concat([cases(200), cases(60, ("good",), query="one and the same " * 30).assign(side="good")])
    pool["case"] = pool["talk"] = [f"c{i}" for i in range(len(pool))]
    made = splits(pool)
    left = count_unused(pool, made)
    assert left.sum() + sum(map(len, made.values())) == len(pool) and left["good"].sum() > 0
    assert set(pool["case"]) >= set(pd.concat(made.values())["case"])
    # A good case finds no bad one as long; a session has one case; a split that is full takes no more.
    assert "no case of the other side" in left["good"].index[0]
    twice = pool.assign(talk=[f"t{i // 2}" for i in range(len(pool))])
    again = count_unused(twice, splits(twice))
    assert again.xs("another case of the same session is in a split", level=1).sum() > 0
    many = cases(20_000, ("bad", "good"), signals=[("skim",)] * 20_000, complaint="")
    (why,) = set(count_unused(many, splits(many)).index.get_level_values(1))
    assert "are full" in why
    assert count_unused(pool[:0], splits(pool[:0])).empty
