"""Verdicts made visible: the distribution raw and calibrated, the reason, and what the rationale cites."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from perslib.calibrate import SCORES, Tilted
from perslib.calibrate.frames import COUNTS
from perslib.corpus import Block
from perslib.explorer.drawing import distribution_html
from perslib.explorer.past import cited_turns
from perslib.explorer.words import say
from perslib.judge import Verdict
from perslib.memory import UserMemory, turn_id
from perslib.report.show import escape, score_chip, text_html
from perslib.report.words import name_of

#: The judge's distribution and that of the user's own past scores, each to the power one half: nothing is learned.
POOLED = Tilted(0.5, 0.5, np.zeros(5), name="pooled")


@dataclass(frozen=True)
class Cited:
    """What a rationale cites: statements and turns that were there, and what was not."""

    statements: tuple[str, ...]
    turns: tuple[str, ...]
    nowhere: tuple[str, ...]


def cited(names: Iterable[str], block: Block, memory: UserMemory | None) -> Cited:
    """Sort what is cited by where it is found."""
    statements = {s.id for s in memory.statements} if memory else set()
    evidence = block.evidence
    turns = {turn_id(*k) for k in zip(evidence["scenario"], evidence["session"], evidence["turn"])}
    said = list(dict.fromkeys(names))
    known = [name.strip().upper() for name in said if name.strip().upper() in statements]
    found = [name for name in said if name in turns]
    lost = [name for name in said if name.strip().upper() not in statements and name not in turns]
    return Cited(tuple(known), tuple(found), tuple(lost))


def calibrated(verdict: Verdict, counts: Sequence[int]) -> tuple[tuple[float, ...] | None, float | None]:
    """The distribution pooled with the user's own past scores, and its mean; without either, none."""
    if verdict.p is None or not sum(counts):
        return None, None
    key = {"user": "", "scenario": ""}
    rows = pd.DataFrame([{**key, **{f"p{s}": p for s, p in enumerate(verdict.p, 1)}}])
    history = pd.DataFrame([{**key, **dict(zip(COUNTS, counts))}])
    p = POOLED.distribution(rows, history)[0]
    return tuple(map(float, p)), float(p @ SCORES)


def score_of(verdict: Verdict) -> float | None:
    """The mean of the distribution, else the score as it was given."""
    return verdict.raw if verdict.expected is None else verdict.expected


def verdict_html(verdict: Verdict, block: Block, memory: UserMemory | None, language: str) -> str:
    """A verdict as the explorer shows it."""
    counts = memory.counts if memory else (0,) * 5
    p, mean = calibrated(verdict, counts)
    rows = [
        (say("raw", language), verdict.p, score_of(verdict)),
        (say("calibrated", language), p, mean),
    ]
    parts = [_score_line(verdict, language), distribution_html(rows, say("no_distribution", language))]
    if verdict.rationale:
        parts.append(f'<div class="pl-part">{say("rationale", language)}</div>{text_html(verdict.rationale)}')
    found = cited(verdict.evidence, block, memory)
    if verdict.evidence:
        parts.append(
            f'<div class="pl-part">{say("cites", language)}</div>{_cited_html(found, memory, block, language)}'
        )
    behind = [verdict.memory or say("without_memory", language), verdict.prompt or ""]
    parts.append(f'<div class="pl-small">{escape(" · ".join(filter(None, behind)))}</div>')
    return f'<div class="pl-verdict">{"".join(parts)}</div>'


def _score_line(verdict: Verdict, language: str) -> str:
    if verdict.raw is None and verdict.expected is None:
        return f'<div class="pl-nowhere" role="alert">{say("unscored", language)}: {escape(verdict.error or "–")}</div>'
    chip = score_chip(float("nan") if verdict.raw is None else verdict.raw)
    reason = (
        f' <span class="pl-note">{escape(name_of(verdict.reason, language))}</span>' if verdict.reason else ""
    )
    return f'<div class="pl-verdict-score">{say("judge_says", language)} {chip}{reason}</div>'


def _cited_html(found: Cited, memory: UserMemory | None, block: Block, language: str) -> str:
    texts = {s.id: s.text for s in memory.statements} if memory else {}
    lines = [
        f'<div class="pl-statement pl-cited" dir="auto"><b>{escape(id)}</b> {escape(texts[id])}</div>'
        for id in found.statements
    ]
    lines.append(cited_turns(block, found.turns, language))
    lines += [
        f'<div class="pl-nowhere">{escape(name)}: {say("from_nowhere", language)}</div>'
        for name in found.nowhere
    ]
    return "".join(lines)
