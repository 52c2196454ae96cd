"""Candidates: models that answer replayed turns anew (PersTurnBench, section 5).

    qwen = Candidate("qwen-8b", context="tfidf", language="zh")
    replies = generate_replies(qwen, corpus, turns, backbone("vllm-qwen3-8b"))

A candidate gets the conversation up to the turn as real chat messages, and before it the system message that its
context writes. The turns of a block are asked together, in the order in which they were said, so that a backbone
that keeps prompt prefixes reads what they share once.
"""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from perslib.corpus import TURN, Block, Corpus, coerce
from perslib.errors import DataError, Problem, check_names
from perslib.judge.base import SPENT
from perslib.llm import Answer, Ask, Backbone, Request
from perslib.llm.answerers.choice import sample_units
from perslib.llm.backbone import WorkOptions as Display
from perslib.memory import MemorySystem
from perslib.prompts import list_languages
from perslib.replay.contexts import Context, ContextMessage, make_context
from perslib.replay.replies import blocks_of, known_turns

NO_REQUEST = "not asked: the conversation up to this turn does not end with a message of the user"


@dataclass(frozen=True)
class Candidate:
    """How a model is asked for replies; with the defaults as in PersTurnBench's main track."""

    name: str | None = None
    """None: the backbone's name, and the context's where it is not `prefix`. Two candidates that differ in anything else
    (temperature, system, window, …) and are to be compared need names of their own."""
    context: str | MemorySystem | Context = "prefix"
    """A registered context (`perslib.replay.context`), a memory, or an object of either kind."""
    language: str = "en"
    """Language of the prompts."""
    temperature: float = 0.7
    max_tokens: int = 1024
    seed: int | None = 42
    system: str | None = None
    """Words of your own, before those of the context."""
    window: int | None = None
    """Messages of the conversation that are sent; None for all."""
    _: KW_ONLY
    family: str | None = None
    """Model family, to see whether a judge prefers its own; None: by the model's name."""
    prompts: str | Path | None = None
    """A folder with prompts of your own."""
    shows: Context = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_names("prompt language", self.language, list_languages(self.prompts))
        object.__setattr__(self, "shows", make_context(self.context, self.language, self.prompts))
        if not (isfinite(self.temperature) and self.temperature >= 0):
            raise DataError(Problem("temperature", f"is {self.temperature}, expected a number from 0"))
        for name in ("max_tokens", "window"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise DataError(Problem(name, f"is {value}, expected 1 or more"))

    def name_with(self, backbone: str) -> str:
        """Return the candidate's name with this backbone."""
        usual = backbone if self.shows.name == "prefix" else f"{backbone} · {self.shows.name}"
        return self.name or usual

    async def reply(self, block: Block, ask: Ask) -> list[dict[str, Any]]:
        """Return what it answers to the targets of a block: one row of the replies frame each, who answers left out."""
        given = self.shows.hide_labels(block)
        settings = {name: getattr(self, name) for name in ("temperature", "max_tokens", "seed")}
        requests, rows = [], []
        for target, shown in zip(given, await self.shows.show(given, ask), strict=True):
            shown = shown if target.request is not None else ContextMessage()
            shown = replace(shown, system="\n\n".join(filter(None, (self.system, shown.system))) or None)
            key = {column: getattr(target, column) for column in TURN}
            rows.append({**key, **settings, "context": self.shows.name, **vars(shown), "error": NO_REQUEST})
            if target.request is not None:
                system = [{"role": "system", "content": shown.system}] if shown.system else []
                prefix = target.prefix if self.window is None else target.window(self.window)
                messages = [*system, *map(dict, prefix)]
                # brief: a reply that was cut counts, for the user would have seen it
                requests.append(Request(messages, **settings, prompt=shown.prompt, brief=True))
        answers = await ask(requests, "candidate") if requests else ()
        asked = [row for target, row in zip(given, rows) if target.request is not None]
        for row, answer in zip(asked, answers, strict=True):
            row |= _read_answer(answer)
        return rows


def generate_replies(
    candidate: Candidate, corpus: Corpus, replay_turns: pd.DataFrame, backbone: Backbone, **display: Unpack[Display]
) -> pd.DataFrame:
    """Return a candidate's replies to the replayed turns: the replies frame, in the order of `replay_turns`.

    A turn that got no reply keeps its row, and `error` says why. `records` lists the user's earlier turns that the
    system message rests on. `cap` bounds what the backbone may cost; what was answered is kept in the cache.
    """
    turns = known_turns(corpus, replay_turns)
    asked, display["stands_for"] = sample_units(turns["user"])
    blocks = (block for block, _ in blocks_of(corpus, turns[turns["user"].isin(asked)]))
    display["totals"] = {"candidate": len(turns)}
    replies = backbone.map(candidate.reply, blocks, **display)
    rows = pd.DataFrame(
        [row for of_block in replies for row in of_block], columns=None if replies else [*TURN, "records"]
    )
    whose = {
        "candidate": candidate.name_with(backbone.name),
        "backbone": backbone.name,
        "family": candidate.family or family_of(backbone.model),
    }
    answered = coerce(rows.assign(**whose), "replies")
    every = turns[TURN].merge(answered, on=TURN, how="left", validate="1:1").assign(**whose)
    if len(answered) < len(every):  # in a dry run a sample was asked: the rest gets what the first of it got
        every = every.fillna({name: answered[name].iloc[0] for name in ("response", "context")})
    return coerce(every, "replies")


def family_of(model: str) -> str | None:
    """Return the family that a model's name begins with: `Qwen/Qwen3-8B` → qwen, `gpt-5.5` → gpt."""
    first = re.search(r"[^\W\d_]+", model.rsplit("/", 1)[-1])
    return first[0].lower() if first else None


def _read_answer(answer: Answer) -> dict[str, Any]:
    text = remove_code_fence(answer.text)
    error = answer.error
    if error is None and not text.strip():
        cut = answer.finish == "length"
        error = "the reply is empty" + (": it was cut before anything was said" if cut else "")
    return {
        "response": None if error else text,
        "error": error,
        "finish": answer.finish or None,
        **{name: getattr(answer, name) for name in SPENT},
    }


def remove_code_fence(text: str) -> str:
    """Return a reply without the code fence around all of it; fences within, and ones that end earlier, stay."""
    lines = text.strip().split("\n")
    opening = re.fullmatch(r"(`{3,}|~{3,})[^`\n]*", lines[0])
    if opening is None or len(lines) < 2 or lines[-1].strip() != opening[1]:
        return text
    depth = 1
    for line in lines[1:-1]:
        if line.strip() == opening[1]:
            depth -= 1
        elif line.lstrip().startswith(opening[1]):
            depth += 1
        if not depth:
            return text
    return "\n".join(lines[1:-1])
