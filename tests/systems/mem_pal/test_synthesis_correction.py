"""Correction of a synthesis: what is found without a model, what a model lists, what is mended, what is recorded."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from functools import partial

import pytest
from scripted import first_asked
from synthesis_made import ONE, OWN, Model

from perslib.systems.mem_pal.loaders.palset_records import LOG_TYPES
from perslib.systems.mem_pal.synthesis import synthesize
from perslib.systems.mem_pal.synthesis.correction import (
    PARTS,
    _mend_texts,
    correct,
    fill_log_text,
    find_session_faults,
    pattern_fault,
)
from perslib.systems.mem_pal.synthesis.questions import UserSynthesis
from perslib.systems.mem_pal.synthesis.sessions import (
    DraftSession,
    LogEntry,
    Script,
    SituationDraft,
    group_into_sessions,
)

GOOD = {
    "Web Search": "sore neck; two pages of stretches",
    "Content Publishing": "forum; a short post; what helped against a sore neck",
    "Content Browsing": "shop; product page; a pillow",
    "Message Sending": "Tom; late again; don't wait",
    "Message Receiving": "bank; your card was used",
    "Schedule Management": "phone; physio; 3 Dec 9:00–10:00; clinic",
    "Transaction Record": "shop; product; one pillow, 40 by 60",
    "Device Operation": "watch; alarm; every hour",
}
ZH = {
    "网页搜索": "落枕 怎么缓解；看了两篇文章",
    "内容发布": "朋友圈；帖子；说说这周的加班",
    "内容浏览": "购物网站；商品页面；一款护颈枕",
    "消息发送": "妈妈；今晚不回家吃饭",
    "消息接收": "快递；包裹到了",
    "日程管理": "手机日历；复诊；全天；社区医院",
    "交易记录": "超市；商品；护颈枕一个",
    "设备操作": "手表；设闹钟；每小时响一次",
}


# -- patterns ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "text"), [*GOOD.items()])
def test_a_log_of_its_type_passes_and_one_that_lacks_a_part_does_not(kind, text):
    assert pattern_fault(kind, text, "en") is None
    assert pattern_fault(kind, text.split(";")[0], "en") is not None, "a part is missing"


@pytest.mark.parametrize(("kind", "text"), [*ZH.items()])
def test_chinese_logs_of_their_types_pass(kind, text):
    assert pattern_fault(kind, text, "zh") is None
    assert pattern_fault(kind, f"；{text}", "zh") is not None, "its first part is empty"


def test_words_and_spans_are_told_apart():
    assert "expected product, service as its purchase, not 'cash'" in pattern_fault(
        "Transaction Record", "shop; cash; a pillow", "en"
    )
    assert "from when to when, not 'soon'" in pattern_fault("Schedule Management", "phone; physio; soon; clinic", "en")
    assert pattern_fault("Web Search", "sore neck; … ", "en")
    assert "is no Content Browsing" in pattern_fault("Content Browsing", GOOD["Message Sending"], "en")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_stand_ins_fill_every_pattern(language):
    for kind, parts in zip(LOG_TYPES[language], PARTS, strict=True):
        text = fill_log_text(kind, iter(["one", "two", "three"]), language)
        assert pattern_fault(kind, text, language) is None
        assert len(text.split("；" if language == "zh" else "; ")) == len(parts)


# -- what is found without a model -------------------------------------------------------------------------

TOPIC = {
    "id": "T1",
    "user_query": "So tired lately.",
    "requirement": "Warm food.",
    "needs": [{"id": "N1", "text": "eat warm at night"}],
    "solutions": [
        {"id": "S1", "text": "Bring porridge.", "feedback": "neg", "reason": "cold"},
        {"id": "S2", "text": "Heat soup there.", "feedback": "pos", "reason": "warm"},
    ],
}
STEPS = [
    ("Topic Inquiry", "T1 Q", "Requirement Prediction", "T1 N1"),
    ("Requirement Confirmation", "T1 N1", "Solution Proposal", "T1 S1"),
    ("Solution Feedback", "T1 S1", "Solution Proposal", "T1 S2"),
    ("Solution Feedback", "T1 S2", "Feedback Response", "T1 S2"),
]
SCRIPT = Script(
    [TOPIC], [dict(zip(("user", "user_about", "assistant", "assistant_about"), step, strict=True)) for step in STEPS]
)
SAID = [
    ("So tired lately.", "You want to eat warm at night?"),
    ("Yes, eat warm at night.", "Bring porridge. It keeps."),
    ("It would be cold.", "Heat soup there."),
    ("Gladly.", "Enjoy it!"),
]


def session(said=SAID, logs=("sore neck; two pages",)):
    at = datetime(2024, 12, 3, 9)
    dialogue = {
        f"turn_{n}": {"user": {"action": "x", "content": user}, "assistant": {"action": "y", "content": reply}}
        for n, (user, reply) in enumerate(said, start=1)
    }
    entries = [LogEntry(at.replace(minute=i), "Web Search", text) for i, text in enumerate(logs)]
    return DraftSession(
        [SituationDraft(OWN, None, entries[:1]), SituationDraft(OWN, "query", entries[1:], [], SCRIPT, dialogue)]
    )


def test_a_sound_session_has_no_faults():
    assert find_session_faults(session(), "en") == {}


def test_labels_repetitions_and_running_ahead_are_found():
    said = [
        ("I want to eat warm at night.", "Heat soup there. Is it N1?"),
        ("Yes.", "Bring porridge."),
        ("<Solution Feedback> Cold.", "Heat soup there."),
        ("Yes.", "Take the T4 bus."),
    ]
    assert find_session_faults(session(said, ["sore neck; two pages", "sore neck"]), "en") == {
        "L2": ["is no Web Search: expected keywords, what was viewed, with semicolons between"],
        "U1": ["tells T1 N1 before its turn"],
        "A1": ["names the label N1", "tells T1 S2 before its turn"],
        "U3": ["names the label <Solution Feedback>"],
        "U4": ["says the same as U2"],
        "A4": ["names the label T4"],
    }


def test_sessions_take_the_logs_of_situations_without_a_dialogue_along():
    parts = [None, "history", "history", None, None, "query", None]
    chapters = [SituationDraft(OWN, part) for part in parts]
    assert [len(s.chapters) for s in group_into_sessions(chapters)] == [2, 1, 3]
    one = session(logs=["a; b", "c; d", "e; f"])
    one.mend({"L2": {"text": "mended; x"}, "A2": {"text": "Anew."}})
    assert [e.content for c in one.chapters for e in c.logs] == ["a; b", "mended; x", "e; f"]
    assert one.last.dialogue["turn_2"]["assistant"] == {"action": "y", "content": "Anew."}
    assert one.place("A2") == "2024-12-06 turn 2, assistant" and one.place("L2") == "log of 2024-12-03 09:01"


# -- whole runs --------------------------------------------------------------------------------------------


def steps_of(model):
    return Counter(step for step, _, _ in model.asked)


def test_logs_that_do_not_read_like_their_type_are_mended_without_a_model_finding_them(monkeypatch):
    def change(step, place, again, data):
        if step == "logs":
            data["logs"][3]["content"] = "no parts at all"
        return data

    model = Model(monkeypatch, "en", change)
    made = synthesize(model, users=1, language="en", check=False)
    count = steps_of(model)
    assert made.rejected.empty and count["repair"] == count["dialogue"] > 10 and "check" not in count
    assert "no parts at all" not in str(made.files["input"])


def test_what_a_model_finds_is_mended_and_looked_through_again(monkeypatch):
    found = {"id": "a1", "kind": "contradiction", "what": "The person has no children."}
    seen = Counter()

    def change(step, place, again, data):
        seen[step, place] += 1
        if step == "check" and seen[step, place] == 1:
            data["violations"] = [found]
        if step == "repair":
            data["turns"] = [{"id": "A1", "text": "Mended words."}]
        return data

    model = Model(monkeypatch, "en", change)
    made = synthesize(model, users=1, language="en")
    count = steps_of(model)
    assert made.rejected.empty and count["check"] == 2 * count["repair"] == 2 * count["dialogue"]
    asked = next(r for step, _, r in model.asked if step == "repair")
    assert "A1 contradicts: The person has no children." in asked.messages[-1]["content"]
    turns = made.corpus().turns
    assert (turns["response"] == "Mended words.").sum() == count["dialogue"]


def test_what_is_still_wrong_after_two_repairs_stays_and_is_recorded(monkeypatch):
    def change(step, place, again, data):
        if step == "check":
            data["violations"] = [{"id": "U1", "kind": "action", "what": "It names the need."}]
        return data

    model = Model(monkeypatch, "en", change)
    made = synthesize(model, users=1, language="en")
    count = steps_of(model)
    assert count["repair"] == 2 * count["dialogue"] and count["check"] == 3 * count["dialogue"]
    table = made.rejected
    assert set(table["step"]) == {"correction"} and table["kept"].all() and len(table) == count["dialogue"]
    assert table["reason"].unique().tolist() == ["does not do its action: It names the need."]
    assert table["place"].str.fullmatch(r"0000 2024-\d\d-\d\d turn 1, user").all()
    assert len(made.corpus().sessions) == count["dialogue"], "nothing is dropped"


def test_a_repair_that_fails_leaves_the_session_and_says_so(monkeypatch):
    def change(step, place, again, data):
        if step == "check":
            unknown = {"id": "L999", "kind": "type", "what": "?"}
            data["violations"] = [{"id": "L1", "kind": "type", "what": "It is a message."}, unknown]
        return None if step == "repair" else data

    model = Model(monkeypatch, "en", change)
    made = synthesize(model, users=1, language="en")
    count, rejected = steps_of(model), made.rejected
    assert count["check"] == 2 * count["dialogue"], "asked again for the id that nobody gave, not after the repair"
    by_step = rejected.groupby("step")["reason"].unique().map(list).to_dict()
    assert by_step["correction"] == ["is of the wrong type: It is a message."]
    assert by_step["check"] == ["L999 is no id that was given"] and "repair" in by_step


def test_the_person_is_shown_to_those_who_correct():
    (check,) = first_asked(partial(correct, ONE, session(), UserSynthesis("en")))
    wrong = session(logs=["sore neck; two pages", "sore neck"])
    (repair,) = first_asked(partial(correct, ONE, wrong, UserSynthesis("en", check=False)))
    for request in (check, repair):
        told = str(request.messages)
        assert all(part in told for part in ("Ida", "Nights.", "Bring porridge.", "sore neck"))
    assert "sore neck; two pages" in str(check.messages) and "L2 is no Web Search" in str(repair.messages)
    log = {"id": "l1", "type": "Message Sending", "text": "Tom; hi"}
    reading = _mend_texts({"L1": ["bad"], "A2": ["worse"]}, {"logs": [log], "turns": []})
    assert reading.faults == ("A2 is not mended",) and reading.value == {"L1": log}
