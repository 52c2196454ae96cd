"""Work on a Dask cluster: a function over chunks of items, the same results in the same order as here.

    with connect_cluster("tcp://10.0.0.1:8786") as client:        # an address, a cluster, a client, or "local"
        results = spread(client, function, chunks)

A chunk is written to a file in a folder that all machines see, a worker reads it, calls the function and writes what it
returned; the scheduler passes the names only. A worker that dies is replaced by the scheduler, its chunk done again.
Chunks that have a key keep their results: a run that lost its scheduler, or its client, reads those and does the rest.

Backbones use this by themselves: `backbone("name", scheduler="tcp://…")`.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

from perslib.errors import PerslibError
from perslib.extras import import_extra
from perslib.paths import scratch, state_folder, workspace
from perslib.registry import named_plugins, use_plugins

T = TypeVar("T")
Scheduler = Any
"""`"tcp://host:8786"`; a cluster, such as dask_jobqueue.SLURMCluster; a distributed.Client; or `"local"`: two
processes on this machine."""
CONNECT = "15s"
WAITING = 4
"""Chunks that wait at the scheduler for each worker, so that none runs dry and few lie about."""


@contextmanager
def connect_cluster(scheduler: Scheduler) -> Iterator[Any]:
    """Open a client of the cluster; what was opened for it is closed again, what was given is not."""
    (distributed,) = import_extra("dask", "Spreading work over processes")
    if isinstance(scheduler, distributed.Client):
        yield scheduler
        return
    with ExitStack() as opened:
        at = scheduler
        if scheduler == "local":
            at = opened.enter_context(
                distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
            )
        try:
            client = opened.enter_context(distributed.Client(at, timeout=CONNECT))
        except (OSError, TimeoutError, ValueError) as reason:
            raise PerslibError(
                f"No Dask scheduler can be reached at {scheduler!r}: {reason}. Start one with `dask scheduler`, and "
                "workers with `dask worker ADDRESS --nthreads 1`; `local` uses two processes of this machine."
            ) from None
        yield client


def workers_of(client: Any) -> int:
    """Return how many worker processes there are now; waits for the first."""
    client.wait_for_workers(1, timeout=600)
    return len(client.nthreads())


def spread(
    client: Any,
    function: Callable[[Any], T],
    chunks: Iterable[Any],
    *,
    keys: Callable[[Any], str] | None = None,
    folder: Path | str | None = None,
    seats: tuple[str, int] | None = None,
) -> Iterator[T]:
    """Yield `function(chunk)` for each chunk, in order.

    `folder` must be one that all workers see; none given, a folder in the workspace, emptied at the end. `keys` names
    a chunk by what its result depends on, and results stay in `folder` under it. `seats` = (name, number) lets no more
    chunks than that be worked on at a time, over all runs on this cluster that use the name.
    """
    if keys is not None and folder is None:
        raise PerslibError("Results that are to stay need a place: give spread a folder.")
    with ExitStack() as opened:
        if folder is None:
            (state_folder() / "spread").mkdir(parents=True, exist_ok=True)
            folder = opened.enter_context(scratch("work", inside=state_folder() / "spread"))
        place = Path(folder).resolve()
        most = WAITING * workers_of(client)
        todo = write_value(place, function)
        waiting: deque[tuple[Any, Path, Path | None]] = deque()
        for number, chunk in enumerate(chunks):
            # Never by its content: of two equal chunks the first one done would take the file of the other away.
            name = f"{number:08}" if keys is None else _digest(keys(chunk).encode())
            result = place / f"result-{name}.pkl"
            if keys is not None and result.exists():
                waiting.append((None, result, None))
            else:
                given, task = (write_value(place, chunk, f"chunk-{name}"), f"perslib-{place.name}-result-{name}")
                work = partial(_work, todo, given, result, seats, str(workspace()), named_plugins())
                waiting.append((client.submit(work, key=task, pure=False), result, given))
            while len(waiting) > most:
                yield _take(*waiting.popleft(), keep=keys is not None)
        while waiting:
            yield _take(*waiting.popleft(), keep=keys is not None)


def _take(future: Any, result: Path, given: Path | None, *, keep: bool) -> Any:
    """Return what a chunk gave; waits for it."""
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
    value = _read(result)
    for file in (given, None if keep else result):
        if file is not None:
            file.unlink(missing_ok=True)
    return value


def _work(
    function: Path, chunk: Path, result: Path, seats: tuple[str, int] | None, home: str, plugins: list[str]
) -> None:
    """Work on one chunk, on a worker."""
    if str(workspace()) != home:  # a worker that is a thread of the user's process leaves its environment alone
        os.environ.setdefault("PERSLIB_HOME", home)
    with suppress(PerslibError):  # a module that a worker does not have travels with what needs it
        use_plugins(*plugins)
    with ExitStack() as opened:
        if seats is not None:
            from distributed import Semaphore

            opened.enter_context(Semaphore(max_leases=seats[1], name=seats[0]))
        results = _function(function)(_read(chunk))
    write_value(result.parent, results, result.stem)


def write_value(folder: Path, value: Any, name: str | None = None) -> Path:
    """Write a value, under its digest where no name is given; functions and classes of a notebook travel too.

    An equal value under its digest is written once, a name holds the last one.
    """
    import cloudpickle  # comes with Dask

    content = cloudpickle.dumps(value)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name or _digest(content)}.pkl"
    if name or not path.exists():
        # In one move: a reader never sees half of it.
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        part.write_bytes(content)
        part.replace(path)
    return path


def _read(path: Path) -> Any:
    return pickle.loads(path.read_bytes())


_function = lru_cache(maxsize=8)(_read)
"""The functions that a worker read last, with the judge, the corpus and the backbone that they hold."""


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
