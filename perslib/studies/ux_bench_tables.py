"""The tables of the page on UXBench, cells as a paper prints them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from perslib.inference import wilson
from perslib.report.page import current
from perslib.report.words import name_of
from perslib.studies.ux_bench import METRICS, Rewards
from perslib.ux import CASES, Reward, published, reward_numbers, swapped
from perslib.ux.construct import Construction

MINUS = "−"


def called(value: object, language: str = "") -> str:
    """How this page calls a stored value: by its own word where it has one, for some are common words elsewhere."""
    language = language or current().language
    own = name_of(f"ux {value}", language)
    return name_of(str(value), language) if own == f"ux {value}" else own


def _cells(table: pd.DataFrame, columns: Sequence[str], digits: int = 2) -> list[str]:
    """Value and interval, `0.36 [0.30, 0.41]`."""
    return [_cell(value, low, high, digits) for value, low, high in table[list(columns)].to_numpy(float)]


def _cell(value: float, low: float, high: float, digits: int) -> str:
    if not np.isfinite(value):
        return "–"
    said = _plain(value, digits)
    return (
        said if np.isnan(low) or np.isnan(high) else f"{said} [{_plain(low, digits)}, {_plain(high, digits)}]"
    )


def _plain(value: float, digits: int) -> str:
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", MINUS)


def signals(counts: pd.DataFrame) -> pd.DataFrame:
    """Signals by strength, and in how many sessions, here and in the paper."""
    return pd.DataFrame(
        {
            "signal": counts["signal"].map(called),
            **{c: counts[c] for c in ("found", "explicit", "strong", "weak", "primary")},
            "sessions_percent": _cells(counts, ["sessions_percent", "low", "high"], 1),
            "published_percent": [_cell(v, np.nan, np.nan, 2) for v in counts["published_percent"]],
        }
    )


def chains(table: pd.DataFrame) -> pd.DataFrame:
    """Outcomes after replies that users spoke against."""
    percent = _cells(table, ["percent", "low", "high"], 1) if len(table) else []
    return pd.DataFrame(
        {
            "outcome": table["outcome"].map(called),
            "ux_replies": table["replies"],
            "percent_interval": percent,
        }
    )


def with_ratings(table: pd.DataFrame) -> pd.DataFrame:
    """Weak labels against scores, by the least weight."""
    return pd.DataFrame(
        {
            "least_weight": table["weight"].map("{:.1f}".format),
            "turns": table["turns"],
            "share_of_turns": table["share"].map("{:.0%}".format),
            "users": table["users"],
            "r": _cells(table, ["r", "r_low", "r_high"]),
            "auroc": _cells(table, ["auc", "auc_low", "auc_high"]),
        }
    )


def kept(table: pd.DataFrame) -> pd.DataFrame:
    """A row a judge, a column a memory; what is kept of the rated memory's agreement."""
    out = pd.DataFrame({"judge": list(dict.fromkeys(table["judge"]))})
    for memory, own in table.groupby("memory", sort=False):
        own = own.set_index("judge").reindex(out["judge"])
        out[f"memory: {memory}"] = _cells(own, ["r", "low", "high"])
        if memory == "behaviour":
            out["kept"] = _cells(own, ["kept", "kept_low", "kept_high"])
    return out.assign(turns=int(table["turns"].max()), users=int(table["users"].max()))


def quality(table: pd.DataFrame) -> pd.DataFrame:
    """Judges and baselines, a column a metric."""
    out = pd.DataFrame({"judge": list(dict.fromkeys(table["judge"]))})
    for metric in ("balanced", "at_learned", *METRICS[2:]):
        own = table[table["metric"] == metric].set_index("judge").reindex(out["judge"])
        shown = (
            own if metric in ("balanced", "positive_bias", "d_prime", "criterion") else own.assign(low=np.nan)
        )
        out[{"balanced": "balanced_accuracy"}.get(metric, metric)] = _cells(shown, ["value", "low", "high"])
    counts = table[table["metric"] == "balanced"].set_index("judge")["cases"]
    return out.assign(cases=counts.reindex(out["judge"]).to_numpy(int))


def beaten(table: pd.DataFrame) -> pd.DataFrame:
    """Each judge against each baseline, on the cases of both."""
    return pd.DataFrame(
        {
            "judge": table["judge"],
            "baseline": table["baseline"].map(called),
            "cases": table["cases"],
            "accuracy_difference": _cells(table, ["difference", "low", "high"]),
            "p": table["p_mcnemar"].map(_p),
            "beaten": table["beaten"].map({True: "✓", False: "–"}),
        }
    )


def _p(value: float) -> str:
    return "–" if not np.isfinite(value) else "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def gains(table: pd.DataFrame) -> pd.DataFrame:
    """Ways of asking against the first, in points of accuracy."""
    return pd.DataFrame(
        {
            "judge": table["judge"],
            "accuracy": table["accuracy"].map("{:.1f}".format),
            "ux_gain": _cells(table, ["gain", "low", "high"], 1),
            "p": table["p"].map(_p),
        }
    )


def escapes(table: pd.DataFrame) -> pd.DataFrame:
    """Where cases of either side go when neutral may be said."""
    shares = {c: table[f"{c}_percent"].map("{:.1f}".format) for c in ("right", "neutral", "missed", "unread")}
    return pd.DataFrame(
        {"judge": table["judge"], "side": table["side"].map(called), "cases": table["cases"], **shares}
    )


def shares(table: pd.DataFrame) -> pd.DataFrame:
    """Good% with both intervals, and what users themselves liked; who or how is left out where there is one only."""
    names = {"model": "ux_writer", "how": "how"}
    shown = [c for c in names if table[c].nunique() > 1] or ["model"]
    out = pd.DataFrame(
        {
            **{names[c]: table[c].map(called) for c in shown},
            **{c: table[c] for c in ("cases", "good")},
            "percent_interval": _cells(table, ["percent", "wilson_low", "wilson_high"], 1),
            "users_resampled": [
                f"[{_plain(a, 1)}, {_plain(b, 1)}]" for a, b in table[["low", "high"]].to_numpy(float)
            ],
        }
    )
    if "liked_percent" in table:
        out["liked_percent"] = [_cell(v, np.nan, np.nan, 1) for v in table["liked_percent"].astype(float)]
    return out


def published_shares(column: str, most: int = 8) -> pd.DataFrame:
    """Table 3's best models in a task, `eval_good` or `recovery_good`, with Wilson intervals."""
    table = (
        published("table3").query("family != 'reward model'").nlargest(most, column).reset_index(drop=True)
    )
    low, high = wilson(table[column] / 100 * CASES[column], CASES[column])
    own = table.assign(low=100 * low, high=100 * high)
    return pd.DataFrame({"model_name": own["model"], "ux_family": own["family"], "percent_interval": _cells(own, [column, "low", "high"], 1)})  # fmt: skip


def discrimination(table: pd.DataFrame) -> pd.DataFrame:
    """AUROC, and how far the first is ahead of each other."""
    return pd.DataFrame(
        {
            **{c: table[c] for c in ("judge", "cases", "users")},
            "auroc": _cells(table, ["auroc", "low", "high"]),
            "ahead": _cells(table, ["ahead", "ahead_low", "ahead_high"]),
            "p": table["p"].map(_p),
        }
    )


def reward(found: Rewards) -> pd.DataFrame:
    """The reward model's numbers on users that it has not seen."""
    numbers = reward_numbers(found.verdicts)
    names = (
        "auroc",
        "auprc",
        "brier",
        "ece",
        "d_prime",
        "criterion",
        "balanced_accuracy",
        "kept",
        "kept_accuracy",
    )
    lines = ", ".join(_plain(m.threshold, 2) for m in found.models)
    rows = [(name, _cell(numbers.get(name, np.nan), np.nan, np.nan, 3)) for name in names]
    return pd.DataFrame([*rows, ("reward_thresholds", lines)], columns=["quantity", "ux_value"])


def swap(found: Rewards, cases: Sequence, seed: int = 42) -> pd.DataFrame:
    """What the first model says of unseen users' cases when replies change places."""
    own = [c for c in cases if found.half.get(c.user or c.case, 0) == 0]
    moved = swapped(found.models[0], own, seed=seed)
    rows = [(f"swap: {k}", str(int(v)) if k == "cases" else _plain(v, 2)) for k, v in moved.items()]
    return pd.DataFrame(rows, columns=["quantity", "ux_value"])


def card(model: Reward) -> pd.DataFrame:
    """What a reward model says of itself: what it learned from, and how."""
    own = model.card_ or {}
    told = {side: own.get(side, {}) for side in ("learned_from", "held_out")}
    rows = [("backend", str(own.get("backend", {}).get("kind", "")))]
    for side, about in told.items():
        rows.append(
            (
                {"learned_from": "lessons_from"}.get(side, side),
                ", ".join(f"{k} {about.get(k)}" for k in ("users", "cases", "good", "bad")),
            )
        )
    rows += [
        ("sources", ", ".join(told["learned_from"].get("sources", {}))),
        ("seed", str(own.get("seed", ""))),
    ]
    rows.append(("sha256", str(told["learned_from"].get("sha256", ""))[:16]))
    return pd.DataFrame(rows, columns=["quantity", "ux_value"])


def stages(table: pd.DataFrame) -> pd.DataFrame:
    """Any table by stage, its stages and reasons by name."""
    return table.assign(**{c: table[c].map(called) for c in ("stage", "reason") if c in table})


def built(made: Construction) -> pd.DataFrame:
    """How far the models of a construction are consistent with themselves and with each other."""
    rows = [(f"built: {name}", _cell(value, np.nan, np.nan, 2)) for name, value in made.agreement.items()]
    return pd.DataFrame([("built: cases", str(len(made.cases))), *rows], columns=["quantity", "ux_value"])


def strategies(table: pd.DataFrame) -> pd.DataFrame:
    """With what recoveries open, here and in Table 4."""
    there = published("table4").set_index("strategy")["share"]
    return pd.DataFrame(
        {
            "strategy": table["strategy"].map(called),
            "ux_replies": table["replies"],
            "percent_interval": _cells(table, ["percent", "low", "high"], 1),
            "published_percent": [_cell(v, np.nan, np.nan, 2) for v in table["strategy"].map(there)],
        }
    )


def first_look(verdicts: pd.DataFrame) -> pd.DataFrame:
    """What a model said, a row a question."""
    said = verdicts[["gold", "said"]].astype("Int64").astype(object)
    named = {1: "ux good", -1: "ux bad", 0: "neutral_verdict"}
    words = {c: [name_of(named[v], current().language) if v in named else "–" for v in said[c]] for c in said}
    places = {case: i + 1 for i, case in enumerate(dict.fromkeys(verdicts["case"]))}
    return pd.DataFrame(
        {"case_number": verdicts["case"].map(places), "judge": verdicts["judge"], "ux_gold": words["gold"], "ux_said": words["said"]}
    )  # fmt: skip


def occurring(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    """What cases are about, here and in the paper."""
    shown = table[(table["cases"] > 0) | table["published"].notna()]
    return pd.DataFrame(
        {
            kind: shown[kind].map(called),
            "cases": shown["cases"],
            "ux_percent": [_cell(v, np.nan, np.nan, 1) for v in shown["percent"]],
            "published_percent": [_cell(v, np.nan, np.nan, 2) for v in shown["published"]],
        }
    )


def breakdown(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    """The tasks by scenario or intent; too small a stratum shows its count and no share."""
    few = current().word("ux_too_few")
    bounds = [
        f"[{_plain(low, 1)}, {_plain(high, 1)}]" if np.isfinite(low) else "–"
        for low, high in table[["low", "high"]].to_numpy(float)
    ]
    percent = _cells(table, ["percent", "wilson_low", "wilson_high"], 1)
    return pd.DataFrame(
        {
            "ux_task": table["task"].map(called),
            kind: table[kind].map(called),
            "cases": table["cases"],
            "percent_interval": [few if cell == "–" else cell for cell in percent],
            "users_resampled": bounds,
        }
    )


def agreement(table: pd.DataFrame) -> pd.DataFrame:
    """Rules against a model, label by label."""
    return pd.DataFrame(
        {
            "ux_kind": table["kind"].map(called),
            "ux_label": table["label"].map(lambda name: called("all labels" if name == "all" else name)),
            "ux_labelled": table["replies"],
            "ux_by_rules": table["one"],
            "ux_by_model": table["other"],
            "ux_equal": table["equal"].map("{:.0%}".format),
            "ux_kappa": _cells(table, ["kappa", "low", "high"]),
        }
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 70 else f"{line[:69]}…"


def labels(table: pd.DataFrame) -> pd.DataFrame:
    """What rules and a model say of the same texts."""
    return pd.DataFrame(
        {
            "ux_kind": table["kind"].map(called),
            "ux_text": table["text"].map(_short),
            "ux_rules": table["rules"].map(called),
            "ux_model": [called(name) if isinstance(name, str) else "–" for name in table["model"]],
        }
    )
