"""What calibrators learned from train users have in common.

    fitted = fit_ordinal(train, histories)      # verdicts of ONE judge on train users, with their gold scores
    fitted.transform(verdicts, histories)       # verdicts of the same judge on other users, without

`train` carries a column `gold`. It must hold train users only: gold of the users under test never goes in. Give
both calls histories of the same kind, shrunk ones if any (`perslib.calibrate.shrinkage`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import pandas as pd

from perslib.calibrate.block import history_mean
from perslib.calibrate.frames import JUDGED_BY, of_blocks, scores_of
from perslib.calibrate.scale import SCORES, Floats, Ints
from perslib.corpus import BLOCK
from perslib.errors import DataError


class Fitted(ABC):
    """A calibrator learned from train users: verdicts to distributions over the scores 1 to 5."""

    name: str
    """Names the columns that `transform` adds."""

    @abstractmethod
    def distribution(self, verdicts: pd.DataFrame, histories: pd.DataFrame) -> Floats:
        """Probabilities of 1 to 5, one row a verdict; NaN where the judge gave no score."""

    def transform(
        self, verdicts: pd.DataFrame, histories: pd.DataFrame, name: str | None = None
    ) -> pd.DataFrame:
        """The verdicts with `{name}_p1` … `{name}_p5` and `{name}`, their expected score (Float64)."""
        name = self.name if name is None else name
        p = self.distribution(verdicts, histories)
        columns = {name: p @ SCORES} | {f"{name}_p{s}": p[:, s - 1] for s in SCORES}
        index = verdicts.index
        return verdicts.assign(
            **{c: pd.Series(pd.array(v, dtype="Float64"), index=index) for c, v in columns.items()}
        )


@dataclass(frozen=True)
class Scored:
    """The scored part of a train frame: which rows, and their gold scores as 0 to 4."""

    rows: pd.DataFrame
    gold: Ints


def scored(train: pd.DataFrame, columns: list[str]) -> Scored:
    """Rows with gold and without a gap in `columns`; raises DataError where that is no train frame."""
    if missing := [c for c in ("gold", *BLOCK, *columns) if c not in train]:
        raise DataError(
            f"train frame: column {missing[0]!r} is missing",
            "Fit on the verdicts of train users with their scores joined in as `gold`.",
        )
    of_one_judge(train, "train frame")
    rows = train.dropna(subset=["gold", *columns])
    if rows.empty:
        raise DataError("train frame: no scored verdict with gold")
    return Scored(rows, rows["gold"].to_numpy(dtype=np.int64) - 1)


def of_one_judge(frame: pd.DataFrame, called: str) -> None:
    """Raise DataError where verdicts of several judges would be fitted as one."""
    who = [c for c in JUDGED_BY if c in frame]
    if who and len(frame[who].drop_duplicates()) > 1:
        raise DataError(f"{called}: verdicts of several judges", "Fit each judge apart.")


def level_of(verdicts: pd.DataFrame, histories: pd.DataFrame) -> Floats:
    """Mean score of the history of each verdict's user."""
    level = history_mean(of_blocks(verdicts, histories))
    if np.isnan(level).any():
        users = verdicts.loc[np.isnan(level), "user"].unique()
        raise DataError(
            f"user {users[0]!r} and {len(users) - 1} others have no history",
            "Shrink the histories first: fit_population(train).shrink(histories).",
        )
    return level


def score_and_level(verdicts: pd.DataFrame, histories: pd.DataFrame, score: str) -> Floats:
    """What the ordinal calibrators go by: the judge's score and the user's level, one row a verdict."""
    return np.column_stack([scores_of(verdicts, score), level_of(verdicts, histories)])
