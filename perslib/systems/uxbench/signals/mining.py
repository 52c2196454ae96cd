"""A log of any size, mined block by block into one table: a row a reply.

    mine_log("log.jsonl").table                               # as a frame
    mine_log("log.parquet", out="mined/", processes=4)        # written as it goes, in constant memory
    mine_log("log.parquet", out="mined/", scheduler="tcp://…")   # by the workers of a Dask cluster

A block becomes a table by a plain function, `block_table`, which knows of no other block; so the result does not depend
on how the log is cut, nor on who works the blocks off. Blocks are cut here, between sessions, wherever they are worked.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import shutil
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from perslib import __version__
from perslib.cluster import Scheduler, connect_cluster, spread
from perslib.errors import DataError, Problem
from perslib.systems.uxbench.loaders.log_records import LogSession
from perslib.systems.uxbench.loaders.logs import (
    AT_ONCE,
    ROWS,
    LogBlock,
    Reject,
    Source,
    read_log_block,
    read_log_blocks,
)
from perslib.systems.uxbench.signals.model import DEFAULT, PRECEDENCE, SignalSettings
from perslib.systems.uxbench.signals.table import SCHEMA, pause_garbage_collection, table

TABLE = "signals.parquet"
REJECTED = "rejected.jsonl"
SHARDS = "shards"


class BlockTable(NamedTuple):
    """What a block gives: its rows, what was no session, what was odd, and a digest of every session's id."""

    rows: pa.Table
    rejected: list[Reject]
    notes: Counter[str]
    ids: np.ndarray


@pause_garbage_collection()
def block_table(
    block: LogBlock, settings: SignalSettings = DEFAULT, *, private: bool = True, key: bytes | None = None
) -> BlockTable:
    """Return the table of one block; see `mine_log`."""
    records = list(read_log_block(block))
    numbers = [number for number, one in records if isinstance(one, LogSession)]
    sessions = [one for _, one in records if isinstance(one, LogSession)]
    notes = Counter(note for session in sessions for note in session.notes)
    ids = np.array([_digest(session.cid) for session in sessions], np.uint64)
    rejected = [one for _, one in records if isinstance(one, Reject)]
    return BlockTable(table(sessions, settings, numbers=numbers, private=private, key=key), rejected, notes, ids)


def _digest(cid: str) -> int:
    return int.from_bytes(hashlib.blake2b(cid.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


@dataclass
class MiningResult:
    """What mining gave: where the table is, how often each signal was found, and what was left out."""

    replies: int = 0
    sessions: int = 0
    primary: Counter[str] = field(default_factory=Counter)
    signals: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    rejects: list[Reject] = field(default_factory=list)
    folder: Path | None = None
    parts: list[pa.Table] = field(default_factory=list, repr=False)

    @property
    def arrow(self) -> pa.Table:
        """The table as Arrow has it."""
        if self.folder is not None:
            return pq.read_table(self.folder / TABLE)
        return pa.concat_tables(self.parts) if self.parts else SCHEMA.empty_table()

    @property
    def table(self) -> pd.DataFrame:
        """A row a reply (`perslib.systems.uxbench.signals.table` says which columns)."""
        frame: pd.DataFrame = self.arrow.to_pandas()
        return frame

    @property
    def counts(self) -> pd.DataFrame:
        """Signal by signal: on how many replies it was found, on how many it is the primary one, and their share."""
        rows = [(name, self.signals[name], self.primary[name]) for name in PRECEDENCE]
        counted = pd.DataFrame(rows, columns=["signal", "found", "primary"])
        return counted.assign(share=counted["primary"] / max(1, self.replies))


def mine_log(
    source: Source,
    out: str | Path | None = None,
    *,
    settings: SignalSettings = DEFAULT,
    private: bool = True,
    key: bytes | None = None,
    processes: int = 1,
    size: int = AT_ONCE,
    rows: int = ROWS,
    scheduler: Scheduler | None = None,
) -> MiningResult:
    """Mine a log: a .jsonl or .parquet file, a folder of them, or a frame.

    `private` de-identifies every session first; with a `key`, ids become keyed digests and times are shifted. With
    `out`, the table and the rejects are written there as they come, and memory stays what a few blocks take, plus
    eight bytes a session, by which ids that occur twice are counted. `size` (bytes of lines) and `rows` (of Parquet)
    say how large a block is; the table is the same whatever they are.

    With a `scheduler` (an address, a cluster, a client, or `"local"`) Dask workers do the blocks, and `out` must lie
    where all of them see it: what is finished stays in `out/shards` until all is, and a run that broke off goes on
    from there. The `key` lies there too while it goes.
    """
    if processes < 1:
        raise DataError(Problem("processes", f"is {processes}, expected 1 or more"))
    if processes > 1 and scheduler is not None:
        raise DataError(Problem("processes", f"is {processes} beside a scheduler"), "Leave one of them out.")
    work = partial(block_table, settings=settings, private=private, key=key)
    cut = read_log_blocks(source, size=size, rows=rows)
    folder = None if out is None else Path(out)
    if scheduler is not None:
        return _gather_tables(_on_cluster(work, cut, scheduler, folder), folder)
    return _gather_tables(map(work, cut) if processes == 1 else _in_order(work, cut, processes), folder)


def _in_order(work: partial[BlockTable], cut: Iterable[LogBlock], processes: int) -> Iterator[BlockTable]:
    """Yield the blocks' tables in their order, a few blocks ahead worked off by other processes."""
    waiting: deque[Future[BlockTable]] = deque()
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        for block in cut:
            waiting.append(pool.submit(work, block))
            if len(waiting) > 2 * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _on_cluster(
    work: partial[BlockTable], cut: Iterable[LogBlock], scheduler: Scheduler, out: Path | None
) -> Iterator[BlockTable]:
    """Yield the blocks' tables in their order, made by the workers of a cluster."""
    shards = None if out is None else out / SHARDS
    with connect_cluster(scheduler) as client:
        yield from spread(client, work, cut, keys=None if out is None else partial(_name_block, work), folder=shards)
    if shards is not None:
        shutil.rmtree(shards, ignore_errors=True)


def _name_block(work: partial[BlockTable], block: LogBlock) -> str:
    """Return all that the table of a block depends on."""
    data = block.data
    if isinstance(data, pa.Table):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, data.schema) as stream:
            stream.write_table(data)
        data = sink.getvalue()
    content = hashlib.blake2b(data, digest_size=16).hexdigest()
    return repr((__version__, work.keywords, block.place, block.first, block.too_long, content))


def _gather_tables(made: Iterable[BlockTable], folder: Path | None) -> MiningResult:
    result = MiningResult(folder=folder)
    ids: list[np.ndarray] = []
    if folder is None:
        for part in made:
            _count(result, part, ids)
            result.parts.append(part.rows)
            result.rejects += part.rejected
    else:
        folder.mkdir(parents=True, exist_ok=True)
        with (
            pq.ParquetWriter(folder / TABLE, SCHEMA, compression="zstd") as writer,
            (folder / REJECTED).open("w", encoding="utf-8") as rejects,
        ):
            for part in made:
                _count(result, part, ids)
                writer.write_table(part.rows)
                rejects.writelines(json.dumps(r._asdict(), ensure_ascii=False) + "\n" for r in part.rejected)
    every = np.concatenate(ids) if ids else np.zeros(0, np.uint64)
    if twice := len(every) - len(np.unique(every)):
        result.notes["cid seen before"] += twice
    return result


def _count(result: MiningResult, part: BlockTable, ids: list[np.ndarray]) -> None:
    result.replies += len(part.rows)
    result.sessions += len(part.ids)
    result.rejected.update(reject.reason for reject in part.rejected)
    result.notes.update(part.notes)
    ids.append(part.ids)
    signal_names = part.rows["signals"].combine_chunks().flatten().field("name")
    for counter, names in ((result.primary, part.rows["primary"]), (result.signals, signal_names)):
        counter.update({one["values"]: one["counts"] for one in names.value_counts().to_pylist()})
