"""Asking an endpoint what it can do and how fast it is, and remembering the answer.

Flags in `backbones.toml` are what somebody believed; a probe is what the endpoint did. The client goes by the
probe where there is one.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from perslib.errors import GaveUp, Refused
from perslib.llm.cache.store import Cache
from perslib.llm.entries import Entry
from perslib.llm.request import Answer, Request, json_or
from perslib.llm.structured.parsing import response_format
from perslib.paths import state, write_whole

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


@dataclass(frozen=True)
class Probe:
    """What one model at one endpoint was seen to do."""

    backbone: str
    endpoint: str
    model: str
    schema: bool
    """Replies follow a JSON schema."""
    json: bool
    """Replies are JSON when asked to be."""
    logprobs: int
    """Alternatives a token whose log probabilities come back; 0 without."""
    seed: bool | None
    """Equal seeds give equal replies and others do not; None when it could not be told."""
    usage: bool
    """Token counts are reported."""
    cached: bool
    """Tokens read from the provider's prefix cache are reported."""
    reasons: bool
    """Replies are thought about first."""
    seconds: float
    tokens_out: int
    """What a short reply took, thoughts included."""
    context: int | None
    """Tokens of the context window, where the endpoint tells."""
    at: str
    """When it was asked, UTC."""
    pace: Sequence[float] | None = None
    """Seconds that a token of a prompt takes, and one of a reply; None where no tokens are reported."""

    def describe(self) -> str:
        """The findings, one a line."""
        findings = {
            "backbone": self.backbone,
            "endpoint": self.endpoint,
            "model": self.model,
            "JSON schema": "enforced" if self.schema else "no",
            "JSON mode": "enforced" if self.json else "no",
            "log probabilities": f"{self.logprobs} alternatives a token" if self.logprobs else "not supported",
            "seed": {True: "repeats a reply", False: "has no effect", None: "could not be told"}[self.seed],
            "token usage": "reported" if self.usage else "no",
            "prefix-cache usage": "reported" if self.cached else "no",
            "context window": f"{self.context:,} tokens" if self.context else "not told",
            "reasoning": "before each reply" if self.reasons else "no",
            "goes without": ", ".join(sorted(left_out(self.endpoint, self.model))) or "nothing",
        }
        return "\n".join(f"{what:<20}{finding}" for what, finding in findings.items())

    def verdict(self) -> str:
        """What judging with it will be like."""
        how = (
            "one token a score, with its distribution"
            if self.logprobs and not self.reasons
            else "scores without a distribution"
        )
        if self.reasons:
            how = f"thoughts before each score ({self.tokens_out:,} tokens for a greeting), {how}"
        form = (
            "JSON by schema"
            if self.schema
            else "JSON mode, checked"
            if self.json
            else "JSON asked for in words, checked"
        )
        return f"Judging with it: {how}; written judgments as {form}; {self.seconds:.1f} s a short reply."


Send = Callable[..., Awaitable[Answer]]
Listing = Callable[[], Awaitable[Mapping[str, Any]]]


async def take(backbone: str, endpoint: str, model: str, send: Send, models: Listing) -> Probe:
    """Ask the endpoint, nine small calls at most; `send(request, form)` leaves out what it does not take."""

    async def tried(
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
    schema = await tried(_PROSE, response_format(_SCHEMA, "schema"), max_tokens=600)
    mode = await tried(_PROSE_JSON, response_format(_SCHEMA, "json"), max_tokens=600)
    top = 0
    for wanted in (20, 5):
        reply = await tried(_PROSE, max_tokens=1, top_logprobs=wanted)
        if reply is not None and reply.logprobs:
            top = len(reply.logprobs[0]["top"])
            break
    draws = [await tried(_DRAW, max_tokens=24, temperature=1.0, seed=seed) for seed in (7, 7, 8)]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    # It begins with the time, so that no prefix cache has read it before.
    long = await tried([{"role": "user", "content": f"{now} {_LONG}"}], max_tokens=1)
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
    """Seconds that a token of a prompt takes, and one of a reply, from some answers; None where none says what it took."""
    from scipy.optimize import nnls

    took = [[a.tokens_in, a.tokens_out, a.seconds] for a in answers if a.seconds and a.tokens_in + a.tokens_out]
    if not took:
        return None
    every = np.array(took, float)
    return [float(one) for one in nnls(every[:, :2], every[:, 2])[0]]


def seconds(entry: Entry, tokens_in: int, tokens_out: int, calls: int) -> float | None:
    """How long these calls take at the pace of the backbone's latest answers, else of its probe; None without either."""
    cache = Cache(policy="only")
    records = cache.latest(entry.name, LATEST) if cache.path.is_file() else []
    found = known(entry.address, entry.called)
    pace = pace_of([Answer.restored(record) for record in records]) or (found and found.pace)
    if not pace:
        return None
    return float(np.dot(pace, [tokens_in, tokens_out])) / max(1, min(entry.concurrency, calls))


def known(endpoint: str, model: str) -> Probe | None:
    """The saved probe of a model at an endpoint."""
    record = _saved().get(f"{endpoint} {model}")
    try:
        return Probe(**record) if record else None
    except TypeError:  # written by another version
        return None


def save(probe: Probe) -> None:
    """Remember the probe in the working folder."""
    _write({**_saved(), f"{probe.endpoint} {probe.model}": asdict(probe)})


def _write(records: Mapping[str, Any]) -> None:
    write_whole(state() / "probes.json", json.dumps(records, indent=1, ensure_ascii=False))


def left_out(endpoint: str, model: str) -> set[str]:
    """The fields of requests that a model at an endpoint was found not to take."""
    found = _saved().get(f"{endpoint} {model} without")
    return set(found) if isinstance(found, list) else set()


def leave_out(endpoint: str, model: str, field: str) -> None:
    """Remember a field that is not taken; an empty one forgets them all."""
    fields = sorted({*left_out(endpoint, model), field}) if field else []
    _write({**_saved(), f"{endpoint} {model} without": fields})


def _saved() -> dict[str, Any]:
    try:
        records = json_or((state() / "probes.json").read_text(encoding="utf-8"), {})
    except (OSError, UnicodeDecodeError):
        return {}
    return records if isinstance(records, dict) else {}


def _object(reply: Answer | None) -> dict[str, Any] | None:
    """The JSON object that a reply is."""
    found = json_or(reply.text, None) if reply else None
    return found if isinstance(found, dict) else None


def _is_cut_json(reply: Answer | None) -> bool:
    """Whether a reply is the beginning of an object: held to JSON, a small model may find no end."""
    return reply is not None and reply.finish == "length" and reply.text.startswith("{")


def _repeats(first: str | None, second: str | None, other: str | None) -> bool | None:
    """Whether a seed repeats a reply; None where all replies are equal."""
    if None in (first, second, other) or first != second:
        return False
    return True if other != first else None


async def _context(models: Listing, model: str) -> int | None:
    """The context length that the list of models gives for this one (vLLM, llama.cpp, OpenRouter …)."""
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
