"""Two answerers for batches: one writes questions down and makes up answers, one reads the results that came back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from math import inf
from pathlib import Path
from typing import Any

from perslib.errors import BackboneError, GaveUp, Refused
from perslib.llm.abilities import Abilities
from perslib.llm.answerers.choice import VARIABLE
from perslib.llm.answerers.dry_run import DryRun
from perslib.llm.answerers.http import Transport, TransportError
from perslib.llm.answerers.limits import TimeBudget
from perslib.llm.request import Answer, QueuedRequest, json_or, make_error_answer, plain_number
from perslib.llm.structured.fallbacks import Fallbacks, Read, body_of

Results = Mapping[str, Sequence[Mapping[str, Any]]]
"""The results of each question, by its content address, in the order of their lines."""

_NOT_YET = "\u27e8answer to come\u27e9"
"""Stands in made-up texts: a question that holds it cannot be asked yet."""
ASKED = ("schema", "temperature", "max_tokens", "seed", "top_logprobs", "stop", "extra", "prompt", "sample", "brief")
"""What makes a request besides its messages."""


class QuestionWriter(DryRun):
    """Writes each question that can be asked now to a file, a line each, and answers as a dry run does.

    Of a question that depends on an answer still to come, only the content address is written: it is asked in a later
    round.
    """

    def __init__(self, abilities: Abilities, file: str | Path, asked: set[str]):
        super().__init__(abilities, asked=asked)
        self.file = Path(file)

    async def answer(self, question: QueuedRequest) -> Answer:
        """Write the question down and return something of the wanted form, in which every free text is marked."""
        answer, request = self.make_up(question), question.request
        if request.questions:
            raise BackboneError(
                f"Backbone {self.abilities.entry.name!r} takes typed questions one request at a time, not in batches: "
                "leave the batch out.",
                backbone=self.abilities.entry.name,
            )
        self._write(question, answer)
        if request.schema is None:
            return answer.with_(text=f"{answer.text} {_NOT_YET}")
        return answer.with_(data=_mark(answer.data, json.dumps(request.schema, ensure_ascii=False)))

    def _write(self, question: QueuedRequest, answer: Answer) -> None:
        """Write what is sent, with what is needed to read the reply and what it is expected to take."""
        request, line = question.request, dict[str, Any](custom_id=question.key)
        if not question.follows_placeholder and not any(_NOT_YET in str(m["content"]) for m in request.messages):
            line |= {
                "body": body_of(request, self.abilities),
                "stage": question.stage,
                "entry": asdict(self.abilities.entry),
                "request": {name: getattr(request, name) for name in ASKED},
                "tokens": [answer.tokens_in, answer.tokens_out],
            }
        text = json.dumps(line, ensure_ascii=False, default=plain_number) + "\n"
        with self.file.open("ab", 0) as file:  # in one write, so that pages side by side do not mix theirs
            file.write(text.encode("utf-8", "replace"))


def write_questions_to(file: Path) -> dict[str, str]:
    """Return what the environment of a kernel holds in which questions are written to a file and nobody is asked."""
    return {VARIABLE: f"{__name__}:{QuestionWriter.__name__}:{file}"}


def _mark(data: Any, schema: str) -> Any:
    """Return the data with a mark in every text that the schema does not spell out."""
    if isinstance(data, dict):
        return {name: _mark(value, schema) for name, value in data.items()}
    if isinstance(data, list):
        return [_mark(value, schema) for value in data]
    is_free = isinstance(data, str) and json.dumps(data, ensure_ascii=False) not in schema
    return f"{data} {_NOT_YET}" if is_free else data


class ResultReader:
    """Answers from the results of a batch, as if every reply had come at once; a question without one has no answer."""

    def __init__(self, abilities: Abilities, results: Results):
        self.abilities, self.results = abilities, results
        self._failure = Transport(abilities.entry).failure

    async def answer(self, question: QueuedRequest) -> Answer:
        """Return the first reply to the question that can be read, or why there is none."""
        lines = self.results.get(question.key)
        if not lines:
            return make_error_answer(question.request, "no result came")
        try:
            return await Fallbacks(self.abilities, _Lines(lines, self._failure)).answer(question.request)
        except Refused as error:
            return make_error_answer(question.request, str(error))


class _Lines:
    """The results of one question in place of its endpoint: they give a reply once, and nobody is asked again."""

    def __init__(self, lines: Sequence[Mapping[str, Any]], failure: Callable[..., Exception]):
        self._lines, self._failure = lines, failure

    def allowance(self) -> TimeBudget:
        """Return the time without end."""
        return TimeBudget(inf)

    async def post(self, path: str, body: Mapping[str, Any], read: Read, tokens: int, allowance: TimeBudget) -> Answer:
        """Return the first reply that can be read, once."""
        lines, self._lines = self._lines, ()
        failure: Exception = GaveUp("it has to be asked again")
        for number, line in enumerate(lines):
            try:
                return read(self._decode(line, body))
            except TransportError as fault:
                reason: Exception = GaveUp(fault.words)
            except Refused as refused:
                reason = refused
            except (RecursionError, TypeError, ValueError, OverflowError) as error:
                reason = GaveUp(f"the result cannot be read ({error})"[:200])
            failure = failure if number else reason
        raise failure

    def _decode(self, line: Mapping[str, Any], body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the reply in a line; raise what its status means."""
        response = line.get("response")
        status, reply = 500, response
        if isinstance(response, Mapping):
            status, reply = response.get("status_code", 200), response.get("body", response)
            status = 200 if status is None else int(status)
        reply = json_or(reply, reply) if isinstance(reply, str) else reply
        if status != 200 or not isinstance(reply, Mapping) or not reply:
            text = json.dumps(reply or dict(line), ensure_ascii=False)
            raise self._failure(status if status != 200 else 500, {}, text, body)
        return reply
