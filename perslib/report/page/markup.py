"""Markdown and HTML made safe to put on a page.

Whatever a notebook printed may hold text that a stranger wrote. Markdown is rendered with its HTML escaped
and its images as words; HTML keeps what tables, figures and folds need and loses scripts, handlers, frames
and everything that would be loaded from elsewhere.
"""

from __future__ import annotations

import html
import re
from functools import cache
from typing import Any, Literal

from perslib.paths import read_toml

_IMAGE = re.compile(r"data:image/(png|jpeg|gif|webp|svg\+xml)[;,]", re.IGNORECASE)
_LINK = re.compile(r"(https?://|mailto:|#|(?![a-z][a-z0-9+.-]*:)[^/\\])", re.IGNORECASE)
_STYLE_LOADS = re.compile(r"@import|url\s*\(|expression\s*\(|\\", re.IGNORECASE)
_PLUGINS = ["table", "strikethrough"]


def _filter_attribute(tag: str, name: str, value: str) -> str | None:
    if name == "src":
        return value if _IMAGE.match(value.strip()) else None
    if name == "href":
        return value if _LINK.match(value.strip()) else None
    if name == "style":
        return None if _STYLE_LOADS.search(value) else _filter_style(value)
    return value


def _filter_style(style: str) -> str:
    """Keep the declarations of a style whose property is allowed."""
    pieces = style.split(";")
    return ";".join(piece for piece in pieces if piece.partition(":")[0].strip().lower() in _read_allowed("css"))


@cache
def _read_allowed(kind: str) -> frozenset[str]:
    return frozenset(read_toml(__file__, "markup.toml")[kind].split())


@cache
def _cleaner() -> Any:
    import nh3

    return nh3.Cleaner(
        tags=set(_read_allowed("tags")),
        clean_content_tags={"script"},
        attributes={"*": {*_read_allowed("attributes"), "style"}, "a": {"href"}, "img": {"src"}},
        attribute_filter=_filter_attribute,
        url_schemes={"http", "https", "mailto", "data"},
        link_rel=None,
    )


def safe_html(text: str) -> str:
    """Return HTML with what tables, figures and folds need; of any other tag only its text stays, and every handler is
    gone.
    """
    return re.sub(r"(<style[^>]*>)(.*?)(</style>)", _safe_style, _cleaner().clean(text), flags=re.DOTALL)


def _safe_style(match: re.Match[str]) -> str:
    return "" if _STYLE_LOADS.search(match[2]) else match[0]


@cache
def _markdown(kind: Literal["narrative", "prose", "reply"]) -> Any:
    import mistune

    trusted = kind == "narrative"

    class Prose(mistune.HTMLRenderer):
        """Headings carry ids to link to; in text from outside an image is its words, and nothing is fetched."""

        def heading(self, text: str, level: int, **attrs: Any) -> str:
            name = re.sub(r"\W+", "-", html.unescape(re.sub(r"<[^>]+>", "", text))).strip("-").lower()
            return f'<h{level} id="{name}">{text}</h{level}>\n'

        def image(self, text: str, url: str, title: str | None = None) -> str:
            return super().image(text, url, title) if trusted else html.escape(f"![{text}]({url})")

    class Reply(Prose):
        """What a stranger wrote, inside a page: no heading enters its outline, no link leads out of it."""

        def heading(self, text: str, level: int, **attrs: Any) -> str:
            return f"<p><strong>{text}</strong></p>\n"

        def link(self, text: str, url: str, title: str | None = None) -> str:
            shown = html.escape(f'{url} "{title}"' if title else url)
            return text if text == shown else f"{text} ({shown})"

        def image(self, text: str, url: str, title: str | None = None) -> str:
            return super().image(text, f'{url} "{title}"' if title else url)

    if kind == "reply":
        made = mistune.create_markdown(renderer=Reply(escape=True), plugins=_PLUGINS, hard_wrap=True)
        made.block.rules.remove("ref_link")  # it would take lines away
        return made
    return mistune.create_markdown(renderer=Prose(escape=not trusted), plugins=_PLUGINS)


def reply(markdown: str) -> str:
    """Return a model's reply as HTML, as a chat shows it: lines end where they end, images and links are their words."""
    return str(_markdown("reply")(markdown))


def prose(markdown: str) -> str:
    """Return Markdown as HTML, with any HTML in it shown as text and any image as its words."""
    return str(_markdown("prose")(markdown))


def escape_markdown(text: str) -> str:
    """Return the text to put into Markdown that shows as it stands: `__init__` stays `__init__`."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text)


def narrative(markdown: str) -> str:
    """Return a notebook's own Markdown cell as HTML; simple HTML in it is kept, scripts and foreign loads are not."""
    return safe_html(str(_markdown("narrative")(markdown)))
