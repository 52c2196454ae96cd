"""The page on replays in sentences with computed numbers, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from perslib.corpus import TURN
from perslib.metrics import number, with_interval
from perslib.report.words import name_of
from perslib.studies.notes import Note


def sets(profiles: pd.DataFrame) -> Note:
    """What the published selection does to the mean of the recorded replies."""
    mean = profiles.xs("mean gold", level="part").iloc[0]
    fives = profiles.loc[("gold", "5")]
    low = profiles.xs("gold", level="part").loc[["1", "2", "3"]].sum()
    return {
        "en": f"Users gave all turns {mean['all']:.2f} on average. The stratified set has {mean['stratified']:.2f}, the "
        f"published selection {mean['hard']:.2f}: {low['hard']:.0%} of its recorded replies were rated 3 or lower "
        f"(of all turns {low['all']:.0%}), {fives['hard']:.0%} were rated 5 (of all {fives['all']:.0%}). Whoever answers "
        "such turns anew looks like an improvement, for a bad reply is seldom followed by one as bad.",
        "zh": f"用户给全部轮次的平均分是 {mean['all']:.2f}；分层抽签所得为 {mean['stratified']:.2f}，已发表的选取法为 "
        f"{mean['hard']:.2f}：其中原回复评分不高于 3 的占 {low['hard']:.0%}（全部轮次为 {low['all']:.0%}），"
        f"评为 5 分的占 {fives['hard']:.0%}（全部为 {fives['all']:.0%}）。重新回答这样的轮次，无论是谁都像有所改进，"
        "因为差的回复之后很少再来一条同样差的。",
    }


def both(replayed: Mapping[str, pd.DataFrame]) -> Note:
    """How large the two replay sets are, and which one the page goes by."""
    lot, published = replayed["stratified"], replayed["hard"]
    shared = len(lot.merge(published[TURN], on=TURN))
    return {
        "en": f"Replayed are all {len(lot):,} turns drawn by lot and all {len(published):,} of the published selection; "
        f"{shared:,} are in both. The page goes by those drawn by lot, for only they stand for all turns; below is "
        "each set by itself.",
        "zh": f"分层抽签所得的 {len(lot):,} 轮与已发表选取法的 {len(published):,} 轮均已全部重放，其中 {shared:,} 轮同属两者。"
        "本页以抽签所得为准，因为只有它能代表全部轮次；下表分别列出两个重放集。",
    }


def first(ranks: pd.DataFrame) -> Note:
    """Who is tied for first."""
    if len(ranks) < 2:
        return {
            "en": "There is nobody to compare the recorded replies with on all of these turns; see below for what the "
            "backbone answered.",
            "zh": "在全部这些轮次上没有可与原回复比较的候选；模型的回答见下文。",
        }
    best = ranks[ranks["tied_first"].astype(bool)]["candidate"].tolist()
    en, zh = ([name_of(c, language) for c in best] for language in ("en", "zh"))
    users = int(ranks["users"].max())
    if len(best) == 1:
        return {
            "en": f"**{en[0]}** is first; the data of these {users} users rule out every other candidate.",
            "zh": f"**{zh[0]}** 居首；这 {users} 位用户的数据排除了其他候选居首的可能。",
        }
    return {
        "en": f"Tied for first, as far as these {users} users can tell: **{', '.join(en)}**.",
        "zh": f"就这 {users} 位用户而言并列第一：**{'、'.join(zh)}**。",
    }


def null(compared: pd.DataFrame, name: str) -> Note:
    """The check that the comparison itself adds nothing."""
    own = compared[compared["candidate"] == name].iloc[0]
    passed = own["tie"] == 1
    en, zh = ("as it must be", "理应如此") if passed else ("**which is wrong**", "**这是错误的**")
    return {
        "en": f"The recorded replies once more, as a candidate of their own, win {own['win']:.0%}, tie {own['tie']:.0%} "
        f"and lose {own['lose']:.0%}, {en}.",
        "zh": f"把原回复当作另一个候选再评一遍：胜 {own['win']:.0%}，平 {own['tie']:.0%}，负 {own['lose']:.0%}，{zh}。",
    }


def truth(found: pd.DataFrame) -> Note:
    """How well each judge's ranking agrees with the truth."""
    en, zh = [], []
    for row in found[found["candidates"] > 1].to_dict("records"):
        tau = with_interval(row["tau"], row["low"], row["high"], 2)
        both = row["best_agrees"] and row["worst_agrees"]
        name_en, name_zh = (name_of(row["judge"], language) for language in ("en", "zh"))
        en.append(
            f"**{name_en}**: τ = {tau}; "
            + (
                "the true best and worst come out best and worst."
                if both
                else f"it puts {row['best']} first, the truth {row['true_best']}; last {row['worst']}, the truth {row['true_worst']}."
            )
        )
        zh.append(
            f"**{name_zh}**：τ = {tau}；"
            + (
                "真正最好与最差的候选恰好排在首末。"
                if both
                else f"它把 {row['best']} 排在首位（真实为 {row['true_best']}），{row['worst']} 排在末位（真实为 {row['true_worst']}）。"
            )
        )
    if not en:
        return {
            "en": "Of these candidates the truth is not known.",
            "zh": "这些候选的真实情况无从知道。",
        }
    return {"en": " ".join(en), "zh": "".join(zh)}


def told(left_out: int, repeated: int, asked: int, turns: int) -> Note | None:
    """What of the replies is not on the page, if anything."""
    en, zh = [], []
    if left_out:
        en.append(f"{left_out:,} turns are left out, since not every candidate answers them.")
        zh.append(f"有 {left_out:,} 轮并非每个候选都回答，未计入。")
    if repeated:
        en.append(
            f"{repeated:,} lines of the files came twice or could not be used; of equal ones the last counts."
        )
        zh.append(f"文件中有 {repeated:,} 行重复或不可用；重复者以最后一行为准。")
    if 0 < asked < turns:
        en.append(
            f"The backbone answers {asked:,} of the {turns:,} turns; its contexts are compared on these, below."
        )
        zh.append(f"模型回答了 {turns:,} 轮中的 {asked:,} 轮；其各种上下文在下文中就这些轮次比较。")
    return {"en": " ".join(en), "zh": "".join(zh)} if en else None


def power(needed: pd.DataFrame, one: str, other: str) -> Note:
    """How many users it takes to tell two candidates apart."""
    (one, other), (first_zh, second_zh) = (
        [name_of(c, language) for c in (one, other)] for language in ("en", "zh")
    )
    row = needed.iloc[(needed["turns_per_user"] - 3).abs().argmin()]
    if pd.isna(row["users"]):
        return {
            "en": f"{one} and {other} do not differ here, so that no number of users would tell them apart.",
            "zh": f"{first_zh} 与 {second_zh} 在此没有差别，再多用户也分不出来。",
        }
    return {
        "en": f"{one} and {other} differ by {number(abs(row['difference']), 2)} points, users weighted alike. To find such a difference in four "
        f"runs of five takes {int(row['users'])} users with {int(row['turns_per_user'])} turns each.",
        "zh": f"{first_zh} 与 {second_zh} 相差 {number(abs(row['difference']), 2)} 分。要在五次中有四次发现这样的差别，"
        f"每位用户 {int(row['turns_per_user'])} 轮时需要 {int(row['users'])} 位用户。",
    }


def own_judges(pairs: list[tuple[str, str]]) -> Note:
    """Whether a candidate's own model sits in judgment."""
    if not pairs:
        return {
            "en": "No candidate is judged by its own model.",
            "zh": "没有候选由自己的模型评判。",
        }
    en = "; ".join(f"{candidate} (by {judge})" for candidate, judge in pairs)
    zh = "；".join(f"{candidate}（评判者 {judge}）" for candidate, judge in pairs)
    return {
        "en": f"**Judged by their own model: {en}.** Read their standing with care, or name another `judge_backbone`.",
        "zh": f"**由自己的模型评判：{zh}。** 其名次须慎读，或另指定 `judge_backbone`。",
    }


def look(turns: int) -> Note:
    """That a first look measures nothing."""
    return {
        "en": f"**A first look**: a model on this machine answers {turns} turns in each context, in a few words. It shows "
        "that every part works and measures nothing; name a stronger backbone, or set `limit`.",
        "zh": f"**这只是初步一览**：本机模型在每种上下文中只回答 {turns} 轮，且篇幅很短。它只表明各部分都能运行，不构成测量；"
        "要得到结果，请换用更强的模型，或设置 `limit`。",
    }
