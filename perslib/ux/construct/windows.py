"""Cases to learn from and cases to test on, apart in time (UXBench tests on January to March and learns from May)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from perslib.errors import DataError, Problem
from perslib.signals.duplicates import Duplicates
from perslib.ux.construct.rules import Rejection

Window = tuple[str, str]
_AT_ONCE = 256


@dataclass(frozen=True)
class Windows:
    """The cases of both windows, and what is in neither with its reason."""

    train: pd.DataFrame
    test: pd.DataFrame
    rejected: tuple[Rejection, ...]


def in_windows(
    cases: pd.DataFrame, *, train: Window, test: Window, alike: float = 0.9, seed: int = 42
) -> Windows:
    """Cases asked in either window (from the first day up to, not including, the second); windows may not overlap.

    The test window comes first where both want the same: a session that is in it, and what is nearly the same as one of
    its cases, is not learned from.
    """
    learn, hold = (_days(name, window) for name, window in (("train", train), ("test", test)))
    if learn[0] < hold[1] and hold[0] < learn[1]:
        raise DataError(Problem("train and test", f"overlap: {train} and {test}"))
    at = pd.to_datetime(cases["asked_at"], errors="coerce", format="mixed")
    tested = (at >= hold[0]) & (at < hold[1])
    learned = (at >= learn[0]) & (at < learn[1])
    spans = learned & cases["talk"].isin(set(cases.loc[tested, "talk"]))
    near = pd.Series(False, cases.index)
    left = learned & ~spans
    near.loc[left] = _nearly(cases[left], cases[tested], alike, seed)
    why = np.select(
        [at.isna(), ~tested & ~learned, spans, near],
        ["undated", "outside", "spans_windows", "near_duplicate"],
        "",
    )
    rejected = tuple(Rejection("windows", r, c) for r, c in zip(why.tolist(), cases["case"]) if r)
    return Windows(cases[left & ~near].reset_index(drop=True), cases[tested].reset_index(drop=True), rejected)


def _days(name: str, window: Window) -> tuple[pd.Timestamp, pd.Timestamp]:
    try:
        first, end = (pd.Timestamp(day) for day in window)
    except ValueError:
        raise DataError(Problem(name, f"is {window}, expected two days like 2026-01-31")) from None
    if not first < end:
        raise DataError(Problem(name, f"is {window}, expected the first day before the end"))
    return first, end


def _nearly(some: pd.DataFrame, others: pd.DataFrame, alike: float, seed: int) -> npt.NDArray[np.bool_]:
    """Which cases are nearly the same as one of the others, by the share of equal MinHash values."""
    sketch = Duplicates(alike, seed).signature

    def sketches(frame: pd.DataFrame) -> npt.NDArray[np.uint64]:
        return np.array([sketch(f"{q}\n{r}") for q, r in zip(frame["query"], frame["reply"])], np.uint64)

    own, known = sketches(some), sketches(others)
    found = np.zeros(len(own), dtype=bool)
    for i in range(len(own) if len(known) else 0):
        for begin in range(0, len(known), _AT_ONCE):
            if (own[i] == known[begin : begin + _AT_ONCE]).mean(axis=1).max() >= alike:
                found[i] = True
                break
    return found
