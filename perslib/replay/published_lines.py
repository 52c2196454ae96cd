"""Lines of published replay files: which turn each is about, and whether that is the corpus's turn.

A line names its turn by `user`, `target_task` (our scenario), `target_file` ("0.json", our session "0") and `turn_idx`
(our turn: replies of the session, from 0), or by its `sample_id` alone, `user__scenario__0.json__turn_1`. Our own lines
say user, scenario, session, turn. Gold scores and reasons that stand in a line are not read.

`published.toml` says what files call our columns, `published.schema.toml` what they may hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd

from perslib.corpus import TURN, Corpus, Target, coerce
from perslib.corpus.files.reading import number_in
from perslib.corpus.files.records import csv_lines, json_lines
from perslib.errors import DataError, Problem
from perslib.llm.request import whole_characters
from perslib.paths import read_toml
from perslib.replay.replies import KEY
from perslib.schemas import check, read_schema

Turn = tuple[str, str, str, int]
Record = dict[str, Any]
Kind = Literal["reply", "score", "prediction", "turn", "label"]

REMEDY = "Mend the file; every line that cannot be read is listed here."
#: Programs append to these files: of lines about the same the last one counts. In others a line stands but once.
APPENDED = ("reply", "score", "prediction")
_SAMPLE = re.compile(r"(?P<user>.+?)__(?P<scenario>.+)__(?P<session>.+)\.json__turn_(?P<turn>\d+)")
_PUBLISHED = read_toml(__file__, "published.toml")
NAMES: dict[str, list[str]] = _PUBLISHED["names"]
#: Published context mode → ours.
CONTEXTS: dict[str, str] = _PUBLISHED["contexts"]


class PublishedLine(NamedTuple):
    """A line that was read: where it stands, its turn, what it says under our names, and all of it."""

    place: str
    turn: dict[str, Any]
    fields: Record
    record: Record


def read_lines(
    path: Path | str, kind: Kind, corpus: Corpus | None = None, *, columns: Sequence[str] = TURN
) -> list[PublishedLine]:
    """Read JSON lines, or a CSV file whose header has these columns; what is wrong with any line is one error."""
    path = Path(path)
    if not path.is_file():
        raise DataError(Problem(str(path), "is no file"), "Give the file itself, JSON lines or a .csv.")
    raw, schema = path.read_bytes(), read_schema(__file__, "published.schema.toml", kind)
    if path.suffix.lower() == ".csv":
        lines: Iterator[tuple[str, Any, Any]] = csv_lines(raw, path.name, columns)
    else:
        # Bytes as they are; JSON's escapes are ASCII. Half a character is read as U+FFFD.
        whole = whole_characters(raw.decode("latin-1")).encode("latin-1") if kind in APPENDED else raw
        lines = json_lines(whole, path.name)
    targets = None if corpus is None else cache(partial(targets_of, corpus))  # blocks are cut once
    parsed: list[PublishedLine] = []
    problems: list[Problem] = []
    value: Any
    for place, value, _ in lines:
        record = _rename_fields(value) if isinstance(value, dict) else value
        wrong = [value] if isinstance(value, Problem) else check(record, schema, place)
        if not wrong:
            turn = record["user"], record["scenario"], record["session"].removesuffix(".json"), int(record["turn"])
            misfit = _other_turn(value, turn)
            if targets and not misfit:
                misfit = _unlike(value, turn, targets(*turn[:2]).get(turn[2:]))
            wrong = [Problem(place, misfit)] if misfit else []
            parsed.append(PublishedLine(place, dict(zip(TURN, turn)), record, value))
        problems += wrong
    if problems:
        raise DataError(problems, REMEDY)
    if not parsed:
        raise DataError(Problem(path.name, "holds no line"), "Not one line is left to read.")
    return parsed


def keep_last(
    rows: Sequence[Record], lines: Sequence[PublishedLine], keys: Sequence[str], *, strict: bool = False
) -> pd.DataFrame:
    """Return the rows that lines were made to, each turn's added; of rows that agree in `keys` the last.

    `attrs["left_out"]` lists the others; with `strict` they are an error.
    """
    frame = pd.DataFrame([{**line.turn, **row} for line, row in zip(lines, rows, strict=True)])
    places = pd.Series([line.place for line in lines])
    later = places.groupby([frame[key] for key in keys], dropna=False, sort=False).shift(-1)
    again = [Problem(place, f"stands again in {then}") for place, then in zip(places, later) if isinstance(then, str)]
    if again and strict:
        raise DataError(again, REMEDY)
    frame = frame[later.isna()].reset_index(drop=True)
    frame.attrs["left_out"] = list(map(str, again))
    return frame


def _rename_fields(record: Record) -> Record:
    """Return what a line says under our names, the parts of its turn as texts; what it has no key for is not there."""
    renamed = {}
    for column, names in NAMES.items():
        if there := [record[name] for name in names if name in record]:
            renamed[column] = next((value for value in there if value is not None), None)
    sample = record.get("sample_id")
    parts = _SAMPLE.fullmatch(sample) if isinstance(sample, str) else None
    for key in TURN:
        value = parts[key] if parts and renamed.get(key) is None else renamed.get(key)
        whole = isinstance(value, float) and value.is_integer()  # as data frames write a column with gaps
        renamed[key] = None if value is None else str(int(value) if whole else value)
    numbers = {key: number_in(renamed.get(key)) for key in ("inclusion", "score")}  # texts in a CSV file
    return renamed | {key: number for key, number in numbers.items() if number is not None}


def _other_turn(record: Record, turn: Turn) -> str | None:
    """Return what is wrong where a line's `sample_id` is that of another turn."""
    sample, own = record.get("sample_id"), sample_id(*turn)
    is_other = isinstance(sample, str) and _SAMPLE.fullmatch(sample) and sample != own
    return f"is about {own}, but its sample_id is {sample!r}" if is_other else None


def _unlike(record: Record, turn: Turn, target: Target | None) -> str | None:
    """Return how a line differs from the corpus that it claims to be about."""
    if target is None:
        return f"{sample_id(*turn)} is not in the corpus"
    reply, prefix = record.get("source_assistant_reply"), record.get("dialogue_prefix")
    if isinstance(reply, str) and reply.strip() != target.response.strip():
        return f"source_assistant_reply is not the corpus's reply in {sample_id(*turn)}"
    if prefix is None:
        return None
    differs = f"dialogue_prefix differs from the corpus in {sample_id(*turn)}"
    if not isinstance(prefix, list) or not all(isinstance(message, dict) for message in prefix):
        return f"{differs}: it is no list of messages"
    if len(prefix) != len(target.prefix):
        return f"{differs}: it has {len(prefix)} messages, expected {len(target.prefix)}"
    for number, (message, expected) in enumerate(zip(prefix, target.prefix), start=1):
        if (given := _message(message)) != (wanted := _message(expected)):
            what = "another text" if given[0] == wanted[0] else f"role {given[0]!r}, expected {wanted[0]!r}"
            return f"{differs}: message {number} has {what}"
    return None


def _message(message: Mapping[str, Any]) -> tuple[str, str]:
    return str(message.get("role")), str(message.get("content")).strip()


def targets_of(corpus: Corpus, user: str, scenario: str) -> dict[tuple[str, int], Target]:
    """Return session and turn → the corpus's turn with all that was said before it; empty where there is no such block."""
    if user not in set(corpus.users["user"]) or scenario not in corpus.scenarios:
        return {}
    return {(target.session, target.turn): target for target in corpus.block(user, scenario)}


def sample_id(user: str, scenario: str, session: str, turn: int) -> str:
    """Return the published name of a turn."""
    return f"{user}__{scenario}__{session}.json__turn_{turn}"


def read_turns(path: Path | str, corpus: Corpus) -> pd.DataFrame:
    """Return the replay set in a file, in the order of its lines; everything that is wrong with its lines is one error.

    A line has user, scenario, session and turn (in JSONL the published names do, too), and may have `inclusion`,
    the probability that the turn was drawn, above 0: then all lines have it, for it is their weight. Further fields
    are let be.
    """
    lines = read_lines(path, "turn", corpus)
    turns = keep_last([{"inclusion": line.fields.get("inclusion")} for line in lines], lines, TURN, strict=True)
    turns = coerce(turns, "replay_turns", Path(path).name)
    without = int(turns["inclusion"].isna().sum())
    if 0 < without < len(turns):
        problem = Problem(Path(path).name, f"{without} lines have no inclusion, while others have one")
        raise DataError(problem, "Give each turn the probability with which it was drawn.")
    return turns


def read_labels(path: Path | str) -> pd.DataFrame:
    """Return People's scores of candidates' replies, from CSV or JSONL lines of candidate, the keys of a turn, and
    score.

    Columns: user, scenario, session, turn, candidate, gold.
    """
    lines = read_lines(path, "label", columns=[*KEY, "score"])
    rows = [{"candidate": line.fields["candidate"], "gold": line.fields["score"]} for line in lines]
    return keep_last(rows, lines, KEY, strict=True)
