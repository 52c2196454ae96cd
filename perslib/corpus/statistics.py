"""What is in a corpus, in numbers: the rows of PersTurnBench's Table 5."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from perslib.corpus.corpus import Corpus


def statistics(corpus: Corpus) -> pd.DataFrame:
    """Table 5 of PersTurnBench for any corpus: one row a statistic, `value` a number."""
    sessions, turns = corpus.sessions, corpus.turns
    labelled = turns["score"].dropna().astype(int)
    asked = (
        turns["request"].notna().sum() + turns["earlier"].map(len).sum() + sessions["trailing"].map(len).sum()
    )
    participants, conversations = len(corpus.users), len(sessions)
    rows: list[tuple[str, float]] = [
        ("participants", participants),
        ("task families", len(corpus.scenarios)),
        ("conversations", conversations),
        ("user turns", int(asked)),
        ("assistant turns", len(turns)),
        ("assistant turns with satisfaction labels", len(labelled)),
        ("conversations per participant", conversations / participants if participants else float("nan")),
        ("assistant turns per conversation", len(turns) / conversations if conversations else float("nan")),
        ("mean satisfaction score", labelled.mean()),
        ("satisfied turns (4–5)", int((labelled >= 4).sum())),
        ("dissatisfied or neutral turns (1–3)", int((labelled <= 3).sum())),
    ]
    counts = sessions["scenario"].value_counts()
    rows += [(f"conversations: {scenario}", int(counts.get(scenario, 0))) for scenario in corpus.scenarios]
    return pd.DataFrame(rows, columns=["statistic", "value"])
