"""A model that answers the questions of H²Memory sensibly, and a small past to remember."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scripted import in_rounds

from perslib.llm import Answer, Method, Request
from perslib.systems.mem_pal.memory.long_term import Exchange, Log, MemorySession


def text_of(request: Request) -> str:
    """All of a question, the answer to one asked before included."""
    return "\n".join(m["content"] for m in request.messages)


def name_of(request: Request) -> str:
    """`h2_refine` of `en/h2_refine@1:…`."""
    return str(request.prompt).partition("/")[2].partition("@")[0]


class Words:
    """An embedder that counts words, each in a column of its own."""

    name = "words"

    def __init__(self) -> None:
        self.columns: dict[str, int] = {}
        self.calls = 0

    def embed(self, texts: Sequence[str], kind: str = "passage") -> Any:
        self.calls += 1
        rows = np.zeros((len(texts), 512), np.float32)
        for row, text in zip(rows, texts):
            for word in re.findall(r"\w+", text.lower()):
                row[self.columns.setdefault(word, len(self.columns)) % 512] += 1
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(length > 0, length, 1)


class Mind:
    """Logs that say "again" were caused by the one before; every two turns are a topic; updates always adjust.

    `other` may answer in its place: it gets the name of the prompt and the request, and returns data, an answer, or
    None to leave it to the mind.
    """

    def __init__(self, other: Callable[[str, Request], Any] = lambda name, request: None):
        self.other = other
        self.asked: list[Request] = []
        self.rounds: list[int] = []

    @property
    def counts(self) -> Counter[str]:
        return Counter(map(name_of, self.asked))

    def of(self, name: str) -> list[str]:
        """The texts of the questions put with this prompt."""
        return [text_of(r) for r in self.asked if name_of(r) == name]

    def work(self, method: Method[Any], at_once: int = 10**6) -> Any:
        return in_rounds(method, self.reply, at_once=at_once, rounds=self.rounds)

    def reply(self, stage: str, requests: Sequence[Request]) -> list[Answer]:
        assert stage == "memory"
        self.asked += requests
        return [self.answer(request) for request in requests]

    def answer(self, request: Request) -> Answer:
        name = name_of(request)
        said = self.other(name, request)
        if isinstance(said, Answer):
            return said
        data = said if said is not None else getattr(self, name)(request.messages[1]["content"])
        return Answer(data=data, text=str(data))

    def h2_relations(self, said: str) -> dict[str, Any]:
        first, last = map(int, re.findall(r"logs (\d+) to (\d+)", said)[-1])
        again = {int(i) for i in re.findall(r"^\[(\d+)\].* again", said, re.M)}
        relations = [
            {"log": i, "caused_by": [i - 1] if i and i in again else [], "follows": []} for i in range(first, last + 1)
        ]
        return {"relations": relations}

    def h2_situation(self, said: str) -> dict[str, Any]:
        first = re.findall(r"^\[\d+\] \S+ \S+ (\w+)", said, re.M)[0]
        return {"situation": f"busy with {first}", "aspects": ["health" if first == "knee" else "work"]}

    def h2_background(self, said: str) -> dict[str, Any]:
        new = said.partition("<<<new situations>>>")[2]
        return {"updates": [{"aspect": "work", "text": "Lately " + ", ".join(re.findall(r"^- (.*)", new, re.M))}]}

    def h2_outline(self, said: str) -> dict[str, Any]:
        turns = [int(n) for n in re.findall(r"<<<user, turn (\d+)>>>", said)]
        wishes = re.findall(r"<<<user, turn \d+>>>\n(.*)", said)
        topics = [
            {
                "first_turn": n,
                "last_turn": min(n + 1, turns[-1]),
                "requirement": f"help with {wishes[n - 1]}",
                "solutions": [
                    {"solution": "one", "user_feedback": "good", "feedback_type": "pos"},
                    {"solution": "two", "user_feedback": "bad", "feedback_type": "neg"},
                    {"solution": "three", "user_feedback": "", "feedback_type": "others"},
                ],
                "preference": f"short answers on {wishes[n - 1]}",
            }
            for n in turns[::2]
        ]
        return {"outlines": topics}

    def h2_refine(self, said: str) -> dict[str, Any]:
        return {"requirement": "refined " + re.findall(r"<<<requirement>>>\n(.*)", said)[0]}

    def h2_requirement(self, said: str) -> dict[str, Any]:
        return {"general_requirement": "kind of " + re.findall(r"^- (.*)", said, re.M)[0]}

    def h2_principle(self, said: str) -> dict[str, Any]:
        return {"principle": "always " + re.findall(r"^- (.*)", said, re.M)[0]}

    def h2_requirement_update(self, said: str) -> dict[str, Any]:
        return {"adjust": False, "general_requirement": "not to be used"}

    def h2_principle_update(self, said: str) -> dict[str, Any]:
        return {"adjust": True, "principle": "now " + re.findall(r"^- (.*)", said, re.M)[0]}


def session(number: int, logs: Sequence[str] = (), wishes: Sequence[str] = ()) -> MemorySession:
    """A session of ten days; each log says what it says, each wish is a turn of the user."""
    month, day = number // 2 + 1, 10 + 10 * (number % 2)
    lines = tuple(Log(f"2024-{month:02}-{day - 9 + i % 9:02} {i // 9:02}:00", text) for i, text in enumerate(logs))
    turns = tuple(Exchange(wish, f"about {wish}") for wish in wishes)
    return MemorySession(f"ada_sample{number}", f"2024-{month:02}-{day:02} 18:00:00", _by_time(lines), turns)


def _by_time(logs: tuple[Log, ...]) -> tuple[Log, ...]:
    """The times in order, the texts as they are."""
    return tuple(Log(at, log.content) for at, log in zip(sorted(log.at for log in logs), logs))


#: 12 logs in 10 groups and 2 topics; 3 logs in 2 groups and 1 topic; no logs and 1 topic; 1 log, no dialogue.
PAST = [
    session(0, ["knee", "again knee", *[f"desk{i}" for i in range(8)], "paper", "again paper"], ["knee", "x", "desk"]),
    session(1, ["garden", "again garden", "knee"], ["garden", "y"]),
    session(2, [], ["knee", "z"]),
    session(3, ["desk"], []),
]
