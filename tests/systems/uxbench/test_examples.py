"""Dialogues whose reading is plain to a person: what the extractor has to say of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from perslib.systems.uxbench.loaders.log_records import session
from perslib.systems.uxbench.signals.model import NEGATIVE, Reaction
from perslib.systems.uxbench.signals.reaction import reactions

ZH = "这里先说明几个要点，再给出可以照着做的步骤，其中每一步都写明需要准备什么材料以及大概花多少时间"
EN = "here are the main points first and then the steps that you can follow one after another with care "
START = 1_767_225_600  # 2026-01-01 00:00:00


def pad(n: int, lang: str = "zh") -> str:
    """A neutral reply of n characters, or n English words."""
    if lang == "zh":
        return (ZH * (n // len(ZH) + 1)).replace("，", "而")[:n]
    return " ".join((EN * (n // 10 + 1)).split()[:n])


@dataclass
class Talk:
    """A dialogue written down: user texts and replies in turn; `gap` seconds lie before each later user message."""

    said: list[Any]
    gap: float = 90.0
    clicks: dict[int, dict[str, Any]] = field(default_factory=dict)
    timeless: bool = False

    def record(self) -> dict[str, Any]:
        history, clock = [], float(START)
        for i, (role, text) in enumerate(self.said):
            clock += self.gap if role == "user" and i else 5.0
            time = None if self.timeless and role == "assistant" else clock
            history.append(
                {"turn_index": i, "role": role, "message": text, "create_time": time} | self.clicks.get(i, {})
            )
        return {"cid": "c", "history": history}

    def taken(self) -> list[Reaction]:
        return reactions(session(self.record()))


def round_(first: str, second: str | None, n: int | None = None, lang: str | None = None, **more: Any) -> Talk:
    lang = lang or ("en" if first.isascii() else "zh")
    reply = pad(n or (150 if lang == "zh" else 90), lang)
    said = [("user", first), ("assistant", reply)]
    return Talk([*said, ("user", second)] if second is not None else said, **more)


def negative(reaction: Reaction) -> set[str]:
    """Its signals that speak against the reply with more than weak strength, or at least 0.5."""
    return {s.name for s in reaction.signals if s.name in NEGATIVE and (s.score >= 0.5 or s.strength != "weak")}


ANY = "怎么申请发票"
ANY_EN = "how do I export my photos"
EXAMPLES = {
    "R1": (round_("公积金怎么提取", "公积金怎么提取？"), "repeat", {"repeat"}),
    "R2": (round_("How do I reset my router", "how do i reset my router??"), "repeat", {"repeat"}),
    "R3": (round_("天气", "天气"), "repeat", {"repeat"}),
    "R5": (round_("公积金怎么提取", "公积金怎么提取？", n=600, gap=3), "repeat", {"repeat", "skim"}),
    "R6": (round_("把这段话改成200字", "把这段话改成500字"), "parallel_request", set()),
    "R7": (round_("翻译成英文：今天天气很好", "翻译成英文：明天我要出差"), "parallel_request", set()),
    "R8": (round_('Translate "apple" to French', 'Translate "banana" to French'), "parallel_request", set()),
    "P1": (round_("手机充电很慢怎么解决", "我的手机充电特别慢，应该怎么解决"), "rephrase", {"rephrase"}),
    "P2": (
        round_("How can I make my laptop battery last longer", "What can I do so my laptop battery lasts longer"),
        "rephrase",
        {"rephrase"},
    ),
    "P3": (round_("怎么备份相册", "我的意思是怎么把相册备份到电脑上"), "rephrase", {"rephrase"}),
    "P4": (round_("What is the capital of France?", "Please recommend a good laptop for coding"), "continue", set()),
    "P5": (round_("推荐一本好看的小说", "推荐一部好看的电影"), "parallel_request", set()),
    "P6": (round_("北京有什么好玩的地方", "那交通方便吗"), "continue", set()),
    "P7": (round_("解释一下量子纠缠", "能举个生活中的例子吗"), "continue", set()),
    "K1": (round_(ANY, "帮我写一个请假条", n=800, gap=4), "skim", {"skim"}),
    "K2": (round_(ANY, "帮我写一个请假条", n=800, gap=120), "continue", set()),
    "K3": (round_(ANY_EN, "write an email to my landlord", n=400, gap=5), "skim", {"skim"}),
    "K4": (round_(ANY_EN, "write an email to my landlord", n=60, gap=12), "continue", set()),
    "K5": (round_(ANY, "帮我写一个请假条", n=5_000, gap=40), "skim", {"skim"}),
    "K6": (round_(ANY, "帮我写一个请假条", n=800, gap=-3_600), "continue", set()),
    "K7": (round_(ANY, "谢谢你，太有用了", n=60, gap=5), "thanks", set()),
    "K8": (round_(ANY, "帮我写一个请假条", n=800, gap=4, timeless=True), "continue", set()),
    "K9": (round_(ANY, "帮我写一个请假条", n=20, gap=1), "continue", set()),
    "C1": (round_("公积金怎么提取", "你答非所问，我问的是提取流程"), "complain", {"complain"}),
    "C2": (
        round_("how do I reset the router", "That's wrong, you misunderstood my question"),
        "complain",
        {"complain"},
    ),
    "C3": (round_("写个一百字简介", "太啰嗦了，能不能简短点"), "complain", {"complain"}),
    "C4": (round_(ANY_EN, "You keep giving me the same answer, this is useless"), "complain", {"complain"}),
    "C5": (round_("推荐一本历史书", "不错，谢谢"), "thanks", set()),
    "C6": (round_("推荐一本历史书", "没错，就是这个意思"), "ack", set()),
    "C7": (round_("最近睡不好", "我还经常头晕怎么办"), "continue", set()),
    "C8": (round_("买到假货", "消费者协会电话是多少"), "continue", set()),
    "C9": (round_("明天多少度", "可以穿短袖衣服了吗"), "continue", set()),
    "C10": (round_("讲个笑话", "你是AI吗"), "continue", set()),
    "C11": (round_("推荐修图软件", "有不需要联网的吗"), "continue", set()),
    "C11a": (round_("推荐修图软件", "最重要的是什么"), "continue", set()),
    "C11b": (round_("推荐修图软件", "主要的是看哪些"), "continue", set()),
    "C11c": (round_("推荐修图软件", "我要的是免费的，不是试用的"), "complain", {"complain"}),
    "C12": (Talk([("user", "这道题我算错了，帮我看看"), ("assistant", pad(150))]), "no_followup", set()),
    "C13": (round_("check my essay", "Not bad! Now make the ending stronger"), "ack", set()),
    "C14": (round_("一百除以四等于二十五", "对不对"), "continue", set()),
    "C15": (
        round_(ANY, "你根本没看懂我的问题，" + "我在外地工作三年，单位每月都交钱，现在想把余额转回老家，" * 14),
        "complain",
        {"complain"},
    ),
    "D1": (round_(ANY, "算了"), "dismiss", {"dismiss"}),
    "D2": (round_(ANY, "算了，不用了。"), "dismiss", {"dismiss"}),
    "D3": (round_(ANY_EN, "never mind"), "dismiss", {"dismiss"}),
    "D4": (round_(ANY_EN, "Forget it…"), "dismiss", {"dismiss"}),
    "D5": (round_("怎么退税", "好的谢谢"), "thanks", set()),
    "D6": (round_("怎么退税", "知道了"), "ack", set()),
    "D7a": (round_(ANY_EN, "ok"), "ack", set()),
    "D7b": (round_(ANY_EN, "got it"), "ack", set()),
    "L1": (round_(ANY, None, clicks={1: {"is_unliked": 1}}), "dislike", {"dislike"}),
    "L2a": (round_(ANY, None, clicks={1: {"is_unliked": "true"}}), "dislike", {"dislike"}),
    "L2b": (round_(ANY, None, clicks={1: {"is_unliked": True}}), "dislike", {"dislike"}),
    "L3": (round_(ANY, None, clicks={1: {"is_unliked": None}}), "no_followup", set()),
    "L4": (round_(ANY, "谢谢", clicks={1: {"is_liked": 1}}), "like", set()),
    "L6": (round_("公积金怎么提取", "公积金怎么提取", clicks={1: {"is_unliked": 1}}), "dislike", {"dislike", "repeat"}),
    "S5": (Talk([("user", "6×7=?"), ("assistant", "42")]), "no_followup", set()),
    "S6": (Talk([("user", ANY), ("assistant", "已停止生成"), ("user", "继续")]), "system_failure", set()),
    "S10": (round_(ANY, "你是傻子吗，根本没用"), "complain", {"complain"}),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_reply_is_read_as_a_person_reads_it(name):
    talk, primary, against = EXAMPLES[name]
    (reaction,) = talk.taken()
    assert (reaction.primary, negative(reaction)) == (primary, against), reaction.signals


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_reply_is_read_alike_however_the_log_writes_it(name):
    """Without indices, with the history as text, with times in ISO 8601, with `content` for `message`."""
    talk, *_ = EXAMPLES[name]
    record = talk.record()
    expected = reactions(session(record))
    bare = [{k: v for k, v in m.items() if k != "turn_index"} for m in record["history"]]
    text = json.dumps(record["history"], ensure_ascii=False)
    from datetime import UTC, datetime

    def iso(seconds, form):
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime(form)

    forms = ["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.000+00:00"]
    timed = [[{**m, "create_time": iso(m["create_time"], form)} for m in record["history"]] for form in forms]
    named = [{("content" if k == "message" else k): v for k, v in m.items()} for m in record["history"]]
    for history in (bare, text, *timed, named):
        assert reactions(session({"cid": "c", "history": history})) == expected


def test_a_repeat_goes_back_to_where_it_was_asked_first():
    said = ["公积金怎么提取", pad(150), "需要身份证吗", pad(150), "公积金怎么提取"]
    talk = Talk([("user" if i % 2 == 0 else "assistant", text) for i, text in enumerate(said)])
    first, second = talk.taken()
    assert (first.primary, second.primary) == ("continue", "repeat")
    assert second.signals[0].back == 0 and second.signals[0].at == 4


def test_in_other_words_is_no_complaint():
    (reaction,) = EXAMPLES["P3"][0].taken()
    assert reaction.score("complain") < 0.5 and reaction.signals[0].rule == "cue"


@pytest.mark.parametrize("name, strength", [("K1", "strong"), ("K3", "strong"), ("K5", "strong")])
def test_skimming_is_strong_far_below_the_reading_time(name, strength):
    (reaction,) = EXAMPLES[name][0].taken()
    assert [s.strength for s in reaction.signals if s.name == "skim"] == [strength]


def test_the_arithmetic_of_skimming():
    (reaction,) = EXAMPLES["K1"][0].taken()
    assert reaction.reading == pytest.approx(96.39, abs=0.01)
    assert reaction.gap == 4
    assert reaction.fraction == pytest.approx(2.4 / 96.39, abs=1e-4)  # 8 characters typed at 5 a second
    assert reaction.gap / reaction.n_chars == pytest.approx(0.005)
    (reaction,) = round_(ANY, "帮我写一个请假条" * 10, n=800, gap=4).taken()
    assert reaction.fraction == pytest.approx(2 / 96.39, abs=1e-4)  # what took half of the time or more was pasted


@pytest.mark.parametrize("name", ["K6", "K8"])
def test_a_clock_that_cannot_be_is_counted(name):
    (reaction,) = EXAMPLES[name][0].taken()
    assert reaction.bad_clock and reaction.fraction is None


@pytest.mark.parametrize("text", ["哦", "行吧", "fine"])
def test_a_grudging_word_dismisses_weakly(text):
    (reaction,) = round_(ANY, text).taken()
    assert [(s.name, s.strength) for s in reaction.signals] == [("dismiss", "weak")]


def test_like_and_complaint_conflict():
    (reaction,) = round_(ANY, "答错了", clicks={1: {"is_liked": 1}}).taken()
    assert reaction.primary == "complain" and reaction.conflict
    assert not round_(ANY, "谢谢", clicks={1: {"is_liked": 1}}).taken()[0].conflict


def test_a_regenerated_reply_is_superseded():
    talk = Talk([("user", ANY), ("assistant", pad(150)), ("assistant", pad(160)), ("user", "答非所问")])
    first, second = talk.taken()
    assert first.superseded and first.primary == "superseded" and not negative(first)
    assert second.primary == "complain" and not second.superseded


ASKED, WRONG = (
    [("user", "17乘以23等于多少"), ("assistant", "等于381")],
    [("user", "不对，重新算"), ("assistant", "等于401")],
)


@pytest.mark.parametrize(
    "last, outcome, second",
    [
        (None, "unknown_left", "no_followup"),
        ("谢谢，这次对了", "recovered", "thanks"),
        ("还是不对", "failed_recovery", "complain"),
    ],
)
def test_what_became_of_a_complaint(last, outcome, second):
    said = [*ASKED, *WRONG, *([("user", last)] if last else [])]
    first, then = Talk(said).taken()
    assert (first.primary, first.outcome, then.primary) == ("complain", outcome, second)
    assert then.left_after_negative == (outcome != "recovered")


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("there is no chapter nine in this novel, stop making things up", "complain"),
        ("the total is off", "complain"),
        ("能不能说人话", "complain"),
        ("机翻味太重了", "complain"),
        ("it's working now!", "thanks"),
        ("讲得真透彻", "thanks"),
        ("确实管用", "thanks"),
        ("you know what, going to ask a friend", "dismiss"),
        ("指望不上你", "dismiss"),
    ],
)
def test_further_ways_to_say_it(said: str, name: str):
    first = "how long do I boil eggs" if said.isascii() else "鸡蛋煮多久"
    assert name in round_(first, said).taken()[0].names


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("how do you say sorry in french", "and 'this is wrong'?"),
        ("a present for my sister", "she didn't even like the last one"),
        ("邻居半夜唱歌怎么办", "气死我了，他们昨晚又唱到三点"),
        ("a card for my aunt", "lovely, thank you so much"),
    ],
)
def test_what_is_no_complaint_about_the_reply(first: str, said: str):
    assert "complain" not in round_(first, said).taken()[0].names
