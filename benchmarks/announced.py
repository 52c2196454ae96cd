"""How often `agree`, `compare` and page 13 announce what is not there: judges that read nothing, logs that do not differ, people without tastes.

python benchmarks/announced.py [RUNS]        # 200 runs; each line: what, and the share of runs that announced something
"""

from __future__ import annotations

import sys
from functools import cache

import numpy as np
import pandas as pd

from perslib.comparisons.agree import agree
from perslib.comparisons.logs import compare_logs
from perslib.corpus import load
from perslib.judge.learned.choices import HABIT, LIKES, Choices, TasteModel
from perslib.report.show.claims import Estimate
from perslib.studies.choices import NEIGHBOUR, collect_choices, compare_foretold, foretell_choices
from perslib.studies.people_compared import collect_rated_replies


def make_labels(draw: np.random.Generator, users: int, each: int, skew: float) -> pd.DataFrame:
    """Make labels of users with levels of their own; with `skew` some users have many more items than others."""
    sizes = np.maximum(3, (each * draw.lognormal(0, skew, users)).astype(int))
    user = np.repeat(np.arange(users), sizes)
    level = draw.normal(3.6, 0.8, users)[user]
    label = np.clip(np.rint(level + draw.normal(0, 0.9, len(user))), 1, 5)
    return pd.DataFrame({"item": np.arange(len(user)), "user": user, "label": label, "level": level})


def announces_level(draw: np.random.Generator, users: int, skew: float) -> bool:
    """Return whether a judge that knows only the user's level is called usable."""
    table = make_labels(draw, users, 12, skew)
    table["gpt"] = np.clip(np.rint(table.pop("level") + draw.normal(0, 0.5, len(table))), 1, 5)
    return " is usable" in agree(table, judges=["gpt"], label="label").answer


def announces_random(draw: np.random.Generator, users: int, skew: float) -> bool:
    """Return whether the best of six judges of dice is called usable."""
    table = make_labels(draw, users, 12, skew).drop(columns="level")
    judges = [f"judge_{i}" for i in range(6)]
    table[judges] = draw.integers(1, 6, (len(table), 6))
    return " is usable" in agree(table, judges=judges, label="label").answer


def announces_logs(draw: np.random.Generator, results: int, skew: float, by: str | None) -> bool:
    """Return whether any result of two logs that differ by chance alone, a user's items together, is called higher or lower."""
    table = make_labels(draw, 30, 8, skew)[["item", "user"]]
    logs = []
    for _ in range(2):
        moods = draw.lognormal(0, skew or 0.01, (30, results)) * draw.choice([-1, 1], (30, results))
        noise = draw.normal(0, 1, (len(table), results))
        logs.append(table.assign(**{f"score_{i}": 10 + moods[table["user"], i] + noise[:, i] for i in range(results)}))
    logs = [log if by else log.drop(columns="user") for log in logs]
    answer = compare_logs(*logs, by=by).answer
    return " is higher" in answer or " is lower" in answer


def announces_tastes(draw: np.random.Generator, panels: int) -> list[str]:
    """Return what is announced of choices on the pairs of CRAGC-25 by people who have habits of side, and no tastes of their own."""
    frame, choices, shared = _read_pairs()
    seen = np.isin(frame["panel"], draw.choice(frame["panel"].unique(), panels, replace=False))
    people, user = np.unique(choices.user, return_inverse=True)
    quality = draw.normal(0, 0.3, int(choices.pair.max()) + 1)[choices.pair] * np.where(
        frame["one"] < frame["two"], 1, -1
    )
    chance = (1 + (shared + quality + draw.normal(0, 0.15, len(people))[user]).clip(-1, 1)) / 2
    y = np.where(draw.random(len(user)) < chance, 1.0, -1.0)
    drawn = frame.assign(y=y)[seen].reset_index(drop=True)
    drawn["panel"] = pd.factorize(drawn["panel"])[0]
    table = compare_foretold(foretell_choices(drawn, Choices(choices.x, y, choices.user, choices.pair).take(seen)))
    rows = table.set_index("known")
    return [name for name in (HABIT, NEIGHBOUR) if Estimate.of(rows.loc[name], "own_ahead").side == "above"]


@cache
def _read_pairs() -> tuple[pd.DataFrame, Choices, np.ndarray]:
    corpus, rated, _ = collect_rated_replies(load("people/cragc"))
    frame, choices, _ = collect_choices(rated, corpus)
    model = TasteModel.fit(choices)
    x, weights = model.weigh(choices, LIKES)
    return frame, choices, (x * weights).sum(axis=1).clip(-1, 1)


def main() -> None:
    """Print the share of runs that announce something, a line a null."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    nulls = {
        **{f"agree: a level alone, {n} users": lambda d, n=n: announces_level(d, n, 0.0) for n in (12, 30, 60)},
        "agree: a level alone, 30 users, skewed": lambda d: announces_level(d, 30, 1.0),
        **{f"page 13: own tastes, {n} panels": lambda d, n=n: HABIT in announces_tastes(d, n) for n in (12, 33)},
        **{f"page 13: this person's, {n} panels": lambda d, n=n: NEIGHBOUR in announces_tastes(d, n) for n in (12, 33)},
        **{f"agree: best of six dice, {n} users": lambda d, n=n: announces_random(d, n, 0.0) for n in (12, 30)},
        **{f"compare: {k} results": lambda d, k=k: announces_logs(d, k, 0.0, "user") for k in (4, 10)},
        "compare: 10 results, skewed": lambda d: announces_logs(d, 10, 1.0, "user"),
        "compare: 4 results, no clusters named": lambda d: announces_logs(d, 4, 1.0, None),
    }
    for name, run in nulls.items():
        share = np.mean([run(np.random.default_rng(seed)) for seed in range(runs)])
        print(f"{name:45} {share:6.1%}", flush=True)


if __name__ == "__main__":
    main()
