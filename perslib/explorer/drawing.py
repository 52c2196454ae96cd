"""Small drawings as SVG and HTML, quick enough to be made at every click: scores over time, scenarios, distributions.

Colour never says anything alone: every mark has its number beside it or in its title, which screen readers speak.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from perslib.report.show import escape
from perslib.report.style import ACCENT, FAINT, RULE, SCORES

WIDTH, HEIGHT, LEFT, TOP = 620, 150, 26, 10


@dataclass(frozen=True)
class Level:
    """One scenario in two numbers: the user's mean and everybody's, with the middle half of the users."""

    name: str
    own: float | None
    turns: int
    everybody: float
    low: float
    high: float


def over_time_svg(
    scores: Sequence[float], titles: Sequence[str], starts: Sequence[int], mean: float, label: str
) -> str:
    """A dot a rated reply in the order of time; a line where a conversation begins, dashes at the population's mean."""
    n = max(len(scores), 1)
    step = (WIDTH - LEFT - 12) / n

    def x(i: float) -> float:
        return LEFT + (i + 0.5) * step

    def y(score: float) -> float:
        return TOP + (5 - score) * (HEIGHT - 2 * TOP) / 4

    rules = [
        f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y(s):.1f}" y2="{y(s):.1f}" stroke="{RULE}" stroke-width="1"/>'
        f'<text x="{LEFT - 12}" y="{y(s) + 4:.1f}" fill="{FAINT}" font-size="11">{s}</text>'
        for s in range(1, 6)
    ]
    begins = [
        f'<line x1="{x(i - 0.5):.1f}" x2="{x(i - 0.5):.1f}" y1="{TOP}" y2="{HEIGHT - TOP}" stroke="{RULE}"/>'
        for i in starts[1:]
    ]
    usual = f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y(mean):.1f}" y2="{y(mean):.1f}" stroke="{ACCENT}" stroke-dasharray="5 4"/>'
    size = min(5.0, max(2.5, step / 2.2))
    dots = [
        f'<circle cx="{x(i):.1f}" cy="{y(s):.1f}" r="{size:.1f}" fill="{SCORES[int(s)]}" stroke="#fff">'
        f"<title>{escape(title)}</title></circle>"
        for i, (s, title) in enumerate(zip(scores, titles))
    ]
    return (
        f'<svg class="pl-svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">'
        + "".join([*rules, *begins, usual, *dots])
        + "</svg>"
    )


def levels_html(levels: Sequence[Level], hidden: str, of_turns: str) -> str:
    """A bar a scenario: the user's mean as a mark, the population's middle half as a band, its mean as a line."""
    rows = []
    for level in levels:
        band = f"left:{_place(level.low)};width:calc({_place(level.high)} - {_place(level.low)})"
        line = f'<span class="pl-lv-mean" style="left:{_place(level.everybody)}"></span>'
        own, said = "", escape(hidden)
        if level.own is not None:
            own = f'<span class="pl-lv-own" style="left:{_place(level.own)}"></span>'
            said = (
                f"<b>{level.own:.2f}</b> · {level.everybody:.2f} · {escape(of_turns.format(n=level.turns))}"
            )
        rows.append(
            f'<div class="pl-lv-name">{escape(level.name)}</div>'
            f'<div class="pl-lv-bar"><span class="pl-lv-band" style="{band}"></span>{line}{own}</div>'
            f'<div class="pl-lv-said">{said}</div>'
        )
    return f'<div class="pl-levels">{"".join(rows)}</div>'


def distribution_html(
    rows: Sequence[tuple[str, Sequence[float] | None, float | None]], nothing: str = "–"
) -> str:
    """Distributions over 1–5 one under another, each with its label and its mean; `None` says there is none."""
    lines = ['<div class="pl-dist" role="table">']
    for label, p, mean in rows:
        value = nothing if mean is None else f"{mean:.2f}"
        if p is None:
            cells = f'<div class="pl-dist-none">{escape(nothing)}</div>'
        else:
            cells = "".join(
                f'<div class="pl-dist-cell" role="cell" title="{s}: {v:.1%}"><span class="pl-dist-bar" '
                f'style="height:{max(v, 0) * 100:.0f}%;background:{SCORES[s]}"></span>'
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
            color = SCORES[5] if row.effect > 0 else SCORES[2]
            bar = f'<span class="pl-ef-bar" style="left:{left:.1f}%;width:{width:.1f}%;background:{color}"></span>'
            value = f"{row.effect:+.2f}".replace("-", "−")
        rows.append(
            f'<div class="pl-ef-id">{escape(row.id)}</div><div class="pl-ef-track">{bar}</div>'
            f'<div class="pl-ef-value">{value}</div><div class="pl-ef-text" dir="auto">{escape(row.text)}</div>'
        )
    return f'<div class="pl-effects" aria-label="{escape(said)}">{"".join(rows)}</div>'


def _place(score: float) -> str:
    return f"{(min(max(score, 1), 5) - 1) / 4 * 100:.1f}%"
