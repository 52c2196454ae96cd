"""How much of a corpus a study puts before a model: as much as is asked for, or a first look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from perslib.judge import Manner
from perslib.llm import Backbone


@dataclass(frozen=True)
class Extent:
    """What a study asks of its backbone."""

    turns: int | None
    """Replies judged; None is all."""
    window: int
    """Messages shown before the reply."""
    evidence: Literal["published", "full"]
    budget: int
    """Tokens of evidence that a memory is built from, where the evidence is full."""
    is_first_look: bool
    """Whether this shows the way and measures nothing."""

    def manner(self, language: str, *, written: bool = False) -> Manner:
        """How the judges are asked."""
        return Manner(language, written, window=self.window, weighed=self.is_first_look)

    @property
    def memory(self) -> dict[str, Any]:
        """The part that a memory is built with."""
        most = 400 if self.is_first_look else None
        return {"evidence": self.evidence, "budget": self.budget, "max_tokens": most}


def extent(model: Backbone, limit: int, usual: int = 300, look: int = 4) -> Extent:
    """What `limit` means for a backbone: that many replies, -1 all of them, 0 what suits the backbone.

    That is `usual` replies, judged as published (a window of five messages, the published evidence). A model
    that runs on this machine's processor gets a first look instead: `look` replies, the request alone before
    each, and a memory from little evidence, so that a laptop is done in about a minute.
    """
    if limit == 0 and model.entry.kind == "embedded":
        return Extent(look, 1, "full", 600, True)
    turns = {0: usual, -1: None}.get(limit, limit)
    return Extent(turns, 5, "published", 6000, False)
