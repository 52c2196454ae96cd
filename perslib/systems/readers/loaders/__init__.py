"""Data sets as corpora: what a recipe describes, and those that need a reader of their own."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

from perslib.corpus.files.reading import ImportResult
from perslib.corpus.loaders.by_recipe import is_at, read_by_recipe
from perslib.corpus.loaders.recipe import read_recipe, recipe
from perslib.corpus.store import CorpusKind, register_kind
from perslib.systems.readers.loaders import lamp_qa, personamem, prism


def _register(file: Path) -> None:
    """Make what a recipe describes a kind of corpus; its file is read with the first corpus."""
    own = recipe(file.stem)(cache(partial(read_recipe, file)))

    def read(
        path: Path, *, skip_bad: bool = False, name: str | None = None, evidence: str | None = None
    ) -> ImportResult:
        return read_by_recipe(own().using(evidence=evidence), path, skip_bad=skip_bad, name=name)

    register_kind(file.stem, CorpusKind(read, lambda path: is_at(own(), path)))


for _name, _module in {"prism": prism, "personamem": personamem, "lamp-qa": lamp_qa}.items():
    register_kind(_name, CorpusKind(_module.read, _module.looks_like))
for _file in sorted((Path(__file__).parents[1] / "recipes").glob("*.toml")):
    _register(_file)
