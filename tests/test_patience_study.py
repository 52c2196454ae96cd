"""The page on patience: what it shows with torch at a small size, and that it goes through without."""

from __future__ import annotations

import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import pytest

from perslib import report
from perslib.errors import UnknownName
from perslib.paths import bundled
from perslib.patience import Dialogues, user2, user3
from perslib.patience.text import TextDialogue
from perslib.report.words import name_of
from perslib.studies import patience as study
from perslib.studies import patience_figures as figures
from perslib.studies import patience_shown as shown
from perslib.studies import patience_text as written
from perslib.text import LANGUAGES, using_language

TINY = study.Size(train=150, test=80, epochs=3, people=200, text=150)


@pytest.fixture(autouse=True)
def page(tmp_path):
    yield report.begin(out=tmp_path)
    plt.close("all")


@pytest.fixture(scope="module")
def two():
    return study.collected(user2(), TINY, 1)


@pytest.fixture(scope="module")
def models(two):
    pytest.importorskip("torch")
    ways = {**study.by_turn_cost(), study.LIGHT: {"loss": "light"}}
    return study.fitted(two, TINY, 1, ways)


def test_three_users_with_one_goal():
    told = study.told(42)
    assert [w.reason for w in told.worlds.values()] == ["success", "budget", "forward"]
    assert len({w.goal.vector.tobytes() for w in told.worlds.values()}) == 1
    frame = told.frame()
    first, last = frame.groupby("user").first(), frame.groupby("user").last()
    assert first["left"].nunique() == 1
    assert last.loc["User 1", "left"] > 0 > last.loc["User 2", "left"]
    assert last.loc["User 3", "left"] >= 0 > last.loc["User 3", "left"] - last.loc["User 3", "needed"]
    assert study.estimated(told, {}).empty


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_dialogue_in_words_says_what_each_turn_cost(language):
    world = study.told(42).worlds["User 2"]
    messages = study.spoken(world, language, 1)
    assert [m["role"] for m in messages[:2]] == ["user", "assistant"]
    assert messages[-1]["role"] == "user"  # who leaves says so
    notes = [m["note"] for m in messages if "note" in m]
    assert len(notes) == len(world.turns)
    assert f"{world.turns[-1].left:g}" in notes[-1]


def test_endings_and_shares(two):
    table = shown.endings_table({"User 2": two.test})
    assert table["left_budget"][0] + table["left_success"][0] + table["left_maxturn"][0] == pytest.approx(1)
    shares = shown.shares_table({"User 2": two.test})
    assert shares["method"].tolist() == ["paper", "User 2"]
    assert shares.drop(columns="method").sum(axis=1).tolist() == pytest.approx([100, 100], abs=0.1)


def test_tables_stand_beside_the_papers(two, models):
    level = shown.level_table(models, two.test)
    assert [m for m in level["method"] if m.startswith("paper")] == [
        "paper: full, v_b = -0.5",
        "paper: full, v_b = -1",
        "paper: light",
    ]
    assert level.loc[0, "-3"] == "-1.51 ± 0.55"
    measured = study.measured(models, two.test, 1)
    status = shown.status_table(measured).set_index("method")
    assert status.loc["full, v_b = -2", "paper"] == 0.974
    assert shown.recovery_table(measured).shape == (5, 1 + len(shown.MEASURES))
    for note in (
        shown.slopes(measured),
        shown.losses(measured, "full, v_b = -1"),
        shown.status(measured, "full, v_b = -1"),
    ):
        assert note and "nan" not in note
    drawn = shown.levels_of(models, two.test)
    assert len(figures.against_truth(drawn).axes) == 8
    assert drawn.query("method == 'light' and true == -7.0 or true == -1.0")["paper"].notna().any()


def test_users_who_look_forward_are_drawn_with_their_estimate():
    pytest.importorskip("torch")
    three = study.collected(user3(0.3), TINY, 1)
    fit = study.fitted(three, TINY, 1, {study.FORWARD: {"gamma": 0.3}})
    told = study.told(42)
    guessed = study.estimated(told, {"User 3": fit[study.FORWARD]})
    assert guessed["turn"].tolist() == list(range(len(told.worlds["User 3"].turns) + 1))
    assert guessed["budget"].is_monotonic_decreasing
    reasons = {name: world.reason for name, world in told.worlds.items()}
    assert len(figures.budgets(told.frame(), reasons, guessed).axes) == 3


def test_people_are_apart_and_shown():
    pytest.importorskip("torch")
    train, test = study.people(TINY, "zh", 1, number=20)
    assert isinstance(train, Dialogues) and not {d.user for d in train} & {d.user for d in test}
    users = study.of_people(train, test, TINY, 1)
    assert shown.people_table(users, 1)["users"].tolist() == [6, 6]
    both = pd.concat([f.assign(method=n) for n, f in users.items()])
    assert len(figures.people(both).axes) == 2


def test_written_dialogues_against_their_ratings():
    pytest.importorskip("torch")
    found = written.crowd_rated(TINY, "bow", "zh", 1)
    compared = found.compared(1)
    assert found.kinds == ["appropriateness", "understanding"]
    assert compared["predictor"].tolist() == ["budget", "status alone", "fewer turns"]
    assert 0 <= found.spent_successes <= 1
    assert "0.92" in shown.ratings(found, compared)
    assert len(figures.ratings(found.by_rating(), found.by_budget()).axes) == 3
    with pytest.raises(UnknownName, match="bow"):
        written.encoder_of("bert", "en", [])


def test_ratings_of_one_kind_are_enough():
    texts = [
        TextDialogue(f"d{i}", (("u", "s"),), ("g",), 1, {"overall": float(i % 5 + 1)}) for i in range(20)
    ]
    budgets = pd.DataFrame({"dialogue": [t.id for t in texts], "budget": range(20)})
    found = written.Rated(budgets, written.rated(texts), {"accuracy": 1.0}, float("nan"))
    assert found.kinds == ["overall"]
    assert found.by_rating()["dialogues"].tolist() == [4] * 5


def test_agents_beside_the_papers():
    success = pd.DataFrame(
        [
            {"agent": a, "user": u, "success": s, "spread": 0.02}
            for a, s in (("Agent 1", 0.9), ("shrewd", 0.4))
            for u in ("user1", "user2", "user3")
        ]
    )
    table = shown.success_table(success).set_index("method")
    assert table.index.tolist() == ["paper: Agent 1", "Agent 1", "shrewd"]
    assert table.loc["paper: Agent 1"].tolist() == ["87.9", "11.1", "7.6"]
    assert table.loc["Agent 1", "User 1"] == "90.0 ± 2.0"
    with using_language("zh"):
        assert name_of("paper: Agent 1") == "论文：智能体 1"


def test_presets_are_named():
    assert study.size_of("smoke").train < study.size_of("paper").train < study.size_of("long").train
    with pytest.raises(UnknownName, match="smoke"):
        study.size_of("smok")


def test_the_notebook_goes_through_without_torch(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(study, "can_fit", lambda: False)
    monkeypatch.setitem(study.SIZES, "smoke", TINY)
    notebook = nbformat.read(bundled("notebooks", "06_patience.ipynb"), 4)
    namespace: dict[str, object] = {}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            source = (
                f'{cell.source}\nout = "{tmp_path}"'
                if "parameters" in cell.metadata.get("tags", ())
                else cell.source
            )
            exec(compile(source, "06_patience", "exec"), namespace)
    assert 'pip install "perslib[patience]"' in capsys.readouterr().out
    made = {file.name for file in tmp_path.rglob("*.csv")}
    assert {"endings.csv", "reward_shares.csv", "budgets.csv", "success.csv"} <= made
    assert "recovery.csv" not in made


def test_a_wrong_gamma_is_told_beside_the_right_one():
    pytest.importorskip("torch")
    three = study.collected(user3(0.3), TINY, 1)
    known = study.fitted(three, TINY, 1, {"known": {"gamma": 0.3}})["known"]
    models = study.told_gammas(three, TINY, 1, 0.3, known)
    assert {name: model.gamma for name, model in models.items()} == {
        "γ = 0.15": 0.15,
        "γ = 0.3": 0.3,
        "γ = 0.6": 0.6,
    }
    assert models["γ = 0.3"] is known
    plain = study.fitted(three, TINY, 1, {study.PLAIN: {}})
    for language in LANGUAGES:
        with using_language(language):
            note = shown.mistold(study.measured({**models, **plain}, three.test, 1), 0.3)
        assert "0.15" in note and "0.6" in note
    assert list(study.told_gammas(three, TINY, 1, 0.8)) == ["γ = 0.4", "γ = 0.8"]  # 1.6 cannot be


def test_dialogues_that_a_limit_ended_are_counted_in_three_ways(two):
    pytest.importorskip("torch")
    short, models = study.cut_short(TINY, 1)
    assert max(short.turns) == study.FEW_TURNS
    assert study.ended_by_limit(short) == sum(d.reason == "maxturn" for d in short) / len(short) > 0
    assert [model.timeout for model in models.values()] == ["drop", "failed", "censored"]
    measured = study.measured(models, two.test, 1)
    assert shown.recovery_table(measured)["method"].tolist() == list(models)
    share = study.ended_by_limit(short)
    assert f"{share:.0%}" in shown.timeouts(share, 8)
    with using_language("zh"):
        assert all(name_of(name) != name for name in models)


def test_another_seed_is_another_draw():
    pytest.importorskip("torch")
    again = study.repeated(user2(), TINY, (1, 2))
    steps = again[again["measure"] == "step_r"]["value"]
    assert steps.nunique() == 2 and steps.between(-1, 1).all()
    assert "2 seeds" in shown.seeds(again)
