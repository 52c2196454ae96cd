"""RecLLMSim's simulated users (Zhang et al.): a model with a profile talks to an assistant, on tasks that PersTurnBench's people had.

Annotators rated the conversations; that is no user's satisfaction, so nothing here is rated. The people are the release of PersTurnBench.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perslib.corpus.files.reading import ImportResult, parse_json
from perslib.corpus.files.records import Lines, json_lines, read_unpacked
from perslib.corpus.loaders.form import Form
from perslib.corpus.loaders.rows import read_rows_of
from perslib.errors import DataError, Problem
from perslib.schemas import read_schema

#: Folders of the repository with a conversation a file, and a file with a conversation a line.
FOLDERS, FILES = ("LLM_agent_user",), ("conversations.jsonl", "conversations.jsonl.gz")
FORM = Form(
    "recllmsim",
    "zh",
    evidence="scenarios",
    nothing="holds no conversation",
    remedy="RecLLMSim: LLM_agent_user of the repository.",
)
_SCHEMA = read_schema(__file__, "records.schema.toml", "recllmsim")


def looks_like(path: Path) -> bool:
    """Return whether a path is, or holds, conversations of simulated users in this form."""
    first = next(iter(_open(path)), None) if path.exists() else None
    return first is not None and _SCHEMA.validator.is_valid(first[1])


def read(path: Path, *, skip_bad: bool = False, name: str = "recllmsim", evidence: str | None = None) -> ImportResult:
    """Read the conversations; see `perslib import recllmsim`."""
    form = FORM.using(evidence=evidence)
    reading = form.begin(skip_bad)
    if not looks_like(path):
        raise DataError(Problem(str(path), "holds nothing of recllmsim"), f"{form.remedy} Give its clone, or the file.")

    def make_row(record: dict[str, Any], place: str) -> Iterator[dict[str, Any]]:
        user = f"simulated {record.get('preference_id', place)}"
        yield {
            "user": user,
            "scenario": record.get("task") or Path(place).parent.name or "task",
            "session": record.get("file") or place,
            "task": record.get("task_context_zh") or record.get("task_context"),
            "profile": {"profile": record["preference_zh"]},
            "messages": [own for own in record["history"] if own["role"] in ("user", "assistant")],
        }

    done = read_rows_of(_open(path), make_row, reading, name, form, _SCHEMA)
    done.corpus.meta["said"] = [
        *done.corpus.meta.get("said", []),
        "users are simulated; annotators' ratings are left out",
    ]
    return done


def _open(path: Path) -> Lines:
    """Yield place and content of each conversation."""
    if file := next(
        (own for name in FILES for own in ([path] if path.name == name else sorted(path.glob(name)))), None
    ):
        yield from json_lines(read_unpacked(file), file.name)
        return
    root = next(
        (own for name in FOLDERS for own in ([path] if path.name == name else [path / name]) if own.is_dir()), None
    )
    for file in sorted(root.rglob("*.json")) if root else ():
        value = parse_json(file.read_bytes(), str(file.relative_to(root or path)))
        yield str(file.relative_to(root or path)), value, value
