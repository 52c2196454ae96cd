"""Memories edited by hand, in files: saved under a name, and brought to a study as a memory system.

    save_draft(draft, "prices-first")       one file a user and scenario, in the workspace's `memories/`
    Edited("prices-first", otherwise=Structured("zh"))

A long-term memory goes on recalling for each target what it recalled when it was built, edits on top; where it is asked
something else, it shows all its statements. An edited memory stays marked: `system` says "edited by hand", and so does every verdict made with it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus import Block
from perslib.errors import DataError, Problem, UnknownName
from perslib.llm import Steps, answered, asks_nothing
from perslib.memory.base import MemorySystem, Statement, UserMemory
from perslib.memory.draft import EDITED, Counts, Draft, Line
from perslib.memory.measured import Measured, MeasuredMemory
from perslib.memory.remembering import Recalled
from perslib.paths import workspace

_NAME = re.compile(r"\w[\w -]*\Z")


class Given(MemorySystem):
    """A memory that is there already, for whoever wants it judged with."""

    def __init__(self, memory: UserMemory):
        self.memory, self.name = memory, memory.system

    @asks_nothing
    def build(self, block: Block, judged: pd.DataFrame | None = None) -> UserMemory:
        """The memory; it is this user's and no one else's."""
        if block.user != self.memory.user:
            raise DataError(f"This memory is of user {self.memory.user}, and {block.user} is judged")
        return self.memory


def drafts_folder(name: str) -> Path:
    """Where the edited memories of this name are kept."""
    if not _NAME.match(name):
        raise DataError(
            Problem("name of the edited memory", f"{name!r}: use letters, digits, spaces, - and _ only")
        )
    return workspace() / "memories" / name


def saved_names() -> list[str]:
    """The names under which edited memories were saved."""
    folder = workspace() / "memories"
    return sorted(p.name for p in folder.iterdir() if any(p.glob("*.json"))) if folder.is_dir() else []


def save_draft(draft: Draft, name: str) -> Path:
    """Keep a draft under a name, beside those of other users and scenarios; an older one is replaced."""
    if not draft.changed:
        raise DataError("Nothing was edited: this is the memory as it was built")
    memory = draft.built
    path = _path(name, memory.user, memory.scenario)
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {
        **{k: getattr(memory, k) for k in ("user", "scenario", "system", "turns", "prompt")},
        "edited": EDITED,
        "counts": draft.counts,
        "built_counts": memory.counts,
        "trait_of": dict(memory.trait_of) if isinstance(memory, MeasuredMemory) else {},
        "language": memory.language if isinstance(memory, MeasuredMemory) else None,
        "recalled": memory.to_json() if isinstance(memory, Recalled) else None,
        "lines": [asdict(line) for line in draft.lines],
        "built": [asdict(s) for s in memory.statements],
    }
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(record, ensure_ascii=False, indent=1), encoding="utf-8")
    beside.replace(path)
    return path


def read_draft(name: str, block: Block) -> Draft | None:
    """The draft saved under this name for the block's user and scenario; None where there is none."""
    path = _path(name, block.user, block.scenario)
    if not path.is_file():
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return _draft(record, block)
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            Problem(str(path), f"is not an edited memory ({error!r}); mend it, or delete it and save anew")
        ) from None


class Edited(MemorySystem):
    """The edited memories of a name; where a block has none, what another system builds."""

    def __init__(self, name: str, otherwise: MemorySystem):
        if not any(drafts_folder(name).glob("*.json")):
            raise UnknownName("edited memory", name, saved_names())
        self.saved, self.otherwise = name, otherwise
        self.name = f"{otherwise.name}, {EDITED} ({name})"

    def build(self, block: Block, judged: pd.DataFrame | None = None) -> Steps[UserMemory]:
        """The saved memory, fixed as it is; else the other system's."""
        draft = read_draft(self.saved, block)
        return (yield from self.otherwise.build(block, judged)) if draft is None else draft.memory


def _path(name: str, user: str, scenario: str) -> Path:
    """One file a block: readable where names allow it, never the same for two blocks."""
    plain = re.sub(r"[^\w-]+", "_", f"{user}__{scenario}")[:80]
    mark = hashlib.sha256(f"{user}\0{scenario}".encode()).hexdigest()[:8]
    return drafts_folder(name) / f"{plain}-{mark}.json"


def _draft(record: dict[str, Any], block: Block) -> Draft:
    built: UserMemory = UserMemory(
        record["user"],
        record["scenario"],
        record["system"],
        _counts(record["built_counts"]),
        tuple(map(_statement, record["built"])),
        tuple(record["turns"]),
        prompt=record["prompt"],
    )
    if record["trait_of"]:
        built = _measured(built, record, block)
    elif record.get("recalled"):
        built = Recalled.of_json(built, record["recalled"])
    lines = tuple(
        Line(_statement(r["statement"]), bool(r["on"]), bool(r["by_hand"])) for r in record["lines"]
    )
    return Draft(built, lines, _counts(record["counts"]))


def _measured(built: UserMemory, record: dict[str, Any], block: Block) -> MeasuredMemory:
    """Traits are measured anew in the user's turns: a file keeps what is said, not what is counted."""
    again = answered(Measured(record["language"]).build(block))
    traits = again.traits if isinstance(again, MeasuredMemory) else None
    own = {k: getattr(built, k) for k in UserMemory.__dataclass_fields__}
    return MeasuredMemory(**own, traits=traits, language=record["language"], trait_of=record["trait_of"])


def _statement(record: dict[str, Any]) -> Statement:
    return Statement(**{**record, **{k: tuple(record[k]) for k in ("turns", "unfounded")}})


def _counts(given: Sequence[int]) -> Counts:
    one, two, three, four, five = map(int, given)
    return one, two, three, four, five
