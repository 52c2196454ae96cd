"""PAL-Bench's results as tables (Mem-PAL, Tables 2, 3, 10 and 11), each number with its interval over users.

score_samples(answers, people)          one row a sample and metric
average_samples(samples)                 Table 2 and 10: means as published, pooled over samples
compare_methods(samples)             methods against each other on the samples both have
costs(answers, served)           what each method took
win_tie_lose(pairs)              Table 3
agreement_with_people(…)         Table 11
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from perslib.errors import DataError, Problem, UnknownName
from perslib.stats import SEED, Resamples, compare_paired, holm
from perslib.systems.mem_pal.bench.comparisons import OUTCOMES
from perslib.systems.mem_pal.bench.measures import Tokens, best_bleu, choose_tokenizer, list_bleu_names, score_selection
from perslib.systems.mem_pal.bench.tasks import UserAnswers, topics_by_key
from perslib.systems.mem_pal.bench.topics import TOPIC, BenchUser

#: What a mean is multiplied with, as published; all others are BLEU.
SCALE = {"g_score": 50.0, "s_score": 50.0}
BLEU_SCALE = 100.0
#: What an outcome counts in a lead.
WORTH = {"win": 1.0, "tie": 0.0, "lose": -1.0}
_WHO = ["method", "backbone"]
_WHAT = ["task", "metric"]
_DIFFERENCE = [f"difference{end}" for end in ("", "_low", "_high", "_p", "_p_holm")]
_EVEN = "even"
_TAKEN = ["calls", "tokens", "seconds", "cost"]


def score_samples(answers: pd.DataFrame, people: Sequence[BenchUser], tokens: Tokens | None = None) -> pd.DataFrame:
    """Return one row a sample and metric: method, backbone, user, session, topic, task, metric, value (null where
    none).

    BLEU of restated requirements and of solutions (of the nearer positive one), the judge's grade as `g_score` where
    there is a column `grade`, the points of a selection as `s_score`. All on their own scale: 0–1, 0–2, −2–2. Texts are cut as their
    language asks for; `tokens="jieba"` gives the published form for English too.
    """
    tokens = tokens or choose_tokenizer(people[0].language if people else "en")
    topics, columns = topics_by_key(people), [*_WHO, *TOPIC, "task"]
    rows: list[dict[str, Any]] = []
    for answer in answers.to_dict("records"):
        text = answer["said"] if isinstance(answer["said"], str) else None
        topic = topics[tuple(answer[name] for name in TOPIC)]
        values: dict[str, float | None] = {}
        if answer["task"] == "selection":
            values["s_score"] = None if text is None else score_selection(text.split(), topic.feedback)
        else:
            is_restated = answer["task"] == "requirement"
            references = (topic.requirement,) if is_restated else topic.positive
            values |= dict.fromkeys(list_bleu_names(tokens)) if text is None else best_bleu(text, references, tokens)
            if is_restated and "grade" in answer:
                values["g_score"] = None if pd.isna(answer["grade"]) else float(answer["grade"])
        about = {name: answer[name] for name in columns}
        rows += [{**about, "metric": name, "value": value} for name, value in values.items()]
    return pd.DataFrame(rows, columns=[*columns, "metric", "value"]).astype({"value": "Float64"})


def average_samples(samples: pd.DataFrame) -> pd.DataFrame:
    """Return means over all samples, one row a method, task and metric; BLEU in [0, 100], G in [0, 100], S in [−100,
    100].

    Columns: method, backbone, task, metric, value, value_low, value_high (95 %, over users, from ten on),
    samples, users, failed (samples without a value; they are left out).
    """
    rows = []
    for (task, metric), part in samples.groupby(_WHAT, sort=False):
        table = _by_sample(part, _WHO)
        users = Resamples(table.index.get_level_values("user"))
        for who, own in table.items():
            about = {**dict(zip(_WHO, who, strict=True)), "task": task, "metric": metric}
            mean = users.estimate(users.mean(own) * metric_factor(str(metric)))
            counts = {"samples": int(own.notna().sum()), "users": users.count(own)}
            rows.append({**about, **mean, **counts, "failed": int(own.isna().sum())})
    columns = [*_WHO, *_WHAT, "value", "value_low", "value_high", "samples", "users", "failed"]
    return pd.DataFrame(rows, columns=columns)


def compare_methods(samples: pd.DataFrame, reference: str | None = None, seed: int = SEED) -> pd.DataFrame:
    """Return `reference` against every other method, or all pairs, on the samples both have a value on, scaled as
    `results`.

    Methods are compared with the same backbone. Columns: method, other, backbone, task, metric, difference,
    difference_low, difference_high (95 %, over users), difference_p (the signs of users' totals flipped),
    difference_p_holm (corrected for all comparisons of this task and metric), samples, users.
    """
    if reference is not None and reference not in set(samples["method"]):
        raise UnknownName("method", reference, samples["method"].unique())
    columns = ["method", "other", "backbone", *_WHAT, *_DIFFERENCE, "samples", "users"]
    how: dict[str, Any] = {"tests": ["sign flip"], "seed": seed}
    parts = []
    for (task, metric), part in samples.groupby(_WHAT, sort=False):
        table = _by_sample(part, _WHO) * metric_factor(str(metric))
        user = table.index.get_level_values("user")
        pairs = [(a, b) for a, b in combinations(table, 2) if a[1] == b[1] and reference in (None, a[0], b[0])]
        rows = []
        for a, b in pairs:
            one, other = (b, a) if b[0] == reference else (a, b)
            pair = table[[one, other]].set_axis([one[0], other[0]], axis=1)
            rows.append(compare_paired(pair, user, **how).assign(backbone=one[1], task=task, metric=metric))
        if rows:
            every = pd.concat(rows, ignore_index=True)
            parts.append(every.assign(difference_p_holm=holm(every["difference_p"])))
    names = {"a": "method", "b": "other", "rows": "samples", "units": "users"}
    table = pd.concat(parts, ignore_index=True).rename(columns=names) if parts else pd.DataFrame(columns=columns)
    return table[columns]


def _by_sample(part: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Return the values of one task and metric: samples × what `columns` name, in the order of its first value."""
    if (twice := part.duplicated([*columns, *TOPIC])).any():
        place = "/".join(map(str, part.loc[twice, [*columns, *TOPIC]].iloc[0]))
        raise DataError(Problem("samples", f"{place} is there twice"), "Keep one answer of each.")
    known = part.assign(value=part["value"].astype(float))
    table = known.pivot(index=list(TOPIC), columns=columns, values="value").sort_index()
    return table[list(known.drop_duplicates(columns).set_index(columns).index)]


def metric_factor(metric: str) -> float:
    """Return what a mean of this metric is multiplied with."""
    return SCALE.get(metric, BLEU_SCALE)


def costs(answers: pd.DataFrame, served: Sequence[UserAnswers]) -> pd.DataFrame:
    """Return what each method took: a row a method, `build_…` a user and `answer_…` a sample, each a mean.

    Columns: method; build_calls, build_tokens (in and out), build_seconds (of the calls, one after another), build_cost;
    the same of `answer_`; memory_failed and answers_failed: what models did not give, in all.
    """
    rows = [{"method": s.method, **s.build, "memory_failed": len(s.failures)} for s in served]
    built, means, kinds = pd.DataFrame(rows), [], dict.fromkeys(_TAKEN, "float64")
    for name, frame in (("build", built), ("answer", answers)):
        taken = frame.assign(tokens=frame["tokens_in"] + frame["tokens_out"]).astype(kinds)
        means.append(taken.groupby("method", sort=False)[_TAKEN].mean().add_prefix(f"{name}_"))
    lost = answers["said"].isna().groupby(answers["method"]).sum()
    failed = {"memory_failed": built.groupby("method")["memory_failed"].sum(), "answers_failed": lost}
    return pd.concat(means, axis=1).assign(**failed).reset_index()


def win_tie_lose(pairs: pd.DataFrame, seed: int = SEED) -> pd.DataFrame:
    """Return the table 3: how often a method wins, ties and loses, one row an opponent and dimension.

    Columns: method, other, dimension, win, tie, lose (counts), unscored, lead (share of wins minus share of losses) with
    lead_low and lead_high (95 %, over users), lead_p (users' signs flipped), lead_p_holm (over all opponents in a
    dimension), topics, users.
    """
    counts = [*OUTCOMES, "unscored"]
    leads = [f"lead{end}" for end in ("", "_low", "_high", "_p", "_p_holm")]
    names = {"a": "other", "units": "users", **dict(zip(_DIFFERENCE, leads, strict=True))}
    parts = []
    for (method, dimension), part in pairs.groupby(["method", "dimension"], sort=False):
        won = _by_sample(part.assign(value=part["outcome"].map(WORTH).astype("Float64")), ["other"])
        user = won.index.get_level_values("user")
        form: dict[str, Any] = {"tests": ["sign flip"], "seed": seed}
        table = compare_paired(won.assign(**{_EVEN: 0.0}), user, base=_EVEN, **form).rename(columns=names)
        tallies = pd.crosstab(part["other"], part["outcome"].fillna("unscored"))
        table = table.join(tallies.reindex(columns=counts, fill_value=0), on="other")
        parts.append(table.assign(method=method, dimension=dimension, topics=table[counts].sum(axis=1)))
    columns = ["method", "other", "dimension", *counts, *leads, "topics", "users"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def agreement_with_people(pairs: pd.DataFrame, people: pd.DataFrame) -> pd.DataFrame:
    """Return the table 11: what the judge and people say of the same pairs, one row a dimension.

    `people` is what `find_majority_votes` makes of the votes. Columns: method, other, dimension, judge_win … people_lose, topics (both
    have an outcome), kappa (Fleiss, over topics that both decide), kappa_low and kappa_high (over users), decided.
    """
    if "other" not in people and pairs["other"].nunique() > 1:
        problem = Problem("votes", "do not say which method was compared with which")
        raise DataError(problem, "Add the columns method and other.")
    keys = [name for name in ("method", "other", "dimension", *TOPIC) if name in people]
    both = pairs.merge(people, on=keys, validate="m:1").dropna(subset=["outcome"])
    rows = []
    for (method, other, dimension), own in both.groupby(["method", "other", "dimension"], sort=False):
        tallies = {
            f"{who}_{name}": int((own[column] == name).sum())
            for who, column in (("judge", "outcome"), ("people", "people"))
            for name in OUTCOMES
        }
        about = {"method": method, "other": other, "dimension": dimension, **tallies, "topics": len(own)}
        rows.append(about | _kappa(own[own[["outcome", "people"]].ne("tie").all(axis=1)]))
    return pd.DataFrame(rows)


def _kappa(decided: pd.DataFrame) -> dict[str, float]:
    """Return Fleiss' κ of judge and people, who both decide, with its interval: it depends on counts of label pairs
    alone.
    """
    users = Resamples(decided["user"])
    judge, people = (decided[name].eq("win").to_numpy() for name in ("outcome", "people"))
    wins, equal, total = (users.total(v) for v in (judge * 1.0 + people, judge == people, np.ones(len(judge))))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = wins / (2 * total)
        expected = share**2 + (1 - share) ** 2
        kappas = (equal / total - expected) / (1 - expected)
    return {**users.estimate(kappas, "kappa", "correlation"), "decided": len(decided)}
