"""Chats that people rated, from a clone of each repository: Ji, MathConverse, SimulatorArena, HALIE's dialogues.

Ids of workers become p1, p2, …, and what follows "my name is" in a person's message is masked; both are counted. People had one
sitting each, so judges know a person's other conversations, not other scenarios.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perslib.corpus.files.reading import ImportResult, number_in, parse_json, read_literal
from perslib.corpus.files.records import Lines, csv_lines, read_unpacked
from perslib.corpus.loaders.form import Form
from perslib.corpus.loaders.rows import read_rows_of
from perslib.corpus.scale import FIVE, Scale
from perslib.corpus.store import CorpusKind
from perslib.errors import DataError, Problem
from perslib.schemas import read_schema

Record = dict[str, Any]
_NAMED = re.compile(r"(?i)\b(my name(?:'s| is)|i am called|call me) +[\w'-]+")
#: What Ji's people rated; *robotic* and *repetitive* are turned round in the release: 100 is good.
CRITERIA = ("robotic", "interesting", "fun", "consistent", "fluent", "repetitive", "topic")
#: What HALIE's people marked in a reply, beside whether they preferred it.
MARKS = ("interestingness", "boringness", "fluency", "sensibility", "specificity", "humanness")


@dataclass
class People:
    """The people of a data set under numbers, and their messages without their names."""

    reading: ImportResult
    numbers: dict[str, str] = field(default_factory=dict)

    def number(self, worker: Any) -> str:
        """Return the number of a person."""
        if (worker := str(worker)) not in self.numbers:
            self.reading.note("ids of people, replaced by numbers")
            self.numbers[worker] = f"p{len(self.numbers) + 1}"
        return self.numbers[worker]

    def mask(self, text: str) -> str:
        """Return a message without what its writer is called."""
        masked, times = _NAMED.subn(r"\1 …", text)
        self.reading.note('names after "my name is" and the like, masked', times)
        return masked

    def pair(self, requests: list[str], replies: list[str], **of_reply: list[Any]) -> list[Record]:
        """Return the messages of a chat, each reply with its own columns."""
        messages: list[Record] = []
        for i, (request, reply) in enumerate(zip(requests, replies)):
            own = {column: values[i] for column, values in of_reply.items() if i < len(values)}
            messages += [
                {"role": "user", "content": self.mask(request)},
                {"role": "assistant", "content": reply, **own},
            ]
        return messages


@dataclass(frozen=True)
class DataSet:
    """A data set of chats: its files, how they are opened, and the row of each chat."""

    form: Form
    files: tuple[str, ...]
    """How the files are called, without an ending for compression."""
    open: Callable[[list[Path]], Lines]
    make_row: Callable[[Record, str, People], Record]
    is_whole: bool = False
    """Whether all files are needed."""

    def find(self, path: Path) -> list[Path]:
        """Return the files at a path, or in a folder or clone."""
        within = sorted(path.rglob("*")) if path.is_dir() else [path]
        wanted = re.compile("|".join(rf"(?:{name})" for name in self.files))
        files = [file for file in within if file.is_file() and wanted.fullmatch(file.name.removesuffix(".gz"))]
        return [] if self.is_whole and len(files) < len(self.files) else files

    def looks_like(self, path: Path) -> bool:
        """Return whether the files are there, and their first record is as it should be."""
        if not (files := self.find(path)):
            return False
        try:
            first = next(iter(self.open(files)), None)
        except (DataError, OSError, KeyError):
            return False
        return first is not None and self.schema.validator.is_valid(first[1])

    @property
    def schema(self) -> Any:
        """The schema of a record."""
        return read_schema(__file__, "records.schema.toml", self.form.kind.replace("-", "_"))

    def read(
        self, path: Path, *, skip_bad: bool = False, name: str | None = None, evidence: str | None = None
    ) -> ImportResult:
        """Read the files; see `perslib import`."""
        form = self.form.using(evidence=evidence)
        reading = form.begin(skip_bad)
        if not (files := self.find(path)):
            raise DataError(
                Problem(str(path), f"holds nothing of {form.kind}"), f"{form.remedy} Give its clone, or the file."
            )
        reading.note("files read", len(files))
        people = People(reading)
        lines, name = self.open(files), name or form.kind
        return read_rows_of(lines, lambda own, at: [self.make_row(own, at, people)], reading, name, form, self.schema)


def _open_json(files: list[Path]) -> Lines:
    """Yield the items of JSON lists, with what the file is called."""
    for file in files:
        content = parse_json(read_unpacked(file), file.name)
        if not isinstance(content, list):
            raise DataError(content if isinstance(content, Problem) else Problem(file.name, "holds no list of records"))
        for i, own in enumerate(content):
            yield f"{file.name}[{i}]", own, own


# -- each data set -----------------------------------------------------------------------------------------------------


def _open_sittings(files: list[Path]) -> Lines:
    """Yield the chats of Ji's sittings, each with its person and the kind of sitting."""
    for place, sitting, _ in _open_json(files):
        who = next((own for name in ("WorkerId", "person") if (own := sitting.get(name))), None)
        about = {"who": who, "kind": "icebreaker" if "icebreaker" in place else "free topic"}
        for i, chat in enumerate(sitting.get("data") or ()):
            own = {**about, **chat} if isinstance(chat, Mapping) else chat
            yield f"{place} chat {i}", own, own


def _make_chat(record: Record, place: str, people: People) -> Record:
    rounds, rated = record["dialogue"], record["raw scores"]
    return {
        "user": people.number(record["who"]),
        "scenario": record["kind"],
        "session": place,
        "assistant": record["model"],
        "satisfaction": sum(rated[name] for name in CRITERIA) / len(CRITERIA),
        **{name: rated[name] for name in CRITERIA},
        "comment": record.get("feedback") or None,
        "messages": people.pair([own["user"] for own in rounds], [own["bot"] for own in rounds]),
    }


JI = DataSet(
    Form(
        "ji",
        scale=Scale(0, 100, step=0),
        session_scale=Scale(0, 100, step=0),
        evidence="conversations",
        of_session=(*CRITERIA, "comment"),
        nothing="holds no chat",
        remedy="Ji: dialogue_data/pass_….json of the repository.",
    ),
    (r"pass_.*\.json",),
    _open_sittings,
    _make_chat,
)


def _open_table(files: list[Path]) -> Lines:
    for file in files:
        yield from csv_lines(read_unpacked(file), file.name, ("uid", "human_interactions", "helpfulness_ratings"))


def _make_proof(record: Record, place: str, people: People) -> Record:
    columns = ("human_interactions", "model_responses", "helpfulness_ratings", "correctness_ratings")
    lists = {column: read_literal(record[column] or "") for column in columns}
    if wrong := [column for column, own in lists.items() if not isinstance(own, list)]:
        raise DataError(Problem(place, f"{wrong[0]} is no list"))
    requests, replies, helpful, correct = lists.values()
    order = read_literal(record.get("final_prefs") or "")
    return {
        "user": people.number(record["uid"]),
        "scenario": record.get("selected_topic") or "mathematics",
        "session": place,
        "task": (record.get("problem_name") or "").removesuffix(".html").replace("_", " ") or None,
        "assistant": record["model"],
        "final_place": order.get(record["model"]) if isinstance(order, dict) else None,
        "messages": people.pair(
            [str(own).removeprefix("User: ") for own in requests],
            [str(own).removeprefix("AI: ") for own in replies],
            score=helpful,
            correctness=correct,
        ),
    }


MATH_CONVERSE = DataSet(
    Form(
        "mathconverse",
        scale=Scale(0, 6),
        evidence="conversations",
        of_session=("final_place",),
        nothing="holds no chat",
        remedy="MathConverse: data/mathconverse_parsed_interactions.csv of the repository.",
    ),
    (r"mathconverse_parsed_interactions\.csv",),
    _open_table,
    _make_proof,
)


def _make_document(record: Record, place: str, people: People) -> Record:
    return {
        "user": people.number(record["workerId"]),
        "scenario": record.get("document_type") or "tutoring",
        "session": place,
        "task": record.get("intent"),
        "assistant": record["model"],
        "satisfaction": number_in(record["overall_interaction_rating"]),
        "document_rating": number_in(record.get("overall_document_rating")),
        **{name: record.get(name) or None for name in ("strength", "weakness", "why_stop")},
        "messages": people.pair(*([str(own) for own in record[name]] for name in ("user_queries", "ai_responses"))),
    }


SIMULATOR_ARENA = DataSet(
    Form(
        "simulator-arena",
        scale=Scale(1, 10),
        session_scale=Scale(1, 10),
        evidence="conversations",
        of_session=("document_rating", "strength", "weakness", "why_stop"),
        nothing="holds no chat",
        remedy="SimulatorArena: data/document_creation_annotations_for_benchmarking.json of the repository.",
    ),
    (r"(?:document_creation|math_tutoring)(?:_annotations.*)?\.json",),
    _open_json,
    _make_document,
)


def _open_marked(files: list[Path]) -> Lines:
    """Yield HALIE's dialogues: the turns of a session, each with what the person marked, and the rating of the whole."""
    for folder in dict.fromkeys(file.parent for file in files):
        tables = {}
        for file in (own for own in files if own.parent == folder):
            needed = (
                "session_id",
                "worker_id",
                "turn_id",
                *(["user_input"] if file.name.startswith("event") else ["quality"]),
            )
            tables[file.name.partition("_")[0]] = csv_lines(
                read_unpacked(file), str(Path(folder.name, file.name)), needed
            )
        marks: dict[tuple[str, str], Record] = {}
        for place, own, _ in tables["survey"]:
            if isinstance(own, Problem):
                yield place, own, own
            else:
                marks[own["session_id"], own["turn_id"]] = own
        sessions = defaultdict[str, list[Record]](list)
        for place, own, _ in tables["event"]:
            if isinstance(own, Problem):
                yield place, own, own
            else:
                sessions[own["session_id"]].append({**own, "marks": marks.get((own["session_id"], own["turn_id"]), {})})
        for key, turns in sessions.items():
            record = {"session_id": key, "whole": marks.get((key, "-1"), {}), "turns": turns}
            yield f"{folder.name} session {key}", record, record


def _make_dialogue(record: Record, place: str, people: People) -> Record:
    turns = sorted(record["turns"], key=lambda own: int(own["turn_id"]))
    columns: dict[str, list[Any]] = {
        name: [number_in(own["marks"].get(theirs)) for own in turns]
        for name, theirs in [("score", "preference"), *zip(MARKS, MARKS)]
    }
    return {
        "user": people.number(turns[0]["worker_id"]),
        "scenario": turns[0].get("prompt_dataset") or "dialogue",
        "session": record["session_id"],
        "task": turns[0].get("prompt"),
        "assistant": turns[0]["model"],
        "satisfaction": number_in(record["whole"].get("quality")),
        "messages": people.pair(
            [own["user_input"] or "" for own in turns], [own["model_completion"] or "" for own in turns], **columns
        ),
    }


HALIE = DataSet(
    Form(
        "halie",
        scale=Scale(0, 1),
        session_scale=FIVE,
        evidence="conversations",
        nothing="holds no dialogue",
        remedy="HALIE: data/std/dialogue of the repository; its other tasks have no replies that people rated.",
    ),
    (r"event_blocks\.csv", r"survey_responses\.csv"),
    _open_marked,
    _make_dialogue,
    is_whole=True,
)
KINDS: dict[str, CorpusKind] = {
    own.form.kind: CorpusKind(own.read, own.looks_like) for own in (JI, MATH_CONVERSE, SIMULATOR_ARENA, HALIE)
}
"""Kinds of corpora, by name."""
