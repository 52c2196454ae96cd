"""Names of dimensions and scenarios as others write them, brought to the ids of the paper (UXBench, Table 7).

A name is looked up, not searched for words: "not verbose at all" is no verbosity. What is not in `labels.toml` is
`other`, and should be kept as it was written beside the id.
"""

from __future__ import annotations

import tomllib
import unicodedata
from functools import cache
from pathlib import Path

from perslib.errors import UnknownName
from perslib.ux.construct.taxonomy import DIMENSIONS, OTHER, SCENARIOS

KINDS = {**DIMENSIONS, "scenario": SCENARIOS}


def label_id(name: str, kind: str) -> str:
    """The id of a dimension (kind bad or good) or of a scenario (kind scenario); `other` where there is none.

    The released data has one scenario for private life and decisions together; it is read as private_daily_life.
    """
    if kind not in KINDS:
        raise UnknownName("kind of label", kind, KINDS)
    return _table(kind).get(_bare(name), OTHER)


def _bare(name: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", name).casefold() if c.isalnum())


@cache
def _table(kind: str) -> dict[str, str]:
    """Every name without what does not count → its id."""
    with (Path(__file__).parent / "labels.toml").open("rb") as file:
        names = tomllib.load(file)[kind]
    own = {_bare(one): one for one in (*KINDS[kind], OTHER)}
    return own | {_bare(name): one for one, others in names.items() for name in others}
