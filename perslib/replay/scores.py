"""A replay's scores as arrays: one judge's, turns × candidates, and the sums that all averages are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from perslib.corpus import SESSION, TURN
from perslib.errors import DataError, Problem, UnknownName
from perslib.replay.replies import ORIGINAL
from perslib.stats.calibrated import scores_of
from perslib.stats.resamples import Floats, Resamples, ratio

#: The score that candidates are compared by unless told otherwise.
SCORE = "reference_cdf"


@dataclass(frozen=True, eq=False)
class Scores:
    """What one judge gave each candidate on each turn, and how much each turn counts."""

    #: judge and backbone, as far as the verdicts name them.
    judged_by: dict[str, Any]
    candidates: list[str]
    turns: pd.DataFrame
    #: turns × candidates; NaN where there is no score.
    score: Floats
    #: Whether the judge was asked about this reply, scored or not.
    judged: npt.NDArray[np.bool_]
    #: 1 / inclusion probability, or 1.
    weight: Floats

    @cached_property
    def user(self) -> npt.NDArray[np.int64]:
        """The number of each turn's user, in sorted order."""
        return pd.factorize(self.turns["user"], sort=True)[0].astype(np.int64)

    @cached_property
    def users(self) -> int:
        """How many users there are, over all candidates."""
        return int(self.user.max(initial=-1)) + 1

    def column(self, candidate: str) -> int:
        """Where this candidate's scores stand."""
        if candidate not in self.candidates:
            raise UnknownName("candidate", candidate, self.candidates)
        return self.candidates.index(candidate)

    def resamples(self, resamples: int, seed: int, level: float) -> Resamples:
        """These users, resampled, in sorted order."""
        return Resamples(self.turns["user"], resamples, seed, level, sort=True)

    def cells(self, values: npt.ArrayLike) -> Floats:
        """Sums of a turn's values over each user and task: users × tasks; a cell is a block."""
        task, names = pd.factorize(self.turns["scenario"], sort=True)
        place, cells = self.user * len(names) + task, self.users * len(names)
        of_block = np.bincount(place, np.asarray(values, float), cells)
        return of_block.astype(float).reshape(self.users, len(names))


def by_judge(
    verdicts: pd.DataFrame, score: str, inclusion: pd.DataFrame | None = None, *, place: str = "verdicts"
) -> Iterator[Scores]:
    """The scores of each judge and backbone, in order of first appearance.

    A null candidate is the recorded reply. With `inclusion`, a replay set with the probabilities of its turns,
    turns count by their inverse (Hájek); where all are null, nothing was left to chance and all count alike.
    Errors call the frame by its `place`.
    """
    who = [c for c in ("judge", "backbone") if c in verdicts]
    frame = keyed(verdicts[["candidate", *who, *TURN]], place).assign(score=scores_of(verdicts, score))
    frame["candidate"] = frame["candidate"].astype("str").fillna(ORIGINAL)
    if "corpus" in verdicts and verdicts["corpus"].nunique() > 1:
        raise DataError("The verdicts are on several corpora", "Compare candidates within one.")
    _refuse_twice(frame, who, place)
    groups = frame.groupby(who, sort=False, dropna=False) if who else [((), frame)]
    for names, part in groups:
        candidates = list(dict.fromkeys(part["candidate"]))
        wide = part.assign(judged=True).pivot(index=TURN, columns="candidate", values=["score", "judged"])
        turns = wide.index.to_frame(index=False)
        yield Scores(
            {c: None if pd.isna(n) else n for c, n in zip(who, names, strict=True)},
            candidates,
            turns,
            wide["score"][candidates].to_numpy(dtype=float, na_value=np.nan),
            wide["judged"][candidates].notna().to_numpy(),
            _weights(turns, inclusion),
        )


def keyed(frame: pd.DataFrame, place: str) -> pd.DataFrame:
    """The frame with the keys of a turn as documented: three texts and a whole number.

    Read from a file, a session "7" is now 7, now 7.0, where a column of numbers was guessed; it is one session.
    """
    keys: dict[str, pd.Series] = {k: frame[k].map(_text).astype("str") for k in SESSION}
    try:
        keys["turn"] = pd.to_numeric(frame["turn"]).astype("int64")
        fits = bool((keys["turn"] == pd.to_numeric(frame["turn"])).all())
    except (ValueError, TypeError):
        fits = False
    if not fits:
        raise DataError(Problem(place, "column 'turn' holds more than whole numbers"), "Number every turn.")
    return frame.assign(**keys)


def _text(key: Any) -> Any:
    return str(int(key)) if isinstance(key, float) and key.is_integer() else key


def aligned(known: pd.DataFrame, column: str, of: Scores, place: str = "labels") -> Floats:
    """What `column` of another frame on replies says of these ones: turns × candidates, NaN where it is silent.

    A frame without `candidate`, such as the turns of a corpus, is on the recorded replies.
    """
    if "candidate" not in known:
        known = known.assign(candidate=ORIGINAL)
    if missing := [c for c in (*TURN, column) if c not in known]:
        raise UnknownName("column of the frame to compare with", missing[0], map(str, known.columns))
    out = np.full((len(of.turns), len(of.candidates)), np.nan)
    for other in by_judge(known[["candidate", *TURN, column]], column, place=place):
        table = pd.DataFrame(other.score, pd.MultiIndex.from_frame(other.turns), other.candidates)
        places = pd.MultiIndex.from_frame(of.turns)
        out[:] = table.reindex(index=places, columns=of.candidates).to_numpy(dtype=float)
    return out


class Groups:
    """Means of one value a turn over turns, users, scenarios and blocks: the sample's, then those of resampled users.

    A missing value leaves its turn out.
    """

    def __init__(self, of: Scores, values: Floats, drawn: Resamples) -> None:
        self.of = of
        self.turns = of.cells(of.weight * np.isfinite(values))
        self.total = of.cells(of.weight * np.nan_to_num(values))
        self.present = self.turns.any(axis=1)
        self.weights = drawn.weights_for(int(self.present.sum()))

    def over_turns(self, values: npt.ArrayLike) -> Floats:
        """The mean over these turns of another value, 0 on turns that are left out."""
        total = self.of.cells(self.of.weight * np.asarray(values)).sum(axis=1)
        return ratio(total @ self.weights, self.turns.sum(axis=1) @ self.weights)

    def over(self, group: str, change: Callable[[Floats], npt.NDArray[Any]] | None = None) -> Floats:
        """The mean over each `user`, `task` or `block` of their means, or of what `change` makes of each mean."""
        if group == "task":
            means = ratio(self.total.T @ self.weights, self.turns.T @ self.weights)
        elif group == "user":
            means = ratio(self.total.sum(axis=1), self.turns.sum(axis=1))[:, None]
        else:
            means = ratio(self.total, self.turns)
        known = np.isfinite(means)
        values = np.where(known, means if change is None else change(means), 0.0)
        if group == "task":
            return ratio(values.sum(axis=0), known.sum(axis=0))
        return ratio(values.sum(axis=1) @ self.weights, known.sum(axis=1) @ self.weights)


def user_means(of: Scores) -> Floats:
    """Each user's mean score of each candidate: users × candidates, NaN where a user has none."""
    count = [of.cells(of.weight * np.isfinite(score)).sum(axis=1) for score in of.score.T]
    total = [of.cells(of.weight * np.nan_to_num(score)).sum(axis=1) for score in of.score.T]
    return ratio(np.array(total), np.array(count)).T


def mean_over(rows: Floats) -> Floats:
    """Mean of each column over the rows that have a value there."""
    return ratio(np.nansum(rows, axis=0), np.isfinite(rows).sum(axis=0))


def _refuse_twice(frame: pd.DataFrame, who: list[str], place: str) -> None:
    again = frame.duplicated(["candidate", *who, *TURN])
    if again.any():
        found = [
            Problem(f"{place} row {i}", f"{row.candidate} on {' / '.join(map(str, row[TURN]))} stands twice")
            for i, row in frame[again].head(20).iterrows()
        ]
        one = " and ".join([", ".join([*who, "candidate"]), "turn"])
        raise DataError(found, f"{int(again.sum())} in all. Keep one row a {one}.")


def _weights(turns: pd.DataFrame, inclusion: pd.DataFrame | None) -> Floats:
    if inclusion is None:
        return np.ones(len(turns))
    if missing := [c for c in (*TURN, "inclusion") if c not in inclusion]:
        raise UnknownName("column of the replay set", missing[0], map(str, inclusion.columns))
    drawn = keyed(inclusion[TURN], "replay set")
    if drawn.duplicated().any():
        raise DataError("A turn stands twice in the replay set", "Give it each turn once.")
    drawn = drawn.assign(probability=inclusion["inclusion"].astype("Float64"), drawn=True)
    joined = turns.merge(drawn, on=TURN, how="left", sort=False)
    if (unknown := joined[joined["drawn"].isna()]).size:
        found = [Problem("verdicts", " / ".join(map(str, row))) for row in unknown[TURN].to_numpy()]
        raise DataError(found, "These judged turns are not in the replay set whose probabilities were given.")
    chance = joined["probability"].to_numpy(dtype=float, na_value=np.nan)
    if np.isnan(chance).all():
        return np.ones(len(turns))
    if not ((chance > 0) & (chance <= 1)).all():
        wrong = int((~((chance > 0) & (chance <= 1))).sum())
        raise DataError(
            f"{wrong} of {len(chance)} turns have no inclusion probability in (0, 1]",
            "Weights need all of them; leave `inclusion` out to count every turn alike.",
        )
    return 1 / chance
