"""The synthetic assistants: five habits, from which the plan of each reply is drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace

from perslib.worlds.lives import MODEL, Dice


@dataclass(frozen=True)
class Assistant:
    """A habit: typical levels of what a reply is made of, and how well it minds what the user said."""

    name: str
    voice: str
    levels: dict[str, float]
    chances: dict[str, float]


ASSISTANTS: tuple[Assistant, ...] = tuple(Assistant(**own) for own in MODEL["assistants"])
BY_NAME = {assistant.name: assistant for assistant in ASSISTANTS}


@dataclass(frozen=True)
class Plan:
    """What a reply is going to be, before it is written."""

    focus: str
    voice: str
    detail: int
    options: int
    tips: int
    layout: int
    thoughts: int
    filler: int
    limits: tuple[tuple[str, str], ...]  # constraint → "kept" | "silent" | "broken"
    off_topic: bool
    demand: str | None  # what the user asked to be improved
    heeded: bool

    def list_constraints(self, wanted: str) -> tuple[str, ...]:
        """Return the constraints that are kept, silent or broken."""
        return tuple(key for key, state in self.limits if state == wanted)


def _level(dice: Dice, mean: float, spread: float, low: int, high: int) -> int:
    return max(low, min(high, int(dice.normal(mean, spread) + 0.5)))


def plan_reply(
    assistant: Assistant,
    focus: str,
    due: list[str],
    demand: str | None,
    missed: str | None,
    others: list[str],
    dice: Dice,
) -> Plan:
    """Draw the plan of a reply: habits, moved by the user's demand if the assistant listens.

    `due` are the constraints that matter here, `missed` the one the user has just insisted on, `others`
    the topics it could drift to.
    """
    chances = assistant.chances
    heeded = demand is not None and dice.chance(chances["listens"])
    off_topic = demand is None and bool(others) and dice.chance(chances["drifts"])
    states = []
    for key in due:
        if key == missed and heeded:
            state = "kept"
        elif dice.chance(chances["breaks"] * (0.6 if demand else 1.0)):
            state = "broken"
        else:
            state = "kept" if dice.chance(chances["keeps"]) else "silent"
        states.append((key, state))
    drawn = Plan(
        focus=dice.pick(others) if off_topic else focus,
        voice=assistant.voice,
        **{name: _level(dice, assistant.levels[name], *own) for name, own in MODEL["levels"].items()},
        limits=() if off_topic else tuple(states),
        off_topic=off_topic,
        demand=demand,
        heeded=heeded,
    )
    changes = MODEL["heeded"].get(demand, {}) if heeded else {}
    improved = {
        name: min(most, max(least, getattr(drawn, name) + more)) for name, (more, least, most) in changes.items()
    }
    return replace(drawn, **improved)
