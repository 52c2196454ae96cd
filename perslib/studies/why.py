"""Why the learned judge gives a score, laid out to be read: its parts, the turns behind them, what would change its mind."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from perslib.corpus import Block
from perslib.judge.learned.changes import BORDER, NAMED, find_changes
from perslib.judge.learned.learned_judge import LearnedJudge
from perslib.judge.learned.preferences import FromStatements, columns_of, say_statements
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
    """Return what `why.html.j2` shows of the verdict on a block of one reply: everybody's mean, and the parts that add
    to it.

    `statements` are those that the judge goes by, if it goes by any: each is a part then, in place of all that is the user's own.
    """
    explanations = await judge.explain(block, ask)
    mean = float(explanations.parts.loc[explanations.parts["group"] == "mean", "points"].iloc[0])
    return {"mean": mean, "parts": list_parts(explanations.parts, explanations.turns, statements)}


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
    points_of = dict(zip(turns["evidence"], turns["points"]))
    rows += [
        {"name": f"{s.id} {s.text}", "points": float(points_of[s.id]), "is_own": True, "turns": s.turns}
        for s in statements
        if s.points is not None and s.id in points_of
    ]
    rows.sort(key=lambda row: -abs(row["points"]))
    shown = [row for row in rows[:SHOWN] if abs(row["points"]) >= LEAST]
    rest = sum(row["points"] for row in rows[len(shown) :])
    shown.append({"name": translate("all the rest"), "points": rest, "is_own": False, "turns": ()})
    most = max(abs(row["points"]) for row in shown) or 1.0
    return [{**row, "width": row["points"] / most * 50} for row in shown]


async def list_changes(judge: LearnedJudge, block: Block, ask: Ask) -> list[dict[str, Any]]:
    """Return the smallest changes of a block's one reply that would turn the verdict round, or come nearest, in words."""
    changes = await find_changes(judge, block, ask)
    named = read_phrases("traits", current_language())
    return [
        {
            "name": named[row.trait],
            "before": _show(row.trait, row.before),
            "after": _show(row.trait, row.after),
            "score": row.new_score,
            "turns_round": row.turns_round,
        }
        for row in changes.itertuples()
    ]


def _show(trait: str, value: float) -> str:
    is_mark = KINDS.get(trait, "mark") == "mark"
    return translate("yes" if value > 0.5 else "no") if is_mark else show_value(trait, value)


#: What can be done to a statement, and how many times as strong it is then.
EDITS = {"switched off": 0.0, "turned round": -1.0, "made stronger": 2.0}


async def find_edits(
    judge: FromStatements, block: Block, statements: Sequence[Statement], ask: Ask, most: int = NAMED
) -> list[dict[str, Any]]:
    """Return the smallest edits of the memory that turn the verdict on the first reply round, else those that come
    nearest.

    Each has the statement's id, what is made of it, the new score, and whether it turns the verdict round.
    """
    case, columns = judge.read_case(block), columns_of(judge.population)
    given = (await judge.ask_panel(block, ask))[1]
    whole, values = judge.population.explain(*case.inputs), columns(case.targets)

    def score(statements: Sequence[Statement]) -> float:
        parts = say_statements(whole, columns, values, statements, judge.width)
        return float(judge.expect(case, parts.prediction, given)[0])

    now, edits = score(statements), []
    for place, statement in enumerate(statements):
        points = statement.points or 0.0
        for what, by in EDITS.items() if points else ():
            edited = replace(statement, points=points * by)
            new = score([*statements[:place], edited, *statements[place + 1 :]])
            turns_round = (now > BORDER) != (new > BORDER)
            if turns_round or abs(new - BORDER) < abs(now - BORDER) - 1e-9:
                size = abs(points * (by - 1))
                order = (0.0, size) if turns_round else (abs(new - BORDER), size)
                edits.append((order, {"id": statement.id, "what": what, "score": new, "turns_round": turns_round}))
    return [edit for _, edit in sorted(edits, key=lambda each: each[0])[:most]]
