"""The synthetic assistants: five habits, from which the plan of each reply is drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace

from perslib.corpus.synthetic.draws import Dice


@dataclass(frozen=True)
class Assistant:
    """A habit: typical levels of each quality, and how well it minds what the user said."""

    name: str
    voice: str
    detail: float  # 0–4: concrete facts an option or step carries
    options: float  # 1–5: alternatives offered
    tips: float  # 0–3: advice that can be acted on
    layout: float  # 0–3: prose, numbered, bullets, headings and a table
    thoughts: float  # sentences of reasoning about the matter
    filler: float  # sentences that say little
    keeps: float  # chance to confirm a constraint
    breaks: float  # chance to violate one
    listens: float  # chance to act on what the user complained about
    drifts: float  # chance to answer something else


ASSISTANTS: tuple[Assistant, ...] = (
    Assistant("aster-large", "warm", 3.2, 3.0, 2.4, 2.5, 4.0, 1.4, 0.86, 0.04, 0.90, 0.02),
    Assistant("brook-mini", "brisk", 1.7, 1.9, 1.3, 0.8, 1.4, -0.6, 0.58, 0.09, 0.75, 0.04),
    Assistant("cedar-chat", "warm", 1.1, 2.3, 0.6, 1.5, 3.2, 2.4, 0.50, 0.12, 0.55, 0.08),
    Assistant("delta-plus", "plain", 2.5, 4.2, 1.7, 2.1, 3.0, 0.4, 0.74, 0.07, 0.80, 0.03),
    Assistant("ember-fast", "plain", 2.4, 2.6, 1.6, 1.8, 2.7, 0.4, 0.36, 0.38, 0.60, 0.05),
)
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


def _level(mean: float, spread: float, low: int, high: int, dice: Dice) -> int:
    return max(low, min(high, int(dice.normal(mean, spread) + 0.5)))


def plan(
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
    heeded = demand is not None and dice.chance(assistant.listens)
    off_topic = demand is None and bool(others) and dice.chance(assistant.drifts)
    states = []
    for key in due:
        if key == missed and heeded:
            state = "kept"
        elif dice.chance(assistant.breaks * (0.6 if demand else 1.0)):
            state = "broken"
        else:
            state = "kept" if dice.chance(assistant.keeps) else "silent"
        states.append((key, state))
    drawn = Plan(
        focus=dice.pick(others) if off_topic else focus,
        voice=assistant.voice,
        detail=_level(assistant.detail, 0.85, 0, 4, dice),
        options=_level(assistant.options, 0.85, 1, 5, dice),
        tips=_level(assistant.tips, 0.8, 0, 3, dice),
        layout=_level(assistant.layout, 0.7, 0, 3, dice),
        thoughts=_level(assistant.thoughts, 0.8, 0, 5, dice),
        filler=_level(assistant.filler, 0.8, 0, 4, dice),
        limits=() if off_topic else tuple(states),
        off_topic=off_topic,
        demand=demand,
        heeded=heeded,
    )
    return _improved(drawn) if heeded else drawn


def _improved(drawn: Plan) -> Plan:
    changes: dict[str, dict[str, int]] = {
        "detail": {"detail": min(4, max(3, drawn.detail + 1))},
        "diversity": {"options": min(5, max(4, drawn.options + 1))},
        "practicality": {"tips": 3},
        "format": {"layout": min(3, max(2, drawn.layout + 1))},
        "brevity": {
            "options": min(2, drawn.options),
            "filler": 0,
            "thoughts": 0,
            "tips": min(1, drawn.tips),
            "detail": min(2, drawn.detail),
        },
        "length": {
            "thoughts": 5,
            "options": min(5, drawn.options + 1),
            "detail": min(4, drawn.detail + 1),
            "tips": min(3, drawn.tips + 1),
        },
    }
    return replace(drawn, **changes.get(drawn.demand or "", {}))  # type: ignore[arg-type]
