"""Single verdicts made readable: the case, what a rationale cites, and the user's rated turns most like this one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from perslib.corpus import Block, Corpus
from perslib.memory import ANCHORS, Retrieval, UserMemory, resolved
from perslib.report.show import escape, reply_html, score_chip, text_html
from perslib.report.words import name_of
from perslib.studies.rationales import Memories
from perslib.studies.verification import up_to
from perslib.text import translate

#: The paper's three patterns, and by what the clearest cases of each are found.
SHOWN = {"matches the core": "near", "real, not the core": "near", "off-task": "far"}
_BEGINNING = 160
#: Turns shown of those that a rationale cites or rests on.
_TURNS = 3


def pick_cases(found: pd.DataFrame, each: int = 2) -> pd.DataFrame:
    """Pick up to so many cases of each pattern: the clearest first, one a user, ties by place in the corpus."""
    parts = []
    for pattern, by in SHOWN.items():
        own = found[found["pattern"] == pattern].sort_values(by, ascending=False, kind="stable")
        parts.append(own.drop_duplicates("user").head(each))
    return pd.concat(parts, ignore_index=True)


def end_of_conversation(corpus: Corpus, row: Mapping[str, Any], messages: int = 3) -> list[dict[str, Any]]:
    """Return the end of the conversation, the judged reply last, with the user's score and reason."""
    *before, last = up_to(corpus, row)[-messages:]
    return [*before, {**last, "reason": row["gold_reason"]}]


def describe_case(row: Mapping[str, Any], corpus: Corpus, memories: Memories) -> pd.DataFrame:
    """Describe a case line by line: what the user and the judge said, the terms from elsewhere, what is cited."""
    lines = [
        ("the user", _score(row["gold"], row["gold_reason"])),
        ("the judge", _score(row["score"], row["reason"])),
        ("rationale", row["rationale"] if isinstance(row["rationale"], str) else "–"),
    ]
    if row["terms"]:
        lines.append(("only elsewhere", ", ".join(row["terms"])))
    lines += _cited(row, corpus, memories)
    return pd.DataFrame([(name_of(what), said) for what, said in lines], columns=["what", "said"])


def _score(score: float, reason: object) -> str:
    said = name_of(reason) if isinstance(reason, str) else ""
    return f"{score:.0f}" + (f", {said}" if said else "")


def _cited(row: Mapping[str, Any], corpus: Corpus, memories: Memories) -> Iterator[tuple[str, str]]:
    memory = memories.get((row["judge"], row["user"], row["scenario"]))
    found = resolved(row["evidence"], corpus.block(row["user"], row["scenario"]), memory)
    for statement in found.statements:
        if isinstance(statement, str):
            yield statement, translate("(cited, but there is no such statement or turn)")
        else:
            yield statement.id, statement.text
    for name, turn in list(found.turns.items())[:_TURNS]:
        yield name, _turn(turn)


def _turn(turn: Mapping[Any, Any]) -> str:
    """A turn in two lines: what was asked, what came, and what the user made of it."""
    asked = beginning(turn["request"]) if isinstance(turn["request"], str) else "–"
    score = "–" if pd.isna(turn["score"]) else _score(float(turn["score"]), turn["reason"])
    return f"{asked}\n→ {beginning(turn['response'])}\n({translate('score')} {score})"


def beginning(text: str) -> str:
    """The first words of a text, in one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _BEGINNING else flat[:_BEGINNING].rstrip() + " …"


#: Rated turns of the user's history shown beside a verdict.
SIMILAR = 3


def verdict_html(answer: Mapping[str, Any]) -> str:
    """What the judge said of a reply: reason, rationale and distribution, where there are any, or why no score."""
    lines = [(name_of("judge"), escape(" · ".join(filter(None, _judge(answer)))))]
    if answer["_score"] is None:
        lines.append((translate("No score"), escape(answer.get("error") or "–")))
    chances = [answer.get(f"p{s}") for s in range(1, 6)]
    if all(p is not None for p in chances):
        shown = " · ".join(f"<b>{s}</b> {p:.2f}" for s, p in enumerate(chances, 1))
        lines.append((translate("Probability of each score"), f'<span class="pl-small">{shown}</span>'))
    if answer.get("reason"):
        lines.append((name_of("reason"), escape(name_of(answer["reason"]))))
    if answer.get("rationale"):
        lines.append((name_of("rationale"), text_html(answer["rationale"])))
    return facts_html(lines)


def _judge(answer: Mapping[str, Any]) -> Iterator[str | None]:
    yield name_of(answer["judge"]) if answer.get("judge") else None
    yield answer.get("backbone")


def facts_html(lines: list[tuple[str, str]]) -> str:
    """Labels (plain) and what is said under them (HTML)."""
    rows = "".join(f'<dt>{escape(label)}</dt><dd dir="auto">{said}</dd>' for label, said in lines)
    return f'<dl class="pl-facts">{rows}</dl>'


def similar_html(block: Block) -> list[str]:
    """For each target of the block, the rated turns of the user's other scenarios that are most like it.

    Likeness is that of the anchors in the judge's prompt: TF-IDF over character n-grams of request and reply.
    """
    out = []
    for anchors in Retrieval(ANCHORS).anchors(block, SIMILAR):
        near = [a for a in anchors if a.similarity > 0]
        shown = [
            _similar_turn(vars(a), translate("similarity {value}", value=f"{a.similarity:.2f}")) for a in near
        ]
        nothing = translate("No rated turn in the user's other scenarios is similar to this.")
        empty = f'<p class="pl-empty">{nothing}</p>'
        out.append(_part(translate("The user's most similar rated turns"), shown) if shown else empty)
    return out


def cited_html(cited: Iterable[str], block: Block, memory: UserMemory | None) -> str:
    """What a verdict cites: statements of the memory with the turns they rest on, and turns; empty without any.

    What is neither is shown as cited from nowhere; without a memory it may be a statement, and that is said.
    """
    found = resolved(cited, block, memory)
    neither = (
        translate("(cited, but there is no such statement or turn)")
        if memory
        else translate("(not one of the user's turns; it may be in the judge's memory, which was not given)")
    )
    lines = [
        f'<b>{escape(said)}</b> <span class="pl-empty">{neither}</span>'
        if isinstance(said, str)
        else f"<b>{escape(said.id)}</b> {escape(said.text)}"
        for said in found.statements
    ]
    return _part(
        translate("Cited by the verdict"),
        lines + [_similar_turn(turn) for turn in list(found.turns.values())[:SIMILAR]],
    )


def _part(title: str, lines: list[str]) -> str:
    if not lines:
        return ""
    items = "".join(f'<li dir="auto">{line}</li>' for line in lines)
    return f'<div class="pl-case-part">{title}</div><ul class="pl-case-list">{items}</ul>'


def _similar_turn(turn: Mapping[Any, Any], note: str = "") -> str:
    """A turn of the user's past: where, the score with its reason, the beginnings of request and reply."""
    where = f"{name_of(turn['scenario'])} {turn['session']}/{turn['turn']}"
    score = float("nan") if pd.isna(turn["score"]) else float(turn["score"])
    reason = name_of(turn["reason"]) if isinstance(turn["reason"], str) else ""
    small = " · ".join(filter(None, (where, reason, note)))
    asked = beginning(turn["request"]) if isinstance(turn["request"], str) else "–"
    return (
        f'<div class="pl-head">{score_chip(score)} <span>{escape(small)}</span></div>'
        f'<div class="pl-text">{escape(asked)}</div>{reply_html("→ " + beginning(turn["response"]))}'
    )
