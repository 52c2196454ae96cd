"""The turns of a replay on which candidates differ most, each to be opened down to what a verdict rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Block, Corpus
from perslib.errors import DataError, Problem
from perslib.memory import score_counts
from perslib.replay import ORIGINAL
from perslib.replay.scores import EXACT, SCORE
from perslib.replay.views import scores_of_one_judge
from perslib.report.page import current
from perslib.report.show import conversation_html, escape, fold_html, reply_html, score_chip, text_html
from perslib.report.words import name_of
from perslib.studies.rationale_cases import cited_html, facts_html, similar_html, verdict_html
from perslib.studies.rationales import Memories
from perslib.studies.verification import task_of
from perslib.text import translate

#: Messages before the reply that are shown at once, as many as PersTurnBench shows its judge.
RECENT = 5
#: Scores as a judge gives them; any other column is a calibrated one.
UNCALIBRATED = ("raw", "expected", "real")


def case_html(
    row: Mapping[str, Any],
    corpus: Corpus,
    replies: pd.DataFrame,
    verdicts: pd.DataFrame,
    *,
    memories: Memories | None = None,
    score: str = SCORE,
    gold: bool = False,
) -> tuple[str, str]:
    """A turn of `perslib.replay.differing_turns` as HTML that opens, and its heading as plain words.

    Parameters
    ----------
    row : the keys of the turn.
    corpus, replies, verdicts : what was replayed, and one judge's verdicts on it.
    memories : where what a verdict cites is looked up; beside it stand the rated turns of the user's history that are
        most like the turn with this reply.
    score : the column that replies are ordered by.
    gold : whether the user's score of the recorded reply is shown.
    """
    answers = _answers(row, replies, verdicts, score)
    place = translate(
        "{user} · {scenario} · session {session}, turn {turn}",
        **{**{key: row[key] for key in TURN}, "scenario": name_of(row["scenario"])},
    )
    block = _answered(corpus.block(row["user"], row["scenario"]), row, answers)
    given = enumerate(score_counts(block.evidence), 1)
    counts = " ".join(f'<span class="pl-case-count">{score_chip(s)} × {n}</span>' for s, n in given)
    facts = [(translate("The user's scores in other scenarios"), counts)]
    if gold:
        own = _on(row, corpus.turns.assign(candidate=ORIGINAL)).iloc[0]
        why = escape(name_of(own["reason"])) if isinstance(own["reason"], str) else ""
        chip = score_chip(np.nan if pd.isna(own["score"]) else float(own["score"]))
        facts.append((translate("The user's own score of the recorded reply"), f"{chip} {why}"))
    scored = [place for place, answer in enumerate(answers) if answer["_score"] is not None]
    shown = []
    for nth, (answer, similar) in enumerate(zip(answers, similar_html(block), strict=True)):
        memory = (memories or {}).get((answer.get("judge") or "", block.user, block.scenario))
        cited = cited_html(answer.get("evidence") or (), block, memory)
        # Open are the first of the best and the last of the worst.
        shown.append(_answer(answer, score, cited + similar, nth in (scored[:1] + scored[-1:])))
    conversation = conversation_html(next(iter(block)).prefix, task_of(corpus, row), recent=RECENT)
    title = f'<div class="pl-case-part">{translate("Replies, highest score first")}</div>'
    head = f'<span class="pl-case-place">{escape(place)}</span> {_range(answers)}'
    body = fold_html(head, "\n".join([f"{conversation}{facts_html(facts)}{title}", *shown]), "pl-case")
    return f'<div class="pl-cases" lang="{current().language}">{body}</div>', place


def _answers(
    row: Mapping[str, Any], replies: pd.DataFrame, verdicts: pd.DataFrame, score: str
) -> list[dict[str, Any]]:
    """Each candidate's reply and verdict on the turn as one mapping, highest score first, unscored last."""
    said, judged = (_on(row, frame) for frame in (replies, verdicts))
    if judged.empty:
        at = "/".join(str(row[key]) for key in TURN)
        raise DataError(
            Problem(at, "the verdicts have no such turn"), "Show turns of `differing_turns(verdicts)`."
        )
    scores_of_one_judge(judged, score)
    raw = judged["real"] if "real" in judged else judged["expected"].fillna(judged["raw"])
    judged = judged.assign(_score=judged[score].astype("Float64"), _raw=raw.astype("Float64"))
    texts = said[["candidate", *(c for c in ("response", "system", "finish", "error") if c in said)]]
    both = judged.merge(texts, on="candidate", how="outer", suffixes=("", "_of_reply"), validate="1:1")
    first = list(dict.fromkeys([*judged["candidate"], *said["candidate"]]))
    both = both.set_index("candidate").loc[first].reset_index()
    both = both.sort_values("_score", ascending=False, na_position="last", kind="stable")
    both = both.astype(object).where(both.notna(), None)
    return [{str(k): v for k, v in answer.items()} for answer in both.to_dict("records")]


def _on(row: Mapping[str, Any], frame: pd.DataFrame) -> pd.DataFrame:
    own = frame[(frame[TURN] == [row[key] for key in TURN]).all(axis=1)]
    return own.assign(candidate=own["candidate"].astype("str").fillna(ORIGINAL))


def _answered(block: Block, row: Mapping[str, Any], answers: list[dict[str, Any]]) -> Block:
    """The block with the turn alone as target, once with each reply."""
    own = block.targets
    target = own[(own["session"] == row["session"]) & (own["turn"] == row["turn"])]
    targets = pd.concat([target] * len(answers), ignore_index=True)
    return replace(block, targets=targets.assign(response=[a.get("response") or "" for a in answers]))


def _range(answers: list[dict[str, Any]]) -> str:
    """The lowest and the highest score, each with its candidates."""
    scored = [answer for answer in answers if answer["_score"] is not None]
    parts = []
    for end in (scored[-1]["_score"], scored[0]["_score"]) if scored else ():
        names = ", ".join(_name(a["candidate"]) for a in scored if abs(a["_score"] - end) < EXACT)
        parts.append(f'<span class="pl-case-end">{score_chip(end)} {escape(names)}</span>')
    text = ' <span class="pl-case-arrow">→</span> '.join(parts)
    if without := len(answers) - len(scored):
        text += f' <span class="pl-note">{escape(translate("{n} without score", n=without))}</span>'
    return f'<span class="pl-case-range">{text}</span>'


def _name(candidate: str) -> str:
    """The label of the recorded replies; other names are their own, even such as are labels elsewhere."""
    return name_of(candidate) if candidate == ORIGINAL else candidate


def _answer(answer: dict[str, Any], score: str, evidence: str, opened: bool) -> str:
    """One candidate: score and name; open, the reply, what it was told, the verdict and the evidence."""
    value, raw = answer["_score"], answer["_raw"]
    chip = score_chip(np.nan if value is None else value)
    head = f'{chip} <span class="pl-case-name">{escape(_name(answer["candidate"]))}</span>'
    if value is not None and raw is not None and score not in UNCALIBRATED:
        moved = translate("judged {raw} → calibrated {score}", raw=f"{raw:.2f}", score=f"{value:.2f}")
        head += f' <span class="pl-small">{escape(moved)}</span>'
    if answer.get("finish") == "length":
        head += f' <span class="pl-note">{translate("cut at the maximum length")}</span>'
    if answer.get("response"):
        parts = [reply_html(answer["response"])]
    else:
        why = answer.get("error_of_reply") or answer.get("error") or "–"
        none = escape(translate("(no reply: {error})", error=why))
        parts = [f'<div class="pl-text pl-empty">{none}</div>']
    if answer.get("system"):
        parts.append(fold_html(translate("System message"), text_html(answer["system"])))
    parts += [verdict_html(answer), fold_html(translate("Evidence"), evidence)]
    return fold_html(head, f'<div class="pl-case-body">{"".join(parts)}</div>', "pl-case-reply", opened)
