"""The study of patience: dialogues of simulated users, what is estimated from them, and how much of the truth it is.

Dialogues come from a system made for another user that tries something else now and then, as Agent 1 does in the
paper. Without a run of the pipeline the rule policy is that system, so that a page needs no training of agents. `off`
are dialogues of another system: an estimate that holds there, too, is one of the user and not of the system.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from perslib.errors import UnknownName
from perslib.patience import (
    Dialogues,
    Patience,
    User,
    World,
    collect,
    exploring,
    patient,
    recovered,
    rule,
    talk,
    user1,
    user2,
    user3,
)
from perslib.patience.personal import WAYS, apart, of_lives, relative_patience, with_profiles
from perslib.patience.pipeline import HAND, Pipeline
from perslib.patience.text.crowd import Wording
from perslib.text import translate


@dataclass(frozen=True)
class Size:
    """How much a page simulates and how long it fits."""

    train: int
    test: int
    epochs: int
    people: int
    text: int
    seeds: int = 1


SIZES = {
    "smoke": Size(train=800, test=400, epochs=25, people=1000, text=500),
    "paper": Size(train=5000, test=1000, epochs=40, people=4000, text=1500, seeds=3),
    "long": Size(train=8000, test=2000, epochs=150, people=8000, text=3000, seeds=5),
}
#: Candidates of the paper for v_b.
TURN_COSTS = (-0.5, -1.0, -2.0, -10.0)
EXPLORED = 0.4
FULL, LIGHT, ONE_HOT, FORWARD, PLAIN = "full", "light", "one-hot", "forward-looking", "not forward-looking"


def size_of(preset: str) -> Size:
    """The sizes of a preset: smoke, paper or long."""
    if preset not in SIZES:
        raise UnknownName("preset", preset, SIZES)
    return SIZES[preset]


def can_fit() -> bool:
    """Whether torch is here; without it the page shows what needs no fit."""
    return importlib.util.find_spec("torch") is not None


@dataclass(frozen=True)
class Collected:
    """Dialogues of one user: to fit on, to test on, and to test on with another system."""

    train: Dialogues
    test: Dialogues
    off: Dialogues


def collected(user: User, size: Size, seed: int, explored: float = EXPLORED) -> Collected:
    """Dialogues of the rule system with this user; `off` are those of the patient system."""
    return Collected(
        collect(exploring(rule, explored), user, size.train, seed=seed),
        collect(exploring(rule, explored), user, size.test, seed=seed + 1),
        collect(exploring(patient, explored / 4), user, size.test, seed=seed + 2),
    )


def run_of(folder: str, preset: str) -> Pipeline | None:
    """The pipeline's run in this folder; what is missing of it is made. Without a folder, none."""
    return Pipeline(folder, preset).finish() if folder else None


def collected_in(run: Pipeline, user: str) -> Collected:
    """Agent 1's dialogues with "user2" or "user3", of the run's first seed; `off` are those of a noisy rule."""
    seed = run.sizes.seeds[0]
    return Collected(*(run.dialogues(seed, f"{user}{part}") for part in ("", "-test", "-rule")))


def success(run: Pipeline | None, size: Size, seed: int) -> pd.DataFrame:
    """Table 1 of a run; without one, of the hand policies: agent, user, success, spread."""
    if run is not None:
        return run.success()
    rows = [
        {
            "agent": name,
            "user": user.kind,
            "success": float((collect(policy, user, size.test, seed=seed + 3).status == 1).mean()),
            "spread": float("nan"),
        }
        for name, policy in HAND.items()
        for user in (user1(), user2(), user3())
    ]
    return pd.DataFrame(rows)


def fitted(
    data: Collected, size: Size, seed: int, ways: Mapping[str, Mapping[str, Any]]
) -> dict[str, Patience]:
    """One fit a way: its name → settings of `Patience`."""
    common = {"epochs": size.epochs, "seed": seed}
    return {name: Patience(**{**common, **own}).fit(data.train) for name, own in ways.items()}


def by_turn_cost(loss: str = FULL) -> dict[str, dict[str, Any]]:
    """The four settings of v_b, by the name of the row."""
    return {f"{loss}, v_b = {v:g}": {"v_b": v, "loss": loss} for v in TURN_COSTS}


def measured(models: Mapping[str, Patience], dialogues: Dialogues, seed: int) -> pd.DataFrame:
    """`recovered` for every fit, one below the other: method, measure, value, low, high."""
    parts = [recovered(m, dialogues, seed=seed, resamples=1000).assign(method=n) for n, m in models.items()]
    return pd.concat(parts, ignore_index=True)


# -- one dialogue a kind of user ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """The same goal and system with each kind of user, by the user's name."""

    worlds: dict[str, World]

    def frame(self) -> pd.DataFrame:
        """A row a turn, turn 0 being the start: user, turn, cost, left, needed (budget left, and h' of User 3)."""
        rows = []
        for name, world in self.worlds.items():
            rows.append({"user": name, "turn": 0, "cost": 0, "left": world.patience, "needed": 0.0})
            rows += [
                {"user": name, "turn": k, "cost": t.cost, "left": t.left, "needed": t.outlook}
                for k, t in enumerate(world.turns, 1)
            ]
        return pd.DataFrame(rows)


def told(seed: int, gamma: float = 0.3, tries: int = 400) -> Told:
    """A goal that User 1 reaches, that User 2 gives up on, and User 3 earlier: the first that is found."""
    users = {"User 1": user1(), "User 2": user2(), "User 3": user3(gamma)}
    worlds: dict[str, World] = {}
    for number in range(tries):
        worlds = {
            name: talk(exploring(rule, 0.1), World(user, np.random.default_rng((seed, number))))
            for name, user in users.items()
        }
        reasons = [world.reason for world in worlds.values()]
        turns = [len(world.turns) for world in worlds.values()]
        if reasons == ["success", "budget", "forward"] and turns[1] > turns[2] > 2:
            break
    return Told(worlds)


def spoken(world: World, language: str, seed: int) -> list[dict[str, str]]:
    """The dialogue in words, as messages; each system turn with its cost and what is then left."""
    wording, values = Wording(language, np.random.default_rng(seed)), world.goal.values
    messages = []
    for turn in world.turns:
        cost = translate("cost {cost}, left {left}", cost=turn.cost, left=f"{turn.left:g}")
        template = world.actions.templates[turn.action]
        messages += [
            {"role": "user", "content": wording.user(turn.said, values)},
            {"role": "assistant", "content": wording.system(template, values), "note": cost},
        ]
    if world.status < 0:
        messages.append({"role": "user", "content": wording.leaving()})
    return messages


def estimated(shown: Told, models: Mapping[str, Patience]) -> pd.DataFrame:
    """Budgets by the fits, one for each user name: user, turn, budget; turn 0 being the estimated patience."""
    parts = []
    for name, model in models.items():
        world = shown.worlds[name]
        template = collect(rule, world.user, 1)
        dialogues = Dialogues(
            (world.dialogue(name),), template.action_list, template.goal_names, template.state_names
        )
        turns = model.turn_satisfaction(dialogues)
        left = turns["budget"] + turns["ahead"]  # h' is what User 3 looks at, not what is spent
        own = pd.DataFrame({"turn": turns["turn"], "budget": left})
        start = pd.DataFrame({"turn": [0], "budget": turns["patience"].iloc[:1]})
        parts.append(pd.concat([start, own]).assign(user=name))
    columns = ["user", "turn", "budget"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


# -- people ------------------------------------------------------------------------------------------------


def people(size: Size, language: str, seed: int, number: int = 115) -> tuple[Dialogues, Dialogues]:
    """Dialogues of the synthetic world's people with their profiles; test users are not among the train users."""
    found = of_lives(number, seed, language)
    dialogues = collect(exploring(rule, 0.3), [p.user for p in found], size.people, seed=seed)
    return apart(with_profiles(dialogues, {p.user.kind: p.words for p in found}), seed=seed)


def of_people(train: Dialogues, test: Dialogues, size: Size, seed: int) -> dict[str, pd.DataFrame]:
    """Relative patience of test users, estimated and true, without and with their profile in h."""
    ways = {name: profile for name, profile in WAYS.items() if profile in ("", "h")}
    fits = {n: Patience(profile=p, epochs=size.epochs, seed=seed).fit(train) for n, p in ways.items()}
    return {name: relative_patience(model, test) for name, model in fits.items()}


#: A limit that ends many dialogues with User 2 while there is patience left.
FEW_TURNS = 8
TOLD_GAMMA = "γ = {gamma:g}"
TIMEOUTS = {f"timeout: {way}": {"timeout": way} for way in ("drop", "failed", "censored")}


def told_gammas(
    three: Collected, size: Size, seed: int, gamma: float, known: Patience | None = None
) -> dict[str, Patience]:
    """User 3 fitted with half of γ, with γ, and with twice as much; `known` is the fit with γ, where there is one."""
    told = [value for value in (gamma / 2, gamma, 2 * gamma) if value <= 1]
    ways = {TOLD_GAMMA.format(gamma=v): {"gamma": v} for v in told if known is None or v != gamma}
    models = fitted(three, size, seed, ways)
    if known is not None:
        models[TOLD_GAMMA.format(gamma=gamma)] = known
    return {name: models[name] for name in (TOLD_GAMMA.format(gamma=v) for v in told)}


def cut_short(size: Size, seed: int, most: int = FEW_TURNS) -> tuple[Dialogues, dict[str, Patience]]:
    """User 2's dialogues of at most `most` turns, and a fit for each way of counting those that the limit ended."""
    data = collected(replace(user2(), max_turns=most), size, seed)
    return data.train, fitted(data, size, seed, TIMEOUTS)


def ended_by_limit(dialogues: Dialogues) -> float:
    """Share of dialogues that the limit on turns ended."""
    return float((dialogues.status == 0).mean())


def repeated(user: User, size: Size, seeds: Iterable[int], v_b: float = -1.0) -> pd.DataFrame:
    """Dialogues and fit made anew under each seed: seed, measure, value."""
    parts = []
    for seed in seeds:
        data = collected(user, size, seed)
        model = Patience(v_b, epochs=size.epochs, seed=seed).fit(data.train)
        parts.append(recovered(model, data.test, seed=seed, resamples=0).assign(seed=seed))
    return pd.concat(parts, ignore_index=True)[["seed", "measure", "value"]]
