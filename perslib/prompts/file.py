"""One prompt file: front matter and messages in Jinja2, read and checked before anything is rendered.

A template sees values as data only: it is sandboxed, never rendered twice, and reaches no private attribute of
Python objects. It prints only texts and numbers, shares pieces only by `include`, and prints untrusted text only
inside a fence: `{{ reply | fence("reply") }}`, or `{% filter fence("memory") %}…{% endfilter %}`.
"""

from __future__ import annotations

import difflib
import math
import numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import jinja2
import jsonschema_rs
import yaml
from jinja2 import meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from perslib.errors import PromptError
from perslib.prompts.fencing import enclose, escape_in_marker
from perslib.schemas import check, read_schema

ROLES = ("system", "user", "assistant")

_HEAD = read_schema(__file__, "head.schema.toml", "head")
#: The same in C, several times as fast, where PyYAML was built with it.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FIELD = re.compile(r"(?:there is no field ')?(\w+)")
_FRONT_MATTER = re.compile(r"\A---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^# +(.*?) *$", re.MULTILINE)


def read_prompt_file(name: str, sources: Sources) -> tuple[Path, dict[str, Any], list[tuple[str, str]]]:
    """Read a prompt and the files that it includes, and check them.

    Return the prompt's path, its front matter, and (role, template) of each message. Raise PromptError, with file
    and line, for anything that the format does not allow.
    """
    path, text = sources.read(name)
    head, start = _read_front_matter(path, text)
    messages = _split_messages(path, text, start)
    declared = frozenset(head["placeholders"])
    for _, body in messages:
        _check_file(body, _Scope(path, sources, declared, set(declared - head["trusted"])))
    return path, head, messages


def suggest_names(name: str, candidates: Iterable[str]) -> str:
    """Return ` (did you mean …?)` with the known names that are similar, or an empty text."""
    close = difflib.get_close_matches(name, list(candidates), n=3, cutoff=0.5)
    return f" (did you mean {' or '.join(close)}?)" if close else ""


def _read_front_matter(path: Path, text: str) -> tuple[dict[str, Any], int]:
    """Return the front matter with defaults filled in, and the position where the body begins."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        raise PromptError(f"{path}:1: a prompt begins with front matter between two lines of ---")
    try:
        head = yaml.load(match[1], _Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        line = mark.line + 2 if mark else 1
        raise PromptError(f"{path}:{line}: the front matter is not YAML: {problem}") from None
    if not isinstance(head, dict):
        raise PromptError(f"{path}:1: the front matter must hold keys and values")
    _check_head(path, text, head)
    defaults: dict[str, Any] = {"temperature": None, "max_tokens": None, "schema": None}
    return defaults | head | {"trusted": frozenset(head.get("trusted", []))}, match.end()


def _check_head(path: Path, text: str, head: Mapping[Any, Any]) -> None:
    def fail(key: str, problem: str) -> NoReturn:
        match = re.search(rf"^{re.escape(key)}\s*:", text, re.MULTILINE)
        raise PromptError(f"{path}:{_find_line(text, match.start()) if match else 1}: {problem}")

    for problem in check(head, _HEAD, str(path)):
        field = _FIELD.match(problem.message)
        fail(field[1] if field else "", problem.message)
    for name in head.get("trusted", []):
        if name not in head["placeholders"]:
            fail("trusted", f"{name!r} is trusted but not declared{suggest_names(name, head['placeholders'])}")
    if head.get("schema") is not None:
        try:
            jsonschema_rs.meta.validate(head["schema"])
        except jsonschema_rs.ValidationError as error:
            fail("schema", f"schema is not a JSON schema: {error.message}")


def _split_messages(path: Path, text: str, start: int) -> list[tuple[str, str]]:
    """Return (role, template) of each message.

    Each template begins with empty lines, so that line numbers in its errors are those of the file.
    """
    headings = list(_HEADING.finditer(text, start))
    before = text[start : headings[0].start()] if headings else text[start:]
    if before.strip() or not headings:
        line = _find_line(text, start + len(before) - len(before.lstrip()))
        raise PromptError(f"{path}:{line}: a message begins with a heading: # system, # user or # assistant")
    messages = []
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    for heading, end in zip(headings, ends):
        line, role, body = _find_line(text, heading.start()), heading[1], text[heading.end() : end]
        if role not in ROLES:
            raise PromptError(
                f"{path}:{line}: the heading of a message cannot be {role!r}{suggest_names(role, ROLES)}; "
                f"headings with # are {', '.join(ROLES)}; write other headings with ## or more"
            )
        if not body.strip():
            raise PromptError(f"{path}:{line}: the {role} message is empty")
        messages.append((role, "\n" * (line - 1) + body))
    return messages


def _find_line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


# -- templates ---------------------------------------------------------------------------------------------


def _require_printable(value: Any) -> Any:
    """Return a text or a number, which `{{ … }}` may print; raise TypeError for others, such as a list or None."""
    if isinstance(value, str | jinja2.Undefined):
        return value
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value):
        return value
    raise TypeError(
        f"{{{{ … }}}} would print {value!r:.60}; give it a text or a number, test for it with {{% if %}}, "
        "or write a list with a filter such as join, bullets or conversation"
    )


def _fence_visible(text: str, label: str) -> str:
    """Return the `fence` of templates, where text is already visible; empty lines at its ends are layout."""
    return enclose(text.strip("\n"), label)


def _write_bullets(items: Sequence[str]) -> str:
    """Return one item per line, after a dash."""
    return "\n".join(f"- {item}" for item in items)


def _write_conversation(messages: Sequence[Mapping[str, Any]], user: str = "user", assistant: str = "assistant") -> str:
    """Return messages under `<<<user>>>` and `<<<assistant>>>`, headings that no message can imitate."""
    headings, shown = {"user": user, "assistant": assistant}, []
    for message in messages:
        role, content = message.get("role", ""), message.get("content")
        if role not in headings or not isinstance(content, str):
            raise TypeError(f"a message has a role (user or assistant) and a text as content; got {message!r:.80}")
        shown.append(f"<<<{headings[role]}>>>\n{content}")
    return "\n".join(shown)


class _Environment(ImmutableSandboxedEnvironment):
    """The environment of templates, which finds `note.text` of a mapping directly.

    The sandbox would first look for an attribute and fail.
    """

    def getattr(self, obj: Any, attribute: str) -> Any:
        if type(obj) is dict and attribute in obj and not hasattr(dict, attribute):
            return obj[attribute]
        return super().getattr(obj, attribute)


ENVIRONMENT = _Environment(
    undefined=jinja2.StrictUndefined,
    finalize=_require_printable,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,
)
ENVIRONMENT.filters |= {
    "fence": _fence_visible,
    "conversation": _write_conversation,
    "bullets": _write_bullets,
    "in_marker": escape_in_marker,
}


class Sources:
    """The texts that a prompt is made of, each from the first folder that has it."""

    def __init__(self, folders: Sequence[Path]):
        self.folders = folders
        self.read_files: dict[str, tuple[Path, str]] = {}

    def find(self, name: str) -> Path | None:
        """Return the path of a file, or None if no folder has it."""
        return next((folder / name for folder in self.folders if (folder / name).is_file()), None)

    def read(self, name: str) -> tuple[Path, str]:
        r"""Return path and text of a file; line ends become \n, and the text ends with one.

        Raise PromptError if no folder has the file, or if it is not UTF-8.
        """
        path = self.find(name)
        if path is None:
            raise PromptError(f"{name} is in none of {', '.join(map(str, self.folders))}")
        try:
            self.read_files[name] = path, path.read_text(encoding="utf-8-sig").rstrip() + "\n"
        except UnicodeDecodeError as error:
            raise PromptError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None
        return self.read_files[name]

    def load(self, name: str) -> tuple[str, str, None]:
        """Return text and path of a file for Jinja; only files that have been read and checked are available."""
        path, text = self.read_files[name]
        return text, str(path), None


@dataclass(frozen=True)
class _Scope:
    """The place in a prompt that is being checked."""

    path: Path
    sources: Sources
    declared: frozenset[str]
    untrusted: set[str]
    """Names that lead to untrusted text; a template adds names with `set` and `for`."""
    stored: frozenset[str] = frozenset()
    """Names that the template defines."""
    is_fenced: bool = False
    within: tuple[str, ...] = ()
    """The chain of included files that leads here."""

    def bind(self, target: nodes.Node, value: nodes.Node) -> None:
        """Mark the names in the target as untrusted if the value is untrusted."""
        if _list_names(value) & self.untrusted:
            self.untrusted.update(_list_names(target))


def _check_file(body: str, scope: _Scope) -> None:
    """Check the names of a file, then the places where it prints them."""
    try:
        tree, unbound = _parse(body)
    except jinja2.TemplateSyntaxError as error:
        raise PromptError(f"{scope.path}:{error.lineno}: {error.message}") from None
    names = list(tree.find_all(nodes.Name))
    scope = replace(scope, stored=scope.stored | {name.name for name in names if name.ctx == "store"})
    for name in names:
        if name.name in unbound - scope.declared - scope.stored - set(ENVIRONMENT.globals):
            raise PromptError(
                f"{scope.path}:{name.lineno}: {{{{ {name.name} }}}} is not declared; "
                f"the placeholders are {', '.join(sorted(scope.declared)) or 'none'}"
            )
    _check_node(tree, scope)


@cache
def _parse(body: str) -> tuple[nodes.Template, set[str]]:
    """Return a template's tree and the names that it does not define itself; many prompts share the files they include."""
    tree = ENVIRONMENT.parse(body)
    return tree, meta.find_undeclared_variables(tree)


def _check_node(node: nodes.Node, scope: _Scope) -> None:
    """Raise PromptError for untrusted names that are printed outside a fence; follow includes."""
    inside: Iterable[nodes.Node | None] = node.iter_child_nodes()
    match node:
        case nodes.Name(ctx="load") if node.name in scope.untrusted and not scope.is_fenced:
            raise PromptError(
                f"{scope.path}:{node.lineno}: {{{{ {node.name} }}}} stands outside a fence; write "
                f'{{{{ {node.name} | fence("…") }}}}, or list it under trusted if no user or model writes it'
            )
        case nodes.Include() | nodes.Import() | nodes.FromImport() | nodes.Extends():
            return _check_include(node, scope)
        case nodes.Filter(name="fence" | "length" | "count"):
            return None
        case nodes.FilterBlock():
            inside = node.body
            scope = replace(scope, is_fenced=scope.is_fenced or _has_fence(node.filter))
        case nodes.If():  # a condition is read and not printed
            inside = [*node.body, *node.elif_, *node.else_]
        case nodes.CondExpr():
            inside = [node.expr1, node.expr2]
        case nodes.For():
            scope.bind(node.target, node.iter)
            inside = [*node.body, *node.else_]
        case nodes.Assign():
            return scope.bind(node.target, node.node)
    for child in inside:
        if child is not None:
            _check_node(child, scope)
    return None


def _check_include(node: nodes.Node, scope: _Scope) -> None:
    """Check the file that is included."""
    if not isinstance(node, nodes.Include) or not isinstance(node.template, nodes.Const):
        raise PromptError(f'{scope.path}:{node.lineno}: prompts share pieces by {{% include "_file.md" %}} only')
    name = str(node.template.value)
    if name in scope.within or scope.sources.find(name) is None:
        problem = "includes itself" if name in scope.within else f"is in none of {scope.sources.folders}"
        raise PromptError(f"{scope.path}:{node.lineno}: {name} {problem}")
    path, text = scope.sources.read(name)
    _check_file(text, replace(scope, path=path, within=(*scope.within, name)))


def _list_names(node: nodes.Node) -> set[str]:
    kinds = (nodes.Name, nodes.NSRef)
    return {n.name for n in [node, *node.find_all(kinds)] if isinstance(n, kinds)}


def _has_fence(chain: nodes.Node) -> bool:
    return any(f.name == "fence" for f in [chain, *chain.find_all(nodes.Filter)] if isinstance(f, nodes.Filter))
