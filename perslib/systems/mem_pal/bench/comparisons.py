"""Dialogues of two methods compared by a judge, and by people (Mem-PAL, sections 5.5 and 5.6).

A judge reads both dialogues on a topic and gives each 1 to 10, apart for two dimensions: understanding the requirement,
and meeting the preference. Six evaluations, half of them with the order swapped, are summed. At temperature 0, as
published, the three of one order are near copies; at `TEMPERATURE` they are six.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from perslib.corpus.files.records import csv_lines
from perslib.errors import DataError, Problem, UnknownName
from perslib.llm import Ask, Backbone
from perslib.llm.structured.checked_questions import CheckedQuestion, ParsedReply
from perslib.prompts import PromptSettings
from perslib.systems.mem_pal.bench.measures import RUNS, decide_winner, plan_comparison_runs, vote
from perslib.systems.mem_pal.bench.multi_turn import BenchDialogue, format_profile
from perslib.systems.mem_pal.bench.tasks import Spent, ask_one, error_of, run_with_costs
from perslib.systems.mem_pal.bench.topics import TOPIC

Dimension = Literal["requirement", "preference"]
DIMENSIONS: tuple[Dimension, ...] = ("requirement", "preference")
OUTCOMES = ("win", "tie", "lose")
TEMPERATURE = 0.7
_PAIR = ["method", "other", "dimension", *TOPIC]
EVALUATIONS = [*_PAIR, "run", "swapped", "ours", "theirs", "error"]


def question_of(
    form: PromptSettings, dimension: Dimension, ours: BenchDialogue, theirs: BenchDialogue, run: tuple[bool, int]
) -> CheckedQuestion[Any]:
    """Return one evaluation of a pair; the answer is (our score, theirs), in whichever order they were shown."""
    swapped, number = run
    first, second = (theirs, ours) if swapped else (ours, theirs)
    scene = ours.scene
    shown: dict[str, Any] = {"first": first.messages_so_far(), "second": second.messages_so_far()}
    shown |= {"requirement": scene.topic.requirement}
    if dimension == "requirement":
        shown |= {"profile": format_profile(scene.profile), "situation": scene.situation}
        shown |= {"query": scene.topic.query, "needs": scene.needs}
    else:
        shown |= {"preferences": scene.preferences, "solutions": scene.solutions}

    def read(data: Any) -> ParsedReply[tuple[float, float]]:
        scores = float(data["scores"]["assistant_1"]), float(data["scores"]["assistant_2"])
        return ParsedReply(scores[::-1] if swapped else scores)

    request = form.make_request(f"pal_judge_{dimension}", **shown)
    seed = None if form.seed is None else form.seed + number
    place = f"{scene.topic.id}: {dimension} {_id(swapped, number)}"
    return CheckedQuestion(place, replace(request, sample=number, seed=seed), read)


def _id(swapped: bool, number: int) -> str:
    """Return an evaluation as published: `p1-2` is the second with ours first."""
    return f"p{1 + swapped}-{1 + number}"


def compare_dialogues(
    dialogues: Sequence[BenchDialogue],
    judge: Backbone,
    form: PromptSettings | None = None,
    *,
    method: str,
    number_of_runs: int = RUNS,
) -> pd.DataFrame:
    """Return all evaluations of `method` against all others on the topics that both finished, one row each.

    Columns: method, other, dimension, user, session, topic, run, swapped, ours, theirs (null where `error` says why),
    calls, tokens_in, tokens_cached, tokens_out, seconds, cost. A form without a temperature means `TEMPERATURE`; give 0
    for the published setting.
    """
    form = form or PromptSettings()
    form = replace(form, temperature=TEMPERATURE) if form.temperature is None else form
    finished: dict[str, dict[tuple[str, ...], BenchDialogue]] = defaultdict(dict)
    for dialogue in dialogues:
        if not dialogue.error:
            finished[dialogue.method][tuple(dialogue.scene.topic.key.values())] = dialogue
    if method not in finished:
        raise UnknownName("method among the finished dialogues", method, finished)
    cases = [
        (dimension, finished[method][key], theirs, run)
        for other, theirs_by_key in finished.items()
        if other != method
        for key, theirs in theirs_by_key.items()
        if key in finished[method]
        for dimension in DIMENSIONS
        for run in plan_comparison_runs(number_of_runs)
    ]
    asked = judge.map(partial(_ask_case, form), cases)
    rows = []
    for (dimension, ours, theirs, run), (reading, spent) in zip(cases, asked, strict=True):
        scores = dict(zip(("ours", "theirs"), reading.value or (None, None)))
        about: dict[str, Any] = {"method": method, "other": theirs.method, "dimension": dimension}
        about |= {**ours.scene.topic.key, "run": _id(*run), "swapped": run[0], **scores, "error": error_of(reading)}
        rows.append(about | spent)
    frame = pd.DataFrame(rows) if rows else pd.DataFrame(columns=EVALUATIONS)
    return frame.astype({"ours": "Float64", "theirs": "Float64", "error": "str"})


async def _ask_case(
    form: PromptSettings, case: tuple[Dimension, BenchDialogue, BenchDialogue, tuple[bool, int]], ask: Ask
) -> tuple[ParsedReply[Any], Spent]:
    return await run_with_costs(partial(ask_one, question_of(form, *case)), ask, "compare")


def outcomes(evaluations: pd.DataFrame, tie_within: float = 0.0) -> pd.DataFrame:
    """Return win, tie or lose of each pair, one row a topic and dimension: the means, and `outcome`.

    An evaluation that failed takes the one in the other order with it, so that no order weighs more; where none is left,
    the outcome is missing. `runs` counts those that stand.
    """
    rows = []
    for key, own in evaluations.groupby(_PAIR, sort=False):
        standing = own.dropna(subset=["ours", "theirs"])
        in_order = standing["run"].str.split("-").str[-1]
        tied = standing[in_order.duplicated(keep=False)]
        ours, theirs = (tied[side].astype(float).tolist() for side in ("ours", "theirs"))
        about = dict(zip((*_PAIR, "runs"), (*key, len(tied))))
        if ours:
            about |= {"ours": sum(ours) / len(ours), "theirs": sum(theirs) / len(theirs)}
            about |= {"outcome": decide_winner(ours, theirs, tie_within)}
        rows.append(about)
    columns = [*_PAIR, "ours", "theirs", "runs", "outcome"]
    kinds = {"ours": "Float64", "theirs": "Float64", "outcome": "str"}
    return pd.DataFrame(rows, columns=columns).astype(kinds)


VOTES = (*TOPIC, "dimension", "rater", "vote")


def read_votes(path: str | Path) -> pd.DataFrame:
    """Return what people said: a CSV with columns user, session, topic, dimension, rater and vote (win, tie or lose).

    Where several pairs were compared, `method` and `other` say which.
    """
    path = Path(path)
    lines = list(csv_lines(path.read_bytes(), path.name, VOTES))
    if problems := [value for _, value, _ in lines if isinstance(value, Problem)]:
        raise DataError(problems)
    places = [place for place, *_ in lines]
    frame = pd.DataFrame([row for *_, row in lines], columns=None if lines else [*VOTES]).astype("str")
    frame = frame.assign(vote=frame["vote"].str.strip().str.lower(), dimension=frame["dimension"].str.strip())
    for name, known in (("vote", OUTCOMES), ("dimension", DIMENSIONS)):
        strange = frame[name][~frame[name].isin(known)]
        problems += [
            Problem(places[i], f"{name} is {value!r}, expected {', '.join(known)}") for i, value in strange.items()
        ]
    columns = [name for name in (*VOTES, "method", "other") if name in frame]
    twice = frame.index[frame.duplicated([name for name in columns if name != "vote"])]
    problems += [Problem(places[i], "is a second vote of a rater on the same") for i in twice]
    if problems:
        raise DataError(problems)
    return frame[columns]


def find_majority_votes(votes: pd.DataFrame) -> pd.DataFrame:
    """Return one label a topic and dimension: what most raters say, a tie where no label is ahead."""
    by = [name for name in _PAIR if name in votes]
    labels = votes.groupby(by, sort=False)["vote"]
    return labels.agg([("people", vote), ("raters", "size")]).reset_index()
