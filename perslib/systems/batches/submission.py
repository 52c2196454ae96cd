"""Send a batch to its endpoint, once, wait for it, and fetch its results.

A batch is OpenAI's: a line a question, `custom_id` its content address, so an answer finds its place in the cache. It
carries the name of its folder in `metadata`. Before one is made, the endpoint's list is looked through for it: whatever
broke off an earlier try, an answer that got lost or a process that was killed, no batch is made and paid for twice.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from perslib.errors import BackboneError, Problem, Refused
from perslib.llm import event_loop
from perslib.llm.answerers.endpoint import shared_client
from perslib.llm.answerers.http import TransportError, server_words
from perslib.llm.answerers.limits import Client
from perslib.llm.entries import BackboneEntry
from perslib.paths import lock_folder
from perslib.schemas import show
from perslib.systems.batches.files import QUESTIONS, URL, Batch, read_batch
from perslib.systems.batches.results import BatchResult, decode_file, find_results

T = TypeVar("T")
FIRST_LOOK, LAST_LOOK = 2.0, 60.0
"""Seconds between two looks at a batch, at first and in the end."""
ENDED = ("completed", "expired", "failed", "cancelled")
_WITHOUT_RESULTS = ("failed", "cancelling", "cancelled")
"""A batch in one of these states costs nothing, so another may be made in its place."""
_PAGES, _A_PAGE = 50, 100
"""Pages of the endpoint's list of batches that are looked through, and batches on one."""
_HOUR = 3600.0
"""Difference between two clocks."""
_NOT_ALLOWED = (401, 402, 403)
"""Refusals that another key may end."""
LABEL_FIELD, LABEL = "metadata", "perslib"


def check_takes_batches(entry: BackboneEntry) -> None:
    """Refuse a backbone that is not known to take batches."""
    if entry.batch is None:
        raise BackboneError(
            f"Backbone {entry.name!r} is not known to take batches: add `batch = 0.5`, their price as a share of that of "
            f"asking at once, to [{entry.name}] in backbones.toml, or leave --batch out. For a model that runs offline: "
            "perslib batch write.",
            backbone=entry.name,
        )


def send_batch(batch: Batch) -> None:
    """Send a batch to its endpoint, if nobody did."""
    check_takes_batches(batch.entry)
    with lock_folder(batch.folder):
        batch.state = read_batch(batch.folder).state  # another process may have sent it meanwhile
        if "id" not in batch.state:
            event_loop.run_on_loop(_Submission(batch).send())


def fetch(batch: Batch) -> BatchResult:
    """Wait for a batch and take its answers into the cache; a wait that is broken off goes on with the next call."""
    send_batch(batch)
    model = shared_client(batch.entry)
    try:
        ended = event_loop.run_on_loop(_wait(batch, model))
    except Refused as error:
        if error.status not in _NOT_ALLOWED:  # it is gone: nobody waits for it any more
            batch.note(read=time.time())
        raise
    texts, problems = event_loop.run_on_loop(_download(batch, ended, model))
    results, unusable = find_results(texts)
    if not results and ended.get("status") == "failed":
        batch.note(read=time.time())
        raise BackboneError(
            f"{model.name}: the endpoint failed the batch {batch.state['id']}: {_words(ended.get('errors'))}",
            backbone=model.name,
        )
    return batch.take(results, [*problems, *unusable])


class _Submission:
    """A batch on its way to the endpoint."""

    def __init__(self, batch: Batch):
        self.batch, self.model = batch, shared_client(batch.entry)
        self.transport = self.model.transport
        self.metadata: dict[str, Any] = {LABEL_FIELD: {LABEL: batch.name}}
        self.unlisted = ""
        """Why the endpoint's list of batches cannot be looked through."""
        self.may_be_made = "file" in batch.state
        """Whether an earlier try may have made it."""

    async def send(self) -> None:
        """Have the batch made, unless it was made before, and note its id."""
        made = await _persist(self.model, self.find)
        if made is None:
            self.check_doubt()
            file = await _persist(self.model, self.upload)
            self.batch.note(file=file)
            made = await _persist(self.model, partial(self.make, file))
        self.batch.note(id=made, submitted=time.time())

    async def upload(self) -> str:
        """Send the questions; return the id of their file."""
        return _identifier(await self.transport.upload(self.batch.folder / QUESTIONS), "file")

    async def make(self, file: str) -> str:
        """Make the batch and return its id; where a try before may have made it, look for it first."""
        if self.may_be_made:
            batch = await self.find()
            self.check_doubt()
            if batch is not None:
                return batch
        asked = {"input_file_id": file, "endpoint": URL, "completion_window": "24h", **self.metadata}
        self.may_be_made = True
        try:
            return _identifier(await self.transport.exchange("POST", "/batches", asked), "batch")
        except TransportError as fault:
            self.may_be_made = not (fault.nobody or fault.status == 429)
            raise
        except Refused as no:
            self.may_be_made = False
            if not self.metadata or LABEL_FIELD not in str(no):
                raise
            self.metadata = {}  # then its file tells it from others
            return await self.make(file)

    async def find(self) -> str | None:
        """Return the id of this batch if it is on the endpoint's list."""
        after = ""
        for _ in range(_PAGES):
            try:
                page = await self.transport.exchange("GET", f"/batches?limit={_A_PAGE}{after}")
            except Refused as no:
                self.unlisted = str(no)
                return None
            listed = page.get("data")
            if not isinstance(listed, list):
                self.unlisted = "it sends no list"
                return None
            listed = [one for one in listed if isinstance(one, Mapping) and isinstance(one.get("id"), str)]
            for one in listed:
                if self.is_this(one):
                    return str(one["id"])
            if not page.get("has_more") or not listed or _is_older(listed[-1], self.batch.state["made"]):
                break
            after = f"&after={quote(listed[-1]['id'], safe='')}"
        return None

    def is_this(self, listed: Mapping[str, Any]) -> bool:
        """Return whether a batch of the endpoint is this one, and will have results or has them."""
        label, file = listed.get(LABEL_FIELD), self.batch.state.get("file")
        is_named = isinstance(label, Mapping) and label.get(LABEL) == self.batch.name
        is_same = is_named or (file is not None and listed.get("input_file_id") == file)
        return is_same and listed.get("status") not in _WITHOUT_RESULTS

    def check_doubt(self) -> None:
        """Refuse to make a batch that may be there already where nobody can tell."""
        if self.may_be_made and self.unlisted:
            raise BackboneError(
                f"{self.model.name}: the batch {self.batch.name} was being sent when that broke off, and whether it was made "
                f"cannot be seen in the endpoint's list ({self.unlisted}). Look for it on the provider's own pages. If it is "
                f"not there: perslib batch forget {self.batch.name}, and ask again.",
                backbone=self.model.name,
            )


def _identifier(reply: Mapping[str, Any], kind: str) -> str:
    """Return the id in a reply; a `TransportError` where it has none."""
    name = reply.get("id")
    if isinstance(name, str) and name.strip():
        return name
    raise TransportError(f"the reply names no {kind}: its id is {show(name)}")


def _is_older(listed: Mapping[str, Any], moment: float) -> bool:
    made = listed.get("created_at")
    return isinstance(made, int | float) and made < moment - _HOUR


async def _wait(batch: Batch, model: Client) -> dict[str, Any]:
    """Return what the endpoint says of the batch in the end."""
    from tqdm import tqdm

    pause, path = FIRST_LOOK, f"/batches/{quote(batch.state['id'], safe='')}"
    with tqdm(total=batch.state["questions"], desc=f"{model.name}, batch", disable=None) as shown:
        while True:
            seen = await _persist(model, partial(model.transport.exchange, "GET", path))
            counts = seen.get("request_counts")
            done = [counts.get(kind) for kind in ("completed", "failed")] if isinstance(counts, Mapping) else []
            shown.update(min(sum(n for n in done if isinstance(n, int) and n > 0), shown.total) - shown.n)
            if seen.get("status") in ENDED:
                return seen
            await asyncio.sleep(pause)
            pause = min(LAST_LOOK, 1.5 * pause)


async def _download(
    batch: Batch, ended: Mapping[str, Any], model: Client
) -> tuple[list[tuple[str, str]], list[Problem]]:
    """Return the files of answers and of errors, each with its name, and why one is not to be had."""
    texts, problems = [], []
    for kind in ("output_file_id", "error_file_id"):
        name, place = ended.get(kind), f"{kind} of batch {batch.name}"
        if name is not None and not isinstance(name, str):
            problems.append(Problem(place, f"is {show(name)}, expected the id of a file"))
        elif name:
            path = f"/files/{quote(name, safe='')}/content"
            try:
                texts.append((place, await _persist(model, partial(model.transport.download, path, decode_file))))
            except Refused as no:
                if no.status in _NOT_ALLOWED:
                    raise
                problems.append(Problem(place, str(no)))
    return texts, problems


def _words(errors: Any) -> str:
    """Return the endpoint's own words on a batch that failed."""
    listed = errors.get("data") if isinstance(errors, Mapping) else errors
    first = listed[0] if isinstance(listed, list) and listed else listed
    return server_words(json.dumps(first))[0] if first else "it does not say why"


@dataclass
class _Came(Generic[T]):
    """Something that is no answer, in the form that `Client.call_with_retries` passes on."""

    value: T
    tokens_in: int = 0
    tokens_out: int = 0
    retries: int = 0


async def _persist(model: Client, attempt: Callable[[], Awaitable[T]]) -> T:
    """Return what an exchange brings, tried again as calls are."""

    async def one() -> Any:
        return _Came(await attempt())

    return (await model.call_with_retries(one, 0)).value
