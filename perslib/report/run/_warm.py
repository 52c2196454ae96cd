"""A program that starts kernels by forking itself once it has imported what every page imports.

    python -P _warm.py          # reads a line of JSON for each kernel, and prints the kernel's process id

It is run by `perslib.report.run.kernels`, not imported. It ends when its input does, and its kernels end with it.
"""

import gc
import importlib
import json
import os
import signal
import sys
from contextlib import suppress

MODULES = (
    "ipykernel.kernelapp", "ipykernel.ipkernel", "numpy", "pandas", "scipy.stats", "scipy.optimize", "sklearn.linear_model",
    "sklearn.metrics", "matplotlib.pyplot", "matplotlib.backends.backend_pdf", "matplotlib.backends.backend_svg",
    "matplotlib_inline.backend_inline", "jinja2", "yaml", "jsonschema_rs",
)  # fmt: skip


def become_kernel(arguments: list[str], environment: dict[str, str], folder: str, log: str) -> None:
    """Be the kernel that these arguments ask for, with nothing left of the program that forked it but what it imported."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    nothing, log_file = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for own, taken in ((0, nothing), (1, log_file), (2, log_file)):
        os.dup2(taken, own)
    sys.modules["numpy"].random.seed()
    sys.argv = [
        "ipykernel_launcher",
        *arguments,
        f"--IPKernelApp.parent_handle={os.getppid()}",
    ]  # it ends with its parent
    sys.modules["ipykernel.kernelapp"].launch_new_instance()


def main() -> None:
    """Import, then fork a kernel for each line of input."""
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    for name in MODULES:
        with suppress(ImportError):
            importlib.import_module(name)
    # Kernels need not look through what was imported for garbage, nor so often through frames that live as long as the page.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # of a kernel that has ended nothing stays
    while line := sys.stdin.readline():
        asked = json.loads(line)
        if not (process := os.fork()):
            become_kernel(**asked)
            os._exit(0)
        print(process, flush=True)


if __name__ == "__main__":
    main()
