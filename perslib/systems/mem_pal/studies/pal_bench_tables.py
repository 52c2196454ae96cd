"""Results of a run of PAL-Bench: its tables next to Mem-PAL's, comparisons of runs, and topics in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.paths import read_csv
from perslib.report.show.claims import Estimate
from perslib.report.show.tables import format_as_interval, format_number, format_table, widen
from perslib.report.show.words import name_of
from perslib.systems.mem_pal.bench import (
    BenchDialogue,
    BenchTopic,
    agreement_with_people,
    as_frame,
    compare_methods,
    costs,
    find_majority_votes,
    read_votes,
)
from perslib.systems.mem_pal.bench.comparisons import OUTCOMES
from perslib.systems.mem_pal.bench.measures import POINTS
from perslib.systems.mem_pal.bench.tables import metric_factor
from perslib.systems.mem_pal.studies.pal_bench import FAULTLESS, OURS, Bench, BenchUsers
from perslib.text import join, mark, translate

#: Names of the two dimensions of a comparison in tables.
ASPECTS = {"requirement": "understands the requirement", "preference": "meets the preference"}
#: The metrics that represent the others in short tables.
SHORT_METRICS = ("g_score", "s_score")
#: A sentence for each kind of effect of leaving out a part, by the kinds of `sum_up_ablations`.
ABLATION_SENTENCES = {
    "lower": mark("Without one of its parts {method} is worse: {changes}; p < 0.05 after Holm, {users} users."),
    "higher": mark("Without one of its parts {method} is better: {changes}; p < 0.05 after Holm, {users} users."),
    "unclear": mark(
        "What {method} is without {parts} does not differ after Holm's correction over all of these changes; their 95 % intervals, each "
        "alone, lie between {low} and {high} ({users} users)."
    ),
}
#: A sentence for each side on which the first method differs from others, by the keys of `find_significant`.
DIFFERENCE_SENTENCES = {
    "better": mark("With p < 0.05 after Holm, {method} is better than: {better}."),
    "worse": mark("With p < 0.05 after Holm, {method} is worse than: {worse}."),
    "neither": mark("After Holm's correction, no difference between {method} and another method is significant."),
}
#: The method that remembers nothing of the months.
NO_MEMORY = "vanilla (without log)"
_MARK = {"pos": "✓", "neg": "✗", "neu": "–"}


# -- published tables --------------------------------------------------------------------------------------------


def read_published_table(number: int) -> pd.DataFrame:
    """Return a table of Mem-PAL by its number, with the columns of `published/mem_pal_table….csv`."""
    return read_csv(__file__, f"published/mem_pal_table{number}.csv")


def read_main_results() -> pd.DataFrame:
    """Return Table 2. Columns: method, task, metric, published."""
    table = read_published_table(2).melt("method", var_name="column", value_name="published")
    table[["task", "metric"]] = table.pop("column").str.split(expand=True)
    return table


# -- single turns ------------------------------------------------------------------------------------------------


def widen_tasks(table: pd.DataFrame, *tasks: str) -> pd.DataFrame:
    """Return one row per method and one column per metric of these tasks, with intervals.

    The column `failed` has the number of failed answers.
    """
    rows = table[table["task"].isin(tasks)]
    shown = widen(rows, ["method"], "metric")
    return shown.assign(failed=shown["method"].map(rows.groupby("method")["failed"].max()))


def list_baseline_methods(table: pd.DataFrame) -> list[str]:
    """Return the methods that are neither H²Memory nor its ablations."""
    return [m for m in dict.fromkeys(table["method"]) if not m.startswith((OURS, FAULTLESS))]


def select_short(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that represent each task: BLEU-1, G-Score and S-Score, with their title in the column `panel`."""
    rows = table[table["metric"].isin(["bleu_1", "word_bleu_1", *SHORT_METRICS])]
    titles = [f"{name_of(f'pal_{task}')}, {name_of(metric)}" for task, metric in zip(rows["task"], rows["metric"])]
    return rows.assign(panel=titles).reset_index(drop=True)


def compare_ablations(compared: pd.DataFrame, first: str) -> pd.DataFrame:
    """Return the effect of leaving a part out of the first method, from its differences from the others.

    Columns: pal_part, metric (G-Score and S-Score), change with change_low, change_high, change_p_holm, users.
    """
    rows = compared[compared["other"].str.startswith(f"{first} without ") & compared["metric"].isin(SHORT_METRICS)]
    low, high = -rows["difference_high"], -rows["difference_low"]
    changes = {"change": -rows["difference"], "change_low": low, "change_high": high}
    part = rows["other"].str.removeprefix(f"{first} without ") + "_size"  # the name of its label
    table = rows.assign(pal_part=part, **changes, change_p_holm=rows["difference_p_holm"])
    return table[["pal_part", "metric", *changes, "change_p_holm", "users"]].reset_index(drop=True)


def sum_up_ablations(changes: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return values for a sentence on the changes that are `lower` or `higher` with p < 0.05 (Holm), or `unclear`.

    Values: parts, changes (each with its interval), low and high (the range of all intervals), users. Kinds without
    changes are left out; if nothing was tested, all are.
    """
    tested = changes[changes["change_p_holm"].notna()]
    is_sure, is_below = tested["change_p_holm"] < 0.05, tested["change"] < 0
    is_unclear = ~tested["pal_part"].isin(tested["pal_part"][is_sure])
    kinds = {"lower": tested[is_sure & is_below], "higher": tested[is_sure & ~is_below], "unclear": tested[is_unclear]}
    return {kind: _describe_changes(rows) for kind, rows in kinds.items() if len(rows)}


def _describe_changes(rows: pd.DataFrame) -> dict[str, Any]:
    shown = (
        rows["metric"].map(name_of)
        + " "
        + format_table(rows, change=format_as_interval(digits=1))["change"].astype(str)
    )
    named = rows["pal_part"].map(name_of)
    changes = join(f"{part} ({join(each)})" for part, each in shown.groupby(named, sort=False))
    low, high = (format_number(bound, 1) for bound in (rows["change_low"].min(), rows["change_high"].max()))
    return {"parts": join(named.unique()), "changes": changes, "low": low, "high": high, "users": rows["users"].max()}


def describe_worth(compared: pd.DataFrame, table: pd.DataFrame) -> dict[str, str] | None:
    """Return what the first method gains over no memory, and over the best other memory, in points of each score and task.

    None where the two were not compared. With enough users a gain has its interval.
    """
    others = [name for name in list_baseline_methods(table) if name != NO_MEMORY]
    gains: dict[str, list[str]] = {"over_none": [], "over_best": []}
    for metric in SHORT_METRICS:
        means = table[(table["metric"] == metric) & table["method"].isin(others)].dropna(subset="value")
        own = compared[compared["metric"] == metric].set_index("other")
        if NO_MEMORY not in own.index or means.empty:
            return None
        best = means.loc[means["value"].idxmax(), "method"]
        points = format_table(own.loc[[NO_MEMORY, best]], difference=format_as_interval(digits=1))["difference"].astype(
            str
        )
        gains["over_none"].append(f"{name_of(metric)} {points.iloc[0]}")
        gains["over_best"].append(f"{name_of(metric)} {points.iloc[1]} ({name_of(best)})")
    proposed = compared[compared["metric"].str.endswith("bleu_1") & compared["task"].eq("solution")]
    rows = proposed[proposed["other"] == NO_MEMORY].to_dict("records")
    solution = str(Estimate.of(rows[0], "difference", digits=1)) if rows else "–"
    texts = {over: join(each) for over, each in gains.items()} | {"solution": solution}
    return {"method": name_of(compared["method"].iloc[0]), **texts}


def measure_chance_spread(bench_users: BenchUsers) -> float:
    """Return the range around 0 that contains the S-Score of random selections in 95 of 100 runs on the same topics."""
    points = (
        pd.DataFrame([s.topic.feedback for p in bench_users.persons for s in p.scenes]).replace(POINTS).astype(float)
    )
    n = points.count(axis=1)
    variance = 2 * (n - 2) / (n - 1) * points.var(axis=1, ddof=0)  # two are drawn without replacement
    return float(1.96 * metric_factor("s_score") * variance.sum() ** 0.5 / len(points))


def find_leader(samples: pd.DataFrame, table: pd.DataFrame, metric: str) -> dict[str, object] | None:
    """Return the metric's name, the method with its highest value, the value, and the number of others nearby.

    The value has its interval. `near` is the number of the `others` that are not lower with p < 0.05 (Holm), or None if
    nothing could be tested. The result is None if no method has a value.
    """
    rows = table[table["metric"] == metric].dropna(subset="value")
    best = rows[rows["value"] == rows["value"].max()]
    if best.empty:
        return None
    value = format_table(best, "value")["value"].iloc[0]
    p = compare_methods(samples[samples["metric"] == metric], best["method"].iloc[0])["difference_p_holm"]
    near = int((p >= 0.05).sum()) if p.notna().any() else None
    leader = {"metric": name_of(metric), "best": join(map(name_of, best["method"])), "value": value}
    return {**leader, "near": near, "others": len(p)}


def find_significant(compared: pd.DataFrame) -> dict[str, str] | None:
    """Return the first method, and those it is better and worse than with p < 0.05 (Holm); None without a test."""
    tested = compared[compared["metric"].isin(SHORT_METRICS) & compared["difference_p_holm"].notna()]
    if tested.empty:
        return None
    sure = tested[tested["difference_p_holm"] < 0.05]
    names = sure["other"].map(name_of) + " (" + sure["metric"].map(name_of) + ")"
    above = sure["difference"] > 0
    sides = {"better": join(names[above]), "worse": join(names[~above]), "neither": "" if len(sure) else "–"}
    return {"method": name_of(tested["method"].iloc[0]), **sides}


def compare_costs(bench: Bench, table: pd.DataFrame) -> pd.DataFrame:
    """Return the cost of each method, for building a user's memory and answering a task, next to its scores.

    Columns: those of `perslib.systems.mem_pal.bench.costs` except answer_calls, without prices if there are none; context_tokens (text
    handed over for a question); g_score, s_score.
    """
    scores = table[table["metric"].isin(SHORT_METRICS)].pivot(index="method", columns="metric", values="value")
    context_tokens = bench.answers.groupby("method")["context_tokens"].mean()
    costs_by_method = costs(bench.answers, bench.served).join(context_tokens, on="method").join(scores, on="method")
    free = [c for c in ("build_cost", "answer_cost") if not costs_by_method[c].fillna(0).any()]
    return costs_by_method.drop(columns=["answer_calls", *free])


def describe_topics(bench_users: BenchUsers, bench: Bench) -> Iterator[dict[str, Any]]:
    """Yield four topics with all methods' answers for `pal_cases.html.j2`: the first of each user, then others."""
    scenes = [scene for person in bench_users.persons for scene in person.scenes[:1]]
    scenes += [scene for person in bench_users.persons for scene in person.scenes[1:]]
    answers = bench.answers[["method", "task", "said", "error", "grade", "user", "session", "topic"]]
    answers = answers.astype(object).where(answers.notna(), None)
    for topic in [scene.topic for scene in scenes[:4]]:
        topic_answers = answers[(answers[list(topic.key)] == list(topic.key.values())).all(axis=1)]
        methods = [
            (
                name,
                [{**row, "said": _format_answer(topic, row["task"], row["said"])} for row in part.to_dict("records")],
            )
            for name, part in topic_answers.groupby("method", sort=False)
        ]
        yield {"topic": topic, "methods": methods}


def _format_answer(topic: BenchTopic, task: str, answer: str | None) -> str | None:
    """Return an answer in readable form: selected solutions in full, with the user's opinion of each."""
    if task != "selection" or answer is None:
        return answer
    selected = [
        f"{_MARK[topic.feedback[i]]} {i}{translate(': ')}{topic.numbered_candidates[i]}" for i in answer.split()
    ]
    return "\n".join(selected)


# -- dialogues ---------------------------------------------------------------------------------------------------


def sum_dialogue_costs(dialogues: Sequence[BenchDialogue]) -> pd.DataFrame:
    """Return the cost of the dialogues of each method.

    Columns: method; turns, calls and tokens of the assistant (means per dialogue); dialogues, broke_off.
    """
    frame = as_frame(dialogues)
    frame["tokens"] = frame["tokens_in"] + frame["tokens_out"]
    sums = frame.groupby(["method", "user", "session", "topic"], sort=False).agg(
        turns=("turn", "max"), calls=("calls", "sum"), tokens=("tokens", "sum"), broke=("error", "count")
    )
    of_method = sums.groupby("method", sort=False)
    means = of_method[["turns", "calls", "tokens"]].mean()
    return means.assign(dialogues=of_method.size(), broke_off=of_method["broke"].sum()).reset_index()


def describe_dialogues(dialogues: Sequence[BenchDialogue], most: int = 2) -> list[dict[str, Any]]:
    """Return the dialogues on the first topics for `pal_cases.html.j2`, by method."""
    topics = {tuple(d.scene.topic.key.values()): d.scene.topic for d in dialogues}
    first = list(topics.values())[:most]
    return [{"topic": t, "dialogues": [d for d in dialogues if d.scene.topic.key == t.key]} for t in first]


def compare_with_people(pairs: pd.DataFrame, votes: str | Path) -> pd.DataFrame:
    """Return Table 11 from a file of votes, with the published κ.

    Columns: those of `perslib.systems.mem_pal.bench.agreement_with_people`; judge_votes and people_votes (win / tie / lose),
    published_kappa.
    """
    table = agreement_with_people(pairs, find_majority_votes(read_votes(votes)))
    for who in ("judge", "people"):
        counts = table[[f"{who}_{kind}" for kind in OUTCOMES]].astype(str)
        table[f"{who}_votes"] = counts.agg(" / ".join, axis=1)
    kappas = read_published_table(11).set_index("dimension")["kappa"]
    return table.assign(published_kappa=table["dimension"].map(kappas))


# -- other runs --------------------------------------------------------------------------------------------------


def collect_runs(own_results: pd.DataFrame, out: str | Path) -> pd.DataFrame:
    """Return Table 10: G-Score and S-Score of this run and of runs in neighbouring folders on the same topics.

    Pages of one corpus are in one folder per backbone; each has its `tables/pal_run.csv`. `own_results` is the table
    that this page writes there: `results` with the columns judge, embedder and asked.

    Columns: method, backbone, judge, embedder, g_score, s_score.
    """
    own_folder = Path(out).resolve() if out else None
    frames = [own_results]
    for file in sorted(own_folder.parent.glob("*/tables/pal_run.csv")) if own_folder else []:
        if file.parent.parent != own_folder:
            with suppress(OSError, ValueError):  # other files of this name are ignored
                frames.append(pd.read_csv(file, usecols=list(own_results)))
    both = pd.concat(frames, ignore_index=True)
    both = both[(both["asked"] == own_results["asked"].iloc[0]) & both["metric"].isin(SHORT_METRICS)]
    keys = ["method", "backbone", "judge", "embedder"]
    return widen(both.drop_duplicates([*keys, "metric"]), keys, "metric").reindex(columns=[*keys, *SHORT_METRICS])
