"""A reward model goes wherever a judge goes, and any judge can be a reward model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from histories import corpus_of
from reward_made import made
from scripted import Scripted

from perslib.errors import DataError, PerslibError
from perslib.judge import Computed, Constant, Sees, UserMean, evaluate
from perslib.llm import Answer
from perslib.llm.steps import answered
from perslib.replay import scored
from perslib.ux import Case, Form, UXJudge, good_share, scored_replies
from perslib.ux.reward import Reward
from perslib.ux.reward_adapters import FromJudge, RewardJudge, score_of
from perslib.ux.reward_lessons import lessons_of


def rated(users: int = 10):
    """The made cases as a corpus: liked replies have a 5, others a 2."""
    rows = [
        (c.user, c.scenario, "0", c.query, c.reply, 5 if c.gold == 1 else 2)
        for c in made(users=users, each=9)
    ]
    return corpus_of(rows)


@pytest.fixture(scope="module")
def corpus():
    return rated()


@pytest.fixture(scope="module")
def model():
    return Reward().fit(made(prefix="elsewhere"))


def test_scores_round_to_satisfied_from_the_threshold_on():
    assert [score_of(p, 0.8) for p in (0, 0.4, 0.8, 0.9, 1)] == pytest.approx([1, 2.25, 3.5, 4.25, 5])
    assert round(score_of(0.8, 0.8)) == 4 and round(score_of(0.799, 0.8)) == 3
    assert score_of(1.0, 1.0) == 5 and score_of(0.0, 0.0) == 3.5


def test_it_is_evaluated_like_any_judge(model, corpus):
    verdicts = evaluate(RewardJudge(model), corpus, progress=False)
    gold = corpus.turns.set_index(["user", "scenario", "session", "turn"])["score"]
    found = gold.loc[list(verdicts[["user", "scenario", "session", "turn"]].itertuples(index=False))]
    assert verdicts["raw"].between(1, 5).all() and len(verdicts) > 50
    assert (verdicts["satisfied"].to_numpy(bool) == (found >= 4).to_numpy(bool)).mean() > 0.95


def test_one_that_has_learned_nothing_learns_from_train_users(corpus):
    """A test user among those it learns from would be a leak: `evaluate` takes train users only."""
    judge = RewardJudge(Reward(held=0, calibration="none"))
    assert judge.sees == Sees(reply=True, train=True)
    with pytest.raises(PerslibError, match="run its fit"):
        answered(judge.judge(next(corpus.blocks())))
    verdicts = evaluate(judge, corpus, progress=False)
    assert judge.reward.card_["learned_from"]["users"] == len(corpus.split()["train"])
    assert verdicts["raw"].notna().all()


def test_it_judges_a_replay(model, corpus):
    turns = corpus.turns[corpus.turns["user"].isin(corpus.split()["test"])].head(4)
    keys = turns[["user", "scenario", "session", "turn"]]
    replies = [
        keys.assign(candidate=name, response=text)
        for name, text in (
            ("vague", "it depends on many things"),
            ("clear", "clear steps and then prices"),
            ("mute", ""),
        )
    ]
    verdicts = scored(RewardJudge(model), corpus, pd.concat(replies), progress=False)
    by = verdicts.groupby("candidate")["raw"].mean()
    assert by["clear"] > 3.5 > by["vague"] and verdicts.query("candidate == 'mute'")["raw"].isna().all()


def test_it_scores_generated_replies(model):
    cases = made(3, prefix="asked")
    replies = pd.DataFrame(
        {
            **{"case": [c.case for c in cases], "user": [c.user for c in cases], "scenario": "s"},
            "reply": ["clear steps and then prices" if i % 4 else "it depends on many things" for i in range(len(cases))],
            **{"model": "m", "how": "baseline"},
        }
    )  # fmt: skip
    found = scored_replies(replies, cases, model)
    at = scored_replies(replies, cases, model, threshold=0.0)
    assert (at["said"] == 1).all(), "a threshold that is given counts, else the model's own"
    assert good_share(found, resamples=100)["percent"].iloc[0] == pytest.approx(75)
    assert found["judge"].unique().tolist() == ["reward"]


# -- judges as reward models ----------------------------------------------------------------------------------------


class Keyword(Computed):
    """4 where steps are named, else 3: a judge that never says bad."""

    name, sees = "keyword", Sees(reply=True)

    def scores(self, block):
        return [None if "refuse" in t.response else 4.0 if "steps" in t.response else 3.0 for t in block]


def test_a_lenient_judge_is_given_a_threshold():
    """3 and 4 become ½ and ¾; the line is drawn where labels say."""
    model = Reward(FromJudge(Keyword())).fit(made(wrong=0.1))
    new = made(4, seed=9, prefix="new")
    said = model.predict(new)
    steps = np.array(["steps" in c.reply for c in new])
    assert (said == np.where(steps, 1, -1)).all()
    assert model.score((), "how", "steps") > 0.75 > 0.25 > model.score((), "how", "it depends")
    assert np.isnan(model.score((), "how", "I refuse")) and model.name == "reward from keyword"
    verdict = model.verdicts([*new[:1], *made(1, 1, prefix="x")])
    assert verdict["error"].isna().all()


def test_what_a_judge_leaves_unscored_is_unscored():
    cases = made(2)
    found = Reward(FromJudge(Keyword()), held=0, calibration="none").fit(cases)
    refused = found.verdicts([type(cases[0])("r", "q", (), "refuse")])
    assert refused["p_good"].isna().all() and "says nothing" in refused["error"].iloc[0]
    assert refused["abstains"].all()


def test_a_judge_that_knows_the_user_is_given_the_user(corpus):
    """A user's mean needs the user's past, which only the corpus has."""
    cases = lessons_of(corpus)
    alone = FromJudge(UserMean()).logits(cases[:5])
    known = FromJudge(UserMean(), corpus=corpus).logits(cases[:5])
    past = corpus.block(cases[0].user, cases[0].scenario).evidence["score"].mean()
    assert 1 / (1 + np.exp(-known[0])) == pytest.approx((past - 1) / 4)
    assert len(set(np.round(known, 6))) >= 1 and not np.allclose(alone, known, equal_nan=True)


def test_a_ux_judge_gives_its_verdict():
    model = Scripted(
        reply=lambda r: Answer(
            data={"verdict": "good" if "steps" in str(r.messages) else "bad"}, text="{}", mode="schema"
        )
    )
    judge = FromJudge(UXJudge(Form("en")), model)
    found = Reward(judge, held=0, calibration="none").fit(made(2))
    new = made(2, seed=9, prefix="new")
    assert (found.predict(new) == [1 if "steps" in c.reply else -1 for c in new]).all()
    with pytest.raises(PerslibError, match=r"say which with backbone"):
        FromJudge(UXJudge(Form("en"))).logits(new)


def test_a_judge_is_given_again_on_loading(tmp_path):
    model = Reward(FromJudge(Keyword())).fit(made())
    folder = model.save(tmp_path)
    new = made(2, seed=9, prefix="new")
    again = Reward.load(folder, backend=FromJudge(Keyword()))
    assert (again.scores(new) == model.scores(new)).all()
    with pytest.raises(PerslibError, match="give it with backend"):
        Reward.load(folder)
    with pytest.raises(PerslibError, match="good"):
        Reward(FromJudge(Constant(4))).fit(made(3)[:0])


def test_a_few_shot_judge_is_refused_its_own_examples_and_nothing_else():
    good = Answer(data={"verdict": "good"})
    examples = (Case("3", "q", (), "r", gold=1), Case("own", "q", (), "s", gold=-1))
    judge = UXJudge(strategy="few-shot", examples=examples)
    others = [Case(f"c{i}", f"q{i}", (), "reply") for i in range(4)]
    rewards = FromJudge(judge, Scripted(reply=lambda request: good))
    assert (rewards.logits(others) > 0).all(), "numbers of cases are not their names"
    with pytest.raises(DataError, match="own is among the cases to judge"):
        rewards.logits([*others, examples[1]])

    def replied(cases):
        replies = pd.DataFrame({"case": [c.case for c in cases], "reply": "Another reply."})
        return scored_replies(replies, cases, judge, rewards.backbone, progress=False)

    assert replied(others)["said"].tolist() == [1] * 4
    with pytest.raises(DataError, match="own is among the cases to judge"):
        replied([*others, examples[1]])
