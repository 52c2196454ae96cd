"""The tables of the page on patience: the paper's Tables 1 to 5 with its numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from perslib.inference import correlation
from perslib.metrics import with_interval
from perslib.patience import Dialogues, Patience, levels, reward_shares
from perslib.patience.published import LEVELS, REWARD_SHARES, STATUS_ACCURACY, SUCCESS_RATES

REWARDS = tuple(REWARD_SHARES)
#: What users are called in a run, and on the page.
USERS = {"user1": "User 1", "user2": "User 2", "user3": "User 3"}
#: What a table of recovery shows, in this order.
MEASURES = ("step_r", "level_r", "slope_per_v_b", "within_std", "h_r", "stop_accuracy")
STATUS = ("accuracy", "majority", "balanced", "within_success", "stop_accuracy")


def endings(data: Mapping[str, Dialogues]) -> pd.DataFrame:
    """Who left how: method (whose dialogues), dialogues, turns (mean), success, and the share of each reason."""
    rows = []
    for name, dialogues in data.items():
        reasons = pd.Series([d.reason for d in dialogues]).value_counts(normalize=True)
        shares = {
            f"left_{r}": float(reasons.get(r, 0.0)) for r in ("success", "budget", "forward", "maxturn")
        }
        rows.append(
            {"method": name, "dialogues": len(dialogues), "mean_turns": dialogues.turns.mean(), **shares}
        )
    return pd.DataFrame(rows)


def shares(data: Mapping[str, Dialogues]) -> pd.DataFrame:
    """Table 2: share of turns at each true reward in per cent, the paper's first."""
    rows = [{"method": "paper", **{f"{r:g}": 100 * s for r, s in REWARD_SHARES.items()}}]
    for name, dialogues in data.items():
        found = reward_shares(dialogues).set_index("true")["share"]
        rows.append({"method": name, **{f"{r:g}": 100 * float(found.get(r, 0.0)) for r in REWARDS}})
    return pd.DataFrame(rows)


def level_table(models: Mapping[str, Patience], dialogues: Dialogues) -> pd.DataFrame:
    """Tables 3 and 4: mean ± standard deviation of the estimated reward at each true one, ours below the paper's."""
    rows = []
    for name, model in models.items():
        paper = LEVELS.get((model.loss, model.v_b))
        if paper and _is_published(model):
            rows.append({"method": f"paper: {name}", **{f"{r:g}": _cell(*paper[r]) for r in REWARDS}})
        found = levels(model.turn_satisfaction(dialogues), dialogues).set_index("true")
        cells = {
            f"{r:g}": _cell(*found.loc[r, ["mean", "std"]]) if r in found.index else "–" for r in REWARDS
        }
        rows.append({"method": name, **cells})
    return pd.DataFrame(rows)


def levels_of(models: Mapping[str, Patience], dialogues: Dialogues) -> pd.DataFrame:
    """What Figures 2 to 5 draw: `levels` of every fit, with its name and the paper's mean where there is one."""
    parts = []
    for name, model in models.items():
        paper = LEVELS.get((model.loss, model.v_b), {}) if _is_published(model) else {}
        found = levels(model.turn_satisfaction(dialogues), dialogues)
        means = [paper[r][0] if r in paper else float("nan") for r in found["true"].astype(int)]
        parts.append(found.assign(method=name, paper=means))
    return pd.concat(parts, ignore_index=True)


def recovery_table(measured: pd.DataFrame, measures: tuple[str, ...] = MEASURES) -> pd.DataFrame:
    """A row a fit, a column a measure, each with its interval."""
    rows = {
        name: {m: with_interval(*own.set_index("measure").loc[m, ["value", "low", "high"]]) for m in measures}
        for name, own in measured.groupby("method", sort=False)
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method").reset_index()


def status_table(measured: pd.DataFrame) -> pd.DataFrame:
    """Table 5: status accuracy, the paper's beside ours, with what a constant answer scores."""
    table = recovery_table(measured, STATUS).rename(columns={"accuracy": "status_accuracy"})
    paper = [STATUS_ACCURACY.get(name.removeprefix("full, "), float("nan")) for name in table["method"]]
    table.insert(1, "paper", paper)
    return table


def people_table(users: Mapping[str, pd.DataFrame], seed: int) -> pd.DataFrame:
    """A row a way: correlation of estimated and true relative patience over held-out users, with its interval."""
    rows = []
    for name, frame in users.items():
        r, low, high = correlation(frame["estimated"], frame["true"], frame["user"], seed=seed)
        rows.append({"method": name, "user_r": with_interval(r, low, high), "users": len(frame)})
    return pd.DataFrame(rows)


def success_table(success: pd.DataFrame) -> pd.DataFrame:
    """Table 1: success in per cent with users 1 to 3, the paper's agents above ours; ± is the spread over seeds.

    `success` is what `Pipeline.success` gives: agent, user, success, spread.
    """
    rows = []
    published = pd.Series(SUCCESS_RATES).unstack(level=0)
    for name, own in success.groupby("agent", sort=False):
        if name in published.index:
            paper = published.loc[str(name)]
            rows.append({"method": f"paper: {name}", **{u: _percent(paper[u]) for u in USERS.values()}})
        rates = own.set_index("user")
        rows.append(
            {
                "method": name,
                **{shown: _percent(*rates.loc[user, ["success", "spread"]]) for user, shown in USERS.items()},
            }
        )
    return pd.DataFrame(rows)


def _percent(rate: float, spread: float = float("nan")) -> str:
    if pd.isna(rate):
        return "–"
    return f"{100 * rate:.1f}" + ("" if pd.isna(spread) else f" ± {100 * spread:.1f}")


def rating_table(compared: pd.DataFrame) -> pd.DataFrame:
    """Predictors of the whole rating: method, level_means_r, spearman with its interval, within either status."""
    spearman = [with_interval(*row) for row in compared[["spearman", "low", "high"]].to_numpy(float)]
    return pd.DataFrame(
        {
            "method": compared["predictor"],
            "level_means_r": compared["level_means_r"],
            "spearman": spearman,
            "spearman_success": compared["within_success"],
            "spearman_failure": compared["within_failure"],
        }
    )


def _is_published(model: Patience) -> bool:
    """Whether the paper has a table of this setting, the features of actions aside."""
    return model.actions == "multihot" and model.gamma is None and model.profile == ""


def _cell(mean: float, std: float) -> str:
    return f"{mean:.2f} ± {std:.2f}"
