"""Corpora of behaviour: logs and UXBench's splits (`uxbench`), dialogues rated by others (`uss`)."""

from collections.abc import Iterator

from perslib.corpus.corpus import Corpus
from perslib.corpus.store import CorpusKind, register_kind
from perslib.extras import install_command, is_installed
from perslib.systems.uxbench.loaders import uss, uxbench


def describe_cases(corpus: Corpus) -> Iterator[str]:
    """Yield splits and dimensions of a corpus's cases, next to UXBench's published tables."""
    if (cases := corpus.extras.get("cases")) is None:
        return
    if not is_installed("uxbench"):
        yield f"UXBench's published tables beside these cases need: {install_command('uxbench')}"
        return
    from perslib.systems.uxbench.construction import dimension_shares, split_statistics

    split = split_statistics(cases).set_index("split").T.to_string(float_format="{:,.1f}".format, na_rep="–")
    yield f"\nSplits, next to UXBench's Table 2 (published):\n{split}"
    if len(shares := dimension_shares(cases)):
        shown = shares.to_string(index=False, float_format="{:.1f}".format, na_rep="–")
        yield f"\nDimensions of failure and success, next to UXBench's Table 7:\n{shown}\n"


register_kind("uss", CorpusKind(uss.read, uss.looks_like))
register_kind("uxbench", CorpusKind(uxbench.read, uxbench.looks_like, describe=describe_cases))
