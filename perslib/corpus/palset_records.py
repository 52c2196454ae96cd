"""The records of PAL-Set: what they call things, one session as read, and the files beside the main one.

The names are those of Mem-PAL's Tables 7 and 8. The English release was translated by a model and not reviewed, so what
stands there is met in several forms.

`Sample` in the release: `sample_id`, `dialogue_timestamp`, `logs` [{timestamp, content}], `dialogue` {turn_n:
{user, assistant: {action, content}}}, `topics` {topic-n: {user_query, implicit_needs, requirement, solution
{pos, neg}, candidate_solutions [{solution, feedback}]}}.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from perslib.corpus.reading import Intake, parse_json
from perslib.errors import DataError, Problem
from perslib.paths import read_toml
from perslib.schemas import Schema, check, read_schema, show, unfit

Rows: TypeAlias = list[dict[str, Any]]
Keys: TypeAlias = tuple[str, ...]

ASPECTS = ("work", "health", "family", "leisure")
TRAITS = ("Openness", "Conscientiousness", "Extraversion", "Agreeableness", "Neuroticism")
PARTS = ("history", "query")

NAMES = read_toml(__file__, "names.toml")["palset"]
#: What a user does with a turn, and what an assistant does: language → our name → the name in the release.
USER_ACTIONS: dict[str, dict[str, str]] = NAMES["user_actions"]
ASSISTANT_ACTIONS: dict[str, dict[str, str]] = NAMES["assistant_actions"]
#: What the profile of a user holds, in the order of the release.
BACKGROUND: list[str] = NAMES["background"]
LOG_TYPES: dict[str, list[str]] = NAMES["log_types"]
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", re.ASCII)
_GENDERS = {"woman": "Female", "man": "Male", "female": "Female", "male": "Male"}


def _plain(text: str) -> str:
    """A name without case, brackets, blanks, hyphens and underscores."""
    return re.sub(r"[\s_<>\uff1c\uff1e\u300a\u300b\-]+", "", text).casefold()


def _table(actions: dict[str, dict[str, str]]) -> dict[str, str]:
    forms = [(name, form) for names in actions.values() for name, form in names.items()]
    return {_plain(form): name for name, form in forms}


_USER, _ASSISTANT = _table(USER_ACTIONS), _table(ASSISTANT_ACTIONS)
_LABEL = {_plain(form): label for label, forms in NAMES["feedback"].items() for form in forms}
_AS_PUBLISHED = {
    form
    for actions in (USER_ACTIONS, ASSISTANT_ACTIONS)
    for names in actions.values()
    for form in names.values()
}


def user_action(text: str) -> str | None:
    """Our name of what a user does: `Topic Inquiry`, `<Topic_Inquiry>` → `topic_inquiry`; None when it is none."""
    return _USER.get(_plain(text))


def assistant_action(text: str) -> str | None:
    """Our name of what an assistant does; None when it is none."""
    return _ASSISTANT.get(_plain(text))


def label(text: str) -> str | None:
    """pos, neg or neu of a feedback in either language; None when it is none of them."""
    return _LABEL.get(_plain(text))


def gender(text: str) -> str:
    """Male or Female for the forms the English release mixes; anything else as it stands."""
    return _GENDERS.get(text.strip().casefold(), text)


def _is_time(text: str) -> bool:
    try:
        return bool(time_of(text))
    except ValueError:
        return False


def time_of(text: str) -> datetime:
    """The moment that a text such as `2024-12-01 18:00` or `2024-12-01 18:00:00` says; ValueError where it is none."""
    text = text.strip()
    if _TIME.fullmatch(text):
        return datetime.fromisoformat(text)
    return datetime.strptime(text, "%Y-%m-%d %H:%M" if text.count(":") == 1 else "%Y-%m-%d %H:%M:%S")


def schema_of(part: str) -> Schema:
    """The schema of a user, of a sample or of what stands in a side file, by its stem."""
    return read_schema(
        __file__, "palset.schema.toml", part, time=_is_time, feedback=lambda text: bool(label(text))
    )


_SAMPLE = schema_of("sample")
CANDIDATES, NEEDS, EACH = 8, 2, 2


# -- the main file ------------------------------------------------------------------------------------------


@dataclass
class Sample:
    """A session as read; rows lack the user and the part, which the caller knows."""

    session: str
    at: datetime
    logs: Rows
    turns: Rows
    topics: Rows


def read_sample(record: Any, place: str, intake: Intake) -> Sample | list[Problem]:
    """A sample, or what is wrong with it."""
    problems = check(record, _SAMPLE, place, intake.unknown) or _misfits(record, place)
    if problems:
        return problems
    at = time_of(record["dialogue_timestamp"])
    logs = [{"at": time_of(log["timestamp"]), "content": log["content"]} for log in record["logs"]]
    times = [log["at"] for log in logs]
    intake.note("sessions without logs", not logs)
    intake.note("sessions whose logs were out of order, sorted", times != sorted(times))
    intake.note("logs later than the dialogue of their session", sum(time > at for time in times))
    turns = [_turn(i, said, intake) for i, said in enumerate(_numbered(record["dialogue"], "turn", intake))]
    intake.note("sessions without a dialogue", not turns)
    topics = [
        _topic(i, said, intake) for i, said in enumerate(_numbered(record["topics"], "topic", intake), 1)
    ]
    intake.note("sessions without topics", not topics)
    return Sample(record["sample_id"], at, sorted(logs, key=lambda log: log["at"]), turns, topics)


def _misfits(record: Mapping[str, Any], place: str) -> list[Problem]:
    """What is wrong with a session though each of its fields is as it should be."""
    problems = []
    for part in ("dialogue", "topics"):
        if len(set(map(_number, record[part]))) < len(record[part]):
            problems.append(Problem(place, f"{part} has two keys of one number, expected each once"))
    for key, topic in record["topics"].items():
        labels = [label(candidate["feedback"]) for candidate in topic["candidate_solutions"]]
        for side, own in topic["solution"].items():
            if side in ("pos", "neg") and not len(own) == labels.count(side) == EACH:
                found = f"{len(own)} under 'solution', {labels.count(side)} among the candidates"
                where = f"topics.{key}.solution.{side}"
                problems.append(Problem(place, f"{where}: expected {EACH} {side} solutions, found {found}"))
    return problems


def _number(key: str) -> int:
    return int(re.sub("[^0-9]", "", key))


def _numbered(items: Mapping[str, Any], word: str, intake: Intake) -> list[Any]:
    """The entries of an object keyed `word`1, `word`2, …, in the order of their numbers."""
    numbers = [_number(key) for key in items]
    intake.note(f"sessions whose {word}s were out of order, sorted", numbers != sorted(numbers))
    is_gapless = sorted(numbers) == list(range(1, len(numbers) + 1))
    intake.note(f"sessions whose {word}s do not count from 1 without a gap", not is_gapless)
    return [items[key] for key in sorted(items, key=_number)]


def _turn(number: int, said: Mapping[str, Any], intake: Intake) -> dict[str, Any]:
    intake.note("turns in which the assistant stands first", list(said) == ["assistant", "user"])
    row: dict[str, Any] = {"turn": number}
    for role, column, known in (
        ("user", "request", user_action),
        ("assistant", "response", assistant_action),
    ):
        raw, content = said[role]["action"], said[role]["content"]
        action = known(raw)
        if action is None:
            intake.note(f"actions of the {role} that are none of the paper's, kept as they stand")
        else:
            intake.note(f"actions of the {role} written in another way", raw not in _AS_PUBLISHED)
        intake.note(f"utterances of the {role} without text", not content.strip())
        row |= {column: content, f"{role}_action": action, f"{role}_action_raw": raw}
    return row


def _topic(number: int, said: Mapping[str, Any], intake: Intake) -> dict[str, Any]:
    texts = tuple(candidate["solution"] for candidate in said["candidate_solutions"])
    raw = [candidate["feedback"] for candidate in said["candidate_solutions"]]
    labels = tuple(map(label, raw))
    chosen = {side: tuple(said["solution"][side]) for side in ("pos", "neg")}
    for side, own in chosen.items():
        among = {text for text, feedback in zip(texts, labels) if feedback == side}
        intake.note("solutions that are not word for word among the candidates", len(set(own) - among))
    intake.note("feedback labels written in another way", sum(a != b for a, b in zip(raw, labels)))
    intake.note("topics with another number of implicit needs than 2", len(said["implicit_needs"]) != NEEDS)
    intake.note("topics with another number of candidates than 8", len(texts) != CANDIDATES)
    intake.note("topics with equal candidates", len(set(texts)) < len(texts))
    row = {"topic": f"topic-{number}", "user_query": said["user_query"], "requirement": said["requirement"]}
    return {
        **row,
        "implicit_needs": tuple(said["implicit_needs"]),
        **chosen,
        "candidates": texts,
        "labels": labels,
    }


# -- the files beside it ------------------------------------------------------------------------------------


@dataclass
class Side:
    """What the side files say, as rows by the name of their frame; a file that is absent leaves its rows empty."""

    profiles: dict[str, dict[str, Any]] = field(default_factory=dict)
    rows: defaultdict[str, Rows] = field(default_factory=lambda: defaultdict(list))
    read: list[str] = field(default_factory=list)
    """Stems of the files that were there."""


def side_files(folder: Path, language: str) -> dict[str, Any]:
    """What the side files in a folder or below it say, by stem; English ones end in `_en`."""
    contents: dict[str, Any] = {}
    for stem in _READERS:
        name = f"{stem}{'_en' if language == 'en' else ''}.json"
        found = sorted(folder.rglob(name))
        if len(found) > 1:  # nothing says which is meant
            listed = ", ".join(map(str, found[:3]))
            problem = Problem(str(folder), f"holds {name} {len(found)} times: {listed}")
            raise DataError(problem, "Give the folder of one release.")
        if found:
            contents[stem] = parse_json(found[0].read_bytes(), name)
            if isinstance(contents[stem], Problem):
                raise DataError(contents[stem])
    return contents


def read_side(contents: Mapping[str, Any], intake: Intake) -> Side:
    """Check what the side files say; those that are absent are counted.

    All are objects keyed by user. Requirement ids are `aspect-n`; what belongs to a dialogue is keyed by the date of its
    end. Requirement texts of two files may differ in the English release, so records are joined by id alone.
    """
    side = Side()
    for stem, (depth, take) in _READERS.items():
        if stem not in contents:
            intake.note(f"side files that are absent ({stem}.json)")
            continue
        if not isinstance(contents[stem], Mapping):
            raise DataError(Problem(f"{stem}.json", "holds no object keyed by user"))
        side.read.append(stem)
        schema = schema_of(stem)
        for keys, value in _leaves(contents[stem], depth):
            place = f"{stem} {'/'.join(keys)}"
            problems = list(unfit("/".join(keys), stem, "/".join(keys)))
            if not problems and len(keys) < depth:
                problems = [Problem(place, f"is {show(value)}, expected an object")]
            problems = problems or check(value, schema, place, intake.unknown)
            if not problems and (fault := _misfit(stem, keys, value)):
                problems = [Problem(place, fault)]
            if problems:
                intake.reject(problems, value, sessions=0)
            else:
                take(keys, value, side, intake)
    _compare(side, intake)
    return side


def _leaves(content: Any, depth: int, keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Keys and value of everything `depth` keys down, and of what is no object on the way."""
    if len(keys) == depth or not isinstance(content, Mapping):
        yield keys, content
        return
    for key, item in content.items():
        yield from _leaves(item, depth, (*keys, key))


def _misfit(stem: str, keys: Keys, value: Any) -> str:
    """What is wrong with a record though each of its fields is as it should be; empty where nothing is."""
    if stem in ("requirement", "preference") and not (
        keys[1] in ASPECTS and keys[2].rsplit("-", 1)[0] == keys[1]
    ):
        return f"expected an aspect of {', '.join(ASPECTS)} and an id of that aspect"
    if stem == "situation":
        start, end = time_of(value["start_timestamp"]), time_of(value["end_timestamp"])
        if not (start < end and f"{end:%Y-%m-%d}" == keys[1]):
            return f"lasts from {start} to {end}, expected an end on its date, after its start"
    return ""


def _profile(keys: Keys, value: dict[str, Any], side: Side, intake: Intake) -> None:
    said, sex = value["gender"], gender(value["gender"])
    intake.note(f"genders written {said!r}, read as {sex!r}", said != sex)
    intake.note("ages written as text", isinstance(value["age"], str))
    known = {key: value[key] for key in BACKGROUND}
    traits = {trait: value["personality"][trait] for trait in TRAITS}
    side.profiles[keys[0]] = {**known, "gender": sex, "age": int(value["age"]), "personality": traits}


def _requirement(keys: Keys, text: str, side: Side, intake: Intake) -> None:
    side.rows["requirements"].append({**_named(_REQUIREMENT, keys), "requirement": text})


def _preference(keys: Keys, value: dict[str, Any], side: Side, intake: Intake) -> None:
    liked = {key: value["preference"][key] for key in ("pos", "neg")}
    row = {**_named(_REQUIREMENT, keys), "requirement": value["requirement"], **liked}
    side.rows["preferences"].append(row)


def _situation(keys: Keys, value: dict[str, Any], side: Side, intake: Intake) -> None:
    times = {key: time_of(value[f"{key}_timestamp"]) for key in ("start", "end")}
    ids = tuple(value["requirement_ids"])
    row = {**_named(_TOPIC, keys), **times, "requirement_ids": ids, "situation": value["situation"]}
    side.rows["situations"].append(row)


def _framework(keys: Keys, value: dict[str, Any], side: Side, intake: Intake) -> None:
    where = _named(_TOPIC, keys)
    texts = {key: value[key] for key in ("requirement_type", "user_query", "requirement")}
    side.rows["frameworks"].append({**where, **texts})
    for i, need in enumerate(value["implicit_needs"]):
        own = {"number": i, "need": need["need"], "evidences": tuple(need["evidences"])}
        side.rows["needs"].append({**where, **own})


def _candidates(keys: Keys, texts: list[str], side: Side, intake: Intake) -> None:
    intake.note("records of another number of candidates than 8", len(texts) != CANDIDATES)
    side.rows["candidate_solutions"].append({**_named(_TOPIC, keys), "candidates": tuple(texts)})


def _verdict(keys: Keys, value: dict[str, Any], side: Side, intake: Intake) -> None:
    where = {**_named(_TOPIC, keys), "analysis": value["analysis"]}
    for feedback in ("pos", "neg"):
        for chosen in value[f"{feedback}_list"]:
            own = {"solution": chosen["solution"], "reason": chosen["feedback_reason"]}
            side.rows["solution_preferences"].append({**where, "feedback": feedback, **own})


_REQUIREMENT, _TOPIC = ("user", "aspect", "requirement_id"), ("user", "date", "topic")


def _named(names: Keys, keys: Keys) -> dict[str, Any]:
    return dict(zip(names, keys))


#: Stem of the file → how many keys lead to a record, and who takes one.
_READERS: dict[str, tuple[int, Callable[[Keys, Any, Side, Intake], None]]] = {
    "background": (1, _profile),
    "requirement": (3, _requirement),
    "preference": (3, _preference),
    "situation": (2, _situation),
    "requirement_framework": (3, _framework),
    "candidate_solution": (3, _candidates),
    "solution_preference": (3, _verdict),
}


def _compare(side: Side, intake: Intake) -> None:
    """What two files say of the same requirement."""
    texts = {(row["user"], row["requirement_id"]): row["requirement"] for row in side.rows["requirements"]}
    for row in side.rows["preferences"]:
        key = (row["user"], row["requirement_id"])
        if texts and key not in texts:
            intake.note("preferences for requirements that the requirement file does not have")
        elif texts and texts[key] != row["requirement"]:
            intake.note("requirements worded differently in the preference file, joined by id")
