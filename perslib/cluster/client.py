"""From what a researcher has at hand, an address or a cluster, to a client of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from perslib.errors import PerslibError

Scheduler = Any
"""`"tcp://host:8786"`; a cluster, such as dask_jobqueue.SLURMCluster; a distributed.Client; or `"local"`: two
processes on this machine."""

CONNECT = "15s"


@contextmanager
def connected(scheduler: Scheduler) -> Iterator[Any]:
    """A client of the cluster; what was opened for it is closed again, what was given is not."""
    try:
        from distributed import Client, LocalCluster
    except ImportError as reason:
        raise PerslibError(
            f"Spreading work needs Dask, which is not installed ({reason}). "
            'Install it with: pip install "perslib[dask]"'
        ) from None
    if isinstance(scheduler, Client):
        yield scheduler
        return
    with ExitStack() as opened:
        at = scheduler
        if scheduler == "local":
            at = opened.enter_context(LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0"))
        try:
            client = opened.enter_context(Client(at, timeout=CONNECT))
        except (OSError, TimeoutError, ValueError) as reason:
            raise PerslibError(
                f"No Dask scheduler can be reached at {scheduler!r}: {reason}. Start one with `dask scheduler`, and "
                "workers with `dask worker ADDRESS --nthreads 1`; `local` uses two processes of this machine."
            ) from None
        yield client


def workers_of(client: Any) -> int:
    """How many worker processes there are now; waits for the first."""
    client.wait_for_workers(1, timeout=600)
    return len(client.nthreads())
