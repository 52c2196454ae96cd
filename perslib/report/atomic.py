"""Files that are whole or not there: written beside their place, then moved into it."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any


def write_text(path: Path, text: str) -> Path:
    """Write a text file; a reader sees the old one or the new one, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(without_secrets(text))
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path


def write_json(path: Path, value: Any) -> Path:
    """Write a value as JSON that people can read."""
    return write_text(path, json.dumps(value, ensure_ascii=False, indent=1, default=str) + "\n")


def without_secrets(text: str) -> str:
    """The text without the value of any environment variable that is named like a key.

    Nothing of ours writes a key; a notebook, a traceback or a server's own words might.
    """
    for name, value in os.environ.items():
        named = name.upper().endswith(("KEY", "TOKEN", "SECRET", "PASSWORD"))
        if named and len(value.strip()) >= 8 and value.strip() in text:
            text = text.replace(value.strip(), f"[{name}]")
    return text
