"""Verdicts side by side: two users, two memories, a draft against what was built, and the candidates of a turn."""

from __future__ import annotations

import json
import re
from functools import partial

import pytest
from asked import Asked, verdict
from made import shortened, tiny_corpus

from perslib.corpus import TURN, load
from perslib.explorer.compare_panel import DRAFT, NONE, CandidatesPanel, PairPanel, compare
from perslib.explorer.explorer_state import ExplorerState
from perslib.llm import run_with_answers
from perslib.memory import Draft
from perslib.report import begin

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def corpus():
    return shortened(load("sample/en"), sessions=2)


def looking_at(corpus, **asked) -> ExplorerState:
    begin(language="en")
    return ExplorerState(corpus, Asked(**asked), "en")


@pytest.fixture
def state(home, corpus):
    found = looking_at(corpus)
    found.open("u003")
    return found


def build(state: ExplorerState) -> None:
    state.draft = Draft.of(run_with_answers(partial(state.memory_system().build, state.block)))


def questions(state: ExplorerState) -> list[str]:
    """What judges were asked, as one text each."""
    asked = [request for stage, request in state.backbone.asked if stage == "judge"]
    return ["\n".join(m["content"] for m in request.messages) for request in asked]


def line_of(asking) -> str:
    return " ".join(child.value for child in asking.children if hasattr(child, "value"))


# -- two users, two memories -------------------------------------------------------------------------------


def test_a_reply_is_judged_with_two_memories_and_the_verdicts_stand_side_by_side(state):
    state.backbone.reply = lambda r: verdict(5 if "M1" in str(r.messages) else 2, "Because.")
    state.system = "measured"
    two = PairPanel(state)
    assert [m.value for m in two.memories] == ["measured", NONE]
    two.write.click()
    first, second = questions(state)
    reply = state.target.response[:60]
    assert reply in first and reply in second and "M1" in first and "M1" not in second
    assert "The second is 3.00 below the first." in two.shown.value
    assert two.shown.value.count("Because.") == 2
    assert not two.asking.busy and "Done" in line_of(two.asking)


@pytest.mark.sample
def test_another_user_judges_the_same_reply_with_that_users_profile_and_memory(state, corpus):
    own = str(corpus.profile("u003")["occupation"])
    jobs = {user: str(corpus.profile(user)["occupation"]) for user in corpus.users["user"]}
    them, other = next((user, job) for user, job in jobs.items() if job != own)
    two = PairPanel(state)
    two.users[1].value, two.memories[1].value = them, "measured"
    two.write.click()
    first, second = questions(state)
    target = state.target
    assert target.response[:60] in second and target.request[:40] in second
    assert own in first and other in second and own not in second
    assert "u003" in two.shown.value and them in two.shown.value
    assert "Both scores are equal." in two.shown.value


def test_the_other_users_own_turns_of_the_target_scenario_stay_hidden(state, corpus):
    two = PairPanel(state)
    two.users[1].value, two.memories[1].value = "u007", "measured"
    made = run_with_answers(partial(two._side, state.make_open_block(), "u007", "measured", False), [verdict(4)])
    assert set(made.block.evidence["user"]) == {"u007"}
    assert state.scenario not in set(made.block.evidence["scenario"])
    assert made.memory.user == "u007"


def test_a_pasted_reply_is_what_both_read_and_leaves_no_mark_of_a_verdict(state):
    two = PairPanel(state)
    state.reply = "Take the night train, it costs 40 euros."
    two.score.click()
    assert all("night train" in text for text in questions(state))
    assert not state.is_verdict_shown()
    state.reply = None
    two.score.click()
    assert state.is_verdict_shown(), "a verdict on the recorded reply was seen"


def test_the_draft_against_what_was_built(state):
    build(state)
    two = PairPanel(state)
    two.memories[1].value = DRAFT
    state.draft = state.draft.add("Hates trains above all.")
    two.write.click()
    first, second = questions(state)
    assert "Hates trains" not in first and "Hates trains" in second
    assert "current edit" in two.shown.value


def test_what_is_shown_goes_when_it_is_no_longer_what_is_open(state):
    build(state)
    two = PairPanel(state)
    two.memories[1].value = DRAFT
    changes = [
        lambda: setattr(state, "draft", state.draft.add("New.")),
        lambda: setattr(two.users[1], "value", "u007"),
        lambda: setattr(state, "reply", "other"),
        lambda: setattr(state, "at", next(k for k in _turns(state) if k != state.at)),
        lambda: state.open("u005"),
    ]
    for change in changes:
        two.users[1].value = state.user
        two.score.click()
        assert two.shown.value
        change()
        assert two.shown.value == ""
    assert [user.value for user in two.users] == ["u005", "u005"]


def _turns(state: ExplorerState) -> list[tuple[str, int]]:
    return [(s, int(t)) for s, t in zip(state.block.targets["session"], state.block.targets["turn"])]


def test_a_draft_is_one_users_and_has_to_be_there(state):
    two = PairPanel(state)
    two.memories[1].value = DRAFT
    two.score.click()
    assert "No memory is being edited" in line_of(two.asking)
    build(state)
    two.users[1].value = "u007"
    two.score.click()
    assert "is that of user u003" in line_of(two.asking)
    assert not questions(state)


def test_a_backbone_that_is_gone_says_so_in_place_and_can_be_tried_again(state):
    two = PairPanel(state)
    state.backbone.down = ConnectionError("nobody answers")
    two.score.click()
    assert "nobody answers" in line_of(two.asking) and two.shown.value == ""
    state.backbone.down = None
    two.asking.children[-1].click()
    assert "Both scores are equal." in two.shown.value


def test_it_can_be_stopped_and_a_late_answer_changes_nothing(state):
    state.backbone.waits = True
    two = PairPanel(state)
    two.score.click()
    assert two.asking.busy
    two.asking.children[-1].click()
    state.backbone.answer()
    assert not two.asking.busy and two.shown.value == "" and not state.is_verdict_shown()


def test_an_unscored_verdict_is_no_score(state):
    state.backbone.reply = lambda r: verdict(4) if "M1" in str(r.messages) else verdict(9)
    two = PairPanel(state)
    two.write.click()
    assert "no score from 1 to 5" in two.shown.value
    assert "The second is" not in two.shown.value


# -- candidates --------------------------------------------------------------------------------------------


@pytest.fixture
def replayed(state, corpus):
    """A panel on a turn that candidates answered."""
    found = corpus.extras["candidates"].iloc[0]
    state.open(found["user"], found["scenario"])
    state.at = (found["session"], int(found["turn"]))
    return CandidatesPanel(state)


def _here(corpus, state):
    at = corpus.extras["candidates"]
    same = (at[TURN].astype({"turn": int}) == list(state.key)).all(axis=1)
    return at[same]


def test_every_candidate_is_judged_and_the_best_comes_first(replayed, state, corpus):
    here = _here(corpus, state)
    score = {text: 1 + i % 5 for i, text in enumerate(here["response"])}

    def judged(request):
        asked = str(request.messages[-1]["content"])
        found = [s for text, s in score.items() if text[:80] in asked]
        return verdict(found[0] if found else 3)

    state.backbone.reply = judged
    assert f"{len(here)} candidates answered" in replayed.message.value
    replayed.score.click()
    assert len(questions(state)) == len(here) + 1
    shown = re.findall(r"<b>([^<]+)</b>", replayed.shown.value)
    wanted = sorted(zip(here["candidate"], here["response"]), key=lambda c: -score[c[1]])
    assert [name for name in shown if name != "recorded reply"] == [name for name, _ in wanted]
    assert shown.index("recorded reply") == sum(s >= 3 for s in score.values()) - (3 in score.values())


def test_candidates_truth_is_not_shown(replayed, state, corpus):
    replayed.write.click()
    for truth in _here(corpus, state)["expected"]:
        assert f"{truth:.4f}" not in replayed.shown.value
    assert "recorded reply" in replayed.shown.value and state.is_verdict_shown()


def test_all_candidates_meet_the_memory_as_it_is_edited(replayed, state):
    build(state)
    state.draft = state.draft.add("Hates trains above all.")
    replayed.score.click()
    assert all("Hates trains" in text for text in questions(state))
    assert "current edit" in replayed.shown.value


def test_a_replayed_turn_is_opened_by_choosing_it(replayed, state, corpus):
    at = corpus.extras["candidates"]
    busy = at.drop_duplicates(TURN).groupby(["user", "scenario"]).size()
    state.open(*busy.idxmax())
    options = [value for _, value in replayed.turn.options]
    assert len(options) == busy.max()
    replayed.turn.value = options[-1]
    assert state.at == options[-1] and len(_here(corpus, state)) > 0
    free = [place for place in _turns(state) if place not in options]
    state.at = free[0]
    assert replayed.turn.value is None and replayed.score.disabled
    assert f"{len(options)} turns of this user and scenario were" in replayed.message.value


def test_replies_come_from_a_file(replayed, state, home):
    state.open("u003")
    keys = dict(zip(TURN, state.key))
    lines = [{**keys, "candidate": name, "response": f"From {name}."} for name in ("ash", EVIL)]
    path = home / "replies.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    replayed.file.value = str(path)
    assert "2 replies of 2 candidates in replies.jsonl" in replayed.loaded.value
    replayed.score.click()
    assert "From ash." in replayed.shown.value and "<script" not in replayed.shown.value
    replayed.file.value = ""
    assert replayed.loaded.value == "" and len(replayed.replies) > 2, "those of the corpus again"


def test_a_file_that_cannot_be_taken_says_why_and_changes_nothing(replayed, home):
    before = len(replayed.replies)
    path = home / "bad.jsonl"
    path.write_text('{"candidate": "x"}\n', "utf-8")
    for file, said in ((str(path), "bad.jsonl:1"), (str(home / "none.jsonl"), "none.jsonl")):
        replayed.file.value = file
        assert said in replayed.loaded.value and 'role="alert"' in replayed.loaded.value
        assert len(replayed.replies) == before


def test_one_failed_candidate_does_not_hide_the_others(replayed, state, corpus):
    bad = _here(corpus, state)["response"].iloc[0]
    state.backbone.reply = lambda r: verdict(9 if bad[:80] in str(r.messages[-1]["content"]) else 4)
    replayed.write.click()
    shown = re.findall(r"<b>([^<]+)</b>", replayed.shown.value)
    assert shown[-1] == _here(corpus, state)["candidate"].iloc[0]
    assert "no score from 1 to 5" in replayed.shown.value


def test_a_corpus_without_candidates_says_so_and_texts_show_as_texts(home):
    corpus = tiny_corpus()
    corpus.turns["response"] = EVIL
    state = looking_at(corpus)
    state.backbone.reply = lambda r: verdict(2, EVIL)
    two, _, replayed = compare(state).children
    assert "has no candidates" in replayed.message.value and replayed.score.disabled
    two.memories[0].value = NONE
    two.write.click()
    assert "alert(1)" in two.shown.value and "<script" not in two.shown.value
