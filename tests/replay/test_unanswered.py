"""Replies that do not answer: swapped ones and nonsense are found, recorded ones and short ones are left alone, and it counts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from histories import corpus_of

from perslib.corpus import TURN, Corpus, load
from perslib.errors import NotEnough, UnknownName
from perslib.judge import UserMean
from perslib.judge.answering import ANY, MARKED, SWAPS, Answering, read_exchange, swap_replies
from perslib.judge.broken import name_stub, read_form
from perslib.memory.features import measure_reply
from perslib.replay import (
    ORIGINAL,
    calibrate_on_reference,
    count_unanswered,
    judge_candidates,
    judge_recorded_replies,
    mark_unanswered,
    summarize_rank_sets,
)
from perslib.stats.agreement.auroc import auroc_under


@pytest.fixture(scope="module", params=["zh", "en"])
def part(request) -> Corpus:
    whole = load(f"sample/{request.param}")
    return whole.of_users([*whole.split()["train"][:5], *whole.split()["test"][:5]])


@pytest.fixture(scope="module")
def guard(part: Corpus) -> Answering:
    return Answering().fit(part)


def recorded(part: Corpus) -> pd.DataFrame:
    turns = part.turns[part.turns["user"].isin(part.split()["test"])]
    return turns[[*TURN, "response"]].reset_index(drop=True)


@pytest.mark.sample
def test_swapped_replies_are_told_from_recorded_ones_that_it_has_not_seen(part, guard):
    blocks = [part.block(*pair) for pair in part.block_ids(part.split()["test"])]
    swapped = swap_replies(blocks, seed=3)
    chances, kinds = guard.chances(swapped.exchanges), np.array(swapped.kinds)
    own, astray = kinds == "", kinds == "other task"
    both = own | astray
    area = auroc_under(own[both], chances[both], np.zeros(both.sum(), int), np.ones((1, 1)))[0]
    assert area > (0.9 if part.language == "zh" else 0.85)
    assert (chances[own] < guard.limit).mean() <= 4 * MARKED < (chances[astray] < guard.limit).mean()
    assert set(kinds) <= {"", *SWAPS}


@pytest.mark.sample
def test_short_replies_are_not_marked_for_being_short(part, guard):
    targets = [target for pair in part.block_ids(part.split()["test"])[:6] for target in part.block(*pair)]
    said = {
        "en": ["Which day do you mean?", "Sure, done.", "I cannot order it for you, but here is how."],
        "zh": ["你说的是哪一天？", "好的，已经改了。", "我没法替你下单，不过可以告诉你怎么做。"],
    }[part.language]
    for reply in said:
        assert (
            guard.chances([read_exchange(target).with_reply(reply) for target in targets]) < guard.limit
        ).mean() <= 0.02
    taught = swap_replies([part.block(*pair) for pair in part.block_ids(part.split()["train"])], language=part.language)
    assert taught.kinds.count(ANY) > 20


@pytest.mark.sample
def test_replies_that_break_off_are_found_and_those_of_another_style_are_not(part, guard):
    targets = [target for pair in part.block_ids(part.split()["test"])[:8] for target in part.block(*pair)]
    own = [read_exchange(target) for target in targets if len(target.response) > 80]
    cut = [one.with_reply(one.reply[: len(one.reply) // 2]) for one in own]
    plain = [one.with_reply(" ".join(line.lstrip("-*0123456789. ") for line in one.reply.splitlines())) for one in own]
    assert guard.find_broken(cut).mean() > 0.6
    assert guard.find_broken(own).mean() <= 0.03 and guard.find_broken(plain).mean() <= 0.03
    assert guard.find_broken([]).tolist() == []
    many = pd.DataFrame(
        [{**dict(zip(TURN, (t.user, t.scenario, t.session, t.turn))), "candidate": "cut"} for t in targets]
    )
    marks = mark_unanswered(part, many.assign(response=[t.response[: len(t.response) // 2] for t in targets]), guard)
    assert marks["broken"].mean() > 0.5 and (marks["unanswered"] >= marks["broken"]).all()


@pytest.mark.sample
def test_letters_that_make_no_words_are_found_and_usual_windows_are_not(part, guard):
    own = [read_exchange(target) for pair in part.block_ids(part.split()["test"])[:8] for target in part.block(*pair)]
    own = [exchange for exchange in own if len(exchange.reply) > 80]
    rng = np.random.default_rng(0)
    shuffled = [one.with_reply("".join(rng.permutation(list(one.reply[:60])))) for one in own]
    assert guard.find_broken(shuffled).mean() > 0.9
    assert (
        guard.find_broken(
            [own[0].with_reply("Je ne peux pas le faire sans votre accord."), own[0].with_reply("42")]
        ).sum()
        == 0
    )


@pytest.mark.parametrize(
    "text, kind",
    [
        ("Internal server error", "error message"),
        ("Error 500: internal server error.", "error message"),
        ('{"error": {"message": "Rate limit exceeded"}}', "error message"),
        ("Sorry, something went wrong. Please try again later.", "error message"),
        ("null", "error message"),
        ("系统繁忙，请稍后再试。", "error message"),
        ("The error was in line 3: you forgot a colon.", ""),
        ("404 is the code for a page that was not found.", ""),
        ("A 502 bad gateway means that one server got no valid answer from another one.", ""),
        ("## Gift ideas", "lone heading"),
        ("**Plan**", "lone heading"),
        ("以下是建议：", "lone heading"),
        ("**Plan**\nTake the train at nine.", ""),
        ("Which one: red or blue?", ""),
        ("42", ""),
        ("Paris", ""),
        ("", ""),
    ],
)
def test_error_messages_and_lone_headings_are_no_replies(text, kind):
    assert name_stub(text) == kind


def test_bold_type_that_never_ends_closes_nothing():
    assert [
        measure_reply(text)["cut_off"] for text in ("Take the **", "Take the **train**", "Take it. **", "Take it")
    ] == [1, 0, 0, 1]


def test_a_list_that_goes_back_is_read_as_out_of_order():
    names = ["backwards", "skipped"]
    place = {name: i for i, name in enumerate(names, start=14)}

    def steps(reply: str) -> list[float]:
        return [read_form(reply)[i] for i in place.values()]

    assert steps("1. one.\n2. two.\n3. three.") == [0, 0]
    assert steps("2. two.\n1. one.\n3. three.") == [0, 1], "a list may begin again at 1"
    assert steps("1. one.\n3. three.\n2. two.") == [1, 2]
    assert read_form("It is done.")[0] == 1 == read_form("Voilà 🎉")[0] and read_form("and then the")[0] == 0


@pytest.mark.sample
def test_a_candidate_that_answers_other_questions_comes_last(part, guard):
    drawn = recorded(part).sample(60, random_state=0).reset_index(drop=True)
    elsewhere = recorded(part).sample(frac=1, random_state=5)
    wrong = [
        elsewhere.loc[(elsewhere["user"] != row.user) & (elsewhere["scenario"] != row.scenario), "response"].iloc[
            i % 40
        ]
        for i, row in enumerate(drawn.itertuples())
    ]
    frames = [
        drawn.assign(candidate=ORIGINAL),
        drawn.assign(candidate="again"),
        drawn.assign(candidate="wrong", response=wrong),
    ]
    replies = pd.concat(frames, ignore_index=True)
    marks = mark_unanswered(part, replies, guard)
    share = marks.groupby("candidate")["unanswered"].mean()
    assert share[ORIGINAL] == share["again"] == 0 < 0.3 < share["wrong"]
    judge = UserMean()
    verdicts, old = (
        judge_candidates(judge, part, replies),
        judge_recorded_replies(judge, part, replies[TURN].drop_duplicates()),
    )
    counted = calibrate_on_reference(count_unanswered(verdicts, marks, part), old, part)
    ranked = summarize_rank_sets(counted).set_index("candidate")
    assert ranked["user_macro"].idxmin() == "wrong"
    assert summarize_rank_sets(calibrate_on_reference(verdicts, old, part))["user_macro"].nunique() == 1, (
        "the judge alone sees no difference"
    )


def test_marked_replies_count_as_is_said():
    past = [("ada", "travel", "0", f"question {i}", f"answer {i}", s) for i, s in enumerate([5, 2, 4])]
    corpus = corpus_of([*past, *(("ada", "gift", "0", f"wish {i}", f"present {i}", 1) for i in range(2))])
    replies = corpus.turns[corpus.turns["scenario"] == "gift"][TURN].assign(candidate="a", response="r", chance=0.5)
    verdicts = judge_candidates(UserMean(), corpus, replies.drop(columns="chance"))
    marks = replies.drop(columns="response").assign(unanswered=[True, False])
    lowest = count_unanswered(verdicts, marks, corpus)
    assert lowest["raw"].tolist() == [2, verdicts["raw"].iloc[1]], "the lowest score in other scenarios"
    unscored = count_unanswered(verdicts, marks, corpus, "unscored")
    assert (
        unscored["raw"].isna().tolist() == [True, False] and unscored["error"].iloc[0] == "does not answer the request"
    )
    assert count_unanswered(verdicts, marks, corpus, "ignore") is verdicts
    assert count_unanswered(verdicts, marks.assign(unanswered=None), corpus) is verdicts
    with pytest.raises(UnknownName, match="unscored"):
        count_unanswered(verdicts, marks, corpus, "unscord")  # type: ignore[arg-type]


def test_too_few_replies_teach_nothing():
    with pytest.raises(NotEnough, match="is learned from 60 replies or more of several conversations; there are 3"):
        Answering().fit(corpus_of([("ada", "travel", "0", f"q {i}", f"a {i}", 4) for i in range(3)]))
