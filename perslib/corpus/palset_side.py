"""The files beside PAL-Set's main one: profiles, requirement types, preferences, situations, dialogue frameworks.

All are objects keyed by user. Requirement ids are `aspect-n`; what belongs to a dialogue is keyed by the date of
its end. Requirement texts of two files may differ in the English release, so records are joined by id alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perslib.corpus import palset_records as names
from perslib.corpus.palset_records import CANDIDATES, EACH, SECOND, Fields
from perslib.corpus.reading import Intake, parse_json, unfit
from perslib.errors import DataError, Problem

Rows = list[dict[str, Any]]
Framework = ("requirement_type", "user_query", "implicit_needs", "requirement")
Verdict = ("analysis", "pos_list", "neg_list")


@dataclass
class Side:
    """What the side files say, as rows; a file that is absent leaves its rows empty."""

    profiles: dict[str, dict[str, Any]] = field(default_factory=dict)
    requirements: Rows = field(default_factory=list)
    preferences: Rows = field(default_factory=list)
    situations: Rows = field(default_factory=list)
    frameworks: Rows = field(default_factory=list)
    needs: Rows = field(default_factory=list)
    candidate_solutions: Rows = field(default_factory=list)
    solution_preferences: Rows = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    """Stems of the files that were there."""


def side_files(folder: Path, language: str) -> dict[str, Any]:
    """What the side files in a folder or below it say, by stem; English ones end in `_en`."""
    contents: dict[str, Any] = {}
    for stem in READERS:
        if file := find(folder, stem, language):
            contents[stem] = parse_json(file.read_bytes(), file.name)
            if isinstance(contents[stem], Problem):
                raise DataError(contents[stem])
    return contents


def read_side(contents: Mapping[str, Any], intake: Intake) -> Side:
    """Check what the side files say; those that are absent are counted."""
    side = Side()
    for stem, reader in READERS.items():
        if stem not in contents:
            intake.note(f"side files that are absent ({stem}.json)")
            continue
        if not isinstance(contents[stem], Mapping):
            raise DataError(Problem(f"{stem}.json", "holds no object keyed by user"))
        side.read.append(stem)
        reader(contents[stem], stem, side, intake)
    _compare(side, intake)
    return side


def find(folder: Path, stem: str, language: str) -> Path | None:
    """The file of this stem; more than one is an error, for nothing says which is meant."""
    name = f"{stem}{'_en' if language == 'en' else ''}.json"
    found = sorted(folder.rglob(name))
    if len(found) > 1:
        raise DataError(
            Problem(str(folder), f"holds {name} {len(found)} times: {', '.join(map(str, found[:3]))}"),
            "Give the folder of one release.",
        )
    return found[0] if found else None


def _leaves(
    content: Mapping[str, Any], stem: str, depth: int, intake: Intake
) -> Iterator[tuple[tuple[str, ...], Any, str]]:
    """(keys, value, place) of everything `depth` keys down."""
    todo: list[tuple[tuple[str, ...], Any]] = [((), content)]
    for _ in range(depth):
        below: list[tuple[tuple[str, ...], Any]] = []
        for keys, value in todo:
            if isinstance(value, Mapping):
                below += [((*keys, str(key)), item) for key, item in value.items()]
            else:
                intake.reject([Problem(_place(stem, keys), "expected an object")], value, sessions=0)
        todo = below
    for keys, value in todo:
        place = _place(stem, keys)
        if problems := list(unfit({"/".join(keys): value}, place)):
            intake.reject(problems, value, sessions=0)
        else:
            yield keys, value, place


def _place(stem: str, keys: tuple[str, ...]) -> str:
    return f"{stem} {'/'.join(keys)}"


def _settled(fields: Fields, value: Any) -> bool:
    """Whether a record is good; one that is not is rejected."""
    if fields.problems:
        fields.intake.reject(fields.problems, value, sessions=0)
    return not fields.problems


def _profiles(content: Mapping[str, Any], stem: str, side: Side, intake: Intake) -> None:
    for (user,), value, place in _leaves(content, stem, 1, intake):
        fields = Fields(intake)
        record = fields.record(value, place, names.BACKGROUND)
        profile: dict[str, Any] = {}
        for key in names.BACKGROUND:
            if key == "age":
                profile[key] = _age(record.get(key), place, fields)
            elif key == "personality":
                profile[key] = _personality(record.get(key), place, fields)
            else:
                profile[key] = fields.text(record, key, place)
        gender = names.gender(profile["gender"])
        if _settled(fields, value):
            changed = gender != profile["gender"]
            intake.note(f"genders written {profile['gender']!r}, read as {gender!r}", int(changed))
            side.profiles[user] = {**profile, "gender": gender}


def _age(value: Any, place: str, fields: Fields) -> int:
    if isinstance(value, str) and value.strip().isdecimal():
        fields.intake.note("ages written as text")
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        fields.problem(f"{place}.age", f"is {value!r}, expected a whole number")
        return 0
    return value


def _personality(value: Any, place: str, fields: Fields) -> dict[str, str]:
    record = fields.record(value, f"{place}.personality", names.TRAITS)
    for trait in names.TRAITS:
        if record.get(trait) not in names.LEVELS:
            fields.problem(
                f"{place}.personality.{trait}", f"is {record.get(trait)!r}, expected {names.LEVELS}"
            )
    return {trait: str(record.get(trait)) for trait in names.TRAITS}


def _named(keys: tuple[str, ...], place: str, fields: Fields) -> dict[str, str]:
    user, aspect, requirement_id = keys
    if aspect not in names.ASPECTS or requirement_id.rsplit("-", 1)[0] != aspect:
        fields.problem(place, f"expected an aspect of {names.ASPECTS} and an id of that aspect")
    return {"user": user, "aspect": aspect, "requirement_id": requirement_id}


def _requirements(content: Mapping[str, Any], stem: str, side: Side, intake: Intake) -> None:
    for keys, value, place in _leaves(content, stem, 3, intake):
        fields = Fields(intake)
        row = _named(keys, place, fields)
        text = fields.text({"requirement": value}, "requirement", place)
        if _settled(fields, value):
            side.requirements.append({**row, "requirement": text})


def _preferences(content: Mapping[str, Any], stem: str, side: Side, intake: Intake) -> None:
    for keys, value, place in _leaves(content, stem, 3, intake):
        fields = Fields(intake)
        row: dict[str, Any] = _named(keys, place, fields)
        record = fields.record(value, place, ("requirement", "preference"))
        preference = fields.record(record.get("preference"), f"{place}.preference", ("pos", "neg"))
        row["requirement"] = fields.text(record, "requirement", place)
        row |= {key: fields.text(preference, key, f"{place}.preference") for key in ("pos", "neg")}
        if _settled(fields, value):
            side.preferences.append(row)


def _situations(content: Mapping[str, Any], stem: str, side: Side, intake: Intake) -> None:
    known = ("start_timestamp", "end_timestamp", "requirement_ids", "situation")
    for (user, date), value, place in _leaves(content, stem, 2, intake):
        fields = Fields(intake)
        record = fields.record(value, place, known)
        start = fields.time(record, "start_timestamp", place, SECOND)
        end = fields.time(record, "end_timestamp", place, SECOND)
        if start and end and not (start < end and f"{end:%Y-%m-%d}" == date):
            fields.problem(
                place, f"lasts from {start} to {end}, expected an end on its date, after its start"
            )
        ids = fields.texts(record.get("requirement_ids"), f"{place}.requirement_ids")
        text = fields.text(record, "situation", place)
        if _settled(fields, value):
            row = {"user": user, "date": date, "start": start, "end": end, "requirement_ids": ids}
            side.situations.append({**row, "situation": text})


def _frameworks(content: Mapping[str, Any], stem: str, side: Side, intake: Intake) -> None:
    for (user, date, topic), value, place in _leaves(content, stem, 3, intake):
        fields = Fields(intake)
        where = {"user": user, "date": date, "topic": topic}
        record = fields.record(value, place, Framework)
        texts = {key: fields.text(record, key, place) for key in Framework if key != "implicit_needs"}
        needs: Rows = []
        for i, item in enumerate(fields.list(record.get("implicit_needs"), f"{place}.implicit_needs")):
            here = f"{place}.implicit_needs[{i}]"
            need = fields.record(item, here, ("need", "evidences"))
            row = {"number": i, "need": fields.text(need, "need", here)}
            needs.append(
                where | row | {"evidences": fields.texts(need.get("evidences"), f"{here}.evidences")}
            )
        if _settled(fields, value):
            side.frameworks.append({**where, **texts})
            side.needs += needs


def _candidates(content: Mapping[str, Any], stem: str, side: Side, intake: Intake) -> None:
    for (user, date, topic), value, place in _leaves(content, stem, 3, intake):
        fields = Fields(intake)
        texts = fields.texts(value, place)
        if _settled(fields, value):
            intake.note("records of another number of candidates than 8", int(len(texts) != CANDIDATES))
            row = {"user": user, "date": date, "topic": topic, "candidates": texts}
            side.candidate_solutions.append(row)


def _verdicts(content: Mapping[str, Any], stem: str, side: Side, intake: Intake) -> None:
    for (user, date, topic), value, place in _leaves(content, stem, 3, intake):
        fields = Fields(intake)
        record = fields.record(value, place, Verdict)
        where = {"user": user, "date": date, "topic": topic}
        where["analysis"] = fields.text(record, "analysis", place, blank=True)
        rows: Rows = []
        for feedback in ("pos", "neg"):
            items = fields.list(record.get(f"{feedback}_list"), f"{place}.{feedback}_list")
            if len(items) != EACH:
                fields.problem(f"{place}.{feedback}_list", f"holds {len(items)} solutions, expected {EACH}")
            for i, item in enumerate(items):
                here = f"{place}.{feedback}_list[{i}]"
                chosen = fields.record(item, here, ("solution", "feedback_reason"))
                solution = fields.text(chosen, "solution", here)
                reason = fields.text(chosen, "feedback_reason", here)
                rows.append({**where, "feedback": feedback, "solution": solution, "reason": reason})
        if _settled(fields, value):
            side.solution_preferences += rows


#: Stem of the file → who reads it.
READERS: dict[str, Callable[[Mapping[str, Any], str, Side, Intake], None]] = {
    "background": _profiles,
    "requirement": _requirements,
    "preference": _preferences,
    "situation": _situations,
    "requirement_framework": _frameworks,
    "candidate_solution": _candidates,
    "solution_preference": _verdicts,
}


def _compare(side: Side, intake: Intake) -> None:
    """What two files say of the same requirement."""
    texts = {(row["user"], row["requirement_id"]): row["requirement"] for row in side.requirements}
    for row in side.preferences:
        key = (row["user"], row["requirement_id"])
        if texts and key not in texts:
            intake.note("preferences for requirements that the requirement file does not have")
        elif texts and texts[key] != row["requirement"]:
            intake.note("requirements worded differently in the preference file, joined by id")
