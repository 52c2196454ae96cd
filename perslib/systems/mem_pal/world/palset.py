"""Synthetic PAL-Sets: the same files as Mem-PAL's release, from the lives of the synthetic world, without any model.

    corpus = palset(users=2, seed=42, language="zh")

The truth is known. In every aspect a user likes two kinds of solutions (`STYLES` in the words of each language) and
dislikes two: the opposite of the first, and one more. Preferences say so, two of the eight candidates of every topic
are of a liked kind, two of a disliked one, four leave the user cold; feedback in the dialogues follows. Behind a
requirement stand two of its three possible needs; the logs of the situation carry what speaks for exactly these.
In the corpus the truth stands among the extras:

truth_preferences   user, aspect, liked, disliked: kinds of solutions
truth_candidates    user, scenario, session, topic, styles: the kind of each candidate
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pandas as pd

from perslib.corpus.corpus import Corpus
from perslib.errors import DataError, Problem
from perslib.systems.mem_pal.loaders.palset import FOLDERS, read_contents
from perslib.systems.mem_pal.loaders.palset_records import ASSISTANT_ACTIONS, PARTS, SIDES, USER_ACTIONS
from perslib.systems.mem_pal.world.people import SimulatedPerson, person, preference
from perslib.systems.mem_pal.world.situations import (
    LifeSituation,
    Part,
    Raised,
    Step,
    draw_parts,
    draw_steps,
    make_situations,
)
from perslib.worlds.lives import Dice

ACTIONS = {"user": USER_ACTIONS, "assistant": ASSISTANT_ACTIONS}


@dataclass(frozen=True)
class SimulatedTopic:
    """A requirement that came up: eight candidate solutions, each of a known kind."""

    raised: Raised
    requirement: str
    candidates: tuple[str, ...]
    styles: tuple[str, ...]
    labels: tuple[str, ...]

    def of(self, label: str) -> list[int]:
        """Return places of the candidates with this label."""
        return [i for i, own in enumerate(self.labels) if own == label]


def topic(one: SimulatedPerson, raised: Raised, dice: Dice) -> SimulatedTopic:
    """Return two solutions of a kind that the user likes, two of a disliked one, four that leave them cold, shuffled."""
    taste, theme = one.taste(raised.requirement_id), one.themes[raised.requirement_id]
    kinds = [(style, side) for side in SIDES for style in taste[side]]
    kinds += [(style, "neu") for style in dice.some(taste["neu"], 4)]
    styles, labels = zip(*dice.some(kinds, 8))
    texts = [dice.pick(one.words.STYLES[style]["solutions"]).format(do=theme["do"]) for style in styles]
    need1, need2 = raised.needs
    requirement = one.words.REQUIREMENT.format(goal=theme["goal"], need1=need1, need2=need2)
    return SimulatedTopic(raised, requirement, tuple(map(one.book.capital, texts)), styles, labels)


def make_topic_records(one: SimulatedPerson, own: SimulatedTopic) -> dict[str, Any]:
    """Return what the files say of a topic, by their stems ("input" is the main one)."""
    raised, styles = own.raised, [one.words.STYLES[style] for style in own.styles]
    needs = [{"need": need, "evidences": list(e)} for need, e in zip(raised.needs, raised.evidences)]
    candidates = [{"solution": text, "feedback": label} for text, label in zip(own.candidates, own.labels)]
    names: dict[str, str] = {}
    chosen: dict[str, list[dict[str, str]]] = {}
    for side in SIDES:
        chosen[f"{side}_list"] = []
        for i, place in enumerate(own.of(side), start=1):
            style = names[f"{side}{i}"] = styles[place]["name"]
            why = one.words.REASON[side].format(style=style, why=styles[place][side])
            chosen[f"{side}_list"].append({"solution": own.candidates[place], "feedback_reason": why})
    return {
        "input": {
            "user_query": raised.query,
            "implicit_needs": list(raised.needs),
            "requirement": own.requirement,
            "solution": {side: [own.candidates[i] for i in own.of(side)] for side in SIDES},
            "candidate_solutions": candidates,
        },
        "requirement_framework": {
            "requirement_type": one.themes[raised.requirement_id]["type"],
            "user_query": raised.query,
            "implicit_needs": needs,
            "requirement": own.requirement,
        },
        "candidate_solution": list(own.candidates),
        "solution_preference": {"analysis": one.words.ANALYSIS.format(**names), **chosen},
    }


def dialogue(one: SimulatedPerson, topics: list[SimulatedTopic], part: Part, dice: Dice) -> dict[str, Any]:
    """Return the topics one after another, in the turns of the grammar."""
    turns = []
    for own in topics:
        steps, solutions = draw_steps(part, 2, dice)
        places = [own.of(side)[i] for side, i in solutions]
        turns += [_turn(one, own, step, places, dice) for step in steps]
    return {f"turn_{i}": turn for i, turn in enumerate(turns, start=1)}


def _turn(one: SimulatedPerson, own: SimulatedTopic, step: Step, places: list[int], dice: Dice) -> dict[str, Any]:
    words, language = one.words, one.book.language
    about, then = (_about(one, own, of, places) for of in (step.user_about, step.assistant_about))
    opens, confirms = step.user == "topic_inquiry", step.user == "requirement_confirmation"
    patterns = {  # several are drawn from
        "user": {
            "topic_inquiry": "{query}",
            "requirement_confirmation": words.CONFIRM,
            "solution_discussion": words.DISCUSS,
            "solution_feedback": words.FEEDBACK.get(about["label"]),
        }[step.user],
        "assistant": {
            "requirement_prediction": words.GUESS if opens else words.GUESS_NEXT,
            "solution_proposal": words.PROPOSE if opens or confirms else words.PROPOSE_NEXT,
            "solution_discussion": "{tell}",
            "feedback_response": words.RESPOND.get(then["label"]),
        }[step.assistant],
    }
    turn = {}
    for role, slots in (("user", about), ("assistant", then)):
        pattern = patterns[role] if isinstance(patterns[role], str) else dice.pick(patterns[role])
        action = ACTIONS[role][language][getattr(step, role)]
        turn[role] = {"action": action, "content": pattern.format(**slots)}
    return turn


def _about(one: SimulatedPerson, own: SimulatedTopic, reference: str, places: list[int]) -> dict[str, str]:
    """Return what can be said about a query, a need or a solution."""
    kind, number = reference[0], int(reference[1:] or 1) - 1
    if kind != "S":
        return {"query": own.raised.query, "need": own.raised.needs[number], "label": ""}
    place = places[number]
    style = one.words.STYLES[own.styles[place]]
    fields = {"style": style["name"], "ask": style["ask"], "tell": style["tell"]}
    return {"solution": own.candidates[place], "label": own.labels[place], **fields}


VERSION = 1


class Made(NamedTuple):
    """Files by their stem ("input" is the main one), and the truth behind them as rows."""

    files: dict[str, dict[str, Any]]
    preferences: list[dict[str, Any]]
    candidates: list[dict[str, Any]]


def palset(users: int = 2, seed: int = 42, language: str = "zh", name: str | None = None) -> Corpus:
    """Return users with months of device logs and dialogues.

    The same arguments give the same bytes everywhere, and the first n users do not depend on how many follow.
    """
    made = palset_files(users, seed, language)
    main = made.files.pop("input")
    corpus = read_contents(main, made.files, language, name or f"synthetic-palset-{language}").corpus
    extras = {"truth_preferences": pd.DataFrame(made.preferences)}
    extras["truth_candidates"] = pd.DataFrame(made.candidates)
    meta = {"synthetic": True, "generator": f"perslib.systems.mem_pal.world.palset {VERSION}"}
    meta |= {"seed": seed, "users": users}
    return replace(corpus, extras=corpus.extras | extras, meta=corpus.meta | meta)


def palset_files(users: int = 2, seed: int = 42, language: str = "zh") -> Made:
    """Return what the files say, and the truth behind them."""
    if users < 1:
        raise DataError(Problem("users", f"is {users}, expected 1 or more"))
    made = Made({stem: {} for stem in ("input", *FOLDERS)}, [], [])
    for number in range(users):
        one = person(number, seed, language)
        _of_the_person(one, made)
        _of_the_year(one, make_situations(one, seed), seed, made)
    return made


def _of_the_person(one: SimulatedPerson, made: Made) -> None:
    own: dict[str, dict[str, Any]] = {"requirement": {}, "preference": {}}
    for aspect, taste in one.tastes.items():
        types = {key: theme["type"] for key, theme in one.themes.items() if key.startswith(aspect)}
        own["requirement"][aspect] = types
        own["preference"][aspect] = {
            key: {"requirement": name, "preference": preference(one, key)} for key, name in types.items()
        }
        row = {"user": one.user, "aspect": aspect, "liked": taste["pos"], "disliked": taste["neg"]}
        made.preferences.append(row)
    for stem, content in {"background": one.profile, **own}.items():
        made.files[stem][one.user] = content


def _of_the_year(one: SimulatedPerson, happened: list[LifeSituation], seed: int, made: Made) -> None:
    """Write sessions: the logs since the dialogue before, also of situations that nobody spoke of, then a dialogue."""
    dice = Dice(seed, one.book.language, one.user, "dialogues")
    dated = ("situation", "requirement_framework", "candidate_solution", "solution_preference")
    files: dict[str, dict[str, Any]] = {stem: {} for stem in dated}
    parts: dict[str, list[dict[str, Any]]] = {part: [] for part in PARTS}
    logs: list[dict[str, str]] = []
    count = 0
    for situation, part in zip(happened, draw_parts([s.end.month for s in happened], dice)):
        files["situation"][situation.date] = {
            "start_timestamp": f"{situation.start:%Y-%m-%d %H:%M:%S}",
            "end_timestamp": f"{situation.end:%Y-%m-%d %H:%M:%S}",
            "requirement_ids": [raised.requirement_id for raised in situation.raised],
            "situation": situation.text,
        }
        logs += [{"timestamp": f"{at:%Y-%m-%d %H:%M}", "content": line} for at, line in situation.logs]
        if part is None:
            continue
        topics = {f"topic-{n}": topic(one, raised, dice) for n, raised in enumerate(situation.raised, start=1)}
        records = {name: make_topic_records(one, own) for name, own in topics.items()}
        for stem in dated[1:]:
            files[stem][situation.date] = {name: own[stem] for name, own in records.items()}
        sample = {
            "sample_id": f"{one.user}_sample{count}",
            "dialogue_timestamp": f"{situation.end:%Y-%m-%d %H:%M:%S}",
            "logs": logs,
            "dialogue": dialogue(one, list(topics.values()), part, dice),
            "topics": {name: own["input"] for name, own in records.items()},
        }
        parts[part].append(sample)
        where = {"user": one.user, "scenario": part, "session": sample["sample_id"]}
        made.candidates.extend({**where, "topic": name, "styles": own.styles} for name, own in topics.items())
        logs, count = [], count + 1
    for stem, content in {"input": parts, **files}.items():
        made.files[stem][one.user] = content
