"""The paper's four steps as one run that can be stopped and taken up again (DEUS, figure 1).

    run = Pipeline("runs/patience", "smoke").finish()
    run.success(), run.curves()                    # Table 1 with its controls; how the agents learned
    run.dialogues(42, "user2-test"), run.estimate(42, "R2")

1 train Agent 1 for User 1 · 2 collect its dialogues with users 2 and 3, with exploration (a greedy agent shows too few
actions to tell their costs apart) · 3 estimate R2, R3 (looking ahead) and R4 (the same dialogues, not looking ahead)
· 4 retrain: Agents 2, 3 and 4. Controls on the same terms: agents trained on the true cost and on f₁, and the hand
policies. Every result is a file of its own below `seed-…`; what is there is not made again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from perslib.errors import DataError, Problem, UnknownName
from perslib.patience.agents import Agent, Reward, Settings, estimated, learn, task_reward, training, true_cost
from perslib.patience.dialogues import Dialogues
from perslib.patience.estimator import Patience
from perslib.patience.policies import Policy, collect, exploring, patient, rule, shrewd
from perslib.patience.users import user1, user2, user3


@dataclass(frozen=True)
class Preset:
    """Sizes of a run."""

    fitted: int  # dialogues to fit on, as many again by a tenth to choose the epoch on
    tested: int
    epochs: int
    batch: int
    agent: Settings
    evaluated: int  # dialogues for each success rate
    seeds: tuple[int, ...]
    epsilon: float = 0.4  # random actions while collecting
    v_b: float = -1.0
    gamma: float = 0.3


BRIEF = Settings(2000, shown=300, drilled=600, check=1000, checked=60, caution=1.0)
FULL = Settings(20_000, shown=3000, drilled=3000, check=4000)
PATIENT = Settings(80_000, shown=5000, drilled=6000, check=10_000, checked=500)
PRESETS = {
    "smoke": Preset(600, 200, 30, 64, BRIEF, 200, (42,)),
    "paper": Preset(8000, 1000, 150, 32, FULL, 1000, (42, 43, 44)),
    "long": Preset(20_000, 2000, 150, 32, PATIENT, 2000, (42, 43, 44, 45, 46)),
}

#: What each agent is trained for: the user, and the reward by its name.
TRAINED: dict[str, tuple[str, str]] = {
    "Agent 1": ("user1", "f1"),
    "Agent 2": ("user2", "R2"),
    "Agent 3": ("user3", "R3"),
    "Agent 4": ("user3", "R4"),
    "true cost 2": ("user2", "f2"),
    "true cost 3": ("user3", "f2"),
    "task reward 2": ("user2", "f1"),
}
#: Which dialogues an estimate is made from, and whether its losses look ahead.
ESTIMATED = {"R2": ("user2", False), "R3": ("user3", True), "R4": ("user3", False)}
HAND: dict[str, Policy] = {"noisy rule": exploring(rule, 0.25), "rule": rule, "patient": patient, "shrewd": shrewd}

#: Dialogues that agents are judged on have seeds of their own.
JUDGED = 7_000_000


class Pipeline:
    """A run in a folder; `finish` makes what is missing, the other methods make what they need."""

    def __init__(self, folder: Path | str, preset: str = "smoke", seeds: tuple[int, ...] = (), progress: bool = True):
        if preset not in PRESETS:
            raise UnknownName("preset", preset, PRESETS)
        self.folder, self.sizes, self.progress = Path(folder), PRESETS[preset], progress
        self.seeds = seeds or self.sizes.seeds
        self.users = {"user1": user1(), "user2": user2(), "user3": user3(self.sizes.gamma)}
        stamp = self.folder / "preset.json"
        sizes = json.loads(json.dumps(asdict(self.sizes)))
        del sizes["seeds"]
        if not stamp.exists():
            stamp.parent.mkdir(parents=True, exist_ok=True)
            stamp.write_text(json.dumps(sizes, indent=1) + "\n", "utf-8")
        elif json.loads(stamp.read_text("utf-8")) != sizes:
            raise DataError(
                Problem(str(stamp), f"this folder holds a run of other sizes than preset {preset!r}"),
                "Give the run a folder of its own, or remove this one.",
            )

    def _at(self, seed: int, name: str) -> Path:
        return self.folder / f"seed-{seed}" / name.replace(" ", "-").lower()

    def agent(self, seed: int, name: str) -> Agent:
        """An agent of `TRAINED`: steps 1 and 4."""
        if name not in TRAINED:
            raise UnknownName("agent", name, TRAINED)
        place = self._at(seed, name)
        if not (place / "card.json").exists():
            user, reward = TRAINED[name]
            discount = 0.95 if user == "user1" else self.sizes.agent.discount
            settings = replace(self.sizes.agent, seed=seed, discount=discount)
            learn(self.users[user], self._reward(seed, reward), settings).save(place)
        return Agent.load(place)

    def _reward(self, seed: int, name: str) -> Reward:
        if name == "f1":
            return task_reward
        return training(true_cost if name == "f2" else estimated(self.estimate(seed, name)))

    def dialogues(self, seed: int, name: str) -> Dialogues:
        """Step 2: "user2" or "user3" to fit on, with "-choice" to choose the epoch, "-test", or "-rule" to test
        on: dialogues of a noisy rule instead of Agent 1.
        """
        user, _, part = name.partition("-")
        number = {"": self.sizes.fitted, "choice": self.sizes.fitted // 10}.get(part, self.sizes.tested)
        path = self._at(seed, f"{name}.parquet")
        if not path.exists():
            policy = HAND["noisy rule"]
            if part != "rule":
                policy = exploring(self.agent(seed, "Agent 1"), self.sizes.epsilon)
            stream = seed * 10 + ("", "choice", "test", "rule").index(part)
            collect(policy, self.users[user], number, seed=stream).save(path)
        return Dialogues.read(path)

    def estimate(self, seed: int, name: str) -> Patience:
        """Step 3: "R2", "R3" or "R4"."""
        user, ahead = ESTIMATED[name]
        place = self._at(seed, name)
        if not (place / "card.json").exists():
            model = Patience(
                self.sizes.v_b, gamma=self.sizes.gamma if ahead else None, epochs=self.sizes.epochs,
                batch=self.sizes.batch, seed=seed,
            )  # fmt: skip
            model.fit(self.dialogues(seed, user), self.dialogues(seed, f"{user}-choice")).save(place)
        return Patience.load(place)

    def judged(self, seed: int, name: str) -> pd.DataFrame:
        """How an agent or hand policy does with users 1, 2 and 3: success, turns, and why dialogues ended."""
        path = self._at(seed, f"{name}.csv")
        if not path.exists():
            policy = HAND[name] if name in HAND else self.agent(seed, name)
            rows = []
            for user in ("user1", "user2", "user3"):
                held = collect(policy, self.users[user], self.sizes.evaluated, seed=JUDGED + seed)
                reasons = pd.Series([d.reason for d in held]).value_counts(normalize=True)
                row = {"agent": name, "seed": seed, "user": user, "turns": held.turns.mean(), **reasons}
                rows.append({**row, "success": float(np.mean(held.status == 1))})
            path.parent.mkdir(parents=True, exist_ok=True)
            pd.DataFrame(rows).fillna(0.0).to_csv(path, index=False)
        return pd.read_csv(path)

    def finish(self) -> Pipeline:
        """Make everything that is not there yet."""
        tasks: list[tuple[Callable[[int, str], object], int, str]] = []
        for seed in self.seeds:
            tasks += [(self.judged, seed, name) for name in (*HAND, *TRAINED)]
            parts = ("user2-test", "user2-rule", "user3-test", "user3-rule")
            tasks += [(self.dialogues, seed, name) for name in parts]
        bar = tqdm(tasks, disable=not self.progress, desc="patience")
        for make, seed, name in bar:
            bar.set_postfix_str(f"{name}, seed {seed}")
            make(seed, name)
        return self

    def success(self) -> pd.DataFrame:
        """Table 1 and its controls: agent, user, success (mean over seeds), spread (standard deviation), turns, seeds."""
        rows = pd.concat([self.judged(s, n) for s in self.seeds for n in (*TRAINED, *HAND)])
        how = {"success": ("success", "mean"), "spread": ("success", "std")}
        how |= {"turns": ("turns", "mean"), "seeds": ("seed", "size")}
        return rows.groupby(["agent", "user"], sort=False).agg(**how).reset_index()

    def curves(self) -> pd.DataFrame:
        """Success while learning: agent, seed, step, success."""
        every = [(seed, name) for seed in self.seeds for name in TRAINED]
        found = [self.agent(seed, name).curve.assign(agent=name, seed=seed) for seed, name in every]
        return pd.concat(found, ignore_index=True)
