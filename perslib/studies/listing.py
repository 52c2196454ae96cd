"""Lists in parameters, which a command line and a notebook's cell both take as one text."""

from __future__ import annotations


def listed(text: str) -> list[str]:
    """What a text lists, separated by commas: `"learned, nearest"` → learned and nearest; nothing for an empty one."""
    return [name.strip() for name in text.split(",") if name.strip()]
