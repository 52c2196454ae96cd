"""Model files from a hub, fetched once by llama.cpp into the cache that all hub tools share."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from perslib.errors import BackboneError, Unreachable

_REFERENCE = re.compile(r"hub:(?P<repo>[\w.-]+/[\w.-]+):(?P<file>[^:]+\.gguf)")

# The engine holds Python's lock while it fetches, so it does that in a process of its own, which Ctrl-C ends.
_CHILD = """
import os, signal, sys, xllamacpp
signal.signal(signal.SIGINT, signal.SIG_DFL)
params = xllamacpp.CommonParams()
params.model.path, params.model.hf_repo, params.model.hf_file = sys.argv[1:]
params.hf_token = os.environ.get("HF_TOKEN", "")
params.n_ctx, params.warmup = 256, False
xllamacpp.Server(params)
"""


def fetched(reference: str) -> Path:
    """The local file of `hub:owner/repo:file.gguf`; fetched if the cache has no copy.

    Of the environment, HF_HOME and its kin say where the cache is, HF_ENDPOINT names a mirror, HF_TOKEN opens
    private repositories.
    """
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise BackboneError(f"{reference!r} names no model; a hub reference is hub:owner/repo:file.gguf")
    repo, file = match["repo"], match["file"]
    if path := _cached(repo, file):
        return path
    print(f"perslib: fetching {file} of {repo} into {cache_folder()} (once)", file=sys.stderr, flush=True)
    complaint = complaint_of_llama("fetched", repo, file)
    if path := _cached(repo, file):
        return path
    raise Unreachable(
        f"{file} of {repo} could not be fetched from {os.environ.get('HF_ENDPOINT', 'the hub')}: {complaint}. Check "
        "the name, set HF_ENDPOINT to a mirror, or fetch the file by other means and give its path."
    )


def cache_folder() -> Path:
    """Where hub tools keep what they fetched."""
    for name, below in (
        ("LLAMA_CACHE", ""),
        ("HF_HUB_CACHE", ""),
        ("HUGGINGFACE_HUB_CACHE", ""),
        ("HF_HOME", "hub"),
        ("XDG_CACHE_HOME", "huggingface/hub"),
    ):
        if value := os.environ.get(name):
            return Path(value, below)
    return Path.home() / ".cache" / "huggingface" / "hub"


def _cached(repo: str, file: str) -> Path | None:
    snapshots = cache_folder() / f"models--{repo.replace('/', '--')}" / "snapshots"
    found = [path for path in snapshots.glob(f"*/{file}") if path.is_file()]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def complaint_of_llama(path: Path | str, repo: str = "", file: str = "") -> str:
    """Let llama.cpp fetch or load a model in a process of its own; returns its complaint, if it has one."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(path), repo, file],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    said = done.stderr.decode("utf-8", "replace")
    complaints = re.findall(r"^\S+ E (.*)$", said, re.MULTILINE)
    if done.returncode and not complaints:
        complaints = said.splitlines()[-1:]
    return " ".join(complaints[0].split()) if complaints else ""
