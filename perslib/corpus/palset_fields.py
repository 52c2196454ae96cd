"""Taking fields out of JSON records that may be broken: every fault is a problem with its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from perslib.corpus.reading import Intake
from perslib.errors import Problem


class Fields:
    """One record, the intake that counts its oddities, and the problems found in it so far."""

    def __init__(self, intake: Intake):
        self.intake = intake
        self.problems: list[Problem] = []

    def problem(self, place: str, message: str) -> None:
        """Something that makes the record useless."""
        self.problems.append(Problem(place, message))

    def record(self, value: Any, place: str, known: Iterable[str]) -> Mapping[str, Any]:
        """The value as an object; keys that the format does not know are counted."""
        if not isinstance(value, Mapping):
            self.problem(place, f"is {_kind(value)}, expected an object")
            return {}
        for key in value.keys() - set(known):
            self.intake.note(f"keys the format does not know, left out ({key})")
        return value

    def table(self, value: Any, place: str) -> Mapping[str, Any]:
        """The value as an object whose keys are data."""
        return self.record(value, place, value if isinstance(value, Mapping) else ())

    def list(self, value: Any, place: str) -> list[Any]:
        """The value as a list."""
        if isinstance(value, list):
            return value
        self.problem(place, f"is {_kind(value)}, expected a list")
        return []

    def text(self, record: Mapping[str, Any], key: str, place: str, *, blank: bool = False) -> str:
        """A text of the record; empty only where `blank` allows it."""
        value = record.get(key)
        if not isinstance(value, str):
            found = f"is {_kind(value)}" if key in record else "is missing"
            self.problem(f"{place}.{key}", f"{found}, expected a text")
            return ""
        if not blank and not value.strip():
            self.problem(f"{place}.{key}", "is empty")
        return value

    def texts(self, value: Any, place: str) -> tuple[str, ...]:
        """A list of texts, none of them empty."""
        items = self.list(value, place)
        for i, item in enumerate(items):
            if not isinstance(item, str) or not item.strip():
                self.problem(f"{place}[{i}]", f"is {_kind(item)}, expected a text")
        return tuple(item for item in items if isinstance(item, str))

    def time(self, record: Mapping[str, Any], key: str, place: str, *forms: str) -> datetime | None:
        """A time in one of these forms."""
        text = self.text(record, key, place)
        for form in forms:
            try:
                return datetime.strptime(text.strip(), form)
            except ValueError:
                continue
        if text.strip():
            self.problem(f"{place}.{key}", f"is {text[:40]!r}, expected a time such as {_example(forms[0])}")
        return None


def _example(form: str) -> str:
    return datetime(2024, 12, 1, 18).strftime(form)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return "an empty text" if not value.strip() else f"the text {value[:30]!r}"
    names = {"dict": "an object", "list": "a list", "bool": "true or false", "int": "a number"}
    return names.get(type(value).__name__, "a number")
