"""How often intervals over users hold what they promise, and tests of "no gain" reject a true null.

Users are drawn with replacement from a population whose own agreement is the truth; an interval of 95 % should contain it in 95
of 100 samples. Populations: the test users of both bundled samples, a synthetic world of `--world` users, and, where somebody
put it (`PERSLIB_REAL_DATA`), the test users of PersTurnBench. The judge is `learned`, with real-valued scores and with whole
ones (`cdf`); gains are over one control, and over whichever control does best in each sample.

`python benchmarks/coverage.py` prints the coverage of every metric and gain for each number of users, also where a page
shows no interval since it covers too rarely (`perslib.stats.agreement.metrics.check_users`). It takes an hour.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, Corpus, load
from perslib.judge import LearnedJudge
from perslib.judge.baselines import controls
from perslib.stats import METRICS, interval, with_gold
from perslib.stats.agreement.metrics import LOWER_IS_BETTER, interval_scale, measure_under
from perslib.stats.resample.agreement_sums import AgreementSums
from perslib.studies.verification import judge_test_users
from perslib.worlds import world

REAL = Path(os.environ.get("PERSLIB_REAL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
AT_ONCE = 40
"""Samples that are measured together."""


def corpora(options: argparse.Namespace) -> Iterator[tuple[str, Corpus]]:
    """Give the populations by name."""
    for name in ("sample/en", "sample/zh"):
        yield name, load(name)
    yield f"world of {options.world}", world(users=options.world, seed=7, language="en")
    release = REAL / "persturnbench" / "persturnbench_42users.tar.gz"
    if release.is_file():
        import tarfile

        from perslib.corpus.loaders.persturnbench import read

        with tempfile.TemporaryDirectory() as folder, tarfile.open(release) as archive:
            archive.extractall(folder, filter="data")
            yield "PersTurnBench", read(Path(folder)).corpus


def population(corpus: Corpus, score: str) -> tuple[dict[str, AgreementSums], int]:
    """Return the sums of the learned judge and of each control on the turns that all scored, and the number of users."""
    judges = [LearnedJudge(), *controls()]
    frame = with_gold(judge_test_users(judges, corpus), corpus, [score]).dropna(subset=[score, "gold"])
    wide = frame.pivot_table(index=[*BLOCK, "session", "turn", "gold"], columns="judge", values=score).dropna()
    about = wide.index.to_frame(index=False)
    user, users = pd.factorize(about["user"])
    block = about.groupby(BLOCK).ngroup().to_numpy()
    gold = about["gold"].to_numpy(float)
    return {name: AgreementSums(gold, wide[name].to_numpy(float), user, len(users), block) for name in wide}, len(users)


def draw(users: int, size: int, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Return users × (trials · (1 + size)) weights: each sample, and the same without each user that was drawn."""
    parts = []
    for _ in range(trials):
        drawn = rng.integers(0, users, size)
        weights = np.repeat(np.bincount(drawn, minlength=users)[:, None], 1 + size, axis=1)
        weights[drawn, 1 + np.arange(size)] -= 1
        parts.append(weights)
    return np.concatenate(parts, axis=1).astype(float)


def cover(sums: dict[str, AgreementSums], users: int, size: int, options: argparse.Namespace) -> pd.DataFrame:
    """Return the coverage of every metric of the first judge and of its gains, with the mean width of intervals."""
    own, *others = (name for name in ("learned", *(n for n in sums if n != "learned")))
    truth = {name: measure_under(part, METRICS, np.ones((users, 1))) for name, part in sums.items()}
    rng, hits = np.random.default_rng(1), {}
    for _ in range(options.trials // AT_ONCE):
        weights = draw(users, size, AT_ONCE, rng)
        found = {
            name: {m: v.reshape(AT_ONCE, -1) for m, v in measure_under(part, METRICS, weights).items()}
            for name, part in sums.items()
        }
        for metric in METRICS:
            values, sign = found[own][metric], -1 if metric in LOWER_IS_BETTER else 1
            collect(hits, (metric, "value"), interval(values, interval_scale(metric)), truth[own][metric][0])
            gains = {n: sign * (values - found[n][metric]) for n in others}
            true = {n: sign * (truth[own][metric][0] - truth[n][metric][0]) for n in others}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                reached = np.array([sign * found[n][metric][:, 0] for n in others])
            best = np.where(np.isfinite(reached).any(axis=0), np.nan_to_num(reached, nan=-np.inf).argmax(axis=0), 0)
            usual = others[int(np.nanargmax([sign * truth[n][metric][0] for n in others]))]
            collect(hits, (metric, "gain"), interval(gains[usual]), true[usual])
            chosen = np.array([gains[others[b]][i] for i, b in enumerate(best)])
            collect(hits, (metric, "gain over the best"), interval(chosen), np.array([true[others[b]] for b in best]))
    rows = []
    for (metric, kind), parts in hits.items():
        low, high, true = (np.concatenate([np.broadcast_to(p[i], p[0].shape) for p in parts]) for i in range(3))
        known = np.isfinite(low)
        inside = (low <= true + 1e-12) & (true - 1e-12 <= high)
        rows.append(
            {
                "metric": metric,
                "kind": kind,
                "coverage": inside[known].mean() if known.any() else np.nan,
                "known": known.mean(),
            }
        )
    return pd.DataFrame(rows)


def collect(hits: dict, key: tuple[str, str], found: tuple, truth: float | np.ndarray) -> None:
    hits.setdefault(key, []).append((*found[:2], np.asarray(truth)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, nargs="*", default=[10, 15, 20, 30, 50, 90])
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--world", type=int, default=400)
    parser.add_argument("--out", help="a CSV file for all figures")
    options = parser.parse_args()
    tables = []
    for name, corpus in corpora(options):
        for score in ("real", "cdf"):
            sums, users = population(corpus, score)
            for size in options.users:
                table = cover(sums, users, size, options).assign(population=name, score=score, users=size)
                tables.append(table)
                wide = table.pivot(index="metric", columns="kind", values="coverage").reindex(list(METRICS))
                print(f"\n{name} ({users} users), {score}, samples of {size}", flush=True)
                print(wide.round(3).T.to_string(), flush=True)
    if options.out:
        pd.concat(tables).to_csv(options.out, index=False)


if __name__ == "__main__":
    main()
