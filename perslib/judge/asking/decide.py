"""The judge that asks typed questions: the score with its distribution, the reason, and which statements of the memory speak against.

Nothing is parsed: the score is read off its probabilities, the reason is a choice, and the citations are the statements that
the model holds likely to speak against the reply, each with its probability. Any backbone answers (`perslib.llm.questions`); an
endpoint for decisions answers all questions on a reply in one request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from perslib.corpus import Block, Target
from perslib.corpus.schema import SATISFIED, legal_reason, reason_labels
from perslib.judge.asking.scores import make_cost_verdict, make_unscored_verdict
from perslib.judge.asking.settings import AskingJudge, JudgeSettings
from perslib.judge.base import JudgeInputs, Verdict
from perslib.llm import Answer, Ask, Request
from perslib.llm.questions import YES, Choice, Predicate, Question, Score
from perslib.memory import MemorySystem, Statement, UserMemory, select_profile_fields
from perslib.prompts import read_phrases
from perslib.prompts.fencing import make_visible

#: A statement is cited from this probability on that it speaks against the reply.
CITED_FROM = 0.5
#: What a memory says of scores in general, which no reply can go against.
_ON_SCORES = ("scoring_style",)


class Decide(AskingJudge):
    """Asks typed questions on each reply, with a memory of the user or without."""

    def __init__(
        self, memory: MemorySystem | None = None, settings: JudgeSettings | None = None, *, name: str | None = None
    ):
        self.memory, self.settings = memory, settings or JudgeSettings()
        self.name = name or ("decide" if memory is None else f"decide, {memory.name} memory")
        self.inputs = JudgeInputs(True, True, True, history=memory is not None, train=self.learns, model=True)

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Build the memory, then one request a reply; all of a block begin with the same text."""
        memory = None if self.memory is None else await self.memory.build(block, ask)
        cited = [self._select_statements(memory, target) for target in block]
        asked = [self._make_request(block, target, memory, own) for target, own in zip(block, cited)]
        answers = await ask(asked, "judge")
        state = None if memory is None else memory.state
        return [
            replace(self.read(answer, own), memory=state, prompt=request.prompt)
            for answer, own, request in zip(answers, cited, asked)
        ]

    def _select_statements(self, memory: UserMemory | None, target: Target) -> tuple[Statement, ...]:
        if memory is None:
            return ()
        return tuple(s for s in memory.select_statements(target) if s.field not in _ON_SCORES)

    def _make_request(
        self, block: Block, target: Target, memory: UserMemory | None, statements: Sequence[Statement]
    ) -> Request:
        is_known = memory is not None and not memory.is_empty
        request = self.settings.make_request(
            "judge_decide",
            profile=select_profile_fields(block.profile, "published"),
            counts=list(memory.counts) if memory is not None and is_known else [],
            average=memory.average if memory is not None and is_known else 0.0,
            memory=memory.recall(target) if memory is not None and is_known else "",
            about=memory.describe_target(target) if memory is not None and is_known else None,
            **self.settings.make_target_fields(target),
        )
        return replace(request, questions=self.list_questions(statements), cache_key=block.id)

    def list_questions(self, statements: Sequence[Statement]) -> tuple[Question, ...]:
        """Return the questions on one reply: score, reason, and one a statement."""
        words, labels = read_phrases("decide", self.settings.language), reason_labels(self.settings.language)
        score = Score("score", words["score"], dict(zip("12345", words["levels"])))
        faults = {label: words["faults"].get(reason, "") for reason, label in labels.items() if reason != SATISFIED}
        against = (Predicate(s.id, words["against"].format(text=make_visible(s.text))) for s in statements)
        return score, Choice("reason", words["reason"], faults), *against

    def read(self, answer: Answer, statements: Sequence[Statement]) -> Verdict:
        """Return the verdict in an answer to `list_questions`."""
        answers: Mapping[str, Mapping[str, Any]] = answer.data or {}
        score = answers.get("score", {})
        if answer.error is not None or "error" in score or not score:
            return make_unscored_verdict(answer, str(score.get("error", "no score in the answer")))
        p = score.get("p")
        raw = float(score["choice"] if p is None else max(p, key=p.__getitem__))
        verdict = replace(make_cost_verdict(answer), raw=raw, mode=answer.mode)
        if p is not None:
            shares = tuple(p.values())
            verdict = replace(verdict, p=shares, expected=sum(s * share for s, share in enumerate(shares, 1)))
        against = {s: share for s in statements if (share := _share_of(YES, answers.get(s.id, {}))) >= CITED_FROM}
        cited = sorted(against, key=lambda s: -against[s])
        words = read_phrases("decide", self.settings.language)
        parts = words["join"].join(words["part"].format(text=s.text, share=against[s]) for s in cited)
        return replace(
            verdict,
            reason=legal_reason(raw, _likeliest(answers.get("reason", {})), self.settings.language),
            rationale=words["because"].format(parts=parts) if parts else None,
            evidence=tuple(s.id for s in cited),
        )


def _share_of(option: str, shares: Mapping[str, Any]) -> float:
    """Return the probability of an option; one that was named without probabilities has all of it."""
    return float(shares["p"][option]) if "p" in shares else float(shares.get("choice") == option)


def _likeliest(shares: Mapping[str, Any]) -> str | None:
    return max(shares["p"], key=shares["p"].__getitem__) if "p" in shares else shares.get("choice")
