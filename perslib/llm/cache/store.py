"""Every answer is kept: one SQLite file, addressed by the content of the request.

An answer is written before it is handed to the caller, so a run that is killed (`kill -9`) and started again repeats no
call that had been answered. (A power cut may take the last seconds; the file stays whole.) Any number of threads and
processes share one file. When the disk does not play along:

- a folder that cannot be written to is refused before the first call is paid for, unless the policy is `only` or `off`;
- a disk that fills up in mid-run does not stop it: answers stay in memory, one warning says so, and they are written later;
- a file that is damaged, or no cache, is an error that says what to do. Nothing is overwritten;
- an entry that cannot be read, or holds no answer, is left out with a warning; its question is asked anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
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
from perslib.llm.cache.encoding import (
    answer_of,
    encode_answer,
    pack_request,
    replace_surrogates,
    unpack_request,
    vector_of,
)
from perslib.llm.request import digest
from perslib.paths import state_folder

__all__ = ["Cache", "CacheWarning", "Policy", "digest"]

Policy = Literal["use", "refresh", "off", "only", "read"]
"""use: read and write · refresh: ask anew, write · off: neither · only: read, never ask · read: read, write nothing"""

Meta = Mapping[str, str | None]
"""What an entry is about: backbone, model, prompt, stage. Keys of endpoints never get here."""

_ABOUT = ("backbone", "model", "prompt", "stage")
_APPLICATION_ID = 0x70657273  # "pers": nobody's other database is taken for ours
_FORMAT, _WITH_SENT = 3, 2
_CREATE = f"""
CREATE TABLE IF NOT EXISTS entries (
    digest TEXT PRIMARY KEY, coding TEXT NOT NULL, body BLOB NOT NULL,
    backbone TEXT, model TEXT, prompt TEXT, stage TEXT, created_at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS sent (digest TEXT PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS texts (digest TEXT PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS claims (digest TEXT PRIMARY KEY, owner TEXT NOT NULL, at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS entries_by_age ON entries (created_at);
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {_FORMAT};
"""
_REMEDIES = {  # by the beginning of SQLite's name of the error
    ("SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_ERROR"): (
        "It is damaged or not a cache. Move it away to begin a new one: mv {path} {path}.damaged"
    ),
    ("SQLITE_BUSY", "SQLITE_LOCKED"): ("Another process has been using it for long; try again when that is done."),
    ("SQLITE_FULL",): "Free some space on the disk of {folder}.",
}
_MAY_NOT_READ = "Is the path right, and may you read it?"
_MAY_NOT_WRITE = (
    "Make {folder} writable, or set PERSLIB_HOME to a folder that is; "
    "the policies 'only' (read what is there) and 'off' write nothing."
)
_URI = "{path}?mode={mode}"
_PATIENCE = 30.0  # seconds to wait while another process writes
_RETRY = 2.0  # seconds between attempts to write what a full disk did not take


class CacheWarning(UserWarning):
    """The cache works, but not as it should; the message says what to do."""


class Cache:
    """The answers in one file, `.perslib/cache.sqlite` in the workspace if none is named.

    The policy is part of the object: under `refresh` and `off` nothing is ever found, under `off`, `only` and `read`
    nothing is written. That a miss under `only` must not be asked is for the caller to heed.
    """

    def __init__(self, path: Path | str | None = None, policy: Policy = "use"):
        if policy not in get_args(Policy):
            raise UnknownName("cache policy", policy, get_args(Policy))
        self.path = Path(path) if path is not None else state_folder() / "cache.sqlite"
        self.policy = policy
        self._writes = policy in ("use", "refresh")
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.RLock()
        self._unsaved: dict[str, tuple[Any, ...]] = {}
        self._unsent: dict[str, tuple[bytes, dict[str, bytes]]] = {}
        self._next_attempt = 0.0
        self._is_failing = False
        _caches.add(self)

    def get(self, digest: str) -> dict[str, Any] | None:
        """Return the answer stored under this digest, if there is one and the policy lets it be used."""
        return self.get_many([digest]).get(digest)

    def get_many(self, digests: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return those of the answers that are there."""
        return self._read(digests, answer_of)

    def get_vectors(self, digests: Iterable[str]) -> dict[str, np.ndarray]:
        """Return those of the embeddings that are there, as float32."""
        return self._read(digests, vector_of)

    def put(self, digest: str, answer: Mapping[str, Any], meta: Meta) -> None:
        """Keep an answer: on return it is in the file, or in memory and a warning was given."""
        self.put_many([(digest, answer, meta)])

    def put_many(self, rows: Iterable[tuple[str, Mapping[str, Any], Meta]]) -> None:
        """Keep several answers in one transaction."""
        self._write((key, *encode_answer(answer), meta) for key, answer, meta in rows)

    def put_vectors(self, rows: Iterable[tuple[str, np.ndarray, Meta]]) -> None:
        """Keep several embeddings in one transaction."""
        self._write((key, "float32", vector.astype("<f4").tobytes(), meta) for key, vector, meta in rows)

    def put_requests(self, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        """Keep what was sent for these answers; written with the next of them."""
        if self._writes:
            with self._lock:
                self._unsent |= {key: pack_request(sent) for key, sent in rows}

    def read_request(self, digest: str) -> dict[str, Any] | None:
        """Return the body of the request that an answer came for, if it was kept."""
        if (waiting := self._unsent.get(digest)) is not None:
            return unpack_request(*waiting)
        with self.using("read") as db:
            if _only_value(db, "PRAGMA user_version") < _WITH_SENT:
                return None  # an older version kept answers alone
            row = db.execute("SELECT body FROM sent WHERE digest = ?", (digest,)).fetchone()
            query = "SELECT digest, body FROM texts WHERE digest IN (SELECT value FROM json_each(?, '$.packed'))"
            return row and unpack_request(row[0], dict(db.execute(query, (row[0].decode("utf-8", "replace"),))))

    def find(self, beginning: str) -> list[str]:
        """Return the digests that begin so, ten at most."""
        query = "SELECT digest FROM entries WHERE substr(digest, 1, ?) = ? AND coding != 'float32' LIMIT 10"
        with self.using("read") as db:
            return [key for (key,) in db.execute(query, (len(beginning), beginning))]

    def latest(self, backbone: str, number: int) -> list[dict[str, Any]]:
        """Return so many of the latest answers of a backbone."""
        query = """SELECT digest, coding, body FROM entries WHERE backbone = ? AND coding != 'float32'
                   ORDER BY created_at DESC LIMIT ?"""
        with self.using("read") as db:
            return [answer for _, answer in self._decode_rows(db.execute(query, (backbone, number)), answer_of)]

    def contents(self) -> pd.DataFrame:
        """Return what the file holds: backbone, model, prompt, stage, entries, bytes, first and last time of writing."""
        about = ", ".join(_ABOUT)
        as_text = ", ".join(f"CAST({name} AS TEXT)" for name in _ABOUT)
        query = f"""SELECT {as_text}, COUNT(*), SUM(LENGTH(body)), MIN(created_at), MAX(created_at)
                    FROM entries GROUP BY {about} ORDER BY {about}"""
        with self.using("read") as db:
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
        conditions: dict[str, Any] = {f"{name} = ?": value for name, value in about.items()}
        if isinstance(older_than, timedelta):
            older_than = datetime.now().astimezone() - older_than
        if older_than is not None:
            conditions["created_at < ?"] = older_than.timestamp()
        if keep_bytes is not None:
            sizes = "SELECT rowid, SUM(LENGTH(body)) OVER (ORDER BY created_at DESC, rowid DESC) AS size FROM entries"
            conditions[f"rowid IN (SELECT rowid FROM ({sizes}) WHERE size > ?)"] = keep_bytes
        if not conditions:
            raise CacheError("Say what to forget: an age, a size, a model … (to forget all, delete the file).")
        query = f"DELETE FROM entries WHERE {' AND '.join(conditions)}"
        with self.using("changed") as db:
            forgotten = db.execute(query, list(conditions.values())).rowcount
            db.execute("DELETE FROM sent WHERE digest NOT IN (SELECT digest FROM entries)")
            used = "SELECT value FROM sent, json_each(CAST(sent.body AS TEXT), '$.packed')"
            db.execute(f"DELETE FROM texts WHERE digest NOT IN ({used})")
            return forgotten

    def vacuum(self) -> int:
        """Give the room of forgotten entries back to the disk; returns the size of the file in bytes."""
        with self.using("compacted") as db:
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return self.path.stat().st_size

    def close(self) -> None:
        """Write what is still in memory, or say that it is lost, and let go of the file."""
        with self._lock:
            if self._unsaved:
                self._save()
            if lost := len(self._unsaved):
                self._warn(f"{lost} answers could not be written and are lost with this process.")
                self._unsaved.clear()
                self._unsent.clear()
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Cache, (self.path, self.policy)  # another process opens the same file

    def __len__(self) -> int:
        with self.using("read") as db:
            return _only_value(db, "SELECT COUNT(*) FROM entries")

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_unsaved"):
            self.close()

    def connection(self) -> sqlite3.Connection:
        """Return the connection of this process, opened on first use; a CacheError says why there is none."""
        if self._connection is None:
            with self._explain_errors("opened"):
                if self._writes:
                    self.path.parent.mkdir(parents=True, exist_ok=True)
                elif not self.path.is_file():
                    raise CacheError(f"There is no cache at {self.path} to read from.")
                self._connection = self._open("rwc") if self._writes else self._open_to_read()
        return self._connection

    def _open_to_read(self) -> sqlite3.Connection:
        try:
            return self._open("ro")
        except sqlite3.OperationalError:
            # The write-ahead log needs two files beside the database; where they cannot be made nobody writes.
            return self._open("ro&immutable=1")

    def _open(self, mode: str) -> sqlite3.Connection:
        uri = _URI.format(path=self.path.absolute().as_uri(), mode=mode)
        connection = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            # In this order: another process may be making the file, and it writes both in one transaction.
            tables = _only_value(connection, "SELECT COUNT(*) FROM sqlite_master")
            application = _only_value(connection, "PRAGMA application_id")
            version = _only_value(connection, "PRAGMA user_version")
            if tables and application != _APPLICATION_ID:
                raise CacheError(f"{self.path} is a database of another program; name another file.")
            if version > _FORMAT:
                raise CacheError(f"{self.path} was written by a newer perslib; update perslib or move it away.")
            if self._writes:
                # Fails where nothing can be written, before anything is.
                create = _CREATE if version < _FORMAT else ""
                connection.executescript(f"BEGIN IMMEDIATE; {create} COMMIT")
                self._choose_journal(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _choose_journal(self, connection: sqlite3.Connection) -> None:
        """Use a write-ahead log, where others read while one writes; a network file system may not offer it."""
        used = ""
        for _ in range(100):  # processes that make the same file at once: SQLite does not wait here by itself
            with contextlib.suppress(sqlite3.OperationalError):
                used = _only_value(connection, "PRAGMA journal_mode = WAL")
                break
            time.sleep(0.01)
        if used != "wal":
            used = _only_value(connection, "PRAGMA journal_mode = TRUNCATE")
            self._warn(
                f"the disk (a network disk?) offers no write-ahead log; the journal mode {used!r} is used "
                "instead: as safe, but slower and with more waiting between processes."
            )
        # A commit survives the death of the process without waiting for the disk.
        connection.execute("PRAGMA synchronous = NORMAL")

    @contextlib.contextmanager
    def using(self, done: str) -> Iterator[sqlite3.Connection]:
        """Give the connection; a CacheError says why the file cannot be `done` something to."""
        with self._lock, self._explain_errors(done):
            yield self.connection()

    @contextlib.contextmanager
    def _explain_errors(self, done: str) -> Iterator[None]:
        """Turn SQLite's and the system's words into ours: which file cannot be `done`, and the way out."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            # Tables of another shape, and texts that are none, have no name of their own.
            unnamed = "SQLITE_ERROR" if isinstance(error, sqlite3.OperationalError) else ""
            name = getattr(error, "sqlite_errorname", "") or unnamed
            general = _MAY_NOT_WRITE if self._writes else _MAY_NOT_READ
            remedy = next((text for names, text in _REMEDIES.items() if name.startswith(names)), general)
            remedy = remedy.format(path=shlex.quote(str(self.path)), folder=self.path.parent)
            raise CacheError(f"The cache {self.path} cannot be {done}: {error}. {remedy}") from error

    def _read(self, digests: Iterable[str], decode: Callable[[str, bytes], Any]) -> dict[str, Any]:
        if self.policy == "off" or (self.policy == "read" and not self.path.is_file()):
            return {}
        wanted = list(digests)
        query = "SELECT digest, coding, body FROM entries WHERE digest IN (SELECT value FROM json_each(?))"
        with self.using("read") as db:
            if self.policy == "refresh":  # opened all the same: a cache that cannot be written shows here
                return {}
            rows = db.execute(query, [json.dumps(wanted)]).fetchall()
            rows += [self._unsaved[key][:3] for key in wanted if key in self._unsaved]
        return dict(self._decode_rows(rows, decode))

    def _decode_rows(
        self, rows: Iterable[tuple[Any, ...]], decode: Callable[[str, bytes], Any]
    ) -> Iterator[tuple[str, Any]]:
        """Yield digest and value of each row; those that cannot be read are left out, with one warning."""
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
        if not self._writes:
            return
        now = time.time()
        with self._lock:
            for key, coding, body, meta in rows:
                self._unsaved[key] = (key, coding, body, *(replace_surrogates(meta.get(name)) for name in _ABOUT), now)
            if time.monotonic() >= self._next_attempt:
                self._save()

    def _save(self) -> None:
        try:
            with self.connection() as db:
                db.execute("BEGIN IMMEDIATE")
                db.executemany("REPLACE INTO entries VALUES (?,?,?,?,?,?,?,?)", self._unsaved.values())
                db.executemany("DELETE FROM claims WHERE digest = ?", [(key,) for key in self._unsaved])
                bodies = [(key, body) for key, (body, _) in self._unsent.items()]
                db.executemany("REPLACE INTO sent VALUES (?,?)", bodies)
                texts = [text for _, entries in self._unsent.values() for text in entries.items()]
                db.executemany("INSERT OR IGNORE INTO texts VALUES (?,?)", texts)
        except (sqlite3.Error, CacheError) as error:
            self._next_attempt = time.monotonic() + _RETRY
            if not self._is_failing:
                self._warn(
                    f"answers cannot be written ({error}). The run goes on with them in memory, where they last "
                    f"as long as it does. Free some space for {self.path.parent} and they are written after all."
                )
            self._is_failing = True
            return
        if self._is_failing:
            self._warn(f"{len(self._unsaved)} answers that were waiting in memory are written now.")
        self._unsaved, self._unsent, self._is_failing = {}, {}, False

    def _warn(self, message: str) -> None:
        warnings.warn(f"Cache {self.path}: {message}", CacheWarning, stacklevel=2)


_caches: weakref.WeakSet[Cache] = weakref.WeakSet()
_inherited: list[sqlite3.Connection | None] = []


def _renew_in_a_fork() -> None:
    """Drop connection and locks: SQLite forbids using or closing one over a fork, and who held a lock is not there."""
    for cache in list(_caches):
        _inherited.append(cache._connection)
        cache._connection, cache._lock = None, threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_in_a_fork)


def _only_value(connection: sqlite3.Connection, query: str) -> Any:
    return connection.execute(query).fetchone()[0]
