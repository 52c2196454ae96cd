"""The page on patience against ratings in sentences with computed numbers, in English and Chinese."""

from __future__ import annotations

import pandas as pd

from perslib.metrics import number, with_interval
from perslib.report.words import name_of
from perslib.studies.notes import Note
from perslib.studies.patience_and_satisfaction import BUDGET, RIDGE, USER, Ended, F, foretold


def endings(known: Ended, least: float) -> Note:
    """What is learned from."""
    total = len(known.dialogues)
    share = known.successes / total if total else 0.0
    en, zh = {
        "last rating": (f"the last reply was rated {least:g} or more", f"最后一条回复的评分不低于 {least:g}"),
        "session rating": (
            f"the whole session was rated {least:g} or more",
            f"整段对话的评分不低于 {least:g}",
        ),
        "recorded": ("the corpus records that the task was accomplished", "语料记录任务已完成"),
        "behaviour": (
            f"what followed the last reply votes for a score of {least:g} or more (no rating is used)",
            f"最后一条回复之后的行为支持不低于 {least:g} 的评分（不用任何评分）",
        ),
    }[known.how]
    left_out = known.how == "last rating"
    return {
        "en": f"{total} dialogues; {share:.0%} are taken for successes, which here means that {en}. "
        + ("That last turn is left out of every comparison below. " if left_out else "")
        + (
            ""
            if known.both_ways
            else "**One way to end is too rare to learn from**; try another `success` or `satisfied`."
        ),
        "zh": f"共 {total} 段对话，其中 {share:.0%} 算作成功，这里指{zh}。"
        + ("这最后一轮不进入以下任何比较。" if left_out else "")
        + (
            ""
            if known.both_ways
            else "**其中一种结局太少，无从学习**；请换一种 `success` 或改动 `satisfied`。"
        ),
    }


def found(frame: pd.DataFrame, table: pd.DataFrame, holds: float) -> Note:
    """Whether what was learned from outcomes is satisfaction."""
    own = table.set_index(["judge", "metric"])

    def cell(name: str, metric: str = "pearson") -> str:
        return with_interval(*own.loc[(name, metric), ["value", "low", "high"]].astype(float))

    f = own.loc[(F, "wc_pearson")]
    right = foretold(frame)
    # A fit that cannot tell how unseen dialogues end has learned nothing from outcomes, whatever its f goes with.
    learned = bool(f["gain_low"] > 0 and right[1] > 0.5)
    near = f["value"] / own.loc[(RIDGE, "wc_pearson"), "value"] if (RIDGE, "wc_pearson") in own.index else 0.0
    rise = own.loc[("turn number alone", "wc_pearson")]
    en_rise = "rise" if rise["high"] < 0 else "fall" if rise["low"] > 0 else "neither rise nor fall surely"
    zh_rise = "上升" if rise["high"] < 0 else "下降" if rise["low"] > 0 else "没有确实的升降"
    follows = bool(own.loc[(BUDGET, "wc_pearson"), "low"] > 0)
    control = str(f["control"])
    share = float((frame.drop_duplicates("dialogue")["status"] == 1).mean())
    same = share**2 + (1 - share) ** 2
    return {
        "en": f"**Turn satisfaction** f goes with the users' ratings at r = {cell(F)}, within users {cell(F, 'wc_pearson')}. "
        f"The best control that does not know the outcome, *{name_of(control)}*, has {cell(control, 'wc_pearson')} within users; "
        + (
            "f is surely ahead of it and outcomes are foretold, so something of satisfaction is learned from outcomes alone"
            if learned
            else "f is not surely ahead of it while outcomes are foretold, so **no more of satisfaction is shown to be learned "
            "than comes without knowing how dialogues ended**"
        )
        + f". (Dealt at random, {same:.0%} of the outcomes are still the true ones.) Taught the ratings themselves, the same features reach {cell(RIDGE, 'wc_pearson') if near else '–'}. The budget "
        f"at the end foretells the outcome of unseen dialogues with a balanced accuracy of {with_interval(*right, 2)} (chance: .50).\n\n"
        f"**The remaining budget** has r = {cell(BUDGET)}, within users {cell(BUDGET, 'wc_pearson')}. A budget can only fall; "
        f"in the course of these dialogues ratings {en_rise}. "
        + ("It goes with ratings all the same" if follows else "It is no stand-in for the rating of a turn")
        + ".\n\n"
        f"**Can the method do it at all**? On as many dialogues of simulated people who do leave when their patience is used "
        f"up, the same fit reaches r = {number(holds)} with what each turn truly took. What it needs is that people leave "
        "*because* of what the turns before have cost them.",
        "zh": f"**轮次满意度** f 与用户评分的相关为 r = {cell(F)}，用户内为 {cell(F, 'wc_pearson')}。不知成败的最好对照“{name_of(control, 'zh')}”"
        f"的用户内 r 为 {cell(control, 'wc_pearson')}；"
        + (
            "f 确实高于它，也能预测成败，可见只凭成败也能学到一些满意度"
            if learned
            else "f 没有做到既确实高于它、又能预测成败，因此**没有证据表明，从成败中学到的满意度多于不知成败时所能得到的**"
        )
        + f"。（打乱之后仍有 {same:.0%} 的成败与真实相同。）若直接以评分来教，同样的特征可达 {cell(RIDGE, 'wc_pearson') if near else '–'}。以结束时的预算预测未见对话的成败，"
        f"平衡准确率为 {with_interval(*right, 2)}（随机为 .50）。\n\n"
        f"**剩余预算**的 r = {cell(BUDGET)}，用户内为 {cell(BUDGET, 'wc_pearson')}。预算只会减少，而在这些对话的进程中评分{zh_rise}。"
        + ("即便如此，它仍与评分一致" if follows else "它不能代替对单轮的评分")
        + "。\n\n"
        f"**方法本身做得到吗**？换成同样数量的模拟对话，其中的人确实在耐心用完时离开，同样的拟合与每轮真实代价的相关为 "
        f"r = {number(holds)}。它所需要的前提是：人们离开，*正是因为*先前各轮的消耗。",
    }


def persons(table: pd.DataFrame) -> Note:
    """What it changes to let people bring different patience."""
    own = table[table["metric"] == "pearson"].set_index("judge")
    if F + USER not in own.index:
        return {
            "en": "Users hardly come back in this corpus, so a fit cannot know them: patience was not conditioned on the user.",
            "zh": "本语料中的用户很少再次出现，拟合无从认识他们，因此没有以用户为条件估计耐心。",
        }
    values = [
        with_interval(*own.loc[name, ["value", "low", "high"]].astype(float))
        for name in (BUDGET, BUDGET + USER)
    ]
    better = own.loc[BUDGET + USER, "value"] - own.loc[BUDGET, "value"]
    return {
        "en": f"Where each user may bring patience of their own, the budget's pooled r goes from {values[0]} to {values[1]}, a "
        f"change of {number(better)}. Who is patient is not the same as who rates high: only the first can be read off outcomes.",
        "zh": f"若允许每位用户的耐心各不相同，预算的合并 r 从 {values[0]} 变为 {values[1]}，变化 {number(better)}。"
        "耐心大的人未必打分高，而从成败中只能看出前者。",
    }
