"""What a candidate is shown beside the conversation it goes on with (PersTurnBench, section 5 and appendix G).

    prefix              the messages alone, no system message (the paper's `raw`)
    task                the background of the task
    profile             six fields of what the user told about themselves
    tfidf               the four of the user's other exchanges that resemble the request most
    diverse             four as well, in turns from each of the other scenarios
    structured          what a structured memory says of this user, written without scores

Any other memory system of `perslib.memory` that can do without scores is a context, too, `memory: …` with its name.

No context can pass on a label: all of them get the block from `Context.hide_labels`, which has none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from perslib.corpus import Block
from perslib.errors import PerslibError, PromptError, UnknownName
from perslib.llm import Ask
from perslib.memory import (
    MemorySystem,
    Retrieval,
    ScoreCountSystem,
    is_memory,
    make_memory,
    select_profile_fields,
    turn_id,
)
from perslib.memory import memory as memories
from perslib.memory.retrieval import DIALOGUES, list_messages_before
from perslib.memory.structured import truncate_text
from perslib.prompts import prompt
from perslib.registry import Registry

#: Exchanges shown, messages before each reply, and characters of a message (half of 700) and of the reply.
RECORDS, BEFORE, MESSAGE, REPLY = 4, 4, 350, 700


@dataclass(frozen=True)
class ContextMessage:
    """What one target's candidate is told beforehand."""

    system: str | None = None
    """The system message; None for none."""
    prompt: str | None = None
    """Name, version and digest of the prompt it was made with."""
    memory: str | None = None
    """What of the user it holds, or why it holds nothing."""
    records: tuple[str, ...] = ()
    """Ids (`scenario/session/turn`) of the user's earlier turns that it rests on."""


class Context:
    """A way to brief candidates. `hide_labels` gives all it ever learns of a block."""

    name: str
    sees_profile = False

    def __init__(self, language: str = "en", prompts: str | Path | None = None):
        self.language, self.prompts = language, prompts

    def hide_labels(self, block: Block) -> Block:
        """Return the block without labels and recorded replies; of the profile six fields where it is shown, else
        nothing.
        """
        fields: Literal["published", "none"] = "published" if self.sees_profile else "none"
        return replace(block.hide_labels(), profile=select_profile_fields(block.profile, fields))

    async def show(self, block: Block, ask: Ask) -> list[ContextMessage]:
        """Return what is shown for each target of the block."""
        return [ContextMessage()] * len(block)

    def render_message(self, name: str, **fields: Any) -> ContextMessage:
        """Return what a prompt of this name says."""
        request = prompt(name, self.language, self.prompts).render(**fields)
        if [message["role"] for message in request.messages] != ["system"]:
            raise PromptError(f"{request.prompt}: the conversation follows, so this prompt has # system alone")
        return ContextMessage(request.messages[0]["content"], request.prompt)


context: Registry[Context] = Registry("context")
"""The contexts that have a name; `@context("name")` registers one."""


@context("prefix")
class Prefix(Context):
    """Nothing but the conversation."""

    name = "prefix"


@context("task")
class TaskContext(Context):
    """The background of the task."""

    name = "task"

    async def show(self, block: Block, ask: Ask) -> list[ContextMessage]:
        """Return the task of each target's session."""
        return [
            self.render_message("candidate_task", task=t.task) if t.task else ContextMessage(memory="no task")
            for t in block
        ]


@context("profile")
class Profile(Context):
    """What the user told about themselves, as far as PersTurnBench shows it."""

    name = "profile"
    sees_profile = True

    async def show(self, block: Block, ask: Ask) -> list[ContextMessage]:
        """Return the same for all targets."""
        known = any(value not in (None, "", [], ()) for value in block.profile.values())
        shown = (
            self.render_message("candidate_profile", profile=block.profile)
            if known
            else ContextMessage(memory="no profile")
        )
        return [shown] * len(block)


@context("tfidf")
class RetrievalContext(Context):
    """Raw exchanges from the user's other scenarios that resemble what is asked now, without their scores."""

    name = "tfidf"
    strategy: Literal["topk", "diverse"] = "topk"

    async def show(self, block: Block, ask: Ask) -> list[ContextMessage]:
        """Index the block's history and look up every target."""
        retrieval = Retrieval(DIALOGUES, among="all")
        history = retrieval.history(block)
        if history.empty:
            return [ContextMessage(memory=f"{self.name}, no history")] * len(block)
        before, rows, shown = list_messages_before(history, BEFORE), history.to_dict("records"), []
        for near in retrieval.nearest(block, RECORDS, self.strategy):
            records = [_record(n, rows[i], before[i]) for n, (i, _) in enumerate(near, 1)]
            ids = tuple(turn_id(*(rows[i][c] for c in ("scenario", "session", "turn"))) for i, _ in near)
            shown.append(
                replace(self.render_message("candidate_records", records=records), memory=self.name, records=ids)
            )
        return shown


@context("diverse")
class DiverseContext(RetrievalContext):
    """The same, in turns from each of the other scenarios."""

    name = "diverse"
    strategy = "diverse"


class MemoryContext(Context):
    """What a memory system makes of the user's other scenarios when it gets no label."""

    def __init__(self, memory: MemorySystem, language: str = "en", prompts: str | Path | None = None):
        super().__init__(language, prompts)
        if isinstance(memory, ScoreCountSystem):
            raise _speechless(memory.name)
        self.memory, self.name = memory, f"memory: {memory.name}"

    async def show(self, block: Block, ask: Ask) -> list[ContextMessage]:
        """Build the memory; it sees none of the block's targets."""
        memory = await self.memory.build(replace(block, targets=block.targets.iloc[:0]), ask)
        past, recalled = not block.evidence.empty, [memory.recall(target) for target in block]
        if past and memory.error is None and not memory.statements and not any(recalled):
            raise _speechless(memory.system)
        lack = (memory.error or "nothing that bears on this turn") if past else "no history"
        nothing = ContextMessage(memory=f"{memory.system}, {lack}")
        return [
            replace(
                self.render_message("candidate_memory", memory=of),
                memory=memory.system,
                records=memory.list_cited_turns(target),
            )
            if of
            else nothing
            for of, target in zip(recalled, block)
        ]


def make_context(
    which: str | MemorySystem | Context, language: str = "en", prompts: str | Path | None = None, **memory: Any
) -> Context:
    """Make the context of this name, or the one that shows what a memory writes; `memory` are that one's options."""
    if isinstance(which, Context):
        return which
    if isinstance(which, str) and which in context:
        return context.make(which, language=language, prompts=prompts)
    if isinstance(which, str):
        name = which.removeprefix("memory: ")
        if not is_memory(name):
            raise UnknownName("context", which, [*context, *memories])
        which = make_memory(name, language, prompts=prompts, **memory)
    return MemoryContext(which, language, prompts)


def _record(number: int, row: dict[str, Any], before: tuple[dict[str, str], ...]) -> dict[str, Any]:
    task = row["task"]
    return {
        "id": number,
        "scenario": row["scenario"],
        "task": "" if pd.isna(task) else truncate_text(task, MESSAGE),
        "turn": int(row["turn"]) + 1,
        "context": [{**message, "content": truncate_text(message["content"], MESSAGE)} for message in before],
        "reply": truncate_text(row["response"], REPLY),
    }


def _speechless(system: str) -> PerslibError:
    return PerslibError(
        f"The memory system {system!r} says nothing where scores are left out, and candidates never see scores; "
        "take one that writes from what was said, Structured(), or the context 'tfidf' or 'diverse'."
    )
