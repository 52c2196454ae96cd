"""How judges put their questions (`Manner`), and what an answer says: a score with its distribution, reason and rationale,
or a verdict, good or bad.

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
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from perslib.corpus import Target
from perslib.corpus.schema import BAD, GOOD, NEUTRAL, legal_reason
from perslib.errors import DataError, Problem
from perslib.judge.base import Verdict
from perslib.llm import Answer, Ask, Request, digit_distribution, parse
from perslib.llm.answerers.completions import split_reasoning
from perslib.paths import read_toml
from perslib.prompts import Prompt, PromptSettings

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
        asked=answer.digest or None,
        tokens_in=answer.tokens_in,
        tokens_cached=answer.tokens_cached,
        tokens_out=answer.tokens_out,
        seconds=answer.seconds,
        cost=answer.cost,
    )


def _of_object(answer: Answer, said: Mapping[str, Any], language: str, keys: Mapping[str, str], mode: str) -> Verdict:
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


def _scored(answer: Answer, score: Any, reason: str | None, rationale: str | None, language: str, mode: str) -> Verdict:
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
    stated = data.get("verdict")
    said = answer.text if stated is None else str(stated)
    label, rule = parse_verdict(said, neutral=SCORES[NEUTRAL] in values)
    if label is None:
        return _unscored(answer, f"no verdict in {answer.text[:40]!r}")
    mode = rule if stated is None else answer.mode
    verdict = replace(spent(answer), raw=SCORES[label], rationale=data.get("reason"), mode=mode)
    names = {NAMES[label]: score for label, score in SCORES.items() if score in values}
    return _with_distribution(verdict, answer, names, key="verdict")


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
_STATED, _PERHAPS = (
    re.compile(_LABELS["stated"].replace("{keys}", "|".join(sorted(keys, key=len, reverse=True))), re.I)
    for keys in (KEYS, _LABELS["perhaps"])
)


class Read(NamedTuple):
    """A label, or None, and the rule that read it: json, stated, alone, last line, first line; or none."""

    label: int | None
    rule: str


def parse_verdict(text: str, *, neutral: bool = False) -> Read:
    """The verdict in a text: good (1) or bad (-1), with `neutral` also 0; what else numbers mean is never guessed."""
    said = unicodedata.normalize("NFKC", split_reasoning(text[:LONGEST])[0]).strip()
    if not said:
        return Read(None, "none")
    inner = _FENCE.sub(lambda match: match[1], said).strip()
    found, _ = parse(inner, _OBJECT)
    if found:
        return Read(_label(next(found[key] for key in KEYS if key in found), neutral), "json")
    if stated := list(_STATED.finditer(inner)):
        return Read(_label(stated[-1]["said"], neutral), "stated")
    if (label := _label(inner, neutral)) is not None:
        return Read(label, "alone")
    if perhaps := [label for m in _PERHAPS.finditer(inner) if (label := _label(m["said"], neutral)) is not None]:
        return Read(perhaps[-1], "stated")
    lines = inner.splitlines()
    for rule, line in (("last line", lines[-1]), ("first line", lines[0])):
        if (label := _label(line, neutral)) is not None:
            return Read(label, rule)
    return Read(None, "none")


def _label(value: Any, neutral: bool) -> int | None:
    """A value that is a label and nothing else."""
    if isinstance(value, bool):
        return GOOD if value else BAD
    if isinstance(value, int | float):
        return _numbered(float(value), neutral)
    if not isinstance(value, str):
        return None
    word = value.strip(_LABELS["trimmed"]).casefold()
    if word in ("true", "false"):
        return GOOD if word == "true" else BAD
    if re.fullmatch(r"[+-]?\d+(?:\.0+)?|−\d+", word):
        return _numbered(float(word.replace("−", "-")), neutral)
    label = _WORDS.get(word)
    return None if label == NEUTRAL and not neutral else label


def _numbered(value: float, neutral: bool) -> int | None:
    known = {1.0: GOOD, -1.0: BAD} | ({0.0: NEUTRAL} if neutral else {})
    return known.get(value)


def pooled(verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict from several draws: shares as distribution, the commonest score, the words of its first draw.

    Draws without a score are left out; if none has one, the first says why.
    """
    scored = [v for v in verdicts if v.raw is not None]
    total = _summed(verdicts)
    if not scored:
        return replace(verdicts[0], **total)
    counts = Counter(v.raw for v in scored)
    mean = sum(v.raw for v in scored if v.raw is not None) / len(scored)
    most = max(counts, key=lambda s: (counts[s], -abs(s - mean), -s))  # type: ignore[operator]
    p = tuple(counts[float(s)] / len(scored) for s in range(1, 6))
    spoken = next(v for v in scored if v.raw == most)
    return replace(spoken, expected=mean, p=p, mode="samples", **total)


def _summed(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    def total(name: str) -> Any:
        known = [getattr(v, name) for v in verdicts if getattr(v, name) is not None]
        return sum(known) if known else None

    return {n: total(n) for n in ("tokens_in", "tokens_cached", "tokens_out", "seconds", "cost")}


#: Alternatives asked for at each token; what endpoints give at most.
TOP_LOGPROBS = 20


@dataclass(frozen=True)
class Manner(PromptSettings):
    """How a judge asks for scores: the settings of all questions, and how the score is to be given.

    Written, it gives score, reason and rationale; not written, the score alone, one token. Either way the
    distribution over 1–5 is read from the log probabilities where the backbone gives them. Where it does not,
    `samples` > 1 asks several times and takes the shares. Without a `temperature` the prompt decides (0.6 for the
    personal judge, as published), and it is 0 for the score alone.
    """

    written: bool = True
    window: int | None = field(default=5, kw_only=True)
    """Messages of either role shown before the reply; None shows all."""
    samples: int = field(default=1, kw_only=True)
    weighed: bool = field(default=False, kw_only=True)
    """Of the score alone: count the likeliest digit where something else is written, as very small models do."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.samples < 1:
            raise DataError(Problem("samples", f"is {self.samples}, expected 1 or more"))
        if self.samples > 1 and self.temperature == 0:
            raise DataError(Problem("temperature", "is 0, so every sample would be the same"))

    def requests(self, name: str | Prompt, fields: Mapping[str, Any]) -> list[Request]:
        """The question of this prompt, as often as it is to be asked."""
        found = self.prompt(name) if isinstance(name, str) else name
        request = replace(found.render(**fields), top_logprobs=TOP_LOGPROBS)
        if not self.written:
            usual = 0.0 if self.samples == 1 else 1.0
            request = replace(request, schema=None, max_tokens=1, temperature=usual)
        request = self.apply(request)
        if self.samples == 1:
            return [request]
        seeds = [None if self.seed is None else self.seed + i for i in range(self.samples)]
        return [replace(request, sample=i, seed=seed) for i, seed in enumerate(seeds)]

    def read(self, answer: Answer) -> Verdict:
        """What one answer says."""
        return read(answer, self.language) if self.written else read_digit(answer, weighed=self.weighed)

    async def ask(
        self,
        name: str,
        questions: Sequence[Mapping[str, Any]],
        ask: Ask,
        reading: Callable[[int, Answer], Verdict] | None = None,
    ) -> list[Verdict]:
        """One verdict for each question put with this prompt; all of them may be under way at once.

        `reading` reads an answer that says more than score, reason and rationale; it is told the number of the
        question.
        """
        found = self.prompt(name)
        asked = [self.requests(found, fields) for fields in questions]
        answers = iter(await ask([request for group in asked for request in group], "judge"))
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
