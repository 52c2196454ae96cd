"""Replies that do not answer their request: who is marked, and what a marked reply counts as."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, TURN, Corpus
from perslib.errors import check_names
from perslib.judge.answering import Answering, read_exchange
from perslib.replay.replies import ORIGINAL, blocks_of
from perslib.stats import floats

#: What a reply that does not answer counts as: the user's lowest score, no score, or what the judge gives it.
Unanswered = Literal["lowest", "unscored", "ignore"]
_KEY = ["candidate", *TURN]


def mark_unanswered(corpus: Corpus, replies: pd.DataFrame, guard: Answering | None = None) -> pd.DataFrame:
    """Return for each reply the chance that it belongs to its request, and whether it is marked as not answering, or as
    broken.

    A reply that is the recorded one was given to this request, so it is never marked. The guard is taught by the corpus's train
    users where none is given. Columns: candidate, TURN, chance, broken, unanswered (either).
    """
    guard = guard or Answering().fit(corpus)
    given = replies[replies["response"].fillna("").str.strip() != ""]
    chances, broken = pd.Series(np.nan, replies.index), pd.Series(False, replies.index)
    for block, places in blocks_of(corpus, given):
        originals = given.loc[places, "response"]
        exchanges = [read_exchange(target).with_reply(str(reply)) for target, reply in zip(block, originals)]
        chances[places], broken[places] = guard.chances(exchanges), guard.find_broken(exchanges)
    recorded = replies[TURN].merge(corpus.turns[[*TURN, "response"]], "left", on=TURN)["response"]
    is_own = (replies["response"].to_numpy() == recorded.to_numpy()) | (replies["candidate"] == ORIGINAL).to_numpy()
    marks = replies[_KEY].assign(chance=chances, broken=broken & ~is_own)
    return marks.assign(unanswered=marks["broken"] | ((marks["chance"] < guard.limit) & ~is_own))


def count_unanswered(
    verdicts: pd.DataFrame, marks: pd.DataFrame, corpus: Corpus, how: Unanswered = "lowest"
) -> pd.DataFrame:
    """Return the verdicts with what a marked reply counts as; a user's lowest score is taken from other scenarios."""
    check_names("way to count replies that do not answer", how, get_args(Unanswered))
    marked = verdicts[_KEY].merge(marks, "left", on=_KEY)["unanswered"].eq(True).to_numpy(bool)
    marked = marked & verdicts["raw"].notna().to_numpy()
    if how == "ignore" or not marked.any():
        return verdicts
    counted = verdicts.copy()
    if how == "unscored":
        counted.loc[marked, ["raw", "expected"]] = np.nan
        counted.loc[marked, ["mode", "error"]] = ["unscored", "does not answer the request"]
        return counted
    rated = corpus.turns.dropna(subset="score")
    lowest = {
        key: float(floats(own).min())
        for key in set(counted.loc[marked, BLOCK].itertuples(index=False, name=None))
        if len(own := rated.loc[(rated["user"] == key[0]) & (rated["scenario"] != key[1]), "score"])
    }
    least = [lowest.get(key, 1.0) for key in counted.loc[marked, BLOCK].itertuples(index=False, name=None)]
    counted.loc[marked, "raw"] = least
    counted.loc[marked, "expected"] = counted.loc[marked, "expected"].where(
        counted.loc[marked, "expected"].isna(), least
    )
    return counted
