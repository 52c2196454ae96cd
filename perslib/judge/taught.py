"""What a judge learned from a corpus is kept, so that the next page, run or explorer need not learn it again.

    kept = Kept(judge, train)
    if not kept.recall():              # learned from these very users before
        ...                            # learn
        kept.store()

A folder for each learner, corpus and version of the code lies in the user's cache folder (`~/.cache/perslib/taught`): arrays
and a card (`perslib.model_files`), so nothing that is read can run. $PERSLIB_TAUGHT names another folder; `off` keeps nothing.
Those that were not used for longest go when all take more than `MOST` bytes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from perslib.corpus import Corpus
from perslib.corpus.corpus import FRAMES
from perslib.errors import DataError, Problem
from perslib.model_files import CARD, load_model, pack, save_model, unpack
from perslib.paths import scratch

#: Environment variable that names the folder, and what it says where nothing is to be kept.
VARIABLE = "PERSLIB_TAUGHT"
OFF = ("off", "0", "no", "false")
MOST = 500_000_000
#: Turns of train users that teach a judge; more are a sample of the users, for the work grows faster than they do.
LEARN_FROM = 8_000
_LIBRARIES = ("numpy", "pandas", "scipy", "scikit-learn")


class Kept:
    """What one learner learned from one corpus, in plain values, arrays and objects of these `classes`.

    Only classes of perslib are kept: the code of others may change without its version.
    """

    def __init__(self, learner: Any, train: Corpus, classes: Iterable[type] = ()):
        kind, folder = type(learner), taught_folder()
        self._learner, self._before, self._classes = learner, dict(vars(learner)), tuple(classes)
        about = (kind.__module__, kind.__qualname__, digest_code(), digest_corpus(train))
        self._digest = hashlib.sha256(repr(about).encode()).hexdigest()
        is_ours = folder is not None and kind.__module__.startswith("perslib.")
        self._folder = folder / f"{kind.__name__.lower()}-{self._digest[:32]}" if folder and is_ours else None

    def recall(self) -> bool:
        """Give the learner what it learned before; tell whether there was anything."""
        if self._folder is not None:
            # Not there, cut off, of another form or about something else: it learns anew.
            with suppress(Exception), load_model(self._folder, "learned judge") as (card, arrays):
                if card["about"] == self._digest:
                    vars(self._learner).update(unpack(card["learned"], arrays, self._classes))
                    os.utime(self._folder / CARD)
                    return True
        return False

    def store(self) -> None:
        """Keep what the learner has learned since; nothing where the folder cannot be written."""
        if self._folder is None:
            return
        now = vars(self._learner).items()
        learned = {name: value for name, value in now if value is not self._before.get(name, ...)}
        arrays: dict[str, Any] = {}
        card = {"about": self._digest, "learned": pack(learned, arrays, self._classes)}
        with suppress(OSError):
            self._folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with scratch("taught", inside=self._folder.parent) as half:
                written = save_model(half / "whole", card, arrays)
                shutil.rmtree(self._folder, ignore_errors=True)
                written.rename(self._folder)
            _drop_oldest(self._folder)


def _drop_oldest(latest: Path) -> None:
    taken = 0
    for card in sorted(latest.parent.glob(f"*/{CARD}"), key=lambda one: one.stat().st_mtime, reverse=True):
        taken += sum(file.stat().st_size for file in card.parent.iterdir())
        if taken > MOST and card.parent != latest:
            shutil.rmtree(card.parent)


def sample_teachers(train: Corpus, most: int | None = None) -> Corpus:
    """Return the corpus, or so many of its users, drawn at random, as have `most` turns together (`LEARN_FROM`)."""
    sizes = train.turns.groupby("user").size().reindex(train.users["user"], fill_value=0)
    if sizes.sum() <= (most or LEARN_FROM):
        return train
    drawn = sizes.sample(frac=1, random_state=0)
    taken = set(drawn.index[drawn.cumsum() <= (most or LEARN_FROM)]) or {drawn.index[0]}
    return train.of_users([user for user in sizes.index if user in taken])


def taught_folder() -> Path | None:
    """Return where it is kept; None if nothing is."""
    named = os.environ.get(VARIABLE, "").strip()
    if named.lower() in OFF:
        return None
    try:
        if named:
            folder = Path(named).expanduser()
            if not folder.is_absolute():
                raise DataError(Problem(f"${VARIABLE}", f"is {named!r}, expected a path from the root on, or off"))
            return folder
        # A relative one is to be ignored, says the standard of these variables.
        cache_home = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (cache_home if cache_home.is_absolute() else Path.home() / ".cache") / "perslib" / "taught"
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
