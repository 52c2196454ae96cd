"""Ratings of a person correct a judge: planted people are found, shuffled ones gain nothing, and no later rating is used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from perslib.corpus import TURN, load
from perslib.errors import NotEnough
from perslib.judge import UserMean, evaluate
from perslib.stats import agreement
from perslib.stats.calibrate.of_person import calibrate_by_person, correct_so_far, fit_person_prior, fit_so_far
from perslib.studies import own_ratings


def people(count, draw, each=40):
    """Planted lines: a judge's score x, and labels α + β(x − 3) + noise."""
    level, slope = draw.normal(3, 0.6, count), draw.normal(0.8, 0.3, count)
    rows = []
    for user in range(count):
        x = draw.uniform(1, 5, each)
        gold = level[user] + slope[user] * (x - 3) + draw.normal(0, 0.4, each)
        rows.append(pd.DataFrame({"user": f"u{user}", "raw": x, "gold": gold}))
    return pd.concat(rows, ignore_index=True), level, slope


def test_planted_lines_are_found_and_a_prior_beats_the_line_of_few_ratings():
    rated, level, slope = people(80, np.random.default_rng(0))
    prior = fit_person_prior(rated)
    at_three = prior.mean[0] + prior.mean[1] * (3 - prior.centre)
    assert abs(at_three - level.mean()) < 0.05 and abs(prior.mean[1] - slope.mean()) < 0.05
    assert np.sqrt(prior.covariance[1, 1]) == pytest.approx(0.3, abs=0.08) and prior.noise == pytest.approx(
        0.16, abs=0.02
    )
    errors = {"own": [], "shrunk": [], "everybody": []}
    for _user, own in rated.groupby("user"):
        x, gold = own["raw"].to_numpy(), own["gold"].to_numpy()
        some, rest = slice(0, 4), slice(4, None)
        line, _ = prior.draw_line(x[some], gold[some])
        nobody, _ = prior.draw_line(x[:0], gold[:0])
        least_squares = np.polyval(np.polyfit(x[some] - prior.centre, gold[some], 1), x[rest] - prior.centre)
        for name, guess in (
            ("own", least_squares),
            ("shrunk", prior.expect(line, x[rest])),
            ("everybody", prior.expect(nobody, x[rest])),
        ):
            errors[name].append(((guess - gold[rest]) ** 2).mean())
    assert np.mean(errors["shrunk"]) < np.mean(errors["own"]) and np.mean(errors["shrunk"]) < np.mean(
        errors["everybody"]
    )
    assert np.allclose(nobody, prior.mean)


@pytest.fixture(scope="module")
def judged():
    corpus = load("sample/en")
    return corpus, evaluate(UserMean(), corpus).assign(real=lambda v: v["raw"])


def test_only_earlier_ratings_of_the_conversation_move_a_score(judged):
    corpus, verdicts = judged
    before = correct_so_far(verdicts, corpus)
    later = corpus.turns["turn"] >= 1
    other = corpus.turns["score"].where(~later, 6 - corpus.turns["score"])
    after = correct_so_far(verdicts, replace(corpus, turns=corpus.turns.assign(score=other)))
    early = (verdicts["turn"] <= 1).to_numpy()
    assert before["so_far"][early].tolist() == after["so_far"][early].tolist()
    assert not before["so_far"][~early].equals(after["so_far"][~early])
    first = before["ratings_so_far"] == 0
    assert before["so_far"][first].tolist() == verdicts["real"][first].tolist()


def test_the_weight_of_an_earlier_rating_halves_with_each_turn_since(judged):
    corpus, verdicts = judged
    gold = verdicts.merge(corpus.turns[[*TURN, "score"]], on=TURN, how="left")
    done = correct_so_far(verdicts, corpus)
    for _, own in gold.groupby(TURN[:3]):
        if own["score"].notna().all() and own["turn"].tolist() == [0, 1, 2]:
            off = (own["score"] - own["real"]).astype(float).to_numpy()
            expected = own["real"].iloc[2] + (off[1] + off[0] / 2) / (1.5 + 2)
            assert done.loc[own.index[2], "so_far"] == pytest.approx(min(max(expected, 1), 5))
            break
    else:
        raise AssertionError("no conversation of three rated replies")


def test_where_conversations_have_nothing_in_common_they_correct_nothing(judged):
    corpus, _verdicts = judged
    draw = np.random.default_rng(1)
    level = corpus.turns.groupby(TURN[:3]).ngroup().map(lambda n: np.random.default_rng(n).normal(0, 1.2))
    noise, common = draw.normal(0, 0.8, len(corpus.turns)), level.to_numpy() + draw.normal(0, 0.4, len(corpus.turns))
    strengths = {}
    for name, off in (("noise", noise), ("common", common)):
        score = pd.Series((3.5 + off).clip(1, 5).round()).astype("Int64")
        data = replace(corpus, turns=corpus.turns.assign(score=score, reason=None))
        strengths[name] = fit_so_far(data.turns[TURN].assign(judge="j", raw=3.5), data)
    assert strengths["common"] == 2 and strengths["noise"] >= 16


def test_a_level_that_the_judge_does_not_know_is_learned_from_other_scenarios_and_no_other_persons(judged):
    corpus, verdicts = judged
    blind = verdicts.assign(real=3.0 + verdicts["turn"] * 0.1)
    held_out = blind.merge(corpus.turns[[*TURN, "score"]], on=TURN).rename(columns={"score": "gold"})
    prior = fit_person_prior(held_out, "real")

    def r(ratings, data=corpus):
        mapped = blind.assign(real=calibrate_by_person(blind, data, prior, most=ratings))
        return agreement(mapped, corpus, scores=["real"], metrics=["pearson"])["value"].item()

    assert r(0) < r(2) < r(None)
    users = corpus.turns["user"].unique()
    swapped = corpus.turns.assign(score=np.random.default_rng(0).permutation(corpus.turns["score"]))
    assert len(users) > 10 and r(None, replace(corpus, turns=swapped)) < r(2)


def test_the_gain_of_ratings_so_far_is_said_where_it_is_there_and_counted_by_ratings(judged):
    corpus, verdicts = judged
    level = corpus.turns.groupby(TURN[:3]).ngroup().map(lambda n: np.random.default_rng(n).normal(0, 1.2))
    score = (3.5 + level + np.random.default_rng(2).normal(0, 0.4, len(level))).clip(1, 5).round().astype("Int64")
    data = replace(corpus, turns=corpus.turns.assign(score=score, reason=None))
    live = own_ratings.judge_so_far(verdicts, data, ["user mean"])
    compared = own_ratings.compare_so_far(live, data)
    wording, numbers = own_ratings.describe_so_far(compared, "user mean")
    assert wording.startswith("**Live") and numbers["gain"].low > 0
    by_count = own_ratings.count_so_far(live).set_index("ratings")
    assert by_count.loc["0", "missed_by"] == by_count.loc["0", "missed_by_live"]
    assert by_count.loc["1", "mended_low"] > 0 and by_count["turns"].sum() == len(live)
    with pytest.raises(NotEnough, match="No conversation"):
        own_ratings.judge_so_far(verdicts[verdicts["turn"] == 0], data, ["user mean"])
