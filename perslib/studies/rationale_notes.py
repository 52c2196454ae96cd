"""The page on rationales in sentences with computed numbers, in English and Chinese."""

from __future__ import annotations

import numpy as np
import pandas as pd

from perslib.metrics import number
from perslib.report.words import name_of
from perslib.studies.grounding import HABIT
from perslib.studies.notes import Note
from perslib.studies.rationales import PATTERNS

#: Fewer turns than this, or users, say nothing of how often something happens.
FEW = 30


def judged(found: pd.DataFrame, first_look: bool = False) -> Note:
    """How much there is to look at."""
    written = int(found["rationale"].notna().sum())
    low = found[found["pattern"].notna()]
    both = int(low["pattern"].isin(PATTERNS).sum())
    en = f"{written:,} of {len(found):,} scored verdicts carry a rationale. "
    zh = f"{len(found):,} 个有分数的评判中，{written:,} 个附有理由。"
    if len(low):
        en += (
            f"On {len(low):,} verdicts the user was dissatisfied and said why, and on {both:,} of these the judge "
            "is dissatisfied too."
        )
        zh += f"其中 {len(low):,} 个评判所对的轮次用户不满意并说明了原因，评判者也不满意的有 {both:,} 个。"
    else:
        en += "None of them is on a reply that its user found dissatisfying and said why."
        zh += "所对的回复中，没有一条是用户不满意并说明了原因的。"
    if first_look:
        en += (
            " **This is a first look** with a small model on this machine, whose rationales say little; it shows "
            "the way, and a larger backbone fills the page."
        )
        zh += "**这只是初步一览**：本机上的小模型写不出多少有内容的理由；此处只示范做法，换用更大的模型本页才会充实。"
    elif both < FEW:
        en += " **That is too few to say how often anything happens**: read what follows as examples."
        zh += "**数量太少，无法说明频率**：以下内容只能当作例子来读。"
    return {"en": en, "zh": zh}


def agreement(frame: pd.DataFrame) -> Note:
    """Whether the judge names reasons better than somebody who reads nothing."""
    en, zh = [], []
    for judge, own in frame.groupby("judge", sort=False):
        by = own.set_index("named_by")
        itself, blind = by.loc[""], by.drop(index="")
        if blind.empty or not np.isfinite(itself["accuracy"]):
            continue
        best = blind.sort_values("accuracy").iloc[-1]
        is_better, is_worse = best["gain_low"] > 0, best["gain_high"] < 0
        word_en = "more than" if is_better else "less than" if is_worse else "not distinguishable from"
        word_zh = "高于" if is_better else "低于" if is_worse else "无法区别于"
        mine, other = number(itself["accuracy"], 2), number(best["accuracy"], 2)
        en.append(
            f"**{judge}** names the user's own reason on a share of {mine} of the turns that both found "
            f"dissatisfying, {word_en} naming blindly ({other}: {best.name})."
        )
        zh.append(
            f"在双方都不满意的轮次中，**{name_of(str(judge), 'zh')}**说出用户本人原因的比例为 {mine}，"
            f"{word_zh}不读内容的做法（{other}：{name_of(str(best.name), 'zh')}）。"
        )
    none = {
        "en": "There is no turn on which user and judge are both dissatisfied, or no reason given by train "
        "users, so agreement on reasons cannot be compared.",
        "zh": "没有用户与评判者都不满意的轮次，或训练用户没有给出原因，因此无法比较原因上的一致性。",
    }
    return {"en": " ".join(en), "zh": "".join(zh)} if en else none


def detail(frame: pd.DataFrame) -> Note:
    """Is "insufficient detail" over-predicted, as the paper says?"""
    en, zh = [], []
    own = frame[frame["reason"].isin(["insufficient detail", "不够细致"])]
    for row in own.to_dict("records"):
        given, said = f"{row['given_share']:.0%}", f"{row['said_share']:.0%}"
        if not np.isfinite(row["ratio"]):
            continue
        ratio = f"{row['ratio']:.2f}"
        interval = f" [{row['low']:.2f}, {row['high']:.2f}]" if np.isfinite(row["low"]) else ""
        is_over, is_under = row["low"] > 1, row["high"] < 1
        verdict = "over-predicted" if is_over else "under-predicted" if is_under else "not clearly biased"
        verdict_zh = "预测过多" if is_over else "预测过少" if is_under else "没有明显偏向"
        en.append(
            f"**{row['judge']}** names *insufficient detail* on {said} of these turns, users on {given}: "
            f"a ratio of {ratio}{interval}, {verdict}."
        )
        zh.append(
            f"在这些轮次中，**{name_of(row['judge'], 'zh')}**有 {said} 说*不够细致*，用户有 {given}："
            f"比值为 {ratio}{interval}，{verdict_zh}。"
        )
    none = {
        "en": "Nobody gave *insufficient detail* as a reason on these turns, so a bias towards it cannot be measured.",
        "zh": "这些轮次中没有用户以*不够细致*为原因，因此无法衡量对它的偏向。",
    }
    return {"en": " ".join(en), "zh": "".join(zh)} if en else none


def off_task(found: pd.DataFrame, moved: pd.DataFrame) -> Note:
    """How many rationales are off-task, and how far that can be trusted."""
    written = found[found["rationale"].notna()]
    decided = written[written["habit"].ge(HABIT).fillna(False).astype(bool)]
    if decided.empty:
        return {
            "en": f"Whether a rationale is off-task was not decided: it takes {HABIT} rationales on other users' "
            "replies in the same scenario to know a judge's stock phrases, and there are fewer.",
            "zh": f"没有判断理由是否离题：要知道评判者的惯用语，需要同一场景中其他用户回复上的 {HABIT} 条理由，这里不足。",
        }
    share = f"{decided['off_task'].astype(float).mean():.1%}"
    en = f"Of {len(decided):,} rationales for which it can be told, on satisfied turns too, {share} are off-task."
    zh = f"在可以判断的 {len(decided):,} 条理由中（含满意的轮次），离题的占 {share}。"
    if moved.empty:
        en += " How many would be noticed could not be tried: nobody was judged in two scenarios."
        zh += "判断的灵敏度无法检验：没有用户在两个场景中被评判。"
    for row in moved.to_dict("records"):
        found_share = f"{row['share']:.0%}"
        en += (
            f" How many would be noticed: when the rationales of **{row['judge']}** are put on a reply of another "
            f"scenario of the same user, {found_share} of {row['tried']:,} are recognised as off-task."
        )
        zh += (
            f"判断的灵敏度：把**{name_of(row['judge'], 'zh')}**的理由放到同一用户另一场景的回复上，"
            f"{row['tried']:,} 条中有 {found_share} 被认出离题。"
        )
    return {"en": en, "zh": zh}


def no_case(patterns: set[str]) -> Note:
    """Which patterns have no case to show."""
    named = [p for p in PATTERNS[:3] if p not in patterns]
    en, zh = (
        ", ".join(f"*{name_of(n, 'en')}*" for n in named),
        "、".join(f"*{name_of(n, 'zh')}*" for n in named),
    )
    if not named:
        return {"en": "There are cases of all three patterns.", "zh": "三种类型都有例子。"}
    return {
        "en": f"Among the judged replies there is no case of: {en}.",
        "zh": f"所评回复中没有这些类型的例子：{zh}。",
    }
