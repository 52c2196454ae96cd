"""From behaviour to a user's memory: weak labels where nobody rated anything.

    signals = signals_of(corpus)          # a row a turn: how each reply was taken
    labels = weak_labels(signals)         # what that says of satisfaction, how surely, and why
    weak = behavioural(corpus)            # the corpus with these labels for ratings, for any memory and any judge

A signal votes for a score with a weight; the label is the mean of the votes, the weight their sum up to 1:

    label = Σ wᵢ·vᵢ / Σ wᵢ        weight = min(1, Σ wᵢ)

These votes were set by hand: a button says most, a word less, the clock least, and to go on talking speaks faintly for a
reply that was good enough. Four signals have none, because people's ratings, Chinese and English, do not both show that
they say anything of a reply: asking in other words, giving up, changing the topic, and acknowledging. Where ratings are
known, `fit_votes(corpus)` learns from train users what each signal is worth; then `label = base + Σ effect·strength`:

    labels = weak_labels(signals, fit_votes(corpus))
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from perslib.corpus import SESSION, TURN, Corpus, relabel
from perslib.errors import NotEnough
from perslib.stats import floats
from perslib.systems.uxbench.loaders.log_records import LogSession, Message
from perslib.systems.uxbench.signals.model import DEFAULT, SignalSettings
from perslib.systems.uxbench.signals.table import SCORED, table

#: Signal → (score it votes for, weight of the vote at full strength).
VOTES: dict[str, tuple[float, float]] = {
    "dislike": (1.0, 1.0),
    "complain": (2.0, 0.9),
    "repeat": (2.0, 0.6),
    "rephrase": (2.0, 0.0),
    "dismiss": (2.0, 0.0),
    "skim": (3.0, 0.3),
    "abandon": (3.0, 0.0),
    "like": (5.0, 1.0),
    "thanks": (5.0, 0.7),
    "ack": (4.0, 0.0),
    "parallel_request": (4.0, 0.3),
    "continue": (4.0, 0.15),
    "no_followup": (4.0, 0.1),
}
SATISFIED = 3.5
#: Ridge penalty of fitted votes: as if so many turns had said that a signal means nothing.
PENALTY = 5.0
_OF_LOG = ("record", "cid", "reply", "next")


def signals_of(corpus: Corpus, settings: SignalSettings = DEFAULT) -> pd.DataFrame:
    """Return how each reply of a corpus was taken: the columns of `perslib.systems.uxbench.signals.table`, a row a turn
    in the corpus' order.
    """
    sessions, places = make_log_sessions(corpus)
    table_of_signals = table(sessions, settings, private=False).to_pandas().drop(columns=list(_OF_LOG))
    table_of_signals.index = pd.Index(places)
    keys = corpus.turns[TURN]
    return pd.concat([keys, table_of_signals.loc[keys.index]], axis=1)


def make_log_sessions(corpus: Corpus) -> tuple[list[LogSession], list[int]]:
    """Return the conversations of a corpus as sessions of a log, and the rows of `turns` that their replies are."""
    turns = corpus.turns
    asked, answered = _seconds(turns["asked_at"]), _seconds(turns["answered_at"])
    columns = list(zip(turns["earlier"], turns["request"], turns["response"], turns["feedback"], asked, answered))
    trailing = dict(zip(zip(*(corpus.sessions[c] for c in SESSION)), corpus.sessions["trailing"]))
    sessions, places = [], []
    for key, rows in turns.groupby(SESSION, sort=False).indices.items():
        messages: list[Message] = []
        for row in rows.tolist():
            earlier, request, response, feedback, asked_at, answered_at = columns[row]
            for text in [*earlier, request] if isinstance(request, str) else earlier:
                messages.append(_message(len(messages), "user", text, asked_at))
            clicked = {"like": 1, "dislike": -1}.get(feedback, 0)
            messages.append(_message(len(messages), "assistant", response, answered_at, clicked))
            places.append(row)
        for text in trailing[key]:
            messages.append(_message(len(messages), "user", text, None))
        sessions.append(LogSession("/".join(map(str, key)), tuple(messages), dict(zip(SESSION, key))))
    return sessions, places


def _message(idx: int, role: str, text: str, t: float | None, feedback: int = 0) -> Message:
    return Message(idx, role, text, t, feedback, len(text))


def _seconds(times: pd.Series) -> list[float | None]:
    values = times.astype("datetime64[us]").astype("int64").to_numpy() / 1e6
    return [None if gone else value for value, gone in zip(values.tolist(), times.isna())]


@dataclass(frozen=True)
class Votes:
    """What each signal adds to a reply's score, as rated turns show it."""

    base: float
    effects: dict[str, float]
    turns: int
    """Rated turns that it was learned from."""


def fit_votes(corpus: Corpus, settings: SignalSettings = DEFAULT) -> Votes:
    """Learn the worth of each signal from train users' ratings, by ridge regression on strengths."""
    strengths = pd.DataFrame(_strengths(signals_of(corpus, settings)))
    score = floats(corpus.turns["score"])
    own = corpus.turns["user"].isin(corpus.split().get("train", [])).to_numpy() & np.isfinite(score)
    if not own.any():
        raise NotEnough("Votes are fitted on train users' ratings, and {corpus} has none.", corpus=corpus.name)
    x, y = strengths[own].to_numpy(), score[own]
    centre = x - x.mean(axis=0)
    effects = np.linalg.solve(centre.T @ centre + PENALTY * np.eye(x.shape[1]), centre.T @ (y - y.mean()))
    return Votes(float(y.mean() - x.mean(axis=0) @ effects), dict(zip(strengths, effects.tolist())), int(own.sum()))


def _strengths(signals: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return how strong each signal that votes is, after every reply."""
    strengths = {name: signals[name].to_numpy(float) for name in SCORED if name in VOTES}
    primary = signals["primary"].to_numpy()
    return strengths | {name: (primary == name).astype(float) for name in ("continue", "no_followup")}


def weak_labels(signals: pd.DataFrame, votes: Votes | None = None) -> pd.DataFrame:
    """Return labels from signals: `label` (1–5, null where nothing speaks), `weight` (0–1), `satisfied`, and `why`.

    A reply that was cut off or superseded, and one that was liked and rejected at once, gets no label.
    """
    strengths = _strengths(signals)
    weights = np.array([VOTES[name][1] * strength for name, strength in strengths.items()])
    scores = np.array([VOTES[name][0] for name in strengths])
    mute = (signals["superseded"] | signals["interrupted"] | signals["conflict"]).to_numpy(bool)
    weights[:, mute] = 0.0
    total = weights.sum(axis=0)
    label = np.divide(scores @ weights, total, out=np.full(len(total), np.nan), where=total > 0)
    if votes is not None:
        fitted = votes.base + sum(votes.effects[name] * strength for name, strength in strengths.items())
        label = np.where(total > 0, np.clip(fitted, 1, 5), np.nan)
    names = np.array(list(strengths))
    why = [", ".join(names[np.argsort(-w, kind="stable")][: (w > 0).sum()]) for w in weights.T]
    return pd.DataFrame(
        {
            **{column: signals[column] for column in TURN if column in signals},
            "label": pd.array(label, "Float64"),
            "weight": np.minimum(1.0, total),
            "satisfied": pd.array(np.where(total > 0, label >= SATISFIED, None), "boolean"),
            "why": pd.Series(why, index=signals.index, dtype="str"),
        },
        index=signals.index,
    )


@relabel("behaviour")
def behavioural(corpus: Corpus, settings: SignalSettings = DEFAULT) -> Corpus:
    """Return the corpus as if nobody had rated: weak labels stand where ratings stood, and `meta["labels"]` says so.

    Scores are whole, as a memory expects them; `weak_label`, `weak_weight` and `weak_why` hold what they come from. Reasons, several annotators' ratings, and the satisfaction
    with whole sessions are gone, and so are the extras, where a synthetic corpus keeps its truth.
    """
    labels = weak_labels(signals_of(corpus, settings))
    turns = corpus.turns.assign(
        score=labels["label"].round().clip(1, 5).astype("Int64"),
        reason=None,
        ratings=[()] * len(corpus.turns),
        weak_label=labels["label"],
        weak_weight=labels["weight"],
        weak_why=labels["why"],
    )
    sessions = corpus.sessions.assign(satisfaction=None, success=None)
    meta = {**corpus.meta, "labels": "behaviour"}
    return replace(corpus, name=f"{corpus.name}-behaviour", turns=turns, sessions=sessions, extras={}, meta=meta)
