"""The page on UXBench in sentences with computed numbers, in English and Chinese."""

from __future__ import annotations

import numpy as np
import pandas as pd

from perslib.corpus import Corpus
from perslib.metrics import number
from perslib.report.words import name_of
from perslib.signals import NEGATIVE
from perslib.studies.notes import Note
from perslib.studies.ux_bench import RECORDED, Judging, Rewards
from perslib.studies.ux_bench_signals import Behaviour
from perslib.studies.ux_bench_tables import called
from perslib.ux import published, reward_numbers

#: The share of sessions that end right after a poor recovery, of 2,000 complaints (UXBench, section 3).
PUBLISHED_LEFT = 83
#: Gains of the best system prompt and of the best recovery prompt, in points (UXBench, section 4).
PUBLISHED_GAINS = (1.2, 8.4)


def what_numbers_mean(corpus: Corpus) -> Note:
    """Whether these are numbers about people."""
    if "truth_turns" in corpus.extras:
        return {
            "en": f"**{corpus.name} is a synthetic world: every number on this page is a check of software.** Users, what they "
            "do after a reply, and what they think of it come from one program, so signals and ratings agree better than people "
            "would let them. The paper's data are not bundled and none of its scores is reproduced here.",
            "zh": f"**{corpus.name} 是合成世界：本页全部数字只用来检验软件**。用户、他们看到回复后的举动以及他们的看法都出自同一个程序，"
            "因此信号与评分的一致程度高于真人。论文的数据不在其中，本页也不复现论文的任何得分。",
        }
    return {
        "en": f"All numbers are of {corpus.name}, unless a caption says that they are the paper's.",
        "zh": f"除注明出自论文者外，全部数字都来自 {corpus.name}。",
    }


def behaviour(found: Behaviour, counts: pd.DataFrame) -> Note:
    """How many replies behaviour speaks of."""
    replies, own = found.replies, counts.set_index("signal")["primary"]
    against = 100 * replies["primary"].isin(NEGATIVE).mean() if len(replies) else 0.0
    buttons = int(own.get("dislike", 0) + own.get("like", 0))
    theirs = published("signals").set_index("signal")
    button = 100 * theirs.loc["dislike", "found"] / theirs.loc["dislike", "sessions"]
    return {
        "en": f"{len(replies):,} replies in {found.sessions:,} sessions; users showed that they were not content with "
        f"{against:.1f} % of them, and pressed a button after {buttons:,}. In the paper's 40,000 sessions a dislike is in "
        f"{button:.2f} %: what people do says far more often what they think than a button does. The paper's shares are of "
        "another product, found by another extractor; a comparison of levels is not meant.",
        "zh": f"共 {found.sessions:,} 次会话、{len(replies):,} 条回复；其中 {against:.1f}% 被用户以行动表示不满，按了按钮的有 {buttons:,} 条。"
        f"论文的 4 万次会话中，含点踩的只占 {button:.2f}%：人们的行动比按钮更常透露想法。论文的比例来自另一个产品、另一套抽取规则，"
        "并不用来比较高低。",
    }


def chains(table: pd.DataFrame) -> Note:
    """What followed a reply that users spoke against."""
    if table.empty:
        return {"en": "Nobody spoke against a reply.", "zh": "没有人对回复表示不满。"}
    own = table.set_index("outcome")["percent"]
    return {
        "en": f"Of {int(table['replies'].sum())} replies that users spoke against, {own['recovered']:.0f} % were made good by "
        f"the next one, {own['failed_recovery']:.0f} % were not, and in {own['unknown_left']:.0f} % the user left or turned "
        f"away, which is not counted as content. (The paper: of 2,000 complaints, over {PUBLISHED_LEFT} % of sessions end right "
        "after a poor recovery.)",
        "zh": f"用户表示不满的 {int(table['replies'].sum())} 条回复中，{own['recovered']:.0f}% 由下一条回复补救成功，"
        f"{own['failed_recovery']:.0f}% 没有，另有 {own['unknown_left']:.0f}% 用户离开或转向别的话题，这不算满意。（论文：2,000 次抱怨中，"
        f"超过 {PUBLISHED_LEFT}% 的会话在补救不力之后随即结束。）",
    }


def ratings(table: pd.DataFrame) -> Note:
    """How far behaviour says what users would have rated."""
    first, last = table.iloc[0], table.iloc[-1]
    en, zh = [
        [f"{own['r']:.2f} [{own['r_low']:.2f}, {own['r_high']:.2f}]" for own in (first, last)]
        for _ in range(2)
    ]
    better = last["r"] > first["r"]
    return {
        "en": f"Labels made of signals go with the users' scores at r = {en[0]} on all {int(first['turns']):,} replies that have "
        f"one, {'the surer the better' if better else 'and no better where they are surer'}: r = {en[1]} on the "
        f"{int(last['turns']):,} ({last['share']:.0%}) of a weight of at least {last['weight']:.1f}. Most replies say little: the "
        "talk went on.",
        "zh": f"由信号得到的标签与用户评分的相关：全部 {int(first['turns']):,} 条有标签的回复上 r = {zh[0]}；"
        f"{'标签越有把握越准' if better else '标签有把握时也并不更准'}，权重不低于 {last['weight']:.1f} 的 {int(last['turns']):,} 条"
        f"（{last['share']:.0%}）上 r = {zh[1]}。多数回复透露得很少：对话只是继续了下去。",
    }


def kept(table: pd.DataFrame) -> Note:
    """How much of the rated memory's agreement a memory of behaviour keeps."""
    own = table[table["memory"] == "behaviour"]
    said = {
        lang: mark.join(
            f"{name_of(r.judge, lang)} {r.kept:.0%} [{r.kept_low:.0%}, {r.kept_high:.0%}]".replace("-", "−")
            for r in own.itertuples()
        )
        for lang, mark in (("en", ", "), ("zh", "，"))
    }
    control = table[table["memory"] == "shuffled"]["r"].abs().max()
    return {
        "en": f"Where nobody rated, a memory of behaviour keeps this share of the rated memory's r: **{said['en']}** "
        f"({int(own['turns'].max())} replies of {int(own['users'].max())} users). With the same labels dealt out at random "
        f"|r| is at most {control:.2f}.",
        "zh": f"没有人评分时，以行为建立的记忆保留了评分记忆 r 的这一比例：**{said['zh']}**（{int(own['users'].max())} 位用户的 "
        f"{int(own['turns'].max())} 条回复）。把同样的标签随机打乱后，|r| 最大为 {control:.2f}。",
    }


def judging(found: Judging) -> Note:
    """Who beats the wall, and how much of it is a threshold."""
    wide = found.quality.pivot_table(index="judge", columns="metric", values="value", sort=False)
    grey = set(found.quality.loc[found.quality["is_baseline"], "judge"])
    own, base = (wide[wide.index.isin(grey) == of].dropna(subset="balanced") for of in (False, True))
    best, line = base["balanced"].idxmax(), base["balanced"].max()
    low = found.quality[found.quality["metric"] == "balanced"].set_index("judge")["low"]
    over = [j for j in own.index if low[j] > line]
    gain = (own["at_learned"] - own["balanced"]).dropna()
    most = gain.idxmax() if len(gain) else own.index[0]
    names = {lang: [name_of(str(j), lang) for j in over] for lang in ("en", "zh")}
    return {
        "en": f"{len(found.cases)} cases. The wall stands at {line:.0%} balanced accuracy (*{name_of(best)}*, no reading of reply "
        f"against request); judges whose interval lies above it: **{', '.join(names['en']) or 'none'}**. A threshold learned on "
        f"other users moves *{name_of(str(most))}* most, from {own['balanced'][most]:.0%} to {own['at_learned'][most]:.0%}: "
        "that much it had lost to where it drew the line, not to what it knows.",
        "zh": f"共 {len(found.cases)} 例。基线的最高均衡正确率为 {line:.0%}（“{name_of(best, 'zh')}”，不对照请求读回复）；区间高于它的评判者："
        f"**{'、'.join(names['zh']) or '无'}**。改用在其他用户上学得的阈值，变化最大的是“{name_of(str(most), 'zh')}”，从 "
        f"{own['balanced'][most]:.0%} 到 {own['at_learned'][most]:.0%}：这部分差距在于界线划在哪里，而不在于知道多少。",
    }


def first_look(verdicts: pd.DataFrame, model: str) -> Note:
    """What a few asked cases are worth."""
    read = int(verdicts["said"].notna().sum())
    return {
        "en": f"{model} was asked {len(verdicts)} times on {verdicts['case'].nunique()} cases; {read} answers could be read. So few "
        "show that the way is clear and measure nothing.",
        "zh": f"就 {verdicts['case'].nunique()} 个样例向 {model} 提问 {len(verdicts)} 次，{read} 个回答可以读出结论。这么少的样例只说明流程走得通，"
        "不构成测量。",
    }


def shares(table: pd.DataFrame, cases: int) -> Note:
    """How the reward model orders what answers."""
    best = table.loc[table["percent"].idxmax()]
    one = len(table) == 1
    en = f"{cases} cases. " + (
        "Called good: " if one else f"The most replies called good: *{_who(best, 'en')}*, "
    )
    en += f"{best['percent']:.1f} %."
    zh = f"共 {cases} 例。" + ("被判为好的占 " if one else f"被判为好的最多：“{_who(best, 'zh')}”，")
    zh += f"{best['percent']:.1f}%。"
    known = table.dropna(subset="liked_percent") if "liked_percent" in table else table.iloc[:0]
    if len(known) > 2:
        rho = known["percent"].corr(known["liked_percent"], method="spearman")
        off = (known["percent"] - known["liked_percent"]).abs().mean()
        en += f" The order agrees with the known truth at ρ = {number(rho)}; levels are {off:.0f} points off on average."
        zh += f"次序与已知真相的 ρ = {number(rho)}；数值平均相差 {off:.0f} 个百分点。"
    elif len(known):
        en += f" The users themselves were content with {known['liked_percent'].iloc[0]:.1f} % (4 and up)."
        zh += f"用户自己满意的（4 分及以上）占 {known['liked_percent'].iloc[0]:.1f}%。"
    return {"en": en, "zh": zh}


def _who(row: pd.Series, language: str) -> str:
    names = [called(row[c], language) for c in ("model", "how") if row[c] != RECORDED or c == "model"]
    return " · ".join(names)


def as_published(column: str) -> Note:
    """What the paper found in a task, apart from what is found here."""
    table = published("table3").query("family != 'reward model'")
    low, high, best = table[column].min(), table[column].max(), table.loc[table[column].idxmax(), "model"]
    gain = PUBLISHED_GAINS[column == "recovery_good"]
    return {
        "en": f"Published, and not comparable with this page (another judge, other cases): {len(table)} models from {low:.1f} % to "
        f"{high:.1f} % ({best}); the best other prompt brought {gain:+.1f} points.",
        "zh": f"论文所载，与本页不可比（评判者和样例都不同）：{len(table)} 个模型在 {low:.1f}% 到 {high:.1f}%（{best}）之间；"
        f"换用最好的提示词带来 {gain:+.1f} 个百分点。",
    }


def reward(found: Rewards, against: pd.DataFrame) -> Note:
    """What the reward model knows, and what of it is not length."""
    numbers, first = reward_numbers(found.verdicts), against.iloc[0]
    rival = against.iloc[1:].sort_values("auroc").iloc[-1]
    sure = rival["ahead_low"] > 0
    kept = numbers.get("kept", np.nan)
    # Adding zero makes of a rounded −0.00 what it is.
    value, low, high = (f"{round(rival[c], 2) + 0.0:+.2f}" for c in ("ahead", "ahead_low", "ahead_high"))
    ahead = f"{value} [{low}, {high}]"
    source = {"ratings": ("ratings", "评分"), "behaviour": ("behaviour alone", "行为")}[found.labels]
    en = (
        f"Learned from {source[0]} of other users, on {len(found.verdicts):,} replies: AUROC {numbers['auroc']:.2f}, calibration "
        f"error {numbers['ece']:.3f}. Learned from the same clear cases as the wall, its AUROC of {first['auroc']:.2f} is "
        f"{ahead} beside *{name_of(rival['judge'])}*: "
        f"{'surely more' if sure else '**not surely more**'}. Where it may abstain, promising at most 10 % errors of "
        f"either kind, it keeps {kept:.0%} of cases"
    ).replace("-", "−")
    zh = (
        f"从其他用户的{source[1]}学得，在 {len(found.verdicts):,} 条回复上：AUROC {numbers['auroc']:.2f}，校准误差 {numbers['ece']:.3f}。与各基线"
        f"从同样的明确样例学习时，AUROC 为 {first['auroc']:.2f}，与“{name_of(rival['judge'], 'zh')}”相差 "
        f"{ahead}：{'确实更好' if sure else '**不能确定更好**'}。允许弃权、并承诺两类错误各不超过 "
        f"10% 时，它保留 {kept:.0%} 的样例"
    ).replace("-", "−")
    few = kept == 0
    return {
        "en": en + (": the users held out are too few for such a promise." if few else "."),
        "zh": zh + ("：留出的用户太少，作不出这样的承诺。" if few else "。"),
    }


def breakdown(table: pd.DataFrame, found: pd.DataFrame, least: int) -> Note:
    """Which strata are there, and whether any stands out."""
    known, small = table[table["percent"].notna()], table[table["percent"].isna()]
    several = [own for _, own in known.groupby("task") if len(own) > 1]
    apart = sum(bool(own["wilson_low"].max() > own["wilson_high"].min()) for own in several)
    tasks, unclear = len(several), 100 * (found["scenario"] == "other").mean()
    return {
        "en": f"{len(known)} strata have {least} cases or more; {len(small)} have fewer and show no share. Of the {tasks} "
        f"tasks with several strata to compare, {apart or 'none'} has a best and a worst scenario whose intervals lie apart (picked "
        "by looking: a hint, not a test). Rules "
        f"leave {unclear:.0f} % of the requests without a scenario. Compare scenarios within a task, not tasks with each other: "
        "one is an accuracy, the others are shares of good replies.",
        "zh": f"有 {len(known)} 个分组达到 {least} 例；{len(small)} 个不足，只列例数。有多个分组可比的 {tasks} 项任务中，{apart} 项的最好与最差场景区间不重叠（看过结果才挑出两端，只算线索，不算检验）。"
        f"规则未能归入任何场景的请求占 {unclear:.0f}%。请在同一任务内比较场景，不要跨任务比：一个是评判的正确率，另两个是好回复的占比。",
    }


def labelled(table: pd.DataFrame, agreement: pd.DataFrame, model: str) -> Note:
    """How far a model labels as the rules do, or that too few labels were asked for."""
    read = int(table["model"].notna().sum())
    if agreement.empty:
        return {
            "en": f"{model} gave {read} of {len(table)} labels in a form that could be read. So few show that the way is clear; "
            "κ, and what requests are about, take a larger `limit`.",
            "zh": f"{model} 给出的 {len(table)} 个标签中有 {read} 个可以读出。这么少只说明流程走得通；要算 κ、要看模型怎样给请求归类，请调大 `limit`。",
        }
    own = agreement[agreement["label"] == "all"]
    said = {
        lang: mark.join(f"{called(r.kind, lang)} κ = {number(r.kappa)}" for r in own.itertuples())
        for lang, mark in (("en", ", "), ("zh", "，"))
    }
    return {
        "en": f"{model} against the rules: {said['en']}. Neither is the truth; where they differ, a share rests on who labelled.",
        "zh": f"{model} 与规则：{said['zh']}。两者都不是标准答案；不一致之处，占比取决于由谁来标。",
    }
