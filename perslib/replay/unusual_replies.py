"""Replies unlike all that users were given: what a judge learned from ratings says nothing of these.

A judge scores nonsense as readily as an answer. Whether a reply is unlike others is read off the reply and its
conversation, whoever judges it. Its distance is Mahalanobis's from replies to train users, in the six `FEATURES`; the limit
is learned from replies to train users of whom nothing else is known.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
from sklearn.covariance import ledoit_wolf

from perslib.corpus import Corpus
from perslib.memory.features import TurnContext, read_evidence_turns, read_target_turn, tokens
from perslib.replay.replies import blocks_of
from perslib.stats import SEED, Floats

#: What replies are measured by: log number of words (characters of Chinese); shares of letters, of spelling that others
#: have, of unrepeated pairs of words, of pairs that the user wrote; and words in common with what the user wrote.
FEATURES = ("length", "letters", "spelling", "variety", "copied words", "words of the request")
#: Replies to train users that it takes, and so many of them, drawn at random, that are measured.
FEWEST, MOST = 30, 2_000
#: The limit is so many times the distance within which this share lies: of the replies to train users, or of those in
#: the user's own history where these lie farther out. The tail itself would be too few replies to tell.
FAR, WITHIN = 1.4, 0.95


def name_differences(corpus: Corpus, replies: pd.DataFrame) -> pd.Series:
    """Name for each reply the feature in which it is most unlike those to train users and those in its user's history.

    "" where it is not unlike them; missing where there is no reply, or too few replies to train users to know. A corpus
    without train users gives all of its own replies in their place.
    """
    differences = pd.Series(None, replies.index, dtype=object)
    turns = corpus.turns.dropna(subset="response")
    train = turns[turns["user"].isin(corpus.split().get("train", []))]
    known = train if len(train) >= FEWEST else turns
    known = known.sample(min(len(known), MOST), random_state=SEED).sort_index()
    usual = [(block.user, read_target_turn(target)) for block, _ in blocks_of(corpus, known) for target in block]
    by_user = len({user for user, _ in usual}) > 1
    groups = np.array([user if by_user else f"{turn.scenario}/{turn.session}" for user, turn in usual], object)
    if len(usual) < FEWEST or len(set(groups)) < 2:
        return differences
    spelled = _count_spellings(groups, [turn.reply for _, turn in usual])
    by_others = {three for three, count in spelled.items() if count > 1}
    rows = np.array([_measure(turn, by_others) for _, turn in usual])
    own_rows = [(rows[groups != group], rows[groups == group]) for group in sorted(set(groups))]
    reach = np.quantile(np.concatenate([_learn_distances(rest)(own)[0] for rest, own in own_rows]), WITHIN)
    measure_distances = _learn_distances(rows)
    measure = cache(lambda turn: _measure(turn, spelled.keys()))
    given = replies[replies["response"].fillna("").str.strip() != ""]
    for block, places in blocks_of(corpus, given):
        past = [measure(turn) for turn in read_evidence_turns(block.evidence)]
        own = np.quantile(measure_distances(np.array(past))[0], WITHIN) if past else 0.0
        shown = replace(block, targets=block.targets.assign(response=given.loc[places, "response"].to_numpy()))
        distances, most = measure_distances(np.array([measure(read_target_turn(target)) for target in shown]))
        differences[places] = np.where(distances > FAR * max(reach, own), np.array(FEATURES, object)[most], "")
    return differences


def _count_spellings(groups: Iterable[str], replies: Iterable[str]) -> Counter[str]:
    """Count the groups in whose replies each three of characters is."""
    own: dict[str, set[str]] = {}
    for group, reply in zip(groups, replies):
        own.setdefault(group, set()).update(_spell(tokens(reply)))
    return Counter(three for threes in own.values() for three in threes)


def _spell(words: Sequence[str]) -> set[str]:
    text = f" {' '.join(words)} "
    return {text[i : i + 3] for i in range(len(text) - 2)} if words else set()


def _measure(turn: TurnContext, spelled: Set[str]) -> list[float]:
    """Return the `FEATURES` of a reply."""
    words, wrote = tokens(turn.reply), tokens(" ".join([turn.task, *turn.requests, turn.request]))
    characters, threes, pairs = "".join(turn.reply.split()), _spell(words), set(pairwise(words))
    known, asked = set(words), set(wrote)
    return [
        math.log1p(len(words)),
        sum(map(str.isalpha, characters)) / max(len(characters), 1),
        len(threes & spelled) / max(len(threes), 1),
        len(pairs) / max(len(words) - 1, 1),
        len(pairs.intersection(pairwise(wrote))) / max(len(pairs), 1),
        len(known & asked) / math.sqrt(max(len(known) * len(asked), 1)),
    ]


def _learn_distances(rows: Floats) -> Callable[[Floats], tuple[Floats, np.ndarray]]:
    """Return what measures how far others are from the middle of these rows, and in which feature most."""
    low, middle, high = np.quantile(rows, [0.05, 0.5, 0.95], axis=0)
    spread = np.maximum((high - low) / 3.3, 0.03)
    inverse = np.linalg.inv(ledoit_wolf(((rows - middle) / spread).clip(-4, 4))[0])

    def measure(others: Floats) -> tuple[Floats, np.ndarray]:
        away = (others - middle) / spread
        return np.sqrt(np.einsum("ij,jk,ik->i", away, inverse, away)), np.abs(away).argmax(axis=1)

    return measure
