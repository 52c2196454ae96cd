"""One format for what was learned: arrays (`weights.npz`) and a card that says what they are (`card.json`); no code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from perslib.errors import DataError, PerslibError, Problem

CARD, WEIGHTS = "card.json", "weights.npz"


def save(folder: str | Path, card: Mapping[str, Any], arrays: Mapping[str, Any]) -> Path:
    """Write the arrays, and the card last, with the hash of every file that lies beside it; return the folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if arrays:
        np.savez_compressed(folder / WEIGHTS, **arrays)
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != CARD)
    hashes = {path.relative_to(folder).as_posix(): _sha256(path) for path in files}
    text = json.dumps({**card, "files": hashes}, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / CARD).write_text(text + "\n", "utf-8")
    return folder


@contextmanager
def loaded(folder: str | Path, what: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Give card and arrays; what is wrong with them, also inside the `with`, is an error that names the folder."""
    folder = Path(folder)
    try:
        card: dict[str, Any] = json.loads((folder / CARD).read_text("utf-8"))
        for name, expected in card["files"].items():
            if _sha256(folder / name) != expected:
                raise ValueError(f"{name} is not the file that was saved with this card")
        arrays: dict[str, Any] = {}
        if WEIGHTS in card["files"]:
            with np.load(folder / WEIGHTS) as stored:
                arrays = {name: stored[name] for name in stored.files}
        yield card, arrays
    except PerslibError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as reason:
        raise DataError(
            Problem(str(folder), f"no {what} can be read here ({reason})"),
            "Give a folder that its `save` wrote, or fit and save anew.",
        ) from None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
