"""The tables of the page on judge bias, cells as a paper prints them, and its sentences with computed numbers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from perslib.report.tables import format_number as as_number
from perslib.report.tables import formatted, interval, number, p_value, written
from perslib.report.words import name_of
from perslib.studies.judge_bias import LABELS, METRICS, Audit
from perslib.text import join, paragraph, translate
from perslib.ux import REWARD_MODEL
from perslib.ux.own_family import ALL


def sensitivity_table(table: pd.DataFrame) -> pd.DataFrame:
    """Judges of Table 3, best accuracy first."""
    ordered = table.sort_values("accuracy", ascending=False, kind="stable", ignore_index=True)
    reach = 1.96 * ordered["d_prime_se"]
    return formatted(
        ordered.assign(d_prime_low=ordered["d_prime"] - reach, d_prime_high=ordered["d_prime"] + reach),
        model_name="model",
        wilson=interval("accuracy", "low", "high", 1),
        **{c: written("{:.1f}") for c in ("good_acc", "bad_acc", "positive_bias")},
        d_prime=interval(),
        criterion=written("{:.2f}"),
        at_best=written("{:.1f}"),
    )


def gaps_table(table: pd.DataFrame) -> pd.DataFrame:
    """Own family less others, a row a judge and one for all."""
    out = formatted(
        table.assign(own_models=table["own_models"].astype("Int64")),
        "judge",
        "own_models",
        own_mean="own",
        others_mean="others",
        raw_gap=interval("raw", digits=1),
        adjusted_gap=interval("adjusted", "low", "high", 1),
        p=p_value(),
        p_holm=p_value(),
    )
    return out.assign(p_holm=out["p_holm"].mask(table["judge"] == ALL, "–"))


def strengths_table(table: pd.DataFrame) -> pd.DataFrame:
    """Own-family terms of the pairwise model."""
    own = table[table["kind"] == "own family"].reset_index(drop=True)
    effect = interval("estimate", "low", "high")
    return formatted(
        own.assign(odds=np.exp(own["estimate"])),
        judge="term",
        own_family_effect=effect,
        odds="odds",
        p=p_value(),
    )


def quality_table(table: pd.DataFrame) -> pd.DataFrame:
    """Judges and baselines, a column a metric."""
    out = pd.DataFrame({"judge": list(dict.fromkeys(table["judge"]))})
    for metric in (*METRICS, "at_learned"):
        own = table[table["metric"] == metric].set_index("judge").reindex(out["judge"])
        bounded = metric in ("balanced", "d_prime", "criterion")
        form = interval("value", "low", "high") if bounded else number("value")
        out[LABELS.get(metric, metric)] = form(own, metric)
    return out


def lengths_table(length: pd.DataFrame, padding: pd.DataFrame) -> pd.DataFrame:
    """Slopes on length and what padding does, a row a judge."""
    of_padding = formatted(
        padding,
        judge="judge",
        padding_change=interval("difference", "low", "high", 3),
        raised=written("{:.0%}"),
        lowered=written("{:.0%}"),
        turns="turns",
    )
    if length.empty:
        return of_padding
    slopes = formatted(length, "judge", "of_score", "of_gold", at_equal_gold=interval(low="low", high="high"))
    return slopes.merge(of_padding, on="judge")


def positions_table(table: pd.DataFrame) -> pd.DataFrame:
    """What the order of two replies does, a row a judge."""
    return formatted(
        table,
        "judge",
        "pairs",
        **{c: written("{:.0%}") for c in ("consistent", "first_twice", "second_twice")},
        position_bias=interval(low="low", high="high"),
        p=p_value(),
    )


#: Shares of accuracy that a threshold brings and that are worth a word.
A_LOT = 0.05


def mildness(table: pd.DataFrame) -> str:
    """How mild the zero-shot judges are."""
    own = table[table["model"] != REWARD_MODEL]
    bias = own.set_index("model")["positive_bias"]
    return translate(
        "All {n} zero-shot judges recognise good cases better than bad ones, by {least:.1f} points "
        "({strictest}) to {most:.1f} ({mildest}), on average {mean:.1f}: by default they say *good*.",
        n=len(own),
        least=bias.min(),
        strictest=bias.idxmin(),
        most=bias.max(),
        mildest=bias.idxmax(),
        mean=bias.mean(),
    )


def sensitivity(table: pd.DataFrame) -> str:
    """How much of the trained judge's lead is a threshold."""
    own, trained = table[table["model"] != REWARD_MODEL], table[table["model"] == REWARD_MODEL].iloc[0]
    best = own.loc[own["at_best"].idxmax()]
    return translate(
        "Accuracy depends mainly on a judge's threshold (r = {with_c} with c) and little on how well it "
        "separates good from bad (r = {with_d} with d′). {equal} of {n} zero-shot judges have a d′ of at "
        "least the trained judge's {d_prime:.2f}. At its best threshold {best} would reach "
        "{best_accuracy:.1f} %, the trained judge {trained_best:.1f} % (it has {trained_accuracy:.1f} %): "
        "most of the gain from training is a better threshold. This extrapolates from the measured point "
        "along an assumed curve (equal variances), and d′ has standard errors of {least_error:.2f} to "
        "{most_error:.2f}, so most of these judges are tied.",
        with_c=as_number(own["accuracy"].corr(own["criterion"])),
        with_d=as_number(own["accuracy"].corr(own["d_prime"])),
        equal=int((own["d_prime"] >= trained["d_prime"]).sum()),
        n=len(own),
        d_prime=trained["d_prime"],
        best=best["model"],
        best_accuracy=best["at_best"],
        trained_best=trained["at_best"],
        trained_accuracy=trained["accuracy"],
        least_error=table["d_prime_se"].min(),
        most_error=table["d_prime_se"].max(),
    )


def ranks(table: pd.DataFrame) -> str:
    """How many models are tied for first in each task."""
    tied = table[table["tied_first"]].groupby("task", sort=False).size()
    return translate(
        "Models that no other model significantly beats: {tied}. The published order shows no more than that. "
        "All models got the same cases, so with verdicts per case the sets would be smaller.",
        tied=join(translate("{n} in {task}", n=n, task=task) for task, n in tied.items()),
    )


def own_family(gaps: pd.DataFrame) -> str:
    """Which judge favours its family, and how sure that is."""
    own = gaps[gaps["raw"].notna()]
    sure = own["low"] > 0
    return translate(
        "Beyond the models' quality and the judges' leniency, these judges significantly favour their own "
        "family: **{sure}**. Not significantly different from zero: {unsure}. With three judges, two of one "
        "family, part of a preference is absorbed by the row means; and a judge near 95 % for all has little "
        "room for preferences.",
        sure=_listed(own[sure]["judge"]),
        unsure=_listed(own[~sure]["judge"]),
    )


def _listed(names: Iterable[str]) -> str:
    return join(names) or translate("none")


def pairs(table: pd.DataFrame) -> str:
    """Who prefers its own family when two replies stand side by side."""
    sure = table[table["p_holm"] < 0.05]
    return translate(
        "{sure} of {n} pairs differ significantly (Holm), {own} of them in favour of the judge's own family. "
        "Since judges of three families compare some of the same models, strength and preference can be "
        "separated (Bradley–Terry with ties). Claude is stricter with its own family than with others. The "
        "order in which replies were shown was not published.",
        sure=len(sure),
        n=len(table),
        own=int((sure["share"] > 0.5).sum()),
    )


def audited(audit: Audit) -> str:
    """What the audit of a corpus's judges shows."""
    padded = audit.padded[audit.padded["low"] > 0]["judge"]
    placed = audit.position[audit.position["p"] < 0.05]["judge"] if len(audit.position) else []
    long = audit.length[audit.length["low"] > 0]["judge"] if len(audit.length) else []
    return translate(
        "At equal gold labels, longer replies get higher scores from: **{long}**. Empty words added to a "
        "reply raise the score given by: **{padded}**. The order of two replies affects: **{placed}**.",
        long=_listed(map(name_of, long)),
        padded=_listed(map(name_of, padded)),
        placed=_listed(map(name_of, placed)),
    )


def beaten(quality: pd.DataFrame) -> str:
    """Which judges do better than the best baseline, as they stand and at learned thresholds."""
    own = quality[quality["metric"] == "balanced"]
    best = own[own["is_baseline"]].sort_values("value").iloc[-1]
    better = own[~own["is_baseline"] & (own["low"] > best["value"])]["judge"]
    learned = quality[quality["metric"] == "at_learned"].dropna(subset="value").sort_values("value")
    first, rival = (learned[learned["is_baseline"] == of].iloc[-1] for of in (False, True))
    gained = first["value"] - own.set_index("judge")["value"].get(first["judge"], first["value"])
    return paragraph(
        translate(
            "As given, the best baseline is *{best}* with {best_value:.0%}; judges whose interval lies above it: "
            "**{better}**. At thresholds learned on other users (rings) the best judge is *{first}* with "
            "{first_value:.0%}, the best baseline *{rival}* with {rival_value:.0%}.",
            best=name_of(best["judge"]),
            best_value=best["value"],
            better=_listed(map(name_of, better)),
            first=name_of(first["judge"]),
            first_value=first["value"],
            rival=name_of(rival["judge"]),
            rival_value=rival["value"],
        ),
        translate("Much of what looked like low sensitivity is a matter of threshold.")
        if gained > A_LOT
        else "",
    )
