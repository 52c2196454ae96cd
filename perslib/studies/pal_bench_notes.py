"""The PAL-Bench page in sentences with computed numbers, in English and Chinese."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from perslib.inference import FEWEST_USERS
from perslib.palbench import Dialogue
from perslib.report.words import name_of
from perslib.studies.notes import Note
from perslib.studies.pal_bench import FAULTLESS, Bench, Months
from perslib.studies.pal_bench_tables import METRICS


def whose(asked: Months) -> Note:
    """Whose months these are, and how much of them."""
    users = len(asked.who)
    history = sum(len(person.history) for person in asked.who)
    query = sum(len(person.query) for person in asked.who)
    logs = sum(len(s.logs) for person in asked.who for s in (*person.history, *person.query))
    en = f"{_users(users)}: {_n(history, 'session')} to remember, {_n(query, 'session')} with {_n(asked.topics, 'topic')} "
    en += f"asked about, {_n(logs, 'log')}."
    zh = f"{users} 位用户：供记忆的会话 {history:,} 段，被提问的会话 {query:,} 段、话题 {asked.topics:,} 个，日志 {logs:,} 条。"
    if asked.left_out:
        en += f" Users of the corpus left out: {asked.left_out:,}; `limit` says how many topics are asked about."
        zh += f"语料中另有 {asked.left_out:,} 位用户未用；`limit` 决定提问多少个话题。"
    if asked.stands_in:
        en = "**The corpus named above has no topics to ask about, so the synthetic PAL-Set stands in**, made of the synthetic "
        en += (
            "world's lives without any model. For the published data: `perslib import palset PATH`, then `--corpus`. "
            + (
                f"{_users(users)}: {_n(history, 'session')} to remember, {_n(query, 'session')} with {_n(asked.topics, 'topic')} "
                f"asked about, {_n(logs, 'log')}."
            )
        )
        zh = "**页首所列语料没有可提问的话题，因此以合成 PAL-Set 代替**：它由合成世界中的生活直接生成，不用任何模型。要用公开数据，"
        zh += f"请先 `perslib import palset 路径`，再以 `--corpus` 指定。{users} 位用户：供记忆的会话 {history:,} 段，"
        zh += f"被提问的会话 {query:,} 段、话题 {asked.topics:,} 个，日志 {logs:,} 条。"
    return {"en": en, "zh": zh}


def look(model: str) -> Note:
    """That a first look measures nothing, and how to have a measurement."""
    command = "perslib report 05 --corpus palset --backbone my-vllm --language"
    return {
        "en": f"**A first look, and no result.** {model} is a very small model: it cannot do these tasks, what it says is mostly "
        "nonsense, and the scores below are noise. It is asked about one topic, with two methods, in a dialogue of one turn, and may "
        "say a few words each time. Nor could it write a memory: the one that it is shown, and that is drawn below, is written from "
        "the truth of the synthetic world, as a faultless model would. So the page shows how results will look. "
        f"For results: `{command} en`, with PAL-Set imported as `palset` and a real model in `backbones.toml`.",
        "zh": f"**这只是初步一览，不构成结果。** {model} 是非常小的模型：它做不了这些任务，所说大多不知所云，下文的分数只是噪声。"
        "它只就一个话题回答，只有两种方法，对话只有一轮，每次只许说几个词。它也写不出记忆：给它看的、下文画出的，是按合成世界的"
        "真实情况写成的记忆，如同一个不出错的模型所写。因此本页只展示结果将呈现成什么样。"
        f"要得到结果：把 PAL-Set 导入为 `palset`，在 `backbones.toml` 中写入真正的模型，然后运行 `{command} zh`。",
    }


def sure(asked: Months) -> Note | None:
    """Whether there are users enough to say how sure a number is."""
    users = len(asked.who)
    if users < FEWEST_USERS:
        return {
            "en": f"**No intervals and no tests**: {_users(users)}, and topics of one user are not independent. From "
            f"{FEWEST_USERS} users on, every mean has a 95 % interval over resampled users, every difference a corrected p.",
            "zh": f"**没有区间，也不作检验**：只有 {users} 位用户，而同一用户的各个话题并不独立。从 {FEWEST_USERS} 位用户起，"
            "每个均值附对用户重抽样的 95% 区间，每个差值附校正后的 p 值。",
        }
    if users < 20:
        return {
            "en": f"{_users(users)}: intervals are there, and wide; take small differences for nothing.",
            "zh": f"共 {users} 位用户：有区间，但较宽，小的差别不足为凭。",
        }
    return None


def first(table: pd.DataFrame) -> Note:
    """Who is in front by G and S, how far the first method comes, and whether it selects better than chance."""
    reference = table["method"].iloc[0]
    en, zh = [], []
    for metric in ("g", "s"):
        own = table[(table["metric"] == metric) & table["value"].notna()]
        if own.empty:
            en.append(f"No answer has a {name_of(METRICS[metric])}.")
            zh.append(f"没有得到{name_of(METRICS[metric], 'zh')}的回答。")
            continue
        most, value = own["value"].max(), own.set_index("method")["value"]
        leaders = own[own["value"] == most]
        bounds = leaders[["low", "high"]].iloc[0].to_numpy(float) if len(leaders) == 1 else [np.nan]
        shown = f"{most:.2f}" + (f" [{bounds[0]:.2f}, {bounds[1]:.2f}]" if np.isfinite(bounds[0]) else "")
        names_en, names_zh = ([name_of(m, language) for m in leaders["method"]] for language in ("en", "zh"))
        en.append(f"Highest {name_of(METRICS[metric])}: **{', '.join(names_en)}** with {shown}")
        zh.append(f"{name_of(METRICS[metric], 'zh')}最高：**{'、'.join(names_zh)}**，{shown}")
        if reference in value.index and reference not in set(leaders["method"]):
            en[-1] += f"; {name_of(reference)} has {value[reference]:.2f}"
            zh[-1] += f"；{name_of(reference, 'zh')} 为 {value[reference]:.2f}"
        en[-1] += "."
        zh[-1] += "。"
    chance = table[(table["metric"] == "s") & (table["method"] == reference)]
    if len(chance) and np.isfinite(low := float(chance["low"].iloc[0])):
        en.append(
            f"The interval of {name_of(reference)}'s S-Score lies {'above' if low > 0 else 'not wholly above'} chance, which is 0."
        )
        zh.append(
            f"{name_of(reference, 'zh')} 的 S 分区间{'整个高于' if low > 0 else '并未整个高于'}随机水平 0。"
        )
    else:
        en.append("Whoever selects at random has an S-Score of 0 in the long run.")
        zh.append("随机选择的 S 分，长期来看为 0。")
    return {"en": " ".join(en).replace(" -", " −").replace("[-", "[−"), "zh": "".join(zh).replace("-", "−")}


def compared(differences: pd.DataFrame) -> Note | None:
    """Which differences hold after correction; None where nothing was tested."""
    own = differences[differences["metric"].isin(["g", "s"]) & differences["p_holm"].notna()]
    if own.empty:
        return None
    sure = own[own["p_holm"] < 0.05]
    en, zh = [], []
    for row in sure.to_dict("records"):
        ahead = row["difference"] > 0
        en.append(
            f"{'ahead of' if ahead else 'behind'} {name_of(row['other'])} by {name_of(METRICS[row['metric']])}"
        )
        zh.append(
            f"{name_of(METRICS[row['metric']], 'zh')}{'高于' if ahead else '低于'}{name_of(row['other'], 'zh')}"
        )
    said_en = "; ".join(en) or "neither ahead nor behind"
    said_zh = "；".join(zh) or "校正后没有显著的差别"
    en_name, zh_name = (name_of(own["method"].iloc[0], language) for language in ("en", "zh"))
    return {
        "en": f"With p < 0.05 after Holm, {en_name} is {said_en}.",
        "zh": f"{zh_name}（Holm 校正后 p < 0.05）：{said_zh}。",
    }


def failures(bench: Bench) -> Note:
    """What models did not give, and where it went."""
    answers = bench.answers
    unsaid, ungraded = int(answers["said"].isna().sum()), int(answers["grade_error"].notna().sum())
    pieces = sum(len(s.failed) for s in bench.served)
    if not unsaid + ungraded + pieces:
        return {
            "en": f"All {len(answers):,} answers came, every restatement was graded, and no piece of a memory failed.",
            "zh": f"{len(answers):,} 个回答全部得到，复述全部评过，记忆没有缺失的部分。",
        }
    why = answers["error"].dropna().astype(str).str.rsplit(":").str[-1].str.strip().value_counts()
    most = f" (mostly: {why.index[0][:70]})" if len(why) else ""
    return {
        "en": f"Of {len(answers):,} answers {unsaid:,} failed even when asked again{most}; {ungraded:,} restatements went "
        f"ungraded; {pieces:,} pieces of memories were not given. They are left out of means, and counted.",
        "zh": f"{len(answers):,} 个回答中有 {unsaid:,} 个在再次询问后仍失败；{ungraded:,} 个复述没有得到评分；"
        f"记忆有 {pieces:,} 处没有得到。这些不计入均值，但都计数。",
    }


def dialogues(held: Sequence[Dialogue], evaluations: pd.DataFrame, tie_within: float) -> Note:
    """How many dialogues were held and judged, and what counts as a tie."""
    broke = sum(d.error is not None for d in held)
    unscored = int(evaluations["ours"].isna().sum()) if len(evaluations) else 0
    runs = evaluations["run"].nunique() if len(evaluations) else 0
    return {
        "en": f"{len(held):,} dialogues, {broke:,} of which broke off; each pair was evaluated {runs} times for each dimension, half of "
        f"them with the order swapped ({len(evaluations):,} evaluations, {unscored:,} without scores). "
        + (
            "Equal sums are a tie."
            if not tie_within
            else f"Means no further apart than {tie_within:g} points of ten are a tie."
        ),
        "zh": f"共 {len(held):,} 段对话，其中 {broke:,} 段中断；每一对在每个维度上评了 {runs} 次，其中一半交换了顺序"
        f"（共 {len(evaluations):,} 次评判，{unscored:,} 次没有分数）。"
        + ("总分相等为平。" if not tie_within else f"均分相差不超过 {tie_within:g} 分（满分十分）为平。"),
    }


def grown(frame: pd.DataFrame, name: str) -> Note:
    """How much was heard and how much of it is kept, and who wrote it."""
    last = frame.iloc[-1]
    kept = int(last[["situations_size", "background_size", "outlines_size", "principles_size"]].sum())
    heard = int(last["heard"])
    truth = name == FAULTLESS
    en = "Drawn is the faultless memory, written from the truth of the synthetic world. " if truth else ""
    zh = "画出的是无误的记忆，按合成世界的真实情况写成。" if truth else ""
    return {
        "en": en
        + f"After {_n(len(frame), 'session')} ({_n(int(last['logs']), 'log')}, {_n(int(last['turns']), 'turn')}) the memory holds "
        f"{_n(int(last['situations']), 'situation')}, {_n(int(last['outlines']), 'outline')}, "
        f"{_n(int(last['principles']), 'principle')} and sentences on {int(last['aspects'])} of four sides of life: "
        f"{kept:,} characters, of {heard:,} that were heard.",
        "zh": zh
        + f"听过 {len(frame)} 段会话（日志 {int(last['logs']):,} 条、对话 {int(last['turns']):,} 轮）后，记忆中有情境 "
        f"{int(last['situations']):,} 个、话题纲要 {int(last['outlines']):,} 条、原则 {int(last['principles']):,} 条，"
        f"背景写到四个方面中的 {int(last['aspects'])} 个：所听 {heard:,} 字，所记 {kept:,} 字。",
    }


SHEET: Note = {
    "en": "The pairs that people may vote on: fill in rater and vote (win, tie or lose of the first method), read the dialogues "
    "above, and give the file as the parameter votes; this page then says how far judge and people agree (κ).",
    "zh": "可供人投票的对话对：对照上文的对话，填写 rater 与 vote（第一种方法的 win、tie 或 lose），再把文件交给参数 votes，"
    "本页便会给出评判者与人的一致程度（κ）。",
}
RUN: Note = {
    "en": "This run's scores with what it takes to compare runs; other runs find them here.",
    "zh": "本次运行的分数，附比较各次运行所需的信息；其他运行会从这里找到它。",
}


def _users(number: int) -> str:
    return _n(number, "user")


def _n(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
