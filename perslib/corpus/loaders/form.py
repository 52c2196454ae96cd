"""What holds of all rows of a file, whatever each of them says: `Form`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from perslib.corpus.files.reading import AUTO, ImportResult
from perslib.corpus.scale import Scale
from perslib.errors import Problem


@dataclass(frozen=True)
class Form:
    """Facts about a file: its scales, what its conversations are, and what is said where it holds nothing."""

    kind: str = "table"
    language: str = "en"
    scale: Scale | None = None
    session_scale: Scale | None = None
    evidence: str = AUTO
    dates: str | None = None
    unanswered: str = ""
    """What conversations without a reply are counted as; where it is empty, they are left out."""
    order: str = "all"
    """Whether conversations follow each other: all, those of a user (which are numbered), or none."""
    of_session: tuple[str, ...] = ()
    """Further columns of conversations."""
    ratings: tuple[str, ...] = ()
    """Further columns that are on the scale."""
    scenarios: tuple[str, ...] = ()
    theirs: Mapping[str, str] = field(default_factory=dict)
    """Our columns as the file calls them, where its words stand in errors."""
    words: str = ""
    """Words that are ratings, lowest first."""
    nothing: str = "holds no row"
    remedy: str = "Not one session is left. Each row needs user, request, response."

    def using(self, **options: Any) -> Form:
        """Return the form with options that replace its own."""
        return replace(self, **{option: value for option, value in options.items() if value is not None})

    def begin(self, skip_bad: bool) -> ImportResult:
        """Return a reading with what holds of all rows."""
        return ImportResult(skip_bad, evidence=self.evidence, dates=self.dates, session_scale=self.session_scale)

    def explain(self, problem: Problem) -> Problem:
        """Return the problem of a row as one of the record, by its names and words."""
        ours, _, wrong = problem.message.partition(" ")
        if ours not in self.theirs:
            return problem
        words = f", {self.words}" if self.words and ours in ("score", "satisfaction") else ""
        return Problem(problem.place, f"{self.theirs[ours]} {wrong}{words}")
