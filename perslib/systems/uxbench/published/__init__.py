"""The tables of UXBench (Hong, Zeng, Lei, Wang, Chen, Jiang et al., 2026, arXiv 2606.09570), as printed.

Percentages stay percentages. `CASES` says how many cases stand behind them, so that they can be given intervals.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from perslib.errors import UnknownName
from perslib.paths import read_csv

#: Cases behind the percentages: either side of UX Judge, UX Eval, UX Recovery.
CASES = {"good_acc": 1000, "bad_acc": 1000, "accuracy": 2000, "eval_good": 4900, "recovery_good": 500}
#: The judge that the paper trained; all other rows of Table 3 are zero-shot.
REWARD_MODEL = "GRM"


def read_ux_table(name: str) -> pd.DataFrame:
    """Return one published table: `read_ux_table("table3")`; see `TABLES`."""
    if name not in TABLES:
        raise UnknownName("published table", name, TABLES)
    return read_csv(__file__, f"{name}.csv")


#: Names of the tables that are here.
TABLES = tuple(sorted(file.stem for file in Path(__file__).parent.glob("*.csv")))


def families() -> dict[str, str]:
    """Return the model → family, of all models named in the published tables (Table 8)."""
    both = pd.concat([read_ux_table("table3"), read_ux_table("table9")])
    return dict(zip(both["model"], both["family"], strict=True))
