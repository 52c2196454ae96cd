"""Calibrators learned from train users: what they learn from, and how they are applied.

    fitted = fit_ordinal(train, histories)      # verdicts of ONE judge on train users, with their gold scores
    fitted.transform(verdicts, histories)       # verdicts of the same judge on other users, without

`train` carries a column `gold`. It must hold train users only: gold of the users under test never goes in. Give
both calls histories of the same kind, shrunk ones if any (`HistoryPrior`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK
from perslib.errors import DataError
from perslib.stats.calibrate.user_scale import SCORES, Floats, Ints, history_mean, to_scale
from perslib.stats.calibrate.verdicts import JUDGED_BY, of_blocks, scores_of


class Fitted(ABC):
    """A calibrator learned from train users: verdicts to distributions over the scores 1 to 5."""

    name: str
    """Names the columns that `transform` adds."""

    @abstractmethod
    def distribution(self, verdicts: pd.DataFrame, histories: pd.DataFrame) -> Floats:
        """Return probabilities of 1 to 5, one row a verdict; NaN where the judge gave no score."""

    def transform(self, verdicts: pd.DataFrame, histories: pd.DataFrame) -> pd.DataFrame:
        """Return the verdicts with `{name}_p1` … `{name}_p5` and `{name}`, their expected score (Float64)."""
        p = self.distribution(verdicts, histories)
        columns = {self.name: p @ SCORES} | {f"{self.name}_p{s}": p[:, s - 1] for s in SCORES}
        return verdicts.assign(**pd.DataFrame(columns, verdicts.index, dtype="Float64"))


def prepare_training_rows(train: pd.DataFrame, columns: list[str]) -> tuple[pd.DataFrame, Ints]:
    """Return rows with gold and without a gap in `columns`, and their gold as 0 to 4; DataError where that is no train
    frame.
    """
    if missing := [c for c in ("gold", *BLOCK, *columns) if c not in train]:
        raise DataError(
            f"train frame: column {missing[0]!r} is missing",
            "Fit on the verdicts of train users with their scores joined in as `gold`.",
        )
    of_one_judge(train, "train frame")
    rows = train.dropna(subset=["gold", *columns])
    if rows.empty:
        raise DataError("train frame: no scored verdict with gold")
    return rows, to_scale(rows["gold"]).astype(np.int64) - 1


def of_one_judge(frame: pd.DataFrame, frame_name: str) -> None:
    """Raise DataError where verdicts of several judges would be fitted as one."""
    who = [c for c in JUDGED_BY if c in frame]
    if who and len(frame[who].drop_duplicates()) > 1:
        raise DataError(f"{frame_name}: verdicts of several judges", "Fit each judge apart.")


def level_of(verdicts: pd.DataFrame, histories: pd.DataFrame) -> Floats:
    """Return the mean score of the history of each verdict's user."""
    level = history_mean(of_blocks(verdicts, histories))
    if np.isnan(level).any():
        users = verdicts.loc[np.isnan(level), "user"].unique()
        raise DataError(
            f"user {users[0]!r} and {len(users) - 1} others have no history",
            "Shrink the histories first: fit_population(train).shrink(histories).",
        )
    return level


def score_and_level(verdicts: pd.DataFrame, histories: pd.DataFrame, score: str) -> Floats:
    """Return what the ordinal calibrators go by: the judge's score and the user's level, one row a verdict."""
    return np.column_stack([scores_of(verdicts, score), level_of(verdicts, histories)])
