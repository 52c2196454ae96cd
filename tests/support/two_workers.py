"""A Dask cluster of two processes, for tests of work that is spread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
from distributed import LocalCluster


@contextmanager
def two_workers(settings: dict[str, Any] | None = None) -> Iterator[LocalCluster]:
    """The cluster, with further settings of Dask."""
    with (
        dask.config.set({**(settings or {}), "distributed.worker.multiprocessing-method": "spawn"}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as made,
    ):
        yield made
