"""What a run will take, before it starts: tokens by a rough rule, cost by the price table, and a rehearsal.

Where nobody is to be asked, in a rehearsal (`PERSLIB_REHEARSE` in the environment) and by a `DryRun`, a stand-in answers
every question that the cache cannot answer, and its answers are counted like a model's.
"""

from __future__ import annotations

import functools
import json
import operator
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np

from perslib.llm.cache import Cache
from perslib.llm.registry import Entry
from perslib.llm.types import Answer, Message, Request

_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_OTHER = re.compile(r"[^\x00-\x7f]")

USUAL_REPLY = 256
"""Tokens taken for a reply whose length the request does not bound."""


def tokens_of(text: str, languages: Collection[str] = ()) -> int:
    """Tokens of a text, roughly: ¾ a Chinese, Japanese or Korean character, ½ a character of other scripts
    beyond ASCII, ¼ an ASCII character. Tokenizers differ by a third either way; this is for planning.

    `languages` are those that the model reads, where that is known: one that reads English only takes two tokens for
    a Chinese, Japanese or Korean character."""
    if text.isascii():
        return -(-len(text) // 4)
    wide = len(_WIDE.findall(text))
    other = len(_OTHER.findall(text)) - wide
    of_wide = 0.75 if not languages or {"zh", "ja", "ko"} & set(languages) else 2
    return round(wide * of_wide + other * 0.5 + (len(text) - wide - other) * 0.25 + 0.5)


def tokens_of_messages(messages: Iterable[Message], languages: Collection[str] = ()) -> int:
    """Tokens of a conversation, with four a message for its frame."""
    return sum(
        4 + tokens_of(m["content"] if isinstance(m["content"], str) else str(m["content"]), languages) for m in messages
    )


VARIABLE = "PERSLIB_REHEARSE"
#: Answers that tell how fast a backbone is: so many of the latest.
LATEST = 200


def is_rehearsal() -> bool:
    """Whether nobody is to be asked."""
    return bool(os.environ.get(VARIABLE))


class StandIn:
    """Answers in a model's place, at the usual length or as `reply` says; what was asked before is a hit."""

    def __init__(self, reply: Callable[[Request], Any] | None = None):
        self.reply, self._given = reply, set[str]()

    def answer(self, request: Request, entry: Entry, key: str) -> Answer:
        """Something of the wanted form, counted like an answer."""
        form, most = request.schema, request.max_tokens or USUAL_REPLY
        usual = request.usual if self.reply is None else self.reply(request)
        said = usual() if callable(usual) else usual
        if is_unknown := said is None:
            said = _of_form(form, form) if form is not None else "3" + " etc" * (min(most, USUAL_REPLY) - 1)
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        tokens_out = most if is_unknown else tokens_of(text, entry.languages)
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
            cached=key in self._given,
        )
        self._given.add(key)
        return answer


REHEARSAL = StandIn()
"""What answers in a rehearsal, all over the process."""


def _of_form(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """The plainest value that a JSON schema takes."""
    if "$ref" in schema:
        places = schema["$ref"].removeprefix("#/").split("/")
        return _of_form(functools.reduce(operator.getitem, places, root), root)
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return _of_form(schema[choice][0], root)
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type", "string")
    kind = kind if isinstance(kind, str) else kind[0]
    if kind == "object":
        return {name: _of_form(part, root) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [_of_form(schema.get("items", {}), root)] * max(1, schema.get("minItems", 0))
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    return {"boolean": False, "null": None}.get(kind, "…" * max(1, schema.get("minLength", 1)))


def seconds(entry: Entry, tokens_in: int, tokens_out: int, calls: int) -> float | None:
    """How long these calls take at the pace of the backbone's latest answers; None when none of them is known."""
    from scipy.optimize import nnls

    cache = Cache(policy="only")
    records = cache.latest(entry.name, LATEST) if cache.path.is_file() else []
    known = [a for a in map(Answer.restored, records) if a.seconds and a.tokens_in + a.tokens_out]
    if not known:
        return None
    took = np.array([[a.tokens_in, a.tokens_out, a.seconds] for a in known], float)
    pace, _ = nnls(took[:, :2], took[:, 2])
    return float(pace @ [tokens_in, tokens_out]) / max(1, min(entry.concurrency, calls))
