"""The people of a synthetic PAL-Set: profile, requirement types, and which kinds of solutions they like in each aspect."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, TypeAlias

from perslib.systems.mem_pal.loaders.palset_records import ASPECTS
from perslib.worlds.chats.tasks import with_article
from perslib.worlds.lives import Book, Dice, Life, book, life

#: What a user likes (pos), dislikes (neg) and does not care for (neu) in one aspect: kinds of solutions.
Taste: TypeAlias = dict[str, tuple[str, ...]]


@dataclass
class SimulatedPerson:
    """One user of the set; `themes` are the requirement types by id, in the words of the language."""

    user: str
    life: Life
    profile: dict[str, Any]
    themes: dict[str, dict[str, Any]]
    tastes: dict[str, Taste]
    first_month: int
    words: SimpleNamespace = field(repr=False)
    book: Book = field(repr=False)

    def taste(self, requirement_id: str) -> Taste:
        """Return the taste in the aspect that a requirement belongs to."""
        return self.tastes[requirement_id.split("-")[0]]


def person(number: int, seed: int, language: str) -> SimulatedPerson:
    """Return user `number`: the life of the synthetic world's user of that number, seen in the four aspects."""
    own = book(language)
    words = own.palset
    one = life(number, seed, own)
    dice = Dice(seed, language, number, "palset")
    tastes = {aspect: _taste(words.OPPOSITES, dice) for aspect in ASPECTS}
    themes = {}
    for aspect in ASPECTS:
        situations = own.life.SITUATIONS[aspect]
        every = [
            theme | ({"scene": situations[i][0], "logs": situations[i][4]} if "scene" not in theme else {})
            for i, theme in enumerate(words.THEMES[aspect])
        ]
        for n, theme in enumerate(dice.some(every, dice.between(4, 5)), start=1):
            themes[f"{aspect}-{n}"] = theme
    months = dice.between(7, 12)
    profile = _profile(one, tastes, words, own, dice)
    return SimulatedPerson(f"{number:04d}", one, profile, themes, tastes, 13 - months, words, own)


def _taste(opposites: list[tuple[str, str]], dice: Dice) -> Taste:
    """Return liked: a pole of two pairs. Disliked: the opposite of the first, and a pole of a third pair."""
    first, second, third, *others = dice.some(opposites, len(opposites))
    liked, opposite = dice.some(first, 2)
    neutral = [style for pair in others for style in pair]
    pos, neg = (liked, dice.pick(second)), (opposite, dice.pick(third))
    return {"pos": pos, "neg": neg, "neu": tuple(neutral)}


def _profile(one: Life, tastes: dict[str, Taste], words: SimpleNamespace, own: Book, dice: Dice) -> dict[str, Any]:
    gender = one.profile["gender"]
    given, surname = dice.pick(words.GIVEN[gender]), dice.pick(words.SURNAMES)
    friend = dice.pick(one.friends)
    job = words.JOB.format(job=one.job, a_job=with_article(one.job), background=one.profile["background"])
    interests = own.list_things(one.profile["daily_interests"])
    return {
        "name": surname + given if own.language == "zh" else f"{given} {surname}",
        "gender": words.GENDERS[gender],
        "age": one.profile["age"],
        "occupation": job + own.space + dice.pick(words.WORK).format(p=friend),
        "health status": dice.pick(words.HEALTH),
        "family members": words.FAMILY[one.household].format(p=friend),
        "hobbies": words.HOBBIES.format(interests=interests),
        "personality": _personality(tastes, dice),
    }


def _personality(tastes: dict[str, Taste], dice: Dice) -> dict[str, str]:
    """Return traits that show in what is liked: company in extraversion, plans and figures in conscientiousness."""
    liked = {style for taste in tastes.values() for style in taste["pos"]}

    def level(high: set[str], low: set[str]) -> str:
        lean = len(liked & high) - len(liked & low)
        return "high" if lean > 0 else "low" if lean < 0 else "medium"

    return {
        "Openness": level({"app", "loose"}, {"paper", "plan"}),
        "Conscientiousness": level({"plan", "data", "daily"}, {"loose", "feel", "block"}),
        "Extraversion": level({"together"}, {"alone"}),
        "Agreeableness": level({"together", "expert"}, {"alone", "free"}),
        "Neuroticism": dice.pick(("low", "medium", "high")),
    }


def preference(one: SimulatedPerson, requirement_id: str) -> dict[str, str]:
    """Return what the user likes and rejects for a requirement, as the preference file says it."""
    words, taste, subject = one.words, one.taste(requirement_id), one.themes[requirement_id]["type"]
    subject = subject if one.book.language == "zh" else subject[:1].lower() + subject[1:]
    reasons = {}
    for side, pattern in words.PREFERENCE.items():
        first, second = (words.STYLES[kind] for kind in taste[side])
        names = {"first": first["name"], "second": second["name"]}
        reasons[side] = pattern.format(type=subject, **names, why_first=first[side], why_second=second[side])
    return reasons
