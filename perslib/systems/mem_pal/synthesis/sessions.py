"""What the users' devices log and what they talk about: accounts, logs, topics, and dialogues in the turns of the grammar.

A user's months are chapters while they are written, and a session is a dialogue with the logs that lead up to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from perslib.llm import Ask
from perslib.llm.structured.checked_questions import ParsedReply
from perslib.systems.mem_pal.loaders.palset_records import ASSISTANT_ACTIONS, SIDES, USER_ACTIONS
from perslib.systems.mem_pal.synthesis.personas import MINUTE, DraftSituation, Persona, Read
from perslib.systems.mem_pal.synthesis.questions import (
    AnswerFault,
    UserSynthesis,
    has_text,
    read_items,
    read_items_by_id,
)
from perslib.systems.mem_pal.world.situations import Part, draw_steps

SHORTEST = 100
"""Characters of an account."""
FEWEST_LOGS = 15
"""Entries that are enough; the prompt asks for 20."""
CANDIDATES = 8
ROLES = {"U": "user", "A": "assistant"}


@dataclass(frozen=True)
class LogEntry:
    """A line of a device log, and its type, which the release does not tell."""

    at: datetime
    type: str
    content: str

    def make_fields(self) -> dict[str, str]:
        """Return the entry as prompts take it."""
        return {"at": f"{self.at:{MINUTE}}", "type": self.type, "text": self.content}


@dataclass(frozen=True)
class DraftTopic:
    """One topic of a session, as far as it is written."""

    id: str
    user_query: str
    needs: list[dict[str, Any]]
    requirement: str
    solutions: list[str] = field(default_factory=list)
    verdict: dict[str, Any] = field(default_factory=dict)
    """analysis, and under pos and neg two pairs each of a place among the solutions and the reason."""

    def label(self, place: int) -> str:
        """Return pos, neg or neu of a solution."""
        return next((side for side in SIDES if place in dict(self.verdict[side])), "neu")


@dataclass(frozen=True)
class Script:
    """What a dialogue is to go through, as prompts take it: its topics, and for each turn what both do and about what."""

    topics: list[dict[str, Any]] = field(default_factory=list)
    turns: list[dict[str, str]] = field(default_factory=list)


@dataclass
class SituationDraft:
    """A situation with its log and, where one followed, its dialogue; without a dialogue, `part` is None."""

    situation: DraftSituation
    part: Part | None
    logs: list[LogEntry] = field(default_factory=list)
    topics: list[DraftTopic] = field(default_factory=list)
    script: Script = field(default_factory=Script)
    dialogue: dict[str, Any] = field(default_factory=dict)


async def write_chapter(
    one: Persona,
    own: DraftSituation,
    before: Sequence[DraftSituation],
    part: Part | None,
    writing: UserSynthesis,
    ask: Ask,
) -> SituationDraft:
    """Return the account of a situation, then log and dialogue, which rest on it and not on each other.

    Where a model gives no account, the situation's own text stands for it. `before` has the situation before, if any.
    """
    made, place = SituationDraft(own, part), f"{one.user} {own.date}"
    about = {"profile": one.profile, "earlier": [situation.make_fields() for situation in before]}
    account = await writing.write(ask, "experience", place, _account, **about, **own.make_fields()) or own.text

    async def talk() -> None:
        if made.part:
            made.topics = await write_topics(one, own, account, writing, ask)
        if made.part and made.topics:
            made.script = script(one, own, made.topics, made.part, writing)
            about = {"profile": one.profile, "situation": own.text, **vars(made.script)}
            about |= {"knows_all": made.part == "query"}
            dialogue = await writing.write(ask, "dialogue", place, _dialogue(made.script), **about)
            made.dialogue = dialogue or {}
        made.part = made.part if made.dialogue else None

    about = {"profile": one.profile, "experience": account, **own.times()}
    logs, _ = await asyncio.gather(writing.write(ask, "logs", place, _logs(own), **about), talk())
    made.logs = logs or []
    return made


def _account(data: Any) -> str:
    text = str(data["experience"].strip())
    if len(text) < SHORTEST:
        raise AnswerFault(f"{len(text)} characters, expected {SHORTEST} or more")
    return text


def _logs(own: DraftSituation) -> Read:
    """Return the entries in order; once asking again was of no use, those outside the situation are left out."""

    def entry(given: Any) -> LogEntry:
        try:
            at = datetime.strptime(given["at"].strip(), MINUTE)
        except ValueError:
            raise AnswerFault(f"{given['at']!r} is no time such as 2024-05-03 08:15") from None
        if not own.start <= at <= own.end:
            raise AnswerFault(f"{at:{MINUTE}} lies outside {own.start:{MINUTE}} to {own.end:{MINUTE}}")
        if not has_text(given["content"]):
            raise AnswerFault("has no content")
        return LogEntry(at, given["type"], given["content"].strip())

    def read(data: Any) -> ParsedReply[list[LogEntry]]:
        entries, faults = read_items("logs", data["logs"], entry)
        if any(after.at <= before.at for before, after in pairwise(entries)):
            faults.append("the times do not increase")
        if len(entries) < FEWEST_LOGS:
            faults.append(f"{len(entries)} usable entries, expected {FEWEST_LOGS} or more")
        return ParsedReply(sorted(entries, key=lambda e: e.at) or None, tuple(faults))

    return read


async def write_topics(
    one: Persona, own: DraftSituation, account: str, writing: UserSynthesis, ask: Ask
) -> list[DraftTopic]:
    """Return the topics of a session: what is asked, eight solutions each, and which of them are liked best and least.

    A topic that lacks one of these is left out.
    """
    place, about = f"{one.user} {own.date}", {"profile": one.profile, "situation": own.text}
    fields = {"experience": account, "types": one.list_needs(own.ids)}
    drafts = await writing.write(ask, "frameworks", place, _frameworks(own), **about, **fields) or {}
    candidates = await write_candidates(list(drafts.values()), place, writing, ask)
    topics = [replace(drafts[key], solutions=solutions) for key, solutions in candidates.items()]

    async def verdict(topic: DraftTopic) -> dict[str, Any]:
        shown = [{"id": f"S{i}", "text": text} for i, text in enumerate(topic.solutions, start=1)]
        fields = {"requirement": topic.requirement, "likings": one.likings[topic.id], "candidates": shown}
        return await writing.write(ask, "verdicts", f"{place} {topic.id}", _verdict, **about, **fields) or {}

    verdicts = await asyncio.gather(*map(verdict, topics))
    return [replace(topic, verdict=own) for topic, own in zip(topics, verdicts, strict=True) if own]


def _frameworks(own: DraftSituation) -> Read:
    def topic(given: Any) -> DraftTopic:
        if not has_text(given["user_query"], given["requirement"], *(need["need"] for need in given["needs"])):
            raise AnswerFault("a field is empty")
        return DraftTopic(given["id"].strip(), given["user_query"], given["needs"], given["requirement"])

    return lambda data: read_items_by_id(data["topics"], own.ids, topic)


async def write_candidates(
    topics: Sequence[DraftTopic], place: str, writing: UserSynthesis, ask: Ask
) -> dict[str, list[str]]:
    """Return eight solutions of each topic, asked for without a word of the user, by the topic's id."""
    if not topics:
        return {}
    shown = [
        {"id": t.id, "user_query": t.user_query, "needs": [n["need"] for n in t.needs], "requirement": t.requirement}
        for t in topics
    ]
    return await writing.write(ask, "candidates", place, _candidates(topics), topics=shown) or {}


def _candidates(topics: Sequence[DraftTopic]) -> Read:
    def eight(given: Any) -> list[str]:
        solutions = list(dict.fromkeys(s.strip() for s in given["solutions"] if has_text(s)))
        if len(solutions) != CANDIDATES:
            raise AnswerFault(f"{len(solutions)} different solutions, expected {CANDIDATES}")
        return solutions

    return lambda data: read_items_by_id(data["topics"], [topic.id for topic in topics], eight)


def _verdict(data: Any) -> dict[str, Any]:
    names = {f"S{i}": i - 1 for i in range(1, CANDIDATES + 1)}
    sides = {side: [(names.get(p["id"].strip().upper()), p["reason"]) for p in data[side]] for side in SIDES}
    picks = [pick for side in sides.values() for pick in side]
    places = {place for place, _ in picks}
    if None in places or len(places) != 4:
        raise AnswerFault("expected four different ids of S1 to S8, two liked and two disliked")
    if not has_text(*(reason for _, reason in picks)):
        raise AnswerFault("a reason is empty")
    return {"analysis": data["analysis"], **sides}


def script(
    one: Persona, own: DraftSituation, topics: Sequence[DraftTopic], part: Part, writing: UserSynthesis
) -> Script:
    """Return the turns of a dialogue, drawn by the grammar."""
    dice = writing.dice(one.user, own.date, "dialogue")
    users, assistants = USER_ACTIONS[writing.language], ASSISTANT_ACTIONS[writing.language]
    shown, turns = [], []
    for n, topic in enumerate(topics, start=1):
        steps, proposed = draw_steps(part, len(topic.needs), dice)
        predictions = sum(step.assistant == "requirement_prediction" for step in steps)
        needs = [need["need"] for need in topic.needs[:predictions]]
        picks = [(side, *topic.verdict[side][i]) for side, i in proposed]
        solutions = [
            {"id": f"S{i}", "text": topic.solutions[place], "feedback": side, "reason": reason}
            for i, (side, place, reason) in enumerate(picks, start=1)
        ]
        about: dict[str, Any] = {"id": f"T{n}", "user_query": topic.user_query, "requirement": topic.requirement}
        about |= {"needs": [{"id": f"N{i}", "text": text} for i, text in enumerate(needs, start=1)]}
        shown.append({**about, "solutions": solutions})
        turns += [
            {
                "user": users[step.user],
                "user_about": f"T{n} {step.user_about}",
                "assistant": assistants[step.assistant],
                "assistant_about": f"T{n} {step.assistant_about}",
            }
            for step in steps
        ]
    return Script(shown, turns)


def _dialogue(plan: Script) -> Read:
    def read(data: Any) -> dict[str, Any]:
        if [turn["turn"] for turn in data["turns"]] != list(range(1, len(plan.turns) + 1)):
            raise AnswerFault(f"expected the turns 1 to {len(plan.turns)}, each once, in order")
        turns = {}
        for step, turn in zip(plan.turns, data["turns"], strict=True):
            if not has_text(turn["user"], turn["assistant"]):
                raise AnswerFault(f"turn {turn['turn']}: nothing is said")
            turns[f"turn_{turn['turn']}"] = {
                role: {"action": step[role], "content": turn[role].strip()} for role in ROLES.values()
            }
        return turns

    return read


@dataclass
class DraftSession:
    """A dialogue and its logs while they are corrected."""

    chapters: Sequence[SituationDraft]

    @property
    def last(self) -> SituationDraft:
        """The chapter that the dialogue is of."""
        return self.chapters[-1]

    @property
    def date(self) -> str:
        """The date of the dialogue."""
        return self.last.situation.date

    def logs(self) -> dict[str, LogEntry]:
        """Return the logs of all situations by id, counted from 1."""
        return {f"L{n}": e for n, e in enumerate((e for c in self.chapters for e in c.logs), start=1)}

    def turns(self) -> list[dict[str, str]]:
        """Return the utterances in order, as prompts take them."""
        return [
            {
                "id": f"{letter}{n}",
                "role": role,
                "action": plan[role],
                "about": plan[f"{role}_about"],
                "text": self.last.dialogue[f"turn_{n}"][role]["content"],
            }
            for n, plan in enumerate(self.last.script.turns, start=1)
            for letter, role in ROLES.items()
        ]

    def mend(self, words: Mapping[str, Mapping[str, str]]) -> None:
        """Put other words, and where they are given other types, in the place of the old ones."""
        logs = self.logs()
        for id, item in words.items():
            text = item["text"].strip()
            if id in logs:
                logs[id] = replace(logs[id], type=item.get("type", logs[id].type), content=text)
            else:
                self.last.dialogue[f"turn_{id[1:]}"][ROLES[id[0]]]["content"] = text
        entries = iter(logs.values())
        for chapter in self.chapters:
            chapter.logs = [next(entries) for _ in chapter.logs]

    def place(self, id: str) -> str:
        """Return where something stands, for people."""
        if id in (logs := self.logs()):
            return f"log of {logs[id].at:{MINUTE}}"
        return f"{self.date} turn {id[1:]}, {ROLES[id[0]]}"


def group_into_sessions(chapters: Sequence[SituationDraft]) -> Iterator[DraftSession]:
    """Yield the logs after the last dialogue are in no session, and not in the release."""
    start = 0
    for end, chapter in enumerate(chapters, start=1):
        if chapter.part is not None:
            yield DraftSession(chapters[start:end])
            start = end
