"""A model one can ask: `backbone("name").ask(…)`.

    model = backbone("embedded")
    model.ask("Say hi").text                    # in a script or a notebook cell
    (await model.ask_async("Say hi")).text      # in async code
    model.ask_many(requests, stage="judge")     # many at once, in their order, with a progress bar

One background loop serves all of them (`event_loop.py`). A question goes to the scheduler (`scheduler.py`), which looks
into the cache, and on to an answerer (`answerers/`): the endpoint, the embedded model, a dry run, or one that a system brings.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

from perslib.cluster import Scheduler, connect_cluster, spread, workers_of
from perslib.errors import BackboneError
from perslib.llm import event_loop, probe
from perslib.llm.abilities import Probe, know_abilities, save_probe
from perslib.llm.answerers.choice import choose_answerer
from perslib.llm.answerers.dry_run import DryRun
from perslib.llm.answerers.endpoint import Endpoint, shared_client
from perslib.llm.answerers.limits import Client, RetryPolicy
from perslib.llm.cache.answers import CachedAnswers
from perslib.llm.cache.store import Cache, Policy
from perslib.llm.entries import NO_MODEL, BackboneEntry, entry
from perslib.llm.ledger import Ledger, ProgressByStage, StageProgress
from perslib.llm.request import Answer, Answerer, Ask, Message, Method, QueuedRequest, Request
from perslib.llm.scheduler import QuestionScheduler
from perslib.llm.spending import Account
from perslib.llm.structured.fallbacks import Fallbacks
from perslib.llm.structured.parsing import ReplyFormat

if TYPE_CHECKING:
    from openai import AsyncOpenAI

Asked = Request | str | Sequence[Message]
T = TypeVar("T")
X = TypeVar("X")
#: What makes an answer of the usual length to a question.
Usual = Callable[[QueuedRequest], Any]
#: What is done for each of many items.
Each = Callable[[X, Ask], Awaitable[T]]

AT_A_TIME = 4
"""Items that a worker of a cluster takes at a time."""


class WorkOptions(TypedDict, total=False):
    """How work is shown, and what it may cost."""

    progress: bool
    """Whether progress is shown."""
    totals: Mapping[str, int] | None
    """How many questions a stage will have, for its progress, where that is known beforehand."""
    cap: float | None
    """Stop with `BudgetReached` once the ledger's cost comes to this; what was answered is in the cache, and the same
    work with a higher cap goes on from there."""
    stands_for: float
    """In a dry run that asks about a sample, how many items each of its items stands for."""


def backbone(
    name: str,
    *,
    cache: Cache | Policy = "use",
    ledger: Ledger | None = None,
    patience: RetryPolicy | None = None,
    scheduler: Scheduler = None,
    client: AsyncOpenAI | None = None,
    **overrides: Any,
) -> Backbone:
    """Return the backbone called `name` in `backbones.toml`, with fields of its entry replaced by keyword.

    `cache` is a policy — use, refresh (ask anew, keep the new answer), off, only (never call) — or a cache.
    `scheduler` spreads every stage that asks it over a Dask cluster: an address such as `tcp://10.0.0.1:8786`, a
    cluster or client object, or `local`.

    `client` is an `AsyncOpenAI` or `AsyncAzureOpenAI` of your own, with its address, credentials, HTTP client and headers, used
    nowhere else (its connections belong to one event loop). All else is as the entry says: limits, retries (those of the
    client are off), the cache, in which the client's address counts. A reply is measured when the client has read it.

        backbone("azure", client=AsyncAzureOpenAI(azure_endpoint=…, api_version=…, azure_ad_token_provider=…), model=…)
    """
    if client is not None:
        from perslib.llm.answerers.openai_client import check_client

        overrides["base_url"] = check_client(client, entry(name, **overrides), scheduler)
    forced = overrides.get("structured", "auto") != "auto"
    return Backbone(
        entry(name, **overrides), cache, ledger, patience, scheduler=scheduler, forced=forced, client=client
    )


def find_model(name: str) -> Backbone | None:
    """Return the model that a study asks, the backbone of this name; None for "none", where it asks no model."""
    return None if name == NO_MODEL else backbone(name)


class Backbone:
    """A model, with its answerer, its cache, its ledger and its limits.

    With a `scheduler`, methods mapped over items are worked on by the processes of a Dask cluster. Calls in flight,
    requests and tokens a minute are divided among them, so that the bounds of `backbones.toml` hold for all together;
    all use the one cache file, so nothing that was answered is asked again, whoever died in between.

    With `is_counted=False` its questions are no step of the progress of a page that runs.
    """

    def __init__(
        self,
        entry: BackboneEntry,
        cache: Cache | Policy = "use",
        ledger: Ledger | None = None,
        patience: RetryPolicy | None = None,
        *,
        scheduler: Scheduler = None,
        minute: float = 60.0,
        forced: bool = False,
        answerer: Answerer | None = None,
        is_counted: bool = True,
        client: AsyncOpenAI | None = None,
    ):
        self.entry = entry
        self.cache = cache if isinstance(cache, Cache) else Cache(policy=cache)
        self.ledger = Ledger() if ledger is None else ledger
        self.patience = patience or RetryPolicy()
        self.scheduler = scheduler
        self.abilities = know_abilities(entry, is_forced=forced)
        self._minute, self._forced, self._is_counted, self._client = minute, forced, is_counted, client
        self.answerer, self.cache = choose_answerer(self.abilities, self.cache, answerer)

    def __repr__(self) -> str:
        return f"Backbone({self.name!r}, model={self.model!r})"

    @property
    def name(self) -> str:
        """The name in `backbones.toml`."""
        return self.entry.name

    @property
    def writes_texts(self) -> bool:
        """Whether it answers anything but typed questions."""
        return self.entry.kind != "decisions"

    @property
    def model(self) -> str:
        """The model's name; of a model file, its file name."""
        return self.entry.display_name

    # -- asking ---------------------------------------------------------------------------------------------

    def ask(self, question: Asked, *, stage: str = "ask", **settings: Any) -> Answer:
        """Return the answer to one question; `settings` are fields of `Request`, such as `temperature=0`."""
        return self.ask_many([_request(question, settings)], stage=stage, progress=False)[0]

    async def ask_async(self, question: Asked, *, stage: str = "ask", **settings: Any) -> Answer:
        """Return `ask`, awaited; works in any event loop."""
        one = partial(_ask_all, [_request(question, settings)], stage)
        return (await self.work_async([one], progress=False))[0][0]

    def ask_many(
        self, questions: Iterable[Asked], *, stage: str = "ask", **work_options: Unpack[WorkOptions]
    ) -> list[Answer]:
        """Return the answers to many questions, in their order.

        Calls start in that order, so requests with a common beginning meet the endpoint's prefix cache when
        they stand next to each other; equal requests are asked once. One bad answer raises nothing, it says
        so in its `error`.
        """
        requests = [_request(question, {}) for question in questions]
        work_options = {"totals": {stage: len(requests)}, **work_options}
        return self.work([partial(_ask_all, requests, stage)], **work_options)[0]

    def work(self, methods: Iterable[Method[T]], **work_options: Unpack[WorkOptions]) -> list[T]:
        """Return what methods return, in their order; they are worked on side by side.

        A method is an async function of `ask` (`perslib.llm.request`), begun when there is room for its questions.
        """
        return event_loop.run_on_loop(self._all(methods, **work_options))

    async def work_async(self, methods: Iterable[Method[T]], **work_options: Unpack[WorkOptions]) -> list[T]:
        """Return `work`, awaited; works in any event loop."""
        return await event_loop.wait_for(self._all(methods, **work_options))

    def map(self, method: Each[X, T], items: Iterable[X], **work_options: Unpack[WorkOptions]) -> list[T]:
        """Return `work` on `method(item, ask)` of each item; with a scheduler, on the machines of a cluster."""
        results: list[T] = []
        self.each(method, items, results.append, **work_options)
        return results

    def each(
        self, method: Each[X, T], items: Iterable[X], sink: Callable[[T], object], **work_options: Unpack[WorkOptions]
    ) -> None:
        """Do as `map`, but keep nothing: each result goes to `sink`, in the order of items, as soon as it is its turn."""
        if self.scheduler is not None:
            self._spread(method, items, sink, **work_options)
        else:
            event_loop.run_on_loop(self._work((partial(method, item) for item in items), sink, **work_options))

    def begin(self, method: Method[T]) -> Future[T]:
        """Start on a method and do not wait; cancelling the future stops its questions."""

        async def result() -> T:
            return (await self._all([method], progress=False))[0]

        return event_loop.start_on_loop(result())

    async def _all(self, methods: Iterable[Method[T]], **work_options: Unpack[WorkOptions]) -> list[T]:
        results: list[T] = []
        await self._work(methods, results.append, **work_options)
        return results

    async def _work(
        self,
        methods: Iterable[Method[T]],
        sink: Callable[[T], object],
        progress: bool = True,
        totals: Mapping[str, int] | None = None,
        cap: float | None = None,
        stands_for: float = 1.0,
    ) -> None:
        before = self.ledger.stages
        with ProgressByStage(self.ledger, totals, enabled=progress) as stages:
            account = Account(self.entry, self.ledger, stages.step if self._is_counted else _ignore, cap)
            cached = CachedAnswers(self.abilities, self.cache)
            await QuestionScheduler(
                self.answerer or Endpoint(self.abilities, self.client), cached, account, methods, sink
            ).finish()
            if stands_for != 1:
                self.ledger.multiply(stands_for, before)

    def _spread(
        self,
        method: Each[X, T],
        items: Iterable[X],
        sink: Callable[[T], object],
        progress: bool = True,
        totals: Mapping[str, int] | None = None,
        cap: float | None = None,
        stands_for: float = 1.0,
    ) -> None:
        """Do as `each`, on a cluster."""
        if cap is not None:
            raise BackboneError(
                "A spending cap cannot be kept by several workers at once: leave the cap out, or the scheduler.",
                backbone=self.name,
            )
        stage = next(iter(totals or {}), "work")
        with (
            connect_cluster(self.scheduler) as client,
            StageProgress(None, stage, self.ledger, enabled=progress) as shown,
        ):
            part, seats = share(self.entry, workers_of(client))
            work = partial(_map, method, part, self.cache, self.patience, self._forced)
            rest = iter(items)
            chunks = iter(lambda: list(islice(rest, AT_A_TIME)), [])
            for results, spent in spread(client, work, chunks, seats=(f"perslib {self.entry.address}", seats)):
                for result in results:
                    sink(result)
                took = Ledger.from_dict(spent)
                self.ledger.add(took)
                shown.move(len(results), took.total.calls)

    def digest(self, question: Asked) -> str:
        """Return the content address of a question put to this backbone: all that can change the answer, and no more."""
        return CachedAnswers(self.abilities, self.cache).address(_request(question, {}))

    # -- what the endpoint can do ---------------------------------------------------------------------------

    def probe(self) -> Probe:
        """Ask the endpoint what it can do, save that, and go by it from now on."""
        if self.answerer is not None:
            raise BackboneError(f"In a dry run backbone {self.name!r} is not asked.", backbone=self.name)
        client, fresh = self.client, replace(self.abilities, entry=replace(self.entry, logprobs=None), probe=None)
        self.abilities.forget_refusals()
        fallbacks = Fallbacks(fresh, client)

        async def send(request: Request, form: dict[str, Any] | None) -> Answer:
            return (await fallbacks.send(request, request.messages, client.allowance(), form))[-1]

        async def models() -> Mapping[str, Any]:
            return await client.transport.exchange("GET", "/models")

        async def ask_all() -> Probe:
            await client.transport.open()
            where = self.name, self.entry.address, self.model
            if self.entry.kind == "decisions":
                abilities = probe.describe_deciding(*where)
            else:
                abilities = await probe.probe_endpoint(*where, send, models)
            form, refusal = await probe.probe_decisions(client.transport)
            return replace(abilities, decisions=form, no_decisions=refusal)

        abilities = event_loop.run_on_loop(ask_all())
        self.abilities.probe, self.abilities.thinks = abilities, fresh.thinks
        save_probe(abilities)
        return abilities

    def rung(self, schema: Mapping[str, Any]) -> ReplyFormat:
        """Return the form in which a reply with this schema is asked for first."""
        return self.abilities.rung(schema)

    @property
    def client(self) -> Client:
        """The shared client of the endpoint; a forked process opens its own."""
        return shared_client(self.entry, self.patience, self._minute, self._client)


def dry_run(
    of: Backbone | BackboneEntry | str, cache: Cache | Policy = "off", usual: Usual = lambda question: None
) -> Backbone:
    """Return a backbone that asks nobody and counts: its ledger then holds what the same work would take, stage by
    stage.

        dry = dry_run("embedded")
        dry.map(method, items)
        dry.ledger.total

    A question gets what `usual` makes of it, an answer of the usual length; where that is None, the plainest data that
    its schema takes, or a text of the usual length, and it is counted with `max_tokens`. What is asked twice is asked
    once. With `cache="read"` what the answer cache has is not counted as a call.
    """
    known = entry(of) if isinstance(of, str) else of.entry if isinstance(of, Backbone) else of
    return Backbone(known, cache, answerer=DryRun(know_abilities(known), usual), is_counted=False)


def _ignore(stage: str, answer: Answer) -> None:
    """Count nothing."""


def _request(question: Asked, settings: Mapping[str, Any]) -> Request:
    request = Request.of(question)
    return replace(request, **settings) if settings else request


async def _ask_all(requests: Sequence[Request], stage: str, ask: Ask) -> list[Answer]:
    """Return questions as a method."""
    return list(await ask(requests, stage))


def _map(
    method: Each[X, T], entry: BackboneEntry, cache: Cache, patience: RetryPolicy, forced: bool, items: list[X]
) -> tuple[list[T], dict[str, Any]]:
    """Return, on a worker with its share of the endpoint, what the method returns for each item, and what that cost."""
    model = Backbone(entry, cache, None, patience, forced=forced)
    return model.map(method, items, progress=False), model.ledger.as_dict()


def share(entry: BackboneEntry, workers: int) -> tuple[BackboneEntry, int]:
    """Return a worker's part of an endpoint, and how many workers may have one at a time.

    All parts together are never more than the whole; with more workers than calls in flight, some wait.
    """
    seats = max(1, min(workers, *(bound for bound in (entry.concurrency, entry.rpm) if bound is not None)))

    def part(bound: int | None) -> int | None:
        return None if bound is None else max(1, bound // seats)

    return replace(
        entry, concurrency=max(1, entry.concurrency // seats), rpm=part(entry.rpm), tpm=part(entry.tpm)
    ), seats
