"""The whole synthesis: all users side by side, their files together, and what was rejected on the way.

One user goes from profile to files in fixed steps; every step's questions of a user are asked together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus import Corpus
from perslib.errors import DataError, Problem
from perslib.llm import Ask, Backbone
from perslib.paths import write_csv
from perslib.systems.mem_pal.loaders.palset import FOLDERS, read_contents, write_release
from perslib.systems.mem_pal.loaders.palset_records import ASPECTS, SIDES
from perslib.systems.mem_pal.synthesis.correction import correct
from perslib.systems.mem_pal.synthesis.personas import MINUTE, Persona, persona, write_profiles, write_situations
from perslib.systems.mem_pal.synthesis.questions import UserSynthesis
from perslib.systems.mem_pal.synthesis.sessions import DraftTopic, SituationDraft, group_into_sessions, write_chapter
from perslib.systems.mem_pal.world.situations import QUERY_MONTH, draw_parts

Files = dict[str, Any]
#: Files that say something of a dialogue's date.
_BY_DATE = ("situation", "requirement_framework", "candidate_solution", "solution_preference")
_SECOND = "%Y-%m-%d %H:%M:%S"


async def user_files(user: str, profile: dict[str, Any], writing: UserSynthesis, ask: Ask) -> Files:
    """Return what every file of the release says of one user, by stem; empty where a step failed that all others need."""
    one = await persona(user, profile, writing, ask)
    if one is None:
        writing.reject("user", user, ["left out: there is no timeline, requirement or preference"])
        return {}
    situations = await write_situations(one, writing, ask)
    if not any(own.end.month == QUERY_MONTH for own in situations):
        writing.reject("user", user, ["left out: nothing was told of December, the month of the query set"])
        return {}
    parts = draw_parts([own.end.month for own in situations], writing.dice(user, "parts"))
    chapters = await asyncio.gather(
        *(
            write_chapter(one, own, situations[i - 1 : i] if i else [], parts[i], writing, ask)
            for i, own in enumerate(situations)
        )
    )
    await asyncio.gather(*(correct(one, session, writing, ask) for session in group_into_sessions(chapters)))
    files = _files(one, chapters)
    if not files["input"]["query"]:
        writing.reject("user", user, ["left out: no dialogue of December was written"])
        return {}
    return files


def _files(one: Persona, chapters: Sequence[SituationDraft]) -> Files:
    by_aspect = {a: {k: text for k, text in one.types.items() if k.startswith(a)} for a in ASPECTS}
    likings = {
        aspect: {key: {"requirement": text, "preference": one.likings[key]} for key, text in own.items()}
        for aspect, own in by_aspect.items()
    }
    parts: dict[str, list[dict[str, Any]]] = {"history": [], "query": []}
    contents: dict[str, dict[str, Any]] = {stem: {} for stem in _BY_DATE}
    waiting: list[dict[str, str]] = []
    for chapter in chapters:
        own, is_held = chapter.situation, chapter.part is not None
        contents["situation"][own.date] = {
            "start_timestamp": f"{own.start:{_SECOND}}",
            "end_timestamp": f"{own.end:{_SECOND}}",
            # The topic's number is the place of its requirement, so a topic that failed takes its id along.
            "requirement_ids": [topic.id for topic in chapter.topics] if is_held else list(own.ids),
            "situation": own.text,
        }
        waiting += [{"timestamp": f"{e.at:{MINUTE}}", "content": e.content} for e in chapter.logs]
        if chapter.part is None:
            continue
        topics = {f"topic-{n}": topic for n, topic in enumerate(chapter.topics, start=1)}
        sample = {
            "sample_id": f"{one.user}_sample{sum(map(len, parts.values()))}",
            "dialogue_timestamp": f"{own.end:{_SECOND}}",
            "logs": waiting,
            "dialogue": chapter.dialogue,
            "topics": {key: _make_record(topic) for key, topic in topics.items()},
        }
        parts[chapter.part].append(sample)
        waiting = []
        contents["requirement_framework"][own.date] = {k: _framework(t, one) for k, t in topics.items()}
        contents["candidate_solution"][own.date] = {k: t.solutions for k, t in topics.items()}
        contents["solution_preference"][own.date] = {k: _verdict(t) for k, t in topics.items()}
    return {"background": one.profile, "requirement": by_aspect, "preference": likings, **contents, "input": parts}


def _make_record(topic: DraftTopic) -> dict[str, Any]:
    labels = [{"solution": text, "feedback": topic.label(i)} for i, text in enumerate(topic.solutions)]
    return {
        "user_query": topic.user_query,
        "implicit_needs": [need["need"] for need in topic.needs],
        "requirement": topic.requirement,
        "solution": {s: [topic.solutions[place] for place, _ in topic.verdict[s]] for s in SIDES},
        "candidate_solutions": labels,
    }


def _framework(topic: DraftTopic, one: Persona) -> dict[str, Any]:
    framework = {"user_query": topic.user_query, "implicit_needs": topic.needs, "requirement": topic.requirement}
    return {"requirement_type": one.types[topic.id], **framework}


def _verdict(topic: DraftTopic) -> dict[str, Any]:
    def reasons(side: str) -> list[dict[str, str]]:
        return [{"solution": topic.solutions[i], "feedback_reason": why} for i, why in topic.verdict[side]]

    return {"analysis": topic.verdict["analysis"], **{f"{side}_list": reasons(side) for side in SIDES}}


@dataclass(frozen=True)
class Synthesis:
    """The files of a PAL-Set by their stems, and everything that did not pass its checks."""

    language: str
    files: dict[str, dict[str, Any]]
    rejected: pd.DataFrame
    """One row each: step, place, reason, and whether a part was kept."""
    model: str

    def corpus(self, name: str | None = None) -> Corpus:
        """Return the set as a corpus."""
        others = {stem: content for stem, content in self.files.items() if stem != "input"}
        reading = read_contents(self.files["input"], others, self.language, name or f"palset-{self.model}")
        return reading.corpus

    def write(self, folder: str | Path) -> Path:
        """Write the files as the release lays them out, and `rejected.csv` beside them."""
        written = write_release(folder, self.files, self.language)
        write_csv(self.rejected, written / "rejected.csv")
        return written


def synthesize(
    model: Backbone,
    users: int = 2,
    language: str = "zh",
    *,
    seed: int = 42,
    check: bool = True,
    progress: bool = True,
    cap: float | None = None,
) -> Synthesis:
    """Write a PAL-Set with a model. `cap` stops the run at a cost; the same call goes on from the answer cache.

    With `check` a model looks every session through for what contradicts the person, logs of the wrong type and turns
    that do not do their action; without it only what can be seen without a model is mended.
    The first users do not depend on how many follow, as long as whole tens of profiles are asked for.
    """
    if users < 1:
        raise DataError(Problem("users", f"is {users}, expected 1 or more"))
    writing = partial(UserSynthesis, language, seed, check)
    first = writing()
    (people,) = model.work([partial(write_profiles, users, first)], progress=progress, cap=cap)
    every = {user: writing() for user in people}
    methods = [partial(user_files, user, people[user], own) for user, own in every.items()]
    given = dict(zip(people, model.work(methods, progress=progress, cap=cap), strict=True))
    files: dict[str, dict[str, Any]] = {stem: {} for stem in ("input", *FOLDERS)}
    for user, own in given.items():
        for stem, content in own.items():
            files[stem][user] = content
    missing = [f"{n:04d}" for n in range(users) if f"{n:04d}" not in people]
    first.reject("user", "profiles", [f"{user} left out: there is no profile" for user in missing])
    # In the order of places: answers come in any order.
    rejects = [
        one for own in (first, *every.values()) for one in sorted(own.rejected, key=lambda r: (r[0] == "user", r[1]))
    ]
    rejected = pd.DataFrame(rejects, columns=["step", "place", "reason", "kept"])
    return Synthesis(language, files, rejected, model.name)
