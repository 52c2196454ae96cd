"""Sentences with computed numbers in them, in English and Chinese."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from perslib.metrics import number

Note = dict[str, str]


def controls(agreed: pd.DataFrame, names: Sequence[str]) -> Note:
    """How far one gets without reading a reply, and who gets further."""
    own = agreed[(agreed["metric"] == "pearson") & agreed["value"].notna()]
    control = own[own["judge"].isin(names)].sort_values("value").iloc[-1]
    within = agreed[(agreed["metric"] == "wc_pearson") & (agreed["score"] == "real")]
    best = within.sort_values("value").iloc[-1]
    better = own[own["gain_low"].gt(0)]["judge"].drop_duplicates().tolist()
    r, w = number(control["value"]), number(best["value"])
    named = ", ".join(better) or "none"
    return {
        "en": f"Without reading a reply one gets to r = {r} ({control['judge']}). Judges whose r is above the best "
        f"control, with an interval that leaves out zero: **{named}**. Within users the furthest is "
        f"{best['judge']} with r = {w}.",
        "zh": f"不读回复就能达到 r = {r}（{control['judge']}）。r 高于最好对照且区间不含零的评判者："
        f"**{'、'.join(better) or '无'}**。用户内一致性最高的是 {best['judge']}，r = {w}。",
    }


def scored(asked: pd.DataFrame) -> Note:
    """How many replies were judged, and what became of the others."""
    replies = len(asked[["user", "scenario", "session", "turn"]].drop_duplicates())
    users = asked["user"].nunique()
    unscored = asked[asked["raw"].isna()]
    en = f"{replies:,} replies of {users} users, judged by {asked['judge'].nunique()} judges. "
    zh = f"{users} 位用户的 {replies:,} 条回复，由 {asked['judge'].nunique()} 个评判者评判。"
    if unscored.empty:
        return {"en": en + "Every one of them was scored.", "zh": zh + "全部得到了分数。"}
    why = unscored["error"].fillna("?").str.slice(0, 80).value_counts()
    share = f"{len(unscored):,} of {len(asked):,}"
    return {
        "en": en + f"{share} verdicts are unscored (mostly: {why.index[0]}). They are left out, and counted.",
        "zh": zh
        + f"{len(asked):,} 个评判中有 {len(unscored):,} 个没有分数（多为：{why.index[0]}），不计入但计数。",
    }
