"""The records of PAL-Set: their names, one session as read, and the side files.

The names are those of Mem-PAL's Tables 7 and 8. The English release was translated by a model and not reviewed, so a
name occurs in several forms.

`Sample` in the release: `sample_id`, `dialogue_timestamp`, `logs` [{timestamp, content}], `dialogue` {turn_n: {user,
assistant: {action, content}}}, `topics` {topic-n: {user_query, implicit_needs, requirement, solution {pos, neg},
candidate_solutions [{solution, feedback}]}}.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from perslib.corpus.files.reading import ImportResult, parse_json
from perslib.corpus.files.records import read_each
from perslib.errors import DataError, Problem
from perslib.paths import read_toml
from perslib.schemas import Schema, find_unstorable, read_schema, show

Rows: TypeAlias = list[dict[str, Any]]
Keys: TypeAlias = tuple[str, ...]

ASPECTS = ("work", "health", "family", "leisure")
TRAITS = ("Openness", "Conscientiousness", "Extraversion", "Agreeableness", "Neuroticism")
PARTS = ("history", "query")
SIDES = ("pos", "neg")

NAMES = read_toml(__file__, "names.toml")["palset"]
#: What a user does with a turn, and what an assistant does: language → our name → the name in the release.
USER_ACTIONS: dict[str, dict[str, str]] = NAMES["user_actions"]
ASSISTANT_ACTIONS: dict[str, dict[str, str]] = NAMES["assistant_actions"]
#: What the profile of a user holds, in the order of the release.
BACKGROUND: list[str] = NAMES["background"]
LOG_TYPES: dict[str, list[str]] = NAMES["log_types"]
#: Stem of a side file → the names of the keys that lead to a record.
KEYS: dict[str, list[str]] = NAMES["keys"]
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", re.ASCII)
_GENDERS = {"woman": "Female", "man": "Male", "female": "Female", "male": "Male"}


def _plain(text: str) -> str:
    """Return a name without case, brackets, blanks, hyphens and underscores."""
    return re.sub(r"[\s_<>\uff1c\uff1e\u300a\u300b\-]+", "", text).casefold()


#: Role → the name of an action in the release, in either language → our name.
_PUBLISHED = {
    role: {form: name for names in actions.values() for name, form in names.items()}
    for role, actions in (("user", USER_ACTIONS), ("assistant", ASSISTANT_ACTIONS))
}
_ACTION = {role: {_plain(form): name for form, name in own.items()} for role, own in _PUBLISHED.items()}
_LABEL = {_plain(form): label for label, forms in NAMES["feedback"].items() for form in forms}


def action(role: str, text: str) -> str | None:
    """Return our name of a user's or an assistant's action:

    `<Topic_Inquiry>` → `topic_inquiry`; None if it is unknown.
    """
    return _ACTION[role].get(_plain(text))


def parse_feedback_label(text: str) -> str | None:
    """Return pos, neg or neu for a feedback in either language; None if it is unknown."""
    return _LABEL.get(_plain(text))


def gender(text: str) -> str:
    """Return Male or Female for the mixed forms of the English release; anything else as it stands."""
    return _GENDERS.get(text.strip().casefold(), text)


def _is_time(text: str) -> bool:
    try:
        return bool(time_of(text))
    except ValueError:
        return False


def time_of(text: str) -> datetime:
    """Return the time of a text such as `2024-12-01 18:00` or `2024-12-01 18:00:00`; raise ValueError if it has none."""
    text = text.strip()
    if _TIME.fullmatch(text):
        return datetime.fromisoformat(text)
    return datetime.strptime(text, "%Y-%m-%d %H:%M" if text.count(":") == 1 else "%Y-%m-%d %H:%M:%S")


def schema_of(part: str) -> Schema:
    """Return the schema of a user, of a sample or of the content of a side file, by its stem."""
    return read_schema(
        __file__, "palset.schema.toml", part, time=_is_time, feedback=lambda text: bool(parse_feedback_label(text))
    )


SAMPLE = schema_of("sample")
CANDIDATES, NEEDS, EACH = 8, 2, 2
#: What is keyed by number → the word before the number.
NUMBERED = {"dialogue": "turn", "topics": "topic"}


# -- the main file ------------------------------------------------------------------------------------------


@dataclass
class Sample:
    """A session as read; its rows lack the user and the part, which the caller knows."""

    session: str
    at: datetime
    logs: Rows
    turns: Rows
    topics: Rows


def read_sample(record: Mapping[str, Any], place: str, reading: ImportResult) -> Sample:
    """Return a sample after checking its fields."""
    if problems := _misfits(record, place):
        raise DataError(problems)
    at = time_of(record["dialogue_timestamp"])
    logs = [{"at": time_of(log["timestamp"]), "content": log["content"]} for log in record["logs"]]
    times = [log["at"] for log in logs]
    reading.note("sessions without logs", not logs)
    reading.note("sessions whose logs were out of order, sorted", times != sorted(times))
    reading.note("logs later than the dialogue of their session", sum(time > at for time in times))
    given, raised = (_list_numbered(record[part], word, reading) for part, word in NUMBERED.items())
    reading.note("sessions without a dialogue", not given)
    reading.note("sessions without topics", not raised)
    turns = [_turn(number, turn, reading) for number, turn in enumerate(given)]
    topics = [_topic(number, topic, reading) for number, topic in enumerate(raised, 1)]
    return Sample(record["sample_id"], at, sorted(logs, key=lambda log: log["at"]), turns, topics)


def _misfits(record: Mapping[str, Any], place: str) -> list[Problem]:
    """Return problems of a session whose single fields are valid."""
    problems = []
    for part in NUMBERED:
        if len(set(map(_number, record[part]))) < len(record[part]):
            problems.append(Problem(place, f"{part} has two keys of one number, expected each once"))
    for key, topic in record["topics"].items():
        labels = [parse_feedback_label(candidate["feedback"]) for candidate in topic["candidate_solutions"]]
        for side, own in topic["solution"].items():
            if side in SIDES and not len(own) == labels.count(side) == EACH:
                misfit = f"{len(own)} under 'solution', {labels.count(side)} among the candidates"
                where = f"topics.{key}.solution.{side}"
                problems.append(Problem(place, f"{where}: expected {EACH} {side} solutions, found {misfit}"))
    return problems


def _number(key: str) -> int:
    return int(re.sub("[^0-9]", "", key))


def _list_numbered(items: Mapping[str, Any], word: str, reading: ImportResult) -> list[Any]:
    """Return the entries of an object with keys `word`1, `word`2, …, in the order of their numbers."""
    numbers = [_number(key) for key in items]
    reading.note(f"sessions whose {word}s were out of order, sorted", numbers != sorted(numbers))
    is_gapless = sorted(numbers) == list(range(1, len(numbers) + 1))
    reading.note(f"sessions whose {word}s do not count from 1 without a gap", not is_gapless)
    return [items[key] for key in sorted(items, key=_number)]


def _turn(number: int, record: Mapping[str, Any], reading: ImportResult) -> dict[str, Any]:
    reading.note("turns in which the assistant stands first", list(record) == ["assistant", "user"])
    row: dict[str, Any] = {"turn": number}
    for role, column in (("user", "request"), ("assistant", "response")):
        raw, content = record[role]["action"], record[role]["content"]
        known = action(role, raw)
        if known is None:
            reading.note(f"actions of the {role} that are none of the paper's, kept as they stand")
        else:
            reading.note(f"actions of the {role} written in another way", raw not in _PUBLISHED[role])
        reading.note(f"utterances of the {role} without text", not content.strip())
        row |= {column: content, f"{role}_action": known, f"{role}_action_raw": raw}
    return row


def _topic(number: int, record: Mapping[str, Any], reading: ImportResult) -> dict[str, Any]:
    texts = tuple(candidate["solution"] for candidate in record["candidate_solutions"])
    raw = [candidate["feedback"] for candidate in record["candidate_solutions"]]
    labels = tuple(map(parse_feedback_label, raw))
    chosen = {side: tuple(record["solution"][side]) for side in SIDES}
    for side, own in chosen.items():
        among = {text for text, feedback in zip(texts, labels) if feedback == side}
        reading.note("solutions that are not word for word among the candidates", len(set(own) - among))
    reading.note("feedback labels written in another way", sum(a != b for a, b in zip(raw, labels)))
    reading.note("topics with another number of implicit needs than 2", len(record["implicit_needs"]) != NEEDS)
    reading.note("topics with another number of candidates than 8", len(texts) != CANDIDATES)
    reading.note("topics with equal candidates", len(set(texts)) < len(texts))
    row = {key: record[key] for key in ("user_query", "requirement")} | {"topic": f"topic-{number}"}
    needs = tuple(record["implicit_needs"])
    return {**row, "implicit_needs": needs, **chosen, "candidates": texts, "labels": labels}


# -- the files beside it ------------------------------------------------------------------------------------


@dataclass
class SideFiles:
    """The content of the side files, as rows by the name of their frame; an absent file has no rows."""

    profiles: dict[str, dict[str, Any]] = field(default_factory=dict)
    rows: defaultdict[str, Rows] = field(default_factory=lambda: defaultdict(list))
    read: list[str] = field(default_factory=list)
    """Stems of the files that are there."""


def side_files(folder: Path, language: str) -> dict[str, Any]:
    """Return the content of the side files in a folder or below it, by stem; names of English ones end in `_en`."""
    contents: dict[str, Any] = {}
    for stem in KEYS:
        name = f"{stem}{'_en' if language == 'en' else ''}.json"
        files = sorted(folder.rglob(name))
        if len(files) > 1:  # nothing says which is meant
            listed = ", ".join(map(str, files[:3]))
            problem = Problem(str(folder), f"holds {name} {len(files)} times: {listed}")
            raise DataError(problem, "Give the folder of one release.")
        if files:
            contents[stem] = parse_json(files[0].read_bytes(), name)
            if isinstance(contents[stem], Problem):
                raise DataError(contents[stem])
    return contents


def read_side(contents: Mapping[str, Any], reading: ImportResult) -> SideFiles:
    """Check what the side files say; those that are absent are counted.

    All are objects keyed by user. Requirement ids are `aspect-n`; what belongs to a dialogue is keyed by the date of its
    end. Requirement texts of two files may differ in the English release, so records are joined by id alone.
    """
    side = SideFiles()
    for stem in KEYS:
        if stem not in contents:
            reading.note(f"side files that are absent ({stem}.json)")
            continue
        if not isinstance(contents[stem], Mapping):
            raise DataError(Problem(f"{stem}.json", "holds no object keyed by user"))
        side.read.append(stem)
        schema = schema_of(stem)
        for keys, value in _leaves(contents[stem], len(KEYS[stem])):
            place = f"{stem} {'/'.join(keys)}"
            wrong = next(find_unstorable("/".join(keys), stem, "/".join(keys)), None)
            if not wrong and len(keys) < len(KEYS[stem]):
                wrong = Problem(place, f"is {show(value)}, expected an object")
            read_each([(place, wrong or value, value)], reading, schema, partial(_add, stem, keys, side, reading), 0)
    _compare(side, reading)
    return side


def _add(stem: str, keys: Keys, side: SideFiles, reading: ImportResult, value: Any, place: str) -> None:
    """Take in what a record of a side file says."""
    if fault := _misfit(stem, keys, value):
        raise DataError(Problem(place, fault))
    if stem == "background":
        side.profiles[keys[0]] = _profile(value, reading)
    wrong = stem == "candidate_solution" and len(value) != CANDIDATES
    reading.note("records of another number of candidates than 8", wrong)
    for frame, row in _rows(stem, value):
        side.rows[frame].append({**dict(zip(KEYS[stem], keys)), **row})


def _leaves(content: Any, depth: int, keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Yield keys and value of everything `depth` keys down, and of values on the way that are not objects."""
    if len(keys) == depth or not isinstance(content, Mapping):
        yield keys, content
        return
    for key, item in content.items():
        yield from _leaves(item, depth, (*keys, key))


def _misfit(stem: str, keys: Keys, value: Any) -> str:
    """Return what is wrong with a record whose single fields are valid; empty if nothing is."""
    if stem in ("requirement", "preference") and not (keys[1] in ASPECTS and keys[2].rsplit("-", 1)[0] == keys[1]):
        return f"expected an aspect of {', '.join(ASPECTS)} and an id of that aspect"
    if stem == "situation":
        start, end = time_of(value["start_timestamp"]), time_of(value["end_timestamp"])
        if not (start < end and f"{end:%Y-%m-%d}" == keys[1]):
            return f"lasts from {start} to {end}, expected an end on its date, after its start"
    return ""


def _profile(value: Mapping[str, Any], reading: ImportResult) -> dict[str, Any]:
    """Return what the users state about themselves, in one form."""
    gender_text, sex = value["gender"], gender(value["gender"])
    reading.note(f"genders written {gender_text!r}, read as {sex!r}", gender_text != sex)
    reading.note("ages written as text", isinstance(value["age"], str))
    traits = {trait: value["personality"][trait] for trait in TRAITS}
    background = {key: value[key] for key in BACKGROUND}
    return background | {"gender": sex, "age": int(value["age"]), "personality": traits}


def _rows(stem: str, value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield frame and row of everything in a record of a side file."""
    match stem:
        case "requirement":
            yield "requirements", {"requirement": value}
        case "preference":
            liked = {side: value["preference"][side] for side in SIDES}
            yield "preferences", {"requirement": value["requirement"], **liked}
        case "situation":
            times = {key: time_of(value[f"{key}_timestamp"]) for key in ("start", "end")}
            ids = tuple(value["requirement_ids"])
            yield "situations", {**times, "requirement_ids": ids, "situation": value["situation"]}
        case "requirement_framework":
            yield "frameworks", {key: value[key] for key in ("requirement_type", "user_query", "requirement")}
            for i, need in enumerate(value["implicit_needs"]):
                own = {"number": i, "need": need["need"], "evidences": tuple(need["evidences"])}
                yield "needs", own
        case "candidate_solution":
            yield "candidate_solutions", {"candidates": tuple(value)}
        case "solution_preference":
            for side in SIDES:
                for chosen in value[f"{side}_list"]:
                    row = {"feedback": side, "solution": chosen["solution"], "reason": chosen["feedback_reason"]}
                    yield "solution_preferences", {"analysis": value["analysis"], **row}


def _compare(side: SideFiles, reading: ImportResult) -> None:
    """Count differences between what two files state about the same requirement."""
    texts = {(row["user"], row["requirement_id"]): row["requirement"] for row in side.rows["requirements"]}
    for row in side.rows["preferences"]:
        key = (row["user"], row["requirement_id"])
        if texts and key not in texts:
            reading.note("preferences for requirements that the requirement file does not have")
        elif texts and texts[key] != row["requirement"]:
            reading.note("requirements worded differently in the preference file, joined by id")
