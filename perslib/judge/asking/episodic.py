"""The episodic judge: a model compares the reply with similar replies that the same user has scored.

PersTurnBench's prompted retrieval baseline ("RAG prompted scorer" of Table 2, prompt in appendix H.4). What is
retrieved is raw history, no summary of it; for each reply anew, by `perslib.memory.Retrieval`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from perslib.corpus import Block, Target
from perslib.errors import DataError, Problem
from perslib.judge.asking.scores import read_score_verdict
from perslib.judge.asking.settings import AskingJudge, JudgeSettings
from perslib.judge.base import JudgeInputs, Verdict
from perslib.llm import Answer, Ask
from perslib.memory import Anchor, Retrieval, select_profile_fields
from perslib.memory.structured import truncate_text
from perslib.prompts.library import keep_last_characters

#: Characters shown, as published: of each message before the reply, of all of them, of the reply; of request
#: and reply of a retrieved turn.
MESSAGE, CONVERSATION, REPLY, EVIDENCE_REQUEST, EVIDENCE_REPLY = 260, 900, 1800, 180, 260
#: Retrieved turns.
SHOWN = 4
NO_HISTORY = Verdict(mode="unscored", error="no score: the user has no rated turn in another scenario")


class Episodic(AskingJudge):
    """Shows four retrieved turns with their scores; `boundary_first` settles satisfied or not before the score.

    An answer whose side of the 3/4 boundary contradicts its score says two things, and is unscored. The
    verdict cites the turns that the answer names, or all it was shown where it names none; what it names that
    was not shown is kept as written. Table 2's row is `boundary_first=True`.
    """

    def __init__(self, *, boundary_first: bool = False, settings: JudgeSettings | None = None, name: str | None = None):
        self.boundary_first, self.settings = boundary_first, settings or JudgeSettings()
        if boundary_first and not self.settings.with_rationale:
            raise DataError(Problem("settings", "is one digit, but the boundary-first answer has several fields"))
        self.name = name or ("episodic, boundary first" if boundary_first else "episodic")
        self.inputs = JudgeInputs(True, True, True, history=True, model=True)
        self._retrieval = Retrieval()

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Return one question a reply, all at once; none where the user has no rated history."""
        retrieved = self._retrieval.anchors(block, SHOWN, "boundary_paired")
        if not any(retrieved):
            return [NO_HISTORY] * len(block)

        def reading(number: int, answer: Answer) -> Verdict:
            return self._read(answer, [anchor.id for anchor in retrieved[number]])

        name = "judge_episodic_boundary" if self.boundary_first else "judge_episodic"
        questions = [self._fields(block, target, anchors) for target, anchors in zip(block, retrieved)]
        return await self.settings.ask(name, questions, ask, reading)

    def _fields(self, block: Block, target: Target, anchors: Sequence[Anchor]) -> dict[str, Any]:
        shown = self.settings.make_target_fields(target)
        messages = [{**m, "content": truncate_text(m["content"], MESSAGE)} for m in shown["conversation"]]
        return {
            **shown,
            **({} if self.boundary_first else {"written": self.settings.with_rationale}),
            "profile": select_profile_fields(block.profile, "published"),
            "conversation": keep_last_characters(messages, CONVERSATION),
            "reply": truncate_text(target.response, REPLY),
            "evidence": [_evidence(number, anchor) for number, anchor in enumerate(anchors, 1)],
        }

    def _read(self, answer: Answer, shown: Sequence[str]) -> Verdict:
        if not self.settings.with_rationale:
            return replace(self.settings.read(answer), evidence=tuple(shown))
        verdict = read_score_verdict(answer, self.settings.language, keys={"evidence": "key_evidence_ids"})
        named = tuple(dict.fromkeys(_find_cited_turn(cited, shown) for cited in verdict.evidence))
        verdict = replace(verdict, evidence=named or tuple(shown))
        key = "boundary_decision" if self.boundary_first else "boundary_side"
        side = (answer.data or {}).get(key)
        if side is not None and verdict.raw is not None and (side == "sat") != (verdict.raw >= 4):
            problem = f"{key} is {side}, but the score is {verdict.raw:.0f}"
            return replace(verdict, raw=None, expected=None, p=None, reason=None, mode="unscored", error=problem)
        return verdict


def _evidence(number: int, anchor: Anchor) -> dict[str, Any]:
    return {
        "id": f"E{number}",
        "task": anchor.task or "",
        "request": truncate_text(anchor.request or "", EVIDENCE_REQUEST),
        "response": truncate_text(anchor.response, EVIDENCE_REPLY),
        "score": anchor.score,
        "reason": anchor.reason if anchor.score <= 3 else None,
        "similarity": anchor.similarity,
    }


def _find_cited_turn(cited: str, shown: Sequence[str]) -> str:
    """Return the turn behind E1, e1, [E1] or 1; anything else as it stands."""
    number = re.fullmatch(r"\W*[Ee]?0*([1-9]\d*)\W*", cited)
    return shown[int(number[1]) - 1] if number and int(number[1]) <= len(shown) else cited
