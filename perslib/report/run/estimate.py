"""What a page will ask for, before its first call: its notebook is run with stand-ins for models.

The cells tagged `asks` are enough for it, where a notebook has any; of others all cells run, which takes as long as the page
itself without its calls.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import replace

from perslib.llm.answerers.choice import DRY_RUN
from perslib.llm.entries import NO_MODEL, entries
from perslib.llm.ledger import Spending, describe_spending
from perslib.llm.probe import estimate_seconds
from perslib.paths import scratch
from perslib.report.run.execution import execute
from perslib.report.run.plan import Planned, read_notebook
from perslib.report.run.progress import RunProgress
from perslib.report.show.words import format_duration

TAG = "asks"
LONGEST = 90.0
"""Seconds that a run waits for its plan; memories can take minutes to build, also without a model."""


def estimate_page(
    page: Planned, *, whole: bool, answerer: Mapping[str, str] = DRY_RUN, stopped: threading.Event | None = None
) -> str:
    """Say what the page will ask for, in one line; without `whole`, "" for a notebook that does not tag what it asks.

    `answerer` is what the environment says of who stands in for models; when `stopped` is set, it ends as by Ctrl-C.
    """
    import nbformat

    nb = read_notebook(page.study.path)
    tags = [set(cell.metadata.get("tags", [])) for cell in nb.cells]
    given = page.parameters(page.folder)
    if any(TAG in own for own in tags):
        if {given[name] for name in given if name.endswith(("backbone", "backbones"))} <= {NO_MODEL, ""}:
            return _and_computing("asks no model", page.study.seconds(page.corpus["turns"])) if whole else ""
        nb.cells = [cell for cell, own in zip(nb.cells, tags) if own & {TAG, "parameters"}]
    elif not whole:
        return ""
    late_at = time.monotonic() + (math.inf if whole else LONGEST)

    def stop_in_time() -> None:
        if time.monotonic() > late_at or (stopped and stopped.is_set()):
            raise KeyboardInterrupt  # as Ctrl-C would end it

    with scratch("rehearsal") as folder:
        copy = folder / page.study.path.name
        nbformat.write(nb, copy)
        progress = RunProgress(folder / "progress.jsonl")
        environment = {**progress.environment(), **answerer}
        study = replace(page.study, path=copy)
        run = execute(study, page.parameters(folder), environment, stop_in_time)
        asked = describe_asked(progress.by_backbone())
    if run.status == "success":
        estimate = f"about {asked}" if asked else "asks no model"
        return _and_computing(estimate, progress.computing() + page.study.seconds(page.corpus["turns"]))
    so_far = f"at least {asked or 'no calls'}"
    if time.monotonic() > late_at:
        return f"{so_far}; counting on took too long, `--dry-run` counts it all"
    if run.status == "cancelled":
        raise KeyboardInterrupt
    return f"{so_far}; counted up to an error: {run.failure.error if run.failure else ''}"


def _and_computing(estimate: str, seconds: float) -> str:
    return f"{estimate}; about {format_duration(seconds, 'en')} of computing" if seconds else estimate


def describe_asked(spent: Mapping[str, Spending]) -> str:
    """Describe calls, tokens, cost and time of all backbones; "" where nothing is asked."""
    total: Spending = sum(spent.values(), Spending())
    if not total.calls:
        return describe_spending(total) if total.hits else ""
    asked = describe_spending(replace(total, errors=0, unreadable=0, fault=""))
    if too_long := total.errors:  # answers in the cache that cannot be read are no questions
        asked += f", {too_long:,} questions too long for the model's context"
    # A stage that was cut off before its first answer does not say which backbone it asked.
    pace = {
        name: estimate_seconds(entries()[name], one.tokens_in, one.tokens_out, one.calls) if name in entries() else None
        for name, one in spent.items()
        if one.calls
    }
    if unknown := [name or "an unnamed model" for name, time in pace.items() if time is None]:
        return f"{asked}, time unknown: no answer of {', '.join(unknown)} is in the cache to go by"
    return f"{asked}, about {format_duration(sum(filter(None, pace.values())), 'en')} of answering"
