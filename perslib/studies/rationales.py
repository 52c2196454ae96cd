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

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, Block, Corpus, Target
from perslib.judge import Judge, Personal, evaluate
from perslib.llm import Backbone, Steps
from perslib.memory import UserMemory
from perslib.memory.base import Key, Noting
from perslib.memory.retrieval import turn_id
from perslib.stats import (
    FEWEST_USERS,
    RESAMPLES,
    SEED,
    interval,
    mean_by,
    reason_agreement,
    reason_pairs,
    resample_users,
    to_scale,
)
from perslib.stats.gold import of_judges, with_gold
from perslib.stats.reasons import order_of
from perslib.studies.grounding import Grounding, Grounds

PATTERNS = ("matches the core", "real, not the core", "off-task", "not grounded", "no rationale")
SATISFIED = "judge satisfied"
#: (judge, user, scenario) → the memory that the judge was shown.
Memories = Mapping[tuple[str, str, str], UserMemory]


class Kept(Noting[UserMemory]):
    """A memory system that keeps what it built: verdicts cite statements by number, here is what those say."""

    def build(self, block: Block, judged: pd.DataFrame | None = None) -> Steps[UserMemory]:
        """Build as the system does, and keep it."""
        memory = yield from self.system.build(block, judged)
        self.notes[self.key(block, judged)] = memory
        return memory


def keeping(judge: Judge) -> tuple[Judge, Mapping[Key, UserMemory]]:
    """The same judge, and where the memories that it builds will stand."""
    judge = copy(judge)
    if not isinstance(judge, Personal) or judge.memory is None:
        return judge, {}
    kept = judge.memory = Kept(judge.memory)
    return judge, kept.notes


def judged(
    judges: Iterable[Judge], corpus: Corpus, backbone: Backbone, *, limit: int | None, seed: int
) -> tuple[pd.DataFrame, Memories]:
    """The judges' verdicts on the same replies, in one frame, and the memories behind them."""
    memories: dict[tuple[str, str, str], UserMemory] = {}
    frames = []
    for judge, built in map(keeping, judges):
        frames.append(evaluate(judge, corpus, backbone, limit=limit, seed=seed))
        memories |= {(judge.name, user, scenario): memory for (user, scenario, _), memory in built.items()}
    return pd.concat(frames, ignore_index=True), memories


def patterns(verdicts: pd.DataFrame, corpus: Corpus, memories: Memories) -> pd.DataFrame:
    """Every scored verdict with what its rationale speaks of.

    Columns: the keys of a turn, judge, backbone, gold, gold_reason, score, reason, rationale, evidence, near,
    far, habit, terms, off_task, pattern (missing where the user was satisfied or gave no reason).
    """
    frame = with_gold(verdicts, corpus, ["raw", "reason", "rationale", "evidence"])
    frame = frame.dropna(subset=["raw", "gold"]).rename(columns={"raw": "score"}).drop(columns="place")
    parts = [_placed(own, corpus, memories) for _, own in of_judges(frame)]
    if not parts:
        columns = ["near", "far", "habit", "terms", "off_task", "pattern"]
        return frame.assign(**{c: pd.Series(dtype=object) for c in columns})
    return pd.concat(parts, ignore_index=True)


def _placed(own: pd.DataFrame, corpus: Corpus, memories: Memories) -> pd.DataFrame:
    """The verdicts of one judge with their grounds and patterns."""
    written = own[own["rationale"].notna()]
    grounding = Grounding(corpus, written)
    found: dict[Any, Grounds] = {}
    for key, part in written.groupby(BLOCK, sort=False):
        block = corpus.block(*key)
        targets = {(t.session, t.turn): t for t in block}
        memory = memories.get((part["judge"].iloc[0], *key))
        noted = [s.text for s in memory.statements] if memory else []
        for i, session, turn, said in zip(part.index, part["session"], part["turn"], part["rationale"]):
            found[i] = grounding.grounds(said, block, targets[session, int(turn)], noted)
    grounds = [found.get(i, Grounds()) for i in own.index]
    placed = own.assign(
        near=[g.near for g in grounds],
        far=[g.far for g in grounds],
        habit=[g.habit for g in grounds],
        terms=[g.terms for g in grounds],
        off_task=[g.is_off_task for g in grounds],
    )
    named = [_pattern(row, g) for row, g in zip(placed.to_dict("records"), grounds)]
    return placed.assign(pattern=pd.Series(named, index=placed.index, dtype="str"))


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


def shares(found: pd.DataFrame, resamples: int = RESAMPLES, seed: int = SEED) -> pd.DataFrame:
    """How often each pattern occurs where user and judge are dissatisfied; one row a judge and pattern.

    Columns: judge, backbone, pattern, turns, share, share_low, share_high (95 % interval, users resampled).
    """
    both = found[found["pattern"].isin(PATTERNS)]
    tables = []
    for row, own in of_judges(both):
        for pattern in PATTERNS:
            is_so = own.assign(hit=(own["pattern"] == pattern).astype(float), pattern=pattern)
            table = mean_by(is_so, "hit", "pattern", resamples=resamples, seed=seed)
            tables.append(table.assign(judge=row.judge, backbone=row.backbone, turns=int(is_so["hit"].sum())))
    columns = ["judge", "backbone", "pattern", "turns", "share", "share_low", "share_high"]
    if not tables:
        return pd.DataFrame(columns=columns)
    return pd.concat(tables, ignore_index=True).rename(columns=lambda name: name.replace("mean", "share"))[
        columns
    ]


def by_reason(found: pd.DataFrame, order: Iterable[str]) -> pd.DataFrame:
    """How often each pattern met each reason of the users. Columns: judge, gold_reason, pattern, turns, share."""
    low = found[found["pattern"].notna()]
    counts = low.groupby(["judge", "gold_reason", "pattern"]).size().rename("turns").reset_index()
    rank = {reason: i for i, reason in enumerate(order)}
    counts = counts.sort_values(
        "gold_reason", key=lambda c: c.map(rank), kind="stable", ignore_index=True
    ).astype({"turns": int})
    total = counts.groupby(["judge", "gold_reason"])["turns"].transform("sum")
    return counts.assign(share=counts["turns"] / total)


def citations(found: pd.DataFrame, corpus: Corpus, memories: Memories) -> pd.DataFrame:
    """What the rationales cite; one row a judge.

    Columns: judge, rationales, citing (rationales with a citation), citations, nonexistent (of them
    cite a statement or turn that there is not), unfounded (cite a statement that rests on no turn), other_task
    (cite an observation on another kind of task).
    """
    rows = []
    for row, own in of_judges(found):
        kinds: list[str] = []
        for (user, scenario), of_block in own.groupby(BLOCK, sort=False):
            memory = memories.get((row.judge, user, scenario))
            turns = _turns_of(corpus, user, scenario) if memory is None else set()
            kinds += [_kind(cited, memory, turns) for evidence in of_block["evidence"] for cited in evidence]
        written = own[own["rationale"].notna()]
        counts = {kind: kinds.count(kind) for kind in ("nonexistent", "unfounded", "other_task")}
        citing = int(written["evidence"].map(bool).sum())
        about = {"judge": row.judge, "rationales": len(written), "citing": citing}
        rows.append({**about, "citations": len(kinds), **counts})
    return pd.DataFrame(rows)


def _turns_of(corpus: Corpus, user: str, scenario: str) -> set[str]:
    """Ids of the turns that a judge of this block may cite."""
    turns = corpus.block(user, scenario).evidence
    return {turn_id(*key) for key in zip(turns["scenario"], turns["session"], turns["turn"])}


def _kind(cited: str, memory: UserMemory | None, turns: set[str]) -> str:
    if memory is None:
        return "sound" if cited in turns else "nonexistent"
    statement = {s.id: s for s in memory.statements}.get(cited.strip().upper())
    if statement is None:
        return "nonexistent"
    if not statement.turns:
        return "unfounded"
    return "sound" if statement.task is None else "other_task"


def recognised(found: pd.DataFrame, corpus: Corpus, seed: int = SEED) -> pd.DataFrame:
    """Would an off-task rationale be noticed? Each is put on a judged reply of another scenario of its user.

    Columns: judge, tried, recognised, share; judges without such
    rationales, or of whom too little is known, are left out.
    """
    rows = []
    for row, own in of_judges(found[found["rationale"].notna()]):
        grounding, order, hits = Grounding(corpus, own), np.random.default_rng(seed), []
        targets: dict[tuple[str, str], tuple[Block, dict[tuple[str, int], Target]]] = {}
        for _, of_user in own.groupby("user", sort=False):
            for one in of_user.to_dict("records"):
                others = of_user[of_user["scenario"] != one["scenario"]].to_dict("records")
                if not others:
                    continue
                other = others[order.integers(len(others))]
                key = (other["user"], other["scenario"])
                if key not in targets:
                    block = corpus.block(*key)
                    targets[key] = block, {(t.session, t.turn): t for t in block}
                block, of_block = targets[key]
                grounds = grounding.grounds(
                    one["rationale"], block, of_block[other["session"], other["turn"]]
                )
                hits += [grounds.is_off_task] if grounds.is_decided else []
        if hits:
            rows.append({"judge": row.judge, "tried": len(hits), "recognised": sum(hits)})
    table = pd.DataFrame(rows, columns=["judge", "tried", "recognised"])
    return table.assign(share=table["recognised"] / table["tried"])


#: Who names the reasons: the judge, or in its place somebody who reads nothing.
BLIND = ("always the commonest", "drawn as train users give them")


def chances(corpus: Corpus) -> pd.Series:
    """How often the train users give each reason, as shares, the commonest first; empty if they give none."""
    train = set(corpus.split().get("train", []))
    low = corpus.turns[corpus.turns["user"].isin(train) & corpus.turns["score"].le(3).fillna(False)]
    return low["reason"].value_counts(normalize=True)


def against_blind(
    verdicts: pd.DataFrame, corpus: Corpus, resamples: int = RESAMPLES, seed: int = SEED
) -> pd.DataFrame:
    """Agreement on reasons, and what the judge would get with its own scores but reasons named blindly.

    One row a judge and `named_by`. `accuracy` and `kappa` on turns that both found dissatisfying, `found` on
    all that the user did, where a satisfied judge is wrong; `gain` is the judge's accuracy less the
    blind one's on the same turns. Each with `_low` and `_high`, users resampled. κ of the blind is 0 by
    construction. Drawing is not simulated: its expected accuracy is the mean share of the users' reasons.
    """
    shares, rows = chances(corpus), []
    agreed = reason_agreement(verdicts, corpus, resamples=resamples, seed=seed)
    agreed = agreed.assign(backbone=agreed["backbone"].fillna("")).set_index(["judge", "backbone", "metric"])
    for row, own in of_judges(reason_pairs(verdicts, corpus)):
        both = own["score"] <= 3
        about: dict[str, Any] = {
            "judge": row.judge,
            "backbone": row.backbone,
            "turns": int(both.sum()),
            "low": len(own),
        }
        kappa = agreed.loc[(row.judge, row.backbone or "", "kappa")]
        right = (own["reason"] == own["gold_reason"]).astype(float)
        said = {"": right}
        if len(shares):
            said[BLIND[0]] = (own["gold_reason"] == shares.index[0]).astype(float)
            said[BLIND[1]] = own["gold_reason"].map(shares).fillna(0.0).astype(float)
        for name, named in said.items():
            line = {**about, "named_by": name}
            line |= _mean("accuracy", own[both], named[both], resamples, seed)
            line |= _mean("found", own, named * both, resamples, seed)
            if name:
                line |= {"kappa": 0.0} | _mean("gain", own[both], (right - named)[both], resamples, seed)
            else:
                line |= {
                    "kappa": kappa["value"],
                    "kappa_low": kappa["value_low"],
                    "kappa_high": kappa["value_high"],
                }
            rows.append(line)
    return pd.DataFrame(rows)


def _mean(name: str, own: pd.DataFrame, values: pd.Series, resamples: int, seed: int) -> dict[str, float]:
    frame = pd.DataFrame({"user": own["user"], "of": name, "value": values})
    table = mean_by(frame, "value", "of", resamples=resamples, seed=seed)
    if table.empty:
        return {name: np.nan, f"{name}_low": np.nan, f"{name}_high": np.nan}
    mean, low, high = table[["mean", "mean_low", "mean_high"]].iloc[0].astype(float)
    return {name: mean, f"{name}_low": low, f"{name}_high": high}


def bias(
    verdicts: pd.DataFrame, corpus: Corpus, resamples: int = RESAMPLES, seed: int = SEED
) -> pd.DataFrame:
    """Is a reason named more often than given? One row a judge and reason, on turns that both found dissatisfying.

    Columns: judge, backbone, reason, given, said (turns), given_share, said_share, ratio (said ÷ given), ratio_low,
    high (95 % interval, users resampled, from `FEWEST_USERS` on; above 1 is over-predicted).
    """
    rows = []
    order = order_of(corpus)
    for row, own in of_judges(reason_pairs(verdicts, corpus)):
        both = own[own["score"] <= 3]
        user, users = pd.factorize(both["user"])
        weights = resample_users(len(users), resamples if len(users) >= FEWEST_USERS else 0, seed).astype(
            float
        )
        named = {*both["gold_reason"], *both["reason"]}
        for reason in (r for r in order if r in named):
            given, said = (both[c].eq(reason).to_numpy(float) for c in ("gold_reason", "reason"))
            counts = [np.bincount(user, hits, len(users)) @ weights for hits in (given, said)]
            with np.errstate(invalid="ignore", divide="ignore"):
                ratio = np.where(counts[0] > 0, counts[1] / counts[0], np.nan)
            low, high = interval(ratio[1:]) if len(users) >= FEWEST_USERS else (np.nan, np.nan)
            shares = {"given_share": given.mean(), "said_share": said.mean()}
            about = {"judge": row.judge, "backbone": row.backbone, "reason": reason}
            totals = {"given": int(given.sum()), "said": int(said.sum())}
            rows.append(
                {**about, **totals, **shares, "ratio": ratio[0], "ratio_low": low, "ratio_high": high}
            )
    columns = ["judge", "backbone", "reason", "given", "said", "given_share", "said_share"]
    return pd.DataFrame(rows, columns=[*columns, "ratio", "ratio_low", "ratio_high"])
