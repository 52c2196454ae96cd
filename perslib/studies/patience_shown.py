"""What the page on patience prints and says: the paper's Tables 1 to 5 with its numbers beside ours, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from perslib.patience import Dialogues, Patience, levels, reward_shares
from perslib.patience.published import LEVEL_MEANS_R, LEVELS, REWARD_SHARES, STATUS_ACCURACY, SUCCESS_RATES
from perslib.report.tables import Shown, formatted, interval, with_interval
from perslib.stats import correlation
from perslib.studies.patience import FORWARD, FULL, LIGHT, PLAIN, TOLD_GAMMA, TURN_COSTS
from perslib.studies.patience_text import Rated
from perslib.text import join, translate

REWARDS = tuple(REWARD_SHARES)
#: What users are called in a run, and on the page.
USERS = {"user1": "User 1", "user2": "User 2", "user3": "User 3"}
#: What a table of recovery shows, in this order.
MEASURES = ("step_r", "level_r", "slope_per_v_b", "within_std", "h_r", "stop_accuracy")
STATUS = ("accuracy", "majority", "balanced", "within_success", "stop_accuracy")


def endings_table(data: Mapping[str, Dialogues]) -> pd.DataFrame:
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


def shares_table(data: Mapping[str, Dialogues]) -> pd.DataFrame:
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
    published = SUCCESS_RATES.unstack(level=0)
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


def _percent(rate: float, spread: float = float("nan")) -> Shown:
    if pd.isna(rate):
        return Shown("–", rate)
    if pd.isna(spread):
        return Shown(f"{100 * rate:.1f}", 100 * rate)
    return Shown(f"{100 * rate:.1f} ± {100 * spread:.1f}", 100 * rate, spread=100 * spread)


def rating_table(compared: pd.DataFrame) -> pd.DataFrame:
    """Predictors of the whole rating: method, level_means_r, spearman with its interval, within either status."""
    spearman = interval("spearman", "low", "high", 3, zero=False)
    within = {f"spearman_{end}": f"within_{end}" for end in ("success", "failure")}
    return formatted(compared, method="predictor", level_means_r="level_means_r", spearman=spearman, **within)


def _is_published(model: Patience) -> bool:
    """Whether the paper has a table of this setting, the features of actions aside."""
    return model.actions == "multihot" and model.gamma is None and model.profile == ""


def _cell(mean: float, std: float) -> Shown:
    return Shown(f"{mean:.2f} ± {std:.2f}", mean, std=std)


def missing_torch() -> str:
    """What to install where nothing can be fitted."""
    return translate(
        "Estimating turn costs and patience needs torch, which is not installed here: `pip install "
        '"perslib[patience]"`. Without it, the page shows only what needs no fit.'
    )


def of(measured: pd.DataFrame, method: str, measure: str) -> float:
    """One number of `measured`."""
    row = measured[(measured["method"] == method) & (measured["measure"] == measure)]
    return float(row["value"].iloc[0])


def slopes(measured: pd.DataFrame) -> str:
    """Whether slope per |v_b| is one number, as Figure 3 says."""
    per = [of(measured, f"{FULL}, v_b = {v:g}", "slope_per_v_b") for v in TURN_COSTS]
    r = [of(measured, f"{FULL}, v_b = {v:g}", "step_r") for v in TURN_COSTS]
    return translate(
        "Estimated and true rewards correlate at {least_r:.3f} to {most_r:.3f} over single turns, whatever "
        "v_b is. The slope grows with v_b: divided by |v_b| it lies between {least_slope:.2f} and "
        "{most_slope:.2f}. So v_b only sets the scale, as the paper's Figure 3 says; if v_b is the true "
        "inherent cost (−1), a slope near 1 is also the true scale. The slope grows with training, because "
        "dialogues that already fit give no gradient.",
        least_r=min(r),
        most_r=max(r),
        least_slope=min(per),
        most_slope=max(per),
    )


def losses(measured: pd.DataFrame, on: str) -> str:
    """What loss2 is good for; `on` is the name of the full fit."""
    full, light = (
        {m: of(measured, name, m) for m in ("step_r", "stop_accuracy", "within_std", "accuracy")}
        for name in (on, LIGHT)
    )
    return translate(
        "Without loss2 the step correlation falls from {full_r:.2f} to {light_r:.2f}, and the spread within a "
        "level grows {spread:.1f}-fold. Status accuracy does not show this ({full_accuracy:.2f} against "
        "{light_accuracy:.2f}), but the turn at which users leave does: the budget is first negative at the "
        "last turn in {full_stops:.0%} of failures with the full loss, in {light_stops:.0%} with the light "
        "one.",
        full_r=full["step_r"],
        light_r=light["step_r"],
        spread=light["within_std"] / full["within_std"],
        full_accuracy=full["accuracy"],
        light_accuracy=light["accuracy"],
        full_stops=full["stop_accuracy"],
        light_stops=light["stop_accuracy"],
    )


def status(measured: pd.DataFrame, on: str) -> str:
    """How little status accuracy says by itself."""
    return translate(
        "The constant answer “failed” is right in {majority:.1%} of these dialogues, the estimate in "
        "{accuracy:.1%} (the paper: {published:.1%}). The balanced accuracy is {balanced:.1%}, and 50 % for "
        "the constant answer.",
        majority=of(measured, on, "majority"),
        accuracy=of(measured, on, "accuracy"),
        published=STATUS_ACCURACY["v_b = -1"],
        balanced=of(measured, on, "balanced"),
    )


def forward(measured: pd.DataFrame) -> str:
    """What the forward-looking losses are good for."""
    return translate(
        "User 3 leaves before the budget is used up. Losses that model this reach a step correlation of "
        "{forward:.2f}; those that do not, {plain:.2f}, with {spread:.1f} times the spread within levels. "
        "This is the difference between the paper's Figure 5 and its Figure 4.",
        forward=of(measured, FORWARD, "step_r"),
        plain=of(measured, PLAIN, "step_r"),
        spread=of(measured, PLAIN, "within_std") / of(measured, FORWARD, "within_std"),
    )


def off_policy(on: pd.DataFrame, off: pd.DataFrame, method: str) -> str:
    """Whether the estimate is one of the user."""
    return translate(
        "With another system, whose turns the fit has rarely seen, the step correlation is {other:.2f} "
        "instead of {own:.2f}.",
        other=of(off, method, "step_r"),
        own=of(on, method, "step_r"),
    )


def ratings(found: Rated, compared: pd.DataFrame) -> str:
    """What five level means hide."""
    table = compared.set_index("predictor")
    budget, status = table.loc["budget"], table.loc["status alone"]
    return translate(
        "Over the five level means the budget correlates with appropriateness at {budget_r:.2f} (the paper: "
        "{published_r}); the status flag alone reaches {status_r:.2f}. Over single dialogues Spearman's ρ is "
        "{budget:.2f} for the budget and {status:.2f} for the flag: level means do not show how well single "
        "dialogues are judged. (Success is part of these ratings by construction.) {spent:.0%} of the "
        "successful dialogues end without budget, as in the paper; different patience of workers is enough to "
        "explain this. Status accuracy is {accuracy:.2f}; with the true costs and the usual patience it "
        "would be {ceiling:.2f}.",
        budget_r=budget["level_means_r"],
        published_r=LEVEL_MEANS_R,
        status_r=status["level_means_r"],
        budget=budget["spearman"],
        status=status["spearman"],
        spent=found.spent_successes,
        accuracy=found.accuracy["accuracy"],
        ceiling=found.ceiling,
    )


def mistold(measured: pd.DataFrame, gamma: float) -> str:
    """What a wrong γ costs, beside no γ at all."""
    r = {name: of(measured, name, "step_r") for name in measured["method"].unique()}
    right, plain = r.pop(TOLD_GAMMA.format(gamma=gamma)), r.pop(PLAIN)
    return translate(
        "The paper assumes that γ is known. The users look forward with γ = {gamma:g}; with this value the "
        "fit has a step correlation of {right:.2f}. With a wrong γ it has {wrong}; without looking forward, "
        "{plain:.2f}.",
        gamma=gamma,
        right=right,
        wrong=join(translate("{r:.2f} with {name}", r=value, name=name) for name, value in r.items()),
        plain=plain,
    )


def timeouts(share: float, most: int) -> str:
    """That dialogues which the limit on turns ends have not failed."""
    return translate(
        "A limit of {most} turns ends {share:.0%} of the dialogues while patience is left. They have not "
        "failed, so counting them as failures misleads the fit; it can leave them out, or use only that "
        "budget was left.",
        most=most,
        share=share,
    )


def seeds(repeated: pd.DataFrame) -> str:
    """How much of it all is one draw."""
    r = repeated[repeated["measure"] == "step_r"]["value"]
    slopes = repeated[repeated["measure"] == "slope"]["value"]
    return translate(
        "Dialogues sampled and fitted again with {n} seeds (full loss, v_b = −1): step correlation "
        "{least_r:.3f} to {most_r:.3f}, slope {least_slope:.2f} to {most_slope:.2f}.",
        n=len(r),
        least_r=r.min(),
        most_r=r.max(),
        least_slope=slopes.min(),
        most_slope=slopes.max(),
    )
