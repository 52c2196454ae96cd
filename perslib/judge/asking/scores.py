"""What an answer says of a reply: a score with its distribution, reason and rationale.

Nothing is guessed: an answer in which no single score can be found becomes an unscored verdict that says why. These are
pure functions, so that stored answers can be read again. How scores are worded is a table (`scores.toml`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from perslib.corpus.schema import legal_reason
from perslib.judge.base import SPENT, Verdict
from perslib.llm import Answer, digit_distribution, parse
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


def read_score_verdict(answer: Answer, language: str, *, keys: Mapping[str, str] | None = None) -> Verdict:
    """Return the verdict in an answer to a prompt that asks for `score`, `reason` and `rationale`.

    An object that does not fit the schema (a reason in the other language, a long rationale) counts if its
    score does. `keys` renames fields of the answer, {"evidence": "key_evidence_ids"} say.
    """
    content = answer.data if answer.data is not None else parse(answer.whole_text, {"type": "object"})[0]
    if isinstance(content, Mapping):
        mode = answer.mode if answer.data is not None else "text"
        return _of_object(answer, content, language, dict(keys or {}), mode)
    score = find_score(answer.whole_text)
    if score is None:
        return make_unscored_verdict(answer, "no score in the answer")
    return _make_scored_verdict(answer, score, None, answer.text.strip() or None, language, mode="prose")


def read_digit(answer: Answer, *, weighed: bool = False) -> Verdict:
    """Return the verdict in an answer to a score-only prompt: one digit, with its distribution if there is one.

    A very small model may write something else. With `weighed` the digit that it held likeliest is the score all
    the same (mode `weighed`); without, the reply is unscored, since what was written may have been a refusal.
    """
    digit = find_score(answer.text)
    if answer.error is not None:
        return make_unscored_verdict(answer, answer.error)
    if digit is not None:
        return replace(with_distribution(make_cost_verdict(answer), answer), raw=float(digit), mode="digit")
    likeliest = digit_distribution(answer, weighed=True) if weighed else None
    if likeliest is None or likeliest.mass < LEAST_MASS:
        return make_unscored_verdict(answer, f"expected a digit from 1 to 5, found {answer.text[:40]!r}")
    p = tuple(likeliest[str(s)] for s in range(1, 6))
    score = 1.0 + p.index(max(p))
    return replace(make_cost_verdict(answer), raw=score, p=p, expected=likeliest.mean, mode="weighed")


def find_score(text: str) -> int | None:
    """Return the one score that a text names, as 4/5, "score: 4" or 4 stars; None where it names none or several."""
    # In pieces: a long run of combining marks takes the square of its length.
    pieces = (text[i : i + PIECE] for i in range(0, len(text), PIECE))
    text = _RANGE.sub("…", "".join(unicodedata.normalize("NFKC", piece) for piece in pieces))
    of_five = re.findall(rf"{_SAID['one']}\s*(?:/|out of)\s*(?:5|five)\b", text, re.IGNORECASE)
    rest = _SCALE.sub("", text)
    mentions = [*of_five, *(m for saying in _SAYINGS for m in re.findall(saying, rest, re.IGNORECASE))]
    if not mentions and (alone := re.fullmatch(rf"\W*{_SAID['one']}\W*", rest)):
        mentions = [alone[1]]
    digits = {int(_SAID["digits"].get(one, one)) for one in mentions}
    return digits.pop() if len(digits) == 1 else None


def make_cost_verdict(answer: Answer) -> Verdict:
    """Return a verdict that says only what its answer took."""
    return Verdict(asked=answer.digest or None, **{name: getattr(answer, name) for name in SPENT})


def _of_object(
    answer: Answer, content: Mapping[str, Any], language: str, keys: Mapping[str, str], mode: str
) -> Verdict:
    def field(name: str) -> Any:
        return content.get(keys.get(name, name))

    score = field("score")
    if isinstance(score, str):
        score = find_score(score)
    if isinstance(score, bool) or score not in (1, 2, 3, 4, 5):
        return make_unscored_verdict(answer, "no score from 1 to 5 in the answer")
    reason, rationale = (text if isinstance(text := field(n), str) else None for n in ("reason", "rationale"))
    cited = field("evidence")
    evidence = tuple(map(str, cited)) if isinstance(cited, list) else ()
    return replace(_make_scored_verdict(answer, score, reason, rationale, language, mode), evidence=evidence)


def make_unscored_verdict(answer: Answer, why: str) -> Verdict:
    """Make a verdict without a score that says why."""
    return replace(make_cost_verdict(answer), mode="unscored", error=answer.error or why)


def _make_scored_verdict(
    answer: Answer, score: Any, reason: str | None, rationale: str | None, language: str, mode: str
) -> Verdict:
    legal = legal_reason(score, reason, language)
    verdict = replace(make_cost_verdict(answer), raw=float(score), reason=legal, rationale=rationale or None, mode=mode)
    return with_distribution(verdict, answer)


def with_distribution(
    verdict: Verdict, answer: Answer, names: Mapping[str, float] = DIGITS, key: str = "score"
) -> Verdict:
    """Add the probabilities of the scores that these names stand for, where the answer has them."""
    distribution = digit_distribution(answer, tuple(names), key=key)
    if distribution is None:
        return verdict
    p = {score: distribution[name] for name, score in names.items()}
    expected = sum(score * share for score, share in p.items())
    return replace(verdict, p=tuple(p.get(s, 0.0) for s in range(1, 6)), expected=expected)
