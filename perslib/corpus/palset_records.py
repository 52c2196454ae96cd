"""The records of PAL-Set: what they call things, how fields are taken out of them, and one session as read.

The names are those of Mem-PAL's Tables 7 and 8. The English release was translated by a model and not reviewed, so what
stands there is met in several forms.

`Sample` in the release: `sample_id`, `dialogue_timestamp`, `logs` [{timestamp, content}], `dialogue` {turn_n:
{user, assistant: {action, content}}}, `topics` {topic-n: {user_query, implicit_needs, requirement, solution
{pos, neg}, candidate_solutions [{solution, feedback}]}}.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from perslib.corpus.reading import Intake
from perslib.errors import Problem
from perslib.paths import read_toml

ASPECTS = ("work", "health", "family", "leisure")
TRAITS = ("Openness", "Conscientiousness", "Extraversion", "Agreeableness", "Neuroticism")
LEVELS = ("low", "medium", "high")
PARTS = ("history", "query")

NAMES = read_toml(__file__, "names.toml")["palset"]
#: What a user does with a turn, and what an assistant does: language → our name → the name in the release.
USER_ACTIONS: dict[str, dict[str, str]] = NAMES["user_actions"]
ASSISTANT_ACTIONS: dict[str, dict[str, str]] = NAMES["assistant_actions"]
#: What the profile of a user holds, in the order of the release.
BACKGROUND: list[str] = NAMES["background"]
LOG_TYPES: dict[str, list[str]] = NAMES["log_types"]
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


def is_as_published(action: str) -> bool:
    """Whether an action is written as the paper writes it."""
    return action in _AS_PUBLISHED


def label(text: str) -> str | None:
    """pos, neg or neu of a feedback in either language; None when it is none of them."""
    return _LABEL.get(_plain(text))


def gender(text: str) -> str:
    """Male or Female for the forms the English release mixes; anything else as it stands."""
    return _GENDERS.get(text.strip().casefold(), text)


class Fields:
    """One record, the intake that counts its oddities, and the problems found in it so far."""

    def __init__(self, intake: Intake):
        self.intake = intake
        self.problems: list[Problem] = []

    def problem(self, place: str, message: str) -> None:
        """Something that makes the record useless."""
        self.problems.append(Problem(place, message))

    def record(self, value: Any, place: str, known: Iterable[str]) -> Mapping[str, Any]:
        """The value as an object; keys that the format does not know are counted."""
        if not isinstance(value, Mapping):
            self.problem(place, f"is {_kind(value)}, expected an object")
            return {}
        for key in value.keys() - set(known):
            self.intake.note(f"keys the format does not know, left out ({key})")
        return value

    def table(self, value: Any, place: str) -> Mapping[str, Any]:
        """The value as an object whose keys are data."""
        return self.record(value, place, value if isinstance(value, Mapping) else ())

    def list(self, value: Any, place: str) -> list[Any]:
        """The value as a list."""
        if isinstance(value, list):
            return value
        self.problem(place, f"is {_kind(value)}, expected a list")
        return []

    def text(self, record: Mapping[str, Any], key: str, place: str, *, blank: bool = False) -> str:
        """A text of the record; empty only where `blank` allows it."""
        value = record.get(key)
        if not isinstance(value, str):
            found = f"is {_kind(value)}" if key in record else "is missing"
            self.problem(f"{place}.{key}", f"{found}, expected a text")
            return ""
        if not blank and not value.strip():
            self.problem(f"{place}.{key}", "is empty")
        return value

    def texts(self, value: Any, place: str) -> tuple[str, ...]:
        """A list of texts, none of them empty."""
        items = self.list(value, place)
        for i, item in enumerate(items):
            if not isinstance(item, str) or not item.strip():
                self.problem(f"{place}[{i}]", f"is {_kind(item)}, expected a text")
        return tuple(item for item in items if isinstance(item, str))

    def time(self, record: Mapping[str, Any], key: str, place: str, *forms: str) -> datetime | None:
        """A time in one of these forms."""
        text = self.text(record, key, place)
        for form in forms:
            try:
                return datetime.strptime(text.strip(), form)
            except ValueError:
                continue
        if text.strip():
            example = datetime(2024, 12, 1, 18).strftime(forms[0])
            self.problem(f"{place}.{key}", f"is {text[:40]!r}, expected a time such as {example}")
        return None


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return "an empty text" if not value.strip() else f"the text {value[:30]!r}"
    names = {"dict": "an object", "list": "a list", "bool": "true or false", "int": "a number"}
    return names.get(type(value).__name__, "a number")


SAMPLE = ("sample_id", "dialogue_timestamp", "logs", "dialogue", "topics")
TOPIC = ("user_query", "implicit_needs", "requirement", "solution", "candidate_solutions")
CANDIDATES, NEEDS, EACH = 8, 2, 2
MINUTE, SECOND = "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"


@dataclass
class Sample:
    """A session as read; rows lack the user and the part, which the caller knows."""

    session: str
    at: datetime
    logs: list[dict[str, Any]] = field(default_factory=list)
    turns: list[dict[str, Any]] = field(default_factory=list)
    topics: list[dict[str, Any]] = field(default_factory=list)


def read_sample(value: Any, place: str, fields: Fields) -> Sample | None:
    """A sample, or None when `fields.problems` say why not."""
    record = fields.record(value, place, SAMPLE)
    if fields.problems:
        return None
    session = fields.text(record, "sample_id", place)
    place = session or place
    at = fields.time(record, "dialogue_timestamp", place, SECOND, MINUTE)
    logs = _logs(record.get("logs"), place, fields)
    turns = _turns(record.get("dialogue"), place, fields)
    topics = _topics(record.get("topics"), place, fields)
    if fields.problems or at is None:
        return None
    late = sum(log["at"] > at for log in logs)
    fields.intake.note("logs later than the dialogue of their session", late)
    return Sample(session, at, logs, turns, topics)


def _logs(value: Any, place: str, fields: Fields) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for i, item in enumerate(fields.list(value, f"{place}.logs")):
        here = f"{place}.logs[{i}]"
        record = fields.record(item, here, ("timestamp", "content"))
        at = fields.time(record, "timestamp", here, MINUTE, SECOND)
        rows.append({"at": at, "content": fields.text(record, "content", here)})
    if fields.problems:
        return []
    fields.intake.note("sessions without logs", int(not rows))
    times = [row["at"] for row in rows]
    fields.intake.note("sessions whose logs were out of order, sorted", int(times != sorted(times)))
    return sorted(rows, key=lambda row: row["at"])


def _numbered(value: Any, place: str, word: str, fields: Fields) -> list[tuple[str, Any]]:
    """The entries of an object keyed `word`1, `word`2, …, in the order of their numbers."""
    found: dict[int, tuple[str, Any]] = {}
    for key, item in fields.table(value, place).items():
        match = re.fullmatch(rf"{word}[\s_-]*(\d+)", str(key).strip(), re.I)
        if not match or int(match[1]) in found:
            fields.problem(f"{place}.{key}", f"expected keys {word} with a number, each once")
            continue
        found[int(match[1])] = (str(key), item)
    if list(found) != sorted(found):
        fields.intake.note(f"sessions whose {word}s were out of order, sorted")
    if found and sorted(found) != list(range(1, len(found) + 1)):
        fields.intake.note(f"sessions whose {word}s do not count from 1 without a gap")
    return [found[n] for n in sorted(found)]


def _turns(value: Any, place: str, fields: Fields) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for key, item in _numbered(value, f"{place}.dialogue", "turn", fields):
        here = f"{place}.dialogue.{key}"
        record = fields.record(item, here, ("user", "assistant"))
        if list(record) == ["assistant", "user"]:
            fields.intake.note("turns in which the assistant stands first")
        asked = _said(record.get("user"), f"{here}.user", "user", fields)
        replied = _said(record.get("assistant"), f"{here}.assistant", "assistant", fields)
        rows.append({"turn": len(rows), **asked, **replied})
    if not fields.problems:
        fields.intake.note("sessions without a dialogue", int(not rows))
    return rows


def _said(value: Any, place: str, role: str, fields: Fields) -> dict[str, Any]:
    record = fields.record(value, place, ("action", "content"))
    raw = fields.text(record, "action", place, blank=True) if record else ""
    content = fields.text(record, "content", place, blank=True) if record else ""
    name = (user_action if role == "user" else assistant_action)(raw)
    if name is None:
        fields.intake.note(f"actions of the {role} that are none of the paper's, kept as they stand")
    elif not is_as_published(raw):
        fields.intake.note(f"actions of the {role} written in another way")
    fields.intake.note(f"utterances of the {role} without text", int(bool(record) and not content.strip()))
    text = "request" if role == "user" else "response"
    return {text: content, f"{role}_action": name, f"{role}_action_raw": raw}


def _topics(value: Any, place: str, fields: Fields) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for key, item in _numbered(value, f"{place}.topics", "topic", fields):
        here = f"{place}.topics.{key}"
        record = fields.record(item, here, TOPIC)
        needs = fields.texts(record.get("implicit_needs"), f"{here}.implicit_needs")
        fields.intake.note("topics with another number of implicit needs than 2", int(len(needs) != NEEDS))
        row = {
            "topic": f"topic-{len(rows) + 1}",
            "user_query": fields.text(record, "user_query", here),
            "implicit_needs": needs,
            "requirement": fields.text(record, "requirement", here),
            **_candidates(record, here, fields),
        }
        rows.append(row)
    if not fields.problems:
        fields.intake.note("sessions without topics", int(not rows))
    return rows


def _candidates(record: Mapping[str, Any], place: str, fields: Fields) -> dict[str, Any]:
    texts: list[str] = []
    labels: list[str] = []
    given = record.get("candidate_solutions")
    for i, item in enumerate(fields.list(given, f"{place}.candidate_solutions")):
        here = f"{place}.candidate_solutions[{i}]"
        candidate = fields.record(item, here, ("solution", "feedback"))
        texts.append(fields.text(candidate, "solution", here))
        raw = fields.text(candidate, "feedback", here)
        found = label(raw)
        if found is None and raw.strip():
            fields.problem(f"{here}.feedback", f"is {raw!r}, expected pos, neg or neu")
        fields.intake.note("feedback labels written in another way", int(found is not None and raw != found))
        labels.append(found or "neu")
    solution = fields.record(record.get("solution"), f"{place}.solution", ("pos", "neg"))
    chosen = {side: fields.texts(solution.get(side), f"{place}.solution.{side}") for side in ("pos", "neg")}
    if fields.problems:
        return {}
    for side, own in chosen.items():
        if len(own) != EACH or labels.count(side) != EACH:
            found = f"{len(own)} under 'solution', {labels.count(side)} among the candidates"
            fields.problem(f"{place}.solution.{side}", f"expected {EACH} {side} solutions, found {found}")
        among = {text for text, label in zip(texts, labels) if label == side}
        fields.intake.note("solutions that are not word for word among the candidates", len(set(own) - among))
    fields.intake.note("topics with another number of candidates than 8", int(len(texts) != CANDIDATES))
    fields.intake.note("topics with equal candidates", int(len(set(texts)) < len(texts)))
    return {**chosen, "candidates": tuple(texts), "labels": tuple(labels)}
