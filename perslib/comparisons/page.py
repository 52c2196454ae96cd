"""The page of `agree`."""

from __future__ import annotations

from pathlib import Path

from perslib.comparisons.words import CONTROLS, PEOPLE, Agreement, show_table
from perslib.paths import write_csv

#: So many judges, controls among them, fit side by side on a page.
MOST_IN_COLUMNS = 5


def name_history(path: Path) -> Path:
    """Return where the table on the users' own ratings is written."""
    return path.with_name(f"{path.stem}_history.csv")


def write_page(agreement: Agreement, path: Path) -> Path:
    """Write the page, and the tables beside it as CSV; return the page's path."""
    from perslib.report.page.single import write_single_page
    from perslib.report.show import plots
    from perslib.report.show.style import figure_style

    figure_style()
    panels = plots.stack(agreement.table, ["pearson", "wc_pearson", "mae"])
    figure = plots.intervals(panels, rows="judge", panels="quantity", muted=[*CONTROLS, PEOPLE])
    shown = show_table(agreement)
    write_csv(agreement.table, path.with_suffix(".csv"))
    if agreement.history is not None:
        write_csv(agreement.history, name_history(path))
    caption = "Agreement with people's labels, with 95 % intervals over users; grey: controls, which know no reply, and other people."
    return write_single_page(
        path,
        "Do these judges agree with people?",
        agreement.answer,
        figure,
        caption,
        shown if len(shown) > MOST_IN_COLUMNS else shown.set_index("judge").T.reset_index(names="quantity"),
        agreement.notes,
    )
