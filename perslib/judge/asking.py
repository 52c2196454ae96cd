"""How judges put their questions: in which language, written out or as one digit, once or several times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from perslib.corpus import Target
from perslib.errors import DataError, Problem
from perslib.judge.base import Verdict
from perslib.judge.reading import TOP_LOGPROBS, pooled, read, read_digit
from perslib.llm import Answer, Ask, Request, Steps
from perslib.prompts import Prompt, prompt


@dataclass(frozen=True)
class Manner:
    """How a judge asks.

    Written, it gives score, reason and rationale; not written, the score alone, one token. Either way the
    distribution over 1–5 is read from the log probabilities where the backbone gives them. Where it does not,
    `samples` > 1 asks several times and takes the shares.
    """

    language: str = "en"
    """Language of the prompts."""
    written: bool = True
    samples: int = 1
    temperature: float | None = None
    """None leaves it to the prompt (0.6 for the personal judge, as published) and 0 for the score alone."""
    seed: int | None = 42
    window: int | None = 5
    """Messages of either role shown before the reply; None shows all."""
    weighed: bool = False
    """Of the score alone: count the likeliest digit where something else is written, as very small models do."""
    prompts: str | Path | None = None
    """A folder with prompts of one's own."""

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise DataError(Problem("samples", f"is {self.samples}, expected 1 or more"))
        if self.window is not None and self.window < 0:
            raise DataError(Problem("window", f"is {self.window}, expected 0 or more, or None for all"))
        if self.samples > 1 and self.temperature == 0:
            raise DataError(Problem("temperature", "is 0, so every sample would be the same"))

    def requests(self, name: str | Prompt, fields: Mapping[str, Any]) -> list[Request]:
        """The question of this prompt, as often as it is to be asked."""
        found = prompt(name, self.language, self.prompts) if isinstance(name, str) else name
        request = found.render(**fields)
        changes: dict[str, Any] = {"seed": self.seed, "top_logprobs": TOP_LOGPROBS}
        if not self.written:
            usual = 0.0 if self.samples == 1 else 1.0
            changes |= {"schema": None, "max_tokens": 1, "temperature": usual}
        if self.temperature is not None:
            changes["temperature"] = self.temperature
        request = replace(request, **changes)
        if self.samples == 1:
            return [request]
        seeds = [None if self.seed is None else self.seed + i for i in range(self.samples)]
        return [replace(request, sample=i, seed=seed) for i, seed in enumerate(seeds)]

    def read(self, answer: Answer) -> Verdict:
        """What one answer says."""
        return read(answer, self.language) if self.written else read_digit(answer, weighed=self.weighed)

    def ask(
        self,
        name: str,
        questions: Sequence[Mapping[str, Any]],
        reading: Callable[[int, Answer], Verdict] | None = None,
    ) -> Steps[list[Verdict]]:
        """One verdict for each question put with this prompt; all of them may be under way at once.

        `reading` reads an answer that says more than score, reason and rationale; it is told the number of the
        question.
        """
        found = prompt(name, self.language, self.prompts)
        asked = [self.requests(found, fields) for fields in questions]
        answers = iter((yield Ask([request for group in asked for request in group], "judge")))
        verdicts = []
        for number, group in enumerate(asked):
            given = [next(answers) for _ in group]
            drawn = [self.read(a) if reading is None else reading(number, a) for a in given]
            verdicts.append(replace(drawn[0] if len(drawn) == 1 else pooled(drawn), prompt=found.label))
        return verdicts

    def shown(self, target: Target) -> dict[str, Any]:
        """What every judge that reads the reply is shown of a target."""
        said = target.prefix if self.window is None else target.window(self.window)
        return {"task": target.task, "conversation": list(said), "reply": target.response}
