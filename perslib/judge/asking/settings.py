"""How judges put their questions: `JudgeSettings`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from perslib.corpus import Corpus, Target
from perslib.errors import DataError, Problem
from perslib.judge.asking.scores import read_digit, read_score_verdict
from perslib.judge.base import Judge, Verdict, sum_spent
from perslib.llm import Answer, Ask, Request
from perslib.memory import MemorySystem
from perslib.prompts import Prompt, PromptSettings


def pool_verdicts(verdicts: Sequence[Verdict]) -> Verdict:
    """Return one verdict from several draws: shares as distribution, the commonest score, the words of its first draw.

    Draws without a score are left out; if none has one, the first says why.
    """
    scores = [v.raw for v in verdicts if v.raw is not None]
    total = sum_spent(verdicts)
    if not scores:
        return replace(verdicts[0], **total)
    counts, mean = Counter(scores), sum(scores) / len(scores)
    most = max(counts, key=lambda s: (counts[s], -abs(s - mean), -s))
    p = tuple(counts[float(s)] / len(scores) for s in range(1, 6))
    spoken = next(v for v in verdicts if v.raw == most)
    return replace(spoken, expected=mean, p=p, mode="samples", **total)


#: Alternatives asked for at each token; what endpoints give at most.
TOP_LOGPROBS = 20


@dataclass(frozen=True)
class JudgeSettings(PromptSettings):
    """How a judge asks for scores: the settings of all questions, and how the score is to be given.

    Written, it gives score, reason and rationale; not written, the score alone, one token. Either way the
    distribution over 1–5 is read from the log probabilities where the backbone gives them. Where it does not,
    `samples` > 1 asks several times and takes the shares. Without a `temperature` the prompt decides (0.6 for the
    personal judge, as published), and it is 0 for the score alone.
    """

    with_rationale: bool = True
    window: int | None = field(default=5, kw_only=True)
    """Messages of either role shown before the reply; None shows all."""
    samples: int = field(default=1, kw_only=True)
    use_likeliest_digit: bool = field(default=False, kw_only=True)
    """Of the score alone: count the likeliest digit where something else is written, as very small models do."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.samples < 1:
            raise DataError(Problem("samples", f"is {self.samples}, expected 1 or more"))
        if self.samples > 1 and self.temperature == 0:
            raise DataError(Problem("temperature", "is 0, so every sample would be the same"))

    def requests(self, name: str | Prompt, fields: Mapping[str, Any]) -> list[Request]:
        """Return the question of this prompt, as often as it is to be asked."""
        prompt = self.find_prompt(name) if isinstance(name, str) else name
        request = replace(prompt.render(**fields), top_logprobs=TOP_LOGPROBS)
        if not self.with_rationale:
            usual = 0.0 if self.samples == 1 else 1.0
            request = replace(request, schema=None, max_tokens=1, temperature=usual)
        request = self.apply(request)
        if self.samples == 1:
            return [request]
        seeds = [None if self.seed is None else self.seed + i for i in range(self.samples)]
        return [replace(request, sample=i, seed=seed) for i, seed in enumerate(seeds)]

    def read(self, answer: Answer) -> Verdict:
        """Return what one answer says."""
        return (
            read_score_verdict(answer, self.language)
            if self.with_rationale
            else read_digit(answer, weighed=self.use_likeliest_digit)
        )

    async def ask(
        self,
        name: str,
        questions: Sequence[Mapping[str, Any]],
        ask: Ask,
        reading: Callable[[int, Answer], Verdict] | None = None,
    ) -> list[Verdict]:
        """Return one verdict for each question put with this prompt; all of them may be under way at once.

        `reading` reads an answer that says more than score, reason and rationale; it is told the number of the
        question.
        """
        prompt = self.find_prompt(name)
        asked = [self.requests(prompt, fields) for fields in questions]
        answers = iter(await ask([request for group in asked for request in group], "judge"))
        verdicts = []
        for number, group in enumerate(asked):
            given = [next(answers) for _ in group]
            drawn = [self.read(a) if reading is None else reading(number, a) for a in given]
            verdicts.append(replace(drawn[0] if len(drawn) == 1 else pool_verdicts(drawn), prompt=prompt.label))
        return verdicts

    def make_target_fields(self, target: Target) -> dict[str, Any]:
        """Return what every judge that reads the reply is shown of a target."""
        messages = target.prefix if self.window is None else target.window(self.window)
        return {"task": target.task, "conversation": list(messages), "reply": target.response}


class AskingJudge(Judge):
    """A judge that asks a model, in its settings."""

    settings: JudgeSettings
    memory: MemorySystem | None = None
    """What it remembers of the user, if anything."""

    @property
    def learns(self) -> bool:
        """Whether its memory learns from train users."""
        return self.memory is not None and self.memory.learns

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Let the memory learn, if there is one that does."""
        if self.memory is not None:
            await self.memory.fit(train, ask)

    @property
    def samples(self) -> int:
        """How often the model is asked about each reply."""
        return self.settings.samples
