"""The tables of the page on judge bias, cells as a paper prints them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from perslib.studies.judge_bias import LABELS, METRICS
from perslib.ux.own_family import ALL


def _cells(table: pd.DataFrame, columns: Sequence[str], digits: int = 3) -> list[str]:
    """Value and interval, `0.36 [0.30, 0.41]`."""
    rows = table[list(columns)].to_numpy(float)
    return [_cell(value, low, high, digits) for value, low, high in rows]


def _cell(value: float, low: float, high: float, digits: int) -> str:
    if not np.isfinite(value):
        return "–"
    if np.isinf(low) or np.isinf(high):
        return f"{_plain(value, digits)} (−∞, ∞)"
    if np.isnan(low) or np.isnan(high):
        return _plain(value, digits)
    return f"{_plain(value, digits)} [{_plain(low, digits)}, {_plain(high, digits)}]"


def _plain(value: float, digits: int) -> str:
    """A number with its zero before the point and a minus sign that is one."""
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def sensitivity(table: pd.DataFrame) -> pd.DataFrame:
    """Judges of Table 3, best accuracy first."""
    ordered = table.sort_values("accuracy", ascending=False, kind="stable", ignore_index=True)
    reach = 1.96 * ordered["d_prime_se"]
    d = ordered.assign(low=ordered["d_prime"] - reach, high=ordered["d_prime"] + reach)
    return pd.DataFrame(
        {
            "model_name": ordered["model"],
            "wilson": _cells(ordered, ["accuracy", "low", "high"], 1),
            "good_acc": ordered["good_acc"].map("{:.1f}".format),
            "bad_acc": ordered["bad_acc"].map("{:.1f}".format),
            "positive_bias": ordered["positive_bias"].map("{:.1f}".format),
            "d_prime": _cells(d, ["d_prime", "low", "high"], 2),
            "criterion": ordered["criterion"].map("{:.2f}".format),
            "at_best": ordered["at_best"].map("{:.1f}".format),
        }
    )


def gaps(table: pd.DataFrame) -> pd.DataFrame:
    """Own family less others, a row a judge and one for all."""
    return pd.DataFrame(
        {
            "judge": table["judge"],
            "own_models": table["own_models"].astype("Int64"),
            "own_mean": table["own"],
            "others_mean": table["others"],
            "raw_gap": _cells(table, ["raw", "raw_low", "raw_high"], 1),
            "adjusted_gap": _cells(table, ["adjusted", "low", "high"], 1),
            "p": table["p"].map(_p),
            "p_holm": [_p(p) if judge != ALL else "–" for judge, p in zip(table["judge"], table["p_holm"])],
        }
    )


def _p(value: float) -> str:
    if not np.isfinite(value):
        return "–"
    return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def strengths(table: pd.DataFrame) -> pd.DataFrame:
    """Own-family terms of the pairwise model."""
    own = table[table["kind"] == "own family"].reset_index(drop=True)
    return pd.DataFrame(
        {
            "judge": own["term"],
            "own_family_effect": _cells(own, ["estimate", "low", "high"], 2),
            "odds": np.exp(own["estimate"]),
            "p": own["p"].map(_p),
        }
    )


def quality(table: pd.DataFrame) -> pd.DataFrame:
    """Judges and baselines, a column a metric."""
    out = pd.DataFrame({"judge": list(dict.fromkeys(table["judge"]))})
    for metric in (*METRICS, "at_learned"):
        own = table[table["metric"] == metric].set_index("judge").reindex(out["judge"])
        shown = own if metric in ("balanced", "d_prime", "criterion") else own.assign(low=np.nan)
        out[LABELS.get(metric, metric)] = _cells(shown, ["value", "low", "high"], 2)
    return out


def lengths(length: pd.DataFrame, padding: pd.DataFrame) -> pd.DataFrame:
    """Slopes on length and what padding does, a row a judge."""
    shown = pd.DataFrame(
        {
            "judge": padding["judge"],
            "padding_change": _cells(padding, ["difference", "low", "high"], 3),
            "raised": padding["raised"].map("{:.0%}".format),
            "lowered": padding["lowered"].map("{:.0%}".format),
            "turns": padding["turns"],
        }
    )
    if length.empty:
        return shown
    slopes = length.assign(at_equal_gold=_cells(length, ["at_equal_gold", "low", "high"], 2))
    return slopes[["judge", "of_score", "of_gold", "at_equal_gold"]].merge(shown, on="judge")


def positions(table: pd.DataFrame) -> pd.DataFrame:
    """What the order of two replies does, a row a judge."""
    shares = {c: table[c].map("{:.0%}".format) for c in ("consistent", "first_twice", "second_twice")}
    bias = _cells(table, ["position_bias", "low", "high"], 2)
    return pd.DataFrame(
        {
            "judge": table["judge"],
            "pairs": table["pairs"],
            **shares,
            "position_bias": bias,
            "p": table["p"].map(_p),
        }
    )
