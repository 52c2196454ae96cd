"""Several replies to a request, judged for the person: picks, controls that know no more than they may, and the page."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from perslib.corpus import Scale, by_reply, load, read_rows, save
from perslib.errors import NotEnough
from perslib.judge import make_judges
from perslib.report import run_report
from perslib.stats import picks
from perslib.studies import how_many_labels
from perslib.studies import people_compared as study
from perslib.worlds import rate, world


def request(user, number, gold, score):
    """One request: what the person gave each candidate, and what the judge did."""
    return [
        {"user": user, "turn_id": f"{user}{number}", "candidate": c, "gold": g, "judge": s}
        for c, g, s in zip("abcd", gold, score)
    ]


def value(found, metric, judge="judge"):
    return found.set_index(["judge", "metric"]).loc[(judge, metric), "value"]


def test_picks_by_hand():
    rated = pd.DataFrame(request("u", 0, (90, 50, 10), (2, 3, 1)) + request("v", 0, (40, 80, 80), (1, 5, 2)))
    found = picks(rated, ["judge"])
    assert value(found, "best_reply") == 0.5 and value(found, "regret") == (40 + 0) / 2
    assert value(found, "pairs_right") == pytest.approx((2 / 3 + 2 / 2) / 2)  # of equals there is no pair
    assert value(found, "tau") == pytest.approx((1 / 3 + 2 / np.sqrt(6)) / 2)


def test_a_judge_that_says_the_same_of_all_does_as_well_as_chance():
    rng = np.random.default_rng(3)
    rated = pd.DataFrame([row for u in range(300) for row in request(f"u{u}", 0, rng.permutation(4), (3, 3, 3, 3))])
    found = picks(rated.assign(random=rng.random(len(rated))), ["judge", "random"])
    assert value(found, "best_reply") == 0.25 and value(found, "pairs_right") == 0.5 and value(found, "tau") == 0
    assert value(found, "best_reply", "random") == pytest.approx(0.25, abs=0.08)


def test_requests_where_nothing_differs_are_left_out():
    rated = pd.DataFrame(
        request("u", 0, (7, 7), (1, 2)) + request("u", 1, (7, 3), (1, 2)) + request("u", 2, (1, 2), (np.nan,) * 2)
    )
    found = picks(rated, ["judge"])
    assert found.set_index("metric").loc["best_reply", "requests"] == 1 and value(found, "best_reply") == 0


@pytest.fixture(scope="module")
def rated():
    """A world of 14 users who rated every reply to half of their requests, 1–100."""
    return rate(world(14, 3, "en", candidates=0.5), Scale(1, 100))


def test_the_world_rates_by_its_truth_on_any_scale(rated):
    replies = rated.extras["candidates"]
    true = np.corrcoef(replies["given"].astype(float), replies["expected"].astype(float))[0, 1]
    assert 0.6 < true < 0.95 and replies["given"].between(1, 100).all() and (replies["given"] % 1 == 0).all()
    assert replies.groupby(["user", "scenario", "session", "turn"])["chosen"].sum().eq(1).all()
    assert rated.turns["given"].notna().all() and str(rated.scale) == "1–100"
    thumbs = rate(world(3, 3, "en", candidates=0.5), Scale.parse("thumbs"))
    assert set(thumbs.turns["given"]) <= {0, 1} and set(thumbs.turns["score"]) <= {1, 5}
    again = rate(world(14, 3, "en", candidates=0.5), Scale(1, 100))
    assert again.digest == rated.digest


def test_controls_do_not_know_the_rating_itself(rated):
    corpus, frame, origin = study.collect_ratings(rated)
    assert origin == "people" and corpus is rated
    first, _ = study.add_controls(frame, rated)
    # Another rating of one reply changes nobody's control for the replies of the same conversation.
    changed = frame.copy()
    changed.loc[0, "liked"] += 1000
    second, _ = study.add_controls(changed, rated)
    same = (
        (frame["user"] == frame.loc[0, "user"])
        & (frame["session"] == frame.loc[0, "session"])
        & (frame["scenario"] == frame.loc[0, "scenario"])
    )
    own = frame["user"] == frame.loc[0, "user"]
    assert first.loc[same, study.OWN].to_numpy() == pytest.approx(second.loc[same, study.OWN].to_numpy(), abs=1e-9)
    assert first.loc[own, study.EVERYONE].to_numpy() == pytest.approx(second.loc[own, study.EVERYONE].to_numpy())
    assert not np.allclose(first.loc[~own, study.EVERYONE], second.loc[~own, study.EVERYONE])


def test_earlier_evidence_gives_controls_nothing_later(rated):
    corpus = rated.with_evidence("earlier")
    _, frame, _ = study.collect_ratings(corpus)
    first, _ = study.add_controls(frame, corpus)
    user = frame.loc[0, "user"]
    last = frame.index[frame["user"] == user][-1]
    changed = frame.copy()
    changed.loc[last, "liked"] += 1000
    second, _ = study.add_controls(changed, corpus)
    earlier = (frame["user"] == user) & (frame.index < last)
    kept = first.loc[earlier, study.OWN] - first.loc[earlier, study.EVERYONE]
    assert kept.to_numpy() == pytest.approx(
        (second.loc[earlier, study.OWN] - second.loc[earlier, study.EVERYONE]).to_numpy(), abs=1e-6
    )


def test_a_judge_that_knows_the_truth_picks_best(rated):
    _, frame, _ = study.collect_ratings(rated)
    frame, _ = study.add_controls(frame, rated)
    truth = rated.extras["candidates"][["user", "scenario", "session", "turn", "candidate", "expected"]]
    frame = frame.drop(columns="expected", errors="ignore").merge(truth.rename(columns={"expected": "truth"}))
    found = study.compare_picks(frame, ["truth"])
    for metric in ("best_reply", "pairs_right"):
        assert value(found, metric, "truth") > max(value(found, metric, own) for own in study.CONTROLS)
    assert value(found, "regret", "truth") < min(value(found, "regret", own) for own in study.CONTROLS)
    assert np.isnan(value(found, "tau", study.OWN)) and value(found, "tau", study.RANDOM) == 0


def test_judges_score_every_reply(rated):
    _, frame, _ = study.collect_ratings(rated)
    frame, _ = study.add_controls(frame, rated)
    drawn = study.draw_requests(frame, rated, 10)
    assert drawn["turn_id"].nunique() == 10 and drawn["user"].isin(rated.split()["test"]).all()
    (judge,) = make_judges("nearest")
    scored = study.judge_replies(drawn, [judge], rated, None)
    assert scored[judge.name].notna().all() and len(scored) == len(drawn)
    costly = study.costly_picks(scored, judge.name)
    assert costly["regret"].is_monotonic_decreasing and costly["regret"].max() > 0


def test_every_rated_reply_becomes_a_turn_and_none_is_evidence_for_another(rated):
    corpus = rated.with_evidence("conversations")
    flat = by_reply(corpus)
    replies = corpus.extras["candidates"]
    assert flat.turns["score"].notna().sum() >= len(replies) and "candidates" not in flat.extras
    where = replies.loc[replies["turn"] > 0].iloc[0]
    block = flat.block(where["user"], where["scenario"])
    assert set(
        replies.loc[(replies["user"] == where["user"]) & (replies["scenario"] == where["scenario"]), "response"]
    ) <= set(block.targets["response"])
    held = block.evidence["session"].str.split("/").str[0]
    assert not held.eq(where["session"]).any() or block.evidence["scenario"].ne(where["scenario"]).all()
    own = block.target(f"{where['session']}/{where['turn']}/{where['candidate']}", where["turn"])
    as_it_was = corpus.block(where["user"], where["scenario"]).target(where["session"], where["turn"])
    assert own.prefix == as_it_was.prefix and own.response == where["response"]
    assert by_reply(load("sample/en")).digest == load("sample/en").digest


def test_page_12_draws_from_people_who_rated_several_replies(rated):
    known = how_many_labels.collect_ratings(rated, limit=-1)
    assert known["candidate"].nunique() == 5 and known["gold"].between(1, 5).all()


def test_without_several_replies_the_page_says_what_it_needs():
    rows = [{"user": "u", "request": "q", "response": "r", "score": 4}]
    with pytest.raises(NotEnough, match="several replies"):
        study.collect_ratings(read_rows(rows, "mine").corpus)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_says_what_its_tables_say(tmp_path, language, rated):
    only = dataclasses.replace(rated, name="mine", language=language)
    save(only, tmp_path / "mine")
    run_report(["13"], corpus=str(tmp_path / "mine"), out=tmp_path / "out", judges="nearest")
    (page,) = tmp_path.glob("out/**/13_people_compared.json")
    told = json.loads(page.read_text("utf-8"))
    assert told["status"] == "success" and told["answer"]
    found = pd.read_csv(next(tmp_path.glob("out/**/figures/picks.csv")))
    best = found[found["metric"].eq("best_reply") & ~found["judge"].isin(study.CONTROLS)]["value"].iloc[0]
    assert f"{best:.2f}" in " ".join(told["answer"] if isinstance(told["answer"], list) else [told["answer"]])
