"""Explanations of the learned judge: parts and turns add up to the score, and a trait counts as explained."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import real
from made import shortened

from perslib.corpus import TURN, Block, Corpus, load
from perslib.judge import Judge, JudgeInputs, LearnedJudge, Nearest, NoTextControl, Verdict
from perslib.judge.learned.explanation import GROUPS, TRAITS
from perslib.judge.learned.reasons import ReasonModel
from perslib.llm import run_with_answers
from perslib.memory.features import NAMES

STAGES = ["panel", "own shape", "no reply"]


@pytest.fixture(scope="module")
def sample() -> Corpus:
    return shortened(load("sample/en"), sessions=2)


@pytest.fixture(scope="module")
def block(sample: Corpus, users: list[str]) -> Block:
    return sample.block(users[10], sample.scenarios[0])


def assert_adds_up(judge: LearnedJudge, block: Block) -> None:
    found = run_with_answers(partial(judge.explain, block))
    verdicts = run_with_answers(partial(judge.judge, block))
    by_target = found.parts.groupby(TURN, sort=False)["points"].sum()
    assert by_target.to_numpy() == pytest.approx([v.expected for v in verdicts], abs=1e-9)
    first_stage = found.parts[~found.parts["side"].isin(STAGES)].groupby(TURN, sort=False)["points"].sum()
    of_turns = found.turns.groupby(TURN, sort=False)["points"].sum()
    assert of_turns.to_numpy() == pytest.approx(first_stage.to_numpy(), abs=1e-9)
    assert len(found.turns) == len(block) * (1 + block.evidence["score"].notna().sum())


@pytest.mark.parametrize("rated", [0, 1, 2, 1000])
def test_parts_add_up_to_the_score_and_turns_to_the_prediction(judge, block, rated):
    scores = block.evidence["score"].where(np.arange(len(block.evidence)) < rated)
    assert_adds_up(judge, replace(block, evidence=block.evidence.assign(score=scores)))


@pytest.mark.sample
def test_thousands_of_rated_turns_add_up(judge, block):
    again = [block.evidence.assign(session=block.evidence["session"] + f"-{i}") for i in range(50)]
    many = replace(block, evidence=pd.concat(again, ignore_index=True))
    assert many.evidence["score"].notna().sum() > 1000
    assert_adds_up(judge, many)


def test_a_summarised_population_adds_up(sample, users, block, monkeypatch):
    for bound in ("EXACT_TO", "STAND_FOR_ALL"):
        monkeypatch.setattr(f"perslib.judge.learned.mixed.{bound}", 60)
    summarised = LearnedJudge()
    run_with_answers(partial(summarised.fit, sample.of_users(users[:4])))
    assert_adds_up(summarised, block)


def test_a_block_without_history_has_no_side_of_its_own(judge, block):
    found = run_with_answers(partial(judge.explain, replace(block, evidence=block.evidence.iloc[:0])))
    assert not found.parts.query("side in ['this user', 'level']")["points"].any()
    assert found.turns["evidence"].eq("").all()


@pytest.mark.parametrize("stub", ["502 Bad Gateway", "## Three ideas", "系统繁忙，请稍后再试"])
def test_what_is_no_reply_is_capped_and_the_explanation_says_so(judge, block, stub):
    given = replace(block, targets=block.targets.assign(response=[stub, *block.targets["response"][1:]]))
    first, second = (run_with_answers(partial(judge.judge, b))[:2] for b in (given, block))
    assert first[0].raw <= 1.5 < second[0].raw and first[0].rationale.startswith("This is a")
    assert sum(first[0].p) == pytest.approx(1)
    assert second[0].rationale.startswith("This is a") is False
    assert_adds_up(judge, given)
    assert "no reply" in set(run_with_answers(partial(judge.explain, given)).parts["side"])


def test_each_part_stands_once_and_values_beside_the_usual_ones(judge, block):
    found = run_with_answers(partial(judge.explain, block)).parts
    one = found[found["turn"].eq(block.targets["turn"][0]) & found["session"].eq(block.targets["session"][0])]
    assert one[["group", "trait", "side"]].value_counts().max() == 1
    assert set(one["trait"]) == {"", *TRAITS}
    assert set(one["group"]) == {"mean", "level", "session", "own shape", *GROUPS}
    with_values = one.dropna(subset="value")
    assert set(with_values["trait"]) == set(NAMES) and with_values["usual_high"].notna().all()


def test_a_changed_trait_moves_the_score_by_what_its_part_changes(judge, block):
    """Two replies that differ in one table: the table's part says the difference; all others grow by one factor at most."""
    lines = "Here is the plan for the day.\n\nColumn:---\nMorning walk to the old town and lunch there."
    given = replace(block, targets=block.targets.iloc[[0, 0]].assign(response=[lines, lines.replace(":---", "|---")]))
    parts = run_with_answers(partial(judge.explain, replace(given, targets=given.targets.assign(turn=[0, 1])))).parts
    before_stages = parts[~parts["side"].isin(STAGES) & parts["trait"].ne("words")]
    plain, with_table = (
        part.set_index(["trait", "group", "side"])["points"] for _, part in before_stages.groupby("turn")
    )
    is_table = plain.index.get_level_values("trait") == "table"
    moved = with_table.sum() - plain.sum()
    assert abs(moved) > 0.005 and (with_table - plain)[is_table].sum() == pytest.approx(moved, rel=0.2)
    others = plain[~is_table & (plain.abs() > 1e-9) & (plain.index.get_level_values("group") != "mean")].index
    factors = with_table[others] / plain[others]
    assert factors.to_numpy() == pytest.approx(factors.iloc[0]) and factors.iloc[0] == pytest.approx(1, abs=0.1)


def test_a_rationale_says_what_the_parts_say(judge, block):
    verdicts, found = (run_with_answers(partial(how, block)) for how in (judge.judge, judge.explain))
    rated = {f"{s}/{e}/{t}" for s, e, t in block.evidence[["scenario", "session", "turn"]].itertuples(index=False)}
    parts = found.parts[found.parts["side"].isin(["everybody", "this user"]) & found.parts["group"].ne("mean")]
    sums = parts.groupby([*TURN, "group"], sort=False)["points"].sum().unstack()
    for verdict, (_, groups), (_, turns) in zip(verdicts, sums.iterrows(), found.turns.groupby(TURN, sort=False)):
        assert verdict.rationale.startswith("Everybody gives ") and 2 <= verdict.rationale.count(". ") + 1 <= 4
        assert ("for it: " in verdict.rationale.lower()) == bool(groups.max() >= 0.05)
        assert ("against it: " in verdict.rationale.lower()) == bool(groups.min() <= -0.05)
        assert set(verdict.evidence) <= rated
        heaviest = turns.dropna(subset="share").nlargest(3, "share")["evidence"]
        assert set(verdict.evidence) == set(heaviest)
    bare = run_with_answers(partial(judge.judge, replace(block, evidence=block.evidence.iloc[:0])))[0]
    assert "nothing is known of this user" in bare.rationale and bare.evidence == ()


def test_a_low_score_has_a_reason_of_the_train_users(sample, users, block):
    few = sample.of_users(users[:6])
    low = few.turns["score"] <= 3
    few = replace(few, turns=few.turns.assign(reason=np.where(low, "unusable", None)))
    judge = LearnedJudge()
    run_with_answers(partial(judge.fit, few))
    strict = replace(block, evidence=block.evidence.assign(score=1, reason="unusable"))
    for given in (strict, block):
        for verdict in run_with_answers(partial(judge.judge, given)):
            assert verdict.reason == ("unusable" if round(verdict.raw) <= 3 else None)
    assert round(run_with_answers(partial(judge.judge, strict))[0].raw) <= 3
    run_with_answers(partial(judge.fit, replace(few, turns=few.turns.assign(reason=None))))
    assert run_with_answers(partial(judge.judge, strict))[0].reason is None


def test_reasons_follow_the_reply_and_what_the_user_gave_elsewhere():
    rng = np.random.default_rng(0)
    traits, users = rng.normal(size=(400, 3)), np.repeat(np.arange(40), 10)
    habit = rng.normal(0, 1.5, 40)[users]
    reasons = np.where(traits[:, 0] + habit + rng.normal(0, 0.5, 400) > 0, "price", "detail")
    model = ReasonModel(traits, reasons, users)
    assert model.predict(np.array([[4.0, 0, 0], [-4.0, 0, 0]]), np.full((2, 2), 4.0)) == ["price", "detail"]
    assert model.predict(np.zeros((2, 3)), np.array([[8.0, 0.0], [0.0, 8.0]])) == ["detail", "price"]
    few = ["price"] * 3 + ["detail"] * 2
    assert ReasonModel(traits[:5], few, users[:5]).predict(traits[:2], np.array([[9.0, 0]] * 2)) == ["price"] * 2


def test_own_reasons_count_as_much_as_train_users_differ():
    rng = np.random.default_rng(0)
    traits, users = rng.normal(size=(400, 3)), np.repeat(np.arange(40), 10)
    own = np.array([[6.0, 0.0]])
    parts = {}
    for name, share in (("habits", np.repeat(rng.random(40) < 0.5, 10) * 0.9 + 0.05), ("none", np.full(400, 0.5))):
        model = ReasonModel(traits, np.where(rng.random(400) < share, "price", "detail"), users)
        habit, _ = model.weigh(np.zeros((1, 3)), own)
        parts[name] = habit[0, 0] - habit[0, 1]
    assert parts["habits"] > 1.5 and parts["none"] < 0.3


class Oracle(Judge):
    """Knows the scores, less some noise of its own."""

    inputs = JudgeInputs()

    def __init__(self, corpus: Corpus, seed: int, noise: float):
        rng = np.random.default_rng(seed)
        self.name, scores = f"oracle {seed}", corpus.turns.set_index(TURN)["score"].astype(float)
        self.known = scores + noise * rng.normal(size=len(scores))

    async def judge(self, block, ask):
        return [Verdict(raw=self.known[tuple(key)], tokens_in=3) for key in block.targets[TURN].itertuples(index=False)]


@pytest.mark.sample
def test_a_panel_of_weak_judges_beats_the_best_of_them(sample, users):
    weak = [Oracle(sample, seed, 1.5) for seed in range(3)]
    scores = sample.turns.set_index(TURN)["score"].astype(float)

    def measure(judge: Judge) -> float:
        run_with_answers(partial(judge.fit, sample.of_users(users[:6])))
        blocks = [sample.block(*pair) for pair in sample.block_ids(users[6:12])]
        raw = [v.raw for block in blocks for v in run_with_answers(partial(judge.judge, block))]
        return float(
            np.corrcoef(raw, scores[pd.MultiIndex.from_frame(pd.concat([b.targets[TURN] for b in blocks]))])[0, 1]
        )

    whole = LearnedJudge(weak)
    assert whole.name == "learned + oracle 0 + oracle 1 + oracle 2"
    assert measure(whole) > max(measure(LearnedJudge([judge])) for judge in weak) + 0.02
    block = sample.block(users[10], sample.scenarios[0])
    assert_adds_up(whole, block)
    assert run_with_answers(partial(whole.judge, block))[0].tokens_in == 9, "what the panel took together"


def test_a_panel_that_learns_is_taught_without_the_users_it_judges(sample, users):
    few, seen = sample.of_users(users[:6]), []

    class Noting(Judge):
        name, inputs = "noting", JudgeInputs(train=True)

        async def fit(self, train, ask):
            self.taught = set(train.users["user"])

        async def judge(self, block, ask):
            seen.append((block.user, block.user in self.taught))
            return [Verdict(raw=3.0)] * len(block)

    run_with_answers(partial(LearnedJudge([Noting()]).fit, few))
    assert {user for user, _ in seen} == set(users[:6]) and not any(knew for _, knew in seen)


@pytest.mark.sample
def test_judges_of_the_library_make_a_panel(sample, users):
    judge = LearnedJudge([NoTextControl(), Nearest()])
    run_with_answers(partial(judge.fit, sample.of_users(users[:4])))
    assert judge.inputs.task and judge.name == "learned + level, turn, assistant + nearest 6, weighted"
    assert_adds_up(judge, sample.block(users[10], sample.scenarios[0]))


@pytest.mark.data("persturnbench/persturnbench_42users.tar.gz")
def test_explanations_of_real_users_add_up():
    corpus = load(real.ROOT / "persturnbench/persturnbench_42users.tar.gz")
    split = corpus.split()
    judge = LearnedJudge()
    run_with_answers(partial(judge.fit, corpus.of_users(split["train"][:8])))
    for pair in corpus.block_ids(split["test"][:3]):
        assert_adds_up(judge, corpus.block(*pair))
