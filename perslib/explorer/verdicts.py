"""Verdicts made visible: distributions raw and calibrated, the reason, what the rationale cites, effects of statements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from perslib.corpus import Block
from perslib.explorer.parts import div, note
from perslib.explorer.past import nowhere, turn_html
from perslib.judge import Verdict
from perslib.memory import Statement, UserMemory, resolved
from perslib.report.show import escape, score_chip, text_html
from perslib.report.style import SCORES as COLORS
from perslib.report.words import name_of
from perslib.stats import SCORES, Tilted
from perslib.stats.calibrated import COUNTS
from perslib.text import translate

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


def chip_html(score: float | None, reason: object, of: str = "") -> str:
    """A score as a mark, with what was scored, and the label of its reason where there is one."""
    chip = score_chip(float("nan") if score is None else score)
    named = f" <b>{escape(of)}</b>" if of else ""
    return chip + named + (note(name_of(reason)) if isinstance(reason, str) and reason else "")


def verdict_html(verdict: Verdict, block: Block, memory: UserMemory | None) -> str:
    """A verdict as the explorer shows it."""
    rows = [
        (translate("as the judge gives it"), verdict.p, score_of(verdict)),
        (
            translate("pooled with this user's past scores"),
            *calibrated(verdict, memory.counts if memory else ()),
        ),
    ]
    if score_of(verdict) is None:
        unread = translate("No score could be read: {why}", why=verdict.error or "–")
        parts = [div("nowhere", unread, "alert")]
    else:
        said = translate("The judge says {score}", score=chip_html(verdict.raw, verdict.reason))
        parts = [f'<div class="pl-verdict-score">{said}</div>']
    parts += [distribution_html(rows), rationale_html(verdict)]
    if verdict.evidence:
        found = resolved(verdict.evidence, block, memory)
        cited = [_statement(s) if isinstance(s, Statement) else nowhere(s) for s in found.statements]
        parts += [div("part", translate("What it cites")), *cited, *map(turn_html, found.turns.values())]
    behind = [verdict.memory or translate("without a memory"), verdict.prompt or ""]
    parts.append(div("small", " · ".join(filter(None, behind))))
    return f'<div class="pl-verdict">{"".join(parts)}</div>'


def rationale_html(verdict: Verdict) -> str:
    """What the judge wrote about its score, under a heading; nothing where it wrote nothing."""
    return div("part", translate("Rationale")) + text_html(verdict.rationale) if verdict.rationale else ""


def _statement(said: Statement) -> str:
    text = f"<b>{escape(said.id)}</b> {escape(said.text)}"
    return f'<div class="pl-statement pl-cited" dir="auto">{text}</div>'


# -- drawings ------------------------------------------------------------------------------------------------


def distribution_html(rows: Sequence[tuple[str, Sequence[float] | None, float | None]]) -> str:
    """Distributions over 1–5 one under another, each with its label and its mean; `None` says there is none."""
    nothing = translate("no distribution")
    lines = ['<div class="pl-dist" role="table">']
    for label, p, mean in rows:
        value = nothing if mean is None else f"{mean:.2f}"
        if p is None:
            cells = f'<div class="pl-dist-none">{escape(nothing)}</div>'
        else:
            cells = "".join(
                f'<div class="pl-dist-cell" role="cell" title="{s}: {v:.1%}"><span class="pl-dist-bar" '
                f'style="height:{max(v, 0) * 100:.0f}%;background:{COLORS[s]}"></span>'
                f'<span class="pl-dist-n">{s}<small>{v:.0%}</small></span></div>'
                for s, v in enumerate(p, 1)
            )
        lines.append(
            f'<div class="pl-dist-row" role="row"><div class="pl-dist-label">{escape(label)}</div>'
            f'<div class="pl-dist-cells">{cells}</div><div class="pl-dist-mean">{value}</div></div>'
        )
    return "".join(lines) + "</div>"


def effects_html(effects: pd.DataFrame, said: str) -> str:
    """A bar for each statement: by how much the expected score falls or rises when the statement is left out.

    `effects`: id, text, effect (missing where there was no score).
    """
    sizes = effects["effect"].abs()
    most = max(float(np.nanmax(sizes)) if sizes.notna().any() else 0.0, 0.05)
    rows = []
    for row in effects.itertuples():
        if pd.isna(row.effect):
            bar, value = "", "–"
        else:
            width = abs(row.effect) / most * 50
            left = 50 - width if row.effect < 0 else 50
            color = COLORS[5] if row.effect > 0 else COLORS[2]
            bar = f'<span class="pl-ef-bar" style="left:{left:.1f}%;width:{width:.1f}%;background:{color}"></span>'
            value = f"{row.effect:+.2f}".replace("-", "−")
        rows.append(
            f'<div class="pl-ef-id">{escape(row.id)}</div><div class="pl-ef-track">{bar}</div>'
            f'<div class="pl-ef-value">{value}</div><div class="pl-ef-text" dir="auto">{escape(row.text)}</div>'
        )
    return f'<div class="pl-effects" aria-label="{escape(said)}">{"".join(rows)}</div>'
