"""The ablations: ties, calibrators and sets on judges that compute; variants of the judge that asks; the page."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from endpoint import Endpoint
from histories import corpus_of
from made import shortened
from pages import run_cells
from scripted import MEMORY

from perslib import stats
from perslib.corpus import Block, Corpus, save
from perslib.errors import NotEnough, PerslibError, UnknownName
from perslib.judge import Computed, Constant, JudgeInputs, JudgeSettings, LearnedJudge, Nearest, UserMean
from perslib.judge.scope import StudyScope
from perslib.llm import Ask
from perslib.report import run_report
from perslib.studies import ablations, verification
from perslib.worlds import world

LOOK = StudyScope(6, 1, "full", 1200, True)
USUAL = StudyScope(300, 5, "published", 6000, False)


def answer(body: dict[str, Any]) -> str:
    """A memory, a verdict or a digit, as the question wants; the score hangs on the question."""
    if "four_vs_five_distinction" in json.dumps(body.get("response_format", "")):
        return json.dumps(MEMORY)
    score = 2 + hashlib.sha256(json.dumps(body["messages"]).encode()).digest()[0] % 4
    if body.get("max_tokens") == 1:
        return str(score)
    reason = "satisfied" if score > 3 else "unusable"
    return json.dumps({"score": score, "reason": reason, "rationale": "Has prices.", "evidence": ["M1"]})


def split(corpus: Corpus, train: int, test: int) -> Corpus:
    """The first users of a corpus, so many to learn from and so many to judge."""
    users = list(corpus.users["user"])[: train + test]
    parts = {"train": users[:train], "test": users[train:]}
    whole = dataclasses.replace(corpus, meta={**corpus.meta, "splits": parts})
    return whole.of_users(users)


def impatient() -> Corpus:
    """Three users to judge, one to learn from: of two replies everybody rates the first 2 and the second 5."""
    rows = [
        (user, scenario, session, f"wish {i}", f"answer {i}", (2, 5)[i])
        for user in "abcd"
        for scenario, session in (("travel", "0"), ("travel", "1"), ("travel", "2"), ("gift", "0"))
        for i in (0, 1)
    ]
    return split(corpus_of(rows), 1, 3)


@pytest.fixture(scope="module")
def small() -> Corpus:
    """Three users to learn from, ten to judge."""
    return split(world(users=15, seed=7, language="en"), 3, 10)


@pytest.fixture(scope="module")
def computed(small: Corpus) -> pd.DataFrame:
    return verification.judge_test_users([Constant(), UserMean(), Nearest(), LearnedJudge()], small)


@pytest.fixture(scope="module")
def taught(small: Corpus) -> pd.DataFrame:
    return ablations.judge_train_users([Constant(), UserMean(), Nearest(), LearnedJudge()], small)


@pytest.fixture(scope="module")
def each_way(small: Corpus, computed: pd.DataFrame, taught: pd.DataFrame) -> pd.DataFrame:
    return ablations.calibrate_each_way(computed, taught, small)


# -- ties --------------------------------------------------------------------------------------------------


def test_ties_by_turn_number_make_a_judge_of_a_constant():
    corpus = impatient()
    gift = verification.judge_test_users([Constant()], corpus).query("scenario == 'gift'")
    rules = ablations.compare_tie_rules(gift, corpus).set_index(["score", "metric"])["value"]
    # The history holds as many 2s as 5s: the first reply gets a 2, the second a 5, as the users gave.
    assert rules["turn_index", "pearson"] == rules["turn_index", "wb_pearson"] == 1.0
    assert rules["turn_index", "qwk"] == rules["turn_index", "f1_dsat"] == 1.0
    assert rules["random", "wb_pearson"] < 0.8, "by lot the same scores fall on either reply"
    assert np.isnan(rules["expected", "pearson"]) and np.isnan(rules["real", "pearson"])
    assert rules["min", "f1_dsat"] == pytest.approx(2 / 3), "all 2: every dissatisfied reply found, half are"


@pytest.mark.sample
def test_the_published_protocol_is_a_switch(small):
    """Turn numbers break ties, baselines give whole scores, and of the test users the first as text are judged."""
    corpus = impatient()
    gift = verification.judge_test_users([Constant()], corpus, protocol="published").query("scenario == 'gift'")
    assert gift.groupby("turn")["cdf"].nunique().eq(1).all() and gift["cdf"].nunique() == 2
    names = [judge.name for judge in verification.make_computed_judges(protocol="published")]
    assert {"nearest 6, weighted, rounded half even", "user mean, rounded half up", "user CDF by hash"} <= set(names)
    few = verification.restrict_to_published_users(small, 2)
    assert few.split()["test"] == sorted(small.split()["test"])[:2] and few.split()["train"] == small.split()["train"]
    assert set(few.users["user"]) == {*few.split()["test"], *few.split()["train"]}


@pytest.mark.simulation
def test_a_lot_deals_out_the_same_whole_scores_as_turn_numbers_do(small, computed, monkeypatch):
    seen: list[pd.DataFrame] = []

    measured = stats.agreement

    def agreement(frame, *given, **options):
        seen.append(frame)
        return measured(frame, *given, **options)

    monkeypatch.setattr(stats, "agreement", agreement)
    ablations.compare_tie_rules(computed[computed["judge"] == "constant 4"], small)
    (frame,) = seen
    assert frame["random0"].ne(frame["turn_index"]).any()
    for _, block in frame.groupby(["user", "scenario"]):
        for draw in range(ablations.RANDOM_ORDERS):
            assert sorted(block[f"random{draw}"]) == sorted(block["turn_index"])


@pytest.mark.sample
def test_ties_hardly_matter_to_real_valued_scores(small, computed):
    by_rule = ablations.compare_tie_rules(computed[computed["judge"].isin(["constant 4", "learned"])], small)
    r = by_rule.query("metric == 'pearson' and judge == 'learned' and score != 'real'")["value"]
    assert r.max() - r.min() < 1e-6
    within = by_rule.query("metric == 'wb_pearson'").set_index(["judge", "score"])["value"]
    constant = within["constant 4"]
    assert constant["turn_index"] > constant["random"] + 0.05
    assert np.isnan(constant["expected"]), "one score a block leaves nothing within it"
    facts = ablations.describe_ties(by_rule, small)
    assert facts["within_by_turn"] == constant["turn_index"] > facts["within_at_random"] + 0.05
    assert facts["first"] != facts["later"] and np.isfinite(list(facts.values())).all()


# -- calibrators -------------------------------------------------------------------------------------------


class Spy(Computed):
    """Learns who it was fitted on and refuses to judge them."""

    name = "spy"
    inputs = JudgeInputs(train=True)

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Note the users."""
        self.known = set(train.users["user"])

    def scores(self, block: Block) -> Sequence[float | None]:
        """How many users stand behind it."""
        assert block.user not in self.known
        return [float(len(self.known))] * len(block)


@pytest.mark.sample
def test_lessons_are_of_train_users_by_judges_that_had_not_learned_from_them(small, taught):
    assert set(taught["user"]) == set(small.split()["train"])
    own = small.turns[small.turns["user"].isin(small.split()["train"])]
    assert taught.groupby("judge").size().eq(own["score"].notna().sum()).all()
    assert taught["real"].notna().all() and taught["gold"].notna().all()
    assert (ablations.judge_train_users([Spy()], small)["raw"] == 2).all(), "three train users, one held out"
    with pytest.raises(PerslibError, match="two or more"):
        ablations.judge_train_users([Constant()], split(small, 1, 4))


@pytest.mark.sample
def test_calibrators_never_see_a_label_of_the_users_under_test(small, taught):
    test = small.turns["user"].isin(small.split()["test"])
    turned = small.turns.assign(score=small.turns["score"].where(~test, 6 - small.turns["score"]))
    again = ablations.judge_train_users([Nearest(), LearnedJudge()], dataclasses.replace(small, turns=turned))
    before = taught[taught["judge"].isin(["nearest 6, weighted", "learned"])]
    pd.testing.assert_frame_equal(again, before.reset_index(drop=True))


@pytest.mark.sample
def test_crossed_calibration_of_a_user_does_not_hang_on_that_users_labels(small, taught):
    own = ablations.shrink_histories(small)
    lesson = taught[taught["judge"] == "learned"]
    user = lesson["user"].iloc[0]
    turned = lesson.assign(gold=lesson["gold"].where(lesson["user"] != user, 1))
    crossed = [ablations.cross_calibrate(frame, own).groupby("user")["ordinal"] for frame in (lesson, turned)]
    before, after = (groups.get_group(user) for groups in crossed)
    assert before.tolist() == after.tolist()
    other = lesson["user"].iloc[-1]
    assert crossed[0].get_group(other).tolist() != crossed[1].get_group(other).tolist()


@pytest.mark.sample
def test_every_way_of_calibrating(small, each_way):
    assert set(ablations.WAYS) <= set(each_way)
    for way in ("thresholds", "ordinal_thresholds"):
        assert set(each_way[way].dropna()) <= {1, 2, 3, 4, 5}
    has_tilt = each_way.groupby("judge")["tilted"].count()
    assert has_tilt["learned"] > 0 and has_tilt.drop("learned").eq(0).all()
    compared = stats.agreement(each_way, small, scores=ablations.WAYS, metrics=["qwk", "f1_dsat", "pearson"])
    tilted = compared[(compared["score"] == "tilted") & (compared["turns"] > 0)]
    assert set(tilted["judge"]) == {"learned"}, "alone gives a distribution"
    best = ablations.compare_best_ways(each_way, small, ablations.WAYS)
    assert best["metric"].tolist() == ["qwk", "f1_dsat"]
    assert (best["value"] - best["blind"]).to_numpy() == pytest.approx(best["gain"].to_numpy(), abs=1e-9)
    assert not {"constant 4", "user mean"} & {name for names in best["judges"] for name in names}


@pytest.mark.sample
def test_the_best_of_many_ways_is_not_ahead_by_selection(small, each_way):
    rng = np.random.default_rng(0)
    ways = [f"way {n}" for n in range(12)]
    dealt = each_way.assign(**{way: rng.integers(1, 6, len(each_way)).astype(float) for way in ways})
    best = ablations.compare_best_ways(dealt, small, ways)
    assert best["gain"].abs().max() < 0.15


@pytest.mark.sample
def test_score_sets_grow_with_what_they_state(small, each_way, taught):
    found = ablations.measure_score_sets(each_way, taught, small)
    assert found.groupby("judge")["size"].apply(lambda s: s.is_monotonic_increasing).all()
    # Three train users: above 3/4 nothing but all five scores can be promised.
    beyond = found[found["stated"] > 0.75]
    assert beyond["size"].eq(5).all() and beyond["covered"].eq(1).all() and found["learned_from"].eq(3).all()
    facts = ablations.describe_sets(found)
    assert facts["users"] == 3 and facts["stated"] == 0.75 and facts["smallest"]["stated"] == 0.7
    below = found.assign(covered_high=0.65)
    assert ablations.describe_sets(below)["short"] == list(dict.fromkeys(found["judge"]))
    assert ablations.describe_sets(found.assign(learned_from=0))["smallest"] is None


# -- variants ----------------------------------------------------------------------------------------------


def names(vary: str, scope: StudyScope, language: str = "en", languages: Sequence[str] = ()) -> list[str]:
    settings = JudgeSettings(language, False, window=scope.window)
    made = ablations.make_variants(ablations.parse_families(vary, scope), settings, scope.memory, languages)
    return [judge.name for family in made.values() for judge in family]


def test_variants_by_name():
    memory = ["structured memory", "no memory"]
    assert names("", LOOK) == [*memory, "written analysis"], "a first look is short"
    further = ["window of 1", "whole conversation", "prompts in Chinese", "written analysis"]
    assert names("", USUAL) == [*memory, *("measured", "scores only", "personal + measured", "full evidence"), *further]
    assert names("language", USUAL, "zh") == ["structured memory", "prompts in English"]
    assert names("language", USUAL, "en", languages=["en"]) == ["structured memory"]
    assert names("window", LOOK) == ["structured memory", "window of 5", "whole conversation"]
    assert names("repeat, update", LOOK)[1:] == ["5 samples", "updated per session", "updated per turn"]
    with pytest.raises(UnknownName, match="thing to vary"):
        names("memory, colour", LOOK)


@pytest.mark.sample
def test_variants_judge_the_same_replies_and_differ_in_one_thing(small, model, server):
    server.reply = answer
    made = ablations.make_variants(ablations.FAMILIES, JudgeSettings("en", False), USUAL.memory)
    judges = [judge for family in made.values() for judge in family]
    asked = verification.judge_test_users(judges, small, model(), limit=30)
    turns = asked.groupby("judge")[["user", "scenario", "session", "turn"]].apply(lambda f: f.to_numpy().tolist())
    assert len(turns) == len(judges) == len({judge.name for judge in judges})
    assert all(own == turns["structured memory"] for own in turns)
    assert asked["raw"].notna().all() and set(asked.query("judge == 'no memory'")["memory"].isna()) == {True}
    moved = ablations.measure_shifts(asked).set_index("judge")
    # The loopback model writes the same memory whatever it is shown: more evidence moves nothing.
    assert moved.loc["full evidence", "moved"] == 0 and moved.loc["full evidence", "r_with_base"] == 1
    assert moved.loc["no memory", "moved"] > 0
    few = ablations.measure_shifts(asked.groupby("judge").head(29)).set_index("judge")
    assert few["r_with_base"].isna().all() and few.loc["no memory", "moved"] > 0
    differences = ablations.compare_to_base(asked, small)
    assert set(differences["judge"]) == set(moved.index) - {"structured memory"}
    same = differences[differences["judge"] == "full evidence"]["gain"].dropna()
    assert len(same) and same.eq(0).all()
    assert set(differences["turns"]) == {30} and differences["gain_p_holm"].ge(0).any()
    own = differences.set_index(["judge", "score", "metric"]).loc["no memory", "real", "pearson"]
    base = stats.agreement(asked, small, scores=["real"], metrics=["pearson"]).set_index("judge").loc[ablations.BASE]
    assert own["gain"] == own["value"] - base["value"] and own["gain_low"] < own["gain"] < own["gain_high"]
    assert len(ablations.keep_enough(differences)) == len(differences)
    with pytest.raises(NotEnough, match="Fewer than 30"):
        ablations.keep_enough(differences.assign(turns=29))


# -- the page ----------------------------------------------------------------------------------------------

BACKBONES = "".join(
    f'[{name}]\nbase_url = "{{address}}"\nmodel = "{name}"\nstructured = "schema"\n' for name in ("one", "two")
)


@pytest.fixture
def few(small, home):
    """Two conversations a block of five users, saved, and two models that answer."""
    few = split(small, 2, 3)
    kept = few.sessions[few.sessions.groupby(["user", "scenario"]).cumcount() < 2]
    turns = few.turns.merge(kept[["user", "scenario", "session"]])
    save(dataclasses.replace(few, name="few", sessions=kept, turns=turns, extras={}), home / "data" / "few")
    with Endpoint(answer) as server:
        (home / "backbones.toml").write_text(BACKBONES.format(address=server.base_url), "utf-8")
        yield "few"


@pytest.mark.kernel
def test_the_notebook_runs_on_a_small_corpus(few, home):
    settings = {"language": "zh", "limit": 30, "more_backbones": "two", "vary": "memory, written"}
    run_report("02_ablations", corpus=few, backbones="one", **settings)
    folder = home / "reports" / "few" / "one"
    page = json.loads((folder / "02_ablations.json").read_text("utf-8"))
    shown = text_of(folder / "02_ablations.html")
    assert page["status"] == "success" and len(page["figures"]) == 7
    assert {"memory", "memory_gains", "moved", "variant_costs"} <= set(page["tables"])
    both = pd.read_csv(folder / "tables" / "backbones.csv")
    assert set(both["backbone"]) == {"one", "two"} and set(both["turns"]) == {30}
    assert "评判者凭什么与人一致" in shown and "结构化记忆" in shown and "**" not in shown
    assert "对每条回复都打 4 分的评判者" in shown and "r = nan" not in shown


@pytest.mark.page
def test_of_six_replies_agreement_is_not_shown_and_how_scores_moved_is(few, home, capsys):
    run_cells("02_ablations", corpus=few, backbone="two", limit=6, vary="written", out=str(home / "page"))
    tables, figures = ({file.stem for file in (home / "page" / kind).glob("*")} for kind in ("tables", "figures"))
    assert figures == {"knowledge", "tie_rules", "calibrators", "score_sets", "for_whom"}
    assert not {"memory", "memory_gains", "backbones"} & tables and "moved" in tables
    assert "Fewer than 30 judged replies have a score" in capsys.readouterr().out
    assert pd.read_csv(home / "page" / "tables" / "variant_costs.csv")["pearson"].isna().all()


def text_of(page: Path) -> str:
    return re.sub(r"<details class=.code.>.*?</details>", "", page.read_text("utf-8"), flags=re.DOTALL)


@pytest.mark.sample
def test_a_panel_and_another_users_history_are_rows_beside_the_judge_alone():
    corpus = shortened(world(18, 3, "en"), sessions=1, turns=3)
    found = ablations.compare_own_history(corpus).set_index(["whose", "metric"])
    assert set(found.index.get_level_values("whose")) == {"own", "nearest", ablations.PANEL}
    for other in ("nearest", ablations.PANEL):
        own, row = found.loc["own", "pearson"], found.loc[other, "pearson"]
        assert row["less"] == pytest.approx(own["value"] - row["value"], abs=1e-6)
    assert found["value"].between(-1, 1).all() and found.loc["own", "less"].isna().all()
