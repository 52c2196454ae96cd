"""PersTurnBench's case study of rationales (Appendix I) as a systematic study: patterns found by rules.

If a user was dissatisfied and gave a reason, the pattern of a judge's rationale is decided in this order:

    judge satisfied      it defends a score of 4 or 5
    no rationale
    off-task             it cites material that only the user's other scenarios contain (`grounding`)
    matches the core     it names the user's own reason
    real, not the core   it names another reason, and refers to the judged conversation
    not grounded         it names another reason, and little of it is in task, conversation and reply
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, TURN, Corpus
from perslib.corpus.schema import reason_labels
from perslib.errors import NotEnough
from perslib.judge import Judge, LearnedJudge, evaluate, select_blocks
from perslib.judge.learned.reasons import read_reasons
from perslib.judge.memory_records import Memories, collect_memories
from perslib.judge.scope import FEWEST_REPLIES
from perslib.llm import Backbone
from perslib.memory import UserMemory
from perslib.memory.base import turns_by_id
from perslib.prompts import read_phrases
from perslib.report.show.claims import Estimate, show_share
from perslib.report.show.words import name_of
from perslib.stats import SEED, Resamples, cohen_under, estimate, ratio, reason_pairs, to_scale
from perslib.stats.agreement.gold import JudgeKey, of_judges, with_gold
from perslib.stats.agreement.reasons import order_reasons
from perslib.stats.resample.leave_one_out import name_bounds
from perslib.studies.grounding import HABIT, Grounding, Grounds
from perslib.text import LANGUAGES

PATTERNS = ("matches the core", "real, not the core", "off-task", "not grounded", "no rationale")
SATISFIED = "judge satisfied"


def judge_with_memories(
    judges: Iterable[Judge], corpus: Corpus, backbone: Backbone, *, limit: int | None, seed: int
) -> tuple[pd.DataFrame, Memories]:
    """Return the judges' verdicts, in one frame, and the memories behind them.

    Judges that ask a model judge the same `limit` replies, others all.
    """
    drawn = list(select_blocks(corpus, limit=limit, seed=seed, has_score=True)) if limit is not None else None
    return collect_memories(
        judges, lambda judge: evaluate(judge, corpus, backbone, blocks=drawn if judge.inputs.model else None)
    )


# -- patterns ----------------------------------------------------------------------------------------------


def classify_rationales(verdicts: pd.DataFrame, corpus: Corpus, memories: Memories) -> pd.DataFrame:
    """Return every scored verdict with the sources and the pattern of its rationale.

    Columns: the keys of a turn, judge, backbone, gold, gold_reason, score, reason, rationale, evidence, asked, near,
    far, terms, habit, off_task, pattern (missing if the user was satisfied or gave no reason).
    """
    frame = with_gold(verdicts, corpus, ["raw", "reason", "rationale", "evidence", "asked"])
    frame = frame.dropna(subset=["raw", "gold"]).rename(columns={"raw": "score"}).drop(columns="place")
    grounds_by_row: dict[Any, Grounds] = {}
    for row, judge_rows in of_judges(frame[frame["rationale"].notna()]):
        grounding = _ground(row, corpus, judge_rows)
        for key, part in judge_rows.groupby(BLOCK, sort=False):
            block, memory = corpus.block(*key), memories.get((row.judge, *key))
            statements = [s.text for s in memory.statements] if memory else []
            for i, session, turn, rationale in zip(part.index, part["session"], part["turn"], part["rationale"]):
                grounds_by_row[i] = grounding.trace_terms(
                    rationale, block, block.target(session, int(turn)), statements
                )
    grounds = [grounds_by_row.get(i, Grounds()) for i in frame.index]
    shown = {name: [getattr(g, name) for g in grounds] for name in ("near", "far", "terms", "habit")}
    named = [_find_pattern(row, g) for row, g in zip(frame.to_dict("records"), grounds)]
    pattern = pd.Series(named, index=frame.index, dtype="str")
    frame = frame.assign(**shown, off_task=[g.is_off_task for g in grounds], pattern=pattern)
    return frame.reset_index(drop=True)


def _ground(row: JudgeKey, corpus: Corpus, rationales: pd.DataFrame) -> Grounding:
    """Return the statistics of one judge's rationales.

    A judge that computes them measures traits and assistants in the reply: their names are near.
    """
    if row.backbone is not None:
        return Grounding(corpus, rationales)
    phrases = [read_phrases(group, corpus.language) for group in ("traits", "rationale")]
    assistants = corpus.sessions["assistant"].dropna().unique()
    return Grounding(
        corpus, rationales, "\n".join([*(str(t) for group in phrases for t in group.values()), *assistants])
    )


def _find_pattern(row: Mapping[Any, Any], grounds: Grounds) -> str | None:
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


def estimate_shares(classified: pd.DataFrame) -> pd.DataFrame:
    """Return the share of each pattern where user and judge are dissatisfied; one row per judge and pattern.

    Columns: judge, backbone, pattern, turns, share, share_low, share_high (95 % interval over users).
    """
    rows = []
    for row, rows_of_judge in of_judges(classified[classified["pattern"].isin(PATTERNS)]):
        users = Resamples(rows_of_judge["user"])
        for pattern in PATTERNS:
            is_pattern = rows_of_judge["pattern"] == pattern
            columns = {**row._asdict(), "pattern": pattern, "turns": int(is_pattern.sum())}
            rows.append(columns | users.estimate(users.mean(is_pattern), "share", "share"))
    return pd.DataFrame(rows, columns=["judge", "backbone", "pattern", "turns", *_name_bounds("share")])


def count_by_reason(classified: pd.DataFrame, order: Sequence[str]) -> pd.DataFrame:
    """Return how often each pattern met each reason of the users: judge, gold_reason, pattern, turns, share."""
    low = classified[classified["pattern"].notna()]
    counts = low.groupby(["judge", "gold_reason", "pattern"]).size().rename("turns").reset_index()
    counts = counts.sort_values("gold_reason", key=lambda c: c.map(order.index), kind="stable", ignore_index=True)
    total = counts.groupby(["judge", "gold_reason"])["turns"].transform("sum")
    return counts.assign(share=counts["turns"] / total)


def _name_bounds(*names: str) -> list[str]:
    return [f"{name}{end}" for name in names for end in ("", "_low", "_high")]


def describe_rationales(classified: pd.DataFrame) -> dict[str, Any]:
    """Return the numbers of rationales.

    Keys: scored and written (verdicts, and those with a rationale), low (the user was dissatisfied and gave a reason),
    both (the judge was dissatisfied too); decided (rationales with enough others for a decision on off-task), share (of
    them that are off-task).
    """
    has_rationale = classified["rationale"].notna()
    decided = classified[has_rationale & classified["habit"].ge(HABIT)]
    return {
        "scored": len(classified),
        "written": int(has_rationale.sum()),
        "low": int(classified["pattern"].notna().sum()),
        "both": int(classified["pattern"].isin(PATTERNS).sum()),
        "decided": len(decided),
        "share": decided["off_task"].astype(float).mean(),
    }


def require_judged_replies(classified: pd.DataFrame) -> None:
    """Raise NotEnough if fewer than `FEWEST_REPLIES` replies were judged."""
    if len(classified[TURN].drop_duplicates()) < FEWEST_REPLIES:
        raise NotEnough(
            "Not shown: fewer than {least} judged replies have a score, too few for shares and agreement.",
            least=FEWEST_REPLIES,
        )


def count_citations(classified: pd.DataFrame, corpus: Corpus, memories: Memories) -> pd.DataFrame:
    """Return the numbers of citations in the rationales; one row per judge.

    Columns: judge, rationales, citing (rationales with a citation), citations, and of these nonexistent (of a statement
    or turn that does not exist), unfounded (of a statement without a supporting turn), other_task (of an observation on
    another kind of task).
    """
    rows = []
    for row, rows_of_judge in of_judges(classified):
        kinds: list[str] = []
        for key, of_block in rows_of_judge.groupby(BLOCK, sort=False):
            memory = memories.get((row.judge, *key))
            turns = turns_by_id(corpus.block(*key)) if memory is None else {}
            kinds += [
                _classify_citation(cited, memory, turns) for evidence in of_block["evidence"] for cited in evidence
            ]
        rows.append(
            {
                "judge": row.judge,
                "rationales": int(rows_of_judge["rationale"].notna().sum()),
                "citing": int(rows_of_judge["evidence"].map(bool).sum()),
                "citations": len(kinds),
                **{kind: kinds.count(kind) for kind in ("nonexistent", "unfounded", "other_task")},
            }
        )
    return pd.DataFrame(rows)


def _classify_citation(cited: str, memory: UserMemory | None, turns: Mapping[str, Any]) -> str:
    if memory is None:
        return "sound" if cited in turns else "nonexistent"
    statement = {s.id: s for s in memory.statements}.get(cited.strip().upper())
    if statement is None:
        return "nonexistent"
    if not statement.turns:
        return "unfounded"
    return "sound" if statement.task is None else "other_task"


def move_rationales(classified: pd.DataFrame, corpus: Corpus, seed: int = SEED) -> pd.DataFrame:
    """Return how often a rationale is recognised as off-task on a judged reply of another scenario of its user.

    Columns: judge, tried, recognised, share. Judges without such rationales are left out, and judges with too few
    others for a decision.
    """
    rows = []
    block_of = cache(corpus.block)
    for row, rows_of_judge in of_judges(classified[classified["rationale"].notna()]):
        grounding, rng, hits = _ground(row, corpus, rows_of_judge), np.random.default_rng(seed), []
        for _, of_user in rows_of_judge.groupby("user", sort=False):
            for rationale, scenario in zip(of_user["rationale"], of_user["scenario"]):
                others = of_user[of_user["scenario"] != scenario]
                if others.empty:
                    continue
                other = others.iloc[int(rng.integers(len(others)))]
                block = block_of(other["user"], other["scenario"])
                target = block.target(other["session"], int(other["turn"]))
                grounds = grounding.trace_terms(rationale, block, target)
                hits += [grounds.is_off_task] if grounds.is_decided else []
        if hits:
            rows.append({"judge": row.judge, "tried": len(hits), "recognised": sum(hits)})
    table = pd.DataFrame(rows, columns=["judge", "tried", "recognised"])
    return table.assign(share=table["recognised"] / table["tried"])


# -- reasons -----------------------------------------------------------------------------------------------

#: The source of the reasons: the judge, or a control that reads nothing.
ITSELF, OWN = "itself", "the user's own commonest"
BLIND = ("always the commonest", "drawn as train users give them", OWN)


def trace_reasons(judge: LearnedJudge, corpus: Corpus, verdicts: pd.DataFrame) -> dict[str, int]:
    """Count on how many low verdicts the user's habit alone, the reply alone, either or neither would name the reason that is named."""
    if (reasons := judge.reasons) is None:
        return {"named": 0}
    low = (verdicts["judge"] == judge.name) & verdicts["reason"].notna() & (verdicts["raw"].astype(float).round() <= 3)
    parts = [pd.DataFrame({"habit": [], "reply": []}, dtype=bool)]
    for key, own in verdicts[low].groupby(BLOCK, sort=False):
        case = judge.read_case(corpus.block(*key))
        habit, reply = reasons.weigh(*read_reasons(case, reasons))
        named = (habit + reply).argmax(axis=1)
        alone = {"habit": habit.argmax(axis=1) == named, "reply": reply.argmax(axis=1) == named}
        parts.append(own[TURN].merge(case.block.targets[TURN].assign(**alone), on=TURN)[[*alone]])
    habit, reply = (pd.concat(parts)[name].astype(bool) for name in ("habit", "reply"))
    counts = {"habit": habit & ~reply, "reply": reply & ~habit, "either": habit & reply, "neither": ~habit & ~reply}
    return {"named": len(habit)} | {name: int(own.sum()) for name, own in counts.items()}


def count_reasons_of_users(corpus: Corpus) -> pd.Series:
    """Return the share of each reason among those of train users, the commonest first; empty if they give none."""
    is_train = corpus.turns["user"].isin(corpus.split().get("train", []))
    low = corpus.turns[is_train & corpus.turns["score"].le(3)]
    return low["reason"].value_counts(normalize=True)


def compare_to_blind(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Return the agreement on reasons, and the agreement with the judge's own scores but reasons from a blind control.

    One row per judge and `named_by`. `accuracy` and `kappa` are measured on turns that user and judge found
    dissatisfying. `found` is measured on all turns that the user found dissatisfying, where a satisfied judge is wrong.
    `gain` is the judge's accuracy less the control's on the same turns. Each has `_low` and `_high`, with intervals
    over users. Controls are the commonest reason of train users, reasons drawn as train users give them (not simulated:
    the expected accuracy is the mean share of the users' reasons), and the user's own commonest reason in other
    scenarios. κ of the first two is 0 by construction.
    """
    shares, rows = count_reasons_of_users(corpus), []
    for row, pairs in of_judges(reason_pairs(verdicts, corpus)):
        both = pairs["score"] <= 3
        gold, judge_reasons = (pairs.loc[both, c].to_numpy(object) for c in ("gold_reason", "reason"))
        kappas = {
            name: estimate(cohen_under(gold, given, Resamples(pairs["user"][both])), "kappa", "correlation")
            for name, given in ((ITSELF, judge_reasons), (OWN, pairs["own_reason"][both].to_numpy(object)))
        }
        right = (pairs["reason"] == pairs["gold_reason"]).astype(float)
        named = {ITSELF: right}
        if len(shares):
            named[BLIND[0]] = (pairs["gold_reason"] == shares.index[0]).astype(float)
            named[BLIND[1]] = pairs["gold_reason"].map(shares).fillna(0.0).astype(float)
        named[OWN] = (pairs["gold_reason"] == pairs["own_reason"]).astype(float)
        users, of_both = (Resamples(u) for u in (pairs["user"], pairs["user"][both]))
        columns_of_judge = row._asdict() | {"turns": int(both.sum()), "low": len(pairs)}
        for name, is_right in named.items():
            line = {**columns_of_judge, "named_by": name} | of_both.estimate(
                of_both.mean(is_right[both]), "accuracy", "share"
            )
            line |= users.estimate(users.mean(is_right * both), "found", "share")
            gain = {"kappa": 0.0} | of_both.estimate(of_both.mean((right - is_right)[both]), "gain")
            rows.append(line | ({} if name == ITSELF else gain) | kappas.get(name, {}))
    columns = ["judge", "backbone", "turns", "low", "named_by"]
    return pd.DataFrame(rows, columns=[*columns, *_name_bounds("accuracy", "found", "kappa", "gain")])


def find_best_control(compared: pd.DataFrame) -> pd.DataFrame:
    """Return for each judge the row of the better control, indexed by judge; judges without one are missing."""
    blind = compared[(compared["named_by"] != ITSELF) & compared["accuracy"].notna()]
    best = blind.sort_values("accuracy", kind="stable").drop_duplicates("judge", keep="last")
    return best.sort_index().set_index("judge")


def describe_reasons(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the numbers of a sentence on one judge's reasons beside its best control: `row` is of `find_best_control`.

    Keys: judge, control, low (dissatisfied turns with a reason), missed (of these the judge is satisfied with), turns (both are
    dissatisfied), right and by_control (as shares), apart (their difference in points, with its interval).
    """
    low, turns, right, by_control = int(row["low"]), int(row["turns"]), row["accuracy"] + row["gain"], row["accuracy"]
    gain, low_end, high_end = (100 * row[name] for name in name_bounds("gain"))
    points = Estimate(gain, low_end, high_end, digits=0)
    return {
        "judge": name_of(row["judge"]),
        "control": name_of(row["named_by"]),
        "low": low,
        "missed": low - turns,
        "turns": turns,
        "right": show_share(right * turns, turns),
        "by_control": show_share(by_control * turns, turns),
        "apart": points.between(100 * right, 100 * by_control),
    }


def measure_bias(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Return how much more often a judge names a reason than users give it, on turns that both found dissatisfying.

    Columns: judge, backbone, reason, given, named (turns), given_share, named_share, ratio (named ÷ given), ratio_low,
    ratio_high (95 % interval over users; above 1 is over-predicted).
    """
    rows = []
    for row, pairs in of_judges(reason_pairs(verdicts, corpus)):
        both = pairs[pairs["score"] <= 3]
        users = Resamples(both["user"])
        reasons_there = {*both["gold_reason"], *both["reason"]}
        for reason in (r for r in order_reasons(corpus) if r in reasons_there):
            is_given, is_named = both["gold_reason"].eq(reason), both["reason"].eq(reason)
            counts = {"given": is_given.sum(), "named": is_named.sum()}
            shares = {"given_share": is_given.mean(), "named_share": is_named.mean()}
            times = users.estimate(ratio(users.total(is_named), users.total(is_given)), "ratio", "error")
            rows.append({**row._asdict(), "reason": reason, **counts, **shares, **times})
    columns = ["judge", "backbone", "reason", "given", "named", "given_share", "named_share"]
    return pd.DataFrame(rows, columns=[*columns, *_name_bounds("ratio")])


def select_detail_bias(bias: pd.DataFrame) -> pd.DataFrame:
    """Return the rows on *insufficient detail* that have a ratio, indexed by judge; the paper's ratio is above 1."""
    detail = {reason_labels(language)["insufficient detail"] for language in LANGUAGES}
    return bias[bias["reason"].isin(detail) & np.isfinite(bias["ratio"].astype(float))].set_index("judge")
