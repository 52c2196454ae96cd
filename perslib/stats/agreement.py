"""How well judges agree with users: every metric with its interval, its coverage and its gain over controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Corpus, coerce
from perslib.errors import DataError, Problem, UnknownName
from perslib.stats.calibration import to_scale
from perslib.stats.gold import Row, find, of_judges, with_gold
from perslib.stats.measures import metric, resampled
from perslib.stats.resamples import FEWEST_USERS, RESAMPLES, SEED, Resamples, estimate, floats, holm, resample_users
from perslib.stats.sums import Sums

_KEYS = ["candidate", *TURN]
#: What an agreement table shows unless told otherwise: the paper's columns, both error rates, and what is
#: left within users.
DEFAULT = ("pearson", "spearman", "qwk", "f1_dsat", "mae", "false_sat", "false_dsat", "pu_pearson", "wc_pearson")


@dataclass(frozen=True, eq=False)
class _Scored:
    """The turns that one judge scored, sorted by their place in the corpus, and what was left out."""

    place: np.ndarray
    gold: np.ndarray
    score: np.ndarray
    user: np.ndarray
    unscored: int = 0
    without_gold: int = 0

    @classmethod
    def of(cls, verdicts: pd.DataFrame, score: str) -> _Scored:
        part = verdicts.sort_values("place")
        gold, scores = part["gold"].to_numpy(float, na_value=np.nan), floats(part[score])
        rated, scored = np.isfinite(gold), np.isfinite(scores)
        both = rated & scored
        place, user = (part[c].to_numpy(int)[both] for c in ("place", "number"))
        counts = (int((rated & ~scored).sum()), int((~rated).sum()))
        return cls(place, gold[both], scores[both], user, *counts)

    def on(self, places: np.ndarray) -> _Scored:
        keep = np.isin(self.place, places)
        return _Scored(self.place[keep], self.gold[keep], self.score[keep], self.user[keep])

    @property
    def users(self) -> int:
        return len(np.unique(self.user))


class _Bootstrap:
    """Resampled metrics of sets of scored turns under one set of weights, each computed once."""

    def __init__(self, users: int, metrics: Sequence[str], resamples: int, seed: int) -> None:
        self.users, self.metrics = users, metrics
        self.weights = resample_users(users, resamples, seed)
        self.known: dict[tuple[int, bytes], dict[str, np.ndarray]] = {}

    def values(self, scored: _Scored) -> dict[str, np.ndarray]:
        return self._computed((id(scored), b""), scored)

    def common(self, one: _Scored, other: _Scored) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Both on the turns that both scored."""
        if np.array_equal(one.place, other.place):
            return self.values(one), self.values(other)
        shared = np.intersect1d(one.place, other.place)
        mark = shared.tobytes()
        return (self._computed((id(one), mark), one.on(shared)), self._computed((id(other), mark), other.on(shared)))

    def _computed(self, key: tuple[int, bytes], scored: _Scored) -> dict[str, np.ndarray]:
        if key not in self.known:
            sums = Sums(scored.gold, scored.score, scored.user, self.users)
            weights = self.weights if scored.users >= FEWEST_USERS else self.weights[:, :1]
            self.known[key] = resampled(sums, self.metrics, weights)
        return self.known[key]


def agreement(
    verdicts: pd.DataFrame,
    corpus: Corpus,
    *,
    scores: Sequence[str] = ("raw",),
    metrics: Sequence[str] = DEFAULT,
    controls: Sequence[str] = (),
    by: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> pd.DataFrame:
    """Agreement of every judge with the users' own ratings, one row a judge, score column and metric.

    `scores` names columns of the verdicts (raw, expected, cdf, …), `metrics` entries of
    `perslib.stats.METRICS`, `by` a column to stratify by (scenario, turn, assistant, …).

    Columns: (by,) judge, backbone, score, metric, value, value_low, value_high (95 %, users resampled; from five users on), turns and users
    (what the value rests on), unscored (rated turns without a score), coverage (turns / (turns + unscored)),
    without_gold (verdicts on turns that the user did not rate; they enter nothing).

    With `controls`, names of judges among the verdicts, each other row also gets: control, the control that
    does best by this metric with the same score column; gain, by how much the judge does better, on the
    turns both scored (in the metric's good direction: positive is better, also for errors); gain_low,
    gain_high, and gain_p, the two-sided bootstrap p of "no gain", paired over the same resamples of users;
    gain_p_holm, corrected for all gains of this metric in the table. A control counts for a judge if it has
    no backbone or the judge's. Where no control has a value (Pearson of a constant) there is no gain.
    """
    frame = with_gold(verdicts, corpus, scores, by)
    frame["number"], users = pd.factorize(frame["user"], sort=True)
    bootstrap = _Bootstrap(len(users), _checked(metrics), resamples, seed)
    _check_controls(frame, controls)
    rows: list[dict[str, Any]] = []
    groups = [({}, frame)] if by is None else [({by: v}, part) for v, part in frame.groupby(by, dropna=False)]
    for group, part in groups:
        for score in scores:
            of = {row: _Scored.of(own, score) for row, own in of_judges(part)}
            for row, scored in of.items():
                rivals = {r: s for r, s in of.items() if r.judge in controls and _fits(r, row)}
                about = {**group, **_about(row, score, scored)}
                for name, values in bootstrap.values(scored).items():
                    line = {**about, "metric": name, **estimate(values)}
                    if controls:
                        line |= _gain(bootstrap, name, scored, {} if row.judge in controls else rivals)
                    rows.append(line)
            bootstrap.known.clear()
    return _arranged(rows, by, bool(controls))


def paired(
    verdicts: pd.DataFrame,
    corpus: Corpus,
    a: str | Sequence[str | None],
    b: str | Sequence[str | None],
    *,
    score: str = "raw",
    score_b: str | None = None,
    metrics: Sequence[str] = DEFAULT,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> pd.DataFrame:
    """Two judges on the turns that both scored: by how much `a` does better than `b`, metric by metric.

    `a` and `b` are names of judges, or (judge, backbone) where a judge ran with several; `score_b` is the
    score column of `b` if it is not that of `a`. Columns: metric, a, b (their values), difference (positive
    where `a` is better) with difference_low, difference_high, difference_p and difference_p_holm (over the metrics), turns, users.
    """
    columns = [score, score_b or score]
    frame = with_gold(verdicts, corpus, columns)
    frame["number"], users = pd.factorize(frame["user"], sort=True)
    judges = dict(of_judges(frame))
    one, other = (_Scored.of(judges[find(judges, name)], column) for name, column in zip((a, b), columns, strict=True))
    bootstrap = _Bootstrap(len(users), _checked(metrics), resamples, seed)
    left, right = bootstrap.common(one, other)
    shared = one.on(other.place)
    rows = [{"metric": m, "a": left[m][0], "b": right[m][0], **_difference(left[m], right[m], m)} for m in metrics]
    table = pd.DataFrame(rows)
    place = table.columns.get_loc("difference_p") + 1
    table.insert(place, "difference_p_holm", holm(table["difference_p"]))
    return table.assign(turns=len(shared.place), users=shared.users)


def agreement_between(
    verdicts: pd.DataFrame,
    a: str | Sequence[str | None],
    b: str | Sequence[str | None],
    *,
    score: str = "raw",
    metrics: Sequence[str] = DEFAULT,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> pd.DataFrame:
    """How well `a` agrees with `b`, two judges or raters, on the replies that both scored.

    The metrics are those of `agreement` with `b`, rounded to the scale, in the place of the user's own label; so
    `false_sat` is how often `a` is satisfied where `b` is not. `a` and `b` are names, or (judge, backbone) where a judge
    ran with several; `score` names the score column of both. Columns: a, b, metric,
    value, value_low, value_high (95 %, users resampled; from five users on), turns, users, only_a, only_b (scored by one alone).
    """
    frame = coerce(verdicts, "verdicts")
    judges = dict(of_judges(frame))
    one, other = find(judges, a), find(judges, b)
    left = _scores_of(judges[one], str(one), score, "a")
    right = _scores_of(judges[other], str(other), score, "b")
    both = left.merge(right, on=_KEYS, validate="1:1")
    users = Resamples(both["user"], resamples, seed)
    sums = Sums(to_scale(both["b"].to_numpy(float)), both["a"].to_numpy(float), users.group, len(users))
    drawn = resampled(sums, _checked(metrics), users.weights)
    about = {"turns": len(both), "users": len(users)}
    about |= {"only_a": len(left) - len(both), "only_b": len(right) - len(both)}
    return pd.DataFrame(
        [
            {"a": str(one), "b": str(other), "metric": name, **users.estimate(values), **about}
            for name, values in drawn.items()
        ]
    )


def _scores_of(own: pd.DataFrame, name: str, score: str, called: str) -> pd.DataFrame:
    """The replies that a judge scored, with the score under the name it is called by."""
    if score not in own:
        raise DataError(Problem("verdicts", f"{name} has no score column {score!r}"))
    if (twice := own.duplicated(_KEYS)).any():
        place = "/".join(map(str, own.loc[twice, TURN].iloc[0]))
        raise DataError(Problem("verdicts", f"{name} has two verdicts on {place}"), "Keep one of each judge and reply.")
    scored = own[_KEYS].assign(**{called: floats(own[score])})
    return scored[np.isfinite(scored[called])]


def _checked(metrics: Sequence[str]) -> list[str]:
    for name in metrics:
        metric(name)
    return list(dict.fromkeys(metrics))


def _check_controls(frame: pd.DataFrame, controls: Sequence[str]) -> None:
    judges = set(frame["judge"])
    for name in controls:
        if name not in judges:
            raise UnknownName("judge to serve as control", name, judges)


def _fits(control: Row, judge: Row) -> bool:
    return control.backbone is None or control.backbone == judge.backbone


def _about(row: Row, score: str, scored: _Scored) -> dict[str, Any]:
    turns = len(scored.place)
    rated = turns + scored.unscored
    return {
        "judge": row.judge,
        "backbone": row.backbone,
        "score": score,
        "turns": turns,
        "users": scored.users,
        "unscored": scored.unscored,
        "coverage": turns / rated if rated else float("nan"),
        "without_gold": scored.without_gold,
    }


def _difference(a: np.ndarray, b: np.ndarray, name: str, called: str = "difference") -> dict[str, float]:
    difference = (1 if metric(name).higher_is_better else -1) * (a - b)
    return estimate(difference, called, p=True)


def _gain(bootstrap: _Bootstrap, name: str, scored: _Scored, rivals: dict[Row, _Scored]) -> dict[str, Any]:
    sign = 1 if metric(name).higher_is_better else -1
    there = {row: sign * bootstrap.values(rival)[name][0] for row, rival in rivals.items()}
    there = {row: value for row, value in there.items() if np.isfinite(value)}
    if not there:
        return {"control": None, "gain": np.nan, "gain_low": np.nan, "gain_high": np.nan, "gain_p": np.nan}
    best = max(there, key=lambda row: there[row])
    own, control = bootstrap.common(scored, rivals[best])
    return {"control": best.judge, **_difference(own[name], control[name], name, "gain")}


def _arranged(rows: list[dict[str, Any]], by: str | None, with_gain: bool) -> pd.DataFrame:
    columns = [
        *([by] if by is not None else []),
        *("judge", "backbone", "score", "metric", "value", "value_low", "value_high"),
        *("turns", "users", "unscored", "coverage", "without_gold"),
        *(("control", "gain", "gain_low", "gain_high", "gain_p") if with_gain else ()),
    ]
    table = pd.DataFrame(rows, columns=columns)
    if with_gain:
        table["gain_p_holm"] = table.groupby("metric")["gain_p"].transform(lambda p: holm(p.to_numpy(float)))
    return table
