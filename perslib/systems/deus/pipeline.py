"""The paper's four steps as one run that can be stopped and taken up again (DEUS, figure 1).

    run = Pipeline("runs/patience", "smoke").finish()
    run.success(), run.outcomes()                  # Table 1 with its controls; each dialogue behind it
    run.simulate_user(42, "user2"), run.estimate(42, "R2")

1 Agent 1 is made for User 1: the rule · 2 collect its dialogues with users 2 and 3, with exploration (without, too few
actions are seen to tell their costs apart) · 3 estimate R2, R3 (looking ahead) and R4 (the same dialogues, not looking
ahead) · 4 train Agents 2, 3 and 4 with these. Controls: the same without a budget (`cost alone`), with the true costs and
budgets, and the hand policies. Every result is a file of its own below `seed-…`; what is there is not made again.
"""

from __future__ import annotations

import json
import shutil
import weakref
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import mkdtemp

import pandas as pd
from tqdm.auto import tqdm

from perslib.errors import DataError, Problem, UnknownName
from perslib.stats import with_wilson
from perslib.systems.deus.agents import Agent, TrainingSettings, estimate_belief, fit_agent, thrifty, try_policy
from perslib.systems.deus.estimator import PatienceModel
from perslib.systems.deus.policies import Policy, exploring, patient, rule, shrewd, simulate_dialogues
from perslib.systems.deus.world.records import Dialogues
from perslib.systems.deus.world.users import Belief, User, user1, user2, user3


@dataclass(frozen=True)
class Size:
    """How much is simulated."""

    train: int
    test: int
    learned: int  # dialogues that an agent learns from
    judged: int  # dialogues for each success rate of an agent
    references: int  # the same of a hand policy with User 2, for whom the best plan is computed
    sampled: int  # goals a domain that plans are compared on
    people: int
    seeds: int = 1


SIZES = {
    "smoke": Size(800, 400, 1500, 2000, 10_000, 4000, people=1000),
    "paper": Size(5000, 1000, 40_000, 20_000, 20_000, 20_000, people=4000, seeds=3),
    "long": Size(8000, 2000, 200_000, 20_000, 20_000, 50_000, people=8000, seeds=5),
}
EXPLORED = 0.4
#: What each agent is trained for: the user, and the estimate ("" is the truth).
TRAINED = {
    "Agent 2": ("user2", "R2"),
    "Agent 3": ("user3", "R3"),
    "Agent 4": ("user3", "R4"),
    "true cost 2": ("user2", ""),
    "true cost 3": ("user3", ""),
}
#: The same without a budget: with the cost of each action, or the mean cost of all with as many slots.
ALONE, MEANS = "{}, cost alone", "{}, mean costs alone"
THRIFTY = {how.format(name): TRAINED[name] for how in (ALONE, MEANS) for name in ("Agent 3", "Agent 4")}
#: Which dialogues an estimate is made from, and whether its losses look ahead.
ESTIMATED = {"R2": ("user2", False), "R3": ("user3", True), "R4": ("user3", False)}
HAND: dict[str, Policy] = {"Agent 1": rule, "patient": patient, "shrewd": shrewd}
HAND_USERS = {"Agent 1": ("user1", "user2", "user3"), "patient": ("user2", "user3"), "shrewd": ("user2", "user3")}
#: Hand policies that agents are compared with.
REFERENCES = ("patient", "shrewd")

#: Dialogues that agents are judged on have seeds of their own.
JUDGED = 7_000_000


def size_of(preset: str) -> Size:
    """Return the sizes of a preset: smoke, paper or long."""
    if preset not in SIZES:
        raise UnknownName("preset", preset, SIZES)
    return SIZES[preset]


@dataclass(frozen=True)
class UserDialogues:
    """Dialogues of one user: to fit on, to test on, and to test on with another system."""

    train: Dialogues
    test: Dialogues
    off: Dialogues


def collect_dialogues(user: User, size: Size, seed: int) -> UserDialogues:
    """Collect dialogues of the rule system with this user; `off` are those of the patient system."""
    return UserDialogues(
        simulate_dialogues(exploring(rule, EXPLORED), user, size.train, seed=seed),
        simulate_dialogues(exploring(rule, EXPLORED), user, size.test, seed=seed + 1),
        simulate_dialogues(exploring(patient, EXPLORED / 4), user, size.test, seed=seed + 2),
    )


class Pipeline:
    """A run in a folder, by default one that goes with the run; `finish` makes what is missing."""

    def __init__(
        self,
        folder: Path | str = "",
        preset: str = "smoke",
        seeds: tuple[int, ...] = (),
        *,
        gamma: float = 0.3,
        progress: bool = True,
    ):
        self.sizes, self.progress = size_of(preset), progress
        self.seeds = seeds or tuple(range(42, 42 + self.sizes.seeds))
        if not folder:
            folder = mkdtemp(prefix="perslib-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.folder, self.gamma = Path(folder), gamma
        self._collected: dict[tuple[int, str], UserDialogues] = {}
        self._beliefs: dict[tuple[int, str], Belief] = {}
        self.users = {"user1": user1(), "user2": user2(), "user3": user3(gamma)}
        stamp = self.folder / "preset.json"
        sizes = {**asdict(self.sizes), "gamma": gamma}
        if not stamp.exists():
            stamp.parent.mkdir(parents=True, exist_ok=True)
            stamp.write_text(json.dumps(sizes, indent=1) + "\n", "utf-8")
        elif json.loads(stamp.read_text("utf-8")) != sizes:
            raise DataError(
                Problem(str(stamp), f"this folder holds a run of other sizes than preset {preset!r}"),
                "Give the run a folder of its own, or remove this one.",
            )

    def _at(self, seed: int, name: str) -> Path:
        return self.folder / f"seed-{seed}" / name.replace(" ", "-").replace(",", "").lower()

    def simulate_user(self, seed: int, user: str) -> UserDialogues:
        """Simulate step 2, with "user2" or "user3"."""
        if (seed, user) not in self._collected:
            self._collected[seed, user] = self._collect(seed, user)
        return self._collected[seed, user]

    def _collect(self, seed: int, user: str) -> UserDialogues:
        paths = [self._at(seed, f"{user}-{part}.parquet") for part in ("train", "test", "off")]
        if not paths[-1].exists():
            made = collect_dialogues(self.users[user], self.sizes, seed)
            for path, dialogues in zip(paths, (made.train, made.test, made.off), strict=True):
                dialogues.save(path)
            return made
        return UserDialogues(*map(Dialogues.read, paths))

    def estimate(self, seed: int, name: str) -> PatienceModel:
        """Estimate step 3: "R2", "R3" or "R4"."""
        user, ahead = ESTIMATED[name]
        place = self._at(seed, name)
        if not (place / "card.json").exists():
            model = PatienceModel(gamma=self.gamma if ahead else None, seed=seed)
            model.fit(self.simulate_user(seed, user).train).save(place)
        return PatienceModel.load(place)

    def agent(self, seed: int, name: str) -> Policy:
        """Return an agent of step 4 (`TRAINED` or `THRIFTY`), or a hand policy."""
        if name in HAND:
            return HAND[name]
        if name not in TRAINED | THRIFTY:
            raise UnknownName("agent", name, [*TRAINED, *THRIFTY, *HAND])
        user, known = (TRAINED | THRIFTY)[name]
        place = self._at(seed, name)
        if name in TRAINED and (place / "card.json").exists():
            return Agent.load(place)
        belief = self._believe(seed, known) if known else None
        if belief and name in THRIFTY:
            return thrifty(belief.by_slots() if name == MEANS.format(name.split(",")[0]) else belief)
        # Who was not estimated to look ahead is trained with as one who does not.
        believed = replace(self.users[user], forward=ESTIMATED[known][1]) if known else self.users[user]
        learned = fit_agent(believed, TrainingSettings(self.sizes.learned, seed=seed), belief)
        learned.save(place)
        return learned

    def _believe(self, seed: int, known: str) -> Belief:
        if (seed, known) not in self._beliefs:
            seen = self.simulate_user(seed, ESTIMATED[known][0]).train
            self._beliefs[seed, known] = estimate_belief(self.estimate(seed, known), seen)
        return self._beliefs[seed, known]

    def evaluate_agent(self, seed: int, name: str) -> pd.DataFrame:
        """Return the outcomes of an agent with its user, of Agent 1 with users 1, 2 and 3, of other hand policies with
        2 and 3.
        """
        path = self._at(seed, f"{name}.parquet")
        if not path.exists():
            policy, parts = self.agent(seed, name), []
            for user in HAND_USERS.get(name) or [(TRAINED | THRIFTY)[name][0]]:
                is_reference = name in REFERENCES and user == "user2"
                number = self.sizes.references if is_reference else self.sizes.judged
                ends = try_policy(policy, self.users[user], number, seed=JUDGED + seed)
                about = {"agent": name, "seed": seed, "user": user, "dialogue": range(len(ends))}
                parts.append(pd.DataFrame({**about, "success": ends}))
            path.parent.mkdir(parents=True, exist_ok=True)
            pd.concat(parts, ignore_index=True).to_parquet(path)
        return pd.read_parquet(path)

    def finish(self) -> Pipeline:
        """Make everything that is not there yet."""
        tasks: list[tuple[Callable[[int, str], object], int, str]] = []
        for seed in self.seeds:
            tasks += [(self.evaluate_agent, seed, name) for name in (*HAND, *TRAINED, *THRIFTY)]
        bar = tqdm(tasks, disable=not self.progress, desc="patience")
        for make, seed, name in bar:
            bar.set_postfix_str(f"{name}, seed {seed}")
            make(seed, name)
        return self

    def outcomes(self) -> pd.DataFrame:
        """Return every dialogue that agents were judged on: agent, seed, user, dialogue (with the same goal for all),
        success.
        """
        rows = [self.evaluate_agent(seed, name) for seed in self.seeds for name in (*HAND, *TRAINED, *THRIFTY)]
        return pd.concat(rows, ignore_index=True)

    def success(self) -> pd.DataFrame:
        """Return the table 1 and its controls: agent, user, success in percent with its interval over dialogues,
        dialogues.
        """
        groups = self.outcomes().groupby(["agent", "user"], sort=False)["success"]
        table = groups.agg(success="mean", dialogues="size").reset_index()
        return with_wilson(table.assign(success=100 * table["success"]), "success", table["dialogues"])
