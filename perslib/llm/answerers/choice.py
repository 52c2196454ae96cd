"""Who answers in this process: the one place that knows whether a notebook runs for real, as a dry run, or for a batch."""

from __future__ import annotations

import os
from pathlib import Path

from perslib.llm.abilities import Abilities
from perslib.llm.answerers.batch import QuestionWriter
from perslib.llm.answerers.dry_run import DryRun
from perslib.llm.cache.store import Cache
from perslib.llm.request import NOT_IN_CACHE, Answer, Answerer, QueuedRequest, make_error_answer

VARIABLE = "PERSLIB_ANSWERER"
"""`dry-run`, `cache` (stored answers alone), or `batch:FILE` with the file that questions are written to; otherwise models
are asked."""
CACHE_ALONE = {VARIABLE: "cache"}
"""What the environment of a kernel holds in which stored answers are all there is."""
_asked: set[str] = set()
"""What was asked in the dry run of this process, by whichever backbone."""


def run_environment(questions: Path | None = None) -> dict[str, str]:
    """Return what the environment of a kernel holds in which nobody is asked, or only `questions` are written down."""
    return {VARIABLE: f"batch:{questions}" if questions else "dry-run"}


def is_asked() -> bool:
    """Return whether models are asked in this process."""
    return not os.environ.get(VARIABLE)


def is_dry_run() -> bool:
    """Return whether models are replaced in this process, and nothing is written down for them."""
    return os.environ.get(VARIABLE) == "dry-run"


def choose_answerer(abilities: Abilities, cache: Cache, own: Answerer | None) -> tuple[Answerer | None, Cache]:
    """Return who answers in place of a model, and the cache; None where the model is asked.

    Where nobody is asked nothing is written to the cache.
    """
    kind, _, file = os.environ.get(VARIABLE, "").partition(":")
    if cache.policy == "only" or kind == "cache":
        return _CacheAlone(), cache if cache.policy == "only" else Cache(cache.path, "only")
    if own is not None or not kind:
        return own, cache
    dry = QuestionWriter(abilities, Path(file), _asked) if file else DryRun(abilities, asked=_asked)
    return dry, Cache(cache.path, "read" if cache.policy in ("use", "read") else "off")


class _CacheAlone:
    """Answers nothing that is not in the cache."""

    async def answer(self, question: QueuedRequest) -> Answer:
        """Return an answer that says so."""
        return make_error_answer(question.request, NOT_IN_CACHE)
