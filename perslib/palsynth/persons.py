"""Who the users are and what they live through (Mem-PAL, Section 3.1).

First profiles, what happens to people, what they need and like; then situations month by month, their clock times,
accounts and device logs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from typing import Any

from perslib.corpus.palset_records import ASPECTS, LOG_TYPES, TRAITS
from perslib.llm import Ask
from perslib.memory.checked import Reading
from perslib.palsynth.writing import Task, Writing, by_id
from perslib.worlds.lives import Dice, words
from perslib.worlds.palset_life import person
from perslib.worlds.palset_months import draw_hours

BATCH = 10
"""People invented by one call; each call is given another example."""
YEAR, SPAN = 2024, (7, 12)
EACH = (4, 5)
_FIELDS = {
    "occupation": "occupation",
    "health": "health status",
    "family": "family members",
    "hobbies": "hobbies",
}


@dataclass(frozen=True)
class Persona:
    """A user before anything is said: profile, months, kinds of need by id, and likings for each."""

    user: str
    profile: dict[str, Any]
    timeline: dict[str, str]
    types: dict[str, str]
    likings: dict[str, dict[str, str]]

    def listed(self, ids: Sequence[str] | None = None) -> list[dict[str, str]]:
        """Kinds of need as prompts take them."""
        return [{"id": key, "text": self.types[key]} for key in (self.types if ids is None else ids)]


async def profiles(users: int, writing: Writing, ask: Ask) -> dict[str, dict[str, Any]]:
    """The profiles of this many users; all batches at once. Users whom no model gave are missing."""
    tasks = []
    for batch in range(-(-users // BATCH)):
        wanted = min(BATCH, users - batch * BATCH)
        example = _example(batch, writing)
        place = f"{batch * BATCH:04d} to {batch * BATCH + wanted - 1:04d}"
        tasks.append(writing.task("profiles", place, _people(wanted, writing), count=wanted, example=example))
    found: dict[str, dict[str, Any]] = {}
    for batch, people in enumerate(await writing.written(tasks, ask)):
        for i, profile in enumerate(people or ()):
            found[f"{batch * BATCH + i:04d}"] = profile
    return found


def _example(batch: int, writing: Writing) -> dict[str, Any]:
    """A person of the synthetic world, far from those that a synthetic PAL-Set of the same seed begins with."""
    profile = person(900 + batch, writing.seed, writing.language).profile
    return {key: value for key, value in profile.items() if key not in ("personality", "gender")}


def _people(wanted: int, writing: Writing) -> Any:
    genders = {key.lower(): name for key, name in words(writing.language, "palset").GENDERS.items()}

    def read(data: Any) -> Reading[list[dict[str, Any]]]:
        people, faults = [], []
        for i, one in enumerate(data["people"][:wanted]):
            if empty := [key for key in ("name", *_FIELDS) if not one[key].strip(" .…")]:
                faults.append(f"people[{i}]: {', '.join(empty)} is empty")
                continue
            profile = {"name": one["name"], "gender": genders[one["gender"]], "age": one["age"]}
            profile |= {name: one[key] for key, name in _FIELDS.items()}
            people.append({**profile, "personality": {trait: one["personality"][trait] for trait in TRAITS}})
        if len(data["people"]) != wanted:
            faults.append(f"{len(data['people'])} people, expected {wanted}")
        return Reading(people or None, tuple(faults))

    return read


def span(user: str, writing: Writing) -> int:
    """How many months of a user are told, the last of them December."""
    return Dice(writing.seed, writing.language, user, "span").between(*SPAN)


async def persona(user: str, profile: dict[str, Any], writing: Writing, ask: Ask) -> Persona | None:
    """Timeline, then kinds of need, then likings of the four aspects at once; None where one of them is missing."""
    first = 13 - span(user, writing)
    months = [f"{YEAR}-{month:02d}" for month in range(first, 13)]
    plain = {key: value for key, value in profile.items() if key != "personality"}
    task = writing.task("timeline", user, _months(months), profile=plain, months=months)
    (timeline,) = await writing.written([task], ask)
    if timeline is None:
        return None
    told = [{"month": month, "events": events} for month, events in timeline.items()]
    task = writing.task("requirements", user, _types, profile=plain, timeline=told)
    (types,) = await writing.written([task], ask)
    if types is None:
        return None
    by_aspect = {a: [{"id": k, "text": t} for k, t in types.items() if k.startswith(a)] for a in ASPECTS}
    tasks = [
        writing.task("preferences", f"{user} {a}", _likings(own), profile=profile, timeline=told, types=own)
        for a, own in by_aspect.items()
    ]
    likings: dict[str, dict[str, str]] = {}
    for found in await writing.written(tasks, ask):
        likings |= found or {}
    if not likings:
        return None
    return Persona(user, profile, timeline, {k: t for k, t in types.items() if k in likings}, likings)


def _months(months: list[str]) -> Any:
    def read(data: Any) -> Reading[dict[str, str]]:
        given = [one["month"].strip() for one in data["months"]]
        if given != months:
            return Reading(None, (f"the months are {', '.join(given)}, expected {', '.join(months)}",))
        told = {one["month"].strip(): one["events"] for one in data["months"]}
        if empty := [month for month, events in told.items() if not events.strip(" .…")]:
            return Reading(None, (f"{', '.join(empty)}: nothing is told",))
        return Reading(told)

    return read


def _types(data: Any) -> Reading[dict[str, str]]:
    faults = []
    types: dict[str, str] = {}
    for aspect in ASPECTS:
        phrases = [phrase.strip() for phrase in data[aspect]]
        if len(set(phrases)) < len(phrases) or not all(phrase.strip(" .…") for phrase in phrases):
            faults.append(f"{aspect}: phrases are empty or equal")
        if not EACH[0] <= len(phrases) <= EACH[1]:
            faults.append(f"{aspect}: {len(phrases)} phrases, expected 4 or 5")
        types |= {f"{aspect}-{n}": phrase for n, phrase in enumerate(phrases, start=1)}
    return Reading(None if faults else types, tuple(faults))


def _likings(types: list[dict[str, str]]) -> Any:
    def both(given: Any) -> Reading[dict[str, str]]:
        if not given["pos"].strip(" .…") or not given["neg"].strip(" .…"):
            return Reading(None, ("a preference is empty",))
        return Reading({"pos": given["pos"], "neg": given["neg"]})

    return lambda data: by_id(data["preferences"], [one["id"] for one in types], both)


COUNT, IDS = (4, 6), (1, 3)
SHORTEST = 100
"""Characters of an account."""
FEWEST_LOGS = 15
"""Entries that are enough; the prompt asks for 20."""
MINUTE = "%Y-%m-%d %H:%M"


@dataclass(frozen=True)
class Situation:
    """Some days of a user, and the kinds of need they raise."""

    start: datetime
    end: datetime
    ids: tuple[str, ...]
    text: str

    @property
    def date(self) -> str:
        """The date of the end, by which files are keyed."""
        return f"{self.end:%Y-%m-%d}"

    def shown(self) -> dict[str, str]:
        """As prompts take it."""
        return {"start": f"{self.start:{MINUTE}}", "end": f"{self.end:{MINUTE}}", "situation": self.text}


@dataclass(frozen=True)
class Entry:
    """A line of a device log, and its type, which the release does not tell."""

    at: datetime
    type: str
    content: str


async def situations(one: Persona, writing: Writing, ask: Ask) -> list[Situation]:
    """Month after month, each told what came before; a month that no model gave stays empty."""
    dice = Dice(writing.seed, writing.language, one.user, "hours")
    found: list[Situation] = []
    earlier: list[Situation] = []
    for month, events in one.timeline.items():
        first = date.fromisoformat(f"{month}-01")
        last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
        begin = max(first, found[-1].end.date() + timedelta(days=1)) if found else first
        task = writing.task(
            "situations",
            f"{one.user} {month}",
            _situations(one, begin, last),
            profile=one.profile,
            types=one.listed(),
            events=events,
            earlier=[s.shown() for s in earlier],
            first=str(begin),
            last=str(last),
        )
        (given,) = await writing.written([task], ask)
        earlier = []
        for start, end, ids, text in given or ():
            low, high = draw_hours(dice)
            times = datetime.combine(start, time(low)), datetime.combine(end, time(high))
            earlier.append(Situation(*times, ids, text))
        found += earlier
    return found


Days = tuple[date, date, tuple[str, ...], str]


def _situations(one: Persona, begin: date, last: date) -> Any:
    def read(data: Any) -> Reading[list[Days]]:
        faults: list[str] = []
        kept: list[Days] = []
        for i, given in enumerate(data["situations"]):
            problem, days = _days(given, one, kept[-1][1] + timedelta(days=1) if kept else begin, last)
            if problem or days is None:
                faults.append(f"situations[{i}]: {problem}")
            else:
                kept.append(days)
        if not COUNT[0] <= len(data["situations"]) <= COUNT[1]:
            faults.append(f"{len(data['situations'])} situations, expected 4 to 6")
        return Reading(kept or None, tuple(faults))

    return read


def _days(given: dict[str, Any], one: Persona, begin: date, last: date) -> tuple[str, Days | None]:
    """What is wrong with a situation, or its days."""
    try:
        start, end = date.fromisoformat(given["start"].strip()), date.fromisoformat(given["end"].strip())
    except ValueError:
        return f"{given['start']} or {given['end']} is no date such as 2024-05-03", None
    ids = tuple(key.strip() for key in given["requirement_ids"])
    if start < begin:
        return f"begins on {start}, expected {begin} or later", None
    if not start < end <= last:
        return f"ends on {end}, expected after {start} and not after {last}", None
    if unknown := [key for key in ids if key not in one.types]:
        return f"{', '.join(unknown)} is no id that was given", None
    if not IDS[0] <= len(set(ids)) == len(ids) <= IDS[1]:
        return "expected 1 to 3 different ids", None
    if not given["situation"].strip(" .…"):
        return "nothing is told", None
    return "", (start, end, ids, given["situation"])


async def accounts(one: Persona, told: Sequence[Situation], writing: Writing, ask: Ask) -> list[str]:
    """The account of every situation, all at once; the situation's own text where a model gives none."""
    tasks = [
        writing.task(
            "experience",
            f"{one.user} {own.date}",
            _account,
            profile=one.profile,
            earlier=[told[i - 1].shown()] if i else [],
            situation=own.text,
            start=f"{own.start:{MINUTE}}",
            end=f"{own.end:{MINUTE}}",
        )
        for i, own in enumerate(told)
    ]
    given = await writing.written(tasks, ask)
    return [account or own.text for account, own in zip(given, told, strict=True)]


def _account(data: Any) -> Reading[str]:
    text = data["experience"].strip()
    if len(text) < SHORTEST:
        return Reading(None, (f"{len(text)} characters, expected {SHORTEST} or more",))
    return Reading(text)


def logs(one: Persona, own: Situation, account: str, writing: Writing) -> Task:
    """The question for the device log of a situation; read as its entries in order."""
    return writing.task(
        "logs",
        f"{one.user} {own.date}",
        _logs(own, LOG_TYPES[writing.language]),
        profile=one.profile,
        experience=account,
        start=f"{own.start:{MINUTE}}",
        end=f"{own.end:{MINUTE}}",
    )


def _logs(own: Situation, types: Sequence[str]) -> Any:
    """Times out of order are put in order and those outside are left out, once asking again was of no use."""

    def read(data: Any) -> Reading[list[Entry]]:
        faults: list[str] = []
        entries: list[Entry] = []
        for i, entry in enumerate(data["logs"]):
            try:
                at = datetime.strptime(entry["at"].strip(), MINUTE)
            except ValueError:
                faults.append(f"logs[{i}]: {entry['at']!r} is no time such as 2024-05-03 08:15")
                continue
            if not own.start <= at <= own.end:
                faults.append(
                    f"logs[{i}]: {at:{MINUTE}} lies outside {own.start:{MINUTE}} to {own.end:{MINUTE}}"
                )
            elif entry["type"] not in types or not entry["content"].strip(" .…"):
                faults.append(f"logs[{i}]: has an unknown type or no content")
            else:
                entries.append(Entry(at, entry["type"], entry["content"].strip()))
        times = [e.at for e in entries]
        if any(after <= before for before, after in pairwise(times)):
            faults.append("the times do not increase")
        if len(entries) < FEWEST_LOGS:
            faults.append(f"{len(entries)} usable entries, expected {FEWEST_LOGS} or more")
        return Reading(sorted(entries, key=lambda e: e.at) or None, tuple(faults))

    return read
