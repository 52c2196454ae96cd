"""Frames, blocks, splits and statistics of a corpus."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from made import tiny_corpus
from sklearn.model_selection import GroupShuffleSplit

from perslib.corpus import SCHEMA, Corpus, coerce, describe_frame
from perslib.corpus.corpus import group_shuffle_split
from perslib.errors import DataError, UnknownName


def test_block_takes_evidence_from_the_other_scenarios_only():
    block = tiny_corpus().block("ada", "travel")
    assert set(block.evidence["scenario"]) == {"gift"}
    assert set(block.targets["scenario"]) == {"travel"}
    assert list(block.evidence["score"]) == [5, 3]
    assert list(block.evidence["task"]) == ["A gift for a sister", "A farewell gift"]
    assert list(block.sessions["satisfaction"].fillna(0)) == [0, 3.0]


def test_targets_cannot_leak():
    """Whatever way one looks at a target, there is no label, no later message, no time and no outcome in it."""
    corpus = tiny_corpus()
    marked = corpus.turns.assign(
        score=corpus.turns["score"].map({2: 1, 3: 1, 4: 1, 5: 1}),
        reason="GOLD-REASON",
        feedback="GOLD-CLICK",
        ratings=[(9, 9, 9)] * len(corpus.turns),
        hallucination="GOLD-EXTRA",
    )
    sessions = corpus.sessions.assign(satisfaction=1.25, success=True, trailing=[("GOLD-AFTERWARDS",)] * 4)
    leaky = Corpus("leaky", "en", corpus.users, sessions, marked, corpus.events, corpus.extras, corpus.meta)
    block = leaky.block("ada", "travel")
    first, second = block
    for target in (first, second):
        seen = json.dumps(vars(target), default=str)
        assert "GOLD" not in seen and "1.25" not in seen and "(9" not in seen
        assert not {"score", "reason", "feedback", "ratings", "satisfaction", "success"} & set(vars(target))
    assert not {"score", "reason", "feedback", "ratings", "asked_at", "answered_at"} & set(block.targets.columns)
    assert "Cheaper" not in json.dumps(vars(first)), "a target must not show what was said after it"
    assert not (block.evidence["scenario"] == "travel").any()
    with pytest.raises(AttributeError):
        first.score = 5  # type: ignore[misc]


def logged_corpus() -> Corpus:
    """Sessions at 10, 20 and 30 March, the second with a target; what was logged around them."""
    corpus = tiny_corpus()
    days = {("gift", "0"): 10, ("travel", "0"): 20, ("gift", "1"): 30}
    keys = zip(corpus.sessions["scenario"], corpus.sessions["session"])
    started = [pd.Timestamp(2026, 3, days[k]) if k in days else pd.NaT for k in keys]
    started[-1] = pd.Timestamp(2026, 3, 5)  # another user's
    rows = [
        (None, None, 31, "after all"),
        (None, None, 15, "before the target"),
        ("gift", "1", 25, "named after the target"),
        (None, None, 21, "right after the target"),
        (None, None, 4, "first"),
        (None, None, 10, "as it begins"),
    ]
    events = pd.DataFrame(
        [("ada", s, n, pd.Timestamp(2026, 3, day), "k", what) for s, n, day, what in rows],
        columns=["user", "scenario", "session", "at", "kind", "content"],
    )
    sessions = corpus.sessions.assign(started_at=started)
    return Corpus("logged", "en", corpus.users, sessions, corpus.turns, events, {}, corpus.meta)


def test_logs_come_with_the_session_that_they_led_up_to():
    events = logged_corpus().block("ada", "travel").events
    assert list(zip(events["scenario"], events["session"], events["content"])) == [
        ("gift", "0", "first"),
        ("gift", "0", "as it begins"),
        ("travel", "0", "before the target"),
        ("gift", "1", "named after the target"),
    ]
    assert logged_corpus().block("bo", "travel").events.empty


def test_what_was_logged_right_after_a_target_may_tell_how_it_was_taken_and_stays_out():
    corpus = logged_corpus()
    assert "right after the target" not in set(corpus.block("ada", "travel").events["content"])
    other = corpus.block("ada", "gift").events
    assert "right after the target" in set(other["content"])  # there it led up to a target
    assert "before the target" not in set(other["content"])  # there it came right after one
    block = corpus.block("ada", "travel")
    pd.testing.assert_frame_equal(block.hide_labels().events, block.events)


def test_prefix_and_window_follow_the_conversation():
    corpus = tiny_corpus()
    _, second = corpus.block("ada", "travel")
    assert [m["content"] for m in second.prefix] == ["Plan it", "A plan", "Hm.", "Cheaper?"]
    assert second.request == "Cheaper?"
    assert [m["content"] for m in second.window(2)] == ["Hm.", "Cheaper?"]
    assert second.window(0) == ()
    said = [m["content"] for m in corpus.messages("ada", "travel", "0")]
    assert said == ["Plan it", "A plan", "Hm.", "Cheaper?", "A cheaper plan", "thanks!"]


def test_unknown_names_say_what_there_is():
    corpus = tiny_corpus()
    with pytest.raises(UnknownName, match=r"no user called 'adda'\. Did you mean ada"):
        corpus.block("adda", "travel")
    with pytest.raises(UnknownName, match="gift, travel"):
        corpus.block("ada", "cooking")
    with pytest.raises(UnknownName, match="ada/travel/0"):
        corpus.messages("ada", "travel", "7")
    with pytest.raises(UnknownName, match="test, train"):
        list(corpus.blocks("tset"))


def test_blocks_need_history():
    corpus = tiny_corpus()
    assert corpus.block_ids() == [("ada", "gift"), ("ada", "travel")]
    assert corpus.block_ids(min_history_sessions=2) == [("ada", "travel")]
    assert corpus.block_ids(["bo"]) == []


def test_a_block_without_history_can_still_be_asked_for():
    block = tiny_corpus().block("bo", "travel")
    assert block.evidence.empty and len(block) == 1
    assert list(SCHEMA["turns"]) == [c for c in block.evidence.columns if c in SCHEMA["turns"]]


@pytest.mark.parametrize(("n", "train"), [(112, 0.2), (10, 0.5), (7, 0.3), (5, 0.2)])
def test_split_equals_scikit_learn(n, train):
    users = [f"User_{i}" for i in range(n)]
    names = sorted(users)
    theirs = GroupShuffleSplit(n_splits=1, train_size=train, test_size=1 - train, random_state=42)
    for_train, for_test = next(theirs.split(names, groups=names))
    ours = group_shuffle_split(users, train)
    assert ours == {"train": sorted(names[i] for i in for_train), "test": sorted(names[i] for i in for_test)}


def test_split_of_the_published_size_keeps_its_golden_members():
    """PersTurnBench: 112 users own a block; 22 train users, among them these."""
    users = [f"User_{i}" for i in range(115) if i not in (12, 18, 69)]
    parts = group_shuffle_split(users)
    golden = [1, 10, 14, 15, 17, 23, 30, 43, 44, 51, 61, 64, 72, 76, 77, 81, 87, 89, 90, 94, 99, 110]
    assert sorted(parts["train"]) == sorted(f"User_{i}" for i in golden)
    assert len(parts["test"]) == 90 and not set(parts["train"]) & set(parts["test"])


def test_a_shipped_split_wins():
    corpus = tiny_corpus()
    corpus.meta["splits"] = {"train": ["bo"], "test": ["ada"]}
    assert corpus.split()["train"] == ["bo"]
    assert [b.user for b in corpus.blocks("test")] == ["ada", "ada"]


def test_statistics_are_table_5():
    values = tiny_corpus().statistics().set_index("statistic")["value"]
    assert values["participants"] == 2
    assert values["user turns"] == 7, "five requests, one earlier message, one after the last reply"
    assert values["mean satisfaction score"] == pytest.approx(18 / 5)
    assert values["satisfied turns (4–5)"] == 3
    assert values["dissatisfied or neutral turns (1–3)"] == 2
    assert values["assistant turns per conversation"] == pytest.approx(5 / 4)
    assert values["conversations: gift"] == 2


def test_digest_changes_with_any_cell_and_not_otherwise():
    corpus = tiny_corpus()
    assert corpus.digest == tiny_corpus().digest
    other = Corpus("other name", "en", corpus.users, corpus.sessions, corpus.turns, corpus.events, corpus.extras)
    assert other.digest == corpus.digest
    turns = corpus.turns.copy()
    turns.loc[0, "response"] = "A plan."
    assert Corpus("tiny", "en", corpus.users, corpus.sessions, turns).digest != corpus.digest


def test_inconsistent_frames_are_refused_with_all_their_faults():
    corpus = tiny_corpus()
    turns = pd.concat([corpus.turns, corpus.turns.iloc[[0]], corpus.turns.iloc[[4]].assign(session="9")])
    with pytest.raises(DataError) as error:
        Corpus("tiny", "en", corpus.users.iloc[[0]], corpus.sessions, turns)
    text = str(error.value)
    assert "ada / travel / 0 / 0 occurs more than once" in text
    assert "session bo / travel / 9 is not in sessions" in text
    assert "user bo is not in users" in text


def test_a_score_off_the_scale_is_refused():
    corpus = tiny_corpus()
    with pytest.raises(DataError, match="ada / travel / 0 / 0: score is 9, expected 1–5"):
        Corpus("t", "en", corpus.users, corpus.sessions, corpus.turns.assign(score=9))
    with pytest.raises(TypeError, match="of_users"):
        corpus.of_users("ada")


def test_coerce_names_every_column_at_fault():
    with pytest.raises(DataError) as error:
        coerce(pd.DataFrame({"user": ["a", None], "scenario": "s", "session": "0", "score": ["high", "low"]}), "turns")
    text = str(error.value)
    assert "column 'turn' is missing" in text
    assert "column 'response' is missing" in text
    assert "column 'score' should hold integer values" in text
    assert "turns row 1: 'user' is empty" in text


def test_every_column_is_explained():
    for name in SCHEMA:
        table = describe_frame(name)
        assert (table["meaning"].str.len() > 5).all()


def test_of_users_keeps_what_belongs_to_them():
    one = tiny_corpus().of_users(["bo"])
    assert list(one.users["user"]) == ["bo"] and len(one.turns) == 1 and one.events.empty
    assert list(one.extras["truth"]["user"]) == ["bo"]
    with pytest.raises(UnknownName):
        tiny_corpus().of_users(["nobody"])


def test_texts_of_a_large_corpus_lie_in_one_piece_however_they_came(monkeypatch):
    monkeypatch.setattr("perslib.corpus.schema.FEW", 2)
    parts = [pd.DataFrame({"user": [f"u{i}"], "profile": [{}]}).astype({"user": "str"}) for i in range(3)]
    joined = pd.concat(parts, ignore_index=True)
    assert joined["user"].array.__arrow_array__().num_chunks == 3
    users = coerce(joined, "users")["user"]
    assert users.array.__arrow_array__().num_chunks == 1
    pd.testing.assert_series_equal(users, joined["user"])


def test_a_block_that_is_kept_is_not_changed_by_whoever_changes_one():
    corpus = tiny_corpus()
    first, before = corpus.block("ada", "gift"), corpus.block("ada", "gift").evidence.copy()
    first.evidence["score"] = 1
    first.targets.loc[0, "response"] = "another reply"
    again = corpus.block("ada", "gift")
    pd.testing.assert_frame_equal(again.evidence, before)
    assert again.targets["response"][0] != "another reply"
    pd.testing.assert_frame_equal(again.evidence, tiny_corpus().block("ada", "gift").evidence)
