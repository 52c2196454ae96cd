"""From what a model answered to a verdict: the score, its distribution, the reason, the rationale.

Nothing is guessed: an answer in which no single score can be found becomes an unscored verdict that says why.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from perslib.corpus.reasons import legal_reason
from perslib.judge.base import Verdict
from perslib.llm import Answer, Request, digit_distribution

#: Alternatives asked for at each token; what endpoints give at most.
TOP_LOGPROBS = 20
_DIGITS = {"一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5}
_ONE = r"([1-5]|[一二两三四五])(?![\d.]\d|\d)"
_SAYINGS = [
    rf"{_ONE}\s*(?:/|out of|分之)\s*(?:5|five)\b",
    rf"(?:score|rating|satisfaction|评分|得分|打分|分数|满意度)[\"'”*]*\s*(?:is|of|be|[:：=为是给])?\s*[\"'“*]*\s*{_ONE}(?!\s*(?:-|–|到|至|to)\s*\d)",
    rf"(?<![\d.一二三四五十百千万第/]){_ONE}\s*(?:分(?!钟|之|别|为|成|点|类|步)|stars?\b|points?\b|颗星)",
]


def read(answer: Answer, language: str, *, keys: Mapping[str, str] | None = None) -> Verdict:
    """The verdict in an answer to a prompt that asks for `score`, `reason` and `rationale`.

    `keys` renames fields of the answer, {"evidence": "key_evidence_ids"} say.
    """
    if answer.data is not None:
        return _of_object(answer, language, dict(keys or {}))
    score = score_in(answer.raw)
    if score is None:
        return replace(spent(answer), mode="unscored", error=answer.error or "no score in the answer")
    return _scored(answer, score, None, answer.raw.strip() or None, language, mode="prose")


def read_digit(answer: Answer) -> Verdict:
    """The verdict in an answer to a score-only prompt: one digit, with its distribution if there is one."""
    said = re.fullmatch(r"\W*([1-5])\W*", answer.text)
    distribution = digit_distribution(answer)
    if answer.error is not None or (said is None and distribution is None):
        problem = answer.error or f"expected a digit from 1 to 5, found {answer.text[:40]!r}"
        return replace(spent(answer), mode="unscored", error=problem)
    if said is None and distribution is not None:
        # The model was about to write something else; the digits it weighed count only if they weigh something.
        if distribution.mass < 0.05:
            problem = f"expected a digit from 1 to 5, found {answer.text[:40]!r}"
            return replace(spent(answer), mode="unscored", error=problem)
        score = float(max(distribution, key=lambda digit: distribution[digit]))
    else:
        assert said is not None
        score = float(said[1])
    return replace(_with_distribution(spent(answer), answer), raw=score, mode="digit")


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
    found = {_digit(m[1]) for saying in _SAYINGS for m in re.finditer(saying, text, re.IGNORECASE)}
    if not found and (alone := re.fullmatch(rf"\W*{_ONE}\W*", text)):
        found = {_digit(alone[1])}
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


def with_logprobs(request: Request) -> Request:
    """The request, asking for the alternatives at each token as well; endpoints without them leave them out."""
    return replace(request, top_logprobs=TOP_LOGPROBS)


def _of_object(answer: Answer, language: str, keys: Mapping[str, str]) -> Verdict:
    def field(name: str) -> Any:
        return answer.data.get(keys.get(name, name))

    evidence = tuple(str(e) for e in field("evidence") or ())
    scored = _scored(answer, field("score"), field("reason"), field("rationale"), language, mode=answer.mode)
    return replace(scored, evidence=evidence)


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
