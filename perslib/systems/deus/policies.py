"""Systems written by hand, references for what an agent learns, and dialogues collected with them.

A policy is called with what the system sees and a generator, and returns an action: `policy(seen, rng)`.

    simulate_dialogues(exploring(rule, 0.25), user2(), 3000, seed=1)

Every dialogue has a generator of its own, made of the seed and its number, so that the first thousand of three
thousand dialogues are the thousand that one would get alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from perslib.systems.deus.world.actions import REQMORE, Atom, action_list
from perslib.systems.deus.world.goals import BOOKED, DOMAINS, GOAL_NAMES, INFO, REQUESTED, REQUESTED_ELSEWHERE
from perslib.systems.deus.world.records import Dialogue, Dialogues
from perslib.systems.deus.world.users import User
from perslib.systems.deus.world.world import STATE_NAMES, SystemNotes, World

Policy = Callable[[SystemNotes, np.random.Generator], int]


def at_random(seen: SystemNotes, rng: np.random.Generator) -> int:
    """Return any action, equally often."""
    return int(rng.integers(len(action_list().templates)))


def exploring(policy: Policy, epsilon: float) -> Policy:
    """Return the policy with a share `epsilon` of random actions."""

    def explore(seen: SystemNotes, rng: np.random.Generator) -> int:
        return at_random(seen, rng) if rng.random() < epsilon else policy(seen, rng)

    return explore


def _untold(seen: SystemNotes, slots: tuple[str, ...]) -> list[str]:
    place = seen.active
    return [s for s in slots if (place, s) not in seen.informed and (place, s) not in seen.any]


def _booking(seen: SystemNotes) -> bool:
    """Return whether every detail of a booking is known and it has not been made."""
    name, details = seen.active, DOMAINS[seen.active].book
    return bool(details) and name not in seen.booked and all((name, s) in seen.informed for s in details)


def rule(seen: SystemNotes, rng: np.random.Generator) -> int:
    """Answer everything that is open, book when asked, else ask for what is not known: good for User 1."""
    name, index = seen.active, action_list().index
    domain = DOMAINS[name]
    answers = [Atom(name, "inform", s) for n, s in seen.open if n == name]
    if _booking(seen):
        answers.append(Atom(name, "book", "ref"))
    if answers:
        return index(*answers)
    details = _untold(seen, domain.book)
    if details and any((name, s) in seen.informed for s in domain.book):
        return index(Atom(name, "request", details[0]))
    asked = [s for s in _untold(seen, domain.info) if s != "name"]
    if seen.matches(name) > 1 and asked and rng.random() < 0.5:
        return index(Atom(name, "request", asked[int(rng.integers(len(asked)))]))
    return index(REQMORE)


def patient(seen: SystemNotes, rng: np.random.Generator) -> int:
    """Return the cheapest way to hear a user out: `reqmore` while constraints come, one answer a question, then book.

    A booking is made with its last detail, before the user asks for it.
    """
    name, index = seen.active, action_list().index
    answers = [Atom(name, "inform", s) for n, s in seen.open if n == name]
    if _booking(seen):
        return index(Atom(name, "book", "ref"))
    return index(answers[0]) if answers else index(REQMORE)


@lru_cache(maxsize=4096)
def nothing_more(domain: str, known: tuple[str, ...]) -> float:
    """Return the chance that these were all the constraints, for a user whose wants `goals` describes and who told them
    so far.
    """
    slots = [s for s in DOMAINS[domain].info if s != "name"]
    if "name" in known or not slots:
        return 1.0
    here = total = 0.0
    for choice in itertools.product((0, 1), repeat=len(slots)):
        wanted = {s for s, k in zip(slots, choice, strict=True) if k}
        weight = INFO ** len(wanted) * (1 - INFO) ** (len(slots) - len(wanted))
        either = {"leave_at", "arrive_by"} <= wanted
        for left in ({"leave_at"}, {"arrive_by"}) if either else (set(),):
            final = wanted - left
            if final and set(known) <= final:
                share = weight / (2 if either else 1) / math.comb(len(final), len(known))
                total += share
                here += share * (len(final) == len(known))
    return here / total


def _first_question(domain: str, askable: int) -> float:
    """Return the chance that one of so many slots will be asked for, before anything was."""
    share = REQUESTED.get(domain, REQUESTED_ELSEWHERE)
    neither = (1 - share) ** askable * (1 - BOOKED * bool(DOMAINS[domain].book))
    return share + neither / askable


#: What an agent reacts to, and its moves: what `patient` does, with 0 to 3 answers that nobody has asked for.
KINDS, MOVES = ("wait", "hear", "answer", "book"), 4


class Moment(NamedTuple):
    """What there is to do now."""

    kind: str
    chance: float
    """That the next answer nobody has asked for is wanted."""
    actions: dict[int, int]
    """Move → action, for the moves that the list of actions has."""


@cache
def _volunteer(atoms: tuple[Atom, ...], domain: str, unasked: tuple[str, ...], number: int) -> int | None:
    """Return the action of these atoms and so many answers nobody has asked for; None where the list has none."""
    for slots in itertools.combinations(unasked, number):
        wanted = (*atoms, *(Atom(domain, "inform", s) for s in slots))
        index = action_list().index(*wanted)
        if set(action_list().templates[index]) == set(wanted):
            return index
    return None


def moment(seen: SystemNotes) -> Moment:
    """Return what there is to do: wait, hear constraints out, answer, or book."""
    name, index = seen.active, action_list().index
    domain, open_here = DOMAINS[name], [s for n, s in seen.open if n == name]
    if _booking(seen):
        return Moment("book", 0.0, {0: index(Atom(name, "book", "ref"))})
    info = tuple(sorted(s for n, s in seen.informed if n == name and s in domain.info))
    answered = [s for n, s in seen.answered if n == name]
    unasked = tuple(
        s for s in domain.reqt if s not in (*info, *answered, *open_here) and (name, s) not in seen.volunteered
    )
    constrained = any(item.kind == "inform" and item.slot in domain.info for item in seen.items)
    least: tuple[Atom, ...] = ()
    if open_here:
        chance, least = REQUESTED.get(name, REQUESTED_ELSEWHERE), (Atom(name, "inform", open_here[0]),)
    elif constrained and unasked and not answered:
        chance = nothing_more(name, info) * _first_question(name, len(unasked))
    else:
        return Moment("wait", 0.0, {0: index(REQMORE)})
    actions = {0: index(*(least or (REQMORE,)))}
    for number in range(1, MOVES):
        action = _volunteer(least, name, unasked, number)
        if action is not None:
            actions[number] = action
    return Moment("answer" if open_here else "hear", chance, actions)


def is_asked_often(domain: str) -> bool:
    """Return whether most users ask for each slot of the domain."""
    return REQUESTED.get(domain, REQUESTED_ELSEWHERE) > 0.5


def shrewd(seen: SystemNotes, rng: np.random.Generator) -> int:
    """Return `patient`, who knows what users of this world tend to want: the best hand policy for users 2 and 3.

    With what may be the last constraint it answers the likeliest question before it is asked, if that saves more
    than it costs: a slot too many costs 1, a question foreseen saves 2. Once more has been asked than the budget
    allows for (one question or booking a domain), it dares more. A taxi's two answers go together.
    """
    now, likely = moment(seen), is_asked_often(seen.active)
    before = {n for n, _ in (*seen.informed, *seen.answered)} - {seen.active}
    late = len(seen.answered) + len(seen.booked) > len(before)
    dares = now.kind == "hear" and now.chance > (0.3 if late else 0.5)
    more = 2 if dares and likely else 1 if dares or (now.kind == "answer" and likely) else 0
    return now.actions.get(more, now.actions[0])


def run_task_dialogue(policy: Policy, world: World) -> World:
    """Return the dialogue to its end."""
    while not world.over:
        world.act(policy(world.seen, world.rng))
    return world


def simulate_dialogues(policy: Policy, user: User | Sequence[User], number: int, seed: int = 42) -> Dialogues:
    """Return `number` dialogues; with several users they take turns."""
    users = [user] if isinstance(user, User) else list(user)
    dialogues: list[Dialogue] = []
    for i in range(number):
        world = World(users[i % len(users)], np.random.default_rng((seed, i)))
        dialogues.append(run_task_dialogue(policy, world).dialogue(f"{seed}-{i}"))
    return Dialogues(tuple(dialogues), action_list(), GOAL_NAMES, STATE_NAMES)
