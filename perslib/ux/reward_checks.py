"""Whether a reward model knows anything of replies: what it says of unseen users, against the wall, and under a swap.

    found = out_of_fold(Reward(), cases)             # verdicts on users that each model has not seen
    discrimination(found, wall(cases))               # AUROC with intervals, and against each baseline; warns
    selective_risk(found)                            # errors when only the surest are kept
    swapped(model, cases)                            # another case's reply has to change the score

On synthetic logs these numbers test software; they say nothing of how good a reward model is on people.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.model_selection import StratifiedGroupKFold

from perslib.errors import DataError, NotEnough, Problem
from perslib.stats import RESAMPLES, SEED, floats, interval, resample_units, two_sided_p
from perslib.ux.cases import BAD, GOOD, Case, goods, labelled, labels, owners
from perslib.ux.confusion import detection
from perslib.ux.reward import Reward
from perslib.ux.scored import probability_metrics

Floats = npt.NDArray[np.float64]
FOLDS = 5
AT_ONCE = 200
"""Resamples that are worked on together."""
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
    """AUROC of each judge with its interval, users resampled, and how far the first judge is above each; one row a judge.

    Columns: judge, cases, users, auroc, low, high, ahead (AUROC of the first judge less this one's), ahead_low, ahead_high,
    p. On the cases that all have a probability of. A first judge that is not above `query only` (the whole interval) is
    warned of (`RewardWarning`): it may be telling which cases were selected, not which replies were good.
    """
    frames = [verdicts, *([] if baselines is None else [baselines])]
    both = pd.concat([f[["judge", "case", "user", "gold", "p_good"]] for f in frames], ignore_index=True)
    if both.duplicated(["judge", "case"]).any():
        raise DataError(Problem("verdicts", "has two verdicts of a judge on a case"))
    names = list(dict.fromkeys(both["judge"]))
    wide = both.pivot(index="case", columns="judge", values="p_good")[names]
    about = both.drop_duplicates("case").set_index("case").loc[wide.index]
    gold = labels(about["gold"], place="gold")
    p = np.column_stack([floats(wide[name]) for name in names])
    kept = ~np.isnan(gold) & ~np.isnan(p).any(axis=1)
    users = about["user"].where(about["user"] != "", wide.index.to_series()).to_numpy()[kept]
    user, weights = resample_units(users, resamples, seed)
    drawn = np.array([_auroc(gold[kept] == GOOD, p[kept, i], user, weights) for i in range(len(names))])
    rows = []
    for i, name in enumerate(names):
        low, high = interval(drawn[i, 1:])
        ahead = drawn[0] - drawn[i]
        ahead_low, ahead_high = interval(ahead[1:]) if i else (np.nan, np.nan)
        row = {"judge": name, "cases": int(kept.sum()), "users": len(weights), "auroc": drawn[i, 0]}
        row |= {"low": low, "high": high, "ahead": ahead[0] if i else np.nan}
        row |= {"ahead_low": ahead_low, "ahead_high": ahead_high}
        rows.append({**row, "p": two_sided_p(ahead[1:]) if i else np.nan})
    table = pd.DataFrame(rows)
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


def _auroc(
    good: npt.NDArray[np.bool_], p: Floats, user: npt.NDArray[np.intp], weights: npt.NDArray[Any]
) -> Floats:
    """AUROC in each resample: of all pairs of a good and a bad case, how many are in order; equal ones count half.

    Cases are sorted once; in each resample the bad weight below every good case is a running sum.
    """
    order = np.argsort(p, kind="stable")
    p, good, user = p[order], good[order], user[order]
    starts = np.flatnonzero(np.r_[True, p[1:] > p[:-1]]) if len(p) else np.array([], dtype=int)
    out = np.full(weights.shape[1], np.nan)
    for begin in range(0, weights.shape[1] if len(p) else 0, AT_ONCE):
        part = slice(begin, begin + AT_ONCE)
        w = weights[:, part].astype(float)[user]
        above = np.add.reduceat(w * good[:, None], starts, axis=0)
        below = np.add.reduceat(w * ~good[:, None], starts, axis=0)
        ordered = (above * (np.cumsum(below, axis=0) - below / 2)).sum(axis=0)
        pairs = above.sum(axis=0) * below.sum(axis=0)
        out[part] = np.divide(ordered, pairs, out=np.full(pairs.shape, np.nan), where=pairs > 0)
    return out


def reward_numbers(verdicts: pd.DataFrame) -> pd.Series:
    """All numbers of one judge's verdicts: AUROC, AUPRC, Brier with its parts, ECE, d′ and c of its threshold, abstention.

    `kept` is the share it does not abstain from, `kept_accuracy` how often it is right there; `kept_good_errors` and
    `kept_bad_errors` are the shares of all good and of all bad cases that are called the other without abstaining: what
    alpha bounds.
    """
    gold, said = labels(verdicts["gold"], place="gold"), labels(verdicts["said"], place="said")
    good, bad = gold == GOOD, gold == BAD
    found: dict[str, float] = probability_metrics(verdicts["gold"], verdicts["p_good"])
    hit, alarm = ((said == BAD) & bad).sum(), ((said == BAD) & good).sum()
    of = detection(hit, bad.sum(), alarm, good.sum())
    found |= {
        "d_prime": float(of.d_prime),
        "criterion": float(of.criterion),
        "balanced_accuracy": float(of.accuracy),
    }
    if "abstains" in verdicts:
        kept = ~verdicts["abstains"].to_numpy(bool) & ~np.isnan(gold)
        wrong = kept & (said != gold)
        found |= {
            "kept": float(kept.sum() / max(1, (good | bad).sum())),
            "kept_accuracy": float(1 - wrong.sum() / kept.sum()) if kept.any() else float("nan"),
            "kept_good_errors": float((wrong & good).sum() / good.sum()) if good.any() else float("nan"),
            "kept_bad_errors": float((wrong & bad).sum() / bad.sum()) if bad.any() else float("nan"),
        }
    return pd.Series(found)


def selective_risk(verdicts: pd.DataFrame, steps: int = 20) -> pd.DataFrame:
    """Error of the verdicts when only the surest are kept: coverage, cases, risk, and balanced risk (mean of both labels').

    Sure is what is far from the threshold (`sure`, of a judge that has none: |p − ½|). The mean of `risk` over coverages is
    the area under the risk–coverage curve (El-Yaniv & Wiener 2010).
    """
    gold, said = labels(verdicts["gold"], place="gold"), labels(verdicts["said"], place="said")
    p = floats(verdicts["p_good"])
    known = ~np.isnan(gold) & ~np.isnan(said) & ~np.isnan(p)
    if not known.any():
        raise NotEnough(
            "There is no case with a label, a verdict and a probability: label some of the judged replies."
        )
    sure = floats(verdicts["sure"]) if "sure" in verdicts else np.abs(p - 0.5)
    gold, said, p, sure = gold[known], said[known], p[known], sure[known]
    order = np.argsort(-sure, kind="stable")
    wrong, good = (said != gold)[order], (gold == GOOD)[order]
    rows = []
    for n in sorted({max(1, round(len(p) * i / steps)) for i in range(1, steps + 1)}):
        sides = [wrong[:n][side] for side in (good[:n], ~good[:n])]
        balanced = np.mean([s.mean() for s in sides]) if all(len(s) for s in sides) else np.nan
        rows.append({"coverage": n / len(p), "cases": n, "risk": wrong[:n].mean(), "balanced_risk": balanced})
    return pd.DataFrame(rows)


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
