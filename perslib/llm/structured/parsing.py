"""From the text of a reply to an object that fits a JSON schema, and the ladder of ways to ask for one.

`parse(text, schema)` is a pure function, so stored raw replies can be read again when it has learned something, without
a new call. Only the writing is forgiven (fences, prose around it, trailing commas, quotes of the wrong kind, Python
spelling, numbers in quotes). What a field says is never changed: a score of 7 stays 7 and does not fit.

The ladder is JSON schema → JSON mode → plain text → one re-ask. Which rung an endpoint is asked on depends on what it
can do. On each rung the reply is read by `parse` and must fit the schema. A reply that does not is shown its faults and
asked for once more.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from jsonschema_rs import Draft202012Validator

from perslib.llm.answerers.completions import split_reasoning
from perslib.llm.request import Message, json_or, whole_characters
from perslib.paths import read_toml

LONGEST = 200_000
"""Characters of a reply that are searched for an object."""
MOST_OBJECTS = 200
"""Stretches of a reply that are tried as its object, the last ones."""
SHOWN = 3
"""Faults of an object that are named."""
_FENCE = re.compile(r"```[\w-]*[ \t]*\r?\n(.*?)(?:```|\Z)", re.S)
_CURLY = str.maketrans({"“": '"', "”": '"', "„": '"', "‟": '"', "\uff02": '"'})
_CURLY_SINGLE = str.maketrans({"‘": "'", "’": "'"})
#: Full-width forms stand in Unicode in the order of ASCII.
_FULL_WIDTH = {ord(mark) + 0xFEE0: mark for mark in ":,{}[]"}
#: Python's own reader would warn about some of these, on the terminal of somebody who did not write them. The others, which
#: JSON has not, spell a text in a way that `hidden_keys` does not know.
_DUBIOUS = re.compile(r"""\\[^\\'"abfnrtvu]|\d(?:and|else|for|if|in|is|or|not)""")
_UNREADABLE = object()
_BARE = {"True": "true", "False": "false", "None": "null"}


def parse(text: str, schema: Mapping[str, Any]) -> tuple[Any, str | None]:
    """Return (object, None) when the text holds one that fits the schema, else (None, what is wrong).

    Of several objects that fit, the last is taken: models weigh before they conclude.
    """
    problem: str | None = None
    for candidate in _candidates(text[:LONGEST], schema.get("type") == "array"):
        value = _reading(candidate)
        if value is _UNREADABLE:
            continue
        data = _coerce_value(value, schema)
        faults = find_schema_faults(data, schema)
        if faults is None:
            return data, None
        problem = problem or faults
    nothing = "the reply is empty" if not text.strip() else "the reply holds no complete JSON object"
    return None, problem or nothing


def is_strict(text: str, data: Any) -> bool:
    """Return whether the text is, as it came, nothing but the JSON of this object that was read from it."""
    return bool(json_or(text, _UNREADABLE) == data)


def holds_only_json(text: str) -> bool:
    """Return whether the text is one whole object or list in JSON, in a code fence or not, so that nothing of it is missing."""
    fence = _FENCE.fullmatch(text.strip())
    return isinstance(json_or(fence[1] if fence else text, None), dict | list)


def find_schema_faults(data: Any, schema: Mapping[str, Any]) -> str | None:
    """Return what of the object does not fit the schema, in words; None when it fits."""
    validator = _validator(schema_text(schema))
    if validator.is_valid(data):
        return None
    errors = sorted(validator.iter_errors(data), key=lambda e: [str(p) for p in e.instance_path])
    named = [f"{'.'.join(str(p) for p in e.instance_path) or 'reply'}: {_short(e.message)}" for e in errors[:SHOWN]]
    return "; ".join(named) + (f"; and {len(errors) - SHOWN} more" if len(errors) > SHOWN else "")


def _candidates(text: str, is_list: bool) -> Iterator[str]:
    """Yield stretches of the text that may be the object, the most likely first."""
    text_outside, _ = split_reasoning(text)
    yield text_outside
    seen = {text_outside}
    stretches = [block.group(1).strip() for block in _FENCE.finditer(text_outside)][: -MOST_OBJECTS - 1 : -1]
    for source in (text_outside, text_outside.translate(_FULL_WIDTH)):
        stretches += list(deque(_find_balanced(source, "[]" if is_list else "{}"), MOST_OBJECTS))[::-1]
    for stretch in stretches:
        if stretch not in seen:
            seen.add(stretch)
            yield stretch


def _find_balanced(text: str, brackets: str) -> Iterator[str]:
    """Yield outermost stretches between a pair of brackets; brackets in strings do not count."""
    depth, start, quoted, escaped = 0, 0, False, False
    for place, char in enumerate(text):
        if escaped:
            escaped = False
        elif quoted:
            escaped = char == "\\"
            quoted = char != '"'
        elif char == '"':
            quoted = depth > 0
        elif char == brackets[0]:
            start = place if depth == 0 else start
            depth += 1
        elif char == brackets[1] and depth:
            depth -= 1
            if depth == 0:
                yield text[start : place + 1]


def _attempts(text: str) -> Iterator[str]:
    """Yield the text with ever more of its writing forgiven."""
    yield text
    yield _repair_json(text)
    yield (straight := _repair_json(text.translate(_CURLY)))
    yield straight.translate(_FULL_WIDTH)


def _reading(text: str) -> Any:
    """Return the text as JSON, else with ever more of its writing forgiven, else as a Python literal."""
    if not text.startswith(("{", "[")):
        return _UNREADABLE
    for attempt in _attempts(text):
        try:
            return json.loads(whole_characters(attempt), strict=False, parse_constant=lambda name: None)
        except (ValueError, RecursionError):
            continue
    for attempt in (text, text.translate(_CURLY).translate(_CURLY_SINGLE)):
        if _DUBIOUS.search(attempt):
            continue
        try:
            tree = ast.parse(attempt, mode="eval")
            if not _holds_joined_texts(tree, attempt):
                return json.loads(whole_characters(json.dumps(ast.literal_eval(tree))))
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError, tokenize.TokenError):
            continue
    return _UNREADABLE


def _holds_joined_texts(tree: ast.Expression, text: str) -> bool:
    """Tell whether texts that stand side by side are one to Python: a key in parts would not be seen."""
    read = sum(isinstance(node, ast.Constant) and isinstance(node.value, str) for node in ast.walk(tree))
    return read != sum(token.type == tokenize.STRING for token in tokenize.generate_tokens(io.StringIO(text).readline))


_PIECES = re.compile(
    r'"(?:[^"\\]|\\.?)*+(?:"|\Z)|//[^\n]*|/\*.*?(?:\*/|\Z)|\b(?:True|False|None)\b|,(?=\s*[}\]])', re.S
)


def _repair_json(text: str) -> str:
    """Return the text without comments and trailing commas, Python's words in JSON's spelling; strings stay."""

    def mend_word(piece: re.Match[str]) -> str:
        word = piece.group()
        if word.startswith('"'):
            return word
        return _BARE.get(word, "")

    # Twice: a comma may turn out to be trailing when the comment after it is gone.
    return _PIECES.sub(mend_word, _PIECES.sub(mend_word, text))


def _coerce_value(value: Any, schema: Any) -> Any:
    """Return the value with its types, not its meaning, brought to the schema: "4" → 4, 4.0 → 4, "True" → true."""
    if not isinstance(schema, Mapping):
        return value
    kinds = schema.get("type")
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds or ())
    if isinstance(value, Mapping):
        parts = schema.get("properties", {})
        return {name: _coerce_value(part, parts.get(name)) for name, part in value.items()}
    if isinstance(value, list):
        return [_coerce_value(part, schema.get("items")) for part in value]
    if isinstance(value, str):
        return _from_text(value, kinds, schema.get("enum"))
    if isinstance(value, float) and "integer" in kinds and value.is_integer():
        return int(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and kinds == ("string",):
        return str(value)
    return value


def _from_text(value: str, kinds: tuple[str, ...], options: list[Any] | None) -> Any:
    text = value.strip()
    if options and value not in options:
        alike = [o for o in options if str(o).strip().casefold() == text.casefold()]
        return alike[0] if len(alike) == 1 else value
    if "string" in kinds:
        return value
    if ("integer" in kinds or "number" in kinds) and re.fullmatch(r"[+-]?\d{1,15}(\.\d+)?", text):
        number = float(text)
        return int(number) if number.is_integer() and "integer" in kinds else number
    if "boolean" in kinds and text.casefold() in ("true", "false"):
        return text.casefold() == "true"
    if "null" in kinds and text.casefold() in ("null", "none", ""):
        return None
    return value


def _short(message: str) -> str:
    return message if len(message) <= 160 else message[:157] + "…"


def schema_text(schema: Mapping[str, Any]) -> str:
    """Return a schema as text, by which what is made of it is remembered."""
    return json.dumps(schema, ensure_ascii=False).encode("utf-8", "replace").decode()


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    return Draft202012Validator(json.loads(schema))


ReplyFormat = Literal["schema", "json", "text"]
RUNGS: tuple[ReplyFormat, ...] = ("schema", "json", "text")

QUOTED = 4000
"""Characters of an unusable reply that are shown to its model again."""

_WORDS = read_toml(__file__, "replies.toml")["asking"]


def response_format(schema: Mapping[str, Any], rung: ReplyFormat) -> dict[str, Any] | None:
    """Return the `response_format` of a request on this rung."""
    if rung == "schema":
        named = {"name": _name(schema), "schema": schema, "strict": is_closed(schema)}
        return {"type": "json_schema", "json_schema": named}
    return {"type": "json_object"} if rung == "json" else None


def add_schema_to_messages(
    messages: Sequence[Message], schema: Mapping[str, Any], rung: ReplyFormat, language: str
) -> list[Message]:
    """Return the messages for this rung; below the first, where the endpoint does not enforce the schema, with it.

    It goes to the end of the last message, so that what was constant at the beginning stays so.
    """
    if rung == "schema":
        return list(messages)
    form = _WORDS[language]["form"].format(schema=schema_text(schema))
    last = messages[-1]
    if last["role"] != "user" or not isinstance(last["content"], str):
        return [*messages, {"role": "user", "content": form}]
    return [*messages[:-1], {**last, "content": f"{last['content']}\n\n{form}"}]


def make_retry_messages(
    messages: Sequence[Message], reply: str, problem: str, schema: Mapping[str, Any], language: str
) -> list[Message]:
    """Return the messages with the unusable reply, what is wrong with it, and the form once more."""
    words = _WORDS[language]
    form = words["form"].format(schema=schema_text(schema))
    quote = reply[:QUOTED] if reply.strip() else words["empty"]
    again = words["again"].format(problem=problem, form=form)
    return [*messages, {"role": "assistant", "content": quote}, {"role": "user", "content": again}]


def is_closed(schema: Any) -> bool:
    """Return whether every object of the schema requires all its fields and admits no other.

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
    """Return zh when a good part of the first message is Chinese, else en; perslib's own words follow the prompt's."""
    text = str(messages[0]["content"])[:2000]
    chinese = len(_CHINESE.findall(text))
    return "zh" if chinese * 5 > len(text) else "en"
