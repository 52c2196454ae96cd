"""Reading a chat completion: text, reasoning, why it ended, usage, log probabilities."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from perslib.llm.answerers.http import TransportError
from perslib.llm.request import Answer, TokenLogprob, json_or, read_amount
from perslib.paths import read_toml

LONGEST_REASON = 200
"""Characters shown of why a reply cannot be read."""
_ENDS = read_toml(__file__, "ends.toml")
BROKEN_OFF = {"insufficient_system_resource", "error", "abort", "aborted", "cancelled", "network_error"}
"""Ends that are the endpoint's trouble: half a reply, worth another try."""
ROUNDING = 0.01
"""A log probability is below zero; as much above it is let pass."""
_THINK = re.compile(r"\s*<(think|thinking|reasoning)>(.*?)</\1>", re.S)
_OPEN = re.compile(r"<(think|thinking|reasoning)>")
_CLOSE = re.compile(r"</(?:think|thinking|reasoning)>")


def read_completion(completion: Mapping[str, Any]) -> Answer:
    """Return the first choice of a completion; a `TransportError` when there is none, or when it cannot be read.

    With the error that is to be seen by the reply alone: that the model refused.
    """
    try:
        return _read(completion)
    except TransportError:
        raise
    except Exception as error:  # whatever an endpoint sends, only its own call fails
        raise TransportError(f"the reply cannot be read ({type(error).__name__}: {error})"[:LONGEST_REASON]) from None


def _read(completion: Mapping[str, Any]) -> Answer:
    choices = completion.get("choices")
    choice = _mapping(choices[0] if isinstance(choices, list) and choices else None)
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise TransportError("the reply has no choices")
    finish = str(choice.get("finish_reason") or "stop").lower()
    if finish in BROKEN_OFF:
        raise TransportError(f"the endpoint broke the reply off ({finish})")
    finish = _ENDS.get(finish, finish)
    raw, refusal = _text(message.get("content")), _text(message.get("refusal"))
    reasoning = _text(message.get("reasoning_content") or message.get("reasoning"))
    text, inside = split_reasoning(raw)
    error = f"the model refused: {refusal[:200]}" if refusal else None
    usage = _mapping(completion.get("usage"))
    cached = _mapping(usage.get("prompt_tokens_details")).get("cached_tokens")
    cached = cached if cached is not None else usage.get("prompt_cache_hit_tokens")
    return Answer(
        text=text,
        raw=raw,
        reasoning="\n".join(part for part in (reasoning.strip(), inside) if part),
        error=error,
        finish=finish,
        logprobs=_logprobs(choice.get("logprobs")),
        tokens_in=int(read_amount(usage.get("prompt_tokens")) or 0),
        tokens_cached=int(read_amount(cached) or 0),
        tokens_out=int(read_amount(usage.get("completion_tokens")) or 0),
        tokens_thought=int(read_amount(_mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")) or 0),
        cost=read_amount(usage.get("cost")),
        seconds=completion.get("seconds", 0.0),
        model=_text(completion.get("model")),
        counts_cached=cached is not None,
    )


def split_reasoning(raw: str) -> tuple[str, str]:
    """Return (what was said, what was thought) of a reply that may think aloud.

    `<think>…</think>` blocks at its beginning; a lone `</think>`, where the opening tag was part of the
    prompt; an open `<think>` that was never closed, which leaves nothing said. Tags inside a JSON reply are
    quoted text and stay.
    """
    if "<" not in raw or (raw.lstrip().startswith(("{", "[")) and json_or(raw, None) is not None):
        return raw.strip(), ""
    end, thoughts = 0, []
    while (block := _THINK.match(raw, end)) is not None:
        thoughts.append(block[2].strip())
        end = block.end()
    text = raw[end:].lstrip()
    if opening := _OPEN.match(text):
        close = _CLOSE.search(text, opening.end())
        thoughts.append(text[opening.end() : close.start() if close else None].strip())
        text = text[close.end() :] if close else ""
    elif not thoughts and (close := _CLOSE.search(text)) and not _OPEN.search(text[: close.start()]):
        thoughts.append(text[: close.start()].strip())
        text = text[close.end() :]
    return text.strip(), "\n".join(thought for thought in thoughts if thought)


def _text(value: Any) -> str:
    """Return the text of a content field, which is a string or a list of parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, Mapping))
    return ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _logprobs(value: Any) -> list[TokenLogprob] | None:
    content = _mapping(value).get("content")
    if not isinstance(content, list) or not content:
        return None
    try:
        return [
            {
                "token": str(token["token"]),
                "logprob": _logprob(token["logprob"]),
                "top": [(str(t["token"]), _logprob(t["logprob"])) for t in token.get("top_logprobs") or []],
            }
            for token in content
        ]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return None


def _logprob(value: Any) -> float:
    """Return a log probability; a little above zero is rounding."""
    if not float(value) < ROUNDING:
        raise ValueError(f"{value!r} is no log probability")
    return min(float(value), 0.0)
