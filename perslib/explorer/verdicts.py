"""Verdicts made visible: the distribution raw and calibrated, the reason, and what the rationale cites."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from perslib.calibrate import SCORES, Tilted
from perslib.calibrate.frames import COUNTS
from perslib.corpus import Block
from perslib.explorer.drawing import distribution_html
from perslib.explorer.past import turn_html
from perslib.explorer.words import say
from perslib.judge import Verdict
from perslib.memory import Citations, UserMemory, resolved
from perslib.report.show import escape, score_chip, text_html
from perslib.report.words import name_of

#: The judge's distribution and that of the user's own past scores, each to the power one half: nothing is learned.
POOLED = Tilted(0.5, 0.5, np.zeros(5), name="pooled")


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
    if verdict.evidence:
        found = resolved(verdict.evidence, block, memory)
        parts.append(f'<div class="pl-part">{say("cites", language)}</div>{_cited_html(found, language)}')
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


def _cited_html(found: Citations, language: str) -> str:
    """Statements and what was cited from nowhere, then the turns."""
    lines = [
        f'<div class="pl-nowhere">{escape(said)}: {say("from_nowhere", language)}</div>'
        if isinstance(said, str)
        else f'<div class="pl-statement pl-cited" dir="auto"><b>{escape(said.id)}</b> {escape(said.text)}</div>'
        for said in found.statements
    ]
    return "".join([*lines, *(turn_html(turn, language) for turn in found.turns.values())])
