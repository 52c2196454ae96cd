"""How the steps of a synthesis put their questions: checked answers, asked again with what is wrong, then recorded.

The published programs repeat the same prompt up to ten times; here a model is told what is wrong with its answer, and
`attempts` is 2 unless said otherwise. Nothing stops the run: what a model does not give is left out and said so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from perslib.llm import Ask, Request
from perslib.memory.checked import Question, Reading, checked
from perslib.prompts import prompt
from perslib.worlds.lives import Dice

T = TypeVar("T")
StandIn = Callable[[str, Mapping[str, Any]], Any]


class Fault(Exception):
    """What is wrong with an answer, or with a part of it."""


@dataclass(frozen=True)
class Reject:
    """Something a model gave that did not pass, and what became of it."""

    step: str
    place: str
    reason: str
    kept: bool
    """Whether a part of it could be kept."""


@dataclass
class Writing:
    """One user's synthesis: its language and seed, and what was rejected on the way."""

    language: str = "zh"
    seed: int = 42
    attempts: int = 2
    prompts: str | Path | None = None
    check: bool = True
    """Whether a model looks through what was written, besides the checks that take none."""
    usual: StandIn | None = field(default=None, repr=False)
    """Gives answers of the usual length for a dry run, from a step and what its prompt is filled with."""
    rejected: list[Reject] = field(default_factory=list)

    def dice(self, *about: object) -> Dice:
        """Draws that depend on the seed, the language, and what is drawn."""
        return Dice(self.seed, self.language, *about)

    async def write(self, ask: Ask, step: str, place: str, read: Callable[[Any], Any], /, **fields: Any) -> Any:
        """What a model answers to the prompt `palsynth_<step>`; None where nothing of it could be used.

        `read` makes a value of an answer's data or raises `Fault`; of one that is partly wrong it makes a `Reading`.
        Steps count under a stage each.
        """
        question = Question(place, self.request(step, fields), partial(_reading, read))
        (found,) = await checked([question], ask, f"synthesis, {step}", self.attempts, self.seed)
        self.reject(step, place, found.faults, kept=found.value is not None)
        return found.value

    def request(self, step: str, fields: Mapping[str, Any]) -> Request:
        """The question of a step."""
        request = prompt(f"palsynth_{step}", self.language, self.prompts).render(**fields)
        usual = None if self.usual is None else partial(self.usual, step, fields)
        return replace(request, seed=self.seed, usual=usual)

    def reject(self, step: str, place: str, reasons: Iterable[str], *, kept: bool = False) -> None:
        """Record what did not pass."""
        self.rejected += [Reject(step, place, reason, kept) for reason in reasons]


def _reading(read: Callable[[Any], Any], data: Any) -> Reading[Any]:
    try:
        found = read(data)
    except Fault as fault:
        return Reading(None, (str(fault),))
    return found if isinstance(found, Reading) else Reading(found)


def is_said(*texts: str) -> bool:
    """Whether each of these texts says something."""
    return all(text.strip(" .…") for text in texts)


def collect(items: Mapping[str, Any], read: Callable[[Any], T]) -> tuple[dict[str, T], list[str]]:
    """Return what `read` makes of each item, by its place, and what is wrong with those where it raises `Fault`."""
    whole, faults = {}, []
    for place, item in items.items():
        try:
            whole[place] = read(item)
        except Fault as fault:
            faults.append(f"{place}: {fault}")
    return whole, faults


def in_list(name: str, items: Iterable[Any]) -> dict[str, Any]:
    """The items of a list by their place."""
    return {f"{name}[{i}]": item for i, item in enumerate(items)}


def by_id(given: Iterable[Mapping[str, Any]], wanted: Iterable[str], read: Callable[[Any], T]) -> Reading[dict[str, T]]:
    """What an answer gives for each id that it was asked for, in their order; whole items are kept, the rest is told."""
    items = {item["id"].strip(): item for item in given}

    def found(key: str) -> T:
        if key not in items:
            raise Fault("nothing is given for it")
        return read(items[key])

    whole, faults = collect({key: key for key in wanted}, found)
    if unknown := [key for key in items if key not in set(wanted)]:
        faults.append(f"{', '.join(unknown)}: not asked for")
    return Reading(whole or None, tuple(faults))
