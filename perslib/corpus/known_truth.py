"""Corpora whose truth is known (`truth_users`, `truth_turns`): their users rate every reply to a request, on any scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from perslib.corpus.corpus import Corpus
from perslib.corpus.scale import Scale
from perslib.corpus.schema import TURN, coerce

FIVE = Scale()
#: Satisfaction above which a user of no strictness gives 2, 3, 4 and 5.
THRESHOLDS = (-4.15, -3.2, -2.03, 0.18)


def borders(strictness: float, top_shift: float) -> tuple[float, float, float, float]:
    """Return the borders of somebody so strict, to whom the best score is so much further."""
    t1, t2, t3, t4 = (t + strictness for t in THRESHOLDS)
    return t1, t2, t3, max(t3 + 0.3, t4 + top_shift)


def satisfaction_of(replies: pd.DataFrame, users: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """Return how satisfied each user is with a reply, 1–5 as a real number: utility and noise against the user's
    thresholds.

    Rounded, it is the score that the world gives. `replies` has user and utility, `users` is the frame `truth_users`.
    """
    of = users.set_index("user").loc[replies["user"]]
    noise = rng.normal(0, of["noise"].to_numpy(float))
    latent = replies["utility"].to_numpy(float) + noise
    steps = np.array([borders(*own) for own in of[["strictness", "top_shift"]].to_numpy(float)])
    ends = np.hstack([steps[:, :1] - 1, steps, steps[:, -1:] + 1])
    middle = (1, 1.5, 2.5, 3.5, 4.5, 5)
    return np.array([np.interp(value, own, middle) for value, own in zip(latent, ends)])


def rate(corpus: Corpus, scale: Scale = FIVE, seed: int = 42) -> Corpus:
    """Return the synthetic corpus as if its users had rated every reply anew on this scale, those of all assistants
    included.

    `candidates` gets score, given and chosen (the best liked of a request), and turns get new scores.
    """
    rng = np.random.default_rng(seed)
    users = corpus.extras["truth_users"]
    turns = corpus.turns.drop(columns=["score", "given"])
    utility = turns[TURN].merge(corpus.extras["truth_turns"][[*TURN, "utility"]], on=TURN, how="left")
    turns = turns.assign(**_make_rating_columns(satisfaction_of(utility, users, rng), scale))
    replies = corpus.extras["candidates"]
    felt = pd.Series(satisfaction_of(replies, users, rng), replies.index)
    replies = replies.assign(**_make_rating_columns(felt.to_numpy(), scale))
    best = felt.groupby([replies[c] for c in TURN]).idxmax()
    replies = coerce(replies.assign(chosen=replies.index.isin(best)), "candidates")
    meta = corpus.meta | ({} if scale.is_five else {"scale": scale.as_dict()})
    return replace(corpus, turns=turns, extras={**corpus.extras, "candidates": replies}, meta=meta)


def _make_rating_columns(felt: np.ndarray, scale: Scale) -> dict[str, np.ndarray]:
    """Return the columns score and given of so much satisfaction, rounded to the scale's steps."""
    given = scale.from_five(felt)
    given = np.rint(given / scale.step) * scale.step if scale.step else given
    columns = {"score": np.rint(scale.to_five(given))}
    return columns if scale.is_five else columns | {"given": given}
