"""What holds of any log: nothing crashes, indices do not matter, and work grows with the length of a session."""

from __future__ import annotations

import importlib
import json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq

from perslib.systems.uxbench.loaders.log_records import UnreadableRecord, session
from perslib.systems.uxbench.signals import (
    PRECEDENCE,
    SignalSettings,
    deidentify,
    reactions,
    similarity,
    tokenize_request,
    user_messages,
)
from perslib.systems.uxbench.signals import reaction as module
from perslib.systems.uxbench.signals.complaint import _language, _only_fillers, complaint, complaints
from perslib.systems.uxbench.signals.table import table
from perslib.systems.uxbench.signals.text_patterns import count_characters
from perslib.systems.uxbench.signals.user_messages import closing, read_messages
from perslib.systems.uxbench.signals.wording import any_of, cues, reading_seconds

similarity_module = importlib.import_module(
    "perslib.systems.uxbench.signals.similarity"
)  # the package has a function of this name
ANY = st.text(st.characters(), max_size=60)
CUED = st.sampled_from(
    [
        "答非所问",
        "不对",
        "谢谢",
        "算了",
        "继续",
        "你",
        "。",
        "，",
        "useless",
        " ",
        "that's wrong",
        "thanks",
        "ok",
        "```",
        "13800138000",
        "我叫",
        "\ud800",
        "İ",
        "ﬃ",
        "e\u0301",
    ]
)
TEXT = st.one_of(ANY, st.lists(CUED, max_size=6).map("".join))
VALUE = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(), st.text(max_size=8))
MESSAGE = st.fixed_dictionaries(
    {"role": st.one_of(st.sampled_from(["user", "assistant"]), VALUE), "message": st.one_of(TEXT, VALUE)},
    optional={"content": TEXT, "turn_index": VALUE, "create_time": st.one_of(VALUE, st.integers(1_700_000_000, 1_800_000_000)), "is_unliked": VALUE, "is_liked": VALUE, "feedback": VALUE},
)  # fmt: skip
TALK = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), TEXT), min_size=1, max_size=12)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.one_of(MESSAGE, VALUE), max_size=8), VALUE)
def test_no_record_makes_it_crash(history, cid):
    try:
        one = session({"cid": cid, "history": history})
    except UnreadableRecord:
        return
    found = table([one])
    assert found.num_rows == sum(m.role == "assistant" for m in one.messages)
    assert set(found["primary"].to_pylist()) <= set(PRECEDENCE)


@settings(deadline=None, max_examples=150)
@given(TALK, st.integers(0, 50), st.integers(1, 7))
def test_indices_do_not_matter(talk, first, step):
    plain = [{"role": role, "message": text} for role, text in talk]
    indexed = [{**m, "turn_index": first + i * step} for i, m in enumerate(plain)]
    one = reactions(session({"cid": "a", "history": plain}))
    assert one == reactions(session({"cid": "a", "history": indexed}))
    assert one == reactions(session({"cid": "a", "history": [{**m, "turn_index": 3} for m in plain]}))
    assert one == reactions(session({"cid": "a", "history": list(reversed(indexed))})) or len(talk) == 1


@settings(deadline=None, max_examples=150)
@given(TALK)
def test_signals_point_into_their_messages(talk):
    one = session({"cid": "a", "history": [{"role": r, "message": t} for r, t in talk]})
    for taken in reactions(one):
        for signal in taken.signals:
            assert 0 <= signal.start <= signal.end <= len(one.messages[signal.at].text)
            assert 0 < signal.score <= 1
            assert signal.back is None or one.messages[signal.back].role == "user"


@settings(deadline=None, max_examples=200)
@given(TEXT, TEXT, st.floats(0, 1))
def test_similarity_is_a_similarity_and_its_bound_is_one(a, b, least):
    x, y = tokenize_request(a), tokenize_request(b)
    exact = similarity(x, y)
    assert exact == pytest.approx(similarity(y, x)) and 0 <= exact <= 1
    assert similarity(x, x) == (1 if x.tokens else 0)
    bounded = similarity(x, y, least)
    assert bounded == exact or (bounded < least and exact < least)


SAID = st.one_of(
    TEXT,
    st.lists(
        st.one_of(
            st.sampled_from(["怎么备份相册", "把相册备份", "please ", "请问", "吗", "谢", "pls", "I didn't ask", "don’t", "'", "\0", "\n", "々", "ＯＫ", "ſ", "K"]),
            st.sampled_from(["怎么做饭菜好吃", "how", "to", "cook", "rice", "well,", "then"]),
            CUED,
        ),
        max_size=9,
    ).map(" ".join),
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(SAID)
@example("\ud800 useless")
def test_reading_only_what_can_be_found_changes_nothing(text):
    found = read_messages([text], SignalSettings())
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_closers", "_find_cues", "_blockers"):
            patch.setattr(user_messages, name, lambda lang: Everything(1 + len(complaints(lang))))
        assert read_messages([text], SignalSettings()) == found


@settings(deadline=None, max_examples=100)
@given(st.lists(SAID, max_size=8))
def test_messages_read_together_are_read_as_each_alone(texts):
    alone = {text: read_messages([text], SignalSettings())[text] for text in texts}
    assert read_messages(texts, SignalSettings()) == alone


@settings(deadline=None, max_examples=100)
@given(st.lists(st.text(st.sampled_from(" aZ09'_-,.，。！（）～“…、》好谢吗々é’"), max_size=20), max_size=6))
def test_plain_texts_have_the_tokens_of_normalised_ones(texts):
    fast = [tokenize_request(text) for text in texts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similarity_module, "_PLAIN", re.compile(r"\Z"))
        assert [tokenize_request(text) for text in texts] == fast


class Everything:
    """Patterns that are all found in any text: the plain way, every cue tried."""

    def __init__(self, many):
        self.many = many

    def find_matches(self, text):
        return list(range(self.many))


@pytest.mark.sample
@pytest.mark.parametrize("lang", ["zh", "en"])
@settings(deadline=None, max_examples=300)
@given(st.data())
def test_no_cue_is_missed(lang, data):
    """What a cue matches is found by RE2, and as a complaint where it is aimed and nothing blocks it."""
    language = _language(lang)
    number = data.draw(st.integers(0, len(language.cues) - 1))
    pattern = language.cues[number].pattern
    text = data.draw(st.from_regex(pattern, fullmatch=True)).lower().replace("’", "'")
    said = ("你" if lang == "zh" else "you: ") + text
    if pattern.search(said):
        assert 1 + number in user_messages._find_cues(lang).find_matches(said)
        if len(said) < SignalSettings().short and not language.blockers.search(said):
            assert complaint(said, lang, SignalSettings(), language.cues) is not None


def test_long_texts_have_the_language_of_their_ends():
    text = "thanks. " + "x " * 1_000 + "好" + " y" * 1_000
    one = read_messages([text], SignalSettings())[text]
    assert one.lang == "en" and one.closed.rule == "en.thanks.then"


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12))
def test_the_longest_common_subsequence_is_that_of_the_usual_table(x, y):
    row = [0] * (len(y) + 1)
    for a in x:
        above, row = row, [0]
        for j, b in enumerate(y):
            row.append(above[j] + 1 if a == b else max(above[j + 1], row[j]))
    assert LCSseq.similarity(tuple(x), tuple(y)) == row[-1]


_CJK = "\u3005\u3007\u3040-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\u1100-\u11ff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0010ffff"


@settings(deadline=None, max_examples=100)
@given(st.lists(TEXT, max_size=6))
def test_counting_many_texts_at_once_is_counting_each_by_expressions(texts):
    together = count_characters(texts)
    for i, text in enumerate(texts):
        alone = [f"[{_CJK}]", rf"(?:[^\W_{_CJK}]|['’])+", "[`\\[</]"]
        assert [int(column[i]) for column in together] == [len(re.findall(one, text)) for one in alone]
    assert reading_seconds(texts).tolist() == [reading_seconds([t])[0] for t in texts]


@settings(deadline=None, max_examples=100)
@given(TALK)
def test_what_is_private_once_is_private(talk):
    one = session({"cid": "a", "history": [{"role": r, "message": t} for r, t in talk]})
    hidden = deidentify(one)
    assert len(hidden.messages) == len(one.messages)
    # As a number of its own; as a part of something longer it is no telephone number.
    if any(m.text == "13800138000" for m in one.messages):
        assert not any(re.search(r"(?<![\dA-Za-z.])13800138000(?![\dA-Za-z.])", m.text) for m in hidden.messages)


@pytest.mark.parametrize("rounds", [10, 100, 1_000])
def test_comparisons_grow_with_the_length_of_a_session(rounds, monkeypatch):
    asked = 0

    def counted(*args):
        nonlocal asked
        asked += 1
        return similarity(*args)

    monkeypatch.setattr(module, "similarity", counted)
    history = [
        {"role": ("user", "assistant")[i % 2], "message": f"第{i}个关于天气的问题怎么看"} for i in range(2 * rounds)
    ]
    reactions(session({"cid": "a", "history": history}))
    assert asked <= SignalSettings().rounds_back * rounds


def test_long_texts_are_bounded_work():
    a, b = "今天天气很好我们去公园走走" * 1_600, "明天下雨所以留在家里看书吧" * 1_600
    assert len(tokenize_request(a).tokens) <= 2_000
    assert (
        0
        < similarity(tokenize_request(a), tokenize_request(b))
        < 0.5
        < similarity(tokenize_request(a), tokenize_request(a + "吧"))
    )


def test_a_long_message_is_no_closing():
    text = "谢谢" * 5_000
    assert closing(text, "zh") is None
    assert json.dumps(tokenize_request(text).lang) == '"zh"'


FILLED = {
    "zh": [
        "根本",
        "可是",
        "可",
        "但是",
        "这",
        "个",
        "回答",
        "说得",
        "得",
        "是",
        " ",
        "，",
        "一点",
        "都",
        "真",
        "我去",
        "x",
    ],
    "en": ["that", "that's", "is", " ", "so", "some", "the answer", "answer", "a bit", "this is", "what a", ",", "x"],
}


@given(st.data(), st.sampled_from(["zh", "en"]))
def test_fillers_step_by_step_are_those_of_one_pattern(data, lang):
    text = "".join(data.draw(st.lists(st.sampled_from(FILLED[lang]), max_size=6)))
    one = (r"\b{}\b" if lang == "en" else "{}").format(any_of(cues(lang)["complain"]["fillers"]))
    whole = re.fullmatch(rf"(?:\W|{one})*", text) is not None
    assert _only_fillers(text, 0, len(text), _language(lang).fillers) == whole


def test_many_fillers_do_not_take_for_ever():
    """With one pattern for all of them, these take longer than anybody waits."""
    assert _only_fillers("可是 " * 200 + "能", 0, 601, _language("zh").fillers) is False
    assert _only_fillers("it is so " * 200 + "x", 0, 1801, _language("en").fillers) is False
