"""Small logs and a scripted model for the construction of UXBench cases."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pandas as pd
from prompt_fields_uxc import ANSWERS, FIELDS
from scripted import Scripted

from perslib.llm import Answer, Request
from perslib.prompts import prompt
from perslib.systems.uxbench.construction import construct

PLAN = "The baths in the morning, a walk along the river after lunch, then the train home at six."
LONG = " ".join(f"{PLAN} Stop number {i} is worth an hour." for i in range(12))
Change = Callable[[str, dict[str, Any], Request], Any]


def log(*sessions: list[tuple[Any, ...]]) -> pd.DataFrame:
    """A frame in the format of raw logs. A message is (role, text) or (role, text, further fields)."""
    rows = []
    for n, said in enumerate(sessions):
        history = []
        for i, (role, text, *more) in enumerate(said):
            at = f"2026-0{1 + n % 9}-05 08:{2 * i:02d}:00"
            own = {"turn_index": i, "role": role, "message": text, "create_time": at}
            history.append({**own, **(more[0] if more else {})})
        rows.append({"cid": f"s{n}", "history": history})
    return pd.DataFrame(rows)


def talk(query: str, reply: str, after: str | None = None, **clicked: Any) -> list[tuple[Any, ...]]:
    """One exchange after a first one, and what the user says then."""
    said = [("user", "Hello there, what can you do?"), ("assistant", "Plans, recipes, letters.")]
    said = [*said, ("user", query), ("assistant", reply, clicked)]
    return [*said, ("user", after)] if after else said


#: A good session and a bad one.
LIKED = talk("Plan two days in Bath for my father.", PLAN, is_liked=1)
COMPLAINED = talk("Plan a weekend in York for three people.", "York is a city in England.", "That is not what I asked.")


def step_of(request: Request) -> str:
    """`mine_bad` of a request that the prompt uxc_mine_bad put."""
    return str(re.search(r"uxc_(\w+)@", request.prompt or "")[1])  # type: ignore[index]


def numbers(request: Request) -> list[int]:
    """The replies with a signal that a miner is shown, or the cases that a judge is shown."""
    said = str(request.messages[1]["content"])
    if step_of(request).startswith("mine"):
        return [int(n) for n in re.findall(r"\d+", said.rstrip().rsplit("\n", 1)[1])]
    return [int(n) for n in re.findall(r"^(?:Case|案例) (\d+)(?::|：)", said, re.MULTILINE)]


def good_answer(request: Request) -> dict[str, Any]:
    """What keeps everything."""
    data = ANSWERS[f"uxc_{step_of(request)}"]
    if "cases" in data:
        return {"cases": [{**data["cases"][0], "reply": n, "shown_in": 0, "quote": ""} for n in numbers(request)]}
    if "grades" in data:
        return {"grades": [{**data["grades"][0], "case": n} for n in numbers(request)]}
    return dict(data)


def model(change: Change = lambda step, data, request: data, name: str = "scripted") -> Scripted:
    """A model that keeps everything, unless `change` makes something else of its answer."""

    def reply(request: Request) -> Answer:
        data = change(step_of(request), good_answer(request), request)
        return Answer(text=str(data), data=data, error=None if data is not None else "no JSON", earlier=("x",))

    made = Scripted(reply=reply)
    made.name = made.model = name
    made.entry = SimpleNamespace(cost=lambda *tokens: tokens[0] / 1e6)  # type: ignore[attr-defined]
    return made


def of(made, stage):
    return [(one.reason, one.place) for one in made.rejects if one.stage == stage]


def built(source, change=lambda step, data, request: data, **options):
    options = {"language": "en", "miner": model(change), **options}
    return construct(source, **options)


def mined(**changes):
    """Changes what the miner says of every case."""

    def change(step, data, request):
        return {"cases": [{**c, **changes} for c in data["cases"]]} if step.startswith("mine") else data

    return change


def checked(**changes):
    return lambda step, data, request: {**data, **changes} if step.startswith("check") else data


def nothing(stage):
    return lambda step, data, request: None if step.startswith(stage) else data


def extra(**case):
    """The miner names one more reply."""

    def change(step, data, request):
        if step != "mine_bad":
            return data
        return {"cases": [*data["cases"], {**data["cases"][0], **case}]}

    return change


def shown(name):
    """What the prompt of a step says first; each step's is different."""
    own = prompt(f"uxc_{name}", "en")
    return own.render(**{key: FIELDS[key] for key in own.placeholders}).messages[0]["content"]
