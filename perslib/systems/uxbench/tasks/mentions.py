"""Over-personalisation: does what a judge remembers make it kinder, and does it reward a reply for only mentioning the past?

    mention_audit(judge, corpus)      a row an effect: change of score in points, intervals over users

Of what the user said in other scenarios a sentence is put at the end of a reply, to a request that has nothing to do with it; and
a sentence of another user, as the control: who rewards the first above the second takes a reminder for an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from perslib.corpus import Block, Corpus
from perslib.judge.base import Judge
from perslib.judge.borrowed import lend_history
from perslib.judge.evaluate import fit_judge as fit_judge
from perslib.judge.evaluate import judge_blocks, select_blocks
from perslib.llm import Backbone
from perslib.prompts import read_phrases
from perslib.stats import SEED, Resamples
from perslib.systems.uxbench.tasks.damages import estimate_change, scores_of

#: What is measured, and of which two scores each is the difference.
EFFECTS = {
    "with memory": ("as given", "without memory"),
    "own past mentioned": ("own", "as given"),
    "another's past mentioned": ("another's", "as given"),
    "own more than another's": ("own", "another's"),
}
#: Characters of a sentence that is mentioned.
LONGEST = 120


def mention_audit(
    judge: Judge,
    corpus: Corpus,
    backbone: Backbone | None = None,
    *,
    limit: int | None = None,
    fit: bool = True,
    seed: int = SEED,
) -> pd.DataFrame:
    """Score the same replies with the judge's memory and without, and with somebody's past mentioned at their end.

    Replies without both mentions do not count. Columns: judge, effect (see `EFFECTS`), change with bounds, turns, users.
    """
    blocks = [block for block in select_blocks(corpus, limit=limit, seed=seed) if len(block)]
    if fit:
        fit_judge(judge, corpus, blocks, backbone, progress=False)
    pool = corpus.of_users(dict.fromkeys(block.user for block in blocks))
    mentioned = {
        whose: [_mention(block, blocks, whose == "own", corpus.language, seed) for block in blocks]
        for whose in ("own", "another's")
    }
    asked = {
        "as given": (judge, blocks),
        "without memory": (lend_history(judge, pool, "nothing", seed), blocks),
        **{whose: (judge, changed) for whose, changed in mentioned.items()},
    }
    scores = {name: scores_of(judge_blocks(who, on, backbone, progress=False)) for name, (who, on) in asked.items()}
    user = np.repeat([block.user for block in blocks], list(map(len, blocks)))
    was_changed = np.all(
        [
            [new.response != old.response for a, b in zip(changed, blocks) for new, old in zip(a, b)]
            for changed in mentioned.values()
        ],
        axis=0,
    )
    rows = []
    for effect, (one, other) in EFFECTS.items():
        change = scores[one] - scores[other]
        known = np.isfinite(change) & was_changed
        users = Resamples(user[known])
        row = estimate_change(change[known], users)
        rows.append({"judge": judge.name, "effect": effect, **row, "turns": int(known.sum()), "users": len(users)})
    return pd.DataFrame(rows)


def _mention(block: Block, blocks: Sequence[Block], is_own: bool, language: str, seed: int) -> Block:
    """Return the block with a sentence of somebody's past at the end of each reply; as it is where nobody said one."""
    if is_own:
        requests = list(block.evidence.loc[block.evidence["scenario"] != block.scenario, "request"].dropna())
    else:
        others = (other for other in blocks if other.user != block.user and other.scenario != block.scenario)
        requests = [target.request for other in others for target in other if target.request]
    texts = [text.strip()[:LONGEST] for text in requests if text.strip()]
    if not texts:
        return block
    rng = np.random.default_rng([seed, *f"{block.user}/{block.scenario}".encode()])
    phrase = read_phrases("damages", language)["mentioned"]
    replies = [
        f"{reply}\n\n{phrase.format(said=texts[place])}"
        for reply, place in zip(block.targets["response"], rng.integers(len(texts), size=len(block)))
    ]
    return replace(block, targets=block.targets.assign(response=replies))
