"""The study on label budgets: who is drawn from, what each method says of drawn studies, and what the page says."""

from __future__ import annotations

import dataclasses
import json
import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from perslib.corpus import SESSION, TURN, Corpus, load, save
from perslib.errors import DataError, PerslibError
from perslib.judge import Nearest
from perslib.judge.scope import whole_numbers
from perslib.replay import ORIGINAL, write_replies
from perslib.report import name_of, run_report
from perslib.stats import classical_mean, ppi_difference, ppi_mean
from perslib.studies import how_many_labels as study
from perslib.studies import rated_replies
from perslib.studies.how_many_labels import JUDGE_ALONE, LABELS_ALONE, LABELS_AND_JUDGE, LABELS_AND_JUDGE_UNTUNED
from perslib.text import using_language


@pytest.fixture(scope="module")
def sample() -> Corpus:
    return load("sample/en")


def world(users: int = 30, turns: int = 4, seed: int = 1, knows: float = 0.4) -> pd.DataFrame:
    """Three candidates half a point apart on the same turns; a judge half a point too kind that sees through noise."""
    rng = np.random.default_rng(seed)
    user, turn = np.repeat(np.arange(users), turns), np.tile(np.arange(turns), users)
    level = rng.normal(0, 0.5, users)[user]
    frames = []
    for place, name in enumerate("abc"):
        gold = 3 + 0.5 * place + level + rng.normal(0, 0.5, len(user))
        heard = gold + 0.5 + rng.normal(0, knows, len(user))
        keys = {"user": [f"u{u}" for u in user], "scenario": "s", "session": "1", "turn": turn}
        frames.append(pd.DataFrame({"candidate": name, **keys, "gold": gold, "judged": heard}))
    return pd.concat(frames, ignore_index=True)


@pytest.fixture(scope="module")
def measured() -> pd.DataFrame:
    pool = study.build_pool(world(), "judge")
    return study.measure_budgets(pool, study.draw_studies(pool, 80, 150), [3, 8, 20])


def test_a_pool_has_what_turns_sum_to():
    known = pd.DataFrame(
        {"candidate": list("aabb"), "user": ["u", "v", "u", "v"], "gold": [1.0, 2, 5, 4], "judged": [3.0, 4, 2, 3]}
    ).assign(scenario="s", session="1", turn=0)
    pool = study.build_pool(pd.concat([known, known.assign(turn=1)]), "judge")
    assert (pool.users, pool.candidates, pool.is_paired) == (["u", "v"], ["a", "b"], True)
    assert pool.turns.tolist() == [[2, 2], [2, 2]] and pool.gold.tolist() == [[2, 10], [4, 8]]
    assert pool.true_means.tolist() == [1.5, 4.5] and pool.judge_sums["judge"].tolist() == [[6, 4], [8, 6]]
    # a is worst by people; by the judge it is ahead by 1, so that it is given the .2 of a lead only.
    assert pool.judge_sums[study.PARTIAL] - pool.judge_sums["judge"] == pytest.approx(np.array([[0.4, 0], [0.4, 0]]))
    assert pool.judge_sums[study.CONSTANT] == pytest.approx(np.full((2, 2), 6.0))


def test_studies_say_what_the_library_says_of_the_same_turns():
    known = world(users=12)
    pool = study.build_pool(known, "judge")
    who = study.draw_studies(pool, 20, 2, seed=3)
    parts = {"few": who[0, :7], "many": who[0, 7:]}
    rows: dict[str, list[pd.DataFrame]] = {}
    for part, drawn in parts.items():  # one drawn twice is two users
        named = [known[known["user"] == pool.users[u]].assign(cluster=f"{part}{i}") for i, u in enumerate(drawn)]
        rows[part] = [pd.concat(named).query("candidate == @c") for c in "abc"]
    few, many = rows["few"], rows["many"]
    of = {"cluster": few[0]["cluster"], "cluster_unlabelled": many[0]["cluster"]}
    for method, lam in ((LABELS_AND_JUDGE, None), (LABELS_AND_JUDGE_UNTUNED, 1.0), (LABELS_ALONE, 0.0)):
        found = study.estimate_means(pool, who, 7, "judge", method)
        for c in range(3):
            one = ppi_mean(few[c]["gold"], few[c]["judged"], many[c]["judged"], **of, lam=lam)
            assert (found.value[c, 0], found.lam[c, 0]) == pytest.approx((one.value, one.lam))
            assert 2 * found.half()[c, 0] == pytest.approx(one.high - one.low)
        for place, (a, b) in enumerate(combinations(range(3), 2)):
            two = ppi_difference(
                *(few[a]["gold"], few[b]["gold"], few[a]["judged"], few[b]["judged"]),
                *(many[a]["judged"], many[b]["judged"]),
                **of,
                lam=lam,
            )
            assert (found.value[3 + place, 0], 2 * found.half()[3 + place, 0]) == pytest.approx(
                (two.value, two.high - two.low)
            )
    everyone = pd.concat([few[0], many[0]])
    alone = classical_mean(everyone["judged"], cluster=everyone["cluster"])
    found = study.estimate_means(pool, who, 7, "judge", JUDGE_ALONE)
    assert (found.value[0, 0], 2 * found.half()[0, 0]) == pytest.approx((alone.value, alone.high - alone.low))


def test_a_good_judge_is_worth_labels_and_a_kind_one_is_wrong_alone(measured):
    at = measured.set_index(["labelled", "method"])
    labels, both, alone = (at.loc[(20, method)] for method in (LABELS_ALONE, LABELS_AND_JUDGE, JUDGE_ALONE))
    assert labels["worth"] == pytest.approx(20) and both["worth_low"] > 22
    assert both["interval_width"] < 0.85 * labels["interval_width"]
    assert both["worth_pairs"] > 20
    assert alone["bias"] == pytest.approx(0.5, abs=0.1) and alone["holds_truth"] < 0.05
    for method in (LABELS_ALONE, LABELS_AND_JUDGE):
        assert at.loc[(20, method), "holds_truth_high"] > 0.92 > 1 - at.loc[(20, method), "holds_truth_low"]
        assert at.loc[(3, method)][["interval_width", "holds_truth", "apart"]].isna().all(), "three users have none"
        assert at.loc[(20, method), "best"] > at.loc[(3, method), "best"] - 0.02
    # Half a point apart, .5 of noise on 80 turns: told apart nearly always, and never wrongly.
    assert labels["apart"] > 0.95 and labels["wrong"] == 0
    assert labels["tau"] == pytest.approx(1, abs=0.05) and labels["best"] > 0.97


def test_controls_do_what_they_must():
    pool = study.build_pool(world(), "judge")
    found = study.measure_controls(pool, study.draw_studies(pool, 80, 150), 8).set_index(["judge", "method"])
    labels = found[found.index.get_level_values("method") == LABELS_ALONE].iloc[0]
    for method in (LABELS_AND_JUDGE, LABELS_AND_JUDGE_UNTUNED):
        assert found.loc[(study.CONSTANT, method), "worth"] == pytest.approx(8)
        # What is added everywhere stands on both sides.
        same = found.loc[[("judge", method), (study.PARTIAL, method)], "interval_width"]
        assert same.iloc[0] == pytest.approx(same.iloc[1])
    assert (
        found.loc[(study.SHUFFLED, LABELS_AND_JUDGE_UNTUNED), "worth"]
        < found.loc[(study.SHUFFLED, LABELS_AND_JUDGE), "worth"]
        < 8.2
    )
    assert found.loc[(study.SHUFFLED, LABELS_AND_JUDGE_UNTUNED), "interval_width"] > 1.05 * labels["interval_width"]
    assert found.loc[(study.PARTIAL, JUDGE_ALONE), "best"] < 0.05 < found.loc[("judge", JUDGE_ALONE), "best"]
    assert (study.SHUFFLED, JUDGE_ALONE) not in found.index


def test_labels_asked_for_where_the_judge_scored_low_break_the_promise():
    pool = study.build_pool(world(), "judge")
    found = study.measure_choices(pool, study.draw_studies(pool, 80, 150), 8).set_index(["chosen", "method"])
    assert found.loc[("by low scores", LABELS_ALONE), "holds_truth"] < 0.75
    assert found.loc[("at random", LABELS_ALONE), "holds_truth"] > 0.85
    assert found.loc[("by low scores", LABELS_ALONE), "bias"] > 0.2 > found.loc[("at random", LABELS_ALONE), "bias"]


def test_one_candidate_and_candidates_on_unlike_turns():
    one = study.build_pool(world().query("candidate == 'a'"), "judge")
    table = study.measure_budgets(one, study.draw_studies(one, 40, 50), [8])
    assert "best" not in table and study.PARTIAL not in one.judge_sums
    unlike = world().query("candidate != 'a' or turn > 0")
    pool = study.build_pool(unlike, "judge")
    assert not pool.is_paired
    table = study.measure_budgets(pool, study.draw_studies(pool, 40, 50), [8])
    assert "worth_pairs" not in table and table["best"].notna().all()
    # Each user knows one candidate only: of three asked, nobody may know a candidate, who then has no estimate.
    own = world()[lambda f: f["candidate"].to_numpy() == np.array(list("abc"))[f["user"].str[1:].astype(int) % 3]]
    pool = study.build_pool(own, "judge")
    table = study.measure_budgets(pool, study.draw_studies(pool, 40, 60), [3, 12])
    found = table[table["method"] != JUDGE_ALONE]
    assert found[["best", "tau", "bias", "worth"]].notna().all(axis=None)
    assert found.loc[found["labelled"] == 12, ["interval_width", "holds_truth"]].notna().all(axis=None)


@pytest.mark.parametrize(("knows", "least"), [(0.1, 0.5), (3.0, 0.25)])
def test_a_candidate_without_a_label_ranks_at_random_or_as_the_judge_says(knows, least):
    """Each turn has one candidate of four: two labelled users know of two or three, and find the best no worse than chance."""
    known = world(users=40, turns=1, knows=knows)
    known = pd.concat([known, known[known["candidate"] == "a"].assign(candidate="d")])
    number = known["user"].str[1:].astype(int)
    known = known[number % 4 == known["candidate"].map("abcd".index)].assign(gold=lambda own: own["gold"] + 0.0)
    pool = study.build_pool(known, "judge")
    who = study.draw_studies(pool, 30, 600)
    by = study.measure_budgets(pool, who, [2, 24]).set_index(["labelled", "method"])["best"]
    assert by[2, LABELS_ALONE] > 0.25 and by[24, LABELS_ALONE] > by[2, LABELS_ALONE] + 0.2
    value = study.estimate_means(pool, who, 2, "judge", LABELS_ALONE).value
    best, has = int(pool.true_means.argmax()), np.isfinite(value)
    leads = has[best] & (np.where(has, value, -9)[best] == np.where(has, value, -9).max(axis=0))
    assert by[2, LABELS_ALONE] == pytest.approx(np.where(has[best], leads * has.mean(axis=0), 0.25).mean())
    assert by[2, LABELS_AND_JUDGE] > least
    both = study.estimate_means(pool, who, 2, "judge", LABELS_AND_JUDGE)
    assert np.isnan(both.half()).all(), "no interval from two users"
    # By hand: the judge's mean over all users of the first study, plus its mean error on the two who are labelled.
    turns, judged, gold = (of[who[0]] for of in (pool.turns, pool.judge_sums["judge"], pool.gold))
    error = (gold - judged)[:2].sum() / turns[:2].sum()
    without = ~has[:, 0]
    np.testing.assert_allclose(both.value[without, 0], (judged.sum(0) / turns.sum(0) + error)[without])
    assert 0 < without.sum() < 4


def test_sentences_speak_of_a_budget_with_intervals_and_of_the_first_that_suffices(measured):
    assert study.pick_budget(measured) == 8
    assert study.pick_budget(measured[measured["labelled"] == 3]) == 3
    found = measured.assign(best_low=np.where(measured["labelled"] >= 8, 0.95, 0.5))
    assert study.find_sufficient(found, LABELS_ALONE) == study.find_sufficient(found, LABELS_AND_JUDGE) == 8
    relapsing = measured.assign(best_low=np.where(measured["labelled"] == 8, 0.5, 0.95))
    assert study.find_sufficient(relapsing, LABELS_AND_JUDGE) == 20
    assert study.find_sufficient(measured.assign(best_low=0.5), LABELS_AND_JUDGE) is None


def test_candidates_by_people_and_by_the_judge():
    known = world()
    table = rated_replies.compare_candidates(known).set_index("candidate")
    own = known[known["candidate"] == "b"]
    assert table.loc["b", "bias"] == pytest.approx((own["judged"] - own["gold"]).mean())
    assert table.loc["b", "r_turns"] == pytest.approx(own["gold"].corr(own["judged"]))
    means = own.groupby("user")[["gold", "judged"]].mean()
    assert table.loc["b", "r_users"] == pytest.approx(means["gold"].corr(means["judged"]))
    assert (table["gold_low"] < table["gold"]).all() and (table["gold"] < table["gold_high"]).all()
    assert 0.5 < rated_replies.correlate_differences(known) < 1
    few = known[known["user"].isin([f"u{n}" for n in range(7)])]
    assert rated_replies.compare_candidates(few)[["r_turns", "r_users"]].isna().all(axis=None)  # 28 turns each


def test_the_worlds_users_rate_by_their_own_thresholds(sample):
    known = rated_replies.collect_ratings(sample, limit=60)
    assert known["candidate"].nunique() == 5 and len(known) == 300 and set(known["gold"]) <= {1, 2, 3, 4, 5}
    assert set(known["user"]) <= set(sample.split()["test"])
    again = rated_replies.collect_ratings(sample, limit=60)
    pd.testing.assert_frame_equal(known, again)
    whole = rated_replies.collect_ratings(sample, limit=-1)
    true = sample.extras["candidates"].merge(whole, on=["candidate", *TURN])
    # A rating less its expectation has a standard deviation of .6 or so; of 1,410 the mean is off by .016.
    assert (true["gold"] - true["expected"]).mean() == pytest.approx(0, abs=0.06)
    assert np.corrcoef(true["gold"], true["expected"])[0, 1] > 0.6


def test_elsewhere_the_recorded_replies_are_judged_by_who_gave_them(sample):
    bare = dataclasses.replace(sample, extras={})
    known = rated_replies.collect_ratings(bare, limit=100)
    assert known["candidate"].nunique() == 5 and not known.duplicated(TURN).any()
    nameless = dataclasses.replace(bare, sessions=bare.sessions.assign(assistant=pd.NA))
    assert set(rated_replies.collect_ratings(nameless, limit=100)["candidate"]) == {ORIGINAL}
    heard = rated_replies.score_replies(known.head(20), Nearest(), bare)
    assert heard["judged"].between(1, 5).all() and heard["gold"].equals(known["gold"].head(20))


@pytest.mark.sample
def test_replies_and_labels_of_ones_own(sample, tmp_path):
    bare = dataclasses.replace(sample, extras={})
    test = sample.split()["test"]
    turns = bare.turns[bare.turns["user"].isin(test)].groupby("user").head(2)[[*TURN, "response"]]
    own = turns.assign(candidate="mine", response="Do this, then that.")
    write_replies(own, tmp_path / "replies.jsonl", bare)
    both = pd.concat([own, own.assign(candidate=ORIGINAL)])[["candidate", *TURN]].assign(score=4)
    both.to_csv(tmp_path / "labels.csv", index=False)
    both.to_json(tmp_path / "labels.jsonl", orient="records", lines=True)
    for name in ("labels.csv", "labels.jsonl"):
        known = rated_replies.collect_ratings(
            bare, replies=str(tmp_path / "replies.jsonl"), labels=str(tmp_path / name)
        )
        assert known["candidate"].value_counts().to_dict() == {"mine": 40, ORIGINAL: 40}
        assert (known["gold"] == 4).all()
    with pytest.raises(PerslibError, match="give both or neither"):
        rated_replies.collect_ratings(bare, labels="labels.csv")
    both.assign(score=7).to_csv(tmp_path / "seven.csv", index=False)
    with pytest.raises(DataError, match=r"seven\.csv:2: score is 7.0, expected a number from 1 to 5"):
        rated_replies.collect_ratings(bare, replies=str(tmp_path / "replies.jsonl"), labels=str(tmp_path / "seven.csv"))
    both.drop(columns="score").to_csv(tmp_path / "none.csv", index=False)
    with pytest.raises(DataError, match=r"none\.csv:1: has no column score"):
        rated_replies.collect_ratings(bare, replies=str(tmp_path / "replies.jsonl"), labels=str(tmp_path / "none.csv"))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"candidate": "a\ud83d"}, "l.jsonl:1: candidate holds half a character"),
        ({"user": "\ud83d"}, "l.jsonl:1: user holds half a character"),
        ({"turn": 10**400}, 'l.jsonl:1: turn is "1000'),
        ({"score": 10**400}, "l.jsonl:1: score is a whole number of 401 digits"),
        ('{"candidate": ', "l.jsonl:1: the JSON text ends too early"),
        (b"\xff,u,s,0,1,4", "l.csv:2: is not UTF-8"),
        (b"a,u,s,0,first,4", 'l.csv:2: turn is "first"'),
        (b"", "l.csv: holds no line"),
    ],
)
def test_labels_that_cannot_be_read_are_told_with_their_line(sample, tmp_path, line, told):
    bare = dataclasses.replace(sample, extras={})
    one = bare.turns.head(1)[[*TURN, "response"]].assign(candidate="mine")
    write_replies(one, tmp_path / "replies.jsonl", bare)
    label = {"candidate": "a", "user": "u", "scenario": "s", "session": "0", "turn": 1, "score": 4}
    head = b"" if not isinstance(line, bytes) else b"candidate,user,scenario,session,turn,score\n"
    text = json.dumps(label | line).encode() if isinstance(line, dict) else line
    labels = tmp_path / told.partition(":")[0]
    labels.write_bytes(head + (text.encode() if isinstance(text, str) else text) + b"\n")
    with pytest.raises(DataError) as caught:
        rated_replies.collect_ratings(bare, replies=str(tmp_path / "replies.jsonl"), labels=str(labels))
    assert str(caught.value).encode().decode().startswith(told)


def test_what_cannot_be_is_said(sample):
    assert whole_numbers("6, 2,2", "budgets") == [2, 6]
    for wrong in ("", "two", "0, 4"):
        with pytest.raises(PerslibError, match="expected whole numbers"):
            whole_numbers(wrong, "budgets")
    pool = study.build_pool(world(users=6), "judge")
    with pytest.raises(PerslibError, match="is below the 10 users"):
        study.measure_budgets(pool, study.draw_studies(pool, 10, 5), [10, 20])
    with pytest.raises(PerslibError, match="gives no estimate"):
        study.draw_studies(pool, 1, 100)
    with pytest.raises(DataError, match="The study needs 5 users"):
        rated_replies.collect_ratings(sample, limit=2)


def test_what_the_page_shows_has_a_name_in_both_languages(measured):
    pool = study.build_pool(world(), "judge")
    chosen = study.measure_choices(pool, study.draw_studies(pool, 20, 10), 8)
    headings = [*measured["method"].unique(), study.SHUFFLED, study.CONSTANT, study.PARTIAL, *chosen["chosen"].unique()]
    measures = [c for c in measured if not c.endswith(("_low", "_high")) and c != "lam"]
    headings += [*measures, "by_people", "by_judge", "r_turns", "r_users", "chosen"]
    with using_language("zh"):
        for name in headings:
            assert name == "tau" or name_of(name) != name, name


@pytest.mark.parametrize(
    ("page", "settings"),
    [
        ("12_how_many_labels", {"draws": 20, "users": 20, "budgets": "6"}),
        ("12_how_many_labels", {"draws": 20, "users": 20, "budgets": "6", "judge": "user mean"}),
        ("04_replay", {"others": "nearest", "contexts": "none", "judge": "user mean"}),
    ],
)
@pytest.mark.kernel
def test_pages_say_of_few_train_users_and_of_a_judge_below_zero(sample, home, page, settings):
    """Who is pleased in one scenario is not in the other: a user's mean misleads, the learned judge learns not to heed it."""
    two = sample.turns["scenario"].isin(sample.scenarios[:2])
    turns = sample.turns[two].groupby(["user", "scenario"]).head(4)
    number = turns["user"].str[1:].astype(int) + turns["scenario"].map(sample.scenarios.index)
    turns = turns.assign(score=pd.array(number % 2 * 3 + 1 + turns["turn"] % 2, "Int64"))
    sessions = sample.sessions.merge(turns[SESSION].drop_duplicates(), on=SESSION)
    split = sample.split()
    odd = dataclasses.replace(
        sample,
        name="odd",
        meta={"splits": {"train": split["train"][:4], "test": split["test"]}},
        turns=turns.reset_index(drop=True),
        sessions=sessions,
        events=sample.events[:0],
        extras={},
    )
    save(odd, home / "data" / "odd")
    run_report(page, corpus="odd", language="zh", seed=1, **settings)
    html = (home / "reports" / "odd" / "none" / f"{page}.html").read_text("utf-8")
    shown = re.sub(r"<details class=.code.>.*?</details>", "", html, flags=re.DOTALL)
    is_mean = settings.get("judge") == "user mean"
    assert shown.count("评判者“learned”只有 4 位训练用户可学，少于 10 位") == (not is_mean)
    assert 'class="note"' not in shown
    assert bool(re.search(r"低于零</strong>，.*用户历史均值 r = −", shown)) == is_mean
