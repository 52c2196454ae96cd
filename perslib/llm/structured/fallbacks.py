"""One request to one answer: the body that is sent, the ladder it climbs down, and what is made of the reply."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from perslib.errors import GaveUp, Refused
from perslib.llm import event_loop
from perslib.llm.answerers.limits import Allowance, Client
from perslib.llm.entries import Entry
from perslib.llm.estimate import USUAL_REPLY, tokens_of_messages
from perslib.llm.probe import Probe, leave_out
from perslib.llm.request import Answer, Message, Mode, Request
from perslib.llm.structured.parsing import (
    RUNGS,
    Rung,
    asked_again,
    is_strict,
    language_of,
    parse,
    response_format,
    spelled_out,
)
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


class Ladder:
    """Answers requests with one client, on the best rung that the endpoint offers."""

    def __init__(self, entry: Entry, client: Client, probe: Probe | None, forced: bool):
        self.entry, self.client, self.probe, self.forced = entry, client, probe, forced

    async def answer(self, request: Request) -> tuple[Answer, bool]:
        """The answer, and whether it is one that may be kept in the cache."""
        allowance = self.client.allowance()
        try:
            if request.schema is not None:
                return await self._structured(request, request.schema, allowance)
            replies = await self.send(request, request.messages, allowance)
            reply = replies[-1]
            failure = _failure(request, reply)
            is_kept = bool(reply.text) if failure is None else _would_be_cut_again(request, reply)
            if failure is None and not reply.text:
                failure = "the reply is empty"
            return self._made(replies, "plain", error=failure), is_kept
        except GaveUp as error:
            return unanswered(request, str(error)), False
        except Refused as error:
            reason = _about_one_request(error)
            if reason is None:
                raise
            self.client.failures = 0  # the endpoint is well, it answered
            return unanswered(request, f"{reason}: {error}"), False

    def rung(self, schema: Mapping[str, Any]) -> Rung:
        """Where to start: what was asked for, else what the probe found, else the entry's flag."""
        flag = self.entry.structured
        first: Rung = "schema" if flag == "auto" else flag
        if self.probe is not None and not self.forced:
            first = "schema" if self.probe.schema else "json" if self.probe.json else "text"
        unsupported = self.client.unsupported
        if not unsupported:  # as a rule; a schema as text takes time
            return first
        return next((r for r in RUNGS[RUNGS.index(first) :] if _unsupported(r, schema) not in unsupported), "text")

    def body(self, request: Request, messages: Sequence[Message], form: dict[str, Any] | None = None) -> dict[str, Any]:
        """What is sent."""
        unsupported = self.client.unsupported
        if "system" in unsupported:
            messages = without_system(messages)
        sent = {"model": self.entry.model, "messages": messages, **parameters(self.entry, request)}
        if "max_tokens" in unsupported and "max_tokens" in sent:
            sent["max_completion_tokens"] = sent.pop("max_tokens")
        if self.reasons:
            for name in {"max_tokens", "max_completion_tokens"} & sent.keys():
                sent[name] = max(sent[name], SHORTEST) + self.entry.thoughts
        if "top_logprobs" in sent:
            if self.is_known_for_logprobs is False or "logprobs" in unsupported:
                del sent["top_logprobs"]
            else:
                sent["logprobs"] = True
        if form is not None:
            sent["response_format"] = form
        extra = {name: value for name, value in request.extra.items() if name not in self.entry.omit}
        whole = {**sent, **self.entry.extra_body, **extra}
        return {name: value for name, value in whole.items() if name not in unsupported}

    def sent(self, request: Request) -> dict[str, Any]:
        """What is sent for a request, by all that is known of the endpoint now; a second attempt is not in it."""
        if request.schema is None:
            return self.body(request, request.messages)
        rung = self.rung(request.schema)
        messages = spelled_out(request.messages, request.schema, rung, language_of(request.messages))
        return self.body(request, messages, response_format(request.schema, rung))

    @property
    def reasons(self) -> bool:
        """Whether the model thinks before it answers: as the entry says, else as it was seen to do."""
        seen = self.client.reasons or (self.probe is not None and self.probe.reasons)
        return seen if self.entry.reasons is None else self.entry.reasons

    @property
    def context(self) -> int | None:
        """Tokens of the model's context window, as the entry says, else as the endpoint did; None where nobody knows."""
        if self.entry.context or self.probe is None:
            return self.entry.context
        return self.probe.context

    @property
    def is_known_for_logprobs(self) -> bool | None:
        """Whether the endpoint was seen, or is said, to give log probabilities; None where nobody knows."""
        return self.entry.logprobs if self.probe is None else self.probe.logprobs > 0

    async def send(
        self, request: Request, messages: Sequence[Message], allowance: Allowance, form: dict[str, Any] | None = None
    ) -> list[Answer]:
        """Return the reply to one completion, last, after those that were of no use.

        What the endpoint turns out not to take is left out, said once and remembered. A reply that thoughts cut short,
        asked for without room for them, is asked for again with room: once, whichever of many calls first saw that the
        model thinks.
        """
        tokens, replies = 0, list[Answer]()
        if self.entry.tpm is not None:
            tokens = tokens_of_messages(messages) + (request.max_tokens or USUAL_REPLY)
        while True:
            had_room, sent = self.reasons, self.body(request, messages, form)
            try:
                reply = await self.client.complete(sent, tokens, allowance)
            except Refused as no:
                if no.field in NEVER_LEFT_OUT:
                    raise
                is_new = no.field not in self.client.unsupported
                self.client.unsupported.add(no.field)
                if self.body(request, messages, form) == sent:
                    raise
                if is_new:
                    leave_out(self.entry.address, self.entry.called, no.field)
                    words = "%s does not take %r: requests go without it."
                    logging.getLogger(__name__).warning(words, self.entry.name, no.field)
                continue
            has_thoughts = bool(reply.reasoning or reply.tokens_thought)
            self.client.reasons |= has_thoughts
            is_usable = bool(reply.text) and (request.may_be_cut or not has_thoughts)
            is_cut = reply.finish == "length" and not is_usable
            replies.append(reply)
            if had_room or not self.reasons or not is_cut or self.body(request, messages, form) == sent:
                return replies

    async def _structured(
        self, request: Request, schema: Mapping[str, Any], allowance: Allowance
    ) -> tuple[Answer, bool]:
        """The ladder: down while the endpoint refuses the form, then one re-ask if the reply does not fit."""
        language = language_of(request.messages)
        while True:
            rung = self.rung(schema)
            messages = spelled_out(request.messages, schema, rung, language)
            form = response_format(schema, rung)
            try:
                replies = await self.send(request, messages, allowance, form)
                break
            except Refused as no:
                about_format = no.status in _MALFORMED and _ABOUT["format"].search(str(no))
                if rung == "text" or not (about_format or no.field == "response_format"):
                    raise
                self.client.unsupported.add(_unsupported(rung, schema))
        reply = replies[-1]
        if failure := _failure(request, reply):
            return self._made(replies, "unscored", error=failure), _would_be_cut_again(request, reply)
        data, problem = await event_loop.apart(len(reply.raw), _read, reply, schema)
        if problem is None:
            mode: Mode = rung if is_strict(reply.text, data) else "text"
            return self._made(replies, mode, data=data), True
        again = asked_again(messages, reply.text, problem, schema, language)
        try:
            replies += await self.send(request, again, allowance, form)
        except (GaveUp, Refused) as error:
            if isinstance(error, Refused) and _about_one_request(error) is None:
                raise
            return self._made(replies, "unscored", error=f"{problem}; asked again: {error}"), False
        second = replies[-1]
        if failure := _failure(request, second):
            return self._made(replies, "unscored", error=f"{problem}; asked again: {failure}"), False
        data, still = await event_loop.apart(len(second.raw), _read, second, schema)
        if still is None:
            return self._made(replies, "reask", data=data), True
        return self._made(replies, "unscored", error=f"after a re-ask, {still}"), bool(second.text)

    def _made(self, replies: list[Answer], mode: Mode, **found: Any) -> Answer:
        """The last reply, with what all of them took; those that thoughts cut short were no replies."""
        counts = ("tokens_in", "tokens_cached", "tokens_out", "tokens_thought", "seconds", "retries")
        took = {name: sum(getattr(reply, name) for reply in replies) for name in counts}
        told = [reply.cost for reply in replies if reply.cost is not None]
        # An endpoint that says what a call cost knows better than a price table; without any usage nobody knows.
        is_counted = all(reply.tokens_in + reply.tokens_out for reply in replies)
        table = self.entry.cost(*(took[name] for name in counts[:3])) if is_counted else None
        took["cost"] = sum(told) if len(told) == len(replies) else table
        earlier = tuple(reply.raw for reply in replies[:-1] if reply.finish != "length")
        return replies[-1].with_(mode=mode, earlier=earlier, **took, **found)


def parameters(entry: Entry, request: Request) -> dict[str, Any]:
    """The request's settings as this endpoint names them, those it does not take left out."""
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
    """The messages with what the system says at the head of the first message of the user."""
    said = "\n\n".join(m["content"] for m in messages if m["role"] == "system")
    rest = [dict(m) for m in messages if m["role"] != "system"]
    first = next((m for m in rest if m["role"] == "user"), None)
    if first is None:
        return [{"role": "user", "content": said}, *rest]
    first["content"] = f"{said}\n\n{first['content']}" if said else first["content"]
    return rest


def unanswered(request: Request, reason: str) -> Answer:
    """The answer to a request that got no reply."""
    return Answer(mode="plain" if request.schema is None else "unscored", error=reason)


def reread(answer: Answer, schema: Mapping[str, Any]) -> Answer:
    """An unscored answer read again from what is stored, in case reading has learned something since."""
    if answer.mode != "unscored" or answer.finish == "length":
        return answer
    data, problem = parse(answer.raw, schema)
    mode: Mode = "reask" if answer.earlier else "text"
    return answer if problem else answer.with_(data=data, mode=mode, error=None)


def _failure(request: Request, reply: Answer) -> str | None:
    """Why a reply is not one, whatever its text."""
    if reply.error is None and reply.finish == "length" and not request.may_be_cut:
        return f"truncated at {reply.tokens_out or request.max_tokens or 'the limit of'} tokens"
    if reply.error is None and reply.finish not in COMPLETE:
        return f"ended for a reason we do not know: {reply.finish[:40]}"
    return reply.error


def _would_be_cut_again(request: Request, reply: Answer) -> bool:
    """Whether a reply was cut at the request's own limit under a seed: then asking again brings the same."""
    is_cut = reply.finish == "length" and reply.tokens_out >= (request.max_tokens or inf)
    return is_cut and request.seed is not None and bool(reply.text)


def _read(reply: Answer, schema: Mapping[str, Any]) -> tuple[Any, str | None]:
    """The object in a reply; servers with a reasoning parser now and then file it under the reasoning."""
    data, problem = parse(reply.text, schema)
    if problem is not None and not reply.text and reply.reasoning:
        found, unread = parse(reply.reasoning, schema)
        return (found, None) if unread is None else (data, problem)
    return data, problem


def _unsupported(rung: Rung, schema: Mapping[str, Any]) -> str:
    """A name for «this endpoint does not take this rung»: of one schema, for JSON schemas are refused singly."""
    return rung if rung != "schema" else f"schema {json.dumps(schema)}"


def _about_one_request(error: Refused) -> str | None:
    """A short reason when the refusal concerns this request alone, else None."""
    words = str(error)
    if error.status == 413 or (error.status in _MALFORMED and _ABOUT["too_long"].search(words)):
        return "too long"
    return "content filter" if error.status in _MALFORMED and _ABOUT["filtered"].search(words) else None
