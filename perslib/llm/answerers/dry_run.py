"""A dry run: nobody is asked, every question gets an answer of the usual length, and what that would take is counted.

The texts differ from question to question, as a model's do: what is asked about them is a question each.
"""

from __future__ import annotations

import functools
import json
import operator
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from perslib.llm.abilities import Abilities
from perslib.llm.questions import encode_questions
from perslib.llm.request import Answer, QueuedRequest, make_error_answer
from perslib.llm.tokens import USUAL_REPLY, count_tokens, tokens_of_messages

#: A digest's digits as letters, so that nobody reads a score off such a text.
_LETTERS = str.maketrans("0123456789abcdef", "ghijklmnopqrstuv")


class DryRun:
    """Answers in a model's place, at the usual length.

    Parameters
    ----------
    abilities
        What is known of the model: its languages, prices and context window.
    usual
        Returns an answer of the usual length to a question, as text or data, or None where it knows none. Without one,
        the plainest data that the schema takes, or a text; their length is then counted as `max_tokens`.
    asked
        Content addresses of what was asked before; several dry runs may share them.
    """

    def __init__(
        self,
        abilities: Abilities,
        usual: Callable[[QueuedRequest], Any] = lambda question: None,
        asked: set[str] | None = None,
    ):
        self.abilities, self._usual = abilities, usual
        self._asked = set() if asked is None else asked

    async def answer(self, question: QueuedRequest) -> Answer:
        """Return a made-up answer of the wanted form, counted as a real one would be; an error where the question is too long."""
        answer, context = self.make_up(question), self.abilities.context
        if not context or answer.tokens_in <= context:
            return answer
        reason = f"too long: about {answer.tokens_in:,} tokens, and the model's context has {context:,}"
        return make_error_answer(question.request, reason).with_(cached=answer.cached, is_made_up=True)

    def make_up(self, question: QueuedRequest) -> Answer:
        """Return a made-up answer of the wanted form; to an equal question, as a hit of the cache, which costs nothing."""
        request, entry = question.request, self.abilities.entry
        form, most = request.schema, request.max_tokens or USUAL_REPLY
        if request.questions:
            return self._decide(question)
        reply = self._usual(question)
        if is_unknown := reply is None:
            mark = question.key.translate(_LETTERS)[:12]
            words = ["3", *textwrap.wrap(mark, 3), *["etc"] * USUAL_REPLY][: min(most, USUAL_REPLY)]
            reply = " ".join(words) if form is None else fill_schema(form, form, mark)
        text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        tokens_out = most if is_unknown else count_tokens(text, entry.languages)
        tokens_in = tokens_of_messages(request.messages, entry.languages)
        answer = Answer(
            text=text,
            raw=text,
            data=None if form is None else json.loads(text),
            mode="plain" if form is None else "schema",
            finish="stop",
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            seconds=1.0,  # some figures divide by it
            cost=entry.cost(tokens_in, 0, tokens_out),
            cached=question.key in self._asked,
            is_made_up=True,
        )
        return self._note(question, answer)

    def _decide(self, question: QueuedRequest) -> Answer:
        """Return typed answers of equal probabilities, for the tokens of the text and of its questions."""
        request, entry = question.request, self.abilities.entry
        data = {q.name: {"p": dict.fromkeys(q.options, 1 / len(q.options))} for q in request.questions}
        words = json.dumps(encode_questions(request.questions), ensure_ascii=False)
        tokens_in = tokens_of_messages(request.messages, entry.languages) + count_tokens(words, entry.languages)
        text = json.dumps(data, ensure_ascii=False)
        answer = Answer(
            text, text, data=data, mode="decided", finish="stop", tokens_in=tokens_in, seconds=1.0, is_made_up=True,
            cost=entry.cost(tokens_in, 0, 0), cached=question.key in self._asked,
        )  # fmt: skip
        return self._note(question, answer)

    def _note(self, question: QueuedRequest, answer: Answer) -> Answer:
        self._asked.add(question.key)
        return answer


def fill_schema(schema: Mapping[str, Any], root: Mapping[str, Any], mark: str) -> Any:
    """Return the plainest value that a JSON schema takes, with the mark in each text of its own."""
    if "$ref" in schema:
        places = schema["$ref"].removeprefix("#/").split("/")
        return fill_schema(functools.reduce(operator.getitem, places, root), root, mark)
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return fill_schema(schema[choice][0], root, mark)
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type", "string")
    kind = kind if isinstance(kind, str) else kind[0]
    if kind == "object":
        return {name: fill_schema(part, root, mark) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [fill_schema(schema.get("items", {}), root, mark)] * max(1, schema.get("minItems", 0))
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    text = f"…{mark}".ljust(schema.get("minLength", 0), "…")[: schema.get("maxLength")]
    return {"boolean": False, "null": None}.get(kind, text)
