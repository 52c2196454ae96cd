"""Asking an endpoint what it can do, and remembering the answer.

Flags in `backbones.toml` are what somebody believed; a probe is what the endpoint did. The client goes by the
probe where there is one.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from perslib.errors import GaveUp, Refused
from perslib.llm.parsing import response_format
from perslib.llm.reply import Reply, split_reasoning
from perslib.paths import state

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
    context: int | None
    """Tokens of the context window, where the endpoint tells."""
    at: str
    """When it was asked, UTC."""

    def rows(self) -> list[tuple[str, str]]:
        """(what, finding) for a table."""
        seed = {True: "repeats a reply", False: "has no effect", None: "could not be told"}[self.seed]
        return [
            ("backbone", self.backbone),
            ("endpoint", self.endpoint),
            ("model", self.model),
            ("JSON schema", "enforced" if self.schema else "no"),
            ("JSON mode", "enforced" if self.json else "no"),
            (
                "log probabilities",
                f"{self.logprobs} alternatives a token" if self.logprobs else "not supported",
            ),
            ("seed", seed),
            ("token usage", "reported" if self.usage else "no"),
            ("prefix-cache usage", "reported" if self.cached else "no"),
            ("context window", f"{self.context:,} tokens" if self.context else "not told"),
        ]

    def describe(self) -> str:
        """The findings, one a line."""
        return "\n".join(f"{what:<20}{finding}" for what, finding in self.rows())


Complete = Callable[[Mapping[str, Any]], Awaitable[Reply]]
Listing = Callable[[], Awaitable[Mapping[str, Any]]]


async def take(
    backbone: str,
    endpoint: str,
    model: str,
    complete: Complete,
    body: Callable[..., dict[str, Any]],
    models: Listing,
) -> Probe:
    """Ask the endpoint, seven small calls in all."""

    async def tried(messages: list[dict[str, str]], **options: Any) -> Reply | None:
        try:
            return await complete(body(messages, **options))
        except Refused as no:
            if no.status in (401, 403, 404) and not no.field:
                raise
            return None
        except GaveUp as error:
            if ": 500: " in str(error):  # some servers fail on what they do not know
                return None
            raise  # trouble of the moment says nothing of what the endpoint can do

    plain = await complete(body(_PROSE, max_tokens=40))
    schema = await tried(_PROSE, max_tokens=600, response_format=response_format(_SCHEMA, "schema"))
    mode = await tried(_PROSE_JSON, max_tokens=600, response_format=response_format(_SCHEMA, "json"))
    top = 0
    for wanted in (20, 5):
        reply = await tried(_PROSE, max_tokens=1, logprobs=True, top_logprobs=wanted)
        if reply is not None and reply.logprobs:
            top = len(reply.logprobs[0]["top"])
            break
    draws = [await tried(_DRAW, max_tokens=24, temperature=1.0, seed=seed) for seed in (7, 7, 8)]
    return Probe(
        backbone=backbone,
        endpoint=endpoint,
        model=model,
        schema=schema is not None and _fits(schema.text),
        json=mode is not None and _is_object(mode.text),
        logprobs=top,
        seed=_repeats([split_reasoning(d.raw)[0] if d else None for d in draws]),
        usage=plain.tokens_in > 0,
        cached=plain.counts_cached,
        context=await _context(models, model),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def known(endpoint: str, model: str) -> Probe | None:
    """The saved probe of a model at an endpoint."""
    record = _saved().get(f"{endpoint} {model}")
    try:
        return Probe(**record) if record else None
    except TypeError:  # written by another version
        return None


def save(probe: Probe) -> None:
    """Remember the probe in the working folder; a reader never sees half a file."""
    path = state() / "probes.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    records = {**_saved(), f"{probe.endpoint} {probe.model}": asdict(probe)}
    part = path.with_name(f".{path.name}.{uuid4().hex}.part")
    part.write_text(json.dumps(records, indent=1, ensure_ascii=False), encoding="utf-8")
    part.replace(path)


def _saved() -> dict[str, Any]:
    try:
        records = json.loads((state() / "probes.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return records if isinstance(records, dict) else {}


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _fits(text: str) -> bool:
    return _is_object(text) and set(json.loads(text)) == {"colour", "score"}


def _repeats(texts: list[str | None]) -> bool | None:
    first, second, other = texts
    if first is None or second is None or other is None:
        return False
    if first != second:
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
    for entry in mine:
        meta = entry.get("meta")
        for place in (entry, meta if isinstance(meta, Mapping) else {}):
            for name in ("max_model_len", "context_length", "context_window", "n_ctx", "n_ctx_train"):
                if isinstance(place.get(name), int):
                    return int(place[name])
    return None
