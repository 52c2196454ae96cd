"""What knowing a person adds, a row a data set of real people: the table of docs/people.md.

python benchmarks/people.py                                       the numbers that come with perslib
python benchmarks/people.py PersTurnBench=FILE MathConverse=FOLDER  imported corpora, or releases by path, beside them
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from perslib.corpus import load
from perslib.report.show.tables import with_interval
from perslib.studies.people import TEXTLESS, describe_set, list_numbers

BUNDLED = {"CRAGC-25": "people/cragc", "Ji et al.": "people/ji"}
#: Columns: heading, the number's name, and what it is read from in a corpus of choices where that differs.
COLUMNS = {
    "everybody's likes": "everybody's likes",
    "+ level (side)": "habit of side",
    "+ own tastes": "own tastes",
    "own tastes add": "ahead of habit of side",
    "own − neighbour's": "ahead of neighbour's tastes",
    "traits of replies add": f"ahead of {TEXTLESS}",
    "two people agree": "another's choice",
    "own − GPT-4o": "ahead of GPT-4o",
}


def make_table(sets: dict[str, str]) -> str:
    """Return the table in Markdown, a row a set."""
    lines = ["| set | people | judgments | " + " | ".join(COLUMNS) + " |", "| --- " * (3 + len(COLUMNS)) + "|"]
    for name, path in sets.items():
        own = list_numbers(describe_set(load(path)))
        cells = [_show(own, column) for column in COLUMNS.values()]
        lines.append(f"| {name} | {own['people']:,} | {own['judgments']:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _show(own: dict[str, float], name: str) -> str:
    value, low, high = (own.get(f"{name}{end}", np.nan) for end in ("", "_low", "_high"))
    return str(with_interval(value, low, high, 2)) if np.isfinite(value) else "–"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(make_table(BUNDLED | dict(part.split("=", 1) for part in sys.argv[1:])))
