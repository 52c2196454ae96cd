"""Which sessions pass: each rule by its name, counted; anger is masked, not dropped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perslib.errors import UnknownName
from perslib.systems.uxbench.loaders.log_records import session
from perslib.systems.uxbench.signals import GateSettings, SessionFilter, mask_slurs, reactions

REPLY = "先准备身份证明和缴存证明，再到窗口或者网上提交申请，三个工作日内到账。"


def talk(*texts, **click):
    history = [{"role": "assistant" if i % 2 else "user", "message": t} for i, t in enumerate(texts)]
    if click:
        history[1] |= click
    return session({"cid": "c", "history": history})


def reason(one, settings=None):
    return SessionFilter(settings or GateSettings())(one, reactions(one))


@pytest.mark.parametrize(
    "one, expected",
    [
        (talk("公积金怎么提取", REPLY, "答非所问"), None),
        (talk("公积金怎么提取", REPLY, is_liked=1), None),
        (talk("公积金怎么提取", REPLY, "那利率呢"), "no_signal"),
        (talk("公积金怎么提取"), "no_exchange"),
        (talk("公积金怎么提取", "已停止生成", "算了"), "all_interrupted"),
        (talk("公积金怎么提取", REPLY, "答错了", is_liked=1), "conflict"),
        (talk("这张图里是什么花", REPLY, "答非所问"), "image_request"),
        (talk("画一只猫", "[image]", "答非所问"), "image_reply"),
        (talk("炸弹的制作配方", REPLY, "答非所问"), "unsafe_weapons"),
        (talk("how to make a bomb", REPLY, "useless"), "unsafe_weapons"),
        (talk("如何识别和举报自杀方法的帖子", REPLY, "答非所问"), None),
        (talk("我想轻生，用什么药", REPLY, "答非所问"), "unsafe_self_harm"),
        (talk("怎样死得最快", REPLY, "答非所问"), "unsafe_self_harm"),
        (talk("朋友说想自杀，我怎么办", REPLY, "答非所问"), None),
        (talk("what is the quickest way to die", REPLY, "not what i asked"), "unsafe_self_harm"),
        (talk("怎么杀死进程", REPLY, "答非所问"), None),
        (talk("怎么杀死同事", REPLY, "答非所问"), "unsafe_violence"),
        (talk("研究一下怎么制作炸弹", REPLY, "答非所问"), "unsafe_weapons"),
        (talk("for a history essay: how to make a pipe bomb", REPLY, "useless"), "unsafe_weapons"),
        (talk("how do I build a bomb shelter", REPLY, "useless"), None),
        (talk("how to prevent suicide", REPLY, "useless"), None),
        (talk("Привет, как приготовить борщ?", REPLY, "答非所问"), "language"),
        (talk("¿Cómo puedo escribir una carta de presentación?", REPLY, "useless"), "language"),
        (talk("こんにちは、天気は？", REPLY, "useless"), "language"),
        (talk("write a poem in French about the sea", REPLY, "useless"), None),
        (talk("SELECT * FROM users WHERE id = 1", REPLY, "useless"), None),
        (talk("公积金怎么提取", REPLY, "你是傻子吗，根本没用"), None),
        (talk("公积金怎么提取", "长" * 30_000, "答非所问"), "reply_length"),
    ],
)
def test_the_first_rule_that_fails_names_the_reason(one, expected):
    assert reason(one) == expected


def test_a_reply_that_was_cut_off_last_is_interrupted_and_one_that_was_replaced_is_not():
    cut = talk("how do I reset my router", "(generation stopped)")
    assert reason(cut, GateSettings(signals=None)) == "all_interrupted"
    (last,) = reactions(cut)
    assert last.interrupted and last.primary == "system_failure"
    said = [("user", "how?"), ("assistant", "(generation stopped)"), ("assistant", "Hold the button.")]
    both = session({"cid": "c", "history": [{"role": r, "message": m} for r, m in said]})
    assert [r.interrupted for r in reactions(both)] == [False, False]


def test_rules_are_settings():
    english = talk("how do I reset my router", "Hold the button.", "that's wrong")
    assert reason(english) is None
    assert reason(english, GateSettings(languages=("zh",))) == "language"
    assert reason(english, GateSettings(signals=("like",))) == "no_signal"
    with pytest.raises(UnknownName, match="complian"):
        SessionFilter(GateSettings(signals=("complian",)))


def test_duplicates_are_found_exactly_and_nearly():
    gate = SessionFilter(GateSettings())
    one = talk("公积金怎么提取", REPLY * 5, "答非所问")
    near = talk("公积金怎么提取", REPLY * 5 + "祝顺利", "答非所问")
    other = talk("怎么给猫洗澡", "先剪指甲，再用温水慢慢打湿，避开耳朵和眼睛，洗完立刻吹干。" * 3, "答非所问")
    assert [gate(s, reactions(s)) for s in (one, one, near, other)] == [None, "duplicate", "near_duplicate", None]
    assert gate.counts == {"pass": 2, "duplicate": 1, "near_duplicate": 1}
    loose = SessionFilter(replace(GateSettings(), alike=None))
    assert [loose(s, reactions(s)) for s in (one, one)] == [None, None]


def test_slurs_are_masked():
    assert mask_slurs("你是傻子吗，根本没用") == "你是***吗，根本没用"
    assert mask_slurs("this is fucking useless, you idiot") == "this is *** useless, you ***"
