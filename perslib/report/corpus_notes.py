"""Sentences of the corpus page that have numbers in them, in both languages: `report.say(**note(…))`."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

Note = dict[str, str]


def size(statistics: pd.DataFrame) -> Note:
    """How large the corpus is and how satisfied its users are."""
    value = dict(zip(statistics["statistic"], statistics["value"]))
    users, talks = value["participants"], value["conversations"]
    labelled, low = (
        value["assistant turns with satisfaction labels"],
        value["dissatisfied or neutral turns (1–3)"],
    )
    if not labelled:
        return {
            "en": f"**{users:,} users** had **{talks:,} conversations**; none of the replies carries a score.",
            "zh": f"**{users:,} 位用户**共有 **{talks:,} 段对话**；没有任何回复带有评分。",
        }
    mean, share = value["mean satisfaction score"], low / labelled
    return {
        "en": f"**{users:,} users** had **{talks:,} conversations** and scored **{labelled:,} replies**: "
        f"{mean:.2f} on average, and {share:.0%} of them 3 or lower.",
        "zh": f"**{users:,} 位用户**共有 **{talks:,} 段对话**，为 **{labelled:,} 条回复**打了分："
        f"平均 {mean:.2f}，其中 {share:.0%} 不高于 3 分。",
    }


def user_share(share: Mapping[str, float]) -> Note:
    """How much of a score is known from the user alone."""
    between = share["between_users"]
    if math.isnan(share["r"]):
        en = "No user was rated in more than one scenario with scores that differ, so that what is known of a user beforehand cannot be compared with the scores."
        zh = "没有用户在一个以上的场景中留下有差异的评分，因此无法比较“事先对用户的了解”与评分。"
        if math.isnan(between):
            return {"en": en, "zh": zh}
        return {
            "en": f"{between:.0%} of the variance of the scores lies between users. {en}",
            "zh": f"评分方差中有 {between:.0%} 来自用户之间的差异。{zh}",
        }
    known = "" if math.isnan(share["low"]) else f" [{share['low']:.2f}, {share['high']:.2f}]"
    return {
        "en": f"**What a judge has to beat.** {between:.0%} of the variance of the scores lies between users. Guessing every score "
        "as the user's mean in the *other* scenarios, without reading a single reply, correlates with the scores at "
        f"**r = {share['r']:.2f}**{known} ({share['turns']:,} turns). An agreement of this size shows that a judge "
        "knows the user's level, not that it reads the reply; every agreement table of the studies therefore carries this control.",
        "zh": f"**评判者必须超过的基准。** 评分方差中有 {between:.0%} 来自用户之间的差异。完全不读回复，只用该用户在其他场景中的平均分来猜，"
        f"与真实评分的相关就有 **r = {share['r']:.2f}**{known}（{share['turns']:,} 轮）。"
        "达到这一水平只说明评判者知道用户的打分习惯，而不说明它读懂了回复；因此各项研究的一致性表格都附有这一对照。",
    }


def lengths(summary: pd.DataFrame) -> Note:
    """How long requests and replies typically are."""
    median = dict(zip(summary["quantity"], summary["median"]))
    asked, said = median.get("requests", 0), median.get("replies", 0)
    return {
        "en": f"Half of the requests are shorter than {asked:,} characters, half of the replies shorter than {said:,}.",
        "zh": f"一半的请求短于 {asked:,} 字，一半的回复短于 {said:,} 字。",
    }
