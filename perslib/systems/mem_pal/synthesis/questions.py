"""How the steps of a synthesis put their questions: checked answers, asked again with what is wrong, then recorded.

The published programs repeat the same prompt up to ten times; here a model is told once what is wrong with its
answer. Nothing stops the run: what a model does not give is left out and said so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from perslib.llm import Ask, Request
from perslib.llm.structured.checked_questions import CheckedQuestion, ParsedReply, ask_and_check
from perslib.prompts import prompt
from perslib.worlds.lives import Dice

T = TypeVar("T")
#: A step's questions are counted under this and its name.
STAGE = "synthesis, "


class AnswerFault(Exception):
    """What is wrong with an answer, or with a part of it."""


@dataclass
class UserSynthesis:
    """One user's synthesis: its language and seed, and what was rejected on the way."""

    language: str = "zh"
    seed: int = 42
    check: bool = True
    """Whether a model looks through what was written, besides the checks that take none."""
    rejected: list[tuple[str, str, str, bool]] = field(default_factory=list)
    """What a model gave that did not pass: step, place, reason, and whether a part of it could be kept."""

    def dice(self, *about: object) -> Dice:
        """Return draws that depend on the seed, the language, and what is drawn."""
        return Dice(self.seed, self.language, *about)

    async def write(self, ask: Ask, step: str, place: str, read: Callable[[Any], Any], /, **fields: Any) -> Any:
        """Return what a model answers to the prompt `palsynth_<step>`; None where nothing of it could be used.

        `read` makes a value of an answer's data or raises `AnswerFault`; of one that is partly wrong it makes a `ParsedReply`.
        Steps count under a stage each.
        """
        question = CheckedQuestion(place, self.request(step, fields), partial(_reading, read))
        (checked,) = await ask_and_check([question], ask, STAGE + step, seed=self.seed)
        self.reject(step, place, checked.faults, is_kept=checked.value is not None)
        return checked.value

    def request(self, step: str, fields: Mapping[str, Any]) -> Request:
        """Return the question of a step."""
        request = prompt(f"palsynth_{step}", self.language).render(**fields)
        return replace(request, seed=self.seed)

    def reject(self, step: str, place: str, reasons: Iterable[str], *, is_kept: bool = False) -> None:
        """Record what did not pass."""
        self.rejected += [(step, place, reason, is_kept) for reason in reasons]


def _reading(read: Callable[[Any], Any], data: Any) -> ParsedReply[Any]:
    try:
        value = read(data)
    except AnswerFault as fault:
        return ParsedReply(None, (str(fault),))
    return value if isinstance(value, ParsedReply) else ParsedReply(value)


def has_text(*texts: str) -> bool:
    """Return whether each of these texts says something."""
    return all(text.strip(" .…") for text in texts)


def read_items(name: str, items: Iterable[Any], read: Callable[[Any], T]) -> tuple[list[T], list[str]]:
    """Return what `read` makes of each item of a list, and what is wrong with those where it raises `AnswerFault`."""
    whole, faults = _collect({f"{name}[{i}]": item for i, item in enumerate(items)}, read)
    return list(whole.values()), faults


def read_items_by_id(
    given: Iterable[Mapping[str, Any]], wanted: Iterable[str], read: Callable[[Any], T]
) -> ParsedReply[dict[str, T]]:
    """Return what an answer gives for each id that it was asked for, in their order; whole items are kept, the rest is
    told.
    """
    items = {item["id"].strip(): item for item in given}
    whole, faults = _collect({key: items.get(key) for key in wanted}, read)
    if unknown := [key for key in items if key not in set(wanted)]:
        faults.append(f"{', '.join(unknown)}: not asked for")
    return ParsedReply(whole or None, tuple(faults))


def _collect(items: Mapping[str, Any], read: Callable[[Any], T]) -> tuple[dict[str, T], list[str]]:
    whole, faults = {}, []
    for place, item in items.items():
        try:
            if item is None:
                raise AnswerFault("nothing is given for it")
            whole[place] = read(item)
        except AnswerFault as fault:
            faults.append(f"{place}: {fault}")
    return whole, faults
