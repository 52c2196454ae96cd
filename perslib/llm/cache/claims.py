"""Who asks what: a claim in the cache on each question that is under way, so that another process waits for its answer.

A claim has an age, which its owner renews while it works. It can be taken over when it is older than `STALE`, or at once
when its owner was a process of this machine that is gone. An answer that is written ends the claim on its question.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from perslib.errors import CacheError
from perslib.llm.cache.store import Cache

STALE = 60.0
"""Seconds after which a claim that was not renewed holds no longer."""
RENEWED = 15.0
"""Seconds between two renewals."""
_process = uuid4().hex

_KEYS = "(SELECT value FROM json_each(:keys))"
_CLAIM = """INSERT INTO claims SELECT value, :owner, :now FROM json_each(:keys) WHERE true
    ON CONFLICT (digest) DO UPDATE SET owner = :owner, at = :now WHERE claims.at < :stale"""
_HELD_BY_OTHERS = f"SELECT digest, owner FROM claims WHERE digest IN {_KEYS} AND owner != :owner"
_TAKE_OVER = f"""UPDATE claims SET owner = :owner, at = :now
    WHERE digest IN {_KEYS} AND owner IN (SELECT value FROM json_each(:gone))"""
_ANSWERED = f"SELECT 1 FROM entries WHERE digest IN {_KEYS} LIMIT 1"


class Claims:
    """The claims of one run. Where the cache cannot keep them every question is its own to ask."""

    def __init__(self, cache: Cache):
        self._cache = cache
        self._owner = json.dumps([_machine(), os.getpid(), _process, uuid4().hex])
        self._has_some = False

    def take(self, keys: Collection[str]) -> tuple[set[str], bool]:
        """Claim questions by their content address.

        Return those that this run is to ask, and whether an answer to one of them is in the cache by now.
        """
        if self._cache.policy != "use" or not keys:
            return set(keys), False
        given = {"keys": json.dumps([*keys]), "owner": self._owner, "now": time.time(), "stale": time.time() - STALE}
        try:
            with self._cache.using("claimed") as db, db:
                db.execute("BEGIN IMMEDIATE")
                self._has_some = True
                db.execute(_CLAIM, given)
                others = dict(db.execute(_HELD_BY_OTHERS, given).fetchall())
                if gone := {owner for owner in others.values() if _is_gone(owner)}:
                    db.execute(_TAKE_OVER, {**given, "gone": json.dumps([*gone])})
                    others = dict(db.execute(_HELD_BY_OTHERS, given).fetchall())
                is_answered = db.execute(_ANSWERED, given).fetchone() is not None
        except CacheError:  # a full disk, say: the cache says so when it keeps an answer
            return set(keys), False
        return set(keys) - others.keys(), is_answered

    def renew(self) -> None:
        """Say that the owner is still at work."""
        self._change("UPDATE claims SET at = ? WHERE owner = ?", time.time())

    def release(self, keys: Collection[str]) -> None:
        """Leave questions that got no answer to others."""
        self._change("DELETE FROM claims WHERE digest IN (SELECT value FROM json_each(?)) AND owner = ?", [*keys])

    def end(self) -> None:
        """Leave all of them, and remove what others left long ago."""
        self._change("DELETE FROM claims WHERE at < ? OR owner = ?", time.time() - STALE)
        self._has_some = False

    def _change(self, query: str, value: object) -> None:
        if self._has_some:
            given = json.dumps(value) if isinstance(value, list) else value
            with suppress(CacheError), self._cache.using("changed") as db:
                db.execute(query, [given, self._owner])


def _machine() -> str:
    """Return this machine as far as its processes see each other: containers of one host are several."""
    with suppress(OSError, AttributeError):
        return f"{platform.node()} {Path('/proc/self/ns/pid').readlink()}"
    return platform.node()


def _is_gone(owner: str) -> bool:
    """Return whether the owner of a claim was a process of this machine that has ended."""
    machine, process, name, _ = json.loads(owner)
    if machine != _machine() or os.name != "posix":
        return False
    if process == os.getpid():
        return bool(name != _process)
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _renew_in_a_fork() -> None:
    global _process
    _process = uuid4().hex


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_in_a_fork)
