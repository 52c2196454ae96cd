"""`run_report`: notebooks × backbones → pages, figures, tables, manifests and an index."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict
from pathlib import Path
from typing import Any

from perslib.corpus import load
from perslib.errors import ReportError
from perslib.llm.entries import NO_MODEL
from perslib.paths import lock_folder, scratch
from perslib.report.page.browse import ENDING, write_verdict_browser
from perslib.report.page.export import FIGURES
from perslib.report.page.index import write_index
from perslib.report.page.rendering import find_answers, records_of, render_page, title_of
from perslib.report.run.estimate import estimate_page
from perslib.report.run.execution import LOOK_EVERY, Failure, Run, execute, kernel_environment
from perslib.report.run.manifest import (
    KINDS,
    StoredPage,
    backbone_facts,
    code_revision,
    files_of,
    find_page,
    find_pages,
    now,
    package_versions,
    pages_under,
    prompt_digests,
    read_page,
    without_secrets,
    write_manifest,
    write_text,
)
from perslib.report.run.plan import (
    Planned,
    backbone_folder,
    check_parameter_choices,
    corpus_folder,
    find_studies,
    plan,
    read_notebook,
)
from perslib.report.run.progress import RunProgress, watch_run
from perslib.report.run.results import read_page_rows
from perslib.report.show.plot_parts import WIDTH
from perslib.report.show.style import STYLE_VARIABLE
from perslib.text import translate, using_language

#: Pages of a model on this machine that run at the same time.
AT_ONCE = 2
_LONG_TO_COUNT = ("05", "09", "04")
_RENDERING = threading.Lock()  # what makes HTML safe serves one page at a time
#: Parameters that the head of a page shows by itself, or that say nothing to a reader.
_SHOWN_ANYWAY = ("corpus", "backbone", "language", "seed", "out")


def run_report(
    notebooks: Iterable[str | Path] | str | Path | None = None,
    corpus: str | Path = "sample/en",
    backbones: Sequence[str] | str = (NO_MODEL,),
    out: str | Path | None = None,
    language: str | None = None,
    limit: int | None = None,
    seed: int = 42,
    **parameters: Any,
) -> Path:
    """Run notebooks and render them as pages; returns the path of the index over all of them.

    `notebooks` are names ("00_corpus"), numbers ("00") or paths; all numbered ones when none is given. Each
    runs once for each backbone. Pages go to `<out>/<corpus>/<backbone>/<notebook>.html` (`reports/` of the
    workspace when `out` is not given), the manifest `<notebook>.json`, figures and tables beside them. `language` is that of
    the page, the corpus's own when not given. Further parameters go to the notebooks that declare them; one
    that none declares is an error before anything runs. Figures are PNG files; the environment variable PERSLIB_FIGURES
    lists further formats, `pdf,svg`.

    A notebook that fails leaves its page up to the failure, beside the last good one where there is one, and the
    others still run; then ReportError says which cell failed. Pages whose model is on this machine run two at a time; what
    a page is going to ask of an endpoint is said before. With several backbones, or several `judges` named, a page that
    compares these runs comes last.
    """
    from perslib.report.run.kernels import warm_up

    pages = plan(notebooks, corpus, backbones, out, language, seed, limit=limit, **parameters)
    warm_up(kernel_environment(pages[0].root, {}))
    local = all(page.is_local for page in pages)
    stopped = threading.Event()

    def one(n: int, page: Planned) -> Run | None:
        if stopped.is_set():
            return None
        if not local and (estimate := estimate_page(page, whole=False)):
            print(page.title, estimate, file=sys.stderr, flush=True)
        with using_language(page.language):
            return render(page, f"{n}/{len(pages)}", stopped)

    with ThreadPoolExecutor(AT_ONCE if local else 1, thread_name_prefix="page") as pool:
        running = [pool.submit(one, n, page) for n, page in enumerate(pages, 1)]
        try:
            while wait(running, LOOK_EVERY).not_done:  # in slices, so that Ctrl-C comes through
                pass
        finally:
            stopped.set()
    runs = [run.result() for run in running]
    if failed := [(page, run.failure) for page, run in zip(pages, runs) if run and run.failure]:
        raise _report_error(failed, len(pages))
    if len({page.backbone for page in pages}) > 1 or "," in str(parameters.get("judges", "")):
        saved = [page.file(".json") for page in pages if find_page(page.file(".json")).entry["verdicts"]]
        if saved:
            compare_runs(saved, language=language, seed=seed)
    return pages[0].root / "index.html"


def compare_runs(
    runs: Iterable[str | Path], out: str | Path | None = None, language: str | None = None, seed: int = 42, **more: Any
) -> Path:
    """Render the page `compare` over runs, given by their pages; returns its path.

    It goes to `<out>/<corpus>/<names of the backbones>/compare.html`; `out` is where the first run is when not given.
    """
    pages = find_pages(runs)
    names = list(dict.fromkeys(page.backbone for page in pages))
    root = Path(out).expanduser().resolve() if out else pages[0].root
    values = {
        "runs": [str(page.folder / page.name) for page in pages],
        "seed": seed,
        "backbone": ", ".join(names),
        **more,
        "language": language or pages[0].language,
    }
    (study,) = find_studies("compare")
    check_parameter_choices(values, study)
    folder = corpus_folder(root, pages[0].corpus) / backbone_folder(*names)
    page = Planned(study, values, root, folder, {**pages[0].entry["corpus"], "label": pages[0].corpus})
    with using_language(page.language):
        done = render(page, "1/1", threading.Event())
    if done.failure:
        raise _report_error([(page, done.failure)], 1)
    return page.file()


def rehearse_report(notebooks: Iterable[str | Path] | str | Path | None = None, **asked: Any) -> Iterator[str]:
    """Yield what `run_report` of the same would ask for, a line a page: calls, tokens, cost, time. Nobody is asked."""
    from perslib.report.run.kernels import warm_up

    pages, stopped = plan(notebooks, **asked), threading.Event()
    warm_up(kernel_environment(pages[0].root, {}))
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="page") as pool:
        longest_first = sorted(pages, key=lambda page: not page.study.path.name.startswith(_LONG_TO_COUNT))
        estimates = {id(p): pool.submit(estimate_page, p, whole=True, stopped=stopped) for p in longest_first}
        try:
            for page in pages:
                estimate = estimates[id(page)]
                while not wait([estimate], LOOK_EVERY).done:  # in slices, so that Ctrl-C comes through
                    pass
                line = estimate.result()
                on_own = ", all on data that the page makes itself" if page.lacks and "calls" in line else ""
                yield f"{page.title} {line}{on_own}{page.note}"
        finally:
            stopped.set()


def render(page: Planned, place: str, stopped: threading.Event) -> Run:
    """Run one notebook; write its page, its manifest and the index.

    The run works in a folder of its own. Where it does not succeed, the last good page stays as it is, with its files
    and its manifest; what went wrong is in `last_run` of it and on a page beside it. `place` is shown on the terminal. When `stopped` is set, the run ends as by Ctrl-C.
    """
    import nbformat

    before = read_page(page.file(".json"))
    good = before.entry if before and before.entry["status"] == "success" and before.href else None
    entry = _known_before(page)
    _record(page, entry, good)
    page.folder.mkdir(parents=True, exist_ok=True)
    try:
        with scratch("page", page.folder) as folder, watch_run(page, place, stopped) as progress:
            given, variables = (
                page.parameters(folder),
                {FIGURES: os.environ.get(FIGURES, "png"), **progress.environment()},
            )
            run = execute(page.study, given, variables, progress, progress.cell_started)
            entry |= _known_after(run, progress)
            if keeps_good := good is not None and run.status != "success":
                entry |= {kind: {} for kind in KINDS}
            browser = "" if keeps_good else _write_verdicts(page, entry, folder)
            with _RENDERING:
                html = render_page(run.notebook, {**_frame(page, entry), "verdict_browser": browser}).replace(
                    str(folder), str(page.folder)
                )
            if keeps_good:
                write_text(page.file(".failed.html"), html)
            else:
                write_text(folder / page.file().name, html)
                # To be opened in Lab and run again: it writes where its page is.
                notebook = nbformat.writes(run.notebook).replace(str(folder), str(page.folder))
                write_text(folder / page.file(".ipynb").name, notebook)
                good = None
                _publish(page, before, folder)
                page.file(".failed.html").unlink(missing_ok=True)
            progress.print_end(run, entry, page)
        _warn_of_shared_files(page, entry)
    except BaseException:
        entry["status"] = "failed"
        raise
    finally:
        _record(page, entry, good)
    return run


def _record(page: Planned, entry: Mapping[str, Any], good: Mapping[str, Any] | None) -> None:
    """Write the manifest; where there is a good page that stays, the entry comes beside its own."""
    with lock_folder(page.root):
        if corpus_folder(page.root, page.corpus["label"]) != page.folder.parent:
            raise ReportError(f"{page.folder.parent} has pages of another corpus by now: run the same command again")
        write_manifest(page.file(".json"), {**good, "last_run": entry} if good else entry)
        write_index(page.root)


def _publish(page: Planned, before: StoredPage | None, folder: Path) -> None:
    """Put what a run made in the place of what the last one left, so that nothing on disk is from another run."""
    page.file().unlink(missing_ok=True)
    page.file(ENDING).unlink(missing_ok=True)
    for file in files_of(before.entry) if before else ():
        (page.folder / file).unlink(missing_ok=True)
    for made in sorted(path for path in folder.rglob("[!.]*") if path.is_file()):  # not its lock
        place = page.folder / made.relative_to(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        made.replace(place)


def _write_verdicts(page: Planned, entry: Mapping[str, Any], folder: Path) -> str:
    """Write the verdicts that a run has saved, and what they are of, into one file; return its name, empty where there are none."""
    made = StoredPage(page.root, folder, page.name, dict(entry))
    verdicts = read_page_rows(made, "verdicts")
    if verdicts.empty:
        return ""
    turns = load(page.values["corpus"], page.language).turns
    title = f"{translate('All verdicts')}: {entry['title']}"
    file = page.file(ENDING).name
    write_verdict_browser(folder / file, title, page.language, verdicts, read_page_rows(made, "replies"), turns)
    return file


def _warn_of_shared_files(page: Planned, entry: Mapping[str, Any]) -> None:
    """Warn of notebooks that give a figure the same name, for they overwrite each other's."""
    own = set(files_of(entry))
    for other in pages_under(page.root):
        shared = sorted(own & set(files_of(other.entry))) if other.folder == page.folder else []
        if shared and other.name != page.name:
            message = f"{page.name} has overwritten {shared[0]} of {other.name}: give it another name"
            warnings.warn(message, stacklevel=2)


# -- what the manifest says --------------------------------------------------------------------------------


def _known_before(page: Planned) -> dict[str, Any]:
    given, notebook = page.parameters(page.folder), page.study.path
    return {
        "title": title_of(read_notebook(notebook)) or page.name,
        "status": "started",
        "language": page.language,
        "started": now(),
        "parameters": {k: v for k, v in given.items() if k != "out"},
        "seed": page.values["seed"],
        "corpus": dict(page.corpus),
        "backbone": backbone_facts(page.backbone),
        "notebook": {"name": notebook.name, "digest": hashlib.sha256(notebook.read_bytes()).hexdigest()},
        "code": code_revision(),
        "packages": package_versions(),
        "prompts": prompt_digests(),
        "drawn": {name: os.environ[name] for name in (WIDTH, STYLE_VARIABLE) if name in os.environ},
    }


def _known_after(run: Run, progress: RunProgress) -> dict[str, Any]:
    counted: Counter[str] = Counter()
    for record in _records(run.notebook, "judgments"):
        counted.update({name: n for name, n in record.items() if name != "kind"})
    return {
        "status": run.status,
        "finished": now(),
        "seconds": round(run.seconds, 2),
        "failure": asdict(run.failure) if run.failure else None,
        "answer": find_answers(run.notebook),
        **{kind: {record["name"]: list(record["files"]) for record in _records(run.notebook, kind)} for kind in KINDS},
        **counted,
        "ledger": progress.ledger(),
    }


def _records(notebook: Any, kind: str) -> list[Mapping[str, Any]]:
    """Return what the notebook's outputs of this kind say about themselves."""
    return [record for record in records_of(notebook) if record["kind"] == kind]


def _frame(page: Planned, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page's template shows around the notebook: what the manifest says of it, under what names it ran."""
    declared, given = page.study.declared, page.parameters(page.folder)
    own = (f"{k} = {v!r}" for k, v in given.items() if k not in _SHOWN_ANYWAY and v != declared[k])
    return {
        **entry,
        "corpus": page.corpus["label"],
        "backbone": page.backbone,
        "model": entry["backbone"].get("model", ""),
        "is_synthetic": page.corpus["synthetic"],
        "asks_toy": page.backbone == "embedded" and bool(entry["ledger"]["stages"]),
        "manifest": page.file(".json").name,
        "index": "../../index.html",
        "own": ", ".join(own),
    }


def _report_error(failed: list[tuple[Planned, Failure]], pages: int) -> ReportError:
    lines = [f"{len(failed)} of {pages} page{'s' if pages > 1 else ''} failed."]
    for page, failure in failed:
        lines.append(f"{page.name} with {page.backbone}: {failure}")
        failed_page = page.file(".failed.html")
        lines.append(f"  the page up to there: {failed_page if failed_page.is_file() else page.file()}")
    first, failure = failed[0]
    return ReportError(without_secrets("\n".join(lines)), notebook=first.name, cell=failure.cell)
