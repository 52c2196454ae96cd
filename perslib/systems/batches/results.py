"""Read files with the results of a batch, a line each, and take the answers into the cache.

A line that cannot be used is no result, never an end: the others count, and its question is asked again.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from perslib.errors import Problem
from perslib.llm.abilities import know_abilities
from perslib.llm.answerers.http import LARGEST_FILE
from perslib.llm.cache.answers import CachedAnswers
from perslib.llm.cache.store import Cache
from perslib.llm.entries import BackboneEntry
from perslib.llm.ledger import Ledger, describe_spending
from perslib.llm.request import QueuedRequest, json_or
from perslib.systems.batches.answerers import ResultReader, Results

_CHUNK = 1 << 16


@dataclass
class BatchResult:
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
        return f"{self.answers:,} answers, {describe_spending(self.ledger.total)}{without}{unusable}{more}"


def decode_file(content: bytes) -> str:
    """Return the text of a file of results: UTF-8, UTF-16 or Latin-1, compressed or not, cut off or not.

    A line that is no UTF-8 in a file of UTF-8 is marked as such, so that nothing takes it for a result.
    """
    if content.startswith(b"\x1f\x8b"):
        content = _decompress(content)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    if b"\0\0" in (content[:4:2], content[1:4:2]):
        return content.decode("utf-16-le" if content[1:2] == b"\0" else "utf-16-be", "replace")
    lines = content.lstrip(b"\0").split(b"\n")
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
    results: dict[str, list[dict[str, Any]]] = {}
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


async def read_answers(entry: BackboneEntry, questions: Iterable[QueuedRequest], results: Results) -> BatchResult:
    """Take the answers to a batch's questions into the cache."""
    abilities = know_abilities(entry)
    reader, cached = ResultReader(abilities, results), CachedAnswers(abilities, Cache())
    taken = BatchResult(Ledger())
    for question in questions:
        answer = await cached.keep(question, await reader.answer(question))
        taken.ledger.record(question.stage, answer)
        if answer.error is None:
            taken.answers += 1
            continue
        taken.reasons.append(answer.error)
        if answer.raw:
            taken.unreadable.add(question.key)
    return taken
