"""`run_report`: notebooks × backbones → pages, figures, tables, manifests and an index."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from perslib.errors import ReportError
from perslib.report.atomic import without_secrets, write_text
from perslib.report.execute import Failure, Run, execute
from perslib.report.index import write_index
from perslib.report.manifest import (
    backbone_facts,
    code_revision,
    files_of,
    notebook_digest,
    now,
    package_versions,
    prompt_digests,
    read_manifest,
    record,
)
from perslib.report.parameters import read_notebook
from perslib.report.plan import Planned, given, plan
from perslib.report.progress import Looking, Watch
from perslib.report.render import PageInfo, render_page, title_of
from perslib.report.times import day, took
from perslib.report.words import word

#: Parameters that the head of a page shows by itself, or that say nothing to a reader.
_SHOWN_ANYWAY = ("corpus", "backbone", "language", "seed", "out")


def run_report(
    notebooks: Iterable[str | Path] | str | Path | None = None,
    corpus: str | Path = "sample/en",
    backbones: Sequence[str] | str = ("embedded",),
    out: str | Path | None = None,
    language: str | None = None,
    limit: int | None = None,
    seed: int = 42,
    **parameters: Any,
) -> Path:
    """Run notebooks and render them as pages; returns the path of the index over all of them.

    `notebooks` are names ("00_corpus"), numbers ("00") or paths; all numbered ones when none is given. Each
    runs once for each backbone. Pages go to `<out>/<corpus>/<backbone>/<notebook>.html` (`reports/` of the
    workspace when `out` is not given), figures, tables and `manifest.json` beside them. `language` is that of
    the page, the corpus's own when not given. Further parameters go to the notebooks that declare them; one
    that none declares is an error before anything runs.

    A notebook that fails leaves its page up to the failure and the others still run; then ReportError says
    which cell failed.
    """
    further = {**given(limit=limit), **parameters}
    pages = plan(notebooks, corpus, backbones, out, language, seed, further)
    failed = []
    watch = Watch(len(pages))
    for page in pages:
        run = render(page, watch)
        if run.status == "cancelled":
            raise KeyboardInterrupt
        if run.failure:
            failed.append((page, run.failure))
    if failed:
        raise _report_error(failed, len(pages))
    return pages[0].root / "index.html"


def render(page: Planned, watch: Watch) -> Run:
    """Run one notebook; write its page, its manifest entry and the index."""
    before = read_manifest(page.folder)["pages"].get(page.name, {})
    entry = _known_before(page)
    _record(page, entry)
    _remove_old(page, before)
    try:
        with watch.page(page.name, f"{page.corpus_label}, {page.backbone}", page.study.path) as looking:
            told = looking.environment()
            run = execute(page.study, page.parameters, told, looking, looking.cell_started)
            entry |= _known_after(run, looking)
            write_text(page.path, render_page(run.notebook, _page_info(page, run, entry)))
            looking.ended(run)
        _warn_of_shared_files(page, entry)
    except BaseException as error:
        entry["status"] = "cancelled" if isinstance(error, KeyboardInterrupt) else "failed"
        raise
    finally:
        _record(page, entry)
    return run


def _record(page: Planned, entry: Mapping[str, Any]) -> None:
    record(page.folder, page.name, entry)
    write_index(page.root)


def _remove_old(page: Planned, entry: Mapping[str, Any]) -> None:
    """Take away what the page's last run left, so that nothing on disk is from another run."""
    page.path.unlink(missing_ok=True)
    for file in files_of(entry):
        if (path := (page.folder / file).resolve()).is_relative_to(page.folder.resolve()):
            path.unlink(missing_ok=True)


def _warn_of_shared_files(page: Planned, entry: Mapping[str, Any]) -> None:
    """Two notebooks that give a figure the same name overwrite each other's."""
    own = set(files_of(entry))
    for name, other in read_manifest(page.folder)["pages"].items():
        if name != page.name and (shared := sorted(own & set(files_of(other)))):
            warnings.warn(
                f"{page.name} has overwritten {shared[0]} of {name}: give it another name", stacklevel=2
            )


# -- what the manifest says --------------------------------------------------------------------------------


def _known_before(page: Planned) -> dict[str, Any]:
    return {
        "title": title_of(read_notebook(page.study.path), page.language) or page.name,
        "status": "started",
        "language": page.language,
        "started": now(),
        "parameters": {k: v for k, v in page.parameters.items() if k != "out"},
        "seed": page.values["seed"],
        "corpus": dict(page.corpus),
        "backbone": backbone_facts(page.backbone),
        "notebook": notebook_digest(page.study.path),
        "code": code_revision(),
        "packages": package_versions(),
        "prompts": prompt_digests(),
    }


def _known_after(run: Run, looking: Looking) -> dict[str, Any]:
    return {
        "status": run.status,
        "finished": now(),
        "seconds": round(run.seconds, 2),
        "failure": asdict(run.failure) if run.failure else None,
        "figures": made_by(run.notebook, "figure"),
        "tables": made_by(run.notebook, "table"),
        "ledger": looking.ledger(),
    }


def made_by(notebook: Any, kind: str) -> dict[str, list[str]]:
    """Figures or tables that a notebook saved beside its page: name → files, in the order of the page."""
    made: dict[str, list[str]] = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            said = output.get("metadata", {}).get("perslib", {})
            if said.get("kind") == kind:
                made[said["name"]] = list(said["files"])
    return made


# -- what the page says around the notebook ----------------------------------------------------------------


def _page_info(page: Planned, run: Run, entry: Mapping[str, Any]) -> PageInfo:
    return PageInfo(
        language=page.language,
        title=entry["title"],
        corpus=page.corpus_label,
        backbone=page.backbone,
        index=Path(os.path.relpath(page.root / "index.html", page.folder)).as_posix(),
        facts=_facts(page, run, entry),
        figures=entry["figures"],
        tables=entry["tables"],
        failure=_failure(page, run),
    )


def _facts(page: Planned, run: Run, entry: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The head of the page: what was run, on what, when."""
    model = entry["backbone"].get("model", "")
    revision = entry["code"].get("revision", "")[:8] + ("+" if entry["code"].get("dirty") else "")
    shown = {
        "corpus": page.corpus_label,
        "backbone": f"{page.backbone} ({model})" if model and model != page.backbone else page.backbone,
        "language": word("language_name", page.language),
        "rendered": day(entry["started"]),
        "duration": took(run.seconds, page.language),
        "revision": " ".join(filter(None, (entry["code"]["version"], revision))),
    }
    declared = page.study.declared
    own = {k: v for k, v in page.parameters.items() if k not in _SHOWN_ANYWAY and v != declared[k]}
    if own:
        shown["parameters"] = ", ".join(f"{k} = {v!r}" for k, v in own.items())
    return [(word(key, page.language), without_secrets(text)) for key, text in shown.items()]


def _failure(page: Planned, run: Run) -> dict[str, Any] | None:
    if run.failure is None:
        return None
    kind = "failed_kernel" if run.failure.kernel_died else "failed_body"
    kind = "cancelled_body" if run.status == "cancelled" else kind
    sentence = word(kind, page.language, n=run.failure.cell)
    return {
        "sentence": sentence,
        "cell": run.failure.cell,
        "error": "" if run.status == "cancelled" else run.failure.error,
    }


def _report_error(failed: list[tuple[Planned, Failure]], pages: int) -> ReportError:
    lines = [f"{len(failed)} of {pages} page{'s' if pages > 1 else ''} failed."]
    for page, failure in failed:
        lines += [f"{page.name} with {page.backbone}: {failure}", f"  the page up to there: {page.path}"]
    first, failure = failed[0]
    return ReportError(without_secrets("\n".join(lines)), notebook=first.name, cell=failure.cell)
