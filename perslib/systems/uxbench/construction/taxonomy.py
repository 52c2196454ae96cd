"""The names that cases are labelled with: dimensions of failure and success, scenarios, axes, objections.

The ids of dimensions and scenarios are the paper's (UXBench, Table 7 and the overview); scenarios are listed in
`perslib.systems.uxbench.tasks.labels`. What each means is said to the models in `prompts/*/_uxc_….md`, in words of our own.

`label_id` brings names as others write them to these ids. A name is looked up, not searched for words: "not verbose at
all" is no verbosity. What is not in `labels.toml` is `other`, and should be kept as it was written beside the id.
"""

from __future__ import annotations

import unicodedata
from functools import cache

from perslib.errors import UnknownName
from perslib.paths import read_toml
from perslib.systems.uxbench.tasks.labels import SCENARIOS as SCENARIOS

OTHER = "other"
_NAMES = read_toml(__file__, "labels.toml")
DIMENSIONS = {side: tuple(name for name in _NAMES[side] if name != OTHER) for side in ("bad", "good")}
#: What the judge grades from 1 to 5 (UXBench, section 3); of good cases, severity is how much the reply achieved.
AXES = ("completeness", "credibility", "representativeness", "severity", "fidelity")
#: What a checker can object to; with any of these a case is not taken.
OBJECTIONS: tuple[str, ...] = tuple(_NAMES["objections"])
KINDS = {**DIMENSIONS, "scenario": SCENARIOS}


def label_id(name: str, kind: str) -> str:
    """Return the id of a dimension (kind bad or good) or of a scenario (kind scenario); `other` where there is none.

    The released data has one scenario for private life and decisions together; it is read as private_daily_life.
    """
    if kind not in KINDS:
        raise UnknownName("kind of label", kind, KINDS)
    return _table(kind).get(_bare(name), OTHER)


def _bare(name: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", name).casefold() if c.isalnum())


@cache
def _table(kind: str) -> dict[str, str]:
    """Return every name without what does not count → its id."""
    own = {_bare(one): one for one in (*KINDS[kind], OTHER)}
    return own | {_bare(name): one for one, others in _NAMES[kind].items() for name in others}
