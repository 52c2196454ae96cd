"""Read the results of a batch, a line each, as if every reply had come at once.

A line that cannot be used is no result, never an end: the others count, and its question is asked again.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from perslib.errors import GaveUp, Problem, Refused
from perslib.llm.answerers.completions import read
from perslib.llm.answerers.http import LARGEST_FILE, Fault
from perslib.llm.answerers.limits import Allowance, Client
from perslib.llm.backbone import Backbone
from perslib.llm.ledger import Ledger, describe
from perslib.llm.request import Answer, Request, json_or

Results = dict[str, list[dict[str, Any]]]
"""The results of each question, by its content address, in the order of their lines."""
_CHUNK = 1 << 16


@dataclass
class Taken:
    """What a batch brought: answers that are in the cache now, and why others are not."""

    ledger: Ledger
    answers: int = 0
    reasons: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    """Lines and files that could not be used, whosever results they held."""
    unreadable: set[str] = field(default_factory=set)
    """Content addresses of questions whose reply came and cannot be used: the same question would bring the same reply."""

    def describe(self) -> str:
        """Return one line."""
        without = f"; {len(self.reasons):,} without, such as: {self.reasons[0]}" if self.reasons else ""
        unusable = f"; not usable: {self.problems[0]}" if self.problems else ""
        more = f", and {len(self.problems) - 1:,} more" if len(self.problems) > 1 else ""
        return f"{self.answers:,} answers, {describe(self.ledger.total)}{without}{unusable}{more}"


def decode_file(content: bytes) -> str:
    """Return the text of a file of results: UTF-8, UTF-16 or Latin-1, compressed or not, cut off or not.

    A line that is no UTF-8 in a file of UTF-8 is marked as such, so that nothing takes it for a result.
    """
    if content.startswith(b"\x1f\x8b"):
        content = _decompress(content)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    if content[:2] in (b"{\0", b"\0{"):
        return content.decode("utf-16-le" if content[1:2] == b"\0" else "utf-16-be", "replace")
    lines = content.split(b"\n")
    is_utf8 = {i: _is_utf8(line) for i, line in enumerate(lines) if not line.isascii()}
    if is_utf8 and not any(is_utf8.values()):
        return content.decode("cp1252", "replace")
    return "\n".join(
        line.decode() if is_utf8.get(i, True) else f"not UTF-8: {line.decode('utf-8', 'replace')}"
        for i, line in enumerate(lines)
    )


def _is_utf8(line: bytes) -> bool:
    with suppress(UnicodeDecodeError):
        return bool(line.decode())
    return False


def _decompress(content: bytes) -> bytes:
    """Return what a gzip file holds, as far as it can be read."""
    plain = bytearray()
    with suppress(OSError, EOFError, zlib.error), gzip.open(io.BytesIO(content)) as file:
        while len(plain) < LARGEST_FILE and (part := file.read1(_CHUNK)):
            plain += part
    return bytes(plain)


def find_results(texts: Iterable[tuple[str, str]]) -> tuple[Results, list[Problem]]:
    """Return the results in texts, each with its name, and what stands there that is none."""
    results: Results = {}
    problems = []
    for name, text in texts:
        for number, line in enumerate(text.split("\n"), 1):  # other ends of lines may stand in a text
            line = line.strip("\ufeff \r\t")
            result = json_or(line, None)
            if isinstance(result, dict) and isinstance(result.get("custom_id"), str):
                results.setdefault(result["custom_id"], []).append(result)
            elif line:
                problems.append(Problem(f"{name}, line {number}", f"is no result of a batch: {line[:60]!r}"))
    return results, problems


class Reader(Backbone):
    """A backbone whose calls bring the results of a batch."""

    def __init__(self, model: Backbone):
        super().__init__(model.entry, model.cache)
        self.replies = _Replies(model.client)

    @property
    def client(self) -> Client:
        """The results."""
        return self.replies

    async def read(self, questions: Iterator[tuple[str, Request, str]], results: Results) -> Taken:
        """Read every question's reply: content address, question and stage are given."""
        taken = Taken(self.ledger)
        run = self._run(lambda stage, answer: None, None)
        for key, request, stage in questions:
            reason: str | None = "no result came"
            if key in results:
                self.replies.results = results[key]
                try:
                    one = await run.paid(request, key, stage)
                    reason = one.error
                    if one.error and one.raw:
                        taken.unreadable.add(key)
                except Refused as error:
                    reason = str(error)
            if reason is None:
                taken.answers += 1
            else:
                taken.reasons.append(reason)
        return taken


class _Replies(Client):
    """The endpoint's client while results are read: it gives those of one question, and asks nobody."""

    def __init__(self, client: Client):
        super().__init__(client.transport, client.patience)
        self.unsupported, self.reasons = client.unsupported, client.reasons
        self.results: list[dict[str, Any]] = []

    async def complete(self, body: Mapping[str, Any], tokens: int = 0, allowance: Allowance | None = None) -> Answer:
        """Return the first reply that can be read, once."""
        results, self.results = self.results, []
        failure: Exception = GaveUp("it has to be asked again")
        for number, result in enumerate(results):
            try:
                return self._reply(result, body)
            except Fault as fault:
                reason: Exception = GaveUp(fault.words)
            except Refused as refused:
                reason = refused
            except (RecursionError, TypeError, ValueError) as error:
                reason = GaveUp(f"the result cannot be read ({error})"[:200])
            failure = failure if number else reason
        raise failure

    def _reply(self, result: Mapping[str, Any], body: Mapping[str, Any]) -> Answer:
        """Return the reply in a line; raise what its status means."""
        response = result.get("response")
        status, came = 500, response
        if isinstance(response, Mapping):
            status, came = response.get("status_code", 200), response.get("body", response)
            status = 200 if status is None else int(status)
        came = json_or(came, came) if isinstance(came, str) else came
        if status != 200 or not isinstance(came, Mapping) or not came:
            shown = json.dumps(came or dict(result), ensure_ascii=False)
            raise self.transport.failure(status if status != 200 else 500, {}, shown, body)
        return read(came)
