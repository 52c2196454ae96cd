"""What a PAL-Set holds, as Mem-PAL's Table 1 counts it."""

from __future__ import annotations

import pandas as pd

from perslib.corpus.corpus import Corpus
from perslib.corpus.palset_names import PARTS

#: Averages per user in the published set: (history, query).
PUBLISHED = {
    "sessions": (25.7, 3.3),
    "logs": (888.7, 107.5),
    "dialogue turns": (361.7, 39.3),
    "dialogue topics": (62.5, 8.3),
    "months": (8.4, 1.0),
}


def per_user(corpus: Corpus) -> pd.DataFrame:
    """One row a user and part: sessions, logs, dialogue turns, dialogue topics, months.

    Months are calendar months in which a dialogue took place.
    """
    keys = ["user", "scenario"]
    month = corpus.sessions["started_at"].dt.to_period("M")
    counts = {
        "sessions": corpus.sessions.groupby(keys).size(),
        "logs": corpus.events.groupby(keys).size(),
        "dialogue turns": corpus.turns.groupby(keys).size(),
        "dialogue topics": corpus.extras["topics"].groupby(keys).size(),
        "months": corpus.sessions.assign(month=month).groupby(keys)["month"].nunique(),
    }
    every = pd.MultiIndex.from_product([corpus.users["user"], PARTS], names=keys)
    return pd.DataFrame({name: rows.reindex(every, fill_value=0) for name, rows in counts.items()})


def averages(corpus: Corpus) -> pd.DataFrame:
    """Table 1: the mean per user of each count, with the published one beside it."""
    means = per_user(corpus).groupby("scenario").mean().T[list(PARTS)]
    published = pd.DataFrame(PUBLISHED, index=[f"{part}, published" for part in PARTS]).T
    return means.join(published).rename_axis("average per user").rename_axis(None, axis="columns")
