"""Generic judges: task, dialogue and reply, and nothing of the user (PersTurnBench, section 4.1 and appendix C).

Four of them, as in Table 2: zero-shot, few-shot with rated replies of train users, with a rubric for the
scenario, and in the manner of Prometheus.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from perslib.corpus import SESSION, Block, Corpus, Target
from perslib.errors import NotEnough, PerslibError, check_names
from perslib.judge.asking.settings import AskingJudge, JudgeSettings
from perslib.judge.base import JudgeInputs, Verdict
from perslib.llm import Ask
from perslib.prompts.library import keep_last_characters

PROMPTS = {
    "zero-shot": "judge_generic",
    "few-shot": "judge_generic_fewshot",
    "task rubric": "judge_generic_rubric",
    "Prometheus": "judge_generic_prometheus",
}
#: Characters of dialogue that a generic judge is shown, and of context in an example; examples.
DIALOGUE, CONTEXT, EXAMPLES = 6000, 1200, 10


class Generic(AskingJudge):
    """A generic judge of one of the `PROMPTS`; few-shot learns its examples from the train users.

    The dialogue is shown whole, its last 6,000 characters where it is longer.
    """

    def __init__(self, variant: str = "zero-shot", settings: JudgeSettings | None = None):
        check_names("generic judge", variant, PROMPTS)
        self.name, self.variant = variant, variant
        self.settings = settings or JudgeSettings(window=None)
        self.inputs = JudgeInputs(reply=True, task=True, train=variant == "few-shot", model=True)
        self._shots: list[dict[str, Any]] = []

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Draw the rated examples, as many of each score, from the train users."""
        if self.variant == "few-shot":
            self._shots = sample_examples(train)
            if not self._shots:
                raise NotEnough(
                    "The few-shot judge needs examples that train users rated, but {corpus} has no rated replies. Add "
                    "scores from 1 to 5.",
                    corpus=train.name,
                )

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Return one question a reply, all at once."""
        if self.variant == "few-shot" and not self._shots:
            raise PerslibError(
                "The few-shot judge has no examples yet: `evaluate` draws them, or `fit` on train users."
            )
        return await self.settings.ask(PROMPTS[self.variant], [self._fields(t) for t in block], ask)

    def _fields(self, target: Target) -> dict[str, Any]:
        fields = {
            "scenario": target.scenario,
            "written": self.settings.with_rationale,
            **self.settings.make_target_fields(target),
        }
        fields["conversation"] = keep_last_characters(fields["conversation"], DIALOGUE)
        return {"examples": self._shots, **fields} if self.variant == "few-shot" else fields


def sample_examples(train: Corpus) -> list[dict[str, Any]]:
    """Return rated replies of train users, the same number of each score as far as there are so many."""
    rated = train.turns[train.turns["score"].notna()]
    tasks = train.sessions.set_index(SESSION)["task"].to_dict()
    order = random.Random(42)
    chosen: list[dict[Any, Any]] = []
    for score in range(1, 6):
        rows = rated[rated["score"] == score].to_dict("records")
        order.shuffle(rows)
        chosen += rows[: -(-EXAMPLES // 5)]
    order.shuffle(chosen)
    return [_example(row, tasks.get((row["user"], row["scenario"], row["session"]))) for row in chosen[:EXAMPLES]]


def _example(row: dict[Any, Any], task: str | None) -> dict[str, Any]:
    texts = [text for text in (task, row["request"]) if isinstance(text, str)]
    reason = row["reason"] if isinstance(row["reason"], str) else None
    context = "\n".join(texts)[:CONTEXT]
    return {"context": context, "response": row["response"], "score": int(row["score"]), "reason": reason}
