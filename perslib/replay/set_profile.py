"""What a replay set is like: its turns beside all turns of the split. Here, for reports only, gold is looked at."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, TURN, Corpus
from perslib.errors import DataError, Problem
from perslib.replay.sets import split_turns


def set_profile(corpus: Corpus, replay_turns: pd.DataFrame) -> pd.DataFrame:
    """A replay set in numbers: columns part, value, number, share.

    Parts "turns", "users", "blocks" and "rated" are counts, "mean gold" a mean; "mean gold, weighted" is the Hájek mean
    Σ y/π / Σ 1/π, which estimates the mean of all turns (missing where no chance was involved). "gold", "scenario" and
    "turn" have one row a value, with the number of turns and their share (of the rated turns for gold).
    """
    keyed = corpus.turns.set_index(TURN)[["score"]]
    wanted = pd.MultiIndex.from_frame(replay_turns[TURN])
    if len(unknown := wanted.difference(keyed.index)):
        raise DataError(
            [
                Problem("replay set", f"{'/'.join(map(str, key))} is not in corpus {corpus.name!r}")
                for key in unknown
            ],
            "Draw the set from the corpus that it is used with.",
        )
    turns = replay_turns[TURN].reset_index(drop=True)
    gold = keyed.loc[wanted, "score"].to_numpy(dtype=float, na_value=np.nan)
    inclusion = (
        replay_turns["inclusion"].to_numpy(dtype=float, na_value=np.nan)
        if "inclusion" in replay_turns
        else np.full(len(turns), np.nan)
    )
    return _profile(turns, gold, inclusion, corpus.scenarios)


def profiles(corpus: Corpus, sets: Mapping[str, pd.DataFrame], split: str | None = "test") -> pd.DataFrame:
    """Replay sets side by side, and "all", the split that they stand for: one column each, indexed by part and value.

    Cells are shares of turns for gold, scenario and turn index, numbers otherwise; 0 where a set has no such turn.
    """
    found = {name: set_profile(corpus, chosen) for name, chosen in sets.items()}
    found["all"] = set_profile(corpus, split_turns(corpus, split))
    columns = {
        name: profile.set_index(["part", "value"])["share"].fillna(
            profile.set_index(["part", "value"])["number"]
        )
        for name, profile in found.items()
    }
    table = pd.DataFrame(columns)
    order = pd.concat([found["all"], *found.values()])[["part", "value"]].drop_duplicates()
    table = table.reindex(pd.MultiIndex.from_frame(order))
    listed = table.index.get_level_values("value") != ""
    return table.where(~listed[:, None] | table.notna(), 0.0)


def _profile(
    turns: pd.DataFrame, gold: np.ndarray, inclusion: np.ndarray, scenarios: list[str]
) -> pd.DataFrame:
    rated = ~np.isnan(gold)
    weight = np.where(rated, 1 / inclusion, 0.0)
    numbers = {
        "turns": len(turns),
        "users": turns["user"].nunique(),
        "blocks": len(turns[BLOCK].drop_duplicates()),
        "rated": int(rated.sum()),
        "mean gold": gold[rated].mean() if rated.any() else np.nan,
        "mean gold, weighted": np.nansum(weight * np.nan_to_num(gold)) / weight.sum()
        if rated.any()
        else np.nan,
    }
    rows = [(part, "", float(number), np.nan) for part, number in numbers.items()]
    for score in range(1, 6):
        rows.append(("gold", str(score), float((gold == score).sum()), _share(gold == score, rated)))
    everywhere = np.ones(len(turns), dtype=bool)
    for scenario in scenarios:
        there = (turns["scenario"] == scenario).to_numpy(dtype=bool)
        rows.append(("scenario", scenario, float(there.sum()), _share(there, everywhere)))
    for turn in range(int(turns["turn"].max()) + 1 if len(turns) else 0):
        there = (turns["turn"] == turn).to_numpy(dtype=bool)
        if there.any():
            rows.append(("turn", str(turn), float(there.sum()), _share(there, everywhere)))
    return pd.DataFrame(rows, columns=["part", "value", "number", "share"])


def _share(these: np.ndarray, of: np.ndarray) -> float:
    return float(these.sum() / of.sum()) if of.any() else float("nan")
