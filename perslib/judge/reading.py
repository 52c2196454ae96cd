"""From what a model answered to a verdict: the score, its distribution, the reason, the rationale.

Nothing is guessed: an answer in which no single score can be found becomes an unscored verdict that says why.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from perslib.corpus.reasons import legal_reason
from perslib.judge.base import Verdict
from perslib.llm import Answer, digit_distribution, parse

#: Alternatives asked for at each token; what endpoints give at most.
TOP_LOGPROBS = 20
#: Probability that the five digits must have together if one of them is to count though another word was written.
LEAST_MASS = 1e-4
_DIGITS = {"一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5}
# A score, not a part of a longer number: the 4 of 4.0 counts, that of 4.5, 14 or 4/10 does not.
_ONE = (
    r"(?<![\d.／/一二三四五十百千万第-])([1-5]|[一二两三四五])(?:\.0+)?"
    r"(?![\d.一二三四五十百千万]*[\d一二三四五十百千万])(?!\s*(?:[/／]|out of)\s*(?!5\b))"
)
#: "3 or 4", "3-4分": names two scores, which is none.
_RANGE = re.compile(
    r"[1-5一二两三四五]\s*(?:[-–—~～到至或和、]|to|or|and)\s*[1-5一二两三四五]", re.IGNORECASE
)
#: "(满分5分)": says what the scale is.
_SCALE = re.compile(
    r"满分\s*(?:为|是)?\s*[5五]\s*分?|(?<=\d)\s*(?:[/／]|out of)\s*(?:5|five)\b", re.IGNORECASE
)
_SAYINGS = [
    # score: 4, "score": "4", a rating of 4, 评分为4
    r"(?:score|rating|satisfaction|评分|得分|打分|分数|满意度)[\"'”*]*\s*(?:is|of|be|[:：=为是给])?\s*[\"'“*]*\s*"
    rf"{_ONE}(?!\s*(?:would|could|means?|needs?|requires?)\b)",
    # 4分, 四分, 4 stars; not 4分钟, not 扣1分, not a 4 stars hotel
    rf"(?<![扣减加差少]){_ONE}\s*(?:分(?![钟之别为成点类步五钱货])|颗星|stars?\b(?!\s*hotel))",
]


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


def score_in(text: str) -> int | None:
    """The one score that a text names, as 4/5, 四分, "score: 4" or 4 stars; None where it names none or several."""
    text = _RANGE.sub("…", unicodedata.normalize("NFKC", text))
    of_five = re.findall(rf"{_ONE}\s*(?:/|out of)\s*(?:5|five)\b", text, re.IGNORECASE)
    rest = _SCALE.sub("", text)
    said = [*of_five, *(m for saying in _SAYINGS for m in re.findall(saying, rest, re.IGNORECASE))]
    if not said and (alone := re.fullmatch(rf"\W*{_ONE}\W*", rest)):
        said = [alone[1]]
    found = {_digit(one) for one in said}
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


def _with_distribution(verdict: Verdict, answer: Answer) -> Verdict:
    distribution = digit_distribution(answer)
    if distribution is None:
        return verdict
    p = tuple(distribution[str(s)] for s in range(1, 6))
    return replace(verdict, p=p, expected=distribution.expected)


def _summed(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    def total(name: str) -> Any:
        known = [getattr(v, name) for v in verdicts if getattr(v, name) is not None]
        return sum(known) if known else None

    return {n: total(n) for n in ("tokens_in", "tokens_cached", "tokens_out", "seconds", "cost")}


def _digit(said: str) -> int:
    return _DIGITS[said] if said in _DIGITS else int(said)
