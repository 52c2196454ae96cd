"""What of a judge's gain from memory is this person's: the user's own evidence against that of others.

table = compare_owners(LearnedJudge(), corpus)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import get_args

import pandas as pd

from perslib.corpus import Corpus
from perslib.judge import Judge, borrowed, targets
from perslib.judge.base import frame
from perslib.judge.evaluate import fit, verdicts_on
from perslib.llm import Backbone
from perslib.memory.borrowed import Whose
from perslib.stats import agreement

OWN = "own"
OTHERS: tuple[Whose, ...] = get_args(Whose)
METRICS = ("pearson", "wb_pearson")


def judge_with_memories_of(
    judge: Judge,
    corpus: Corpus,
    backbone: Backbone | None = None,
    whose: Sequence[Whose] = OTHERS,
    limit: int | None = None,
    seed: int = 42,
) -> pd.DataFrame:
    """The judge's verdicts on the same replies with the user's own evidence and with that of others.

    Judges are called by whose evidence they saw: own, nearest …; the judge learns once. Evidence is lent among the users
    that are judged.
    """
    blocks = list(targets(corpus, limit=limit, seed=seed, has_score=True))
    fit(judge, corpus, blocks, backbone)
    pool = corpus.of_users(dict.fromkeys(block.user for block in blocks))
    asking = backbone if judge.sees.model else None
    frames = []
    judges: dict[str, Judge] = {OWN: judge} | {owner: borrowed(judge, pool, owner, seed) for owner in whose}
    for owner, one in judges.items():
        verdicts = frame(one, corpus, asking, blocks, verdicts_on(one, blocks, asking))
        frames.append(verdicts.assign(judge=owner))
    return pd.concat(frames, ignore_index=True)


def compare_owners(verdicts: pd.DataFrame, corpus: Corpus, metrics: Sequence[str] = METRICS) -> pd.DataFrame:
    """Compare a judge with its user's own memory and with those of others, over users.

    Columns: whose, metric, value, value_low, value_high, less (own less this one's, on the same replies), less_low,
    less_high, less_p, turns, users. A judge is personal by `less` of the nearest other's.
    """
    owners = [owner for owner in dict.fromkeys(verdicts["judge"]) if owner != OWN]
    measured = partial(agreement, corpus=corpus, metrics=metrics)
    values = measured(verdicts).rename(columns={"judge": "whose"})
    gains = []
    for owner in owners:
        both = verdicts[verdicts["judge"].isin([OWN, owner])]
        found = measured(both, controls=[owner])
        gains.append(found[found["judge"] == OWN].assign(whose=owner))
    names = {f"gain{end}": f"less{end}" for end in ("", "_low", "_high", "_p")}
    of_others = pd.concat(gains).rename(columns=names)[["whose", "metric", *names.values()]]
    kept = ["whose", "metric", "value", "value_low", "value_high", "turns", "users"]
    return values[kept].merge(of_others, how="left", on=["whose", "metric"])
