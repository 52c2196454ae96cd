"""The questions of pages, asked in batches: what can be asked now is collected, submitted, waited for, and read; and
again, until nothing is left to ask. Then the pages find every answer in the cache."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from perslib.errors import BackboneError, PerslibError
from perslib.llm import backbone
from perslib.llm.abilities import read_probe
from perslib.llm.entries import NO_MODEL, entry
from perslib.paths import lock_folder, scratch
from perslib.report.run.estimate import estimate_page
from perslib.report.run.plan import Planned, plan
from perslib.systems import batches
from perslib.systems.batches.answerers import write_questions_to

WAIT = (
    "Batches usually come back within a few hours, at most within a day. Leave with Ctrl-C; the same command goes on."
)

NONE_NAMED = "A batch asks a model, and none is named: name one with -b NAME."


def answer_in_batches(
    notebooks: Iterable[str | Path] | str | Path | None = None, *, dry_run: bool = False, **asked: Any
) -> None:
    """Ask what `run_report` of the same would ask in batches, and take the answers into the cache.

    Questions that depend on answers come in a later round. What a batch brings no reply to is asked again in the next; a
    reply that cannot be used, and all when a round brings nothing, is left for the pages to ask at once. With `dry_run` the
    price of the first round is shown and nothing is sent.
    """
    pages = plan(notebooks, **asked)
    names = dict.fromkeys(page.backbone for page in pages)
    if NO_MODEL in names:
        raise BackboneError(NONE_NAMED)
    for name in names:
        batches.check_takes_batches(entry(name))
        if not dry_run and read_probe(entry(name)) is None:
            _say(f"{name}: tested first, since a batch of questions that it does not take costs hours")
            backbone(name).probe()
    leave: set[str] = set()
    while True:
        with lock_folder(batches.folder()):  # another process may be about to ask the same
            earlier = [] if dry_run else open_batches(names)
            made = earlier or _make_batches(pages, leave, dry_run)
        if dry_run or not made:
            return
        taken = _fetch_all(made)
        leave |= set().union(*(came.unreadable for came in taken))
        if not earlier and not any(came.answers for came in taken):
            return


def open_batches(names: Iterable[str]) -> list[batches.Batch]:
    """Return those of these backbones that were sent and not read, after a word on those that are damaged."""
    readable, damaged = batches.list_batches()
    for error in damaged:
        _say(str(error))
    left = [one for one in readable if one.is_open and one.entry.name in names]
    for one in left:
        _say(f"{one.describe()}; submitted before")
    return left


def _make_batches(pages: Sequence[Planned], leave: Collection[str], dry_run: bool) -> list[batches.Batch]:
    """Make batches of all that can be asked now, and send them unless nothing is to be sent."""
    made, waiting = collect_questions(pages, leave)
    for one in made:
        _say(one.describe())
    if made and waiting:
        _say("Further questions depend on these answers and come in a round of their own.")
    if made:
        _say(WAIT)
    for one in made:
        if dry_run:
            one.remove_unsent()
        else:
            batches.send_batch(one)
    return made


def _fetch_all(made: Sequence[batches.Batch]) -> list[batches.BatchResult]:
    """Wait for the batches; the first error is raised when those without one are read."""
    taken, errors = [], []
    for one in made:
        try:
            taken.append(batches.fetch(one))
            _say(f"{one.entry.name}: {taken[-1].describe()}")
        except PerslibError as error:
            errors.append(error)
            _say(str(error))
    if errors:
        raise errors[0]
    return taken


def collect_questions(pages: Sequence[Planned], leave: Collection[str] = ()) -> tuple[list[batches.Batch], int]:
    """Run the pages with stand-ins; returns what they would ask now as batches, and how many questions come later."""
    for page in pages:
        if page.is_local:
            words = f"Backbone {page.backbone!r} runs on this machine and is asked at once: leave the batch out."
            raise BackboneError(NONE_NAMED if page.backbone == NO_MODEL else words, backbone=page.backbone)
    with scratch("batch") as folder:
        questions = folder / "questions.jsonl"
        for page in pages:
            _say(f"{page.title} {estimate_page(page, whole=True, answerer=write_questions_to(questions))}")
        return batches.write_batches(questions, leave)


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
