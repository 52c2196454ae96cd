"""LongMemEval's questions on preferences, as Mem-PAL's Table 4 asks them: dialogues only, graded by each question's rubric.

    questions = read_questions("longmemeval_s.json")                  # those of type single-session-preference
    answers = answer_questions([H2Dialogues("en"), *baselines("en")], questions, backbone, judge)
    accuracies(answers)

Every question has a haystack of dated dialogues of its own and is asked when all of them are over. The data set is not
bundled; a file is a JSON list of questions with question_id, question_type, question, answer (here: what a good answer
takes into account), question_date, haystack_session_ids, haystack_dates, and haystack_sessions, each a list of messages
with role and content.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus.files.reading import read_json, turns_of
from perslib.errors import DataError, Problem
from perslib.llm import Ask, Backbone
from perslib.llm.structured.checked_questions import CheckedQuestion, ParsedReply, read_text
from perslib.prompts import PromptSettings
from perslib.schemas import check, read_schema
from perslib.stats import wilson
from perslib.systems.mem_pal.bench.tasks import ask_one, error_of, group_pieces, run_with_costs
from perslib.systems.mem_pal.memory.long_term import Exchange, LongTermMemory, MemorySession

TYPE = "single-session-preference"
REMEDY = "Take the file as LongMemEval releases it."
_SCHEMA = read_schema(__file__, "longmemeval.schema.toml", "question")


@dataclass(frozen=True)
class MemoryQuestion:
    """A question, what a good answer takes into account, and the dialogues that came before it."""

    id: str
    at: str
    question: str
    rubric: str
    haystack: tuple[MemorySession, ...]

    @property
    def now(self) -> MemorySession:
        """The session in which it is asked."""
        return MemorySession(f"{self.id}_now", self.at)


def read_questions(path: Path | str, kind: str | None = TYPE) -> list[MemoryQuestion]:
    """Return the questions of a LongMemEval file, of one type or (None) of all; what cannot be read is named with its
    place.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(Problem(str(path), "is no file that can be read"), REMEDY)
    records = read_json(path, list, "a list of questions", REMEDY)
    problems = [p for i, record in enumerate(records) for p in _problems(f"{path.name}[{i}]", record)]
    if problems:
        raise DataError(problems, REMEDY)
    wanted = [_make_question(record) for record in records if kind in (None, record["question_type"])]
    if not wanted:
        raise DataError(Problem(path.name, f"has no question of type {kind!r}"))
    return wanted


def _problems(place: str, record: Any) -> list[Problem]:
    """Return what is wrong with a question: its fields, or how many of them there are."""
    if problems := check(record, _SCHEMA, place):
        return problems
    n = len(record["haystack_sessions"])
    return [
        Problem(place, f"{name} holds {len(given)} items, expected one for each of the {n} sessions")
        for name in ("haystack_session_ids", "haystack_dates")
        if (given := record.get(name)) and len(given) != n
    ]


def _make_question(record: dict[str, Any]) -> MemoryQuestion:
    said, id = record["haystack_sessions"], str(record["question_id"])
    ids = record.get("haystack_session_ids") or [f"{id}_{j}" for j in range(len(said))]
    dates = record.get("haystack_dates") or [""] * len(said)
    # The same dialogue may stand in a haystack twice; a memory hears every session under a name of its own.
    sessions = [
        MemorySession(f"{j:03}_{own}", _date(at), (), _turns(messages))
        for j, (own, at, messages) in enumerate(zip(ids, dates, said, strict=True))
    ]
    haystack = tuple(sorted(sessions, key=lambda session: session.at))
    at = _date(record.get("question_date") or "")
    return MemoryQuestion(id, at, str(record["question"]), str(record["answer"]), haystack)


def _turns(messages: list[dict[str, str]]) -> tuple[Exchange, ...]:
    """Return messages by turns; what only one side said leaves the other empty."""
    roles = ("assistant" if message.get("role") == "assistant" else "user" for message in messages)
    rows, waiting = turns_of([(role, m["content"], {}) for role, m in zip(roles, messages)])
    turns = [Exchange("\n".join([*row["earlier"], row["request"] or ""]), row["response"]) for row in rows]
    return (*turns, Exchange("\n".join(waiting), "")) if waiting else tuple(turns)


def _date(text: str) -> str:
    """Return `2023/05/20 (Sat) 02:21` → `2023-05-20 02:21:00`; what is no date stays as it is."""
    day, _, rest = text.partition(" ")
    found = pd.to_datetime(f"{day} {rest.rpartition(') ')[2] or rest}".strip(), errors="coerce")
    return text if pd.isna(found) else f"{found:%Y-%m-%d %H:%M:%S}"


def answer_questions(
    memories: Sequence[LongTermMemory],
    questions: Sequence[MemoryQuestion],
    backbone: Backbone,
    judge: Backbone | None = None,
    form: PromptSettings | None = None,
) -> pd.DataFrame:
    """Return one row a memory and question: method, backbone, question, said, right (null where `error` says why), and
    costs.

    The judge is shown the question, the rubric and the answer, not which memory it came from.
    """
    form, judge = form or PromptSettings(), judge or backbone
    rows = backbone.map(partial(_answer, form=form), product(memories, questions))
    due = [row for row in rows if row["said"] is not None]
    by_id = {question.id: question for question in questions}
    said = [(by_id[row["question"]], str(row["said"])) for row in due]
    for row, grade in zip(due, judge.map(partial(_grade, form=form), said), strict=True):
        row |= {"right": grade.value, "error": "; ".join(grade.faults) or None}
    frame = pd.DataFrame(rows).assign(backbone=backbone.name, judge=judge.name)
    return frame.astype({"right": "boolean"})


async def _answer(pair: tuple[LongTermMemory, MemoryQuestion], ask: Ask, form: PromptSettings) -> dict[str, Any]:
    memory, asked = pair

    async def answer(ask: Ask) -> ParsedReply[str]:
        store = await memory.build(asked.id, asked.haystack, ask)
        pieces = memory.recall_within_budget(store, asked.now, asked.question, "solution")
        request = form.make_request("pal_lme_answer", blocks=group_pieces(pieces), query=asked.question)
        return await ask_one(CheckedQuestion(f"{asked.id}: answer", request, read_text("answer")), ask)

    reading, spent = await run_with_costs(answer, ask)
    said = {"said": reading.value, "right": None, "error": error_of(reading)}
    return {"method": memory.name, "question": asked.id, **said, **spent}


async def _grade(pair: tuple[MemoryQuestion, str], ask: Ask, form: PromptSettings) -> ParsedReply[bool]:
    asked, said = pair
    request = form.make_request("pal_lme_grade", query=asked.question, rubric=asked.rubric, answer=said)
    question = CheckedQuestion(f"{asked.id}: grade", request, lambda data: ParsedReply(bool(data["right"])))
    return await ask_one(question, ask)


def accuracies(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the table 4: share of right answers in per cent, with Wilson's interval over questions; failed are counted
    apart.

    Columns: method, backbone, accuracy, accuracy_low, accuracy_high, questions, failed.
    """
    right = answers["right"].astype("Float64").astype(float)
    own = right.groupby([answers["method"], answers["backbone"]], sort=False)
    known, size = own.count(), own.size()
    low, high = wilson(own.sum(), known)
    shares = {"accuracy": 100 * own.mean(), "accuracy_low": 100 * low, "accuracy_high": 100 * high}
    return pd.DataFrame({**shares, "questions": size, "failed": size - known}).reset_index()
