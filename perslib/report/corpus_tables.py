"""What the corpus page computes; `corpus_figures` draws it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from perslib.corpus.schema import SESSION
from perslib.inference import correlation, mean_by
from perslib.metrics.gold import of_turns

if TYPE_CHECKING:
    from perslib.corpus import Corpus

#: PersTurnBench, Table 5; conversations a scenario under both names they are stored by.
TABLE_5 = {
    "participants": 115,
    "task families": 4,
    "conversations": 1833,
    "user turns": 8204,
    "assistant turns": 8060,
    "assistant turns with satisfaction labels": 8060,
    "conversations per participant": 15.94,
    "assistant turns per conversation": 4.40,
    "mean satisfaction score": 4.23,
    "satisfied turns (4–5)": 6799,
    "dissatisfied or neutral turns (1–3)": 1261,
    "conversations: 菜谱规划": 402,
    "conversations: recipe": 402,
    "conversations: 礼物准备": 531,
    "conversations: gift": 531,
    "conversations: 旅行规划": 502,
    "conversations: travel": 502,
    "conversations: 技能学习规划": 398,
    "conversations: skill": 398,
}


def statistics(corpus: Corpus) -> pd.DataFrame:
    """The rows of Table 5 with the published data's beside this corpus's."""
    table = corpus.statistics()
    averages = table["statistic"].str.contains(" per |mean")
    value = [v if average or pd.isna(v) else int(v) for v, average in zip(table["value"], averages)]
    published = [TABLE_5.get(s) for s in table["statistic"]]
    return table.assign(value=pd.Series(value, dtype=object), published=pd.Series(published, dtype=object))


def scored(corpus: Corpus) -> pd.DataFrame:
    """The turns that carry a score, with the assistant of their session."""
    turns = corpus.turns.assign(assistant=of_turns(corpus, "assistant"))
    return turns[turns["score"].notna()].reset_index(drop=True)


def distribution(turns: pd.DataFrame, by: str) -> pd.DataFrame:
    """Share of each score a group: columns the group, score, turns, share, mean (of the group)."""
    if turns.empty:
        return pd.DataFrame(columns=[by, "score", "turns", "share", "mean"])
    counts = turns.groupby([by, "score"], sort=False).size().unstack(fill_value=0)
    counts = counts.reindex(columns=range(1, 6), fill_value=0)
    total = counts.sum(axis=1)
    mean = (counts * np.arange(1, 6)).sum(axis=1) / total
    long = counts.rename_axis(columns="score").stack().rename("turns").reset_index()
    return long.assign(share=long["turns"] / long[by].map(total), mean=long[by].map(mean))


def by_scenario(corpus: Corpus, seed: int = 42) -> pd.DataFrame:
    """Score distribution of all turns (scenario "all") and of each scenario, their means with intervals."""
    turns = scored(corpus)
    groups = [turns.assign(scenario="all"), *(turns[turns["scenario"] == s] for s in corpus.scenarios)]
    stacked = pd.concat([group for group in groups if not group.empty] or [turns], ignore_index=True)
    bounds = mean_by(stacked, "score", "scenario", seed=seed)[["scenario", "low", "high"]]
    return distribution(stacked, "scenario").merge(bounds, on="scenario", how="left", sort=False)


def by_user(corpus: Corpus) -> pd.DataFrame:
    """Score distribution of each user, strictest first."""
    return distribution(scored(corpus), "user").sort_values(["mean", "user", "score"], kind="stable")


def by_position(corpus: Corpus, last: int = 5, seed: int = 42) -> pd.DataFrame:
    """Mean score and share ≤ 3 by turn number, turns from `last` on taken together, with intervals."""
    turns = scored(corpus)
    turns = turns.assign(position=turns["turn"].clip(upper=last).astype(int), low_score=turns["score"] <= 3)
    mean = mean_by(turns, "score", "position", seed=seed)
    low = mean_by(turns, "low_score", "position", seed=seed)
    names = {"mean": "dissatisfied", "low": "dissatisfied_low", "high": "dissatisfied_high"}
    return mean.merge(low.rename(columns=names)[["position", *names.values()]], on="position")


def reasons(corpus: Corpus) -> pd.DataFrame:
    """Why turns were scored 3 or lower, most frequent first: reason, turns, share."""
    low = corpus.turns[corpus.turns["score"].le(3).fillna(False).astype(bool)]
    counts = low["reason"].dropna().value_counts()
    table = counts.rename_axis("reason").rename("turns").reset_index()
    return table.assign(share=table["turns"] / max(table["turns"].sum(), 1))


def lengths(corpus: Corpus) -> pd.DataFrame:
    """Characters of every request and reply: quantity ("requests" or "replies"), characters."""
    parts = [("requests", corpus.turns["request"].dropna()), ("replies", corpus.turns["response"].dropna())]
    frames = [pd.DataFrame({"quantity": name, "characters": text.str.len()}) for name, text in parts]
    return pd.concat(frames, ignore_index=True)


def length_summary(lengths: pd.DataFrame) -> pd.DataFrame:
    """Quartiles of the lengths, and the longest."""
    grouped = lengths.groupby("quantity", sort=False)["characters"]
    table = grouped.quantile([0.25, 0.5, 0.75]).unstack().set_axis(["q25", "median", "q75"], axis=1)
    return table.assign(longest=grouped.max(), turns=grouped.size()).round(0).astype(int).reset_index()


def by_assistant(corpus: Corpus, seed: int = 42) -> pd.DataFrame:
    """Mean score an assistant with intervals, and the share of its turns scored 3 or lower; best first."""
    turns = scored(corpus).dropna(subset=["assistant"])
    turns = turns.assign(low_score=turns["score"] <= 3)
    mean = mean_by(turns, "score", "assistant", seed=seed)
    names = {"mean": "dissatisfied", "low": "dissatisfied_low", "high": "dissatisfied_high"}
    low = mean_by(turns, "low_score", "assistant", seed=seed).rename(columns=names)
    both = mean.merge(low[["assistant", *names.values()]], on="assistant")
    return both.sort_values("mean", ascending=False, ignore_index=True)


def user_share(corpus: Corpus, seed: int = 42) -> dict[str, float]:
    """How well a score is guessed from the user's mean in the *other* scenarios, the reply unread.

    Pearson's r over turns with its interval, the number of turns that have such a mean, and the share of
    the scores' variance that lies between users (η²). PersTurnBench's "user history mean" baseline.
    """
    turns = scored(corpus)
    score = turns["score"].astype(float)
    whole = score.groupby(turns["user"]).agg(["sum", "size"]).loc[turns["user"]].to_numpy()
    block = [turns["user"], turns["scenario"]]
    own = np.column_stack([score.groupby(block).transform("sum"), score.groupby(block).transform("size")])
    rest = whole - own
    known = rest[:, 1] > 0
    history = pd.Series(rest[known, 0] / rest[known, 1])
    r, low, high = correlation(history, score[known].reset_index(drop=True), turns["user"][known], seed=seed)
    spread = ((score - score.mean()) ** 2).sum()
    between = ((score.groupby(turns["user"]).transform("mean") - score.mean()) ** 2).sum()
    repeats = turns["user"].nunique() < len(turns)
    share = float(between / spread) if spread > 0 and repeats else float("nan")
    return {"r": r, "low": low, "high": high, "turns": int(known.sum()), "between_users": share}


def telling_session(corpus: Corpus) -> tuple[str, str, str]:
    """A conversation worth reading: its user has logs where there are any, its scores differ, a reason is given.

    Among those, one of about four turns and usual length.
    """
    turns = corpus.turns
    per = turns.assign(score=turns["score"].astype(float)).groupby(SESSION, sort=False)
    table = per.agg(
        low=("score", "min"), high=("score", "max"), turns=("turn", "size"), reasons=("reason", "count")
    )
    size = turns["response"].str.len().groupby([turns[k] for k in SESSION], sort=False).sum()
    table = table.assign(
        spread=(table["high"] - table["low"]).fillna(0),
        has_reason=table["reasons"].gt(0),
        has_logs=table.index.get_level_values("user").isin(corpus.events["user"]),
        off=(table["turns"] - 4).abs(),
        far=(size - size.median()).abs(),
    )
    best = table.sort_values(
        ["has_logs", "has_reason", "spread", "off", "far"],
        ascending=[False, False, False, True, True],
        kind="stable",
    )
    user, scenario, session = best.index[0]
    return str(user), str(scenario), str(session)


def conversation(corpus: Corpus, user: str, scenario: str, session: str) -> list[dict[str, Any]]:
    """The messages of a session, each reply with its score and reason."""
    turns = corpus.turns
    match = (turns["user"] == user) & (turns["scenario"] == scenario) & (turns["session"] == session)
    labels: Iterable[tuple[Any, Any]] = zip(turns.loc[match, "score"], turns.loc[match, "reason"])
    following = iter(labels)
    messages: list[dict[str, Any]] = []
    for message in corpus.messages(user, scenario, session):
        score, reason = next(following) if message["role"] == "assistant" else (None, None)
        messages.append({**message, "score": score, "reason": reason})
    return messages


def device_logs(corpus: Corpus, user: str, rows: int = 12) -> pd.DataFrame:
    """The first device logs of a user, in time."""
    own = corpus.events[corpus.events["user"] == user]
    return own.sort_values("at", kind="stable")[["at", "kind", "content"]].head(rows)
