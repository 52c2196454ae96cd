"""Who the users are: profiles, what happens to them, what they need, what they like (Mem-PAL, Section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from perslib.corpus.palset_names import ASPECTS, TRAITS
from perslib.corpus.synthetic.draws import Dice
from perslib.corpus.synthetic.palset_life import person, texts
from perslib.llm import Steps
from perslib.memory.checked import Reading
from perslib.palsynth.writing import Writing, by_id

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


def profiles(users: int, writing: Writing) -> Steps[dict[str, dict[str, Any]]]:
    """The profiles of this many users; all batches at once. Users whom no model gave are missing."""
    tasks = []
    for batch in range(-(-users // BATCH)):
        wanted = min(BATCH, users - batch * BATCH)
        example = _example(batch, writing)
        place = f"{batch * BATCH:04d} to {batch * BATCH + wanted - 1:04d}"
        tasks.append(writing.task("profiles", place, _people(wanted, writing), count=wanted, example=example))
    found: dict[str, dict[str, Any]] = {}
    for batch, people in enumerate((yield from writing.written(tasks))):
        for i, profile in enumerate(people or ()):
            found[f"{batch * BATCH + i:04d}"] = profile
    return found


def _example(batch: int, writing: Writing) -> dict[str, Any]:
    """A person of the synthetic world, far from those that a synthetic PAL-Set of the same seed begins with."""
    profile = person(900 + batch, writing.seed, writing.language).profile
    return {key: value for key, value in profile.items() if key not in ("personality", "gender")}


def _people(wanted: int, writing: Writing) -> Any:
    genders = {key.lower(): name for key, name in texts(writing.language).GENDERS.items()}

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


def persona(user: str, profile: dict[str, Any], writing: Writing) -> Steps[Persona | None]:
    """Timeline, then kinds of need, then likings of the four aspects at once; None where one of them is missing."""
    first = 13 - span(user, writing)
    months = [f"{YEAR}-{month:02d}" for month in range(first, 13)]
    plain = {key: value for key, value in profile.items() if key != "personality"}
    task = writing.task("timeline", user, _months(months), profile=plain, months=months)
    (timeline,) = yield from writing.written([task])
    if timeline is None:
        return None
    told = [{"month": month, "events": events} for month, events in timeline.items()]
    task = writing.task("requirements", user, _types, profile=plain, timeline=told)
    (types,) = yield from writing.written([task])
    if types is None:
        return None
    by_aspect = {a: [{"id": k, "text": t} for k, t in types.items() if k.startswith(a)] for a in ASPECTS}
    tasks = [
        writing.task("preferences", f"{user} {a}", _likings(own), profile=profile, timeline=told, types=own)
        for a, own in by_aspect.items()
    ]
    likings: dict[str, dict[str, str]] = {}
    for found in (yield from writing.written(tasks)):
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
