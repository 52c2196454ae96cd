"""The ladder to a structured reply: JSON schema → JSON mode → plain text → one re-ask.

Which rung an endpoint is asked on depends on what it can do; whichever it is, the reply is read by
`parsing.parse` and must fit the schema. A reply that does not is shown its faults and asked for once more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from perslib.llm.parsing import schema_text
from perslib.llm.types import Message

Rung = Literal["schema", "json", "text"]
RUNGS: tuple[Rung, ...] = ("schema", "json", "text")

QUOTED = 4000
"""Characters of an unusable reply that are shown to its model again."""

_ABOUT_FORMAT = re.compile(
    r"response[_ ]?format|json[_ ]?(schema|mode|object)|guided|grammar|structured[_ ]?output|constrained",
    re.I,
)
_WORDS = {
    "en": {
        "form": "Answer with one JSON object and nothing else, following this JSON schema:\n{schema}",
        "again": "That reply cannot be used: {problem}.\n{form}",
        "empty": "(no answer)",
    },
    "zh": {
        "form": "只输出一个 JSON 对象，不要输出任何其他内容，且必须符合以下 JSON Schema：\n{schema}",
        "again": "上面的回复无法使用：{problem}。\n{form}",
        "empty": "（没有回答）",
    },
}


def below(rung: Rung) -> Rung | None:
    """The next rung down; None below plain text."""
    place = RUNGS.index(rung) + 1
    return RUNGS[place] if place < len(RUNGS) else None


def response_format(schema: Mapping[str, Any], rung: Rung) -> dict[str, Any] | None:
    """The `response_format` of a request on this rung."""
    if rung == "schema":
        return _named_form(schema_text(schema))
    return {"type": "json_object"} if rung == "json" else None


@lru_cache(maxsize=256)
def _named_form(schema: str) -> dict[str, Any]:
    parsed = json.loads(schema)
    named = {"name": _name(parsed), "schema": parsed, "strict": is_closed(parsed)}
    return {"type": "json_schema", "json_schema": named}


def spelled_out(
    messages: Sequence[Message], schema: Mapping[str, Any], rung: Rung, language: str
) -> list[Message]:
    """The messages for this rung; below the first, where the endpoint does not enforce the schema, with it.

    It goes to the end of the last message, so that what was constant at the beginning stays so.
    """
    if rung == "schema":
        return list(messages)
    words = _WORDS[language]
    form = words["form"].format(schema=json.dumps(schema, ensure_ascii=False))
    last = messages[-1]
    if last["role"] != "user" or not isinstance(last["content"], str):
        return [*messages, {"role": "user", "content": form}]
    return [*messages[:-1], {**last, "content": f"{last['content']}\n\n{form}"}]


def asked_again(
    messages: Sequence[Message], reply: str, problem: str, schema: Mapping[str, Any], language: str
) -> list[Message]:
    """The messages with the unusable reply, what is wrong with it, and the form once more."""
    words = _WORDS[language]
    form = words["form"].format(schema=json.dumps(schema, ensure_ascii=False))
    said = reply[:QUOTED] if reply.strip() else words["empty"]
    again = words["again"].format(problem=problem, form=form)
    return [*messages, {"role": "assistant", "content": said}, {"role": "user", "content": again}]


def is_about_format(words: str) -> bool:
    """Whether a refusal is about the wanted form of the reply rather than about anything else."""
    return _ABOUT_FORMAT.search(words) is not None


def is_closed(schema: Any) -> bool:
    """Whether every object of the schema requires all its fields and admits no other.

    OpenAI's strict mode takes only such schemas; other endpoints enforce any.
    """
    if isinstance(schema, list):
        return all(is_closed(part) for part in schema)
    if not isinstance(schema, Mapping):
        return True
    if "properties" in schema or schema.get("type") == "object":
        named = set(schema.get("properties", {}))
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != named:
            return False
    return all(is_closed(part) for part in schema.values())


_CHINESE = re.compile("[\u4e00-\u9fff]")


def _name(schema: Mapping[str, Any]) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", str(schema.get("title") or "")).strip("_")[:64] or "reply"


def language_of(messages: Sequence[Message]) -> str:
    """zh when a good part of the first message is Chinese, else en; perslib's own words follow the prompt's."""
    text = str(messages[0]["content"])[:2000]
    chinese = len(_CHINESE.findall(text))
    return "zh" if chinese * 5 > len(text) else "en"
