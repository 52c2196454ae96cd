"""Ask an endpoint what it can do, and tell how fast it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from perslib.errors import GaveUp, Refused
from perslib.llm.abilities import Abilities, Probe, read_probe
from perslib.llm.answerers.http import Transport, TransportError
from perslib.llm.cache.store import Cache
from perslib.llm.entries import BackboneEntry, DecisionForm
from perslib.llm.questions import Predicate
from perslib.llm.request import Answer, Request, json_or
from perslib.llm.structured.decisions import FORMS, make_decision_body, read_decisions
from perslib.llm.structured.parsing import response_format

_SCHEMA = {
    "title": "probe",
    "type": "object",
    "properties": {"colour": {"enum": ["vermilion", "ultramarine"]}, "score": {"enum": [11, 13]}},
    "required": ["colour", "score"],
    "additionalProperties": False,
}
# Neither asks for JSON: only an endpoint that enforces it will give any.
_PROSE = [{"role": "user", "content": "Greet me in one short sentence."}]
_PROSE_JSON = [{"role": "user", "content": "Greet me in one short sentence of plain words, not in JSON."}]
_DRAW = [{"role": "user", "content": "Write ten random words."}]
_LONG = "Here are many words to be read. " * 150
"""About 1,200 tokens: what a prompt takes to be read shows only in a long one."""


LATEST = 200
"""Answers that tell how fast a backbone is: so many of the latest."""


_TYPED = replace(Request.of("The sky is blue today."), questions=(Predicate("sky", "The text is about the sky."),))
Send = Callable[..., Awaitable[Answer]]
Listing = Callable[[], Awaitable[Mapping[str, Any]]]


async def probe_decisions(transport: Transport) -> tuple[DecisionForm, str]:
    """Return the form in which an endpoint takes typed questions, or no form and what it says; one try of each."""
    words_of_server = ""
    asked: tuple[DecisionForm, ...] = (transport.entry.decisions,) if transport.entry.decisions else FORMS
    for form in asked:
        abilities = Abilities(replace(transport.entry, decisions=form))
        try:
            reply = await transport.exchange("POST", f"/{form}", make_decision_body(abilities, _TYPED))
            answer = read_decisions(form, _TYPED.questions, reply)
        except (Refused, TransportError) as no:
            words = no.words if isinstance(no, TransportError) else str(no).partition("): ")[2].partition(" — ")[0]
            words_of_server = words_of_server if getattr(no, "status", 0) == 404 and words_of_server else words
        else:
            if answer.error is None:
                return form, ""
            words_of_server = answer.error
    return "", words_of_server


def describe_deciding(backbone: str, endpoint: str, model: str) -> Probe:
    """Return the findings on an endpoint that answers typed questions alone, and is asked for nothing else."""
    return Probe(
        backbone=backbone, endpoint=endpoint, model=model, schema=False, json=False, logprobs=0, seed=None, usage=True,
        cached=False, reasons=False, seconds=0.0, tokens_out=0, context=None,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
    )  # fmt: skip


async def probe_endpoint(backbone: str, endpoint: str, model: str, send: Send, models: Listing) -> Probe:
    """Ask the endpoint, nine small calls at most; `send(request, form)` leaves out what it does not take."""

    async def try_request(
        messages: list[dict[str, str]], form: dict[str, Any] | None = None, **options: Any
    ) -> Answer | None:
        try:
            return await send(Request(messages, **options), form)
        except Refused as no:
            if no.status in (401, 403, 404) and not no.field:
                raise
            return None
        except GaveUp as error:
            if ": 500: " in str(error):  # some servers fail on what they do not know
                return None
            raise  # trouble of the moment says nothing of what the endpoint can do

    plain = await send(Request(_PROSE, max_tokens=40, temperature=0.6), None)
    schema = await try_request(_PROSE, response_format(_SCHEMA, "schema"), max_tokens=600)
    mode = await try_request(_PROSE_JSON, response_format(_SCHEMA, "json"), max_tokens=600)
    top = 0
    for wanted in (20, 5):
        reply = await try_request(_PROSE, max_tokens=1, top_logprobs=wanted)
        if reply is not None and reply.logprobs:
            top = len(reply.logprobs[0]["top"])
            break
    draws = [await try_request(_DRAW, max_tokens=24, temperature=1.0, seed=seed) for seed in (7, 7, 8)]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    # It begins with the time, so that no prefix cache has read it before.
    long = await try_request([{"role": "user", "content": f"{now} {_LONG}"}], max_tokens=1)
    return Probe(
        backbone=backbone,
        endpoint=endpoint,
        model=model,
        schema=set(_object(schema) or ()) == {"colour", "score"},
        json=_object(mode) is not None or _is_cut_json(mode),
        logprobs=top,
        seed=_repeats(*(draw.text if draw else None for draw in draws)),
        usage=plain.tokens_in > 0,
        cached=plain.counts_cached,
        reasons=bool(plain.reasoning or plain.tokens_thought),
        seconds=round(plain.seconds, 2),
        tokens_out=plain.tokens_out,
        context=await _context(models, model),
        at=now,
        pace=pace_of([answer for answer in (plain, long, *draws) if answer is not None]),
    )


def pace_of(answers: Sequence[Answer]) -> list[float] | None:
    """Return seconds that a token of a prompt takes, and one of a reply, from some answers; None where none says what
    it took.
    """
    from scipy.optimize import nnls

    took = [[a.tokens_in, a.tokens_out, a.seconds] for a in answers if a.seconds and a.tokens_in + a.tokens_out]
    if not took:
        return None
    every = np.array(took, float)
    return [float(one) for one in nnls(every[:, :2], every[:, 2])[0]]


def estimate_seconds(entry: BackboneEntry, tokens_in: int, tokens_out: int, calls: int) -> float | None:
    """Return how long these calls take at the pace of the backbone's latest answers, else of its probe; None without
    either.
    """
    cache = Cache(policy="only")
    records = cache.latest(entry.name, LATEST) if cache.path.is_file() else []
    measured = read_probe(entry)
    pace = pace_of([Answer.from_record(record) for record in records]) or (measured and measured.pace)
    if not pace:
        return None
    return float(np.dot(pace, [tokens_in, tokens_out])) / max(1, min(entry.at_once, calls))


def _object(reply: Answer | None) -> dict[str, Any] | None:
    """Return the JSON object that a reply is."""
    value = json_or(reply.text, None) if reply else None
    return value if isinstance(value, dict) else None


def _is_cut_json(reply: Answer | None) -> bool:
    """Return whether a reply is the beginning of an object: held to JSON, a small model may find no end."""
    return reply is not None and reply.finish == "length" and reply.text.startswith("{")


def _repeats(first: str | None, second: str | None, other: str | None) -> bool | None:
    """Return whether a seed repeats a reply; None where all replies are equal."""
    if None in (first, second, other) or first != second:
        return False
    return True if other != first else None


async def _context(models: Listing, model: str) -> int | None:
    """Return the context length that the list of models gives for this one (vLLM, llama.cpp, OpenRouter …)."""
    try:
        listed = (await models()).get("data")
    except Exception:  # a nicety: an endpoint without the list is not at fault
        return None
    entries = [e for e in listed or [] if isinstance(e, Mapping)]
    mine = [e for e in entries if e.get("id") == model] or (entries if len(entries) == 1 else [])
    places = [place for e in mine for place in (e, e.get("meta")) if isinstance(place, Mapping)]
    names = ("max_model_len", "context_length", "context_window", "n_ctx", "n_ctx_train")
    lengths = (place.get(name) for place in places for name in names)
    return next((length for length in lengths if isinstance(length, int)), None)
