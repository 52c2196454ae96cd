"""One user from profile to files: the steps in their order, every step's questions of a user asked together."""

from __future__ import annotations

from typing import Any

from perslib.corpus.palset_names import ASPECTS
from perslib.corpus.synthetic.draws import Dice
from perslib.corpus.synthetic.palset_grammar import QUERY_MONTH, draw_parts
from perslib.llm import Steps
from perslib.palsynth import topics as talk
from perslib.palsynth.correction import corrected
from perslib.palsynth.months import Situation, accounts, logs, situations
from perslib.palsynth.persons import Persona, persona
from perslib.palsynth.session import Chapter
from perslib.palsynth.topics import Topic
from perslib.palsynth.writing import Writing

Files = dict[str, Any]


def user_files(user: str, profile: dict[str, Any], writing: Writing) -> Steps[Files]:
    """What every file of the release says of one user, by stem; empty where a step failed that all others need."""
    one = yield from persona(user, profile, writing)
    if one is None:
        writing.reject("user", user, ["left out: there is no timeline, requirement or preference"])
        return {}
    told = yield from situations(one, writing)
    if not any(own.end.month == QUERY_MONTH for own in told):
        writing.reject("user", user, ["left out: nothing was told of December, the month of the query set"])
        return {}
    chapters = yield from _chapters(one, told, writing)
    files = _files(one, chapters)
    if not files["input"]["query"]:
        writing.reject("user", user, ["left out: no dialogue of December was written"])
        return {}
    return files


def _chapters(one: Persona, told: list[Situation], writing: Writing) -> Steps[list[Chapter]]:
    dice = Dice(writing.seed, writing.language, one.user, "parts")
    parts = draw_parts([own.end.month for own in told], dice)
    chapters = [Chapter(own, part) for own, part in zip(told, parts, strict=True)]
    texts = yield from accounts(one, told, writing)
    held = [(chapter, text) for chapter, text in zip(chapters, texts, strict=True) if chapter.part]
    # Logs and dialogues rest on the same accounts and not on each other.
    asked = [logs(one, c.situation, text, writing) for c, text in zip(chapters, texts, strict=True)]
    asked += [talk.frameworks(one, c.situation, text, writing) for c, text in held]
    given = yield from writing.written(asked)
    for chapter, entries in zip(chapters, given[: len(chapters)], strict=True):
        chapter.logs = entries or []
    for (chapter, _), found in zip(held, given[len(chapters) :], strict=True):
        chapter.topics = found or []
    yield from _solutions(one, [chapter for chapter, _ in held if chapter.topics], writing)
    talks = [chapter for chapter, _ in held if chapter.topics]
    for c in talks:
        c.script = talk.script(one, c.situation, c.topics, c.part or "history", writing)
    tasks = [talk.dialogue(one, c.situation, c.script, c.part or "history", writing) for c in talks]
    for chapter, said in zip(talks, (yield from writing.written(tasks)), strict=True):
        chapter.dialogue = said or {}
    for chapter in chapters:
        chapter.part = chapter.part if chapter.dialogue else None
    yield from corrected(one, chapters, writing)
    return chapters


def _solutions(one: Persona, chapters: list[Chapter], writing: Writing) -> Steps[None]:
    """Candidates of all sessions at once, then verdicts on all topics at once; topics without them are dropped."""
    tasks = [talk.candidates(one, c.situation, c.topics, writing) for c in chapters]
    for chapter, found in zip(chapters, (yield from writing.written(tasks)), strict=True):
        for topic in chapter.topics:
            topic.solutions = (found or {}).get(topic.id, [])
    pairs = [(c, topic) for c in chapters for topic in c.topics if topic.solutions]
    tasks = [talk.verdicts(one, c.situation, topic, writing) for c, topic in pairs]
    for (_, topic), verdict in zip(pairs, (yield from writing.written(tasks)), strict=True):
        topic.verdict = verdict or {}
    for chapter in chapters:
        chapter.topics = [topic for topic in chapter.topics if topic.verdict]


def _files(one: Persona, chapters: list[Chapter]) -> Files:
    files: Files = {"background": one.profile, "requirement": {}, "preference": {}}
    for aspect in ASPECTS:
        own = {key: text for key, text in one.types.items() if key.startswith(aspect)}
        files["requirement"][aspect] = own
        files["preference"][aspect] = {
            key: {"requirement": text, "preference": one.likings[key]} for key, text in own.items()
        }
    files |= {
        "situation": {},
        "requirement_framework": {},
        "candidate_solution": {},
        "solution_preference": {},
    }
    parts: dict[str, list[dict[str, Any]]] = {"history": [], "query": []}
    waiting: list[dict[str, str]] = []
    for chapter in chapters:
        own_topics = {f"topic-{n}": topic for n, topic in enumerate(chapter.topics, start=1)}
        is_held = chapter.part is not None
        files["situation"][chapter.situation.date] = {
            "start_timestamp": f"{chapter.situation.start:%Y-%m-%d %H:%M:%S}",
            "end_timestamp": f"{chapter.situation.end:%Y-%m-%d %H:%M:%S}",
            # The topic's number is the place of its requirement, so a topic that failed takes its id along.
            "requirement_ids": [t.id for t in chapter.topics] if is_held else list(chapter.situation.ids),
            "situation": chapter.situation.text,
        }
        waiting += [{"timestamp": f"{e.at:%Y-%m-%d %H:%M}", "content": e.content} for e in chapter.logs]
        if chapter.part is None:
            continue
        parts[chapter.part].append(
            {
                "sample_id": f"{one.user}_sample{sum(map(len, parts.values()))}",
                "dialogue_timestamp": f"{chapter.situation.end:%Y-%m-%d %H:%M:%S}",
                "logs": waiting,
                "dialogue": chapter.dialogue,
                "topics": {key: _released(topic) for key, topic in own_topics.items()},
            }
        )
        waiting = []
        date = chapter.situation.date
        files["requirement_framework"][date] = {k: _framework(t, one) for k, t in own_topics.items()}
        files["candidate_solution"][date] = {k: t.solutions for k, t in own_topics.items()}
        files["solution_preference"][date] = {k: _verdict(t) for k, t in own_topics.items()}
    return {**files, "input": parts}


def _released(topic: Topic) -> dict[str, Any]:
    return {
        "user_query": topic.user_query,
        "implicit_needs": [need["need"] for need in topic.needs],
        "requirement": topic.requirement,
        "solution": {s: [topic.solutions[place] for place, _ in topic.verdict[s]] for s in ("pos", "neg")},
        "candidate_solutions": [
            {"solution": text, "feedback": topic.label(place)} for place, text in enumerate(topic.solutions)
        ],
    }


def _framework(topic: Topic, one: Persona) -> dict[str, Any]:
    return {
        "requirement_type": one.types[topic.id],
        "user_query": topic.user_query,
        "implicit_needs": topic.needs,
        "requirement": topic.requirement,
    }


def _verdict(topic: Topic) -> dict[str, Any]:
    lists = {
        f"{side}_list": [
            {"solution": topic.solutions[place], "feedback_reason": reason}
            for place, reason in topic.verdict[side]
        ]
        for side in ("pos", "neg")
    }
    return {"analysis": topic.verdict["analysis"], **lists}
