"""The page on UXBench, its breakdowns: the three tasks by what was asked, and labels that rules and a model give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

import numpy as np
import pandas as pd

from perslib.errors import NotEnough
from perslib.llm import Backbone
from perslib.stats import SEED
from perslib.studies.extent import Extent
from perslib.ux import (
    INTENTS,
    SCENARIOS,
    STRATEGIES,
    Case,
    Form,
    StrategyLabeller,
    TopicLabeller,
    good_share,
    labeller_agreement,
    published,
    strategies_of,
    topics_of,
)
from perslib.ux.answers import FEWEST_CASES
from perslib.ux.construct import label_id
from perslib.ux.topics import OTHER

#: What cases are parted by, and the names it has, as the paper lists them.
KINDS: Mapping[str, tuple[str, ...]] = {
    "scenario": (*SCENARIOS, OTHER),
    "intent": tuple(dict.fromkeys((*INTENTS, OTHER))),
}
#: κ is shown from so many labelled cases on; below, the labels themselves are.
FEWEST_LABELLED = 20


def topics(*sides: Iterable[Case]) -> pd.DataFrame:
    """What all different cases are about, by rules; where a release says the scenario, that is taken."""
    cases = list({case.case: case for case in chain(*sides)}.values())
    if not cases:
        raise NotEnough(
            "There is no request to classify: none of the three tasks has a case here. Add rated, liked or "
            "disliked replies, or a released split."
        )
    found = topics_of(cases)
    said = [label_id(case.scenario, "scenario") for case in cases]
    return found.assign(
        scenario=found["scenario"].mask([s != OTHER for s in said], pd.Series(said, dtype="str"))
    )


def occurring(found: pd.DataFrame, kind: str) -> pd.DataFrame:
    """How often each scenario or intent occurs here, and in the paper: kind, cases, percent, published."""
    there = published(f"{kind}s").set_index(kind)["percent"]
    counts = found[kind].value_counts().reindex(list(KINDS[kind]), fill_value=0)
    table = pd.DataFrame({kind: counts.index, "cases": counts.to_numpy()})
    return table.assign(percent=100 * table["cases"] / max(1, len(found)), published=table[kind].map(there))


def right(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Verdicts as outcomes: `said` is 1 where a verdict is right, so that a share of good is an accuracy."""
    known = verdicts[verdicts["gold"].notna()]
    said = np.where((known["said"] == known["gold"]).fillna(False), 1, -1)
    return known.assign(said=pd.array(said, "Int64"))


def by_topic(
    tasks: Mapping[str, pd.DataFrame], found: pd.DataFrame, kind: str, seed: int = SEED
) -> pd.DataFrame:
    """Each task by scenario or by intent, in percent: task, kind, cases, percent, wilson_low, wilson_high, low, high.

    A case is one row of its task. Strata with fewer than `FEWEST_CASES` cases show their count only.
    """
    about = found.set_index("case")[kind]
    parts = []
    for task, frame in tasks.items():
        if frame.empty:
            continue
        own = frame.assign(**{kind: frame["case"].map(about).fillna(OTHER), "task": task})
        own["unit"] = own["user"].where(own["user"] != "", own["case"])
        parts.append(good_share(own, ("task", kind), unit="unit", fewest=FEWEST_CASES, seed=seed))
    if not parts:
        raise NotEnough("No task has an outcome here that could be broken down; the reasons are given above.")
    table = pd.concat(parts, ignore_index=True)
    order = {name: i for i, name in enumerate(KINDS[kind])}
    places = {task: i for i, task in enumerate(tasks)}
    table = table.sort_values(kind, key=lambda names: names.map(order), kind="stable")
    return table.sort_values("task", key=lambda names: names.map(places), kind="stable", ignore_index=True)


def or_empty(part: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """What a part of the page comes to; nothing where there is too little data for it."""
    try:
        return part()
    except NotEnough:
        return pd.DataFrame()


def split(
    tasks: Mapping[str, Callable[[], pd.DataFrame]], found: pd.DataFrame, seed: int = SEED
) -> dict[str, pd.DataFrame]:
    """By scenario and by intent, those of the tasks that there is enough data for."""
    outcomes = {task: or_empty(part) for task, part in tasks.items()}
    return {kind: by_topic(outcomes, found, kind, seed) for kind in KINDS}


def _few(number: int, look: Extent, seed: int) -> np.ndarray:
    """Places of so many as the look allows, drawn by the seed."""
    return np.sort(np.random.default_rng(seed).permutation(number)[: look.turns or number])


def topics_by_model(
    cases: Sequence[Case], model: Backbone, language: str, look: Extent, seed: int = SEED
) -> pd.DataFrame:
    """Scenario and intent of a few cases by rules and by the model; none at a first look, for the question is long."""
    own = [] if look.is_first_look else [cases[i] for i in _few(len(cases), look, seed)]
    found = topics_of(own, TopicLabeller(Form(language)), model)
    return found.assign(query=[case.query for case in own])


def openings(
    replies: pd.DataFrame,
    cases: Sequence[Case],
    model: Backbone,
    language: str,
    look: Extent,
    seed: int = SEED,
) -> pd.DataFrame:
    """With what a few recoveries open, by rules and by the model."""
    own = replies.iloc[_few(len(replies), look, seed)]
    complaints = {case.case: case.complaint for case in cases}
    return strategies_of(own, complaints, StrategyLabeller(Form(language)), model)


def agreement(topics: pd.DataFrame, opened: pd.DataFrame, seed: int = SEED) -> pd.DataFrame:
    """How far rules and model agree, where enough was labelled: kind, label, kappa, low, high, equal, one, other, replies."""
    tried = [
        (kind, topics, kind, f"{kind}_labelled", KINDS[kind])
        for kind in KINDS
        if f"{kind}_labelled" in topics
    ]
    if "labelled" in opened:
        tried.append(("strategy", opened, "strategy", "labelled", STRATEGIES))
    tables = [
        labeller_agreement(frame, one=one, other=other, names=names, seed=seed).assign(kind=kind)
        for kind, frame, one, other, names in tried
        if frame[[one, other]].notna().all(axis=1).sum() >= FEWEST_LABELLED
    ]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def side_by_side(topics: pd.DataFrame, opened: pd.DataFrame) -> pd.DataFrame:
    """What rules and model said of the same, a row a label: kind, text, rules, model."""
    rows = [
        (kind, row["query"], row[kind], row[f"{kind}_labelled"])
        for row in topics.to_dict("records")
        for kind in ("scenario", "intent")
    ]
    rows += [
        ("strategy", row["reply"], row["strategy"], row["labelled"]) for row in opened.to_dict("records")
    ]
    return pd.DataFrame(rows, columns=["kind", "text", "rules", "model"])
