"""How well judges agree with users: every metric with its interval, its coverage and its gain over controls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, TURN, Corpus, coerce
from perslib.errors import DataError, Problem, check_names
from perslib.stats.agreement.gold import WHO, JudgeKey, find_judge, of_judges, with_gold
from perslib.stats.agreement.metrics import LOWER_IS_BETTER, METRICS, check_users, interval_scale, measure_under
from perslib.stats.calibrate.user_scale import to_scale
from perslib.stats.resample.agreement_sums import AgreementSums
from perslib.stats.resample.leave_one_out import Resamples, count_carriers, estimate, floats, leave_out, name_bounds
from perslib.stats.resample.sign_flips import holm

_KEYS = ["candidate", *TURN]
#: What an agreement table shows unless told otherwise: the paper's columns, both error rates, and what is
#: left within blocks.
DEFAULT = ("pearson", "spearman", "qwk", "f1_dsat", "mae", "false_sat", "false_dsat", "pu_pearson", "wb_pearson")


def agreement(
    verdicts: pd.DataFrame,
    corpus: Corpus,
    *,
    scores: Sequence[str] = ("raw",),
    metrics: Sequence[str] = DEFAULT,
    controls: Sequence[str] = (),
    by: str | None = None,
    clusters: Mapping[Any, Any] | None = None,
) -> pd.DataFrame:
    """Return the agreement of every judge with the users' own ratings, one row a judge, score column and metric.

    `scores` names columns of the verdicts (raw, expected, cdf, …), `metrics` entries of
    `perslib.stats.METRICS`, `by` a column to stratify by (scenario, turn, assistant, …). `clusters` says of
    each user with whom a sample would have drawn them, such as a panel of people who judge the same items: intervals are over these.

    Columns: (by,) judge, backbone, score, metric, value, value_low, value_high (95 %, over users; missing where too few of them carry
    the value), turns and users (what the value rests on), unscored (rated turns without a score), coverage (turns / (turns + unscored)),
    without_gold (verdicts on turns that the user did not rate; they enter nothing).

    With `controls`, names of judges among the verdicts, each other row also gets: control, the control that
    does best by this metric with the same score column; gain, by how much the judge does better, on the
    turns both scored (in the metric's good direction: positive is better, also for errors); gain_low,
    gain_high, and gain_p, the two-sided p of "no gain", paired over users; gain_p_holm, corrected for all gains of this metric in the table. A control counts for a judge if it has
    no backbone or the judge's. Where no control has a value (Pearson of a constant) there is no gain.
    """
    frame = with_gold(verdicts, corpus, scores, by)
    frame["block"] = frame.groupby(BLOCK).ngroup()
    check_names("metric", metrics, METRICS)
    check_names("judge to serve as control", controls, frame["judge"])
    groups = [({}, frame)] if by is None else [({by: v}, part) for v, part in frame.groupby(by, dropna=False)]
    rows = [
        {**group, "score": score, **row}
        for group, part in groups
        for score in scores
        for row in _measure_judges(part, score, metrics, controls, clusters)
    ]
    columns = [] if by is None else [by]
    columns += [
        *WHO,
        "score",
        "metric",
        *name_bounds("value"),
        "turns",
        "users",
        "unscored",
        "coverage",
        "without_gold",
    ]
    columns += ["control", *name_bounds("gain", p=True)] if controls else []
    table = pd.DataFrame(rows, columns=columns)
    if controls:
        table["gain_p_holm"] = table.groupby("metric")["gain_p"].transform(lambda p: holm(p.to_numpy(float)))
    return table


_LARGEST_GAIN: dict[str, float] = {"correlation": 2, "share": 1, "error": np.inf}


def _count_carriers(gold: pd.Series, user: pd.Series, score: pd.Series) -> tuple[int, int]:
    """Count the users with a turn of the rarer class, and those for whom the judge finds one."""
    is_good, is_judged = (to_scale(own.to_numpy(float)) >= 4 for own in (gold, score))
    return count_carriers(is_good, user), count_carriers(is_good, user, is_judged)


def _measure_judges(
    part: pd.DataFrame, score: str, metrics: Sequence[str], controls: Sequence[str], clusters: Mapping[Any, Any] | None
) -> Iterator[dict[str, Any]]:
    """Yield one score column of all judges: a row a judge and metric, with the gain over the best control."""
    given = dict(of_judges(part.assign(score=floats(part[score]), gold=floats(part["gold"])).set_index("place")))
    scored = {row: own.dropna(subset=["score", "gold"]).sort_index() for row, own in given.items()}

    @cache
    def measure_judge(row: JudgeKey, places: tuple[int, ...]) -> dict[str, np.ndarray]:
        """Return the metrics of a judge's scores on these turns, and those without each user or cluster."""
        sums = AgreementSums.of(own := scored[row].loc[list(places)])
        users = pd.factorize(own["user"])[1]
        unit = pd.factorize(users.map(clusters))[0] if clusters else np.arange(len(users))
        return measure_under(sums, metrics, leave_out(int(unit.max(initial=-1)) + 1)[unit])

    alone = {row: measure_judge(row, tuple(own.index)) for row, own in scored.items()}
    for row, own in scored.items():
        turns, rated = len(own), int(given[row]["gold"].notna().sum())
        about = {
            **row._asdict(),
            "turns": turns,
            "users": own["user"].nunique(),
            "unscored": rated - turns,
            "coverage": turns / rated if rated else np.nan,
            "without_gold": len(given[row]) - rated,
            "control": None,
        }
        carriers = _count_carriers(own["gold"], own["user"], own["score"])
        rivals = [r for r in scored if r.judge in controls and r.backbone in (None, row.backbone)]
        rivals = [] if row in rivals else rivals
        for name, values in alone[row].items():
            estimated = estimate(check_users(name, values, carriers), scale=interval_scale(name))
            line: dict[str, Any] = {**about, "metric": name, **estimated}
            sign = -1 if name in LOWER_IS_BETTER else 1
            reached = {r: sign * alone[r][name][0] for r in rivals if np.isfinite(alone[r][name][0])}
            if reached:
                best = max(reached, key=reached.__getitem__)
                common = tuple(own.index.intersection(scored[best].index))
                gain = sign * (measure_judge(row, common)[name] - measure_judge(best, common)[name])
                measured = estimate(check_users(name, gain, carriers, is_gain=True), "gain", p=True)
                most = _LARGEST_GAIN[interval_scale(name)]  # an interval stays inside what can be
                measured |= {end: float(np.clip(measured[end], -most, most)) for end in ("gain_low", "gain_high")}
                line |= {"control": best.judge, **measured}
            yield line


def agreement_between(
    verdicts: pd.DataFrame,
    a: str | Sequence[str | None],
    b: str | Sequence[str | None],
    *,
    score: str = "raw",
    metrics: Sequence[str] = DEFAULT,
) -> pd.DataFrame:
    """Return how well `a` agrees with `b`, two judges or raters, on the replies that both scored.

    The metrics are those of `agreement` with `b`, rounded to the scale, in the place of the user's own label; so
    `false_sat` is how often `a` is satisfied where `b` is not. `a` and `b` are names, or (judge, backbone) where a judge
    ran with several; `score` names the score column of both. Columns: a, b, metric,
    value, value_low, value_high (95 %, over users), turns, users, only_a, only_b (scored by one alone).
    """
    frame = coerce(verdicts, "verdicts")
    judges = dict(of_judges(frame))
    one, other = find_judge(judges, a), find_judge(judges, b)
    left = _scores_of(judges[one], str(one), score, "a")
    right = _scores_of(judges[other], str(other), score, "b")
    both = left.merge(right, on=_KEYS, validate="1:1")
    users = Resamples(both["user"])
    sums = AgreementSums(to_scale(both["b"].to_numpy(float)), both["a"].to_numpy(float), users.group, len(users))
    drawn = measure_under(sums, metrics, users.weights)
    carriers = _count_carriers(both["b"], both["user"], both["a"])
    rows = []
    for name, values in drawn.items():
        interval = users.estimate(check_users(name, values, carriers), scale=interval_scale(name))
        rows.append(
            {"a": str(one), "b": str(other), "metric": name, **interval, "turns": len(both), "users": len(users)}
        )
    return pd.DataFrame(rows).assign(only_a=len(left) - len(both), only_b=len(right) - len(both))


def _scores_of(own: pd.DataFrame, name: str, score: str, called: str) -> pd.DataFrame:
    """Return the replies that a judge scored, with the score under the name it is called by."""
    if score not in own:
        raise DataError(Problem("verdicts", f"{name} has no score column {score!r}"))
    if (twice := own.duplicated(_KEYS)).any():
        place = "/".join(map(str, own.loc[twice, TURN].iloc[0]))
        raise DataError(Problem("verdicts", f"{name} has two verdicts on {place}"), "Keep one of each judge and reply.")
    scored = own[_KEYS].assign(**{called: floats(own[score])})
    return scored[np.isfinite(scored[called])]
