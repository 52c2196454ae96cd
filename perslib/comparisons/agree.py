"""Judges against people on anybody's labels: no corpus, no model, no import.

    found = agree(frame)                            # a frame, a file or a list with people's labels and judges' scores
    found = agree("verdicts.jsonl", "labels.csv")   # or two, joined on what names the item
    found.answer, found.table                       # one sentence, and a row a judge

First how far people agree among themselves, which is as far as a judge can be told to; then each judge beside controls made of the
labels alone (the user's own mean, the commonest label), with intervals over users and Holm's correction; for how many users the judge
is closer than their own mean; whether it could stand in for an annotator (the alternative annotator test of Calderon et al., 2025);
drift over time; and how many users would settle what is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm, ttest_1samp

from perslib.comparisons.columns import Columns, Table, are_choices, read_choice, read_flat
from perslib.comparisons.history import describe_history, trace_history
from perslib.comparisons.words import (
    ANNOTATORS,
    COMMONEST,
    CONTROLS,
    EPSILON,
    FEWEST,
    ITEMS,
    METRICS,
    OF_CUT,
    OF_TWO,
    PEOPLE,
    USER_MEAN,
    Agreement,
    answer_first,
    describe_open,
    describe_people,
)
from perslib.corpus import TURN, Corpus, Scale, read_rows
from perslib.corpus.any_file.ratings import find_scale_of, read_rating, turn_scale
from perslib.errors import DataError, NotEnough, Problem, check_names
from perslib.stats import Resamples, agreement, floats, holm
from perslib.stats.agreement.for_whom import shrink_users
from perslib.stats.agreement.raters import find_panels
from perslib.stats.resample.leave_one_out import name_bounds, p_of_correlation


def agree(
    verdicts: Table,
    labels: Table | None = None,
    *,
    item: str | None = None,
    user: str | None = None,
    label: str | Sequence[str] | None = None,
    judges: Sequence[str] = (),
    scale: str | None = None,
    time: str | None = None,
    repeats: str | None = None,
    encoding: str | None = None,
    history: bool = False,
) -> Agreement:
    """Compare judges with people; the names of columns are recognised where they are not given.

    With `history` also: what the user's own ratings of other items add to each judge's scores (`trace_history`).

    Raise NotEnough with fewer than `FEWEST` labelled and judged items, and DataError where it is not plain which column is which.
    """
    check_names("repeats", [repeats] if repeats else [], ["first", "last"])
    left_out: list[str] = []
    own = read_flat(verdicts, left_out, encoding)
    people = own if labels is None else read_flat(labels, left_out, encoding)
    named = Columns(
        own,
        people,
        labels is not None,
        item,
        user,
        [label] if isinstance(label, str) else [*(label or ())],
        tuple(judges),
        time,
        repeats,
    )
    given, scales = named.labels(), {}
    if is_chosen := are_choices(given["label"]):
        given = given.assign(label=given["label"].map(read_choice))
        named.notes.append(
            f"labels: choices between two replies, the first as 1; {USER_MEAN} is a habit of side here, and no taste: that would need the replies"
        )
    scale = scale or ("0-1" if is_chosen else named.find_scale()) or "1-5"
    corpus = _make_corpus(given, scale)
    scores = named.scores()
    parts = []
    for judge, part in scores.groupby("judge", sort=False):
        if is_chosen and are_choices(part["score"]):
            part = part.assign(score=part["score"].map(read_choice))
        scales[judge] = find_scale_of(part["score"].tolist())
        parts.append(part.assign(raw=_to_five(part["score"], scales[judge], judge)))
    turns = corpus.turns[[*TURN, "item"]].assign(gold=floats(corpus.gold))
    judged = turns.merge(pd.concat(parts), on=["item"] if "user" not in scores else ["item", "user"])
    if judged["item"].nunique() < FEWEST:
        raise NotEnough(
            "{n} items have both a label and a judge's score; ten or more say something.", n=judged["item"].nunique()
        )
    everything = pd.concat([judged, *_make_controls(turns, judged)], ignore_index=True).dropna(subset=["raw"])
    frame = everything[[*TURN, "judge", "raw"]].assign(backbone=None)
    is_of_two = scale in ("0-1", "1-0") and set(corpus.gold.dropna()) <= {1, 5}
    parts_by_metric = [(frame, [metric for metric in METRICS if metric not in OF_TWO])]
    if is_of_two:
        cut = frame.assign(raw=np.where(frame["raw"] >= 3, 5.0, 1.0))
        parts_by_metric = [(frame, [metric for metric in METRICS if metric not in (*OF_CUT, "qwk")]), (cut, [*OF_CUT])]
    panel_of = dict(zip(given["user"], find_panels(given["user"].to_numpy(object), pd.factorize(given["item"])[0])))
    panels = len(set(panel_of.values()))
    if panels < len(panel_of):
        named.notes.append(f"intervals: over {panels} panels of people with items in common")
    measured = pd.concat(
        [
            agreement(one, corpus, metrics=metrics, controls=CONTROLS, clusters=panel_of)
            for one, metrics in parts_by_metric
        ]
    )
    table = _lay_out(measured, everything)
    notes = [
        *left_out,
        *named.notes,
        f"scale: people's labels are on {scale}, and compared on 1–5",
        *describe_people(given, table),
    ]
    notes += describe_open(table)
    own = everything[~everything["judge"].isin((*CONTROLS, PEOPLE))]
    traced = trace_history(own, corpus, panel_of) if history else None
    notes += [] if traced is None else describe_history(traced)
    return Agreement(answer_first(table), table, notes, everything, traced)


# -- numbers -------------------------------------------------------------------------------------------------------


def _parse(scale: str) -> Scale:
    return Scale.parse("0-1" if scale == "-1-1" else scale)


def _make_corpus(given: pd.DataFrame, scale: str) -> Corpus:
    """Return the labels as a corpus: an item is a conversation of its own, on which judges and people are compared."""
    words = turn_scale(scale) if _parse(scale).is_turned else scale
    rows = [
        {
            "user": row.user,
            "session": str(row.item),
            "request": "–",
            "response": "–",
            "score": read_rating(row.label, words),
            "item": str(row.item),
        }
        for row in given.itertuples()
    ]
    return read_rows(rows, "labels", scale=_parse(scale)).corpus


def _to_five(scores: pd.Series, scale: str | None, judge: str) -> np.ndarray:
    values = floats(
        scores.map(lambda value: read_rating(value, scale)).where(lambda s: s.map(lambda v: isinstance(v, int | float)))
    )
    if not np.isfinite(values).any():
        raise DataError(Problem(str(judge), "holds no scores"))
    if scale is not None:
        return _parse(scale).to_five(values)
    low, high = np.nanmin(values), np.nanmax(values)  # of any other numbers, their range
    return 1 + 4 * (values - low) / (high - low if high > low else 1)


def _make_controls(turns: pd.DataFrame, judged: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the user's mean without the item, the commonest label, and other people's mean of the item."""
    known = turns.merge(judged[["user", "item"]].drop_duplicates())
    made = []
    for judge, by in ((USER_MEAN, "user"), (PEOPLE, "item")):
        every = turns.groupby(by)["gold"].agg(["sum", "size"]).loc[known[by]]
        others = every["size"].to_numpy() - 1
        mean = np.divide(
            every["sum"].to_numpy() - known["gold"].to_numpy(),
            others,
            out=np.full(len(known), np.nan),
            where=others > 0,
        )
        made.append(known.assign(judge=judge, raw=mean))
    return [*made, known.assign(judge=COMMONEST, raw=float(turns["gold"].mode().iloc[0]))]


def _lay_out(measured: pd.DataFrame, everything: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for judge, own in measured.groupby("judge", sort=False):
        numbers = own.set_index("metric")
        row: dict[str, Any] = {
            "judge": judge,
            "items": int(numbers["turns"].iloc[0]),
            "users": int(numbers["users"].iloc[0]),
        }
        for metric in METRICS:
            has = metric in numbers.index
            row |= dict(zip(name_bounds(metric), numbers.loc[metric, name_bounds("value")] if has else [np.nan] * 3))
        if judge == USER_MEAN:  # without the item itself, a user's mean is the lower the higher the label
            row |= dict.fromkeys(name_bounds("wc_pearson"), np.nan)
        row |= {"control": numbers.loc["pearson", "control"]} | numbers.loc[
            "pearson", [*name_bounds("gain", p=True)]
        ].to_dict()
        if judge in (*CONTROLS, PEOPLE):  # a control is not measured against itself
            row |= {"control": None} | dict.fromkeys(name_bounds("gain", p=True), np.nan)
        theirs = everything[everything["judge"] == judge]
        row |= _measure_users(theirs, everything) | _try_as_annotator(theirs, everything) | _measure_drift(theirs)
        rows.append(row)
    table = pd.DataFrame(rows)
    is_judge = ~table["judge"].isin((*CONTROLS, PEOPLE))
    table["wc_pearson_p"] = p_of_correlation(*table[name_bounds("wc_pearson")].to_numpy(float).T)
    for name in ("gain_p", "wc_pearson_p"):
        table[f"{name}_holm"] = np.nan
        table.loc[is_judge, f"{name}_holm"] = holm(table.loc[is_judge, name].to_numpy(float))
    order = table.assign(kind=~is_judge).sort_values(["kind", "pearson"], ascending=[True, False], kind="stable")
    return order.drop(columns="kind").reset_index(drop=True)


def _measure_users(theirs: pd.DataFrame, everything: pd.DataFrame) -> dict[str, float]:
    """Return the share of users for whom their own mean is closer than the judge, and the spread of users' mean errors."""
    own = everything[everything["judge"] == USER_MEAN][["user", "item", "raw"]].rename(columns={"raw": "mean"})
    both = theirs.merge(own, on=["user", "item"]).dropna(subset=["raw", "mean"])
    if both["user"].nunique() < 2 or theirs["judge"].iloc[0] in (*CONTROLS, PEOPLE):
        return dict.fromkeys([*name_bounds("worse"), "spread"], np.nan)
    users = Resamples(both["user"])
    gain = (both["mean"] - both["gold"]).abs() - (both["raw"] - both["gold"]).abs()
    gains, error = (shrink_users(v.to_numpy(float), users.group) for v in (gain, both["raw"] - both["gold"]))
    each = Resamples(users.names)
    return each.estimate(each.mean(norm.cdf(0, gains["value"], gains["se"])), "worse", "share") | {
        "spread": float(error["spread"])
    }


def _try_as_annotator(theirs: pd.DataFrame, everything: pd.DataFrame) -> dict[str, float]:
    """Return the share of annotators that the judge may stand in for, by the alternative annotator test."""
    wide = everything[everything["judge"] == COMMONEST].pivot_table(index="item", columns="user", values="gold")
    score = theirs.groupby("item")["raw"].mean().reindex(wide.index)
    p = []
    for user in wide if wide.shape[1] >= ANNOTATORS else ():
        others = wide.drop(columns=user)
        usable = wide[user].notna() & score.notna() & others.notna().any(axis=1)
        if usable.sum() < ITEMS:
            continue
        off = [np.sqrt(others[usable].sub(one[usable], axis=0).pow(2).mean(axis=1)) for one in (score, wide[user])]
        ahead = (off[1] <= off[0]).astype(float) - (off[0] <= off[1]).astype(float)
        p.append(
            float(ttest_1samp(ahead, EPSILON, alternative="less").pvalue)
            if ahead.std()
            else float(ahead.mean() >= EPSILON)
        )
    if len(p) < ANNOTATORS:
        return {"stands_in": np.nan, "annotators": len(p)}
    order, m = np.sort(p), len(p)
    bound = 0.05 * np.arange(1, m + 1) / (m * (1 / np.arange(1, m + 1)).sum())  # Benjamini and Yekutieli
    return {"stands_in": float(np.flatnonzero(order <= bound).max(initial=-1) + 1) / m, "annotators": m}


def _measure_drift(theirs: pd.DataFrame) -> dict[str, float]:
    """Return by how much the judge is higher, beside people, in the later half than in the earlier."""
    if "when" not in theirs or theirs["when"].isna().all():
        return dict.fromkeys(name_bounds("drift"), np.nan)
    users, is_late = Resamples(theirs["user"]), (theirs["when"].rank(pct=True) > 0.5).to_numpy()
    error = (theirs["raw"] - theirs["gold"]).to_numpy(float)
    halves = [users.mean(np.where(side, error, np.nan)) for side in (is_late, ~is_late)]
    return users.estimate(halves[0] - halves[1], "drift")
