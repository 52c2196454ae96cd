"""Types, options and formats that several commands share, and text that is safe for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import pandas as pd

FILE, FOLDER = click.Path(path_type=Path), click.Path(path_type=Path, file_okay=False)
LANGUAGE = click.Choice(["en", "zh"])
CAP = click.option("--cap", type=click.FloatRange(min=0), help="Stop when this cost in US dollars is reached.")
DRY_RUN = click.option("--dry-run", is_flag=True, help="Only estimate calls, tokens and cost; no model is called.")
USE = click.option(
    "--use", multiple=True, metavar="MODULE", help="Python module of your own: judges, memories, contexts or loaders."
)


def escape_for_terminal(text: str) -> str:
    """Return the text that is safe for a terminal: control characters are made visible."""
    from perslib.text import show_hidden

    return show_hidden(text)


def format_costs(table: pd.DataFrame) -> str:
    """Return a table of calls, tokens and costs as text, with its total."""
    table = table.astype({"cost": float})  # missing if a model has no price
    table.loc["in all"] = table.sum(skipna=False)
    counts = ["calls", "tokens_in", "tokens_out"]
    return table.astype(dict.fromkeys(counts, int)).to_string(na_rep="unpriced", formatters={"cost": "${:,.2f}".format})


def format_counts(counts: Mapping[str, int]) -> str:
    """Return counts by name as text; zeros are left out."""
    return ", ".join(f"{name} {n:,}" for name, n in counts.items() if n) or "nothing"
