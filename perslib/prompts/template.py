"""The Jinja2 of prompts: what templates may use, and the checks they pass before they are rendered.

A template sees values as data only (sandboxed, never rendered twice, no attribute that Python keeps for
itself), prints texts and numbers only, shares pieces by `include` only, and prints what is not trusted
inside a fence only: `{{ reply | fence("reply") }}`, or `{% filter fence("memory") %}…{% endfilter %}`.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from perslib.errors import PromptError
from perslib.prompts.fencing import enclose, in_marker


def _printable(value: Any) -> Any:
    """What `{{ … }}` may print: texts and numbers. A list or None there is a slip, not a prompt."""
    if isinstance(value, str | jinja2.Undefined):
        return value
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value):
        return value
    raise TypeError(
        f"{{{{ … }}}} would print {value!r:.60}; give it a text or a number, test for it with {{% if %}}, "
        "or write a list with a filter such as join, bullets or conversation"
    )


def _fenced(text: str, label: str) -> str:
    """The `fence` of templates, where text is visible already; empty lines at its ends are layout."""
    return enclose(text.strip("\n"), label)


def _bullets(items: Sequence[str]) -> str:
    """One item a line, after a dash."""
    return "\n".join(f"- {item}" for item in items)


def _conversation(
    messages: Sequence[Mapping[str, Any]], user: str = "user", assistant: str = "assistant"
) -> str:
    """Messages under `<<<user>>>` and `<<<assistant>>>`, headings that no message can imitate."""
    return "\n".join(_message(message, {"user": user, "assistant": assistant}) for message in messages)


def _message(message: Mapping[str, Any], headings: Mapping[str, str]) -> str:
    role, content = message.get("role", ""), message.get("content")
    if role not in headings or not isinstance(content, str):
        raise TypeError(
            f"a message has a role (user or assistant) and a text as content; got {message!r:.80}"
        )
    return f"<<<{headings[role]}>>>\n{content}"


class _Environment(ImmutableSandboxedEnvironment):
    """`note.text` of a mapping is found at once; the sandbox would first look for an attribute and fail."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        if type(obj) is dict and attribute in obj and not hasattr(dict, attribute):
            return obj[attribute]
        return super().getattr(obj, attribute)


ENVIRONMENT = _Environment(
    undefined=jinja2.StrictUndefined,
    finalize=_printable,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,
)
ENVIRONMENT.filters |= {
    "fence": _fenced,
    "conversation": _conversation,
    "bullets": _bullets,
    "in_marker": in_marker,
}


class Sources:
    """The texts that a prompt is made of, each from the first folder that has it."""

    def __init__(self, folders: Sequence[Path]):
        self.folders = folders
        self.texts: dict[str, str] = {}
        self.paths: dict[str, Path] = {}

    def find(self, name: str) -> Path | None:
        """Where a file is; None when no folder has it."""
        return next((folder / name for folder in self.folders if (folder / name).is_file()), None)

    def read(self, name: str) -> tuple[Path, str]:
        """Path and text of a file that is there; line ends become \\n, and one ends the text."""
        path = self.find(name)
        if path is None:
            raise PromptError(f"{name} is in none of {', '.join(map(str, self.folders))}")
        try:
            self.texts[name] = path.read_text(encoding="utf-8-sig").rstrip() + "\n"
        except UnicodeDecodeError as error:
            raise PromptError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None
        self.paths[name] = path
        return path, self.texts[name]

    def loader(self) -> jinja2.BaseLoader:
        """Serves to Jinja what has been read and checked, nothing else."""
        return jinja2.FunctionLoader(lambda name: (self.texts[name], str(self.paths[name]), None))


def check_template(
    path: Path, body: str, declared: frozenset[str], trusted: frozenset[str], sources: Sources
) -> None:
    """Raise PromptError for the first thing that does not hold, here or in an included file."""
    _Check(declared, sources).file(path, body, set(declared - trusted), False, declared, ())


class _Check:
    """One walk over a message's syntax tree; `tainted` are the names that lead to untrusted text."""

    def __init__(self, declared: frozenset[str], sources: Sources):
        self.declared, self.sources = declared, sources

    def file(
        self,
        path: Path,
        body: str,
        tainted: set[str],
        fenced: bool,
        defined: frozenset[str],
        within: tuple[str, ...],
    ) -> None:
        try:
            tree = ENVIRONMENT.parse(body)
            unbound = meta.find_undeclared_variables(tree)
        except jinja2.TemplateSyntaxError as error:
            raise PromptError(f"{path}:{error.lineno}: {error.message}") from None
        names = list(tree.find_all(nodes.Name))
        defined |= {name.name for name in names if name.ctx == "store"}
        for name in names:
            if name.name in unbound - defined - set(ENVIRONMENT.globals):
                raise PromptError(
                    f"{path}:{name.lineno}: {{{{ {name.name} }}}} is not declared; "
                    f"the placeholders are {', '.join(sorted(self.declared)) or 'none'}"
                )
        for node, taint, inside in self.exposed(tree, tainted, fenced):
            if isinstance(node, nodes.Name):
                raise PromptError(
                    f"{path}:{node.lineno}: {{{{ {node.name} }}}} stands outside a fence; write "
                    f'{{{{ {node.name} | fence("…") }}}}, or list it as trusted if no user or model wrote it'
                )
            self.include(path, node, taint, inside, defined, within)

    def include(
        self,
        path: Path,
        node: nodes.Node,
        tainted: set[str],
        fenced: bool,
        defined: frozenset[str],
        within: tuple[str, ...],
    ) -> None:
        if not isinstance(node, nodes.Include) or not isinstance(node.template, nodes.Const):
            raise PromptError(
                f'{path}:{node.lineno}: prompts share pieces by {{% include "_file.md" %}} only'
            )
        name = str(node.template.value)
        if name in within or self.sources.find(name) is None:
            why = "includes itself" if name in within else f"is in none of {self.sources.folders}"
            raise PromptError(f"{path}:{node.lineno}: {name} {why}")
        found, text = self.sources.read(name)
        self.file(found, text, tainted, fenced, defined, (*within, name))

    def exposed(
        self, node: nodes.Node, tainted: set[str], fenced: bool
    ) -> Iterator[tuple[nodes.Node, set[str], bool]]:
        """Untrusted names printed outside a fence, and the places where other files come in."""
        match node:
            case nodes.Name(ctx="load"):
                if node.name in tainted and not fenced:
                    yield node, tainted, fenced
            case nodes.Filter(name="fence" | "length" | "count"):
                return
            case nodes.Include() | nodes.Import() | nodes.FromImport() | nodes.Extends():
                yield node, tainted, fenced
            case nodes.FilterBlock():
                yield from self.each(node.body, tainted, fenced or _fences(node.filter))
            case nodes.If():
                yield from self.each([*node.body, *node.elif_, *node.else_], tainted, fenced)
            case nodes.CondExpr():
                yield from self.each([n for n in (node.expr1, node.expr2) if n], tainted, fenced)
            case nodes.For():
                if _names(node.iter) & tainted:
                    tainted |= _names(node.target)
                yield from self.each([*node.body, *node.else_], tainted, fenced)
            case nodes.Assign():
                if _names(node.node) & tainted:
                    tainted |= _names(node.target)
            case _:
                yield from self.each(node.iter_child_nodes(), tainted, fenced)

    def each(
        self, children: Iterable[nodes.Node], tainted: set[str], fenced: bool
    ) -> Iterator[tuple[nodes.Node, set[str], bool]]:
        for child in children:
            yield from self.exposed(child, tainted, fenced)


def _names(node: nodes.Node) -> set[str]:
    kinds = (nodes.Name, nodes.NSRef)
    return {n.name for n in [node, *node.find_all(kinds)] if isinstance(n, kinds)}


def _fences(chain: nodes.Node) -> bool:
    return any(
        isinstance(f, nodes.Filter) and f.name == "fence" for f in [chain, *chain.find_all(nodes.Filter)]
    )
