"""What an answer says of a reply: a verdict, good or bad, or neutral where that is offered.

A verdict is what was stated as one, in this order: the last JSON object with a verdict, a line "verdict: …", a message (or
last line) that is nothing but a label. A "good" somewhere in a sentence is no verdict: "not good" and "a good try, but a bad
reply" both contain one. How verdicts are worded is a table (`labels.toml`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from perslib.corpus.schema import BAD, GOOD, NEUTRAL
from perslib.judge.asking.scores import make_cost_verdict, make_unscored_verdict, with_distribution
from perslib.judge.base import Verdict
from perslib.llm import Answer, parse
from perslib.llm.answerers.completions import split_reasoning
from perslib.paths import read_toml

NAMES = {GOOD: "good", NEUTRAL: "neutral", BAD: "bad"}
#: Good, neutral and bad on the scale of scores.
SCORES = {GOOD: 5.0, NEUTRAL: 3.0, BAD: 1.0}


def read_object(answer: Answer, key: str) -> Mapping[str, Any] | None:
    """Read the object with this key: the answer's data, else the last one in its text."""
    if isinstance(answer.data, Mapping):
        return answer.data
    parsed: Mapping[str, Any] | None = parse(answer.whole_text, {"type": "object", "required": [key]})[0]
    return parsed


def read_label(answer: Answer, values: Sequence[float]) -> Verdict:
    """Return the verdict in an answer to a prompt that asks for good or bad, or neutral where 3 is among the `values`.

    What cannot be read is unscored, and `error` says why.
    """
    data = answer.data if isinstance(answer.data, dict) else {}
    stated = data.get("verdict")
    text = answer.whole_text if stated is None else str(stated)
    label, rule = parse_verdict(text, neutral=SCORES[NEUTRAL] in values)
    if label is None:
        return make_unscored_verdict(answer, f"no verdict in {answer.text[:40]!r}")
    mode = rule if stated is None else answer.mode
    verdict = replace(make_cost_verdict(answer), raw=SCORES[label], rationale=data.get("reason"), mode=mode)
    names = {NAMES[label]: score for label, score in SCORES.items() if score in values}
    return with_distribution(verdict, answer, names, key="verdict")


LONGEST = 200_000
_LABELS = read_toml(__file__, "labels.toml")
KEYS: list[str] = _LABELS["keys"]
_WORDS = {
    word: label
    for name, label in (("good", GOOD), ("bad", BAD), ("neutral", NEUTRAL))
    for word in _LABELS["words"][name]
}
_FENCE = re.compile(r"```[\w-]*[ \t]*\n?(.*?)(?:```|\Z)", re.S)
_OBJECT = {"type": "object", "anyOf": [{"required": [key]} for key in KEYS]}
_STATED, _PERHAPS, _IS = (
    re.compile(_LABELS[form].replace("{keys}", "|".join(sorted(map(re.escape, keys), key=len, reverse=True))), re.I)
    for form, keys in (("stated", KEYS), ("stated", _LABELS["perhaps"]), ("is", KEYS))
)


class ParsedLabel(NamedTuple):
    """A label, or None, and the rule that read it: json, stated, alone, last line, first line; or none."""

    label: int | None
    rule: str


def parse_verdict(text: str, *, neutral: bool = False) -> ParsedLabel:
    """Return the verdict in a text: good (1) or bad (−1, and 0 as UXBench writes it), with `neutral` 0 is neutral; what else numbers
    mean is never guessed.
    """
    answer_text = unicodedata.normalize("NFKC", split_reasoning(text[:LONGEST])[0]).strip()
    if not answer_text:
        return ParsedLabel(None, "none")
    inner = _FENCE.sub(lambda match: match[1], answer_text).strip()
    parsed, _ = parse(inner, _OBJECT)
    if parsed:
        return ParsedLabel(_label(next(parsed[key] for key in KEYS if key in parsed), neutral), "json")
    if stated := list(_STATED.finditer(inner)):
        return ParsedLabel(_label(stated[-1]["said"], neutral), "stated")
    if (label := _label(inner, neutral)) is not None:
        return ParsedLabel(label, "alone")
    for form in (_PERHAPS, _IS):
        if labels := [label for m in form.finditer(inner) if (label := _label(m["said"], neutral)) is not None]:
            return ParsedLabel(labels[-1], "stated")
    lines = inner.splitlines()
    for rule, line in (("last line", lines[-1]), ("first line", lines[0])):
        if (label := _label(line, neutral)) is not None:
            return ParsedLabel(label, rule)
    return ParsedLabel(None, "none")


def _label(value: Any, neutral: bool) -> int | None:
    """Return a value that is a label and nothing else."""
    if isinstance(value, bool):
        return GOOD if value else BAD
    if isinstance(value, int | float):
        return _make_label(float(value), neutral)
    if not isinstance(value, str):
        return None
    word = value.strip(_LABELS["trimmed"]).casefold()
    if word in ("true", "false"):
        return GOOD if word == "true" else BAD
    if re.fullmatch(r"[+-]?\d+(?:\.0+)?|−\d+", word):
        return _make_label(float(word.replace("−", "-")), neutral)
    label = _WORDS.get(word)
    return None if label == NEUTRAL and not neutral else label


def _make_label(value: float, neutral: bool) -> int | None:
    return {1.0: GOOD, -1.0: BAD, 0.0: NEUTRAL if neutral else BAD}.get(value)
