"""What would change the learned judge's mind: the smallest changes of a reply that turn its verdict round.

    changes = run_with_answers(partial(find_changes, judge, block))

One trait of the reply is changed and everything else stays, its words too. So this says what the judge goes by, not what
the person would say of another reply.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Block
from perslib.judge.learned.explanation import Case
from perslib.judge.learned.learned_judge import LearnedJudge
from perslib.judge.learned.mixed import Array
from perslib.llm import Ask
from perslib.memory.features import FEATURES, KINDS, NAMES, measure_traits

#: Scores above this are of a satisfied user.
BORDER = 3.5
#: So many changes of a reply are named.
NAMED = 3
#: No trait is moved farther than so many standard deviations from its mean: few replies are like that.
FARTHEST = 2.5
#: Traits that whoever writes a reply can choose; three that follow from others are left out.
CHANGEABLE = [
    name
    for group in ("size", "content", "faults", "match")
    for name in FEATURES[group]
    if name not in ("short", "growth", "foreign")
]
_PLACES = np.array([NAMES.index(name) for name in CHANGEABLE])
#: Predictions among which that of the border is looked for, around that of the reply.
_AROUND = np.linspace(-4, 4, 801)


async def find_changes(judge: LearnedJudge, block: Block, ask: Ask, most: int = NAMED) -> pd.DataFrame:
    """Return the smallest changes of each reply that carry its score over the border, the smallest first.

    Where too few do, those that carry it nearest follow. Columns: user, scenario, session, turn, trait, before, after (values
    of the trait, as `perslib.memory.features` has them), score, new_score, turns_round.
    """
    case, n = judge.read_case(block), len(CHANGEABLE)
    given = (await judge.ask_panel(block, ask))[1]
    numbers = np.hstack(case.targets.numbers)
    now = (await judge.take_apart(case, ask)).prediction
    every = np.repeat(np.arange(len(block)), n)
    of_trait = np.tile(_PLACES, len(block))
    raised = numbers[every] + (np.arange(numbers.shape[1]) == of_trait[:, None])
    pull = await _predict(judge, case, every, raised, ask) - now[every]  # the first stage is linear in each trait
    wanted = np.array([_find_border(judge, case, i, prediction, given) for i, prediction in enumerate(now)])
    step = (wanted - now)[every] / np.where(np.abs(pull) < 1e-9, np.nan, pull)
    before = np.array([measure_traits(turn) for turn in case.replies]).reshape(len(block), -1)[:, _PLACES].ravel()
    after = _reach(judge, before, np.nan_to_num(step))
    moved = judge.reading.scale(after, of_trait)
    changed = numbers[every]
    changed[np.arange(len(every)), of_trait] = moved
    scores = judge.expect(case, now, given)
    new = judge.expect(case, await _predict(judge, case, every, changed, ask), given[every])
    changes = block.targets[TURN].iloc[every].reset_index(drop=True).assign(
        trait=np.tile(np.array(CHANGEABLE, object), len(block)), before=before, after=after,
        score=scores[every], new_score=new, turns_round=(scores[every] > BORDER) != (new > BORDER),
    )  # fmt: skip
    size = np.abs(moved - numbers[every, of_trait])
    short_of = np.where(changes["turns_round"], 0.0, np.abs(new - BORDER))
    is_change = (size > 1e-9) & (np.abs(new - BORDER) < np.abs(scores[every] - BORDER)) | changes["turns_round"]
    order = np.lexsort((size, short_of, every))
    shown = changes.iloc[order][is_change.to_numpy()[order]]
    return shown.groupby(every[shown.index], sort=False).head(most).reset_index(drop=True)


async def _predict(judge: LearnedJudge, case: Case, rows: Array, numbers: Array, ask: Ask) -> Array:
    """Return the first stage's predictions for these replies of the case with other numbers."""
    targets = case.targets.take(rows)
    ends = np.cumsum([group.shape[1] for group in targets.numbers])[:-1]
    targets = replace(targets, numbers=np.split(numbers, ends, axis=1))
    changed = replace(case, targets=targets, tied=judge.population.project(targets))
    return (await judge.take_apart(changed, ask)).prediction


def _find_border(judge: LearnedJudge, case: Case, i: int, prediction: float, given: Array) -> float:
    """Return the prediction whose score lies on the border; missing where none does."""
    tried = prediction + _AROUND
    scores = judge.expect(case, tried, np.tile(given[i], (len(tried), 1)))
    return float(np.interp(BORDER, scores, tried, left=np.nan, right=np.nan))


def _reach(judge: LearnedJudge, before: Array, step: Array) -> Array:
    """Return the value of each trait after the step, or as far in its direction as replies go; counts are whole."""
    after = np.empty_like(before)
    traits = CHANGEABLE * (len(before) // len(CHANGEABLE))
    for k, (trait, value, by) in enumerate(zip(traits, before, step)):
        mean, spread = judge.reading.usual(trait)
        low, high = mean - FARTHEST * spread, mean + FARTHEST * spread
        kind = KINDS.get(trait, "mark")
        if kind == "mark":
            after[k] = float(by > 0) if by else value
            continue
        reached = float(np.clip(value + by * spread, min(low, value), max(high, value)))
        if kind == "share":
            reached = min(max(reached, 0.0), 1.0)
        elif kind == "count":
            whole = np.ceil(np.expm1(reached) - 1e-9) if by > 0 else np.floor(np.expm1(reached) + 1e-9)
            reached = float(np.log1p(max(whole, 0.0)))
        after[k] = reached
    return after
