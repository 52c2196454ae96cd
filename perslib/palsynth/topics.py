"""What the users talk about: frameworks, candidate solutions, verdicts, and dialogues in the turns of the grammar.

A user's months are chapters while they are written, and a session is a dialogue with the logs that lead up to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from perslib.corpus.palset_records import ASSISTANT_ACTIONS, USER_ACTIONS
from perslib.memory.checked import Reading
from perslib.palsynth.persons import MINUTE, Entry, Persona, Situation
from perslib.palsynth.writing import Task, Writing, by_id
from perslib.worlds.lives import Dice
from perslib.worlds.palset_months import Part, draw_plan

CANDIDATES = 8


@dataclass
class Topic:
    """One topic of a session, as far as it is written."""

    id: str
    user_query: str
    needs: list[dict[str, Any]]
    requirement: str
    solutions: list[str] = field(default_factory=list)
    verdict: dict[str, Any] = field(default_factory=dict)
    """analysis, and under pos and neg two pairs each of a place among the solutions and the reason."""

    def label(self, place: int) -> str:
        """pos, neg or neu of a solution."""
        return next((side for side in ("pos", "neg") if place in dict(self.verdict[side])), "neu")


def frameworks(one: Persona, own: Situation, account: str, writing: Writing) -> Task:
    """The question for the topics of a session; read as those that are whole."""

    def topic(given: Any) -> Reading[Topic]:
        needs = [need for need in given["needs"] if need["need"].strip(" .…")]
        said = given["user_query"].strip(" .…") and given["requirement"].strip(" .…")
        if len(needs) != 2 or not all(need["evidences"] for need in needs) or not said:
            return Reading(None, ("a field is empty, or there are not two needs with evidence",))
        return Reading(Topic(given["id"].strip(), given["user_query"], needs, given["requirement"]))

    def read(data: Any) -> Reading[list[Topic]]:
        found = by_id(data["topics"], own.ids, topic)
        return Reading(list(found.value.values()) if found.value else None, found.faults)

    return writing.task(
        "frameworks",
        f"{one.user} {own.date}",
        read,
        profile=one.profile,
        situation=own.text,
        experience=account,
        types=one.listed(own.ids),
    )


def candidates(one: Persona, own: Situation, topics: Sequence[Topic], writing: Writing) -> Task:
    """The question for eight solutions of each topic, put without any word of the user; read as {topic id: solutions}."""

    def eight(given: Any) -> Reading[list[str]]:
        solutions = list(dict.fromkeys(s.strip() for s in given["solutions"] if s.strip(" .…")))
        if len(solutions) == len(given["solutions"]) == CANDIDATES:
            return Reading(solutions)
        return Reading(None, (f"{len(solutions)} different solutions, expected {CANDIDATES}",))

    def read(data: Any) -> Reading[dict[str, list[str]]]:
        return by_id(data["topics"], [topic.id for topic in topics], eight)

    shown = [
        {
            "id": topic.id,
            "user_query": topic.user_query,
            "needs": [need["need"] for need in topic.needs],
            "requirement": topic.requirement,
        }
        for topic in topics
    ]
    return writing.task("candidates", f"{one.user} {own.date}", read, topics=shown)


def verdicts(one: Persona, own: Situation, topic: Topic, writing: Writing) -> Task:
    """The question which two solutions are liked best and which two least; read as the topic's verdict."""

    def read(data: Any) -> Reading[dict[str, Any]]:
        names = {f"S{i}": i - 1 for i in range(1, CANDIDATES + 1)}
        picked = {
            side: [(names.get(pick["id"].strip().upper()), pick["reason"]) for pick in data[side]]
            for side in ("pos", "neg")
        }
        places = [place for side in picked.values() for place, _ in side]
        if None in places or len(set(places)) != 4 or any(len(side) != 2 for side in picked.values()):
            return Reading(None, ("expected four different ids of S1 to S8, two liked and two disliked",))
        if not all(reason.strip(" .…") for side in picked.values() for _, reason in side):
            return Reading(None, ("a reason is empty",))
        return Reading({"analysis": data["analysis"], **picked})

    return writing.task(
        "verdicts",
        f"{one.user} {own.date} {topic.id}",
        read,
        profile=one.profile,
        situation=own.text,
        requirement=topic.requirement,
        likings=one.likings[topic.id],
        candidates=[{"id": f"S{i}", "text": text} for i, text in enumerate(topic.solutions, start=1)],
    )


@dataclass(frozen=True)
class Script:
    """What a dialogue is to go through, as prompts take it: its topics, and for each turn what both do and about what."""

    topics: list[dict[str, Any]] = field(default_factory=list)
    turns: list[dict[str, str]] = field(default_factory=list)


def script(one: Persona, own: Situation, topics: Sequence[Topic], part: Part, writing: Writing) -> Script:
    """The turns of a dialogue, drawn by the grammar."""
    dice = Dice(writing.seed, writing.language, one.user, own.date, "dialogue")
    shown, turns = [], []
    for n, topic in enumerate(topics, start=1):
        plan = draw_plan(part, len(topic.needs), dice)
        picks = [(side, *topic.verdict[side][i]) for side, i in plan.solutions]
        shown.append(
            {
                "id": f"T{n}",
                "user_query": topic.user_query,
                "requirement": topic.requirement,
                "needs": [
                    {"id": f"N{i}", "text": need["need"]}
                    for i, need in enumerate(topic.needs[: plan.needs], start=1)
                ],
                "solutions": [
                    {"id": f"S{i}", "text": topic.solutions[place], "feedback": side, "reason": reason}
                    for i, (side, place, reason) in enumerate(picks, start=1)
                ],
            }
        )
        for step in plan.steps():
            turns.append(
                {
                    "user": USER_ACTIONS[writing.language][step.user],
                    "user_about": f"T{n} {step.user_about}",
                    "assistant": ASSISTANT_ACTIONS[writing.language][step.assistant],
                    "assistant_about": f"T{n} {step.assistant_about}",
                }
            )
    return Script(shown, turns)


def dialogue(one: Persona, own: Situation, plan: Script, part: Part, writing: Writing) -> Task:
    """The question for the dialogue in the turns of its script; read as the release has it."""
    turns = plan.turns

    def read(data: Any) -> Reading[dict[str, Any]]:
        if [turn["turn"] for turn in data["turns"]] != list(range(1, len(turns) + 1)):
            return Reading(None, (f"expected the turns 1 to {len(turns)}, each once, in order",))
        said = {}
        for step, turn in zip(turns, data["turns"], strict=True):
            if not turn["user"].strip(" .…") or not turn["assistant"].strip(" .…"):
                return Reading(None, (f"turn {turn['turn']}: nothing is said",))
            said[f"turn_{turn['turn']}"] = {
                role: {"action": step[role], "content": turn[role].strip()} for role in ("user", "assistant")
            }
        return Reading(said)

    return writing.task(
        "dialogue",
        f"{one.user} {own.date}",
        read,
        profile=one.profile,
        situation=own.text,
        topics=plan.topics,
        turns=turns,
        knows_all=part == "query",
    )


ROLES = {"U": "user", "A": "assistant"}


@dataclass
class Chapter:
    """A situation with its log and, where one followed, its dialogue; without a dialogue, `part` is None."""

    situation: Situation
    part: Part | None
    logs: list[Entry] = field(default_factory=list)
    topics: list[Topic] = field(default_factory=list)
    script: Script = field(default_factory=Script)
    dialogue: dict[str, Any] = field(default_factory=dict)


@dataclass
class Session:
    """A dialogue and its logs while they are corrected."""

    chapters: Sequence[Chapter]

    @property
    def date(self) -> str:
        """The date of the dialogue."""
        return self.chapters[-1].situation.date

    @property
    def script(self) -> Script:
        """What the dialogue was to go through."""
        return self.chapters[-1].script

    @property
    def dialogue(self) -> dict[str, Any]:
        """The dialogue, as the release has it."""
        return self.chapters[-1].dialogue

    def logs(self) -> dict[str, Entry]:
        """The logs of all situations by id, counted from 1."""
        return {f"L{n}": e for n, e in enumerate((e for c in self.chapters for e in c.logs), start=1)}

    def turns(self) -> list[dict[str, str]]:
        """The utterances in order, as prompts take them."""
        return [
            {
                "id": f"{letter}{n}",
                "role": role,
                "action": plan[role],
                "about": plan[f"{role}_about"],
                "text": self.dialogue[f"turn_{n}"][role]["content"],
            }
            for n, plan in enumerate(self.script.turns, start=1)
            for letter, role in ROLES.items()
        ]

    def mend(self, logs: dict[str, Entry], turns: dict[str, str]) -> None:
        """Put mended logs and utterances in the place of the old ones."""
        entries = iter((self.logs() | logs).values())
        for chapter in self.chapters:
            chapter.logs = [next(entries) for _ in chapter.logs]
        for id, text in turns.items():
            self.dialogue[f"turn_{id[1:]}"][ROLES[id[0]]]["content"] = text

    def place(self, id: str) -> str:
        """Where something stands, for people."""
        if id in (logs := self.logs()):
            return f"log of {logs[id].at:{MINUTE}}"
        return f"{self.date} turn {id[1:]}, {ROLES[id[0]]}"


def sessions(chapters: Sequence[Chapter]) -> Iterator[Session]:
    """The logs after the last dialogue are in no session, and not in the release."""
    start = 0
    for end, chapter in enumerate(chapters, start=1):
        if chapter.part is not None:
            yield Session(chapters[start:end])
            start = end
