"""A message in pieces, so that what many questions share is rendered once.

The questions of a block differ in the reply and little else: memory, profile and instructions come again word for
word. A message is therefore cut where it includes another file, outside of all blocks, and each piece keeps its last
text until one of the placeholders it uses has another value.
"""

from __future__ import annotations

import marshal
import re
from collections.abc import Iterator, Mapping
from typing import Any

import jinja2
from jinja2 import meta, nodes

_INCLUDE = re.compile(r'^[ \t]*\{%[ \t]*include[ \t]+"[^"\n]+"[ \t]*%\}[ \t]*\n', re.MULTILINE)

Keys = Mapping[str, bytes | None]
"""What tells the values of placeholders apart, type and all; None of a value that has no such key."""


def key(value: Any) -> bytes | None:
    """Equal for equal plain data of equal types."""
    try:
        return marshal.dumps(value, 2)  # version 2 writes no references, which differ between equal values
    except ValueError:
        return None


class Piece:
    """A part of a message that renders by itself."""

    def __init__(self, environment: jinja2.Environment, before: str, text: str):
        self.lines = before.count("\n")  # put in front, so that faults are told with the line of the file
        self.template = environment.from_string("\n" * self.lines + text)
        self.names = tuple(sorted(_placeholders(environment, text)))
        self._last: tuple[tuple[bytes | None, ...], str] | None = None

    def render(self, values: Mapping[str, Any], keys: Keys) -> str:
        """The text with these values; that of the last time if they are the same."""
        now = tuple(keys[name] for name in self.names if name in keys)
        last = self._last
        if last is not None and last[0] == now:
            return last[1]
        text = self.template.render(values)[self.lines :]
        if None not in now:
            self._last = now, text
        return text


def pieces(environment: jinja2.Environment, body: str) -> tuple[Piece, ...]:
    """The pieces of a message, in order; one alone where it cannot be cut."""
    parts, done = [], 0
    for part in _cut(environment, body):
        parts.append(Piece(environment, body[:done], part))
        done += len(part)
    return tuple(parts)


def _cut(environment: jinja2.Environment, body: str) -> Iterator[str]:
    """Stretches that are templates of their own: between them no block is open and no variable is set."""
    if any(environment.parse(body).find_all((nodes.Assign, nodes.AssignBlock))):
        yield body
        return
    start = 0
    for include in _INCLUDE.finditer(body):
        for end in (include.start(), include.end()):
            if end > start and _is_whole(environment, body[start:end]):
                yield body[start:end]
                start = end
    if start < len(body):
        yield body[start:]


def _is_whole(environment: jinja2.Environment, text: str) -> bool:
    try:
        environment.parse(text)
    except jinja2.TemplateSyntaxError:
        return False
    return True


def _placeholders(environment: jinja2.Environment, text: str) -> set[str]:
    """Names that a text and the files it includes take from outside."""
    tree = environment.parse(text)
    found = meta.find_undeclared_variables(tree)
    for include in tree.find_all(nodes.Include):
        assert isinstance(include.template, nodes.Const) and environment.loader is not None
        source, _, _ = environment.loader.get_source(environment, include.template.value)
        found |= _placeholders(environment, source)
    return found
