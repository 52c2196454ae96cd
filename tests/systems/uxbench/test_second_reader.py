"""The second reader: what it finds where rules find nothing, what it leaves alone, and that its weights are those of its examples."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest

from perslib.errors import DataError
from perslib.llm import embeddings
from perslib.systems.uxbench.signals import SignalSettings, mine_log, reactions, second_reader, session

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(not embeddings.is_available(), reason="the engine of the embeddings does not run here"),
]
BOTH = SignalSettings(reader="embeddings")

FITTED_TO = "f9f9158e4a045ea7"
"""Digest of the examples that the weights beside them were fitted to."""


def taken(said, settings=BOTH):
    """The names of the signals and the rules that found them, after a reply of some length."""
    history = [
        {"role": "user", "message": "a plan for my grandmother's birthday, please"},
        {"role": "assistant", "message": "Begin with a walk in the park. " * 8},
        {"role": "user", "message": said},
    ]
    (one,) = reactions(session({"cid": "1", "history": history}), settings)
    return {signal.name: signal.rule for signal in one.signals}


COMPLAINTS = [
    "the price you quote is double what it costs here",
    "these poems all sound the same to me",
    "you counted nine guests, I wrote eight",
    "she would never get up those stairs",
    "路线排得太赶了，老人家根本走不完",
    "写得像悼词，哪里是生日祝福",
]
THANKS = ["she was so happy, it all worked out beautifully", "她感动得哭了，写得真好"]
NONE = [
    "and which park near Leeds has benches",
    "she likes roses, where can I order some",
    "how long does the cake have to bake",
    "那蛋糕要提前几天订",
    "她喜欢听戏，附近有什么剧场",
    "我们大概有八个人，需要订包间吗",
]


def test_it_finds_what_no_cue_says():
    found = [said for said in COMPLAINTS if "complain" in taken(said)]
    assert len(found) >= 4
    assert [taken(said, SignalSettings()) for said in COMPLAINTS] == [{}] * 6
    assert [taken(said).get("thanks") for said in THANKS] == ["second reader"] * 2


def test_ordinary_questions_are_none():
    assert [said for said in NONE if set(taken(said)) & {"complain", "thanks", "dismiss"}] == []


def test_what_the_rules_find_stays_theirs():
    for said in ("That's wrong, you misunderstood my question", "谢谢，太有用了", "算了"):
        assert taken(said) == taken(said, SignalSettings())


def test_rules_alone_load_no_model(monkeypatch):
    monkeypatch.setattr(second_reader, "vectors", lambda texts: pytest.fail("nobody asked for it"))
    assert taken(COMPLAINTS[0], SignalSettings()) == {}


def test_a_log_is_read_the_same_however_it_is_cut(tmp_path):
    said = [*COMPLAINTS, *NONE, *THANKS]
    lines = [
        {"cid": str(n), "history": [{"role": "user", "message": "a plan"}, {"role": "assistant", "message": "Walk."}, {"role": "user", "message": text}]}
        for n, text in enumerate(said)
    ]  # fmt: skip
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    whole, cut = (mine_log(log, settings=BOTH, size=size).table for size in (10**6, 400))
    pd.testing.assert_frame_equal(whole.drop(columns="signals"), cut.drop(columns="signals"))
    assert (whole["complain"] > 0).sum() >= 4
    assert (whole["thanks"] > 0).sum() == 2


def test_the_weights_are_those_of_the_examples():
    texts, labels = second_reader.examples()
    assert len(set(texts)) == len(texts) >= 900
    assert {"complaint", "thanks", "dismiss", "none"} == set(labels)
    digest = hashlib.sha256(second_reader.EXAMPLES.read_bytes()).hexdigest()
    assert digest.startswith(FITTED_TO), (
        "examples have changed: python -m perslib.systems.uxbench.signals.second_reader fits anew"
    )
    weights, thresholds = second_reader._load_weights()
    few = np.arange(0, len(texts), 6)
    embedded, own = second_reader.vectors([texts[i] for i in few]), labels[few]
    chances = second_reader.predict_signals(embedded, weights)
    for place, label in enumerate(second_reader.NAMES):
        above = chances[:, place] >= thresholds[place]
        assert (own[above] == label).mean() >= second_reader.PRECISE - 0.05 and above[own == label].mean() >= 0.6
    again = second_reader.fit_signal_weights(embedded, own)
    assert (second_reader.predict_signals(embedded, again).argmax(axis=1) == chances.argmax(axis=1)).mean() > 0.8


def test_a_label_that_nobody_knows_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(second_reader, "EXAMPLES", tmp_path / "examples.jsonl")
    second_reader.EXAMPLES.write_text('{"label": "angry", "text": "no"}\n', "utf-8")
    with pytest.raises(DataError, match="labels that nobody knows: angry"):
        second_reader.examples()
