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
from perslib.palsynth.writing import Fault, Task, Writing, by_id, is_said
from perslib.worlds.lives import Dice
from perslib.worlds.palset_months import Part, draw_steps

CANDIDATES = 8
SIDES = ("pos", "neg")
ROLES = {"U": "user", "A": "assistant"}


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
        return next((side for side in SIDES if place in dict(self.verdict[side])), "neu")


def frameworks(one: Persona, own: Situation, account: str, writing: Writing) -> Task:
    """The question for the topics of a session; read as {id: topic} of those that are whole."""

    def topic(given: Any) -> Topic:
        needs = [need for need in given["needs"] if is_said(need["need"])]
        is_whole = len(needs) == 2 and all(need["evidences"] for need in needs)
        if not is_whole or not is_said(given["user_query"], given["requirement"]):
            raise Fault("a field is empty, or there are not two needs with evidence")
        return Topic(given["id"].strip(), given["user_query"], needs, given["requirement"])

    def read(data: Any) -> Reading[dict[str, Topic]]:
        return by_id(data["topics"], own.ids, topic)

    about = {"profile": one.profile, "situation": own.text, "types": one.listed(own.ids)}
    return writing.task("frameworks", f"{one.user} {own.date}", read, experience=account, **about)


def candidates(one: Persona, own: Situation, topics: Sequence[Topic], writing: Writing) -> Task:
    """The question for eight solutions of each topic, put without any word of the user; read as {topic id: solutions}."""

    def eight(given: Any) -> list[str]:
        solutions = list(dict.fromkeys(s.strip() for s in given["solutions"] if is_said(s)))
        if not len(solutions) == len(given["solutions"]) == CANDIDATES:
            raise Fault(f"{len(solutions)} different solutions, expected {CANDIDATES}")
        return solutions

    def read(data: Any) -> Reading[dict[str, list[str]]]:
        return by_id(data["topics"], [topic.id for topic in topics], eight)

    shown = [
        {"id": t.id, "user_query": t.user_query, "needs": [need["need"] for need in t.needs]}
        | {"requirement": t.requirement}
        for t in topics
    ]
    return writing.task("candidates", f"{one.user} {own.date}", read, topics=shown)


def verdicts(one: Persona, own: Situation, topic: Topic, writing: Writing) -> Task:
    """The question which two solutions are liked best and which two least; read as the topic's verdict."""
    names = {f"S{i}": i - 1 for i in range(1, CANDIDATES + 1)}

    def read(data: Any) -> dict[str, Any]:
        sides = {side: [(names.get(p["id"].strip().upper()), p["reason"]) for p in data[side]] for side in SIDES}
        picks = [pick for side in sides.values() for pick in side]
        places = {place for place, _ in picks}
        if None in places or len(places) != 4 or any(len(side) != 2 for side in sides.values()):
            raise Fault("expected four different ids of S1 to S8, two liked and two disliked")
        if not is_said(*(reason for _, reason in picks)):
            raise Fault("a reason is empty")
        return {"analysis": data["analysis"], **sides}

    about = {"profile": one.profile, "situation": own.text, "requirement": topic.requirement}
    about |= {"likings": one.likings[topic.id]}
    shown = [{"id": id, "text": text} for id, text in zip(names, topic.solutions)]
    return writing.task("verdicts", f"{one.user} {own.date} {topic.id}", read, candidates=shown, **about)


@dataclass(frozen=True)
class Script:
    """What a dialogue is to go through, as prompts take it: its topics, and for each turn what both do and about what."""

    topics: list[dict[str, Any]] = field(default_factory=list)
    turns: list[dict[str, str]] = field(default_factory=list)


def script(one: Persona, own: Situation, topics: Sequence[Topic], part: Part, writing: Writing) -> Script:
    """The turns of a dialogue, drawn by the grammar."""
    dice = Dice(writing.seed, writing.language, one.user, own.date, "dialogue")
    users, assistants = USER_ACTIONS[writing.language], ASSISTANT_ACTIONS[writing.language]
    shown, turns = [], []
    for n, topic in enumerate(topics, start=1):
        steps, proposed = draw_steps(part, len(topic.needs), dice)
        told = sum(step.assistant == "requirement_prediction" for step in steps)
        needs = [need["need"] for need in topic.needs[:told]]
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


def dialogue(one: Persona, own: Situation, plan: Script, part: Part, writing: Writing) -> Task:
    """The question for the dialogue in the turns of its script; read as the release has it."""
    turns = plan.turns

    def read(data: Any) -> dict[str, Any]:
        if [turn["turn"] for turn in data["turns"]] != list(range(1, len(turns) + 1)):
            raise Fault(f"expected the turns 1 to {len(turns)}, each once, in order")
        said = {}
        for step, turn in zip(turns, data["turns"], strict=True):
            if not is_said(turn["user"], turn["assistant"]):
                raise Fault(f"turn {turn['turn']}: nothing is said")
            said[f"turn_{turn['turn']}"] = {
                role: {"action": step[role], "content": turn[role].strip()} for role in ROLES.values()
            }
        return said

    about = {"profile": one.profile, "situation": own.text, "topics": plan.topics, "turns": turns}
    return writing.task("dialogue", f"{one.user} {own.date}", read, knows_all=part == "query", **about)


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
    def last(self) -> Chapter:
        """The chapter that the dialogue is of."""
        return self.chapters[-1]

    @property
    def date(self) -> str:
        """The date of the dialogue."""
        return self.last.situation.date

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
                "text": self.last.dialogue[f"turn_{n}"][role]["content"],
            }
            for n, plan in enumerate(self.last.script.turns, start=1)
            for letter, role in ROLES.items()
        ]

    def mend(self, logs: dict[str, Entry], turns: dict[str, str]) -> None:
        """Put mended logs and utterances in the place of the old ones."""
        entries = iter((self.logs() | logs).values())
        for chapter in self.chapters:
            chapter.logs = [next(entries) for _ in chapter.logs]
        for id, text in turns.items():
            self.last.dialogue[f"turn_{id[1:]}"][ROLES[id[0]]]["content"] = text

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
