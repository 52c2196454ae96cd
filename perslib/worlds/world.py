"""The synthetic world as a corpus, and the bundled sample: one small world in each language, in `data/sample`."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus import BLOCK, SESSION
from perslib.corpus.corpus import FRAMES, Corpus, group_shuffle_split
from perslib.corpus.store import save
from perslib.paths import find_bundled, read_toml
from perslib.worlds.chats.assistants import ASSISTANTS
from perslib.worlds.chats.conversation import Rows, converse
from perslib.worlds.chats.tasks import DAY, before_task, make_log_situations, task
from perslib.worlds.lives import LANGUAGES, MODEL, NOISE, SCENARIOS, STRICTNESS_SPREAD, Book, Dice, Life, book, life

VERSION = 2
_SESSIONS = MODEL["sessions"]
#: Frame → its columns in order.
COLUMNS: dict[str, list[str]] = read_toml(__file__, "frames.toml")["columns"]
_TYPES = {name: kind for kind, names in read_toml(__file__, "frames.toml")["types"].items() for name in names}
YEAR = 2024


def world(
    users: int = 115, seed: int = 42, language: str = "zh", *, candidates: float = 0.12, name: str | None = None
) -> Corpus:
    """Return users who talk to five assistants and rate every reply; the truth behind it is in `extras`.

    The same arguments give the same bytes everywhere, and the first n users do not depend on how many follow.
    `candidates` is the share of turns for which every assistant's reply is recorded.
    """
    words = book(language)
    rows: Rows = {name: [] for name in COLUMNS}
    for number in range(users):
        _live(life(number, seed, words), number, seed, words, candidates, rows)
    frames = {key: _frame(key, own) for key, own in rows.items()}
    extras = {key: frames.pop(key) for key in COLUMNS if key not in FRAMES}
    meta = {
        "synthetic": True,
        "generator": f"perslib.worlds {VERSION}",
        **{"seed": seed, "users": users, "scenarios": list(words.talk.SCENARIOS.values())},
        **{"candidates": candidates, "strictness": STRICTNESS_SPREAD, "noise": NOISE},
    }
    return Corpus(name=name or f"synthetic-{language}", language=language, **frames, extras=extras, meta=meta)


def _seconds(month: int, day: int = 1) -> int:
    return int(datetime(YEAR, month, day, tzinfo=UTC).timestamp())


def _live(one: Life, number: int, seed: int, words: Book, share: float, rows: Rows) -> None:
    """Live one user's year: the order of conversations, what led up to them, and what was said."""
    key = (seed, words.language, number)
    months = [(_seconds(m), monthrange(YEAR, m)[1]) for m in range(one.first_month, 13)]
    happened, events = make_log_situations(one, words, key, months)
    talks: dict[str, list[Rows]] = {scenario: [] for scenario in words.talk.SCENARIOS}
    for position, (scenario, started) in enumerate(_calendar(one, Dice(*key, "year"))):
        session = str(len(talks[scenario]))
        where = {"scenario": words.talk.SCENARIOS[scenario], "session": session}
        here = (*key, scenario, session)
        wanted = task(scenario, one, words, Dice(*here, "task"), datetime.fromtimestamp(started, UTC).month)
        assistant = Dice(*here, "assistant").pick(ASSISTANTS).name
        asked = {"task": wanted.text, "assistant": assistant, "position": position, "started_at": started}
        talk = converse(one, wanted, assistant, words, here, started, share)
        talk["sessions"][0] |= asked
        talks[scenario].append({name: [{**where, **row} for row in own] for name, own in talk.items()})
        events += [{**row, **where} for row in before_task(one, wanted, words, here, started)]
    events.sort(key=lambda row: (row["at"], row["kind"], row["content"]))
    nowhere = {"scenario": None, "session": None}
    year = {"users": [{"profile": one.profile}], "truth_users": [one.latents()], "situations": happened}
    year["events"] = [{**nowhere, **row} for row in events]
    # Sessions by scenario and number, as data sets list them; `position` keeps the order of time.
    for part in (year, *(talk for own in talks.values() for talk in own)):
        for name, column in part.items():
            rows[name] += [{"user": one.user, **row} for row in column]


def _calendar(one: Life, dice: Dice) -> list[tuple[str, int]]:
    """Return every conversation of the year as (scenario, start), in the order of time, at least a day apart."""
    wanted = [s for s in SCENARIOS for _ in range(int(dice.choose_weighted(_SESSIONS[s])))]
    order = dice.some(wanted, len(wanted))
    first, last = _seconds(one.first_month, 8), _seconds(12, 31)
    step = (last - first) // DAY / max(1, len(order))
    days = [int(i * step + dice.uniform(0.0, max(0.0, step - 1.0))) for i in range(len(order))]
    return [(s, first + day * DAY + dice.between(9 * 60, 21 * 60) * 60) for s, day in zip(order, days)]


def _frame(name: str, rows: list[dict[str, Any]]) -> pd.DataFrame:
    columns = {}
    for column in COLUMNS[name]:
        values, dtype = [row[column] for row in rows], _TYPES.get(column)
        if dtype == "datetime64[us]":
            columns[column] = pd.to_datetime(pd.Series(values, dtype="int64"), unit="s").astype(dtype)
        else:
            usual = "str" if values and isinstance(values[0], str) else None
            columns[column] = pd.Series(values, dtype=dtype or usual)
    return pd.DataFrame(columns)


SEED, CANDIDATES = 42, 0.2
#: Users of the sample who are judged or learned from, with all that they said; and train users with part of it.
WHOLE, TAUGHT = 24, 20
#: Conversations in each scenario that are kept of the latter.
CONVERSATIONS = 2


def sample(language: str) -> Corpus:
    """Return the sample in one language, as `load("sample/en")` gives it: 20 users to judge, 24 to learn from."""
    corpus = world(WHOLE + TAUGHT, SEED, language, candidates=CANDIDATES, name=f"sample/{language}")
    users = list(corpus.users["user"])
    split = group_shuffle_split(set(users[:WHOLE]))
    split = {"train": [*split["train"], *users[WHOLE:]], "test": split["test"]}
    sessions = corpus.sessions
    is_kept = sessions["user"].isin(users[:WHOLE]) | (sessions.groupby(BLOCK).cumcount() < CONVERSATIONS)
    sampled = sessions.loc[is_kept, SESSION]

    def cut(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.merge(sampled, on=SESSION) if set(SESSION) <= set(rows) else rows

    extras = {name: cut(rows) for name, rows in corpus.extras.items()}
    extras["candidates"] = extras["candidates"][extras["candidates"]["user"].isin(users[:WHOLE])].reset_index(drop=True)
    return replace(
        corpus,
        sessions=sessions[is_kept].reset_index(drop=True),
        turns=cut(corpus.turns),
        extras=extras,
        meta=corpus.meta | {"splits": split},
    )


def write_sample(folder: Path | None = None) -> list[Path]:
    """Write the sample in every language below `folder` (default: the bundled one); the same bytes every time."""
    root = folder or find_bundled("data", "sample")
    return [save(sample(language), root / language) for language in LANGUAGES]
