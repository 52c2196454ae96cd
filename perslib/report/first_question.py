"""One small question to the chosen backbone about a corpus: does the model layer work from end to end?

A handful of replies is judged on the plain scale. It is no evaluation: too few turns, and no memory of the user.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from perslib.errors import PerslibError
from perslib.report.corpus_notes import Note
from perslib.report.corpus_tables import scored
from perslib.report.markup import literally

if TYPE_CHECKING:
    from perslib.corpus import Corpus


@dataclass(frozen=True)
class FirstQuestion:
    """What the backbone said: one row a reply (empty when it could not be asked), and a sentence about it."""

    table: pd.DataFrame
    note: Note


def ask_first(corpus: Corpus, name: str, turns: int = 3, seed: int = 42) -> FirstQuestion:
    """Let backbone `name` score a few replies by the prompt `judge_generic`; nothing raised for a missing one."""
    from perslib.llm import backbone
    from perslib.llm.registry import entries
    from perslib.prompts import prompt

    entry = entries().get(name)
    if entry and entry.languages and corpus.language not in entry.languages:
        return FirstQuestion(pd.DataFrame(), _cannot_read(name, entry.model, corpus.language))
    rows = _few_turns(corpus, turns, seed)
    if rows.empty:
        return FirstQuestion(rows, _nothing_to_judge())
    judge = prompt("judge_generic", corpus.language)
    try:
        model = backbone(name)
        answers = model.ask_many(
            [judge.render(**_fields(corpus, row)) for _, row in rows.iterrows()], stage="first question"
        )
    except (PerslibError, ImportError) as error:
        return FirstQuestion(pd.DataFrame(), _missing(name, error))
    said = [a.data if isinstance(a.data, dict) else {} for a in answers]
    table = pd.DataFrame(
        {
            "scenario": rows["scenario"].to_list(),
            "reply_begins": [_beginning(text) for text in rows["response"]],
            "score": rows["score"].to_list(),
            "model_score": pd.array([s.get("score") for s in said], dtype="Int64"),
            "mode": [a.mode for a in answers],
            "seconds": [a.seconds for a in answers],
        }
    )
    return FirstQuestion(table, _asked(name, entry, table))


def _few_turns(corpus: Corpus, turns: int, seed: int) -> pd.DataFrame:
    """A few scored turns of different scores, drawn with the seed.

    They open their conversation and are among the shorter ones, so that a small model takes them in quickly.
    """
    pool = scored(corpus)
    pool = pool[pool["turn"] == pool["turn"].min()]
    shorter = pool.assign(length=pool["response"].str.len()).nsmallest(
        max(3 * turns, len(pool) * 3 // 10), "length"
    )
    drawn = shorter.sample(frac=1, random_state=seed)
    order = drawn.groupby("score").cumcount()
    return drawn.assign(order=order).sort_values(["order", "score"], kind="stable").head(turns)


def _beginning(text: str, longest: int = 70) -> str:
    """The first words of a reply, in one line."""
    line = " ".join(text.split())
    cut = line.rfind(" ", longest // 2, longest)
    return line if len(line) <= longest else line[: cut if cut > 0 else longest] + " …"


def _fields(corpus: Corpus, row: pd.Series) -> dict[str, Any]:
    block = corpus.block(row["user"], row["scenario"])
    target = block.target(row["session"], row["turn"])
    return {
        "scenario": target.scenario,
        "task": target.task or "",
        "conversation": list(target.window()),
        "reply": target.response,
        "written": True,
    }


# -- sentences ---------------------------------------------------------------------------------------------


def _asked(name: str, entry: Any, table: pd.DataFrame) -> Note:
    scored_ones = int(table["model_score"].notna().sum())
    about = {"en": "", "zh": ""}
    if entry is not None and entry.kind == "embedded" and name == "embedded":
        about = {
            "en": f" The embedded model, {literally(entry.model)}, reads English only and is a very small one: it shows that a study "
            "runs from end to end, at no cost and without a network, and is good for trying things out. It is not good for "
            "results: do not read its scores as judgments.",
            "zh": f"内置模型 {literally(entry.model)} 只读英文，而且非常小：它用来表明一项研究可以从头跑到尾，不花钱也不需要网络，适合试手；"
            "它不能产出结论，请勿把它的评分当作判断。",
        }
    return {
        "en": f"Backbone **{literally(name)}** was asked to score {len(table)} replies on the plain scale, knowing nothing of the user; "
        f"{scored_ones} came back with a score.{about['en']}",
        "zh": f"请模型 **{literally(name)}** 在对用户一无所知的情况下按普通量表为 {len(table)} 条回复打分，其中 {scored_ones} 条得到评分。{about['zh']}",
    }


def _cannot_read(name: str, model: str, language: str) -> Note:
    return {
        "en": f"Backbone **{literally(name)}** ({literally(model)}) does not read the language of this corpus, so it was not asked; choose another by `--backbone`.",
        "zh": f"模型 **{literally(name)}**（{literally(model)}）不读本语料的语言，因此没有提问；可用 `--backbone` 换一个模型。",
    }


def _nothing_to_judge() -> Note:
    return {
        "en": "No reply carries a score, so there is nothing to ask about.",
        "zh": "没有带评分的回复，因此没有可问的内容。",
    }


def _missing(name: str, error: Exception) -> Note:
    reason = literally(" ".join(str(error).split()))
    return {
        "en": f"Backbone **{literally(name)}** could not be asked: {reason}",
        "zh": f"无法向模型 **{literally(name)}** 提问：{reason}",
    }
