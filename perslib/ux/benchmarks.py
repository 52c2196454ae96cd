"""Prompts of other benchmarks as cases of UX Eval (UXBench, section 4.4): any JSON Lines file of prompts will do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.errors import DataError, Problem
from perslib.llm.types import Message
from perslib.ux.cases import Case

_TEXTS = ("query", "prompt", "instruction", "question", "input", "text")
_TALKS = ("messages", "turns", "conversation", "conversation_input", "history")


def prompts_from(path: str | Path, benchmark: str = "") -> tuple[list[Case], pd.DataFrame]:
    """Cases of UX Eval from any JSON Lines file of prompts, and the lines that are none with the reason.

    A line is an object with a text (query, prompt, instruction, question, input, text) or a conversation (messages, turns,
    conversation) of {role, content} or of texts that speak in turn, the user first; the last message has to be the
    user's. An id and a category (scenario) are taken where they are named so. Rejected: columns place, reason.
    """
    path = Path(path)
    cases: dict[str, Case] = {}
    rejected = []
    for place, line in _lines(path):
        try:
            value = json.loads(line)
            case = _prompt(value, f"{benchmark or path.stem}/{place.rpartition(':')[2]}", benchmark)
        except (ValueError, RecursionError) as error:
            rejected.append({"place": place, "reason": str(error)[:120]})
            continue
        if case.case in cases:
            rejected.append({"place": place, "reason": f"a second prompt with id {case.case}"})
        else:
            cases[case.case] = case
    return list(cases.values()), pd.DataFrame(rejected, columns=["place", "reason"])


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    if not path.is_file():
        raise DataError(Problem(str(path), "there is no such file"), "Give a JSON Lines file of prompts.")
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield f"{path.name}:{number}", line


def _prompt(value: Any, usual: str, benchmark: str) -> Case:
    if not isinstance(value, Mapping):
        raise ValueError("is no object")
    named = next(
        (
            str(value[k])
            for k in ("id", "case", "question_id", "uid", "session_id")
            if value.get(k) is not None
        ),
        "",
    )
    scenario = next((str(value[k]) for k in ("scenario", "category", "dataset") if value.get(k)), benchmark)
    said = next((_talk(value[k]) for k in _TALKS if isinstance(value.get(k), list) and value[k]), None)
    text = next((value[k] for k in _TEXTS if isinstance(value.get(k), str) and value[k].strip()), None)
    if said is None or (text is not None and said[-1]["role"] != "user"):
        if text is None:
            raise ValueError(
                f"has neither a prompt ({', '.join(_TEXTS)}) nor a conversation ({', '.join(_TALKS)})"
            )
        said = [*(said or []), {"role": "user", "content": text}]
    if said[-1]["role"] != "user":
        raise ValueError("the last message is not the user's")
    name = f"{benchmark}/{named}" if benchmark and named else named or usual
    return Case(name, said[-1]["content"], tuple(said[:-1]), scenario=scenario)


def _talk(items: list[Any]) -> list[Message]:
    said: list[Message] = []
    for i, item in enumerate(items):
        if isinstance(item, str):
            item = {"role": "assistant" if i % 2 else "user", "content": item}
        text = item.get("content", item.get("message")) if isinstance(item, Mapping) else None
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"message {i} has no text")
        role = item.get("role", "user")
        said.append({"role": role if role in ("user", "assistant", "system") else "user", "content": text})
    return said
