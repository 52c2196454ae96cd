"""A function over chunks, on the workers of a cluster, with results in the order of the chunks.

A chunk is written to a file, a worker reads it, calls the function and writes what it returned; two names go over the
wire. A worker that dies is replaced by the scheduler, its chunk done again. Chunks that have a key keep their results:
a run that lost its scheduler, or its client, reads those and does the rest.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from perslib.cluster.client import workers_of
from perslib.cluster.files import Kept, Shelf
from perslib.errors import PerslibError
from perslib.paths import state, workspace

T = TypeVar("T")
WAITING = 4
"""Chunks that wait at the scheduler for each worker, so that none runs dry and few lie about."""


def spread(
    client: Any,
    function: Callable[[Any], T],
    chunks: Iterable[Any],
    *,
    keys: Callable[[Any], str] | None = None,
    folder: Path | str | None = None,
    seats: tuple[str, int] | None = None,
) -> Iterator[T]:
    """`function(chunk)` for each chunk, in order.

    `folder` must be one that all workers see; none given, a folder in the workspace, emptied at the end. `keys` names
    a chunk by what its result depends on, and results stay in `folder` under it. `seats` = (name, number) lets no more
    chunks than that be worked on at a time, over all runs on this cluster that use the name.
    """
    if keys is not None and folder is None:
        raise PerslibError("Results that are to stay need a place: give spread a folder.")
    (state() / "spread").mkdir(parents=True, exist_ok=True)
    place = Path(folder) if folder is not None else Path(tempfile.mkdtemp(dir=state() / "spread"))
    try:
        yield from _spread(client, function, chunks, keys, place.resolve(), seats)
    finally:
        if folder is None:
            shutil.rmtree(place, ignore_errors=True)


def _spread(
    client: Any,
    function: Callable[[Any], T],
    chunks: Iterable[Any],
    keys: Callable[[Any], str] | None,
    folder: Path,
    seats: tuple[str, int] | None,
) -> Iterator[T]:
    shelf = Shelf(folder)
    todo = shelf.put(function)
    most = WAITING * workers_of(client)
    waiting: deque[tuple[Any, Kept, Kept | None]] = deque()
    for number, chunk in enumerate(chunks):
        # Never by its content: of two equal chunks the first one done would take the file of the other away.
        name = f"{number:08}" if keys is None else _digest(keys(chunk))
        result = Kept(str(folder / f"result-{name}.pkl"))
        if keys is not None and Path(result.path).exists():
            waiting.append((None, result, None))
        else:
            given = shelf.put_as(f"chunk-{name}", chunk)
            future = client.submit(
                _work, todo, given, result.path, seats, str(workspace()),
                key=f"perslib-{folder.name}-result-{name}", pure=False,
            )  # fmt: skip
            waiting.append((future, result, given))
        while len(waiting) > most:
            yield _taken(*waiting.popleft(), keep=keys is not None)
    while waiting:
        yield _taken(*waiting.popleft(), keep=keys is not None)


def _taken(future: Any, result: Kept, given: Kept | None, *, keep: bool) -> Any:
    """What a chunk gave; waits for it."""
    if future is not None:
        from distributed import CancelledError, KilledWorker
        from distributed.comm.core import CommClosedError

        try:
            future.result()
        except KilledWorker as reason:
            raise PerslibError(
                f"A part of the work ended the worker that did it, again and again ({reason.task}). The usual cause is "
                "memory: give workers more, or smaller chunks. What was answered is kept; run again."
            ) from None
        except (CancelledError, CommClosedError, TimeoutError) as reason:
            raise PerslibError(
                f"The Dask scheduler is gone ({type(reason).__name__}). What was finished is kept: start the scheduler "
                "and run the same again."
            ) from None
    value = result.get()
    for file in (given, None if keep else result):
        if file is not None:
            file.forget()
    return value


def _work(function: Kept, chunk: Kept, result: str, seats: tuple[str, int] | None, home: str) -> None:
    """On a worker: one chunk."""
    os.environ.setdefault("PERSLIB_HOME", home)
    if seats is None:
        found = function.get(keep=True)(chunk.get())
    else:
        from distributed import Semaphore

        with Semaphore(max_leases=seats[1], name=seats[0]):
            found = function.get(keep=True)(chunk.get())
    path = Path(result)
    Shelf(path.parent).put_as(path.stem, found)


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:32]
