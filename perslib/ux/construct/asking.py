"""How the stages put their questions: checked answers, asked again with what is wrong; or rehearsed for an estimate.

A session is shown to a model as numbered messages with what was noticed about each, within a budget.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from perslib.llm import Answer, Ask
from perslib.llm.estimate import tokens_of, tokens_of_messages
from perslib.memory.checked import Question, Reading
from perslib.prompts import prompt
from perslib.ux.construct.rules import Rules, clipped
from perslib.ux.construct.sources import Talk

ROOM = 250
"""Tokens that an answer takes for each case, and as many once; so that a small model that rambles comes to an end."""


def _bounded(schema: Mapping[str, Any] | None, most: int) -> Mapping[str, Any] | None:
    """A schema whose lists of objects have so many items at most."""
    if schema is None:
        return None
    properties = {
        name: {**own, "maxItems": min(most, own.get("maxItems", most))}
        if own.get("items", {}).get("type") == "object"
        else own
        for name, own in schema["properties"].items()
    }
    return {**schema, "properties": properties}


@dataclass(frozen=True)
class Task(Question[Any]):
    """A question of a stage, with an answer of the usual length that a rehearsal takes for given."""

    stage: str = ""
    usual: Any = field(default=None, repr=False)


@dataclass(frozen=True)
class Call:
    """One question of a rehearsal: its stage and about how many tokens go in and come out."""

    stage: str
    tokens_in: int
    tokens_out: int


@dataclass
class Asking:
    """What all questions have in common. With a list of `calls` nothing is asked; what would be is added to it."""

    rules: Rules
    language: str = "zh"
    prompts: str | Path | None = None
    calls: list[Call] | None = None

    def task(
        self,
        stage: str,
        name: str,
        place: str,
        read: Callable[[Any], Reading[Any]],
        usual: Any,
        /,
        about: int = 1,
        draw: int = 0,
        **fields: Any,
    ) -> Task:
        """The question that the prompt `uxc_<name>` puts about so many cases, with room for an answer about each.

        Lists in the answer are no longer than that room: a small model that is held to a schema would fill them.
        """
        request = prompt(f"uxc_{name}", self.language, self.prompts).render(**fields)
        request = replace(request, schema=_bounded(request.schema, about + (stage == "mine")))
        room = self.rules.room or min(request.max_tokens or ROOM, ROOM * (1 + about))
        return Task(
            place,
            replace(request, seed=self.rules.seed + draw, sample=draw, max_tokens=room),
            read,
            stage,
            usual,
        )

    async def put(self, task: Task, ask: Ask) -> Reading[Any]:
        """What the answer says; where something is wrong, after saying so and asking again."""
        if self.calls is not None:
            said = str(task.usual)
            self.calls.append(Call(task.stage, tokens_of_messages(task.request.messages), tokens_of(said)))
            return task.reading(Answer(text=said, data=task.usual))
        (answer,) = await ask([task.request], f"ux {task.stage}")
        reading = task.reading(answer)
        for attempt in range(1, self.rules.attempts):
            if not reading.faults or (answer.data is None and (answer.earlier or not answer.text)):
                break  # what does not fit its schema was asked for again already, or never came
            # Another draw, lest the cache give the same answer.
            again = replace(
                task.repeated(answer, reading.faults), sample=attempt, seed=self.rules.seed + attempt
            )
            (other,) = await ask([again], f"ux {task.stage}")
            later = task.reading(other)
            if (later.value is None, len(later.faults)) <= (reading.value is None, len(reading.faults)):
                reading, answer = later, other
        return reading


def shown(talk: Talk, about: Collection[int], rules: Rules) -> list[dict[str, Any]]:
    """The messages as {number, role, signals, seconds, text}; those nearest to the messages `about` are kept.

    `signals` are the names of what a reply met with, `seconds` the time since the message before, where it is known.
    """
    taken = {r.idx: r for r in talk.reactions}
    said = [m for m in talk.session.messages if m.role in ("user", "assistant")]
    texts = {m.idx: clipped(m.text, rules.shown) for m in said}
    left = rules.dialogue
    kept: set[int] = set()
    for message in sorted(said, key=lambda m: (min(abs(m.idx - i) for i in about), m.idx)):
        left -= len(texts[message.idx])
        if left < 0 and kept:
            break
        kept.add(message.idx)
    lines: list[dict[str, Any]] = []
    before: float | None = None
    for message in said:
        gap = None if before is None or message.t is None else message.t - before
        before = message.t
        if message.idx in kept:
            names = taken[message.idx].names if message.idx in taken else ()
            lines.append(
                {
                    "number": message.idx,
                    "role": message.role,
                    "signals": ", ".join(dict.fromkeys(names)),
                    "seconds": "" if gap is None or gap < 0 else str(round(gap)),
                    "text": texts[message.idx],
                }
            )
    return lines
