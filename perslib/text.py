"""Texts that people read, in English or in the page's language.

English is the language of notebooks and code. `translate("Read by {n} users.", n=5)` looks its message up in the
catalogue of the current language, `perslib/locale/<language>.po` (and `locale/<language>.po` of the workspace), and
fills in what stands in braces; a message that no catalogue has stays English. `python -m perslib.catalogue` collects
all messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from pathlib import Path
from string import Formatter
from typing import ParamSpec

from perslib.errors import UnknownName
from perslib.paths import workspace

P = ParamSpec("P")
LANGUAGES = ("en", "zh")
CATALOGUES = Path(__file__).parent / "locale"

#: What a block of code asked for by `using_language`; empty: the language of the process.
_language: ContextVar[str] = ContextVar("language", default="")
_default = "en"


def set_language(language: str) -> None:
    """Set the language of this process: every text that names no other is in it from now on."""
    global _default
    _default = check_language(language)


def current_language() -> str:
    """Return the language that texts are in: "en" or "zh"."""
    return _language.get() or _default


@contextmanager
def using_language(language: str) -> Iterator[None]:
    """Write the texts of a block of code in another language."""
    token = _language.set(check_language(language))
    try:
        yield
    finally:
        _language.reset(token)


def check_language(language: str) -> str:
    """Return the language, or raise UnknownName with those that there are."""
    if language not in LANGUAGES:
        raise UnknownName("language", language, LANGUAGES)
    return language


def translate(message: str, /, **values: object) -> str:
    """Return an English message in the current language, with `{values}` filled in.

    Without values braces are left as they are. Add ``:,`` and the like in the braces, as in `str.format`.
    """
    language = current_language()
    text = message if language == "en" else _texts(language, workspace() / "locale").get(message, message)
    return _Numbers().vformat(text, (), values) if values else text


class _Numbers(Formatter):
    """Fills in values as `str.format` does, decimal numbers with a minus sign."""

    def format_field(self, value: object, format_spec: str) -> str:
        text: str = super().format_field(value, format_spec)
        return show_minus(text) if isinstance(value, float) else text


def show_minus(number: str) -> str:
    """Return a number in digits with a minus sign in place of a hyphen, and with none before zero."""
    if not number.startswith("-"):
        return number
    return f"−{number[1:]}" if number.strip("-0.,%") else number[1:]


def plural(one: str, many: str, n: int, **values: object) -> str:
    """Return `one` or `many` for a number, translated: `plural("1 figure", "{n} figures", 3)`."""
    return translate(one if n == 1 else many, n=n, **values)


def translate_markdown(text: str) -> str:
    """Translate Markdown block by block: what stands between empty lines is one message."""
    return "\n\n".join(translate(block) for block in markdown_blocks(text))


def markdown_blocks(text: str) -> list[str]:
    """Split Markdown at its empty lines, outside of fenced code."""
    blocks = [""]
    for piece in text.strip().split("\n\n"):
        blocks[-1] += piece
        if blocks[-1].count("```") % 2:
            blocks[-1] += "\n\n"
        else:
            blocks.append("")
    return list(filter(None, blocks))


def join(parts: Iterable[object]) -> str:
    """Join the parts of a list, by comma or as the current language does."""
    return translate(", ").join(map(str, parts))


def paragraph(*sentences: str) -> str:
    """Join whole sentences that are translated already, leaving out empty ones."""
    return ("" if current_language() == "zh" else " ").join(filter(None, sentences))


def as_paragraph(sentences: Callable[P, Iterator[str]]) -> Callable[P, str]:
    """Let a function that yields whole sentences, translated already, return them as one paragraph."""

    @wraps(sentences)
    def join_paragraph(*args: P.args, **named: P.kwargs) -> str:
        return paragraph(*sentences(*args, **named))

    return join_paragraph


def mark(message: str) -> str:
    """Mark a text for the catalogue that is translated later, where it is shown."""
    return message


@cache
def _texts(language: str, own: Path) -> dict[str, str]:
    """Return the message → text, as the catalogue of perslib has it, and that of the workspace for notebooks of one's
    own.
    """
    import polib

    texts: dict[str, str] = {}
    for file in (CATALOGUES / f"{language}.po", own / f"{language}.po"):
        for entry in polib.pofile(str(file)).translated_entries() if file.is_file() else ():
            # A message with a plural has two texts; a language without plurals, such as Chinese, has one for both.
            ids = filter(None, (entry.msgid, entry.msgid_plural))
            texts |= dict.fromkeys(ids, entry.msgstr_plural.get(0, entry.msgstr))
    return texts


# -- characters that act or hide ---------------------------------------------------------------------------

# Joiners and variation selectors are left alone: emoji and several scripts need them to be written at all.
_ACTING = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but for tab and newline
    "\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\ud800-\udfff"  # halves of a character, which no file can hold
    "\U000e0000-\U000e0fff"  # tags and further selectors: invisible copies of ASCII
    "]"
)
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")


def _mark(match: re.Match[str]) -> str:
    return f"⟨U+{ord(match.group()):04X}⟩"


def show_hidden(text: str) -> str:
    """Return the text with every control, direction and invisible character replaced by a readable mark.

    For people who read a page; what a prompt shows to a model goes through `perslib.prompts.fencing.make_visible`.
    """
    return _ACTING.sub(_mark, text.replace("\r\n", "\n"))


def remove_ansi(text: str) -> str:
    """Return the text as a terminal without colours would show it; for tracebacks, which IPython colours."""
    return _ANSI.sub("", text)
