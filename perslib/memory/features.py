"""Turns in numbers: what can be read off a request, a reply, and where they stand.

`FEATURES` is the list, one line of meaning each. Nothing here knows a score, a user or a corpus: a turn's features
follow from its own prefix and reply, so a turn has the same features as evidence and as target. Chinese and English
are read by the same expressions, and lengths count characters of Chinese and words of other scripts alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pandas as pd

from perslib.corpus import Block, Target

#: Group → feature → meaning; the evaluator weighs groups. "Log" is log(1 + count), "share" lies in 0–1, marks are 0 or 1.
FEATURES: dict[str, dict[str, str]] = {
    "size": {
        "length": "log length of the reply, in tokens (a Chinese character or a word)",
        "lines": "log number of lines",
        "items": "log number of list items",
        "headings": "log number of headings",
        "bold": "log number of passages in bold",
    },
    "content": {
        "table": "the reply has a table",
        "variety": "share of distinct tokens among the reply's first two hundred",
        "numbers": "log number of numbers",
        "prices": "log number of prices",
        "links": "the reply has a link or address",
        "asks_back": "the reply ends with a question or an offer to go on",
        "hedges": "log number of hedges: may vary, please check, for reference only",
    },
    "faults": {
        "short": "by how many log tokens the reply falls below sixty",
        "apology": "the reply begins with an apology",
        "refusal": "the reply says that it cannot, or that it is a model",
        "cut_off": "the reply ends without closing punctuation",
        "foreign": "request and reply are in different scripts",
    },
    "match": {
        "answers": "share of the request's pairs of tokens that the reply takes up",
        "on_task": "share of the task background's pairs of tokens that the reply takes up",
        "keeps_numbers": "share of the request's numbers that the reply repeats; 1 without numbers",
        "price_missing": "the request asks for prices and the reply has none",
        "repeats_reply": "share of the reply's pairs of tokens that the previous reply had already",
        "growth": "log length of the reply less that of the previous reply; 0 at the start",
    },
    "request": {
        "request_length": "log length of the request, in tokens",
        "questions": "log number of questions asked",
        "from_task": "share of the request's pairs of tokens taken from the task background",
        "repeats_request": "largest share of the request's pairs of tokens in one earlier request",
        "refers_back": "share of the request's pairs of tokens that the previous reply had",
    },
    "marks": {
        "complaint": "complaint or correction: too …, not enough, you forgot, wrong, again",
        "refuses": "the request rules something out: don't, without, instead of",
        "wants_detail": "the request asks for more detail",
        "wants_change": "the request asks for something else, more, or a change",
        "wants_live": "the request asks for what text cannot give: links, pictures, maps, bookings",
        "wants_whole": "the request asks for a whole plan, list, or summary",
        "thanks": "thanks or praise",
        "complaints_before": "log number of complaints in earlier requests of the conversation",
    },
    "position": {
        "first": "the first reply of its conversation",
        "turn": "log number of replies before this one",
    },
}
NAMES = [name for group in FEATURES.values() for name in group]

_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W\d_\u3400-\u9fff]+|\d+(?:[.,]\d+)*")
_CJK = re.compile(r"[\u3400-\u9fff]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def _either(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_ITEM = re.compile(r"^[ \t]*(?:[-*•·]|\d+[.、)）])", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]*(?:#+ |[一二三四五六七八九十]+、)|^\*\*[^*\n]+\*\*[：:]?[ \t]*$", re.MULTILINE)
_BOLD = re.compile(r"\*\*[^*\n]+\*\*")
_TABLE = re.compile(r"\|\s*:?-{2,}")
_PRICE = _either(r"[¥￥$€£]\s*\d", r"\d\s*(?:-\s*\d+\s*)?(?:元|块|万|人民币|RMB|CNY|USD|dollars|yuan|euros?)")
_LINK = _either(r"https?://", r"www\.", r"\.com\b", r"\]\(")
_BACK = _either(r"[?？]", "告诉我", "随时", "需要我", "let me know", "would you like", "feel free")
_SORRY = _either("抱歉", "对不起", "不好意思", r"\bsorry\b", "apolog")
_CANNOT = _either(
    "无法(?:直接|提供|访问|获取|查询|为您|为你|实时)", "不能(?:直接|提供|访问)", "没有办法", "作为(?:一个|一名)?(?:AI|人工智能)",
    "as an ai", r"\bi (?:can't|cannot|am unable|am not able)", r"\bi don't have",
)  # fmt: skip
_HEDGE = _either(
    "仅供参考", "可能会?有?(?:变化|变动|不同|差异)", "以(?:实际|官方)", "建议(?:提前|您?你?查询|咨询|核实)", "根据(?:实际|个人|自己)",
    "may vary", "please check", "depending on", "for reference", "approximate",
)  # fmt: skip
_COMPLAINT = _either(
    "太(?!太|阳|原|平|湖|极|空|谢)", "不够", "不对", "错了", "错误", "有误", "忘记", "忘了", "没有(?:考虑|提到|给|写|说|安排|包含|满足)", "重新",
    "还是(?:没|不|太|有)", "不满意", "不太", "不行", "不符", "并不", "不是(?:很|我)", "可是", "但是", "为什么", "怎么没", "不合适", "不合理", "不现实", "我说", "我要的",
    r"\btoo\b", "not enough", r"\bwrong\b", "forgot", "you missed", "didn't", "doesn't", "isn't", "not what", r"\bagain\b",
    "still (?:no|not|too)", "incorrect", "mistake", r"\bbut\b",
)  # fmt: skip
_REFUSES = _either(
    "不要",
    "不用",
    "不想",
    "不需要",
    "不喜欢",
    "不吃",
    "去掉",
    "除了",
    "别",
    r"\bdon't\b",
    "without",
    "instead",
    "except",
    r"\bno\b",
)
_DETAIL = _either(
    "详细",
    "具体",
    "细致",
    "细化",
    "展开",
    "仔细",
    "完善",
    "detail",
    "specific",
    "elaborate",
    "precise",
    "in depth",
)
_CHANGE = _either(
    "其他",
    "其它",
    "别的",
    "换",
    "更",
    "再",
    "另外",
    "还有",
    "改",
    "调整",
    "多",
    r"\bother\b",
    r"\bmore\b",
    "different",
    "change",
    "another",
    "else",
)
_LIVE = _either(
    "链接",
    "图片",
    "照片",
    "地图",
    "官网",
    "网址",
    "订票",
    "预订",
    "下单",
    "店铺",
    "品牌",
    "车次",
    "航班",
    r"\blinks?\b",
    "picture",
    "photo",
    r"\bmaps?\b",
    r"\bbook",
    "website",
    "brand",
)
_WHOLE = _either(
    "完整",
    "整理",
    "总结",
    "汇总",
    "计划",
    "规划",
    "方案",
    "清单",
    "表格",
    "时间表",
    "攻略",
    "流程",
    "步骤",
    r"\bplans?\b",
    "summar",
    "schedule",
    "itinerary",
    "table",
    "checklist",
    "step",
)
_THANKS = _either(
    "谢",
    "很好",
    "不错",
    "太好了",
    "太棒",
    "很棒",
    "好的",
    "满意",
    "可以了",
    "thank",
    "great",
    "perfect",
    "good",
    "nice",
    "sounds",
    "love",
)
_ASKS_PRICE = _either("价格", "多少钱", "费用", "预算", "花费", "开销", "price", "cost", "budget", "how much")
_END = re.compile(r"[。！？!?.…)）】」”\"'*|~`>]\s*$|[^\w\s]\s*$")


def _log(count: float) -> float:
    return float(np.log1p(count))


def tokens(text: str) -> list[str]:
    """Characters of Chinese, words and numbers of anything else, in lower case."""
    return _TOKEN.findall(text.lower())


@lru_cache(maxsize=50_000)
def _pairs(text: str) -> frozenset[int]:
    """Neighbouring tokens of a text, as hashes of themselves (ints are small to keep)."""
    found = tokens(text)
    return frozenset(map(hash, pairwise(found))) if len(found) > 1 else frozenset(map(hash, found))


def _share(part: frozenset[int], whole: frozenset[int]) -> float:
    return len(part & whole) / len(part) if part else 0.0


@lru_cache(maxsize=50_000)
def _reply(text: str) -> dict[str, float]:
    found = tokens(text)
    return {
        "length": _log(len(found)),
        "short": max(_log(60) - _log(len(found)), 0.0),
        "lines": _log(text.count("\n")),
        "items": _log(len(_ITEM.findall(text))),
        "headings": _log(len(_HEADING.findall(text))),
        "bold": _log(len(_BOLD.findall(text))),
        "table": float(bool(_TABLE.search(text))),
        "variety": len(set(found[:200])) / max(len(found[:200]), 1),
        "numbers": _log(len(_NUMBER.findall(text))),
        "prices": _log(len(_PRICE.findall(text))),
        "links": float(bool(_LINK.search(text))),
        "asks_back": float(bool(_BACK.search(text[-60:]))),
        "apology": float(bool(_SORRY.search(text[:200]))),
        "refusal": float(bool(_CANNOT.search(text))),
        "hedges": _log(len(_HEDGE.findall(text))),
        "cut_off": float(not _END.search(text[-5:])),
    }


@lru_cache(maxsize=50_000)
def _request(text: str) -> dict[str, float]:
    def mark(pattern: re.Pattern[str]) -> float:
        return float(bool(pattern.search(text)))

    return {
        "request_length": _log(len(tokens(text))),
        "questions": _log(len(re.findall(r"[?？]|吗|呢", text))),
        "complaint": mark(_COMPLAINT),
        "refuses": mark(_REFUSES),
        "wants_detail": mark(_DETAIL),
        "wants_change": mark(_CHANGE),
        "wants_live": mark(_LIVE),
        "wants_whole": mark(_WHOLE),
        "thanks": mark(_THANKS),
    }


def _between(said: Said) -> dict[str, float]:
    asked, replied = _pairs(said.request), _pairs(said.reply)
    numbers = set(_NUMBER.findall(said.request))
    before = said.replies[-1] if said.replies else ""
    growth = _reply(said.reply)["length"] - _reply(before)["length"]
    return {
        "foreign": float(
            bool(said.request) and bool(_CJK.search(said.request)) != bool(_CJK.search(said.reply))
        ),
        "answers": _share(asked, replied),
        "on_task": _share(_pairs(said.task), replied),
        "keeps_numbers": len(numbers & set(_NUMBER.findall(said.reply))) / len(numbers) if numbers else 1.0,
        "price_missing": float(bool(_ASKS_PRICE.search(said.request)) and not _PRICE.search(said.reply)),
        "repeats_reply": _share(replied, _pairs(before)),
        "growth": growth if said.replies else 0.0,
        "from_task": _share(asked, _pairs(said.task)),
        "repeats_request": max((_share(asked, _pairs(r)) for r in said.requests), default=0.0),
        "refers_back": _share(asked, _pairs(before)),
        "first": float(not said.replies),
        "turn": _log(len(said.replies)),
        "complaints_before": _log(sum(_request(r)["complaint"] for r in said.requests)),
    }


@dataclass(frozen=True)
class Said:
    """A reply and what it goes by: the request it answers, the task, and what either side had said before."""

    request: str
    reply: str
    task: str
    assistant: str
    scenario: str
    session: str
    requests: tuple[str, ...]
    replies: tuple[str, ...]


@lru_cache(maxsize=20_000)
def read(said: Said) -> np.ndarray:
    """The features of one turn, in the order of `NAMES`."""
    found = {**_reply(said.reply), **_request(said.request), **_between(said)}
    return np.array([found[name] for name in NAMES])


def said_in(block: Block) -> tuple[list[Said], list[Said]]:
    """The turns of a block as they were said: those of the evidence, row by row, and the targets."""
    return said_of(block.evidence), [said_by(target) for target in block]


def said_of(turns: pd.DataFrame) -> list[Said]:
    """Turns of a block's evidence as they were said, row by row."""
    found: list[Said] = []
    place: object = None
    requests: tuple[str, ...] = ()
    replies: tuple[str, ...] = ()
    for row in turns.to_dict("records"):
        if place != (place := (row["scenario"], row["session"])):
            requests, replies = (), ()
        request = _text(row["request"])
        earlier = (*requests, *row["earlier"])
        where = (_text(row["task"]), _text(row["assistant"]), *place)
        found.append(Said(request, row["response"], *where, earlier, replies))
        requests, replies = (*earlier, request) if request else earlier, (*replies, row["response"])
    return found


def said_by(target: Target) -> Said:
    """A target as it was said."""
    asked = tuple(m["content"] for m in target.prefix if m["role"] == "user")
    replies = tuple(m["content"] for m in target.prefix if m["role"] == "assistant")
    before = asked if target.request is None else asked[:-1]
    where = (target.task or "", target.assistant or "", target.scenario, target.session)
    return Said(target.request or "", target.response, *where, before, replies)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
