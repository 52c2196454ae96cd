"""Whether a reward model knows anything of replies: what it says of unseen users, against the wall, and under a swap.

    found = out_of_fold(Reward(), cases)             # verdicts on users that each model has not seen
    discrimination(found, wall(cases))               # AUROC with intervals, and against each baseline; warns
    swapped(model, cases)                            # another case's reply has to change the score

On synthetic logs these numbers test software; they say nothing of how good a reward model is on people.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedGroupKFold

from perslib.errors import NotEnough
from perslib.stats import RESAMPLES, SEED, compare_auroc
from perslib.stats.detection import BAD
from perslib.ux.cases import Case, goods, labelled, owners
from perslib.ux.reward import Reward

FOLDS = 5
QUERY_ONLY = "query only"


class RewardWarning(UserWarning):
    """A reward model's numbers may say little of replies."""


def out_of_fold(
    reward: Reward, cases: Sequence[Case], *, folds: int = FOLDS, seed: int = SEED
) -> pd.DataFrame:
    """Verdicts on all labelled cases, each by a model like `reward` that has not seen its user: as `Reward.verdicts`, with
    logit and fold."""
    known = labelled(cases)
    _, group = np.unique(owners(known).astype(str), return_inverse=True)
    good = goods(known)
    splits = min(folds, int(good.sum()), int((~good).sum()), len(np.unique(group)))
    if splits < 2:
        raise NotEnough(
            "A reward model is tested on users that it was not trained on, but all of these cases are of one "
            "user. Add cases of other users."
        )
    tables = []
    cut = StratifiedGroupKFold(splits, shuffle=True, random_state=seed).split(good, good, group)
    for fold, (train, test) in enumerate(cut):
        model = reward.anew().fit([known[i] for i in train])
        own = [known[i] for i in test]
        tables.append(model.verdicts(own).assign(logit=model.logits(own), fold=fold).set_axis(test))
    return pd.concat(tables).sort_index()


def discrimination(
    verdicts: pd.DataFrame,
    baselines: pd.DataFrame | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> pd.DataFrame:
    """Compute AUROC of each judge and of the baselines; columns as in `perslib.stats.compare_auroc`.

    A first judge that is not above `query only` (the whole interval) is warned of (`RewardWarning`): it may be telling
    which cases were selected, not which replies were good.
    """
    frames = [verdicts] if baselines is None else [verdicts, baselines]
    if any(frame.empty for frame in frames):
        raise NotEnough(
            "A reward model and baselines could not be trained on the same cases: this takes good and bad ones of "
            "several users."
        )
    table = compare_auroc(pd.concat(frames, ignore_index=True), resamples=resamples, seed=seed)
    _warn(table)
    return table


def _warn(table: pd.DataFrame) -> None:
    query = table[table["judge"] == QUERY_ONLY]
    if len(query) and not (query["ahead_low"].iloc[0] > 0):
        first, line = table.iloc[0], query.iloc[0]
        warnings.warn(
            f"{first['judge']} (AUROC {first['auroc']:.3f}) does not beat a baseline that reads the request alone "
            f"({line['auroc']:.3f}): it may know which cases were selected, and nothing of replies",
            RewardWarning,
            stacklevel=3,
        )


def swapped(reward: Reward, cases: Sequence[Case], *, seed: int = SEED, least: float = 0.05) -> pd.Series:
    """What happens to scores when replies change places between cases of one scenario: a reward model has to notice.

    - changed: share of cases whose log odds move by more than `least`; median_move: the median of |change|
    - own_preferred: share of good cases whose own reply scores above the swapped-in one; ½ is not knowing replies from requests
    - gap: mean P(good) of own replies less that of swapped ones, over good cases

    A `RewardWarning` is given where fewer than half of the scores change.
    """
    some = list(cases)
    if len({c.reply for c in some}) < 2:
        raise NotEnough(
            "Replies cannot be swapped: the cases of users that the reward model has not seen have only one "
            "reply, or none. Add judged cases."
        )
    other = _another(some, seed)
    moved = [
        Case(c.case, c.query, c.history, o.reply, user=c.user, scenario=c.scenario)
        for c, o in zip(some, other)
    ]
    known = np.array([c.reply != o.reply for c, o in zip(some, other)])
    before, after = reward.logits(some), reward.logits(moved)
    known &= ~np.isnan(before) & ~np.isnan(after)
    change = (after - before)[known]
    good = known & np.array([c.gold != BAD for c in some])
    ahead = before[good] - after[good]
    p = [reward.calibration_(s[good]) for s in (before, after)]
    changed = float((np.abs(change) > least).mean()) if len(change) else float("nan")
    if not changed >= 0.5:
        warnings.warn(
            f"with another case's reply the score of {reward.name} changes in {changed:.0%} of the cases only: it hardly "
            "reads the reply",
            RewardWarning,
            stacklevel=2,
        )
    return pd.Series(
        {
            "cases": int(known.sum()),
            "changed": changed,
            "median_move": float(np.median(np.abs(change))) if len(change) else float("nan"),
            "own_preferred": float(((ahead > 0) + (ahead == 0) / 2).mean()) if len(ahead) else float("nan"),
            "gap": float((p[0] - p[1]).mean()) if len(ahead) else float("nan"),
        }
    )


def _another(cases: Sequence[Case], seed: int) -> list[Case]:
    """For each case another of its scenario, each once: a rotation of a random order (of all, where a scenario has one)."""
    rng = np.random.default_rng(seed)
    scenario = pd.Series([c.scenario for c in cases])
    alone = scenario.map(scenario.value_counts()) < 2
    out: list[Case] = list(cases)
    for _, places in scenario.where(~alone, "").groupby(scenario.where(~alone, "")).groups.items():
        order = rng.permutation(np.asarray(places, dtype=int))
        for i, j in zip(order, np.roll(order, 1)):
            out[i] = cases[j]
    if alone.sum() == 1:  # alone among the lonely: any other will do
        i = int(np.flatnonzero(alone)[0])
        out[i] = cases[(i + 1) % len(cases)]
    return out
