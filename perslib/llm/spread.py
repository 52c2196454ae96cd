"""A backbone whose methods are worked on by the processes of a Dask cluster: `backbone("name", scheduler="tcp://…")`.

Every stage that maps a method over items (blocks to judge, replies to write, users to remember) works on it unchanged
and gets the same table. Calls in flight, requests and tokens a minute are divided among the workers, one seat each, so
that the bounds of `backbones.toml` hold for all of them together; all use the one cache file of the run's workspace, so
nothing that was answered is asked again, whoever died in between.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
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
            todo = _Part(method, part, self.cache, self.patience, self._forced)
            name = f"perslib {self.entry.address}"
            for found, spent in spread(client, todo, _chunks(items), seats=(name, seats)):
                for result in found:
                    sink(result)
                took = Ledger.from_dict(spent)
                self.ledger.add(took)
                shown.move(len(found), took.total.calls)


class _Part:
    """What a worker does with a chunk: the method over its items, with its share of the endpoint."""

    def __init__(
        self,
        method: Callable[[Any, Ask], Awaitable[Any]],
        entry: Entry,
        cache: Cache,
        patience: Patience,
        forced: bool,
    ):
        self.method, self.entry, self.cache = method, entry, cache
        self.patience, self.forced = patience, forced

    def __call__(self, items: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """What the method returns for each, and what it took."""
        model = Backbone(self.entry, self.cache, None, self.patience, forced=self.forced)
        found = model.map(self.method, items, progress=False)
        return found, model.ledger.as_dict()


def share(entry: Entry, workers: int) -> tuple[Entry, int]:
    """A worker's part of an endpoint, and how many workers may have one at a time.

    All parts together are never more than the whole; with more workers than calls in flight, some wait.
    """
    seats = max(1, min(workers, *(bound for bound in (entry.concurrency, entry.rpm) if bound is not None)))

    def part(bound: int) -> int:
        return max(1, bound // seats)

    rpm, tpm = (None if bound is None else part(bound) for bound in (entry.rpm, entry.tpm))
    return replace(entry, concurrency=part(entry.concurrency), rpm=rpm, tpm=tpm), seats


def _chunks(items: Iterable[X]) -> Iterator[list[X]]:
    rest = iter(items)
    while chunk := list(islice(rest, SIZE)):
        yield chunk
