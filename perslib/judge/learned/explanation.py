"""Why the learned judge gives a score: parts that add up to it, and the rated turns that it rests on.

explanation = answered(partial(judge.explain, block))
explanation.parts      what each trait adds, for everybody and for this user
explanation.turns      what each of the user's rated turns adds
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Block
from perslib.judge.learned.mixed import Array, Parts, Turns
from perslib.memory.features import FEATURES, Said, read
from perslib.memory.measured import split_scores
from perslib.memory.retrieval import turn_id

#: Group → traits, as the mixed model has them: numbers first, then two names and the words of the reply.
GROUPS: dict[str, list[str]] = {group: list(traits) for group, traits in FEATURES.items()}
GROUPS |= {name: [name] for name in ("assistant", "scenario", "words")}
TRAITS = [trait for traits in GROUPS.values() for trait in traits]
GROUP_OF = [group for group, traits in GROUPS.items() for _ in traits]


@dataclass(frozen=True)
class Case:
    """A block as the learned judge reads it."""

    block: Block
    replies: Sequence[Said]
    rated: Sequence[Said]
    targets: Turns
    tied: Array
    history: Turns
    tied_history: Array
    scores: Array

    @property
    def given(self) -> tuple[Turns, Array, Turns, Array, Array]:
        """What the mixed model predicts from."""
        return self.targets, self.tied, self.history, self.tied_history, self.scores


@dataclass(frozen=True)
class Explanation:
    """Verdicts on a block taken apart.

    `parts` has for each target a row a part, in points of score; together they are the verdict's expected score.
    Columns: user, scenario, session, turn, group, trait, side, points, value, usual_high, usual_low. Side is
    `everybody` (their mean, and what each trait of the reply adds for everybody), `this user` (what it adds or takes
    away for this user alone), `level` (how much higher or lower this user scores any reply), `session`, and three stages
    that follow: `panel` (what other judges add), `ordinal stage` (scores end at 1 and 5, and a prediction is trusted as
    far as held-out train users allow) and `own shape` (the shape of the user's own scores). The value of a trait
    stands beside its mean in replies that the user scored high and low; names and words have none.

    `turns` has for each target what the population alone says (evidence is empty) and a row for each of the user's
    rated turns, of a judge from statements for each statement; together they are the prediction before the three stages. Columns: user, scenario, session, turn,
    evidence, score, points, share (of all that rated turns move, whichever way).
    """

    parts: pd.DataFrame
    turns: pd.DataFrame


def explain_case(case: Case, parts: Parts, stages: Mapping[str, Array]) -> Explanation:
    """Lay out the parts of the predictions, and what later stages add to them."""
    return Explanation(_list_parts(case, parts, stages), _list_turns(case, parts))


def _list_parts(case: Case, parts: Parts, stages: Mapping[str, Array]) -> pd.DataFrame:
    n = len(case.block)
    whole = {"everybody": np.full(n, parts.mean), "level": np.full(n, parts.level), "session": parts.session, **stages}
    labels = [("", "", side) for side in whole]
    labels += [(*named, side) for side in ("everybody", "this user") for named in zip(GROUP_OF, TRAITS)]
    points = np.column_stack([*whole.values(), *parts.everybody, *parts.own])
    value, high, low = ((np.full((n, len(labels)), np.nan)) for _ in range(3))
    numbers = len(TRAITS) - 3
    cut = split_scores(case.scores)
    for shown, said in (
        (value, case.replies),
        (high, _of(case, case.scores >= cut)),
        (low, _of(case, case.scores < cut)),
    ):
        if said:
            read_values = np.array([read(s) for s in said])
            for begin in (len(whole), len(whole) + len(TRAITS)):
                shown[:, begin : begin + numbers] = read_values if shown is value else read_values.mean(axis=0)
    keys = case.block.targets[TURN]
    frame = keys.iloc[np.repeat(np.arange(n), len(labels))].reset_index(drop=True)
    group, trait, side = (np.tile(np.array(names, object), n) for names in zip(*labels))
    return frame.assign(
        group=group, trait=trait, side=side, points=points.ravel(),
        value=value.ravel(), usual_high=high.ravel(), usual_low=low.ravel(),
    )  # fmt: skip


def _of(case: Case, rows: Array) -> list[Said]:
    return [said for said, wanted in zip(case.rated, rows) if wanted]


def _list_turns(case: Case, parts: Parts) -> pd.DataFrame:
    names = ["", *(turn_ids(case) if parts.evidence is None else parts.evidence)]
    scores = case.scores if parts.evidence is None else np.full(len(names) - 1, np.nan)
    points = np.column_stack([parts.population, parts.turns])
    moved = np.abs(parts.turns).sum(axis=1, keepdims=True)
    share = np.column_stack([np.full(len(points), np.nan), np.abs(parts.turns) / np.where(moved, moved, 1)])
    keys = case.block.targets[TURN]
    frame = keys.iloc[np.repeat(np.arange(len(keys)), len(names))].reset_index(drop=True)
    evidence, score = (
        np.tile(np.array(given, kind), len(points)) for given, kind in ((names, object), ([np.nan, *scores], float))
    )
    return frame.assign(evidence=evidence, score=score, points=points.ravel(), share=share.ravel())


def turn_ids(case: Case) -> list[str]:
    """Ids of the user's rated turns, in the order of the history."""
    rated = case.block.evidence[case.block.evidence["score"].notna()]
    return [turn_id(*row) for row in rated[["scenario", "session", "turn"]].itertuples(index=False)]
