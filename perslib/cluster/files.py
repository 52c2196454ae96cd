"""What travels between processes lies in files: the scheduler hears names, never contents."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

AT_HAND = 8
"""Values that a process keeps of those it read last: the judge, the corpus, the backbone of its tasks."""
_read: OrderedDict[str, Any] = OrderedDict()


@dataclass(frozen=True)
class Kept:
    """A value in a file."""

    path: str

    def get(self, *, keep: bool = False) -> Any:
        """The value; with `keep` it stays at hand for the tasks that follow in this process."""
        if self.path in _read:
            _read.move_to_end(self.path)
            return _read[self.path]
        value = pickle.loads(Path(self.path).read_bytes())
        if keep:
            _read[self.path] = value
            while len(_read) > AT_HAND:
                _read.popitem(last=False)
        return value

    def forget(self) -> None:
        """Remove the file."""
        Path(self.path).unlink(missing_ok=True)


class Shelf:
    """A folder of values. Named by its content an equal one is written once; a name of one's own holds the last."""

    def __init__(self, folder: Path | str):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def put(self, value: Any) -> Kept:
        """Keep a value; functions and classes of a notebook travel too."""
        import cloudpickle  # comes with Dask

        content = cloudpickle.dumps(value)
        name = hashlib.sha256(content).hexdigest()[:32]
        path = self.folder / f"{name}.pkl"
        return Kept(str(path)) if path.exists() else self._write(content, name)

    def put_as(self, name: str, value: Any) -> Kept:
        """Keep a value under this name, in place of what an earlier run may have left there."""
        import cloudpickle

        return self._write(cloudpickle.dumps(value), name)

    def _write(self, content: bytes, name: str) -> Kept:
        """In one move: a reader never sees half of it."""
        path = self.folder / f"{name}.pkl"
        beside = path.with_name(f"{path.name}.{os.getpid()}.part")
        beside.write_bytes(content)
        beside.replace(path)
        return Kept(str(path))
