"""Rating turns oneself: the form, what it refuses, which turn comes next, and how blind a rating was."""

from __future__ import annotations

import json
import re

import pytest
from asked import Asked, verdict
from made import shortened, tiny_corpus

from perslib.corpus import TURN, load
from perslib.explorer.explorer_state import ExplorerState, keys_of
from perslib.explorer.rate_panel import RatePanel, next_unrated, ratings_file, sample_turns_to_rate, scale
from perslib.explorer.ratings import read_ratings
from perslib.judge import Verdict
from perslib.report import begin
from perslib.stats import agreement


@pytest.fixture(scope="module")
def corpus():
    return shortened(load("sample/en"), sessions=2)


@pytest.fixture
def state(home, corpus):
    begin(language="en")
    found = ExplorerState(corpus, Asked(), "en")
    found.open("u003", corpus.scenarios[0])
    return found


@pytest.fixture
def panel(state):
    made = RatePanel(state)
    made.rater.value = "Ann"
    return made


def give(panel, score: int, reason: str | None = None, note: str = "") -> None:
    panel.form.score.value = score
    if reason:
        panel.form.reason.value = reason
    panel.form.note.value = note
    panel.save.click()


def lines(panel) -> list[dict]:
    return [json.loads(line) for line in panel.path.read_text("utf-8").splitlines()]


def test_the_scale_is_the_one_that_judges_are_given(panel):
    assert list(scale("zh")) == list(scale("en")) == [1, 2, 3, 4, 5]
    labels = [label for label, _ in panel.form.score.options]
    assert labels[0] == "1 · useless" and labels[4] == "5 · fits closely"
    assert panel.form.score.tooltips[2] == "some of it, with a clear fault; not satisfied"


def test_a_rating_is_saved_and_the_next_turn_opens(panel, state):
    first = state.key
    give(panel, 2, "unusable", "nothing to act on")
    (line,) = lines(panel)
    assert tuple(line[c] for c in TURN) == first
    assert (line["rater"], line["score"], line["reason"], line["note"]) == (
        *("Ann", 2, "unusable"),
        "nothing to act on",
    )
    assert not line["gold_shown"] and not line["verdict_shown"]
    assert state.key == keys_of(state.block.targets)[1]
    assert panel.form.score.value is None and panel.form.note.value == ""
    assert "1 of" in panel.progress.value and "Saved: 2" in panel.message.value


def test_the_panel_shows_the_reply_and_what_was_said_before_but_no_score(panel, state):
    target = state.target
    assert target.response[:40] in panel.shown.value.replace("&#x27;", "'").replace("&quot;", '"')
    assert "pl-score" not in panel.shown.value
    profile = state.block.profile
    assert str(profile["age"]) in panel.shown.value


def test_what_is_incomplete_is_not_saved_and_says_what_it_lacks(panel):
    panel.save.click()
    assert "Choose a score" in panel.message.value and 'role="alert"' in panel.message.value
    give(panel, 3)
    assert "main fault" in panel.message.value
    panel.rater.value = "  "
    give(panel, 5)
    assert "name" in panel.message.value
    assert not panel.path.exists()


def test_a_reason_goes_with_three_or_less_only(panel):
    assert panel.form.reason.disabled
    panel.form.score.value = 3
    assert not panel.form.reason.disabled
    assert "satisfied" not in [value for _, value in panel.form.reason.options]
    panel.form.reason.value = "unusable"
    panel.form.score.value = 4
    assert panel.form.reason.disabled and panel.form.reason.value is None
    panel.save.click()
    assert lines(panel)[0]["reason"] is None


def test_reasons_are_shown_in_the_researchers_language_and_kept_in_the_corpus(home):
    begin(language="en")
    panel = RatePanel(ExplorerState(load("sample/zh"), Asked(), "en"))
    kept = {value for _, value in panel.form.reason.options}
    assert kept == {"不够细致", "不满足需求", "不够多样", "不可用", "其它"}
    assert not any(re.search("[一-鿿]", label) for label, _ in panel.form.reason.options)


def test_ones_own_rating_is_shown_and_can_be_replaced(panel, state):
    first = state.at
    give(panel, 2, "other", "hm")
    state.at = first
    assert (panel.form.score.value, panel.form.reason.value, panel.form.note.value) == (2, "other", "hm")
    assert "You rated this turn 2 on" in panel.message.value
    give(panel, 5)
    assert [line["score"] for line in lines(panel)] == [2, 5]
    assert read_ratings(panel.path)["raw"].tolist() == [5.0]


def test_another_raters_rating_is_not_shown(panel, state):
    first = state.at
    give(panel, 2, "other")
    state.at = first
    panel.rater.value = "Bo"
    assert panel.form.score.value is None and panel.message.value == ""
    assert "0 of" in panel.progress.value


def test_the_name_and_the_ratings_are_there_again_tomorrow(panel, state, corpus):
    give(panel, 4)
    again = RatePanel(ExplorerState(corpus, Asked(), "en"))
    assert again.rater.value == "Ann"
    assert again.path == panel.path == ratings_file(corpus.name)
    again.state.open(state.user, state.scenario)
    assert again.form.score.value == 4


def test_next_unrated_leaves_out_what_is_rated_and_comes_to_an_end(panel, state):
    turns = keys_of(state.block.targets)
    state.at = turns[1][2:]
    give(panel, 4)
    state.at = turns[0][2:]
    panel.skip.click()
    assert state.key == turns[2]
    for _ in turns:
        give(panel, 5)
    assert read_ratings(panel.path).shape[0] == len(turns)
    panel.skip.click()
    assert "All of these turns are rated" in panel.message.value


def test_next_unrated_begins_anew_at_the_end():
    turns = [("u", "s", "0", i) for i in range(3)]
    assert next_unrated(turns, {turns[2]}, turns[1]) == turns[0]
    assert next_unrated(turns, set(), ("v", "s", "0", 9)) == turns[0]
    assert next_unrated(turns, set(turns), None) is None


def test_a_sample_is_drawn_by_its_seed_from_all_users(panel, state, corpus):
    assert (
        sample_turns_to_rate(corpus, 30, 7)
        == sample_turns_to_rate(corpus, 30, 7)
        != sample_turns_to_rate(corpus, 30, 8)
    )
    assert len({key[0] for key in sample_turns_to_rate(corpus, 30, 7)}) >= 20
    panel.size.value, panel.seed.value = 12, 7
    panel.which.value = "sample"
    wanted = sample_turns_to_rate(corpus, 12, 7)
    assert state.key == wanted[0] and "0 of 12" in panel.progress.value
    give(panel, 4)
    assert state.key == wanted[1] and "1 of 12" in panel.progress.value
    assert {tuple(line[c] for c in TURN) for line in lines(panel)} == {wanted[0]}


def test_a_rating_says_what_its_rater_had_seen(panel, state):
    turns = keys_of(state.block.targets)
    state.show_verdict(Verdict(raw=3.0))
    assert "You have seen a verdict" in panel.seen.value
    give(panel, 4)
    assert panel.seen.value == ""
    state.show_gold()
    assert "user&#39;s own score" in panel.seen.value
    give(panel, 4)
    assert [(line["verdict_shown"], line["gold_shown"]) for line in lines(panel)] == [(True, False), (False, True)]
    assert read_ratings(panel.path).empty and read_ratings(panel.path).attrs["not_blind"] == 2
    assert tuple(lines(panel)[1][c] for c in TURN) == turns[1]


def test_a_pasted_reply_is_not_what_is_rated(panel, state):
    state.reply = "<b>pasted</b>"
    annotated = RatePanel(state)
    assert "pasted" not in annotated.shown.value


def test_what_strangers_wrote_shows_as_text(home):
    begin(language="en")
    corpus = tiny_corpus()
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    corpus.turns["response"] = evil
    corpus.turns["request"] = evil
    corpus.sessions["task"] = evil
    corpus.users["profile"] = [{"age": evil, evil: evil}] * len(corpus.users)
    panel = RatePanel(ExplorerState(corpus, Asked(), "en"))
    assert "alert(1)" in panel.shown.value
    assert "<script" not in panel.shown.value and "<img" not in panel.shown.value
    panel.rater.value = evil
    panel.so_far.show.click()
    assert "<script" not in panel.so_far.table.value and "alert" in panel.so_far.table.value


def test_a_file_that_cannot_be_read_is_named_and_nothing_is_saved(panel):
    panel.path.parent.mkdir(parents=True)
    panel.path.write_text('{"rater": "Ann"}\n', "utf-8")
    give(panel, 4)
    assert "en.jsonl:1: user is missing" in panel.message.value
    assert len(panel.path.read_text("utf-8").splitlines()) == 1
    panel.so_far.show.click()
    assert "en.jsonl:1" in panel.so_far.table.value


def rate_as_the_users_did(panel, state, corpus, users: int) -> int:
    gold = corpus.turns.set_index(TURN)
    n = 0
    for user in corpus.users["user"][:users]:
        state.open(user)
        for _ in range(2):
            row = gold.loc[state.key]
            low = row["score"] <= 3
            give(panel, int(row["score"]), row["reason"] if low else None)
            n += 1
    return n


def test_agreement_so_far_with_the_users_and_then_with_the_judge(panel, state, corpus):
    n = rate_as_the_users_did(panel, state, corpus, 6)
    key = keys_of(state.block.targets)[0]
    assert not state.is_gold_shown(key)
    panel.so_far.show.click()
    text = panel.so_far.table.value
    assert "You and the users" in text and "You and the judge" not in text
    assert ".000" in text and f">{n}<" in text, "no distance on these turns"
    assert state.is_gold_shown(key) and not state.is_verdict_shown(key)
    assert not state.backbone.asked, "nothing is asked of a model before somebody wants it"
    panel.so_far.ask.click()
    text = panel.so_far.table.value
    assert "You and the judge" in text and "The judge and the users" in text
    judged = [request for stage, request in state.backbone.asked if stage == "judge"]
    assert len(judged) == n
    assert state.is_verdict_shown(key)
    table = agreement(read_ratings(panel.path), corpus, metrics=["mae"])
    assert table["value"].item() == 0 and table["users"].item() == 6


def test_after_that_a_rating_made_anew_is_not_blind_and_the_blind_one_is_heard(panel, state):
    first = state.at
    give(panel, 4)
    panel.so_far.show.click()
    state.at = first
    assert "own score" in panel.seen.value
    give(panel, 1, "other")
    assert lines(panel)[-1]["gold_shown"]
    found = read_ratings(panel.path)
    assert found["raw"].tolist() == [4.0]


def test_few_users_have_no_intervals_and_are_told_so(panel):
    give(panel, 4)
    panel.so_far.show.click()
    assert "Only 1 users" in panel.so_far.table.value


def test_nothing_rated_yet_asks_nothing(panel, state):
    panel.so_far.show.click()
    panel.so_far.ask.click()
    assert "no blind rating by Ann" in panel.so_far.table.value
    assert not state.backbone.asked and not state.is_gold_shown()


def test_a_backbone_that_is_gone_says_so_in_place_and_ratings_go_on(panel, state):
    give(panel, 4)
    state.backbone.down = ConnectionError("nobody answers at the address")
    panel.so_far.ask.click()
    said = " ".join(child.value for child in panel.so_far.asking.children if hasattr(child, "value"))
    assert "nobody answers" in said
    give(panel, 5)
    assert len(lines(panel)) == 2


def test_the_judges_words_do_not_come_in_while_rating_goes_on(panel, state):
    state.backbone.waits = True
    state.backbone.reply = lambda request: verdict(1)
    give(panel, 4)
    panel.so_far.ask.click()
    assert panel.so_far.asking.busy and panel.so_far.table.value == ""
    give(panel, 5)
    assert not panel.so_far.asking.busy, "another rating gives up the comparison under way"
    state.backbone.answer()
    assert panel.so_far.table.value == ""
    assert not state.is_verdict_shown(keys_of(state.block.targets)[0])


def test_it_speaks_chinese(home):
    begin(language="zh")
    panel = RatePanel(ExplorerState(load("sample/zh"), Asked(), "zh"))
    assert panel.save.description == "保存并继续"
    assert panel.form.score.options[0][0] == "1 · 没有用处"
    begin(language="en")
