"""Where gold labels meet verdicts: here, and nowhere else.

`disagreements` shows single turns where judges disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from perslib.corpus import SESSION, TURN, Corpus, coerce
from perslib.errors import DataError, Problem, UnknownName, check_names
from perslib.stats.calibrate.user_scale import to_scale
from perslib.stats.resample.leave_one_out import floats

WHO = ["judge", "backbone"]


class JudgeKey(NamedTuple):
    """Which judge, with which backbone behind it; None where there is none."""

    judge: str
    backbone: str | None = None

    def __str__(self) -> str:
        return self.judge if self.backbone is None else f"{self.judge} ({self.backbone})"


def with_gold(
    verdicts: pd.DataFrame, corpus: Corpus, columns: Iterable[str] = ("raw",), by: str | None = None
) -> pd.DataFrame:
    """Return verdicts with what the user said of the same reply, one row a verdict, in the order of the verdicts.

    Columns: the keys of a turn, judge, backbone, the `columns` asked for, `gold` and `gold_reason` (missing
    where the corpus has none), `place` (the turn's row in corpus.turns) and `by`, a column of the verdicts,
    of the turns or of the sessions. Raises DataError for a judge with two verdicts on one turn, for a turn
    that the corpus does not have, and for verdicts on a candidate's reply, which no user rated.
    """
    wanted = list(dict.fromkeys([*columns, *([by] if by is not None and by in verdicts else [])]))
    check_names("column of the verdicts", wanted, verdicts)
    keys = [c for c in ("candidate", *WHO, *TURN) if c in verdicts]
    frame = coerce(verdicts[[*dict.fromkeys([*keys, *wanted])]], "verdicts", "verdicts")
    _refuse(frame, frame["candidate"].notna(), "is on the reply of a candidate, which the user did not rate")
    _refuse(frame, frame.duplicated([*WHO, *TURN]), "is a second verdict of this judge on this turn")
    frame = frame[[*dict.fromkeys([*TURN, *WHO, *wanted])]]
    gold = corpus.turns[[*TURN, "reason"]].rename(columns={"reason": "gold_reason"})
    gold = gold.assign(gold=corpus.gold, place=np.arange(len(gold)))
    if by is not None and by not in frame:
        gold[by] = of_turns(corpus, by)
    joined = frame.merge(gold, on=TURN, how="left", sort=False)
    _refuse(joined, joined["place"].isna(), f"is on a turn that corpus {corpus.name!r} does not have")
    return joined


def of_turns(corpus: Corpus, column: str) -> pd.Series:
    """Return a column of the turns, or of their sessions, a value a turn."""
    if column in corpus.turns:
        return corpus.turns[column]
    check_names("column", column, {*corpus.turns.columns, *corpus.sessions.columns})
    return corpus.turns[SESSION].merge(corpus.sessions[[*SESSION, column]], how="left", sort=False)[column]


def _refuse(frame: pd.DataFrame, wrong: pd.Series, what: str) -> None:
    if wrong.any():
        problems = [
            Problem(f"verdicts row {i}", f"{row.judge} on {' / '.join(map(str, row[TURN]))} {what}")
            for i, row in frame[wrong].head(20).iterrows()
        ]
        hidden = int(wrong.sum()) - len(problems)
        raise DataError(problems, f"and {hidden} more" if hidden else "")


def of_judges(frame: pd.DataFrame) -> Iterator[tuple[JudgeKey, pd.DataFrame]]:
    """Yield the verdicts of each judge and backbone, in order of first appearance."""
    for (judge, backbone), part in frame.groupby(WHO, sort=False, dropna=False):
        yield JudgeKey(judge, None if pd.isna(backbone) else backbone), part


def find_judge(rows: Iterable[JudgeKey], wanted: str | Sequence[str | None]) -> JudgeKey:
    """Return the row called so: by judge where that is enough, else by (judge, backbone)."""
    rows = list(rows)
    name, *further = [wanted] if isinstance(wanted, str) else wanted
    rows_of_judge = [r for r in rows if r.judge == name and (not further or r.backbone == further[0])]
    if not rows_of_judge:
        raise UnknownName("judge", str(JudgeKey(*map(str, (name, *further)))), map(str, rows))
    if len(rows_of_judge) > 1:
        raise DataError(f"{name!r} ran with several backbones; say which, for example {tuple(rows_of_judge[0])!r}")
    return rows_of_judge[0]


def disagreements(
    verdicts: pd.DataFrame, corpus: Corpus, score: str = "raw", judges: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return turns scored by at least two judges, those on which they differ most first.

    Columns: user, scenario, session, turn, gold, one column a judge (named `judge` or `judge (backbone)`),
    spread (highest less lowest score), error (mean |score − gold|), sides (True where some find the user
    satisfied and others do not). Order: spread, then error, then place in the corpus.
    """
    frame = with_gold(verdicts, corpus, [score])
    columns = {
        str(row): pd.Series(floats(own[score]), own["place"])
        for row, own in of_judges(frame)
        if judges is None or row.judge in judges
    }
    wide = pd.DataFrame(columns).sort_index()
    wide = wide[wide.notna().sum(axis=1) >= 2]
    about = corpus.turns.iloc[wide.index][TURN].set_index(wide.index)
    gold = pd.Series(floats(corpus.gold.iloc[wide.index]), wide.index)
    whole = pd.DataFrame(to_scale(wide.to_numpy(float)), wide.index, wide.columns)
    satisfied = (whole >= 4).where(wide.notna())
    table = about.assign(gold=gold, **wide)
    table["spread"] = wide.max(axis=1) - wide.min(axis=1)
    table["error"] = wide.sub(gold, axis=0).abs().mean(axis=1)
    table["sides"] = satisfied.astype(float).nunique(axis=1) > 1
    return table.sort_values(["spread", "error"], ascending=False, kind="stable", ignore_index=True)
