"""Questions whose answers are checked: what does not hold is said to the model once, then recorded and left out.

    readings = await ask_and_check([CheckedQuestion("0000_sample3: outline", request, read), …], ask)

`read` makes a value of an answer's data and says what is wrong with it. A value may come with faults: what could be
kept of an answer that is partly wrong. The data has passed the request's JSON schema when it is read, so no type in it
can surprise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from perslib.llm import Answer, Ask, Request
from perslib.llm.structured.parsing import find_schema_faults, language_of, make_retry_messages

T = TypeVar("T")
S = TypeVar("S", covariant=True)

STAGE = "memory"
"""All that is asked for a memory counts under this line of the ledger, so that it can be asked at once."""


@dataclass(frozen=True)
class ParsedReply(Generic[S]):
    """What an answer says, and what of it does not hold."""

    value: S | None
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckedQuestion(Generic[T]):
    """A question, what it is about, and how its answer is read."""

    place: str
    request: Request = field(repr=False)
    read: Callable[[Any], ParsedReply[T]] = field(repr=False)

    def reading(self, answer: Answer) -> ParsedReply[T]:
        """Return what the answer says; nothing where it does not fit the schema."""
        if answer.data is None:
            return ParsedReply(None, (answer.error or "nothing was said",))
        problem = find_schema_faults(answer.data, self.request.schema or {})
        return ParsedReply(None, (problem,)) if problem else self.read(answer.data)

    def repeat_with(self, answer: Answer, problems: Sequence[str]) -> Request:
        """Return the question once more, after the answer and what is wrong with it."""
        messages, problem = self.request.messages, "; ".join(problems)
        words = make_retry_messages(
            messages, answer.text or answer.raw, problem, self.request.schema or {}, language_of(messages)
        )
        return replace(self.request, messages=words)


async def ask_and_check(
    questions: Sequence[CheckedQuestion[T]], ask: Ask, stage: str = STAGE, attempts: int = 2, seed: int | None = None
) -> list[ParsedReply[T]]:
    """Return what the answers to these questions say, in order; where something is wrong, after asking again.

    Of two answers that of which more can be kept counts, the later of equals. With a `seed` each attempt is another draw.
    """
    if not questions:
        return []
    answers = list(await ask([q.request for q in questions], stage))
    readings = [q.reading(a) for q, a in zip(questions, answers, strict=True)]
    for attempt in range(1, attempts):
        again = [i for i, (a, r) in enumerate(zip(answers, readings)) if r.faults and _may_be_asked_again(a)]
        if not again:
            break
        repeats = [questions[i].repeat_with(answers[i], readings[i].faults) for i in again]
        if seed is not None:  # else the cache might give the same answer
            repeats = [replace(request, sample=attempt, seed=seed + attempt) for request in repeats]
        for i, answer in zip(again, await ask(repeats, stage), strict=True):
            reading = questions[i].reading(answer)
            if _badness(reading) <= _badness(readings[i]):
                readings[i], answers[i] = reading, answer
    return readings


async def ask_checked(
    place: str, request: Request, read: Callable[[Any], ParsedReply[T]], ask: Ask
) -> tuple[T | None, tuple[str, ...]]:
    """Return what the answer to one question says, and what of it failed."""
    question = CheckedQuestion(place, request, read)
    (reading,) = await ask_and_check([question], ask)
    return reading.value, list_reply_faults([question], [reading])


def read_text(key: str) -> Callable[[Any], ParsedReply[str]]:
    """Return a reader of the text under this key of an answer; a blank one is a fault."""

    def read(data: Any) -> ParsedReply[str]:
        text = data[key].strip()
        return ParsedReply(text) if text else ParsedReply(None, (f"{key} is empty",))

    return read


def list_reply_faults(questions: Iterable[CheckedQuestion[T]], readings: Iterable[ParsedReply[T]]) -> tuple[str, ...]:
    """Return all that is wrong, each with its place."""
    return tuple(f"{q.place}: {fault}" for q, r in zip(questions, readings, strict=True) for fault in r.faults)


def _may_be_asked_again(answer: Answer) -> bool:
    """Tell whether asking again may help: an answer without data was asked for again already, or never came."""
    return answer.data is not None or (bool(answer.text or answer.raw) and not answer.earlier)


def _badness(reading: ParsedReply[T]) -> tuple[bool, int]:
    return reading.value is None, len(reading.faults)
