"""The frames of a corpus and of what is computed from one, column by column.

Every arrow between two parts of perslib carries one of these tables, so a researcher can stop anywhere,
look, save to Parquet, and go on. `coerce` brings a frame into its documented form or says what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from perslib.errors import DataError, Problem


@dataclass(frozen=True)
class Column:
    """One column: its kind of value, whether it may be missing, and what it means."""

    kind: str
    meaning: str
    required: bool = False
    nullable: bool = True


def _key(meaning: str) -> Column:
    return Column("text", meaning, required=True, nullable=False)


_BLOCK = {"user": _key("user id"), "scenario": _key("task family")}
_SESSION = {**_BLOCK, "session": _key("session id, unique within user and scenario")}

#: Frame name → column name → Column. Frames may carry further columns; these are the ones that mean something.
SCHEMA: dict[str, dict[str, Column]] = {
    "users": {
        "user": _key("user id"),
        "profile": Column(
            "json", "what the user told about themselves: field → text, number or list of texts"
        ),
    },
    "sessions": {
        **_SESSION,
        "task": Column("text", "the concrete background that the user was given for this conversation"),
        "assistant": Column("text", "which assistant answered in this session"),
        "position": Column("integer", "place of the session among all sessions of the user, from 0"),
        "started_at": Column("time", "start of the session"),
        "satisfaction": Column("real", "rating of the whole session, 1–5"),
        "success": Column("boolean", "whether the task was accomplished"),
        "trailing": Column("texts", "user messages after the last reply", nullable=False),
    },
    "turns": {
        **_SESSION,
        "turn": Column("integer", "counts the replies of the session from 0", required=True, nullable=False),
        "request": Column(
            "text", "the user message that the reply answers; null when the assistant spoke unasked"
        ),
        "earlier": Column(
            "texts", "user messages before `request` that got no reply of their own", nullable=False
        ),
        "response": Column("text", "the assistant's reply", required=True, nullable=False),
        "score": Column("integer", "satisfaction with the reply, 1–5"),
        "reason": Column("text", "main reason of dissatisfaction; only where score ≤ 3"),
        "ratings": Column("integers", "each annotator's rating where there are several", nullable=False),
        "asked_at": Column("time", "when the request was sent"),
        "answered_at": Column("time", "when the reply was complete"),
        "feedback": Column("text", "like or dislike, where the user clicked"),
    },
    "events": {
        "user": _key("user id"),
        "scenario": Column("text", "scenario of the session that followed the event, where known"),
        "session": Column("text", "session that followed the event, where known"),
        "at": Column("time", "when it happened"),
        "kind": Column("text", "type of device log"),
        "content": Column("text", "what was logged", required=True, nullable=False),
    },
    "verdicts": {
        "corpus": Column("text", "name of the corpus"),
        "candidate": Column("text", "whose reply was judged; null for the recorded reply"),
        "judge": _key("which judge"),
        "backbone": Column("text", "model behind the judge; null where there is none"),
        **_SESSION,
        "turn": Column("integer", "the judged reply's turn", required=True, nullable=False),
        "raw": Column("real", "score as the judge gave it, 1–5; null when unscored"),
        "expected": Column("real", "mean of the score distribution"),
        **{f"p{s}": Column("real", f"probability of score {s}") for s in range(1, 6)},
        "satisfied": Column("boolean", "whether the judge places the reply at 4 or above"),
        "reason": Column("text", "reason of dissatisfaction the judge names"),
        "rationale": Column("text", "the judge's short explanation"),
        "evidence": Column("texts", "ids of the turns and statements the rationale cites", nullable=False),
        "mode": Column(
            "text",
            "how the score was read: computed, schema, json, text, reask, prose, digit, weighed, samples, or unscored",
        ),
        "memory": Column("text", "memory behind the verdict, and what it lacked"),
        "prompt": Column("text", "name, version and digest of the prompt"),
        "tokens_in": Column("integer", "prompt tokens"),
        "tokens_cached": Column("integer", "prompt tokens that the backbone served from its cache"),
        "tokens_out": Column("integer", "answer tokens"),
        "seconds": Column("real", "time of the call"),
        "cost": Column("real", "price of the call, where the backbone has prices"),
        "error": Column("text", "why the reply is unscored; null when it is scored"),
    },
    "replay_turns": {
        **_SESSION,
        "turn": Column("integer", "the replayed reply's turn", required=True, nullable=False),
        "inclusion": Column(
            "real", "probability that the turn was drawn; null where nothing was left to chance"
        ),
        "selection_score": Column("real", "what a selection by rank went by"),
        "why": Column("texts", "what spoke for the turn", nullable=False),
    },
    "replies": {
        "candidate": _key("whose reply it is"),
        **_SESSION,
        "turn": Column("integer", "the turn that is answered anew", required=True, nullable=False),
        "response": Column("text", "the reply; null where `error` says why there is none"),
        "context": Column(
            "text", "what the candidate was shown beside the prefix; recorded where it is not known"
        ),
        "backbone": Column(
            "text", "model behind the candidate; null where the replies were recorded elsewhere"
        ),
        "family": Column("text", "model family, to see whether a judge prefers its own"),
        "memory": Column("text", "memory behind the reply, and what it lacked"),
        "temperature": Column("real", "as asked for"),
        "max_tokens": Column("integer", "as asked for"),
        "seed": Column("integer", "as asked for"),
        "prompt": Column("text", "name, version and digest of the prompt"),
        "system": Column("text", "the system message as it was sent; null where there was none"),
        "finish": Column("text", "why the reply ended: stop, or length where it was cut"),
        "tokens_in": Column("integer", "prompt tokens"),
        "tokens_cached": Column("integer", "prompt tokens that the backbone served from its cache"),
        "tokens_out": Column("integer", "answer tokens"),
        "seconds": Column("real", "time of the call"),
        "cost": Column("real", "price of the call, where the backbone has prices"),
        "error": Column("text", "why there is no reply"),
    },
}

#: What tells a block, one user's sessions of one scenario, from every other.
BLOCK = ["user", "scenario"]
#: The same for a session, and for a turn.
SESSION = [*BLOCK, "session"]
TURN = [*SESSION, "turn"]

#: What makes a row of a frame unique.
KEYS = {
    "users": ["user"],
    "sessions": SESSION,
    "turns": TURN,
    "replay_turns": TURN,
    "replies": ["candidate", *TURN],
    "verdicts": ["corpus", "candidate", "judge", "backbone", *TURN],
}

_DTYPES = {
    "text": "str",
    "integer": "Int64",
    "real": "Float64",
    "boolean": "boolean",
    "time": "datetime64[us]",
}


def _cell_tuple(value: Any) -> tuple[Any, ...]:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ()
    if isinstance(value, str | bytes | dict):
        raise TypeError(f"found {value!r}, expected a list")
    return tuple(v.item() if isinstance(v, np.generic) else v for v in value)


def _cell_json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else ({} if value is None else value)


def _coerce_column(values: pd.Series, kind: str) -> pd.Series:
    if kind in ("texts", "integers"):
        return pd.Series([_cell_tuple(v) for v in values], index=values.index, dtype=object)
    if kind == "json":
        return pd.Series([_cell_json(v) for v in values], index=values.index, dtype=object)
    return _in_one_piece(values.astype(_DTYPES[kind])) if kind == "text" else values.astype(_DTYPES[kind])


def _in_one_piece(texts: pd.Series) -> pd.Series:
    """Joined frames give a column in as many pieces, which each selection of rows would put together anew."""
    held = texts.array
    if not isinstance(held, pd.arrays.ArrowStringArray):
        return texts
    pieces = held.__arrow_array__()
    if getattr(pieces, "num_chunks", 1) == 1:
        return texts
    return pd.Series(
        pd.arrays.ArrowStringArray(pieces.combine_chunks(), dtype=texts.dtype), index=texts.index
    )


def _default(kind: str, n: int) -> pd.Series:
    if kind in ("texts", "integers"):
        return pd.Series([()] * n, dtype=object)
    if kind == "json":
        return pd.Series([{} for _ in range(n)], dtype=object)
    return pd.Series([None] * n, dtype=_DTYPES[kind])


def coerce(frame: pd.DataFrame, name: str, place: str = "") -> pd.DataFrame:
    """Bring a frame into its documented form: columns in order, kinds as declared, further ones behind.

    Optional columns that are absent are added empty. Raises DataError, listing every column at fault.
    """
    place = place or name
    problems, out = [], {}
    frame = frame.reset_index(drop=True)
    for column, spec in SCHEMA[name].items():
        if column not in frame:
            if spec.required:
                problems.append(Problem(place, f"column {column!r} is missing ({spec.meaning})"))
            else:
                out[column] = _default(spec.kind, len(frame))
            continue
        try:
            out[column] = _coerce_column(frame[column], spec.kind)
        except (ValueError, TypeError) as error:
            problems.append(Problem(place, f"column {column!r} should hold {spec.kind} values: {error}"))
            continue
        if not spec.nullable and spec.kind in _DTYPES and (empty := out[column].isna()).any():
            row = int(empty.to_numpy().argmax())
            problems.append(Problem(f"{place} row {row}", f"{column!r} is empty ({spec.meaning})"))
    if problems:
        raise DataError(problems)
    further = {c: frame[c] for c in frame.columns if c not in SCHEMA[name]}
    return tidy(pd.DataFrame({**out, **further}, index=frame.index))


def tidy(frame: pd.DataFrame) -> pd.DataFrame:
    """Lists and arrays in cells as tuples, whichever way they came (Parquet gives arrays back)."""
    mixed = [c for c in frame.columns if frame[c].dtype == object]
    listed = [c for c in mixed if frame[c].map(lambda v: isinstance(v, list | np.ndarray)).any()]
    return frame.assign(**{c: pd.Series([_cell_tuple(v) for v in frame[c]], dtype=object) for c in listed})


def duplicates(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """One row for each key that occurs more than once."""
    keys = KEYS.get(name)
    return frame[frame.duplicated(keys)].drop_duplicates(keys) if keys else frame.iloc[0:0]


def storable(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """The frame as Parquet takes it: JSON cells as text."""
    columns = [c for c, spec in SCHEMA.get(name, {}).items() if spec.kind == "json"]
    text = {c: frame[c].map(lambda v: json.dumps(v, ensure_ascii=False)) for c in columns if c in frame}
    return frame.assign(**text)


def describe(name: str) -> pd.DataFrame:
    """A frame's columns as a table, for people: `describe("turns")`."""
    rows: list[Mapping[str, Any]] = [
        {"column": c, "kind": s.kind, "required": s.required, "meaning": s.meaning}
        for c, s in SCHEMA[name].items()
    ]
    return pd.DataFrame(rows)
