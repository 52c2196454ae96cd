"""The corpus page: what is counted of a corpus, and a model's first answers about some of its replies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from perslib.corpus.schema import SESSION
from perslib.errors import PerslibError
from perslib.paths import read_csv
from perslib.report.markup import literally
from perslib.stats import correlation, mean_by
from perslib.stats.gold import of_turns
from perslib.text import paragraph, translate

if TYPE_CHECKING:
    from perslib.corpus import Corpus


def statistics(corpus: Corpus) -> pd.DataFrame:
    """The rows of Table 5 with the published data's beside this corpus's."""
    table = corpus.statistics()
    averages = table["statistic"].str.contains(" per |mean")
    known = read_csv(__file__, "published/persturnbench_table5.csv").set_index("statistic")["published"]
    both = {"value": table["value"], "published": [known.get(s) for s in table["statistic"]]}
    shown = {
        name: [v if average or pd.isna(v) else int(v) for v, average in zip(values, averages)]
        for name, values in both.items()
    }
    return table.assign(**{name: pd.Series(values, dtype=object) for name, values in shown.items()})


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
    bounds = mean_by(stacked, "score", "scenario", seed=seed)[["scenario", "mean_low", "mean_high"]]
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
    names = {f"mean{end}": f"dissatisfied{end}" for end in ("", "_low", "_high")}
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


def by_assistant(corpus: Corpus, seed: int = 42) -> pd.DataFrame:
    """Mean score an assistant with intervals, and the share of its turns scored 3 or lower; best first."""
    turns = scored(corpus).dropna(subset=["assistant"])
    turns = turns.assign(low_score=turns["score"] <= 3)
    mean = mean_by(turns, "score", "assistant", seed=seed)
    names = {f"mean{end}": f"dissatisfied{end}" for end in ("", "_low", "_high")}
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


@dataclass(frozen=True)
class FirstQuestion:
    """What the backbone said: one row a reply (empty when it could not be asked), and a sentence about it."""

    table: pd.DataFrame
    note: str


def ask_first(corpus: Corpus, name: str, turns: int = 3, seed: int = 42) -> FirstQuestion:
    """Let backbone `name` score a few replies by the prompt `judge_generic`; nothing raised for a missing one."""
    from perslib.llm import backbone
    from perslib.llm.registry import entries
    from perslib.prompts import prompt

    entry = entries().get(name)
    if entry and entry.languages and corpus.language not in entry.languages:
        return FirstQuestion(pd.DataFrame(), _cannot_read(name, entry.model))
    rows = _few_turns(corpus, turns, seed)
    if rows.empty:
        return FirstQuestion(rows, translate("No reply has a score, so there is nothing to ask about."))
    judge = prompt("judge_generic", corpus.language)
    try:
        model = backbone(name)
        answers = model.ask_many(
            [judge.render(**_fields(corpus, row)) for _, row in rows.iterrows()], stage="first question"
        )
    except (PerslibError, ImportError) as error:
        return FirstQuestion(pd.DataFrame(), _missing(name, error))
    said = [a.data if isinstance(a.data, dict) else {} for a in answers]
    table = pd.DataFrame(
        {
            "scenario": rows["scenario"].to_list(),
            "reply_begins": [_beginning(text) for text in rows["response"]],
            "score": rows["score"].to_list(),
            "model_score": pd.array([s.get("score") for s in said], dtype="Int64"),
            "mode": [a.mode for a in answers],
            "seconds": [a.seconds for a in answers],
        }
    )
    return FirstQuestion(table, _asked(name, entry, table))


def _few_turns(corpus: Corpus, turns: int, seed: int) -> pd.DataFrame:
    """A few scored turns of different scores, drawn with the seed.

    They open their conversation and are among the shorter ones, so that a small model takes them in quickly.
    """
    pool = scored(corpus)
    pool = pool[pool["turn"] == pool["turn"].min()]
    shorter = pool.assign(length=pool["response"].str.len()).nsmallest(
        max(3 * turns, len(pool) * 3 // 10), "length"
    )
    drawn = shorter.sample(frac=1, random_state=seed)
    order = drawn.groupby("score").cumcount()
    return drawn.assign(order=order).sort_values(["order", "score"], kind="stable").head(turns)


def _beginning(text: str, longest: int = 70) -> str:
    """The first words of a reply, in one line."""
    line = " ".join(text.split())
    cut = line.rfind(" ", longest // 2, longest)
    return line if len(line) <= longest else line[: cut if cut > 0 else longest] + " …"


def _fields(corpus: Corpus, row: pd.Series) -> dict[str, Any]:
    block = corpus.block(row["user"], row["scenario"])
    target = block.target(row["session"], row["turn"])
    return {
        "scenario": target.scenario,
        "task": target.task or "",
        "conversation": list(target.window()),
        "reply": target.response,
        "written": True,
    }


# -- sentences ---------------------------------------------------------------------------------------------


def _asked(name: str, entry: Any, table: pd.DataFrame) -> str:
    asked = translate(
        "Backbone **{name}** was asked to score {replies} replies on the plain scale, without information "
        "about the user; {scored} got a score.",
        name=literally(name),
        replies=len(table),
        scored=table["model_score"].notna().sum(),
    )
    if entry is None or entry.kind != "embedded" or name != "embedded":
        return asked
    about = translate(
        "The embedded model, {model}, is very small and reads only English. It shows that a study runs from "
        "end to end, at no cost and without a network, and is useful for trying things out. It does not give "
        "results: do not interpret its scores as judgments.",
        model=literally(entry.model),
    )
    return paragraph(asked, about)


def _cannot_read(name: str, model: str) -> str:
    return translate(
        "Backbone **{name}** ({model}) does not read the language of this corpus, so it was not asked; choose "
        "another with `--backbone`.",
        name=literally(name),
        model=literally(model),
    )


def _missing(name: str, error: Exception) -> str:
    reason = literally(" ".join(str(error).split()))
    return translate("Backbone **{name}** could not be asked: {reason}", name=literally(name), reason=reason)
