"""What exactly was run: one manifest.json a folder, one entry in it a page.

Enough to say, years later, which code, data, prompts, model, parameters and seed stand behind a number.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from perslib.report.atomic import write_json

NAME = "manifest.json"
FORMAT = 1
#: The states a page can be in; a run that was killed stays "started".
STATES = ("started", "success", "failed", "cancelled")


def now() -> str:
    """The time, in UTC to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


# -- what was run ------------------------------------------------------------------------------------------


@cache
def code_revision() -> dict[str, Any]:
    """Version and git revision of perslib; of an installed wheel only the version is known."""
    import perslib

    version = {"version": perslib.__version__}
    checkout = Path(perslib.__file__).resolve().parents[1]
    if not (checkout / ".git").exists():
        return {**version, "source": "installed wheel"}
    try:
        revision = _git(checkout, "rev-parse", "HEAD")
        changed = bool(_git(checkout, "status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return {**version, "source": "checkout without git"}
    return {**version, "source": "git", "revision": revision, "dirty": changed}


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=10, check=True
    )
    return done.stdout.strip()


@cache
def package_versions() -> dict[str, str]:
    """Versions of Python and of every package that perslib declares."""
    declared = (r for r in metadata.requires("perslib") or [] if "extra ==" not in r)
    names = sorted({re.split(r"[^A-Za-z0-9._-]", r, maxsplit=1)[0] for r in declared})
    versions = {"python": platform.python_version()}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions


def prompt_digests() -> dict[str, str]:
    """`language/name@version` → digest of every prompt that a notebook could use."""
    from perslib.prompts import prompts

    return {f"{p.language}/{p.name}@{p.version}": str(p.digest) for p in prompts().itertuples()}


def backbone_facts(name: str) -> dict[str, Any]:
    """What stands behind a backbone's name; of its address the host alone, and never a key."""
    from perslib.llm.registry import entries

    entry = entries().get(name)
    if entry is None:
        return {"name": name}
    facts = {"name": name, "kind": entry.kind, "model": entry.model}
    parts = urlsplit(entry.base_url)
    if parts.hostname:
        facts["endpoint"] = parts.hostname + (f":{parts.port}" if parts.port else "")
    return facts


def notebook_digest(path: Path) -> dict[str, str]:
    """Name and SHA-256 of the notebook as it was run."""
    return {"name": path.name, "digest": hashlib.sha256(path.read_bytes()).hexdigest()}


def corpus_facts(given: str, corpus: Any) -> dict[str, Any]:
    """Name, language, digest and size of the corpus."""
    sizes = {"users": len(corpus.users), "sessions": len(corpus.sessions), "turns": len(corpus.turns)}
    return {
        "given": given,
        "name": corpus.name,
        "language": corpus.language,
        "digest": corpus.digest,
        **sizes,
    }


# -- the file ----------------------------------------------------------------------------------------------


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder, without entries that cannot be read; an empty one where there is none."""
    try:
        manifest = json.loads((folder / NAME).read_text(encoding="utf-8"))
        pages = {name: entry for name, entry in manifest["pages"].items() if _is_entry(entry)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pages = {}
    return {"format": FORMAT, "pages": pages}


def _is_entry(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and entry.get("status") in STATES
        and all(isinstance(f, str) for f in files_of(entry))
    )


def files_of(entry: Mapping[str, Any]) -> list[str]:
    """All figures and tables of a page, relative to its folder."""
    return [
        file for kind in ("figures", "tables") for files in entry.get(kind, {}).values() for file in files
    ]


def record(folder: Path, name: str, entry: Mapping[str, Any]) -> None:
    """Put one page's entry into the folder's manifest, read again just before, since others may run there too."""
    assert entry["status"] in STATES
    manifest = read_manifest(folder)
    manifest["pages"] = dict(sorted({**manifest["pages"], name: dict(entry)}.items()))
    write_json(folder / NAME, manifest)
