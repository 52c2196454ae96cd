"""Lists in parameters, which a command line and a notebook's cell both take as one text."""

from __future__ import annotations

from perslib.errors import DataError, Problem


def listed(text: str) -> list[str]:
    """What a text lists, separated by commas: `"learned, nearest"` → learned and nearest; nothing for an empty one."""
    return [name.strip() for name in text.split(",") if name.strip()]


def whole_numbers(text: str, parameter: str, remedy: str = "") -> list[int]:
    """The numbers, 1 or more, that a parameter's text lists, in order, each once."""
    found = listed(text)
    if not found or not all(part.isdecimal() and int(part) for part in found):
        raise DataError(Problem(parameter, f"is {text!r}, expected whole numbers such as 5, 10, 20"), remedy)
    return sorted({int(part) for part in found})
