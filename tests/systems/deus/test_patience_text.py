"""Written dialogues: the simulated crowd, encoders, budgets against ratings, and logs of others."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from perslib.corpus import import_release, load, read_release
from perslib.errors import DataError, PerslibError, UnknownName
from perslib.llm.embeddings import embedder
from perslib.systems.deus import PatienceModel, status_accuracy
from perslib.systems.deus.text import (
    Bow,
    EmbeddingEncoder,
    NextTurn,
    TextDialogue,
    against_ratings,
    as_dialogues,
    by_rating,
    crowd,
    goal_names,
    make_rating_frame,
    read_texts,
    success_by_budget,
)


@pytest.fixture(scope="module")
def workers():
    return crowd(400, "en", seed=3)


def rate_by_cost(text):
    """The dialogue with a rating that goes by its end, and by what its turns cost on average."""
    score = 3 + text.status - 0.45 * (np.mean(text.true_costs) - 2.4)
    return replace(text, ratings={"appropriateness": float(np.clip(round(score), 1, 5))})


def pairs_of(texts):
    return [pair for text in texts for pair in text.pairs()]


def test_crowd_is_the_same_for_the_same_seed_and_grows_at_its_end(workers):
    assert crowd(20, "en", seed=3) == workers[:20]
    assert crowd(20, "en", seed=4) != workers[:20]


def test_crowd_has_the_shape_that_was_asked_for(workers):
    frame = make_rating_frame(workers)
    assert 0.5 <= (frame["status"] == 1).mean() <= 0.68
    assert 0.02 <= (frame["reason"] == "quit").mean() <= 0.08
    assert set(frame["system"]) == set("ABCDE")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_said_is_whole_sentences_of_one_language(language):
    for text in crowd(30, language, seed=1):
        said = " ".join(utterance for turn in text.turns for utterance in turn)
        assert "{" not in said and "_" not in said
        assert bool(re.search("[\u4e00-\u9fff]", said)) == (language == "zh")
        assert all(user and system for user, system in text.turns)
    with pytest.raises(UnknownName, match="en, zh"):
        crowd(1, "fr")


def test_language_changes_words_and_nothing_else():
    english, chinese = (crowd(30, language, seed=1) for language in ("en", "zh"))
    for a, b in zip(english, chinese):
        assert (a.goal, a.status, a.reason, a.true_costs, len(a.turns)) == (
            b.goal,
            b.status,
            b.reason,
            b.true_costs,
            len(b.turns),
        )


def test_pairs_hold_the_last_utterances_before_a_system_turn():
    text = TextDialogue("d", (("hello", "hi"), ("a hotel", "which area?"), ("north", "found one")), ("hotel",), 1)
    assert text.pairs() == [
        ("hello", "hi"),
        ("hi [SEP] a hotel", "which area?"),
        ("which area? [SEP] north", "found one"),
    ]
    assert text.pairs(window=1)[1] == ("a hotel", "which area?")


def test_goals_are_read_by_name_and_unknown_items_left_out():
    known = TextDialogue("a", (("x y", "y x"),), ("hotel", "hotel.info.area"), 1)
    other = TextDialogue("b", (("x y", "y x"),), ("hotel", "hotel.info.stars"), -1)
    encoder = Bow().fit(pairs_of([known, known]))
    assert goal_names([known]) == ("hotel", "hotel.info.area")
    assert as_dialogues([other], encoder, goal_names([known]))[0].goal.tolist() == [1, 0]


def test_bag_of_words_counts_both_sides():
    encoder = Bow().fit([("area north", "found one"), ("area south", "found none"), ("area", "found")])
    found = encoder.encode([("area area", "nothing found"), ("unknown", "words")])
    assert found.shape == (2, 2)  # area; found: the others occur once
    assert found.tolist() == [[2, 1], [0, 0]]
    with pytest.raises(PerslibError, match="knows no words"):
        Bow().encode([("a", "b")])


def test_embedded_vectors_stand_beside_each_other():
    encoder = EmbeddingEncoder(embedder("tfidf"))
    found = encoder.encode([("a hotel", "which area"), ("a hotel", "booked")])
    half = found.shape[1] // 2
    assert np.array_equal(found[0, :half], found[1, :half])
    assert not np.array_equal(found[0, half:], found[1, half:])
    assert np.square(found[0, :half]).mean() == pytest.approx(1, rel=1e-4)
    assert encoder.name == "tfidf"


def test_a_small_network_learns_what_is_said_next():
    topics = ["hotel", "train", "taxi", "museum", "police", "hospital"]
    ways = ["please find a {}", "now about a {}", "is there any {}", "i need the {}"]
    pairs = [(w.format(t), f"the {t} is {a}") for t in topics for w in ways for a in ("near", "far", "open")] * 2
    encoder = NextTurn("en", width=16, epochs=60, rate=0.01).fit(pairs)
    assert encoder.accuracy_ > 0.75  # guessing has .5, and one false turn in six is about the same thing
    found = encoder.encode(pairs[:50])
    assert found.shape == (50, 16) and np.abs(found).max() <= 1
    assert np.array_equal(found, NextTurn("en", width=16, epochs=60, rate=0.01).fit(pairs).encode(pairs[:50]))
    alone = np.concatenate([encoder.encode([pair]) for pair in pairs[:5]])
    np.testing.assert_allclose(alone, found[:5], atol=1e-5)
    with pytest.raises(PerslibError, match="not learned"):
        NextTurn().encode(pairs[:1])


@pytest.mark.simulation
def test_budgets_go_with_ratings_but_less_than_bare_success_does():
    texts = [rate_by_cost(text) for text in crowd(600, "en", seed=5)]
    train, test = texts[:480], texts[480:]
    encoder = Bow().fit(pairs_of(train))
    model = PatienceModel(actions="none").fit(as_dialogues(train, encoder))
    seen = as_dialogues(test, encoder, goal_names(train))
    budgets, frame = model.remaining_budget(seen), make_rating_frame(test)
    accuracy = status_accuracy(model.predict_status(seen), seen.status)
    assert accuracy["majority"] < accuracy["accuracy"]
    table = against_ratings(budgets, frame, "appropriateness").set_index("predictor")
    assert table.loc["budget", "level_means_r"] > 0.5
    assert 0.1 < table.loc["budget", "spearman"] < table.loc["status alone", "spearman"]
    assert success_by_budget(budgets, frame, 4)["success"].iloc[[0, -1]].is_monotonic_increasing


def test_ratings_worked_by_hand():
    budgets = pd.DataFrame({"dialogue": list("abcdef"), "budget": [-2.0, -1.0, 0.0, 1.0, 2.0, 5.0]})
    frame = make_rating_frame([TextDialogue(d, (("u", "s"),) * n, ("g",), y, {"overall": r}) for d, n, y, r in
                   zip("abcdef", (5, 4, 3, 3, 2, 1), (-1, -1, -1, 1, 1, 1), (1, 1, 3, 3, 5, 5))])  # fmt: skip
    means = by_rating(budgets, frame, "overall")
    assert means["mean"].tolist() == pytest.approx([-1.5, 0.5, 3.5])
    assert means["dialogues"].tolist() == [2, 2, 2]
    table = against_ratings(budgets, frame, "overall").set_index("predictor")
    assert table.loc["budget", "level_means_r"] == pytest.approx(np.corrcoef([1, 3, 5], [-1.5, 0.5, 3.5])[0, 1])
    ranks = np.corrcoef([1, 2, 3, 4, 5, 6], [1.5, 1.5, 3.5, 3.5, 5.5, 5.5])[0, 1]
    assert table.loc["budget", "spearman"] == pytest.approx(ranks)
    assert table.loc["fewer turns", "spearman"] > 0.9
    assert np.isnan(table.loc["status alone", "spearman_success"])


CONVLAB = {
    "goal": {"domain_order": ["hotel"], "hotel": {"info": {"area": "north"}, "reqt": ["phone"], "book": {}}, "taxi": {}},
    "log": [[0, "A hotel, please."], [0, "In the north."], [1, "There is one."], [1, "Do you like it?"], [0, "Yes."], [1, "Fine."]],
    "success": True,
    "understanding_score": 4,
    "appropriateness_score": 5,
}  # fmt: skip


def test_convlab_logs(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(CONVLAB))
    (tmp_path / "b.json").write_text(json.dumps([{**CONVLAB, "success": False}, CONVLAB]))
    corpus = load(import_release("convlab", tmp_path, out=tmp_path / "corpus").folder)
    first, second, _ = read_texts(corpus)
    assert first.turns == (("A hotel, please. In the north.", "There is one. Do you like it?"), ("Yes.", "Fine."))
    assert first.goal == ("hotel", "hotel.info.area", "hotel.reqt.phone")
    assert (first.status, second.status) == (1, -1)
    assert first.ratings == {"understanding": 4.0, "appropriateness": 5.0}
    (tmp_path / "c.json").write_text(json.dumps({"goal": {}, "log": [[2, "hello"]], "success": True}))
    (tmp_path / "d.json").write_text(json.dumps({**CONVLAB, "understanding_score": 7}))
    with pytest.raises(DataError, match=r"c\.json: log\[0\]\[0\] is 2, expected 0 for the user") as error:
        read_release(tmp_path, "convlab")
    assert "d.json: understanding_score is 7, expected 1–5" in str(error.value)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no dialogue"):
        read_release(tmp_path / "empty", "convlab")


def test_a_system_that_opens_and_one_that_never_speaks(tmp_path):
    logs = [[1, "hello"], [0, "a hotel"], [1, "which?"]], [[0, "hello?"]]
    (tmp_path / "a.json").write_text(json.dumps([{**CONVLAB, "log": log} for log in logs]))
    reading = read_release(tmp_path, "convlab")
    assert reading.irregularities == {"dialogues without a system turn": 1}
    (text,) = read_texts(reading.corpus)
    assert text.turns == (("", "hello"), ("a hotel", "which?"))


def test_dstc_calls(tmp_path):
    call = tmp_path / "Mar13" / "voip-1"
    call.mkdir(parents=True)
    log = {"session-id": "voip-1", "caller-id": "c7", "turns": [
        {"output": {"transcript": "Hello, which food?"}}, {"output": {"transcript": "Here is one."}}]}  # fmt: skip
    label = {
        "turns": [{"transcription": "thai food"}, {"transcription": "thank you"}],
        "task-information": {
            "goal": {"text": "…", "constraints": [["food", "thai"]], "request-slots": ["phone"]},
            "feedback": {"success": True, "comments": None, "questionnaire": [
                ["The system understood me well.", "agree"], ["It had good phrasing.", "slightly disagree"], ["Other", "agree"]]},
        },
    }  # fmt: skip
    (call / "log.json").write_text(json.dumps(log), "utf-8-sig")
    (call / "label.json").write_text(json.dumps(label))
    (text,) = read_texts(load(import_release("dstc", tmp_path, out=tmp_path / "corpus").folder))
    assert text.turns == (("", "Hello, which food?"), ("thai food", "Here is one."))
    assert text.goal == ("task", "task.info.food", "task.reqt.phone")
    assert (text.id, text.user, text.status) == ("c7/task/voip-1", "c7", 1)
    assert text.ratings == {"understanding": 5.0, "appropriateness": 3.0}
    del label["task-information"]["feedback"]
    (call / "label.json").write_text(json.dumps(label))
    with pytest.raises(DataError, match=r"voip-1: label\.task-information\.feedback is missing"):
        read_release(tmp_path, "dstc")
    (call / "label.json").unlink()
    with pytest.raises(DataError, match=r"has no label\.json"):
        read_release(tmp_path, "dstc")


def test_a_corpus_that_says_nothing_of_goals_is_refused():
    with pytest.raises(DataError, match="tells neither goal and success"):
        read_texts(load("sample/en"))


def test_uss_by_proxies_that_do_not_look_at_ratings(tmp_path):
    def dialogue(end, report, overall):
        lines = [
            ("USER", "book a table", "INFORM", "3,3"), ("SYSTEM", "when?", "REQUEST", ""), ("USER", "at six", "INFORM", "3"),
            ("SYSTEM", "well", report, ""), ("USER", "so", end, "3"), ("SYSTEM", "bye", "GOODBYE", ""), ("USER", "OVERALL", "", overall),
        ]  # fmt: skip
        return "\n".join("\t".join(line) for line in lines)

    ends = [("THANK_YOU", "NOTIFY_SUCCESS", "4,4"), ("THANK_YOU", "NOTIFY_FAILURE", "5"), ("INFORM", "OFFER", "2")]
    (tmp_path / "SGD.txt").write_text("\n\n".join(dialogue(*end) for end in ends))
    found = read_texts(read_release(tmp_path / "SGD.txt", "uss").corpus)
    assert [t.status for t in found] == [1, -1, -1]
    assert [t.ratings["overall"] for t in found] == [4.0, 5.0, 2.0]
    assert found[0].goal == ("INFORM", "THANK_YOU")
    assert found[0].turns[0] == ("book a table", "when?")

    unrated = "\n".join(dialogue(*ends[0]).splitlines()[:-1])
    (tmp_path / "SGD.txt").write_text(f"{unrated}\n\n{dialogue(*ends[2])}")
    found = read_texts(read_release(tmp_path / "SGD.txt", "uss").corpus)
    assert [t.ratings for t in found] == [{}, {"overall": 2.0}], "one has no OVERALL"
