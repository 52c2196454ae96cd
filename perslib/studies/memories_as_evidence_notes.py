"""The page on memories as evidence in sentences with computed numbers, in English and Chinese."""

from __future__ import annotations

import pandas as pd

from perslib.metrics import number
from perslib.report.words import name_of
from perslib.studies.extent import Extent
from perslib.studies.memories_as_evidence import NOTHING, Judged, frontier
from perslib.studies.notes import Note


def chosen(found: Judged, look: Extent, model: str) -> Note:
    """What was asked, and what was left out."""
    asked = found.verdicts[found.verdicts["backbone"].notna()]
    en, zh = ([f"*{name_of(f'memory: {name}', lang)}*" for name in found.left_out] for lang in ("en", "zh"))
    left_out = {"en": "", "zh": ""}
    if found.left_out:
        left_out = {
            "en": f" Left out: {', '.join(en)}. The whole: `perslib report 09 --backbone NAME -p memories=all`.",
            "zh": f"略去的有：{'、'.join(zh)}。要看全部：`perslib report 09 --backbone 名称 -p memories=all`。",
        }
    replies, users = len(asked) // max(1, asked["judge"].nunique()), asked["user"].nunique()
    first = {
        "en": " **A first look**: it shows that every part works with a model on this machine, and measures nothing. A model so "
        "small cannot write most of the memories that are left out, and to embed what users were told takes half a minute a "
        "user on a processor.",
        "zh": "**这只是初步一览**：它表明各部分在本机模型上都能运行，但不构成测量。略去的记忆，多数是这样小的模型写不出来的；"
        "而要把用户听过的内容转成向量，在处理器上每位用户约需半分钟。",
    }
    return {
        "en": f"`{model}` scores {replies:,} replies of {users} users, once with each memory."
        + (first["en"] if look.is_first_look else "")
        + left_out["en"],
        "zh": f"`{model}` 给 {users} 位用户的 {replies:,} 条回复打分，每种记忆各一次。"
        + (first["zh"] if look.is_first_look else "")
        + left_out["zh"],
    }


def worth(agreed: pd.DataFrame, spent: pd.DataFrame) -> Note:
    """Which memories are surely worth having, and which of them nobody beats for less."""
    own = agreed[agreed["metric"] == "pearson"].set_index("judge")
    few = int(own["users"].max()) < 5
    memories = own[own.index.isin(spent["judge"]) & (own.index != NOTHING)]
    surely = memories[memories["gain_low"].gt(0) & memories["gain_p_holm"].lt(0.05)].index
    worse = memories[memories["gain_high"].lt(0) & memories["gain_p_holm"].lt(0.05)].index
    best = frontier(agreed, spent)
    en, zh = (
        {
            "surely": ", ".join(name_of(str(j), lang) for j in surely) or {"en": "none", "zh": "无"}[lang],
            "worse": ", ".join(name_of(str(j), lang) for j in worse),
            "best": " → ".join(f"{name_of(j, lang)} ({number(own.loc[j, 'value'])})" for j in best),
        }
        for lang in ("en", "zh")
    )
    if few:
        return {
            "en": "With fewer than five users there are no intervals, and no memory can be said to be ahead of another.",
            "zh": "用户少于五位时没有区间，不能说哪种记忆优于哪种。",
        }
    return {
        "en": f"Surely ahead of *no memory* in r, after Holm's correction: **{en['surely']}**"
        + (f"; surely behind: {en['worse']}" if en["worse"] else "")
        + f". From the cheapest to the dearest, those that nothing cheaper matches (r): {en['best'] or 'none'}.",
        "zh": f"经 Holm 校正，r 确实高于“无记忆”的：**{zh['surely']}**"
        + (f"；确实更低的：{zh['worse']}" if zh["worse"] else "")
        + f"。由廉到贵，没有更便宜者能及的依次为（r）：{zh['best'] or '无'}。",
    }
