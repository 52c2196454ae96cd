"""The corpus page: statistics of a corpus, and a model's first answers about some of its replies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import SESSION, TURN, Corpus, by_reply
from perslib.errors import NotEnough, PerslibError
from perslib.paths import read_csv
from perslib.report.page.markup import escape_markdown
from perslib.stats import correlation, mean_by, of_turns

#: Turns from this number on, counted from 0, form one group.
LAST_POSITION = 5


def compare_statistics(corpus: Corpus) -> pd.DataFrame:
    """Return the rows of Table 5, with the published values next to those of this corpus."""
    published = read_csv(__file__, "published/persturnbench_table5.csv").set_index("statistic")["published"]
    table = corpus.statistics().assign(published=lambda t: t["statistic"].map(published))
    counts = ~table["statistic"].str.contains(" per |mean")
    for name in ("value", "published"):
        is_whole = counts & table[name].notna()
        table[name] = table[name].astype(object).mask(is_whole, table[name][is_whole].map(int).astype(object))
    return table


def select_scored_turns(corpus: Corpus) -> pd.DataFrame:
    """Return the turns with a score, and the assistant of their session.

    Several replies to a turn become one turn each.
    """
    corpus = by_reply(corpus)
    turns = corpus.turns.assign(assistant=of_turns(corpus, "assistant"))
    return turns[turns["score"].notna()].reset_index(drop=True)


def measure_score_shares(turns: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return the share of each score in each group.

    Columns: the group, score, turns, share, mean (of the group).
    """
    if turns.empty:
        return pd.DataFrame(columns=[by, "score", "turns", "share", "mean"])
    counts = turns.groupby([by, "score"], sort=False).size().unstack(fill_value=0)
    counts = counts.reindex(columns=range(1, 6), fill_value=0)
    total = counts.sum(axis=1)
    mean = (counts * np.arange(1, 6)).sum(axis=1) / total
    long = counts.rename_axis(columns="score").stack().rename("turns").reset_index()
    return long.assign(share=long["turns"] / long[by].map(total), mean=long[by].map(mean))


def widen_score_shares(long_shares: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return one row per group instead of five: the columns of the group, and a column of shares for each score."""
    groups = long_shares.drop(columns=["score", "turns", "share"]).drop_duplicates(by, ignore_index=True)
    shares = long_shares.set_index([by, "score"])["share"].unstack("score").reindex(columns=range(1, 6))
    return groups.join(shares, on=by)


def measure_by_scenario(corpus: Corpus) -> pd.DataFrame:
    """Return the score distribution of all turns (scenario "all") and of each scenario, with means and intervals."""
    corpus = corpus.with_evidence("scenarios")
    turns = select_scored_turns(corpus)
    groups = [turns.assign(scenario="all"), *(turns[turns["scenario"] == s] for s in corpus.scenarios)]
    stacked = pd.concat([group for group in groups if not group.empty] or [turns], ignore_index=True)
    bounds = mean_by(stacked, "score", "scenario", scale="score")[["scenario", "mean_low", "mean_high"]]
    return measure_score_shares(stacked, "scenario").merge(bounds, on="scenario", how="left", sort=False)


def measure_by_user(corpus: Corpus) -> pd.DataFrame:
    """Return the score distribution of each user, strictest first."""
    return measure_score_shares(select_scored_turns(corpus), "user").sort_values(
        ["mean", "user", "score"], kind="stable"
    )


def measure_satisfaction(turns: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return how satisfied each group is, with intervals over users.

    Columns: the group, mean_score and dissatisfied (share of turns scored 3 or lower) with their bounds, turns, users.
    """
    mean = mean_by(turns, "score", by, scale="score").rename(columns=lambda c: c.replace("mean", "mean_score"))
    low = mean_by(turns.assign(low=turns["score"] <= 3), "low", by, scale="share")
    low = low.drop(columns=["turns", "users"]).rename(columns=lambda c: c.replace("mean", "dissatisfied"))
    return mean.merge(low, on=by)


def measure_by_position(corpus: Corpus) -> pd.DataFrame:
    """Return the mean score and share ≤ 3 by turn number, with intervals; turns from `LAST_POSITION` on form one group."""
    turns = select_scored_turns(corpus)
    return measure_satisfaction(turns.assign(position=turns["turn"].clip(upper=LAST_POSITION).astype(int)), "position")


def count_low_reasons(corpus: Corpus) -> pd.DataFrame:
    """Return the reasons for scores of 3 or lower, most frequent first: reason, turns, share."""
    low = corpus.turns[corpus.turns["score"] <= 3]
    table = low["reason"].value_counts().rename("turns").reset_index()
    return table.assign(share=table["turns"] / table["turns"].sum())


def measure_lengths(corpus: Corpus) -> pd.DataFrame:
    """Return the characters of every request and reply, where texts are there: quantity ("requests" or "replies"), characters."""
    shown = corpus.turns.iloc[:0] if "without_texts" in corpus.meta else corpus.turns
    texts = shown[["request", "response"]].set_axis(["requests", "replies"], axis=1)
    long = texts.melt(var_name="quantity", value_name="characters").dropna(ignore_index=True)
    return long.assign(characters=long["characters"].str.len())


def measure_by_assistant(corpus: Corpus) -> pd.DataFrame:
    """Return the mean score and share ≤ 3 per assistant with intervals; best first."""
    table = measure_satisfaction(select_scored_turns(corpus).dropna(subset=["assistant"]), "assistant")
    return table.sort_values("mean_score", ascending=False, ignore_index=True)


def predict_from_user_mean(corpus: Corpus) -> dict[str, float]:
    """Return how well the user's mean in the *other* scenarios predicts a score, without reading the reply.

    Keys: r (Pearson's r over turns) with bounds, turns (the number of turns that have such a mean), between_users (the
    share of the scores' variance that lies between users, η²). PersTurnBench's "user history mean" baseline.
    """
    turns = select_scored_turns(corpus)
    score, user = turns["score"].astype(float), turns["user"]
    of_user, of_scenario = score.groupby(user), score.groupby([user, turns["scenario"]])
    elsewhere = of_user.transform("size") - of_scenario.transform("size")
    has_others = elsewhere > 0
    history = (of_user.transform("sum") - of_scenario.transform("sum"))[has_others] / elsewhere[has_others]
    r, low, high = correlation(history, score[has_others], user[has_others])
    spread = ((score - score.mean()) ** 2).sum()
    between = ((of_user.transform("mean") - score.mean()) ** 2).sum()
    repeats = user.nunique() < len(turns)
    share = float(between / spread) if spread > 0 and repeats else float("nan")
    return {"r": r, "r_low": low, "r_high": high, "turns": int(has_others.sum()), "between_users": share}


def pick_session(corpus: Corpus) -> tuple[str, str, str]:
    """Return the keys of a session that is worth reading.

    If possible, its user has logs, its scores differ and a reason is given. Among those, it has about four turns and
    usual length.
    """
    turns = corpus.turns
    turns = turns.assign(score=turns["score"].astype(float), length=turns["response"].str.len())
    sessions = turns.groupby(SESSION, sort=False)
    score, size, length = sessions["score"], sessions.size(), sessions["length"].sum()
    shortcomings = pd.DataFrame(
        {
            "logs": ~size.index.get_level_values("user").isin(corpus.events["user"]),
            "reason": sessions["reason"].count().eq(0),
            "spread": (score.min() - score.max()).fillna(0),
            "turns": (size - 4).abs(),
            "length": (length - length.median()).abs(),
        }
    )
    user, scenario, session = shortcomings.sort_values([*shortcomings], kind="stable").index[0]
    return str(user), str(scenario), str(session)


def read_conversation(corpus: Corpus, user: str, scenario: str, session: str) -> list[dict[str, Any]]:
    """Return the messages of a session, each reply with its score and reason."""
    in_session = (corpus.turns[SESSION] == [user, scenario, session]).all(axis=1)
    labels = corpus.turns.loc[in_session, ["score", "reason"]].itertuples(index=False)
    return [
        {**message, **(next(labels)._asdict() if message["role"] == "assistant" else {})}
        for message in corpus.messages(user, scenario, session)
    ]


def ask_backbone(corpus: Corpus, name: str, turns: int = 3, seed: int = 42) -> pd.DataFrame:
    """Return the scores of a few replies by backbone `name` and the zero-shot judge.

    Raise NotEnough if the backbone does not read the language or cannot be asked, or if no reply has a score.

    Columns: scenario, reply_begins, score (the user's), model_score, mode, seconds.
    """
    from perslib.judge import Generic, JudgeSettings
    from perslib.judge.scope import require_model
    from perslib.llm import find_model
    from perslib.llm.entries import entries
    from perslib.replay import ORIGINAL
    from perslib.replay import judge_candidates as judge_replies

    entry = entries().get(name)
    if entry and entry.languages and corpus.language not in entry.languages:
        raise NotEnough(
            "Backbone **{name}** ({model}) does not read the language of this corpus, so it was not asked; "
            "choose another with `--backbone`.",
            name=escape_markdown(name),
            model=escape_markdown(entry.model),
        )
    model = require_model(find_model(name))
    rows = _draw_few_turns(corpus, turns, seed)
    if rows.empty:
        raise NotEnough("No reply has a score, so there is nothing to ask about.")
    judge, replies = Generic(settings=JudgeSettings(corpus.language, seed=None)), rows[[*TURN, "response"]]
    try:
        verdicts = judge_replies(judge, corpus, replies.assign(candidate=ORIGINAL), model, progress=False)
    except (PerslibError, ImportError) as error:
        reason = escape_markdown(" ".join(str(error).split()))
        raise NotEnough(
            "Backbone **{name}** could not be asked: {reason}", name=escape_markdown(name), reason=reason
        ) from error
    table = rows[["scenario", "score"]].reset_index(drop=True)
    table.insert(1, "reply_begins", [_quote_start(text) for text in rows["response"]])
    return table.assign(
        model_score=verdicts["raw"].astype("Int64"), mode=verdicts["mode"], seconds=verdicts["seconds"].astype(float)
    )


def _draw_few_turns(corpus: Corpus, turns: int, seed: int) -> pd.DataFrame:
    """Return a few scored turns of different scores, drawn with the seed.

    They open their conversation and are among the shorter ones, so that a small model reads them quickly.
    """
    pool = select_scored_turns(corpus)
    pool = pool[pool["turn"] == pool["turn"].min()]
    most = max(3 * turns, len(pool) * 3 // 10)
    shorter = pool.assign(length=pool["response"].str.len()).nsmallest(most, "length")
    shuffled = shorter.sample(frac=1, random_state=seed)
    order = shuffled.groupby("score").cumcount()
    return shuffled.assign(order=order).sort_values(["order", "score"], kind="stable").head(turns)


def _quote_start(text: str) -> str:
    """Return the first words of a reply, in one line of at most 70 characters."""
    line = " ".join(text.split())
    cut = line.rfind(" ", 35, 70)
    return line if len(line) <= 70 else line[: cut if cut > 0 else 70] + " …"
