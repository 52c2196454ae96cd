"""The bundled sample: one small world in each language, written to `data/sample`."""

from __future__ import annotations

from pathlib import Path

from perslib.corpus.corpus import Corpus
from perslib.corpus.store import save
from perslib.corpus.synthetic.words.books import LANGUAGES
from perslib.corpus.synthetic.world import world
from perslib.paths import bundled

USERS, SEED, CANDIDATES = 24, 42, 0.2


def sample(language: str) -> Corpus:
    """The sample in one language, as `load("sample/en")` gives it."""
    return world(USERS, SEED, language, candidates=CANDIDATES, name=f"sample/{language}")


def write_sample(folder: Path | None = None) -> list[Path]:
    """Write the sample in every language below `folder` (default: the bundled one); the same bytes every time."""
    root = folder or bundled("data", "sample")
    return [save(sample(language), root / language) for language in LANGUAGES]
