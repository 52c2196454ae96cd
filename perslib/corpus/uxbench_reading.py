"""Sessions out of a block of a log, and what in it was no session."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from perslib.corpus.uxbench_blocks import LONGEST, Block, Source, blocks
from perslib.corpus.uxbench_messages import Session
from perslib.corpus.uxbench_records import Unreadable, session


class Reject(NamedTuple):
    """A record that is no session: where it stands, and why."""

    place: str
    reason: str


def records(block: Block, longest: int = LONGEST) -> Iterator[tuple[str, Any]]:
    """Place and record of every line or row of a block; `Unreadable` where a line holds none."""
    for number, record in _records(block, longest):
        yield f"{block.place}:{number}", record


def read(block: Block, longest: int = LONGEST) -> Iterator[tuple[int, Session | Reject]]:
    """Number and session, or number and reject, of every record of a block."""
    for number, record in _records(block, longest):
        place = f"{block.place}:{number}"
        try:
            if isinstance(record, Unreadable):
                raise record
            yield number, session(record, name=place)
        except Unreadable as error:
            yield number, Reject(place, str(error))


def sessions(
    source: Source, rejected: list[Reject] | None = None, *, longest: int = LONGEST
) -> Iterator[Session]:
    """The sessions of a log one by one; what is none is added to `rejected`."""
    for block in blocks(source, longest=longest):
        for _, one in read(block, longest):
            if isinstance(one, Session):
                yield one
            elif rejected is not None:
                rejected.append(one)


def _records(block: Block, longest: int) -> Iterator[tuple[int, Any]]:
    """Number and record, or number and why it cannot be read."""
    if block.too_long:
        yield block.too_long, Unreadable(f"line longer than {longest} bytes")
        return
    if isinstance(block.data, bytes):
        lines = block.data.split(b"\n")
        for i, line in enumerate(lines):
            if line.strip():
                yield block.first + i, _parsed(line, longest, torn=i == len(lines) - 1)
        return
    rows = block.data.to_pylist()
    if "history" in block.data.column_names or "messages" in block.data.column_names:
        yield from enumerate(rows, start=block.first)
        return
    for i, (cid, messages) in enumerate(groupby(rows, key=lambda row: row["cid"])):
        yield block.first + i, {"cid": cid, "history": list(messages)}


def _parsed(line: bytes, longest: int, torn: bool) -> Any:
    if len(line) > longest:
        return Unreadable(f"line longer than {longest} bytes")
    try:
        return json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return Unreadable("torn last line" if torn else "not UTF-8")
    except RecursionError:
        return Unreadable("nested too deeply")
    except ValueError:
        return Unreadable("torn last line" if torn else "not JSON")
