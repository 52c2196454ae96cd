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

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from perslib.corpus.corpus import Corpus
from perslib.corpus.palset import FOLDERS, read_contents, write_release
from perslib.corpus.palset_names import ASPECTS
from perslib.corpus.synthetic.draws import Dice
from perslib.corpus.synthetic.palset_grammar import draw_parts
from perslib.corpus.synthetic.palset_life import Person, person, preference
from perslib.corpus.synthetic.palset_months import Situation, situations
from perslib.corpus.synthetic.palset_topics import Topic, dialogue, framework, released, topic, verdict
from perslib.errors import DataError, Problem

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
    meta = {"synthetic": True, "generator": f"perslib.corpus.synthetic.palset {VERSION}"}
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
