"""The questions of pages, asked in batches: what can be asked now is collected, submitted, waited for, and read; and
again, until nothing is left to ask. Then the pages find every answer in the cache."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from perslib.errors import BackboneError
from perslib.llm import backbone, batch
from perslib.llm.probe import known
from perslib.llm.registry import entry
from perslib.paths import scratch
from perslib.report.plan import Planned, plan
from perslib.report.progress import rehearsed

WAIT = (
    "Batches usually come back within a few hours, at most within a day. Leave with Ctrl-C; the same command goes on."
)


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
    for name in names:
        batch.check_takes_batches(entry(name))
        if not dry_run and known(entry(name).address, entry(name).called) is None:
            _say(f"{name}: tested first, since a batch of questions that it does not take costs hours")
            backbone(name).probe()
    leave: set[str] = set()
    for left in batch.open_batches(names) if not dry_run else ():
        _say(f"{left.describe()}; submitted before")
        leave |= _answered(left).unreadable
    while True:
        made, waiting = collect_questions(pages, leave)
        for one in made:
            _say(one.describe())
        if made and waiting:
            _say("Further questions depend on these answers and come in a round of their own.")
        if made:
            _say(WAIT)
        if dry_run:
            for one in made:
                one.forget()
        if dry_run or not made:
            return
        for one in made:
            batch.submit(one)
        taken = [_answered(one) for one in made]
        leave |= set().union(*(came.unreadable for came in taken))
        if not any(came.answers for came in taken):
            return


def _answered(one: batch.Batch) -> batch.Taken:
    taken = batch.answer(one)
    _say(f"{one.entry.name}: {taken.describe()}")
    return taken


def collect_questions(pages: Sequence[Planned], leave: Collection[str] = ()) -> tuple[list[batch.Batch], int]:
    """Run the pages with stand-ins; returns what they would ask now as batches, and how many questions come later."""
    for page in pages:
        if entry(page.backbone).kind == "embedded":
            words = f"Backbone {page.backbone!r} runs on this machine and is asked at once: leave the batch out."
            raise BackboneError(words, backbone=page.backbone)
    with scratch("batch") as folder:
        for page in pages:
            _say(f"{page.title} {rehearsed(page, whole=True, questions=folder / 'questions.jsonl')}")
        return batch.write(folder / "questions.jsonl", leave)


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
