"""Reactions as columns: a row a reply.

record     number of the session in its log (line or row), from 1; with `reply` the key of a row, for a cid can recur
cid, reply, next      session, position of the reply in it, and of the user message that follows
lang, primary         language of what follows; the reply's primary label
dislike … abandon, like, thanks, ack, parallel_request, system_failure     the signals' scores, 0 where not found
superseded, interrupted, conflict, bad_clock, left_after_negative
gap, reading, fraction, n_chars, ratio     seconds to the next message and of reading, gap over reading after typing,
                                           characters, and the paper's measure of skimming, gap over characters
outcome    what became of a reply that was not liked (`perslib.systems.uxbench.signals.reaction`)
signals    every signal with its score, strength, rule, and where it was found
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa

from perslib.systems.uxbench.loaders.log_records import LogSession
from perslib.systems.uxbench.signals.model import DEFAULT, NEGATIVE, POSITIVE, Reaction, Signal, SignalSettings
from perslib.systems.uxbench.signals.name_finder import choose_finder
from perslib.systems.uxbench.signals.personal_data import deidentify
from perslib.systems.uxbench.signals.reaction import reactions
from perslib.systems.uxbench.signals.user_messages import read_messages
from perslib.systems.uxbench.signals.wording import reading_seconds

SCORED = (*NEGATIVE, *POSITIVE, "ack", "parallel_request", "system_failure")
_AT_ONCE = 256
"""Sessions whose messages are read together; more are no faster, and all that was read of them is held meanwhile."""
_PLACE = {name: i for i, name in enumerate(SCORED)}
_SIGNAL = pa.struct(
    [
        *[("name", pa.string()), ("score", pa.float32()), ("strength", pa.string()), ("rule", pa.string())],
        *[("at", pa.int32()), ("start", pa.int32()), ("end", pa.int32()), ("back", pa.int32())],
    ]
)
SCHEMA = pa.schema(
    [
        *[("record", pa.int64()), ("cid", pa.string()), ("reply", pa.int32()), ("next", pa.int32())],
        *[("lang", pa.string()), ("primary", pa.string())],
        *[(name, pa.float32()) for name in SCORED],
        *[(name, pa.bool_()) for name in ("superseded", "interrupted", "conflict", "bad_clock")],
        *[("gap", pa.float64()), ("reading", pa.float32()), ("fraction", pa.float32()), ("n_chars", pa.int32())],
        *[("ratio", pa.float32()), ("left_after_negative", pa.bool_()), ("outcome", pa.string())],
        ("signals", pa.list_(_SIGNAL)),
    ]
)


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Pause the cyclic garbage collector: nothing here makes a cycle, and it would walk all that the process holds."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@pause_garbage_collection()
def table(
    sessions: Sequence[LogSession],
    settings: SignalSettings = DEFAULT,
    *,
    numbers: Sequence[int] | None = None,
    private: bool = True,
    key: bytes | None = None,
) -> pa.Table:
    """Return the table of some sessions: de-identified where `private`, read, and laid out in columns."""
    readings: list[Reaction] = []
    lengths, cids = [], []
    for begin in range(0, len(sessions), _AT_ONCE):
        for cid, own in _read(sessions[begin : begin + _AT_ONCE], settings, private, key):
            readings += own
            lengths.append(len(own))
            cids.append(cid.encode("utf-8", "replace").decode())  # no lone surrogates
    return _columns(readings, cids, lengths, numbers or range(1, len(sessions) + 1))


def _read(
    sessions: Sequence[LogSession], settings: SignalSettings, private: bool, key: bytes | None
) -> Iterator[tuple[str, list[Reaction]]]:
    """Yield the id and the reactions of every session, de-identified before they are read."""
    spoken = [[m.text for m in session.messages if m.role == "assistant"] for session in sessions]
    reading = iter(reading_seconds(list(chain.from_iterable(spoken))).tolist())  # before placeholders change them
    if private or key is not None:
        find = choose_finder(settings)
        sessions = [deidentify(session, key, texts=private, find=find) for session in sessions]
    read = read_messages((m.text for session in sessions for m in session.messages if m.role == "user"), settings)
    for session, replies in zip(sessions, spoken):
        yield session.cid, reactions(session, settings, list(islice(reading, len(replies))), read)


def _columns(
    reactions: Sequence[Reaction], cids: Sequence[str], lengths: Sequence[int], numbers: Sequence[int]
) -> pa.Table:
    if not reactions:
        return SCHEMA.empty_table()
    each: dict[str, Any] = dict(zip(Reaction._fields, zip(*reactions)))
    signals = list(chain.from_iterable(each["signals"]))
    offsets = np.cumsum([0, *map(len, each["signals"])], dtype=np.int32)
    scores = np.zeros((len(SCORED), len(reactions)), np.float32)
    rows = np.repeat(np.arange(len(reactions)), np.diff(offsets))
    for row, signal in zip(rows.tolist(), signals):
        place = _PLACE[signal.name]
        scores[place, row] = max(scores[place, row], signal.score)
    chars = np.array(each["n_chars"], float)
    ratio = np.array(each["gap"], float) / np.where(chars > 0, chars, np.nan)
    columns = {
        "record": np.repeat(np.array(numbers, np.int64), lengths),
        "cid": np.repeat(np.array(cids, object), lengths),
        "reply": each.pop("idx"),
        "ratio": pa.array(ratio, pa.float64(), from_pandas=True).cast(pa.float32()),
        **dict(zip(SCORED, scores)),
        **each,
    }
    arrays = [pa.array(columns[name], SCHEMA.field(name).type) for name in SCHEMA.names if name != "signals"]
    return pa.table([*arrays, _make_list_array(signals, offsets)], schema=SCHEMA)


def _make_list_array(signals: Sequence[Signal], offsets: np.ndarray) -> pa.ListArray:
    fields = zip(*signals) if signals else [()] * len(Signal._fields)
    arrays = [pa.array(values, field.type) for values, field in zip(fields, _SIGNAL)]
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(arrays, fields=list(_SIGNAL)))
