"""One format for what was learned: arrays (`weights.npz`) and a card that says what they are (`card.json`); no code."""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np
import pandas as pd
from numpy.lib import format as npy
from scipy.sparse import csr_matrix

from perslib.errors import DataError, PerslibError, Problem

CARD, WEIGHTS = "card.json", "weights.npz"
LARGEST, LARGEST_CARD = 2**32, 2**26
"""Bytes of the largest file that is read, which all arrays together may not exceed either, and of the largest card."""
DEFLATED = 1032
"""Bytes that one byte of a zip file can stand for, at most."""
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def save_model(folder: str | Path, card: Mapping[str, Any], arrays: Mapping[str, Any]) -> Path:
    """Write the arrays, and the card last, with the hash of every file that lies beside it; return the folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if arrays:
        np.savez(folder / WEIGHTS, **arrays)
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != CARD)
    hashes = {path.relative_to(folder).as_posix(): _sha256(path) for path in files}
    text = json.dumps({**card, "files": hashes}, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / CARD).write_text(text + "\n", "utf-8")
    return folder


@contextmanager
def load_model(folder: str | Path, what: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Give card and arrays; what is wrong with them, also inside the `with`, is an error that names the folder."""
    folder = Path(folder)
    try:
        card: dict[str, Any] = json.loads(_check_path(folder, CARD, LARGEST_CARD).read_text("utf-8"))
        files = card["files"]
        if not isinstance(files, dict):
            raise ValueError(f"files in {CARD} is {files!r:.60}, expected names of files and their hashes")
        for name, expected in files.items():
            if _sha256(_check_path(folder, name)) != expected:
                raise ValueError(f"{name} is not the file that was saved with this card")
        yield card, _read_arrays(folder / WEIGHTS) if WEIGHTS in files else {}
    except PerslibError:
        raise
    except Exception as reason:  # files of others can be wrong in any way
        raise DataError(
            Problem(str(folder), f"no {what} can be read here ({type(reason).__name__}: {reason})"),
            "Give a folder that its `save` wrote, or fit and save anew.",
        ) from None


def pack(value: Any, arrays: dict[str, Any], classes: Iterable[type]) -> Any:
    """Return a value as data for a card, its arrays put among `arrays`: plain values, frames, and objects of these classes."""

    def each(values: Iterable[Any]) -> list[Any]:
        return [pack(one, arrays, classes) for one in values]

    if isinstance(value, bool | str | int | None) or (isinstance(value, float) and math.isfinite(value)):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, list):
        return each(value)
    if isinstance(value, tuple):
        return {"tuple": each(value)}
    if isinstance(value, dict):
        return {"names": list(value), "values": each(value.values())}
    if isinstance(value, csr_matrix):
        return {"sparse": each((value.data, value.indices, value.indptr)), "shape": list(value.shape)}
    if isinstance(value, pd.DataFrame):
        texts = {name: kind.storage for name, kind in value.dtypes.items() if isinstance(kind, pd.StringDtype)}
        columns = {name: column.to_numpy() for name, column in value.items()}
        return {"frame": pack(columns, arrays, classes), "storage": pack(texts, arrays, classes)}
    if isinstance(value, np.generic | float):  # NaN, say, which JSON has not, or an integer of numpy
        return pack(value.item(), arrays, classes) if isinstance(value, np.integer) else {"number": str(value)}
    if isinstance(value, np.ndarray) and value.dtype == object:
        return {"texts": each(value)}
    if isinstance(value, np.ndarray):
        name = f"a{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if type(value) not in classes:
        raise TypeError(f"a {type(value).__qualname__} is not kept")
    state = {f.name: getattr(value, f.name) for f in fields(value)} if is_dataclass(value) else value.__getstate__()
    return {"object": type(value).__name__, "state": pack(state, arrays, classes)}


def unpack(packed: Any, arrays: Mapping[str, Any], classes: Iterable[type]) -> Any:
    """Return what `pack` packed; only of these classes is anything made, and nothing that is read can run."""
    if isinstance(packed, list):
        return [unpack(one, arrays, classes) for one in packed]
    if not isinstance(packed, dict):
        return packed
    parts = {name: unpack(part, arrays, classes) for name, part in packed.items()}
    match parts:
        case {"tuple": values}:
            return tuple(values)
        case {"names": names, "values": values}:
            return dict(zip(names, values, strict=True))
        case {"sparse": (data, indices, indptr), "shape": shape}:
            return csr_matrix((data, indices, indptr), shape)
        case {"frame": columns, "storage": texts}:
            kinds = {name: pd.StringDtype(storage, na_value=np.nan) for name, storage in texts.items()}
            return pd.DataFrame(columns).astype(kinds)
        case {"number": text}:
            return float(text)
        case {"texts": values}:
            return np.array(values, object)
        case {"array": name}:
            return arrays[name]
        case {"object": name, "state": state}:
            (kind,) = (kind for kind in classes if kind.__name__ == name)
            made: Any = object.__new__(kind)
            getattr(made, "__setstate__", vars(made).update)(state)
            return made
    raise ValueError(f"{sorted(parts)} is nothing that was packed")


def _check_path(folder: Path, name: str, most: int = LARGEST) -> Path:
    """Return the path of a file of the folder; a pipe or a device would be read forever."""
    parts, path = PureWindowsPath(name), folder / name  # knows what other systems take for a root, too
    if parts.anchor or ".." in parts.parts:
        raise ValueError(f"{name} lies outside of the folder")
    if not path.is_file():
        raise ValueError(f"{name} is not there, or is no regular file")
    if (size := path.stat().st_size) > most:
        raise ValueError(f"{name} has {size:,} bytes, expected at most {most:,}")
    return path


def _read_arrays(path: Path) -> dict[str, Any]:
    """Return the arrays of a file, once its directory and its headers claim no more than it can hold."""
    with zipfile.ZipFile(path) as archive:
        size, most = sum(m.file_size for m in archive.infolist()), min(LARGEST, DEFLATED * path.stat().st_size)
        if size > most:
            raise ValueError(f"{path.name} claims to hold {size:,} bytes, expected at most {most:,}")
        for member in archive.infolist():
            with archive.open(member) as stream:
                shape, _, kind = _HEADERS[npy.read_magic(stream)](stream)
                size = stream.tell() + math.prod(shape) * kind.itemsize
            if kind.hasobject or size != member.file_size:
                raise ValueError(f"{member.filename} claims {kind} of shape {shape} in {member.file_size:,} bytes")
    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
