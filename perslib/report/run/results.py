"""Runs as data: every page that was rendered, and the verdicts behind it.

found = perslib.list_runs()                                  # a row a page, under reports/
perslib.verdicts(found[found["notebook"] == "01_verification"])
perslib.replies(found[found["notebook"] == "04_replay"])
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
from pyarrow import ArrowException

from perslib.corpus import TURN, coerce
from perslib.errors import DataError, NotEnough
from perslib.paths import workspace
from perslib.report.run.manifest import REMEDY, StoredPage, check_file, pages_under

Place: TypeAlias = tuple[Any, ...]
_SUMS = ["calls", "hits", "tokens_in", "tokens_out", "cost"]
_COLUMNS = ["notebook", "corpus", "backbone", "model", "language", "status", "started", "seconds", "seed"]
_COLUMNS += ["judgments", "unscored", *_SUMS, "answer", "parameters", "page", "executed", "verdicts", "replies"]


def list_runs(root: str | Path | None = None) -> pd.DataFrame:
    """Return the runs under a folder of reports, `reports/` of the workspace if none is named; a row a page.

    A run whose manifest is damaged is not among them: a warning says where it is and what is wrong.

    Columns: notebook, corpus, backbone, model, language, status, started, seconds, seed, judgments, unscored, calls,
    hits, tokens_in, tokens_out, cost (of all stages), answer (the sentences that the page opens with), parameters,
    page, executed (paths of the page and of the notebook as it ran), verdicts, replies (paths of Parquet files).
    """
    pages = pages_under(Path(root) if root is not None else workspace() / "reports")
    return pd.DataFrame([_row(page) for page in pages if not page.is_damaged], columns=_COLUMNS)


def _row(page: StoredPage) -> dict[str, object]:
    entry = page.entry
    spent = pd.DataFrame(list(entry["ledger"]["stages"].values())).reindex(columns=_SUMS).sum()
    return {
        **{name: entry.get(name) for name in _COLUMNS},
        "notebook": page.name,
        "corpus": page.corpus,
        "backbone": page.backbone,
        "model": entry["backbone"].get("model"),
        **spent.to_dict(),
        "answer": " ".join(entry["answer"]),
        "page": page.folder / f"{page.name}.html",
        "executed": page.folder / f"{page.name}.ipynb",
        **{kind: _files(page, kind) for kind in ("verdicts", "replies")},
    }


def verdicts(page: pd.DataFrame | pd.Series) -> pd.DataFrame:
    """Return all verdicts of one run, or of several: rows of `list_runs()`. Files that cannot be used are left out with
    a warning.

    Columns: those of `evaluate`, and notebook and table, the run that a verdict is of and its file's name.
    """
    return _rows(page, "verdicts", "None of these runs has kept verdicts: pages 01 to 04, 09 and 12 do.")


def replies(page: pd.DataFrame | pd.Series) -> pd.DataFrame:
    """Return all replies that candidates gave in one run, or in several; columns as in `verdicts`, and `response`."""
    return _rows(page, "replies", "None of these runs has kept replies: page 04 does.")


def _rows(page: pd.DataFrame | pd.Series, kind: str, otherwise: str) -> pd.DataFrame:
    rows = page.to_frame().T if isinstance(page, pd.Series) else page
    files = [(file, row["notebook"]) for _, row in rows.iterrows() for file in row[kind]]
    if not files:
        raise NotEnough(otherwise)
    read = _read(files, kind)
    if read.columns.empty:
        raise DataError(f"None of these files can be used: {', '.join(str(file) for file, _ in files)}", REMEDY)
    return read


def read_page_rows(page: StoredPage, kind: str) -> pd.DataFrame:
    """Return verdicts or replies of one page; an empty frame where it has kept none, or none that can be used."""
    return _read([(file, page.name) for file in _files(page, kind)], kind)


def group_by_reply(
    verdicts: pd.DataFrame, replies: pd.DataFrame, by: Sequence[str] = ()
) -> Iterator[tuple[Place, str | None, list[dict[str, Any]]]]:
    """Yield each reply that was judged: where it is, a candidate's text (None for what was recorded), and its verdicts.

    A place has the columns `by`, candidate (empty where the verdicts have none) and those of a turn.
    """
    keys = ["candidate", *TURN]
    is_placed = {*keys} <= {*replies.columns}  # a notebook may save replies that say less of where they are
    replies_of = replies.drop_duplicates(keys).set_index(keys)["response"].to_dict() if is_placed else {}
    by_reply: dict[Place, list[dict[str, Any]]] = {}
    for row in verdicts.to_dict("records"):
        candidate = row.get("candidate")
        row["candidate"] = candidate if isinstance(candidate, str) else ""
        by_reply.setdefault(tuple(row[name] for name in (*by, *keys)), []).append(row)
    for place, own in by_reply.items():
        yield place, replies_of.get(place[len(by) :]), own


def _files(page: StoredPage, kind: str) -> list[Path]:
    return [page.folder / file for files in page.entry[kind].values() for file in files]


def _read(files: list[tuple[Path, str]], kind: str) -> pd.DataFrame:
    """Return the rows of all files that hold such rows; what is wrong with the others is a warning."""
    parts = []
    for file, notebook in files:
        try:
            frame = pd.read_parquet(check_file(file))
            if kind == "verdicts":
                frame = frame.assign(**coerce(frame, kind))
            elif "response" not in frame:
                raise ValueError("column 'response' is missing")
            parts.append(frame.assign(notebook=notebook, table=file.stem))
        except (OSError, ValueError, TypeError, LookupError, ArrowException, DataError) as error:
            warnings.warn(f"{file} is left out: {error}. {REMEDY}", stacklevel=4)
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
