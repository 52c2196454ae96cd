"""What came of a run of PAL-Bench: its tables beside Mem-PAL's, runs side by side, and topics in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.pal import Dialogue, Topic, agreement_with_people, as_frame, costs, read_votes, voted
from perslib.pal.compared import OUTCOMES
from perslib.paths import read_csv
from perslib.report.tables import formatted, widen
from perslib.report.words import name_of
from perslib.studies.pal_bench import Bench, Months
from perslib.text import join, translate

#: What the two dimensions of a comparison are called in tables.
ASPECTS = {"requirement": "understands the requirement", "preference": "meets the preference"}
#: The metrics that stand for the others where there is room for few.
SHORT = ("g_score", "s_score")
_MARK = {"pos": "✓", "neg": "✗", "neu": "–"}


# -- as published ------------------------------------------------------------------------------------------------


def published(number: int) -> pd.DataFrame:
    """Return a table of Mem-PAL by its number, with the columns of `published/mem_pal_table….csv`."""
    return read_csv(__file__, f"published/mem_pal_table{number}.csv")


def main_results() -> pd.DataFrame:
    """Return Table 2. Columns: method, task, metric, published."""
    table = published(2).melt("method", var_name="column", value_name="published")
    table[["task", "metric"]] = table.pop("column").str.split(expand=True)
    return table


# -- single turns ------------------------------------------------------------------------------------------------


def widen_tasks(table: pd.DataFrame, *tasks: str) -> pd.DataFrame:
    """Return a row a method and a column a metric of these tasks, with intervals, and how many answers failed."""
    own = table[table["task"].isin(tasks)]
    shown = widen(own, ["method"], "metric")
    return shown.assign(failed=shown["method"].map(own.groupby("method")["failed"].max()))


def select_short(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that stand for each task, BLEU-1, G-Score and S-Score, with their title in the column `panel`."""
    own = table[table["metric"].isin(["bleu_1", "word_bleu_1", *SHORT])]
    titles = [f"{name_of(f'pal_{task}')}, {name_of(metric)}" for task, metric in zip(own["task"], own["metric"])]
    return own.assign(panel=titles).reset_index(drop=True)


def find_leader(table: pd.DataFrame, metric: str) -> dict[str, object] | None:
    """Return the metric's name, who has its highest value, and the value with its interval; None where nobody has one."""
    own = table[table["metric"] == metric].dropna(subset="value")
    best = own[own["value"] == own["value"].max()]
    if best.empty:
        return None
    value = formatted(best, "value")["value"].iloc[0]
    return {"metric": name_of(metric), "best": join(map(name_of, best["method"])), "value": value}


def find_significant(differences: pd.DataFrame) -> dict[str, str] | None:
    """Return the first method, and those it is better and worse than with p < 0.05 (Holm); None where nothing was tested."""
    own = differences[differences["metric"].isin(SHORT) & differences["difference_p_holm"].notna()]
    if own.empty:
        return None
    sure = own[own["difference_p_holm"] < 0.05]
    names = sure["other"].map(name_of) + " (" + sure["metric"].map(name_of) + ")"
    above = sure["difference"] > 0
    return {"method": name_of(own["method"].iloc[0]), "better": join(names[above]), "worse": join(names[~above])}


def costs_and_scores(bench: Bench, table: pd.DataFrame) -> pd.DataFrame:
    """Return what each method takes, building a user's memory and answering a task, beside what it reaches.

    Columns: those of `perslib.pal.costs` but for answer_calls, without prices where nothing has one; g_score, s_score.
    """
    scores = table[table["metric"].isin(SHORT)].pivot(index="method", columns="metric", values="value")
    own = costs(bench.answers, bench.served).join(scores, on="method")
    free = [c for c in ("build_cost", "answer_cost") if not own[c].fillna(0).any()]
    return own.drop(columns=["answer_calls", *free])


def describe_topics(asked: Months, bench: Bench, most: int = 4) -> Iterator[dict[str, Any]]:
    """Describe the first topic of each user, then further ones, for `pal_cases.html.j2`: with all methods' answers."""
    scenes = [scene for person in asked.who for scene in person.scenes[:1]]
    scenes += [scene for person in asked.who for scene in person.scenes[1:]]
    answers = bench.answers[["method", "task", "said", "error", "grade", "user", "session", "topic"]]
    answers = answers.astype(object).where(answers.notna(), None)
    for topic in [scene.topic for scene in scenes[:most]]:
        own = answers[(answers[list(topic.key)] == list(topic.key.values())).all(axis=1)]
        methods = [
            (name, [{**row, "said": _shown(topic, row["task"], row["said"])} for row in part.to_dict("records")])
            for name, part in own.groupby("method", sort=False)
        ]
        yield {"topic": topic, "methods": methods}


def _shown(topic: Topic, task: str, said: str | None) -> str | None:
    """An answer as people read it: selected solutions in full, with what the user thinks of each."""
    if task != "selection" or said is None:
        return said
    selected = [f"{_MARK[topic.feedback[i]]} {i}{translate(': ')}{topic.numbered[i]}" for i in said.split()]
    return "\n".join(selected)


# -- dialogues ---------------------------------------------------------------------------------------------------


def dialogue_costs(dialogues: Sequence[Dialogue]) -> pd.DataFrame:
    """Return what the dialogues of each method took.

    Columns: method; turns, calls and tokens of the assistant (means a dialogue); dialogues, broke_off.
    """
    frame = as_frame(dialogues)
    frame["tokens"] = frame["tokens_in"] + frame["tokens_out"]
    sums = frame.groupby(["method", "user", "session", "topic"], sort=False).agg(
        turns=("turn", "max"), calls=("calls", "sum"), tokens=("tokens", "sum"), broke=("error", "count")
    )
    own = sums.groupby("method", sort=False)
    means = own[["turns", "calls", "tokens"]].mean()
    return means.assign(dialogues=own.size(), broke_off=own["broke"].sum()).reset_index()


def describe_dialogues(held: Sequence[Dialogue], most: int = 2) -> list[dict[str, Any]]:
    """Describe the dialogues on the first topics for `pal_cases.html.j2`, method by method."""
    topics = {tuple(d.scene.topic.key.values()): d.scene.topic for d in held}
    first = list(topics.values())[:most]
    return [{"topic": t, "dialogues": [d for d in held if d.scene.topic.key == t.key]} for t in first]


def compare_with_people(pairs: pd.DataFrame, votes: str | Path) -> pd.DataFrame:
    """Return Table 11 from a file of votes, with the published κ.

    Columns: those of `perslib.pal.agreement_with_people`; judge_votes and people_votes (win / tie / lose),
    published_kappa.
    """
    found = agreement_with_people(pairs, voted(read_votes(votes)))
    for who in ("judge", "people"):
        counts = found[[f"{who}_{kind}" for kind in OUTCOMES]].astype(str)
        found[f"{who}_votes"] = counts.agg(" / ".join, axis=1)
    kappas = published(11).set_index("dimension")["kappa"]
    return found.assign(published_kappa=found["dimension"].map(kappas))


# -- other runs --------------------------------------------------------------------------------------------------


def collect_runs(own: pd.DataFrame, out: str | Path, name: str = "pal_run") -> pd.DataFrame:
    """Return Table 10: G-Score and S-Score of this run and of those beside it that asked about the same topics.

    Pages of one corpus lie in a folder a backbone; each has its `tables/pal_run.csv`. `own` is what this page writes there:
    `results` with the columns judge, embedder and asked. Columns: method, backbone, judge, embedder, g_score, s_score.
    """
    here = Path(out).resolve() if out else None
    frames = [own]
    for file in sorted(here.parent.glob(f"*/tables/{name}.csv")) if here else []:
        if file.parent.parent != here:
            with suppress(OSError, ValueError):  # what is no such table is none of ours
                frames.append(pd.read_csv(file, usecols=list(own)))
    both = pd.concat(frames, ignore_index=True)
    both = both[(both["asked"] == own["asked"].iloc[0]) & both["metric"].isin(SHORT)]
    keys = ["method", "backbone", "judge", "embedder"]
    return widen(both.drop_duplicates([*keys, "metric"]), keys, "metric").reindex(columns=[*keys, *SHORT])
