"""PAL-Bench's results as tables (Mem-PAL, Tables 2, 3, 10 and 11), each number with its interval over users.

scored(answers, people)          one row a sample and metric
results(samples)                 Table 2 and 10: means as published, pooled over samples
differences(samples)             methods against each other on the samples both have
with_costs(table, answers, …)    what each method took, beside what it reached
win_tie_lose(pairs)              Table 3
agreement_with_people(…)         Table 11
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from perslib.errors import DataError, Problem, UnknownName
from perslib.palbench.compared import OUTCOMES
from perslib.palbench.measures import Tokens, best_bleu, kappa_of_decided, points, tokens_of
from perslib.palbench.tasks import Served, key_of, topics_by_key
from perslib.palbench.topics import Person
from perslib.stats import FEWEST_USERS, RESAMPLES, SEED, holm, interval, resample_users, sign_flip

#: What a mean is multiplied with, as published.
SCALE = {"g": 50.0, "s": 50.0}
BLEU_SCALE = 100.0
_SAMPLE = ["user", "session", "topic"]
_WHO = ["method", "backbone"]
_WHAT = ["task", "metric"]
_TAKEN = ["calls", "tokens_in", "tokens_cached", "tokens_out", "seconds", "cost"]


def scored(answers: pd.DataFrame, people: Sequence[Person], tokens: Tokens | None = None) -> pd.DataFrame:
    """One row a sample and metric: method, backbone, user, session, topic, task, metric, value (null where none).

    BLEU of restated requirements and of solutions (of the nearer positive one), the judge's grade as `g` where there is
    a column `grade`, the points of a selection as `s`. All on their own scale: 0–1, 0–2, −2–2. Texts are cut as their
    language asks for; `tokens="jieba"` gives the published form for English too.
    """
    tokens = tokens or tokens_of(people[0].language if people else "en")
    topics = topics_by_key(people)
    rows: list[dict[str, Any]] = []
    for _, answer in answers.iterrows():
        said = answer["said"] if isinstance(answer["said"], str) else None
        topic, task = topics[key_of(answer)], answer["task"]
        references = {"requirement": (topic.requirement,), "solution": topic.positive}
        values: dict[str, float | None] = {}
        if task == "selection":
            values["s"] = None if said is None else points(said.split(), topic.feedback)
        else:
            values |= best_bleu(said or "", references[task], tokens)
            if said is None:
                values = dict.fromkeys(values)
            if task == "requirement" and "grade" in answer:
                values["g"] = None if pd.isna(answer["grade"]) else float(answer["grade"])
        about = {name: answer[name] for name in [*_WHO, *_SAMPLE, "task"]}
        rows += [{**about, "metric": name, "value": value} for name, value in values.items()]
    columns = [*_WHO, *_SAMPLE, *_WHAT, "value"]
    return pd.DataFrame(rows, columns=columns).astype({"value": "Float64"})


def results(samples: pd.DataFrame, resamples: int = RESAMPLES, seed: int = SEED) -> pd.DataFrame:
    """Means over all samples, one row a method, task and metric; BLEU in [0, 100], G in [0, 100], S in [−100, 100].

    Columns: method, backbone, task, metric, value, low, high (95 %, users resampled; from five users on), samples, users,
    failed (samples without a value; they are left out).
    """
    rows = []
    for (task, metric), part in samples.groupby(_WHAT, sort=False):
        cells = _Cells(part, resamples, seed)
        for who, own in cells.methods():
            about = {**dict(zip(_WHO, who, strict=True)), "task": task, "metric": metric}
            found = cells.measured("value", own, scale_of(str(metric)))
            rows.append({**about, **found, "failed": int(own.isna().sum())})
    columns = [*_WHO, *_WHAT, "value", "low", "high", "samples", "users", "failed"]
    return pd.DataFrame(rows, columns=columns)


def differences(
    samples: pd.DataFrame, reference: str | None = None, resamples: int = RESAMPLES, seed: int = SEED
) -> pd.DataFrame:
    """`reference` against every other method, or all pairs, on the samples both have a value on, scaled as `results`.

    Columns: method, other, backbone, task, metric, difference, low, high (95 %, users resampled), p (of "no difference",
    the signs of users' totals flipped), p_holm (corrected for all comparisons of this task and metric), samples, users.
    """
    if reference is not None and reference not in set(samples["method"]):
        raise UnknownName("method", reference, samples["method"].unique())
    rows: list[dict[str, Any]] = []
    for (task, metric), part in samples.groupby(_WHAT, sort=False):
        cells = _Cells(part, resamples, seed)
        family = []
        for (who, own), (whom, other) in cells.pairs(reference):
            difference = (own - other) * scale_of(str(metric))
            about = {"method": who[0], "other": whom[0], "backbone": who[1], "task": task, "metric": metric}
            found = cells.measured("difference", difference)
            family.append({**about, **found, "p": cells.p(difference, seed)})
        rows += _corrected(family)
    columns = ["method", "other", "backbone", *_WHAT, "difference", "low", "high", "p", "p_holm"]
    return pd.DataFrame(rows, columns=[*columns, "samples", "users"])


class _Cells:
    """Samples of one task and metric: a column a method, users as the unit that is resampled."""

    def __init__(self, part: pd.DataFrame, resamples: int, seed: int):
        if (twice := part.duplicated([*_WHO, *_SAMPLE])).any():
            place = "/".join(map(str, part.loc[twice, [*_WHO, *_SAMPLE]].iloc[0]))
            raise DataError(Problem("samples", f"{place} is there twice"), "Keep one answer of each.")
        order = list(dict.fromkeys(part[_WHO].itertuples(index=False, name=None)))
        self.table = (
            part.assign(value=part["value"].astype(float))
            .pivot(index=_SAMPLE, columns=_WHO, values="value")
            .sort_index()[order]
        )
        self.user, names = pd.factorize(self.table.index.get_level_values("user"), sort=True)
        self.weights = resample_users(len(names), resamples, seed).astype(float)

    def methods(self) -> Iterator[tuple[tuple[str, str], pd.Series]]:
        return ((who, self.table[who]) for who in self.table.columns)

    def pairs(self, reference: str | None) -> Iterator[tuple[Any, Any]]:
        """Two methods of the same backbone, each pair once, or each against the reference."""
        for (a, own), (b, other) in combinations(self.methods(), 2):
            if a[1] == b[1] and reference in (None, a[0], b[0]):
                yield ((b, other), (a, own)) if b[0] == reference else ((a, own), (b, other))

    def totals(self, values: pd.Series) -> np.ndarray:
        known = values.notna().to_numpy()
        sums = np.bincount(self.user, np.nan_to_num(values.to_numpy(float)), len(self.weights))
        return sums[np.bincount(self.user, known, len(self.weights)) > 0]

    def mean(self, values: pd.Series) -> np.ndarray:
        """The mean of the sample, and of each resample of its users."""
        sums = np.bincount(self.user, np.nan_to_num(values.to_numpy(float)), len(self.weights))
        counts = np.bincount(self.user, values.notna().to_numpy(float), len(self.weights))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((sums @ self.weights) / (counts @ self.weights))

    def users(self, values: pd.Series) -> int:
        return len(np.unique(self.user[values.notna().to_numpy()]))

    def measured(self, name: str, values: pd.Series, scale: float = 1.0) -> dict[str, Any]:
        """The mean under this name, with its interval, and how many samples and users it is of."""
        means, users = self.mean(values) * scale, self.users(values)
        low, high = interval(means[1:]) if users >= FEWEST_USERS else (np.nan, np.nan)
        of = {"samples": int(values.notna().sum()), "users": users}
        return {name: float(means[0]), "low": low, "high": high, **of}

    def p(self, values: pd.Series, seed: int) -> float:
        """Of "the mean is zero", the signs of users' totals flipped; missing with too few users."""
        return sign_flip(self.totals(values), seed=seed) if self.users(values) >= FEWEST_USERS else np.nan


def _corrected(family: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with p corrected for all of them."""
    corrected = holm(np.array([row["p"] for row in family], dtype=float))
    return [{**row, "p_holm": p} for row, p in zip(family, corrected)]


def scale_of(metric: str) -> float:
    """What a mean of this metric is multiplied with."""
    return SCALE.get(metric, BLEU_SCALE)


def costs(answers: pd.DataFrame, served: Sequence[Served]) -> pd.DataFrame:
    """What each method took: a row a method, `build_…` a user and `answer_…` a sample, each a mean.

    calls, tokens in and out, seconds (of the calls, one after another) and cost, and `memory_failed`: pieces of memory
    that a model did not give, in all.
    """
    built = pd.DataFrame(
        [{"method": s.method, **s.build.row(), "memory_failed": len(s.failed)} for s in served]
    )
    order = list(dict.fromkeys(built["method"]))
    taken = dict.fromkeys(_TAKEN, "float64")
    build = built.astype(taken).groupby("method")[_TAKEN].mean().add_prefix("build_")
    answer = answers.astype(taken).groupby("method")[_TAKEN].mean().add_prefix("answer_")
    failed = built.groupby("method")["memory_failed"].sum()
    return build.join(answer).assign(memory_failed=failed).loc[order].reset_index()


def with_costs(table: pd.DataFrame, answers: pd.DataFrame, served: Sequence[Served]) -> pd.DataFrame:
    """`results`, with what each method took beside it."""
    return table.merge(costs(answers, served), on="method", how="left", sort=False)


def win_tie_lose(pairs: pd.DataFrame, resamples: int = RESAMPLES, seed: int = SEED) -> pd.DataFrame:
    """Table 3: how often a method wins, ties and loses, one row an opponent and dimension.

    Columns: method, other, dimension, win, tie, lose (counts), unscored, lead (share of wins minus share of losses) with
    low and high (95 %, users resampled), p (users' signs flipped), p_holm (over all rows of a dimension), topics, users.
    """
    rows: list[dict[str, Any]] = []
    worth = {"win": 1.0, "tie": 0.0, "lose": -1.0}
    for dimension, part in pairs.groupby("dimension", sort=False):
        family = []
        for (method, other), own in part.groupby(["method", "other"], sort=False):
            cells = _Cells(
                own.assign(backbone="", value=own["outcome"].map(worth).astype("Float64")), resamples, seed
            )
            ((_, values),) = cells.methods()
            tallies = {name: int((own["outcome"] == name).sum()) for name in OUTCOMES}
            about = {"method": method, "other": other, "dimension": dimension, **tallies}
            about["unscored"] = int(own["outcome"].isna().sum())
            found = cells.measured("lead", values)
            found |= {"p": cells.p(values, seed), "topics": len(own), "users": found.pop("users")}
            del found["samples"]
            family.append({**about, **found})
        rows += _corrected(family)
    return pd.DataFrame(rows)


def agreement_with_people(
    pairs: pd.DataFrame, people: pd.DataFrame, resamples: int = 1000, seed: int = SEED
) -> pd.DataFrame:
    """Table 11: what the judge and people say of the same pairs, one row a dimension.

    `people` is what `voted` makes of the votes. Columns: method, other, dimension, judge_win … people_lose, topics (both
    have an outcome), kappa (Fleiss, over topics that both decide), kappa_low and kappa_high (users resampled), decided.
    """
    keys = [name for name in ("method", "other", "dimension", *_SAMPLE) if name in people]
    both = pairs.merge(people, on=keys, validate="m:1").dropna(subset=["outcome"])
    rows = []
    for (method, other, dimension), own in both.groupby(["method", "other", "dimension"], sort=False):
        kappa, decided = kappa_of_decided(list(own["outcome"]), list(own["people"]))
        low, high = _kappa_bounds(own, resamples, seed)
        tallies = {
            f"{who}_{name}": int((own[column] == name).sum())
            for who, column in (("judge", "outcome"), ("people", "people"))
            for name in OUTCOMES
        }
        about = {"method": method, "other": other, "dimension": dimension, **tallies, "topics": len(own)}
        rows.append({**about, "kappa": kappa, "kappa_low": low, "kappa_high": high, "decided": decided})
    return pd.DataFrame(rows)


def _kappa_bounds(own: pd.DataFrame, resamples: int, seed: int) -> tuple[float, float]:
    """κ depends on counts of label pairs alone, so resampled users are resampled sums of counts."""
    own = own[own["outcome"].isin(["win", "lose"]) & own["people"].isin(["win", "lose"])]
    user, names = pd.factorize(own["user"], sort=True)
    if len(names) < FEWEST_USERS:
        return np.nan, np.nan
    counts = np.zeros((4, len(names)))
    np.add.at(
        counts,
        (2 * (own["outcome"] == "win").to_numpy(int) + (own["people"] == "win").to_numpy(int), user),
        1,
    )
    loses, a, b, wins = counts @ resample_users(len(names), resamples, seed).astype(float)
    total = loses + a + b + wins
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (2 * wins + a + b) / (2 * total)
        expected = share**2 + (1 - share) ** 2
        kappas = ((loses + wins) / total - expected) / (1 - expected)
    return interval(kappas[1:])
