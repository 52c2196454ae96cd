"""What is done with cases after all models have spoken: rules that need none, in their order, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pandas as pd

from perslib.signals.duplicates import Duplicates
from perslib.signals.private import audit
from perslib.signals.similarity import words
from perslib.ux.construct.rules import Rejection, Rules
from perslib.ux.construct.taxonomy import OTHER

Row = dict[str, Any]
Rule = Callable[[Row, Rules], tuple[str, str] | None]


def cleaned(cases: pd.DataFrame, rules: Rules) -> tuple[pd.DataFrame, list[Rejection]]:
    """The cases that stay, in their order, and why the others do not. Of equal cases the best by mean stays."""
    rejected: list[Rejection] = []

    def reject(case: str, reason: str, detail: str = "") -> None:
        rejected.append(Rejection("clean", reason, case, detail))

    left = cases
    both = _contradictory(left)
    for case in left.loc[both, "case"]:
        reject(case, "contradictory")
    left = left[~both]
    kept = []
    for row in left.to_dict("records"):
        why = next((found for rule in RULES if (found := rule(row, rules))), None)
        if why is None:
            kept.append(row["case"])
        else:
            reject(row["case"], *why)
    left = left[left["case"].isin(kept)]
    best = left.sort_values(["mean", "case"], ascending=[False, True], kind="stable")
    again = best.duplicated(["side", "talk", "query_turn"])
    for case in best.loc[again, "case"]:
        reject(case, "same_turn")
    seen = Duplicates(rules.alike, rules.seed)
    for case, query, reply in best.loc[~again, ["case", "query", "reply"]].itertuples(index=False):
        if (reason := seen([_same(query), _same(reply)])) is not None:
            reject(case, reason)
    out = {one.place for one in rejected}
    return cases[~cases["case"].isin(out)].reset_index(drop=True), rejected


def _same(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().casefold()


def _contradictory(cases: pd.DataFrame) -> pd.Series:
    if cases.empty:
        return pd.Series(False, cases.index)
    text = cases["query"].map(_same) + "\0" + cases["reply"].map(_same)
    return cases.groupby(text)["side"].transform("nunique") > 1


def dimension_fits(row: Row, rules: Rules) -> tuple[str, str] | None:
    """A dimension was found."""
    return ("no_dimension", row["explanation"][:120]) if row["dimension"] == OTHER else None


def without_image(row: Row, rules: Rules) -> tuple[str, str] | None:
    """Nothing has to be seen."""
    return ("needs_image", "") if row["needs_image"] else None


def without_context(row: Row, rules: Rules) -> tuple[str, str] | None:
    """What is shown suffices."""
    return ("needs_context", "") if row["needs_context"] else None


def lengths(row: Row, rules: Rules) -> tuple[str, str] | None:
    """Request and reply are neither too short nor too long."""
    for name, (least, most) in (("query", rules.query), ("reply", rules.reply)):
        if not least <= (n := len(row[name].strip())) <= most:
            return f"{name}_length", f"{n} characters"
    return None


def language(row: Row, rules: Rules) -> tuple[str, str] | None:
    """Request and reply are written in languages asked for."""
    for name in ("query", "reply"):
        if (found := words(row[name]).lang) not in rules.languages:
            return "language", f"{name}: {found}"
    return None


def history_before(row: Row, rules: Rules) -> tuple[str, str] | None:
    """What was said before was said before."""
    turns = [m["turn_index"] for m in row["history"]]
    if turns != sorted(turns) or any(turn >= row["query_turn"] for turn in turns):
        return "history_order", f"{turns[-1]}, request {row['query_turn']}"
    return None


def nothing_private(row: Row, rules: Rules) -> tuple[str, str] | None:
    """Neither the log's texts nor what models wrote about them holds anything personal; what it was is not told."""
    texts = [row[name] for name in ("query", "reply", "after", "explanation", "quote", "judge_note")]
    hits = audit([*texts, *(m["content"] for m in row["history"])])
    return ("private", ", ".join(f"{kind} {n}" for kind, n in sorted(hits.items()))) if hits else None


RULES: tuple[Rule, ...] = (
    dimension_fits,
    without_image,
    without_context,
    lengths,
    language,
    history_before,
    nothing_private,
)
