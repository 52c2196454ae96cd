"""How answers to the tasks of UXBench become verdicts, labels and objects.

`parse_verdict` reads what a judge wrote: 1 good, −1 bad, 0 neutral, or None where none can be read. It is a pure
function, so that stored answers can be read again. It looks for what was stated as the verdict, in this order: the last
JSON object with a verdict, a line "verdict: …", a message (or last line) that is nothing but a label. A "good"
somewhere in a sentence is no verdict: "not good" and "a good try, but a bad reply" both contain one.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import pandas as pd

from perslib.errors import UnknownName
from perslib.llm import Answer, Ask, Backbone, Request, parse
from perslib.llm.reply import split_reasoning
from perslib.paths import read_toml
from perslib.stats.detection import BAD, GOOD, NEUTRAL


def read_object(answer: Answer, key: str) -> Mapping[str, Any] | None:
    """Read the object with this key: the answer's data, else the last one in its text."""
    if isinstance(answer.data, Mapping):
        return answer.data
    found: Mapping[str, Any] | None = parse(answer.text, {"type": "object", "required": [key]})[0]
    return found


def label_by_model(
    questions: Sequence[Request | None],
    names: Mapping[str, Sequence[str]],
    backbone: Backbone,
    *,
    progress: bool = True,
) -> pd.DataFrame:
    """Ask a model for labels: of each field of its answer, one of the `names`. A question of None has nothing to label.

    Columns: the fields (missing where one of them has none of its names), label_error.
    """
    totals = {"label": len(questions)}
    found = backbone.map(partial(_ask_label, names), questions, progress=progress, totals=totals)
    return pd.DataFrame(found, columns=[*names, "label_error"], dtype="str")


async def _ask_label(
    names: Mapping[str, Sequence[str]], question: Request | None, ask: Ask
) -> dict[str, str]:
    if question is None:
        return {"label_error": "the text is empty"}
    (answer,) = await ask([question], "label")
    said = read_object(answer, next(iter(names))) or {}
    found = {name: str(said.get(name)).strip().casefold() for name in names}
    if any(found[name] not in allowed for name, allowed in names.items()):
        return {"label_error": answer.error or f"no label in {answer.text[:40]!r}"}
    return found


#: What numbers mean, which is never guessed: 0 is bad in `binary01`, neutral in `three`, nothing in `binary`.
Scheme = Literal["binary", "binary01", "three"]
SCHEMES: tuple[Scheme, ...] = ("binary", "binary01", "three")
LONGEST = 200_000

_SAID = read_toml(__file__, "verdicts.toml")
KEYS: list[str] = _SAID["keys"]
_WORDS = {
    word: label
    for name, label in (("good", GOOD), ("bad", BAD), ("neutral", NEUTRAL))
    for word in _SAID["words"][name]
}
_FENCE = re.compile(r"```[\w-]*[ \t]*\n?(.*?)(?:```|\Z)", re.S)
_STATED = re.compile(_SAID["stated"].replace("{keys}", "|".join(KEYS)), re.I)


class Read(NamedTuple):
    """A label, or None, and the rule that read it: json, stated, alone, last line; or none."""

    label: int | None
    rule: str


def parse_verdict(text: str, scheme: Scheme = "binary") -> Read:
    """The verdict in a text under a scheme of numbers. Words (good, bad …) mean the same under all schemes."""
    if scheme not in SCHEMES:
        raise UnknownName("scheme of verdicts", scheme, SCHEMES)
    said = unicodedata.normalize("NFKC", split_reasoning(text[:LONGEST])[0]).strip()
    if not said:
        return Read(None, "none")
    inner = _FENCE.sub(lambda match: match[1], said).strip()
    objects = list(_objects(inner))
    if objects:
        return Read(_label(objects[-1], scheme), "json")
    if stated := list(_STATED.finditer(inner)):
        return Read(_label(stated[-1]["said"], scheme), "stated")
    if (label := _label(inner, scheme)) is not None:
        return Read(label, "alone")
    last = inner.splitlines()[-1]
    if (label := _label(last, scheme)) is not None:
        return Read(label, "last line")
    return Read(None, "none")


def _objects(text: str) -> Iterator[Any]:
    """What the verdict key of each JSON object says, in order; objects that hold others are read from outside in."""
    decoder, place = json.JSONDecoder(), 0
    while (place := text.find("{", place)) >= 0:
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        if isinstance(value, dict):
            named = {str(k).strip().casefold(): v for k, v in value.items()}
            if found := [named[key] for key in KEYS if key in named]:
                yield found[0]
        place = end


def _label(value: Any, scheme: Scheme) -> int | None:
    """A value that is a label and nothing else."""
    if isinstance(value, bool):
        return GOOD if value else BAD
    if isinstance(value, int | float):
        return _numbered(float(value), scheme)
    if not isinstance(value, str):
        return None
    word = value.strip(_SAID["trimmed"]).casefold()
    if word in ("true", "false"):
        return GOOD if word == "true" else BAD
    if re.fullmatch(r"[+-]?\d+(?:\.0+)?|−\d+", word):
        return _numbered(float(word.replace("−", "-")), scheme)
    label = _WORDS.get(word)
    return None if label == NEUTRAL and scheme != "three" else label


def _numbered(value: float, scheme: Scheme) -> int | None:
    if value == 0:
        return {"binary01": BAD, "three": NEUTRAL}.get(scheme)
    return {1.0: GOOD, -1.0: BAD}.get(value)
