"""Every answer is kept: one SQLite file, addressed by the content of the request.

An answer is written before it is handed to the caller, so a run that is killed (`kill -9`) and started again
repeats no call that had been answered. (A power cut may take the last seconds; the file stays whole.) Any
number of threads and processes share one file.

When the disk does not play along:

- a folder that cannot be written to is refused before the first call is paid for, unless the policy is
  `only` or `off`, which write nothing;
- a disk that fills up in mid-run does not stop it: answers are kept in memory, one warning says so, and they
  are written as soon as there is room;
- a file that is damaged, or no cache, is an error that says what to do. Nothing is overwritten;
- an entry that cannot be read, or holds no answer, is left out with a warning; its question is asked anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
import time
import warnings
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from perslib.errors import CacheError, UnknownName
from perslib.llm._sqlite import CacheWarning, Database
from perslib.llm.types import digest, misfit
from perslib.paths import state

__all__ = ["Cache", "CacheWarning", "Policy", "digest"]

Policy = Literal["use", "refresh", "off", "only"]
"""use: read and write · refresh: ask anew, write · off: neither · only: read, never ask"""

Meta = Mapping[str, str | None]
"""What an entry is about: backbone, model, prompt, stage. Keys of endpoints never get here."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    digest TEXT PRIMARY KEY, coding TEXT NOT NULL, body BLOB NOT NULL,
    backbone TEXT, model TEXT, prompt TEXT, stage TEXT, created_at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS entries_by_age ON entries (created_at)
"""
_ABOUT = ("backbone", "model", "prompt", "stage")
_RETRY = 2.0  # seconds between attempts to write what a full disk did not take
_COMPRESSED_FROM = 512  # bytes; zlib gains nothing below


class Cache:
    """The answers in one file, `.perslib/cache.sqlite` in the workspace if none is named.

    The policy is part of the object: under `refresh` and `off` nothing is ever found, under `off` and `only`
    nothing is written. That a miss under `only` must not be asked is for the caller to heed.
    """

    def __init__(self, path: Path | str | None = None, policy: Policy = "use"):
        if policy not in get_args(Policy):
            raise UnknownName("cache policy", policy, get_args(Policy))
        self.path = Path(path) if path is not None else state() / "cache.sqlite"
        self.policy = policy
        self._file = Database(self.path, _SCHEMA, read_only=policy in ("off", "only"))
        self._lock = threading.RLock()
        _open.add(self)
        self._unsaved: dict[str, tuple[Any, ...]] = {}
        self._next_attempt = 0.0
        self._troubled = False

    def get(self, digest: str) -> dict[str, Any] | None:
        """The answer stored under this digest, if there is one and the policy lets it be used."""
        return self.get_many([digest]).get(digest)

    def get_many(self, digests: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Those of the answers that are there."""
        return dict(self._read(digests, _answer))

    def get_vectors(self, digests: Iterable[str]) -> dict[str, np.ndarray]:
        """Those of the embeddings that are there, as float32."""
        return dict(self._read(digests, _vector))

    def put(self, digest: str, answer: Mapping[str, Any], meta: Meta) -> None:
        """Keep an answer: on return it is in the file, or in memory and a warning was given."""
        self.put_many([(digest, answer, meta)])

    def put_many(self, rows: Iterable[tuple[str, Mapping[str, Any], Meta]]) -> None:
        """Keep several answers in one transaction."""
        self._write((key, *_encoded(answer), meta) for key, answer, meta in rows)

    def put_vectors(self, rows: Iterable[tuple[str, np.ndarray, Meta]]) -> None:
        """Keep several embeddings in one transaction."""
        self._write((key, "float32", vector.astype("<f4").tobytes(), meta) for key, vector, meta in rows)

    def latest(self, backbone: str, number: int) -> list[dict[str, Any]]:
        """So many of the latest answers of a backbone."""
        query = """SELECT digest, coding, body FROM entries WHERE backbone = ? AND coding != 'float32'
                   ORDER BY created_at DESC LIMIT ?"""
        with self._using("read") as db:
            return [answer for _, answer in self._decoded(db.execute(query, (backbone, number)), _answer)]

    def contents(self) -> pd.DataFrame:
        """What the file holds: backbone, model, prompt, stage, entries, bytes, first and last time of writing."""
        about = ", ".join(_ABOUT)
        as_text = ", ".join(f"CAST({name} AS TEXT)" for name in _ABOUT)
        query = f"""SELECT {as_text}, COUNT(*), SUM(LENGTH(body)), MIN(created_at), MAX(created_at)
                    FROM entries GROUP BY {about} ORDER BY {about}"""
        with self._using("read") as db:
            rows = db.execute(query).fetchall()
        frame = pd.DataFrame(rows, columns=[*_ABOUT, "entries", "bytes", "first", "last"])
        for column in ("first", "last"):
            seconds = pd.to_numeric(frame[column], errors="coerce").astype("float64")
            frame[column] = pd.to_datetime(seconds, unit="s", utc=True, errors="coerce")
        return frame

    def prune(
        self, *, older_than: datetime | timedelta | None = None, keep_bytes: int | None = None, **about: str
    ) -> int:
        """Forget the entries that fit all that is given, and return how many; `vacuum()` shrinks the file.

        `older_than` is a moment or an age; `keep_bytes` forgets the oldest beyond that size; `backbone`,
        `model`, `prompt` and `stage` say what to forget.
        """
        for name in about.keys() - set(_ABOUT):
            raise UnknownName("column of the cache", name, _ABOUT)
        conditions, values = [f"{name} = ?" for name in about], list[Any](about.values())
        if older_than is not None:
            if isinstance(older_than, timedelta):
                older_than = datetime.now().astimezone() - older_than
            conditions.append("created_at < ?")
            values.append(older_than.timestamp())
        if keep_bytes is not None:
            newest_first = (
                "SELECT rowid, SUM(LENGTH(body)) OVER (ORDER BY created_at DESC, rowid DESC) AS size"
            )
            conditions.append(f"rowid IN (SELECT rowid FROM ({newest_first} FROM entries) WHERE size > ?)")
            values.append(keep_bytes)
        if not conditions:
            raise CacheError(
                "Say what to forget: an age, a size, a model … (to forget all, delete the file)."
            )
        with self._using("changed") as db:
            return db.execute(f"DELETE FROM entries WHERE {' AND '.join(conditions)}", values).rowcount

    def vacuum(self) -> int:
        """Give the room of forgotten entries back to the disk; returns the size of the file in bytes."""
        with self._using("compacted") as db:
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return self.path.stat().st_size

    def close(self) -> None:
        """Write what is still in memory, or say that it is lost, and let go of the file."""
        with self._lock:
            if self._unsaved:
                self._save()
            if self._unsaved:
                self._warn(
                    f"{len(self._unsaved)} answers could not be written and are lost with this process."
                )
                self._unsaved.clear()
            self._file.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return Cache, (self.path, self.policy)  # another process opens the same file

    def __len__(self) -> int:
        with self._using("read") as db:
            return db.execute("SELECT COUNT(*) FROM entries").fetchone()[0]

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_unsaved"):
            self.close()

    @contextlib.contextmanager
    def _using(self, done: str) -> Iterator[sqlite3.Connection]:
        with self._lock, self._file.explained(done):
            yield self._file.connection()

    def _read(self, digests: Iterable[str], decode: _Decode) -> Iterator[tuple[str, Any]]:
        if self.policy == "off":
            return
        wanted = list(digests)
        with self._using(
            "read"
        ) as db:  # opened under `refresh` too: a cache that cannot be written shows here
            if self.policy == "refresh":
                return
            for start in range(0, len(wanted), 500):
                some = wanted[start : start + 500]
                marks = ",".join("?" * len(some))
                query = f"SELECT digest, coding, body FROM entries WHERE digest IN ({marks})"
                yield from self._decoded(db.execute(query, some), decode)
            yield from self._decoded(
                (self._unsaved[key][:3] for key in self._unsaved.keys() & set(wanted)), decode
            )

    def _decoded(self, rows: Iterable[tuple[Any, ...]], decode: _Decode) -> Iterator[tuple[str, Any]]:
        """Digest and value of each row; those that cannot be read are left out, with one warning."""
        broken = []
        for key, coding, body in rows:
            try:
                value = decode(coding, body)
            except (ValueError, TypeError, zlib.error, RecursionError) as error:
                broken.append(f"{key}: {error}")
            else:
                yield key, value
        if broken:
            n = f"{len(broken)} entries" if len(broken) > 1 else "one entry"
            self._warn(f"{n} cannot be read, and left out as if never asked ({broken[0][:200]}).")

    def _write(self, rows: Iterable[tuple[str, str, bytes, Meta]]) -> None:
        if self.policy in ("off", "only"):
            return
        now = time.time()
        with self._lock:
            for key, coding, body, meta in rows:
                self._unsaved[key] = (key, coding, body, *(_storable(meta.get(name)) for name in _ABOUT), now)
            if time.monotonic() >= self._next_attempt:
                self._save()

    def _save(self) -> None:
        try:
            with self._file.connection() as db:
                db.execute("BEGIN IMMEDIATE")
                db.executemany("REPLACE INTO entries VALUES (?,?,?,?,?,?,?,?)", self._unsaved.values())
        except (sqlite3.Error, CacheError) as error:
            self._next_attempt = time.monotonic() + _RETRY
            if not self._troubled:
                self._troubled = True
                self._warn(
                    f"answers cannot be written ({error}). The run goes on with them in memory, where they last "
                    f"as long as it does. Free some space for {self.path.parent} and they are written after all."
                )
        else:
            waiting, self._unsaved = len(self._unsaved), {}
            if self._troubled:
                self._troubled = False
                self._warn(f"{waiting} answers that were waiting in memory are written now.")

    def _warn(self, message: str) -> None:
        warnings.warn(f"Cache {self.path}: {message}", CacheWarning, stacklevel=2)


_open: weakref.WeakSet[Cache] = weakref.WeakSet()


def _unlock_in_a_fork() -> None:
    """Whoever held a lock when the process forked is not there to give it back."""
    for cache in list(_open):
        cache._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_in_a_fork)


def _answer(coding: str, body: bytes) -> dict[str, Any]:
    """A stored answer; a ValueError says why it is none."""
    record: dict[str, Any] = json.loads(zlib.decompress(body) if coding == "zlib" else body)
    if fault := misfit(record):
        raise ValueError(fault)
    return record


def _vector(coding: str, body: bytes) -> np.ndarray:
    """A stored embedding; a ValueError says why it is none."""
    if coding != "float32":
        raise ValueError(f"is a {coding!r}, no embedding")
    return np.frombuffer(body, "<f4")


_Decode = Callable[[str, bytes], Any]


def _storable(name: str | None) -> str | None:
    return name if name is None else name.encode("utf-8", "replace").decode()


def _encoded(answer: Mapping[str, Any]) -> tuple[str, bytes]:
    body = json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return ("zlib", zlib.compress(body, 1)) if len(body) >= _COMPRESSED_FROM else ("json", body)
