"""What the PAL-Bench page says in sentences with computed numbers, and topics and dialogues opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from perslib.palbench import Dialogue, Topic
from perslib.report.page import current
from perslib.report.show import conversation_html, escape, fold_html, reply_html, show_html
from perslib.report.tables import with_interval
from perslib.report.words import name_of
from perslib.stats import FEWEST_USERS
from perslib.studies.pal_bench import FAULTLESS, Bench, Months
from perslib.studies.pal_bench_tables import METRICS
from perslib.text import join, paragraph, plural, translate


def whose(asked: Months) -> str:
    """Whose months these are, and how much of them."""
    heard = [s for person in asked.who for s in person.history]
    query = [s for person in asked.who for s in person.query]
    return paragraph(
        translate(
            "**The corpus named above has no topics to ask about, so the synthetic PAL-Set is used instead**. It "
            "is generated from the synthetic world without a model. For the published data: `perslib import "
            "palset PATH`, then `--corpus`."
        )
        if asked.stands_in
        else "",
        translate(
            "{users}; sessions to remember: {history:,}, sessions asked about: {query:,} with {topics:,} topics, logs: "
            "{logs:,}.",
            users=_users(asked),
            history=len(heard),
            query=len(query),
            topics=asked.topics,
            logs=sum(len(s.logs) for s in (*heard, *query)),
        ),
        translate(
            "Users of the corpus left out: {n:,}; `limit` sets the number of topics.",
            n=asked.left_out,
        )
        if asked.left_out and not asked.stands_in
        else "",
    )


def _users(asked: Months) -> str:
    return plural("{n} user", "{n} users", len(asked.who))


def look(model: str) -> str:
    """That a first look measures nothing, and how to have a measurement."""
    return translate(
        "**A first look, not a result.** {model} is a very small model: it cannot do these tasks, its answers "
        "are mostly nonsense, and the scores below are noise. It is asked about one topic, with two methods, "
        "in a dialogue of one turn, with a few words per answer. It cannot write a memory either: the memory "
        "that it is given, which is drawn below, is written from the truth of the synthetic world, as a "
        "faultless model would. This page only shows how results will look. For results: `perslib report 05 "
        "--corpus palset --backbone my-vllm --language en`, with PAL-Set imported as `palset` and a real "
        "model in `backbones.toml`.",
        model=model,
    )


def sure(asked: Months) -> str:
    """That there are too few users to say how sure a number is; empty where there are enough."""
    if len(asked.who) < FEWEST_USERS:
        return translate(
            "**No intervals and no tests** with {users}, because topics of one user are not independent. From "
            "{fewest} users on, every mean has a 95 % bootstrap interval over users, every difference a corrected "
            "p.",
            users=_users(asked),
            fewest=FEWEST_USERS,
        )
    if len(asked.who) < 20:
        return translate(
            "With {users} intervals are wide; small differences are not meaningful.", users=_users(asked)
        )
    return ""


def first(table: pd.DataFrame) -> str:
    """Who is in front by G and S, how far the first method comes, and whether it selects better than chance."""
    reference = table["method"].iloc[0]
    chance = table[(table["metric"] == "s") & (table["method"] == reference)]["low"].dropna()
    if len(chance):
        beyond = translate(
            "The interval of {method}'s S-Score lies above chance, which is 0."
            if chance.iloc[0] > 0
            else "The interval of {method}'s S-Score does not lie entirely above chance, which is 0.",
            method=name_of(reference),
        )
    else:
        beyond = translate("Random selection has an expected S-Score of 0.")
    return paragraph(*(_leader(table[table["metric"] == m], m, reference) for m in ("g", "s")), beyond)


def _leader(table: pd.DataFrame, metric: str, reference: str) -> str:
    """Who has the highest value of a metric, and what the reference has."""
    own, called = table.dropna(subset="value").set_index("method"), name_of(METRICS[metric])
    if own.empty:
        return translate("No answer has a {metric}.", metric=called)
    best = own[own["value"] == own["value"].max()]
    low, high = best[["low", "high"]].iloc[0] if len(best) == 1 else (np.nan, np.nan)
    behind = reference in own.index and reference not in best.index
    return translate(
        "Highest {metric}: **{best}** with {value}; {reference} has {its_value}."
        if behind
        else "Highest {metric}: **{best}** with {value}.",
        metric=called,
        best=join(map(name_of, best.index)),
        value=with_interval(best["value"].iloc[0], low, high, 2, zero=True),
        reference=name_of(reference),
        its_value=with_interval(own.loc[reference, "value"], digits=2, zero=True) if behind else "",
    )


def compared(differences: pd.DataFrame) -> str:
    """Which differences hold after correction; empty where nothing was tested."""
    own = differences[differences["metric"].isin(["g", "s"]) & differences["p_holm"].notna()]
    if own.empty:
        return ""
    method, sure = name_of(own["method"].iloc[0]), own[own["p_holm"] < 0.05]
    ahead, behind = (
        join(
            translate("{other} ({metric})", other=name_of(r.other), metric=name_of(METRICS[r.metric]))
            for r in part.itertuples()
        )
        for part in (sure[sure["difference"] > 0], sure[sure["difference"] <= 0])
    )
    said = paragraph(
        translate("With p < 0.05 after Holm, {method} is better than {others}.", method=method, others=ahead)
        if ahead
        else "",
        translate("With p < 0.05 after Holm, {method} is worse than {others}.", method=method, others=behind)
        if behind
        else "",
    )
    return said or translate(
        "After Holm's correction, no difference between {method} and another method is significant.",
        method=method,
    )


def failures(bench: Bench) -> str:
    """What models did not give, and where it went."""
    answers = bench.answers
    unsaid, ungraded = int(answers["said"].isna().sum()), int(answers["grade_error"].notna().sum())
    pieces = sum(len(s.failed) for s in bench.served)
    if not unsaid + ungraded + pieces:
        return translate(
            "All {n:,} answers were received, every restatement was graded, and no memory part failed.",
            n=len(answers),
        )
    why = answers["error"].dropna().astype(str).str.rsplit(":").str[-1].str.strip().value_counts()
    return paragraph(
        translate(
            "Of {n:,} answers {failed:,} failed even after a retry; {ungraded:,} restatements were not graded; "
            "{pieces:,} memory parts are missing. They are excluded from means, and counted.",
            n=len(answers),
            failed=unsaid,
            ungraded=ungraded,
            pieces=pieces,
        ),
        translate("The most frequent error: {error}.", error=why.index[0][:70]) if len(why) else "",
    )


def dialogues(held: Sequence[Dialogue], evaluations: pd.DataFrame, tie_within: float) -> str:
    """How many dialogues were held and judged, and what counts as a tie."""
    return paragraph(
        translate(
            "{held:,} dialogues, {broke:,} of which ended early; each pair was evaluated {runs} times per "
            "dimension, half of them in swapped order ({n:,} evaluations, {unscored:,} without scores).",
            held=len(held),
            broke=sum(d.error is not None for d in held),
            runs=evaluations["run"].nunique() if len(evaluations) else 0,
            n=len(evaluations),
            unscored=int(evaluations["ours"].isna().sum()) if len(evaluations) else 0,
        ),
        translate("Means that differ by at most {most:g} points of ten are a tie.", most=tie_within)
        if tie_within
        else translate("Equal sums are a tie."),
    )


def grown(frame: pd.DataFrame, name: str) -> str:
    """How much was heard and how much of it is kept, and who wrote it."""
    last = frame.iloc[-1]
    return paragraph(
        translate("The memory shown is faultless: it is written from the truth of the synthetic world.")
        if name == FAULTLESS
        else "",
        translate(
            "The input has {heard:,} characters; the memory has {kept:,}.",
            heard=int(last["heard"]),
            kept=int(last[["situations_size", "background_size", "outlines_size", "principles_size"]].sum()),
        ),
    )


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
