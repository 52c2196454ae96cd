"""Where things are: what perslib brings along, and the folder its user works in."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

try:
    import fcntl
except ImportError:  # not on Windows: there, what a killed process leaves stays
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import pandas as pd

_PACKAGE = Path(__file__).resolve().parent


def find_bundled(*parts: str) -> Path:
    """Return a file or folder that perslib brings along: `prompts`, `notebooks`, `data/sample`.

    In a checkout these lie at its top; a wheel carries copies inside the package.
    """
    inside = _PACKAGE / "_bundled"
    return (inside if inside.is_dir() else _PACKAGE.parent).joinpath(*parts)


@cache
def read_toml(module_file: str, name: str) -> dict[str, Any]:
    """Read a TOML file that lies beside a module or below, once: `read_toml(__file__, "cues.toml")`."""
    return tomllib.loads((Path(module_file).parent / name).read_text(encoding="utf-8"))


def read_csv(module_file: str, name: str) -> pd.DataFrame:
    """Read a CSV file that lies beside a module or below; its first line, after a #, says what it holds."""
    import pandas as pd

    return pd.read_csv(Path(module_file).parent / name, comment="#")


_FORMULA = re.compile(r"\s*[=+@\-\uff1d\uff0b\uff20\uff0d]|[\t\r]")
_NUMBER = re.compile(r"\s*[+-]?\d+([.,]\d+)*\s*%?\s*")


def write_csv(frame: pd.DataFrame, file: Path, *, index: bool = False, encoding: str = "utf-8") -> Path:
    """Write a table for people, who open it in a spreadsheet: no text in it, nor a name, is taken for a formula there."""

    def quote(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        quoted = f"'{value}" if _FORMULA.match(value) and not _NUMBER.fullmatch(value) else value
        return quoted.replace("\r\n", "\n").replace("\r", "\n")  # a lone \r would end the row

    shown = frame.copy()
    for place, column in enumerate(shown.dtypes):
        if column.kind not in "biufc":
            shown.isetitem(place, shown.iloc[:, place].map(quote))
    shown = shown.rename(columns=quote)
    if index:
        shown.index = shown.index.map(lambda key: tuple(map(quote, key)) if isinstance(key, tuple) else quote(key))
    shown.to_csv(file, index=index, encoding=encoding, lineterminator="\n")
    return file


def workspace() -> Path:
    """Return the folder the user works in: `$PERSLIB_HOME`, else the nearest folder above that looks like one.

    A workspace is recognised by a `.perslib` folder, a `backbones.toml`, or `notebooks` beside `prompts`;
    a notebook started in `notebooks/` therefore finds the same caches and data as a command at the top.
    """
    if home := os.environ.get("PERSLIB_HOME"):
        return Path(home).expanduser().resolve()
    here = Path.cwd()
    for folder in (here, *here.parents):
        marks = (folder / ".perslib").is_dir() or (folder / "backbones.toml").is_file()
        if marks or ((folder / "notebooks").is_dir() and (folder / "prompts").is_dir()):
            return folder
    return here


def state_folder() -> Path:
    """Return the folder for what perslib remembers between runs: answer cache, probes, ledgers."""
    return workspace() / ".perslib"


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file; a reader sees the old one or the new one, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        with part.open("xb") as file:  # readable as the umask says
            file.write(content.encode() if isinstance(content, str) else content)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def refuse_to_overwrite(written: Iterable[Path], read: Iterable[Path | None]) -> None:
    """Raise DataError where a file that is to be written is one that was read, or one of those, by whatever path."""
    from perslib.errors import DataError, Problem

    own = {os.path.realpath(file): file for file in read if file is not None}
    for file in written:
        if os.path.realpath(file) in own:
            raise DataError(Problem(str(file), "was read, and would be written over"), "Name another file: --out.")


@contextmanager
def scratch(purpose: str, inside: Path | None = None) -> Iterator[Path]:
    """Make a temporary folder for as long as it is needed; those that killed processes left are removed on the way.

    It lies among the system's temporary files, or hidden `inside` another folder. A process holds the lock of its
    folder while it lives, so a lock that can be had is that of a process that is gone.
    """
    place = inside or Path(tempfile.gettempdir())
    prefix = f".{purpose}-" if inside else f"perslib-{purpose}-"
    for left in place.glob(f"{prefix}*/.lock"):
        with suppress(OSError), left.open("r+") as file:
            lock(file.fileno(), wait=False)
            shutil.rmtree(left.parent)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=place, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with (folder / ".locking").open("w") as file:
            with suppress(OSError):
                lock(file.fileno(), wait=False)
                (folder / ".locking").rename(folder / ".lock")
            yield folder


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep every other process out of such a block for this folder, where the system has locks for files."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a") as file:
        with suppress(OSError):  # Windows, or a disk without locks
            lock(file.fileno(), wait=True)
        yield


def lock(file: int, *, wait: bool) -> None:
    """Take the lock of an open file, or raise OSError: where files cannot be locked, or another process has it."""
    if fcntl is None:
        raise OSError("files cannot be locked here")
    fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
