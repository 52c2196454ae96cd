"""Synthetic PAL-Sets: the same files as Mem-PAL's release, from the lives of the synthetic world, without any model.

    corpus = palset(users=2, seed=42, language="zh")
    write_palset("folder", users=2)            the files themselves, as `perslib import palset` reads them

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
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from perslib.corpus.corpus import Corpus
from perslib.corpus.palset import FOLDERS, read_contents, write_release
from perslib.corpus.palset_records import ASPECTS, ASSISTANT_ACTIONS, USER_ACTIONS
from perslib.errors import DataError, Problem
from perslib.worlds.lives import Dice
from perslib.worlds.palset_life import Person, person, preference
from perslib.worlds.palset_months import Part, Raised, Situation, Step, draw_parts, draw_plan, situations


@dataclass(frozen=True)
class Topic:
    """A requirement that came up: eight candidate solutions, each of a known kind."""

    raised: Raised
    requirement: str
    candidates: tuple[str, ...]
    styles: tuple[str, ...]
    labels: tuple[str, ...]

    def of(self, label: str) -> list[int]:
        """Places of the candidates with this label."""
        return [i for i, own in enumerate(self.labels) if own == label]


def topic(one: Person, raised: Raised, dice: Dice) -> Topic:
    """Two solutions of a kind that the user likes, two of a disliked one, four that leave them cold, shuffled."""
    taste, theme = one.taste(raised.requirement_id), one.themes[raised.requirement_id]
    kinds = [(style, "pos") for style in taste.liked] + [(style, "neg") for style in taste.disliked]
    kinds += [(style, "neu") for style in dice.some(taste.neutral, 4)]
    shuffled = dice.some(kinds, 8)
    texts = [dice.pick(one.words.STYLES[style]["solutions"]).format(do=theme["do"]) for style, _ in shuffled]
    need1, need2 = raised.needs
    return Topic(
        raised,
        one.words.REQUIREMENT.format(goal=theme["goal"], need1=need1, need2=need2),
        tuple(one.book.capital(text) for text in texts),
        tuple(style for style, _ in shuffled),
        tuple(label for _, label in shuffled),
    )


def framework(one: Person, own: Topic) -> dict[str, Any]:
    """The topic's entry in the requirement frameworks."""
    needs = [{"need": n, "evidences": list(e)} for n, e in zip(own.raised.needs, own.raised.evidences)]
    return {
        "requirement_type": one.themes[own.raised.requirement_id]["type"],
        "user_query": own.raised.query,
        "implicit_needs": needs,
        "requirement": own.requirement,
    }


def verdict(one: Person, own: Topic) -> dict[str, Any]:
    """The topic's entry in the solution preferences."""
    styles = one.words.STYLES
    names = {
        f"{label}{i}": styles[own.styles[place]]["name"]
        for label in ("pos", "neg")
        for i, place in enumerate(own.of(label), start=1)
    }
    lists = {}
    for label, why in (("pos", "liked"), ("neg", "disliked")):
        lists[f"{label}_list"] = [
            {
                "solution": own.candidates[place],
                "feedback_reason": one.words.REASON[label].format(
                    style=styles[own.styles[place]]["name"], why=styles[own.styles[place]][why]
                ),
            }
            for place in own.of(label)
        ]
    return {"analysis": one.words.ANALYSIS.format(**names), **lists}


def released(own: Topic) -> dict[str, Any]:
    """The topic as the main file has it."""
    return {
        "user_query": own.raised.query,
        "implicit_needs": list(own.raised.needs),
        "requirement": own.requirement,
        "solution": {side: [own.candidates[i] for i in own.of(side)] for side in ("pos", "neg")},
        "candidate_solutions": [
            {"solution": text, "feedback": label} for text, label in zip(own.candidates, own.labels)
        ],
    }


def dialogue(one: Person, topics: list[Topic], part: Part, dice: Dice) -> dict[str, Any]:
    """The topics one after another, in the turns of the grammar."""
    turns = []
    for own in topics:
        plan = draw_plan(part, 2, dice)
        places = [own.of(side)[i] for side, i in plan.solutions]
        turns += [_turn(one, own, step, places, dice) for step in plan.steps()]
    return {f"turn_{i}": turn for i, turn in enumerate(turns, start=1)}


def _turn(one: Person, own: Topic, step: Step, places: list[int], dice: Dice) -> dict[str, Any]:
    words, language = one.words, one.book.language
    about = _about(one, own, step.user_about, places)
    asked = {
        "topic_inquiry": lambda: own.raised.query,
        "requirement_confirmation": lambda: dice.pick(words.CONFIRM).format(**about),
        "solution_discussion": lambda: dice.pick(words.DISCUSS).format(**about),
        "solution_feedback": lambda: dice.pick(words.FEEDBACK[about["label"]]).format(**about),
    }[step.user]()
    next_about = _about(one, own, step.assistant_about, places)
    first = step.user in ("topic_inquiry", "requirement_confirmation")
    said = {
        "requirement_prediction": lambda: dice.pick(
            words.GUESS if step.user == "topic_inquiry" else words.GUESS_NEXT
        ).format(**next_about),
        "solution_proposal": lambda: dice.pick(words.PROPOSE if first else words.PROPOSE_NEXT).format(
            **next_about
        ),
        "solution_discussion": lambda: next_about["tell"],
        "feedback_response": lambda: dice.pick(words.RESPOND[next_about["label"]]),
    }[step.assistant]()
    return {
        "user": {"action": USER_ACTIONS[language][step.user], "content": asked},
        "assistant": {"action": ASSISTANT_ACTIONS[language][step.assistant], "content": said},
    }


def _about(one: Person, own: Topic, reference: str, places: list[int]) -> dict[str, str]:
    """What can be said about a query, a need or a solution."""
    kind, number = reference[0], int(reference[1:] or 1) - 1
    if kind != "S":
        return {"need": own.raised.needs[number]}
    place = places[number]
    style = one.words.STYLES[own.styles[place]]
    return {
        "solution": own.candidates[place],
        "label": own.labels[place],
        "style": style["name"],
        "ask": style["ask"],
        "tell": style["tell"],
    }


VERSION = 1


class Made(NamedTuple):
    """Files by their stem ("input" is the main one), and the truth behind them as rows."""

    files: dict[str, dict[str, Any]]
    preferences: list[dict[str, Any]]
    candidates: list[dict[str, Any]]


def palset(users: int = 2, seed: int = 42, language: str = "zh", name: str | None = None) -> Corpus:
    """Users with months of device logs and dialogues.

    The same arguments give the same bytes everywhere, and the first n users do not depend on how many follow.
    """
    made = palset_files(users, seed, language)
    main = made.files.pop("input")
    corpus = read_contents(main, made.files, language, name or f"synthetic-palset-{language}").corpus
    extras = {"truth_preferences": pd.DataFrame(made.preferences)}
    extras["truth_candidates"] = pd.DataFrame(made.candidates)
    meta = {"synthetic": True, "generator": f"perslib.worlds.palset {VERSION}"}
    meta |= {"seed": seed, "users": users}
    return replace(corpus, extras=corpus.extras | extras, meta=corpus.meta | meta)


def write_palset(folder: str | Path, users: int = 2, seed: int = 42, language: str = "zh") -> Path:
    """Write the files as the release lays them out; returns the folder."""
    return write_release(folder, palset_files(users, seed, language).files, language)


def palset_files(users: int = 2, seed: int = 42, language: str = "zh") -> Made:
    """What the files say, and the truth behind them."""
    if users < 1:
        raise DataError(Problem("users", f"is {users}, expected 1 or more"))
    made = Made({stem: {} for stem in ("input", *FOLDERS)}, [], [])
    for number in range(users):
        one = person(number, seed, language)
        _of_the_person(one, made)
        _of_the_year(one, situations(one, seed), seed, made)
    return made


def _of_the_person(one: Person, made: Made) -> None:
    by_aspect = {aspect: [key for key in one.themes if key.startswith(aspect)] for aspect in ASPECTS}
    made.files["background"][one.user] = one.profile
    made.files["requirement"][one.user] = {
        aspect: {key: one.themes[key]["type"] for key in keys} for aspect, keys in by_aspect.items()
    }
    made.files["preference"][one.user] = {
        aspect: {
            key: {"requirement": one.themes[key]["type"], "preference": preference(one, key)} for key in keys
        }
        for aspect, keys in by_aspect.items()
    }
    for aspect, taste in one.tastes.items():
        row = {"user": one.user, "aspect": aspect, "liked": taste.liked, "disliked": taste.disliked}
        made.preferences.append(row)


def _of_the_year(one: Person, happened: list[Situation], seed: int, made: Made) -> None:
    """Sessions: the logs since the dialogue before, also of situations that nobody spoke of, then a dialogue."""
    dice = Dice(seed, one.book.language, one.user, "dialogues")
    for stem in ("situation", "requirement_framework", "candidate_solution", "solution_preference"):
        made.files[stem][one.user] = {}
    parts: dict[str, list[dict[str, Any]]] = {"history": [], "query": []}
    logs: list[dict[str, str]] = []
    count = 0
    for situation, part in zip(happened, draw_parts([s.end.month for s in happened], dice)):
        made.files["situation"][one.user][situation.date] = {
            "start_timestamp": f"{situation.start:%Y-%m-%d %H:%M:%S}",
            "end_timestamp": f"{situation.end:%Y-%m-%d %H:%M:%S}",
            "requirement_ids": [raised.requirement_id for raised in situation.raised],
            "situation": situation.text,
        }
        logs += [{"timestamp": f"{at:%Y-%m-%d %H:%M}", "content": line} for at, line in situation.logs]
        if part is None:
            continue
        topics = [topic(one, raised, dice) for raised in situation.raised]
        session = f"{one.user}_sample{count}"
        parts[part].append(
            {
                "sample_id": session,
                "dialogue_timestamp": f"{situation.end:%Y-%m-%d %H:%M:%S}",
                "logs": logs,
                "dialogue": dialogue(one, topics, part, dice),
                "topics": {f"topic-{n}": released(own) for n, own in enumerate(topics, start=1)},
            }
        )
        _frameworks(one, situation.date, topics, made)
        made.candidates.extend(
            {
                "user": one.user,
                "scenario": part,
                "session": session,
                "topic": f"topic-{n}",
                "styles": own.styles,
            }
            for n, own in enumerate(topics, start=1)
        )
        logs, count = [], count + 1
    made.files["input"][one.user] = parts


def _frameworks(one: Person, date: str, topics: list[Topic], made: Made) -> None:
    named = {f"topic-{n}": own for n, own in enumerate(topics, start=1)}
    made.files["requirement_framework"][one.user][date] = {k: framework(one, own) for k, own in named.items()}
    made.files["candidate_solution"][one.user][date] = {k: list(own.candidates) for k, own in named.items()}
    made.files["solution_preference"][one.user][date] = {k: verdict(one, own) for k, own in named.items()}
