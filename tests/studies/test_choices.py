"""Choices between two replies: the model against an oracle, whose tastes are announced, and the page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pages import run_cells

from perslib.corpus import load, read_rows, save
from perslib.errors import NotEnough
from perslib.judge.learned.choices import HABIT, LIKES, TASTES, TRAITS, Choices, TasteModel, measure_traits_of
from perslib.report.show.claims import Estimate
from perslib.studies import choices as study
from perslib.studies.people_compared import collect_rated_replies

K = len(TRAITS) + 1


def make_choices(seed=0, people=60, each=20, differ=0.4, panel=5):
    """Return choices of panels that see the same pairs; tastes of persons differ by `differ` in two traits."""
    rng = np.random.default_rng(seed)
    shared, own = np.zeros(K), np.zeros((people, K))
    shared[[1, 2]], own[:, 3], own[:, 4] = (0.3, 0.2), rng.normal(0, differ, people), rng.normal(0, differ, people)
    own[:, 0] = rng.normal(0, 0.1, people)
    user = np.repeat(np.arange(people), each)
    seen = np.tile(np.arange(each), people)
    pair = user // panel * each + seen
    x = rng.normal(0, 1, (pair.max() + 1, K - 1))[pair]
    chance = (1 + (np.column_stack([np.ones(len(x)), x]) * (shared + own[user])).sum(axis=1).clip(-1, 1)) / 2
    y = np.where(rng.random(len(x)) < chance, 1.0, -1.0)
    names = np.array([f"u{u}" for u in user], object)
    frame = pd.DataFrame({"user": names, "pair": pair, "panel": user // panel, "y": y, "place": seen + 1})
    frame = frame.assign(one=2 * pair, two=2 * pair + 1, kind_one="x", kind_two="z")
    return frame, Choices(x, y, names, pair), shared, own


def side_of(table, name):
    return Estimate.of(table.set_index("known").loc[name], "own_ahead").side


def test_what_people_like_and_how_they_differ_is_found():
    _, choices, shared, own = make_choices(people=300, differ=0.3)
    model = TasteModel.fit(choices)
    assert model.shared == pytest.approx(shared, abs=0.06)
    assert np.sqrt(model.own[[3, 4]]) == pytest.approx(own[:, [3, 4]].std(axis=0), rel=0.25)
    assert model.own[[1, 2, 5, 6, 7, 8, 9]].max() < 0.02
    found = np.array(
        [model.describe_person(choices.take(choices.user == f"u{u}"), [*TRAITS])["own"][3] for u in range(300)]
    )
    assert np.corrcoef(found, own[:, 3])[0, 1] > 0.7


def test_a_choice_is_foretold_without_it_and_without_others_of_the_same_pair():
    """By the posterior mean, solved for the person's other choices alone; a pair that was seen twice is left out twice."""
    _, choices, *_ = make_choices(people=20, each=8)
    pair = choices.pair.copy()
    pair[1] = pair[0]
    choices = Choices(choices.x, choices.y, choices.user, pair)
    model = TasteModel.fit(choices)
    foretold = model.predict(choices, TASTES)
    x = np.column_stack([np.ones(8), (choices.x[:8] / model.scale[1:]).clip(-4, 4)])
    rest = x[2:]
    gram = rest @ np.diag(model.own) @ rest.T + model.noise * np.eye(6)
    gamma = model.own * (rest.T @ np.linalg.solve(gram, choices.y[2:8] - rest @ model.shared))
    assert foretold[:2] == pytest.approx((x[:2] @ (model.shared + gamma)).clip(-1, 1))
    changed = choices.y.copy()
    changed[:2] *= -1
    again = model.predict(Choices(choices.x, changed, choices.user, pair), TASTES)
    assert again[:2] == pytest.approx(foretold[:2])


def test_an_explanation_adds_up_to_what_is_foretold():
    _, choices, *_ = make_choices(people=20)
    model = TasteModel.fit(choices)
    parts = model.explain(choices, [*TRAITS])
    assert parts.sum(axis=1).clip(-1, 1).to_numpy() == pytest.approx(model.predict(choices, TASTES))


def test_everybodys_likes_know_nothing_of_the_person():
    _, choices, *_ = make_choices(people=20)
    model = TasteModel.fit(choices)
    turned = Choices(choices.x, -choices.y, choices.user, choices.pair)
    assert (model.predict(choices, LIKES) == model.predict(turned, LIKES)).all()
    habit = model.weigh(choices, HABIT)[1] - model.shared
    assert np.abs(habit[:, 0]).max() > 0 and not habit[:, 1:].any()


def test_tastes_are_announced_where_people_differ_and_not_where_they_do_not():
    frame, choices, *_ = make_choices(seed=1)
    told = study.compare_foretold(study.foretell_choices(frame, choices))
    assert side_of(told, HABIT) == side_of(told, study.NEIGHBOUR) == "above"
    announced = []
    for seed in range(40):
        frame, choices, *_ = make_choices(seed=seed, differ=0.0)
        told = study.compare_foretold(study.foretell_choices(frame, choices))
        announced += ["above" in (side_of(told, HABIT), side_of(told, study.NEIGHBOUR))]
    assert sum(announced) <= 2


def test_a_neighbour_who_saw_the_pair_the_other_way_round_is_turned():
    frame = pd.DataFrame(
        {
            "user": ["u", "v"],
            "pair": [0, 0],
            "one": [1, 2],
            "y": [1.0, 1.0],
            TASTES: [0.5, -0.4],
            study.SIDED: [0.1, 0.2],
            "panel": [0, 0],
        }
    )
    lent = study.lend_predictions(frame)
    assert lent[study.NEIGHBOUR].tolist() == pytest.approx([0.1 + 0.6, 0.2 - 0.4])
    assert lent[study.PEER].tolist() == [-1, -1]


def test_a_recorded_judge_that_knows_the_choice_adds_and_dice_do_not():
    frame, choices, *_ = make_choices(seed=2)
    rng = np.random.default_rng(0)
    frame = frame.assign(
        knows=np.where(rng.random(len(frame)) < 0.8, frame["y"], -frame["y"]), dice=rng.choice([-1.0, 1.0], len(frame))
    )
    frame.loc[::3, "knows"] = np.nan
    told = study.foretell_choices(frame, choices, ("knows", "dice"))
    added = {name: study.add_recorded(told, name) for name in told.recorded}
    assert added["knows"]["compared"] == frame["knows"].notna().sum()
    assert [Estimate.of(added[name], "own_ahead").side for name in added] == ["above", "open"]


def test_circles_by_hand():
    rows = [
        ("u", "a", "b", 1),
        ("u", "b", "c", 1),
        ("u", "c", "a", 1),
        ("v", "a", "b", 1),
        ("v", "b", "c", 1),
        ("v", "a", "c", 1),
    ]
    frame = pd.DataFrame(rows, columns=["user", "kind_one", "kind_two", "y"]).assign(panel=0)
    found = study.count_circles(frame)
    assert (found["circular"], found["triads"]) == (0.5, 2)


def test_people_who_share_replies_are_a_panel_and_a_few_panels_are_people():
    user = np.array([f"u{u // 2}" for u in range(60)], object)
    assert len(set(study.find_panels(user, np.arange(60) // 4))) == 15
    assert len(set(study.find_panels(user, np.zeros(60, int)))) == 30


LIST, TEXT = "- one\n- two\n- three", "One reply in a sentence of nine words, as it is."


@pytest.fixture
def chosen(tmp_path):
    """A corpus in which half of the people choose lists."""
    rows = []
    for u in range(24):
        for i in range(12):
            likes_list, list_first = (u % 2 == 0) ^ (i % 7 == 0), (u + i // 2) % 2 == 0
            replies = [f"{LIST} {i}", f"{TEXT} {i}"][:: 1 if list_first else -1]
            about = {"user": f"u{u:02d}", "scenario": "s", "session": f"{u}-{i}", "request": f"request {i}"}
            said = {
                "response_a": replies[0],
                "response_b": replies[1],
                "preferred": "a" if likes_list == list_first else "b",
            }
            rows.append({**about, **said, "gpt": "a" if list_first else "b", "always": "a"})
    corpus = read_rows(rows, name="chosen", evidence="conversations").corpus
    corpus.meta["recorded"] = {"gpt": "a model", "always": "a constant"}
    save(corpus, tmp_path / "chosen")
    return tmp_path / "chosen"


def test_a_corpus_of_choices_gives_pairs_their_traits_and_recorded_verdicts(chosen):
    corpus, rated, _ = collect_rated_replies(load(chosen))
    frame, choices, recorded = study.collect_choices(rated, corpus)
    assert len(frame) == 24 * 12 and recorded == ("a model", "a constant") and (frame["a constant"] == 1).all()
    differ = np.subtract(measure_traits_of("request 0", f"{LIST} 0"), measure_traits_of("request 0", f"{TEXT} 0"))
    assert choices.x[0] == pytest.approx(differ)
    is_list = choices.x[:, 0] > 0
    assert (frame["a model"] == np.where(is_list, 1, -1)).all()
    liked = pd.Series(np.where(is_list, frame["y"], -frame["y"])).groupby(frame["user"]).mean()
    assert liked["u00"] == pytest.approx(8 / 12) and liked["u01"] == pytest.approx(-8 / 12)


def test_one_choice_a_person_is_refused_with_the_reason(chosen):
    corpus, rated, _ = collect_rated_replies(load(chosen))
    with pytest.raises(NotEnough, match="people with several choices"):
        study.foretell(rated[rated.groupby("user")["turn_id"].transform("min") == rated["turn_id"]], corpus)


def test_the_page_tells_whose_taste_it_is(chosen, capsys, tmp_path):
    run_cells("13_people_compared", corpus=str(chosen), judges="", out=str(tmp_path / "out"))
    said = capsys.readouterr().out
    assert "A person's own tastes foretell choices beyond what everybody likes" in said
    assert "The recorded verdicts of a constant do not differ" in said
    saved = pd.read_csv(tmp_path / "out/tables/choices.csv")
    assert set(saved["known"]) >= {LIKES, "… and own tastes", "a model"}
    preferred = pd.read_csv(tmp_path / "out/tables/preferences.csv").set_index(["recorded_judge", "more_of"])
    assert preferred.loc[("a model", "is a list"), "judge_share"] == 1
