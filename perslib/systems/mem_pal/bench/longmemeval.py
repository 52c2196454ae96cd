"""LongMemEval's questions of all kinds, from dialogues only, graded by what each kind needs, or in one word.

    questions = read_questions("longmemeval_s.json")       # all; or read_questions(path, PREFERENCE), as Mem-PAL's Table 4
    answers = answer_questions([H2Dialogues("en"), *baselines("en")], questions, backbone, judge)
    accuracies(answers), accuracies(answers, by_kind=True), average_by_task(answers)
    write_hypotheses(answers, "hypotheses")    for the benchmark's own program

Every question has a haystack of dated dialogues of its own and is asked when all of them are over. Six kinds ask for a
fact of the user or of the assistant in one dialogue, a preference, several dialogues, the latest of changed facts, and
times; a question with `_abs` in its id cannot be answered, and to say so is right. The data set is not bundled; a file
is a JSON list of questions with question_id, question_type, question, answer (of a preference: what a good answer takes
into account), question_date, answer_session_ids, haystack_session_ids, haystack_dates, and haystack_sessions, each a list
of messages with role and content.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus.files.reading import read_json, turns_of
from perslib.errors import DataError, Problem, check_names
from perslib.llm import Ask, Backbone
from perslib.llm.structured.checked_questions import STAGE, CheckedQuestion, ParsedReply, read_text
from perslib.prompts import PromptSettings
from perslib.schemas import check, read_schema
from perslib.stats import wilson
from perslib.systems.mem_pal.bench.tasks import ask_one, error_of, group_pieces, run_with_costs
from perslib.systems.mem_pal.memory.long_term import Exchange, LongTermMemory, MemoryPiece, MemorySession

PREFERENCE = "single-session-preference"
ABSTENTION = "abstention"
#: Kinds of questions, and what an answer is graded by.
KINDS = {
    "single-session-user": "fact",
    "single-session-assistant": "fact",
    "multi-session": "fact",
    PREFERENCE: "preference",
    "knowledge-update": "update",
    "temporal-reasoning": "time",
    ABSTENTION: "abstention",
}
#: How answers are graded: with reasons and by what each kind needs, or as the benchmark's own program asks, in one word.
GRADINGS = ("by kind", "yes or no")
REMEDY = "Take the file as LongMemEval releases it."
_SCHEMA = read_schema(__file__, "longmemeval.schema.toml", "question")


@dataclass(frozen=True)
class MemoryQuestion:
    """A question, the right answer or what a good one takes into account, and the dialogues that came before it."""

    id: str
    kind: str
    """One of `KINDS`."""
    at: str
    question: str
    rubric: str
    haystack: tuple[MemorySession, ...]
    evidence: frozenset[str] = frozenset()
    """The sessions of the haystack that hold the answer; none of a question that cannot be answered."""
    task: str = ""
    """The kind that the file gives it, also where it cannot be answered."""

    @property
    def now(self) -> MemorySession:
        """The session in which it is asked."""
        return MemorySession(f"{self.id}_now", self.at)


def read_questions(path: Path | str, kind: str | None = None) -> list[MemoryQuestion]:
    """Return the questions of a LongMemEval file, of one kind or (None) of all; what cannot be read is named with its
    place.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(Problem(str(path), "is no file that can be read"), REMEDY)
    records = read_json(path, list, "a list of questions", REMEDY)
    problems = [p for i, record in enumerate(records) for p in _problems(f"{path.name}[{i}]", record)]
    if problems:
        raise DataError(problems, REMEDY)
    if kind is not None:
        check_names("kind", kind, KINDS)
    wanted = [_make_question(record) for record in records if kind in (None, _find_kind(record))]
    if not wanted:
        raise DataError(Problem(path.name, f"has no question of kind {kind!r}" if kind else "has no question"))
    return wanted


def _problems(place: str, record: Any) -> list[Problem]:
    """Return what is wrong with a question: its fields, or how many of them there are."""
    if problems := check(record, _SCHEMA, place):
        return problems
    n = len(record["haystack_sessions"])
    if record["question_type"] not in KINDS:
        known = ", ".join(kind for kind in KINDS if kind != ABSTENTION)
        return [Problem(f"{place}: question_type", f"is {record['question_type']!r}, expected one of {known}")]
    return [
        Problem(place, f"{name} holds {len(given)} items, expected one for each of the {n} sessions")
        for name in ("haystack_session_ids", "haystack_dates")
        if (given := record.get(name)) and len(given) != n
    ]


def _find_kind(record: dict[str, Any]) -> str:
    return ABSTENTION if "_abs" in str(record["question_id"]) else str(record["question_type"])


def _make_question(record: dict[str, Any]) -> MemoryQuestion:
    chats, id = record["haystack_sessions"], str(record["question_id"])
    ids = record.get("haystack_session_ids") or [f"{id}_{j}" for j in range(len(chats))]
    dates = record.get("haystack_dates") or [""] * len(chats)
    # The same dialogue may stand in a haystack twice; a memory hears every session under a name of its own.
    sessions = [
        MemorySession(f"{j:03}_{own}", _date(at), (), _turns(messages))
        for j, (own, at, messages) in enumerate(zip(ids, dates, chats, strict=True))
    ]
    haystack = tuple(sorted(sessions, key=lambda session: session.at))
    at = _date(record.get("question_date") or "")
    kind, task = _find_kind(record), str(record["question_type"])
    held = {str(one) for one in record.get("answer_session_ids") or () if kind != ABSTENTION}
    evidence = frozenset(one.id for one, own in zip(sessions, ids) if str(own) in held)
    return MemoryQuestion(id, kind, at, str(record["question"]), str(record["answer"]), haystack, evidence, task)


def _turns(messages: list[dict[str, str]]) -> tuple[Exchange, ...]:
    """Return messages by turns; what only one side said leaves the other empty."""
    roles = ("assistant" if message.get("role") == "assistant" else "user" for message in messages)
    rows, waiting = turns_of([(role, m["content"], {}) for role, m in zip(roles, messages)])
    turns = [Exchange("\n".join([*row["earlier"], row["request"] or ""]), row["response"]) for row in rows]
    return (*turns, Exchange("\n".join(waiting), "")) if waiting else tuple(turns)


def _date(text: str) -> str:
    """Return `2023/05/20 (Sat) 02:21` → `2023-05-20 02:21:00`; what is no date stays as it is."""
    day, _, rest = text.partition(" ")
    time = pd.to_datetime(f"{day} {rest.rpartition(') ')[2] or rest}".strip(), errors="coerce")
    return text if pd.isna(time) else f"{time:%Y-%m-%d %H:%M:%S}"


def answer_questions(
    memories: Sequence[LongTermMemory],
    questions: Sequence[MemoryQuestion],
    backbone: Backbone,
    judge: Backbone | None = None,
    form: PromptSettings | None = None,
    grading: str = GRADINGS[0],
) -> pd.DataFrame:
    """Return one row a memory and question: method, backbone, question, kind, task, evidence, said, is_correct (null where `error`
    says why), and costs.

    `evidence` is the share of the sessions with the answer of which the memory hands over something; null where the file
    does not name them. The judge is shown the question, the rubric and the answer, not which memory it came from.
    """
    check_names("grading", grading, GRADINGS)
    form, judge = form or PromptSettings(), judge or backbone
    grade_one = _grade if grading == GRADINGS[0] else _grade_in_a_word
    rows = backbone.map(partial(_answer, form=form), product(memories, questions))
    due = [row for row in rows if row["said"] is not None]
    by_id = {question.id: question for question in questions}
    answered = [(by_id[row["question"]], str(row["said"])) for row in due]
    for row, grade in zip(due, judge.map(partial(grade_one, form=form), answered), strict=True):
        row |= {"is_correct": grade.value, "error": "; ".join(grade.faults) or None}
    frame = pd.DataFrame(rows).assign(backbone=backbone.name, judge=judge.name)
    return frame.astype({"is_correct": "boolean", "evidence": "Float64"})


async def _answer(pair: tuple[LongTermMemory, MemoryQuestion], ask: Ask, form: PromptSettings) -> dict[str, Any]:
    memory, asked = pair

    async def answer(ask: Ask) -> ParsedReply[str]:
        store = await memory.build(asked.id, asked.haystack, ask)
        pieces = memory.recall_within_budget(store, asked.now, asked.question, "solution")
        due.extend(pieces)
        handed.update(session for piece in pieces for session in piece.sessions)
        blocks = group_pieces([_date_piece(piece, asked) for piece in pieces])
        request = form.make_request("pal_lme_answer", blocks=blocks, query=asked.question, at=asked.at)
        return await ask_one(CheckedQuestion(f"{asked.id}: answer", request, read_text("answer")), ask)

    handed: set[str] = set()
    due: list[MemoryPiece] = []
    reading, spent = await run_with_costs(answer, ask)
    about: dict[str, Any] = {"method": memory.name, "question": asked.id, "kind": asked.kind, "task": asked.task}
    about["evidence"] = None
    if asked.evidence and (handed or not due):  # pieces of others' memories name no session
        about["evidence"] = len(asked.evidence & handed) / len(asked.evidence)
    return {**about, "said": reading.value, "is_correct": None, "error": error_of(reading), **spent}


def _date_piece(piece: MemoryPiece, asked: MemoryQuestion) -> MemoryPiece:
    """Return the piece with the days of the sessions that it rests on, of three or fewer: without them no question of
    time can be answered.
    """
    days = sorted({one.at[:10] for one in asked.haystack if one.id in piece.sessions and one.at})
    if not 1 <= len(days) <= 3 or all(day in piece.text for day in days):
        return piece
    return replace(piece, text=f"[{', '.join(days)}] {piece.text}")


async def _grade(pair: tuple[MemoryQuestion, str], ask: Ask, form: PromptSettings) -> ParsedReply[bool]:
    asked, answer = pair
    fields = {"query": asked.question, "rubric": asked.rubric, "answer": answer, "by": KINDS[asked.kind]}
    request = form.make_request("pal_lme_grade", **fields)
    question = CheckedQuestion(f"{asked.id}: grade", request, lambda data: ParsedReply(bool(data["right"])))
    return await ask_one(question, ask)


async def _grade_in_a_word(pair: tuple[MemoryQuestion, str], ask: Ask, form: PromptSettings) -> ParsedReply[bool]:
    """Return whether the judge said yes, as the benchmark reads it: anything else is a no."""
    asked, answer = pair
    fields = {"query": asked.question, "rubric": asked.rubric, "answer": answer, "by": KINDS[asked.kind]}
    (given,) = await ask([form.make_request("pal_lme_yes_no", **fields)], STAGE)
    if not given.text.strip():
        return ParsedReply(None, (f"{asked.id}: grade: {given.error or 'nothing was said'}",))
    return ParsedReply("yes" in given.text.lower())


def average_by_task(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the benchmark's own numbers, in percent: accuracy over all questions, the mean of the tasks' accuracies (a question that
    cannot be answered counts for its task), and the accuracy on questions that cannot be answered.

    Columns: method, backbone, overall, by_task, abstention, questions, failed (which count as wrong here).
    """
    rows = []
    for (method, backbone), own in answers.groupby(["method", "backbone"], sort=False):
        right = own["is_correct"].fillna(False).astype(float)
        numbers = {
            "overall": right.mean(),
            "by_task": right.groupby(own["task"]).mean().mean(),
            "abstention": right[own["kind"] == ABSTENTION].mean(),
        }
        counts = {"questions": len(own), "failed": int(own["is_correct"].isna().sum())}
        rows.append({"method": method, "backbone": backbone, **{n: 100 * v for n, v in numbers.items()}, **counts})
    return pd.DataFrame(rows)


def write_hypotheses(answers: pd.DataFrame, folder: Path | str) -> list[Path]:
    """Write a file of JSON lines a method, with `question_id` and `hypothesis`, as the benchmark's own program reads them.

    An answer that failed is left empty, so that it is counted as wrong.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    paths = []
    for method, own in answers.groupby("method", sort=False):
        lines = [
            json.dumps({"question_id": row.question, "hypothesis": row.said or ""}, ensure_ascii=False) + "\n"
            for row in own.itertuples()
        ]
        paths.append(Path(folder) / f"{re.sub(r'[^0-9A-Za-z]+', '_', str(method)).strip('_').lower()}.jsonl")
        paths[-1].write_text("".join(lines), "utf-8")
    return paths


def accuracies(answers: pd.DataFrame, by_kind: bool = False) -> pd.DataFrame:
    """Return the share of right answers in per cent, with Wilson's interval over questions; failed are counted apart.

    Columns: method, backbone, kind (where asked for), accuracy, accuracy_low, accuracy_high, evidence (mean percent),
    questions, failed.
    """
    right = answers["is_correct"].astype("Float64").astype(float)
    columns = ["method", "backbone", *(["kind"] if by_kind else [])]
    keys = [answers[column] for column in columns]
    own = right.groupby(keys, sort=False)
    known, size = own.count(), own.size()
    low, high = wilson(own.sum(), known)
    shares = {"accuracy": 100 * own.mean(), "accuracy_low": 100 * low, "accuracy_high": 100 * high}
    evidence = 100 * answers["evidence"].astype(float).groupby(keys, sort=False).mean()
    return pd.DataFrame({**shares, "evidence": evidence, "questions": size, "failed": size - known}).reset_index()


def draw_questions(questions: Sequence[MemoryQuestion], limit: int, seed: int = 42) -> list[MemoryQuestion]:
    """Return so many questions (0: all), as evenly from all kinds as these allow, in their order."""
    if not 0 < limit < len(questions):
        return list(questions)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(questions))
    taken: Counter[str] = Counter()
    places = {}
    for i in order.tolist():
        kind = questions[i].kind
        places[i] = taken[kind]
        taken[kind] += 1
    drawn = sorted(order.tolist(), key=places.__getitem__)[:limit]
    return [questions[i] for i in sorted(drawn)]
