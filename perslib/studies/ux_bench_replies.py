"""The page on UXBench: replies and recoveries by reward, the three tasks by what was asked, rules against a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

import pandas as pd

from perslib import ux
from perslib.corpus import TURN, Corpus
from perslib.errors import DataError, NotEnough
from perslib.judge.extent import FEWEST_REPLIES
from perslib.llm import Backbone
from perslib.prompts import PromptSettings
from perslib.stats import SEED, floats, with_wilson
from perslib.studies.ux_bench import draw_some
from perslib.ux.construction import label_id
from perslib.ux.tasks.answers import FEWEST_CASES
from perslib.ux.tasks.labels import OTHER

RECORDED = "as recorded"
REPLIES = ["case", "user", "model", "how", "reply", "truth"]
#: What cases are parted by, and the names it has, as the paper lists them.
KINDS: Mapping[str, tuple[str, ...]] = {
    "scenario": (*ux.SCENARIOS, OTHER),
    "intent": tuple(dict.fromkeys((*ux.INTENTS, OTHER))),
}
#: κ is shown from so many labelled cases on; below, the labels themselves are.
FEWEST_LABELLED = 20


# -- UX Eval and UX Recovery -----------------------------------------------------------------------------------------


def recorded_replies(corpus: Corpus) -> tuple[list[ux.Case], pd.DataFrame]:
    """Requests that candidates answered, and their replies, with the recorded ones; `truth` is a known mean score."""
    columns = [*TURN, "candidate", "response", "expected"]
    given = corpus.extras.get("candidates", pd.DataFrame(columns=columns)).reindex(columns=columns)
    ours = corpus.turns.assign(candidate=RECORDED, expected=floats(corpus.turns["score"]))[columns]
    both = pd.concat([given, ours], ignore_index=True).set_axis([*TURN, "model", "reply", "truth"], axis=1)
    both = both.assign(case=ux.name_turns(both), how=RECORDED)
    answered_too = set(both["case"].head(len(given)))
    every = ux.judge_cases(corpus, good_from=4, bad_to=3, balanced=False) if answered_too else []
    cases = [replace(c, reply="", gold=None) for c in every if c.case in answered_too]
    both = both[both["case"].isin({c.case for c in cases})].reset_index(drop=True)
    return cases, both[REPLIES]


def recorded_recoveries(corpus: Corpus) -> tuple[list[ux.Case], pd.DataFrame]:
    """Disliked replies with what the user wrote next, and the replies that followed, with the users' own scores."""
    cases = ux.recovery_cases(corpus) if corpus.turns["score"].notna().any() else []
    after = corpus.turns.assign(turn=corpus.turns["turn"] - 1, model=RECORDED, how=RECORDED)
    own = after.assign(case=ux.name_turns(after)).set_index("case").reindex([c.case for c in cases])
    own = own.rename(columns={"response": "reply", "score": "truth"}).dropna(subset="reply").reset_index()
    return cases, own[REPLIES]


def cases_to_answer(corpus: Corpus, task: Literal["task2", "task3"]) -> list[ux.Case]:
    """A released split's cases of UX Eval or UX Recovery, else requests with a disliked reply, or such replies."""
    try:
        return ux.released_cases(corpus, task)
    except DataError:
        return ux.eval_cases(corpus) if task == "task2" else ux.recovery_cases(corpus)


def write_replies(
    cases: Sequence[ux.Case], model: Backbone, language: str, limit: int, seed: int = SEED
) -> pd.DataFrame:
    """Let a model reply under each system prompt, or after a complaint by each way of asking for recovery."""
    if not cases:
        raise NotEnough(
            "The model was not asked for replies: no reply here was disliked and followed by a message of the "
            "user. Add low scores and dislikes, or a released split of this task."
        )
    own, form = [cases[i] for i in draw_some(len(cases), limit, seed)], PromptSettings(language)
    ways: list[Any] = [ux.Generation(system, form) for system in ux.SYSTEMS]
    if own[0].complaint:
        ways = [ux.Recovery(variant, form=form) for variant in ux.VARIANTS]  # type: ignore[arg-type]
    return pd.concat([ux.answered(way, own, model) for way in ways], ignore_index=True)


Score = Callable[[pd.DataFrame, Sequence[ux.Case]], pd.DataFrame]


@dataclass(frozen=True)
class ModelScorer:
    """A model that scores replies in place of the reward model, of at most so many cases (None: all), drawn by the seed."""

    model: Backbone
    language: str
    most: int | None = None
    seed: int = SEED

    def score(self, replies: pd.DataFrame, cases: Sequence[ux.Case]) -> pd.DataFrame:
        """The replies to the drawn cases with a verdict each; columns as of `perslib.ux.scored_replies`."""
        drawn = [cases[i] for i in draw_some(len(cases), self.most, self.seed)]
        own = replies[replies["case"].isin({case.case for case in drawn})]
        judge = ux.UXJudge(PromptSettings(self.language), name=f"UX judge, {self.model.name}")
        return ux.scored_replies(own, drawn, judge, self.model)


def score_replies(replies: pd.DataFrame, cases: Sequence[ux.Case], scorers: Sequence[Score]) -> pd.DataFrame:
    """Have all scorers score the replies, one after another, told apart by `judge`.

    One that has too little to learn from is left out; where none is left, its reason is raised.
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


def of_first_scorer(scored: pd.DataFrame, model: str = "") -> pd.DataFrame:
    """What the first scorer says, of one model's replies where one is named."""
    if scored.empty:
        return scored
    own = scored[scored["judge"] == scored["judge"].iloc[0]]
    return own[own["model"] == model] if model else own


def share_good_replies(scored: pd.DataFrame) -> pd.DataFrame:
    """Good% of each model, way of asking and scorer, with Wilson bounds by case and bounds over users.

    `liked_percent`, where `truth` is known, is the share with a score of 4 or more.
    """
    by = ["model", "how", "judge"]
    table = ux.good_share(scored.reindex(columns=[*dict.fromkeys([*scored, "judge"])]), by, unit="user")
    if "truth" not in scored or scored.empty:
        return table
    known = scored.dropna(subset="truth")
    liked = (known["truth"].astype(float) >= 4).groupby([known[column] for column in by]).mean() * 100
    return table.join(liked.rename("liked_percent"), on=by)


def add_truth(shares: pd.DataFrame) -> pd.DataFrame:
    """The shares with a further row for each where the truth is known, as if `liked_percent` were a scorer."""
    if "liked_percent" not in shares or shares.empty:
        return shares
    known = of_first_scorer(shares).dropna(subset="liked_percent")[["model", "how", "liked_percent"]]
    truth = known.rename(columns={"liked_percent": "percent"}).assign(judge="liked_percent")
    return pd.concat([shares, truth], ignore_index=True)


def compare_with_truth(shares: pd.DataFrame) -> dict[str, float]:
    """Spearman's `rho` of `n` Good% by the first scorer with what users liked, and by how many points they are `off`.

    Empty for too few.
    """
    known = shares.dropna(subset="liked_percent") if "liked_percent" in shares else shares.iloc[:0]
    known = of_first_scorer(known)
    if len(known) < 3 or known["cases"].min() < FEWEST_REPLIES:
        return {}
    rho = known["percent"].corr(known["liked_percent"], method="spearman")
    return {"n": len(known), "rho": rho, "off": (known["percent"] - known["liked_percent"]).abs().mean()}


def best_published(column: str) -> pd.DataFrame:
    """Table 3's eight best models in a task, `eval_good` or `recovery_good`: model, family, percent with Wilson bounds."""
    table = ux.published("table3").query("family != 'reward model'").nlargest(8, column)
    table = table.rename(columns={column: "percent"})[["model", "family", "percent"]]
    return with_wilson(table.reset_index(drop=True), "percent", ux.CASES[column])


# -- by what was asked -----------------------------------------------------------------------------------------------


def label_topics(*sides: Iterable[ux.Case]) -> pd.DataFrame:
    """Label what all different cases are about, by rules; where a release says the scenario, that is taken."""
    cases = list({case.case: case for case in chain(*sides)}.values())
    if not cases:
        raise NotEnough(
            "There is no request to classify: none of the three tasks has a case here. Add rated, liked or "
            "disliked replies, or a released split."
        )
    found = ux.topics_of(cases)
    said = pd.Series([label_id(case.scenario, "scenario") for case in cases], dtype="str")
    return found.assign(scenario=found["scenario"].mask(said != OTHER, said))


def count_topics(found: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Count how often each scenario or intent occurs here, beside the paper: kind, cases, percent, published_percent."""
    names = list(KINDS[kind])
    there = ux.published(f"{kind}s").set_index(kind)["percent"].reindex(names)
    table = pd.DataFrame({"cases": found[kind].value_counts().reindex(names, fill_value=0)})
    table = table.assign(percent=100 * table["cases"] / max(1, len(found)), published_percent=there)
    table = table[(table["cases"] > 0) | there.notna()]
    return table.rename_axis(kind).reset_index()


def mark_right(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Verdicts as outcomes: `said` is 1 where a verdict is right, so that a share of good is an accuracy."""
    known = verdicts.dropna(subset="gold")
    return known.assign(said=(known["said"] == known["gold"]).fillna(False).astype(int) * 2 - 1)


def share_good_by_topic(tasks: Mapping[str, pd.DataFrame], found: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Share of good outcomes of each task by scenario or by intent, in percent; a case is one row of its task.

    Columns: task, kind, cases, percent with bounds, wilson_low, wilson_high. Strata with fewer than `FEWEST_CASES` cases
    show their count only.
    """
    known = {task: own for task, own in tasks.items() if len(own)}
    if not known:
        raise NotEnough("No task has an outcome here that could be broken down; the reasons are given above.")
    every = pd.concat(known, names=["task", None]).reset_index(level=0)
    every[kind] = every["case"].map(found.set_index("case")[kind]).fillna(OTHER)
    table = ux.good_share(every, ("task", kind), unit="user", fewest=FEWEST_CASES)
    places = {name: place for place, name in enumerate([*known, *KINDS[kind]])}
    return table.sort_values(["task", kind], key=lambda names: names.map(places), ignore_index=True)


def summarize_breakdown(table: pd.DataFrame, found: pd.DataFrame) -> dict[str, float]:
    """Which strata are there, and whether any stands out.

    Returns known (strata with a share), small (without), tasks (with several strata), apart (tasks whose best and worst
    stratum have intervals that do not overlap), unclear (percent of requests without a scenario).
    """
    known = table[table["percent"].notna()]
    several = [own for _, own in known.groupby("task") if len(own) > 1]
    return {
        **{"known": len(known), "small": len(table) - len(known), "tasks": len(several)},
        "apart": sum(bool(own["wilson_low"].max() > own["wilson_high"].min()) for own in several),
        "unclear": 100 * (found["scenario"] == OTHER).mean(),
    }


def or_empty(part: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """What a part of the page comes to; nothing where there is too little data for it."""
    try:
        return part()
    except NotEnough:
        return pd.DataFrame()


def list_labels(topics: pd.DataFrame, opened: pd.DataFrame) -> pd.DataFrame:
    """List what rules and model said of the same, a row a label: case, text, rules, model, kind."""
    given = [(topics, kind, "query", f"{kind}_labelled") for kind in KINDS]
    parts = [
        frame.reindex(columns=["case", text, kind, label])
        .set_axis(["case", "text", "rules", "model"], axis=1)
        .assign(kind=kind)
        for frame, kind, text, label in [*given, (opened, "strategy", "reply", "labelled")]
    ]
    return pd.concat(parts, ignore_index=True)


def compare_labellers(labels: pd.DataFrame) -> pd.DataFrame:
    """Compare rules and model by what `list_labels` lists, where enough was labelled.

    Columns: kind, label, kappa with bounds, equal, one, other, replies.
    """
    names = {**KINDS, "strategy": ux.STRATEGIES}
    tables = [
        ux.labeller_agreement(own, one="rules", other="model", names=names[kind]).assign(kind=kind)
        for kind, own in labels.groupby("kind", sort=False)
        if own[["rules", "model"]].notna().all(axis=1).sum() >= FEWEST_LABELLED
    ]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
