"""Batches on disk, a folder each: the questions, what is needed to read the replies, and how far they are."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import count, zip_longest
from pathlib import Path
from typing import Any

from perslib.errors import DataError, Problem, UnknownName
from perslib.llm import event_loop
from perslib.llm.entries import BackboneEntry, Prices, restore_entry
from perslib.llm.request import QueuedRequest, Request, digest
from perslib.paths import state_folder, write_whole
from perslib.schemas import Schema, check, read_schema
from perslib.systems.batches.results import BatchResult, Results, decode_file, find_results, read_answers

URL = "/v1/chat/completions"
MOST, LARGEST = 50_000, 190_000_000
"""Questions and bytes of a batch; more are several batches."""
_ENDS_OF_LINES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"}
"""Where some programs end a line that is none."""
QUESTIONS, HOW, STATE = "questions.jsonl", "how.jsonl", "batch.json"
_STATE, _QUESTION = (read_schema(__file__, "batch.schema.toml", part) for part in ("state", "question"))


def folder() -> Path:
    """Return where batches are."""
    return state_folder() / "batches"


@dataclass
class Batch:
    """Questions to one model in one file; `state` says how far they are."""

    folder: Path
    state: dict[str, Any]

    @property
    def name(self) -> str:
        """The name of its folder, which the endpoint is given too."""
        return self.folder.name

    @property
    def entry(self) -> BackboneEntry:
        """The backbone that is asked, at the price of a batch."""
        entry = restore_entry(self.state["entry"], f"{self.folder / STATE}: entry")
        prices, share = entry.prices, entry.batch or 1.0
        if prices is not None:
            cached = None if prices.cached is None else share * prices.cached
            prices = Prices(input=share * prices.input, output=share * prices.output, cached=cached)
        return BackboneEntry(**{**vars(entry), "prices": prices})

    @property
    def cost(self) -> float | None:
        """What it is expected to cost."""
        return self.entry.cost(self.state["tokens_in"], 0, self.state["tokens_out"])

    @property
    def is_open(self) -> bool:
        """Whether it was sent, as far as is known, and its results were not read."""
        return bool({"id", "file"} & self.state.keys()) and "read" not in self.state

    def describe(self) -> str:
        """Return questions, tokens, and the price next to that of asking at once."""
        entry, tokens = self.entry, self.state["tokens_in"] + self.state["tokens_out"]
        about = f"{entry.name}: {self.state['questions']:,} questions in a batch, about {tokens / 1e3:,.0f}k tokens"
        if self.cost is None:
            return f"{about}; the price is not known, the entry has no prices"
        at_once = self.cost / (entry.batch or 1.0)
        as_of = f", prices of {entry.prices_as_of}" if entry.prices_as_of else ""
        return f"{about}: about ${self.cost:,.2f}; asked at once about ${at_once:,.2f}{as_of}"

    def note(self, **news: Any) -> None:
        """Write down how far it is."""
        self.state |= news
        write_whole(self.folder / STATE, json.dumps(self.state, indent=1, ensure_ascii=False))

    def take(self, results: Results, problems: Collection[Problem] = ()) -> BatchResult:
        """Take results into the answer cache; each is read as if it had come at once."""
        taken = event_loop.run_on_loop(read_answers(self.entry, self.read_questions(), results))
        taken.problems += problems
        self.note(read=time.time())
        return taken

    def read_questions(self) -> Iterator[QueuedRequest]:
        """Read the question of each line."""
        with (self.folder / QUESTIONS).open("rb") as lines, (self.folder / HOW).open("rb") as how:
            for number, (line, more) in enumerate(zip_longest(lines, how, fillvalue=b""), 1):
                place = f"{self.folder / QUESTIONS}:{number}"
                asked = _read_json(line, place, self.folder) | _read_json(more, place, self.folder)
                _check(asked, _QUESTION, place, self.folder)
                request = Request(asked["body"]["messages"], **asked["request"])
                yield QueuedRequest(0, number, asked["custom_id"], request, asked["stage"])

    def remove_unsent(self) -> None:
        """Remove its folder, unless it may have been sent."""
        if not {"id", "file"} & self.state.keys():
            shutil.rmtree(self.folder)


def read_batch(place: Path) -> Batch:
    """Read the batch in a folder; a DataError says what is damaged."""
    file = place / STATE
    batch = Batch(place, _read_json(file.read_bytes() if file.is_file() else b"", str(file), place))
    _check(batch.state, _STATE, str(file), place)
    restore_entry(batch.state["entry"], f"{file}: entry")
    return batch


def _read_json(content: bytes, place: str, where: Path) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else _refuse([Problem(place, "is damaged")], where)


def _check(record: Any, schema: Schema, place: str, where: Path) -> None:
    if problems := check(record, schema, place):
        _refuse(problems, where)


def _refuse(problems: list[Problem], where: Path) -> Any:
    raise DataError(problems, f"To have its questions asked anew: perslib batch forget {where.name}")


def list_batches() -> tuple[list[Batch], list[DataError]]:
    """Return all batches, the oldest first, and what is wrong with those that cannot be read."""
    read, damaged = [], []
    for file in sorted(folder().glob(f"*/{STATE}")):
        try:
            read.append(read_batch(file.parent))
        except DataError as error:
            damaged.append(error)
    return sorted(read, key=lambda batch: batch.state["made"]), damaged


def delete_batch(name: str) -> Batch | None:
    """Remove a batch's folder, whatever is in it; return what could be read of it."""
    known = {place.name: place for place in folder().glob("*") if place.is_dir()}
    if name not in known:
        raise UnknownName("batch", name, known)
    try:
        batch = read_batch(known[name])
    except DataError:
        batch = None
    shutil.rmtree(known[name])
    return batch


def write_batches(collected: Path, leave: Collection[str] = ()) -> tuple[list[Batch], int]:
    """Make batches of what a rehearsal collected, those to `leave` excepted; also return how many have to wait for
    these.
    """
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
    """Give batches of the questions to one model; none is larger than an endpoint takes."""
    part: list[dict[str, Any]] = []
    lines: list[str] = []
    size = 0
    for question in questions:
        asked = {"custom_id": question["custom_id"], "method": "POST", "url": URL, "body": question["body"]}
        line = json.dumps(asked, ensure_ascii=False).translate(_ENDS_OF_LINES) + "\n"
        more = len(line.encode())
        if part and (len(part) == MOST or size + more > LARGEST):
            yield _make(entry, part, lines)
            part, lines, size = [], [], 0
        part.append(question)
        lines.append(line)
        size += more
    if part:
        yield _make(entry, part, lines)


def _make(entry: dict[str, Any], part: list[dict[str, Any]], lines: list[str]) -> Batch:
    """Write a batch as files; one of the same questions that was not read yet goes on.

    Where the results of one were read and these questions are left all the same, the next has a name of its own.
    """
    name = digest({"questions": [question["custom_id"] for question in part]})[:12]
    for number in count(1):
        place = folder() / (name if number == 1 else f"{name}-{number}")
        try:
            known = read_batch(place)
        except DataError:
            break
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


def store_result_files(files: Iterable[Path]) -> Iterator[tuple[Batch, BatchResult]]:
    """Take files of results that came another way into the cache, each line to the batch that it answers."""
    results, problems = find_results((file.name, decode_file(file.read_bytes())) for file in files)
    answered = [batch for batch in list_batches()[0] if any(one.key in results for one in batch.read_questions())]
    if not answered:
        remedy = "Give the file that `vllm run-batch -o` or the endpoint wrote."
        none = Problem("", "These results answer no question that was written here (`perslib batch` lists what was).")
        raise DataError([*problems, none], remedy)
    for batch in answered:
        yield batch, batch.take(results, problems)
