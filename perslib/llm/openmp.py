"""How native code shares the processor with everyone else on it; both embedded engines need it, neither the other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SLEEPING = {"OMP_WAIT_POLICY": "PASSIVE"}
"""In the environment when an OpenMP library is loaded, this lets its threads sleep while they wait for each
other instead of spinning. Spinning is a little faster on an idle machine and ruinous on a busy one: with the
cores also used by others, the bundled model was measured at 2 tokens a second spinning and 40 sleeping."""


@contextmanager
def sleeping() -> Iterator[None]:
    """Load an OpenMP library here, and it is told so; what the user has set is left alone."""
    added = {name: value for name, value in SLEEPING.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def cores() -> int | None:
    """Physical cores this process may use: affinity, hyper-threads and a container's quota considered.

    None where the system does not tell (then the native library's own guess is the better one).
    """
    if not hasattr(os, "sched_getaffinity"):
        return None
    siblings = {_sibling_group(number) for number in os.sched_getaffinity(0)}
    return max(1, min(len(siblings), _quota()))


def _sibling_group(number: int) -> str:
    try:
        return Path(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list").read_text().strip()
    except OSError:
        return str(number)


def _quota() -> int:
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return int(quota) // int(period)
    except (OSError, ValueError):  # no cgroup, or "max"
        return 1 << 16
