"""PAL-Sets as corpora."""

from collections.abc import Iterator

from perslib.corpus.corpus import Corpus
from perslib.corpus.store import loader
from perslib.systems.mem_pal.loaders import palset


def count_users(corpus: Corpus) -> Iterator[str]:
    """Yield the number of users, and the counts of the paper's Table 1 next to the published ones."""
    yield f"{len(corpus.users)} users"
    yield palset.averages(corpus).to_string(float_format="{:,.1f}".format)


loader("palset")(palset.read)
palset.read.looks_like = palset.looks_like  # type: ignore[attr-defined]
palset.read.statistics = count_users  # type: ignore[attr-defined]
