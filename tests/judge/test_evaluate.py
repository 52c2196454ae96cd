"""From a corpus and a judge to the verdicts frame: whose replies are judged, by what, and one row each."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Sequence

import pandas as pd
import pytest
from endpoint import status
from histories import Row, corpus_of, scored_past

from perslib.corpus import TURN, Block, Corpus, coerce, load
from perslib.corpus.schema import KEYS as UNIQUE
from perslib.corpus.schema import SCHEMA, duplicates
from perslib.errors import DataError, NotEnough, PerslibError, UnknownName
from perslib.judge import (
    Computed,
    Constant,
    Generic,
    Judge,
    JudgeInputs,
    JudgeSettings,
    LearnedJudge,
    Personal,
    PopulationStatistic,
    Supervised,
    TaskStatistic,
    Verdict,
    controls,
    evaluate,
    make_judge,
    select_blocks,
)
from perslib.judge.evaluate import judge_blocks
from perslib.llm import Ask, backbone
from perslib.memory import Structured


@pytest.fixture(scope="module")
def sample() -> Corpus:
    return load("sample/en")


def drawn(corpus: Corpus, **how: object) -> list[tuple[str, str, int]]:
    return [(b.user, b.scenario, len(b)) for b in select_blocks(corpus, **how)]  # type: ignore[arg-type]


@pytest.mark.sample
def test_a_limit_is_met_and_spread_evenly_over_all_users(sample):
    for limit in (60, 5):
        parts = drawn(sample, limit=limit)
        assert sum(n for *_, n in parts) == limit
        by_user: dict[str, int] = {}
        for user, _, n in parts:
            by_user[user] = by_user.get(user, 0) + n
        users = sample.split()["test"]
        assert set(by_user) <= set(users) and len(by_user) == min(limit, len(users))
        assert max(by_user.values()) - min(by_user.values()) <= 1
        assert len(parts) < len(by_user) * 2  # a user's turns are of as few scenarios as hold them
        assert drawn(sample, limit=limit) == parts and drawn(sample, limit=limit, seed=1) != parts


def test_turns_are_drawn_at_random_and_not_the_first_ones(sample):
    begins = [
        part.targets.equals(sample.block(part.user, part.scenario).targets.head(len(part)))
        for part in select_blocks(sample, limit=30)
    ]
    assert sum(begins) < len(begins) / 2
    for part in select_blocks(sample, limit=60):
        whole = [(t.session, t.turn) for t in sample.block(part.user, part.scenario)]
        places = [whole.index((t.session, t.turn)) for t in part]
        assert places == sorted(places)  # in the order of the conversations


@pytest.mark.sample
def test_a_limit_beyond_the_corpus_is_the_whole_split(sample):
    every = drawn(sample)
    assert sorted(drawn(sample, limit=10**6)) == sorted(every)
    assert sum(n for *_, n in every) == len(sample.turns[sample.turns["user"].isin(sample.split()["test"])])


def test_where_users_have_few_turns_more_are_taken_of_the_others():
    rows: list[Row] = [row for i in range(20) for row in scored_past([4] * (1 if i < 10 else 4), 2, f"u{i:02}")]
    corpus = corpus_of(rows)
    have = corpus.turns.groupby("user").size()
    took: dict[str, int] = {}
    for user, _, n in drawn(corpus, split=None, limit=70):
        took[user] = took.get(user, 0) + n
    assert sum(took.values()) == 70
    most = max(took.values())
    assert all(took[user] in (have[user], most, most - 1) for user in have.index)


def test_which_users(sample):
    one = sample.split()["train"][0]
    assert {u for u, *_ in drawn(sample, users=iter([one]))} == {one}
    assert len({u for u, *_ in drawn(sample, split=None)}) == len(sample.users)
    assert {u for u, *_ in drawn(sample, split="train")} == set(sample.split()["train"])
    with pytest.raises(UnknownName, match="test"):
        select_blocks(sample, split="tset")
    with pytest.raises(UnknownName, match="nobody"):
        select_blocks(sample, users=["nobody"])
    with pytest.raises(DataError, match="limit"):
        select_blocks(sample, limit=0)


def test_parts_of_blocks_are_without_labels(sample):
    for part in select_blocks(sample, limit=30):
        whole = sample.block(part.user, part.scenario)
        assert {(t.session, t.turn): t for t in part}.items() <= {(t.session, t.turn): t for t in whole}.items()
        assert not {"score", "reason"} & set(part.targets)


class Learner(Judge):
    """Notes whom it may learn from."""

    name, inputs = "learner", JudgeInputs(train=True)

    async def fit(self, train: Corpus, ask: Ask) -> None:
        self.users = set(train.users["user"])

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        return [Verdict(raw=3.0)] * len(block)


def test_nobody_is_learned_from_and_judged(sample):
    learner, train = Learner(), sample.split()["train"]
    evaluate(learner, sample, limit=10)
    assert learner.users == set(train)
    evaluate(learner, sample, users=train[:2], limit=10)
    assert learner.users == set(train[2:])
    with pytest.raises(PerslibError, match="none that are not judged"):
        evaluate(learner, sample, split=None)


def test_the_frame_is_the_documented_one(sample):
    verdicts = evaluate(Constant(4), sample)
    assert list(verdicts) == list(SCHEMA["verdicts"])
    assert coerce(verdicts, "verdicts").equals(verdicts)
    assert duplicates(verdicts, "verdicts").empty and not verdicts.duplicated(TURN).any()
    keys = [tuple(key) for b in select_blocks(sample) for key in b.targets[TURN].to_numpy()]
    assert [tuple(key) for key in verdicts[TURN].to_numpy()] == keys
    assert set(TURN) < set(UNIQUE["verdicts"])
    assert verdicts["satisfied"].all() and verdicts["backbone"].isna().all()


class Halves(Computed):
    """Scores between whole ones, and one that is missing."""

    name = "halves"

    def scores(self, block: Block) -> Sequence[float | None]:
        return [3.5, 2.5, 3.49, 4.5, None][: len(block)]


def test_satisfied_goes_by_the_one_rounding_rule():
    verdicts = evaluate(Halves(), corpus_of(scored_past([4], 5)), split=None)
    gifts = verdicts[verdicts["scenario"] == "gift"].sort_values("turn")
    assert gifts["satisfied"].iloc[:4].tolist() == [True, False, False, True]
    last = gifts.iloc[4]
    assert last.isna()[["raw", "satisfied"]].all() and "nothing to compute" in last["error"]


def test_a_user_with_one_scenario_has_no_block_and_a_corpus_of_them_is_an_error_that_says_what_to_do():
    rows: list[Row] = [("bo", "travel", "0", "q", "r", 4), *scored_past([4])]
    assert {u for u, *_ in drawn(corpus_of(rows), split=None)} == {"ada"}
    said = r"made: each of the 1 users .* one scenario only \('travel'\)(?s:.*)with_history\(\"none\"\)"
    for limit in (None, 3):
        with pytest.raises(DataError, match=said):
            evaluate(Constant(4), corpus_of(rows[:1]), split=None, limit=limit)
    with pytest.raises(DataError, match="one scenario only"):
        evaluate(Constant(4), corpus_of(rows), users=["bo"])
    with pytest.raises(DataError, match="nothing to judge"):
        evaluate(Constant(4), corpus_of(rows), users=[])


@pytest.mark.sample
def test_users_with_one_scenario_can_be_judged_without_a_history():
    rows: list[Row] = [(f"u{i}", "all", "0", "q", "r" * i, 1 + i % 5) for i in range(20)]
    corpus = corpus_of(rows)
    assert corpus.with_history("needed") is corpus
    lone = corpus.with_history("none")
    assert lone.of_users(["u3"]).block_ids() == [("u3", "all")] and lone.digest == corpus.digest
    with pytest.raises(UnknownName, match="history called 'nonne'"):
        corpus.with_history("nonne")
    frames = {judge.name: evaluate(judge, lone) for judge in [*controls(), PopulationStatistic(), LearnedJudge()]}
    assert {len(found) for found in frames.values()} == {len(lone.split()["test"])} == {16}
    for name in ("constant 4", "random", "global mean", "learned"):
        assert frames[name]["raw"].notna().all()
    assert set(frames["user mean"]["error"]) == {"no score: the user has no rated turn in another scenario"}


def test_controls_of_a_corpus_without_train_users_say_what_they_lack():
    corpus = corpus_of(scored_past([4, 2], 3))
    assert corpus.split()["train"] == []
    found = {judge.name: evaluate(judge, corpus) for judge in [*controls(), PopulationStatistic(), TaskStatistic()]}
    for name in ("random", "global mean", "task mean"):
        assert set(found[name]["error"]) == {"no score: no train user has rated a reply"}
    assert found["user mean"]["raw"].notna().all()
    with pytest.raises(NotEnough, match="'supervised' learns from train users, but made has none"):
        evaluate(Supervised(), corpus)


def test_a_judge_that_asks_needs_a_backbone(sample):
    with pytest.raises(PerslibError, match=r"zero-shot asks a model.*backbone="):
        evaluate(Generic(), sample, limit=2)


class Short(Learner):
    """Forgets a reply."""

    name, inputs = "short", JudgeInputs()

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        return [Verdict()] * (len(block) - 1)


def test_a_judge_that_forgets_a_reply_is_an_error():
    with pytest.raises(PerslibError, match="'short' gave 1 verdicts for the 2 targets of ada__travel"):
        evaluate(Short(), corpus_of(scored_past([4, 4])), split=None)


@pytest.mark.sample
def test_every_judge_gets_the_same_targets_and_every_reply_one_row(sample, server, model):
    server.reply = lambda body: json.dumps({"score": 2, "reason": "不够细致", "rationale": "so"})
    judges = [Generic(), Generic("few-shot"), Personal(None), Personal(Structured())]
    frames = [evaluate(j, sample, model(), limit=14, progress=False) for j in judges]
    for verdicts in frames:
        assert verdicts[TURN].equals(frames[0][TURN]) and not verdicts.duplicated(TURN).any()
        assert set(verdicts["backbone"]) == {"vllm-qwen3-8b"} and len(verdicts) == 14
        assert set(verdicts["reason"]) == {"insufficient detail"} and set(verdicts["raw"]) == {2.0}
    assert set(frames[3]["memory"].str.startswith("structured, scores only: ")) == {True}


def test_reasons_stand_in_the_language_of_the_corpus_whatever_the_prompts(server, model):
    server.reply = lambda body: json.dumps({"score": 2, "reason": "unusable", "rationale": "so"})
    corpus = corpus_of(scored_past([4], 1), language="zh")
    verdicts = evaluate(Generic(settings=JudgeSettings("en")), corpus, model(), split=None, progress=False)
    assert set(verdicts["reason"]) == {"不可用"}


def test_unscored_rows_are_rows(server, model):
    def reply(body):
        words = body["messages"][1]["content"]
        if "present 1" in words:
            return status(400, "This model's maximum context length is 8192 tokens")
        good = {"score": 4, "reason": "satisfied", "rationale": "so"}
        return "I would rather not." if "present 2" in words else json.dumps(good)

    server.reply = reply
    rows = [*scored_past([4], 3), ("ada", "gift", "0", "wish", "z" * 50_000, 5)]
    verdicts = evaluate(Personal(None, JudgeSettings(window=0)), corpus_of(rows), model(), split=None, progress=False)
    gifts = verdicts[verdicts["scenario"] == "gift"].sort_values("turn")
    assert gifts["raw"].isna().tolist() == [False, True, True, False]
    assert gifts["satisfied"].isna().tolist() == [False, True, True, False]
    assert gifts["error"].iloc[1].startswith("too long") and gifts["error"].iloc[2]
    assert gifts["mode"].tolist() == ["schema", "unscored", "unscored", "schema"]


@pytest.mark.sample
def test_blocks_are_cut_as_they_are_judged_and_not_held(sample, monkeypatch):
    monkeypatch.setattr("perslib.judge.base.TOGETHER", 50)  # so that a table is put together of parts
    held, most = 0, 0

    def gone() -> None:
        nonlocal held
        held -= 1

    class Watching(Constant):
        async def judge(self, block: Block, ask: Ask) -> list[Verdict]:
            nonlocal held, most
            held += 1
            most = max(most, held)
            weakref.finalize(block.evidence, gone)
            return await super().judge(block, ask)

    streamed = evaluate(Watching(4), sample)
    gc.collect()
    assert 1 <= most <= 3 and held == 0
    given = evaluate(Constant(4), sample, blocks=list(select_blocks(sample)))
    pd.testing.assert_frame_equal(streamed, given)


def test_a_dry_run_asks_about_a_sample_of_many_users_and_counts_for_all(sample, monkeypatch):
    """Against the same question asked of everybody: calls and tokens within a tenth, and no judge learns."""
    from perslib.llm.answerers import choice

    monkeypatch.setenv(choice.VARIABLE, "dry-run")
    seen = {}
    for most in (10**9, choice.SAMPLED_FROM):
        monkeypatch.setattr(choice, "SAMPLED_FROM", most)
        monkeypatch.setattr(choice, "_asked", set())
        model = backbone("openai", cache="off")
        verdicts = evaluate(make_judge("personal"), sample, model, progress=False)
        blocks = list(select_blocks(sample))
        again = judge_blocks(make_judge("no memory"), blocks, model, progress=False)
        assert list(map(len, again)) == list(map(len, blocks))
        seen[most] = model.ledger.total, verdicts["user"].nunique()
    (whole, everybody), (part, some) = seen.values()
    assert some == choice.SAMPLED < everybody
    for name in ("calls", "tokens_in", "cost"):
        assert getattr(part, name) == pytest.approx(getattr(whole, name), rel=0.1)

    def refuse(*_: object) -> None:
        raise AssertionError("it learned")

    learned = make_judge("learned")
    monkeypatch.setattr(type(learned), "fit", refuse)
    assert evaluate(learned, sample, progress=False)["raw"].eq(3).all()
