"""The synthetic world as a corpus, and the bundled sample: one small world in each language, in `data/sample`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus.corpus import Corpus
from perslib.corpus.store import save
from perslib.paths import bundled, read_toml
from perslib.worlds import satisfaction
from perslib.worlds.assistants import ASSISTANTS
from perslib.worlds.conversation import Conversation, converse
from perslib.worlds.lives import LANGUAGES, SCENARIOS, Book, Dice, Life, book, life
from perslib.worlds.tasks import DAY, before_task, situations, task

VERSION = 1
_SESSIONS = read_toml(__file__, "model.toml")["sessions"]
#: Frame → its columns in order.
COLUMNS: dict[str, list[str]] = read_toml(__file__, "frames.toml")["columns"]
_TYPES = {
    column: type
    for type, columns in read_toml(__file__, "frames.toml")["types"].items()
    for column in columns
}
YEAR = 2024
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
        "generator": f"perslib.worlds {VERSION}",
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
    told, events = situations(one, words, key, [(start, length // DAY) for start, length in months])
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
            for row in before_task(one, wanted, words, here, started)
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
    wanted = [s for s in SCENARIOS for _ in range(int(dice.weighted(_SESSIONS[s])))]
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


def _frame(name: str, rows: list[dict[str, Any]]) -> pd.DataFrame:
    columns = {}
    for column in COLUMNS[name]:
        values, dtype = [row[column] for row in rows], _TYPES.get(column)
        if dtype == "datetime64[us]":
            seconds = pd.Series(values, dtype="int64")
            columns[column] = pd.to_datetime(seconds, unit="s").astype("datetime64[us]")
        else:
            usual = "str" if values and isinstance(values[0], str) else None
            columns[column] = pd.Series(values, dtype=dtype or usual)
    return pd.DataFrame(columns)


USERS, SEED, CANDIDATES = 24, 42, 0.2


def sample(language: str) -> Corpus:
    """The sample in one language, as `load("sample/en")` gives it."""
    return world(USERS, SEED, language, candidates=CANDIDATES, name=f"sample/{language}")


def write_sample(folder: Path | None = None) -> list[Path]:
    """Write the sample in every language below `folder` (default: the bundled one); the same bytes every time."""
    root = folder or bundled("data", "sample")
    return [save(sample(language), root / language) for language in LANGUAGES]
