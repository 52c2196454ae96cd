"""Work spread over a Dask cluster: a function over chunks of items, the same results in the same order as here.

    with connected("tcp://10.0.0.1:8786") as client:        # an address, a cluster, a client, or "local"
        results = spread(client, function, chunks)

What goes in and what comes out are files in a folder that all machines see; the scheduler passes their names only.
Backbones use this by themselves: `backbone("name", scheduler="tcp://…")`.
"""

from perslib.cluster.client import Scheduler, connected, workers_of
from perslib.cluster.files import Kept, Shelf
from perslib.cluster.spread import spread

__all__ = ["Kept", "Scheduler", "Shelf", "connected", "spread", "workers_of"]
