"""Small files in UXBench's formats, as people have them: a benchmark of their own, some of the splits, a log."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

REQUESTS = (
    "Plan two days in Bath for my father.",
    "How do I reset the router in the hall?",
    "Write a short poem for my sister's birthday.",
    "Which bank account is best for a student?",
    "Explain why the sky is red in the evening.",
    "What should I cook for six guests on Sunday?",
    "Draft a letter to my landlord about the heating.",
    "How far is it from York to Leeds by train?",
    "Help me calm down before the exam tomorrow.",
    "Translate this menu into French for the guests.",
)
GOOD = "First the baths, which open at nine, then a walk along the river; the last train leaves at six. Step {}."
BAD = "It depends on many things, and there are many ways to look at question {}."
Record = dict[str, Any]


def judged(i: int, gold: int, **more: Any) -> Record:
    """A case of Task 1."""
    history = [
        {"turn_index": 0, "role": "user", "message": "Hello, I have a question."},
        {"turn_index": 1, "role": "assistant", "message": "Good morning, please ask."},
    ]
    return {
        "cid": f"j{i}",
        "selected_history": history[: 2 * (i % 2)],
        "source_query": {"turn_index": 2, "message": REQUESTS[i % len(REQUESTS)]},
        "agent_response_full": (GOOD if gold > 0 else BAD).format(i),
        "ground_truth": gold,
        **more,
    }


def to_answer(i: int) -> Record:
    """A case of Task 2."""
    query = REQUESTS[i % len(REQUESTS)]
    return {"cid": f"a{i}", "query": query, "messages": [{"role": "user", "content": query}]}


def to_recover(i: int) -> Record:
    """A case of Task 3."""
    return {
        "cid": f"r{i}",
        "history": [{"role": "user", "message": REQUESTS[i % len(REQUESTS)]}],
        "failed_response": BAD.format(i),
        "user_complaint": "That is not what I asked.",
    }


def session(i: int, *said: str, seconds: int = 90, **last: Any) -> Record:
    """A session of a raw log: texts in turn, the user first; `last` are fields of the last reply, as `is_liked`."""
    history: list[Record] = []
    for place, text in enumerate(said):
        at = place * seconds
        history.append(
            {
                "turn_index": place,
                "role": ("user", "assistant")[place % 2],
                "message": text,
                "create_time": f"2026-01-{1 + i % 28:02d} 10:{at // 60:02d}:{at % 60:02d}",
            }
        )
    replies = [message for message in history if message["role"] == "assistant"]
    replies[-1].update(last)
    return {"cid": f"s{i}", "history": history}


def reacting(i: int) -> Record:
    """A session in which the user does something after the first reply that can be read."""
    request = REQUESTS[i % len(REQUESTS)]
    after = ("That is not what I asked, this is useless.", "Thank you, that helps a lot.", request, "And on Sunday?")
    good = i % 4 in (1, 3)
    return session(i, request, (GOOD if good else BAD).format(i), after[i % 4], GOOD.format(i + 50))


def clicking(i: int) -> Record:
    """A session with a button pressed at its end."""
    liked = i % 2 == 0
    said = REQUESTS[i % len(REQUESTS)], (GOOD if liked else BAD).format(i)
    return session(i, *said, **{"is_liked" if liked else "is_unliked": 1})


def of_user(record: Record, user: str) -> Record:
    """The session with its user named."""
    return {**record, "user": user}


Files = Mapping[str, list[Record]]
#: Name → files. Each is what somebody may well have, and lacks something that a page would like.
KINDS: dict[str, Callable[[], Files]] = {
    "benchmark": lambda: {
        "uxbench_task1_judge_bad_mine": [judged(i, -1) for i in range(4)],
        "uxbench_task1_judge_good_mine": [judged(i + 4, 1) for i in range(4)],
        "uxbench_task2_eval_mine": [to_answer(i) for i in range(2)],
        "uxbench_task3_recovery_mine": [to_recover(i) for i in range(2)],
    },
    "bad-only": lambda: {"uxbench_task1_judge_bad_mine": [judged(i, -1) for i in range(6)]},
    "answers-only": lambda: {"uxbench_task2_eval_mine": [to_answer(i) for i in range(6)]},
    "recovery-only": lambda: {"uxbench_task3_recovery_mine": [to_recover(i) for i in range(6)]},
    "log": lambda: {"log": [*(clicking(i) for i in range(30)), *(reacting(i) for i in range(30, 60))]},
    "no-likes": lambda: {"log": [reacting(i) for i in range(12)]},
    "silent": lambda: {"log": [session(i, REQUESTS[i], GOOD.format(i)) for i in range(6)]},
    "few-users": lambda: {"log": [of_user((clicking if i % 3 else reacting)(i), f"u{i % 3}") for i in range(24)]},
}


def written(folder: Path, kind: str) -> Path:
    """The files of a kind, in a folder of that name."""
    place = folder / kind
    place.mkdir(parents=True)
    for name, records in KINDS[kind]().items():
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        (place / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return place
