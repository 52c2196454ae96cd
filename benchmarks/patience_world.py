"""Milliseconds a dialogue in the simulated world, by policy and user.

`python benchmarks/patience_world.py` prints a table. Beside wall time stands processor time, which other programs do
not inflate, and both with and without keeping the dialogues for a fit. The aim is less than 2 ms.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from perslib.systems.deus import (
    World,
    exploring,
    patient,
    rule,
    run_task_dialogue,
    shrewd,
    simulate_dialogues,
    user1,
    user2,
    user3,
)
from perslib.systems.deus.policies import at_random

POLICIES = {
    "random": at_random,
    "noisy rule": exploring(rule, 0.25),
    "rule": rule,
    "patient": patient,
    "shrewd": shrewd,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dialogues", type=int, default=1000)
    number = parser.parse_args().dialogues
    print(f"{'policy':<11} {'user':<6} {'turns':>6} {'talked: wall':>13} {'processor':>10} {'kept: processor':>16}")
    for name, policy in POLICIES.items():
        for user in (user1(), user2(), user3()):
            run_task_dialogue(policy, World(user, np.random.default_rng(0)))
            wall, processor = time.perf_counter(), time.process_time()
            worlds = [run_task_dialogue(policy, World(user, np.random.default_rng((1, i)))) for i in range(number)]
            wall, processor = time.perf_counter() - wall, time.process_time() - processor
            kept = time.process_time()
            simulate_dialogues(policy, user, number, seed=1)
            kept = time.process_time() - kept
            turns = np.mean([len(w.turns) for w in worlds])
            each = [1000 * seconds / number for seconds in (wall, processor, kept)]
            print(f"{name:<11} {user.kind:<6} {turns:6.2f} {each[0]:13.2f} {each[1]:10.2f} {each[2]:16.2f}")


if __name__ == "__main__":
    main()
