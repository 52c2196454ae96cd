"""A run for other tools and other people: its rows as CSV, a log of Inspect, an RO-Crate, its page as PDF."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus.schema import ORIGINAL, TURN
from perslib.errors import NotEnough, ReportError
from perslib.paths import scratch, write_csv, write_whole
from perslib.report.run.again import find_corpus
from perslib.report.run.manifest import StoredPage
from perslib.report.run.methods import describe_methods
from perslib.report.run.results import group_by_reply, read_page_rows

#: The environment variable that names a browser, and what is looked for otherwise.
BROWSER = "PERSLIB_CHROMIUM"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "msedge")
_CRATE = "https://w3id.org/ro/crate/1.1"


def export_run(page: StoredPage, to: str, out: Path | None = None, corpus: str | None = None) -> list[Path]:
    """Write a run in another form and return the files: `csv`, `inspect`, `rocrate` or `pdf`.

    `out` is a folder for CSV, a file for the others; they lie beside the page where it is not named. `corpus` is where the corpus of the run is
    now. Raise NotEnough where the run has none of what is asked for.
    """
    return FORMS[to](page, out, corpus)


def _write_csv(page: StoredPage, out: Path | None, _: str | None) -> list[Path]:
    folder, written = out or page.folder / f"{page.name}-csv", []
    for kind in ("verdicts", "replies"):
        if not (rows := read_page_rows(page, kind)).empty:
            folder.mkdir(parents=True, exist_ok=True)
            written.append(folder / f"{kind}.csv")
            lists = {c: rows[c].map(_as_text) for c in rows if rows[c].dtype == object}
            write_csv(rows.assign(**lists), written[-1])
    if not written:
        raise NotEnough(
            f"Page {page.name} has saved no verdicts and no replies; its tables are CSV already, in {page.folder / 'tables'}."
        )
    return written


def _as_text(value: Any) -> Any:
    return (
        value
        if isinstance(value, str) or pd.api.types.is_scalar(value)
        else json.dumps(list(value), ensure_ascii=False)
    )


def _write_inspect(page: StoredPage, out: Path | None, corpus: str | None) -> list[Path]:
    """Write a log that Inspect opens: a sample a reply, a score a judge, the user's own score as the target."""
    rows = read_page_rows(page, "verdicts")
    if rows.empty:
        raise NotEnough(f"Page {page.name} has saved no verdicts, which a log of Inspect is made of.")
    entry = page.entry
    samples = list(_samples(rows, _read_turns(page, corpus), read_page_rows(page, "replies")))
    started = entry["started"]
    log = {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": _digest(page, "eval"), "run_id": _digest(page, "run"), "created": started, "task": page.name,
            "task_id": _digest(page, "task"), "task_version": 0, "task_args": entry["parameters"],
            "dataset": {"name": page.corpus, "samples": len(samples), "sample_ids": [sample["id"] for sample in samples]},
            "model": entry["backbone"].get("model") or page.backbone,
            "config": {}, "packages": {"perslib": entry.get("code", {}).get("version", "")},
            "metadata": {"corpus_digest": entry["corpus"]["digest"], "seed": entry.get("seed")},
        },
        "plan": {"name": page.name},
        "results": {"total_samples": len(samples), "completed_samples": len(samples)},
        "stats": {"started_at": started, "completed_at": entry.get("finished", started)},
        "samples": samples,
    }  # fmt: skip
    file = out or page.folder / f"{page.name}.inspect.json"
    write_whole(file, json.dumps(log, ensure_ascii=False, allow_nan=False))
    return [file]


def _read_turns(page: StoredPage, corpus: str | None) -> pd.DataFrame:
    loaded = find_corpus(page, corpus)
    if loaded is None:
        raise NotEnough(f"Page {page.name} is of no corpus, so nothing says what its verdicts are of.")
    turns: pd.DataFrame = loaded.turns.set_index(TURN)[["request", "response", "score"]]
    return turns


def _samples(rows: pd.DataFrame, turns: pd.DataFrame, replies: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for (candidate, *turn), other, own in group_by_reply(rows, replies):
        reply_of = turns.loc[tuple(turn)] if tuple(turn) in turns.index else None
        reply = other if other is not None else "" if reply_of is None else reply_of["response"]
        request = "" if reply_of is None else str(reply_of["request"])
        user, scenario, session, number = turn
        where = {"user": user, "scenario": scenario, "session": session, "turn": int(number)}
        name = "/".join(str(part) for part in (*turn, candidate) if part != "")
        yield {
            "id": name, "epoch": 1, "input": request, "target": "" if reply_of is None or pd.isna(reply_of["score"]) or candidate not in ("", ORIGINAL) else str(reply_of["score"]),
            "messages": [{"role": "user", "content": request}, {"role": "assistant", "content": str(reply)}],
            "output": {"model": candidate, "choices": [{"message": {"role": "assistant", "content": str(reply)}, "stop_reason": "stop"}]},
            "scores": dict(_scores(own)), "metadata": {**where, **({"candidate": candidate} if candidate else {})},
        }  # fmt: skip


def _scores(own: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    several = len({row["table"] for row in own}) > 1
    for row in own:
        more = {
            name: row[name]
            for name in ("reason", "satisfied", *(f"p{k}" for k in range(1, 6)))
            if name in row and pd.notna(row[name])
        }
        more = {name: value.item() if hasattr(value, "item") else value for name, value in more.items()}
        raw = float(row["raw"]) if pd.notna(row["raw"]) else "N"  # what Inspect takes for no score
        score: dict[str, Any] = {"value": raw, "metadata": more}
        if isinstance(rationale := row.get("rationale"), str):
            score["explanation"] = rationale
        yield f"{row['table']}: {row['judge']}" if several else str(row["judge"]), score


def _digest(page: StoredPage, kind: str) -> str:
    return hashlib.sha256(f"{kind} {page.folder} {page.name} {page.entry['started']}".encode()).hexdigest()[:22]


def _write_crate(page: StoredPage, out: Path | None, _: str | None) -> list[Path]:
    """Write a ZIP of the page, its manifest, notebook and files, with a description of each for archives (RO-Crate 1.1)."""
    own = (file.relative_to(page.folder).as_posix() for file in page.list_files() if file.is_file())
    files = list(dict.fromkeys(own))
    text = describe_methods(page)
    entities = [
        {"@id": name, "@type": "File", "name": Path(name).name, "contentSize": str((page.folder / name).stat().st_size),
         "sha256": hashlib.sha256((page.folder / name).read_bytes()).hexdigest()}
        for name in files
    ]  # fmt: skip
    root = {
        "@id": "./", "@type": "Dataset", "name": page.entry["title"], "datePublished": page.entry["started"][:10],
        "description": " ".join(page.entry["answer"]) or page.entry["title"], "license": "to be named by whoever publishes it",
        "hasPart": [{"@id": name} for name in [*files, "methods.md"]],
    }  # fmt: skip
    software = {
        "@id": "#perslib",
        "@type": "SoftwareApplication",
        "name": "perslib",
        "version": page.entry.get("code", {}).get("version", ""),
    }
    made = {
        "@id": "#run", "@type": "CreateAction", "name": page.entry["title"], "instrument": {"@id": "#perslib"},
        "startTime": page.entry["started"], "endTime": page.entry.get("finished", ""), "object": {"@id": f"{page.name}.ipynb"},
        "result": [{"@id": name} for name in files],
    }  # fmt: skip
    about = {
        "@id": "ro-crate-metadata.json",
        "@type": "CreativeWork",
        "conformsTo": {"@id": _CRATE},
        "about": {"@id": "./"},
    }
    graph = [about, root, software, made, {"@id": "methods.md", "@type": "File", "name": "Methods"}, *entities]
    file = out or page.folder / f"{page.name}.crate.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as crate:
        crate.writestr(
            "ro-crate-metadata.json",
            json.dumps({"@context": f"{_CRATE}/context", "@graph": graph}, ensure_ascii=False, indent=1),
        )
        crate.writestr("methods.md", text)
        for name in files:
            crate.write(page.folder / name, name)
    return [file]


def _print_page(page: StoredPage, out: Path | None, _: str | None) -> list[Path]:
    """Write the page as PDF with a browser: code hidden, heads of tables on every sheet of paper."""
    named = os.environ.get(BROWSER)
    browser = next(filter(None, map(shutil.which, [named] if named else BROWSERS)), None)
    if browser is None:
        raise ReportError(
            f"There is no {named or ', '.join(BROWSERS)} to print with: install one, or name it in {BROWSER}."
        )
    file, html = (out or page.folder / f"{page.name}.pdf").resolve(), page.folder / f"{page.name}.html"
    with scratch("pdf", page.folder) as folder:
        still = folder / html.name  # without the script, whose buttons a browser does not repeat in heads
        still.write_text(re.sub(r"<script\b.*?</script>", "", html.read_text("utf-8"), flags=re.S), "utf-8")
        options = [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder}",
            "--no-pdf-header-footer",
        ]
        done = subprocess.run(
            [*options, f"--print-to-pdf={file}", still.resolve().as_uri()],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    if done.returncode or not file.is_file():
        raise ReportError(f"{browser} has not printed {html}: {done.stderr.strip()[-300:]}")
    return [file]


FORMS: dict[str, Callable[[StoredPage, Path | None, str | None], list[Path]]] = {
    "csv": _write_csv,
    "inspect": _write_inspect,
    "rocrate": _write_crate,
    "pdf": _print_page,
}
