"""The judge that grades a reply by a list of what it should take up, as LaMP-QA does.

The list stands in the task of the conversation, a line that begins with `- ` for each aspect. Each gets 0, 1 or 2; the mean of
their shares is the score. It knows nothing of the user but this list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from perslib.corpus import Block, Target
from perslib.judge.asking.scores import make_cost_verdict, make_unscored_verdict
from perslib.judge.asking.settings import AskingJudge, JudgeSettings
from perslib.judge.base import JudgeInputs, Verdict
from perslib.judge.registry import judge
from perslib.llm import Answer, Ask, Request
from perslib.llm.questions import Score
from perslib.prompts import read_phrases
from perslib.prompts.fencing import make_visible

#: What the prompt takes of a user, of whom nothing is known here.
_NOBODY = {"profile": {}, "counts": [], "average": 0.0, "memory": "", "about": None}
_LISTED = re.compile(r"^- *(\S.*)$", re.MULTILINE)


@judge("aspects")
class Aspects(AskingJudge):
    """Grades how far a reply takes up each aspect in the list of its task."""

    inputs = JudgeInputs(reply=True, task=True, model=True)
    values: tuple[float, ...] = ()  # any number from 1 to 5

    def __init__(self, settings: JudgeSettings | None = None):
        self.name, self.settings = "aspects", settings or JudgeSettings()

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Ask for the grades of all aspects of a reply in one request."""
        listed = [_LISTED.findall(target.task or "") for target in block]
        requests = [
            replace(
                self.settings.make_request("judge_decide", **_NOBODY, **self.settings.make_target_fields(target)),
                questions=self.list_questions(own),
                cache_key=block.id,
            )
            for target, own in zip(block, listed)
            if own
        ]
        answered = zip(requests, await ask(requests, "judge"))
        return [self._read_next(answered, own) if own else self._refuse(target) for target, own in zip(block, listed)]

    def _read_next(self, answered: Iterator[tuple[Request, Answer]], aspects: Sequence[str]) -> Verdict:
        request, answer = next(answered)
        return replace(self.read(answer, aspects), prompt=request.prompt)

    def list_questions(self, aspects: Sequence[str]) -> tuple[Score, ...]:
        """Return a question for each aspect."""
        words = read_phrases("aspects", self.settings.language)
        levels = dict(zip("012", words["levels"]))
        return tuple(
            Score(f"aspect {number}", words["aspect"].format(text=make_visible(text)), levels)
            for number, text in enumerate(aspects, 1)
        )

    def read(self, answer: Answer, aspects: Sequence[str]) -> Verdict:
        """Return the verdict in an answer to `list_questions`; an aspect without a grade leaves the reply unscored."""
        grades = []
        for number in range(1, len(aspects) + 1):
            graded = (answer.data or {}).get(f"aspect {number}", {})
            if answer.error is not None or not graded.keys() & {"p", "choice"}:
                return make_unscored_verdict(answer, str(graded.get("error", f"no grade of aspect {number}")))
            shares = graded.get("p") or {graded["choice"]: 1.0}
            grades.append(sum(int(level) * share for level, share in shares.items()))
        expected = 1 + 2 * sum(grades) / len(grades)
        words = read_phrases("aspects", self.settings.language)
        parts = words["join"].join(words["part"].format(text=text, grade=grade) for text, grade in zip(aspects, grades))
        return replace(make_cost_verdict(answer), raw=expected, expected=expected, rationale=parts, mode=answer.mode)

    def _refuse(self, target: Target) -> Verdict:
        words = read_phrases("aspects", self.settings.language)
        return make_unscored_verdict(Answer(), words["nothing"].format(session=target.session))
