"""What judges of pairs choose: who is preferred, and what the order of showing does.

    preferences(counts)                        # who wins pairs, ties and all (UXBench, Table 10)
    order_effects(choices)                     # pairs that a judge saw in both orders

Choices are a frame, one row a judgment: judge, a, b (whose replies), case, first ("a" or "b": which was shown
first), choice ("a", "b", "tie", or missing where the answer could not be read). Strengths: `perslib.systems.uxbench.statistics.bradley_terry`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from perslib.errors import DataError, Problem
from perslib.stats.compare.paired import mcnemar
from perslib.stats.resample.leave_one_out import Resamples, floats
from perslib.stats.resample.sign_flips import holm
from perslib.stats.resample.wilson import wilson

CHOICES = ("a", "b", "tie")

WINS = ["a_wins", "b_wins", "ties"]


def check_choices(choices: pd.DataFrame) -> pd.DataFrame:
    """Return the frame, or raise an error that names what is lacking or wrong."""
    if missing := [c for c in ("judge", "a", "b", "case", "first", "choice") if c not in choices]:
        raise DataError(Problem("choices", f"has no column {', '.join(missing)}"))
    for column, allowed in (("first", CHOICES[:2]), ("choice", CHOICES)):
        wrong = choices[column].notna() & ~choices[column].isin(allowed)
        if wrong.any():
            at = int(wrong.to_numpy().argmax())
            problem = f"{column} is {choices[column].iloc[at]!r}, expected {', '.join(allowed)}"
            raise DataError(Problem(f"choices row {at}", problem))
    return choices


def exact_test(a_wins: int, b_wins: int, ties: int = 0, *, split: bool = False) -> float:
    """Return exact two-sided binomial p of "either is chosen as often"; ties left out, or given half to each.

    Of an odd number of ties the last goes to the side that is behind.
    """
    less, more = sorted((a_wins, b_wins))
    return mcnemar(less + (ties + 1) // 2, more + ties // 2) if split else mcnemar(less, more)


def preferences(counts: pd.DataFrame) -> pd.DataFrame:
    """Test a table of wins: one row a judge and pair with columns judge, a, b, a_wins, b_wins, ties (counts).

    Adds share (of a, ties half), share_low and share_high (Wilson), share_p (`exact_test`, ties split), share_p_holm (over
    the rows), and share_p_excluded (without ties).
    """
    table = counts.reset_index(drop=True)
    n, half = table[WINS].sum(axis=1), table["a_wins"] + table["ties"] / 2
    low, high = wilson(half, n)
    rows = table[WINS].round().astype(int).to_numpy().tolist()
    p = np.array([exact_test(*row, split=True) for row in rows])
    table = table.assign(share=half / n.where(n > 0), share_low=low, share_high=high, share_p=p)
    return table.assign(share_p_holm=holm(p), share_p_excluded=[exact_test(*row) for row in rows])


def order_effects(choices: pd.DataFrame, *, unit: str = "case") -> pd.DataFrame:
    """Measure what the order of showing does, from pairs that a judge saw in both orders; one row a judge.

    - consistent: share of pairs with the same choice both times, a tie counting as a choice
    - first_twice, second_twice: shares chosen by place, the first (second) shown both times
    - position_bias = first_twice − second_twice, with position_bias_low and position_bias_high (over units);
      position_bias_p by McNemar on these two
    - first_share: share of decided judgments that went to the reply shown first

    Further columns: pairs, units, left_out (seen in one order only, or one of the two could not be read).
    """
    key = ["judge", "a", "b", "case"]
    known = check_choices(choices)
    shown = known.dropna(subset=["first", "choice"]).drop_duplicates([*key, "first"])
    sides = {"a": 1.0, "b": -1.0, "tie": 0.0}
    shown = shown.assign(place=floats(shown["first"].map(sides)) * floats(shown["choice"].map(sides)))  # 1: the first
    rows = []
    for judge, every in known.groupby("judge", sort=False):
        own = shown[shown["judge"] == judge]
        wide = own.pivot(index=list(dict.fromkeys([*key, unit])), columns="first", values="place")
        places = wide.reindex(columns=["a", "b"]).dropna()
        first, second = ((places == side).all(axis=1).to_numpy(float) for side in (1, -1))
        units = Resamples(places.index.get_level_values(unit))
        bias = units.estimate(units.mean(first - second), "position_bias")
        decided = own.loc[own["place"] != 0, "place"]
        means = {"consistent": places["a"] == -places["b"], "first_twice": first, "second_twice": second}
        rows.append(
            {
                "judge": judge,
                "pairs": len(places),
                **{name: pd.Series(values).mean() for name, values in means.items()},
                **bias,
                "position_bias_p": mcnemar(int(first.sum()), int(second.sum())),
                "first_share": (decided > 0).mean(),
                "units": len(units),
                "left_out": len(every.drop_duplicates(key)) - len(places),
            }
        )
    return pd.DataFrame(rows)
