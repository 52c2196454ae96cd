"""PAL-Sets as corpora."""

from collections.abc import Iterator

from perslib.corpus.corpus import Corpus
from perslib.corpus.store import CorpusKind, register_kind
from perslib.systems.mem_pal.loaders import palset


def count_users(corpus: Corpus) -> Iterator[str]:
    """Yield the number of users, and the counts of the paper's Table 1 next to the published ones."""
    yield f"{len(corpus.users)} users"
    yield palset.averages(corpus).to_string(float_format="{:,.1f}".format)


register_kind("palset", CorpusKind(palset.read, palset.looks_like, statistics=count_users))
