"""A model one can ask: `backbone("name").ask(…)`.

    model = backbone("embedded")
    model.ask("Say hi").text                    # in a script or a notebook cell
    (await model.ask_async("Say hi")).text      # in async code
    model.ask_many(requests, stage="judge")     # many at once, in their order, with a progress bar

One background loop serves all of them (`loop.py`); what happens to a question on it is in `work.py`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, TypedDict, TypeVar, Unpack

from perslib.cluster import Scheduler, connected, spread, workers_of
from perslib.errors import BackboneError
from perslib.llm import event_loop, probe
from perslib.llm.answerers.http import Transport
from perslib.llm.answerers.limits import Client, Patience
from perslib.llm.cache.address import content_address, weights
from perslib.llm.cache.store import Cache, Policy
from perslib.llm.entries import Entry, entry
from perslib.llm.estimate import QUESTIONS, StandIn, is_rehearsal, rehearsal
from perslib.llm.ledger import Ledger, Progress, Stages
from perslib.llm.probe import Probe
from perslib.llm.request import Answer, Ask, Message, Method, Request
from perslib.llm.scheduler import Run, Work
from perslib.llm.structured.fallbacks import Ladder
from perslib.llm.structured.parsing import Rung

Question = Request | str | Sequence[Message]
T = TypeVar("T")
X = TypeVar("X")
#: What is done for each of many items.
Each = Callable[[X, Ask], Awaitable[T]]

AT_A_TIME = 4
"""Items that a worker of a cluster takes at a time."""

_clients: dict[tuple[Any, ...], Client] = {}
_clients_lock = threading.Lock()


class Shown(TypedDict, total=False):
    """How work is shown, and what it may cost."""

    progress: bool
    """Whether progress is shown."""
    totals: Mapping[str, int] | None
    """How many questions a stage will have, for its progress, where that is known beforehand."""
    cap: float | None
    """Stop with `BudgetReached` once the ledger's cost comes to this; what was answered is in the cache, and the same
    work with a higher cap goes on from there."""


def backbone(
    name: str,
    *,
    cache: Cache | Policy = "use",
    ledger: Ledger | None = None,
    patience: Patience | None = None,
    scheduler: Scheduler = None,
    **overrides: Any,
) -> Backbone:
    """The backbone called `name` in `backbones.toml`, with fields of its entry replaced by keyword.

    `cache` is a policy — use, refresh (ask anew, keep the new answer), off, only (never call) — or a cache.
    `scheduler` spreads every stage that asks it over a Dask cluster: an address such as `tcp://10.0.0.1:8786`, a
    cluster or client object, or `local`.
    """
    forced = overrides.get("structured", "auto") != "auto"
    return Backbone(entry(name, **overrides), cache, ledger, patience, scheduler=scheduler, forced=forced)


class Backbone:
    """A model at an endpoint, with its cache, its ledger and its limits.

    With a `scheduler`, methods mapped over items are worked on by the processes of a Dask cluster. Calls in flight,
    requests and tokens a minute are divided among them, so that the bounds of `backbones.toml` hold for all together;
    all use the one cache file, so nothing that was answered is asked again, whoever died in between.
    """

    _stand_in: StandIn | None = None

    def __init__(
        self,
        entry: Entry,
        cache: Cache | Policy = "use",
        ledger: Ledger | None = None,
        patience: Patience | None = None,
        *,
        scheduler: Scheduler = None,
        minute: float = 60.0,
        forced: bool = False,
    ):
        self.entry = entry
        self.cache = cache if isinstance(cache, Cache) else Cache(policy=cache)
        self.ledger = Ledger() if ledger is None else ledger
        self.patience = patience or Patience()
        self.scheduler = scheduler
        self._minute, self._forced = minute, forced
        self._weights = weights(entry)
        self._probe = probe.known(entry.address, self.model)

    def __repr__(self) -> str:
        return f"Backbone({self.name!r}, model={self.model!r})"

    @property
    def name(self) -> str:
        """The name in `backbones.toml`."""
        return self.entry.name

    @property
    def model(self) -> str:
        """The model's name; of a model file, its file name."""
        return self.entry.called

    # -- asking ---------------------------------------------------------------------------------------------

    def ask(self, question: Question, *, stage: str = "ask", **settings: Any) -> Answer:
        """The answer to one question; `settings` are fields of `Request`, such as `temperature=0`."""
        return self.ask_many([_request(question, settings)], stage=stage, progress=False)[0]

    async def ask_async(self, question: Question, *, stage: str = "ask", **settings: Any) -> Answer:
        """`ask`, awaited; works in any event loop."""
        one = partial(_asked, [_request(question, settings)], stage)
        return (await self.work_async([one], progress=False))[0][0]

    def ask_many(self, questions: Iterable[Question], *, stage: str = "ask", **shown: Unpack[Shown]) -> list[Answer]:
        """The answers to many questions, in their order.

        Calls start in that order, so requests with a common beginning meet the endpoint's prefix cache when
        they stand next to each other; equal requests are asked once. One bad answer raises nothing, it says
        so in its `error`.
        """
        requests = [_request(question, {}) for question in questions]
        shown = {"totals": {stage: len(requests)}, **shown}
        return self.work([partial(_asked, requests, stage)], **shown)[0]

    def work(self, methods: Iterable[Method[T]], **shown: Unpack[Shown]) -> list[T]:
        """What methods return, in their order; they are worked on side by side.

        A method is an async function of `ask` (`perslib.llm.request`), begun when there is room for its questions.
        """
        return event_loop.run(self._all(methods, **shown))

    async def work_async(self, methods: Iterable[Method[T]], **shown: Unpack[Shown]) -> list[T]:
        """`work`, awaited; works in any event loop."""
        return await event_loop.wait_for(self._all(methods, **shown))

    def map(self, method: Each[X, T], items: Iterable[X], **shown: Unpack[Shown]) -> list[T]:
        """`work` on `method(item, ask)` of each item; with a scheduler, on the machines of a cluster."""
        results: list[T] = []
        self.each(method, items, results.append, **shown)
        return results

    def each(self, method: Each[X, T], items: Iterable[X], sink: Callable[[T], object], **shown: Unpack[Shown]) -> None:
        """`map` that keeps nothing: each result goes to `sink`, in the order of items, as soon as it is its turn."""
        if self.scheduler is not None:
            self._spread(method, items, sink, **shown)
        else:
            event_loop.run(self._work((partial(method, item) for item in items), sink, **shown))

    def begin(self, method: Method[T]) -> Future[T]:
        """Start on a method and do not wait; cancelling the future stops its questions."""

        async def result() -> T:
            return (await self._all([method], progress=False))[0]

        return event_loop.submit(result())

    async def _all(self, methods: Iterable[Method[T]], **shown: Unpack[Shown]) -> list[T]:
        results: list[T] = []
        await self._work(methods, results.append, **shown)
        return results

    async def _work(
        self,
        methods: Iterable[Method[T]],
        sink: Callable[[T], object],
        progress: bool = True,
        totals: Mapping[str, int] | None = None,
        cap: float | None = None,
    ) -> None:
        with Stages(self.ledger, totals, enabled=progress) as stages:
            await Work(self._run(stages.step, cap), methods, sink).finish()

    def _spread(
        self,
        method: Each[X, T],
        items: Iterable[X],
        sink: Callable[[T], object],
        progress: bool = True,
        totals: Mapping[str, int] | None = None,
        cap: float | None = None,
    ) -> None:
        """`each` on a cluster."""
        if cap is not None:
            raise BackboneError(
                "A spending cap cannot be kept by several workers at once: leave the cap out, or the scheduler.",
                backbone=self.name,
            )
        stage = next(iter(totals or {}), "work")
        with connected(self.scheduler) as client, Progress(None, stage, self.ledger, enabled=progress) as shown:
            part, seats = share(self.entry, workers_of(client))
            work = partial(_map, method, part, self.cache, self.patience, self._forced)
            rest = iter(items)
            chunks = iter(lambda: list(islice(rest, AT_A_TIME)), [])
            for found, spent in spread(client, work, chunks, seats=(f"perslib {self.entry.address}", seats)):
                for result in found:
                    sink(result)
                took = Ledger.from_dict(spent)
                self.ledger.add(took)
                shown.move(len(found), took.total.calls)

    def digest(self, question: Question) -> str:
        """Content address of a question put to this backbone: all that can change the answer, and no more."""
        return content_address(self.entry, self._weights, _request(question, {}))

    # -- what the endpoint can do ---------------------------------------------------------------------------

    def probe(self) -> Probe:
        """Ask the endpoint what it can do, save that, and go by it from now on."""

        client, address = self.client, self.entry.address
        client.unsupported.clear()
        probe.leave_out(address, self.model, "")
        ladder = Ladder(replace(self.entry, logprobs=None), client, None, False)

        async def send(request: Request, form: dict[str, Any] | None) -> Answer:
            return (await ladder.send(request, request.messages, client.allowance(), form))[-1]

        async def models() -> Mapping[str, Any]:
            return await client.transport.exchange("GET", "/models")

        self._probe = event_loop.run(probe.take(self.name, address, self.model, send, models))
        probe.save(self._probe)
        return self._probe

    def rung(self, schema: Mapping[str, Any]) -> Rung:
        """The rung of the structured-output ladder on which a request with this schema starts."""
        return self._ladder.rung(schema)

    # -- on the background loop -----------------------------------------------------------------------------

    @property
    def client(self) -> Client:
        """The shared client of the endpoint; a forked process opens its own."""
        key = (os.getpid(), repr(self.entry), self.patience, self._minute)
        with _clients_lock:
            if key not in _clients:
                client = _clients[key] = Client(Transport(self.entry), self.patience, self._minute)
                client.unsupported |= probe.left_out(self.entry.address, self.model)
            return _clients[key]

    @property
    def _ladder(self) -> Ladder:
        return Ladder(self.entry, self.client, self._probe, self._forced)

    def _run(self, step: Callable[[str, Answer], object], cap: float | None) -> Run:
        stand_in = self._stand_in or (rehearsal(os.environ.get(QUESTIONS, "")) if is_rehearsal() else None)
        return Run(self._ladder, self.cache, self.ledger, self.model, self._weights, step, cap, stand_in)


class DryRun(Backbone):
    """A backbone that asks nobody and counts: its ledger then holds what the same work would take, stage by stage.

        dry = DryRun("embedded")
        dry.map(method, items)
        dry.ledger.total

    A question is answered by its own `usual` answer; without that by the plainest data that its schema takes, or a text
    of the usual length, and counted with `max_tokens`. What is asked twice is asked once. With `cache="use"` what the
    answer cache has is not counted as a call.
    """

    def __init__(self, of: Entry | str, cache: Cache | Policy = "off"):
        super().__init__(entry(of) if isinstance(of, str) else of, cache)
        self._stand_in = StandIn()

    def _run(self, step: Callable[[str, Answer], object], cap: float | None) -> Run:
        # No progress: what is counted here is not what the page asks.
        return super()._run(lambda stage, answer: None, cap)


def _request(question: Question, settings: Mapping[str, Any]) -> Request:
    request = Request.of(question)
    return replace(request, **settings) if settings else request


async def _asked(requests: Sequence[Request], stage: str, ask: Ask) -> list[Answer]:
    """Questions as a method."""
    return list(await ask(requests, stage))


def _map(
    method: Each[X, T], entry: Entry, cache: Cache, patience: Patience, forced: bool, items: list[X]
) -> tuple[list[T], dict[str, Any]]:
    """On a worker, with its share of the endpoint: what the method returns for each item, and what that cost."""
    model = Backbone(entry, cache, None, patience, forced=forced)
    return model.map(method, items, progress=False), model.ledger.as_dict()


def share(entry: Entry, workers: int) -> tuple[Entry, int]:
    """A worker's part of an endpoint, and how many workers may have one at a time.

    All parts together are never more than the whole; with more workers than calls in flight, some wait.
    """
    seats = max(1, min(workers, *(bound for bound in (entry.concurrency, entry.rpm) if bound is not None)))

    def part(bound: int | None) -> int | None:
        return None if bound is None else max(1, bound // seats)

    return replace(
        entry, concurrency=max(1, entry.concurrency // seats), rpm=part(entry.rpm), tpm=part(entry.tpm)
    ), seats
