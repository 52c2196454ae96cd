"""Single verdicts in readable form: rationales of each pattern, and turns on which candidates differ."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd

from perslib.corpus import SESSION, TURN, Corpus
from perslib.errors import DataError, Problem
from perslib.judge import Judge, LearnedJudge
from perslib.judge.memory_records import Memories
from perslib.llm import compute
from perslib.memory import ANCHORS, Retrieval, resolve_citations, score_counts
from perslib.replay import ORIGINAL
from perslib.replay.rankings import scores_of_one_judge
from perslib.replay.score_arrays import SCORE
from perslib.report.show.words import name_of
from perslib.stats.compare.paired import EXACT
from perslib.studies.shared import read_thoughts
from perslib.studies.verification import read_messages_up_to
from perslib.studies.why import list_changes, take_apart
from perslib.text import translate

#: The paper's three patterns, each with the column that ranks its clearest cases.
CLEAREST_BY = {"matches the core": "near", "real, not the core": "near", "off-task": "far"}
#: Number of cases, and the mark of those that show no pattern but a score far from the user's.
CASES, FARTHEST = 6, "far from the user's score"
#: Number of rated turns shown with a verdict: turns that it cites or rests on, and the most similar turns.
SHOWN_TURNS = 3


# -- rationales ----------------------------------------------------------------------------------------------


def pick_cases(rationales: pd.DataFrame) -> pd.DataFrame:
    """Return up to six cases of different users: two of each pattern, the clearest first, ties by place in the corpus.

    Where there are fewer, scores that are farthest from the user's fill up. Rationales that a model wrote come before those
    that a judge computed.
    """
    rows = rationales.assign(
        written=rationales["backbone"].notna(), apart=(rationales["score"] - rationales["gold"]).abs()
    )
    chosen = rows.iloc[:0]
    wanted = [(rows["pattern"] == pattern, by, 2) for pattern, by in CLEAREST_BY.items()]
    for is_wanted, by, most in [*wanted, (rows["rationale"].notna(), "apart", CASES)]:
        cases = rows[is_wanted & ~rows["user"].isin(chosen["user"])]
        cases = cases.sort_values(["written", by], ascending=False, kind="stable").drop_duplicates("user")
        cases = cases.head(min(most, CASES - len(chosen)))
        chosen = pd.concat([chosen, cases.assign(pattern=FARTHEST) if by == "apart" else cases])
    return chosen.drop(columns=["written", "apart"]).reset_index(drop=True)


def describe_case(
    row: Mapping[str, Any], corpus: Corpus, memories: Memories, judge: Judge | None = None, thoughts: str | None = None
) -> dict[str, Any]:
    """Return the values of `records.html.j2` for a verdict: both scores, the conversation, what the verdict rests on.

    A learned `judge` that was taught also says what the score is made of and what would change its mind.
    """
    block = corpus.block(row["user"], row["scenario"])
    *before, last = read_messages_up_to(corpus, row)[-3:]
    memory = memories.get((row["judge"], row["user"], row["scenario"]))
    why: dict[str, Any] = {}
    if isinstance(judge, LearnedJudge):
        target = block.target(row["session"], int(row["turn"]))
        one = block.with_replies(target.session, target.turn, [target.response])
        why = compute(partial(take_apart, judge, one)) | {"changes": compute(partial(list_changes, judge, one))}
    return {
        **{name: row[name] for name in ("pattern", "judge", "gold", "score", "terms")},
        **{name: row[name] if isinstance(row[name], str) else "" for name in ("gold_reason", "reason", "rationale")},
        "place": _name_place(row),
        "messages": [*before, last],
        "task": corpus.task(*(row[key] for key in SESSION)),
        "counts": score_counts(block.evidence),
        "cited": resolve_citations(row["evidence"], block, memory),
        "why": why,
        "thoughts": thoughts,
    }


# -- candidates ----------------------------------------------------------------------------------------------


def describe_turn(
    row: Mapping[str, Any],
    corpus: Corpus,
    replies: pd.DataFrame,
    verdicts: pd.DataFrame,
    memories: Memories | None = None,
) -> dict[str, Any]:
    """Return the values of `replay_cases.html.j2` for a turn of `perslib.replay.differing_turns`.

    Raise DataError if the verdicts do not have the turn.

    Parameters
    ----------
    row : the keys of the turn.
    corpus, replies, verdicts : the replayed corpus, the replies, and one judge's verdicts on them.
    memories : the memories whose statements the verdicts may cite.
    """
    block = corpus.block(row["user"], row["scenario"])
    answers = _collect_answers(row, replies, verdicts)
    with_answers = block.with_replies(row["session"], row["turn"], [answer["response"] or "" for answer in answers])
    for answer, anchors in zip(answers, Retrieval(ANCHORS).anchors(with_answers, SHOWN_TURNS), strict=True):
        memory = (memories or {}).get((answer["judge"] or "", block.user, block.scenario))
        answer["cited"] = resolve_citations(answer["evidence"] or (), with_answers, memory)
        answer["has_memory"] = memory is not None
        answer["similar"] = [anchor for anchor in anchors if anchor.similarity > 0]
    scored = [answer for answer in answers if answer["score"] is not None]
    ends = [scored[-1]["score"], scored[0]["score"]] if scored else []
    return {
        "place": _name_place(row),
        "ends": [(end, [a["name"] for a in scored if abs(a["score"] - end) < EXACT]) for end in ends],
        "scored": len(scored),
        "messages": next(iter(with_answers)).prefix,
        "task": corpus.task(row["user"], row["scenario"], row["session"]),
        "counts": score_counts(block.evidence),
        "answers": answers,
    }


def _collect_answers(row: Mapping[str, Any], replies: pd.DataFrame, verdicts: pd.DataFrame) -> list[dict[str, Any]]:
    """Return each candidate's reply and verdict on the turn as one mapping, highest score first, unscored last."""
    written, judged = (_select_turn(row, frame) for frame in (replies, verdicts))
    if judged.empty:
        at = "/".join(str(row[key]) for key in TURN)
        problem = Problem(at, "the verdicts have no such turn")
        raise DataError(problem, "Show turns of `differing_turns(verdicts)`.")
    scores_of_one_judge(judged)
    written = written.reindex(columns=["response", "system", "finish", "error"])
    written = written.rename(columns={"error": "error_of_reply"})
    thoughts = read_thoughts(judged)
    columns = ["judge", "backbone", "raw", "expected", "real", "reason", "rationale", "evidence", "error", "asked"]
    judged = judged.reindex(columns=[*columns, *(f"p{score}" for score in range(1, 6)), SCORE])
    names = judged.index.union(written.index, sort=False)
    both = judged.reindex(names).join(written).rename(columns={SCORE: "score"})
    both["raw"] = both["real"].fillna(both["expected"]).fillna(both["raw"])
    # Other names are written unchanged, even if they are labels elsewhere.
    both["name"] = [name_of(name) if name == ORIGINAL else name for name in names]
    both = both.sort_values("score", ascending=False, na_position="last", kind="stable")
    records = both.astype(object).where(both.notna(), None).to_dict("records")
    return [{**record, "thoughts": thoughts.get(record["asked"])} for record in records]


def _select_turn(row: Mapping[str, Any], frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a frame on the turn, by candidate."""
    rows = frame[(frame[TURN] == [row[key] for key in TURN]).all(axis=1)]
    return rows.set_axis(rows["candidate"].astype("str").fillna(ORIGINAL).tolist())


def _name_place(row: Mapping[str, Any]) -> str:
    """Return where a reply stands, in words; replies of a session are counted from 1, as the explorer counts them."""
    keys = {key: row[key] for key in TURN} | {"scenario": name_of(row["scenario"]), "turn": int(row["turn"]) + 1}
    return translate("{user} · {scenario} · session {session}, reply {turn}", **keys)
