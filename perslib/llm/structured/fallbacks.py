"""One request to one answer: the body that is sent, the forms of replies it falls back on, and what is made of the reply."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any, Protocol

from perslib.errors import BackboneError, GaveUp, Refused
from perslib.llm import event_loop
from perslib.llm.abilities import Abilities
from perslib.llm.answerers.completions import read_completion
from perslib.llm.answerers.limits import TimeBudget
from perslib.llm.entries import BackboneEntry
from perslib.llm.request import Answer, Message, Mode, Request, make_error_answer
from perslib.llm.structured.decisions import CACHE_KEY, make_decision_body, read_decisions
from perslib.llm.structured.parsing import (
    add_schema_to_messages,
    holds_only_json,
    is_strict,
    language_of,
    make_retry_messages,
    parse,
    response_format,
)
from perslib.llm.tokens import USUAL_REPLY, tokens_of_messages
from perslib.paths import read_toml

#: What refusals are about, by their words.
_ABOUT = {
    kind: re.compile("|".join(patterns), re.I)
    for kind, patterns in read_toml(__file__, "replies.toml")["refusals"].items()
}
_MALFORMED = (400, 413, 422)
#: Without these a request is another one; forms of replies have rungs of their own.
NEVER_LEFT_OUT = ("", "model", "messages", "response_format")
SHORTEST = 16
"""Tokens that a model which reasons gets for an answer of one digit."""
COMPLETE = ("stop", "length", "tool_calls", "function_call")


Read = Callable[[Mapping[str, Any]], Answer]


class Completer(Protocol):
    """What brings the reply to one request: a client of an endpoint, or lines of a file."""

    def allowance(self) -> TimeBudget:
        """Return the time of a new question."""

    async def post(self, path: str, body: Mapping[str, Any], read: Read, tokens: int, allowance: TimeBudget) -> Answer:
        """Return what `read` makes of the reply; `Refused` or `GaveUp` where none comes."""


class Fallbacks:
    """Answers requests in the best form that the endpoint offers: JSON schema, JSON mode, words, one repeated question."""

    def __init__(self, abilities: Abilities, completer: Completer):
        self.abilities, self.completer = abilities, completer

    async def answer(self, request: Request) -> Answer:
        """Return the answer; what was `sent` is with it where the cache may keep it."""
        try:
            answer, is_kept = await self._answer(request, self.completer.allowance())
        except GaveUp as error:
            return make_error_answer(request, str(error))
        except Refused as error:
            reason = _about_one_request(error)
            if reason is None:
                raise
            return make_error_answer(request, f"{reason}: {error}")
        return answer.with_(sent=body_of(request, self.abilities)) if is_kept else answer

    async def _answer(self, request: Request, allowance: TimeBudget) -> tuple[Answer, bool]:
        """Return the answer, and whether the cache may keep it."""
        if request.questions:
            return await self._ask_typed(request, allowance)
        if (entry := self.abilities.entry).kind == "decisions":
            raise BackboneError(
                f"Backbone {entry.name!r} answers typed questions alone and writes no texts: take a judge that asks them "
                "(decide, decide + measured), or another backbone.",
                backbone=entry.name,
            )
        if request.schema is not None:
            return await self._ask_in_modes(request, request.schema, allowance)
        replies = await self.send(request, request.messages, allowance)
        reply = replies[-1]
        if failure := _failure(request, reply):
            return self._make_answer(replies, "plain", error=failure), _would_be_cut_again(request, reply)
        failure = None if reply.text else "the reply is empty"
        return self._make_answer(replies, "plain", error=failure), failure is None

    async def _ask_typed(self, request: Request, allowance: TimeBudget) -> tuple[Answer, bool]:
        """Return the answer of an endpoint for decisions; the cache may keep it where it says something."""
        entry, form = self.abilities.entry, self.abilities.decisions
        tokens = 0 if entry.tpm is None else tokens_of_messages(request.messages)
        read = partial(read_decisions, form, request.questions)
        try:
            reply = await self.completer.post(f"/{form}", body_of(request, self.abilities), read, tokens, allowance)
        except Refused as no:
            if no.field != CACHE_KEY:
                raise
            self.abilities.refuse_field(CACHE_KEY)
            return await self._ask_typed(request, allowance)
        return self._make_answer([reply], reply.mode, error=reply.error), reply.error is None

    async def send(
        self, request: Request, messages: Sequence[Message], allowance: TimeBudget, form: dict[str, Any] | None = None
    ) -> list[Answer]:
        """Return the reply to one completion, last, after those that were of no use.

        What the endpoint turns out not to take is left out, said once and remembered. A reply that thoughts cut short,
        asked for without room for them, is asked for again with room: once, whichever of many calls first saw that the
        model thinks.
        """
        abilities, tokens, replies = self.abilities, 0, list[Answer]()
        if abilities.entry.tpm is not None:
            tokens = tokens_of_messages(messages) + (request.max_tokens or USUAL_REPLY)
        while True:
            had_room, sent = abilities.reasons, _body(abilities, request, messages, form)
            try:
                reply = await self.completer.post("/chat/completions", sent, read_completion, tokens, allowance)
            except Refused as no:
                if no.field in NEVER_LEFT_OUT or _body(abilities, request, messages, form, no.field) == sent:
                    raise
                abilities.refuse_field(no.field)
                continue
            has_thoughts = bool(reply.reasoning or reply.tokens_thought)
            abilities.thinks |= has_thoughts
            is_usable = bool(reply.text) and (request.accepts_truncation or not has_thoughts)
            is_cut = reply.finish == "length" and not is_usable
            replies.append(reply)
            if had_room or not abilities.reasons or not is_cut or _body(abilities, request, messages, form) == sent:
                return replies

    async def _ask_in_modes(
        self, request: Request, schema: Mapping[str, Any], allowance: TimeBudget
    ) -> tuple[Answer, bool]:
        """Ask in the strictest form that the endpoint takes, and once more where the reply does not fit."""
        language = language_of(request.messages)
        while True:
            rung = self.abilities.rung(schema)
            messages = add_schema_to_messages(request.messages, schema, rung, language)
            form = response_format(schema, rung)
            try:
                replies = await self.send(request, messages, allowance, form)
                break
            except Refused as no:
                about_format = no.status in _MALFORMED and _ABOUT["format"].search(str(no))
                if rung == "text" or not (about_format or no.field == "response_format"):
                    raise
                self.abilities.refuse_form(rung, schema)
        reply = replies[-1]
        if failure := _failure(request, reply):
            answer = self._make_answer(replies, "unscored", error=failure, text="")
            return answer, _would_be_cut_again(request, reply)
        data, problem = await event_loop.run_in_thread(len(reply.raw), _read, reply, schema)
        if problem is None:
            mode: Mode = rung if is_strict(reply.text, data) else "text"
            return self._make_answer(replies, mode, data=data), True
        again = make_retry_messages(messages, reply.text, problem, schema, language)
        try:
            replies += await self.send(request, again, allowance, form)
        except (GaveUp, Refused) as error:
            if isinstance(error, Refused) and _about_one_request(error) is None:
                raise
            return self._make_answer(replies, "unscored", error=f"{problem}; asked again: {error}"), False
        second = replies[-1]
        if failure := _failure(request, second):
            return self._make_answer(replies, "unscored", error=f"{problem}; asked again: {failure}", text=""), False
        data, still = await event_loop.run_in_thread(len(second.raw), _read, second, schema)
        if still is None:
            return self._make_answer(replies, "reask", data=data), True
        return self._make_answer(replies, "unscored", error=f"after a re-ask, {still}"), bool(second.text)

    def _make_answer(self, replies: list[Answer], mode: Mode, **facts: Any) -> Answer:
        """Return the last reply, with what all of them took; those that thoughts cut short were no replies."""
        counts = ("tokens_in", "tokens_cached", "tokens_out", "tokens_thought", "seconds", "retries")
        took: dict[str, Any] = {name: sum(getattr(reply, name) for reply in replies) for name in counts}
        costs = [reply.cost for reply in replies if reply.cost is not None]
        # An endpoint that says what a call cost knows better than a price table; without any usage nobody knows.
        is_counted = all(reply.tokens_in + reply.tokens_out for reply in replies)
        table = self.abilities.entry.cost(*(took[name] for name in counts[:3])) if is_counted else None
        took["cost"] = sum(costs) if len(costs) == len(replies) else table
        earlier = tuple(reply.raw for reply in replies[:-1] if reply.finish != "length")
        return replies[-1].with_(mode=mode, earlier=earlier, calls=len(replies), **took, **facts)


def body_of(request: Request, abilities: Abilities) -> dict[str, Any]:
    """Return what is sent for a request, by all that is known of the endpoint now; a second attempt is not in it."""
    if request.questions:
        return make_decision_body(abilities, request)
    if request.schema is None:
        return _body(abilities, request, request.messages)
    rung = abilities.rung(request.schema)
    messages = add_schema_to_messages(request.messages, request.schema, rung, language_of(request.messages))
    return _body(abilities, request, messages, response_format(request.schema, rung))


def _body(
    abilities: Abilities,
    request: Request,
    messages: Sequence[Message],
    form: dict[str, Any] | None = None,
    without: str = "",
) -> dict[str, Any]:
    """Return what is sent, without what the endpoint was found not to take, and `without` one field more."""
    entry, refused = abilities.entry, abilities.refused | {without}
    if "system" in refused:
        messages = without_system(messages)
    sent = {"model": entry.model, "messages": messages, **parameters(entry, request)}
    if "max_tokens" in refused and "max_tokens" in sent:
        sent["max_completion_tokens"] = sent.pop("max_tokens")
    if abilities.reasons:
        for name in {"max_tokens", "max_completion_tokens"} & sent.keys():
            sent[name] = max(sent[name], SHORTEST) + entry.thoughts
    if "top_logprobs" in sent:
        if abilities.gives_logprobs is False or "logprobs" in refused:
            del sent["top_logprobs"]
        else:
            sent["logprobs"] = True
    if form is not None:
        sent["response_format"] = form
    extra = {name: value for name, value in request.extra.items() if name not in entry.omit}
    whole = {**sent, **entry.extra_body, **extra}
    return {name: value for name, value in whole.items() if name not in refused}


def parameters(entry: BackboneEntry, request: Request) -> dict[str, Any]:
    """Return the request's settings as this endpoint names them, those it does not take left out."""
    given = {
        "temperature": request.temperature,
        entry.max_tokens_as: request.max_tokens,
        "seed": request.seed,
        "stop": list(request.stop) if request.stop else None,
        "top_logprobs": request.top_logprobs,
        "reasoning_effort": entry.effort or None,
    }
    return {name: value for name, value in given.items() if value is not None and name not in entry.omit}


def without_system(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with what the system says at the head of the first message of the user."""
    instructions = "\n\n".join(m["content"] for m in messages if m["role"] == "system")
    rest = [dict(m) for m in messages if m["role"] != "system"]
    first = next((m for m in rest if m["role"] == "user"), None)
    if first is None:
        return [{"role": "user", "content": instructions}, *rest]
    first["content"] = f"{instructions}\n\n{first['content']}" if instructions else first["content"]
    return rest


def parse_again(answer: Answer, schema: Mapping[str, Any]) -> Answer:
    """Return an unscored answer read again from what is stored, in case reading has learned something since."""
    if answer.mode != "unscored" or answer.finish == "length":
        return answer
    data, problem = parse(answer.raw, schema)
    mode: Mode = "reask" if answer.earlier else "text"
    return answer if problem else answer.with_(data=data, mode=mode, error=None)


def _failure(request: Request, reply: Answer) -> str | None:
    """Return why a reply is not one, whatever its text; one that is whole JSON, which was wanted, is one however it ended."""
    is_whole = request.schema is not None and holds_only_json(reply.text)
    if reply.error is not None or reply.finish == "stop" or is_whole:
        return reply.error
    if reply.finish == "content_filter":
        return "stopped by the endpoint's content filter"
    if reply.finish == "length" and not request.accepts_truncation:
        return f"truncated at {reply.tokens_out or request.max_tokens or 'the limit of'} tokens"
    return None if reply.finish in COMPLETE else f"ended for a reason we do not know: {reply.finish[:40]}"


def _would_be_cut_again(request: Request, reply: Answer) -> bool:
    """Return whether a reply was cut at the request's own limit under a seed: then asking again brings the same."""
    is_cut = reply.finish == "length" and reply.tokens_out >= (request.max_tokens or inf)
    return is_cut and request.seed is not None and bool(reply.text)


def _read(reply: Answer, schema: Mapping[str, Any]) -> tuple[Any, str | None]:
    """Return the object in a reply; servers with a reasoning parser now and then file it under the reasoning."""
    data, problem = parse(reply.text, schema)
    if problem is not None and not reply.text and reply.reasoning:
        parsed, unread = parse(reply.reasoning, schema)
        return (parsed, None) if unread is None else (data, problem)
    return data, problem


def _about_one_request(error: Refused) -> str | None:
    """Return a short reason when the refusal concerns this request alone, else None."""
    words = str(error)
    if error.status == 413 or (error.status in _MALFORMED and _ABOUT["too_long"].search(words)):
        return "too long"
    return "content filter" if error.status in _MALFORMED and _ABOUT["filtered"].search(words) else None
