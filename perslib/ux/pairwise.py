"""Judges that choose the better of two replies: who wins, what the order of showing does, and own-family preference.

Choices are a frame, one row a judgment: judge, a, b (whose replies), case, first ("a" or "b": which was shown first),
choice ("a", "b", "tie", or missing where the answer could not be read).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from perslib.errors import DataError, Problem
from perslib.inference import FEWEST_USERS, LEVEL, RESAMPLES, SEED, holm, interval, resample_users, wilson
from perslib.ux.paired import mcnemar

CHOICES = ("a", "b", "tie")


def checked_choices(choices: pd.DataFrame) -> pd.DataFrame:
    """The frame, or an error that names what is lacking or wrong."""
    if missing := [c for c in ("judge", "a", "b", "case", "first", "choice") if c not in choices]:
        raise DataError(Problem("choices", f"has no column {', '.join(missing)}"))
    for column, allowed in (("first", CHOICES[:2]), ("choice", CHOICES)):
        wrong = choices[column].notna() & ~choices[column].isin(allowed)
        if wrong.any():
            at = int(wrong.to_numpy().argmax())
            raise DataError(
                Problem(
                    f"choices row {at}",
                    f"{column} is {choices[column].iloc[at]!r}, expected {', '.join(allowed)}",
                )
            )
    return choices


def exact_test(a_wins: int, b_wins: int, ties: int = 0, *, split: bool = False) -> float:
    """Exact two-sided binomial p of "either is chosen as often"; ties left out, or given half to each.

    Of an odd number of ties the last goes to the side that is behind.
    """
    less, more = sorted((a_wins, b_wins))
    if split:
        less, more = less + (ties + 1) // 2, more + ties // 2
    n = less + more
    return min(1.0, 2 * float(binom.cdf(min(less, more), n, 0.5))) if n else 1.0


def preferences(counts: pd.DataFrame) -> pd.DataFrame:
    """Tests of a table of wins: one row a judge and pair with columns judge, a, b, a_wins, b_wins, ties (counts).

    Adds share (of a, ties half), low and high (Wilson), p_excluded and p_split (`exact_test`), p_holm (of p_split, over
    the rows).
    """
    table = counts.reset_index(drop=True)
    n = table[["a_wins", "b_wins", "ties"]].sum(axis=1)
    half = table["a_wins"] + table["ties"] / 2
    low, high = wilson(half, n)
    rows = [[round(v) for v in row] for row in table[["a_wins", "b_wins", "ties"]].to_numpy(float)]
    split = [exact_test(*row, split=True) for row in rows]
    return table.assign(
        share=half / n.where(n > 0), low=low, high=high, p_excluded=[exact_test(*r) for r in rows], p_split=split,
        p_holm=holm(np.array(split)),
    )  # fmt: skip


def wins(choices: pd.DataFrame) -> pd.DataFrame:
    """How often a and b win, both orders together: judge, a, b, a_wins, b_wins, ties, unread."""
    known = checked_choices(choices)
    found = known.assign(choice=known["choice"].astype(object).where(known["choice"].notna(), "unread"))
    table = found.groupby(["judge", "a", "b"], sort=False)["choice"].value_counts().unstack(fill_value=0)
    renamed = {"a": "a_wins", "b": "b_wins", "tie": "ties", "unread": "unread"}
    table = table.rename(columns=renamed).reindex(columns=list(renamed.values()), fill_value=0)
    return table.rename_axis(columns=None).reset_index()


def order_effects(
    choices: pd.DataFrame, *, resamples: int = RESAMPLES, seed: int = SEED, level: float = LEVEL
) -> pd.DataFrame:
    """What the order of showing does, from pairs that a judge saw in both orders; one row a judge.

    - consistent: share of pairs with the same choice both times, a tie counting as a choice
    - first_twice, second_twice: shares chosen by place, the first (second) shown both times
    - position_bias = first_twice − second_twice, with low and high (cases resampled); p by McNemar on these two
    - first_share: share of decided judgments that went to the reply shown first

    Further columns: pairs, cases, left_out (seen in one order only, or one of the two could not be read).
    """
    known = checked_choices(choices)
    key = ["judge", "a", "b", "case"]
    shown = known.dropna(subset=["first", "choice"]).drop_duplicates([*key, "first"])
    place = {"a": shown["first"].map({"a": 1.0, "b": -1.0}), "b": shown["first"].map({"a": -1.0, "b": 1.0})}
    by_place = np.select([shown["choice"] == "a", shown["choice"] == "b"], [place["a"], place["b"]], 0.0)
    shown = shown.assign(place=by_place)
    rows = []
    for judge, every in known.groupby("judge", sort=False):
        own = shown[shown["judge"] == judge]
        both = own.pivot(index=key, columns="first", values=["choice", "place"]).reindex(
            columns=pd.MultiIndex.from_product([["choice", "place"], ["a", "b"]])
        )
        both = both.dropna()
        pairs = len(both)
        same = (both[("choice", "a")] == both[("choice", "b")]).to_numpy(float)
        places = both["place"].to_numpy(float)
        first, second = ((places == side).all(axis=1).astype(float) for side in (1.0, -1.0))
        decided = own[own["place"] != 0]
        row: dict[str, Any] = {"judge": judge, "pairs": pairs}
        row |= {n: float(v.mean()) if pairs else np.nan for n, v in _named(same, first, second).items()}
        row["position_bias"] = row["first_twice"] - row["second_twice"]
        case, cases = pd.factorize(both.index.get_level_values("case"))
        row["low"], row["high"] = _bounds(first - second, case, len(cases), resamples, seed, level)
        row["p"] = mcnemar(int(first.sum()), int(second.sum()))
        row["first_share"] = float((decided["place"] > 0).mean()) if len(decided) else np.nan
        seen = len(every.drop_duplicates(key))
        rows.append({**row, "cases": len(cases), "left_out": seen - pairs})
    return pd.DataFrame(rows)


def _named(same: Any, first: Any, second: Any) -> dict[str, Any]:
    return {"consistent": same, "first_twice": first, "second_twice": second}


def _bounds(values: Any, group: Any, n: int, resamples: int, seed: int, level: float) -> tuple[float, float]:
    """Interval of a mean over resampled groups."""
    if n < FEWEST_USERS:
        return float("nan"), float("nan")
    weights = resample_users(n, resamples, seed).astype(float)
    total, count = (np.bincount(group, v, n) @ weights for v in (values, np.ones(len(values))))
    return interval((total / count)[1:], level)
