"""Sessions as what is judged: one score for a whole conversation (PersTurnBench, appendix F, on URS).

`by_session(corpus)` makes of a corpus whose sessions are rated one whose *turns* are those sessions: the
request that opened the conversation, and all that followed as the "reply" to it. So blocks stay leak-proof,
memories are built from rated sessions of the user's other scenarios, and every judge, calibrator and metric
works as on turns. The five judges of Table 7 are `session_judges`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import SESSION, Block, Corpus, Target, by_reply
from perslib.corpus.scale import find_corpus_scale
from perslib.errors import DataError, Problem
from perslib.judge.asking.settings import AskingJudge, JudgeSettings
from perslib.judge.base import Judge, JudgeInputs, Verdict
from perslib.llm import Ask
from perslib.memory import MemorySystem, Structured, select_profile_fields
from perslib.memory.structured import truncate_text
from perslib.prompts import read_phrases
from perslib.prompts.library import keep_last_characters
from perslib.text import LANGUAGES

#: Characters shown of each message, and of the whole conversation (its end).
MESSAGE, CONVERSATION = 400, 12_000


def by_session(corpus: Corpus) -> Corpus:
    """Return the corpus with one turn a session, scored by the session's satisfaction (rounded in `score`, halves to
    even).

    Sessions in which nobody replied are no turn; scores and reasons of single replies are not in it.
    """
    rated = corpus.sessions["satisfaction"]
    if rated.isna().all():
        raise DataError(
            Problem(f"{corpus.name}: sessions", "no session is rated, so there is nothing to judge by session"),
            "This needs ratings of whole conversations, such as URS has, in the column 'satisfaction'.",
        )
    own = corpus.sessions.assign(score=rated.round().clip(1, 5).astype("Int64"))
    scale = find_corpus_scale(corpus.meta, "session_scale")
    keeps = (rated % 1 > 0) | (not scale.is_five)
    given = rated.astype("Float64").where(keeps)
    own["given"] = pd.array(scale.from_five(given.to_numpy(float, na_value=np.nan)), "Float64")
    first = corpus.turns.groupby(SESSION)["turn"].transform("min")  # some count turns from 1
    opening = corpus.turns[corpus.turns["turn"] == first].filter([*SESSION, "turn", "request", "earlier", "family"])
    turns = opening.merge(own[[*SESSION, "score", "given"]], on=SESSION, how="left", sort=False)
    asked = turns["earlier"].map(len) + turns["request"].notna()
    keys = turns[SESSION].itertuples(index=False, name=None)
    conversations = [corpus.messages(*key)[first:] for key, first in zip(keys, asked)]
    sessions = corpus.sessions.assign(trailing=pd.Series([()] * len(own), index=own.index, dtype=object))
    return Corpus(
        f"{corpus.name} by session",
        corpus.language,
        corpus.users,
        sessions,
        turns.assign(response=[format_conversation(messages, corpus.language) for messages in conversations]),
        corpus.events,
        meta=corpus.meta | ({"scale": asdict(scale)} if "session_scale" in corpus.meta else {}),
    )


def arrange_by_rating_level(corpus: Corpus) -> Corpus:
    """Return the corpus as its people rated it: every reply where they rated several to a request, and by session where
    they rated whole conversations and no single reply.
    """
    return arrange_conversations(by_reply(corpus))


def arrange_conversations(corpus: Corpus) -> Corpus:
    """Return the corpus; by session where people rated whole conversations and no single reply."""
    if corpus.turns["score"].notna().any() or corpus.sessions["satisfaction"].isna().all():
        return corpus
    whole = by_session(corpus)
    return replace(
        whole, sessions=whole.sessions.assign(satisfaction=None), meta={**whole.meta, "judged": "conversations"}
    )


def format_conversation(messages: Sequence[dict[str, str]], language: str) -> str:
    """Return a conversation as one text."""
    speakers = read_phrases("speakers", language)
    return "\n".join(
        line
        for message in messages
        for line in (speakers[message["role"]], *("  " + part for part in message["content"].split("\n")))
    )


def conversation(target: Target) -> list[dict[str, str]]:
    """Return the messages of a session that `by_session` made a target; of any other target, those up to its reply."""
    messages: list[tuple[str, list[str]]] = []
    roles = {heading: role for language in LANGUAGES for role, heading in read_phrases("speakers", language).items()}
    for line in target.response.split("\n"):
        if line in roles:
            messages.append((roles[line], []))
        elif messages and line.startswith("  "):
            messages[-1][1].append(line[2:])
        else:  # not written by `format_conversation`
            return [*target.prefix, {"role": "assistant", "content": target.response}]
    return [*target.prefix, *({"role": role, "content": "\n".join(lines)} for role, lines in messages)]


class SessionJudge(AskingJudge):
    """Judges whole sessions of a corpus made `by_session`.

    `calibrated` describes the five scores so that small faults do not cost the 4 nor perfection is needed for
    a 5; `guarded` adds what counts in this kind of task, what rules out a 4, and that the conversation goes
    before the memory.
    """

    def __init__(
        self,
        memory: MemorySystem | None = None,
        settings: JudgeSettings | None = None,
        *,
        calibrated: bool = False,
        guarded: bool = False,
        name: str | None = None,
    ):
        self.memory, self.settings = memory, settings or JudgeSettings()
        self.calibrated, self.guarded = calibrated, guarded
        parts = ["guarded"] * guarded + ["calibrated"] * calibrated
        parts += [f"{memory.name} memory"] if memory else []
        self.name = name or f"session, {', '.join(parts) or 'direct'}"
        self.inputs = JudgeInputs(True, True, True, history=memory is not None, train=self.learns, model=True)

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Build the memory, if there is to be one, then one question a session."""
        memory = None if self.memory is None else await self.memory.build(block, ask)
        known = None if memory is None or memory.is_empty else memory
        fields: dict[str, Any] = {
            "profile": select_profile_fields(block.profile, "published"),
            "counts": list(known.counts) if known else [],
            "average": known.average if known else 0.0,
            "calibrated": self.calibrated,
            "guarded": self.guarded,
            "written": self.settings.with_rationale,
        }
        questions = [
            {**fields, **self._make_fields(target), "memory": known.recall(target) if known else ""} for target in block
        ]
        verdicts = await self.settings.ask("judge_session", questions, ask)
        return [replace(verdict, memory=memory.state if memory else None) for verdict in verdicts]

    def _make_fields(self, target: Target) -> dict[str, Any]:
        messages = [{**m, "content": truncate_text(m["content"], MESSAGE)} for m in conversation(target)]
        shown = keep_last_characters(messages, CONVERSATION)
        return {"scenario": target.scenario, "task": target.task, "conversation": shown}


def session_judges(settings: JudgeSettings | None = None, memory: MemorySystem | None = None) -> list[Judge]:
    """Return the rows of Table 7: direct, calibrated, structured memory, calibrated memory, task-guarded.

    Without a `memory` of one's own it is the structured one over all sessions that a budget of tokens holds,
    since the published cut of 200 characters leaves little of a conversation.
    """
    settings = settings or JudgeSettings()
    memory = memory or Structured(settings.language, evidence="full", prompts=settings.prompts)
    return [
        SessionJudge(None, settings, name="session, direct"),
        SessionJudge(None, settings, calibrated=True, name="session, calibrated"),
        SessionJudge(memory, settings, name="session, memory"),
        SessionJudge(memory, settings, calibrated=True, name="session, calibrated memory"),
        SessionJudge(memory, settings, calibrated=True, guarded=True, name="session, task-guarded"),
    ]
