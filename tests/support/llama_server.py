"""The HTTP server of llama.cpp, from the package `xllamacpp`, with the bundled model: a third party's, and real.

Run as a program it serves until its standard input closes, in a process of its own: `python llama_server.py weights.gguf`
prints its base URL.
"""

from __future__ import annotations

import json
import sys

ALIAS = "smollm2"
"""What the server calls its model."""
CONTEXT = 4096
"""Tokens that a request and its reply may have."""
KEY = "a-key-of-the-test"


def main() -> None:
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path, settings.model_alias = sys.argv[1], {ALIAS}
    settings.api_keys = [KEY]
    settings.port = 0  # any that is free
    settings.n_ctx, settings.n_parallel = CONTEXT, 1
    # A second thread waits for the first, which is slower on a machine that has other things to do.
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.warmup = False
    server = xllamacpp.Server(settings)
    print(json.dumps(f"{server.listening_address}/v1"), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
