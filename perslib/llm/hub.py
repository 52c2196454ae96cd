"""Model files from a hub, fetched once by llama.cpp into the cache that all hub tools share.

Of the environment, HF_HOME and its kin say where the cache is, HF_ENDPOINT names a mirror, HF_TOKEN opens
private repositories.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from perslib.errors import BackboneError, Unreachable

_REFERENCE = re.compile(r"hub:(?P<repo>[\w.-]+/[\w.-]+):(?P<file>[^:]+\.gguf)")


def repository(reference: str) -> tuple[str, str]:
    """`hub:owner/repo:file.gguf` → `owner/repo`, `file.gguf`."""
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise BackboneError(f"{reference!r} names no model; a hub reference is hub:owner/repo:file.gguf")
    return match["repo"], match["file"]


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


def cached(repo: str, file: str) -> Path | None:
    """The newest copy of the file that was fetched before."""
    snapshots = cache_folder() / f"models--{repo.replace('/', '--')}" / "snapshots"
    found = [path for path in snapshots.glob(f"*/{file}") if path.is_file()]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def unreachable(repo: str, file: str, complaint: str) -> Unreachable:
    """The error of a file that could not be fetched."""
    return Unreachable(
        f"{file} of {repo} could not be fetched from {os.environ.get('HF_ENDPOINT', 'the hub')}: {complaint}. "
        "Check the name, set HF_ENDPOINT to a mirror, or fetch the file by other means and give its path."
    )
