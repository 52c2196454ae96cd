"""How the steps of a synthesis put their questions: checked answers, asked again with what is wrong, then recorded.

The published programs repeat the same prompt up to ten times; here a model is told what is wrong with its answer, and
`attempts` is 2 unless said otherwise. Nothing stops the run: what a model does not give is left out and said so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from perslib.llm import Answer, Ask, Request
from perslib.llm.estimate import tokens_of, tokens_of_messages
from perslib.memory.checked import Question, Reading
from perslib.prompts import prompt

T = TypeVar("T")

STAGE = "synthesis"
StandIn = Callable[[str, Mapping[str, Any]], Any]


@dataclass(frozen=True)
class Reject:
    """Something a model gave that did not pass, and what became of it."""

    step: str
    place: str
    reason: str
    kept: bool
    """Whether a part of it could be kept."""


@dataclass(frozen=True)
class Task(Question[Any]):
    """A question of a step, with what its prompt is filled with."""

    step: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Call:
    """One question of a rehearsal: its step and about how many tokens go in and come out."""

    step: str
    tokens_in: int
    tokens_out: int


@dataclass
class Writing:
    """One user's synthesis: its language and seed, and what was rejected on the way.

    With a stand-in, which answers in the model's place, nothing is asked; `calls` then says what would have been.
    """

    language: str = "zh"
    seed: int = 42
    attempts: int = 2
    prompts: str | Path | None = None
    check: bool = True
    """Whether a model looks through what was written, besides the checks that take none."""
    stand_in: StandIn | None = field(default=None, repr=False)
    rejected: list[Reject] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    def task(self, step: str, place: str, read: Callable[[Any], Reading[Any]], /, **fields: Any) -> Task:
        """The question of a step, put with the prompt `palsynth_<step>`."""
        request = prompt(f"palsynth_{step}", self.language, self.prompts).render(**fields)
        return Task(place, replace(request, seed=self.seed), read, step, fields)

    async def written(self, tasks: Sequence[Task], ask: Ask) -> list[Any]:
        """What the answers say, in order; None where none could be used."""
        if not tasks:
            return []
        if self.stand_in is not None:
            return [self._rehearsed(task, self.stand_in) for task in tasks]
        answers = list(await ask([task.request for task in tasks], STAGE))
        readings = [task.reading(answer) for task, answer in zip(tasks, answers, strict=True)]
        for attempt in range(1, self.attempts):
            again = [i for i, r in enumerate(readings) if r.faults and _may_be_asked_again(answers[i])]
            if not again:
                break
            repeats = [self._again(tasks[i], answers[i], readings[i], attempt) for i in again]
            for i, answer in zip(again, await ask(repeats, STAGE), strict=True):
                reading = tasks[i].reading(answer)
                if (reading.value is None, len(reading.faults)) <= (
                    readings[i].value is None,
                    len(readings[i].faults),
                ):
                    readings[i], answers[i] = reading, answer
        for task, reading in zip(tasks, readings):
            self.reject(task.step, task.place, reading.faults, kept=reading.value is not None)
        return [reading.value for reading in readings]

    def reject(self, step: str, place: str, reasons: Sequence[str], *, kept: bool = False) -> None:
        """Record what did not pass."""
        self.rejected += [Reject(step, place, reason, kept) for reason in reasons]

    def _again(self, task: Task, answer: Answer, reading: Reading[Any], attempt: int) -> Request:
        """The question after its faulty answer; another draw, lest the cache give the same one."""
        return replace(task.repeated(answer, reading.faults), sample=attempt, seed=self.seed + attempt)

    def _rehearsed(self, task: Task, stand_in: StandIn) -> Any:
        data = stand_in(task.step, task.fields)
        self.calls.append(Call(task.step, tokens_of_messages(task.request.messages), tokens_of(str(data))))
        return task.reading(Answer(text=str(data), data=data)).value


def by_id(
    given: Iterable[Mapping[str, Any]], wanted: Iterable[str], read: Callable[[Any], Reading[T]]
) -> Reading[dict[str, T]]:
    """What an answer gives for each id that it was asked for, in their order; whole items are kept, the rest is told."""
    items = {item["id"].strip(): item for item in given}
    readings = {
        key: read(items[key]) if key in items else Reading[T](None, ("nothing is given for it",))
        for key in wanted
    }
    faults = [f"{key}: {fault}" for key, reading in readings.items() for fault in reading.faults]
    if unknown := [key for key in items if key not in readings]:
        faults.append(f"{', '.join(unknown)}: not asked for")
    whole = {key: reading.value for key, reading in readings.items() if reading.value is not None}
    return Reading(whole or None, tuple(faults))


def _may_be_asked_again(answer: Answer) -> bool:
    """An answer that does not fit its schema was asked for again already, or never came."""
    return answer.data is not None or (bool(answer.text) and not answer.earlier)
