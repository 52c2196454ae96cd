"""Typed questions put to a model that completes texts: a token each with its log probabilities, or one reply of JSON.

Each part is an ordinary request, with an address in the cache, a line in the ledger and a place in a batch of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from perslib.llm.abilities import Abilities
from perslib.llm.questions import Question
from perslib.llm.request import Answer, Request
from perslib.llm.structured.parsing import language_of
from perslib.llm.token_probabilities import digit_distribution
from perslib.paths import read_toml

#: Alternatives that endpoints give at a token, at most; a question with more options is answered in JSON.
ALTERNATIVES = 20
#: What the options must have together at the token; with less the model was about to write something else.
LEAST_MASS = 1e-4
LETTERS = "ABCDEFGHIJKLMNOPQRST"
#: Tokens of a reply in JSON: so many, and so many for each question.
SPARE, EACH = 40, 30
_WORDS = read_toml(__file__, "replies.toml")["deciding"]
_SPENT = ("tokens_in", "tokens_cached", "tokens_out", "tokens_thought", "seconds", "retries")


def expand_questions(request: Request, abilities: Abilities) -> list[Request]:
    """Return what is asked in place of a request: itself, where it has no typed questions or the endpoint takes them."""
    if not request.questions or abilities.decisions:
        return [request]
    words = _WORDS[language_of(request.messages)]
    plain = replace(request, questions=(), cache_key="", temperature=0.0)
    if abilities.gives_logprobs is False or abilities.reasons or any(map(_needs_json, request.questions)):
        listed = "\n".join(
            words["listed"].format(
                name=q.name, instructions=q.instructions, options=_list_options(q, {o: o for o in q.options})
            )
            for q in request.questions
        )
        schema = {
            "type": "object",
            "properties": {q.name: {"enum": [*q.options]} for q in request.questions},
            "required": [q.name for q in request.questions],
            "additionalProperties": False,
        }
        most = SPARE + EACH * len(request.questions)
        return [replace(_ask_at_end(plain, words["all"].format(questions=listed)), schema=schema, max_tokens=most)]
    parts = []
    for question in request.questions:
        labels = label_options(question)
        text = words["one"].format(
            instructions=question.instructions, options=_list_options(question, labels), labels=", ".join(labels)
        )
        parts.append(replace(_ask_at_end(plain, text), max_tokens=1, top_logprobs=ALTERNATIVES))
    return parts


def combine_answers(request: Request, asked: Sequence[Request], answers: Sequence[Answer]) -> Answer:
    """Return the answer to a request from those to what was asked in its place."""
    if len(asked) == 1 and asked[0] is request:
        return answers[0]
    (whole,) = answers if asked[0].schema is not None else (None,)
    if whole is not None:
        given = whole.data or {}
        data = {q.name: {"choice": given[q.name]} if q.name in given else _error(whole) for q in request.questions}
    else:
        data = {q.name: _read_token(q, answer) for q, answer in zip(request.questions, answers)}
    errors = [one["error"] for one in data.values() if "error" in one]
    costs = [answer.cost for answer in answers]
    return answers[0].with_(
        **{name: sum(getattr(answer, name) for answer in answers) for name in _SPENT},
        cost=None if None in costs else sum(filter(None, costs)),
        text=json.dumps(data, ensure_ascii=False),
        data=data,
        mode="token" if whole is None else whole.mode,
        error=errors[0] if len(errors) == len(data) else None,
        cached=all(answer.cached for answer in answers),
        is_made_up=any(answer.is_made_up for answer in answers),
    )


def label_options(question: Question) -> dict[str, str]:
    """Return option by label, a token each: digits stand for themselves, other options have letters."""
    options = [*question.options]
    return {o: o for o in options} if all(o in "123456789" for o in options) else dict(zip(LETTERS, options))


def _needs_json(question: Question) -> bool:
    return len(question.options) > ALTERNATIVES


def _ask_at_end(request: Request, text: str) -> Request:
    """Return the request with a text at its end, so that what questions share stands before what differs."""
    last = request.messages[-1]
    if last["role"] != "user" or not isinstance(last["content"], str):
        return replace(request, messages=[*request.messages, {"role": "user", "content": text}])
    return replace(
        request, messages=[*request.messages[:-1], {**last, "content": f"{last['content'].rstrip()}\n\n{text}"}]
    )


def _list_options(question: Question, labels: Mapping[str, str]) -> str:
    """Return the options by label, one a line, with their descriptions."""
    lines = []
    for label, option in labels.items():
        parts = [part for part in ("" if option == label else option, question.options[option]) if part]
        lines.append(f"{label} = {': '.join(parts)}" if parts else label)
    return "\n".join(lines)


def _read_token(question: Question, answer: Answer) -> dict[str, Any]:
    """Return the probabilities at the token of an answer, or the option that it names."""
    if answer.error is not None:
        return _error(answer)
    labels = label_options(question)
    distribution = digit_distribution(answer, tuple(labels), weighed=True)
    if distribution is not None and distribution.mass >= LEAST_MASS:
        return {"p": {option: distribution[label] for label, option in labels.items()}}
    named = labels.get(answer.text.strip(" .:\"'"))
    return {"choice": named} if named else {"error": f"expected one of {', '.join(labels)}, found {answer.text[:40]!r}"}


def _error(answer: Answer) -> dict[str, Any]:
    return {"error": answer.error or "the reply has no answer to it"}
