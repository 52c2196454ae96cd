"""Several replies to a request, judged for the person: picks, controls that know no more than they may, and the page."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from pages import run_cells
from scipy.stats import kendalltau

from perslib.corpus import Scale, by_reply, describe_import, load, read_rows, save
from perslib.corpus.known_truth import rate
from perslib.judge import make_judges
from perslib.report import run_report
from perslib.stats import compare_user_preferences, measure_best_replies
from perslib.stats.compare.best_reply import kendall
from perslib.studies import people_compared as study
from perslib.studies import rated_replies
from perslib.worlds import world


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
    found = measure_best_replies(rated, ["judge"])
    assert value(found, "best_reply") == 0.5 and value(found, "regret") == (40 + 0) / 2
    assert value(found, "pairs_right") == pytest.approx((2 / 3 + 2 / 2) / 2)  # of equals there is no pair
    assert value(found, "tau") == pytest.approx((1 / 3 + 2 / np.sqrt(6)) / 2)


def test_a_judge_that_says_the_same_of_all_does_as_well_as_chance():
    rng = np.random.default_rng(3)
    rated = pd.DataFrame([row for u in range(300) for row in request(f"u{u}", 0, rng.permutation(4), (3, 3, 3, 3))])
    found = measure_best_replies(rated.assign(random=rng.random(len(rated))), ["judge", "random"])
    assert value(found, "best_reply") == 0.25 and value(found, "pairs_right") == 0.5 and value(found, "tau") == 0
    assert value(found, "best_reply", "random") == pytest.approx(0.25, abs=0.08)


def test_requests_where_nothing_differs_are_left_out():
    rated = pd.DataFrame(
        request("u", 0, (7, 7), (1, 2)) + request("u", 1, (7, 3), (1, 2)) + request("u", 2, (1, 2), (np.nan,) * 2)
    )
    found = measure_best_replies(rated, ["judge"])
    assert found.set_index("metric").loc["best_reply", "requests"] == 1 and value(found, "best_reply") == 0


@pytest.fixture(scope="module")
def rated():
    """A world of 14 users who rated every reply to half of their requests, 1–100."""
    return rate(world(14, 3, "en", candidates=0.5), Scale(1, 100))


@pytest.mark.sample
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


def test_what_everyone_likes_is_the_mean_of_the_other_users_ratings():
    liked = {"a": (1.0, 3.0), "b": (5.0,), "c": (7.0, 9.0)}
    rows = [(user, f"s{i}", value) for user, values in liked.items() for i, value in enumerate(values)]
    frame = pd.DataFrame(rows, columns=["user", "scenario", "liked"]).assign(model="m", response="r")
    corpus = read_rows([{"user": u, "request": "q", "response": "r", "score": 3} for u in liked], "mine").corpus
    found, _ = study.add_controls(frame, corpus)
    assert found[study.LIKED_BY_EVERYONE].tolist() == pytest.approx([7, 7, 5, 3, 3])


@pytest.mark.sample
def test_controls_do_not_know_the_rating_itself(rated):
    corpus, frame, origin = study.collect_rated_replies(rated)
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
    assert first.loc[same, study.LIKED_BY_USER].to_numpy() == pytest.approx(
        second.loc[same, study.LIKED_BY_USER].to_numpy(), abs=1e-9
    )
    assert first.loc[own, study.LIKED_BY_EVERYONE].to_numpy() == pytest.approx(
        second.loc[own, study.LIKED_BY_EVERYONE].to_numpy()
    )
    assert not np.allclose(first.loc[~own, study.LIKED_BY_EVERYONE], second.loc[~own, study.LIKED_BY_EVERYONE])


@pytest.mark.sample
def test_earlier_evidence_gives_controls_nothing_later(rated):
    corpus = rated.with_evidence("earlier")
    _, frame, _ = study.collect_rated_replies(corpus)
    first, _ = study.add_controls(frame, corpus)
    user = frame.loc[0, "user"]
    last = frame.index[frame["user"] == user][-1]
    changed = frame.copy()
    changed.loc[last, "liked"] += 1
    second, _ = study.add_controls(changed, corpus)
    earlier = (frame["user"] == user) & (frame.index < last)
    kept = first.loc[earlier, study.LIKED_BY_USER] - first.loc[earlier, study.LIKED_BY_EVERYONE]
    assert kept.to_numpy() == pytest.approx(
        (second.loc[earlier, study.LIKED_BY_USER] - second.loc[earlier, study.LIKED_BY_EVERYONE]).to_numpy(), abs=1e-6
    )


@pytest.mark.sample
def test_a_judge_that_knows_the_truth_picks_best(rated):
    _, frame, _ = study.collect_rated_replies(rated)
    frame, _ = study.add_controls(frame, rated)
    truth = rated.extras["candidates"][["user", "scenario", "session", "turn", "candidate", "expected"]]
    frame = frame.drop(columns="expected", errors="ignore").merge(truth.rename(columns={"expected": "truth"}))
    found = study.compare_picks(frame, ["truth"])
    for metric in ("best_reply", "pairs_right"):
        assert value(found, metric, "truth") > max(value(found, metric, own) for own in study.CONTROLS)
    assert value(found, "regret", "truth") < min(value(found, "regret", own) for own in study.CONTROLS)
    assert np.isnan(value(found, "tau", study.LIKED_BY_USER)) and value(found, "tau", study.ANY_REPLY) == 0


@pytest.mark.sample
def test_judges_score_every_reply_and_learn_from_all_of_them(rated):
    _, frame, _ = study.collect_rated_replies(rated)
    frame, _ = study.add_controls(frame, rated)
    laid_out, drawn = study.draw_requests(frame, rated, 10)
    assert drawn["turn_id"].nunique() == 10 and drawn["user"].isin(rated.split()["test"]).all()
    train = rated.split()["train"]
    learned_from = laid_out.turns[laid_out.turns["user"].isin(train) & laid_out.turns["score"].notna()]
    assert len(learned_from) >= frame["user"].isin(train).sum() > 0 and not set(drawn["user"]) & set(train)
    (judge,) = make_judges("nearest")
    scored = study.add_judge_scores(drawn, judge, laid_out, None)
    assert scored[judge.name].notna().all() and len(scored) == len(drawn)
    costly = study.list_costly_picks(scored, judge.name)
    assert costly["regret"].is_monotonic_decreasing and costly["regret"].max() > 0


@pytest.mark.sample
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


@pytest.mark.sample
def test_page_12_draws_from_people_who_rated_several_replies(rated):
    known = rated_replies.collect_ratings(rated, limit=-1)
    assert known["candidate"].nunique() == 5 and known["gold"].between(1, 5).all()


def test_kendall_is_scipys_row_by_row():
    rng = np.random.default_rng(0)
    one, two = rng.integers(0, 4, (40, 6)).astype(float), rng.integers(0, 4, (40, 6)).astype(float)
    one[rng.random(one.shape) < 0.2] = np.nan
    known = np.isfinite(one)
    by_hand = [kendalltau(a[k], b[k])[0] if k.sum() > 2 else np.nan for a, b, k in zip(one, two, known)]
    assert kendall(one, two) == pytest.approx(by_hand, nan_ok=True)


def likings(seed, taste, topic=0.0, users=20):
    """Requests of people in conversations: what they like of five models, with tastes of their own and of the topic."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in range(users):
        own = rng.normal(0, taste, 5)
        for session in range(4):
            here = own + rng.normal(0, topic, 5)
            for turn in range(5):
                liked = np.arange(5) * 0.3 + here + rng.normal(0, 1, 5)
                about = {"user": user, "scenario": "s", "session": session, "turn_id": f"{user}/{session}/{turn}"}
                rows += [{**about, "model": m, "liked": x} for m, x in zip("abcde", liked - liked.mean())]
    return pd.DataFrame(rows)


@pytest.mark.sample
def test_tastes_are_found_where_they_are_and_not_where_topics_differ():
    _, chance = compare_user_preferences(likings(0, taste=1.0))
    assert chance["p_holm"].min() < 0.05 and chance.loc["tau", "value"] < chance.loc["tau", "chance_low"]
    p = np.array(
        [compare_user_preferences(likings(seed, taste=0.0, topic=1.0), shuffles=99)[1]["p"] for seed in range(40)],
        float,
    )
    assert (p <= 0.05).mean(axis=0).max() <= 0.125 and p.mean() > 0.3


def test_topics_of_ones_own_are_not_called_tastes():
    """Without topics that several users share nothing tells topics from tastes; with them the comparison is within topics."""
    one_each = likings(0, taste=1.0)
    assert "family" not in compare_user_preferences(one_each, shuffles=20)[1].attrs["within"]
    shared = one_each.assign(scenario=np.where(one_each["user"] % 2, "s", "t"))
    assert "family" in compare_user_preferences(shared, shuffles=20)[1].attrs["within"]


def test_of_equally_liked_models_everybodys_is_no_other_one():
    rated = likings(0, taste=0.0).assign(liked=0.0)
    each, chance = compare_user_preferences(rated, shuffles=20)
    assert chance.loc["differing", "value"] == 0 and (each["favourite"] == each["favourite_of_others"]).all()


def table(users=8, sessions=3, candidates="xyz", session=True, score=True, seed=0):
    """A table of several replies to each request, the longer ones liked better."""
    rng = np.random.default_rng(seed)
    for user in range(users):
        for s in range(sessions):
            for turn in range(2):
                where = {"session": f"s{s}", "turn": turn} if session else {}
                about = {"user": f"u{user}", "request": f"request {s} {turn}", **where}
                for c in candidates:
                    words = int(rng.integers(3, 40))
                    rating = int(np.clip(words // 10 + rng.integers(1, 3), 1, 5))
                    yield {
                        **about,
                        "candidate": c,
                        "response": "word " * words + ".",
                        "score": rating if score else None,
                    }


def preferences(users=8, *, names=(), ties=0, **more):
    """The same as pairs, of which the better one was preferred."""
    rows = list(table(users, candidates="xy", **more))
    for number, (a, b) in enumerate(zip(rows[::2], rows[1::2])):
        about = {name: a[name] for name in ("user", "request", "session", "turn") if name in a}
        better = "a" if len(a["response"]) >= len(b["response"]) else "b"
        about |= dict(zip(("candidate_a", "candidate_b"), names))
        preferred = "tie" if number < ties else better
        yield {**about, "response_a": a["response"], "response_b": b["response"], "preferred": preferred}


ONE_RATED = [{**row, "score": row["score"] if row["candidate"] == "x" else None} for row in table()]
#: Rows, whether the import says that page 13 can be fed, and what the page says.
SHAPES = {
    "scores": (table(), True, ["by chance", "Its pick is"]),
    "preferences": (preferences(20), True, ["the reply that they prefer", "a, b: where each stood", "Its pick is"]),
    "named preferences": (preferences(names=("m", "n"), ties=3), True, ["by chance", "Its pick is"]),
    "no sessions": (preferences(session=False), True, ["the reply that they prefer", "Its pick is"]),
    "one session a user": (
        [row | {"session": "a"} for row in preferences(session=False)],
        True,
        ["'nearest 6, weighted' scored none", "Its pick is"],
    ),
    "one candidate": (table(candidates="x"), False, ["no request to which a person rated several replies"]),
    "one rated reply a request": (ONE_RATED, False, ["no request to which a person rated several replies"]),
    "no train users": (table(3), True, ["has none that are not judged", "Its pick is"]),
    "two users": (table(2), True, ["of 2 users", "Its pick is"]),
    "two users' preferences": (preferences(2), True, ["has none that are not judged", "Its pick is"]),
    "one user": (table(1), True, ["needs two people", "Its pick is"]),
    "one model twice": (table(candidates=["x#0", "x#1"]), True, ["needs two people, two models", "Its pick is"]),
    "all alike": ([{**row, "score": 3} for row in table()], True, ["rated all replies to a request alike"]),
    "ties alone": (preferences(ties=1000), True, ["rated all replies to a request alike"]),
}


@pytest.mark.page
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_shown_or_told_what_is_missing(shape, home, capsys):
    rows, feeds, told = SHAPES[shape]
    reading = read_rows(list(rows), "mine")
    pages = next(line for line in describe_import(reading, "table") if line.startswith("pages it can feed"))
    assert ("13" in pages) == feeds
    save(reading.corpus, home / "mine")
    capsys.readouterr()
    run_cells("13_people_compared", corpus=str(home / "mine"), out=str(home / "out"))
    shown = capsys.readouterr().out
    assert [sentence for sentence in told if sentence not in shown] == []


@pytest.mark.sample
def test_judges_learn_from_preferences_what_is_preferred():
    corpus, frame, origin = study.collect_rated_replies(read_rows(list(preferences(20, ties=3)), "mine").corpus)
    assert origin == "preferences" and set(frame["gold"]) == {0, 0.5, 1} and str(corpus.scale) == "0–1"
    frame, _ = study.add_controls(frame, corpus)
    laid_out, drawn = study.draw_requests(frame, corpus, -1)
    (judge,) = make_judges("learned")
    found = study.compare_picks(study.add_judge_scores(drawn, judge, laid_out, None), ["learned"])
    assert value(found, "best_reply", "learned") > 0.75 > value(found, "best_reply", study.ANY_REPLY)


@pytest.mark.kernel
def test_the_page_says_what_its_tables_say(tmp_path, rated):
    few = rated.of_users(sorted(rated.users["user"])[:9])
    save(dataclasses.replace(few, name="mine", language="zh"), tmp_path / "mine")
    run_report(["13"], corpus=str(tmp_path / "mine"), out=tmp_path / "out", judges="nearest")
    (page,) = tmp_path.glob("out/**/13_people_compared.json")
    told = json.loads(page.read_text("utf-8"))
    assert told["status"] == "success" and told["answer"]
    found = pd.read_csv(next(tmp_path.glob("out/**/figures/picks.csv")))
    best = found[found["metric"].eq("best_reply") & ~found["judge"].isin(study.CONTROLS)]["value"].iloc[0]
    assert f"{best:.2f}" in " ".join(told["answer"] if isinstance(told["answer"], list) else [told["answer"]])
