"""A loopback judge for tests of the explorer: it scores by what stands in the prompt, with log probabilities.

Each statement of the memory that says "prices" is worth a point from 3 up; the word "refuse" makes it say nothing
that could be read.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from endpoint import completion


def judging(body: dict[str, Any]) -> dict[str, Any]:
    """The completion of a judge, one digit or a written verdict, as the request wants it."""
    asked = "\n".join(str(m["content"]) for m in body["messages"])
    if "refuse" in asked:
        return completion("I would rather not.")
    notes = "\n".join(re.findall(r"\[M\d+\].*", asked))
    score = min(5, 3 + len(re.findall("prices", notes)))
    if body.get("max_tokens") == 1:
        return _with_logprobs(completion(str(score), finish="length"), str(score), score)
    text = json.dumps(
        {"score": score, "reason": "满意" if score > 3 else "不够细致", "evidence": ["M1", "M99"], "rationale": "M1 <b>bold</b>"},
        ensure_ascii=False,
    )  # fmt: skip
    return _with_logprobs(completion(text), text, score)


def _with_logprobs(body: dict[str, Any], text: str, score: int) -> dict[str, Any]:
    tokens = []
    for part in re.findall(r'"score": |\d|.', text) if len(text) > 1 else [text]:
        top = [{"token": part, "logprob": -0.01}]
        if part == str(score):
            shares = {k: math.exp(-abs(k - score) * 1.5) for k in range(1, 6)}
            total = sum(shares.values())
            top = [{"token": str(k), "logprob": math.log(v / total)} for k, v in shares.items()]
            top.sort(key=lambda t: -t["logprob"])
        tokens.append({"token": part, "logprob": top[0]["logprob"], "bytes": None, "top_logprobs": top})
    body["choices"][0]["logprobs"] = {"content": tokens}
    return body
