"""What archives hold, within bounds: members of ZIP files, and the samples of a log of Inspect."""

from __future__ import annotations

import json
import os
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from perslib.corpus.files.reading import parse_json
from perslib.corpus.files.records import LONGEST
from perslib.errors import DataError, Problem

Records = list[tuple[str, Any, Any]]
#: Bytes that an archive may hold.
UNPACKED = 1 << 29
#: The number of this compression in archives.
ZSTANDARD = 93


def check_members(members: Sequence[zipfile.ZipInfo], name: str, most: int = LONGEST) -> None:
    """Raise DataError before a member of an archive is unpacked that is larger than any record, or all together than a file may be."""
    for member in members:
        if member.file_size > most:
            raise DataError(Problem(f"{name} {member.filename}", f"is larger than {most:,} bytes"))
    if (size := sum(member.file_size for member in members)) > UNPACKED:
        raise DataError(Problem(name, f"holds {size:,} bytes, and at most {UNPACKED:,} are read"), "Divide it.")


def _read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a file of an archive, one compressed by Zstandard too, which zipfile itself reads from Python 3.14 on."""
    entry = archive.getinfo(name)
    if entry.compress_type != ZSTANDARD or archive.fp is None:
        return archive.read(name)
    archive.fp.seek(entry.header_offset + 26)  # two lengths, those of what stands between this header and the data
    archive.fp.seek(sum(struct.unpack("<HH", archive.fp.read(4))), os.SEEK_CUR)
    packed = pa.BufferReader(archive.fp.read(entry.compress_size))
    content = bytes(pa.CompressedInputStream(packed, "zstd").read(entry.file_size + 1))
    if zlib.crc32(content) != entry.CRC:
        raise zipfile.BadZipFile(f"{name} is damaged")
    return content


def read_inspect_log(path: Path) -> Records:
    """Return the samples of a log of Inspect, each with the model that was asked."""
    try:
        with zipfile.ZipFile(path) as log:
            names = sorted(name for name in log.namelist() if name.startswith("samples/") and name.endswith(".json"))
            whole = [name for name in log.namelist() if name == "header.json"] + names
            check_members([log.getinfo(name) for name in whole], path.name)
            header = json.loads(_read_member(log, "header.json")) if "header.json" in whole else {}
            samples = [(f"{path.name} {name}", parse_json(_read_member(log, name), name)) for name in names]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        raise DataError(Problem(path.name, f"is no readable log: {error}")) from error
    run = header.get("eval") if isinstance(header, dict) else None
    about = {key: value for key, value in run.items() if key in ("model", "task")} if isinstance(run, dict) else {}
    return [(at, {**about, **one} if isinstance(one, dict) else one, one) for at, one in samples]
