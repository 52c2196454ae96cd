"""What exactly was run: one manifest a page, `NAME.json` beside `NAME.html`.

Enough to say, years later, which code, data, prompts, model, parameters and seed stand behind a number.
"""

from __future__ import annotations

import json
import os
import platform
import stat
import subprocess
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from perslib.errors import DataError, PerslibError, Problem, UnknownName
from perslib.llm import abilities, entries
from perslib.llm.answerers.hidden_keys import hide_keys
from perslib.paths import workspace, write_whole
from perslib.schemas import check, read_schema, show

#: What helps where something of a run is damaged.
REMEDY = "Delete it, and run its page again."
_SCHEMA = read_schema(__file__, "manifest.schema.toml", "entry")
_USUAL = {name: part["default"] for name, part in _SCHEMA.document["entry"]["properties"].items() if "default" in part}
KINDS = ("figures", "tables", "verdicts", "replies")
#: Bytes of a manifest; ours have some fifty thousand.
_LARGEST = 8_000_000


def now() -> str:
    """Return the time, in UTC to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


# -- what was run ------------------------------------------------------------------------------------------


@cache
def code_revision() -> dict[str, Any]:
    """Return version and git revision of perslib; of an installed wheel only the version is known."""
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
    """Return versions of Python and of every package there is."""
    installed = {package.name: package.version for package in metadata.distributions()}
    return {"python": platform.python_version(), **dict(sorted(installed.items()))}


def prompt_digests() -> dict[str, str]:
    """Return `language/name@version` → digest of every prompt that a notebook could use."""
    from perslib.prompts import prompts

    return {f"{p.language}/{p.name}@{p.version}": str(p.digest) for p in prompts().itertuples()}


def backbone_facts(name: str) -> dict[str, Any]:
    """Return what stands behind a backbone's name; of its address the host alone, and never a key."""
    entry = entries().get(name)
    if entry is None:
        return {"name": name}
    probe = abilities.read_probe(entry)
    seen = asdict(probe) if probe else {}
    facts = {
        "name": name,
        "kind": entry.kind,
        "model": entry.display_name,
        "effort": entry.effort,
        "extra_body": dict(entry.extra_body),
        "omit": list(entry.omit),
        "goes_without": sorted(abilities.read_refused(entry.address, entry.display_name)),
        "probe": {name: value for name, value in seen.items() if name not in ("backbone", "endpoint")},
        "endpoint": urlsplit(entry.base_url).netloc.rpartition("@")[2],
    }
    return {name: value for name, value in facts.items() if value or name == "model"}


def corpus_facts(corpus: Any) -> dict[str, Any]:
    """Return name, language, digest and size of the corpus, and whether a program made it (then its truth is known)."""
    facts = {name: getattr(corpus, name) for name in ("name", "language", "digest")}
    sizes = {name: len(getattr(corpus, name)) for name in ("users", "sessions", "turns")}
    return {**facts, "synthetic": "truth_turns" in corpus.extras, **sizes}


# -- the file ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StoredPage:
    """A page that has a manifest; its file may be missing, when the run goes on or was stopped."""

    root: Path
    folder: Path
    name: str
    entry: dict[str, Any]
    """The manifest as `manifest.schema.toml` has it, with its defaults."""
    problem: str = ""
    """What is wrong with the manifest. One that cannot be used at all has no title, files or numbers."""

    @property
    def is_damaged(self) -> bool:
        """Whether nothing is known of the run."""
        return self.entry["status"] == "damaged"

    @property
    def href(self) -> str:
        """Where it is, seen from `root`; empty where there is no file."""
        path = self.folder / f"{self.name}.html"
        return path.relative_to(self.root).as_posix() if path.is_file() else ""

    def list_files(self) -> list[Path]:
        """Return its page, manifest, notebook, and all that it has saved."""
        own = [f"{self.name}{ending}" for ending in (".html", ".json", ".ipynb")]
        return [self.folder / name for name in (*own, *files_of(self.entry))]

    @property
    def language(self) -> str:
        """The language it is written in."""
        return str(self.entry["language"])

    @property
    def corpus(self) -> str:
        """What its corpus is called."""
        return str(self.entry["corpus"]["label"] or self.folder.parent.name)

    @property
    def backbone(self) -> str:
        """What its backbone is called."""
        return str(self.entry["backbone"]["name"] or self.folder.name)


def pages_under(root: Path) -> list[StoredPage]:
    """Return all pages under `reports/`, folder by folder; of those whose manifest is damaged, what is wrong."""
    return list(filter(None, map(read_page, sorted(root.glob("*/*/*.json")))))


def find_page(place: str | Path) -> StoredPage:
    """Return the page at a path: of itself, its manifest, its notebook, or none of these endings; seen from here or
    from reports/.
    """
    home, named = workspace() / "reports", Path(str(place).replace("\0", "\ufffd")).expanduser()
    name = named.stem if named.suffix in (".html", ".json", ".ipynb") else named.name
    for base in (Path.cwd(), workspace(), home):
        file = (base / named).resolve().with_name(f"{name}.json")
        if page := read_page(file):
            if page.is_damaged:
                raise DataError(Problem(str(file), page.problem), REMEDY)
            return page
    known = ((page.folder / page.name).relative_to(home).as_posix() for page in pages_under(home))
    raise UnknownName("run", str(place), known)


def find_pages(places: Iterable[str | Path]) -> list[StoredPage]:
    """Return the pages at these places, each once."""
    if pages := list(map(find_page, dict.fromkeys(map(str, places)))):
        return pages
    raise DataError("No run is named", "Name pages that were rendered: reports/<corpus>/<backbone>/01_verification.")


def common_language(pages: Iterable[StoredPage]) -> str:
    """Return Chinese where all pages are in Chinese, else English."""
    return "zh" if {page.language for page in pages if not page.is_damaged} == {"zh"} else "en"


def read_page(file: Path) -> StoredPage | None:
    """Read and check the manifest of a page; None where there is none. What is wrong with one is a warning, too.

    A path that leads out of the manifest's folder, also by a symbolic link, is not among the page's files.
    """
    if not os.path.lexists(file):
        return None
    folder = file.parent
    try:
        if check_file(file).stat().st_size > _LARGEST:
            raise ValueError(f"it has more than {_LARGEST:,} bytes")
        entry = json.loads(file.read_text(encoding="utf-8"))
        problem = "; ".join(problem.message for problem in check(entry, _SCHEMA, file.name)[:3])
    except (OSError, ValueError, RecursionError) as error:
        problem = f"cannot be read: {error}".replace(str(file), file.name)
    entry = _USUAL | ({"status": "damaged"} if problem else entry)
    entry |= {name: usual | entry[name] for name, usual in _USUAL.items() if isinstance(usual, dict)}
    home = os.path.realpath(folder)
    if stray := {path for path in files_of(entry) if not Path(os.path.realpath(folder / path)).is_relative_to(home)}:
        problem = f"{', '.join(map(show, sorted(stray)))}: not opened, since it leads out of the page's folder"
        for kind in KINDS:
            entry[kind] = {name: [path for path in own if path not in stray] for name, own in entry[kind].items()}
    if problem:
        warnings.warn(f"{file}: {problem}. {REMEDY}", stacklevel=2)
    return StoredPage(folder.parent.parent, folder, file.stem, entry, problem)


def check_file(file: Path) -> Path:
    """Return the file; OSError where there is none, or a folder or a pipe in its place, which would never end."""
    if not stat.S_ISREG(file.stat().st_mode):
        raise OSError(f"{file.name} is something else than a file")
    return file


def files_of(entry: Mapping[str, Any]) -> list[str]:
    """Return all figures, tables, verdicts and replies of a page, relative to its folder."""
    return [file for kind in KINDS for files in entry[kind].values() for file in files]


def write_manifest(file: Path, entry: Mapping[str, Any]) -> Path:
    """Write the manifest of a page."""
    return write_text(file, json.dumps(entry, ensure_ascii=False, indent=1, default=str) + "\n")


def write_text(path: Path, text: str) -> Path:
    """Write a text file without secrets."""
    write_whole(path, without_secrets(text))
    return path


def without_secrets(text: str) -> str:
    """Return the text without the value of any environment variable that is named like a key, or by a backbone's
    key_env.

    Nothing of ours writes a key; a notebook, a traceback or a server's own words might.
    """
    of_backbones: set[str] = set()
    with suppress(PerslibError, OSError):  # a faulty backbones.toml is told where it is used
        of_backbones = {entry.key_env for entry in entries().values()}
    secrets = {
        value.strip(): f"[{name}]"
        for name, value in os.environ.items()
        if name in of_backbones or name.upper().endswith(("KEY", "TOKEN", "SECRET", "PASSWORD"))
    }
    return hide_keys(text, {secret: mark for secret, mark in secrets.items() if len(secret) >= 8})
