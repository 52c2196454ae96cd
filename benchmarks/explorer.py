"""The explorer on a corpus of the paper's size: first paint, and switching users, in one process.

    python benchmarks/explorer.py

Times are processor and wall seconds of the kernel's side: from a loaded corpus to all widgets filled, and from one user
to the next with every tab open. The browser adds its own drawing. Wanted: under 2 s and under 0.3 s.
"""

from __future__ import annotations

import os
import tempfile
import time

import numpy as np


def main() -> None:
    """Print the measurements."""
    os.environ["PERSLIB_HOME"] = tempfile.mkdtemp()
    from perslib.explorer import explore
    from perslib.worlds import world

    corpus = world(users=115, seed=42, language="zh")
    print(f"{len(corpus.users)} users, {len(corpus.turns):,} turns")
    wall, cpu = time.perf_counter(), time.process_time()
    shown = explore(corpus, "embedded", "zh")
    print(f"first paint: {time.perf_counter() - wall:.2f} s wall, {time.process_time() - cpu:.2f} s processor")
    for tabs in (1, 4):
        for place in range(tabs):
            shown.children[2].selected_index = place
        walls, cpus = [], []
        for user in corpus.users["user"][1:41]:
            wall, cpu = time.perf_counter(), time.process_time()
            shown.looking.open(user)
            walls.append(time.perf_counter() - wall)
            cpus.append(time.process_time() - cpu)
        print(
            f"another user, {tabs} tab{'s' if tabs > 1 else ''} open: median {np.median(walls):.3f} s wall, "
            f"{np.median(cpus):.3f} s processor; slowest {max(walls):.3f} s"
        )


if __name__ == "__main__":
    main()
