"""Who the users are and what they live through (Mem-PAL, Section 3.1).

First profiles, what happens to people, what they need and like; then situations month by month, and their clock times.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from perslib.llm import Ask
from perslib.llm.structured.checked_questions import ParsedReply
from perslib.systems.mem_pal.loaders.palset_records import ASPECTS, TRAITS
from perslib.systems.mem_pal.synthesis.questions import (
    AnswerFault,
    UserSynthesis,
    has_text,
    read_items,
    read_items_by_id,
)
from perslib.systems.mem_pal.world.people import person
from perslib.systems.mem_pal.world.situations import draw_hours
from perslib.worlds.lives import words

BATCH = 10
"""People invented by one call; each call is given another example."""
YEAR, SPAN = 2024, (7, 12)
_FIELDS = {"occupation": "occupation", "health": "health status", "family": "family members", "hobbies": "hobbies"}
Read = Callable[[Any], Any]


@dataclass(frozen=True)
class Persona:
    """A user before anything is said: profile, months, kinds of need by id, and likings for each."""

    user: str
    profile: dict[str, Any]
    timeline: dict[str, str]
    types: dict[str, str]
    likings: dict[str, dict[str, str]]

    def list_needs(self, ids: Sequence[str] | None = None) -> list[dict[str, str]]:
        """Return kinds of need as prompts take them."""
        return [{"id": key, "text": self.types[key]} for key in (self.types if ids is None else ids)]


async def write_profiles(users: int, writing: UserSynthesis, ask: Ask) -> dict[str, dict[str, Any]]:
    """Return the profiles of this many users; all batches at once. Users whom no model gave are missing."""

    async def batch(first: int) -> dict[str, dict[str, Any]]:
        wanted = min(BATCH, users - first)
        # A person of the synthetic world, far from those that a synthetic PAL-Set of the same seed begins with.
        profile = person(900 + first // BATCH, writing.seed, writing.language).profile
        example = {key: value for key, value in profile.items() if key not in ("personality", "gender")}
        place, read = f"{first:04d} to {first + wanted - 1:04d}", _people(wanted, writing.language)
        given = await writing.write(ask, "profiles", place, read, count=wanted, example=example)
        return {f"{first + i:04d}": profile for i, profile in enumerate(given or ())}

    batches = await asyncio.gather(*map(batch, range(0, users, BATCH)))
    return {user: profile for own in batches for user, profile in own.items()}


def _people(wanted: int, language: str) -> Read:
    genders = {key.lower(): name for key, name in words(language, "palset").GENDERS.items()}

    def profile(one: Any) -> dict[str, Any]:
        if empty := [key for key in ("name", *_FIELDS) if not has_text(one[key])]:
            raise AnswerFault(f"{', '.join(empty)} is empty")
        profile = {"name": one["name"], "gender": genders[one["gender"]], "age": one["age"]}
        profile |= {name: one[key] for key, name in _FIELDS.items()}
        return {**profile, "personality": {trait: one["personality"][trait] for trait in TRAITS}}

    def read(data: Any) -> ParsedReply[list[dict[str, Any]]]:
        people, faults = read_items("people", data["people"][:wanted], profile)
        if len(data["people"]) != wanted:
            faults.append(f"{len(data['people'])} people, expected {wanted}")
        return ParsedReply(people or None, tuple(faults))

    return read


def span(user: str, writing: UserSynthesis) -> int:
    """Return how many months of a user are told, the last of them December."""
    return writing.dice(user, "span").between(*SPAN)


async def persona(user: str, profile: dict[str, Any], writing: UserSynthesis, ask: Ask) -> Persona | None:
    """Return the timeline, then kinds of need, then likings of the four aspects at once; None where one of them is
    missing.
    """
    months = [f"{YEAR}-{month:02d}" for month in range(13 - span(user, writing), 13)]
    plain = {key: value for key, value in profile.items() if key != "personality"}
    timeline = await writing.write(ask, "timeline", user, _months(months), profile=plain, months=months)
    if timeline is None:
        return None
    timeline_of = [{"month": month, "events": events} for month, events in timeline.items()]
    types = await writing.write(ask, "requirements", user, _types, profile=plain, timeline=timeline_of)
    if types is None:
        return None

    async def write_aspect(aspect: str) -> dict[str, dict[str, str]]:
        own = [{"id": key, "text": text} for key, text in types.items() if key.startswith(aspect)]
        about = {"profile": profile, "timeline": timeline_of, "types": own}
        return await writing.write(ask, "preferences", f"{user} {aspect}", _likings(own), **about) or {}

    likings = {key: both for own in await asyncio.gather(*map(write_aspect, ASPECTS)) for key, both in own.items()}
    kinds = {key: text for key, text in types.items() if key in likings}
    return Persona(user, profile, timeline, kinds, likings) if likings else None


def _months(months: list[str]) -> Read:
    def read(data: Any) -> dict[str, str]:
        given = [one["month"].strip() for one in data["months"]]
        if given != months:
            raise AnswerFault(f"the months are {', '.join(given)}, expected {', '.join(months)}")
        events_of = dict(zip(given, (one["events"] for one in data["months"])))
        if empty := [month for month, events in events_of.items() if not has_text(events)]:
            raise AnswerFault(f"{', '.join(empty)}: nothing is told")
        return events_of

    return read


def _types(data: Any) -> ParsedReply[dict[str, str]]:
    faults = []
    types: dict[str, str] = {}
    for aspect in ASPECTS:
        phrases = [phrase.strip() for phrase in data[aspect]]
        if len(set(phrases)) < len(phrases) or not has_text(*phrases):
            faults.append(f"{aspect}: phrases are empty or equal")
        types |= {f"{aspect}-{n}": phrase for n, phrase in enumerate(phrases, start=1)}
    return ParsedReply(None if faults else types, tuple(faults))


def _likings(types: list[dict[str, str]]) -> Read:
    def both(given: Any) -> dict[str, str]:
        if not has_text(given["pos"], given["neg"]):
            raise AnswerFault("a preference is empty")
        return {"pos": given["pos"], "neg": given["neg"]}

    return lambda data: read_items_by_id(data["preferences"], [one["id"] for one in types], both)


COUNT = (4, 6)
MINUTE = "%Y-%m-%d %H:%M"


@dataclass(frozen=True)
class DraftSituation:
    """Some days of a user, and the kinds of need they raise."""

    start: datetime
    end: datetime
    ids: tuple[str, ...]
    text: str

    @property
    def date(self) -> str:
        """The date of the end, by which files are keyed."""
        return f"{self.end:%Y-%m-%d}"

    def times(self) -> dict[str, str]:
        """Start and end as prompts take them."""
        return {"start": f"{self.start:{MINUTE}}", "end": f"{self.end:{MINUTE}}"}

    def make_fields(self) -> dict[str, str]:
        """Return the situation as prompts take it."""
        return {**self.times(), "situation": self.text}


async def write_situations(one: Persona, writing: UserSynthesis, ask: Ask) -> list[DraftSituation]:
    """Return month after month, each told what came before; a month that no model gave stays empty."""
    dice = writing.dice(one.user, "hours")
    drafts: list[DraftSituation] = []
    earlier: list[DraftSituation] = []
    for month, events in one.timeline.items():
        first = date.fromisoformat(f"{month}-01")
        last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
        begin = max(first, drafts[-1].end.date() + timedelta(days=1)) if drafts else first
        about = {"profile": one.profile, "types": one.list_needs(), "events": events}
        about |= {"earlier": [s.make_fields() for s in earlier], "first": str(begin), "last": str(last)}
        read = _situations(one, begin, last)
        given = await writing.write(ask, "situations", f"{one.user} {month}", read, **about)
        earlier = []
        for start, end, ids, text in given or ():
            low, high = draw_hours(dice)
            times = datetime.combine(start, time(low)), datetime.combine(end, time(high))
            earlier.append(DraftSituation(*times, ids, text))
        drafts += earlier
    return drafts


def _situations(one: Persona, begin: date, last: date) -> Read:
    def read(data: Any) -> ParsedReply[list[tuple[date, date, tuple[str, ...], str]]]:
        free = begin

        def days(given: Any) -> tuple[date, date, tuple[str, ...], str]:
            nonlocal free
            try:
                start, end = (date.fromisoformat(given[name].strip()) for name in ("start", "end"))
            except ValueError:
                raise AnswerFault(f"{given['start']} or {given['end']} is no date such as 2024-05-03") from None
            ids = tuple(key.strip() for key in given["requirement_ids"])
            if start < free:
                raise AnswerFault(f"begins on {start}, expected {free} or later")
            if not start < end <= last:
                raise AnswerFault(f"ends on {end}, expected after {start} and not after {last}")
            if unknown := [key for key in ids if key not in one.types]:
                raise AnswerFault(f"{', '.join(unknown)} is no id that was given")
            if len(set(ids)) < len(ids):
                raise AnswerFault("expected different ids")
            if not has_text(given["situation"]):
                raise AnswerFault("nothing is told")
            free = end + timedelta(days=1)
            return start, end, ids, given["situation"]

        items, faults = read_items("situations", data["situations"], days)
        if not COUNT[0] <= len(data["situations"]) <= COUNT[1]:
            faults.append(f"{len(data['situations'])} situations, expected 4 to 6")
        return ParsedReply(items or None, tuple(faults))

    return read
