"""The answers of one run in the cache: read before anything is asked, claimed while it is asked, kept when they come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perslib.llm.abilities import Abilities
from perslib.llm.cache.address import content_address, fingerprint_model
from perslib.llm.cache.claims import Claims
from perslib.llm.cache.store import Cache, Meta
from perslib.llm.request import Answer, QueuedRequest, Request, whole_characters
from perslib.llm.structured.fallbacks import parse_again


class CachedAnswers:
    """What the cache has of one model's answers, and what it gets from this run."""

    def __init__(self, abilities: Abilities, cache: Cache):
        self.abilities, self.cache, self.claims = abilities, cache, Claims(cache)
        self._weights = fingerprint_model(abilities.entry)
        self._unwritten: list[tuple[str, Mapping[str, Any], Meta]] = []
        self._written: asyncio.Future[None]

    def address(self, request: Request) -> str:
        """Return the content address of a question: all that can change the answer, and no more."""
        return content_address(self.abilities.entry, self._weights, request)

    def read(self, requests: Mapping[str, Request]) -> dict[str, Answer]:
        """Read the answers that the cache has, by content address."""
        records = self.cache.get_many(list(requests)) if requests else {}
        return {key: _restore(r, requests[key]) for key, r in records.items() if self._is_whole(r, requests[key])}

    def claim(self, asked: Mapping[str, Request]) -> tuple[dict[str, Answer], set[str]]:
        """Return the answers that the cache has, and which of the others are ours to ask: nobody else is asking them."""
        read = self.read(asked)
        ours, is_answered = self.claims.take(asked.keys() - read.keys())
        late = self.read({key: asked[key] for key in ours}) if is_answered else {}
        self.claims.release(late.keys())
        return read | late, ours - late.keys()

    async def keep(self, question: QueuedRequest, answer: Answer) -> Answer:
        """Write an answer that may be kept, and return it with the names of model and question."""
        entry = self.abilities.entry
        # An endpoint names the dated version. The path of a model file is not for the record.
        named = answer.model if entry.kind != "embedded" else ""
        model = Path(named).name if named.endswith(".gguf") else named or entry.display_name
        sent, answer = answer.sent, answer.with_(backbone=entry.name, model=model, digest=question.key, sent=None)
        if sent is None:
            self.claims.release([question.key])
            return answer
        meta = {"backbone": entry.name, "model": model, "stage": question.stage, "prompt": question.request.prompt}
        self.cache.put_requests([(question.key, sent)])
        await self._write_soon(question.key, answer.to_record(), meta)
        return answer

    async def _write_soon(self, key: str, answer: Mapping[str, Any], meta: Meta) -> None:
        """Write an answer, in one transaction with those that come in at the same time."""
        self._unwritten.append((key, answer, meta))
        if len(self._unwritten) == 1:
            loop = asyncio.get_running_loop()
            self._written = loop.create_future()
            loop.call_soon(self._write)
        await asyncio.shield(self._written)  # others wait for it too

    def _write(self) -> None:
        rows, self._unwritten = self._unwritten, []
        try:
            self.cache.put_many(rows)
        except Exception as error:
            self._written.set_exception(error)
        else:
            self._written.set_result(None)

    def _is_whole(self, record: Mapping[str, Any], request: Request) -> bool:
        """Tell whether an answer is not empty, and has log probabilities where these are wanted and could be had by now."""
        if "text" not in record:
            return False
        if record.get("error") is None and not record["text"] and request.schema is None:
            return self.cache.policy == "only"  # older versions kept them
        wants = bool(request.top_logprobs) and self.abilities.gives_logprobs
        return not wants or record.get("logprobs") is not None or self.cache.policy == "only"


def _restore(record: Mapping[str, Any], request: Request) -> Answer:
    """Make an answer of a record of the cache, read again in case reading has learned something since."""
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # older versions kept halves of characters, which no table or file takes
        record = json.loads(whole_characters(json.dumps(record)))
    answer = Answer.from_record(record)
    return answer if request.schema is None else parse_again(answer, request.schema)
