"""Seconds for the intervals of every metric: 90 users, 6,474 turns, ten judges.

`python benchmarks/intervals.py` prints a table. Seven of the judges give whole scores and three real-valued ones,
whose ranks are dearer. Processor time is shown beside wall time, since other programs may be running.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from perslib.stats import METRICS, estimate, leave_out
from perslib.stats.agreement.metrics import interval_scale, measure_under
from perslib.stats.resample.agreement_sums import AgreementSums


def made(options: argparse.Namespace) -> list[AgreementSums]:
    """Gold with user levels, and judges that see it through noise."""
    rng = np.random.default_rng(0)
    user = np.sort(rng.integers(0, options.users, options.turns))
    level = rng.normal(4.2, 0.5, options.users)[user]
    gold = np.clip(np.rint(level + rng.normal(0, 0.8, options.turns)), 1, 5)
    noisy = [np.clip(gold + rng.normal(0, 1, options.turns), 1, 5) for _ in range(options.judges)]
    whole = round(0.7 * options.judges)
    return [AgreementSums(gold, np.rint(s) if i < whole else s, user, options.users) for i, s in enumerate(noisy)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("users", 90), ("turns", 6474), ("judges", 10), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    print(f"{'round':>5} {'wall s':>8} {'cpu s':>8}   ({len(METRICS)} metrics, {options.judges} judges)")
    for number in range(1, options.rounds + 1):
        judges = made(options)
        wall, cpu = time.perf_counter(), time.process_time()
        weights = leave_out(options.users)
        for sums in judges:
            for name, values in measure_under(sums, METRICS, weights).items():
                estimate(values, name, interval_scale(name))
        print(f"{number:>5} {time.perf_counter() - wall:>8.2f} {time.process_time() - cpu:>8.2f}")


if __name__ == "__main__":
    main()
