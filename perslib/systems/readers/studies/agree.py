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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm, ttest_1samp

from perslib.corpus import TURN, Corpus, Scale, read_rows
from perslib.corpus.any_file.ratings import find_scale_of, read_rating
from perslib.errors import DataError, NotEnough, Problem, check_names
from perslib.paths import write_csv
from perslib.report.show.tables import format_number, show_estimate
from perslib.stats import Resamples, agreement, floats, holm, krippendorff
from perslib.stats.agreement.for_whom import shrink_users
from perslib.stats.agreement.metrics import LOWER_IS_BETTER
from perslib.stats.resample.leave_one_out import count_to_settle, name_bounds
from perslib.systems.readers.studies.agree_columns import Columns, Table, read_flat

USER_MEAN, COMMONEST, PEOPLE = "the user's own mean", "the commonest label", "other people"
CONTROLS = (USER_MEAN, COMMONEST)
METRICS = ("pearson", "spearman", "wc_pearson", "accuracy", "mae")
#: What a judge may be worse by than an annotator and stand in for one; annotators that the test takes, and items of each.
EPSILON, ANNOTATORS, ITEMS = 0.15, 3, 20
#: From this share of users on for whom their own mean is closer, a judge is to be used with care.
MANY = 0.25
#: Fewer rated items say nothing.
FEWEST = 10


@dataclass
class Agreement:
    """What `agree` found."""

    answer: str
    table: pd.DataFrame
    """judge, items, users, each of `METRICS` with bounds, gain (Pearson over the best control) with bounds and p_holm, worse (share of
    users for whom their own mean is closer), stands_in (share of annotators that it may stand in for), drift with bounds."""
    notes: list[str] = field(default_factory=list)
    verdicts: pd.DataFrame = field(default_factory=pd.DataFrame)
    """user, item, judge, raw (on 1–5), gold."""


def agree(
    verdicts: Table,
    labels: Table | None = None,
    *,
    item: str | None = None,
    user: str | None = None,
    label: str | None = None,
    judges: Sequence[str] = (),
    scale: str | None = None,
    time: str | None = None,
    repeats: str | None = None,
) -> Agreement:
    """Compare judges with people; the names of columns are recognised where they are not given.

    Raise NotEnough with fewer than `FEWEST` labelled and judged items, and DataError where it is not plain which column is which.
    """
    check_names("repeats", [repeats] if repeats else [], ["first", "last"])
    left_out: list[str] = []
    own = read_flat(verdicts, left_out)
    people = own if labels is None else read_flat(labels, left_out)
    named = Columns(own, people, labels is not None, item, user, label, tuple(judges), time, repeats)
    given, scales = named.labels(), {}
    scale = scale or find_scale_of(given["label"].tolist()) or "1-5"
    corpus = _make_corpus(given, scale)
    scores = named.scores()
    parts = []
    for judge, part in scores.groupby("judge", sort=False):
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
    measured = agreement(frame, corpus, metrics=METRICS, controls=CONTROLS)
    table = _lay_out(measured, everything)
    notes = [
        *left_out,
        *named.notes,
        f"scale: people's labels are on {scale}, and compared on 1–5",
        *_describe_people(given, table),
    ]
    return Agreement(_answer(table), table, [*notes, *_describe_open(table)], everything)


# -- numbers -------------------------------------------------------------------------------------------------------


def _parse(scale: str) -> Scale:
    return Scale.parse("0-1" if scale == "-1-1" else scale)


def _make_corpus(given: pd.DataFrame, scale: str) -> Corpus:
    """Return the labels as a corpus: an item is a conversation of its own, on which judges and people are compared."""
    rows = [
        {
            "user": row.user,
            "session": str(row.item),
            "request": "–",
            "response": "–",
            "score": read_rating(row.label, scale),
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
            row |= dict(zip(name_bounds(metric), numbers.loc[metric, name_bounds("value")]))
        if judge == USER_MEAN:  # without the item itself, a user's mean is the lower the higher the label
            row |= dict.fromkeys(name_bounds("wc_pearson"), np.nan)
        row |= {"control": numbers.loc["pearson", "control"]} | numbers.loc[
            "pearson", [*name_bounds("gain", p=True)]
        ].to_dict()
        theirs = everything[everything["judge"] == judge]
        row |= _measure_users(theirs, everything) | _try_as_annotator(theirs, everything) | _measure_drift(theirs)
        rows.append(row)
    table = pd.DataFrame(rows)
    is_judge = ~table["judge"].isin((*CONTROLS, PEOPLE))
    table["gain_p_holm"] = np.nan
    table.loc[is_judge, "gain_p_holm"] = holm(table.loc[is_judge, "gain_p"].to_numpy(float))
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
        return {"stands_in": np.nan}
    order, m = np.sort(p), len(p)
    bound = 0.05 * np.arange(1, m + 1) / (m * (1 / np.arange(1, m + 1)).sum())  # Benjamini and Yekutieli
    return {"stands_in": float(np.flatnonzero(order <= bound).max(initial=-1) + 1) / m}


def _measure_drift(theirs: pd.DataFrame) -> dict[str, float]:
    """Return by how much the judge is higher, beside people, in the later half than in the earlier."""
    if "when" not in theirs or theirs["when"].isna().all():
        return dict.fromkeys(name_bounds("drift"), np.nan)
    users, is_late = Resamples(theirs["user"]), (theirs["when"].rank(pct=True) > 0.5).to_numpy()
    error = (theirs["raw"] - theirs["gold"]).to_numpy(float)
    halves = [users.mean(np.where(side, error, np.nan)) for side in (is_late, ~is_late)]
    return users.estimate(halves[0] - halves[1], "drift")


# -- words ---------------------------------------------------------------------------------------------------------


def _cell(row: pd.Series, name: str, digits: int = 2) -> str:
    return str(show_estimate(row, name, digits))


def _answer(table: pd.DataFrame) -> str:
    """Return one sentence: whether the best judge is usable, and because of what."""
    judges = table[~table["judge"].isin((*CONTROLS, PEOPLE))]
    best = judges.iloc[0]
    people = table[table["judge"] == PEOPLE]["pearson"].squeeze() if PEOPLE in set(table["judge"]) else np.nan
    reached = f"it agrees with people at r = {_cell(best, 'pearson')}"
    above = (
        f"a gain of {_cell(best, 'gain')} over {best['control']}"
        if pd.notna(best["gain"])
        else "no control has a value"
    )
    doubts = []
    if best["worse"] >= MANY:
        doubts.append(f"for {best['worse']:.0%} of users their own mean is closer")
    if np.isfinite(people) and best["pearson_high"] < people:
        doubts.append(f"people agree with each other at r = {format_number(people, 2)}")
    if best["drift_low"] > 0 or best["drift_high"] < 0:
        doubts.append(f"it drifts by {_cell(best, 'drift')} points")
    if not best["gain_low"] > 0:
        state = "not usable" if best["gain_high"] < 0 or best["pearson_high"] < 0.1 else "not shown to be usable"
        return f"{best['judge']} is {state}, because {reached}, {above}: an interval that holds zero is no gain over knowing no reply."
    if doubts:
        return f"{best['judge']} is usable with care: {reached}, {above}, but {'; '.join(doubts)}."
    return f"{best['judge']} is usable: {reached}, {above}."


def _describe_people(given: pd.DataFrame, table: pd.DataFrame) -> list[str]:
    wide = given.pivot(index="item", columns="user", values="label")
    twice = int((wide.notna().sum(axis=1) > 1).sum())
    if not twice:
        return [
            "people: no item has two labels, so how far people agree is not known, and neither is how far a judge could"
        ]
    numbers = wide.apply(lambda column: pd.to_numeric(column, errors="coerce"))
    alpha = krippendorff(
        numbers if numbers.notna().equals(wide.notna()) else wide,
        "interval" if numbers.notna().equals(wide.notna()) else "nominal",
    )
    row = table[table["judge"] == PEOPLE]
    reached = f", and each agrees with the others' mean at r = {_cell(row.iloc[0], 'pearson')}" if len(row) else ""
    return [f"people: {twice} items have two labels or more; Krippendorff's α = {format_number(alpha, 2)}{reached}"]


def _describe_open(table: pd.DataFrame) -> list[str]:
    """Return how many users would settle what is open."""
    notes = []
    for _, row in table[~table["judge"].isin((*CONTROLS, PEOPLE))].iterrows():
        if users := count_to_settle(row["users"], *row[name_bounds("gain")]):
            notes.append(
                f"open: whether {row['judge']} and {row['control']} differ; about {users:,} users like these {row['users']} would tell"
            )
    if table["users"].max() < 10:
        notes.append("intervals: from ten users on; labels of one person depend on each other")
    return notes


def show_table(agreement: Agreement) -> pd.DataFrame:
    """Return the table as people read it, columns without a value left out."""
    table = agreement.table
    columns = {"judge": table["judge"], "users": table["users"], "items": table["items"]}
    digits = {
        "pearson": "r",
        "wc_pearson": "r within users",
        "spearman": "ρ",
        "accuracy": "accuracy",
        "mae": "mean error",
    }
    digits |= {"gain": "gain in r", "worse": "own mean closer for", "drift": "drift"}
    columns |= {
        head: table.apply(_cell, axis=1, name=name) for name, head in digits.items() if table[name].notna().any()
    }
    if table["stands_in"].notna().any():
        columns["stands in for"] = table["stands_in"].map(lambda share: "–" if np.isnan(share) else f"{share:.0%}")
    return pd.DataFrame(columns)


def find_below(agreement: Agreement, metric: str, bound: float) -> list[str]:
    """Return the judges whose value of a metric is not as good as a bound; of errors, those above it."""
    judges = agreement.table[~agreement.table["judge"].isin((*CONTROLS, PEOPLE))]
    sign = -1 if metric in LOWER_IS_BETTER else 1
    return judges[~(sign * judges[metric] >= sign * bound)]["judge"].tolist()


def write_page(agreement: Agreement, path: Path) -> Path:
    """Write the page, and the table beside it as CSV; return the page's path."""
    from perslib.report.page.single import write_single_page
    from perslib.report.show import plots
    from perslib.report.show.style import figure_style

    figure_style()
    panels = plots.stack(agreement.table, ["pearson", "wc_pearson", "mae"])
    figure = plots.intervals(panels, rows="judge", panels="quantity", muted=[*CONTROLS, PEOPLE])
    write_csv(agreement.table, path.with_suffix(".csv"))
    caption = "Agreement with people's labels, with 95 % intervals over users; grey: controls, which know no reply, and other people."
    return write_single_page(
        path,
        "Do these judges agree with people?",
        agreement.answer,
        figure,
        caption,
        show_table(agreement),
        agreement.notes,
    )


def make_demo() -> pd.DataFrame:
    """Return labels of the bundled sample with two judges that ask no model, as a table of one's own would have them."""
    from perslib.corpus import load
    from perslib.judge import Nearest, evaluate

    corpus = load("sample/en")
    nearest = evaluate(Nearest(), corpus, progress=False)[[*TURN, "raw"]].rename(columns={"raw": "nearest_judge"})
    turns = corpus.turns[[*TURN, "response", "score"]].merge(nearest, on=TURN).dropna(subset="score")
    words = turns["response"].str.split().str.len()
    item = turns[[*TURN]].astype(str).agg("/".join, axis=1)
    return pd.DataFrame({
        "item_id": item, "annotator": turns["user"], "human_rating": turns["score"].astype(int),
        "nearest_judge": turns["nearest_judge"].astype(float).round(2), "length_judge": np.clip(1 + words // 100, 1, 5),
    })  # fmt: skip
