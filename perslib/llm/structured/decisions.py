"""Requests for decisions and what comes back, in the two forms in which they are served.

`decisions` is OpenAI's (`POST /decisions`, also SGLang's and Fireworks'), `systemone` that of llama.cpp, Ollama and the models
that came first (`POST /systemone`). A question is refused or answered by itself: what cannot be read of one says why, and the
others count.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from perslib.llm.abilities import Abilities
from perslib.llm.answerers.http import TransportError
from perslib.llm.entries import DecisionForm
from perslib.llm.questions import NO, YES, Question
from perslib.llm.request import Answer, Request, read_amount

FORMS: tuple[DecisionForm, ...] = ("decisions", "systemone")
CACHE_KEY = "prompt_cache_key"
#: By how much probabilities may miss 1 together: rounding, and options without one.
SLACK = 0.02
_NATIVE = {"predicate": "noul"}


def make_decision_body(abilities: Abilities, request: Request) -> dict[str, Any]:
    """Return what is sent to an endpoint for decisions, without what it was found not to take."""
    entry, form = abilities.entry, abilities.decisions
    messages = [dict(message) for message in request.messages]
    text: Any = messages[0]["content"] if len(messages) == 1 else messages
    sent: dict[str, Any] = {"model": entry.model}
    if form == "systemone":
        sent |= {"state": text, "questions": {q.name: _describe_natively(q) for q in request.questions}}
    else:
        sent |= {"input": text, "questions": [_describe(q) for q in request.questions]}
        if request.cache_key and CACHE_KEY not in {*entry.omit, *abilities.refused}:
            sent[CACHE_KEY] = request.cache_key
    return {**sent, **entry.extra_body}


def _describe(question: Question) -> dict[str, Any]:
    described = {"type": question.kind, "name": question.name, "instructions": question.instructions}
    places = {"choice": ("choices", "value"), "score": ("levels", "label")}
    if question.kind not in places:
        return described
    listed, named = places[question.kind]
    options = [{named: o, **({"description": d} if d else {})} for o, d in question.options.items()]
    return {**described, listed: options}


def _describe_natively(question: Question) -> dict[str, Any]:
    described = {"type": _NATIVE.get(question.kind, question.kind), "instructions": question.instructions}
    if question.kind == "choice":
        return {**described, "criteria": {o: d or None for o, d in question.options.items()}}
    if question.kind == "score":
        return {**described, "criteria": [f"{o}: {d}" if d else o for o, d in question.options.items()]}
    return described


def read_decisions(form: str, questions: Sequence[Question], reply: Mapping[str, Any]) -> Answer:
    """Return the answer to all questions; a `TransportError` where the reply holds none, which is worth another try."""
    answers = reply.get("answers")
    if not isinstance(answers, list if form == "decisions" else dict):
        raise TransportError("the reply has no answers")
    by_name = _order(questions, answers) if isinstance(answers, list) else answers
    data = {q.name: _read_answer(form, q, by_name.get(q.name)) for q in questions}
    errors = [one["error"] for one in data.values() if "error" in one]
    usage: Any = reply["usage"] if isinstance(reply.get("usage"), Mapping) else {}
    details = usage.get("input_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
    text = json.dumps(data, ensure_ascii=False)
    return Answer(
        text=text,
        raw=text,
        data=data,
        mode="decided",
        finish="stop",
        error=errors[0] if len(errors) == len(questions) else None,
        tokens_in=int(read_amount(usage.get("input_tokens")) or 0),
        tokens_cached=int(read_amount(cached) or 0),
        tokens_out=int(read_amount(usage.get("output_tokens")) or 0),
        counts_cached=cached is not None,
        seconds=reply.get("seconds", 0.0),
        model=reply["model"] if isinstance(reply.get("model"), str) else "",
    )


def _order(questions: Sequence[Question], answers: Sequence[Any]) -> dict[str, Any]:
    """Return the answers by the name of their question: each names it, or all stand in the order of the questions."""
    named = {a["name"]: a for a in answers if isinstance(a, Mapping) and isinstance(a.get("name"), str)}
    if named or len(answers) != len(questions):
        return named
    return dict(zip((q.name for q in questions), answers))


def _read_answer(form: str, question: Question, answer: Any) -> dict[str, Any]:
    """Return `{"p": …}` of one answer, or `{"error": why}`."""
    if not isinstance(answer, Mapping):
        return {"error": "the endpoint left the question out"}
    kind = answer.get("type")
    if kind == "refusal":
        return {"error": "the model declined to answer"}
    if kind not in (question.kind, _NATIVE.get(question.kind)):
        return {"error": f"a {question.kind} was asked for, the endpoint answered with {str(kind)[:20]!r}"}
    if question.kind == "predicate":
        yes = answer.get("probability", answer.get("noul"))
        shares: Any = [(YES, yes)] if read_amount(yes, 1) is None else [(YES, yes), (NO, 1 - yes)]
    else:
        shares = _read_shares(question, answer.get("probabilities"), form)
    return _normalize(question, shares)


def _read_shares(question: Question, given: Any, form: str) -> list[tuple[str, Any]]:
    """Return options with their probabilities: from a list of both, or from a table by option.

    A table of `systemone` may name levels by their places, from 0 on: it does where one of its keys is no option.
    """
    if isinstance(given, list):
        shares = [one for one in given if isinstance(one, Mapping)]
        named = "label" if question.kind == "score" else "value"  # the value of a level is its place
        return [(str(one.get(named)), one.get("probability")) for one in shares]
    if not isinstance(given, Mapping):
        return []
    places = {str(place): option for place, option in enumerate(question.options)}
    is_placed = form == "systemone" and question.kind == "score" and not set(given) <= set(question.options)
    names = places if is_placed and set(given) <= set(places) else {}
    return [(names.get(str(key), str(key)), share) for key, share in given.items()]


def _normalize(question: Question, given: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    shares = dict(given)
    if unknown := [option for option in shares if option not in question.options]:
        return {"error": f"the endpoint answered with {unknown[0][:40]!r}, which is no option"}
    if len(shares) < len(given):
        return {"error": "the endpoint gave an option two probabilities"}
    if wrong := [share for share in shares.values() if read_amount(share, 1) is None]:
        return {"error": f"{str(wrong[0])[:20]!r} is no probability"}
    total = sum(shares.values())
    if abs(total - 1) > SLACK:
        return {"error": f"the probabilities sum to {total:.3g}"}
    return {"p": {option: shares.get(option, 0.0) / total for option in question.options}}
