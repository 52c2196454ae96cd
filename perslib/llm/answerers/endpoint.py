"""The answerer that asks a model: an endpoint's, or the embedded one behind the same client."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from perslib.errors import GaveUp
from perslib.llm.abilities import Abilities
from perslib.llm.answerers.embedded import EmbeddedTransport
from perslib.llm.answerers.http import Transport
from perslib.llm.answerers.limits import Client, RetryPolicy
from perslib.llm.entries import BackboneEntry
from perslib.llm.request import Answer, QueuedRequest
from perslib.llm.structured.fallbacks import Fallbacks

if TYPE_CHECKING:
    from openai import AsyncOpenAI

MOST_FAILURES = 16
"""Calls given up in a row, beyond those in flight, after which a run stops: the endpoint is not well."""
_clients: dict[tuple[Any, ...], Client] = {}
_lock = threading.Lock()


def shared_client(
    entry: BackboneEntry, patience: RetryPolicy | None = None, minute: float = 60.0, own: AsyncOpenAI | None = None
) -> Client:
    """Return the client of an endpoint that all backbones of this process share; a forked process opens its own.

    `own` is the user's client that takes the place of ours at the wire.
    """
    patience = patience or RetryPolicy()
    key = (os.getpid(), repr(entry), patience, minute, own)
    with _lock:
        if key not in _clients:
            transport = EmbeddedTransport(entry) if entry.kind == "embedded" else Transport(entry, own)
            _clients[key] = Client(transport, patience, minute)
        return _clients[key]


class Endpoint:
    """Asks the model at an endpoint, within its limits, in the best form that it takes."""

    def __init__(self, abilities: Abilities, client: Client):
        self.abilities, self.client = abilities, client
        self.fallbacks = Fallbacks(abilities, client)

    async def answer(self, question: QueuedRequest) -> Answer:
        """Return the endpoint's answer; `GaveUp` when call after call comes to nothing."""
        answer = await self.fallbacks.answer(question.request)
        entry = self.abilities.entry
        most = MOST_FAILURES + entry.concurrency
        if self.client.failures < most:
            return answer
        self.client.failures = 0
        raise GaveUp(
            f"Stopped: {most} calls in a row to backbone {entry.name!r} came to nothing; the last one: "
            f"{answer.error}. What was answered is in the cache; run again later.",
            backbone=entry.name,
        )
