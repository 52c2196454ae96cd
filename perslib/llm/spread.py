"""A backbone whose methods are worked on by the processes of a Dask cluster: `backbone("name", scheduler="tcp://…")`.

Every stage that maps a method over items (blocks to judge, replies to write, users to remember) works on it unchanged
and gets the same table. Calls in flight, requests and tokens a minute are divided among the workers, one seat each, so
that the bounds of `backbones.toml` hold for all of them together; all use the one cache file of the run's workspace, so
nothing that was answered is asked again, whoever died in between.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from perslib.cluster import Scheduler, connected, spread, workers_of
from perslib.errors import BackboneError
from perslib.llm.asking import Ask
from perslib.llm.backbone import Backbone
from perslib.llm.cache import Cache
from perslib.llm.ledger import Ledger, Progress
from perslib.llm.registry import Entry
from perslib.llm.retry import Patience

T = TypeVar("T")
X = TypeVar("X")
SIZE = 4
"""Items that a worker takes at a time."""


class SpreadBackbone(Backbone):
    """A backbone that maps methods over items on a cluster; single questions are asked from here."""

    def __init__(
        self,
        entry: Entry,
        cache: Cache,
        ledger: Ledger | None = None,
        patience: Patience | None = None,
        *,
        scheduler: Scheduler,
        forced: bool = False,
    ):
        super().__init__(entry, cache, ledger, patience, forced=forced)
        self.scheduler = scheduler

    def each(
        self,
        method: Callable[[X, Ask], Awaitable[T]],
        items: Iterable[X],
        sink: Callable[[T], object],
        *,
        progress: bool = True,
        totals: Mapping[str, int] | None = None,
        cap: float | None = None,
    ) -> None:
        """What the method returns for each item, given to `sink` in their order."""
        if cap is not None:
            raise BackboneError(
                "A spending cap cannot be kept by several workers at once: leave the cap out, or the scheduler.",
                backbone=self.name,
            )
        stage = next(iter(totals or {}), "work")
        with (
            connected(self.scheduler) as client,
            Progress(None, stage, self.ledger, enabled=progress) as shown,
        ):
            part, seats = share(self.entry, workers_of(client))
            work = partial(_work, method, part, self.cache, self.patience, self._forced)
            rest = iter(items)
            chunks = iter(lambda: list(islice(rest, SIZE)), [])
            for found, spent in spread(client, work, chunks, seats=(f"perslib {self.entry.address}", seats)):
                for result in found:
                    sink(result)
                took = Ledger.from_dict(spent)
                self.ledger.add(took)
                shown.move(len(found), took.total.calls)


def _work(
    method: Callable[[Any, Ask], Awaitable[Any]],
    entry: Entry,
    cache: Cache,
    patience: Patience,
    forced: bool,
    items: list[Any],
) -> tuple[list[Any], dict[str, Any]]:
    """On a worker, with its share of the endpoint: what the method returns for each item, and what that cost."""
    model = Backbone(entry, cache, None, patience, forced=forced)
    found = model.map(method, items, progress=False)
    return found, model.ledger.as_dict()


def share(entry: Entry, workers: int) -> tuple[Entry, int]:
    """A worker's part of an endpoint, and how many workers may have one at a time.

    All parts together are never more than the whole; with more workers than calls in flight, some wait.
    """
    seats = max(1, min(workers, *(bound for bound in (entry.concurrency, entry.rpm) if bound is not None)))

    def part(bound: int | None) -> int | None:
        return None if bound is None else max(1, bound // seats)

    concurrency = max(1, entry.concurrency // seats)
    return replace(entry, concurrency=concurrency, rpm=part(entry.rpm), tpm=part(entry.tpm)), seats
