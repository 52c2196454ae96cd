"""One SQLite file, opened with care: many processes, forks, network disks, read-only folders, damage."""

from __future__ import annotations

import contextlib
import os
import shlex
import sqlite3
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from perslib.errors import CacheError

_APPLICATION_ID = 0x70657273  # "pers": nobody's other database is taken for ours
_FORMAT = 1
_PATIENCE = 30.0  # seconds to wait while another process writes
_URI = "file:{path}?mode={mode}"

_INHERITED: list[sqlite3.Connection] = []  # over a fork: SQLite forbids using them, and closing them


class CacheWarning(UserWarning):
    """The cache works, but not as it should; the message says what to do."""


class Database:
    """A connection to the file at `path`, made on first use, again in a forked child, shared by all threads.

    Write-ahead logging lets others read while one writes, and a commit survives the death of the process
    without waiting for the disk. A network file system may not offer it: the older journal is used then.
    """

    def __init__(self, path: Path, schema: str, *, read_only: bool = False):
        self.path, self.schema, self.read_only = path, schema, read_only
        self._connection: sqlite3.Connection | None = None
        self._pid = 0

    def connection(self) -> sqlite3.Connection:
        """The connection of this process; a CacheError says why there is none."""
        if self._connection is not None and self._pid == os.getpid():
            return self._connection
        if self._connection is not None:
            _INHERITED.append(self._connection)
        with self.explained("opened"):
            self._connection = self._open_to_read() if self.read_only else self._open_to_write()
        self._pid = os.getpid()
        return self._connection

    def close(self) -> None:
        """Close the connection of this process; the next use opens it again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            if self._pid == os.getpid():
                connection.close()
            else:
                _INHERITED.append(connection)

    @contextlib.contextmanager
    def explained(self, done: str) -> Iterator[None]:
        """Turn SQLite's and the system's words into ours: which file cannot be `done`, and the way out."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            code = getattr(error, "sqlite_errorname", "") or ""
            # Tables of another shape, and texts that are none, have no code of their own.
            is_foreign = isinstance(error, sqlite3.OperationalError) and code in ("", "SQLITE_ERROR")
            if is_foreign or code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
                aside = f"mv {shlex.quote(str(self.path))} {shlex.quote(str(self.path))}.damaged"
                remedy = f"It is damaged or not a cache. Move it away to begin a new one: {aside}"
            elif code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                remedy = "Another process has been using it for long; try again when that is done."
            elif code.startswith("SQLITE_FULL"):
                remedy = f"Free some space on the disk of {self.path.parent}."
            elif self.read_only:
                remedy = "Is the path right, and may you read it?"
            else:
                remedy = (
                    f"Make {self.path.parent} writable, or set PERSLIB_HOME to a folder that is; "
                    "the policies 'only' (read what is there) and 'off' write nothing."
                )
            raise CacheError(f"The cache {self.path} cannot be {done}: {error}. {remedy}") from error

    def _connect(self, mode: str) -> sqlite3.Connection:
        uri = _URI.format(path=str(self.path.absolute()).translate(_ESCAPED), mode=mode)
        connection = sqlite3.connect(
            uri,
            uri=True,
            timeout=_PATIENCE,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=32,
        )
        try:
            self._check(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        # In this order: another process may be making the file, and it writes both in one transaction.
        tables = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        if tables and application != _APPLICATION_ID:
            raise CacheError(f"{self.path} is a database of another program, not a cache; name another file.")
        written = connection.execute("PRAGMA user_version").fetchone()[0]
        if written > _FORMAT:
            raise CacheError(
                f"The cache {self.path} was written by a newer perslib; update perslib or move it away."
            )

    def _open_to_read(self) -> sqlite3.Connection:
        if not self.path.is_file():
            raise CacheError(f"There is no cache at {self.path} to read from.")
        try:
            return self._connect("ro")
        except sqlite3.OperationalError:
            # The write-ahead log needs two files beside the database; where they cannot be made nobody writes.
            return self._connect("ro&immutable=1")

    def _open_to_write(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = self._connect("rwc")
        try:
            if self._journal(connection, "WAL") != "wal":
                used = self._journal(connection, "TRUNCATE")
                warnings.warn(
                    f"The disk of {self.path} (a network disk?) offers no write-ahead log; the journal mode "
                    f"{used!r} is used instead: as safe, but slower and with more waiting between processes.",
                    CacheWarning,
                    stacklevel=2,
                )
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("BEGIN IMMEDIATE")  # fails where nothing can be written, before anything is
            if connection.execute("PRAGMA user_version").fetchone()[0] != _FORMAT:
                for statement in self.schema.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {_FORMAT}")
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection

    def _journal(self, connection: sqlite3.Connection, mode: str) -> str:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                return connection.execute(f"PRAGMA journal_mode = {mode}").fetchone()[0]
            except sqlite3.OperationalError as error:
                # Two processes that make the same new file at once: SQLite does not wait here by itself.
                if error.sqlite_errorname.startswith("SQLITE_BUSY") and time.monotonic() < deadline:
                    time.sleep(0.01)
                elif error.sqlite_errorname.startswith(("SQLITE_IOERR", "SQLITE_PROTOCOL")) and mode == "WAL":
                    return "none"
                else:
                    raise


_ESCAPED = str.maketrans({"?": "%3f", "#": "%23", "%": "%25"})
