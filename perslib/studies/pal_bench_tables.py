"""The tables of the PAL-Bench page, in the order and form of Mem-PAL's, and what Mem-PAL published."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from perslib.errors import PerslibError
from perslib.palbench import (
    DIMENSIONS,
    Dialogue,
    Served,
    agreement_with_people,
    as_frame,
    costs,
    read_votes,
    voted,
)
from perslib.paths import read_csv
from perslib.report.tables import formatted, widen
from perslib.report.words import name_of
from perslib.text import join, translate


def conditions() -> str:
    """Return the conditions under which Tables 2 and 3 were measured."""
    return translate(
        "Qwen-Max-0428 on all of PAL-Set in Chinese: 100 users, 826 topics, real months of logs; G-Score by GPT-4o; texts "
        "embedded by paraphrase-multilingual-mpnet-base-v2."
    )


def main_results() -> pd.DataFrame:
    """Table 2: method, task, metric, published."""
    long = _table(2).set_index("method").stack().rename("published").rename_axis(["method", "column"])
    rows = long.reset_index()
    rows[["task", "metric"]] = rows.pop("column").str.split(expand=True)
    return rows[["method", "task", "metric", "published"]]


def as_printed(*tasks: str) -> pd.DataFrame:
    """The half of Table 2 on these tasks as the paper prints it, a row a method."""
    table = _table(2)
    names = {
        f"{task} {m}": {"g": "g_score", "s": "s_score"}.get(m, m)
        for task, m in map(str.split, table.columns[1:])
    }
    return table[["method", *(c for c in names if c.startswith(tasks))]].rename(columns=names)


def other_backbone() -> pd.DataFrame:
    """Table 10: method, G-Score, S-Score."""
    return _table(10)


def beside(table: pd.DataFrame) -> pd.DataFrame:
    """G-Score and S-Score as measured here, with their intervals, and as published; methods of both."""
    own = table[table["metric"].isin(["g", "s"])]
    return own.merge(main_results(), on=["method", "task", "metric"], how="inner")


def published_outcomes() -> pd.DataFrame:
    """Table 3: win, tie and lose of H²Memory against each other method, of 826 topics."""
    return _table(3)


def longmemeval() -> dict[str, float]:
    """Table 4: method → accuracy in per cent."""
    return dict(_table(4).to_numpy())


def kappas() -> dict[str, float]:
    """Table 11: dimension → κ of the judge and people."""
    return dict(_table(11)[["dimension", "kappa"]].to_numpy())


def _table(number: int) -> pd.DataFrame:
    return read_csv(__file__, f"published/mem_pal_table{number}.csv")


#: What the two dimensions of a comparison are called in tables.
ASPECTS = {"requirement": "understands the requirement", "preference": "meets the preference"}
#: What metrics are called in tables, beside BLEU.
METRICS = {"g": "g_score", "s": "s_score"}
#: The metrics that stand for the others where there is room for few.
SHORT = (("requirement", "g"), ("selection", "s"))


def methods(table: pd.DataFrame, tasks: Sequence[str]) -> pd.DataFrame:
    """Table 2, or half of it: a row a method, a column a metric of these tasks, with intervals where there are any."""
    own = table[table["task"].isin(tasks)]
    failed = own.groupby("method")["failed"].max()
    shown = widen(own, ["method"], "metric").rename(columns=METRICS)
    return shown.assign(failed=shown["method"].map(failed))


def first_differences(table: pd.DataFrame) -> pd.DataFrame:
    """The first method against every other by G-Score and S-Score; p (Holm) where users are enough to test."""
    shown = table[["other", "users"]].drop_duplicates("other").rename(columns={"other": "against"})
    for task, metric in SHORT:
        own = table[(table["task"] == task) & (table["metric"] == metric)].set_index("other")
        cells, name = formatted(own, "difference", "difference_p_holm"), METRICS[metric]
        shown[f"difference: {name}"] = shown["against"].map(cells["difference"])
        shown[f"p_holm: {name}"] = shown["against"].map(own["difference_p_holm"])
    return shown.dropna(axis=1, how="all").reset_index(drop=True)


def find_leader(table: pd.DataFrame, metric: str) -> dict[str, object] | None:
    """Return the metric's name, who has its highest value, and the value with its interval; None where nobody has one."""
    own = table[table["metric"] == metric].dropna(subset="value")
    if own.empty:
        return None
    best = own[own["value"] == own["value"].max()]
    names = join(map(name_of, best["method"]))
    return {
        "metric": name_of(METRICS[metric]),
        "best": names,
        "value": formatted(best, "value")["value"].iloc[0],
    }


def find_significant(differences: pd.DataFrame) -> dict[str, str] | None:
    """Return the first method, and those it is better and worse than with p < 0.05 (Holm); None where nothing was tested."""
    own = differences[differences["metric"].isin(["g", "s"]) & differences["difference_p_holm"].notna()]
    if own.empty:
        return None
    sure = own[own["difference_p_holm"] < 0.05]
    names = [f"{name_of(o)} ({name_of(METRICS[m])})" for o, m in zip(sure["other"], sure["metric"])]
    above = (sure["difference"] > 0).tolist()
    better, worse = (join(n for n, up in zip(names, above) if up is side) for side in (True, False))
    return {"method": name_of(own["method"].iloc[0]), "better": better, "worse": worse}


def share_outcomes(table: pd.DataFrame) -> pd.DataFrame:
    """Shares of topics won, tied and lost: other, dimension, win, tie, lose."""
    counts = table[["win", "tie", "lose"]]
    shares = counts.div(counts.sum(axis=1).clip(lower=1), axis=0)
    return shares.assign(other=table["other"], dimension=table["dimension"].map(ASPECTS))


def panel_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The rows that stand for each task in a figure, with the column `panel`: BLEU-1 and G-Score, BLEU-1, S-Score."""
    bleu = table["metric"].str.endswith("bleu_1")
    wanted = bleu | pd.Series(list(zip(table["task"], table["metric"])), table.index).isin(SHORT)
    own = table[wanted].reset_index(drop=True)
    titles = [
        f"{name_of(f'pal_{t}')}, {name_of(METRICS.get(m, m))}" for t, m in zip(own["task"], own["metric"])
    ]
    return own.assign(panel=titles)


def taken(answers: pd.DataFrame, served: Sequence[Served], table: pd.DataFrame) -> pd.DataFrame:
    """What each method takes, building a user's memory and answering a task, beside what it reaches."""
    own = costs(answers, served)
    lost = answers.assign(lost=answers["said"].isna()).groupby("method")["lost"].sum()
    reached = {
        metric: table[(table["task"] == task) & (table["metric"] == metric)].set_index("method")["value"]
        for task, metric in SHORT
    }
    shown = pd.DataFrame(
        {
            "method": own["method"],
            "build_calls": own["build_calls"],
            "build_tokens": own["build_tokens_in"] + own["build_tokens_out"],
            "build_seconds": own["build_seconds"],
            "build_cost": own["build_cost"],
            "answer_tokens": own["answer_tokens_in"] + own["answer_tokens_out"],
            "answer_seconds": own["answer_seconds"],
            "answer_cost": own["answer_cost"],
            "memory_failed": own["memory_failed"],
            "answers_failed": own["method"].map(lost),
            **{METRICS[metric]: own["method"].map(values) for metric, values in reached.items()},
        }
    )
    whole = {"build_tokens": "int64", "memory_failed": "int64", "answers_failed": "int64"}
    free = [c for c in ("build_cost", "answer_cost") if not shown[c].fillna(0).any()]
    return shown.astype(whole).drop(columns=free)


def outcomes(table: pd.DataFrame) -> pd.DataFrame:
    """Table 3: win, tie and lose of H²Memory, with the lead (share of wins minus share of losses)."""
    ordered = table.sort_values("dimension", key=lambda d: d.map(DIMENSIONS.index), kind="stable")
    named = ordered.assign(dimension=ordered["dimension"].map(ASPECTS)).rename(columns={"other": "against"})
    counts = ["dimension", "against", "win", "tie", "lose", "unscored"]
    shown = formatted(named, *counts, "lead").assign(**named[["lead_p", "lead_p_holm", "topics", "users"]])
    return shown.dropna(axis=1, how="all").reset_index(drop=True)


def talked(dialogues: Sequence[Dialogue]) -> pd.DataFrame:
    """What the dialogues took: a row a method, means a dialogue, and how many broke off."""
    frame = as_frame(dialogues)
    frame["tokens"] = frame["tokens_in"] + frame["tokens_out"]
    each = frame.groupby(["method", "user", "session", "topic"], sort=False)
    sums = each.agg(
        turns=("turn", "max"), calls=("calls", "sum"), tokens=("tokens", "sum"), broke=("error", "count")
    )
    own = sums.groupby("method", sort=False)
    means = own[["turns", "calls", "tokens"]].mean()
    return means.assign(dialogues=own.size(), broke_off=own["broke"].sum()).reset_index()


# -- other runs --------------------------------------------------------------------------------------------------

RUN = [
    "backbone",
    "judge",
    "embedder",
    "method",
    "task",
    "metric",
    "value",
    "value_low",
    "value_high",
    "samples",
    "users",
]


def as_run(table: pd.DataFrame, judge: str, embedder: str, asked: str) -> pd.DataFrame:
    """`results` with what is needed to set it beside other runs: judge, embedder, and which topics were asked about."""
    return table.assign(judge=judge, embedder=embedder, asked=asked)[["asked", *RUN]]


def runs(own: pd.DataFrame, out: str | Path, name: str = "pal_run") -> pd.DataFrame:
    """Table 10: G-Score and S-Score of this run and of those that lie beside it and asked about the same topics.

    Pages of one corpus lie in a folder a backbone; each has its `tables/pal_run.csv`.
    """
    frames = [own]
    here = Path(out).resolve() if out else None
    for file in sorted(here.parent.glob(f"*/tables/{name}.csv")) if here else []:
        if file.parent.parent != here:
            frames.append(_read_run(file))
    both = pd.concat(frames, ignore_index=True)
    both = both[(both["asked"] == own["asked"].iloc[0]) & both["metric"].isin(["g", "s"])]
    keys = ["method", "backbone", "judge", "embedder"]
    shown = widen(both.drop_duplicates([*keys, "metric"]), keys, "metric")
    return shown.reindex(columns=[*keys, "g", "s"]).rename(columns=METRICS)


def _read_run(file: Path) -> pd.DataFrame:
    try:
        frame = pd.read_csv(file)
        return frame[["asked", *RUN]]
    except (OSError, ValueError, KeyError):
        return pd.DataFrame(columns=["asked", *RUN])


# -- people ------------------------------------------------------------------------------------------------------


def to_vote_on(pairs: pd.DataFrame) -> pd.DataFrame:
    """The sheet that people fill in: a row a topic and dimension, rater and vote left open."""
    keys = ["user", "session", "topic", "dimension", "method", "other"]
    return pairs[keys].assign(rater="", vote="")


def with_people(pairs: pd.DataFrame, votes: str | Path) -> pd.DataFrame:
    """Table 11 from a file of votes: judge and people, and κ over the topics that both decide."""
    said = read_votes(votes)
    if "other" not in said and pairs["other"].nunique() > 1:
        raise PerslibError(
            f"{Path(votes).name} does not say which method H²Memory was compared with: add columns method and other."
        )
    found = agreement_with_people(pairs, voted(said))
    for who in ("judge", "people"):
        counts = found[[f"{who}_{kind}" for kind in ("win", "tie", "lose")]]
        found[f"{who}_votes"] = counts.astype(str).agg(" / ".join, axis=1)
    found["published_kappa"] = found["dimension"].map(kappas())
    found["dimension"] = found["dimension"].map(ASPECTS)
    same = {name: name for name in ("dimension", "topics", "judge_votes", "people_votes", "kappa", "decided")}
    return formatted(found, against="other", **same, published_kappa="published_kappa")
