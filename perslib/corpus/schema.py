"""The frames of a corpus and of computed results, column by column; and the labels of reasons.

Every step between two parts of perslib passes one of these tables on, so you can stop anywhere, look, save to Parquet,
and continue. `coerce` brings a frame into its documented form or says what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from perslib.errors import DataError, Problem, UnknownName
from perslib.paths import read_toml

#: What users thought of a reply, where it is not a score.
GOOD, NEUTRAL, BAD = 1, 0, -1


@dataclass(frozen=True)
class Column:
    """A column: its kind of value, whether it may be missing, and its meaning."""

    kind: str
    meaning: str
    required: bool = False
    nullable: bool = True


#: Frame name → column name → Column. Frames may carry further columns; these are the ones that mean something.
SCHEMA: dict[str, dict[str, Column]] = {
    frame: {name: Column(**own) for name, own in columns.items()}
    for frame, columns in read_toml(__file__, "schema.toml").items()
}

#: What tells a block, one user's sessions of one scenario, from every other.
BLOCK = ["user", "scenario"]
#: The same for a session, and for a turn.
SESSION = [*BLOCK, "session"]
TURN = [*SESSION, "turn"]
#: The candidate whose replies are those that the users were given.
ORIGINAL = "original"

#: What makes a row of a frame unique.
KEYS = {
    "users": ["user"],
    "sessions": SESSION,
    "turns": TURN,
    "candidates": ["candidate", *TURN],
    "replay_turns": TURN,
    "replies": ["candidate", *TURN],
    "verdicts": ["corpus", "candidate", "judge", "backbone", *TURN],
}

#: Up to so many rows texts are Python's own: a judge looks at one after the other, and Arrow would make each anew.
FEW = 200_000
TEXT = pd.StringDtype("python", na_value=np.nan)
_DTYPES = {"text": "str", "integer": "Int64", "real": "Float64", "boolean": "boolean", "time": "datetime64[us]"}


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
    if kind == "text":
        return values.astype(TEXT) if len(values) <= FEW else _in_one_piece(values.astype("str"))
    return values.astype(_DTYPES[kind])


def _in_one_piece(texts: pd.Series) -> pd.Series:
    """Return the texts in one chunk: joined frames have many, which each selection of rows would join again."""
    held = texts.array
    if not isinstance(held, pd.arrays.ArrowStringArray):
        return texts
    pieces = held.__arrow_array__()
    if getattr(pieces, "num_chunks", 1) == 1:
        return texts
    return pd.Series(pd.arrays.ArrowStringArray(pieces.combine_chunks(), dtype=texts.dtype), index=texts.index)


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
                out[column] = _coerce_column(pd.Series([None] * len(frame), dtype=object), spec.kind)
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
    """Return the frame with lists and arrays in cells as tuples, whatever their source (Parquet returns arrays)."""
    mixed = [c for c in frame.columns if frame[c].dtype == object]
    listed = [c for c in mixed if frame[c].map(lambda v: isinstance(v, list | np.ndarray)).any()]
    return frame.assign(**{c: pd.Series([_cell_tuple(v) for v in frame[c]], dtype=object) for c in listed})


def duplicates(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return a row for each key that occurs more than once."""
    keys = KEYS.get(name)
    return frame[frame.duplicated(keys)].drop_duplicates(keys) if keys else frame.iloc[0:0]


def storable(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the frame as Parquet takes it: JSON cells as text."""
    columns = [c for c, spec in SCHEMA.get(name, {}).items() if spec.kind == "json"]
    text = {c: frame[c].map(lambda v: json.dumps(v, ensure_ascii=False)) for c in columns if c in frame}
    return frame.assign(**text)


def describe_frame(name: str) -> pd.DataFrame:
    """Return the columns of a frame as a table for people: `describe_frame("turns")`."""
    rows: list[Mapping[str, Any]] = [
        {"column": c, "kind": s.kind, "required": s.required, "meaning": s.meaning} for c, s in SCHEMA[name].items()
    ]
    return pd.DataFrame(rows)


SATISFIED, OTHER = "satisfied", "other"

#: Language → reason → the label that data and prompts of that language use, byte for byte.
REASONS: dict[str, dict[str, str]] = read_toml(__file__, "reasons.toml")["reasons"]
_KNOWN = {label: reason for labels in REASONS.values() for reason, label in labels.items()}
_KNOWN |= read_toml(__file__, "reasons.toml")["also_reasons"]


def reason_labels(language: str) -> dict[str, str]:
    """Return reason → label in this language."""
    if language not in REASONS:
        raise UnknownName("language of reasons", language, REASONS)
    return REASONS[language]


def legal_reason(score: float, given: str | None, language: str) -> str:
    """Return the label that a verdict with this score may have (PersTurnBench, section 3.2).

    From 4 on it is *satisfied*. Below 4 it is the given reason, in either language, and *other* if that is unknown or
    *satisfied*.
    """
    reason = _KNOWN.get((given or "").strip().lower(), OTHER)
    if round(score) >= 4:
        return reason_labels(language)[SATISFIED]
    return reason_labels(language)[OTHER if reason == SATISFIED else reason]
