"""The tables of the page on UXBench, cells as a paper prints them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from perslib.report.tables import (
    bounds,
    formatted,
    interval,
    label,
    labelled,
    number,
    p_value,
    with_interval,
    written,
)
from perslib.stats import wilson
from perslib.studies.ux_bench import METRICS
from perslib.studies.ux_bench_rewards import Rewards
from perslib.text import translate
from perslib.ux import CASES, Reward, published, reward_numbers
from perslib.ux.construct import Construction

#: Labels of this page come first: some of its values are common words elsewhere.
OWN = "ux "
NAMED = label(prefix=OWN)
PERCENT = interval("percent", "low", "high", 1)
WILSON = interval("percent", "wilson_low", "wilson_high", 1)


def called(value: object) -> str:
    """Return the label of a stored value, this page's own where it has one."""
    return labelled(value, OWN)


def signals(counts: pd.DataFrame) -> pd.DataFrame:
    """Signals by strength, and in how many sessions, here and in the paper."""
    same = {c: c for c in ("found", "explicit", "strong", "weak", "primary")}
    return formatted(
        counts,
        signal=NAMED,
        **same,
        sessions_percent=interval(low="low", high="high", digits=1),
        published_percent=number(),
    )


def chains(table: pd.DataFrame) -> pd.DataFrame:
    """Outcomes after replies that users spoke against."""
    return formatted(table, outcome=NAMED, ux_replies="replies", percent_interval=PERCENT)


def with_ratings(table: pd.DataFrame) -> pd.DataFrame:
    """Weak labels against scores, by the least weight."""
    return formatted(
        table,
        least_weight=written("{:.1f}", "weight"),
        turns="turns",
        share_of_turns=written("{:.0%}", "share"),
        users="users",
        r=interval(),
        auroc=interval("auc"),
    )


def kept(table: pd.DataFrame) -> pd.DataFrame:
    """A row a judge, a column a memory; what is kept of the rated memory's agreement."""
    out = pd.DataFrame({"judge": list(dict.fromkeys(table["judge"]))})
    for memory, own in table.groupby("memory", sort=False):
        own = own.set_index("judge").reindex(out["judge"])
        out[f"memory: {memory}"] = interval(low="low", high="high")(own, "r")
        if memory == "behaviour":
            out["kept"] = interval()(own, "kept")
    return out.assign(turns=int(table["turns"].max()), users=int(table["users"].max()))


def quality(table: pd.DataFrame) -> pd.DataFrame:
    """Judges and baselines, a column a metric."""
    out = pd.DataFrame({"judge": list(dict.fromkeys(table["judge"]))})
    for metric in ("balanced", "at_learned", *METRICS[2:]):
        own = table[table["metric"] == metric].set_index("judge").reindex(out["judge"])
        bounded = metric in ("balanced", "positive_bias", "d_prime", "criterion")
        form = interval("value") if bounded else number("value")
        out[{"balanced": "balanced_accuracy"}.get(metric, metric)] = form(own, metric)
    counts = table[table["metric"] == "balanced"].set_index("judge")["cases"]
    return out.assign(cases=counts.reindex(out["judge"]).to_numpy(int))


def beaten(table: pd.DataFrame) -> pd.DataFrame:
    """Each judge against each baseline, on the cases of both."""
    return formatted(
        table.assign(beaten=table["beaten"].map({True: "✓", False: "–"})),
        judge="judge",
        baseline=NAMED,
        cases="cases",
        accuracy_difference=interval("difference"),
        p=p_value("difference_p"),
        beaten="beaten",
    )


def gains(table: pd.DataFrame) -> pd.DataFrame:
    """Ways of asking against the first, in points of accuracy."""
    gain = interval("gain", digits=1)
    return formatted(table, judge="judge", accuracy=written("{:.1f}"), ux_gain=gain, p=p_value("gain_p"))


def escapes(table: pd.DataFrame) -> pd.DataFrame:
    """Where cases of either side go when neutral may be said."""
    shares = {c: number(f"{c}_percent", 1) for c in ("right", "neutral", "missed", "unread")}
    return formatted(table, judge="judge", side=NAMED, cases="cases", **shares)


def shares(table: pd.DataFrame) -> pd.DataFrame:
    """Good% with both intervals, and what users themselves liked; who or how is left out where there is one only."""
    names = {"model": "ux_writer", "how": "how"}
    about = [c for c in names if table[c].nunique() > 1] or ["model"]
    liked = {"liked_percent": number(digits=1)} if "liked_percent" in table else {}
    return formatted(
        table,
        **{names[c]: label(c, OWN) for c in about},
        cases="cases",
        good="good",
        percent_interval=WILSON,
        users_resampled=bounds(),
        **liked,
    )


def published_shares(column: str, most: int = 8) -> pd.DataFrame:
    """Table 3's best models in a task, `eval_good` or `recovery_good`, with Wilson intervals."""
    models = published("table3").query("family != 'reward model'")
    table = models.nlargest(most, column).reset_index(drop=True)
    low, high = wilson(table[column] / 100 * CASES[column], CASES[column])
    own = table.assign(percent=table[column], low=100 * low, high=100 * high)
    return formatted(own, model_name="model", ux_family="family", percent_interval=PERCENT)


def discrimination(table: pd.DataFrame) -> pd.DataFrame:
    """AUROC, and how far the first is ahead of each other."""
    return formatted(table, "judge", "cases", "users", "auroc", "ahead", p=p_value("ahead_p"))


def _rows(rows: list[tuple[str, object]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["quantity", "ux_value"])


def reward(found: Rewards) -> pd.DataFrame:
    """The reward model's numbers on users that it has not seen."""
    numbers = reward_numbers(found.verdicts)
    names = ("auroc", "auprc", "brier", "ece", "d_prime", "criterion", "balanced_accuracy", "kept", "kept_accuracy")  # fmt: skip
    lines = ", ".join(str(with_interval(m.threshold, digits=2, zero=True)) for m in found.models)
    rows = [(name, with_interval(numbers.get(name, np.nan), digits=3, zero=True)) for name in names]
    return _rows([*rows, ("reward_thresholds", lines)])


def swap(moved: pd.Series) -> pd.DataFrame:
    """What a reward model says when replies change places."""
    digits = {"cases": 0}
    return _rows(
        [(f"swap: {k}", with_interval(v, digits=digits.get(k, 2), zero=True)) for k, v in moved.items()]
    )


def card(model: Reward) -> pd.DataFrame:
    """What a reward model says of itself: what it learned from, and how."""
    own = model.card_ or {}
    learned, held_out = (own.get(side, {}) for side in ("learned_from", "held_out"))

    def counts(about: dict[str, object]) -> str:
        return ", ".join(f"{k} {about.get(k)}" for k in ("users", "cases", "good", "bad"))

    return _rows(
        [
            ("backend", str(own.get("backend", {}).get("kind", ""))),
            ("lessons_from", counts(learned)),
            ("held_out", counts(held_out)),
            ("sources", ", ".join(learned.get("sources", {}))),
            ("seed", str(own.get("seed", ""))),
            ("sha256", str(learned.get("sha256", ""))[:16]),
        ]
    )


def stages(table: pd.DataFrame) -> pd.DataFrame:
    """Any table by stage, its stages and reasons by name."""
    return table.assign(**{c: table[c].map(called) for c in ("stage", "reason") if c in table})


def built(made: Construction) -> pd.DataFrame:
    """How far the models of a construction are consistent with themselves and with each other."""
    rows = [(f"built: {k}", with_interval(v, digits=2, zero=True)) for k, v in made.agreement.items()]
    return _rows([("built: cases", str(len(made.cases))), *rows])


def strategies(table: pd.DataFrame) -> pd.DataFrame:
    """With what recoveries open, here and in Table 4."""
    there = published("table4").set_index("strategy")["share"]
    return formatted(
        table.assign(published=table["strategy"].map(there)),
        strategy=NAMED,
        ux_replies="replies",
        percent_interval=PERCENT,
        published_percent=number("published"),
    )


def first_look(verdicts: pd.DataFrame) -> pd.DataFrame:
    """What a model said, a row a question."""
    values = verdicts[["gold", "said"]].astype("Int64").astype(object)
    labels = {1: "ux good", -1: "ux bad", 0: "neutral_verdict"}
    places = {case: i + 1 for i, case in enumerate(dict.fromkeys(verdicts["case"]))}
    words = values.map(lambda v: labelled(labels[v]) if v in labels else "–")
    named = verdicts.assign(
        case_number=verdicts["case"].map(places), ux_gold=words["gold"], ux_said=words["said"]
    )
    return named[["case_number", "judge", "ux_gold", "ux_said"]]


def occurring(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    """What cases are about, here and in the paper."""
    own = table[(table["cases"] > 0) | table["published"].notna()]
    percents = {"ux_percent": number("percent", 1), "published_percent": number("published")}
    return formatted(own, **{kind: NAMED}, cases="cases", **percents)


def breakdown(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    """The tasks by scenario or intent; too small a stratum shows its count and no share."""
    about = {"ux_task": label("task", OWN), kind: NAMED}
    out = formatted(table, **about, cases="cases", percent_interval=WILSON, users_resampled=bounds())
    few = table["percent"].isna()
    return out.assign(percent_interval=out["percent_interval"].mask(few, translate("too few")))


def agreement(table: pd.DataFrame) -> pd.DataFrame:
    """Rules against a model, label by label."""
    return formatted(
        table.assign(label=table["label"].replace("all", "all labels")),
        ux_kind=label("kind", OWN),
        ux_label=label("label", OWN),
        ux_labelled="replies",
        ux_by_rules="one",
        ux_by_model="other",
        ux_equal=written("{:.0%}", "equal"),
        ux_kappa=interval("kappa", "low", "high"),
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 70 else f"{line[:69]}…"


def labels(table: pd.DataFrame) -> pd.DataFrame:
    """What rules and a model say of the same texts."""
    named = {
        f"ux_{c}": table[c].map(called, na_action="ignore").fillna("–") for c in ("kind", "rules", "model")
    }
    own = table.assign(**named, ux_text=table["text"].map(_short))
    return own[["ux_kind", "ux_text", "ux_rules", "ux_model"]]
