"""Sentences of the ablations that have computed numbers in them, in English and Chinese."""

from __future__ import annotations

import pandas as pd

from perslib.corpus import Corpus
from perslib.inference import FEWEST_USERS
from perslib.metrics import number
from perslib.report import name_of
from perslib.studies.notes import Note
from perslib.studies.verification import CONTROLS


def ties(agreed: pd.DataFrame, corpus: Corpus, judge: str = "constant 4") -> Note:
    """What the published tie rule lends to a judge that says the same of every reply."""
    own = agreed[agreed["judge"] == judge].set_index(["score", "metric"])["value"].astype(float)
    r, within = (
        {rule: number(own[rule, metric]) for rule in ("turn_index", "random", "expected")}
        for metric in ("pearson", "wc_pearson")
    )
    lent = own["turn_index", "pearson"] - own["random", "pearson"]
    headline = (
        ("**The tie rule alone makes a judge.** ", "**并列规则本身就能造出一个评判者**。")
        if lent > 0.02
        else ("", "")
    )
    rated = corpus.turns.dropna(subset="score")
    rated = rated[rated["user"].isin(corpus.split().get("test", []))]
    is_first = rated["turn"] == 0
    first, later = (f"{float(rated.loc[part, 'score'].mean()):.2f}" for part in (is_first, ~is_first))
    return {
        "en": f"{headline[0]}A judge that gives every reply a 4 reaches r = {r['turn_index']} "
        f"when ties go by the number of the turn, and r = {r['random']} when the same scores are dealt out by lot; "
        f"within users it is {within['turn_index']} against {within['random']}. What the two differ by is no judgment: "
        f"first replies are rated {first} on average and later ones {later}, and the published rule gives "
        f"earlier replies the lower scores. Even without any position r stays at {r['expected']}, which is the user's "
        "own level and nothing more.",
        "zh": f"{headline[1]}对每条回复都打 4 分的评判者，若并列按轮次先后排定，r = {r['turn_index']}；"
        f"若把同样的分数随机分配，r = {r['random']}；用户内 r 则为 {within['turn_index']} 与 {within['random']}。二者之差不含任何判断："
        f"首轮回复的平均评分为 {first}，其后为 {later}，而已发布的规则把较低的分数给了较早的回复。"
        f"即使完全不用位置，r 仍有 {r['expected']}，那只是用户自己的打分水平。",
    }


def ways(agreed: pd.DataFrame) -> Note:
    """How far calibration takes those who read nothing, and how far those who read."""
    said = {}
    for metric in ("qwk", "f1_dsat"):
        own = agreed[(agreed["metric"] == metric) & agreed["value"].notna()].sort_values("value")
        blind = own["judge"].isin(CONTROLS)
        said[metric] = (
            own[blind].iloc[-1],
            own[~blind].iloc[-1],
            own[~blind & (own["score"] == "real")].iloc[-1],
        )

    def sentence(language: str, metric: str) -> str:
        blind, best, given = said[metric]
        name = {
            k: name_of(v, language) for k, v in {"m": metric, "b": blind["judge"], "j": best["judge"]}.items()
        }
        by = {k: name_of(v["score"], language) for k, v in {"b": blind, "j": best}.items()}
        best_value, blind_value, given_value = (number(row["value"]) for row in (best, blind, given))
        if language == "zh":
            return (
                f"{name['m']}：不读回复者最高 {blind_value}（{name['b']}，{by['b']}）；读回复者最高 {best_value}"
                f"（{name['j']}，{by['j']}），其原始分最高只有 {given_value}。"
            )
        return (
            f"{name['m']}: without reading a reply at most {blind_value} ({name['b']}, {by['b']}); with reading "
            f"{best_value} ({name['j']}, {by['j']}), where scores as given reach {given_value}."
        )

    return {
        "en": " ".join(sentence("en", m) for m in said)
        + " Each is the best of many on the users under test and so a little flattered; the intervals tell how much to make of it.",
        "zh": "".join(sentence("zh", m) for m in said)
        + "二者都是在测试用户上从多种方式中取的最好结果，因而略有高估；请结合区间来看。",
    }


def sets(found: pd.DataFrame) -> Note:
    """What sets hold, and from where on nothing can be promised."""
    users = int(found["learned_from"].max())
    reach = users / (users + 1)
    useful = found[found["stated"] < reach]
    en = f"{users} train users stand behind the sets. "
    zh = f"这些集合依据 {users} 位训练用户得出。"
    if reach <= found["stated"].max():
        en += f"From {reach:.2f} on so few users can promise nothing, and sets hold almost all five scores. "
        zh += f"从 {reach:.2f} 起，这么少的用户无法作出任何保证，集合几乎包含全部五个分数。"
    if useful.empty:
        return {"en": en, "zh": zh}
    level = useful["stated"].max()
    at = useful[useful["stated"] == level].sort_values("size")
    best = at.iloc[0]
    short = found[found["high"] < found["stated"]]
    en += (
        f"At a stated {level:.0%} the smallest sets are those of {name_of(best['judge'])}: {best['size']:.1f} scores on "
        f"average, and they hold {best['covered']:.0%} of the scores. "
    )
    zh += (
        f"声明覆盖率为 {level:.0%} 时，集合最小的是{name_of(best['judge'], 'zh')}：平均 {best['size']:.1f} 个分数，"
        f"实际包含 {best['covered']:.0%} 的评分。"
    )
    names = list(dict.fromkeys(short["judge"]))
    if names:
        en += f"Clearly below what they state: {', '.join(name_of(n) for n in names)}."
        zh += f"明显低于声明值的有：{'、'.join(name_of(n, 'zh') for n in names)}。"
    return {"en": en, "zh": zh}


def changes(found: pd.DataFrame) -> Note:
    """Which variants differ from the base beyond chance."""
    users = int(found["users"].max()) if len(found) else 0
    if users < FEWEST_USERS:
        return {
            "en": f"Differences between variants are not tested: {users} users with scores are too few for it.",
            "zh": f"未对变体之间的差异作检验：有分数的用户只有 {users} 位，太少。",
        }
    sure = found[found["p_holm"] < 0.05]

    def listed(language: str) -> list[str]:
        rows = sure.to_dict("records")
        names = [[name_of(row[c], language) for c in ("judge", "metric", "score")] for row in rows]
        return [f"{j} ({m}, {s}) {number(row['value'])}" for (j, m, s), row in zip(names, rows)]

    en, zh = listed("en"), listed("zh")
    return {
        "en": "Differences from the base that stand after Holm's correction: "
        + ("; ".join(en[:12]) or "**none**")
        + ".",
        "zh": "经 Holm 校正后仍成立的与基准之差：" + ("；".join(zh[:12]) or "**无**") + "。",
    }
