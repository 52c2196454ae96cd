"""What came of a run of PAL-Bench: its tables beside Mem-PAL's, runs side by side, and topics in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.pal import Dialogue, Topic, agreement_with_people, as_frame, costs, differences, read_votes, voted
from perslib.pal.bench.comparisons import OUTCOMES
from perslib.pal.bench.measures import POINTS
from perslib.pal.bench.tables import scale_of
from perslib.paths import read_csv
from perslib.report.show.tables import formatted, widen
from perslib.report.show.words import name_of
from perslib.studies.pal_bench import Bench, Months
from perslib.text import join, mark, translate

#: What the two dimensions of a comparison are called in tables.
ASPECTS = {"requirement": "understands the requirement", "preference": "meets the preference"}
#: The metrics that stand for the others where there is room for few.
SHORT = ("g_score", "s_score")
#: A sentence for each kind of change that leaving out a part makes, as `sum_up_ablations` tells them apart.
ON_ABLATIONS = {
    "lower": mark("{method} is worse without one of its parts: {changes}; p < 0.05 after Holm, {users} users."),
    "higher": mark("{method} is better without one of its parts: {changes}; p < 0.05 after Holm, {users} users."),
    "unclear": mark(
        "{method} is within chance of itself without {parts}: the 95 % intervals of these changes lie between {low} and "
        "{high} ({users} users)."
    ),
}
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


def compare_ablations(compared: pd.DataFrame, first: str) -> pd.DataFrame:
    """Return what leaving a part out of the first method changes, from its differences with the others.

    Columns: pal_part, metric (G-Score and S-Score), change with change_low, change_high, change_p_holm, users.
    """
    own = compared[compared["other"].str.startswith(f"{first} without ") & compared["metric"].isin(SHORT)]
    low, high = -own["difference_high"], -own["difference_low"]
    changes = {"change": -own["difference"], "change_low": low, "change_high": high}
    part = own["other"].str.removeprefix(f"{first} without ") + "_size"  # what its label is called
    found = own.assign(pal_part=part, **changes, change_p_holm=own["difference_p_holm"])
    return found[["pal_part", "metric", *changes, "change_p_holm", "users"]].reset_index(drop=True)


def sum_up_ablations(changes: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return values for a sentence on the changes that are `lower` or `higher` with p < 0.05 (Holm), and on the `unclear`.

    Those have parts, changes (each with its interval), low and high (within which all of their intervals lie), users.
    Kinds without any are left out, and all where nothing was tested.
    """
    tested = changes[changes["change_p_holm"].notna()]
    is_sure, is_below = tested["change_p_holm"] < 0.05, tested["change"] < 0
    is_unclear = ~tested["pal_part"].isin(tested["pal_part"][is_sure])
    kinds = {"lower": tested[is_sure & is_below], "higher": tested[is_sure & ~is_below], "unclear": tested[is_unclear]}
    return {kind: _describe_changes(own) for kind, own in kinds.items() if len(own)}


def _describe_changes(own: pd.DataFrame) -> dict[str, Any]:
    shown = own["metric"].map(name_of) + " " + formatted(own, "change")["change"].astype(str)
    named = own["pal_part"].map(name_of)
    changes = join(f"{part} ({join(each)})" for part, each in shown.groupby(named, sort=False))
    low, high = (f"{bound:.1f}".replace("-", "−") for bound in (own["change_low"].min(), own["change_high"].max()))
    return {"parts": join(named.unique()), "changes": changes, "low": low, "high": high, "users": own["users"].max()}


def spread_of_chance(asked: Months) -> float:
    """Return how far from 0 an S-Score of random selections lies at most in 95 of 100 runs over the same topics."""
    points = pd.DataFrame([s.topic.feedback for p in asked.who for s in p.scenes]).replace(POINTS).astype(float)
    n = points.count(axis=1)
    variance = 2 * (n - 2) / (n - 1) * points.var(axis=1, ddof=0)  # two drawn without putting back
    return float(1.96 * scale_of("s_score") * variance.sum() ** 0.5 / len(points))


def find_leader(samples: pd.DataFrame, table: pd.DataFrame, metric: str) -> dict[str, object] | None:
    """Return the metric's name, who has its highest value, the value with its interval, and how many others are near.

    `near` is how many of the `others` are not lower with p < 0.05 (Holm); None where nothing could be tested. All is
    None where nobody has a value.
    """
    own = table[table["metric"] == metric].dropna(subset="value")
    best = own[own["value"] == own["value"].max()]
    if best.empty:
        return None
    value = formatted(best, "value")["value"].iloc[0]
    p = differences(samples[samples["metric"] == metric], best["method"].iloc[0])["difference_p_holm"]
    near = int((p >= 0.05).sum()) if p.notna().any() else None
    about = {"metric": name_of(metric), "best": join(map(name_of, best["method"])), "value": value}
    return {**about, "near": near, "others": len(p)}


def find_significant(compared: pd.DataFrame) -> dict[str, str] | None:
    """Return the first method, and those it is better and worse than with p < 0.05 (Holm); None where nothing was tested."""
    own = compared[compared["metric"].isin(SHORT) & compared["difference_p_holm"].notna()]
    if own.empty:
        return None
    sure = own[own["difference_p_holm"] < 0.05]
    names = sure["other"].map(name_of) + " (" + sure["metric"].map(name_of) + ")"
    above = sure["difference"] > 0
    return {"method": name_of(own["method"].iloc[0]), "better": join(names[above]), "worse": join(names[~above])}


def costs_and_scores(bench: Bench, table: pd.DataFrame) -> pd.DataFrame:
    """Return what each method takes, building a user's memory and answering a task, beside what it reaches.

    Columns: those of `perslib.pal.costs` but for answer_calls, without prices where nothing has one; context_tokens (text
    handed over for a question); g_score, s_score.
    """
    scores = table[table["metric"].isin(SHORT)].pivot(index="method", columns="metric", values="value")
    handed = bench.answers.groupby("method")["context_tokens"].mean()
    own = costs(bench.answers, bench.served).join(handed, on="method").join(scores, on="method")
    free = [c for c in ("build_cost", "answer_cost") if not own[c].fillna(0).any()]
    return own.drop(columns=["answer_calls", *free])


def describe_topics(asked: Months, bench: Bench) -> Iterator[dict[str, Any]]:
    """Describe four topics, the first of each user and then further ones, for `pal_cases.html.j2`: with all methods' answers."""
    scenes = [scene for person in asked.who for scene in person.scenes[:1]]
    scenes += [scene for person in asked.who for scene in person.scenes[1:]]
    answers = bench.answers[["method", "task", "said", "error", "grade", "user", "session", "topic"]]
    answers = answers.astype(object).where(answers.notna(), None)
    for topic in [scene.topic for scene in scenes[:4]]:
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


def collect_runs(own: pd.DataFrame, out: str | Path) -> pd.DataFrame:
    """Return Table 10: G-Score and S-Score of this run and of those beside it that asked about the same topics.

    Pages of one corpus lie in a folder a backbone; each has its `tables/pal_run.csv`. `own` is what this page writes there:
    `results` with the columns judge, embedder and asked. Columns: method, backbone, judge, embedder, g_score, s_score.
    """
    here = Path(out).resolve() if out else None
    frames = [own]
    for file in sorted(here.parent.glob("*/tables/pal_run.csv")) if here else []:
        if file.parent.parent != here:
            with suppress(OSError, ValueError):  # what is no such table is none of ours
                frames.append(pd.read_csv(file, usecols=list(own)))
    both = pd.concat(frames, ignore_index=True)
    both = both[(both["asked"] == own["asked"].iloc[0]) & both["metric"].isin(SHORT)]
    keys = ["method", "backbone", "judge", "embedder"]
    return widen(both.drop_duplicates([*keys, "metric"]), keys, "metric").reindex(columns=[*keys, *SHORT])
