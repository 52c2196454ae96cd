"""Sentences with computed numbers in them, in English and Chinese."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from perslib.corpus import TURN
from perslib.metrics import number
from perslib.report import name_of
from perslib.studies.extent import Extent

Note = dict[str, str]


def controls(agreed: pd.DataFrame, names: Sequence[str]) -> Note:
    """How far one gets without reading a reply, and who gets further."""
    own = agreed[(agreed["metric"] == "pearson") & agreed["value"].notna()]
    control = own[own["judge"].isin(names)].sort_values("value").iloc[-1]
    within = agreed[(agreed["metric"] == "wc_pearson") & agreed["value"].notna()]
    best = within.sort_values("value").iloc[-1]
    better = own[own["gain_low"].gt(0)]["judge"].drop_duplicates().tolist()
    r, w = number(control["value"]), number(best["value"])
    en, zh = ([name_of(judge, language) for judge in better] for language in ("en", "zh"))
    return {
        "en": f"Without reading a reply one gets to r = {r} ({name_of(control['judge'])}). Judges whose gain over "
        f"the best control in r has an interval above zero: **{', '.join(en) or 'none'}**. Within users the "
        f"furthest is {name_of(best['judge'])} with r = {w}.",
        "zh": f"不读回复就能达到 r = {r}（{name_of(control['judge'], 'zh')}）。r 高于最好对照、且差值的区间在零以上的评判者："
        f"**{'、'.join(zh) or '无'}**。用户内一致性最高的是{name_of(best['judge'], 'zh')}，r = {w}。",
    }


def scored(asked: pd.DataFrame) -> Note:
    """How many replies were judged, and what became of the others."""
    replies = len(asked[TURN].drop_duplicates())
    users = asked["user"].nunique()
    unscored = asked[asked["raw"].isna()]
    judges = asked["judge"].nunique()
    by = "one judge" if judges == 1 else f"{judges} judges"
    en = f"{replies:,} replies of {users} users, judged by {by}. "
    zh = f"{users} 位用户的 {replies:,} 条回复，由 {judges} 个评判者评判。"
    if unscored.empty:
        return {"en": en + "Every one of them was scored.", "zh": zh + "全部得到了分数。"}
    why = unscored["error"].fillna("?").str.slice(0, 80).value_counts()
    share = f"{len(unscored):,} of {len(asked):,}"
    return {
        "en": en + f"{share} verdicts are unscored (mostly: {why.index[0]}). They are left out, and counted.",
        "zh": zh
        + f"{len(asked):,} 个评判中有 {len(unscored):,} 个没有分数（多为：{why.index[0]}），不计入但计数。",
    }


def reach(asked: pd.DataFrame, look: Extent) -> Note:
    """What can be concluded from so many replies."""
    users = asked["user"].nunique()
    if look.is_first_look:
        return {
            "en": "**A first look.** It shows that every part works with a model on this machine, and measures nothing: "
            f"intervals over {users} users mean little, and the judges are shown the request alone before each reply. "
            "For results name a stronger backbone, or set `limit`.",
            "zh": f"**这只是初步一览**：它表明各部分在本机模型上都能运行，但不构成测量：只有 {users} 位用户，区间没有多少意义，"
            "评判者也只看到回复之前的那条请求。要得到结果，请换用更强的模型，或设置 `limit`。",
        }
    few = users < 20
    return {
        "en": f"With {users} users "
        + (
            "intervals are wide; take small differences for nothing."
            if few
            else "intervals over users hold well."
        ),
        "zh": f"共 {users} 位用户，"
        + ("区间较宽，小的差别不足为凭。" if few else "对用户重抽样的区间是可靠的。"),
    }
