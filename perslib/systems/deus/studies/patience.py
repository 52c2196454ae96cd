"""The study of patience: dialogues of simulated users, estimates from them, and the share of the truth in these.

Dialogues come from a system that was made for another user and tries other actions at random, as Agent 1 does in the
paper; `perslib.systems.deus.pipeline` collects them. `off` are dialogues of another system. An estimate that is right
there, too, describes the user and not the system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from perslib.stats import Resamples, correlation, estimate
from perslib.systems.deus.estimator import PatienceModel, status_rates
from perslib.systems.deus.pipeline import MEANS, REFERENCES, THRIFTY, TRAINED, Size, UserDialogues, collect_dialogues
from perslib.systems.deus.plans import PLANS, estimate_best_plan, estimate_mean
from perslib.systems.deus.policies import exploring, rule, run_task_dialogue, simulate_dialogues
from perslib.systems.deus.published import LEVELS, REWARD_SHARES, STATUS_ACCURACY, SUCCESS_RATES
from perslib.systems.deus.recovery import levels, reward_shares, score_recovery
from perslib.systems.deus.text.crowd import Wording
from perslib.systems.deus.user_profiles import make_profiles, relative_patience, split_by_user, with_profiles
from perslib.systems.deus.world.records import FAILURE, SUCCESS, Dialogues
from perslib.systems.deus.world.users import Belief, User, user1, user2, user3
from perslib.systems.deus.world.world import World

MAIN, LIGHT, FORWARD, PLAIN = "full, v_b = -1", "light", "forward-looking", "not forward-looking"
#: The full loss with each of the paper's candidates for v_b.
BY_TURN_COST: dict[str, dict[str, Any]] = {
    f"full, v_b = {v:g}": {"v_b": v, "loss": "full"} for v in (-0.5, -1.0, -2.0, -10.0)
}
#: Name of a fit → settings of `PatienceModel`.
FITS = BY_TURN_COST | {LIGHT: {"loss": "light"}, "one-hot": {"actions": "onehot"}}
NO_MARGIN: dict[str, dict[str, Any]] = {"without margin": {"margin": 0.0}}
TIMEOUTS = {f"timeout: {way}": {"timeout": way} for way in ("drop", "failed", "censored")}
#: A limit that ends many dialogues with User 2 before the patience is spent.
FEW_TURNS = 8
#: Standard deviation of patience between dialogues, and the probability of leaving after a turn for another reason.
NOISE, QUIT_CHANCE = 1.5, 0.1
ASSUMED, VARYING, LEAVING, AHEAD = "users: as assumed", "users: varying", "users: leaving", "users: ahead"
LOOSER_USERS = {
    VARYING: replace(user2(), noise=NOISE),
    LEAVING: replace(user2(), quits=QUIT_CHANCE),
    AHEAD: replace(user3(), noise=NOISE, quits=QUIT_CHANCE),
}
#: The same, fitted by likelihood, and foretold by the true costs.
LIKELY, TRUTH = ({name: f"{name}, {how}" for name in LOOSER_USERS} for how in ("likelihood", "truth"))
#: Resamples behind the intervals of noise and leaving.
DRAWS = 20
#: Columns of a table of recovery, in this order.
MEASURES = ("step_r", "level_r", "slope_per_v_b", "within_std", "h_r", "stop_accuracy")
#: Name of a fit → the paper's status accuracy.
PUBLISHED_STATUS = STATUS_ACCURACY | {f"full, {name}": share for name, share in STATUS_ACCURACY.items()}
USERS = {"user1": "User 1", "user2": "User 2", "user3": "User 3"}
BEST_PLAN, MEAN_COSTS, PLANS_TRIED = "best plan", "mean costs alone", len(PLANS)


# -- dialogues ---------------------------------------------------------------------------------------------


def count_endings(data: Mapping[str, Dialogues]) -> pd.DataFrame:
    """Return how dialogues ended, one row per user.

    Columns: user, dialogues, mean_turns, and the share of each reason to end: left_success,
    left_budget, left_forward, left_maxturn.
    """
    reasons = ("success", "budget", "forward", "maxturn")
    rows = []
    for name, dialogues in data.items():
        reasons_found = [d.reason for d in dialogues]
        shares = {f"left_{r}": reasons_found.count(r) / len(reasons_found) for r in reasons}
        rows.append({"user": name, "dialogues": len(reasons_found), "mean_turns": dialogues.turns.mean(), **shares})
    return pd.DataFrame(rows)


def compare_reward_shares(data: Mapping[str, Dialogues]) -> pd.DataFrame:
    """Return the share of turns at each true reward in per cent (Table 2), the paper's first: user, -1, -2 … -7."""
    simulated = {name: reward_shares(dialogues).set_index("true")["share"] for name, dialogues in data.items()}
    shares = pd.DataFrame({"paper": pd.Series(REWARD_SHARES), **simulated}).reindex(list(REWARD_SHARES))
    table = 100 * shares.fillna(0.0).T.rename(columns="{:g}".format)
    return table.rename_axis("user").reset_index()


# -- fits --------------------------------------------------------------------------------------------------


def fit_each(data: UserDialogues, seed: int, ways: Mapping[str, Mapping[str, Any]]) -> dict[str, PatienceModel]:
    """Fit `PatienceModel` once for each way, a name with settings; return the fits by name."""
    return {name: PatienceModel(**{"seed": seed, **settings}).fit(data.train) for name, settings in ways.items()}


def repeat_fit(draws: Mapping[str, tuple[User, int]], size: Size) -> pd.DataFrame:
    """Collect new dialogues and repeat the main fit for each name, which has a user and a seed.

    Columns: those of `measure_recovery`.
    """
    parts = []
    for name, (user, seed) in draws.items():
        data = collect_dialogues(user, size, seed)
        parts.append(measure_recovery(fit_each(data, seed, {name: {}}), data.test))
    return pd.concat(parts, ignore_index=True)


def fit_looser_users(size: Size, seed: int) -> pd.DataFrame:
    """Fit dialogues of each of `LOOSER_USERS` by the linear program and by likelihood; add what the truth foretells.

    Columns: those of `measure_recovery`; noise and leaving with their bounds, as the likelihood estimates them; of the truth,
    only accuracy and balanced, with their bounds; it says nothing of users who look ahead.
    """
    parts = []
    for name, user in LOOSER_USERS.items():
        data = collect_dialogues(user, size, seed)
        gamma = user.gamma if user.forward else None
        linear = PatienceModel(gamma=gamma, seed=seed).fit(data.train)
        likely = PatienceModel(gamma=gamma, estimator="likelihood", seed=seed).fit(data.train)
        table = measure_recovery({name: linear, LIKELY[name]: likely}, data.test)
        drawn = likely.resample(data.train, DRAWS)
        for column in ("noise", "leaving"):
            for end, value in bound_number(likely, drawn, column).items():
                table[end] = [np.nan, value]
        parts.append(table)
        if gamma is None:
            parts.append(pd.DataFrame([{"method": TRUTH[name], **_foretell_by_truth(data.test)}]))
    return pd.concat(parts, ignore_index=True)


def bound_number(model: PatienceModel, drawn: Sequence[PatienceModel], name: str) -> dict[str, float]:
    """Return the noise or the leaving of a fit with an interval by the spread of its resamples; neither is below 0."""
    value, draws = getattr(model, f"{name}_"), np.array([getattr(own, f"{name}_") for own in drawn])
    off = student.ppf(0.975, len(draws) - 1) * draws.std(ddof=1)
    return {name: value, f"{name}_low": max(0.0, value - off), f"{name}_high": value + off}


def _foretell_by_truth(dialogues: Dialogues) -> dict[str, float]:
    """Return how often true costs and the patience of eq. 17 foretell the end."""
    truth = Belief.true()
    paid = np.array([costs.sum() for costs in dialogues.each("true_costs", "carry no true turn costs", "")])
    patience = np.array([float(d.goal @ truth.worth[:-1]) for d in dialogues])
    predicted = np.where(patience >= paid, SUCCESS, FAILURE)
    rates = status_rates(predicted, dialogues.status, Resamples(np.arange(len(dialogues))))
    return estimate(rates["accuracy"], "accuracy", "share") | estimate(rates["balanced"], "balanced", "share")


def measure_recovery(models: Mapping[str, PatienceModel], dialogues: Dialogues) -> pd.DataFrame:
    """Return what each fit recovers, one row per fit.

    Columns: method, and each measure of `perslib.systems.deus.score_recovery` with its bounds: step_r, step_r_low, step_r_high …
    """
    rows = []
    for name, model in models.items():
        measures = score_recovery(model, dialogues).set_index("measure")
        ends = {"value": "", "value_low": "_low", "value_high": "_high"}
        rows.append(
            {"method": name} | {f"{m}{end}": measures.at[m, c] for m in measures.index for c, end in ends.items()}
        )
    return pd.DataFrame(rows)


def measure_levels(models: Mapping[str, PatienceModel], dialogues: Dialogues) -> pd.DataFrame:
    """Return the estimated reward at each true one (Figures 2 to 5, Tables 3 and 4).

    Columns: true, mean, mean_std (over turns), turns, paper, paper_std (the paper's, if it has this fit), method (the
    fit).
    """
    parts = []
    for name, model in models.items():
        is_published = model.actions == "multihot" and model.gamma is None and not model.profile
        published = LEVELS.get((model.loss, model.v_b), {}) if is_published else {}
        paper = pd.DataFrame.from_dict(published, orient="index", columns=["paper", "paper_std"]).astype(float)
        table = levels(model.turn_satisfaction(dialogues), dialogues).rename(columns={"std": "mean_std"})
        parts.append(table.join(paper, on="true").assign(method=name))
    return pd.concat(parts, ignore_index=True)


# -- one dialogue per kind of user -------------------------------------------------------------------------


def find_goal(seed: int, gamma: float = 0.3) -> dict[str, World]:
    """Return dialogues on a goal that User 1 reaches, that User 2 gives up, and that User 3 gives up earlier."""
    users = {"User 1": user1(), "User 2": user2(), "User 3": user3(gamma)}
    worlds: dict[str, World] = {}
    for number in range(400):
        worlds = {
            name: run_task_dialogue(exploring(rule, 0.1), World(user, np.random.default_rng((seed, number))))
            for name, user in users.items()
        }
        reasons = [world.reason for world in worlds.values()]
        turns = [len(world.turns) for world in worlds.values()]
        if reasons == ["success", "budget", "forward"] and turns[1] > turns[2] > 2:
            break
    return worlds


def follow_budgets(worlds: Mapping[str, World], models: Mapping[str, PatienceModel]) -> pd.DataFrame:
    """Return the budgets of these users by turn; turn 0 is the start.

    Columns: user, dialogue (the user and how it ended, `User 2: left_budget`), turn, cost, left, needed (the cost of
    the rest that User 3 expects), estimated (the budget by the user's fit, if `models` has one).
    """
    parts = []
    for name, world in worlds.items():
        rows = [{"turn": 0, "cost": 0, "left": world.patience, "needed": 0.0}] + [
            {"turn": k, "cost": t.cost, "left": t.left, "needed": t.outlook} for k, t in enumerate(world.turns, 1)
        ]
        guess = _estimate_budget(world, models[name]) if name in models else np.nan
        columns = {"user": name, "dialogue": f"{name}: left_{world.reason}"}
        parts.append(pd.DataFrame([columns | row for row in rows]).assign(estimated=guess))
    return pd.concat(parts, ignore_index=True)


def _estimate_budget(world: World, model: PatienceModel) -> np.ndarray:
    template = simulate_dialogues(rule, world.user, 1)
    turns = model.turn_satisfaction(replace(template, dialogues=(world.dialogue("one"),)))
    left = turns["budget"] + turns["ahead"]  # User 3 looks at h', which is not what is spent
    return np.concatenate([turns["patience"].iloc[:1], left])


def write_dialogue(world: World, language: str, seed: int) -> list[dict[str, Any]]:
    """Return the dialogue in words, as messages; system turns have their `cost` and the budget that is then `left`."""
    wording, values = Wording(language, np.random.default_rng(seed)), world.goal.values
    messages: list[dict[str, Any]] = []
    for turn in world.turns:
        request = wording.user(turn.items, values)
        reply = wording.system(world.actions.templates[turn.action], values)
        messages += [
            {"role": "user", "content": request},
            {"role": "assistant", "content": reply, "cost": turn.cost, "left": turn.left},
        ]
    if world.status < 0:
        messages.append({"role": "user", "content": wording.leaving()})
    return messages


# -- agents and people -------------------------------------------------------------------------------------


def add_best_plan(success: pd.DataFrame, size: Size) -> pd.DataFrame:
    """Return the table with the expected success of the best plan with User 2.

    The column `paper` has the paper's success in percent.
    """
    best = {"agent": BEST_PLAN, "user": "user2", **estimate_best_plan(size.sampled)}
    table = pd.concat([success, pd.DataFrame([best])], ignore_index=True)
    published = 100 * SUCCESS_RATES
    paper = [published.get((USERS[user], agent), np.nan) for agent, user in zip(table["agent"], table["user"])]
    return table.assign(paper=paper)


def compare_success(success: pd.DataFrame) -> pd.DataFrame:
    """Return success in percent, one row per agent, the paper's above ours (Table 1).

    Columns: method, dialogues, User 1, User 1_low, User 1_high (over dialogues), User 2 …
    """
    ends = {"success": "", "success_low": "_low", "success_high": "_high"}
    ours = success.pivot(index="agent", columns="user", values=list(ends))
    ours.columns = [USERS[user] + ends[kind] for kind, user in ours.columns]
    paper = success.pivot(index="agent", columns="user", values="paper").rename(columns=USERS, index="paper: {}".format)
    order = [label for name in success["agent"].unique() for label in (f"paper: {name}", name)]
    table = pd.concat([paper.dropna(how="all"), ours.join(success.groupby("agent")["dialogues"].max())])
    return table.reindex(order).dropna(how="all").rename_axis("method").reset_index()


def compare_agents(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return the difference of each agent from hand policies, Agent 4 and its own mean costs.

    All are compared on the same dialogues of a seed.

    Columns: method (the agent), seed, reference, dialogues, difference (of success, in percentage points),
    difference_low, difference_high.
    """
    rows: list[dict[str, Any]] = []
    for (seed, _), rows_of_seed in outcomes.groupby(["seed", "user"]):
        ends = rows_of_seed.pivot(index="dialogue", columns="agent", values="success")
        for agent in (name for name in TRAINED | THRIFTY if name in ends):
            alone = MEANS.format(agent.split(",")[0])
            for reference, other in {**{name: name for name in (*REFERENCES, "Agent 4")}, MEAN_COSTS: alone}.items():
                if other in ends and other != agent:
                    both = 100 * ends[[agent, other]].dropna().astype(float)
                    columns = {"method": agent, "seed": seed, "reference": reference, "dialogues": len(both)}
                    rows.append(columns | estimate_mean((both[agent] - both[other]).to_numpy(), "difference"))
    return pd.DataFrame(rows)


def count_seeds(compared: pd.DataFrame, agent: str, reference: str) -> tuple[int, int]:
    """Return on how many seeds the agent is better, and worse, than the reference: the interval is on one side of 0."""
    rows = compared[(compared["method"] == agent) & (compared["reference"] == reference)]
    return int((rows["difference_low"] > 0).sum()), int((rows["difference_high"] < 0).sum())


def collect_people(size: Size, language: str, seed: int, number: int = 115) -> tuple[Dialogues, Dialogues]:
    """Return dialogues of the synthetic world's people with their profiles, divided into train users and test users."""
    people = make_profiles(number, seed, language)
    dialogues = simulate_dialogues(exploring(rule, 0.3), [p.user for p in people], size.people, seed=seed)
    return split_by_user(with_profiles(dialogues, {p.user.kind: p.words for p in people}), seed=seed)


def estimate_patience(train: Dialogues, test: Dialogues, seed: int) -> pd.DataFrame:
    """Return the relative patience of test users, estimated and true, without and with their profile in h.

    Columns: method, and those of `relative_patience`: user, estimated, true, dialogues.
    """
    parts = []
    for name, profile in (("without profile", False), ("profile in h", True)):
        model = PatienceModel(profile=profile, seed=seed).fit(train)
        parts.append(relative_patience(model, test).assign(method=name))
    return pd.concat(parts, ignore_index=True)


def correlate_patience(people: pd.DataFrame) -> pd.DataFrame:
    """Return the correlation of estimated and true relative patience over users.

    Columns: method, user_r, user_r_low, user_r_high, users.
    """
    rows = []
    for name, rows_of_method in people.groupby("method", sort=False):
        r = correlation(rows_of_method["estimated"], rows_of_method["true"], rows_of_method["user"])
        bounds = dict(zip(("user_r", "user_r_low", "user_r_high"), r))
        rows.append({"method": name, **bounds, "users": len(rows_of_method)})
    return pd.DataFrame(rows)
