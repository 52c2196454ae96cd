"""Where things are: what perslib brings along, and the folder its user works in."""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def bundled(*parts: str) -> Path:
    """A file or folder that perslib brings along: `prompts`, `notebooks`, `data/sample`.

    In a checkout these lie at its top; a wheel carries copies inside the package.
    """
    inside = _PACKAGE / "_bundled"
    return (inside if inside.is_dir() else _PACKAGE.parent).joinpath(*parts)


def workspace() -> Path:
    """The folder the user works in: `$PERSLIB_HOME`, else the nearest folder above that looks like one.

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


def state() -> Path:
    """The folder for what perslib remembers between runs: answer cache, probes, ledgers."""
    return workspace() / ".perslib"
