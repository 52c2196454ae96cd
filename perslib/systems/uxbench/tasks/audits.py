"""One call tells whether a judge goes by place or by length, for any judge of the library; see also `perslib.systems.uxbench.statistics.length_audit`.

    position_audit(judge, pairs_of(corpus.extras["candidates"], 40), corpus, backbone)
    padding_audit(judge, corpus, backbone)

A judge is given the two replies of a pair as two targets of one block, in both orders, and prefers the higher score. One
that compares them (`PairJudge`) is shown both at once; of one that scores them one by one a choice that follows the order
means that what stands before a reply has coloured its score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Block, Corpus
from perslib.errors import DataError, Problem
from perslib.judge import Judge, Verdict
from perslib.judge.evaluate import fit_judge as fit_judge
from perslib.judge.evaluate import judge_blocks, select_blocks
from perslib.llm import Backbone
from perslib.prompts import read_phrases
from perslib.stats import SEED, Resamples, floats
from perslib.systems.uxbench.statistics import order_effects

_PAIR = [*TURN, "a", "b", "reply_a", "reply_b"]


def pairs_of(replies: pd.DataFrame, limit: int | None = None, seed: int = SEED) -> pd.DataFrame:
    """Return pairs of candidates' replies to the same turn, drawn by the seed: the keys of a turn, a, b, reply_a,
    reply_b.

    Of every turn all pairs of candidates with a reply can be drawn; equal replies make no pair.
    """
    by_turn: dict[tuple[Any, ...], list[dict[Any, Any]]] = {}
    columns = replies.dropna(subset=["response"])[[*TURN, "candidate", "response"]]
    for row in columns.sort_values([*TURN, "candidate"]).to_dict("records"):
        by_turn.setdefault(tuple(row[c] for c in TURN), []).append(row)
    rows = [
        [*key, one["candidate"], other["candidate"], one["response"], other["response"]]
        for key, own in by_turn.items()
        for one, other in combinations(own, 2)
        if one["response"] != other["response"]
    ]
    table = pd.DataFrame(rows, columns=_PAIR)
    if limit is None or limit >= len(table):
        return table
    return table.sample(limit, random_state=seed).sort_index().reset_index(drop=True)


def choices_on(
    judge: Judge,
    pairs: pd.DataFrame,
    corpus: Corpus,
    backbone: Backbone | None = None,
    *,
    fit: bool = True,
    progress: bool = True,
) -> pd.DataFrame:
    """Return the judge's choice on every pair in both orders, as `perslib.systems.uxbench.statistics.order_effects` takes them.

    Of a judge that scores, the higher score wins (`expected` where it gives a distribution, else `raw`), and equal
    scores are a tie. With `fit` off, a judge that learns is taken as it is.
    """
    if missing := [c for c in _PAIR if c not in pairs]:
        raise DataError(Problem("pairs", f"has no column {', '.join(missing)}"), "See `pairs_of`.")
    shown = [(row, first) for row in pairs.to_dict("records") for first in ("a", "b")]
    cut = {key: corpus.block(*key) for key in dict.fromkeys((row["user"], row["scenario"]) for row, _ in shown)}
    blocks = [_both(cut, row, first) for row, first in shown]
    if fit:
        fit_judge(judge, corpus, blocks, backbone, progress=progress)
    places = [_higher(v) for v in judge_blocks(judge, blocks, backbone, progress=progress)]
    rows = []
    for (row, first), place in zip(shown, places, strict=True):
        other = "b" if first == "a" else "a"
        choice = {"first": first, "second": other, "tie": "tie", None: None}[place]
        about = {"judge": judge.name, "a": row["a"], "b": row["b"], **{c: row[c] for c in TURN}}
        rows.append({**about, "case": "/".join(str(row[c]) for c in TURN), "first": first, "choice": choice})
    return pd.DataFrame(rows).astype({"choice": "str"})


def position_audit(
    judge: Judge, pairs: pd.DataFrame, corpus: Corpus, backbone: Backbone | None = None, **choosing: Any
) -> pd.DataFrame:
    """Measure what the order of showing does to the judge's choices: one row as of `order_effects`, with intervals over
    users.

    `choosing` are settings of `choices_on`: margin, fit, progress.
    """
    choices = choices_on(judge, pairs, corpus, backbone, **choosing)
    return order_effects(choices, unit="user")


def _order_rows(row: dict[Any, Any], first: str) -> tuple[str, str]:
    return (row["reply_a"], row["reply_b"]) if first == "a" else (row["reply_b"], row["reply_a"])


Cut = dict[tuple[str, str], Block]


def _both(cut: Cut, row: dict[Any, Any], first: str) -> Block:
    """Return the block with the two replies as its targets, in this order."""
    block = cut[row["user"], row["scenario"]]
    own = block.targets[(block.targets["session"] == row["session"]) & (block.targets["turn"] == row["turn"])]
    if len(own) != 1:
        raise DataError(Problem("pairs", f"the corpus has no turn {'/'.join(str(row[c]) for c in TURN)}"))
    twice = pd.concat([own, own], ignore_index=True).assign(response=list(_order_rows(row, first)))
    return replace(block, targets=twice)


def _higher(verdicts: Sequence[Verdict]) -> str | None:
    scores = [v.score for v in verdicts]
    if scores[0] is None or scores[1] is None:
        return None
    difference = scores[0] - scores[1]
    return "tie" if abs(difference) <= 1e-9 else "first" if difference > 0 else "second"


def pad_reply(reply: str, language: str, times: float = 1.0) -> str:
    """Return the reply with empty words behind it, about `times` its own length of them, at least one paragraph."""
    filler = read_phrases("padding", language)["text"]
    return "\n\n".join([reply, *[filler] * max(1, round(times * len(reply) / len(filler)))])


def padding_audit(
    judge: Judge,
    corpus: Corpus,
    backbone: Backbone | None = None,
    *,
    limit: int | None = None,
    blocks: Sequence[Block] | None = None,
    times: float = 1.0,
    fit: bool = True,
    seed: int = SEED,
    progress: bool = True,
) -> pd.DataFrame:
    """Return what empty words do to a judge's score: each reply as it is, and padded to about twice its length; one
    row.

    Columns: judge, as_is and with_padding (mean scores), padding_change with bounds (over users) and p, raised and
    lowered (shares of replies), turns, users, unscored. Length alone should not raise a score. `blocks` are judged instead of drawn ones where they are given.
    """
    blocks = list(select_blocks(corpus, limit=limit, seed=seed)) if blocks is None else blocks
    blocks = [block for block in blocks if len(block)]
    longer = partial(pad_reply, language=corpus.language, times=times)
    more = [replace(b, targets=b.targets.assign(response=b.targets["response"].map(longer))) for b in blocks]
    if fit:
        fit_judge(judge, corpus, blocks, backbone, progress=progress)
    scores = []
    for given in (blocks, more):
        verdicts = judge_blocks(judge, given, backbone, progress=progress)
        own = [v.score for of in verdicts for v in of]
        scores.append(floats(pd.Series(own)))
    change = scores[1] - scores[0]
    known = ~np.isnan(change)
    changed = pd.Series(change[known])  # its mean is missing, without a warning, where nothing could be read
    users = Resamples(np.concatenate([b.targets["user"] for b in blocks])[known])
    means = pd.DataFrame({"as_is": scores[0], "with_padding": scores[1]})[known].mean()
    row = {
        **{"judge": judge.name, **means},
        **users.estimate(users.mean(change[known]), "padding_change", p=True),
        **{"raised": changed.gt(1e-9).mean(), "lowered": changed.lt(-1e-9).mean()},
        **{"turns": int(known.sum()), "users": len(users), "unscored": int((~known).sum())},
    }
    return pd.DataFrame([row])
