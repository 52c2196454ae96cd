"""A replay set in a file, so that others can replay the same turns: JSONL or CSV, one turn a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus import TURN, Corpus, coerce
from perslib.corpus.reading import csv_lines, json_lines
from perslib.errors import DataError, Problem
from perslib.replay.published_lines import Record, Turn, sample_id, turn_of

SUFFIXES = (".jsonl", ".csv")
REMEDY = "Mend the file: each line names a turn of the corpus by user, scenario, session and turn, and each but once."


def read_turns(path: Path | str, corpus: Corpus) -> pd.DataFrame:
    """The replay set in a file, in the order of its lines; everything that is wrong with it is one error.

    A line has user, scenario, session and turn (in JSONL the published names do, too), and may have `inclusion`,
    the probability that the turn was drawn, above 0: then all lines have it, for it is their weight. Further fields
    are let be.
    """
    path = Path(path)
    problems: list[Problem] = []
    found: dict[Turn, tuple[str, float | None]] = {}
    known = set(corpus.turns[TURN].itertuples(index=False, name=None))
    for place, record in _records(path):
        turn = turn_of(record, place) if isinstance(record, dict) else record
        if isinstance(turn, Problem):
            problems.append(turn)
            continue
        chance = _inclusion(record.get("inclusion"), place) if isinstance(record, dict) else None
        if isinstance(chance, Problem):
            problems.append(chance)
        elif turn not in known:
            problems.append(Problem(place, f"{sample_id(*turn)} is not in corpus {corpus.name!r}"))
        elif turn in found:
            problems.append(Problem(place, f"{sample_id(*turn)} stands already at {found[turn][0]}"))
        else:
            found[turn] = place, chance
    without = [place for place, chance in found.values() if chance is None]
    if 0 < len(without) < len(found):
        problems += [Problem(place, "has no inclusion, while other lines have one") for place in without]
    if problems or not found:
        raise DataError(problems or Problem(path.name, "names no turn"), REMEDY)
    rows = [{**dict(zip(TURN, turn)), "inclusion": chance} for turn, (_, chance) in found.items()]
    return coerce(pd.DataFrame(rows), "replay_turns", path.name)


def _records(path: Path) -> Iterator[tuple[str, Record | Problem]]:
    """Place and content of each line, or what is wrong with it."""
    if not path.is_file() or path.suffix.lower() not in SUFFIXES:
        raise DataError(
            Problem(str(path), f"is no replay set; expected a file ending in {' or '.join(SUFFIXES)}")
        )
    raw = path.read_bytes()
    if path.suffix.lower() == ".csv":
        yield from ((place, value) for place, value, _ in csv_lines(raw, path.name, TURN))
        return
    for place, value, _ in json_lines(raw, path.name):
        yield place, value if isinstance(value, dict | Problem) else Problem(place, "is no JSON object")


def _inclusion(said: Any, place: str) -> float | Problem | None:
    if said is None:
        return None
    try:
        chance = float(said)
    except (TypeError, ValueError):
        chance = 0.0
    if isinstance(said, bool) or not 0 < chance <= 1:
        return Problem(place, f"inclusion is {said!r}, expected a probability above 0, at most 1")
    return chance
