"""Batches: many questions in one file, answered within a day, at a part of the price.

    write(file)          what a rehearsal collected → batches, a folder each in `.perslib/batches`
    submit(batch)        send it to its endpoint
    answer(batch)        wait for it, and take the answers into the cache
    read_files(files)    take results that came another way (`vllm run-batch`)

A batch is OpenAI's: a line a question, `custom_id` its content address, so an answer finds its place in the cache. What
is lost, fails, or cannot be read has no answer then, and is asked in the next batch, or at once by whoever needs it.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from perslib.errors import BackboneError, DataError, GaveUp, Problem, Refused
from perslib.llm import loop
from perslib.llm.backbone import Backbone
from perslib.llm.ledger import Ledger, describe
from perslib.llm.registry import Entry, Prices
from perslib.llm.reply import read
from perslib.llm.retry import Allowance, Client
from perslib.llm.transport import Fault
from perslib.llm.types import Answer, Request, digest, json_or
from perslib.paths import state, write_whole

T = TypeVar("T")
URL = "/v1/chat/completions"
MOST, LARGEST = 50_000, 190_000_000
"""Questions and bytes of a batch; more are several batches."""
FIRST_LOOK, LAST_LOOK = 2.0, 60.0
"""Seconds between two looks at a batch, at first and in the end."""
ENDED = ("completed", "expired", "failed", "cancelled")
_ENDS_OF_LINES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"}
"""Where some programs end a line that is none."""
QUESTIONS, HOW, STATE = "questions.jsonl", "how.jsonl", "batch.json"


def folder() -> Path:
    """Where batches are."""
    return state() / "batches"


@dataclass
class Batch:
    """Questions to one model in one file; `state` says how far they are."""

    folder: Path
    state: dict[str, Any]

    @property
    def entry(self) -> Entry:
        """The backbone that is asked, at the price of a batch."""
        table = self.state["entry"]
        prices, share = table["prices"], table["batch"] or 1.0
        if prices:
            prices = Prices(**{name: share * price for name, price in prices.items() if price is not None})
        known = {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}
        return Entry(**known | {"prices": prices})

    @property
    def cost(self) -> float | None:
        """What it is expected to cost."""
        return self.entry.cost(self.state["tokens_in"], 0, self.state["tokens_out"])

    def describe(self) -> str:
        """Questions, tokens, and the price, beside that of asking at once."""
        entry, tokens = self.entry, self.state["tokens_in"] + self.state["tokens_out"]
        said = f"{entry.name}: {self.state['questions']:,} questions in a batch, about {tokens / 1e3:,.0f}k tokens"
        if self.cost is None:
            return f"{said}; the price is not known, the entry has no prices"
        at_once = self.cost / (entry.batch or 1.0)
        as_of = f", prices of {entry.prices_as_of}" if entry.prices_as_of else ""
        return f"{said}: about ${self.cost:,.2f}; asked at once about ${at_once:,.2f}{as_of}"

    def note(self, **news: Any) -> None:
        """Write down how far it is."""
        self.state |= news
        write_whole(self.folder / STATE, json.dumps(self.state, indent=1, ensure_ascii=False))

    def take(self, results: Mapping[str, dict[str, Any]]) -> Taken:
        """Take results by content address into the answer cache; each is read as if it had come at once."""
        model = Backbone(self.entry)
        reading = _Reading(model)
        taken = loop.run(reading.read(self, results))
        model.client.reasons |= reading.replies.reasons
        self.note(read=time.time())
        return taken

    def forget(self) -> None:
        """Remove its files, unless it was submitted."""
        if "id" not in self.state:
            shutil.rmtree(self.folder)

    def addresses(self) -> set[str]:
        """The content addresses of its questions."""
        with (self.folder / QUESTIONS).open(encoding="utf-8") as lines:
            return {json.loads(line)["custom_id"] for line in lines}

    def requests(self) -> Iterator[tuple[str, Request, str]]:
        """Content address, question and stage of each line."""
        with (self.folder / QUESTIONS).open(encoding="utf-8") as lines, (self.folder / HOW).open("rb") as how:
            for line, one in zip(lines, map(json.loads, how)):
                asked = json.loads(line)
                yield asked["custom_id"], Request(asked["body"]["messages"], **one["request"]), one["stage"]


@dataclass
class Taken:
    """What a batch brought: answers that are in the cache now, and why others are not."""

    ledger: Ledger
    answers: int = 0
    reasons: list[str] = field(default_factory=list)
    unreadable: set[str] = field(default_factory=set)
    """Content addresses of questions whose reply came and cannot be used: the same question would bring the same reply."""

    def describe(self) -> str:
        """One line."""
        without = f"; {len(self.reasons):,} without, such as: {self.reasons[0]}" if self.reasons else ""
        return f"{self.answers:,} answers, {describe(self.ledger.total)}{without}"


def batches() -> list[Batch]:
    """All batches, the oldest first."""
    found = [Batch(file.parent, json.loads(file.read_text("utf-8"))) for file in folder().glob(f"*/{STATE}")]
    return sorted(found, key=lambda batch: batch.state["made"])


def open_batches(names: Iterable[str]) -> list[Batch]:
    """Those of these backbones that were submitted and not read."""
    return [b for b in batches() if b.state["entry"]["name"] in names and b.state.get("id") and "read" not in b.state]


def write(collected: Path, leave: Collection[str] = ()) -> tuple[list[Batch], int]:
    """Make batches of what a rehearsal collected, those to `leave` excepted; also returns how many have to wait for these."""
    parts: dict[str, list[dict[str, Any]]] = {}
    seen = set(leave)
    waiting = 0
    collected.touch()  # where nothing was asked, there is none
    with collected.open("rb") as lines:
        for question in map(json.loads, lines):
            if question["custom_id"] in seen:
                continue
            seen.add(question["custom_id"])
            if "body" in question:
                parts.setdefault(json.dumps(question["entry"]), []).append(question)
            else:
                waiting += 1
    return [made for entry, asked in parts.items() for made in _cut(json.loads(entry), asked)], waiting


def _cut(entry: dict[str, Any], questions: list[dict[str, Any]]) -> Iterator[Batch]:
    """Batches of the questions to one model; none is larger than an endpoint takes."""
    part: list[dict[str, Any]] = []
    lines: list[str] = []
    size = 0
    for question in questions:
        asked = {"custom_id": question["custom_id"], "method": "POST", "url": URL, "body": question["body"]}
        line = json.dumps(asked, ensure_ascii=False).translate(_ENDS_OF_LINES) + "\n"
        more = len(line.encode())
        if part and (len(part) == MOST or size + more > LARGEST):
            yield _written(entry, part, lines)
            part, lines, size = [], [], 0
        part.append(question)
        lines.append(line)
        size += more
    if part:
        yield _written(entry, part, lines)


def _written(entry: dict[str, Any], part: list[dict[str, Any]], lines: list[str]) -> Batch:
    """A batch as files; one of the same questions that was not read yet goes on."""
    name = digest({"questions": [question["custom_id"] for question in part]})[:12]
    place = folder() / name
    if (place / STATE).is_file():
        known = Batch(place, json.loads((place / STATE).read_text("utf-8")))
        if "read" not in known.state:
            return known
    place.mkdir(parents=True, exist_ok=True)
    how = [json.dumps({"stage": q["stage"], "request": q["request"]}, ensure_ascii=False) + "\n" for q in part]
    write_whole(place / QUESTIONS, "".join(lines))
    write_whole(place / HOW, "".join(how))
    tokens_in, tokens_out = (sum(question["tokens"][i] for question in part) for i in (0, 1))
    made = Batch(place, {"entry": entry, "made": time.time(), "questions": len(part)})
    made.note(tokens_in=tokens_in, tokens_out=tokens_out)
    return made


def read_files(files: Iterable[Path]) -> Iterator[tuple[Batch, Taken]]:
    """Take files of results into the cache, each line to the batch that it answers."""
    found = _by_id(line for file in files for line in file.read_text("utf-8").split("\n"))
    known = [(one, one.addresses()) for one in batches()]
    known = [(one, addresses) for one, addresses in known if found.keys() & addresses]
    if not known:
        raise DataError("These results answer no question that was written here (`perslib batch` lists what was).")
    for one, _ in known:
        yield one, one.take(found)


# -- an endpoint's batches --------------------------------------------------------------------------------


def check_takes_batches(entry: Entry) -> None:
    """Refuse a backbone that is not known to take batches."""
    if entry.batch is None:
        raise BackboneError(
            f"Backbone {entry.name!r} is not known to take batches: add `batch = 0.5`, their price as a share of that of "
            f"asking at once, to [{entry.name}] in backbones.toml, or leave --batch out. For a model that runs offline: "
            "perslib batch write.",
            backbone=entry.name,
        )


def submit(batch: Batch) -> None:
    """Send a batch to its endpoint, if that was not done."""
    check_takes_batches(batch.entry)
    if "id" not in batch.state:
        loop.run(_submit(batch, Backbone(batch.entry)))


def answer(batch: Batch) -> Taken:
    """Wait for a batch and take its answers into the cache; a wait that is broken off goes on with the next call."""
    submit(batch)
    model = Backbone(batch.entry)
    try:
        said = loop.run(_wait(batch, model))
    except Refused as error:
        if error.status == 404:  # nobody waits for it any more
            batch.note(read=time.time())
        raise
    results = loop.run(_results(said, model))
    if not results and said["status"] == "failed":
        errors = (said.get("errors") or {}).get("data") or [{}]
        batch.note(read=time.time())
        words = errors[0].get("message") or "it does not say why"
        raise BackboneError(
            f"{model.name}: the endpoint failed the batch {batch.state['id']}: {words}", backbone=model.name
        )
    return batch.take(_by_id(results))


async def _submit(batch: Batch, model: Backbone) -> None:
    transport = model.client.transport
    file = await _persist(model, partial(transport.upload, batch.folder / QUESTIONS))
    asked = {"input_file_id": file["id"], "endpoint": URL, "completion_window": "24h"}
    made = await _persist(model, partial(transport.exchange, "POST", "/batches", asked))
    batch.note(id=made["id"], submitted=time.time())


async def _wait(batch: Batch, model: Backbone) -> dict[str, Any]:
    """What the endpoint says of the batch in the end."""
    from tqdm import tqdm

    pause, path = FIRST_LOOK, f"/batches/{batch.state['id']}"
    with tqdm(total=batch.state["questions"], desc=f"{model.name}, batch", disable=None) as shown:
        while True:
            said = await _persist(model, partial(model.client.transport.exchange, "GET", path))
            counts = said.get("request_counts") or {}
            shown.update(sum(counts.get(kind) or 0 for kind in ("completed", "failed")) - shown.n)
            if said.get("status") in ENDED:
                return said
            await asyncio.sleep(pause)
            pause = min(LAST_LOOK, 1.5 * pause)


async def _results(said: Mapping[str, Any], model: Backbone) -> list[str]:
    """The lines of answers, and of errors."""
    lines = []
    for kind in ("output_file_id", "error_file_id"):
        if name := said.get(kind):
            path = f"/files/{name}/content"
            text = await _persist(model, partial(model.client.transport.download, path))
            lines += text.split("\n")  # other ends of lines may stand in a text
    return lines


@dataclass
class _Came(Generic[T]):
    """Something that is no answer, in the form that `Client.persist` passes on."""

    value: T
    tokens_in: int = 0
    tokens_out: int = 0
    retries: int = 0


async def _persist(model: Backbone, attempt: Callable[[], Awaitable[T]]) -> T:
    """What an exchange brings, tried again as calls are."""

    async def one() -> Any:
        return _Came(await attempt())

    return (await model.client.persist(one, 0)).value


# -- taking results ---------------------------------------------------------------------------------------


class _Replies(Client):
    """The endpoint's client while results are read: gives the reply of one line, and asks nobody."""

    def __init__(self, client: Client):
        super().__init__(client.transport, client.patience)
        self.unsupported, self.reasons = client.unsupported, client.reasons
        self.line: dict[str, Any] | None = None

    async def complete(self, body: Mapping[str, Any], tokens: int = 0, allowance: Allowance | None = None) -> Answer:
        """The reply that came, once."""
        line, self.line = self.line, None
        if line is None:
            raise GaveUp("it has to be asked again")
        response = line.get("response") or {}
        came = response.get("body", response)
        status = response.get("status_code") or 200
        try:
            if status != 200 or not came:
                raise self.transport.failure(status if status != 200 else 500, {}, json.dumps(came or line), body)
            return read(came)
        except Fault as fault:
            raise GaveUp(fault.words) from None


class _Reading(Backbone):
    """A backbone whose calls bring the replies of a batch."""

    def __init__(self, model: Backbone):
        super().__init__(model.entry, model.cache)
        self.replies = _Replies(model.client)

    @property
    def client(self) -> Client:
        """The replies."""
        return self.replies

    async def read(self, batch: Batch, found: Mapping[str, dict[str, Any]]) -> Taken:
        """Read every question's reply, as if it had come at once."""
        taken = Taken(self.ledger)
        run = self._run(lambda stage, answer: None, None)
        for key, request, stage in batch.requests():
            reason: str | None = "no result came"
            if key in found:
                self.replies.line = found[key]
                try:
                    one = await run.paid(request, key, stage)
                    reason = one.error
                    if one.error and one.raw:
                        taken.unreadable.add(key)
                except Refused as error:
                    reason = str(error)
            taken.answers += reason is None
            if reason is not None:
                taken.reasons.append(reason)
        return taken


def _by_id(results: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Content address → result."""
    found: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(results, 1):
        result = json_or(line, None) if line.strip() else {}
        if not isinstance(result, dict):
            problem = Problem(f"line {number}", f"is no result of a batch: {line[:60]!r}")
            raise DataError(problem, "Give the file that `vllm run-batch -o` or the endpoint wrote, whole.")
        found[str(result.get("custom_id"))] = result
    return found
