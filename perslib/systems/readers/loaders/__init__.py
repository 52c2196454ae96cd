"""Data sets of people as corpora, each from the files that were released."""

from perslib.corpus.store import CorpusKind, register_kind
from perslib.systems.readers.loaders import (
    cragc,
    goal_dialogues,
    llm_rubric,
    people,
    preferences,
    prism,
    recllmsim,
    urs,
)

_WHOLE = {"prism": prism, "llm-rubric": llm_rubric, "urs": urs}
for _name, _module in (_WHOLE | {"cragc": cragc, "recllmsim": recllmsim}).items():
    register_kind(_name, CorpusKind(_module.read, _module.looks_like))
for _name, _kind in people.KINDS.items():
    register_kind(_name, _kind)
register_kind("community-alignment", CorpusKind(preferences.read_aligned))
register_kind("comparia", CorpusKind(preferences.read_reactions))
register_kind("convlab", CorpusKind(goal_dialogues.read_convlab))
register_kind("dstc", CorpusKind(goal_dialogues.read_dstc))
