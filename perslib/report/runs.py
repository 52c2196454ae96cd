"""Runs as data: every page that was rendered, and the verdicts behind it.

found = perslib.runs()                                  # a row a page, under reports/
perslib.verdicts(found[found["notebook"] == "01_verification"])
perslib.replies(found[found["notebook"] == "04_replay"])
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from perslib.errors import NotEnough
from perslib.paths import workspace
from perslib.report.manifest import Page, pages_under

_SUMS = ("calls", "hits", "tokens_in", "tokens_out", "cost")


def runs(root: str | Path | None = None) -> pd.DataFrame:
    """Return the runs under a folder of reports, `reports/` of the workspace if none is named; a row a page.

    Columns: notebook, corpus, backbone, model, language, status, started, seconds, seed, judgments, unscored, calls,
    hits, tokens_in, tokens_out, cost (of all stages), answer (the sentences that the page opens with), parameters,
    page, executed (paths of the page and of the notebook as it ran), verdicts, replies (paths of Parquet files).
    """
    pages = pages_under(Path(root) if root is not None else workspace() / "reports")
    columns = ["notebook", "corpus", "backbone", "model", "language", "status", "started", "seconds", "seed"]
    columns += ["judgments", "unscored", *_SUMS, "answer", "parameters", "page", "executed", "verdicts", "replies"]
    return pd.DataFrame([_row(page) for page in pages], columns=columns)


def _row(page: Page) -> dict[str, object]:
    entry = page.entry
    stages = (entry.get("ledger") or {}).get("stages") or {}
    spent = pd.DataFrame(list(stages.values())).reindex(columns=list(_SUMS)).sum()
    taken = ("language", "status", "started", "seconds", "seed", "judgments", "unscored", "parameters")
    return {
        "notebook": page.name,
        "corpus": page.corpus,
        "backbone": entry.get("backbone", {}).get("name"),
        "model": entry.get("backbone", {}).get("model"),
        **{name: entry.get(name) for name in taken},
        **spent.to_dict(),
        "answer": " ".join(entry.get("answer", [])),
        "page": page.folder / f"{page.name}.html",
        "executed": page.folder / f"{page.name}.ipynb",
        **{kind: _files(page, kind) for kind in ("verdicts", "replies")},
    }


def verdicts(found: pd.DataFrame | pd.Series) -> pd.DataFrame:
    """Return all verdicts of one run, or of several: rows of `runs()`.

    Columns: those of `evaluate`, and notebook and table, the run that a verdict is of and its file's name.
    """
    return _rows(found, "verdicts", "None of these runs has kept verdicts: pages 01 to 04, 09 and 12 do.")


def replies(found: pd.DataFrame | pd.Series) -> pd.DataFrame:
    """Return all replies that candidates gave in one run, or in several; columns as in `verdicts`, and `response`."""
    return _rows(found, "replies", "None of these runs has kept replies: page 04 does.")


def _rows(found: pd.DataFrame | pd.Series, kind: str, otherwise: str) -> pd.DataFrame:
    rows = found.to_frame().T if isinstance(found, pd.Series) else found
    parts = [_read(row[kind], row["notebook"]) for _, row in rows.iterrows() if row[kind]]
    if not parts:
        raise NotEnough(otherwise)
    return pd.concat(parts, ignore_index=True)


def rows_of(page: Page, kind: str) -> pd.DataFrame:
    """Verdicts or replies of one page; an empty frame where it has kept none."""
    return _read(_files(page, kind), page.name)


def _files(page: Page, kind: str) -> list[Path]:
    return [page.folder / file for found in page.entry.get(kind, {}).values() for file in found]


def _read(files: list[Path], notebook: str) -> pd.DataFrame:
    parts = [pd.read_parquet(file).assign(notebook=notebook, table=file.stem) for file in files]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
