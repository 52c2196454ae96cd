"""Figures and tables for papers, by one call: files beside the page, and the same thing shown on it."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from perslib.errors import check_names
from perslib.paths import workspace, write_csv
from perslib.report.page.page import check_name, get_open_page, say
from perslib.report.show.html import fill, fold_html, show_html, table_html
from perslib.report.show.latex import latex_table
from perslib.text import translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Formats of figures, and what keeps the same figure the same bytes on every run: no dates, no program versions.
FORMATS: dict[str, dict[str, None]] = {
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}
#: The environment variable that lists the formats in which figures are saved; all where it is not set.
FIGURES = "PERSLIB_FIGURES"
_SHOWN_ROWS = 40


class SavedFiles(tuple[Path, ...]):
    """Paths that were written. As the last line of a cell it shows nothing: what was saved is shown already."""

    def _ipython_display_(self) -> None:
        return


def _lacks_intervals(data: pd.DataFrame) -> bool:
    """Return whether a frame has places for the bounds of intervals, and none of them is known."""
    bounds = data[[column for column in data if str(column).endswith(("_low", "_high"))]]
    return len(bounds.columns) > 0 and bool(bounds.isna().all(axis=None))


def save_figure(
    fig: Figure, name: str, data: pd.DataFrame | None = None, caption: str = "", empty: str = "", *, leads: bool = False
) -> SavedFiles:
    """Save a figure as PDF, SVG and PNG, the plotted numbers as CSV, and show it with its caption.

    A page that is rendered has the formats that were asked for (`perslib report --figures pdf`), PNG always.

    Files go to `figures/` in the page's folder. PDF embeds its fonts as TrueType, SVG draws text as outlines, PNG has 200
    dots an inch. Returns the paths written. The figure is closed. Where the frame has no row the sentence `empty` stands on the page in its place. One that `leads` stands below the answer that a rendered page
    opens with (`answer`), and on its card on the index.
    """
    import matplotlib.pyplot as plt

    if data is not None and data.empty:
        plt.close(fig)
        say(empty or "Nothing to draw: no reply of this corpus has a score.")
        return SavedFiles()
    caption = translate(caption)
    if data is not None and _lacks_intervals(data):
        caption = f"{caption} {translate('Too few users for intervals here.')}"
    folder = get_open_page().folder("figures")
    wanted = {kind: metadata for kind, metadata in FORMATS.items() if kind in read_formats(os.environ.get(FIGURES))}
    paths = [folder / f"{check_name(name)}.{kind}" for kind in wanted]
    for path, metadata in zip(paths, wanted.values()):
        fig.savefig(path, metadata=metadata)
    if data is not None:
        paths.append(_write_csv(data, folder / f"{name}.csv"))
    width = round(fig.get_size_inches()[0] * 100)
    plt.close(fig)
    label = translate("Figure {n}.", n=get_open_page().number("figure", name))
    text, plain, record = _describe_files("figures", name, label, caption, paths)
    record["leads"] = leads
    body = fill(
        "figure",
        name=name,
        picture=base64.b64encode((folder / f"{name}.png").read_bytes()).decode(),
        width=width,
        alt=caption or name,
        link=f"figures/{name}.{'svg' if 'svg' in wanted else 'png'}"
        if record["files"]
        else "",  # a tap shows it larger
        caption=text,
    )
    show_html(body, plain, record)
    return SavedFiles(paths)


def read_formats(names: str | None) -> list[str]:
    """Return the formats that a text lists, separated by commas, and PNG; all of them where there is no text."""
    listed = [name.strip().lower() for name in (names or "").split(",") if name.strip()]
    check_names("format of figures", listed, FORMATS)
    return [*FORMATS] if names is None else [*listed, "png"]


def save_verdicts(frame: pd.DataFrame, name: str) -> SavedFiles:
    """Save the verdicts behind a page as Parquet, in `verdicts/` of its folder; `perslib.verdicts` reads them."""
    return _save_rows(frame, name, "verdicts", translate("All {n:,} verdicts", n=len(frame)))


def save_replies(frame: pd.DataFrame, name: str) -> SavedFiles:
    """Save the replies that were judged as Parquet, in `replies/` of the page's folder; `perslib.replies` reads them."""
    return _save_rows(frame, name, "replies", translate("All {n:,} replies", n=len(frame)))


def _save_rows(frame: pd.DataFrame, name: str, kind: str, label: str) -> SavedFiles:
    path = get_open_page().folder(kind) / f"{check_name(name)}.parquet"
    frame.to_parquet(path, index=False)
    text, _, record = _describe_files(kind, name, label, "", [path])
    show_html(f'<div class="pl-caption">{text}</div>', f"{name}: {len(frame)} {kind} in {path}", record)
    return SavedFiles([path])


def save_table(frame: pd.DataFrame, name: str, caption: str = "", digits: int = 2, *, shown: bool = True) -> SavedFiles:
    """Save a table as CSV with full precision and as LaTeX (booktabs), and show it with its caption.

    In the CSV a cell that shows a number with its interval (`perslib.report.show.tables.with_interval`) is that number; the bounds
    have columns of their own, `qwk`, `qwk_low`, `qwk_high`. Texts are written as they are: a spreadsheet may take one that
    begins with = + - @ for a formula, so import these columns as text.

    Files go to `tables/` in the page's folder. Column heads and known labels are in the page's language in LaTeX and on the
    page; the CSV keeps the frame's own names. With `shown=False` the table on the page is folded and opens at a click.
    Returns the paths written.
    """
    caption = translate(caption)
    folder = get_open_page().folder("tables")
    paths = [_write_csv(frame, folder / f"{check_name(name)}.csv"), folder / f"{name}.tex"]
    first, left_out = frame.head(_SHOWN_ROWS), len(frame) - _SHOWN_ROWS
    rest = translate("{n} more rows are in the CSV.", n=left_out) if left_out > 0 else ""
    paths[1].write_text(latex_table(first, name, caption, digits, rest), encoding="utf-8", newline="\n")
    label = translate("Table {n}.", n=get_open_page().number("table", name))
    text, plain, record = _describe_files("tables", name, label, caption, paths)
    more = f"<div class='pl-caption'>{rest}</div>" if rest else ""
    table = table_html(first, text if shown else "", digits) + more
    if not shown:
        table = f"<div class='pl-caption'>{text}</div>{fold_html(translate('Show the table'), table)}"
    plain = f"{first.to_string(index=False)}\n{plain}" if shown else plain
    show_html(f'<div id="table-{name}">{table}</div>', plain, record)
    return SavedFiles(paths)


def _write_csv(frame: pd.DataFrame, path: Path) -> Path:
    return write_csv(_with_numbers(frame), path, index=not isinstance(frame.index, pd.RangeIndex))


def _with_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with the numbers behind what people read of them."""
    from perslib.report.show.tables import FormattedCell

    columns = []
    for name, column in frame.items():
        ends = dict.fromkeys(end for cell in column if isinstance(cell, FormattedCell) for end in cell.numbers)
        if not ends:
            columns.append(column)
        for end in ends:
            cells = [
                cell.numbers.get(end) if isinstance(cell, FormattedCell) else None if end or cell == "–" else cell
                for cell in column
            ]
            columns.append(pd.Series(cells, column.index, name=f"{name}{end}"))
    return pd.concat(columns, axis=1) if columns else frame


def _describe_files(
    kind: str, name: str, label: str, caption: str, paths: list[Path]
) -> tuple[str, str, dict[str, Any]]:
    """Return the caption with links to the files, the same in plain words, and what the report runner finds in the
    output.

    Where no page is rendered the caption says where the files are.
    """
    home, folder = workspace(), paths[0].parent.resolve()
    where = folder.relative_to(home) if folder.is_relative_to(home) else folder
    files = [f"{p.parent.name}/{p.name}" for p in paths] if get_open_page().out else []
    text = fill("caption", label=label, text=caption, files=files, folder="" if files else where.as_posix())
    plain = f"{name}: {', '.join(p.name for p in paths)} in {paths[0].parent}"
    return text, plain, {"kind": kind, "name": name, "files": files}
