"""How often intervals of κ and F1 hold what they promise where few turns are dissatisfied and few users carry the agreement.

Users have levels of their own, and a judge is good for some of them only, or knows their level badly: then a few users bring most of
what a number on classes rests on. Samples are drawn from 4,000 users, whose own agreement is the truth; an interval of 95 % should
contain it in 95 of 100 samples. `hits` is the number of users with a dissatisfied turn that the judge finds, which
`perslib.stats.agreement.metrics.check_users` asks for.

`python benchmarks/rare.py` prints coverage without and with that rule; it takes some minutes.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

from perslib.stats import interval
from perslib.stats.agreement.metrics import interval_scale, measure_under
from perslib.stats.resample.agreement_sums import AgreementSums
from perslib.stats.resample.leave_one_out import FEWEST_CARRIERS, leave_out

METRICS = ("kappa", "f1_dsat", "f1_macro", "accuracy")
MANY = 4000
#: users, turns of each, share of dissatisfied turns, spread of users' levels
WORLDS = ((60, 20, 0.05, 1.0), (60, 20, 0.05, 2.0), (60, 50, 0.05, 2.0), (60, 60, 0.05, 1.0))
WORLDS += ((60, 20, 0.1, 1.5), (60, 20, 0.2, 1.5), (40, 20, 0.2, 1.0), (120, 20, 0.05, 1.5))


def make_people(
    turns: int, rate: float, spread: float, knows_users: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return users' scores and a judge's, users × turns: one whose skill differs by user, or one that mistakes their levels."""
    level, noise = rng.normal(0, spread, MANY)[:, None], rng.normal(size=(MANY, turns))
    true, other = level + noise, rng.normal(size=(MANY, turns))
    skill = rng.beta(1, 1, MANY)[:, None]
    if knows_users:
        judged = skill * true + np.sqrt(1 - skill**2) * other * np.sqrt(1 + spread**2)
    else:
        judged = 0.6 * true + rng.normal(0, 1.5 * spread, MANY)[:, None] + other
    scores = (np.where(own < np.quantile(own, share), 2, 5) for own, share in ((true, rate), (judged, 1.2 * rate)))
    gold, said = scores
    return gold.astype(float), said.astype(float)


def sum_up(gold: np.ndarray, said: np.ndarray) -> AgreementSums:
    user = np.repeat(np.arange(len(gold)), gold.shape[1])
    return AgreementSums(gold.ravel(), said.ravel(), user, len(gold), user)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=250)
    given = parser.parse_args()
    rows = []
    for knows_users in (True, False):
        for users, turns, rate, spread in WORLDS:
            rng = np.random.default_rng(0)
            gold, said = make_people(turns, rate, spread, knows_users, rng)
            truth = measure_under(sum_up(gold, said), METRICS, np.ones((MANY, 1)))
            for _ in range(given.samples):
                drawn = rng.integers(0, MANY, users)
                hits = int(((gold[drawn] < 4) & (said[drawn] < 4)).any(axis=1).sum())
                for name, values in measure_under(sum_up(gold[drawn], said[drawn]), METRICS, leave_out(users)).items():
                    low, high, _p = interval(values, interval_scale(name))
                    rows.append((name, f"{users} × {turns}, {rate:.0%}, {spread}", hits, low <= truth[name][0] <= high))
    table = pd.DataFrame(rows, columns=["metric", "world", "hits", "holds"])
    enough = table[table["hits"] >= FEWEST_CARRIERS]
    print(
        f"without the rule\n{table.pivot_table(index='world', columns='metric', values='holds', margins=True).round(3)}\n"
    )
    print(
        f"with {FEWEST_CARRIERS} users or more\n{enough.pivot_table(index='world', columns='metric', values='holds', margins=True).round(3)}"
    )
    print(enough.groupby("world").size() // len(METRICS))


if __name__ == "__main__":
    main()
