"""What a person of a synthetic PAL-Set talks about: frameworks, candidate solutions, verdicts on them, dialogues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perslib.corpus.palset_names import ASSISTANT_ACTIONS, USER_ACTIONS
from perslib.corpus.synthetic.draws import Dice
from perslib.corpus.synthetic.palset_grammar import Part, Step, draw_plan
from perslib.corpus.synthetic.palset_life import Person
from perslib.corpus.synthetic.palset_months import Raised


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
