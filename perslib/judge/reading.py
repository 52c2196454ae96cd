"""What an answer says: a score with its distribution, reason and rationale, or a verdict, good or bad.

Nothing is guessed. An answer in which no single score can be found becomes an unscored verdict that says why. A verdict is
what was stated as one, in this order: the last JSON object with a verdict, a line "verdict: …", a message (or last line)
that is nothing but a label. A "good" somewhere in a sentence is no verdict: "not good" and "a good try, but a bad reply"
both contain one.

These are pure functions, so that stored answers can be read again. How things are said is a table (`scores.toml`,
`verdicts.toml`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, cast

from perslib.corpus.schema import BAD, GOOD, NEUTRAL, legal_reason
from perslib.errors import UnknownName
from perslib.judge.base import Verdict
from perslib.llm import Answer, digit_distribution, parse
from perslib.llm.reply import split_reasoning
from perslib.paths import read_toml

#: Probability that the five digits must have together if one of them is to count though another word was written.
LEAST_MASS = 1e-4
#: Characters that are brought to one spelling at a time.
PIECE = 256
_SAID = read_toml(__file__, "scores.toml")
_RANGE, _SCALE = (re.compile(_SAID[name], re.IGNORECASE) for name in ("range", "scale"))
#: The scores by the names that they have in an answer.
DIGITS = {str(score): float(score) for score in range(1, 6)}
_SAYINGS = [saying.replace("{one}", _SAID["one"]) for saying in _SAID["sayings"]]


def read(answer: Answer, language: str, *, keys: Mapping[str, str] | None = None) -> Verdict:
    """The verdict in an answer to a prompt that asks for `score`, `reason` and `rationale`.

    An object that does not fit the schema (a reason in the other language, a long rationale) counts if its
    score does. `keys` renames fields of the answer, {"evidence": "key_evidence_ids"} say.
    """
    said = answer.data if answer.data is not None else parse(answer.text, {"type": "object"})[0]
    if isinstance(said, Mapping):
        mode = answer.mode if answer.data is not None else "text"
        return _of_object(answer, said, language, dict(keys or {}), mode)
    score = score_in(answer.text)
    if score is None:
        return _unscored(answer, "no score in the answer")
    return _scored(answer, score, None, answer.text.strip() or None, language, mode="prose")


def read_digit(answer: Answer, *, weighed: bool = False) -> Verdict:
    """The verdict in an answer to a score-only prompt: one digit, with its distribution if there is one.

    A very small model may write something else. With `weighed` the digit that it held likeliest is the score all
    the same (mode `weighed`); without, the reply is unscored, since what was written may have been a refusal.
    """
    said = score_in(answer.text)
    if answer.error is not None:
        return _unscored(answer, answer.error)
    if said is not None:
        return replace(_with_distribution(spent(answer), answer), raw=float(said), mode="digit")
    likeliest = digit_distribution(answer, weighed=True) if weighed else None
    if likeliest is None or likeliest.mass < LEAST_MASS:
        return _unscored(answer, f"expected a digit from 1 to 5, found {answer.text[:40]!r}")
    p = tuple(likeliest[str(s)] for s in range(1, 6))
    score = 1.0 + p.index(max(p))
    return replace(spent(answer), raw=score, p=p, expected=likeliest.expected, mode="weighed")


def score_in(text: str) -> int | None:
    """The one score that a text names, as 4/5, "score: 4" or 4 stars; None where it names none or several."""
    # In pieces: a long run of combining marks takes the square of its length.
    pieces = (text[i : i + PIECE] for i in range(0, len(text), PIECE))
    text = _RANGE.sub("…", "".join(unicodedata.normalize("NFKC", piece) for piece in pieces))
    of_five = re.findall(rf"{_SAID['one']}\s*(?:/|out of)\s*(?:5|five)\b", text, re.IGNORECASE)
    rest = _SCALE.sub("", text)
    said = [*of_five, *(m for saying in _SAYINGS for m in re.findall(saying, rest, re.IGNORECASE))]
    if not said and (alone := re.fullmatch(rf"\W*{_SAID['one']}\W*", rest)):
        said = [alone[1]]
    found = {int(_SAID["digits"].get(one, one)) for one in said}
    return found.pop() if len(found) == 1 else None


def spent(answer: Answer) -> Verdict:
    """A verdict that says only what its answer took."""
    return Verdict(
        tokens_in=answer.tokens_in,
        tokens_cached=answer.tokens_cached,
        tokens_out=answer.tokens_out,
        seconds=answer.seconds,
        cost=answer.cost,
    )


def _of_object(
    answer: Answer, said: Mapping[str, Any], language: str, keys: Mapping[str, str], mode: str
) -> Verdict:
    def field(name: str) -> Any:
        return said.get(keys.get(name, name))

    score = field("score")
    if isinstance(score, str):
        score = score_in(score)
    if isinstance(score, bool) or score not in (1, 2, 3, 4, 5):
        return _unscored(answer, "no score from 1 to 5 in the answer")
    reason, rationale = (text if isinstance(text := field(n), str) else None for n in ("reason", "rationale"))
    cited = field("evidence")
    evidence = tuple(map(str, cited)) if isinstance(cited, list) else ()
    return replace(_scored(answer, score, reason, rationale, language, mode), evidence=evidence)


def _unscored(answer: Answer, why: str) -> Verdict:
    return replace(spent(answer), mode="unscored", error=answer.error or why)


def _scored(
    answer: Answer, score: Any, reason: str | None, rationale: str | None, language: str, mode: str
) -> Verdict:
    legal = legal_reason(score, reason, language)
    verdict = replace(spent(answer), raw=float(score), reason=legal, rationale=rationale or None, mode=mode)
    return _with_distribution(verdict, answer)


def _with_distribution(
    verdict: Verdict, answer: Answer, names: Mapping[str, float] = DIGITS, key: str = "score"
) -> Verdict:
    """With the probabilities of the scores that these names stand for, where the answer has them."""
    found = digit_distribution(answer, tuple(names), key=key)
    if found is None:
        return verdict
    p = {score: found[name] for name, score in names.items()}
    expected = sum(score * share for score, share in p.items())
    return replace(verdict, p=tuple(p.get(s, 0.0) for s in range(1, 6)), expected=expected)


def read_object(answer: Answer, key: str) -> Mapping[str, Any] | None:
    """Read the object with this key: the answer's data, else the last one in its text."""
    if isinstance(answer.data, Mapping):
        return answer.data
    found: Mapping[str, Any] | None = parse(answer.text, {"type": "object", "required": [key]})[0]
    return found


NAMES = {GOOD: "good", NEUTRAL: "neutral", BAD: "bad"}
#: Good, neutral and bad on the scale of scores.
SCORES = {GOOD: 5.0, NEUTRAL: 3.0, BAD: 1.0}


def read_label(answer: Answer, values: Sequence[float]) -> Verdict:
    """The verdict in an answer to a prompt that asks for good or bad, or neutral where 3 is among the `values`.

    What cannot be read is unscored, and `error` says why.
    """
    data = answer.data if isinstance(answer.data, dict) else {}
    stated, scheme = data.get("verdict"), "three" if SCORES[NEUTRAL] in values else "binary"
    label, rule = parse_verdict(answer.text if stated is None else str(stated), cast(Scheme, scheme))
    if label is None:
        return _unscored(answer, f"no verdict in {answer.text[:40]!r}")
    mode = rule if stated is None else answer.mode
    verdict = replace(spent(answer), raw=SCORES[label], rationale=data.get("reason"), mode=mode)
    names = {NAMES[label]: score for label, score in SCORES.items() if score in values}
    return _with_distribution(verdict, answer, names, key="verdict")


#: What numbers mean, which is never guessed: 0 is bad in `binary01`, neutral in `three`, nothing in `binary`.
Scheme = Literal["binary", "binary01", "three"]
SCHEMES: tuple[Scheme, ...] = ("binary", "binary01", "three")
LONGEST = 200_000
_LABELS = read_toml(__file__, "verdicts.toml")
KEYS: list[str] = _LABELS["keys"]
_WORDS = {
    word: label
    for name, label in (("good", GOOD), ("bad", BAD), ("neutral", NEUTRAL))
    for word in _LABELS["words"][name]
}
_FENCE = re.compile(r"```[\w-]*[ \t]*\n?(.*?)(?:```|\Z)", re.S)
_OBJECT = {"type": "object", "anyOf": [{"required": [key]} for key in KEYS]}
_STATED = re.compile(_LABELS["stated"].replace("{keys}", "|".join(KEYS)), re.I)


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
    found, _ = parse(inner, _OBJECT)
    if found:
        return Read(_label(next(found[key] for key in KEYS if key in found), scheme), "json")
    if stated := list(_STATED.finditer(inner)):
        return Read(_label(stated[-1]["said"], scheme), "stated")
    if (label := _label(inner, scheme)) is not None:
        return Read(label, "alone")
    last = inner.splitlines()[-1]
    if (label := _label(last, scheme)) is not None:
        return Read(label, "last line")
    return Read(None, "none")


def _label(value: Any, scheme: Scheme) -> int | None:
    """A value that is a label and nothing else."""
    if isinstance(value, bool):
        return GOOD if value else BAD
    if isinstance(value, int | float):
        return _numbered(float(value), scheme)
    if not isinstance(value, str):
        return None
    word = value.strip(_LABELS["trimmed"]).casefold()
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
