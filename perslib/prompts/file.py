"""One prompt file: front matter and messages, read and checked before anything is rendered."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import yaml
from jsonschema_rs import ValidationError, meta

from perslib.errors import PromptError
from perslib.prompts.template import Sources, check_template
from perslib.schemas import check, read_schema

ROLES = ("system", "user", "assistant")

_HEAD = read_schema(__file__, "head.schema.toml", "head")
_FIELD = re.compile(r"(?:there is no field ')?(\w+)")
_FRONT_MATTER = re.compile(r"\A---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^# +(.*?) *$", re.MULTILINE)


@dataclass(frozen=True)
class PromptFile:
    """A checked file: its front matter with defaults, and (role, template) of each message."""

    path: Path
    head: dict[str, Any]
    messages: list[tuple[str, str]]


def read_prompt_file(name: str, sources: Sources) -> PromptFile:
    """Read and check a prompt, and with it everything that it includes."""
    path, text = sources.read(name)
    head, start = _front_matter(path, text)
    messages = _messages(path, text, start)
    for _, body in messages:
        check_template(path, body, frozenset(head["placeholders"]), head["trusted"], sources)
    return PromptFile(path, head, messages)


def near(name: str, known: Iterable[str]) -> str:
    """` (did you mean …?)` for the names that come close, else nothing."""
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f" (did you mean {' or '.join(close)}?)" if close else ""


def _front_matter(path: Path, text: str) -> tuple[dict[str, Any], int]:
    """The front matter with defaults filled in, and where the body begins."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        raise PromptError(f"{path}:1: a prompt begins with front matter between two lines of ---")
    try:
        head = yaml.safe_load(match[1])
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        line = mark.line + 2 if mark else 1
        raise PromptError(f"{path}:{line}: the front matter is not YAML: {problem}") from None
    if not isinstance(head, dict):
        raise PromptError(f"{path}:1: the front matter should hold keys and values")
    _check_head(path, text, head)
    defaults: dict[str, Any] = {"temperature": None, "max_tokens": None, "schema": None}
    return defaults | head | {"trusted": frozenset(head.get("trusted", []))}, match.end()


def _check_head(path: Path, text: str, head: Mapping[Any, Any]) -> None:
    def fail(key: str, problem: str) -> NoReturn:
        found = re.search(rf"^{re.escape(key)}\s*:", text, re.MULTILINE)
        raise PromptError(f"{path}:{_line(text, found.start()) if found else 1}: {problem}")

    for problem in check(head, _HEAD, str(path)):
        found = _FIELD.match(problem.message)
        fail(found[1] if found else "", problem.message)
    for name in head.get("trusted", []):
        if name not in head["placeholders"]:
            fail("trusted", f"{name!r} is trusted but not declared{near(name, head['placeholders'])}")
    if head.get("schema") is not None:
        try:
            meta.validate(head["schema"])
        except ValidationError as error:
            fail("schema", f"schema is not a JSON schema: {error.message}")


def _messages(path: Path, text: str, start: int) -> list[tuple[str, str]]:
    """(role, template) of each message; leading empty lines let templates count lines as the file does."""
    headings = list(_HEADING.finditer(text, start))
    before = text[start : headings[0].start()] if headings else text[start:]
    if before.strip() or not headings:
        line = _line(text, start + len(before) - len(before.lstrip()))
        raise PromptError(f"{path}:{line}: a message begins with a heading: # system, # user or # assistant")
    messages = []
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    for heading, end in zip(headings, ends):
        line, role, body = _line(text, heading.start()), heading[1], text[heading.end() : end]
        if role not in ROLES:
            raise PromptError(
                f"{path}:{line}: no message can be headed {role!r}{near(role, ROLES)}; "
                f"# is kept for {', '.join(ROLES)}, other headings take ## or more"
            )
        if not body.strip():
            raise PromptError(f"{path}:{line}: the {role} message is empty")
        messages.append((role, "\n" * (line - 1) + body))
    return messages


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
