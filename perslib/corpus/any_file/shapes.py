"""Records of any nesting as flat ones: a value for each path, conversations as messages, a row for each annotator.

A path is written as recipes write it (`inputs.question`). Where a field holds JSON as text, its content counts. A list of
annotations gives a row for each person who annotated, or a field for each thing that was asked; those of people count before those
of models. A list of replies to one request gives a row for each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from perslib.corpus.files.reading import read_literal
from perslib.paths import read_toml

WORDS = read_toml(__file__, "recognise.toml")
Flat = dict[str, Any]
#: Deeper than this nothing of a record is a column.
DEPTH = 6
#: The columns of an annotation that is a row of its own.
WHO, RATING = "annotator", "rating"
#: The number of a reply in a list of replies to one request.
REPLY = "(reply)"
_NUMBERS = tuple(WORDS["chinese"]["id"])
_CHINESE = {part for names in WORDS["names"].values() for listed in names for name in listed for part in name.split()}
_KNOWN = "|".join([*sorted((word for word in _CHINESE if word >= "\u3400"), key=len, reverse=True), *_NUMBERS])
#: A number, a Chinese word that is known, other Chinese characters up to one, or letters.
_PART = re.compile(rf"\d+|{_KNOWN}|[\u3400-\u9fff]+?(?={_KNOWN}|[^\u3400-\u9fff]|$)|[^\W\d_\u3400-\u9fff]+")
#: What stands in a name in brackets, what it says of a scale, and what stands after the sign of MongoDB's types.
_ASIDE = re.compile(r"\([^)]*\)|\[[01]\D+\d+\]$|:?\s*\d+\s*=.*$|(?<=[^\W\d])_[01]_(?:5|7|9|10|11|100)$|\.\$\w+$")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PEOPLE = ("role", "from", "speaker", "author", "sender", "participant")
ROLES = {word: role for role, words in WORDS["messages"]["roles"].items() for word in words}
_SIDES = {
    name: role
    for column, role in (("request", "user"), ("response", "assistant"))
    for name in WORDS["names"][column][0]
}
_SPEAKER = re.compile(
    rf"^[ \t#*>\[]*({'|'.join(WORDS['messages']['speakers'])})[ \t*\]]*[:\uff1a][ \t*]*", re.MULTILINE | re.I
)
#: Ratings of several people in one cell: "3,4,5".
_SEVERAL = re.compile(r"\s*\d+(?:\s*[,;/|]\s*\d+){2,}\s*")
_RATED = {*WORDS["names"]["score"][0], *(f"{word}s" for word in WORDS["names"]["score"][0])}


@cache
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a field's name, in lower case: of `metadata.userId` metadata, user and id."""
    parts = (
        part.lower()
        for word in _PART.findall(_ASIDE.sub(" ", name) if name[:1] not in "(" else name)
        for part in _CAMEL.split(word)
    )
    return tuple("id" if part in _NUMBERS else part for part in parts)


@cache
def name_of_path(path: str) -> str:
    """Return the last part of a path, as words: of `metadata.userId` "user id"."""
    return " ".join(words_of(_ASIDE.sub("", path).rpartition(".")[2]))


class Several(str):
    """Texts of a list, which are one where nothing else has as many: `parts` of a request and a reply are turns."""

    parts: tuple[str, ...]

    @classmethod
    def of(cls, parts: Sequence[str]) -> Several:
        """Return the texts, joined by empty lines."""
        joined = cls("\n\n".join(parts))
        joined.parts = tuple(parts)
        return joined


@dataclass(frozen=True)
class Conversation:
    """A field that holds a conversation."""

    messages: tuple[dict[str, Any], ...]
    text: str = ""
    """What stood there, where it was a text."""
    user: str = ""
    """Who wrote the messages of the user, where they say so."""
    is_assumed: bool = False
    """Whether nothing says who wrote what, so that the user and the assistant take turns."""


def flatten_record(record: Mapping[str, Any]) -> list[Flat]:
    """Return the flat rows of a record: one, or one for each person who annotated it, or for each reply in a list of them."""
    if all(_is_plain_cell(name, value) for name, value in record.items()):  # a row of a table, as most records are
        return [{str(name): value for name, value in record.items() if value is not None and value != ""}]
    flat: Flat = {}
    people: dict[str, Flat] = {}
    replies: list[Flat] = []
    for path, value in _walk(record):
        if isinstance(value, list) and not _is_annotation(path, value[0]):
            for i, item in enumerate(value):
                key = str(_find_reply(path, item))
                named = {"response" if name == key else str(name): own for name, own in item.items()}
                replies.append({REPLY: i, **dict(_walk(named, path))})
        elif isinstance(value, list):
            for who, own in _read_annotations(path, value):
                (people.setdefault(who, {}) if who else flat).update(own)
        else:
            flat[path] = value
    rows = [{**flat, WHO: who, **own} for who, own in people.items()] or [flat]
    return [{**row, **reply} for row in rows for reply in replies] or rows


def _is_plain_cell(name: Any, value: Any) -> bool:
    """Return whether a cell is what it looks like: no record, list or conversation, nor the text of one, nor several ratings."""
    if not isinstance(value, str):
        return value is None or isinstance(value, int | float)
    if value[:1] in ("{", "["):
        return False
    return not _SPEAKER.match(value.lstrip()) and not (value[:1].isdigit() and _SEVERAL.fullmatch(value))


def keep_mixed_as_texts(flat: Sequence[tuple[str, Flat]], values: dict[str, list[Any]]) -> None:
    """Take back that a text is a conversation where the same field of other records holds plain texts."""
    for path, own in values.items():
        if len({isinstance(value, Conversation) for value in own}) == 2:
            for _, row in flat:
                if isinstance(held := row.get(path), Conversation) and held.text:
                    row[path] = held.text
            values[path] = [value.text if isinstance(value, Conversation) and value.text else value for value in own]


def take_quotes_off(flat: Sequence[tuple[str, Flat]], values: dict[str, list[Any]]) -> None:
    """Read the texts of a field that are JSON strings, all of them, as tools write a reply that may be anything."""
    quoted = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
    for path, own in values.items():
        if not (own and isinstance(own[0], str) and own[0].startswith('"')):
            continue
        rows = [row for _, row in flat if path in row]
        if all(isinstance(row[path], str) and quoted.fullmatch(row[path]) for row in rows):
            with suppress(ValueError):
                texts = [json.loads(row[path], strict=False) for row in rows]
                values[path] = texts[: len(own)]
                for row, text in zip(rows, texts):
                    row[path] = text


def _walk(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the paths of a record with their values: plain ones, conversations, and lists of annotations."""
    value = _parse(value)
    if (conversation := read_conversation(value) or _read_turns(path, value)) is not None:
        is_reply = all(m["role"] == "assistant" and "score" not in m for m in conversation.messages)
        yield path, "\n\n".join(m["content"] for m in conversation.messages) if is_reply else conversation
    elif isinstance(value, Mapping):
        if depth < DEPTH:
            for key, own in value.items():
                own, people = _parse(own), _parse(value.get(f"{key}.users"))  # Argilla's: who gave which of the values
                if isinstance(own, list | tuple) and isinstance(people, list | tuple) and len(own) == len(people):
                    own = [{WHO: who, "value": given} for who, given in zip(people, own)]
                yield from _walk(own, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list | tuple):
        value = list(value)
        if value and all(isinstance(item, Mapping) for item in value):
            if _is_annotation(path, value[0]) or (len(value) > 1 and all(_find_reply(path, own) for own in value)):
                yield path, value
            elif len(value) == 1:
                yield from _walk(value[0], f"{path}[0]", depth + 1)
        elif value and all(isinstance(item, str) for item in value):
            yield path, value[0] if len(value) == 1 else Several.of(value)
        elif len(value) == 1:
            yield from _walk(value[0], path, depth + 1)
    elif isinstance(value, str) and name_of_path(path) in _RATED and _SEVERAL.fullmatch(value):
        yield from ((f"{path} {i}", part.strip()) for i, part in enumerate(re.split("[,;/|]", value), 1))
    elif value is not None and value != "":
        yield path, value


def _find_reply(path: str, item: Mapping[str, Any]) -> str | None:
    """Return the key of the reply in an item of a list that is one of several replies to the same request."""
    is_listed = _SIDES.get(name_of_path(path).removesuffix("s")) == "assistant"
    texts = [str(key) for key, value in item.items() if isinstance(value, str)]
    named = (key for key in texts if _SIDES.get(name_of_path(key)) == "assistant")
    plain = (key for key in texts if is_listed and name_of_path(key) in WORDS["messages"]["content"])
    return next(named, None) or next(plain, None)


def _parse(value: Any) -> Any:
    """Return what a text holds, where it is JSON, or what Python prints for a dictionary or list, as in a frame that became CSV."""
    if isinstance(value, str) and value[:1] in "{[" and value.rstrip()[-1:] in "}]":
        parsed = read_literal(value)
        return value if parsed is None else parsed
    return value


# -- conversations -----------------------------------------------------------------------------------------------


def read_conversation(value: Any) -> Conversation | None:
    """Return the messages of a list that is a conversation, in whatever form; None where it is none."""
    if isinstance(value, str):
        return _read_transcript(value)
    if isinstance(value, Mapping) and set(value) <= {"messages"} and value:
        value = value["messages"]
    elif isinstance(value, Mapping):
        value = _read_tree(value)
    value = list(value) if isinstance(value, tuple) else value
    if isinstance(value, list):
        value = [_name_parts(item) for item in value]
    if not isinstance(value, list) or not value or not all(isinstance(item, Mapping) for item in value):
        return None
    names = {name_of_path(str(key)): key for item in reversed(value) for key in item}
    role_of = next((names[word] for word in WORDS["messages"]["lists"] if word in names), None)
    text_of = next((names[word] for word in WORDS["messages"]["content"] if word in names), None)
    if role_of is None or text_of is None:
        return _read_pairs(value)
    value = [item for item in value if item.get(role_of)]  # reasoning and calls of tools have none
    if not value:
        return None
    given = [str(_plain_role(item.get(role_of))).lower() for item in value]
    roles = find_roles(given)
    unknown = [role for role, known in roles.items() if known is None]
    if len(unknown) == len(roles) == 2 and name_of_path(str(role_of)) in _PEOPLE:  # two people by name: the first asks
        roles = dict(zip(unknown, ("user", "assistant")))
    elif unknown:
        return None
    if not {"user", "assistant"} & set(roles.values()):
        return None
    messages = []
    for role, item in zip(given, value):
        if (content := _read_content(item.get(text_of))) or roles[role] != "system":
            own = {"score": rating} if (rating := _find_rating(item)) is not None else {}
            messages.append({"role": roles[role], "content": content, **own})
    writers = (item[role_of] for role, item in zip(given, value) if roles[role] == "user")
    ids = (str(own.get("id") or own.get("name") or "") for own in writers if isinstance(own, Mapping))
    return Conversation(tuple(messages), user=next(ids, "")) if messages else None


def _name_parts(item: Any) -> Any:
    """Return a message written as [role, text] or {role: text} with the names of its parts, and LangChain's with its content."""
    pair = next(iter(item.items())) if isinstance(item, Mapping) and len(item) == 1 else item
    if isinstance(pair, list | tuple) and len(pair) == 2 and all(isinstance(part, str) for part in pair):
        return {"role": pair[0], "content": pair[1]} if pair[0].lower() in ROLES else item
    inner = item.get("kwargs", item.get("data")) if isinstance(item, Mapping) else None
    return {**item, **inner} if isinstance(inner, Mapping) and "content" in inner and "type" in item else item


def find_roles(given: Sequence[str]) -> dict[str, str | None]:
    """Return the side that each name of a role stands for; of users and systems only, systems are the assistant."""
    roles = {role: ROLES.get(role) for role in dict.fromkeys(given)}
    is_two_sided = roles[given[0]] != "system" and set(roles.values()) == {"user", "system"}
    return {role: "assistant" if is_two_sided and side == "system" else side for role, side in roles.items()}


def _read_transcript(text: str) -> Conversation | None:
    """Return the messages of a text whose lines begin with who speaks."""
    if not _SPEAKER.match(start := text.lstrip()):
        return None
    _, *parts = _SPEAKER.split(start)
    given = [who.lower() for who in parts[::2]]
    roles = find_roles(given)
    messages = [{"role": roles[who], "content": content.strip()} for who, content in zip(given, parts[1::2])]
    return Conversation(tuple(messages), text) if "user" in roles.values() and None not in roles.values() else None


def _read_turns(path: str, value: Any) -> Conversation | None:
    """Return the messages of a list of texts that is called a conversation: the user and the assistant take turns."""
    if not isinstance(value, list) or len(value) < 2 or name_of_path(path) not in WORDS["messages"]["turns"]:
        return None
    is_paired = all(isinstance(item, list | tuple) and len(item) == 2 for item in value)
    texts = [_read_content(part) for item in value for part in (item if is_paired else (item,))]
    if not all(isinstance(item, str | list | Mapping) for item in value) or not all(texts):
        return None
    messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]
    return Conversation(tuple(messages), is_assumed=True)


def _read_tree(nodes: Mapping[str, Any]) -> list[Any] | None:
    """Return the messages along the newest branch of a tree of messages, as ChatGPT exports them."""
    if not nodes or not all(
        isinstance(node, Mapping) and isinstance(node.get("children"), list) for node in nodes.values()
    ):
        return None
    at = next((key for key, node in nodes.items() if str(node.get("parent")) not in nodes), "")
    branch: dict[str, Any] = {}
    while at in nodes and at not in branch:
        branch[at] = nodes[at].get("message")
        at = str(nodes[at]["children"][-1]) if nodes[at]["children"] else ""
    return [message for message in branch.values() if isinstance(message, Mapping)]


def _plain_role(value: Any) -> Any:
    return value.get("role") or value.get("type", "") if isinstance(value, Mapping) else value


def _read_pairs(value: list[Mapping[str, Any]]) -> Conversation | None:
    """Return a conversation whose items hold a message of either side: [{"human": …, "ai": …}, …], each with its rating."""
    names = _SIDES if len(value) > 1 else {}
    sides = {key: ROLES.get(str(key).lower()) or names.get(name_of_path(str(key))) for key in value[0]}
    keys = {role: key for key, role in sides.items() if role}
    if not {"user", "assistant"} <= set(keys):
        return None
    messages = [
        {"role": role, "content": _read_content(item.get(keys[role]))}
        | ({"score": rating} if role == "assistant" and (rating := _find_rating(item)) is not None else {})
        for item in value
        for role in ("user", "assistant")
    ]
    return Conversation(tuple(messages))


def _read_content(value: Any) -> str:
    """Return the text of a message: itself, or that of its parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return _read_content(value.get("text", value.get("content", value.get("parts", value.get("value")))))
    if isinstance(value, list | tuple):
        return "\n".join(text for item in value if (text := _read_content(item)))
    return "" if value is None else str(value)


def _find_rating(message: Mapping[str, Any]) -> Any:
    """Return the rating that stands with a message."""
    names = {name_of_path(str(key)): key for key in message}
    key = next((names[name] for name in WORDS["messages"]["ratings"] if name in names), None)
    value = message.get(key) if key is not None else None
    if isinstance(value, Mapping):
        value = next((value[name] for name in WORDS["messages"]["values"] if value.get(name) not in (None, "")), None)
    return value if isinstance(value, str | int | float | bool) and value != "" else None


# -- annotations -------------------------------------------------------------------------------------------------


def _is_annotation(path: str, item: Mapping[str, Any]) -> bool:
    """Return whether an item of a list says what somebody thought of the record: it has a value, and an annotator or a list's name."""
    words = WORDS["annotations"]
    names = {" ".join(words_of(at)) for at, _ in _leaves(item)} | {name_of_path(str(key)) for key in item}
    return bool(names & set(words["value"])) and (
        name_of_path(path) in words["lists"] or bool(names & set(words["who"]))
    )


def _read_annotations(path: str, items: list[Mapping[str, Any]]) -> Iterator[tuple[str, Flat]]:
    """Yield who annotated ("" for nobody that is named) and what: those of people alone, where there are some."""
    words = WORDS["annotations"]
    about_people = {word.removesuffix("s") for word in words_of(path)[-1:]} & {*WORDS["people"]["words"]}
    read = []
    for item in items:
        leaves = {" ".join(words_of(at)): value for at, value in _leaves(item)}
        names = [*words["who"], *(("id", "name") if about_people else ())]
        who = next((str(leaves[name]) for name in names if leaves.get(name) not in (None, "")), "")
        source = next((str(v).lower() for at, v in leaves.items() if at.endswith(("source", "source type"))), "")
        read.append((item, leaves, who, any(word in source for word in words["human"])))
    has_people = any(is_human for *_, is_human in read)
    for item, leaves, who, is_human in read:
        about = next(
            (str(leaves[name]) for name in words["about"] if name not in names and leaves.get(name) not in (None, "")),
            "",
        )
        own: Flat = {}
        results = item.get("result")
        if isinstance(results, list):  # Label Studio's
            for result in results:
                if isinstance(result, Mapping) and (value := _read_result(result.get("value"))) is not None:
                    own[str(result.get("from_name") or RATING)] = value
        else:
            value = next((leaves[name] for name in words["value"] if leaves.get(name) not in (None, "")), None)
            own = {} if value is None else {about or (RATING if name_of_path(path) in words["lists"] else path): value}
        if not own:
            continue
        if who and (is_human or not has_people):
            yield who, own
        else:
            yield "", {f"{path}.{name}": value for name, value in own.items()}


def _leaves(value: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, own in value.items():
        at = f"{path}.{key}" if path else str(key)
        if isinstance(own, Mapping):
            yield from _leaves(own, at)
        elif not isinstance(own, list):
            yield at, own


def _read_result(value: Any) -> Any:
    """Return the value of a result of Label Studio: a rating, a number, the first choice or text."""
    if not isinstance(value, Mapping):
        return value
    for key in ("rating", "number", "choices", "taxonomy", "text", "selected"):
        if key in value:
            held = value[key]
            while isinstance(held, list) and held:
                held = held[0]
            return held
    return None
