"""What the text adds: the same judge, taught and asked with one sentence in the place of every request and reply."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pandas as pd

from perslib.corpus import Block, Corpus
from perslib.judge.base import Judge, OnAnotherJudge, Verdict
from perslib.llm import Ask
from perslib.prompts import read_phrases


class Blinded(OnAnotherJudge):
    """A judge that is left everything but the texts: history, level, place in the conversation, scenario, assistant.

    What the judge itself agrees with people beyond this one, it owes to requests and replies.
    """

    def __init__(self, judge: Judge, language: str = "en"):
        super().__init__(deepcopy(judge), "blinded")
        self.inputs, self.unseen = replace(judge.inputs, reply=False), read_phrases("blinded", language)["unseen"]

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Let the judge learn from the train users' scores without their texts."""
        await super().fit(replace(train, turns=self._blank(train.turns)), ask)

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Return the judge's verdicts on replies that it cannot read."""
        targets = self._blank(block.targets)
        targets["prefix"] = [self._blank_messages(prefix) for prefix in targets["prefix"]]
        return await self.judge_itself.judge(
            replace(block, evidence=self._blank(block.evidence), targets=targets, events=block.events.iloc[:0]), ask
        )

    def _blank(self, turns: pd.DataFrame) -> pd.DataFrame:
        texts = {
            name: turns[name].mask(turns[name].notna(), self.unseen)
            for name in ("request", "response")
            if name in turns
        }
        if "earlier" in turns:
            texts["earlier"] = turns["earlier"].map(lambda turns: type(turns)([self.unseen] * len(turns)))
        return turns.assign(**texts)

    def _blank_messages(self, messages: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
        return tuple({**message, "content": self.unseen} for message in messages)


def blind_judge(judge: Judge, language: str = "en") -> Blinded:
    """Return the same judge, to be taught and asked without texts, in the language of the corpus."""
    return Blinded(judge, language)
