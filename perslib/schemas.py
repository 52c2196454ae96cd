"""Check records and settings against JSON schemas, and say what is wrong in words.

    SESSION = read_schema(__file__, "palset.schema.toml", "sample")
    check(record, SESSION, "input.json 0000_sample0")
    # [Problem("input.json 0000_sample0", "logs[0].content is 3, expected a text")]

A schema is a table of a TOML file; tables of one file refer to each other as "#/name". The `description` of a schema
says what a field should be, in words that follow "expected"; without one, its keywords are put into words. The value of
a field that is `writeOnly` may be a secret and is not repeated.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jsonschema_rs import Draft202012Validator, ReferencingError, ValidationError

from perslib.errors import Problem
from perslib.paths import read_toml

_HALF = re.compile("[\ud800-\udfff]")
#: What a type, or another keyword of a schema, is called where it has no description.
_WORDS = read_toml(__file__, "schemas.toml")


@dataclass(frozen=True)
class Schema:
    """A schema as data, and what checks records against it."""

    document: Mapping[str, Any]
    validator: Draft202012Validator

    def at(self, path: Iterable[str | int]) -> dict[str, Any]:
        """Return the part of the schema at a path, behind a reference."""
        part: Any = self.document
        for key in path:
            part = part[key]
        refers = "$ref" in part and "description" not in part
        return self.at(part["$ref"].split("/")[1:]) if refers else part


def read_schema(module_file: str, name: str, part: str, **formats: Callable[[str], bool]) -> Schema:
    """Return the schema in table `part` of a TOML file that lies beside a module; `formats` are checks by name."""
    return make_schema(read_toml(module_file, name), part, **formats)


def make_schema(tables: Mapping[str, Any], part: str, **formats: Callable[[str], bool]) -> Schema:
    """Return the schema in one of several tables that refer to each other."""
    document = {**tables, "$ref": f"#/{part}"}
    try:
        validator = Draft202012Validator(document, formats=formats, validate_formats=True, retriever=_refuse_address)
    except ReferencingError as error:
        raise ValueError(str(error)) from None
    return Schema(document, validator)


def _refuse_address(address: str) -> Any:
    """Refuse a schema that refers to a file or a page, which would have to be opened."""
    raise ValueError(f"a schema may refer to its own parts alone, not to {address}")


def check(record: Any, schema: Schema, place: str, unknown: Callable[[str], None] | None = None) -> list[Problem]:
    """Return what is wrong with a record: one problem a field. `unknown` takes fields that the schema does not name."""
    if not _is_fit(record):
        return list(find_unstorable(record, place))
    try:
        is_valid = schema.validator.is_valid(record)
    except ValueError:  # TOML has dates and overrides may be NumPy's; no schema knows them
        named = json.dumps(record, default=lambda value: {type(value).__name__: str(value)})
        return check(json.loads(named), schema, place, unknown)
    if is_valid:
        return []
    problems: dict[str, str] = {}
    for error in schema.validator.iter_errors(record):
        if unknown and error.kind.name == "additionalProperties":
            for name in error.kind.as_dict()["unexpected"]:
                unknown(name)
        else:
            for field, message in _messages(error, record, schema):
                problems.setdefault(field, message)
    return [Problem(place, message) for message in problems.values()]


def _messages(error: ValidationError, record: Any, schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield the field and what is wrong with it, as a sentence."""
    *path, last = error.schema_path
    keyword, details = str(last), error.kind.as_dict()
    part, field, value = schema.at(path), "", record
    for key in error.instance_path:
        value = value[key]  # the validator's own copy has null for NaN
        field += f"[{key}]" if isinstance(key, int) else f".{key}" if field else key
    within = f"{field}." if field else ""
    if keyword == "required":
        name = details["property"]
        wanted = schema.at([*path, "properties", name]) if name in part.get("properties", {}) else {}
        yield f"{within}{name}", f"{within}{name} is missing{_describe_expected(wanted, 'type', ', expected ')}"
    elif keyword == "additionalProperties":
        for name in details["unexpected"]:
            yield f"{within}{name}", f"there is no field '{within}{name}'.{_hint(name, part['properties'])}"
    elif "propertyNames" in path:
        name = details["error"].instance
        yield f"{within}{name}", f"{within}{name} is a wrong key{_describe_expected(part, keyword, ', expected ')}"
    elif value is None:
        yield field, f"{field} is missing{_describe_expected(part, keyword, ', expected ')}".lstrip()
    else:
        is_count = keyword in ("minItems", "maxItems")
        size = f"holds {len(value)} items" if is_count else f"is {_format_value(value, part)}"
        yield field, f"{field} {size}{_describe_expected(part, keyword, ', expected ')}".lstrip()


def _describe_expected(part: Mapping[str, Any], keyword: str, before: str) -> str:
    """Return what a part of a schema asks for; nothing where it does not say."""
    if expected := part.get("description"):
        return f"{before}{expected}"
    asked = part.get(keyword)
    if keyword == "type":
        names = [asked] if isinstance(asked, str) else asked or []
        expected = " or ".join(_WORDS["type"][name] for name in names if name in _WORDS["type"])
        return before + expected if expected else ""
    listed = ", ".join(map(show, asked)) if isinstance(asked, list) else asked
    return before + _WORDS["keyword"].get(keyword, "something else").format(listed)


def _hint(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=2, cutoff=0.5)
    return f" Did you mean {' or '.join(near)}?" if near else f" Known: {', '.join(known)}."


def _format_value(value: Any, part: Mapping[str, Any]) -> str:
    if isinstance(value, str) and not value.strip():
        return "empty"
    return "not shown here" if part.get("writeOnly") else show(value)


def show(value: Any, width: int = 60) -> str:
    """Return a value as JSON, cut to a width, for a message."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= width else f"{text[:width]}…"


def _is_fit(value: Any) -> bool:
    """Return whether a corpus can hold a JSON value; as `find_unstorable` finds it, three to seven times as fast, for every
    record is asked.
    """
    kind = type(value)
    if kind is str:
        return value.isascii() or not _HALF.search(value)
    if kind is dict:
        return all(map(_is_fit, value)) and all(map(_is_fit, value.values()))
    return all(map(_is_fit, value)) if kind is list else not any(find_unstorable(value, ""))


def find_unstorable(value: Any, place: str, name: str = "") -> Iterator[Problem]:
    """Yield what of a JSON value no corpus or table can hold, each with the name of its field."""
    if isinstance(value, str):
        if _HALF.search(value):
            shown = name.encode("utf-8", "backslashreplace").decode()
            yield Problem(place, f"{shown} holds half a character (a lone surrogate)")
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        yield Problem(place, f"{name} is a whole number of {len(str(abs(value)))} digits; write it as text")
    elif isinstance(value, dict):
        for key, item in value.items():
            own = f"{name}.{key}" if name else key
            yield from (*find_unstorable(key, place, own), *find_unstorable(item, place, own))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from find_unstorable(item, place, f"{name}[{i}]")
