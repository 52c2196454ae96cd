"""The page on labels and behaviour in sentences with computed numbers, in English and Chinese."""

from __future__ import annotations

import pandas as pd

from perslib.corpus import Corpus
from perslib.metrics import number, with_interval
from perslib.report.words import name_of
from perslib.studies.labels_or_behaviour import BASE, Curves
from perslib.studies.labels_or_behaviour_figures import worth_cell
from perslib.studies.notes import Note


def world(corpus: Corpus) -> Note:
    """Whose behaviour this is."""
    if "truth_turns" in corpus.extras:
        return {
            "en": f"**{corpus.name} is a synthetic world**: what users do and what they rate comes from one program, so the "
            "levels below say nothing about people. What they check is the method.",
            "zh": f"**{corpus.name} 是合成世界**：用户的举动与评分出自同一个程序，因此以下数值的高低并不说明真人如何，只用来检验方法。",
        }
    return {
        "en": f"Users, ratings and conversations of {corpus.name}.",
        "zh": f"用户、评分与对话均来自 {corpus.name}。",
    }


def impossible(corpus: Corpus) -> Note:
    """Why there is nothing to compare."""
    return {
        "en": f"{corpus.name} has no test user with rated replies in two scenarios, of whom behaviour says something, too: "
        "there is nothing to know a user by and to be judged by.",
        "zh": f"{corpus.name} 中没有这样的测试用户：在两个场景里都有已评分的回复，且行为也透露了看法。因此没有证据可用，也没有回复可评。",
    }


def equal_number(found: Curves, moved: pd.DataFrame) -> Note:
    """Behaviour against ratings, label for label."""
    most = found.budgets[-1]
    points = found.points.query("metric == 'pearson'").set_index(["judge", "kind", "budget"])
    parts: dict[str, list[str]] = {"en": [], "zh": []}
    for judge in found.judges:
        rated, done = (points.loc[(judge, kind, most)] for kind in (BASE, "behaviour"))
        apart = _apart(moved.query("judge == @judge and kind == 'behaviour'"))
        values = number(rated["value"]), number(done["value"])
        parts["en"].append(
            f"*{name_of(judge)}* reaches r = {values[0]} on {most} ratings and {values[1]} on as many labels of "
            f"behaviour{apart['en']}"
        )
        parts["zh"].append(
            f"“{name_of(judge, 'zh')}”凭 {most} 个评分达到 r = {values[0]}，凭同样多的行为标签达到 {values[1]}{apart['zh']}"
        )
    first = points.iloc[0]
    return {
        "en": f"{int(first['replies'])} replies of {int(first['users'])} users. **Label for label**: {'; '.join(parts['en'])}. "
        "“Surely” means a 95 % interval of the difference that leaves out zero, before the correction for many tests that "
        "the table's stars have passed.",
        "zh": f"{int(first['users'])} 位用户的 {int(first['replies'])} 条回复。**同样多的标签**：{'；'.join(parts['zh'])}。"
        "“确实”指差值的 95% 区间不含零，尚未经多重检验校正；表中的星号则已通过校正。",
    }


def _apart(moved: pd.DataFrame) -> Note:
    """In brackets, at which numbers of labels two curves are surely apart; nothing where that cannot be known."""
    if moved["low"].isna().all():
        return {"en": "", "zh": ""}
    less, more = (
        [str(int(n)) for n in moved.loc[is_so, "budget"]] for is_so in (moved["high"] < 0, moved["low"] > 0)
    )
    en = [f"surely less at {', '.join(less)} labels"] if less else []
    en += [f"surely more at {', '.join(more)}"] if more else []
    zh = [f"标签数为 {'、'.join(less)} 时确实更低"] if less else []
    zh += [f"标签数为 {'、'.join(more)} 时确实更高"] if more else []
    return {
        "en": f" ({'; '.join(en) or 'at no number of labels are they told apart'})",
        "zh": f"（{'；'.join(zh) or '任何标签数下都分不出高下'}）",
    }


def worth(table: pd.DataFrame, moved: pd.DataFrame) -> Note:
    """What a rating is worth, and what the log adds to a few ratings."""
    fewest = int(table["budget"].min())
    parts: dict[str, list[str]] = {"en": [], "zh": []}
    for row in table[table["budget"] == fewest].to_dict("records"):
        log = moved.query("judge == @row['judge'] and kind == 'ratings and log' and budget == @fewest").iloc[
            0
        ]
        cell, added = (
            worth_cell(pd.Series(row)),
            with_interval(*log[["difference", "low", "high"]].astype(float)),
        )
        sure = log["low"] > 0, log["high"] < 0
        en = "a gain" if sure[0] else "a loss" if sure[1] else "no sure change"
        zh = "提高" if sure[0] else "降低" if sure[1] else "没有确实的变化"
        parts["en"].append(
            f"for *{name_of(row['judge'])}* {cell} (the free log moves its r by {added}, {en})"
        )
        parts["zh"].append(
            f"“{name_of(row['judge'], 'zh')}”为 {cell}，加上免费的日志后 r 变化 {added}（{zh}）"
        )
    return {
        "en": f"**What a rating is worth**: while there are only {fewest} of them, one rating is worth so many labels of "
        f"behaviour: {'; '.join(parts['en'])}. Where “>” stands, no number of behavioural labels on this page catches up; where “≤” "
        "stands, the smallest is already enough. Where a curve is flat, a ratio of numbers along it says little.",
        "zh": f"**一个评分值多少**：只有 {fewest} 个评分时，一个评分抵得上的行为标签数，{'；'.join(parts['zh'])}。写作“>”者，"
        "表示本页任何数量的行为标签都赶不上；写作“≤”者，最小的数量就已足够。曲线平坦之处，数量之比说明不了多少。",
    }
