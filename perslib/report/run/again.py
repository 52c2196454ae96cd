"""A run again, from what it left: does it give the same numbers, and its figures in another form.

The notebook beside the page is run, with the parameters of its manifest. No model is asked: answers come from the cache.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from pyarrow import ArrowException

from perslib.errors import DataError, Problem, ReportError, UnknownName
from perslib.extras import require_extra
from perslib.judge import taught
from perslib.llm.answerers.choice import CACHE_ALONE
from perslib.llm.cache.store import Cache
from perslib.paths import find_bundled, scratch, workspace
from perslib.report.page.export import FIGURES
from perslib.report.page.rendering import find_answers, list_code, records_of
from perslib.report.run.execution import execute
from perslib.report.run.manifest import KINDS, StoredPage, files_of, package_versions
from perslib.report.run.plan import find_studies, read_notebook
from perslib.report.run.progress import RunProgress
from perslib.report.show.plot_parts import WIDTH
from perslib.report.show.style import STYLE_VARIABLE, read_style

SAME, OTHER, DRAWN, MISSING = "same", "differs", "drawn differently", "missing"
#: Relative difference of two numbers that are the same: other machines add in another order.
TOLERANCE = 1e-6
#: Columns of saved rows that say how an answer came, and not what it was.
_OF_THE_WAY = {"seconds", "cached", "cost", "cost_usd", "tokens_cached", "computing"}
_WHERE = "Say where the corpus of the run is now: --corpus NAME or a path."
_DRAWINGS = {".png", ".pdf", ".svg"}


@contextmanager
def run_again(
    page: StoredPage, environment: Mapping[str, str], corpus: str | None = None, *, trusted: bool = False
) -> Iterator[tuple[Path, Any]]:
    """Run a page's notebook in a folder that goes afterwards; yield the folder and the notebook as it ran.

    A notebook whose code is not that of one that is bundled or of this workspace runs only if it is `trusted`.

    `corpus` is where its corpus is now. Raise DataError where it is another one, or the run cannot be repeated; ReportError where the
    notebook fails, as it does where an answer is not in the cache.
    """
    study = find_study_of(page)
    if not (trusted or _is_known(study)):
        raise DataError(
            Problem(
                str(study.path),
                "has code that no notebook of perslib or of this workspace has; it may come from anybody",
            ),
            "To run it all the same, once you have read it: --yes.",
        )
    parameters = {**page.entry["parameters"], **({"corpus": corpus} if corpus else {})}
    find_corpus(page, corpus)
    asked, stored = page.entry["ledger"]["total"], Cache(policy="only").path
    if (asked.get("calls") or asked.get("hits")) and not stored.is_file():
        remedy = "The run asked a model: copy .perslib/cache.sqlite of the workspace in which it was made."
        raise DataError(Problem(str(stored), "is missing"), remedy)
    with scratch("again") as folder:
        progress = RunProgress(folder / "progress.jsonl")
        variables = {**figures_of(page), **progress.environment(), taught.VARIABLE: "off", **environment}
        run = execute(study, {**parameters, "out": str(folder)}, variables)
        if run.status == "cancelled":
            raise KeyboardInterrupt
        if run.failure:
            raise ReportError(f"{page.name} cannot be repeated: {run.failure}")
        yield folder, run.notebook


def find_study_of(page: StoredPage) -> Any:
    """Return the notebook beside a page as a study; DataError where the run did not end well, or nothing is beside it."""
    stored = page.folder / f"{page.name}.ipynb"
    if page.entry["status"] != "success":
        raise DataError(
            Problem(str(page.folder / page.name), f"ended as {page.entry['status']!r}"), "Run the page again."
        )
    if not stored.is_file():
        raise DataError(Problem(str(stored), "is missing"), "It comes with the page: copy the whole folder.")
    (study,) = find_studies(stored)
    require_extra(study.extra, f"Page {page.name}")
    return replace(study, path=stored)


def _is_known(study: Any) -> bool:
    """Tell whether a notebook of this name and with this code is bundled, or in the workspace's folder `notebooks`."""
    folders = (find_bundled("notebooks"), workspace() / "notebooks")
    own = [file for folder in folders if (file := folder / study.path.name).is_file()]
    return any(list_code(read_notebook(study.path)) == list_code(read_notebook(file)) for file in own)


def find_corpus(page: StoredPage, address: str | None = None) -> Any:
    """Return the corpus of a page, at an address or where it was; DataError where another one is there."""
    from perslib.corpus import load

    wanted, given = page.entry["corpus"]["digest"], page.entry["parameters"]
    address = address or given.get("corpus")
    if not address:
        return None
    try:
        corpus = load(address, given.get("language") or None)
    except UnknownName as error:
        raise DataError(Problem(address, f"is not here: {error}"), _WHERE) from error
    if wanted and corpus.digest != wanted:
        raise DataError(
            Problem(
                address, f"is another corpus than {page.corpus} of the run ({corpus.digest[:12]}, not {wanted[:12]})"
            ),
            _WHERE,
        )
    return corpus


def figures_of(page: StoredPage) -> dict[str, str]:
    """Return what the environment says of figures, so that they come out as those of the page."""
    formats = {Path(file).suffix[1:] for files in page.entry["figures"].values() for file in files} - {"csv"}
    drawn = {name: value for name, value in page.entry.get("drawn", {}).items() if name in (WIDTH, STYLE_VARIABLE)}
    return {FIGURES: ",".join(sorted(formats)) or "png", **drawn}


def write_figures(
    page: StoredPage, out: Path, corpus: str | None = None, *, trusted: bool = False, **form: str | None
) -> list[Path]:
    """Draw a page's figures anew, into a folder: `formats` (pdf,svg), `width` (column, text), `style` (a file of matplotlib's)."""
    if form.get("style"):
        read_style(str(form["style"]))
    names = {"formats": FIGURES, "width": WIDTH, "style": STYLE_VARIABLE}
    variables = {names[name]: value for name, value in form.items() if value}
    with run_again(page, {**CACHE_ALONE, **variables}, corpus, trusted=trusted) as (made, _):
        out.mkdir(parents=True, exist_ok=True)
        return [Path(shutil.copy(file, out)) for file in sorted((made / "figures").glob("*"))]


def verify(page: StoredPage, corpus: str | None = None, *, trusted: bool = False) -> pd.DataFrame:
    """Run a page again and compare all that it saved; a notebook with code of others runs only if it is `trusted`.

    Columns: kind (answer, figures, tables, verdicts, replies), file, result (same, differs, drawn differently, missing), detail: which
    columns differ, in how many rows, by how much at most. A figure that is drawn differently differs in its pixels alone, as with
    other fonts; its numbers have a file of their own.
    """
    with run_again(page, CACHE_ALONE, corpus, trusted=trusted) as (folder, notebook):
        rows = [("answer", "", *_compare_answers(page, notebook))]
        for kind in KINDS:
            for file in (name for files in page.entry[kind].values() for name in files):
                rows.append((kind, file, *compare_files(page.folder / file, folder / file)))
        new = {file for record in records_of(notebook) if record["kind"] in KINDS for file in record["files"]}
        rows += [("new", file, OTHER, "the run did not save it") for file in sorted(new - set(files_of(page.entry)))]
    return pd.DataFrame(rows, columns=["kind", "file", "result", "detail"])


def list_other_versions(page: StoredPage) -> dict[str, tuple[str, str]]:
    """Return packages whose version is another one here: name → (of the run, here)."""
    then, here = page.entry.get("packages", {}), package_versions()
    return {name: (then[name], here.get(name, "none")) for name in then if then[name] != here.get(name)}


def _compare_answers(page: StoredPage, notebook: Any) -> tuple[str, str]:
    answers = find_answers(notebook)
    if answers == page.entry["answer"]:
        return SAME, ""
    return OTHER, f"now: {' '.join(answers)}"


def compare_files(then: Path, now: Path) -> tuple[str, str]:
    """Return how a saved file compares with that of another run, and what differs."""
    if lost := [place for place, file in (("of the run", then), ("made again", now)) if not file.is_file()]:
        return MISSING, f"there is none {' nor '.join(lost)}"
    if then.read_bytes() == now.read_bytes():
        return SAME, ""
    if then.suffix in _DRAWINGS:
        return DRAWN, ""
    if then.suffix not in (".csv", ".parquet"):
        return OTHER, "another text"
    read = pd.read_csv if then.suffix == ".csv" else pd.read_parquet
    try:
        return compare_frames(read(then), read(now))
    except (OSError, ValueError, ArrowException) as error:
        return OTHER, f"cannot be read: {error}"


def compare_frames(then: pd.DataFrame, now: pd.DataFrame) -> tuple[str, str]:
    """Return how two frames compare, and which columns differ, in how many rows, by how much at most."""
    if list(then) != list(now):
        return OTHER, f"other columns: {', '.join(sorted(set(then) ^ set(now))) or 'in another order'}"
    if len(then) != len(now):
        return OTHER, f"{len(then):,} rows in the run, {len(now):,} now"
    parts = []
    for column in then.columns.difference(_OF_THE_WAY, sort=False):
        one, two = then[column], now[column]
        if is_numeric_dtype(one) and is_numeric_dtype(two):
            a, b = (part.to_numpy(float, na_value=np.nan) for part in (one, two))
            wrong = ~np.isclose(a, b, TOLERANCE, TOLERANCE, equal_nan=True)
            most = f", by up to {np.nanmax(np.abs(a - b)[wrong]):.2g}" if np.isfinite((a - b)[wrong]).any() else ""
        else:
            wrong, most = (one.map(repr) != two.map(repr)).to_numpy(), ""
        if wrong.any():
            parts.append(f"{column} in {wrong.sum():,} of {len(then):,} rows{most}")
    return (OTHER, "; ".join(parts)) if parts else (SAME, "")
