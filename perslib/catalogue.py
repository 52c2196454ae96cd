"""Collect every text that people read into the catalogues: `python -m perslib.catalogue`.

Messages are the literal texts given to `translate`, `plural`, `say`, `NotEnough` and the like, captions of figures and
tables, Markdown of notebooks, comments behind their parameters, texts of page templates, and labels. What is new
gets an empty translation (or, when it resembles an old message, that one's, marked fuzzy); what is gone is removed.
"""

from __future__ import annotations

import ast
import json
import re
import tokenize
from collections.abc import Iterator
from difflib import get_close_matches
from io import StringIO
from itertools import accumulate
from pathlib import Path
from typing import Any

import polib

from perslib.errors import ReportError
from perslib.paths import find_bundled, read_toml, workspace
from perslib.text import (
    CATALOGUES,
    LANGUAGES,
    current_language,
    markdown_blocks,
    translate,
    translate_markdown,
    using_language,
)

#: Functions whose texts are messages: the places of these among the arguments, and their names.
MESSAGES: dict[str, dict[int, str]] = {
    "translate": {0: ""},
    "plural": {0: "", 1: ""},
    "mark": {0: ""},
    "say": {0: ""},
    "answer": {0: ""},
    "choose": {1: "above", 2: "below", 3: "open", 4: "unknown"},
    "NotEnough": {0: ""},
    "FewTrainUsers": {0: ""},
    "Unfit": {0: ""},
    "save_figure": {3: "caption", 4: "empty"},
    "save_table": {2: "caption"},
    "show_table": {1: "caption"},
    "button": {1: "label", 4: "tip"},
    "heading": {0: ""},
    "make_field": {1: "label", 2: "hint"},
}
#: Arguments that are messages in every call.
ALWAYS = ("xlabel", "ylabel")
Message = str | tuple[str, str]


def list_messages() -> Iterator[tuple[Message, str]]:
    """Yield every message of the library, its templates and notebooks, with the file that it is in."""
    package = Path(__file__).parent
    for file in sorted(package.rglob("*.py")):
        yield from ((m, f"perslib/{file.relative_to(package)}") for m in in_code(file.read_text("utf-8")))
    for file in sorted(find_bundled("notebooks").glob("*.ipynb")):
        yield from ((m, f"notebooks/{file.name}") for m in in_notebook(file))
    for file in sorted(package.rglob("*.j2")):
        yield from ((m, f"perslib/{file.relative_to(package)}") for m in in_template(file.read_text("utf-8")))
    labels = read_toml(str(package / "report" / "show" / "words.py"), "labels.toml")
    yield from ((label, "perslib/report/show/labels.toml") for label in labels.values() if label)


def in_code(source: str) -> Iterator[Message]:
    """Yield the literal texts in calls of the functions named in `MESSAGES`."""
    for function, nodes in texts_in(source):
        if function == "plural" and len(nodes) == 2:
            yield nodes[0].value, nodes[1].value
        else:
            yield from (node.value for node in nodes)


def texts_in(source: str) -> Iterator[tuple[str, list[Any]]]:
    """Yield each call of a function named in `MESSAGES`, with the constants in it that are messages."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        places = MESSAGES.get(name, {})
        given = [arg for place, arg in enumerate(node.args) if place in places]
        given += [word.value for word in node.keywords if word.arg in (*places.values(), *ALWAYS)]
        yield name, [text for arg in given for text in literals(arg)]


def literals(node: ast.expr) -> Iterator[ast.Constant]:
    """Yield the literal texts that an argument can be: itself, or either side of an `if`, `or`, or `and`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
        yield node
    elif isinstance(node, ast.IfExp):
        yield from (*literals(node.body), *literals(node.orelse))
    elif isinstance(node, ast.BoolOp):
        yield from (text for value in node.values for text in literals(value))


def in_notebook(file: Path) -> Iterator[Message]:
    """Yield the blocks of Markdown, the texts in code, and the comments behind parameters."""
    from perslib.report.run.plan import read_notebook

    for cell in read_notebook(file).cells:
        if cell.cell_type == "markdown":
            yield from markdown_blocks(cell.source)
        elif "parameters" in cell.metadata.get("tags", []):
            yield from (comment for _, comment in comments(cell.source))
        elif cell.cell_type == "code":
            yield from in_code(cell.source)


def comments(source: str) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield each comment with the line and column of its `#`."""
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start, token.string.lstrip("# ")


def in_template(source: str) -> Iterator[Message]:
    """Yield the literal texts in `_("…")` and `plural("…", "…", n)` of a page template."""
    from jinja2 import Environment
    from jinja2.ext import extract_from_ast

    texts: Any
    for _, function, texts in extract_from_ast(Environment().parse(source), ("_", "plural"), babel_style=False):
        yield texts[:2] if function == "plural" else texts[0]


def copy_notebook(name: str, language: str, out: Path | None = None) -> Path:
    """Write a translated copy of a notebook; return its path, `notebooks/<language>/<name>.ipynb` if none is given."""
    import nbformat

    from perslib.report.run.plan import find_studies, read_notebook

    source = find_studies(name)[0].path
    path = out or workspace() / "notebooks" / language / source.name
    if path.exists():
        raise ReportError(f"{path} is there already; move it away, or name another file with --out")
    with using_language(language):
        nb = translate_notebook(read_notebook(source))
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nb, path)
    return path


def translate_notebook(nb: Any) -> Any:
    """Translate a notebook into the current language, in place: Markdown, texts in code, comments of parameters."""
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            cell.source = translate_markdown(cell.source)
        elif "parameters" in cell.metadata.get("tags", []):
            lines = cell.source.split("\n")
            for (line, column), comment in comments(cell.source):
                lines[line - 1] = f"{lines[line - 1][:column]}# {translate(comment)}"
            cell.source = re.sub(
                r'^language = "\w*"', f'language = "{current_language()}"', "\n".join(lines), flags=re.M
            )
        elif cell.cell_type == "code":
            cell.source = translate_code(cell.source)
    return nb


def translate_code(source: str) -> str:
    """Translate the literal texts of a piece of code that are messages."""
    lines = source.encode().splitlines(keepends=True)
    starts = list(accumulate(map(len, lines), initial=0))
    code = b"".join(lines)
    nodes = {(node.lineno, node.col_offset): node for _, nodes in texts_in(source) for node in nodes}
    for (line, column), node in sorted(nodes.items(), reverse=True):
        start, end = starts[line - 1] + column, starts[node.end_lineno - 1] + node.end_col_offset
        code = code[:start] + json.dumps(translate(node.value), ensure_ascii=False).encode() + code[end:]
    return code.decode()


def update(language: str) -> dict[str, int]:
    """Bring the catalogue of a language up to date; return how many messages it has and how many lack a translation."""
    file = CATALOGUES / f"{language}.po"
    known = {(entry.msgid, entry.msgid_plural): entry for entry in polib.pofile(str(file))} if file.is_file() else {}
    places: dict[tuple[str, str], dict[str, None]] = {}
    for message, place in list_messages():
        places.setdefault(message if isinstance(message, tuple) else (message, ""), {})[place] = None
    gone = {one: entry for (one, _), entry in known.items() if (one, entry.msgid_plural) not in places}
    fresh = polib.POFile(wrapwidth=110)
    fresh.header = "Translations of perslib's texts; `python -m perslib.catalogue` brings this file up to date."
    fresh.metadata = {
        "Language": language,
        "Plural-Forms": "nplurals=1; plural=0;",
        "Content-Type": "text/plain; charset=utf-8",
    }
    for key, files in sorted(places.items(), key=lambda item: [*item[1]]):
        if key not in known:
            like = next((gone[one] for one in get_close_matches(key[0], gone, 1)), polib.POEntry())
            known[key] = polib.POEntry(
                msgid=key[0],
                msgid_plural=key[1],
                msgstr="" if key[1] else like.msgstr,
                msgstr_plural={0: like.msgstr_plural.get(0, like.msgstr)} if key[1] else {},
                flags=["fuzzy"] if like.msgid else [],
            )
        known[key].occurrences = [(file, "") for file in files]
        fresh.append(known[key])
    fresh.save(str(file))
    return {"messages": len(fresh), "untranslated": len(fresh) - len(fresh.translated_entries())}


if __name__ == "__main__":
    for language in LANGUAGES[1:]:
        print(language, *(f"{count} {name}" for name, count in update(language).items()))
