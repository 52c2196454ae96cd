"""Scoring candidates: one memory a block, no verdict that depends on its neighbours, nothing lost."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from histories import corpus_of
from scripted import in_rounds

from perslib.corpus import TURN, Corpus, load
from perslib.errors import DataError, PerslibError
from perslib.judge import JudgeSettings, LearnedJudge, Nearest, Personal, Supervised
from perslib.llm import Answer
from perslib.memory import MeasuredSystem, ScoreCountSystem
from perslib.replay.judging import (
    calibrate_on_reference,
    judge_candidates,
    judge_recorded_replies,
    judged_by_themselves,
)
from perslib.replay.replies import ORIGINAL
from perslib.stats import histories


class Counts:
    """A backbone that answers with the length of the reply's last word, and keeps what it was asked."""

    name = "counting"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def work(self, methods: Any, **_: Any) -> list[Any]:
        return [in_rounds(method, self._reply) for method in methods]

    def _reply(self, stage: str, requests: Any) -> list[Answer]:
        texts = [request.messages[-1]["content"] for request in requests]
        self.asked += texts
        return [Answer(text=self.score(text)) for text in texts]

    def map(self, method: Any, items: Any, **settings: Any) -> list[Any]:
        return self.work([partial(method, item) for item in items], **settings)

    def each(self, method: Any, items: Any, sink: Any, **settings: Any) -> None:
        for found in self.map(method, items, **settings):
            sink(found)

    @staticmethod
    def score(text: str) -> str:
        return "5" if "good" in text else "2"


def small() -> Corpus:
    past = [("ada", "travel", "0", f"question {i}", f"answer {i}", s) for i, s in enumerate([5, 4, 4, 3, 5])]
    return corpus_of([*past, *(("ada", "gift", "0", f"wish {i}", f"present {i}", 4) for i in range(3))])


def replies(**texts: str | None) -> pd.DataFrame:
    """Candidates that answer turns 0 and 2 with one text."""
    key = {"user": "ada", "scenario": "gift", "session": "0"}
    rows = [
        {"candidate": name, **key, "turn": turn, "response": text, "error": None if text else "time-out"}
        for name, text in texts.items()
        for turn in (0, 2)
    ]
    return pd.DataFrame(rows)


def judge() -> Personal:
    return Personal(ScoreCountSystem(), JudgeSettings(with_rationale=False))


def test_every_reply_has_one_row_in_the_order_given() -> None:
    given = replies(a="good", b="poor", c=None)
    found = judge_candidates(judge(), small(), given, Counts())  # type: ignore[arg-type]
    assert found[["candidate", "turn"]].to_numpy().tolist() == given[["candidate", "turn"]].to_numpy().tolist()
    assert found["raw"].tolist()[:4] == [5, 5, 2, 2]
    missing = found[found["candidate"] == "c"]
    assert missing["raw"].isna().all() and (missing["error"] == "no reply: time-out").all()
    assert (missing["judge"] == "scores memory").all() and (missing["mode"] == "unscored").all()


def test_replies_to_a_turn_follow_one_another_and_read_only_their_own_prefix() -> None:
    asking = Counts()
    judge_candidates(judge(), small(), replies(a="good", b="poor"), asking)  # type: ignore[arg-type]
    assert [("wish 2" in text, "good" in text) for text in asking.asked] == [
        (False, True), (False, False), (True, True), (True, False),
    ]  # fmt: skip
    assert not any("present 2" in text for text in asking.asked)  # the recorded reply is not shown


def test_a_turn_that_the_corpus_lacks_is_named() -> None:
    with pytest.raises(PerslibError, match="not in made: ada/gift/0/7"):
        judge_candidates(judge(), small(), replies(a="good").assign(turn=7).iloc[:1], Counts())  # type: ignore[arg-type]


def test_a_judge_whose_memory_moves_is_not_frozen() -> None:
    moving = Personal(ScoreCountSystem(), JudgeSettings(with_rationale=False), update="per turn")
    with pytest.raises(PerslibError, match="needs update='fixed'"):
        judge_candidates(moving, small(), replies(a="good"), Counts())  # type: ignore[arg-type]


def test_the_reference_is_the_whole_block_or_so_many_with_the_replayed_first() -> None:
    turns = replies(a="good")[TURN]
    asking = Counts()
    whole = judge_recorded_replies(judge(), small(), turns, asking)  # type: ignore[arg-type]
    assert whole["turn"].tolist() == [0, 1, 2] and whole["candidate"].isna().all()
    some = judge_recorded_replies(judge(), small(), turns, Counts(), most=2)  # type: ignore[arg-type]
    assert some["turn"].tolist() == [0, 2]


@pytest.fixture(scope="module")
def sample() -> Corpus:
    split = load("sample/en").split()
    return load("sample/en").of_users([*split["train"][:6], *split["test"][:8]])


@pytest.fixture(scope="module")
def recorded(sample: Corpus) -> pd.DataFrame:
    users = sample.split()["test"][:6]
    made = sample.extras["candidates"]
    made = made[made["user"].isin(users)][["candidate", *TURN, "response"]]
    turns = made[TURN].drop_duplicates()
    own = turns.merge(sample.turns[[*TURN, "response"]]).assign(candidate=ORIGINAL)
    return pd.concat([made, own], ignore_index=True)


@pytest.mark.parametrize("make", [LearnedJudge, Supervised, Nearest])
@pytest.mark.sample
def test_no_verdict_depends_on_which_candidates_stand_beside(make: Any, sample: Corpus, recorded: pd.DataFrame) -> None:
    one = recorded["candidate"].unique()[0]
    judge = make()
    together = judge_candidates(judge, sample, recorded)
    alone = judge_candidates(make(), sample, recorded[recorded["candidate"] == one])
    of_it = together[together["candidate"] == one].reset_index(drop=True)
    np.testing.assert_allclose(of_it["raw"].astype(float), alone["raw"].astype(float), atol=1e-9)


@pytest.mark.sample
def test_the_recorded_replies_as_a_candidate_tie_with_themselves(sample: Corpus, recorded: pd.DataFrame) -> None:
    judge = Nearest()
    twice = recorded[recorded["candidate"] == ORIGINAL]
    given = pd.concat([twice, twice.assign(candidate="again")], ignore_index=True)
    found = calibrate_on_reference(
        judge_candidates(judge, sample, given), judge_recorded_replies(judge, sample, given), sample
    )
    wide = found.pivot(index=TURN, columns="candidate", values="reference_cdf").astype(float)
    assert (wide[ORIGINAL] == wide["again"]).all() and wide[ORIGINAL].nunique() > 3


@pytest.mark.sample
def test_one_candidates_calibrated_scores_stand_whoever_is_in_the_table(sample: Corpus, recorded: pd.DataFrame) -> None:
    judge = LearnedJudge()
    verdicts, beside = judge_candidates(judge, sample, recorded), judge_recorded_replies(judge, sample, recorded)
    one = recorded["candidate"].unique()[0]
    whole = calibrate_on_reference(verdicts, beside, sample)
    alone = calibrate_on_reference(verdicts[verdicts["candidate"] == one], beside, sample)
    kept = whole[whole["candidate"] == one]
    for column in ("reference_cdf", "reference_mean_shift"):
        assert kept[column].tolist() == alone[column].tolist()
    assert len(histories(sample))


def test_the_measured_memory_reads_the_candidates_reply_and_not_the_recorded_one(
    sample: Corpus, recorded: pd.DataFrame
) -> None:
    asking = Counts()
    few = recorded.groupby("candidate").head(1)
    judge_candidates(Personal(MeasuredSystem(), JudgeSettings(with_rationale=False)), sample, few, asking)  # type: ignore[arg-type]
    told = [text[text.index("beside the user's record") :] for text in asking.asked]
    assert len(set(told)) > 1


def test_two_replies_to_a_turn_are_told_with_the_remedy() -> None:
    one = replies(a="good")
    with pytest.raises(DataError, match=r"a: more than one reply to ada/gift/0/0[\s\S]*Candidate\(name=…\)"):
        judge_candidates(judge(), small(), pd.concat([one, replies(a="poor")]), Counts())  # type: ignore[arg-type]


def test_replies_that_are_all_empty_are_unscored_under_the_judges_name() -> None:
    asking = Counts()
    found = judge_candidates(judge(), small(), replies(a=None, b=" "), asking)  # type: ignore[arg-type]
    assert not asking.asked and found["raw"].isna().all() and (found["mode"] == "unscored").all()
    assert found["error"].tolist() == [*["no reply: time-out"] * 2, *["no reply: it is empty"] * 2]
    named = found[["corpus", "judge", "backbone"]].drop_duplicates().to_numpy().tolist()
    assert named == [["made", "scores memory", "counting"]]
    assert judge_candidates(judge(), small(), replies(a="x").iloc[:0], Counts()).empty  # type: ignore[arg-type]


def test_a_reference_of_no_reply_is_none() -> None:
    with pytest.raises(DataError, match="most: is 0, expected 1 or more"):
        judge_recorded_replies(judge(), small(), replies(a="good"), Counts(), most=0)  # type: ignore[arg-type]


@pytest.mark.sample
def test_a_judge_is_fitted_once_for_candidates_and_reference(
    sample: Corpus, recorded: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, judge = recorded.groupby("candidate").head(6), LearnedJudge()
    with_own_fit = judge_recorded_replies(LearnedJudge(), sample, few)
    judge_candidates(judge, sample, few.assign(response=None))
    monkeypatch.setattr(LearnedJudge, "fit", lambda *_: pytest.fail("fitted once more"))
    pd.testing.assert_frame_equal(judge_recorded_replies(judge, sample, few, fit=False), with_own_fit)
    assert judge_candidates(judge, sample, few, fit=False)["raw"].notna().all()


def test_replies_to_train_users_leave_nothing_to_learn_from(sample: Corpus) -> None:
    train = sample.split()["train"]
    own = sample.turns[sample.turns["user"].isin(train)].drop_duplicates("user")
    given = own[[*TURN, "response"]].assign(candidate="mine")
    with pytest.raises(PerslibError, match=r"has none that are not judged[\s\S]*judge that does not learn"):
        judge_candidates(LearnedJudge(), sample, given)
    with pytest.raises(PerslibError, match="has none that are not judged"):
        judge_recorded_replies(LearnedJudge(), sample, given)


def test_judges_are_known_by_their_models_and_candidates_of_files_by_their_names() -> None:
    names = ["qwen3-8b · tfidf", "Qwen/Qwen3-8B (task)", "qwen3-8b-chat", "other", "third"]
    answers = pd.DataFrame({"candidate": names, "backbone": [None, None, None, "hf-qwen3-8b", "small"]})
    verdicts = pd.DataFrame({"judge": ["j", "j", "learned"], "backbone": ["vllm-q", "vllm-q", None]})
    assert judged_by_themselves(answers, verdicts) == []
    models = {"vllm-q": "Qwen/Qwen3-8B", "hf-qwen3-8b": "qwen/qwen3-8b", "small": "Qwen/Qwen3-0.6B"}
    by_model = judged_by_themselves(answers, verdicts, models)
    assert by_model == [("Qwen/Qwen3-8B (task)", "j"), ("other", "j"), ("qwen3-8b · tfidf", "j")]


def test_a_judge_that_is_a_candidate_is_named() -> None:
    answers = replies(a="good", b="poor").assign(backbone=["big", "big", "small", "small"])
    verdicts = pd.DataFrame({"judge": ["personal", "learned"], "backbone": ["big", None]})
    assert judged_by_themselves(answers, verdicts) == [("a", "personal")]
