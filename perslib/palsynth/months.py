"""What the users live through: situations month by month, their clock times, accounts and device logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from typing import Any

from perslib.corpus.palset_names import LOG_TYPES
from perslib.corpus.synthetic.draws import Dice
from perslib.corpus.synthetic.palset_grammar import draw_hours
from perslib.llm import Steps
from perslib.memory.checked import Reading
from perslib.palsynth.persons import Persona
from perslib.palsynth.writing import Task, Writing

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


def situations(one: Persona, writing: Writing) -> Steps[list[Situation]]:
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
        (given,) = yield from writing.written([task])
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


def accounts(one: Persona, told: Sequence[Situation], writing: Writing) -> Steps[list[str]]:
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
    given = yield from writing.written(tasks)
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
