"""The synthetic world as a corpus."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pandas as pd

from perslib.corpus.corpus import Corpus
from perslib.corpus.schema import SESSION
from perslib.corpus.synthetic import logs, satisfaction
from perslib.corpus.synthetic.assistants import ASSISTANTS
from perslib.corpus.synthetic.conversation import Conversation, converse
from perslib.corpus.synthetic.draws import Dice
from perslib.corpus.synthetic.lives import Life, life
from perslib.corpus.synthetic.tasks import task
from perslib.corpus.synthetic.words.books import SCENARIOS, Book, book

VERSION = 1
# How many conversations a user has in a scenario; a few users miss one altogether.
SESSIONS: dict[str, dict[int, float]] = {
    "travel": {0: 0.025, 3: 0.16, 4: 0.285, 5: 0.32, 6: 0.21},
    "gift": {0: 0.025, 3: 0.095, 4: 0.28, 5: 0.34, 6: 0.26},
    "recipe": {0: 0.025, 2: 0.085, 3: 0.33, 4: 0.40, 5: 0.16},
    "skill": {0: 0.025, 2: 0.10, 3: 0.345, 4: 0.365, 5: 0.165},
}
YEAR = 2024
DAY = 86_400
Rows = dict[str, list[dict[str, Any]]]


def world(
    users: int = 115,
    seed: int = 42,
    language: str = "zh",
    *,
    candidates: float = 0.12,
    strictness: float = satisfaction.STRICTNESS_SPREAD,
    noise: float = satisfaction.NOISE,
    name: str | None = None,
) -> Corpus:
    """Users who talk to five assistants and rate every reply; the truth behind it is in `extras`.

    The same arguments give the same bytes everywhere, and the first n users do not depend on how many follow.
    `candidates` is the share of turns for which every assistant's reply is recorded, `strictness` the spread
    of the users' personal thresholds, `noise` that of the rating noise.
    """
    words = book(language)
    rows: Rows = {name: [] for name in COLUMNS}
    for number in range(users):
        _live(life(number, seed, words, strictness, noise), number, seed, words, candidates, rows)
    frames = {key: _frame(key, rows[key]) for key in COLUMNS}
    extras = {
        key: frames.pop(key) for key in list(frames) if key not in ("users", "sessions", "turns", "events")
    }
    meta = {
        "synthetic": True,
        "generator": f"perslib.corpus.synthetic {VERSION}",
        "seed": seed,
        "users": users,
        "scenarios": list(words.talk.SCENARIOS.values()),
        "candidates": candidates,
        "strictness": strictness,
        "noise": noise,
    }
    return Corpus(name=name or f"synthetic-{language}", language=language, **frames, extras=extras, meta=meta)


def _seconds(month: int, day: int = 1) -> int:
    return int(datetime(YEAR, month, day, tzinfo=UTC).timestamp())


def _month(second: int) -> int:
    return datetime.fromtimestamp(second, UTC).month


def _live(one: Life, number: int, seed: int, words: Book, share: float, rows: Rows) -> None:
    """One user's year: the order of conversations, what led up to them, and what was said."""
    key = (seed, words.language, number)
    dice = Dice(*key, "year")
    months = [
        (_seconds(m), (_seconds(m + 1) if m < 12 else _seconds(12, 31) + DAY) - _seconds(m))
        for m in range(one.first_month, 13)
    ]
    told, events = logs.situations(one, words, key, [(start, length // DAY) for start, length in months])
    calendar = _calendar(one, dice)
    counts = dict.fromkeys(SCENARIOS, 0)
    for position, (scenario, started) in enumerate(calendar):
        where = {
            "user": one.user,
            "scenario": words.talk.SCENARIOS[scenario],
            "session": str(counts[scenario]),
        }
        counts[scenario] += 1
        here = (*key, scenario, where["session"])
        wanted = task(scenario, one, words, Dice(*here, "task"), _month(started))
        assistant = Dice(*here, "assistant").pick(ASSISTANTS).name
        talk = converse(one, wanted, assistant, words, here, started, share)
        session = {"task": wanted.text, "assistant": assistant, "position": position, "started_at": started}
        _collect(rows, where, session, talk)
        events += [
            {**row, "scenario": where["scenario"], "session": where["session"]}
            for row in logs.before_task(one, wanted, words, here, started)
        ]
    _file_order(rows, one.user, words)
    rows["users"].append({"user": one.user, "profile": one.profile})
    rows["truth_users"].append(one.latents())
    rows["situations"] += [{"user": one.user, **row} for row in told]
    events.sort(key=lambda row: (row["at"], row["kind"], row["content"]))
    rows["events"] += [{"user": one.user, "scenario": None, "session": None, **row} for row in events]


def _file_order(rows: Rows, user: str, words: Book) -> None:
    """Sessions by scenario and number, as data sets list them; `position` keeps the order of time."""
    place = {label: i for i, label in enumerate(words.talk.SCENARIOS.values())}
    for name in ("sessions", "turns", "truth_turns", "truth_sessions", "candidates"):
        first = next((i for i, row in enumerate(rows[name]) if row["user"] == user), len(rows[name]))
        rows[name][first:] = sorted(
            rows[name][first:], key=lambda row: (place[row["scenario"]], int(row["session"]))
        )


def _calendar(one: Life, dice: Dice) -> list[tuple[str, int]]:
    """Every conversation of the year as (scenario, start), in the order of time, at least a day apart."""
    wanted = [s for s in SCENARIOS for _ in range(dice.weighted(SESSIONS[s]))]
    order = dice.some(wanted, len(wanted))
    first, last = _seconds(one.first_month, 8), _seconds(12, 31)
    step = (last - first) // DAY / max(1, len(order))
    days = [int(i * step + dice.uniform(0.0, max(0.0, step - 1.0))) for i in range(len(order))]
    return [(s, first + day * DAY + dice.between(9 * 60, 21 * 60) * 60) for s, day in zip(order, days)]


def _collect(rows: Rows, where: dict[str, str], session: dict[str, Any], talk: Conversation) -> None:
    rows["sessions"].append(
        {
            **where,
            **session,
            "satisfaction": talk.satisfaction,
            "success": talk.success,
            "trailing": talk.trailing,
        }
    )
    rows["turns"] += [{**where, **row} for row in talk.turns]
    rows["truth_turns"] += [{**where, **row} for row in talk.truth]
    rows["truth_sessions"].append({**where, "needs": talk.needs, "spent": talk.spent})
    rows["candidates"] += [{**where, **row} for row in talk.candidates]


#: Frame → its columns in order; times are given in seconds and become datetime64[us].
_TRUTH = ["detail", "diversity", "requirement", "practicality", "format", "brevity", "utility", "expected"]
COLUMNS: dict[str, list[str]] = {
    "users": ["user", "profile"],
    "sessions": [
        *SESSION,
        "task",
        "assistant",
        "position",
        "started_at",
        "satisfaction",
        "success",
        "trailing",
    ],
    "turns": [
        *SESSION,
        "turn",
        "request",
        "earlier",
        "response",
        "score",
        "reason",
        "ratings",
        "asked_at",
        "answered_at",
        "feedback",
    ],
    "events": ["user", "scenario", "session", "at", "kind", "content"],
    "truth_users": [
        "user",
        "weight_detail",
        "weight_diversity",
        "weight_requirement",
        "weight_practicality",
        "weight_format",
        "weight_brevity",
        "strictness",
        "top_shift",
        "noise",
        "complaining",
        "thanking",
        "clicking",
        "skimming",
        "insisting",
        "patience",
        "tone",
        "household",
        "constraints",
    ],
    "truth_turns": [
        *SESSION,
        "turn",
        *_TRUTH,
        "cost",
        "focus",
        "off_topic",
        "demand",
        "kept",
        "silent",
        "broken",
        "behaviour",
    ],
    "truth_sessions": [*SESSION, "needs", "spent"],
    "situations": ["user", "situation", "start", "end", "aspect", "text", "requirement", "liked", "disliked"],
    "candidates": [*SESSION, "turn", "candidate", "response", *_TRUTH],
}
_TIMES = {"started_at", "asked_at", "answered_at", "at", "start", "end"}
_TUPLES = {"trailing", "earlier", "ratings", "constraints", "kept", "silent", "broken", "behaviour", "needs"}
_INTEGERS = {"position", "turn", "score", "situation"}
_TEXTS = {"reason", "feedback", "demand", "session", "scenario"}


def _frame(name: str, rows: list[dict[str, Any]]) -> pd.DataFrame:
    columns = {}
    for column in COLUMNS[name]:
        values = [row[column] for row in rows]
        if column in _TIMES:
            columns[column] = pd.to_datetime(pd.Series(values, dtype="int64"), unit="s").astype(
                "datetime64[us]"
            )
        elif column in _TUPLES or column == "profile":
            columns[column] = pd.Series(values, dtype=object)
        elif column in _INTEGERS:
            columns[column] = pd.Series(values, dtype="Int64")
        elif column in ("success", "off_topic"):
            columns[column] = pd.Series(values, dtype="boolean")
        elif column == "satisfaction":
            columns[column] = pd.Series(values, dtype="Float64")
        elif column in _TEXTS:
            columns[column] = pd.Series(values, dtype="str")
        else:
            columns[column] = pd.Series(
                values, dtype="str" if values and isinstance(values[0], str) else None
            )
    return pd.DataFrame(columns)
