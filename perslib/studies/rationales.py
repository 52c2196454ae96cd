"""PersTurnBench's case study of rationales (Appendix I) made systematic: three patterns, found by rule.

Where a user was dissatisfied and said why, a judge's rationale is, in this order of decision:

    judge satisfied      it defends a score of 4 or 5
    no rationale
    off-task             it cites what only the user's other scenarios contain (`grounding`)
    matches the core     it names the user's own reason
    real, not the core   it names another, and speaks of what is there
    not grounded         it names another, and little of it can be found in task, conversation and reply
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, TURN, Corpus
from perslib.corpus.schema import labels
from perslib.errors import NotEnough
from perslib.judge import Judge, evaluate, targets
from perslib.judge.extent import FEWEST_REPLIES
from perslib.judge.noted_memories import Memories, collect_memories
from perslib.llm import Backbone
from perslib.memory import UserMemory
from perslib.memory.base import turns_by_id
from perslib.stats import SEED, Resamples, cohen_under, estimate, ratio, reason_pairs, to_scale
from perslib.stats.agreement.gold import of_judges, with_gold
from perslib.stats.agreement.reasons import order_of
from perslib.studies.grounding import HABIT, Grounding, Grounds
from perslib.text import LANGUAGES

PATTERNS = ("matches the core", "real, not the core", "off-task", "not grounded", "no rationale")
SATISFIED = "judge satisfied"


def judge_with_memories(
    judges: Iterable[Judge], corpus: Corpus, backbone: Backbone, *, limit: int | None, seed: int
) -> tuple[pd.DataFrame, Memories]:
    """Return the judges' verdicts on the same replies, in one frame, and the memories behind them."""
    blocks = list(targets(corpus, limit=limit, seed=seed, has_score=True)) if limit is not None else None
    return collect_memories(judges, lambda judge: evaluate(judge, corpus, backbone, blocks=blocks))


# -- patterns ----------------------------------------------------------------------------------------------


def classify_rationales(verdicts: pd.DataFrame, corpus: Corpus, memories: Memories) -> pd.DataFrame:
    """Return every scored verdict with what its rationale speaks of.

    Columns: the keys of a turn, judge, backbone, gold, gold_reason, score, reason, rationale, evidence, asked, near,
    far, terms, habit, off_task, pattern (missing where the user was satisfied or gave no reason).
    """
    frame = with_gold(verdicts, corpus, ["raw", "reason", "rationale", "evidence", "asked"])
    frame = frame.dropna(subset=["raw", "gold"]).rename(columns={"raw": "score"}).drop(columns="place")
    found: dict[Any, Grounds] = {}
    for row, own in of_judges(frame[frame["rationale"].notna()]):
        grounding = Grounding(corpus, own)
        for key, part in own.groupby(BLOCK, sort=False):
            block, memory = corpus.block(*key), memories.get((row.judge, *key))
            noted = [s.text for s in memory.statements] if memory else []
            for i, session, turn, said in zip(part.index, part["session"], part["turn"], part["rationale"]):
                found[i] = grounding.grounds(said, block, block.target(session, int(turn)), noted)
    grounds = [found.get(i, Grounds()) for i in frame.index]
    shown = {name: [getattr(g, name) for g in grounds] for name in ("near", "far", "terms", "habit")}
    named = [_pattern(row, g) for row, g in zip(frame.to_dict("records"), grounds)]
    pattern = pd.Series(named, index=frame.index, dtype="str")
    frame = frame.assign(**shown, off_task=[g.is_off_task for g in grounds], pattern=pattern)
    return frame.reset_index(drop=True)


def _pattern(row: Mapping[Any, Any], grounds: Grounds) -> str | None:
    if row["gold"] > 3 or pd.isna(row["gold_reason"]):
        return None
    if to_scale(np.array([float(row["score"])]))[0] >= 4:
        return SATISFIED
    if pd.isna(row["rationale"]):
        return "no rationale"
    if grounds.is_off_task:
        return "off-task"
    if row["reason"] == row["gold_reason"]:
        return "matches the core"
    return "real, not the core" if grounds.is_grounded else "not grounded"


def estimate_shares(found: pd.DataFrame) -> pd.DataFrame:
    """Estimate how often each pattern occurs where user and judge are dissatisfied; one row a judge and pattern.

    Columns: judge, backbone, pattern, turns, share, share_low, share_high (95 % interval over users).
    """
    rows = []
    for row, own in of_judges(found[found["pattern"].isin(PATTERNS)]):
        users = Resamples(own["user"])
        for pattern in PATTERNS:
            is_so = own["pattern"] == pattern
            about = {**row._asdict(), "pattern": pattern, "turns": int(is_so.sum())}
            rows.append(about | users.estimate(users.mean(is_so), "share", "share"))
    return pd.DataFrame(rows, columns=["judge", "backbone", "pattern", "turns", *_estimated("share")])


def count_by_reason(found: pd.DataFrame, order: Sequence[str]) -> pd.DataFrame:
    """Count how often each pattern met each reason of the users: judge, gold_reason, pattern, turns, share."""
    low = found[found["pattern"].notna()]
    counts = low.groupby(["judge", "gold_reason", "pattern"]).size().rename("turns").reset_index()
    counts = counts.sort_values("gold_reason", key=lambda c: c.map(order.index), kind="stable", ignore_index=True)
    total = counts.groupby(["judge", "gold_reason"])["turns"].transform("sum")
    return counts.assign(share=counts["turns"] / total)


def _estimated(*names: str) -> list[str]:
    return [f"{name}{end}" for name in names for end in ("", "_low", "_high")]


def describe_rationales(found: pd.DataFrame) -> dict[str, Any]:
    """Return how much there is to look at.

    scored and written (verdicts, and those with a rationale), low (the user was dissatisfied and gave a reason), both (the
    judge was dissatisfied too); decided (rationales that could be called off-task), share (of them that are).
    """
    has_rationale = found["rationale"].notna()
    decided = found[has_rationale & found["habit"].ge(HABIT)]
    return {
        "scored": len(found),
        "written": int(has_rationale.sum()),
        "low": int(found["pattern"].notna().sum()),
        "both": int(found["pattern"].isin(PATTERNS).sum()),
        "decided": len(decided),
        "share": decided["off_task"].astype(float).mean(),
    }


def require_replies(found: pd.DataFrame) -> None:
    """Raise NotEnough where fewer than `FEWEST_REPLIES` replies were judged."""
    if len(found[TURN].drop_duplicates()) < FEWEST_REPLIES:
        raise NotEnough(
            "Not shown: fewer than {least} judged replies have a score, too few for shares and agreement.",
            least=FEWEST_REPLIES,
        )


def count_citations(found: pd.DataFrame, corpus: Corpus, memories: Memories) -> pd.DataFrame:
    """Count what the rationales cite; one row a judge.

    Columns: judge, rationales, citing (rationales with a citation), citations, nonexistent (of them
    cite a statement or turn that there is not), unfounded (cite a statement that rests on no turn), other_task
    (cite an observation on another kind of task).
    """
    rows = []
    for row, own in of_judges(found):
        kinds: list[str] = []
        for key, of_block in own.groupby(BLOCK, sort=False):
            memory = memories.get((row.judge, *key))
            turns = turns_by_id(corpus.block(*key)) if memory is None else {}
            kinds += [_kind(cited, memory, turns) for evidence in of_block["evidence"] for cited in evidence]
        rows.append(
            {
                "judge": row.judge,
                "rationales": int(own["rationale"].notna().sum()),
                "citing": int(own["evidence"].map(bool).sum()),
                "citations": len(kinds),
                **{kind: kinds.count(kind) for kind in ("nonexistent", "unfounded", "other_task")},
            }
        )
    return pd.DataFrame(rows)


def _kind(cited: str, memory: UserMemory | None, turns: Mapping[str, Any]) -> str:
    if memory is None:
        return "sound" if cited in turns else "nonexistent"
    statement = {s.id: s for s in memory.statements}.get(cited.strip().upper())
    if statement is None:
        return "nonexistent"
    if not statement.turns:
        return "unfounded"
    return "sound" if statement.task is None else "other_task"


def move_rationales(found: pd.DataFrame, corpus: Corpus, seed: int = SEED) -> pd.DataFrame:
    """Put each rationale on a judged reply of another scenario of its user: is it recognised as off-task there?

    Columns: judge, tried, recognised, share; judges without such rationales, or of whom too little is known, are left out.
    """
    rows = []
    block_of = cache(corpus.block)
    for row, own in of_judges(found[found["rationale"].notna()]):
        grounding, rng, hits = Grounding(corpus, own), np.random.default_rng(seed), []
        for _, of_user in own.groupby("user", sort=False):
            for rationale, scenario in zip(of_user["rationale"], of_user["scenario"]):
                others = of_user[of_user["scenario"] != scenario]
                if others.empty:
                    continue
                other = others.iloc[int(rng.integers(len(others)))]
                block = block_of(other["user"], other["scenario"])
                target = block.target(other["session"], int(other["turn"]))
                grounds = grounding.grounds(rationale, block, target)
                hits += [grounds.is_off_task] if grounds.is_decided else []
        if hits:
            rows.append({"judge": row.judge, "tried": len(hits), "recognised": sum(hits)})
    table = pd.DataFrame(rows, columns=["judge", "tried", "recognised"])
    return table.assign(share=table["recognised"] / table["tried"])


# -- reasons -----------------------------------------------------------------------------------------------

#: Who names the reasons: the judge, or in its place somebody who reads nothing.
ITSELF, BLIND = "itself", ("always the commonest", "drawn as train users give them")


def count_reasons(corpus: Corpus) -> pd.Series:
    """Count how often the train users give each reason, as shares, the commonest first; empty if they give none."""
    is_train = corpus.turns["user"].isin(corpus.split().get("train", []))
    low = corpus.turns[is_train & corpus.turns["score"].le(3)]
    return low["reason"].value_counts(normalize=True)


def compare_to_blind(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Measure agreement on reasons, and what the judge would get with its own scores but reasons named blindly.

    One row a judge and `named_by`. `accuracy` and `kappa` on turns that both found dissatisfying, `found` on
    all that the user did, where a satisfied judge is wrong; `gain` is the judge's accuracy less the
    blind one's on the same turns. Each with `_low` and `_high`, with intervals over users. κ of the blind is 0 by
    construction. Drawing is not simulated: its expected accuracy is the mean share of the users' reasons.
    """
    shares, rows = count_reasons(corpus), []
    for row, own in of_judges(reason_pairs(verdicts, corpus)):
        both = own["score"] <= 3
        gold, said = (own.loc[both, c].to_numpy(object) for c in ("gold_reason", "reason"))
        kappas = cohen_under(gold, said, Resamples(own["user"][both]))
        right = (own["reason"] == own["gold_reason"]).astype(float)
        named = {ITSELF: right}
        if len(shares):
            named[BLIND[0]] = (own["gold_reason"] == shares.index[0]).astype(float)
            named[BLIND[1]] = own["gold_reason"].map(shares).fillna(0.0).astype(float)
        users, of_both = (Resamples(u) for u in (own["user"], own["user"][both]))
        about = row._asdict() | {"turns": int(both.sum()), "low": len(own)}
        for name, hits in named.items():
            line = {**about, "named_by": name} | of_both.estimate(of_both.mean(hits[both]), "accuracy", "share")
            line |= users.estimate(users.mean(hits * both), "found", "share")
            gain = {"kappa": 0.0} | of_both.estimate(of_both.mean((right - hits)[both]), "gain")
            rows.append(line | (estimate(kappas, "kappa", "correlation") if name == ITSELF else gain))
    columns = ["judge", "backbone", "turns", "low", "named_by"]
    return pd.DataFrame(rows, columns=[*columns, *_estimated("accuracy", "found", "kappa", "gain")])


def find_best_control(compared: pd.DataFrame) -> pd.DataFrame:
    """Return for each judge the row of the control that does better, indexed by judge; empty where there is none."""
    blind = compared[(compared["named_by"] != ITSELF) & compared["accuracy"].notna()]
    best = blind.sort_values("accuracy", kind="stable").drop_duplicates("judge", keep="last")
    return best.sort_index().set_index("judge")


def measure_bias(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Measure how much more often a judge names a reason than users give it, on turns that both found dissatisfying.

    Columns: judge, backbone, reason, given, named (turns), given_share, named_share, ratio (named ÷ given), ratio_low,
    ratio_high (95 % interval over users; above 1 is over-predicted).
    """
    rows = []
    for row, own in of_judges(reason_pairs(verdicts, corpus)):
        both = own[own["score"] <= 3]
        users = Resamples(both["user"])
        there = {*both["gold_reason"], *both["reason"]}
        for reason in (r for r in order_of(corpus) if r in there):
            given, named = both["gold_reason"].eq(reason), both["reason"].eq(reason)
            counts = {"given": given.sum(), "named": named.sum()}
            shares = {"given_share": given.mean(), "named_share": named.mean()}
            times = users.estimate(ratio(users.total(named), users.total(given)), "ratio", "error")
            rows.append({**row._asdict(), "reason": reason, **counts, **shares, **times})
    columns = ["judge", "backbone", "reason", "given", "named", "given_share", "named_share"]
    return pd.DataFrame(rows, columns=[*columns, *_estimated("ratio")])


def find_detail(bias: pd.DataFrame) -> pd.DataFrame:
    """Return the rows on *insufficient detail* that have a ratio, indexed by judge: is it over-predicted, as published?"""
    detail = {labels(language)["insufficient detail"] for language in LANGUAGES}
    return bias[bias["reason"].isin(detail) & np.isfinite(bias["ratio"].astype(float))].set_index("judge")
