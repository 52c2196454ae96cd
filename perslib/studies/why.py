"""Why the learned judge gives a score, laid out to be read: its parts, the turns behind them, what would change its mind."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pandas as pd

from perslib.corpus import Block
from perslib.judge.learned.changes import find_changes
from perslib.judge.learned.judge import LearnedJudge
from perslib.llm import Ask
from perslib.memory import Statement
from perslib.memory.features import KINDS
from perslib.memory.preferences import show_value
from perslib.prompts import read_phrases
from perslib.report.show.words import name_of
from perslib.text import current_language, translate

#: So many parts have a bar of their own; the others are one. Smaller ones than LEAST points are among these.
SHOWN, LEAST = 8, 0.02


async def take_apart(
    judge: LearnedJudge, block: Block, ask: Ask, statements: Collection[Statement] = ()
) -> dict[str, Any]:
    """Return what `why.html.j2` shows of the verdict on the first reply of a block.

    `statements` are those that the judge goes by, if it goes by any: each is a part then, in place of all that is the user's own.
    """
    found = await judge.explain(block, ask)
    changes = await find_changes(judge, block, ask)
    first = block.targets.iloc[0]
    parts, turns, changes = (
        frame[(frame["session"] == first["session"]) & (frame["turn"] == first["turn"])]
        for frame in (found.parts, found.turns, changes)
    )
    return {
        "mean": float(parts.loc[parts["group"] == "mean", "points"].iloc[0]),
        "parts": list_parts(parts, turns, statements),
        "changes": list_changes(changes),
    }


def list_parts(
    parts: pd.DataFrame, turns: pd.DataFrame, statements: Collection[Statement] = ()
) -> list[dict[str, Any]]:
    """Return what adds to the score of one reply and takes from it, what moves it most first.

    `parts` and `turns` are the rows of an `Explanation`. Statements have the turns that they were drawn from.
    """
    named = read_phrases("groups", current_language())
    rows: list[dict[str, Any]] = []
    for (side, group), points in parts.groupby(["side", "group"], sort=False)["points"].sum().items():
        is_own = side in ("this user", "level")
        if group == "mean" or (is_own and statements):
            continue
        about = named.get(group) or name_of(f"part: {group}")
        name = translate("{group}, for this user alone", group=about) if side == "this user" else about
        rows.append({"name": name, "points": float(points), "is_own": is_own, "turns": ()})
    said = dict(zip(turns["evidence"], turns["points"]))
    rows += [
        {"name": f"{s.id} {s.text}", "points": float(said[s.id]), "is_own": True, "turns": s.turns}
        for s in statements
        if s.points is not None and s.id in said
    ]
    rows.sort(key=lambda row: -abs(row["points"]))
    shown = [row for row in rows[:SHOWN] if abs(row["points"]) >= LEAST]
    rest = sum(row["points"] for row in rows[len(shown) :])
    shown.append({"name": translate("all the rest"), "points": rest, "is_own": False, "turns": ()})
    most = max(abs(row["points"]) for row in shown) or 1.0
    return [{**row, "width": row["points"] / most * 50} for row in shown]


def list_changes(changes: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the changes of one reply that would move its score most easily, in words."""
    named = read_phrases("traits", current_language())
    return [
        {
            "trait": row.trait,
            "name": named[row.trait],
            "before": _show(row.trait, row.before),
            "after": _show(row.trait, row.after),
            "value": row.after,
            "score": row.new_score,
            "turns_round": row.turns_round,
        }
        for row in changes.itertuples()
    ]


def _show(trait: str, value: float) -> str:
    is_mark = KINDS.get(trait, "mark") == "mark"
    return translate("yes" if value > 0.5 else "no") if is_mark else show_value(trait, value)
