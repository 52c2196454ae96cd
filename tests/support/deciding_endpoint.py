"""A loopback endpoint for decisions, in both published forms: OpenAI's (`/decisions`) and System One (`/systemone`).

What comes in is checked with the SDK's own types, and so is what goes out, but where a test sends odd answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web
from endpoint import Endpoint
from openai.types import Decision
from openai.types.decision_create_params import DecisionCreateParams
from pydantic import TypeAdapter

REQUEST = TypeAdapter(DecisionCreateParams)
Shares = Callable[[str, str, list[str]], list[float]]


def peaked(name: str, text: str, options: list[str]) -> list[float]:
    """Most of the probability on the last option but one, a tenth on the last, the rest spread evenly."""
    rest = [0.05 / max(len(options) - 2, 1)] * max(len(options) - 2, 0)
    return [*rest, 0.9 if rest == [] else 0.85, 0.1]


class Deciding(Endpoint):
    """Answers each question by `shares(name, text asked about, options)`; `reply(body)` takes precedence where it says something."""

    def __init__(self, shares: Shares = peaked):
        super().__init__()
        self.shares = shares
        self.reply = lambda body: None

    def routes(self) -> list[web.RouteDef]:
        own = [web.post("/v1/decisions", self.decide), web.post("/v1/systemone", self.decide_natively)]
        return [*super().routes(), *own]

    async def decide(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        REQUEST.validate_python(body)
        self.bodies.append(body)
        if self.faults:
            return await self.faults.popleft()(request, body)
        reply = self.reply(body)
        if reply is None:
            reply = {"model": "luna-1", "answers": [self._answer(q, body) for q in body["questions"]], "usage": USAGE}
            Decision.model_validate(reply)
        return web.json_response(reply)

    def _answer(self, question: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
        kind, own = question["type"], {"type": question["type"], "name": question["name"]}
        if kind == "predicate":
            return {**own, "probability": self.shares(question["name"], str(body["input"]), ["yes", "no"])[0]}
        named = "label" if kind == "score" else "value"
        options = [o[named] for o in question["levels" if kind == "score" else "choices"]]
        p = self.shares(question["name"], str(body["input"]), options)
        best = max(range(len(p)), key=p.__getitem__)
        each: list[dict[str, Any]] = [{named: o, "probability": x} for o, x in zip(options, p)]
        if kind == "choice":
            return {**own, "choice": options[best], "confidence": max(p), "probabilities": each}
        levels = [{**one, "value": i} for i, one in enumerate(each)]
        mean = sum(i * x for i, x in enumerate(p))
        return {**own, "score": mean, "confidence": max(p), "probabilities": levels}

    async def decide_natively(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        if self.faults:
            return await self.faults.popleft()(request, body)
        answers = {name: self._native(name, question, body) for name, question in body["questions"].items()}
        return web.json_response(
            {"model": "laya", "answers": answers, "usage": {"input_tokens": 50, "output_tokens": 0}}
        )

    def _native(self, name: str, question: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
        kind = question["type"]
        if kind == "noul":
            return {"type": "noul", "noul": self.shares(name, str(body["state"]), ["yes", "no"])[0]}
        options = list(question["criteria"])
        p = self.shares(name, str(body["state"]), options)
        if kind == "choice":
            best = options[p.index(max(p))]
            return {"type": kind, "choice": best, "confidence": 0.5, "probabilities": dict(zip(options, p))}
        numbered = {str(i): x for i, x in enumerate(p)}
        legend = {str(i): o for i, o in enumerate(options)}
        return {"type": kind, "score": 2.0, "legend": legend, "confidence": 0.5, "probabilities": numbered}


USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 100,
}
