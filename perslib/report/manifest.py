"""What exactly was run: one manifest.json a folder, one entry in it a page.

Enough to say, years later, which code, data, prompts, model, parameters and seed stand behind a number.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from perslib.errors import PerslibError
from perslib.llm import entries
from perslib.paths import lock
from perslib.schemas import check, read_schema

NAME = "manifest.json"
FORMAT = 1
_SCHEMA = read_schema(__file__, "manifest.schema.toml", "pages")


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
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=10, check=True)
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


def corpus_facts(corpus: Any) -> dict[str, Any]:
    """Name, language, digest and size of the corpus, and whether a program made it (then its truth is known)."""
    facts = {name: getattr(corpus, name) for name in ("name", "language", "digest")}
    facts["synthetic"] = "truth_turns" in corpus.extras
    return facts | {name: len(getattr(corpus, name)) for name in ("users", "sessions", "turns")}


# -- the file ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Page:
    """A page that a manifest speaks of; its file may be missing, when the run goes on or was stopped."""

    root: Path
    folder: Path
    name: str
    entry: dict[str, Any]

    @property
    def href(self) -> str:
        """Where it is, seen from `root`; empty where there is no file."""
        path = self.folder / f"{self.name}.html"
        return path.relative_to(self.root).as_posix() if path.is_file() else ""

    @property
    def language(self) -> str:
        """The language it is written in."""
        return str(self.entry.get("language", "en"))

    @property
    def corpus(self) -> str:
        """What its corpus is called."""
        return str(self.entry.get("corpus", {}).get("label") or self.folder.parent.name)


def pages_under(root: Path) -> list[Page]:
    """All pages under `reports/`, folder by folder."""
    return [
        Page(root, file.parent, name, entry)
        for file in sorted(root.glob(f"*/*/{NAME}"))
        for name, entry in read_manifest(file.parent)["pages"].items()
    ]


def common_language(pages: Iterable[Page]) -> str:
    """Chinese where all pages are in Chinese, else English."""
    return "zh" if {page.language for page in pages} == {"zh"} else "en"


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder, without entries that cannot be read, which it says; an empty one where there is none."""
    manifest, problems = _read(folder)
    for problem in problems:
        warnings.warn(problem, stacklevel=2)
    return manifest


def _read(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """The manifest without what cannot be read of it, and what that is."""
    file, good = folder / NAME, dict[str, Any](format=FORMAT, pages={})
    try:
        pages = dict(json.loads(file.read_text(encoding="utf-8"))["pages"].items())
    except FileNotFoundError:
        return good, []
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return good, [f"{file} cannot be read; its pages are left out"]
    good["pages"] = {name: entry for name, entry in pages.items() if not check({name: entry}, _SCHEMA, name)}
    bad = [name for name in pages if name not in good["pages"]]
    return good, [f"{file}: the entry of {name} cannot be read; left out" for name in bad]


def files_of(entry: Mapping[str, Any]) -> list[str]:
    """All figures and tables of a page, relative to its folder."""
    return [file for kind in ("figures", "tables") for files in entry.get(kind, {}).values() for file in files]


def record(folder: Path, name: str, entry: Mapping[str, Any]) -> None:
    """Put one page's entry into the folder's manifest, read again just before, since others may run there too.

    A manifest with anything in it that cannot be read is kept aside first, for what is written leaves that out.
    """
    manifest, problems = _read(folder)
    if problems:
        names = (f"{NAME}.damaged{n if n > 1 else ''}" for n in count(1))
        aside = next(path for path in map(folder.joinpath, names) if not path.exists())
        shutil.copyfile(folder / NAME, aside)
        warnings.warn(
            f"{folder / NAME} is damaged; it was kept as {aside.name}, and a new one is written", stacklevel=2
        )
    manifest["pages"] = dict(sorted({**manifest["pages"], name: dict(entry)}.items()))
    write_text(folder / NAME, json.dumps(manifest, ensure_ascii=False, indent=1, default=str) + "\n")


def write_text(path: Path, text: str) -> Path:
    """Write a text file; a reader sees the old one or the new one, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        with part.open("x", encoding="utf-8", newline="\n") as file:  # readable as the umask says
            file.write(without_secrets(text))
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return path


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Nobody else is in such a block for this folder, in whatever process, where the system has locks for files."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a") as file:
        with suppress(OSError):  # Windows, or a disk without locks
            lock(file.fileno(), wait=True)
        yield


def without_secrets(text: str) -> str:
    """The text without the value of any environment variable that is named like a key, or by a backbone's key_env.

    Nothing of ours writes a key; a notebook, a traceback or a server's own words might.
    """
    of_backbones: set[str] = set()
    with suppress(PerslibError, OSError):  # a faulty backbones.toml is told where it is used
        of_backbones = {entry.key_env for entry in entries().values()}
    for name, value in os.environ.items():
        named = name in of_backbones or name.upper().endswith(("KEY", "TOKEN", "SECRET", "PASSWORD"))
        if named and len(value.strip()) >= 8 and value.strip() in text:
            text = text.replace(value.strip(), f"[{name}]")
    return text
