"""Crooked corpora: small ones in which something that pages take for granted is not so.

    from crooked import CROOKED
    corpus = CROOKED["dice"]()

Each is the sample of a few users with one thing bent, so that what a page then says wrongly is due to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import Corpus, Scale, load

Bend = Callable[[Corpus, np.random.Generator], Corpus]


@cache
def take_users(count: int) -> Corpus:
    """Return the sample of as many users, half of them test users."""
    sample = load("sample/en")
    test, train = (list(sample.meta["splits"][split]) for split in ("test", "train"))
    half = (count + 1) // 2
    return keep(sample, {*test[:half], *train[: count - half]})


def keep(corpus: Corpus, users: set[str]) -> Corpus:
    """Return the corpus of some of its users."""
    frames: dict[str, Any] = {}
    for name in ("users", "sessions", "turns", "events"):
        frame = getattr(corpus, name)
        frames[name] = frame[frame["user"].isin(users)].reset_index(drop=True)
    extras = {
        name: frame[frame["user"].isin(users)].reset_index(drop=True)
        for name, frame in corpus.extras.items()
        if "user" in frame
    }
    splits = {split: [user for user in own if user in users] for split, own in corpus.meta["splits"].items()}
    return replace(corpus, **frames, extras=extras, meta={**corpus.meta, "splits": splits, "users": len(users)})


def rescore(corpus: Corpus, change: Callable[[pd.Series], pd.Series], scale: Scale | None = None) -> Corpus:
    """Return the corpus with other scores of replies and, where they are rated, of conversations."""
    turns, sessions = corpus.turns.copy(), corpus.sessions.copy()
    turns["score"] = change(turns["score"].astype(float)).round().astype("Int64")
    sessions["satisfaction"] = change(sessions["satisfaction"].astype(float))
    turns.loc[turns["score"] > 3, "reason"] = None
    meta = {**corpus.meta}
    if scale is not None:
        turns["given"] = (
            (scale.low + (turns["score"].astype(float) - 1) / 4 * (scale.high - scale.low)).round().astype("Int64")
        )
        meta["scale"] = scale.as_dict()
    return replace(corpus, turns=turns, sessions=sessions, meta=meta)


def roll(corpus: Corpus, rng: np.random.Generator) -> Corpus:
    """Scores are drawn at random: nothing is to be found."""
    return rescore(corpus, lambda own: pd.Series(rng.integers(1, 6, len(own)), own.index).where(own.notna()))


def raise_rare(corpus: Corpus, rng: np.random.Generator) -> Corpus:
    """About 3 % of scores are low."""
    return rescore(
        corpus, lambda own: own.clip(4).where((own > 2) | (rng.random(len(own)) > 0.6), 2).where(own.notna())
    )


def take_one_scenario(corpus: Corpus, _: np.random.Generator) -> Corpus:
    """All conversations are of one kind."""
    one = corpus.scenarios[0]
    frames = {name: own[own["scenario"] == one] for name in ("sessions", "turns") for own in [getattr(corpus, name)]}
    extras = {name: own[own["scenario"] == one] if "scenario" in own else own for name, own in corpus.extras.items()}
    events = corpus.events[corpus.events["scenario"].isna() | (corpus.events["scenario"] == one)]
    return replace(corpus, **frames, extras=extras, events=events).with_evidence("conversations")


def drop_candidates(corpus: Corpus, _: np.random.Generator) -> Corpus:
    """There are no other replies to a request."""
    return replace(corpus, extras={})


def label_twice(corpus: Corpus, rng: np.random.Generator) -> Corpus:
    """Each reply was rated by a second user, who has the same conversations and other scores."""
    frames: dict[str, Any] = {}
    for name in ("users", "sessions", "turns"):
        own = getattr(corpus, name)
        other = own.assign(user=own["user"] + "b")
        if name == "turns":
            other["score"] = (other["score"].astype(float) + rng.integers(-1, 2, len(other))).clip(1, 5).astype("Int64")
        frames[name] = pd.concat([own, other], ignore_index=True)
    splits = {split: [*own, *(f"{user}b" for user in own)] for split, own in corpus.meta["splits"].items()}
    return replace(corpus, **frames, extras={}, events=corpus.events, meta={**corpus.meta, "splits": splits})


def name_own_topics(corpus: Corpus, _: np.random.Generator) -> Corpus:
    """Each user has topics of their own, so no scenario has two users."""
    frames: dict[str, Any] = {}
    for name in ("sessions", "turns", "events"):
        own = getattr(corpus, name)
        frames[name] = own.assign(scenario=(own["user"] + " " + own["scenario"]).where(own["scenario"].notna()))
    extras = {
        name: own.assign(scenario=own["user"] + " " + own["scenario"]) if "scenario" in own else own
        for name, own in corpus.extras.items()
    }
    return replace(corpus, **frames, extras=extras, meta={**corpus.meta, "scenarios": []})


def drop_reasons(corpus: Corpus, _: np.random.Generator) -> Corpus:
    """Nobody said why."""
    return replace(corpus, turns=corpus.turns.assign(reason=None))


def bend(count: int, how: Bend | None = None) -> Corpus:
    """Return the sample of as many users, bent."""
    corpus = take_users(count)
    return corpus if how is None else how(corpus, np.random.default_rng(0))


def _rescore(change: Callable[[pd.Series], pd.Series], scale: Scale | None = None) -> Bend:
    return lambda corpus, _: rescore(corpus, change, scale)


CROOKED: dict[str, Callable[[], Corpus]] = {
    "dice": partial(bend, 20, roll),
    "five_users": partial(bend, 5),
    "fourteen_users": partial(bend, 14),
    "everybody_5": partial(bend, 12, _rescore(lambda own: own.where(own.isna(), 5))),
    "one_scenario": partial(bend, 20, take_one_scenario),
    "no_candidates": partial(bend, 16, drop_candidates),
    "two_labels": partial(bend, 12, label_twice),
    "reversed": partial(bend, 20, _rescore(lambda own: 6 - own)),
    "nobody_dissatisfied": partial(bend, 16, _rescore(lambda own: own.clip(4))),
    "rare": partial(bend, 24, raise_rare),
    "own_topics": partial(bend, 16, name_own_topics),
    "no_reasons": partial(bend, 16, drop_reasons),
    "percent": partial(bend, 16, _rescore(lambda own: own, Scale(0, 100))),
}
