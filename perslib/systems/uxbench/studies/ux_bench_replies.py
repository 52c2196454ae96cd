"""The page on UXBench: replies and recoveries by reward, the three tasks by topic, rules compared with a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Corpus
from perslib.errors import DataError, NotEnough
from perslib.judge.scope import FEWEST_REPLIES
from perslib.llm import Backbone
from perslib.prompts import PromptSettings
from perslib.stats import SEED, floats, with_wilson
from perslib.systems.uxbench import bench as ux
from perslib.systems.uxbench.construction import label_id
from perslib.systems.uxbench.studies.ux_bench import draw_places
from perslib.systems.uxbench.tasks.answers import FEWEST_CASES
from perslib.systems.uxbench.tasks.labels import OTHER

RECORDED = "as recorded"
REPLY_COLUMNS = ["case", "user", "model", "how", "reply", "truth"]
#: Columns that divide cases, each with its names in the paper's order.
TOPIC_NAMES: Mapping[str, tuple[str, ...]] = {
    "scenario": (*ux.SCENARIOS, OTHER),
    "intent": tuple(dict.fromkeys((*ux.INTENTS, OTHER))),
}
#: Minimum number of labelled cases for κ; with fewer, the labels are shown.
FEWEST_LABELLED = 20


# -- UX Eval and UX Recovery -----------------------------------------------------------------------------------------


def read_recorded_replies(corpus: Corpus) -> tuple[list[ux.Case], pd.DataFrame]:
    """Return requests that candidates answered, and their replies, with the recorded ones.

    `truth` is the mean score, if it is known.
    """
    columns = [*TURN, "candidate", "response", "expected"]
    of_candidates = corpus.extras.get("candidates", pd.DataFrame(columns=columns)).reindex(columns=columns)
    ours = corpus.turns.assign(candidate=RECORDED, expected=floats(corpus.turns["score"]))[columns]
    both = pd.concat([of_candidates, ours], ignore_index=True).set_axis([*TURN, "model", "reply", "truth"], axis=1)
    both = both.assign(case=ux.name_turns(both), how=RECORDED)
    answered_cases = set(both["case"].head(len(of_candidates)))
    all_cases = ux.judge_cases(corpus, good_from=4, bad_to=3, balanced=False) if answered_cases else []
    cases = [replace(c, reply="", gold=None) for c in all_cases if c.case in answered_cases]
    both = both[both["case"].isin({c.case for c in cases})].reset_index(drop=True)
    return cases, both[REPLY_COLUMNS]


def read_recoveries(corpus: Corpus) -> tuple[list[ux.Case], pd.DataFrame]:
    """Return disliked replies with the user's next message, and the replies that followed, with their scores."""
    cases = ux.recovery_cases(corpus) if corpus.turns["score"].notna().any() else []
    after = corpus.turns.assign(turn=corpus.turns["turn"] - 1, model=RECORDED, how=RECORDED)
    followed = after.assign(case=ux.name_turns(after)).set_index("case").reindex([c.case for c in cases])
    followed = followed.rename(columns={"response": "reply", "score": "truth"}).dropna(subset="reply").reset_index()
    return cases, followed[REPLY_COLUMNS]


def select_cases_to_answer(corpus: Corpus, task: Literal["task2", "task3"]) -> list[ux.Case]:
    """Return a released split's cases of UX Eval or UX Recovery.

    Without such a split, return requests with a disliked reply, or such replies.
    """
    try:
        return ux.released_cases(corpus, task)
    except DataError:
        return ux.eval_cases(corpus) if task == "task2" else ux.recovery_cases(corpus)


def ask_for_replies(
    cases: Sequence[ux.Case], model: Backbone, language: str, limit: int, seed: int = SEED
) -> pd.DataFrame:
    """Return a model's replies under each system prompt, or after a complaint by each way of asking for recovery.

    Raise NotEnough if there are no cases.
    """
    if not cases:
        raise NotEnough(
            "The model was not asked for replies: no reply here was disliked and followed by a message of the "
            "user. Add low scores and dislikes, or a released split of this task."
        )
    drawn_cases, form = [cases[i] for i in draw_places(len(cases), limit, seed)], PromptSettings(language)
    ways: list[Any] = [ux.Generation(system, form) for system in ux.SYSTEMS]
    if drawn_cases[0].complaint:
        ways = [ux.Recovery(variant, form=form) for variant in ux.VARIANTS]  # type: ignore[arg-type]
    return pd.concat([ux.reply_to_cases(way, drawn_cases, model) for way in ways], ignore_index=True)


Score = Callable[[pd.DataFrame, Sequence[ux.Case]], pd.DataFrame]


@dataclass(frozen=True)
class ModelScorer:
    """A model that scores replies in place of the reward model.

    It scores the replies to at most `most` cases (None: all), drawn by the seed.
    """

    model: Backbone
    language: str
    most: int | None = None
    seed: int = SEED

    def score(self, replies: pd.DataFrame, cases: Sequence[ux.Case]) -> pd.DataFrame:
        """Return the replies to the drawn cases with a verdict each; columns as in
        `perslib.systems.uxbench.bench.judge_task_replies`.
        """
        drawn = [cases[i] for i in draw_places(len(cases), self.most, self.seed)]
        replies_to_drawn = replies[replies["case"].isin({case.case for case in drawn})]
        judge = ux.UXJudge(PromptSettings(self.language), name=f"UX judge, {self.model.name}")
        return ux.judge_task_replies(replies_to_drawn, drawn, judge, self.model)


def score_with_each(replies: pd.DataFrame, cases: Sequence[ux.Case], scorers: Sequence[Score]) -> pd.DataFrame:
    """Return the replies scored by all scorers, one after another; the column `judge` distinguishes them.

    A scorer with too little to learn from is left out. If no scorer is left, its NotEnough is raised.
    """
    if replies.empty:
        return replies
    parts, lacking = [], []
    for score in scorers:
        try:
            parts.append(score(replies, cases))
        except NotEnough as missing:
            lacking.append(missing)
    if not parts:
        raise lacking[0]
    return pd.concat(parts, ignore_index=True)


def select_first_scorer(scored: pd.DataFrame, model: str = "") -> pd.DataFrame:
    """Return the scores of the first scorer, of one model's replies if a model is named."""
    if scored.empty:
        return scored
    rows = scored[scored["judge"] == scored["judge"].iloc[0]]
    return rows[rows["model"] == model] if model else rows


def measure_good_share(scored: pd.DataFrame) -> pd.DataFrame:
    """Return Good% of each model, way of asking and scorer, with Wilson bounds by case and bounds over users.

    `liked_percent` is the share with a score of 4 or more, if `truth` is known.
    """
    by = ["model", "how", "judge"]
    table = ux.good_share(scored.reindex(columns=[*dict.fromkeys([*scored, "judge"])]), by, unit="user")
    if "truth" not in scored or scored.empty:
        return table
    with_truth = scored.dropna(subset="truth")
    liked = (with_truth["truth"].astype(float) >= 4).groupby([with_truth[column] for column in by]).mean() * 100
    return table.join(liked.rename("liked_percent"), on=by)


def add_truth(shares: pd.DataFrame) -> pd.DataFrame:
    """Return the shares with a further row for each with known truth, as if `liked_percent` were a scorer."""
    if "liked_percent" not in shares or shares.empty:
        return shares
    with_truth = select_first_scorer(shares).dropna(subset="liked_percent")[["model", "how", "liked_percent"]]
    truth = with_truth.rename(columns={"liked_percent": "percent"}).assign(judge="liked_percent")
    return pd.concat([shares, truth], ignore_index=True)


def compare_with_truth(shares: pd.DataFrame) -> dict[str, float]:
    """Return the agreement of Good% by the first scorer with what users liked; empty if there are too few values.

    Keys: n (number of values), rho (Spearman's), off (mean distance in points).
    """
    with_truth = shares.dropna(subset="liked_percent") if "liked_percent" in shares else shares.iloc[:0]
    with_truth = select_first_scorer(with_truth)
    if len(with_truth) < 3 or with_truth["cases"].min() < FEWEST_REPLIES:
        return {}
    rho = with_truth["percent"].corr(with_truth["liked_percent"], method="spearman")
    if np.isnan(rho):  # one of both is the same for all
        return {}
    return {"n": len(with_truth), "rho": rho, "off": (with_truth["percent"] - with_truth["liked_percent"]).abs().mean()}


def read_best_published(column: str) -> pd.DataFrame:
    """Return Table 3's eight best models in a task, `eval_good` or `recovery_good`.

    Columns: model, family, percent with Wilson bounds.
    """
    table = ux.read_ux_table("table3").query("family != 'reward model'").nlargest(8, column)
    table = table.rename(columns={column: "percent"})[["model", "family", "percent"]]
    return with_wilson(table.reset_index(drop=True), "percent", ux.CASES[column])


# -- by topic -------------------------------------------------------------------------------------------------------


def label_topics(*sides: Iterable[ux.Case]) -> pd.DataFrame:
    """Return the topics of all distinct cases, by rules; if a release has the scenario, that is used.

    Raise NotEnough if there are no cases.
    """
    cases = list({case.case: case for case in chain(*sides)}.values())
    if not cases:
        raise NotEnough(
            "There is no request to classify: none of the three tasks has a case here. Add rated, liked or "
            "disliked replies, or a released split."
        )
    topics = ux.topics_of(cases)
    released = pd.Series([label_id(case.scenario, "scenario") for case in cases], dtype="str")
    return topics.assign(scenario=topics["scenario"].mask(released != OTHER, released))


def count_topics(topics: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return how often each scenario or intent occurs here and in the paper.

    Columns: kind, cases, percent, published_percent.
    """
    names = list(TOPIC_NAMES[kind])
    published = ux.read_ux_table(f"{kind}s").set_index(kind)["percent"].reindex(names)
    table = pd.DataFrame({"cases": topics[kind].value_counts().reindex(names, fill_value=0)})
    table = table.assign(percent=100 * table["cases"] / max(1, len(topics)), published_percent=published)
    table = table[(table["cases"] > 0) | published.notna()]
    return table.rename_axis(kind).reset_index()


def mark_right(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return verdicts as outcomes: `said` is 1 if a verdict is right, so that a share of good is an accuracy."""
    with_gold = verdicts.dropna(subset="gold")
    return with_gold.assign(said=(with_gold["said"] == with_gold["gold"]).fillna(False).astype(int) * 2 - 1)


def measure_good_by_topic(tasks: Mapping[str, pd.DataFrame], topics: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return the share of good outcomes of each task by scenario or by intent, in percent.

    A case is one row of its task. Raise NotEnough if no task has an outcome.

    Columns: task, kind, cases, percent with bounds, wilson_low, wilson_high. Strata with fewer than `FEWEST_CASES`
    cases only have their count.
    """
    outcomes = {task: frame for task, frame in tasks.items() if len(frame)}
    if not outcomes:
        raise NotEnough("No task has an outcome here that could be broken down; the reasons are given above.")
    all_outcomes = pd.concat(outcomes, names=["task", None]).reset_index(level=0)
    all_outcomes[kind] = all_outcomes["case"].map(topics.set_index("case")[kind]).fillna(OTHER)
    table = ux.good_share(all_outcomes, ("task", kind), unit="user", fewest=FEWEST_CASES)
    places = {name: place for place, name in enumerate([*outcomes, *TOPIC_NAMES[kind]])}
    return table.sort_values(["task", kind], key=lambda names: names.map(places), ignore_index=True)


def summarize_breakdown(table: pd.DataFrame, topics: pd.DataFrame) -> dict[str, float]:
    """Return the numbers of strata, and whether any stratum differs from the others.

    Keys: known (strata with a share), small (without), tasks (with several strata), apart (tasks whose best and worst
    stratum have intervals that do not overlap), unclear (percent of requests without a scenario).
    """
    with_share = table[table["percent"].notna()]
    several = [strata for _, strata in with_share.groupby("task") if len(strata) > 1]
    return {
        **{"known": len(with_share), "small": len(table) - len(with_share), "tasks": len(several)},
        "apart": sum(bool(strata["wilson_low"].max() > strata["wilson_high"].min()) for strata in several),
        "unclear": 100 * (topics["scenario"] == OTHER).mean(),
    }


def try_or_empty(part: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """Return the result of a part of the page, or an empty frame if there is too little data for it."""
    try:
        return part()
    except NotEnough:
        return pd.DataFrame()


def list_labels(topics: pd.DataFrame, opened: pd.DataFrame) -> pd.DataFrame:
    """Return the labels of rules and model on the same texts, one row per label: case, text, rules, model, kind."""
    sources = [(topics, kind, "query", f"{kind}_labelled") for kind in TOPIC_NAMES]
    parts = [
        frame.reindex(columns=["case", text, kind, label])
        .set_axis(["case", "text", "rules", "model"], axis=1)
        .assign(kind=kind)
        for frame, kind, text, label in [*sources, (opened, "strategy", "reply", "labelled")]
    ]
    return pd.concat(parts, ignore_index=True)


def compare_labellers(labels: pd.DataFrame) -> pd.DataFrame:
    """Return the agreement of rules and model on the labels of `list_labels`, for kinds with enough labels.

    Columns: kind, label, kappa with bounds, equal, one, other, replies.
    """
    names = {**TOPIC_NAMES, "strategy": ux.STRATEGIES}
    tables = [
        ux.labeller_agreement(labels_of_kind, one="rules", other="model", names=names[kind]).assign(kind=kind)
        for kind, labels_of_kind in labels.groupby("kind", sort=False)
        if labels_of_kind[["rules", "model"]].notna().all(axis=1).sum() >= FEWEST_LABELLED
    ]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
