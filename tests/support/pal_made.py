"""Sessions, a model that says what a test wants, and an embedder of single letters, for long-term memories."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from prompt_fields_pal import ANSWERS
from scripted import in_rounds

from perslib.llm import Answer, Method, Request
from perslib.systems.mem_pal.memory.long_term import Exchange, Log, MemorySession

Say = Callable[[Request], Any]


class Letters:
    """Vectors that count words; equal texts have cosine 1."""

    name = "letters"

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def embed(self, texts: Any, kind: str = "passage") -> np.ndarray:
        rows = np.zeros((len(texts), 512), np.float32)
        for row, text in zip(rows, texts):
            for word in re.findall(r"\w+", text.lower()):
                row[self.known.setdefault(word, len(self.known)) % 512] += 1
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def name_of(request: Request) -> str:
    """`en/pal_user@1:…` → `pal_user`."""
    return str(request.prompt).split("/")[1].split("@")[0]


def usual(request: Request) -> Any:
    """A good answer to any prompt of ours."""
    return ANSWERS[name_of(request)]


class Model:
    """Answers data, or an `Answer`; counts rounds and keeps what it was asked."""

    name, model = "made", "made"

    def __init__(self, say: Say = usual):
        self.say, self.asked, self.stages, self.rounds = say, [], [], 0

    def of(self, method: Method[Any]) -> Any:
        """The result of a method."""
        rounds: list[int] = []
        found = in_rounds(method, self._reply, rounds=rounds)
        self.rounds += len(rounds)
        return found

    def _reply(self, stage: str, requests: Sequence[Request]) -> list[Answer]:
        self.asked += requests
        self.stages += [stage] * len(requests)
        return [self._answer(request) for request in requests]

    def work(self, methods: Iterable[Method[Any]], **settings: Any) -> list[Any]:
        """One method after another."""
        return [self.of(method) for method in methods]

    def map(self, method: Any, items: Iterable[Any], **settings: Any) -> list[Any]:
        """`work` on the method of each item."""
        return self.work([partial(method, item) for item in items], **settings)

    def prompts(self) -> list[str]:
        """Names of the prompts asked, in order."""
        return [name_of(request) for request in self.asked]

    def _answer(self, request: Request) -> Answer:
        said = self.say(request)
        if isinstance(said, Answer):
            return said
        return Answer(text=str(said), data=said, tokens_in=100, tokens_out=10, seconds=0.5, cost=0.01, finish="stop")


def session(number: int, day: str, turns: int = 2, logs: int = 3) -> MemorySession:
    """A session on a day of 2024, `05-20`; its words tell which it is."""
    return MemorySession(
        f"u_sample{number}",
        f"2024-{day} 18:00:00",
        tuple(Log(f"2024-{day} {8 + i:02}:30", f"log{number} thing{i}") for i in range(logs)),
        tuple(Exchange(f"asks{number} item{i}", f"answers{number} item{i}") for i in range(1, turns + 1)),
    )
