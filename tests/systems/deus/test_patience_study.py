"""The page on patience: what it shows at a small size, and that it is whole without torch."""

from __future__ import annotations

import json
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from pages import run_cells

from perslib.corpus import import_release
from perslib.errors import NotEnough, UnknownName
from perslib.report.show import plots
from perslib.report.show.tables import format_as_interval, format_table, widen
from perslib.report.show.words import name_of
from perslib.systems.deus import Dialogues, user2, user3
from perslib.systems.deus.pipeline import ALONE, MEANS, SIZES, size_of
from perslib.systems.deus.studies import patience as study
from perslib.systems.deus.studies import patience_text as written
from perslib.systems.deus.text import TextDialogue, crowd
from perslib.text import using_language

TINY = study.Size(150, 80, learned=60, judged=20, references=30, sampled=200, people=200)


@pytest.fixture(scope="module")
def two():
    return study.collect_dialogues(user2(), TINY, 1)


@pytest.fixture(scope="module")
def models(two):
    return study.fit_each(two, 1, {**study.BY_TURN_COST, study.LIGHT: {"loss": "light"}})


def test_three_users_with_one_goal():
    worlds = study.find_goal(42)
    assert [w.reason for w in worlds.values()] == ["success", "budget", "forward"]
    assert len({w.goal.vector.tobytes() for w in worlds.values()}) == 1
    frame = study.follow_budgets(worlds, {})
    first, last = frame.groupby("user").first(), frame.groupby("user").last()
    assert first["left"].nunique() == 1
    assert last.loc["User 1", "left"] > 0 > last.loc["User 2", "left"]
    assert last.loc["User 3", "left"] >= 0 > last.loc["User 3", "left"] - last.loc["User 3", "needed"]
    assert last["dialogue"].tolist() == ["User 1: left_success", "User 2: left_budget", "User 3: left_forward"]
    assert frame["estimated"].isna().all()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_dialogue_in_words_has_what_each_turn_cost(language):
    world = study.find_goal(42)["User 2"]
    messages = study.write_dialogue(world, language, 1)
    assert [m["role"] for m in messages[:2]] == ["user", "assistant"]
    assert messages[-1]["role"] == "user"  # who leaves says so
    costs = [(m["cost"], m["left"]) for m in messages if m["role"] == "assistant"]
    assert costs == [(turn.cost, turn.left) for turn in world.turns]


def test_endings_and_shares(two):
    table = study.count_endings({"User 2": two.test})
    assert table["left_budget"][0] + table["left_success"][0] + table["left_maxturn"][0] == pytest.approx(1)
    shares = study.compare_reward_shares({"User 2": two.test})
    assert shares["user"].tolist() == ["paper", "User 2"]
    assert shares.drop(columns="user").sum(axis=1).tolist() == pytest.approx([100, 100], abs=0.1)


def test_levels_stand_beside_the_papers(two, models):
    long = study.measure_levels(models, two.test)
    assert long["method"].unique().tolist() == list(models)
    paper = long.dropna(subset="paper")
    assert paper["method"].unique().tolist() == ["full, v_b = -0.5", "full, v_b = -1", "light"]
    assert long.query("method == 'light'")["paper"].notna().all()
    own = paper.query("method == 'full, v_b = -0.5' and true == -3").iloc[0]
    assert (own["paper"], own["paper_std"]) == (-1.51, 0.55)
    wide = widen(long.astype({"true": str}), ["method"], "true", "mean").set_index("method")
    at = long.query("method == 'light' and true == -2").iloc[0]
    assert wide.loc["light", "-2.0"] == f"{at['mean']:.2f} ± {at['mean_std']:.2f}".replace("-", "−")


def test_published_means_are_seen_and_panels_may_have_their_own_axes():
    frame = pd.DataFrame({"true": [1, 2] * 2, "mean": [1.0, 2, 10, 20], "paper": [1.0, 2, np.nan, np.nan]})
    fig = plots.points(
        frame.assign(method=list("aabb")), "true", "mean", panels="method", published="paper", shared=False
    )
    diamonds = fig.axes[0].collections[-1]
    assert len(diamonds.get_offsets()) == 2 and diamonds.get_linewidths()[0] > 0
    assert fig.axes[0].get_ylim()[1] < fig.axes[1].get_ylim()[0]
    plt.close(fig)


def test_a_row_of_recovery_has_every_measure_with_its_bounds(two, models):
    found = study.measure_recovery(models, two.test).set_index("method")
    row = found.loc[study.MAIN]
    assert row["step_r_low"] < row["step_r"] < row["step_r_high"]
    assert {f"{m}{end}" for m in study.MEASURES for end in ("", "_low", "_high")} <= set(found)
    assert study.PUBLISHED_STATUS["full, v_b = -2"] == 0.974


def test_users_who_look_forward_with_their_estimate():
    three = study.collect_dialogues(user3(0.3), TINY, 1)
    fit = study.fit_each(three, 1, {study.FORWARD: {"gamma": 0.3}})
    frame = study.follow_budgets(study.find_goal(42), {"User 3": fit[study.FORWARD]})
    own = frame[frame["user"] == "User 3"]
    assert own["estimated"].is_monotonic_decreasing and own["estimated"].notna().all()
    assert frame[frame["user"] != "User 3"]["estimated"].isna().all()


def test_people_are_apart():
    train, test = study.collect_people(TINY, "zh", 1, number=20)
    assert isinstance(train, Dialogues) and not {d.user for d in train} & {d.user for d in test}
    people = study.estimate_patience(train, test, 1)
    found = study.correlate_patience(people)
    assert found["users"].tolist() == [6, 6]
    without = people[people["method"] == "without profile"]
    assert found["user_r"][0] == pytest.approx(np.corrcoef(without["estimated"], without["true"])[0, 1])


def test_recorded_dialogues_of_an_imported_corpus(tmp_path):
    logs = []
    for text in crowd(150, "en", 1):
        goal = {domain: {} for domain in text.goal if "." not in domain}
        for domain, kind, slot in (item.split(".") for item in text.goal if "." in item):
            goal[domain].setdefault(kind, {})[slot] = "any"
        log = [[side, said] for turn in text.turns for side, said in enumerate(turn)]
        ratings = {f"{name}_score": 3 + text.status for name in ("appropriateness", "understanding")}
        logs.append({"goal": goal, "log": log, "success": text.status == 1, "worker": text.user, **ratings})
    (tmp_path / "logs.json").write_text(json.dumps(logs), "utf-8")
    folder = import_release("convlab", tmp_path / "logs.json", out=tmp_path / "corpus").folder
    found = written.rate_recorded(str(folder), "bow", 1)
    assert found.rating_kinds == ["appropriateness", "understanding"] and not found.is_proxy
    assert found.compare_predictors()["predictor"].tolist() == ["budget", "status alone", "fewer turns"]
    assert found.average_budget_by_rating()["kind"].unique().tolist() == found.rating_kinds
    assert found.measure_success_by_budget()["success"].between(0, 1).all()
    with pytest.raises(UnknownName, match="bow"):
        written.fit_encoder("bert", "en", [])
    assert len(found.ratings) == 45 and found.ratings["user"].str.startswith("w").all()


def test_ratings_of_one_kind_are_enough():
    texts = [TextDialogue(f"d{i}", (("u", "s"),), ("g",), 1, {"overall": float(i % 5 + 1)}) for i in range(20)]
    budgets = pd.DataFrame({"dialogue": [t.id for t in texts], "budget": range(20)})
    found = written.RatedDialogues(budgets, written.make_rating_frame(texts))
    assert found.rating_kinds == ["overall"]
    assert found.average_budget_by_rating()["dialogues"].tolist() == [4] * 5
    with pytest.raises(NotEnough, match="rated dialogues"):  # twenty are too few for a correlation
        found.compare_predictors()


def test_agents_beside_the_papers():
    rates = {"Agent 1": 0.9, "shrewd": 0.4, **{how.format("Agent 3"): 0.45 for how in ("{}", ALONE, MEANS)}}
    rates |= {"Agent 4": 0.2, ALONE.format("Agent 4"): 0.2, MEANS.format("Agent 4"): 0.44}
    bounds = {"success_low": -2, "success_high": 2}
    success = pd.DataFrame(
        [
            {"agent": a, "user": u, "success": 100 * s, "dialogues": 50}
            | {n: 100 * s + shift for n, shift in bounds.items()}
            for a, s in rates.items()
            for u in ("user1", "user2", "user3")
        ]
    )
    table = study.compare_success(study.add_best_plan(success, TINY))
    assert table["method"].tolist()[:5] == ["paper: Agent 1", "Agent 1", "shrewd", "paper: Agent 3", "Agent 3"]
    assert table.loc[0, ["User 1", "User 2", "User 3"]].tolist() == pytest.approx([87.9, 11.1, 7.6])
    shown = format_table(table, **{"User 1": format_as_interval(digits=1)})["User 1"]
    assert shown.tolist()[:3] == ["87.9", "90.0 [88.0, 92.0]", "40.0 [38.0, 42.0]"]
    with using_language("zh"):
        assert name_of("paper: Agent 1") == "论文：智能体 1"
        assert all(name_of(name) != name for name in rates)
    assert table["method"].iloc[-1] == study.BEST_PLAN and 40 < table["User 2"].iloc[-1] < 50


def test_agents_are_compared_in_the_same_dialogues_of_each_seed():
    rng, parts = np.random.default_rng(0), []
    for seed in (1, 2):
        patient = rng.random(400) < 0.4
        worse = patient & (rng.random(400) < 0.5)
        # Under the second seed Agent 3 does what the rule does.
        ends = {"patient": patient, "Agent 4": worse, "Agent 3": ~worse if seed == 1 else patient}
        about = {"seed": seed, "user": "user3", "dialogue": range(400)}
        parts += [pd.DataFrame({"agent": name, **about, "success": own}) for name, own in ends.items()]
    compared = study.compare_agents(pd.concat(parts))
    row = compared.set_index(["method", "seed", "reference"]).loc[("Agent 3", 2, "Agent 4")]
    own, other = (parts[n]["success"].to_numpy() for n in (5, 4))
    assert row["difference"] == pytest.approx(100 * (own.mean() - other.mean())) and row["difference_low"] > 0
    assert study.count_seeds(compared, "Agent 3", "Agent 4") == (2, 0)
    assert study.count_seeds(compared, "Agent 3", "patient") == (1, 0)
    assert study.count_seeds(compared, "Agent 4", "patient") == (0, 2)


def test_presets_are_named():
    assert size_of("smoke").train < size_of("paper").train < size_of("long").train
    with pytest.raises(UnknownName, match="smoke"):
        size_of("smok")


@pytest.mark.page
def test_the_notebook_is_whole(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(SIZES, "smoke", TINY)
    run_cells("06_patience", out=str(tmp_path))
    made = {file.name for file in tmp_path.rglob("*.csv")}
    assert {
        "endings.csv",
        "recovery.csv",
        "recovery_forward.csv",
        "people.csv",
        "success.csv",
        "looser.csv",
        "agents_compared.csv",
    } <= made
    assert "With User 2 the best of" in capsys.readouterr().out


def test_dialogues_that_a_limit_ended_are_counted_in_three_ways(two):
    cut = study.collect_dialogues(replace(user2(), max_turns=study.FEW_TURNS), TINY, 1)
    short, models = cut.train, study.fit_each(cut, 1, study.TIMEOUTS)
    assert max(short.turns) == study.FEW_TURNS
    assert (short.status == 0).sum() == sum(d.reason == "maxturn" for d in short) > 0
    assert [model.timeout for model in models.values()] == ["drop", "failed", "censored"]
    assert study.measure_recovery(models, two.test)["method"].tolist() == list(models)
    with using_language("zh"):
        assert all(name_of(name) != name for name in models)


def test_another_seed_is_another_draw():
    again = study.repeat_fit({str(seed): (user2(), seed) for seed in (1, 2)}, TINY)
    assert again["method"].tolist() == ["1", "2"]
    assert again["step_r"].nunique() == 2 and again["step_r"].between(-1, 1).all()


def test_users_who_are_less_exact_are_fitted_by_likelihood_and_the_truth_says_how_far_ends_can_be_foretold():
    table = study.fit_looser_users(replace(TINY, train=200), 1).set_index("method")
    assert list(table.index) == [
        own[name]
        for name in study.LOOSER_USERS
        for own in ({name: name}, study.LIKELY, *([] if name == study.AHEAD else [study.TRUTH]))
    ]
    leaving = table.loc[study.LIKELY[study.LEAVING]]
    assert leaving["leaving_low"] <= study.QUIT_CHANCE + 0.03 and leaving["leaving_high"] >= study.QUIT_CHANCE - 0.03
    for name in study.LOOSER_USERS:
        assert table.at[study.LIKELY[name], "step_r"] > table.at[name, "step_r"] + 0.1
        if name == study.AHEAD:
            continue
        assert (
            table.loc[study.TRUTH[name], ["step_r", "h_r"]].isna().all()
            and table.at[study.TRUTH[name], "accuracy"] < 0.9
        )
