"""The learned evaluator: what it learns on the samples, what it must not see, and replies that nobody expects."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
import real
from sklearn.metrics import log_loss

from perslib.corpus import SESSION, Block, Corpus, load
from perslib.errors import FewTrainUsers, PerslibError
from perslib.judge import Judge, JudgeInputs, LearnedJudge, UserMean, Verdict, evaluate
from perslib.llm import run_with_answers
from perslib.memory.features import FEATURES, NAMES, measure_traits, read_block_turns
from perslib.report import begin
from perslib.stats.calibrate.tilt import P
from perslib.studies import verification
from perslib.worlds import world

KEYS = ["user", "scenario", "session", "turn"]
REAL = "persturnbench/persturnbench_42users.tar.gz"


@pytest.fixture(scope="module")
def sample() -> Corpus:
    return load("sample/zh")


def judged(judge: LearnedJudge, corpus: Corpus, users: list[str]) -> pd.DataFrame:
    rows = []
    for block in (corpus.block(*pair) for pair in corpus.block_ids(users)):
        verdicts = run_with_answers(partial(judge.judge, block))
        rows += [(*key, v.raw, *v.p) for key, v in zip(block.targets[KEYS].itertuples(index=False), verdicts)]
    return pd.DataFrame(rows, columns=[*KEYS, "raw", *"12345"])


def within(frame: pd.DataFrame, column: str) -> float:
    """Within-user centred Pearson correlation with the gold score."""
    centred = frame[[column, "score"]] - frame.groupby("user")[[column, "score"]].transform("mean")
    return float(centred.corr().iloc[0, 1])


def test_every_feature_has_a_meaning_and_a_value(sample, users):
    assert len(NAMES) == len(set(NAMES)) == sum(map(len, FEATURES.values()))
    _, targets = read_block_turns(sample.block(users[0], sample.scenarios[0]))
    numbers = measure_traits(targets[0])
    assert numbers.shape == (len(NAMES),) and np.isfinite(numbers).all()


def test_a_turn_reads_the_same_as_evidence_and_as_target(sample, users):
    here, there = sample.scenarios[:2]
    _, targets = read_block_turns(sample.block(users[0], here))
    evidence, _ = read_block_turns(sample.block(users[0], there))
    assert targets == [turn for turn in evidence if turn.scenario == here]


def test_probabilities_sum_to_one_and_the_score_is_their_mean(judge, sample, users):
    found = judged(judge, sample, users[10:12])
    p = found[[*"12345"]].to_numpy()
    assert p.sum(axis=1) == pytest.approx(1.0)
    assert found["raw"].to_numpy() == pytest.approx(p @ np.arange(1, 6))


def test_beats_the_user_mean_within_users(judge, sample, users):
    found = judged(judge, sample, users[12:20]).merge(sample.turns[[*KEYS, "score"]], on=KEYS)
    found["score"] = found["score"].astype(float)
    rated = sample.turns.assign(score=sample.turns["score"].astype(float)).groupby(["user", "scenario"])["score"]
    total, count = (rated.agg(how).groupby("user").sum() for how in ("sum", "count"))
    found["mean"] = [
        (total[u] - rated.get_group((u, s)).sum()) / (count[u] - rated.get_group((u, s)).count())
        for u, s in zip(found["user"], found["scenario"])
    ]
    assert within(found, "raw") > max(within(found, "mean"), 0) + 0.3


def test_gold_of_the_targets_changes_nothing(judge, sample, users):
    user, scenario = users[10], sample.scenarios[0]
    turns = sample.turns.copy()
    here = (turns["user"] == user) & (turns["scenario"] == scenario)
    turns.loc[here, "score"] = 6 - turns.loc[here, "score"]
    turned = replace(sample, turns=turns)
    assert run_with_answers(partial(judge.judge, turned.block(user, scenario))) == run_with_answers(
        partial(judge.judge, sample.block(user, scenario))
    )


def test_held_out_verdicts_carry_gold_and_fit_a_calibrator(judge, sample, users):
    train = judge.held_out
    assert len(train) == sample.of_users(users[:6]).turns["score"].notna().sum()
    assert 0.3 < train["expected"].corr(train["gold"].astype(float)) < 0.9


def test_another_judge_can_advise(sample, users):
    few = sample.of_users(users[:6])
    known = few.turns.set_index(KEYS)["score"].astype(float)

    class Oracle(Judge):
        name, inputs = "oracle", JudgeInputs(profile=True)

        async def judge(self, block, ask):
            said = [known[tuple(key)] for key in block.targets[KEYS].itertuples(index=False)]
            return [Verdict(raw=s) if i else Verdict(error="away") for i, s in enumerate(said)]

    advised = LearnedJudge([Oracle()])
    assert advised.name == "learned + oracle" and advised.inputs.profile and advised.inputs.train
    run_with_answers(partial(advised.fit, few.of_users(users[:4])))
    found = judged(advised, few, users[4:]).merge(few.turns[[*KEYS, "score"]], on=KEYS)
    assert found["raw"].corr(found["score"].astype(float)) > 0.9


def test_targets_do_not_see_each_other(judge, sample, users):
    block = sample.block(users[10], sample.scenarios[0])
    alone = replace(block, targets=block.targets.iloc[[3]].reset_index(drop=True))
    assert run_with_answers(partial(judge.judge, alone))[0].raw == pytest.approx(
        run_with_answers(partial(judge.judge, block))[3].raw
    )


def test_the_same_data_give_the_same_verdicts(judge, sample, users):
    again = LearnedJudge()
    run_with_answers(partial(again.fit, sample.of_users(users[:6])))
    block = sample.block(users[10], sample.scenarios[0])
    assert run_with_answers(partial(again.judge, block)) == run_with_answers(partial(judge.judge, block))


@pytest.mark.parametrize("reply", ["", "   ", "好" * 50_000, "This answer is in English. " * 20, "🎉🎉"])
def test_any_reply_gets_a_score(judge, sample, users, reply):
    block = sample.block(users[10], sample.scenarios[0])
    odd = replace(block, targets=block.targets.assign(response=reply))
    for verdict in run_with_answers(partial(judge.judge, odd)):
        assert 1 <= verdict.raw <= 5 and sum(verdict.p) == pytest.approx(1)


def test_without_history_the_population_speaks(judge, sample, users):
    block = sample.block(users[10], sample.scenarios[0])
    bare = replace(block, evidence=block.evidence.iloc[:0])
    scores = [v.raw for v in run_with_answers(partial(judge.judge, bare))]
    assert np.mean(scores) == pytest.approx(4.2, abs=0.4)


def test_says_what_to_do_when_it_has_not_learned(sample, users):
    with pytest.raises(PerslibError, match="fit"):
        run_with_answers(partial(LearnedJudge().judge, sample.block(users[0], sample.scenarios[0])))


def test_learns_from_a_single_user(sample, users):
    small = LearnedJudge()
    run_with_answers(partial(small.fit, sample.of_users(users[:1])))
    block: Block = sample.block(users[3], sample.scenarios[0])
    assert all(1 <= v.raw <= 5 for v in run_with_answers(partial(small.judge, block)))


@cache
def whole_world(seed: int) -> Corpus:
    return world(30, seed, "en", candidates=0)


def small_world(seed: int, by_level: bool) -> Corpus:
    """30 users x 3 conversations x at most 4 turns; `by_level`: scores go by the user's strictness alone."""
    whole = whole_world(seed)
    kept = whole.sessions.drop_duplicates(["user", "scenario"]).groupby("user").head(3)
    turns = whole.turns[whole.turns["turn"] < 4].merge(kept[SESSION])
    if by_level:
        rng, users = np.random.default_rng(seed), turns["user"].unique()
        level = pd.Series(3.5 + 0.8 * rng.normal(size=len(users)), users)
        scores = level[turns["user"]].to_numpy() + 0.8 * rng.normal(size=len(turns))
        turns["score"] = pd.array(np.rint(scores).clip(1, 5).astype(int), "Int64")
    return replace(whole, sessions=kept.reset_index(drop=True), turns=turns, events=whole.events[:0])


@pytest.mark.simulation
@pytest.mark.parametrize("by_level", [True, False])
@pytest.mark.parametrize("seed", [1, 5])
def test_few_train_users_do_not_turn_it_upside_down(seed, by_level):
    corpus = small_world(seed, by_level)
    r = {}
    for judge in (LearnedJudge(), UserMean()):
        found = evaluate(judge, corpus, progress=False).merge(corpus.turns[[*KEYS, "score"]], on=KEYS)
        r[judge.name] = found["raw"].astype(float).corr(found["score"].astype(float))
    assert len(corpus.split()["train"]) == 6
    assert r["user mean"] > 0.1 and r["learned"] > r["user mean"] - 0.1


def test_advice_that_goes_against_the_scores_counts_nothing(sample, users):
    few = sample.of_users(users[:5])
    known = few.turns.set_index(KEYS)["score"].astype(float)

    class Backwards(Judge):
        name, inputs, shift = "backwards", JudgeInputs(), 0.0

        async def judge(self, block, ask):
            keys = block.targets[KEYS].itertuples(index=False)
            return [Verdict(raw=6 - known[tuple(key)] + self.shift) for key in keys]

    beside = Backwards()
    advised = LearnedJudge([beside])
    run_with_answers(partial(advised.fit, few.of_users(users[:4])))
    before = judged(advised, few, users[4:])
    beside.shift = -3.0
    pd.testing.assert_frame_equal(judged(advised, few, users[4:]), before)


@pytest.mark.sample
def test_warns_of_few_train_users(sample, users):
    with pytest.warns(FewTrainUsers, match=r"few train users \(2, fewer than 10\)"):
        run_with_answers(partial(LearnedJudge().fit, sample.of_users(users[:2])))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_with_answers(partial(LearnedJudge().fit, sample.of_users(users[:10])))


def test_a_page_warns_in_its_language(sample, users, capsys, monkeypatch):
    monkeypatch.setenv("PERSLIB_PROGRESS_FILE", os.devnull)  # as in the kernel of a page
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        begin(language="zh")
        for _ in range(2):
            run_with_answers(partial(LearnedJudge().fit, sample.of_users(users[:2])))
    assert capsys.readouterr().out.count("只有 2 位训练用户可学，少于 10 位") == 1


def test_a_kernel_of_the_users_shows_warnings_as_before(sample, users, monkeypatch):
    monkeypatch.delenv("PERSLIB_PROGRESS_FILE", raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        shown = []
        warnings.showwarning = own = lambda *given: shown.append(given[1])
        begin()
        begin(language="zh")
        run_with_answers(partial(LearnedJudge().fit, sample.of_users(users[:2])))
        assert warnings.showwarning is own and shown == [FewTrainUsers]


@pytest.mark.sample
def test_probabilities_and_what_more_train_users_add(sample, users):
    """A page's numbers: log loss as scikit-learn has it, and one point a share of the train users."""
    split = {"train": users[:8], "test": users[8:12]}
    few = sample.of_users(users[:12])
    corpus = replace(few, meta={"splits": split}, turns=few.turns.query("turn < 2").reset_index(drop=True))
    verdicts = verification.judge_test_users([UserMean(), LearnedJudge()], corpus)
    found = verification.measure_distributions(verdicts, corpus).set_index("judge")
    own = verdicts[verdicts["judge"] == "learned"].merge(corpus.turns[[*KEYS, "score"]], on=KEYS).dropna(subset="score")
    p = own[P].to_numpy(float)
    assert found.loc["learned", "log_loss"] == pytest.approx(log_loss(own["score"].astype(int), p, labels=range(1, 6)))
    assert found.loc["population", "log_loss"] > found.loc["learned", "log_loss"]
    gain = found.loc["history", "log_loss"] - found.loc["learned", "log_loss"]
    assert found.loc["learned", "gain"] == pytest.approx(gain) and np.isnan(found.loc["history", "gain"])
    traced = verification.trace_learning(verdicts, corpus).set_index(["train_users", "judge", "metric"])["value"]
    assert traced.index.levels[0].tolist() == [2, 4, 6, 8]
    assert traced[8, "learned", "pearson"] == pytest.approx(own["real"].astype(float).corr(own["score"].astype(float)))
    four = replace(sample, meta={"splits": {"train": users[:4], "test": users[4:8]}})
    assert verification.trace_learning(verdicts, four).empty, "four train users"


@real.needs(REAL)
def test_real_users():
    """Ten train users teach, six others are judged; within users the mean of the history has about −0.2."""
    corpus = load(real.ROOT / REAL)
    train = corpus.split()["train"]
    learned = LearnedJudge()
    run_with_answers(partial(learned.fit, corpus.of_users(train[:10])))
    found = judged(learned, corpus, train[16:]).merge(corpus.turns[[*KEYS, "score"]], on=KEYS)
    found["score"] = found["score"].astype(float)
    golden = [within(found, "raw"), found["raw"].corr(found["score"]), found["raw"].mean()]
    assert golden == pytest.approx([0.159, 0.371, 4.292], abs=0.01)


@pytest.mark.sample
@pytest.mark.parametrize(("share", "most"), [(0.999, 0.02), (0.5, 0.3)])
def test_beyond_a_size_some_turns_stand_for_all(judge, sample, users, monkeypatch, share, most):
    """So that many train users can be learned from; the nearer to all turns, the nearer to the exact prediction."""
    train = sample.of_users(users[:6])
    for bound in ("EXACT_TO", "STAND_FOR_ALL"):
        monkeypatch.setattr(f"perslib.judge.learned.mixed.{bound}", int(share * len(train.turns)))
    summarised = LearnedJudge()
    run_with_answers(partial(summarised.fit, train))
    exact, found = (judged(one, sample, users[6:9])["raw"] for one in (judge, summarised))
    assert 0 < np.abs(exact - found).max() < most
    assert np.corrcoef(exact, found)[0, 1] > 0.99
