"""A case in numbers: those of `perslib.memory.features`, and what else tells of how a reply reads."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perslib.memory.features import NAMES, Said, read
from perslib.signals import reading_seconds
from perslib.ux.cases import Case

FURTHER = {
    "reading": "log seconds of reading",
    "ratio": "log length of the reply less that of the request, in tokens",
    "emoji": "log number of emoji",
    "latin": "share of Latin letters among the reply's letters",
    "compressible": "by how much the reply's first 2,000 bytes can be compressed, 0–1",
    "turned": "log number of messages before the request",
}
DENSE = [*NAMES, *FURTHER]
#: What tells the length of reply or request outright; left out where a model should not go by length.
LENGTHS = frozenset({"length", "short", "lines", "growth", "request_length", "reading", "ratio"})
_EMOJI = re.compile(r"[\u2600-\u27bf\U0001f300-\U0001faff]")
_LATIN, _LETTER = re.compile(r"[A-Za-z]+"), re.compile(r"[^\W\d_]+")


def dense(cases: Sequence[Case]) -> npt.NDArray[np.float64]:
    """One row a case, columns as `DENSE`."""
    base = np.array([read(_said(case)) for case in cases]).reshape(len(cases), len(NAMES))
    further = np.array([_further(case) for case in cases]).reshape(len(cases), len(FURTHER) - 2)
    seconds = np.log1p(np.asarray(reading_seconds([case.reply for case in cases]), dtype=float))
    ratio = base[:, NAMES.index("length")] - base[:, NAMES.index("request_length")]
    return np.column_stack([base, seconds, ratio, further])


def _said(case: Case) -> Said:
    asked = tuple(m["content"] for m in case.history if m["role"] == "user")
    replied = tuple(m["content"] for m in case.history if m["role"] == "assistant")
    return Said(case.query, case.reply, "", "", case.scenario, "", asked, replied)


def _further(case: Case) -> list[float]:
    reply = case.reply
    latin, letters = (sum(map(len, kind.findall(reply))) for kind in (_LATIN, _LETTER))
    start = reply[:2_000].encode("utf-8", "surrogatepass")[:2_000]
    packed = len(zlib.compress(start, 1)) / len(start) if len(start) > 100 else 1.0
    return [
        float(np.log1p(len(_EMOJI.findall(reply)))),
        latin / letters if letters else 0.0,
        1.0 - min(1.0, packed),
        float(np.log1p(len(case.history))),
    ]
