"""How the stages put their questions.

A session is shown to a model as numbered messages with what was noticed about each, within a budget.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from perslib.llm import Ask
from perslib.llm.structured.checked_questions import CheckedQuestion, ParsedReply, ask_and_check
from perslib.prompts import prompt
from perslib.systems.uxbench.construction.rules import Rules, clip_middle
from perslib.systems.uxbench.construction.sources import FilteredSession

ROOM = 250
"""Tokens that an answer takes for each case, and as many once; so that a small model that rambles comes to an end."""


def _bound_lists(schema: Mapping[str, Any] | None, most: int) -> Mapping[str, Any] | None:
    """Return a schema whose lists of objects have so many items at most."""
    if schema is None:
        return None
    properties = {
        name: {**own, "maxItems": min(most, own.get("maxItems", most))}
        if own.get("items", {}).get("type") == "object"
        else own
        for name, own in schema["properties"].items()
    }
    return {**schema, "properties": properties}


@dataclass
class QuestionSettings:
    """What all questions have in common."""

    rules: Rules
    language: str = "zh"
    prompts: str | Path | None = None

    async def put(
        self,
        ask: Ask,
        name: str,
        place: str,
        read: Callable[[Any], ParsedReply[Any]],
        *,
        about: int = 1,
        draw: int = 0,
        **fields: Any,
    ) -> ParsedReply[Any]:
        """Put the question of the prompt `uxc_<name>` about so many cases; where something is wrong, say so and ask
        again.

        There is room for an answer about each case, and lists in the answer are no longer than that room: a small model
        that is held to a schema would fill them.
        """
        stage = name.split("_")[0]
        request = prompt(f"uxc_{name}", self.language, self.prompts).render(**fields)
        request = replace(request, schema=_bound_lists(request.schema, about + (stage == "mine")))
        room = self.rules.room or min(request.max_tokens or ROOM, ROOM * (1 + about))
        request = replace(request, seed=self.rules.seed + draw, sample=draw, max_tokens=room)
        question = CheckedQuestion[Any](place, request, read)
        return (await ask_and_check([question], ask, f"ux {stage}", self.rules.attempts, self.rules.seed))[0]


def select_messages(talk: FilteredSession, about: Collection[int], rules: Rules) -> list[dict[str, Any]]:
    """Return the messages as {number, role, signals, seconds, text}; those nearest to the messages `about` are kept.

    `signals` are the names of what a reply met with, `seconds` the time since the message before, where it is known.
    """
    taken = {r.idx: r for r in talk.reactions}
    messages = [m for m in talk.session.messages if m.role in ("user", "assistant")]
    texts = {m.idx: clip_middle(m.text, rules.shown) for m in messages}
    left = rules.dialogue
    indices: set[int] = set()
    for message in sorted(messages, key=lambda m: (min(abs(m.idx - i) for i in about), m.idx)):
        left -= len(texts[message.idx])
        if left < 0 and indices:
            break
        indices.add(message.idx)
    lines: list[dict[str, Any]] = []
    before: float | None = None
    for message in messages:
        gap = None if before is None or message.t is None else message.t - before
        before = message.t
        if message.idx in indices:
            names = taken[message.idx].names if message.idx in taken else ()
            lines.append(
                {
                    "number": message.idx,
                    "role": message.role,
                    "signals": ", ".join(dict.fromkeys(names)),
                    "seconds": "" if gap is None or gap < 0 else str(round(gap)),
                    "text": texts[message.idx],
                }
            )
    return lines
