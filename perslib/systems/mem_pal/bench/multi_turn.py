"""Multi-turn interaction (Mem-PAL, section 5.4): a simulated user talks with an assistant that has a memory.

The template says what each turn does. It is fixed beforehand and the same for all methods:

    (inquiry, predict) (confirm, predict) (confirm, propose) [discuss, discuss] (feedback, propose)
                                                             [discuss, discuss] (feedback, respond)

Each of the two solutions is talked over with probability ½: four patterns, of five to seven turns. A dialogue ends with
its template.

The user knows the needs while they are asked about, and the preferences while
solutions are; the assistant knows the memory and what was said. What is looked up in the memory is a summary of the
requirement so far, written by the assistant's model; the closing line needs nothing new and goes by the last one. A
memory whose content does not depend on a query gets none. Where no summary comes, the user's last words are looked up.

User and assistant may be different models; dialogues go on side by side. A line that a model
does not give even when asked again ends its dialogue, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd

from perslib.corpus.files.reading import read_json
from perslib.errors import DataError, Problem
from perslib.llm import Ask, Backbone
from perslib.llm.structured.checked_questions import CheckedQuestion, ask_checked, read_text
from perslib.prompts import PromptSettings
from perslib.systems.mem_pal.bench.tasks import (
    Spent,
    ask_one,
    build_session_stores,
    group_pieces,
    run_with_costs,
    spent_on,
)
from perslib.systems.mem_pal.bench.topics import BenchUser, Scene
from perslib.systems.mem_pal.loaders import palset_records
from perslib.systems.mem_pal.memory.long_term import LongTermMemory, MemorySession, Purpose, Store

ROLES = ("user", "assistant")
#: (what the user does, what the assistant does), turn by turn.
Template = tuple[tuple[str, str], ...]


def make_dialogue_template(first: bool, second: bool) -> Template:
    """Return the turns where the first solution, and the second, is talked over or not."""
    discuss: Template = (("solution_discussion", "solution_discussion"),)
    return (
        ("topic_inquiry", "requirement_prediction"),
        ("requirement_confirmation", "requirement_prediction"),
        ("requirement_confirmation", "solution_proposal"),
        *discuss * first,
        ("solution_feedback", "solution_proposal"),
        *discuss * second,
        ("solution_feedback", "feedback_response"),
    )


PATTERNS: tuple[Template, ...] = tuple(make_dialogue_template(a, b) for a in (False, True) for b in (False, True))


def draw_templates(ids: Iterable[str], seed: int = 42) -> dict[str, Template]:
    """Return a pattern for each dialogue, each as likely; a dialogue's own does not depend on which others there are."""
    return {id: Random(f"{seed}/{id}").choice(PATTERNS) for id in ids}


def read_templates(path: str | Path) -> dict[str, Template]:
    """Return templates as published: `{id: {"turn_1": {"user": "<action>", "assistant": …}, …}}`, in either language."""
    path, remedy = Path(path), "See perslib.systems.mem_pal.bench.read_templates."
    content, wrong = read_json(path, dict, "templates by dialogue", remedy), []
    templates: dict[str, Template] = {}
    for id, turns in content.items():
        try:
            ordered = sorted(turns.items(), key=lambda item: int(re.sub(r"\D", "", item[0])))
            actions = [tuple(palset_records.action(role, turn[role]) or "" for role in ROLES) for _, turn in ordered]
        except (ValueError, AttributeError, TypeError, KeyError):
            actions = []
        if not actions or any("" in pair for pair in actions):
            wrong.append(Problem(f"{path.name} {id}", "has turns that name no actions of the paper"))
        templates[id] = tuple((user, assistant) for user, assistant in actions)
    if wrong:
        raise DataError(wrong, remedy)
    return templates


#: While the user does these, needs are talked about; otherwise solutions.
ABOUT_NEEDS = ("topic_inquiry", "requirement_confirmation")
CLOSING = "feedback_response"


@dataclass(frozen=True)
class BenchExchange:
    """One exchange, and what was looked up for it."""

    user: str
    assistant: str = ""
    query: str = ""
    spent: Spent = field(default_factory=partial(spent_on, ()))
    """What the assistant's side took."""
    user_spent: Spent = field(default_factory=partial(spent_on, ()))


@dataclass(frozen=True)
class BenchDialogue:
    """A dialogue as far as it went; `error` says why it did not reach the end of its template."""

    method: str
    scene: Scene
    template: Template
    memory: LongTermMemory
    store: Store
    session: MemorySession
    lines: tuple[BenchExchange, ...] = ()
    error: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to be said."""
        return self.error is not None or len(self.lines) == len(self.template)

    def messages_so_far(self) -> list[dict[str, str]]:
        """Return the messages so far."""
        return [
            {"role": role, "content": text}
            for line in self.lines
            for role, text in (("user", line.user), ("assistant", line.assistant))
            if text
        ]


def start_dialogues(
    memories: Sequence[LongTermMemory],
    people: Sequence[BenchUser],
    backbone: Backbone,
    templates: Mapping[str, Template] | None = None,
    seed: int = 42,
) -> list[BenchDialogue]:
    """Return the dialogues to hold: every topic with every memory, as it stands before the session's dialogue."""
    ids = [scene.topic.id for person in people for scene in person.scenes]
    templates = draw_templates(ids, seed) if templates is None else templates
    if missing := [id for id in ids if id not in templates]:
        raise DataError(
            Problem(missing[0], f"has no template, nor have {len(missing) - 1} other dialogues"),
            "Give templates for all topics, or none to have them drawn.",
        )
    pairs = list(product(memories, people))
    stores = backbone.map(lambda pair, ask: build_session_stores(*pair, ask), pairs)
    return [
        BenchDialogue(memory.name, scene, templates[scene.topic.id], memory, store, session.before())
        for (memory, person), own in zip(pairs, stores, strict=True)
        for store, session in zip(own, person.query)
        for scene in person.of(session)
    ]


def run_dialogues(
    dialogues: Sequence[BenchDialogue], user: Backbone, assistant: Backbone, form: PromptSettings | None = None
) -> list[BenchDialogue]:
    """Return the dialogues, held to the end of their templates.

    Where one model plays both, no dialogue waits for another; with two, all take their next turn together.
    """
    form, held = form or PromptSettings(), list(dialogues)
    if user is assistant:
        return user.map(partial(run_dialogue, form=form), held)
    while open_ := [i for i, dialogue in enumerate(held) if not dialogue.is_over]:
        for model, turn in ((user, user_turn), (assistant, assistant_turn)):
            due = [i for i in open_ if not held[i].error]
            turns = model.map(partial(turn, form=form), [held[i] for i in due])
            for i, dialogue in zip(due, turns, strict=True):
                held[i] = dialogue
    return held


async def run_dialogue(dialogue: BenchDialogue, ask: Ask, form: PromptSettings) -> BenchDialogue:
    """Return one dialogue to its end, user and assistant by turns."""
    while not dialogue.is_over:
        dialogue = await user_turn(dialogue, ask, form)
        if not dialogue.error:
            dialogue = await assistant_turn(dialogue, ask, form)
    return dialogue


async def user_turn(dialogue: BenchDialogue, ask: Ask, form: PromptSettings) -> BenchDialogue:
    """Return the dialogue with what the user says next."""
    turn, scene = len(dialogue.lines) + 1, dialogue.scene
    action = dialogue.template[turn - 1][0]
    known: dict[str, Any] = {"query": "", "needs": [], "preferences": [], "solutions": []}
    if action in ABOUT_NEEDS:
        known |= {"query": scene.topic.query, "needs": scene.needs}
    else:
        known |= {"preferences": scene.preferences, "solutions": scene.solutions}
    known |= {"profile": format_profile(scene.profile), "situation": scene.situation}
    known |= {"requirement": scene.topic.requirement, "conversation": dialogue.messages_so_far()}
    request = form.make_request("pal_user", turn=turn, action=action, **known)
    asked = partial(ask_checked, f"{scene.topic.id}_{turn}: user", request, read_text("content"))
    (utterance, lost), spent = await run_with_costs(asked, ask, "user")
    if not utterance:
        return replace(dialogue, error=lost[0])
    return replace(dialogue, lines=(*dialogue.lines, BenchExchange(utterance, user_spent=spent)))


async def assistant_turn(dialogue: BenchDialogue, ask: Ask, form: PromptSettings) -> BenchDialogue:
    """Return the dialogue with the assistant's reply to what the user has just said."""
    number = len(dialogue.lines)
    action, last = dialogue.template[number - 1][1], dialogue.lines[-1]
    place = f"{dialogue.scene.topic.id}_{number}"

    async def reply(ask: Ask) -> tuple[str | None, tuple[str, ...], str]:
        looks_up = getattr(dialogue.memory, "looks_up", True)
        wanted = await _summary(dialogue, action, form, place, ask) if looks_up else ""
        purpose: Purpose = "requirement" if action == "requirement_prediction" else "solution"
        pieces = dialogue.memory.recall_within_budget(dialogue.store, dialogue.session, wanted, purpose)
        request = form.make_request(
            "pal_assistant",
            blocks=group_pieces(pieces),
            conversation=dialogue.messages_so_far(),
            turn=number,
            action=action,
        )
        return *await ask_checked(f"{place}: assistant", request, read_text("content"), ask), wanted

    (utterance, lost, wanted), spent = await run_with_costs(reply, ask, "assistant")
    line = replace(last, assistant=utterance or "", query=wanted, spent=spent)
    error = None if utterance else lost[0]
    return replace(dialogue, lines=(*dialogue.lines[:-1], line), error=error)


async def _summary(dialogue: BenchDialogue, action: str, form: PromptSettings, place: str, ask: Ask) -> str:
    """Return what to look up: the requirement so far, else the user's last words."""
    earlier = [line.query for line in dialogue.lines[:-1] if line.query]
    if action == CLOSING and earlier:
        return earlier[-1]
    request = form.make_request("pal_summary", conversation=dialogue.messages_so_far())
    reading = await ask_one(CheckedQuestion(f"{place}: summary", request, read_text("requirement")), ask)
    return reading.value or dialogue.lines[-1].user


def format_profile(profile: Mapping[str, Any]) -> dict[str, Any]:
    """Return a profile as the prompts take it: texts, numbers, lists, and traits with their levels."""
    return {str(key): value for key, value in profile.items() if value not in (None, "", [], {})}


def as_frame(dialogues: Sequence[BenchDialogue]) -> pd.DataFrame:
    """Return one row an exchange: method, user, session, topic, turn (from 1), what both do and said, what was looked
    up, error (on the last row of a dialogue that broke off), and what user and assistant took.
    """
    rows = []
    for d in dialogues:
        for n, (line, (asks, replies)) in enumerate(zip(d.lines or (BenchExchange(""),), d.template), start=1):
            about = {"method": d.method, **d.scene.topic.key, "turn": n}
            about |= {"user_action": asks, "assistant_action": replies, "user_said": line.user or None}
            about |= {"assistant_said": line.assistant or None, "query": line.query or None}
            about |= {"error": d.error if n == max(1, len(d.lines)) else None}
            rows.append(about | line.spent | {f"user_{key}": value for key, value in line.user_spent.items()})
    return pd.DataFrame(rows)
