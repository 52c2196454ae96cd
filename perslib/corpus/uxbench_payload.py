"""Replies of a search product that come as a JSON object: the text that its reader saw.

Such a reply has `content`, a list of typed items, and `marks`. Text items are joined; where there are none, the texts
of the marks or of the object itself are taken; a reply of pictures only becomes a placeholder.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

PICTURE = "[image]"
_MARKER = re.compile(r"\[\]\(@[^()\s=]{1,80}=[^()]{0,400}\)")
_PICTURES = {"image", "imageGuid"}
_SEARCHES = {"searchGuid"}
_KEYS = ("traceID", "content", "marks")


def plain(text: str) -> str:
    """The text of a reply: a payload's text, and any other text without inline markers."""
    if text.startswith("{") and text.rstrip().endswith("}"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and any(key in value for key in _KEYS):
            text = _said(value)
    return _MARKER.sub("", text) if "[](@" in text else text


def _said(payload: dict[str, Any]) -> str:
    content = payload.get("content")
    if isinstance(content, str) and content.strip():
        return content
    items = [item for item in content if isinstance(item, dict)] if isinstance(content, list) else []
    found = [text for item in items for text in _texts(item)]
    if not found:
        marks = payload.get("marks")
        marks = [m for m in marks if isinstance(m, dict)] if isinstance(marks, list) else []
        found = [m["content"] for m in marks if isinstance(m.get("content"), str) and m["content"].strip()]
    if not found:
        found = [payload[k] for k in ("text", "msg") if isinstance(payload.get(k), str) and payload[k]][:1]
    if not found and any(item.get("type") in _PICTURES for item in items):
        return PICTURE
    return "\n".join(found)


def _texts(item: dict[str, Any]) -> Iterator[str]:
    kind = item.get("type")
    if kind in _PICTURES or kind in _SEARCHES:
        return  # what a picture or a search was asked for is not what the user read
    inner = item.get("contents")
    for part in [item, *(inner if isinstance(inner, list) else [])]:
        if isinstance(part, dict):
            text = next((part[k] for k in ("msg", "content") if isinstance(part.get(k), str)), "")
            if text.strip():
                yield text
