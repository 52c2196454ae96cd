"""The page on judge bias in sentences with computed numbers, in English and Chinese."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from perslib.metrics import number
from perslib.report.words import name_of
from perslib.studies.judge_bias import Audit
from perslib.studies.notes import Note
from perslib.ux import REWARD_MODEL

#: Shares of accuracy that a threshold brings and that are worth a word.
A_LOT = 0.05


def mildness(table: pd.DataFrame) -> Note:
    """How mild the zero-shot judges are."""
    own = table[table["model"] != REWARD_MODEL]
    bias = own["positive_bias"]
    mildest, strictest = own.loc[bias.idxmax(), "model"], own.loc[bias.idxmin(), "model"]
    return {
        "en": f"All {len(own)} zero-shot judges recognise good cases better than bad ones, by {bias.min():.1f} points "
        f"({strictest}) to {bias.max():.1f} ({mildest}), on average {bias.mean():.1f}: left to themselves they say *good*.",
        "zh": f"{len(own)} 个零样本评判者对好例的识别率全都高于坏例，差距从 {bias.min():.1f} 个百分点（{strictest}）到 "
        f"{bias.max():.1f}（{mildest}），平均 {bias.mean():.1f}：不加引导时，它们总倾向于说“好”。",
    }


def sensitivity(table: pd.DataFrame) -> Note:
    """How much of the trained judge's lead is a threshold."""
    own, trained = table[table["model"] != REWARD_MODEL], table[table["model"] == REWARD_MODEL].iloc[0]
    with_c, with_d = own["accuracy"].corr(own["criterion"]), own["accuracy"].corr(own["d_prime"])
    equal = int((own["d_prime"] >= trained["d_prime"]).sum())
    best = own.loc[own["at_best"].idxmax()]
    error = (table["d_prime_se"].min(), table["d_prime_se"].max())
    return {
        "en": f"Accuracy goes with where a judge draws the line (r = {number(with_c)} with c) and little with how well it "
        f"tells bad from good (r = {number(with_d)} with d′). {equal} of {len(own)} zero-shot judges have a d′ of at least "
        f"the trained judge's {trained['d_prime']:.2f}. At its best threshold {best['model']} would reach "
        f"{best['at_best']:.1f} %, the trained judge {trained['at_best']:.1f} % (it has {trained['accuracy']:.1f} %): most of "
        "what training brought is a better threshold. This extends the measured point along an assumed curve (equal "
        f"variances), and d′ has standard errors of {error[0]:.2f} to {error[1]:.2f}, so that most of these judges are tied.",
        "zh": f"正确率主要取决于评判者把界线划在哪里（与 c 的 r = {number(with_c)}），与分辨好坏的能力关系不大（与 d′ 的 r = "
        f"{number(with_d)}）。{len(own)} 个零样本评判者中有 {equal} 个的 d′ 不低于训练所得评判者的 {trained['d_prime']:.2f}。若取各自"
        f"的最佳阈值，{best['model']} 可达 {best['at_best']:.1f}%，训练所得评判者为 {trained['at_best']:.1f}%（实测 "
        f"{trained['accuracy']:.1f}%）：训练带来的主要是更合适的阈值。这是沿假定的曲线（等方差）由实测点外推得到的；d′ 的标准误在 "
        f"{error[0]:.2f} 到 {error[1]:.2f} 之间，多数评判者其实不分上下。",
    }


def ranks(table: pd.DataFrame) -> Note:
    """How many models are tied for first in each task."""
    tied = table[table["tied_first"]].groupby("task", sort=False).size()
    en = ", ".join(f"{n} in {task}" for task, n in tied.items())
    zh = "，".join(f"{task} 有 {n} 个" for task, n in tied.items())
    return {
        "en": f"Models that nobody is significantly better than: {en}. A place in the published order is worth no more than "
        "that. The same cases were given to all, so that with verdicts case by case the sets would be smaller.",
        "zh": f"没有任何模型显著优于自己的模型：{zh}。榜上的名次也就只值这么多。各模型所答的是同一批样例，若有逐例的结论，"
        "这些集合会更小。",
    }


def own_family(gaps: pd.DataFrame) -> Note:
    """Which judge favours its family, and how sure that is."""
    own = gaps[gaps["raw"].notna()]
    sure, unsure = (own[(own["low"] > 0) == is_sure] for is_sure in (True, False))
    said = [f"**{r.judge}** {_points(r)}, p = {number(r.p)}" for r in sure.itertuples()]
    rest = [f"{r.judge} {_points(r)}" for r in unsure.itertuples()]
    return {
        "en": "Beyond what the models' quality and the judges' mildness lead one to expect, a judge gives its own family "
        f"(points): {', '.join(said) or 'none surely more'}. Not told from zero: {', '.join(rest) or 'none'}. With three "
        "judges, two of one family, part of a preference hides in the row means; and a judge near 95 % for all has little "
        "room to prefer anybody.",
        "zh": "除去模型本身的质量与评判者的宽严，评判者给自家模型多出的百分点："
        f"{'，'.join(said) or '没有一个确实更多'}。与零无法区分：{'，'.join(rest) or '无'}。评判者只有三个，其中两个同属一家，"
        "部分偏好会藏进行均值里；而对谁都给出约 95% 的评判者，也没有多少偏爱的余地。",
    }


def _points(row: Any) -> str:
    return f"{row.adjusted:+.1f} [{row.low:.1f}, {row.high:.1f}]".replace("-", "−")


def pairs(table: pd.DataFrame, fitted: pd.DataFrame) -> Note:
    """Who prefers its own family when two replies stand side by side."""
    sure = table[table["p_holm"] < 0.05]
    own = fitted[fitted["kind"] == "own family"]
    odds = {r.term: np.exp(r.estimate) for r in own.itertuples()}
    en = ", ".join(f"{value:.1f} with {name} as judge" for name, value in odds.items())
    zh = "，".join(f"{name} 为 {value:.1f}" for name, value in odds.items())
    return {
        "en": f"{len(sure)} of {len(table)} pairs are decided beyond chance (Holm), {int((sure['share'] > 0.5).sum())} of "
        "them for the judge's own family. Since judges of three families compare some of the same models, strength and "
        f"preference can be told apart (Bradley–Terry with ties): being of the judge's family multiplies the odds by {en}. "
        "Claude is harder on its own than on others. The orders in which replies were shown were not published.",
        "zh": f"{len(table)} 对中有 {len(sure)} 对超出了偶然（Holm 校正），其中 {int((sure['share'] > 0.5).sum())} 对偏向评判者自家。"
        "由于三家的评判者比较过一些相同的模型，实力与偏好可以分开（带平局的 Bradley–Terry）：与评判者同属一家，胜出的几率要乘以一个倍数："
        f"{zh}。Claude 对自家反而更严。回复出示的先后次序没有公布。",
    }


def audited(audit: Audit) -> Note:
    """What the audit of a corpus's judges shows."""
    moved = audit.padding[audit.padding["low"] > 0]["judge"].tolist()
    placed = audit.position[audit.position["p"] < 0.05]["judge"].tolist() if len(audit.position) else []
    long = audit.length[audit.length["low"] > 0]["judge"].tolist() if len(audit.length) else []
    en, zh = (
        [sep.join(name_of(j, lang) for j in names) or none for names in (long, moved, placed)]
        for lang, sep, none in (("en", ", ", "none"), ("zh", "、", "无"))
    )
    return {
        "en": f"At equal gold, longer replies get higher scores from: **{en[0]}**. Empty words behind a reply raise the score "
        f"given by: **{en[1]}**. The order of two replies moves: **{en[2]}**.",
        "zh": f"在用户评分相同的情况下，给更长的回复打分更高的：**{zh[0]}**。回复后面加上空话就会抬高分数的：**{zh[1]}**。"
        f"会受两条回复先后次序影响的：**{zh[2]}**。",
    }


def beaten(quality: pd.DataFrame) -> Note:
    """Which judges do better than the best baseline, as they stand and at learned thresholds."""
    own = quality[quality["metric"] == "balanced"]
    best = own[own["is_baseline"]].sort_values("value").iloc[-1]
    better = own[~own["is_baseline"] & (own["low"] > best["value"])]["judge"].tolist()
    learned = quality[quality["metric"] == "at_learned"].dropna(subset="value").sort_values("value")
    first, rival = (learned[learned["is_baseline"] == of].iloc[-1] for of in (False, True))
    called = {lang: [name_of(str(r["judge"]), lang) for r in (best, first, rival)] for lang in ("en", "zh")}
    names = [
        ", ".join(name_of(j, "en") for j in better) or "none",
        "、".join(name_of(j, "zh") for j in better) or "无",
    ]
    en, zh = called["en"], called["zh"]
    gained = first["value"] - own.set_index("judge")["value"].get(first["judge"], first["value"])
    more = {
        "en": " Much of what looked like blindness is a threshold." if gained > A_LOT else "",
        "zh": "看似分不出好坏，多半只是界线划错了地方。" if gained > A_LOT else "",
    }
    return {
        "en": f"As they stand, the best baseline is *{en[0]}* with {best['value']:.0%}; judges whose interval lies above it: "
        f"**{names[0]}**. At thresholds learned on other users (rings) the furthest judge is *{en[1]}* with "
        f"{first['value']:.0%}, the furthest baseline *{en[2]}* with {rival['value']:.0%}.{more['en']}",
        "zh": f"照原样，最好的基线是“{zh[0]}”，为 {best['value']:.0%}；区间高于它的评判者：**{names[1]}**。改用在其他用户上学得的"
        f"阈值（空心圈），最好的评判者是“{zh[1]}”，为 {first['value']:.0%}，最好的基线是“{zh[2]}”，为 {rival['value']:.0%}。"
        f"{more['zh']}",
    }
