"""The single-turn tasks of PAL-Bench (Mem-PAL, sections 5.1–5.3): restate a requirement, propose, select.

    requirement   the user's short question      → the requirement in full     BLEU, G-Score by a judge
    solution      the requirement                → one solution                BLEU against both positive solutions
    selection     the requirement, 8 candidates  → the two the user will like  S-Score

A memory is asked with the question, or with the requirement where solutions are at stake; so an error in restating does
not carry over. Query sessions are served in the order of time: their logs are heard, their topics asked about, then the
dialogue as it was is heard. What is asked about waits until a memory has gone through all sessions, and is then asked at
once, each with the memory as it stood.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Literal

import pandas as pd

from perslib.errors import UnknownName
from perslib.llm import Ask, Backbone
from perslib.memory.checked import Question, Reading, checked
from perslib.memory.long import LongTermMemory, Piece, Purpose, Session, Store
from perslib.palbench.measures import SELECTED, grade
from perslib.palbench.topics import Person, Spent, Strengthens, Topic, blocks, counted, looked_up
from perslib.prompts import PromptSettings

Task = Literal["requirement", "solution", "selection"]
TASKS: tuple[Task, ...] = ("requirement", "solution", "selection")
STAGE = "answer"
"""All tasks count under this line of the ledger, so that they can be asked at once."""
Read = Callable[[Any], Reading[Any]]


def query_of(topic: Topic, task: Task) -> tuple[str, Purpose]:
    """What a memory is asked with."""
    return (topic.query, "requirement") if task == "requirement" else (topic.requirement, "solution")


def asked(form: PromptSettings, task: Task, topic: Topic, pieces: Sequence[Piece]) -> Question[str]:
    """The question of a task; the answer is a text, for a selection two ids with a blank between them."""
    shown = {"blocks": blocks(pieces), "query": topic.query}
    if task == "requirement":
        request, read = form.request("pal_requirement", **shown), text_of("requirement")
    elif task == "solution":
        shown["requirement"] = topic.requirement
        request, read = form.request("pal_solution", **shown), text_of("solution")
    else:
        candidates = [{"id": id, "text": text} for id, text in topic.numbered.items()]
        shown |= {"requirement": topic.requirement, "candidates": candidates}
        request, read = form.request("pal_selection", **shown), _selection(set(topic.numbered))
    return Question(f"{topic.id}: {task}", request, read)


def text_of(key: str) -> Read:
    """The text under this key of an answer; an empty one is a fault."""

    def read(data: Any) -> Reading[str]:
        text = data[key].strip()
        return Reading(text) if text else Reading(None, (f"{key} is empty",))

    return read


def _selection(known: set[str]) -> Read:
    """Two different ids that are there; anything else is no selection."""

    def read(data: Any) -> Reading[str]:
        ids = [id.strip().upper() for id in data["selected_solutions"]]
        if unknown := sorted(set(ids) - known):
            return Reading(None, (f"{', '.join(unknown)} is none of the candidates",))
        if len(ids) != SELECTED or len(set(ids)) != SELECTED:
            return Reading(None, (f"{len(set(ids))} different solutions selected, expected {SELECTED}",))
        return Reading(" ".join(ids))

    return read


def grading(form: PromptSettings, topic: Topic, prediction: str) -> Question[float]:
    """The question of the G-Score's judge about a restated requirement."""

    def read(data: Any) -> Reading[float]:
        given = grade(data["score"])
        return Reading(None, (f"score is {data['score']!r}",)) if given is None else Reading(given)

    request = form.request(
        "pal_grade",
        query=topic.query,
        needs=[{"need": need, "evidences": []} for need in topic.needs],
        requirement=topic.requirement,
        prediction=prediction,
    )
    return Question(f"{topic.id}: grade", request, read)


async def one(question: Question[Any], ask: Ask) -> Reading[Any]:
    """One question by itself."""
    (reading,) = await checked([question], ask)
    return reading


@dataclass(frozen=True)
class Served:
    """What a memory made of a user: the memory before each query session and at the end, answers, and what building took."""

    user: str
    method: str
    stores: tuple[Store, ...]
    rows: tuple[dict[str, Any], ...]
    build: Spent

    @property
    def failed(self) -> tuple[str, ...]:
        """What of the memory a model did not give."""
        return self.stores[-1].failed


async def remembered(
    memory: LongTermMemory, person: Person, ask: Ask, tasks: Sequence[Task] = ()
) -> list[Store]:
    """The memory during each query session, its logs heard and its dialogue not, and once all are over.

    A memory that keeps better what was recalled is told what these tasks recall.
    """
    stores = []
    store = await memory.build(person.user, person.history, ask)
    for session in person.query:
        now = session.before()
        store = await memory.hear_logs(store, now, ask)
        stores.append(store)
        if isinstance(memory, Strengthens):
            queries = dict.fromkeys(query_of(s.topic, t) for s in person.of(session) for t in tasks)
            found = [p for query in queries for p in memory.recall(store, now, *query)]
            store = memory.recalled(store, list({p.id: p for p in found}.values()), session.at)
        store = await memory.hear_dialogue(store, session, ask)
    return [*stores, store]


async def serve(
    memory: LongTermMemory, person: Person, form: PromptSettings, ask: Ask, tasks: Sequence[Task] = TASKS
) -> Served:
    """Build the memory of a user, go through the query sessions, and ask everything about them at once."""
    stores, build = await counted(partial(remembered, memory, person, tasks=tasks), ask)
    rows = await asyncio.gather(
        *(
            _answered(memory, store, session.before(), scene.topic, task, form, ask)
            for store, session in zip(stores, person.query)
            for scene in person.of(session)
            for task in tasks
        )
    )
    return Served(person.user, memory.name, tuple(stores), tuple(rows), build)


async def _serve(
    pair: tuple[LongTermMemory, Person], ask: Ask, form: PromptSettings, tasks: Sequence[Task]
) -> Served:
    return await serve(*pair, form, ask, tasks)


async def _answered(
    memory: LongTermMemory,
    store: Store,
    session: Session,
    topic: Topic,
    task: Task,
    form: PromptSettings,
    ask: Ask,
) -> dict[str, Any]:
    async def answer(ask: Ask) -> tuple[Reading[str], Question[str], int]:
        pieces = await looked_up(memory, store, session, *query_of(topic, task), ask)
        question = asked(form, task, topic, pieces)
        return await one(question, ask), question, len(pieces)

    (reading, question, pieces), spent = await counted(answer, ask, STAGE)
    return {
        **topic.key,
        "task": task,
        "said": reading.value,
        "error": "; ".join(reading.faults) if reading.value is None else None,
        "pieces": pieces,
        "prompt": question.request.prompt,
        **spent.row(),
    }


def run(
    memories: Sequence[LongTermMemory],
    people: Sequence[Person],
    backbone: Backbone,
    form: PromptSettings | None = None,
    *,
    tasks: Sequence[Task] = TASKS,
) -> tuple[pd.DataFrame, list[Served]]:
    """All tasks with all memories, and what was made of each user.

    The frame: method, backbone, user, session, topic, task, said (null where `error` says why), pieces (recalled),
    prompt, calls, tokens_in, tokens_cached, tokens_out, seconds, cost.
    """
    for task in tasks:
        if task not in TASKS:
            raise UnknownName("task", task, TASKS)
    form = form or PromptSettings()
    served = backbone.map(partial(_serve, form=form, tasks=tasks), product(memories, people))
    rows = [{"method": s.method, "backbone": backbone.name, **row} for s in served for row in s.rows]
    return pd.DataFrame(rows, columns=COLUMNS), served


COLUMNS = [
    *("method", "backbone", "user", "session", "topic", "task", "said", "error", "pieces", "prompt"),
    *("calls", "tokens_in", "tokens_cached", "tokens_out", "seconds", "cost"),
]


def graded(
    answers: pd.DataFrame, people: Sequence[Person], judge: Backbone, form: PromptSettings | None = None
) -> pd.DataFrame:
    """The answers with `grade` (0 to 2 points) of each restated requirement, and `grade_error` where a judge gave none."""
    topics = topics_by_key(people)
    form = form or PromptSettings()
    due = answers.index[(answers["task"] == "requirement") & answers["said"].notna()]
    questions = [grading(form, topics[key_of(answers.loc[i])], answers.loc[i, "said"]) for i in due]
    given = judge.map(_one_grade, questions)
    readings = [reading for reading, _ in given]
    values = pd.Series([r.value for r in readings], index=due, dtype="Float64")
    errors = pd.Series(
        ["; ".join(r.faults) if r.value is None else None for r in readings], index=due, dtype="str"
    )
    return answers.assign(
        grade=values.reindex(answers.index), grade_error=errors.reindex(answers.index), graded_by=judge.name
    )


async def _one_grade(question: Question[float], ask: Ask) -> tuple[Reading[float], Spent]:
    return await counted(partial(one, question), ask, "grade")


def topics_by_key(people: Sequence[Person]) -> dict[tuple[str, str, str], Topic]:
    """Topics by user, session and name."""
    return {(s.topic.user, s.topic.session, s.topic.name): s.topic for p in people for s in p.scenes}


def key_of(row: pd.Series) -> tuple[str, str, str]:
    """User, session and topic of a row."""
    return row["user"], row["session"], row["topic"]
