"""How often the intervals of σ and λ hold the truth, and how the scale of costs comes out: fits of simulated users by likelihood.

`python benchmarks/patience.py --sets 40` takes about ten minutes; the aim is 93 to 97 %.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import pandas as pd

from perslib.systems.deus import PatienceModel, exploring, rule, score_recovery, simulate_dialogues, user2
from perslib.systems.deus.studies.patience import DRAWS, bound_number

USERS = {"noise 1.5, leaving 0.1": (1.5, 0.1), "noise 3": (3.0, 0.0)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--dialogues", type=int, default=800)
    given, rows = parser.parse_args(), []
    for name, (noise, quits) in USERS.items():
        for seed in range(100, 100 + given.sets):
            user = replace(user2(), noise=noise, quits=quits)
            dialogues = simulate_dialogues(exploring(rule, 0.4), user, given.dialogues, seed=seed)
            model = PatienceModel(estimator="likelihood", seed=seed).fit(dialogues)
            drawn = model.resample(dialogues, DRAWS)
            found = bound_number(model, drawn, "noise") | bound_number(model, drawn, "leaving")
            measures = score_recovery(model, dialogues).set_index("measure")["value"]
            rows.append(
                {"users": name, "σ": found["noise"], "λ": found["leaving"], "slope": measures["slope"]}
                | {"σ held": found["noise_low"] <= noise <= found["noise_high"]}
                | {"λ held": found["leaving_low"] <= quits <= found["leaving_high"]}
            )
    print(pd.DataFrame(rows).groupby("users", sort=False).mean().round(3).to_string())


if __name__ == "__main__":
    main()
