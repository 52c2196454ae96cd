"""What a judge learned from a corpus is kept, so that the next page, run or explorer need not learn it again.

    kept = Kept(judge, train)
    if not kept.recall():              # learned from these very users before
        ...                            # learn
        kept.store()

A file for each learner, corpus and version of the code lies in the user's cache folder (`~/.cache/perslib/taught`), never in a
workspace, which may come from strangers: these are pickles. $PERSLIB_TAUGHT names another folder; `off` keeps nothing. The files
that were not used for longest go when all take more than `MOST` bytes.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from perslib.corpus import Corpus
from perslib.corpus.corpus import FRAMES
from perslib.paths import write_whole

#: Environment variable that names the folder.
VARIABLE = "PERSLIB_TAUGHT"
MOST = 500_000_000
_LIBRARIES = ("numpy", "pandas", "scipy", "scikit-learn")


class Kept:
    """What one learner learned from one corpus; `options` are whatever else it depends on.

    Only classes of perslib are kept: the code of others may change without its version.
    """

    def __init__(self, learner: Any, train: Corpus, *options: object):
        kind, folder = type(learner), taught_folder()
        self._learner, self._before, self._file = learner, dict(vars(learner)), None
        if folder is not None and kind.__module__.startswith("perslib."):
            about = (kind.__module__, kind.__qualname__, digest_code(), digest_corpus(train), options)
            self._file = (
                folder / f"{kind.__name__.lower()}-{hashlib.sha256(repr(about).encode()).hexdigest()[:32]}.pickle"
            )

    def recall(self) -> bool:
        """Give the learner what it learned before; tell whether there was anything."""
        if self._file is not None:
            with suppress(Exception):  # not there, cut off, or of another form: it learns anew
                vars(self._learner).update(pickle.loads(self._file.read_bytes()))
                os.utime(self._file)
                return True
        return False

    def store(self) -> None:
        """Keep what the learner has learned since; nothing where the folder cannot be written."""
        if self._file is None:
            return
        now = vars(self._learner).items()
        learned = {name: value for name, value in now if value is not self._before.get(name, ...)}
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_whole(self._file, pickle.dumps(learned, protocol=5))
            _drop_oldest(self._file)


def _drop_oldest(latest: Path) -> None:
    taken = 0
    for file in sorted(latest.parent.glob("*.pickle"), key=lambda one: one.stat().st_mtime, reverse=True):
        taken += file.stat().st_size
        if taken > MOST and file != latest:
            file.unlink()


def taught_folder() -> Path | None:
    """Return where it is kept; None if nothing is."""
    named = os.environ.get(VARIABLE, "")
    if named == "off":
        return None
    if named:
        return Path(named)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "perslib" / "taught"
    except RuntimeError:  # nobody's home is known
        return None


@cache
def digest_code() -> str:
    """Return a digest of perslib's own code and tables, and of the libraries that learning rests on."""
    whole = hashlib.sha256(repr([(name, version(name)) for name in _LIBRARIES]).encode())
    for file in sorted(path for path in Path(__file__).parents[1].rglob("*") if path.suffix in (".py", ".toml")):
        whole.update(file.read_bytes())
    return whole.hexdigest()


def digest_corpus(corpus: Corpus) -> str:
    """Return a digest of what the users said and scored; the same in every process."""
    whole = hashlib.sha256(repr((corpus.name, corpus.language, sorted(corpus.meta.items(), key=str))).encode())
    for frame in (getattr(corpus, name) for name in FRAMES):
        whole.update(repr(frame.to_dict("list")).encode("utf-8", "surrogatepass"))
    return whole.hexdigest()
