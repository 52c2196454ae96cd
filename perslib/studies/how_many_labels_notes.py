"""The page on label budgets in sentences with computed numbers, in English and Chinese."""

from __future__ import annotations

import numpy as np
import pandas as pd

from perslib.corpus import TURN
from perslib.inference import FEWEST_USERS, LEVEL
from perslib.metrics import number
from perslib.studies.how_many_labels import PARTIAL, SHUFFLED
from perslib.studies.how_many_labels_draws import ALONE, BOTH, LABELS, PLAIN, middling
from perslib.studies.notes import Note

#: The best candidate is to be found this often.
OFTEN = 0.9


def known(rated: pd.DataFrame, quality: pd.DataFrame) -> Note:
    """Who is drawn from, and what the judge knows of them."""
    turns = len(rated.drop_duplicates(TURN))
    users, many = rated["user"].nunique(), len(quality)
    low, high = quality["r_users"].min(), quality["r_users"].max()
    between = quality.attrs["r_differences"]
    en = (
        f"{users} users rated {len(rated):,} replies to {turns:,} turns, of {many} candidate{'s' * (many != 1)}. Over users' "
        f"means the judge {_range(low, high)} with people"
    )
    zh = (
        f"{users} 位用户给 {turns:,} 轮中的 {len(rated):,} 条回复打了分，候选 {many} 个。就用户均值而言，评判者与人的相关为 "
        f"{number(low, 2)} 到 {number(high, 2)}"
    )
    if np.isfinite(between):
        en += f"; over the differences between two candidates of the same user r = {number(between, 2)}."
        zh += f"；就同一用户对两个候选的评分差而言，r = {number(between, 2)}。"
        if low - between > 0.05:
            en += (
                " It knows better how generous a user is than whose reply the user likes better. The first helps with a "
                "mean, and cancels in a difference."
            )
            zh += "它更清楚一位用户打分有多宽，不那么清楚这位用户更喜欢谁的回复；前者有助于估计均值，在差值里却会抵消。"
    else:
        en, zh = en + ".", zh + "。"
    return {"en": en, "zh": zh}


def _range(low: float, high: float) -> str:
    if number(low, 2) == number(high, 2):
        return f"correlates at {number(low, 2)}"
    return f"correlates at {number(low, 2)} to {number(high, 2)}, by candidate,"


def budgets(measured: pd.DataFrame) -> Note:
    """Width, coverage and worth at a middling budget, and what the judge's word alone would be."""
    held = measured[measured["method"].isin([LABELS, BOTH]) & measured["holds_truth"].notna()]
    alone = _at(measured, middling(measured), ALONE)
    en_alone = (
        f"The judge's own mean, without any label, has an interval {alone['interval_width']:.2f} wide that holds the truth in "
        f"{alone['holds_truth']:.0%} of cases: it is off by {alone['bias']:.2f} points on average, and errs as the labels of "
        f"{alone['worth']:.1f} users would."
    )
    zh_alone = (
        f"完全不用标注、只看评判者的均值，区间宽 {alone['interval_width']:.2f}，只有 {alone['holds_truth']:.0%} 的情形覆盖真值："
        f"它平均偏离 {alone['bias']:.2f} 分，误差与 {alone['worth']:.1f} 位用户的标注相当。"
    )
    if held.empty:
        return {
            "en": f"No budget here reaches {FEWEST_USERS} labelled users, and below that there are no intervals. {en_alone}",
            "zh": f"这里没有一个预算达到 {FEWEST_USERS} 位标注用户，不足此数没有区间。{zh_alone}",
        }
    k = middling(measured)
    labels, both = (_at(measured, k, method) for method in (LABELS, BOTH))
    narrower = both["interval_width"] / labels["interval_width"] - 1
    low, high = held["holds_truth"].min(), held["holds_truth"].max()
    worst = held.loc[held["holds_truth"].idxmin()]
    verdict = (
        "a little short of 95 %, as intervals from few users are",
        "略低于 95%，用户少时通常如此",
    )
    if worst["holds_truth_high"] >= LEVEL - 0.005:
        verdict = ("as promised, as far as this number of studies can tell", "就这么多次研究而言，与所称相符")
    elif LEVEL - low > 0.05:
        verdict = (
            "**short of 95 %**: so few users say too little of how users differ",
            "**明显低于 95%**：用户太少，不足以看出用户之间的差别",
        )
    least = int(worst["labelled"])
    change_en = f"{abs(narrower):.0%} {'narrower' if narrower < 0 else 'wider'}"
    change_zh = f"{'窄' if narrower < 0 else '宽'} {abs(narrower):.0%}"
    return {
        "en": f"With {k} labelled users the interval of a candidate's mean is {labels['interval_width']:.2f} points wide by labels "
        f"alone, and {both['interval_width']:.2f} with the judge, {change_en}: {k} users do the work of {both['worth']:.0f} "
        f"[{both['worth_low']:.0f}, {both['worth_high']:.0f}]. Over all budgets such intervals hold the truth in {low:.0%} to "
        f"{high:.0%} of cases (least with {least} users), {verdict[0]}. {en_alone}",
        "zh": f"标注 {k} 位用户时，仅用标注，候选均值的区间宽 {labels['interval_width']:.2f} 分；加上评判者为 "
        f"{both['interval_width']:.2f} 分，{change_zh}：{k} 位用户抵得上 {both['worth']:.0f} "
        f"[{both['worth_low']:.0f}, {both['worth_high']:.0f}] 位。在所有预算下，这类区间有 {low:.0%} 到 {high:.0%} 覆盖真值（标注 {least} 位时最低），"
        f"{verdict[1]}。{zh_alone}",
    }


def ranking(measured: pd.DataFrame) -> Note:
    """From how many labels on the best candidate is found, and what the judge adds to that."""
    if "best" not in measured or measured["best"].isna().all():
        return {
            "en": "There is one candidate only, and nothing to rank.",
            "zh": "只有一个候选，无从排名。",
        }
    needed = {method: _first(measured, method) for method in (LABELS, BOTH)}
    en, zh = _needed(needed, int(measured["labelled"].max()))
    alone = _at(measured, middling(measured), ALONE)
    k = middling(measured)
    both, labels = _at(measured, k, BOTH), _at(measured, k, LABELS)
    overlap = both["best_low"] <= labels["best_high"] and labels["best_low"] <= both["best_high"]
    said_en = (
        f"To find the best candidate in nine of ten studies takes {en}"
        + (
            f"; at {k} the two differ by no more than the number of studies leaves open. "
            if overlap
            else ". "
        )
        + f"The judge alone finds it in {alone['best']:.0%}, with τ = {number(alone['tau'], 2)} to the true order. "
    )
    said_zh = (
        f"要在十次研究中有九次找到最佳候选，{zh}"
        + (f"；标注 {k} 位时，两者之差不超出研究次数所能分辨的范围。" if overlap else "。")
        + f"只凭评判者，有 {alone['best']:.0%} 的研究找到它，与真实次序的 τ = {number(alone['tau'], 2)}。"
    )
    if "worth_pairs" not in measured:
        return {
            "en": said_en
            + "The candidates answered different turns, so that their differences have no interval here.",
            "zh": said_zh + "各候选回答的轮次不同，因此这里没有差值的区间。",
        }
    if alone["wrong"] > 0.05:
        said_en += f"But {alone['wrong']:.0%} of its intervals of differences lie on the wrong side of zero: it is sure, and wrong. "
        said_zh += f"但它给出的差值区间有 {alone['wrong']:.0%} 落在零的错误一侧：既有把握，又是错的。"
    gain = both["worth_pairs"] / k
    degree = 0 if gain < 1.05 else 1 if gain < 1.5 else 2
    for_en = ("hardly helps to", "helps a little to", "helps much to")[degree]
    for_zh = ("几乎无助于", "略有助于", "很有助于")[degree]
    if np.isfinite(labels.get("apart", np.nan)):
        told_en = f"; {labels['apart']:.0%} of pairs are told apart by labels alone, {both['apart']:.0%} with the judge"
        told_zh = f"；仅用标注能正确分辨 {labels['apart']:.0%} 的候选对，加上评判者为 {both['apart']:.0%}"
    else:
        told_en = told_zh = ""
    return {
        "en": said_en
        + f"Beside labels the judge {for_en} compare candidates: for a difference {k} users do the work of "
        f"{both['worth_pairs']:.1f} [{both['worth_pairs_low']:.1f}, {both['worth_pairs_high']:.1f}]{told_en}.",
        "zh": said_zh
        + f"在标注之外，评判者{for_zh}比较候选：就差值而言，{k} 位用户抵得上 {both['worth_pairs']:.1f} "
        f"[{both['worth_pairs_low']:.1f}, {both['worth_pairs_high']:.1f}] 位{told_zh}。",
    }


def controls(measured: pd.DataFrame) -> Note:
    """Where a judge hurts."""
    k = int(measured["labelled"].iloc[0])
    by = measured.dropna(subset="judge").set_index(["judge", "method"])
    tuned, plain = by.loc[(SHUFFLED, BOTH), "worth"], by.loc[(SHUFFLED, PLAIN), "worth"]
    spared = 1 - (k - tuned) / (k - plain) if plain < k else np.nan
    en = (
        f"A judge that knows nothing (each user is dealt another's scores) turns the {k} labelled users into {tuned:.1f}, and into {plain:.1f} if "
        "it is believed outright (λ = 1, the first published form)"
        + (f": tuning λ spares {spared:.0%} of that loss. " if 0 < spared < 1 else ". ")
        + "One that always gives the same score changes nothing. "
    )
    zh = (
        f"一无所知的评判者（每位用户分到的是别人的评分）把 {k} 位标注用户变成 {tuned:.1f} 位；若照单全收（λ = 1，即最初发表的形式），则变成 "
        f"{plain:.1f} 位"
        + (f"：调节 λ 避免了其中 {spared:.0%} 的损失。" if 0 < spared < 1 else "。")
        + "总给同一分的评判者不改变任何结果。"
    )
    if (PARTIAL, ALONE) in by.index:
        first = by.index[0][0]
        alone, both = by.loc[(PARTIAL, ALONE)], by.loc[(PARTIAL, BOTH)]
        same = abs(both["interval_width"] - by.loc[(first, BOTH), "interval_width"]) < 1e-6
        en += f"One partial to the worst candidate finds the best in {alone['best']:.0%} of studies alone; beside labels "
        zh += f"偏袒最差者的评判者，单独使用时有 {alone['best']:.0%} 的研究找到最佳；与标注合用时"
        en += (
            "it is worth exactly as much as without its leaning, for what it adds stands on both sides."
            if same
            else f"in {both['best']:.0%}."
        )
        zh += "则与不偏袒时完全一样，因为它多给的分在两侧都有。" if same else f"为 {both['best']:.0%}。"
    return {"en": en, "zh": zh}


def selected(measured: pd.DataFrame) -> Note:
    """What asking where the judge scored low does."""
    by = measured.set_index(["chosen", "method"])
    fair, low = by.loc[("by lot", LABELS)], by.loc[("by low scores", LABELS)]
    both = by.loc[("by low scores", BOTH)]
    if not np.isfinite(fair["holds_truth"]):
        return {
            "en": "With so few labelled users there are no intervals to compare.",
            "zh": "标注用户太少，没有区间可比。",
        }
    rescued = low["holds_truth"] + 0.05 < both["holds_truth"]
    return {
        "en": f"Labels by lot: {fair['holds_truth']:.0%} of intervals hold the truth. Labels where the judge scored low: "
        f"{low['holds_truth']:.0%} by labels alone, {both['holds_truth']:.0%} with the judge, off by {low['bias']:.2f} and "
        f"{both['bias']:.2f} points. "
        + ("The judge takes part of the harm away, for it knows who was asked; " if rescued else "")
        + "whom to ask must be left to chance.",
        "zh": f"抽签标注：{fair['holds_truth']:.0%} 的区间覆盖真值。专挑评判者给分低的用户标注：仅用标注为 {low['holds_truth']:.0%}，"
        f"加上评判者为 {both['holds_truth']:.0%}，分别偏离 {low['bias']:.2f} 与 {both['bias']:.2f} 分。"
        + ("评判者知道问了谁，因此挽回了一部分；" if rescued else "")
        + "请谁标注，必须由抽签决定。",
    }


def _needed(found: dict[str, int | None], tried: int) -> tuple[str, str]:
    """How many labelled users it takes, in English and Chinese."""
    numbers = [found[LABELS], found[BOTH]]
    en = [
        f"more than the {tried} labelled users tried" if k is None else f"{k} labelled users" for k in numbers
    ]
    zh = [f"超过所试的 {tried} 位标注用户" if k is None else f"{k} 位标注用户" for k in numbers]
    if en[0] == en[1]:
        return (
            f"{en[0]}, with the judge or without",
            f"有无评判者都需要{' ' * (numbers[0] is not None)}{zh[0]}",
        )
    space = [" " * (k is not None) for k in numbers]
    return (
        f"{en[0]} by labels alone, {en[1]} with the judge",
        f"仅用标注需要{space[0]}{zh[0]}，加上评判者需要{space[1]}{zh[1]}",
    )


def _at(measured: pd.DataFrame, labelled: int, method: str) -> pd.Series:
    return measured[(measured["labelled"] == labelled) & (measured["method"] == method)].iloc[0]


def _first(measured: pd.DataFrame, method: str) -> int | None:
    """The least budget from which on the best candidate is found often."""
    own = measured[measured["method"] == method].sort_values("labelled")
    fails = np.flatnonzero(~(own["best"] >= OFTEN).to_numpy())
    start = fails[-1] + 1 if len(fails) else 0
    return int(own["labelled"].iloc[start]) if start < len(own) else None
