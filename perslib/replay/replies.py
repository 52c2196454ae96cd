"""Replies to replayed turns: those that users were given, those recorded elsewhere, and whether they can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, SCHEMA, TURN, Block, Corpus, coerce
from perslib.corpus.schema import ORIGINAL, duplicates
from perslib.errors import DataError, Problem
from perslib.stats.resample.leave_one_out import Bools

KEY = ["candidate", *TURN]
NO_REPLY = "the reply is empty"
#: Turns named in an error; of the others the number.
NAMED = 3


def originals(corpus: Corpus, replay_turns: pd.DataFrame) -> pd.DataFrame:
    """Return the replies that the users were given, as the candidate `original`."""
    turns = known_turns(corpus, replay_turns)
    replies = turns[TURN].merge(corpus.turns[[*TURN, "response"]], on=TURN, how="left", validate="1:1")
    return _blanks(coerce(replies.assign(candidate=ORIGINAL, context="recorded"), "replies"))


def select_recorded_replies(
    replies: pd.DataFrame | Iterable[Mapping[str, Any]], replay_turns: pd.DataFrame
) -> pd.DataFrame:
    """Return recorded replies, from a frame or records with `candidate`, the keys of the turn and `response`.

    Columns that the replies frame does not know are left out (a synthetic corpus keeps the truth there), and so are
    replies to turns that are not replayed: `attrs["left_out"]` says how many. `align_replies` says what is missing.
    """
    frame = replies if isinstance(replies, pd.DataFrame) else pd.DataFrame(list(replies))
    if "response" not in frame:
        raise DataError(Problem("replies", "column 'response' is missing (the reply)"))
    frame = coerce(frame.filter(list(SCHEMA["replies"])), "replies")
    known = is_among(frame, replay_turns)
    if len(frame) and not known.any():
        raise DataError(
            Problem("replies", f"none of {len(frame)} answers one of {len(replay_turns)} replayed turns"),
            "Were the replies recorded for another corpus or replay set?",
        )
    recorded = frame[known].reset_index(drop=True)
    recorded = _blanks(recorded.assign(context=recorded["context"].fillna("recorded")))
    recorded.attrs["left_out"] = len(frame) - len(recorded)
    return recorded


def align_replies(replies: pd.DataFrame, replay_turns: pd.DataFrame, *, common: bool = False) -> pd.DataFrame:
    """Return replies that can be compared: each candidate has one row for each replayed turn, in the order of the
    turns.

    Anything else is an error that names the turns. With `common` the turns stay that all candidates have, and replies
    to others are left out; `attrs["left_out"]` says how many of the replayed turns are. A candidate's empty replies stay
    as rows without a response.
    """
    turns = coerce(replay_turns, "replay_turns")[TURN]
    replies = _blanks(coerce(replies, "replies"))
    if replies.empty:
        raise DataError(Problem("replies", "there are none to compare"))
    check_single(replies)
    known = is_among(replies, turns)
    if common:
        turns, replies = _common(replies, turns), replies[known]
    else:
        problems = [
            Problem(str(name), f"answers turns that are not replayed: {_name_turns(own)}")
            for name, own in replies[~known].groupby("candidate", sort=False)
        ]
        problems += [
            Problem(str(name), f"has no reply to {_name_turns(missing)}")
            for name, own in replies.groupby("candidate", sort=False)
            if len(missing := turns[~is_among(turns, own)])
        ]
        if problems:
            remedy = "Complete the replies, or compare on the turns that all have with common=True."
            raise DataError(problems, remedy)
    order = pd.DataFrame({"candidate": replies["candidate"].unique()}).merge(turns, how="cross")
    whole = coerce(order.merge(replies, on=KEY, how="left", validate="1:1"), "replies")
    whole.attrs["left_out"] = len(replay_turns) - len(turns)
    return whole


def check_single(replies: pd.DataFrame) -> None:
    """Raise an error where a candidate has two replies to a turn, or two candidates have one name."""
    problems = []
    for name, own in replies.groupby("candidate", sort=False):
        pairs = own[["context", "backbone"]].drop_duplicates().to_numpy()
        ways = [" of ".join(filter(pd.notna, pair)) for pair in pairs]
        if len(ways) > 1:
            problems.append(Problem(str(name), f"two candidates of one name, asked as {' and '.join(ways)}"))
        elif len(twice := own[own.duplicated(TURN)]):
            turns = _name_turns(twice.drop_duplicates(TURN))
            problems.append(Problem(str(name), f"more than one reply to {turns}"))
    if problems:
        raise DataError(
            problems,
            "Keep one reply of each candidate to each turn, and give each candidate a name of its own, with "
            "Candidate(name=…) or in the column `candidate`.",
        )


def known_turns(corpus: Corpus, replay_turns: pd.DataFrame) -> pd.DataFrame:
    """Return the replay set in its documented form; an error for turns that occur twice or are not in the corpus."""
    turns = coerce(replay_turns, "replay_turns")
    problems = []
    if len(twice := duplicates(turns, "replay_turns")):
        problems.append(Problem("replay set", f"occurs more than once: {_name_turns(twice)}"))
    if not (known := is_among(turns, corpus.turns)).all():
        problems.append(Problem("replay set", f"not in {corpus.name}: {_name_turns(turns[~known])}"))
    if problems:
        raise DataError(problems, "Draw the replay set anew from this corpus, and take the replies to it.")
    return turns


def _common(replies: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Return the turns that every candidate answers."""
    counts = replies.groupby(TURN)["candidate"].nunique()
    by_all = counts[counts == replies["candidate"].nunique()].index.to_frame(index=False)
    shared = is_among(turns, by_all)
    if not shared.any():
        names = ", ".join(replies["candidate"].unique()) or "no candidate"
        raise DataError(
            Problem("replies", f"no replayed turn is answered by all of {names}"),
            "Compare fewer candidates, or ones that were asked the same turns.",
        )
    return turns[shared].reset_index(drop=True)


def _blanks(replies: pd.DataFrame) -> pd.DataFrame:
    """Return empty replies as rows without a response that say so."""
    blank = replies["response"].fillna("").str.strip() == ""
    return replies.assign(
        response=replies["response"].mask(blank), error=replies["error"].mask(blank & replies["error"].isna(), NO_REPLY)
    )


def is_among(frame: pd.DataFrame, turns: pd.DataFrame) -> Bools:
    """Return whether each row's turn is one of these."""
    rows, known = (pd.MultiIndex.from_frame(own[TURN].astype({"turn": "int64"})) for own in (frame, turns))
    return np.asarray(rows.isin(known))


def _name_turns(turns: pd.DataFrame) -> str:
    """Return the first few turns by name, and how many there are."""
    first = ["/".join(map(str, row)) for row in turns[TURN].head(NAMED).itertuples(index=False)]
    more = len(turns) - len(first)
    return ", ".join(first) + (f" and {more} more, {len(turns)} in all" if more else "")


def blocks_of(corpus: Corpus, rows: pd.DataFrame) -> Iterator[tuple[Block, list[Any]]]:
    """Yield the blocks that rows are about, and the rows of each: its targets are the rows' turns, in their order in
    the corpus.

    Rows about one turn follow each other, each with a target of its own.
    """
    for (user, scenario), own in rows.groupby(BLOCK, sort=False):
        block = corpus.block(user, scenario)
        keys = block.targets[["session", "turn"]].itertuples(index=False, name=None)
        place = {key: i for i, key in enumerate(keys)}
        places = [place[key] for key in own[["session", "turn"]].itertuples(index=False, name=None)]
        order = np.argsort(places, kind="stable")
        targets = block.targets.iloc[np.sort(places)].reset_index(drop=True)
        yield replace(block, targets=targets), own.index[order].tolist()
