"""Is a citation faithful? A judge that rests on the turns it cites changes its mind without them, and less without others.

    moved = delete_cited_turns(LearnedJudge(), corpus)
    table = compare_deletions(moved)
    truth = compare_to_planted(judge, corpus)      what a taught judge says of users whose tastes are known

Turns can be deleted for any judge whose verdicts cite turns of the evidence, by computing or by asking a model.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Block, Corpus
from perslib.judge import Judge, targets
from perslib.judge.evaluate import fit, verdicts_on
from perslib.judge.learned.judge import LearnedJudge
from perslib.judge.learned.preferences import columns_of, weigh_columns
from perslib.llm import Backbone
from perslib.memory import turns_by_id
from perslib.memory.preferences import LEVEL
from perslib.prompts import read_phrases
from perslib.report.show.words import name_of
from perslib.stats import Resamples, correlation
from perslib.stats.resample.leave_out import name_bounds
from perslib.text import current_language, join


def delete_cited_turns(
    judge: Judge, corpus: Corpus, backbone: Backbone | None = None, *, limit: int = 200, seed: int = 42
) -> pd.DataFrame:
    """Judge replies anew without the turns that each verdict cites, and without as many others of the user's rated turns.

    Columns: the keys of a turn, judge, cited (turns), score, without_cited, without_others. Verdicts that cite no turn of the
    evidence, or after which no others are left, are left out.
    """
    blocks = list(targets(corpus, limit=limit, seed=seed))
    fit(judge, corpus, blocks, backbone)
    rng, rows, changed = np.random.default_rng(seed), [], []
    for block, verdicts in zip(blocks, verdicts_on(judge, blocks, backbone)):
        turns = turns_by_id(block)
        rated = [name for name, row in turns.items() if pd.notna(row["score"])]
        for place, verdict in enumerate(verdicts):
            cited = [name for name in dict.fromkeys(verdict.evidence) if name in turns]
            others = [name for name in rated if name not in cited]
            if verdict.raw is None or not cited or len(others) < len(cited):
                continue
            one = replace(block, targets=block.targets.iloc[[place]].reset_index(drop=True))
            drawn = {str(name) for name in rng.choice(others, len(cited), replace=False)}
            changed += [_without(one, cited), _without(one, drawn)]
            key = block.targets.iloc[place][TURN].to_dict()
            rows.append({**key, "judge": judge.name, "cited": len(cited), "score": verdict.raw})
    scores = [verdicts[0].raw for verdicts in verdicts_on(judge, changed, backbone)]
    frame = pd.DataFrame(rows, columns=[*TURN, "judge", "cited", "score"])
    return frame.assign(without_cited=scores[::2], without_others=scores[1::2]).dropna(subset="score")


def _without(block: Block, names: Collection[str]) -> Block:
    """The block without these turns of its evidence."""
    is_kept = [name not in names for name in turns_by_id(block)]
    return replace(block, evidence=block.evidence[is_kept].reset_index(drop=True))


def compare_deletions(moved: pd.DataFrame) -> pd.DataFrame:
    """Compare by how much the score moves without cited turns and without others, one row a judge.

    Columns: judge, replies, users, cited and others (mean points moved, whichever way), more (cited less others) with
    more_low and more_high over users, share (of replies that cited turns move more; ties count half; chance is .5).
    """
    rows = []
    for name, own in moved.dropna(subset=["without_cited", "without_others"]).groupby("judge", sort=False):
        by_cited, by_others = (
            (own[column] - own["score"]).abs().astype(float) for column in ("without_cited", "without_others")
        )
        users = Resamples(own["user"])
        row = {"judge": name, "replies": len(own), "users": len(users), "cited": by_cited.mean()}
        more = users.estimate(users.mean((by_cited - by_others).to_numpy()), "more")
        share = float(((by_cited > by_others) + (by_cited == by_others) / 2).mean())
        rows.append({**row, "others": by_others.mean(), **more, "share": share})
    return pd.DataFrame(rows, columns=["judge", "replies", "users", "cited", "others", *name_bounds("more"), "share"])


#: What a synthetic world knows of its users, the traits that show it, and whether more of it is less of them.
PLANTED = {
    "strictness": ((LEVEL,), -1),
    "weight_brevity": (("length",), -1),
    "weight_format": (("lines", "items", "headings", "bold", "table"), 1),
}


def compare_to_planted(judge: LearnedJudge, corpus: Corpus) -> pd.DataFrame:
    """Compare what a taught judge says of users with what is known of them; empty where nothing is known.

    Columns: planted, traits, users, rho (rank correlation over test users) with rho_low and rho_high.
    """
    blocks, truth = list(targets(corpus)), corpus.extras.get("truth_users")
    columns = ["planted", "traits", "users", *name_bounds("rho")]
    if truth is None or not set(PLANTED) <= set(truth):
        return pd.DataFrame(columns=columns)
    known = columns_of(judge.population)
    names = [*known.traits, LEVEL]
    found = []
    for block in blocks:
        case = judge.read_case(block)
        weights, _, level = weigh_columns(judge.population, known, case.history, case.tied_history, case.scores)
        found.append((block.user, *weights.sum(axis=1), level.weight))
    said = pd.DataFrame(found, columns=["user", *names]).groupby("user").mean()
    truth = truth.set_index("user").reindex(said.index)
    phrases, rows = read_phrases("traits", current_language()), []
    for planted, (traits, sign) in PLANTED.items():
        true, own = ((sign * truth[planted]).rank(), said[[*traits]].sum(axis=1).rank())
        row = {"planted": planted, "traits": join(phrases.get(name) or name_of("part: level") for name in traits)}
        rows.append(row | {"users": len(said)} | dict(zip(name_bounds("rho"), correlation(true, own, true.index))))
    return pd.DataFrame(rows, columns=columns)
