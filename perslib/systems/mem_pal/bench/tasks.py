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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Literal, TypeVar

import pandas as pd

from perslib.errors import UnknownName
from perslib.llm import Answer, Ask, Backbone, Method
from perslib.llm.request import wrap_ask
from perslib.llm.structured.checked_questions import CheckedQuestion, ParsedReply, ask_and_check, read_text
from perslib.llm.tokens import count_tokens
from perslib.prompts import PromptSettings
from perslib.systems.mem_pal.bench.topics import TOPIC, BenchTopic, BenchUser
from perslib.systems.mem_pal.memory.long_term import LongTermMemory, MemoryPiece, MemorySession, Purpose, Store

T = TypeVar("T")
#: What some answers took, as columns.
Spent = dict[str, Any]


async def ask_one(question: CheckedQuestion[Any], ask: Ask) -> ParsedReply[Any]:
    """Ask one question, and return what its answer says."""
    (reading,) = await ask_and_check([question], ask)
    return reading


def error_of(reading: ParsedReply[Any]) -> str | None:
    """Return why there is no answer; None where there is one."""
    return "; ".join(reading.faults) if reading.value is None else None


def spent_on(answers: Sequence[Answer]) -> Spent:
    """Return what answers took, also those read from the cache: `seconds` one after another, `cost` as priced."""
    tokens = {f"tokens_{name}": sum(getattr(a, f"tokens_{name}") for a in answers) for name in ("in", "cached", "out")}
    costs = [a.cost for a in answers if a.cost is not None]
    seconds = sum((a.seconds for a in answers), 0.0)
    return {"calls": len(answers), **tokens, "seconds": seconds, "cost": sum(costs) if costs else None}


async def run_with_costs(method: Method[T], ask: Ask, stage: str | None = None) -> tuple[T, Spent]:
    """Return what a method returns and what its answers took; its questions under another line of the ledger, if named."""
    answers: list[Answer] = []
    value = await method(wrap_ask(ask, hear=answers.extend, stage=stage))
    return value, spent_on(answers)


def group_pieces(pieces: Sequence[MemoryPiece]) -> list[dict[str, Any]]:
    """Return pieces as prompts show them: together by field, fields and pieces in the order they were recalled."""
    fields: dict[str, list[str]] = {}
    for piece in pieces:
        fields.setdefault(piece.field, []).append(piece.text)
    return [{"field": field, "texts": texts} for field, texts in fields.items()]


# -- the tasks -----------------------------------------------------------------------------------------------

Task = Literal["requirement", "solution", "selection"]
TASKS: tuple[Task, ...] = ("requirement", "solution", "selection")
STAGE = "answer"
"""All tasks count under this line of the ledger, so that they can be asked at once."""
#: Columns of answers.
COLUMNS = ["method", "backbone", *TOPIC, "task", "said", "error", "pieces", "context_tokens", "prompt", *spent_on(())]


def query_of(topic: BenchTopic, task: Task) -> tuple[str, Purpose]:
    """Return what a memory is asked with."""
    return (topic.query, "requirement") if task == "requirement" else (topic.requirement, "solution")


def make_task_question(
    form: PromptSettings, task: Task, topic: BenchTopic, pieces: Sequence[MemoryPiece]
) -> CheckedQuestion[str]:
    """Return the question of a task; the answer is a text, for a selection two ids with a blank between them."""
    shown: dict[str, Any] = {"blocks": group_pieces(pieces), "query": topic.query}
    read = partial(_selection, topic.numbered_candidates) if task == "selection" else read_text(task)
    if task != "requirement":
        shown["requirement"] = topic.requirement
    if task == "selection":
        shown["candidates"] = [{"id": id, "text": text} for id, text in topic.numbered_candidates.items()]
    return CheckedQuestion(f"{topic.id}: {task}", form.make_request(f"pal_{task}", **shown), read)


def _selection(known: Mapping[str, str], data: Any) -> ParsedReply[str]:
    """Return two different ids that are there; anything else is no selection."""
    ids = [id.strip().upper() for id in data["selected_solutions"]]
    if unknown := sorted(set(ids) - set(known)):
        return ParsedReply(None, (f"{', '.join(unknown)} is none of the candidates",))
    if len(set(ids)) < len(ids):
        return ParsedReply(None, (f"{ids[0]} is selected twice, expected two different solutions",))
    return ParsedReply(" ".join(ids))


def grading(form: PromptSettings, topic: BenchTopic, prediction: str) -> CheckedQuestion[float]:
    """Return the question of the G-Score's judge about a restated requirement."""

    shown = {"query": topic.query, "requirement": topic.requirement, "prediction": prediction}
    needs = [{"need": need, "evidences": []} for need in topic.needs]
    return CheckedQuestion(
        f"{topic.id}: grade",
        form.make_request("pal_grade", needs=needs, **shown),
        lambda data: ParsedReply(float(data["score"])),
    )


@dataclass(frozen=True)
class UserAnswers:
    """What a memory made of a user: the memory before each query session and at the end, answers, and what building took."""

    user: str
    method: str
    stores: tuple[Store, ...]
    rows: tuple[dict[str, Any], ...]
    build: Spent

    @property
    def failures(self) -> tuple[str, ...]:
        """What of the memory a model did not give."""
        return self.stores[-1].failed


async def build_session_stores(
    memory: LongTermMemory, person: BenchUser, ask: Ask, tasks: Sequence[Task] = ()
) -> list[Store]:
    """Return the memory during each query session, its logs heard and its dialogue not, and once all are over.

    A memory that keeps better what was recalled is told what these tasks recall.
    """
    stores = []
    store = await memory.build(person.user, person.history, ask)
    for session in person.query:
        now = session.before()
        store = await memory.add_logs(store, now, ask)
        stores.append(store)
        if strengthened := getattr(memory, "strengthen_pieces", None):
            queries = dict.fromkeys(query_of(s.topic, t) for s in person.of(session) for t in tasks)
            pieces = {p.id: p for query in queries for p in memory.recall_within_budget(store, now, *query)}
            store = strengthened(store, list(pieces.values()), session.at)
        store = await memory.add_dialogue(store, session, ask)
    return [*stores, store]


async def answer_about_user(
    memory: LongTermMemory, person: BenchUser, form: PromptSettings, ask: Ask, tasks: Sequence[Task] = TASKS
) -> UserAnswers:
    """Build the memory of a user, go through the query sessions, and ask everything about them at once."""

    async def answer_task(store: Store, session: MemorySession, topic: BenchTopic, task: Task) -> dict[str, Any]:
        async def answer(ask: Ask) -> dict[str, Any]:
            pieces = memory.recall_within_budget(store, session, *query_of(topic, task))
            question = make_task_question(form, task, topic, pieces)
            reading = await ask_one(question, ask)
            handed = {"pieces": len(pieces), "context_tokens": sum(count_tokens(piece.text) for piece in pieces)}
            about = {**handed, "prompt": question.request.prompt}
            return {**topic.key, "task": task, "said": reading.value, "error": error_of(reading), **about}

        row, spent = await run_with_costs(answer, ask, STAGE)
        return row | spent

    stores, build = await run_with_costs(partial(build_session_stores, memory, person, tasks=tasks), ask)
    every = [
        answer_task(store, session.before(), scene.topic, task)
        for store, session in zip(stores, person.query)
        for scene in person.of(session)
        for task in tasks
    ]
    return UserAnswers(person.user, memory.name, tuple(stores), tuple(await asyncio.gather(*every)), build)


def run(
    memories: Sequence[LongTermMemory],
    people: Sequence[BenchUser],
    backbone: Backbone,
    form: PromptSettings | None = None,
    *,
    tasks: Sequence[Task] = TASKS,
) -> tuple[pd.DataFrame, list[UserAnswers]]:
    """Return all tasks with all memories, and what was made of each user.

    The frame: method, backbone, user, session, topic, task, said (null where `error` says why), pieces and
    context_tokens (what the memory handed over), prompt, calls, tokens_in, tokens_cached, tokens_out, seconds, cost.
    """
    for task in tasks:
        if task not in TASKS:
            raise UnknownName("task", task, TASKS)
    form = form or PromptSettings()
    served = backbone.map(lambda pair, ask: answer_about_user(*pair, form, ask, tasks), product(memories, people))
    rows = [{"method": s.method, "backbone": backbone.name, **row} for s in served for row in s.rows]
    return pd.DataFrame(rows, columns=COLUMNS), served


def grade_answers(
    answers: pd.DataFrame, people: Sequence[BenchUser], judge: Backbone, form: PromptSettings | None = None
) -> pd.DataFrame:
    """Return the answers with `grade` (0 to 2 points) of each restated requirement, and `grade_error` where a judge
    gave none.
    """
    topics, form = topics_by_key(people), form or PromptSettings()
    due = answers[(answers["task"] == "requirement") & answers["said"].notna()]
    keys = map(tuple, due[list(TOPIC)].to_numpy())
    questions = [grading(form, topics[key], text) for key, text in zip(keys, due["said"])]
    readings = judge.map(lambda question, ask: ask_one(question, wrap_ask(ask, stage="grade")), questions)
    grades = pd.Series([reading.value for reading in readings], due.index, dtype="Float64")
    errors = pd.Series(list(map(error_of, readings)), due.index, dtype="str")
    return answers.assign(grade=grades, grade_error=errors, graded_by=judge.name)


def topics_by_key(people: Sequence[BenchUser]) -> dict[tuple[str, ...], BenchTopic]:
    """Return topics by user, session and name."""
    return {tuple(s.topic.key.values()): s.topic for p in people for s in p.scenes}
