"""What the order of showing does to judges of pairs: `order_effects`, of pairs that a judge saw in both orders.

Choices are a frame, one row a judgment: judge, a, b (whose replies), case, first ("a" or "b": which was shown
first), choice ("a", "b", "tie", or missing where the answer could not be read).
"""

from __future__ import annotations

import pandas as pd

from perslib.errors import DataError, Problem
from perslib.stats.compare.paired import mcnemar
from perslib.stats.resample.leave_one_out import Resamples, floats

CHOICES = ("a", "b", "tie")


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
