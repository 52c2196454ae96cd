"""The records of a JSON document of any nesting: a list, columns, records by their ids, or the longest list in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from perslib.corpus.any_file.archives import Records
from perslib.corpus.files.reading import parse_json
from perslib.corpus.files.records import json_lines, read_bounded
from perslib.errors import DataError, Problem

#: A list in a JSON document counts as its records down to this depth.
DEPTH = 4


def read_json_records(path: Path) -> tuple[Records, list[str]]:
    """Return place and content of each record, and where the records stand."""
    document = parse_json(read_bounded(path), path.name)
    if isinstance(document, Problem):
        lines = [*json_lines(read_bounded(path), path.name)]
        if len(lines) > 1 and not any(isinstance(value, Problem) for _, value, _ in lines):
            return lines, ["one record a line"]
        raise DataError(document)
    if isinstance(document, list):
        return [(f"{path.name}[{i}]", item, item) for i, item in enumerate(document)], []
    if not isinstance(document, dict):
        raise DataError(
            Problem(path.name, "holds no records"), "Expected a list of objects, or an object that holds one."
        )
    if rows := _read_columns(document):
        return [(f"{path.name}[{i}]", row, row) for i, row in enumerate(rows)], ["columns, one list each"]
    own = [*document.values()]
    if len(own) > 1 and all(isinstance(item, dict) for item in own) and set.intersection(*map(set, own)):
        return [(f"{path.name} {key}", {"id": key, **item}, item) for key, item in document.items()], [
            "records by their ids"
        ]
    if joined := _join_lists(document):
        places = [(f"{path.name} {row['list']}[{i}]", row, row) for i, row in joined]
        return places, [f"records of {len(document)} lists, whose names are in the field list"]
    lists = [*_find_lists(document)]
    at, items, shared = max(lists, key=lambda one: len(one[1]), default=("", [], {}))
    if not items:
        return [(path.name, document, document)], ["one record"]
    held = [{**shared, **item} for item in items]
    return [(f"{path.name} {at}[{i}]", item, item) for i, item in enumerate(held)], [
        f"records at {at}" + "".join(f"; {other} is left out" for other, *_ in lists if other != at)
    ]


def _join_lists(document: Mapping[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """Return the records of a document that holds nothing but lists of records of one kind, each with its list's name."""
    if len(document) < 2 or not all(isinstance(own, list) and own for own in document.values()):
        return []
    records = [(i, name, item) for name, own in document.items() for i, item in enumerate(own)]
    if not all(isinstance(item, dict) for *_, item in records) or not set.intersection(*(set(o) for *_, o in records)):
        return []
    return [(i, {"list": name, **item}) for i, name, item in records]


def _read_columns(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a table that JSON holds by columns: {columns, data}, or a list or a numbered table for each column."""
    names, rows = document.get("columns"), document.get("data")
    if isinstance(names, list) and isinstance(rows, list) and all(isinstance(row, list) for row in rows):
        return [dict(zip(map(str, names), row)) for row in rows]
    columns = [v.values() if isinstance(v, dict) and all(str(k).isdigit() for k in v) else v for v in document.values()]
    if len(columns) > 1 and all(
        isinstance(c, Sequence | type({}.values())) and not isinstance(c, str) for c in columns
    ):
        lengths = {len(c) for c in columns}
        plain = all(not isinstance(cell, dict | list) for c in columns for cell in c)
        if len(lengths) == 1 and lengths != {0} and plain:
            return [dict(zip(document, row)) for row in zip(*columns)]
    return []


def _find_lists(value: Any, at: str = "", depth: int = 0) -> Iterator[tuple[str, list[dict[str, Any]], dict[str, Any]]]:
    """Yield lists of objects in a document, with what stands beside them and counts for each of their items."""
    if depth >= DEPTH or not isinstance(value, dict):
        return
    shared = {key: one for key, one in value.items() if isinstance(one, str | int | float | bool)}
    for key, one in value.items():
        if isinstance(one, list) and one and all(isinstance(item, dict) for item in one):
            yield f"{at}.{key}".lstrip("."), one, shared if depth else {}
        elif isinstance(one, dict):
            yield from _find_lists(one, f"{at}.{key}", depth + 1)
