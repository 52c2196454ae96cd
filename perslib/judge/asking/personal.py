"""The personal judge: it scores a reply as this user would, from a memory of the user's past scores.

PersTurnBench, sections 3.2 and 3.3. The memory is built once and stays fixed while the block is judged. Two
other modes are here for comparison, and verdicts say so: after every session, or every turn, the memory is
built anew with the replies judged so far, under the scores that the judge itself gave them. (Under the user's
own scores would need the target's labels, which no judge sees.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Literal, get_args

import pandas as pd

from perslib.corpus import Block, Target
from perslib.errors import check_names
from perslib.judge.asking.settings import AskingJudge, JudgeSettings
from perslib.judge.base import JudgeInputs, Verdict
from perslib.llm import Ask
from perslib.memory import MemorySystem, UserMemory, select_profile_fields

Update = Literal["fixed", "per session", "per turn"]


class Personal(AskingJudge):
    """The judge with user memory; `memory=None` leaves the memory out and keeps the profile."""

    def __init__(
        self,
        memory: MemorySystem | None,
        settings: JudgeSettings | None = None,
        *,
        update: Update = "fixed",
        profile: Literal["published", "all", "none"] = "published",
        name: str | None = None,
    ):
        check_names("way to update the memory", update, get_args(Update))
        self.memory, self.settings, self.update, self.profile = memory, settings or JudgeSettings(), update, profile
        usual = "no memory" if memory is None else f"{memory.name} memory"
        self.name = name or (usual if update == "fixed" else f"{usual}, {update}")
        self.inputs = JudgeInputs(
            True, True, profile != "none", history=memory is not None, train=self.learns, model=True
        )

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Build the memory, then one question a reply."""
        verdicts: list[Verdict] = []
        judged: list[dict[str, Any]] = []
        for group in self._groups(block):
            memory = None if self.memory is None else await self.memory.build(block, ask, _frame(judged))
            answered = await self._judge_group(block, group, memory, ask)
            verdicts += answered
            judged += [_make_evidence_row(target, verdict) for target, verdict in zip(group, answered)]
        return verdicts

    def _groups(self, block: Block) -> Iterator[list[Target]]:
        """Yield targets that are judged with the same memory."""
        if self.update == "fixed":
            yield list(block)
        else:
            alone = self.update == "per turn"
            for _, group in groupby(block, key=lambda t: (t.session, t.turn if alone else 0)):
                yield list(group)

    async def _judge_group(
        self, block: Block, group: list[Target], memory: UserMemory | None, ask: Ask
    ) -> list[Verdict]:
        fields: dict[str, Any] = {
            "profile": select_profile_fields(block.profile, self.profile),
            "written": self.settings.with_rationale,
        }
        if memory is None or memory.is_empty:
            name, questions = "judge_no_memory", [{**fields, **self.settings.make_target_fields(t)} for t in group]
        else:
            name = "judge_personal"
            fields |= {"counts": list(memory.counts), "average": memory.average}
            questions = [
                {
                    **fields,
                    "memory": memory.recall(t),
                    "about": memory.describe_target(t),
                    **self.settings.make_target_fields(t),
                }
                for t in group
            ]
        verdicts = await self.settings.ask(name, questions, ask)
        text = None if memory is None else memory.state
        return [replace(verdict, memory=text) for verdict in verdicts]


def _make_evidence_row(target: Target, verdict: Verdict) -> dict[str, Any]:
    """Return a judged reply as a further turn of evidence, under the judge's own score."""
    return {
        **{name: getattr(target, name) for name in ("user", "scenario", "session", "turn", "task", "assistant")},
        "request": target.request,
        "earlier": (),
        "response": target.response,
        "score": None if verdict.raw is None else round(verdict.raw),
        "reason": verdict.reason if verdict.raw is not None and verdict.raw < 3.5 else None,
    }


def _frame(judged: list[dict[str, Any]]) -> pd.DataFrame | None:
    return pd.DataFrame(judged).astype({"score": "Int64"}) if judged else None
