"""Verdicts as the documented frame, one row a reply."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from itertools import repeat

import pandas as pd

from perslib.corpus import TURN, Block, Corpus, coerce
from perslib.corpus.growing import Growing
from perslib.corpus.reasons import REASONS, legal_reason
from perslib.errors import PerslibError
from perslib.judge.base import Judge, Verdict
from perslib.llm import Backbone

#: Verdicts become rows of a frame by so many: as objects they take several times the room.
TOGETHER = 2000
#: Whose replies a corpus holds, as candidates are named.
RECORDED = repeat(None)
_FIELDS = [field.name for field in fields(Verdict)]


def frame(
    judge: Judge,
    corpus: Corpus,
    backbone: Backbone | None,
    blocks: Sequence[Block],
    verdicts: Sequence[Sequence[Verdict]],
    candidates: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Verdicts as the documented frame; reasons under the labels of the corpus' language.

    `candidates` says of each target, block by block, whose reply it holds; None are the recorded replies.
    """
    rows = Rows(judge, corpus, backbone)
    whose = iter(candidates) if candidates is not None else RECORDED
    for found in zip(blocks, verdicts, strict=True):
        rows.add(found, whose)
    return rows.frame()


class Rows:
    """The frame of a judge's verdicts on a corpus, as it grows block by block."""

    def __init__(self, judge: Judge, corpus: Corpus, backbone: Backbone | None):
        asked = backbone.name if backbone is not None and judge.sees.model else None
        self._said = {"corpus": corpus.name, "judge": judge.name, "backbone": asked}
        self._language = corpus.language
        self._rows: list[dict[str, object]] = []
        self._frame = Growing()

    def add(
        self, found: tuple[Block, Sequence[Verdict]], candidates: Iterable[str | None] = RECORDED
    ) -> None:
        """A block and its verdicts, a row a target."""
        block, verdicts = found
        if len(verdicts) != len(block):
            raise PerslibError(
                f"Judge {self._said['judge']!r} gave {len(verdicts)} verdicts for the {len(block)} targets of {block.id}."
            )
        for key, verdict, candidate in zip(block.targets[TURN].itertuples(index=False), verdicts, candidates):
            columns = _columns(verdict, self._language)
            self._rows.append({**self._said, "candidate": candidate, **dict(zip(TURN, key)), **columns})
        if len(self._rows) >= TOGETHER:
            self._settle()

    def frame(self) -> pd.DataFrame:
        """All rows; to be called once, at the end."""
        self._settle()
        return self._frame.frame()

    def _settle(self) -> None:
        self._frame.add(_framed(self._rows))
        self._rows = []


def _framed(rows: list[dict[str, object]]) -> pd.DataFrame:
    columns = ["corpus", "candidate", "judge", "backbone", *TURN, *_columns(Verdict(), "en")]
    return coerce(pd.DataFrame(rows, columns=columns), "verdicts")


def _columns(verdict: Verdict, language: str) -> dict[str, object]:
    columns = {name: getattr(verdict, name) for name in _FIELDS}
    p = columns.pop("p") or (None,) * 5
    score, reason = verdict.raw, verdict.reason
    if score is not None and reason is not None and language in REASONS:
        columns["reason"] = legal_reason(score, reason, language)
    satisfied = None if score is None else bool(round(score) >= 4)
    return {**columns, **{f"p{s}": p[s - 1] for s in range(1, 6)}, "satisfied": satisfied}
