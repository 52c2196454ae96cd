"""Everything perslib raises on purpose.

PerslibError
├── DataError          bad input data; lists every problem found, each with its place
│   └── NotEnough      too little data for one part of a study; pages show it as a sentence and go on
├── UnknownName        a name nobody registered; shows the near ones
├── PromptError        a prompt file or its placeholders do not fit
├── BackboneError      a model could not be asked
│   ├── MissingKey     the environment variable that holds the key is empty
│   ├── Unreachable    nobody answers at the endpoint
│   ├── Refused        the endpoint said no for good (400, 401, 403, 404 …)
│   ├── GaveUp         retries used up, or the bound on waiting reached
│   └── BudgetReached  the spending cap stopped the run; what was answered is kept
├── CacheError         the answer cache cannot be read or written
└── ReportError        a notebook failed, or was called with an unknown parameter

Messages say what happened, where, and what to do next.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

SHOWN_PROBLEMS = 20


class PerslibError(Exception):
    """Root of everything perslib raises on purpose. Travels between processes, whatever its class is made from."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[PerslibError], args: tuple[Any, ...], fields: dict[str, Any]) -> PerslibError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in a data file, and where: `turns.jsonl:17: score is 7, expected 1–5`."""

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class DataError(PerslibError):
    """Input data is not what its format says; `problems` holds all that was found."""

    def __init__(self, problems: Sequence[Problem] | Problem | str, remedy: str = ""):
        if isinstance(problems, str):
            problems = [Problem("", problems)]
        elif isinstance(problems, Problem):
            problems = [problems]
        self.problems = list(problems)
        self.remedy = remedy
        lines = [str(p) if p.place else p.message for p in self.problems[:SHOWN_PROBLEMS]]
        hidden = len(self.problems) - len(lines)
        if hidden > 0:
            lines.append(f"… and {hidden} more")
        if remedy:
            lines.append(remedy)
        super().__init__("\n".join(lines))


class Ambiguous(DataError):
    """Two fields fit one column equally well: which is it?"""

    def __init__(self, column: str, choices: Sequence[str], place: str):
        self.column, self.choices = column, list(choices)
        remedy = f"Say which: --columns {column}={choices[0]}" + (
            " (joined by +: one of each annotator)" if "+" in choices[-1] else ""
        )
        super().__init__(Problem(place, f"more than one field may be the {column}: {', '.join(choices)}"), remedy)


class Translatable(Exception):
    """An error or warning that a page shows as a translated sentence; `values` fill in what stands in braces."""

    def __init__(self, message: str, **values: object):
        self.message, self.values = message, values
        super().__init__(message.format(**values) if values else message)


class NotEnough(Translatable, DataError):
    """Too little data for one part of a study: what is missing and what would bring it.

    `perslib.report.section` shows the message in place of that part.
    """


class NoModel(NotEnough):
    """A part of a study that only a language model can fill, and none is asked."""


class UnknownName(PerslibError):
    """A name nobody registered: says which ones are near and which there are."""

    def __init__(self, kind: str, name: str, known: Iterable[str]):
        self.kind, self.name, self.known = kind, name, sorted(known)
        near = difflib.get_close_matches(name, self.known, n=3, cutoff=0.5)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        listing = f" Known: {', '.join(self.known)}." if self.known else " None is registered."
        super().__init__(f"There is no {kind} called {name!r}.{hint}{listing}")


def check_names(kind: str, names: str | Iterable[str], known: Iterable[str]) -> None:
    """Raise `UnknownName` for the first of these names, or for this one, that is not among the known."""
    there = set(map(str, known))
    for name in [names] if isinstance(names, str) else names:
        if name not in there:
            raise UnknownName(kind, name, there)


class PromptError(PerslibError):
    """A prompt file or what is put into it does not fit; names the file and the placeholder."""


class BackboneError(PerslibError):
    """A model could not be asked."""

    def __init__(self, message: str, *, backbone: str = ""):
        self.backbone = backbone
        super().__init__(message)


class MissingKey(BackboneError):
    """The environment variable that should hold the endpoint's key is not set."""


class Unreachable(BackboneError):
    """Nobody answers at the endpoint's address."""


class Refused(BackboneError):
    """The endpoint said no for good; `status` is its HTTP status, `field` the field of the request that it names."""

    def __init__(self, message: str, *, backbone: str = "", status: int = 0, field: str = ""):
        self.status, self.field = status, field
        super().__init__(message, backbone=backbone)


class GaveUp(BackboneError):
    """Retries, or the bound on waiting, are used up."""


class BudgetReached(BackboneError):
    """The spending cap was reached; answers received so far are kept in the cache."""


class CacheError(PerslibError):
    """The answer cache cannot be read or written."""


class ReportError(PerslibError):
    """A notebook failed or was called wrongly."""

    def __init__(self, message: str, *, notebook: str = "", cell: int | None = None):
        self.notebook, self.cell = notebook, cell
        super().__init__(message)


#: A judge that learns from fewer train users warns.
FEW_TRAIN_USERS = 10


class FewTrainUsers(Translatable, UserWarning):
    """A judge has learned from so few users that it may add little to what controls know.

    A rendered page shows the message as a sentence (`perslib.report.begin`).
    """
