"""What the page on UXBench says in sentences with computed numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from perslib.corpus import Corpus
from perslib.errors import NotEnough
from perslib.report.tables import format_number
from perslib.report.words import name_of
from perslib.signals import NEGATIVE
from perslib.studies.ux_bench import Judging
from perslib.studies.ux_bench_rewards import Rewards
from perslib.studies.ux_bench_signals import Behaviour
from perslib.text import join, paragraph, translate
from perslib.ux import published, reward_numbers

#: Gains of the best system prompt and of the best recovery prompt, in points (UXBench, section 4).
PUBLISHED_GAINS = (1.2, 8.4)
#: A reward model whose score changes with the reply in so large a share of cases reads replies.
READS = 0.5


def what_numbers_mean(corpus: Corpus) -> str:
    """Whether these are numbers about people."""
    return translate(
        "**{name} is a synthetic world: the numbers on this page only test the software.** Users, what they "
        "do after a reply, and what they think of it come from one program, so signals and ratings agree "
        "better than for real people. The paper's data are not bundled and none of its scores are reproduced "
        "here."
        if "truth_turns" in corpus.extras
        else "All numbers are from {name}, unless a caption says that they are from the paper.",
        name=corpus.name,
    )


def behaviour(found: Behaviour, counts: pd.DataFrame) -> str:
    """How many replies behaviour speaks of."""
    replies, own = found.replies, counts.set_index("signal")["primary"]
    dislike = published("signals").set_index("signal").loc["dislike"]
    return translate(
        "{replies:,} replies in {sessions:,} sessions; users showed dissatisfaction with {against:.1f} % of "
        "them, and pressed a button after {buttons:,}. In the paper's 40,000 sessions, {dislikes:.2f} % "
        "contain a dislike: behaviour shows what people think far more often than buttons do. The paper's "
        "shares are from another product and another extractor; levels cannot be compared.",
        replies=len(replies),
        sessions=found.sessions,
        against=100 * replies["primary"].isin(NEGATIVE).mean() if len(replies) else 0.0,
        buttons=int(own.get("dislike", 0) + own.get("like", 0)),
        dislikes=100 * dislike["found"] / dislike["sessions"],
    )


def ratings(table: pd.DataFrame) -> str:
    """How far behaviour says what users would have rated."""
    return translate(
        "Labels from signals agree better with the users' scores the more certain they are. Most replies get "
        "little information: the conversation just continued."
        if table["r"].iloc[-1] > table["r"].iloc[0]
        else "Labels from signals do not agree better with the users' scores when they are more certain. Most "
        "replies get little information: the conversation just continued."
    )


def judging(found: Judging) -> str:
    """Who beats the baselines, and how much of it is a threshold."""
    wide = found.quality.pivot_table(index="judge", columns="metric", values="value", sort=False)
    wide = wide.reindex(columns=["balanced", "at_learned"])
    grey = set(found.quality.loc[found.quality["is_baseline"], "judge"])
    own, base = (wide[wide.index.isin(grey) == of].dropna(subset="balanced") for of in (False, True))
    if own.empty or base.empty:
        good = sum(case.gold == 1 for case in found.cases)
        return translate(
            "{n} cases, {good} good and {bad} bad. Comparing judges with baselines needs a judge, and several "
            "cases of both kinds.",
            n=len(found.cases),
            good=good,
            bad=len(found.cases) - good,
        )
    line = base["balanced"].max()
    low = found.quality[found.quality["metric"] == "balanced"].set_index("judge")["value_low"]
    gain = (own["at_learned"] - own["balanced"]).dropna()
    most = str(gain.idxmax()) if len(gain) else ""
    return paragraph(
        translate(
            "{n} cases. The best baseline has a balanced accuracy of {line:.0%} (*{best}*, which does not compare "
            "reply and request); judges whose interval lies above it: **{over}**.",
            n=len(found.cases),
            line=line,
            best=name_of(base["balanced"].idxmax()),
            over=join(name_of(j) for j in own.index if low[j] > line) or translate("none"),
        ),
        translate(
            "A threshold learned on other users changes *{judge}* most, from {before:.0%} to {after:.0%}: this "
            "loss was due to its threshold, not to what it knows.",
            judge=name_of(most),
            before=own["balanced"][most],
            after=own["at_learned"][most],
        )
        if most
        else "",
    )


def first_look(verdicts: pd.DataFrame, model: str) -> str:
    """What a few asked cases are worth."""
    return translate(
        "{model} was asked {times} times on {cases} cases; {read} answers could be parsed. So few cases only "
        "show that everything works and measure nothing.",
        model=model,
        times=len(verdicts),
        cases=verdicts["case"].nunique(),
        read=int(verdicts["said"].notna().sum()),
    )


def shares(table: pd.DataFrame) -> str:
    """Whether the reward model orders what answers as the users do; empty where that is not known."""
    known = table.dropna(subset="liked_percent") if "liked_percent" in table else table.iloc[:0]
    if len(known) < 3:
        return ""
    return translate(
        "The ranking agrees with the known truth at ρ = {rho}; levels are {off:.0f} points off on average.",
        rho=format_number(known["percent"].corr(known["liked_percent"], method="spearman")),
        off=(known["percent"] - known["liked_percent"]).abs().mean(),
    )


def as_published(column: str) -> str:
    """What the paper found in a task, apart from what is found here."""
    table = published("table3").query("family != 'reward model'")
    return translate(
        "Published, and not comparable with this page (another judge, other cases): {n} models from {low:.1f} "
        "% to {high:.1f} % ({best}); the best other prompt gained {gain:+.1f} points.",
        n=len(table),
        low=table[column].min(),
        high=table[column].max(),
        best=table.loc[table[column].idxmax(), "model"],
        gain=PUBLISHED_GAINS[column == "recovery_good"],
    )


def reward(found: Rewards, against: pd.DataFrame) -> str:
    """What the reward model learned from, and what of it is not length."""
    rival = against.iloc[1:].sort_values("auroc").iloc[-1]
    kept = reward_numbers(found.verdicts).get("kept", np.nan)
    return paragraph(
        translate(
            "It was trained on ratings of other users."
            if found.labels == "ratings"
            else "It was trained on the behaviour of other users alone."
        ),
        translate(
            "Trained on the same clear cases as the baselines, it is significantly better than the best of them, "
            "*{rival}*."
            if rival["ahead_low"] > 0
            else "Trained on the same clear cases as the baselines, it is **not significantly better** than the best "
            "of them, *{rival}*.",
            rival=name_of(rival["judge"]),
        ),
        translate(
            "If it may abstain, to guarantee at most 10 % errors of either kind, it keeps no case: there are too "
            "few held-out users for such a guarantee."
            if kept == 0
            else "If it may abstain, to guarantee at most 10 % errors of either kind, it keeps {kept:.0%} of cases.",
            kept=kept,
        ),
    )


def swap(moved: pd.Series) -> str:
    """That the reward model does not read replies; empty where it does."""
    if moved["changed"] >= READS:
        return ""
    return translate("With another case's reply the score rarely changes: **it hardly reads the reply**.")


def breakdown(table: pd.DataFrame, found: pd.DataFrame, least: int) -> str:
    """Which strata are there, and whether any stands out."""
    known = table[table["percent"].notna()]
    several = [own for _, own in known.groupby("task") if len(own) > 1]
    return translate(
        "{known} strata have {least} cases or more; {small} have fewer and show no share. In {apart} of the "
        "{tasks} tasks with several strata to compare, the intervals of the best and the worst scenario do "
        "not overlap (chosen after looking: a hint, not a test). The rules leave {unclear:.0f} % of the "
        "requests without a scenario. Compare scenarios within a task, not across tasks: one is an accuracy, "
        "the others are shares of good replies.",
        known=len(known),
        least=least,
        small=len(table) - len(known),
        apart=sum(bool(own["wilson_low"].max() > own["wilson_high"].min()) for own in several),
        tasks=len(several),
        unclear=100 * (found["scenario"] == "other").mean(),
    )


def labelled(table: pd.DataFrame, agreement: pd.DataFrame, model: str) -> str:
    """How far a model labels as the rules do, or that too few labels were asked for."""
    if table.empty and agreement.empty:
        raise NotEnough(
            "{model} was not asked for labels: there is no case or recovery to label, or this is a first look "
            "(then set a larger `limit`).",
            model=model,
        )
    if agreement.empty:
        return translate(
            "{read} of {n} labels by {model} could be parsed. So few only show that everything works; κ, and the "
            "topics of requests, need a larger `limit`.",
            model=model,
            read=int(table["model"].notna().sum()),
            n=len(table),
        )
    return translate(
        "Neither {model} nor the rules are ground truth; where they differ, shares depend on the labeller.",
        model=model,
    )
