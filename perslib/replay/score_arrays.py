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
from perslib.errors import DataError, Problem, check_names
from perslib.replay.replies import ORIGINAL
from perslib.stats.calibrate.verdicts import scores_of
from perslib.stats.resample.leave_one_out import Bools, Floats, Ints, floats, leave_out, ratio

#: The score that candidates are compared by unless told otherwise.
SCORE = "reference_cdf"


@dataclass(frozen=True, eq=False)
class CandidateScores:
    """What one judge gave each candidate on each turn, and how much each turn counts."""

    #: judge and backbone, as far as the verdicts name them.
    judged_by: dict[str, Any]
    candidates: list[str]
    turns: pd.DataFrame
    #: turns × candidates; NaN where there is no score.
    score: Floats
    #: Whether the judge was asked about this reply, scored or not.
    judged: Bools
    #: 1 / inclusion probability, or 1.
    weight: Floats

    @cached_property
    def user(self) -> Ints:
        """The number of each turn's user, in sorted order."""
        return pd.factorize(self.turns["user"], sort=True)[0].astype(np.int64)

    def column(self, candidate: str) -> int:
        """Return where this candidate's scores stand."""
        check_names("candidate", candidate, self.candidates)
        return self.candidates.index(candidate)

    def cells(self, values: npt.ArrayLike) -> Floats:
        """Return sums of a turn's values over each user and task: users × tasks; a cell is a block."""
        task, names = pd.factorize(self.turns["scenario"], sort=True)
        shape = self.user.max(initial=-1) + 1, len(names)
        of_block = np.bincount(self.user * len(names) + task, np.asarray(values, float), shape[0] * shape[1])
        return of_block.astype(float).reshape(shape)

    def user_means(self, scores: Floats | None = None) -> pd.DataFrame:
        """Return each user's mean score of each candidate, or of these instead: users × candidates, missing where a
        user has none.
        """
        scores = self.score if scores is None else scores
        count = [self.cells(self.weight * np.isfinite(score)).sum(axis=1) for score in scores.T]
        total = [self.cells(self.weight * np.nan_to_num(score)).sum(axis=1) for score in scores.T]
        users = np.unique(self.turns["user"])
        return pd.DataFrame(ratio(np.array(total), np.array(count)).T, users, self.candidates)


def by_judge(
    verdicts: pd.DataFrame, score: str, inclusion: pd.DataFrame | None = None, *, place: str = "verdicts"
) -> Iterator[CandidateScores]:
    """Yield the scores of each judge and backbone, in order of first appearance.

    A null candidate is the recorded reply. With `inclusion`, a replay set with the probabilities of its turns,
    turns count by their inverse (Hájek); where all are null, nothing was left to chance and all count alike.
    Errors call the frame by its `place`.
    """
    who = [c for c in ("judge", "backbone") if c in verdicts]
    frame = normalize_turn_keys(verdicts[["candidate", *who, *TURN]], place).assign(score=scores_of(verdicts, score))
    frame["candidate"] = frame["candidate"].astype("str").fillna(ORIGINAL)
    if "corpus" in verdicts and verdicts["corpus"].nunique() > 1:
        raise DataError("The verdicts are on several corpora", "Compare candidates within one.")
    _refuse_twice(frame, who, place)
    for names, part in frame.groupby(who, sort=False, dropna=False) if who else [((), frame)]:
        candidates = list(dict.fromkeys(part["candidate"]))
        wide = part.assign(judged=True).pivot(index=TURN, columns="candidate", values=["score", "judged"])
        turns = wide.index.to_frame(index=False)
        yield CandidateScores(
            {c: None if pd.isna(n) else n for c, n in zip(who, names, strict=True)},
            candidates,
            turns,
            floats(wide["score"][candidates]),
            wide["judged"][candidates].notna().to_numpy(),
            _weights(turns, inclusion),
        )


def normalize_turn_keys(frame: pd.DataFrame, place: str) -> pd.DataFrame:
    """Return the frame with the keys of a turn as documented: three texts and a whole number.

    Read from a file, a session "7" is now 7, now 7.0, where a column of numbers was guessed; it is one session.
    """
    keys: dict[str, pd.Series] = {k: frame[k].map(_text).astype("str") for k in SESSION}
    turn = pd.to_numeric(frame["turn"], errors="coerce")
    if not (turn % 1 == 0).all():
        raise DataError(Problem(place, "column 'turn' holds more than whole numbers"), "Number every turn.")
    return frame.assign(**keys, turn=turn.astype("int64"))


def _text(key: Any) -> Any:
    return str(int(key)) if isinstance(key, float) and key.is_integer() else key


def align_column(known: pd.DataFrame, column: str, of: CandidateScores, place: str = "labels") -> Floats:
    """Return what `column` of another frame on replies says of these ones: turns × candidates, NaN where it is silent.

    A frame without `candidate`, such as the turns of a corpus, is on the recorded replies.
    """
    if "candidate" not in known:
        known = known.assign(candidate=ORIGINAL)
    check_names("column of the frame to compare with", (*TURN, column), known)
    out = np.full((len(of.turns), len(of.candidates)), np.nan)
    for other in by_judge(known[["candidate", *TURN, column]], column, place=place):
        table = pd.DataFrame(other.score, pd.MultiIndex.from_frame(other.turns), other.candidates)
        places = pd.MultiIndex.from_frame(of.turns)
        out[:] = table.reindex(index=places, columns=of.candidates).to_numpy(dtype=float)
    return out


class Groups:
    """Means of one value a turn over turns, users, scenarios and blocks: the sample's, then those without each user.

    A missing value leaves its turn out.
    """

    def __init__(self, scores: CandidateScores, values: Floats) -> None:
        self.scores, self.values = scores, values
        self.turns = scores.cells(scores.weight * np.isfinite(values))
        self.total = scores.cells(scores.weight * np.nan_to_num(values))
        self.present = self.turns.any(axis=1)
        self.weights = leave_out(self.turns.shape[0])

    def over_turns(self, values: npt.ArrayLike) -> Floats:
        """Return the mean over these turns of another value, 0 on turns that are left out."""
        total = self.scores.cells(self.scores.weight * np.asarray(values)).sum(axis=1)
        return ratio(total @ self.weights, self.turns.sum(axis=1) @ self.weights)

    def over(self, group: str, change: Callable[[Floats], npt.NDArray[Any]] | None = None) -> Floats:
        """Return the mean over each `turn`, or over each `user`, `task` or `block` of their means, or of what `change`
        makes of them.
        """
        if group == "turn":
            return self.over_turns(np.nan_to_num(self.values if change is None else change(self.values)))
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


def _refuse_twice(frame: pd.DataFrame, who: list[str], place: str) -> None:
    again = frame[frame.duplicated(["candidate", *who, *TURN])]
    if len(again):
        first, keys = again.iloc[0], ", ".join([*who, "candidate"])
        what = f"{first['candidate']} on {' / '.join(map(str, first[TURN]))} stands twice"
        remedy = f"{len(again)} in all. Keep one row a {keys} and turn."
        raise DataError(Problem(f"{place} row {again.index[0]}", what), remedy)


def _weights(turns: pd.DataFrame, inclusion: pd.DataFrame | None) -> Floats:
    if inclusion is None:
        return np.ones(len(turns))
    check_names("column of the replay set", (*TURN, "inclusion"), inclusion)
    drawn = normalize_turn_keys(inclusion, "replay set").set_index(TURN)["inclusion"]
    if drawn.index.has_duplicates:
        raise DataError("A turn stands twice in the replay set", "Give it each turn once.")
    wanted = pd.MultiIndex.from_frame(turns)
    if unknown := wanted.difference(drawn.index, sort=False).tolist():
        problems = [Problem("verdicts", " / ".join(map(str, turn))) for turn in unknown]
        raise DataError(problems, "These judged turns are not in the replay set whose probabilities were given.")
    chance = floats(drawn.reindex(wanted))
    if np.isnan(chance).all():
        return np.ones(len(turns))
    if wrong := int((~((chance > 0) & (chance <= 1))).sum()):
        raise DataError(
            f"{wrong} of {len(chance)} turns have no inclusion probability in (0, 1]",
            "Weights need all of them; leave `inclusion` out to count every turn alike.",
        )
    return 1 / chance
