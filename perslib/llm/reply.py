"""Reading a chat completion: text, reasoning, why it ended, usage, log probabilities."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perslib.llm.transport import Fault
from perslib.llm.types import TokenLogprob

_ENDS = {
    "max_tokens": "length",
    "content-filter": "content_filter",
    "sensitive": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "model_context_window_exceeded": "length",
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "completed": "stop",
}
BROKEN_OFF = {"insufficient_system_resource", "error", "abort", "aborted", "cancelled", "network_error"}
"""Ends that are the endpoint's trouble: half a reply, worth another try."""
_THINK = re.compile(r"<(think|thinking|reasoning)>(.*?)</\1>\s*", re.S)
_OPEN = re.compile(r"\s*<(think|thinking|reasoning)>")
_CLOSE = re.compile(r"</(?:think|thinking|reasoning)>")


@dataclass(frozen=True)
class Reply:
    """One completion, as the endpoint gave it."""

    raw: str
    text: str
    reasoning: str
    finish: str
    refusal: str
    logprobs: list[TokenLogprob] | None
    tokens_in: int
    tokens_cached: int
    tokens_out: int
    cost: float | None
    seconds: float
    model: str
    counts_cached: bool = False
    """Whether the endpoint says how many tokens came from its prefix cache, be it none."""
    retries: int = 0


def read(completion: Mapping[str, Any]) -> Reply:
    """The first choice of a completion; a `Fault` when there is none."""
    choices = completion.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        raise Fault("the reply has no choices")
    raw = _text(message.get("content"))
    apart = _text(message.get("reasoning_content") or message.get("reasoning"))
    text, inside = split_reasoning(raw)
    finish = str(choice.get("finish_reason") or "stop").lower()
    if finish in BROKEN_OFF:
        raise Fault(f"the endpoint broke the reply off ({finish})")
    usage = completion.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
    cached = cached if cached is not None else usage.get("prompt_cache_hit_tokens")
    cost = usage.get("cost")
    return Reply(
        raw=raw,
        text=text,
        reasoning="\n".join(part for part in (apart.strip(), inside) if part),
        finish=_ENDS.get(finish, finish),
        refusal=_text(message.get("refusal")),
        logprobs=_logprobs(choice.get("logprobs")),
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_cached=_count(cached),
        tokens_out=_count(usage.get("completion_tokens")),
        cost=float(cost) if isinstance(cost, int | float) else None,
        seconds=completion.get("seconds", 0.0),
        model=_text(completion.get("model")),
        counts_cached=cached is not None,
    )


def split_reasoning(raw: str) -> tuple[str, str]:
    """(what was said, what was thought) of a reply that may think aloud.

    `<think>…</think>` blocks at its beginning; a lone `</think>`, where the opening tag was part of the
    prompt; an open `<think>` that was never closed, which leaves nothing said. Tags inside a JSON reply are
    quoted text and stay.
    """
    if "<" not in raw or _is_json(raw):
        return raw.strip(), ""
    text, thoughts = raw, []
    while (block := _THINK.match(text.lstrip())) is not None:
        thoughts.append(block[2].strip())
        text = text.lstrip()[block.end() :]
    if opening := _OPEN.match(text):
        close = _CLOSE.search(text, opening.end())
        thoughts.append(text[opening.end() : close.start() if close else None].strip())
        text = text[close.end() :] if close else ""
    elif not thoughts and (close := _CLOSE.search(text)) and not _OPEN.search(text[: close.start()]):
        thoughts.append(text[: close.start()].strip())
        text = text[close.end() :]
    return text.strip(), "\n".join(thought for thought in thoughts if thought)


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _text(value: Any) -> str:
    """Text of a content field, which is a string or a list of parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, Mapping))
    return ""


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and value > 0 else 0


def _logprobs(value: Any) -> list[TokenLogprob] | None:
    content = value.get("content") if isinstance(value, Mapping) else None
    if not isinstance(content, list) or not content:
        return None
    found: list[TokenLogprob] = []
    for token in content:
        try:
            top = [(str(t["token"]), float(t["logprob"])) for t in token.get("top_logprobs") or []]
            found.append({"token": str(token["token"]), "logprob": float(token["logprob"]), "top": top})
        except (KeyError, TypeError, ValueError, AttributeError):
            return None
    return found
