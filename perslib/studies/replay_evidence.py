"""A verdict on a replayed reply and what it rests on: what it cites, and the user's rated turns most like this one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from perslib.corpus import Block
from perslib.memory import ANCHORS, Retrieval, UserMemory, resolved
from perslib.report.page import current
from perslib.report.show import escape, score_chip, text_html
from perslib.report.words import name_of
from perslib.studies.rationale_cases import beginning

#: Rated turns of the user's history shown beside a verdict.
SIMILAR = 3


def verdict_html(answer: Mapping[str, Any]) -> str:
    """What the judge said of a reply: reason, rationale and distribution, where there are any, or why no score."""
    page = current()
    lines = [(name_of("judge", page.language), escape(" · ".join(filter(None, _judge(answer)))))]
    if answer["_score"] is None:
        lines.append((page.word("case_no_score"), escape(answer.get("error") or "–")))
    chances = [answer.get(f"p{s}") for s in range(1, 6)]
    if all(p is not None for p in chances):
        shown = " · ".join(f"<b>{s}</b> {p:.2f}" for s, p in enumerate(chances, 1))
        lines.append((page.word("case_distribution"), f'<span class="pl-small">{shown}</span>'))
    if answer.get("reason"):
        lines.append((name_of("reason", page.language), escape(name_of(answer["reason"], page.language))))
    if answer.get("rationale"):
        lines.append((name_of("rationale", page.language), text_html(answer["rationale"])))
    return facts_html(lines)


def _judge(answer: Mapping[str, Any]) -> Iterator[str | None]:
    yield name_of(answer["judge"], current().language) if answer.get("judge") else None
    yield answer.get("backbone")


def facts_html(lines: list[tuple[str, str]]) -> str:
    """Labels (plain) and what is said under them (HTML)."""
    rows = "".join(f'<dt>{escape(label)}</dt><dd dir="auto">{said}</dd>' for label, said in lines)
    return f'<dl class="pl-facts">{rows}</dl>'


def similar_html(block: Block) -> list[str]:
    """For each target of the block, the rated turns of the user's other scenarios that are most like it.

    Likeness is that of the anchors in the judge's prompt: TF-IDF over character n-grams of request and reply.
    """
    page = current()
    out = []
    for anchors in Retrieval(ANCHORS).anchors(block, SIMILAR):
        near = [a for a in anchors if a.similarity > 0]
        shown = [_turn(vars(a), page.word("case_likeness", value=f"{a.similarity:.2f}")) for a in near]
        empty = f'<p class="pl-empty">{page.word("case_no_history")}</p>'
        out.append(_part("case_similar", shown) if shown else empty)
    return out


def cited_html(cited: Iterable[str], block: Block, memory: UserMemory | None) -> str:
    """What a verdict cites: statements of the memory with the turns they rest on, and turns; empty without any.

    What is neither is shown as cited from nowhere; without a memory it may be a statement, and that is said.
    """
    found = resolved(cited, block, memory)
    neither = current().word("cited_from_nowhere" if memory else "case_not_a_turn")
    lines = [
        f'<b>{escape(said)}</b> <span class="pl-empty">{neither}</span>'
        if isinstance(said, str)
        else f"<b>{escape(said.id)}</b> {escape(said.text)}"
        for said in found.statements
    ]
    return _part("case_cited", lines + [_turn(turn) for turn in list(found.turns.values())[:SIMILAR]])


def _part(title: str, lines: list[str]) -> str:
    if not lines:
        return ""
    items = "".join(f'<li dir="auto">{line}</li>' for line in lines)
    return f'<div class="pl-case-part">{current().word(title)}</div><ul class="pl-case-list">{items}</ul>'


def _turn(turn: Mapping[Any, Any], note: str = "") -> str:
    """A turn of the user's past: where, the score with its reason, the beginnings of request and reply."""
    language = current().language
    where = f"{name_of(turn['scenario'], language)} {turn['session']}/{turn['turn']}"
    score = float("nan") if pd.isna(turn["score"]) else float(turn["score"])
    reason = name_of(turn["reason"], language) if isinstance(turn["reason"], str) else ""
    small = " · ".join(filter(None, (where, reason, note)))
    asked = beginning(turn["request"]) if isinstance(turn["request"], str) else "–"
    return (
        f'<div class="pl-head">{score_chip(score)} <span>{escape(small)}</span></div>'
        f'<div class="pl-text">{escape(asked)}</div><div class="pl-text">→ {escape(beginning(turn["response"]))}</div>'
    )
