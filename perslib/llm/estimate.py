"""What a run will take, before it starts: tokens by a rough rule, and a rehearsal.

Where nobody is to be asked, in a rehearsal (`PERSLIB_REHEARSE` in the environment) and by a `DryRun`, a stand-in answers
every question that the cache cannot answer, and its answers are counted like a model's. Where `PERSLIB_QUESTIONS` names
a file, a rehearsal also writes down what can be asked now, for a batch (`perslib.llm.batch`).
"""

from __future__ import annotations

import functools
import json
import operator
import os
import re
import textwrap
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perslib.llm.entries import Entry
from perslib.llm.request import Answer, Message, Request

if TYPE_CHECKING:
    from perslib.llm.structured.fallbacks import Ladder

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
PROGRESS = "PERSLIB_PROGRESS_FILE"


def is_rehearsal() -> bool:
    """Whether nobody is to be asked."""
    return bool(os.environ.get(VARIABLE))


#: A digest's digits as letters: no number for whoever reads a score off a text.
_LETTERS = str.maketrans("0123456789abcdef", "ghijklmnopqrstuv")


def note_computing(seconds: float) -> None:
    """Tell who runs this notebook as a rehearsal that the run itself will compute for so long."""
    if file := os.environ.get(PROGRESS):
        with Path(file).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"computing": seconds}) + "\n")


class StandIn:
    """Answers in a model's place, at the usual length; what was asked before is a hit.

    Its texts differ from question to question, as a model's do: what is asked about them is a question each, and no hit.
    """

    def __init__(self) -> None:
        self._given: set[str] = set()

    def answer(self, request: Request, entry: Entry, key: str) -> Answer:
        """Something of the wanted form, counted like an answer."""
        form, most = request.schema, request.max_tokens or USUAL_REPLY
        said = request.usual() if callable(request.usual) else request.usual
        if is_unknown := said is None:
            mark = key.translate(_LETTERS)[:12]
            words = ["3", *textwrap.wrap(mark, 3), *["etc"] * USUAL_REPLY][: min(most, USUAL_REPLY)]
            said = " ".join(words) if form is None else _of_form(form, form, mark)
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


QUESTIONS = "PERSLIB_QUESTIONS"
_NOT_YET = "\u27e8answer to come\u27e9"
"""What a collector puts into its texts: a question that holds it cannot be asked yet."""
ASKED = ("schema", "temperature", "max_tokens", "seed", "top_logprobs", "stop", "extra", "prompt", "sample", "brief")
"""What makes a request beside its messages."""


class Collector(StandIn):
    """Answers in a model's place, and writes each question that can be asked now to a file, a line each.

    Of what depends on an answer that is still to come only the id is written: it is asked in a later round.
    """

    def __init__(self, file: Path):
        super().__init__()
        self.file = file

    def answer(self, request: Request, entry: Entry, key: str) -> Answer:
        """Something of the wanted form, in which every free text is marked."""
        answer = super().answer(request, entry, key)
        if request.schema is None:
            return answer.with_(text=f"{answer.text} {_NOT_YET}")
        return answer.with_(data=_marked(answer.data, json.dumps(request.schema, ensure_ascii=False)))

    def collect(self, ladder: Ladder, request: Request, answer: Answer, stage: str, guessed: bool) -> None:
        """Write a question down, with what is needed to read the reply and what it is expected to take."""
        question: dict[str, Any] = {"custom_id": answer.digest}
        if not guessed and not any(_NOT_YET in str(message["content"]) for message in request.messages):
            question |= {
                "body": ladder.sent(request),
                "stage": stage,
                "entry": asdict(ladder.entry),
                "request": {name: getattr(request, name) for name in ASKED},
                "tokens": [answer.tokens_in, answer.tokens_out],
            }
        line = json.dumps(question, ensure_ascii=False, default=plain_number) + "\n"
        with self.file.open("ab", 0) as file:  # in one write, so that pages side by side do not mix theirs
            file.write(line.encode("utf-8", "replace"))


def plain_number(value: Any) -> Any:
    """A number from numpy or pandas as JSON knows it."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a request cannot hold a {type(value).__name__}: {value!r}")


def _marked(data: Any, schema: str) -> Any:
    """The data with a mark in every text that the schema does not spell out."""
    if isinstance(data, dict):
        return {name: _marked(value, schema) for name, value in data.items()}
    if isinstance(data, list):
        return [_marked(value, schema) for value in data]
    free = isinstance(data, str) and json.dumps(data, ensure_ascii=False) not in schema
    return f"{data} {_NOT_YET}" if free else data


@functools.cache
def rehearsal(file: str) -> StandIn:
    """What answers in a rehearsal, all over the process."""
    return Collector(Path(file)) if file else StandIn()


def _of_form(schema: Mapping[str, Any], root: Mapping[str, Any], mark: str) -> Any:
    """The plainest value that a JSON schema takes, with the mark in each text of its own."""
    if "$ref" in schema:
        places = schema["$ref"].removeprefix("#/").split("/")
        return _of_form(functools.reduce(operator.getitem, places, root), root, mark)
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return _of_form(schema[choice][0], root, mark)
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type", "string")
    kind = kind if isinstance(kind, str) else kind[0]
    if kind == "object":
        return {name: _of_form(part, root, mark) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [_of_form(schema.get("items", {}), root, mark)] * max(1, schema.get("minItems", 0))
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    text = f"…{mark}".ljust(schema.get("minLength", 0), "…")[: schema.get("maxLength")]
    return {"boolean": False, "null": None}.get(kind, text)
