"""Is a verdict faithful to its reasons? What it cites and what it names move its score, and other things move it less.

    moved = delete_cited_turns(LearnedJudge(), corpus)
    table = compare_deletions(moved)
    edited = compare_edits(edit_named_traits(LearnedJudge(), corpus))
    truth = compare_to_planted(judge, corpus)      what a taught judge says of users whose tastes are known

Turns can be deleted for any judge whose verdicts cite turns of the evidence, and replies can be edited for any judge that
writes rationales, by computing or by asking a model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Block, Corpus
from perslib.judge import Judge, Verdict, select_blocks
from perslib.judge.broken import cut_in_half, strip_structure
from perslib.judge.evaluate import fit_judge, judge_blocks
from perslib.judge.learned.learned_judge import LearnedJudge
from perslib.judge.learned.preferences import columns_of, weigh_columns
from perslib.llm import Backbone
from perslib.memory import turns_by_id
from perslib.memory.preferences import LEVEL, find_traits
from perslib.prompts import read_phrases
from perslib.report.show.words import name_of
from perslib.stats import Resamples, correlation
from perslib.stats.resample.leave_one_out import count_carriers, drop_if_few, name_bounds
from perslib.text import current_language, join


def delete_cited_turns(
    judge: Judge, corpus: Corpus, backbone: Backbone | None = None, *, limit: int = 200, seed: int = 42
) -> pd.DataFrame:
    """Judge replies anew without the turns that each verdict cites, and without as many others of the user's rated
    turns.

    Columns: the keys of a turn, judge, cited (turns), score, without_cited, without_others. Verdicts that cite no turn of the
    evidence, or after which no others are left, are left out.
    """
    rng, rows, changed = np.random.default_rng(seed), [], []
    for block, verdicts in _judge_targets(judge, corpus, backbone, limit, seed):
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
            rows.append({**one.targets.iloc[0][TURN], "judge": judge.name, "cited": len(cited), "score": verdict.raw})
    scores = [verdicts[0].raw for verdicts in judge_blocks(judge, changed, backbone)]
    frame = pd.DataFrame(rows, columns=[*TURN, "judge", "cited", "score"])
    return frame.assign(without_cited=scores[::2], without_others=scores[1::2]).dropna(subset="score")


def _judge_targets(
    judge: Judge, corpus: Corpus, backbone: Backbone | None, limit: int, seed: int
) -> Iterator[tuple[Block, Sequence[Verdict]]]:
    blocks = list(select_blocks(corpus, limit=limit, seed=seed))
    fit_judge(judge, corpus, blocks, backbone)
    return zip(blocks, judge_blocks(judge, blocks, backbone))


def _without(block: Block, names: Collection[str]) -> Block:
    """Return the block without these turns of its evidence."""
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


#: So many replies are edited for a judge that asks a model: each edit is a question more.
MOST_ASKED = 60
#: Edits of a reply: the traits that each takes away, and the reply without them.
EDITS: dict[str, tuple[set[str], Callable[[str], str]]] = {
    "second half cut off": ({"length"}, cut_in_half),
    "structure stripped": ({"items", "headings", "bold", "table"}, strip_structure),
    "numbers taken out": ({"numbers", "prices", "keeps_numbers"}, lambda text: re.sub(r"\d+(?:[.,]\d+)*", "", text)),
}


def edit_named_traits(
    judge: Judge, corpus: Corpus, backbone: Backbone | None = None, *, limit: int = 200, seed: int = 42
) -> pd.DataFrame:
    """Judge replies anew after each edit that changes them, and note whether the rationale had named what is gone.

    Columns: the keys of a turn, judge, edit, is_named, score, edited. Verdicts without a rationale are left out; of a judge that
    asks a model the first `MOST_ASKED` replies are edited.
    """
    named, changed, edited = [], [], 0
    for block, verdicts in _judge_targets(judge, corpus, backbone, limit, seed):
        if judge.inputs.model and edited >= MOST_ASKED:
            break
        edited += len(block)
        replies = block.targets["response"]
        has_words = np.array([bool(verdict.rationale) and verdict.raw is not None for verdict in verdicts])
        traits = [{trait for trait, _ in find_traits(verdict.rationale or "")} for verdict in verdicts]
        for edit, (gone, take_away) in EDITS.items():
            texts = replies.map(take_away)
            places = np.flatnonzero(has_words & texts.str.strip().ne("") & texts.str.strip().ne(replies.str.strip()))
            if len(places):
                rows = block.targets.assign(response=texts).iloc[places].reset_index(drop=True)
                changed.append(replace(block, targets=rows))
                about = {
                    "judge": judge.name,
                    "edit": edit,
                    "score": [verdicts[place].raw for place in map(int, places)],
                }
                named.append(
                    rows[TURN].assign(**about, is_named=[not gone.isdisjoint(traits[i]) for i in map(int, places)])
                )
    scores = [verdict.raw for verdicts in judge_blocks(judge, changed, backbone) for verdict in verdicts]
    columns = [*TURN, "judge", "edit", "score", "is_named"]
    frame = pd.concat(named, ignore_index=True) if named else pd.DataFrame(columns=columns)
    return frame.assign(edited=pd.array(scores, "Float64")).dropna(subset="edited")


def compare_edits(edited: pd.DataFrame) -> pd.DataFrame:
    """Compare by how much the score moves where the rationale named what an edit takes away, and where it did not.

    Columns: judge, edit, replies, users, named (replies whose rationale names it), moved_named and moved_others (mean points,
    whichever way), more (the first less the second) with more_low and more_high over users.
    """
    rows = []
    for (name, edit), own in edited.groupby(["judge", "edit"], sort=False):
        users, is_named = Resamples(own["user"]), own["is_named"].astype(bool)
        moved = (own["edited"] - own["score"]).abs().astype(float)
        means = [users.mean(moved.where(side)) for side in (is_named, ~is_named)]
        more = drop_if_few(means[0] - means[1], count_carriers(is_named, own["user"]))
        row = {"judge": name, "edit": edit, "replies": len(own), "users": len(users), "named": int(is_named.sum())}
        moves = {"moved_named": means[0][0], "moved_others": means[1][0]}
        rows.append({**row, **moves, **users.estimate(more, "more")})
    columns = ["judge", "edit", "replies", "users", "named", "moved_named", "moved_others", *name_bounds("more")]
    return pd.DataFrame(rows, columns=columns)


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
    blocks, truth = list(select_blocks(corpus)), corpus.extras.get("truth_users")
    columns = ["planted", "traits", "users", *name_bounds("rho")]
    if truth is None or not set(PLANTED) <= set(truth):
        return pd.DataFrame(columns=columns)
    known = columns_of(judge.population)
    names = [*known.traits, LEVEL]
    errors = []
    for block in blocks:
        case = judge.read_case(block)
        weights, _, level = weigh_columns(judge.population, known, case.history, case.tied_history, case.scores)
        errors.append((block.user, *weights.sum(axis=1), level.weight))
    means = pd.DataFrame(errors, columns=["user", *names]).groupby("user").mean()
    truth = truth.set_index("user").reindex(means.index)
    phrases, rows = read_phrases("traits", current_language()), []
    for planted, (traits, sign) in PLANTED.items():
        true, own = ((sign * truth[planted]).rank(), means[[*traits]].sum(axis=1).rank())
        row = {"planted": planted, "traits": join(phrases.get(name) or name_of("part: level") for name in traits)}
        rows.append(row | {"users": len(means)} | dict(zip(name_bounds("rho"), correlation(true, own, true.index))))
    return pd.DataFrame(rows, columns=columns)
