"""Topics, dialogues and the background of the PAL-Bench page as lines that open."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from perslib.palbench import Dialogue, Topic, tokens_of
from perslib.palbench.measures import words
from perslib.report.page import current
from perslib.report.show import conversation_html, escape, fold_html, reply_html, show_html
from perslib.report.words import name_of
from perslib.studies.pal_bench import Bench, Months
from perslib.studies.pal_bench_memory import name_aspect
from perslib.text import translate

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
            (translate("The user asks"), topic.query),
            (translate("Left unsaid"), " · ".join(topic.needs)),
            (translate("Full requirement"), topic.requirement),
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
    of = answers.set_index("task")
    parts = []
    for task in ("requirement", "solution", "selection"):
        if task not in of.index:
            continue
        row = of.loc[task]
        said = row["said"] if isinstance(row["said"], str) else None
        marks = ""
        if task == "requirement" and pd.notna(grade := row.get("grade")):
            marks = translate("{grade} of 2", grade=f"{float(grade):g}")
        if task == "selection" and said is not None:
            said = "\n".join(
                f"{_MARK[topic.feedback[i]]} {i}{translate(': ')}{topic.numbered[i]}" for i in said.split()
            )
        shown = reply_html(said) if said is not None else _nothing(row["error"])
        note = f' <span class="pl-note">{escape(marks)}</span>' if marks else ""
        parts.append(f"<dt>{escape(name_of(f'pal_said_{task}'))}{note}</dt><dd>{shown}</dd>")
    head = f'<span class="pl-case-name">{escape(name_of(str(method)))}</span>'
    body = f'<div class="pl-case-body"><dl class="pl-facts">{"".join(parts)}</dl></div>'
    return fold_html(head, body, "pl-case-reply", opened)


def _nothing(error: Any) -> str:
    why = error if isinstance(error, str) else "–"
    return f'<div class="pl-text pl-empty">{escape(translate("(no answer: {error})", error=why[:160]))}</div>'


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
    head = f'<span class="pl-case-name">{escape(name_of(dialogue.method))}</span>'
    if dialogue.error:
        head += f' <span class="pl-note">{escape(translate("ended early"))}</span>'
    body = conversation_html(dialogue.said())
    if dialogue.error:
        body += _nothing(dialogue.error)
    return fold_html(head, f'<div class="pl-case-body">{body}</div>', "pl-case-reply", opened)


# -- revisions of the background ---------------------------------------------------------------------------------

SENTENCES = re.compile(r"[^.!?\u3002\uff01\uff1f]+[.!?\u3002\uff01\uff1f]*\s*|[.!?\u3002\uff01\uff1f]+\s*")
ALIKE = 0.6
"""Share of words in common from which on two sentences are shown word by word."""
LATEST = 6
"""Versions of a side of life that are shown at once."""
_GONE = "text-decoration: line-through; color: #9a3a05; background-color: rgba(224, 117, 31, .12)"
_NEW = "text-decoration: underline; background-color: rgba(58, 143, 107, .18)"


def diff_html(before: str, after: str, language: str) -> str:
    """What became of a text: what went struck out, what came underlined.

    Sentence by sentence, and within those that stayed alike word by word (Chinese words as cut by jieba).
    """
    old, new = (SENTENCES.findall(text) for text in (before, after))
    parts = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, come = "".join(old[a:b]), "".join(new[c:d])
        if kind == "equal":
            parts.append(escape(come))
            continue
        these, those = _pieces(gone, language), _pieces(come, language)
        inner = difflib.SequenceMatcher(None, these, those, autojunk=False)
        if inner.ratio() < ALIKE:  # another sentence: a few words in common say nothing
            parts.append(_changed(gone, come, language))
            continue
        for what, e, f, g, h in inner.get_opcodes():
            said = "".join(those[g:h])
            parts.append(escape(said) if what == "equal" else _changed("".join(these[e:f]), said, language))
    return "".join(parts)


def _changed(gone: str, come: str, language: str) -> str:
    parts = [f'<span style="{_GONE}">{escape(gone)}</span>'] if gone else []
    parts += [" "] if gone and come and language != "zh" and not gone.endswith(" ") else []
    return "".join([*parts, f'<span style="{_NEW}">{escape(come)}</span>' if come else ""])


def _pieces(text: str, language: str) -> Sequence[str]:
    if language == "zh":
        return words(text, tokens_of(language))
    return re.findall(r"\S+\s*", text)


def show_revisions(changes: pd.DataFrame, language: str, opened: int = 1) -> None:
    """The background's history, an aspect a line that opens; the first sentence plain, then what changed."""
    page = current()
    lines = []
    for place, (aspect, own) in enumerate(changes.groupby("aspect", sort=False)):
        items = []
        for row in own.to_dict("records"):
            said = diff_html(row["before"], row["after"], language) if row["before"] else escape(row["after"])
            when = f'<span class="pl-note">{escape(row["at"] or row["session"])}</span>'
            items.append(f'<li>{when} <div class="pl-text" dir="auto">{said}</div></li>')
        head = f'<span class="pl-case-place">{escape(name_aspect(str(aspect)))}</span> '
        head += f'<span class="pl-small">{escape(translate("{n} versions", n=len(own)))}</span>'
        body = _list(items[-LATEST:])
        if earlier := items[:-LATEST]:
            body = fold_html(escape(translate("{n} earlier versions", n=len(earlier))), _list(earlier)) + body
        lines.append(fold_html(head, body, "pl-case", place < opened))
    show_html(
        f'<div class="pl-cases" lang="{page.language}">{"".join(lines)}</div>', changes.to_string(index=False)
    )


def _list(items: Sequence[str]) -> str:
    return f'<ul class="pl-case-list">{"".join(items)}</ul>'
