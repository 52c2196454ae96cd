"""What Mem-PAL published, to stand beside what is measured here and never in one column with it.

Tables 2 and 10: BLEU-1 to BLEU-4 and G-Score of restated requirements, BLEU-1 to BLEU-4 of solutions, S-Score. Table 3:
win, tie and lose of H²Memory over 826 topics. Table 4: accuracy on 30 questions. Table 11: the same 80 topics judged by
a model and by people.
"""

from __future__ import annotations

import pandas as pd

from perslib.studies.notes import Note

COLUMNS = [
    *(("requirement", m) for m in ("bleu_1", "bleu_2", "bleu_3", "bleu_4", "g")),
    *(("solution", m) for m in ("bleu_1", "bleu_2", "bleu_3", "bleu_4")),
    ("selection", "s"),
]
MAIN = {
    "vanilla (without log)": (13.59, 5.76, 2.58, 1.41, 17.50, 18.85, 6.96, 3.52, 2.06, 18.95),
    "vanilla (with log)": (19.71, 8.85, 4.10, 2.29, 23.00, 19.76, 7.68, 4.00, 2.32, 22.88),
    "turn-level RAG": (22.74, 10.54, 4.94, 2.69, 26.85, 19.15, 7.43, 3.89, 2.29, 24.09),
    "session-level RAG": (23.81, 11.24, 5.42, 3.06, 29.33, 19.66, 7.80, 4.00, 2.33, 33.78),
    "RecurSum": (23.29, 10.64, 4.95, 2.75, 28.36, 19.89, 7.59, 3.96, 2.26, 25.61),
    "ConditionMem": (23.31, 10.42, 4.86, 2.66, 27.78, 19.42, 7.42, 3.85, 2.22, 25.49),
    "MemoryBank": (23.89, 11.11, 5.23, 2.91, 28.57, 20.49, 8.12, 4.07, 2.34, 29.85),
    "H²Memory": (26.67, 12.18, 5.68, 3.09, 32.54, 22.24, 8.38, 4.39, 2.65, 38.32),
    "H²Memory without situations": (26.32, 11.93, 5.42, 2.93, 30.90, 22.19, 8.24, 4.35, 2.62, 37.71),
    "H²Memory without background": (26.22, 11.95, 5.53, 3.05, 31.30, 21.84, 8.17, 4.19, 2.46, 36.69),
    "H²Memory without outlines": (24.04, 11.01, 5.20, 2.82, 28.00, 18.23, 6.49, 3.21, 1.86, 28.09),
    "H²Memory without principles": (26.33, 11.90, 5.44, 2.90, 31.51, 21.97, 8.16, 4.23, 2.49, 36.26),
}
#: G-Score and S-Score with DeepSeek-V3.1 and bge-base-zh, mean of three runs.
OTHER_BACKBONE = {
    "vanilla (without log)": (25.61, 22.48),
    "vanilla (with log)": (39.91, 25.46),
    "RecurSum": (33.96, 34.48),
    "ConditionMem": (38.94, 29.98),
    "MemoryBank": (40.73, 36.92),
    "H²Memory": (49.77, 40.40),
}
OUTCOMES = {
    "vanilla (without log)": ((478, 29, 319), (480, 18, 328)),
    "vanilla (with log)": ((447, 33, 346), (452, 22, 352)),
    "RecurSum": ((421, 29, 376), (439, 18, 369)),
    "ConditionMem": ((396, 42, 388), (413, 19, 394)),
    "MemoryBank": ((449, 33, 344), (452, 25, 349)),
}
LONGMEMEVAL = {
    "vanilla": 10.00,
    "RecurSum": 10.00,
    "ConditionMem": 40.00,
    "MemoryBank": 23.33,
    "H²Memory, dialogues only": 50.00,
    "H²Memory, outlines only": 40.00,
    "H²Memory, principles only": 46.67,
}
#: Judge and people on win, tie, lose; and κ where both decide.
PEOPLE = {
    "requirement": ((45, 4, 31), (31, 26, 23), 0.54),
    "preference": ((44, 1, 35), (41, 11, 28), 0.62),
}
CONDITIONS: Note = {
    "en": "Qwen-Max-0428 on all of PAL-Set in Chinese: 100 users, 826 topics, real months of logs; G-Score by GPT-4o; "
    "texts embedded by paraphrase-multilingual-mpnet-base-v2.",
    "zh": "Qwen-Max-0428，中文 PAL-Set 全集：100 位用户、826 个话题、完整的数月日志；G-Score 由 GPT-4o 评定；"
    "文本向量来自 paraphrase-multilingual-mpnet-base-v2。",
}


def main_results() -> pd.DataFrame:
    """Table 2: method, task, metric, published."""
    rows = [
        {"method": method, "task": task, "metric": metric, "published": value}
        for method, values in MAIN.items()
        for (task, metric), value in zip(COLUMNS, values, strict=True)
    ]
    return pd.DataFrame(rows)


def as_printed(*tasks: str) -> pd.DataFrame:
    """The half of Table 2 on these tasks as the paper prints it, a row a method."""
    own = main_results()
    own = own[own["task"].isin(tasks)].replace({"metric": {"g": "g_score", "s": "s_score"}})
    order = list(dict.fromkeys(own["metric"]))
    shown = own.pivot(index="method", columns="metric", values="published").loc[[*MAIN], order]
    return shown.reset_index().rename_axis(columns=None)


OTHER_CONDITIONS: Note = {
    "en": "Table 10 of Mem-PAL: DeepSeek-V3.1 with bge-base-zh on all of PAL-Set in Chinese, mean of three runs.",
    "zh": "Mem-PAL 表 10：DeepSeek-V3.1 与 bge-base-zh，中文 PAL-Set 全集，三次运行的均值。",
}


def other_backbone() -> pd.DataFrame:
    """Table 10: method, G-Score, S-Score."""
    rows = [{"method": method, "g_score": g, "s_score": s} for method, (g, s) in OTHER_BACKBONE.items()]
    return pd.DataFrame(rows)


def beside(table: pd.DataFrame) -> pd.DataFrame:
    """G-Score and S-Score as measured here, with their intervals, and as published; methods of both."""
    own = table[table["metric"].isin(["g", "s"])]
    return own.merge(main_results(), on=["method", "task", "metric"], how="inner")


def outcomes() -> pd.DataFrame:
    """Table 3: win, tie and lose of H²Memory against each other method, of 826 topics."""
    called = {"requirement": "understands the requirement", "preference": "meets the preference"}
    rows = [
        {
            "dimension": called[dimension],
            "against": other,
            **dict(zip(("win", "tie", "lose"), counts, strict=True)),
        }
        for place, dimension in enumerate(called)
        for other, counts in ((other, both[place]) for other, both in OUTCOMES.items())
    ]
    return pd.DataFrame(rows)
