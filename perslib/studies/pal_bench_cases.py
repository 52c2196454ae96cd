"""Topics of PAL-Bench opened: what was asked, what was meant, what each method made of it; and dialogues as they went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from perslib.palbench import Dialogue, Topic
from perslib.report.page import current
from perslib.report.show import conversation_html, escape, fold_html, show_html, text_html
from perslib.report.words import name_of
from perslib.studies.pal_bench import Bench, Months

_MARK = {"pos": "✓", "neg": "✗", "neu": "–"}


def show_topics(asked: Months, bench: Bench, most: int = 4) -> None:
    """The first topic of each user, then further ones, each a line that opens to all methods' answers."""
    page = current()
    scenes = [scene for person in asked.who for scene in person.scenes[:1]]
    scenes += [scene for person in asked.who for scene in person.scenes[1:]]
    lines = []
    for place, scene in enumerate(scenes[:most]):
        topic = scene.topic
        own = bench.answers[(bench.answers[list(topic.key)] == list(topic.key.values())).all(axis=1)]
        given = [
            (page.word("pal_query"), topic.query),
            (page.word("pal_needs"), " · ".join(topic.needs)),
            (page.word("pal_meant"), topic.requirement),
        ]
        facts = "".join(f"<dt>{escape(name)}</dt><dd dir='auto'>{escape(text)}</dd>" for name, text in given)
        by_method = enumerate(own.groupby("method", sort=False))
        answers = "".join(_method(name, topic, part, number < 2) for number, (name, part) in by_method)
        head = f'<span class="pl-case-place">{escape(topic.query)}</span> '
        head += f'<span class="pl-small">{escape(topic.id)}</span>'
        lines.append(fold_html(head, f'<dl class="pl-facts">{facts}</dl>{answers}', "pl-case", place == 0))
    show_html(f'<div class="pl-cases" lang="{page.language}">{"".join(lines)}</div>', f"{len(lines)} topics")


def _method(method: Any, topic: Topic, answers: pd.DataFrame, opened: bool) -> str:
    """One method's three answers."""
    page = current()
    of = answers.set_index("task")
    parts = []
    for task in ("requirement", "solution", "selection"):
        if task not in of.index:
            continue
        row = of.loc[task]
        said = row["said"] if isinstance(row["said"], str) else None
        marks = ""
        if task == "requirement" and pd.notna(grade := row.get("grade")):
            marks = page.word("pal_graded", grade=f"{float(grade):g}")
        if task == "selection" and said is not None:
            said = "\n".join(
                f"{_MARK[topic.feedback[i]]} {i}{page.word('colon')}{topic.numbered[i]}" for i in said.split()
            )
        shown = text_html(said) if said is not None else _nothing(row["error"])
        note = f' <span class="pl-note">{escape(marks)}</span>' if marks else ""
        parts.append(f"<dt>{escape(page.word(f'pal_said_{task}'))}{note}</dt><dd>{shown}</dd>")
    head = f'<span class="pl-case-name">{escape(name_of(str(method), page.language))}</span>'
    body = f'<div class="pl-case-body"><dl class="pl-facts">{"".join(parts)}</dl></div>'
    return fold_html(head, body, "pl-case-reply", opened)


def _nothing(error: Any) -> str:
    why = error if isinstance(error, str) else "–"
    return f'<div class="pl-text pl-empty">{escape(current().word("pal_no_answer", error=why[:160]))}</div>'


def show_dialogues(held: Sequence[Dialogue], most: int = 2) -> None:
    """The dialogues on the first topics, method by method, each a line that opens."""
    page = current()
    topics = list({tuple(d.scene.topic.key.values()): d.scene.topic for d in held}.values())[:most]
    lines = []
    for place, topic in enumerate(topics):
        own = [d for d in held if d.scene.topic.key == topic.key]
        said = "".join(_dialogue(dialogue, opened=number < 2) for number, dialogue in enumerate(own))
        head = f'<span class="pl-case-place">{escape(topic.query)}</span> '
        head += f'<span class="pl-small">{escape(topic.id)}</span>'
        lines.append(fold_html(head, said, "pl-case", place == 0))
    show_html(
        f'<div class="pl-cases" lang="{page.language}">{"".join(lines)}</div>', f"{len(held)} dialogues"
    )


def _dialogue(dialogue: Dialogue, opened: bool) -> str:
    page = current()
    head = f'<span class="pl-case-name">{escape(name_of(dialogue.method, page.language))}</span>'
    if dialogue.error:
        head += f' <span class="pl-note">{escape(page.word("pal_broke_off"))}</span>'
    body = conversation_html(dialogue.said())
    if dialogue.error:
        body += _nothing(dialogue.error)
    return fold_html(head, f'<div class="pl-case-body">{body}</div>', "pl-case-reply", opened)
