"""Rationales whose origin is known: written from the truth of one reply, in words of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: What a reply lacks most.
SHORTFALL = {
    "en": {
        "detail": "It names no exact times, amounts or places",
        "diversity": "There is only one way and nothing to choose from",
        "requirement": "A condition that was stated is ignored",
        "practicality": "It cannot be carried out as it stands",
        "format": "It is hard to read, one long block",
        "brevity": "It is far too long",
    },
    "zh": {
        "detail": "没有具体的时间、用量和地点",
        "diversity": "只有一种思路，没有可比较的选择",
        "requirement": "忽略了明确提出的条件",
        "practicality": "照着做不了",
        "format": "排版混乱，读起来费劲",
        "brevity": "篇幅太长",
    },
}
#: What the user had asked about.
FOCUS = {
    "en": {
        "ideas": "which present to choose",
        "buying": "where to buy the present",
        "card": "the wording of the card",
        "detail": "why this present suits the person",
        "wrap": "how to wrap it",
        "menu": "the dishes of the menu",
        "shopping": "the shopping list of ingredients",
        "timeline": "the order of cooking",
        "rescue": "what to do when a dish goes wrong",
        "steps": "the steps of the recipe",
        "plan": "the plan",
        "week": "what to practise each week",
        "stuck": "what to do when practice stalls",
        "progress": "how to measure progress of learning",
        "resources": "which course or teacher",
        "lodging": "which hotel to stay in",
        "rain": "what to do when it rains",
        "transport": "how to get around by train or taxi",
        "food": "where to have lunch and dinner",
    },
    "zh": {
        "ideas": "送什么礼物",
        "buying": "礼物在哪里买",
        "card": "贺卡怎么写",
        "detail": "为什么适合收礼的人",
        "wrap": "怎么包装礼物",
        "menu": "菜单上的菜",
        "shopping": "食材采购清单",
        "timeline": "做菜的先后顺序",
        "rescue": "菜做坏了怎么补救",
        "steps": "做法步骤",
        "plan": "计划",
        "week": "每周练什么",
        "stuck": "练不下去怎么办",
        "progress": "怎么衡量学习进度",
        "resources": "选哪门课或老师",
        "lodging": "住哪家酒店",
        "rain": "下雨怎么办",
        "transport": "怎么坐车",
        "food": "在哪里吃饭",
    },
}
#: What the user insists on.
CONSTRAINT = {
    "en": {
        "budget": "the budget",
        "deadline": "delivery before the day",
        "personal": "something personal",
        "useful": "something useful",
        "decor": "no ornaments",
        "scent": "no perfume or scent",
        "wool": "no wool",
        "sweets": "no sweets",
        "time": "the time limit in the kitchen",
        "egg": "no eggs",
        "shrimp": "no shrimp or prawns",
        "mild": "nothing spicy",
        "peanut": "no peanuts",
        "milk": "no milk",
        "oven": "no oven",
        "onepan": "a single pan",
        "light": "little oil",
        "hours": "the hours free a week",
        "screen": "no apps or screens",
        "home": "practising at home",
        "project": "a small project at the end",
        "weekday": "weekdays only",
        "noise": "practising quietly for the neighbours",
        "knees": "bad knees",
        "nights": "the price of a night in the hotel",
        "days": "the number of days",
        "early": "no early mornings",
        "carsick": "no long coaches",
        "museum": "half a day in a museum",
        "quiet": "a quiet room",
    },
    "zh": {
        "budget": "预算",
        "deadline": "在日子之前送到",
        "personal": "要有心意",
        "useful": "要实用",
        "decor": "不要摆件",
        "scent": "不要香水香薰",
        "wool": "不要羊毛",
        "sweets": "不要甜食",
        "time": "做饭的时间限制",
        "egg": "不吃鸡蛋",
        "shrimp": "不吃虾",
        "mild": "不吃辣",
        "peanut": "不吃花生",
        "milk": "不喝牛奶",
        "oven": "没有烤箱",
        "onepan": "只有一口锅",
        "light": "少油",
        "hours": "每周能用的时间",
        "screen": "不看屏幕",
        "home": "在家练习",
        "project": "最后做一个小作品",
        "weekday": "只有工作日",
        "noise": "练习不能吵到邻居",
        "knees": "膝盖不好",
        "nights": "酒店每晚的价格",
        "days": "天数",
        "early": "不早起",
        "carsick": "不坐长途大巴",
        "museum": "半天逛博物馆",
        "quiet": "房间要安静",
    },
}

_SAYING = {
    "en": "{short}. The user asked about {focus}{wanted}, and the reply does not give it.",
    "zh": "{short}。用户问的是{focus}{wanted}，回复没有做到。",
}
_WANTED = {"en": (" and wanted ", " and "), "zh": ("，并且要求", "、")}


def rationale(truth: Mapping[str, Any], language: str) -> str:
    """The rationale that this row of `truth_turns` deserves: the largest shortfall, the focus, what was missed."""
    qualities = ("detail", "diversity", "requirement", "practicality", "format")
    short = SHORTFALL[language][min(qualities, key=lambda name: truth[name])]
    missed = [CONSTRAINT[language][c] for c in (*truth["broken"], *truth["silent"])][:2]
    start, between = _WANTED[language]
    wanted = start + between.join(missed) if missed else ""
    return _SAYING[language].format(short=short, focus=FOCUS[language][truth["focus"]], wanted=wanted)
