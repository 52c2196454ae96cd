"""Dialogues of two methods compared by a judge, and by people (Mem-PAL, sections 5.5 and 5.6).

A judge reads both dialogues on a topic and gives each 1 to 10, apart for two dimensions: understanding the requirement,
and meeting the preference. Six evaluations, half of them with the order swapped, are summed. At temperature 0, as
published, the three of one order are near copies; at `TEMPERATURE` they are six.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from perslib.corpus.reading import csv_lines
from perslib.errors import DataError, Problem, UnknownName
from perslib.llm import Ask, Backbone
from perslib.memory.checked import Question, Reading
from perslib.palbench.measures import RUNS, Run, number, outcome, runs, vote
from perslib.palbench.multi_turn import Dialogue, shown_profile
from perslib.palbench.tasks import one
from perslib.palbench.topics import Spent, counted
from perslib.prompts import PromptSettings

Dimension = Literal["requirement", "preference"]
DIMENSIONS: tuple[Dimension, ...] = ("requirement", "preference")
OUTCOMES = ("win", "tie", "lose")
TEMPERATURE = 0.7
LEAST, MOST = 1.0, 10.0
_PAIR = ["method", "other", "dimension", "user", "session", "topic"]
EVALUATIONS = [*_PAIR, "run", "swapped", "ours", "theirs", "error"]


def question_of(
    form: PromptSettings, dimension: Dimension, ours: Dialogue, theirs: Dialogue, run: Run
) -> Question[Any]:
    """One evaluation of a pair; the answer is (our score, theirs), in whichever order they were shown."""
    first, second = (theirs, ours) if run.swapped else (ours, theirs)
    scene = ours.scene
    shown: dict[str, Any] = {"first": first.said(), "second": second.said()}
    shown |= {"requirement": scene.topic.requirement}
    if dimension == "requirement":
        shown |= {"profile": shown_profile(scene.profile), "situation": scene.situation}
        shown |= {"query": scene.topic.query, "needs": scene.needs}
    else:
        shown |= {"preferences": scene.preferences, "solutions": scene.solutions}

    def read(data: Any) -> Reading[tuple[float, float]]:
        given = [number(data["scores"][f"assistant_{i}"]) for i in (1, 2)]
        scores = [score for score in given if score is not None and LEAST <= score <= MOST]
        if len(scores) < len(given):
            return Reading(None, (f"scores are {data['scores']}, expected numbers from 1 to 10",))
        return Reading((scores[1], scores[0]) if run.swapped else (scores[0], scores[1]))

    request = form.request(f"pal_judge_{dimension}", **shown)
    number_of_run = int(run.id.rpartition("-")[2]) - 1
    seed = None if form.seed is None else form.seed + number_of_run
    return Question(
        f"{scene.topic.id}: {dimension} {run.id}", replace(request, sample=number_of_run, seed=seed), read
    )


def judged(
    dialogues: Sequence[Dialogue],
    judge: Backbone,
    form: PromptSettings | None = None,
    *,
    method: str,
    others: Iterable[str] | None = None,
    number_of_runs: int = RUNS,
    dimensions: Sequence[Dimension] = DIMENSIONS,
) -> pd.DataFrame:
    """All evaluations of `method` against others on the topics that both finished, one row each.

    Columns: method, other, dimension, user, session, topic, run, swapped, ours, theirs (null where `error` says why),
    calls, tokens_in, tokens_cached, tokens_out, seconds, cost. A form without a temperature means `TEMPERATURE`; give 0
    for the published setting.
    """
    form = form or PromptSettings()
    form = replace(form, temperature=TEMPERATURE) if form.temperature is None else form
    by_method: dict[str, dict[tuple[str, ...], Dialogue]] = {}
    for dialogue in dialogues:
        if not dialogue.error:
            by_method.setdefault(dialogue.method, {})[tuple(dialogue.scene.topic.key.values())] = dialogue
    if method not in by_method:
        raise UnknownName("method among the finished dialogues", method, by_method)
    others = [name for name in by_method if name != method] if others is None else list(others)
    cases = [
        (dimension, by_method[method][key], theirs, run)
        for other in others
        for key, theirs in by_method.get(other, {}).items()
        if key in by_method[method]
        for dimension in dimensions
        for run in runs(number_of_runs)
    ]
    results = judge.map(partial(_asked, form), cases)
    rows = []
    for (dimension, ours, theirs, run), (reading, spent) in zip(cases, results, strict=True):
        own, their = reading.value or (None, None)
        about = {"method": method, "other": theirs.method, "dimension": dimension, **ours.scene.topic.key}
        rows.append(
            {
                **about,
                **{"run": run.id, "swapped": run.swapped, "ours": own, "theirs": their},
                "error": "; ".join(reading.faults) if reading.value is None else None,
                **spent.row(),
            }
        )
    frame = pd.DataFrame(rows) if rows else pd.DataFrame(columns=EVALUATIONS)
    return frame.astype({"ours": "Float64", "theirs": "Float64", "error": "str"})


async def _asked(
    form: PromptSettings, case: tuple[Dimension, Dialogue, Dialogue, Run], ask: Ask
) -> tuple[Reading[Any], Spent]:
    return await counted(partial(one, question_of(form, *case)), ask, "compare")


def outcomes(evaluations: pd.DataFrame, tie_within: float = 0.0) -> pd.DataFrame:
    """Win, tie or lose of each pair, one row a topic and dimension: the means, and `outcome`.

    An evaluation that failed takes the one in the other order with it, so that no order weighs more; where none is left,
    the outcome is missing. `runs` counts those that stand.
    """
    rows = []
    for key, own in evaluations.groupby(_PAIR, sort=False):
        number_in_order = own["run"].str.rpartition("-")[2]
        standing = own[own["ours"].notna() & own["theirs"].notna()]
        balanced = number_in_order[standing.index].value_counts()
        kept = standing[number_in_order[standing.index].isin(balanced[balanced == 2].index)]
        ours, theirs = (kept[side].astype(float).tolist() for side in ("ours", "theirs"))
        rows.append(
            {
                **dict(zip(_PAIR, key, strict=True)),
                "ours": sum(ours) / len(ours) if ours else None,
                "theirs": sum(theirs) / len(theirs) if theirs else None,
                "runs": len(kept),
                "outcome": outcome(ours, theirs, tie_within) if ours else None,
            }
        )
    columns = [*_PAIR, "ours", "theirs", "runs", "outcome"]
    kinds = {"ours": "Float64", "theirs": "Float64", "outcome": "str"}
    return pd.DataFrame(rows, columns=columns).astype(kinds)


VOTES = ("user", "session", "topic", "dimension", "rater", "vote")


def read_votes(path: str | Path) -> pd.DataFrame:
    """What people said: a CSV with columns user, session, topic, dimension, rater and vote (win, tie or lose).

    Where several pairs were compared, `method` and `other` say which.
    """
    path = Path(path)
    rows = list(csv_lines(path.read_bytes(), path.name, VOTES))
    if problems := [value for _, value, _ in rows if isinstance(value, Problem)]:
        raise DataError(problems)
    places = [place for place, *_ in rows]
    frame = pd.DataFrame([row for *_, row in rows], columns=None if rows else [*VOTES]).astype("str")
    frame = frame.assign(vote=frame["vote"].str.strip().str.lower(), dimension=frame["dimension"].str.strip())
    allowed = {"vote": OUTCOMES, "dimension": DIMENSIONS}
    problems = [
        Problem(place, f"{name} is {value!r}, expected {', '.join(known)}")
        for name, known in allowed.items()
        for place, value in zip(places, frame[name], strict=True)
        if value not in known
    ]
    of_pair = [name for name in ("method", "other") if name in frame]
    twice = frame.index[frame.duplicated([*VOTES[:-1], *of_pair])]
    problems += [Problem(places[i], "is a second vote of a rater on the same") for i in twice]
    if problems:
        raise DataError(problems)
    return frame[[*VOTES, *of_pair]]


def voted(votes: pd.DataFrame) -> pd.DataFrame:
    """One label a topic and dimension: what most raters say, a tie where no label is ahead."""
    by = [name for name in _PAIR if name in votes]
    labels = votes.groupby(by, sort=False)["vote"]
    return labels.agg([("people", vote), ("raters", "size")]).reset_index()
