"""llama.cpp's server as a program, run by `local.py`; it imports nothing of perslib, so it starts quickly.

Says its address on standard output and serves until standard input closes, which it does when the process that
started it ends, in whatever way.
"""

from __future__ import annotations

import json
import os
import sys

import xllamacpp


def main(wanted: dict) -> None:
    """Load the model and serve; llama.cpp's complaints are on the error stream."""
    params = xllamacpp.CommonParams()
    params.model.path = wanted["path"]
    params.model.hf_repo, params.model.hf_file = wanted["repo"], wanted["file"]
    params.hf_token = os.environ.get("HF_TOKEN", "")
    params.model_alias = {wanted["name"]}  # what the server calls the model; by default it is the whole path
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.cors_origins = ""  # no web page in the user's browser is to talk to it
    params.endpoint_slots = False  # nor other users of the machine to read the prompts
    params.n_parallel, params.n_ctx = wanted["slots"], wanted["slots"] * wanted["context"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = wanted["threads"]
    kind = xllamacpp.llama_flash_attn_type
    params.flash_attn_type = (
        kind.LLAMA_FLASH_ATTN_TYPE_AUTO if wanted["flash_attention"] else kind.LLAMA_FLASH_ATTN_TYPE_DISABLED
    )
    params.cache_prompt, params.cache_ram_mib = True, wanted["prompt_cache_mib"]
    params.warmup = False
    server = xllamacpp.Server(params)
    if not wanted["talkative"]:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # it would log every request
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)  # its own way of ending waits for answers under way, some for ever


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
