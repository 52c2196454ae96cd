"""PAL-Set (Mem-PAL, AAAI 2026): months of device logs and dialogues of 100 users, in Chinese and translated to English.

    {user: {"history": [sample, …], "query": [sample, …]}}      input.json, input_en.json

A sample is a session; side files in the same folder have more (`palset_records`). In the corpus

sessions   scenario is the part, history or query (the sessions of the last month); position is the place in time
turns they have no ratings; user_action and assistant_action are the paper's actions, null if the text in
user_action_raw or assistant_action_raw is not one of them
events     the device logs, each with the session that follows it

and among the extras

topics                 user, scenario, session, topic, user_query, implicit_needs, requirement, requirement_id, pos,
                       neg, candidates, labels (pos, neg or neu of each candidate)
requirements           user, aspect, requirement_id, requirement
preferences            user, aspect, requirement_id, requirement, pos, neg
situations             user, date, start, end, requirement_ids, situation, session (null where no dialogue followed)
frameworks             user, date, topic, session, requirement_type, user_query, requirement
needs                  user, date, topic, session, number, need, evidences
candidate_solutions    user, date, topic, session, candidates
solution_preferences   user, date, topic, session, analysis, feedback, solution, reason
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus.corpus import Corpus
from perslib.corpus.files.reading import ImportResult, make_frame, read_json
from perslib.corpus.files.records import read_each
from perslib.corpus.schema import SCHEMA
from perslib.errors import DataError, Problem
from perslib.paths import read_csv
from perslib.schemas import check, find_unstorable
from perslib.systems.mem_pal.loaders.palset_records import (
    NAMES,
    PARTS,
    SAMPLE,
    Rows,
    Sample,
    SideFiles,
    read_sample,
    read_side,
    schema_of,
    side_files,
)

MAIN = {"zh": "input.json", "en": "input_en.json"}
REMEDY = "Give input.json or input_en.json of Mem-PAL's data release, or the folder that holds it."
#: Where the release keeps each of its side files.
FOLDERS: dict[str, str] = NAMES["folders"]
_USER = schema_of("user")
#: The frames among the extras and their columns.
EXTRAS: dict[str, list[str]] = NAMES["extras"]
ACTIONS = ["user_action", "assistant_action", "user_action_raw", "assistant_action_raw"]
TOPIC = ("user", "session", "topic")


def looks_like(path: Path) -> bool:
    """Return whether a file, or a folder, is this release by its names."""
    files = [path] if path.is_file() else [*path.glob("*.json"), *path.glob("*/*.json")]
    return any(file.name in MAIN.values() for file in files)


def read(path: Path, *, skip_bad: bool = False, name: str | None = None) -> ImportResult:
    """Read the release; see `perslib import palset`."""
    language, file = _main(path)
    content = read_json(file, dict, "an object keyed by user", REMEDY)
    others = side_files(file.parent, language)
    return read_contents(content, others, language, name or f"palset-{language}", skip_bad=skip_bad)


def read_contents(
    main: Mapping[str, Any], pictures: Mapping[str, Any], language: str, name: str, *, skip_bad: bool = False
) -> ImportResult:
    """Return the corpus from the content of the main file, and of the side files by their stems."""
    reading, file = ImportResult(skip_bad), MAIN[language]
    samples = {user: _samples(user, value, file, reading) for user, value in main.items()}
    side = read_side(pictures, reading)
    rows: dict[str, Rows] = {"turns": [], "logs": [], "topics": []}
    for user, own in samples.items():
        for position, (part, sample) in enumerate(own):
            where = {"user": user, "scenario": part, "session": sample.session}
            reading.sessions.append({**where, "position": position, "started_at": sample.at})
            for kind, records in rows.items():
                records += [{**where, **row} for row in getattr(sample, kind)]
    reading.profiles = {user: side.profiles.get(user, {}) for user in samples}
    if "background" in side.read:
        reading.note("users without a profile", len(samples.keys() - side.profiles.keys()))
    extras = side.rows | {"topics": rows["topics"]}
    _join(extras, side, reading)
    return reading.finish(
        {"kind": "palset", "scenarios": list(PARTS), "files": side.read},
        name,
        language,
        Problem(file, "holds no session"),
        REMEDY,
        turns=_make_frame(rows["turns"], [*SCHEMA["turns"], *ACTIONS]),
        events=make_frame(rows["logs"], list(SCHEMA["events"])),
        extras={key: _make_frame(extras[key], columns) for key, columns in EXTRAS.items()},
    )


def write_release(folder: str | Path, files: Mapping[str, Any], language: str) -> Path:
    """Write files, given by their stems ("input" is the main one), as the release lays them out."""
    ending = "_en.json" if language == "en" else ".json"
    for stem, content in files.items():
        name = MAIN[language] if stem == "input" else f"{FOLDERS[stem]}/{stem}{ending}"
        file = Path(folder) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content, ensure_ascii=False, indent=4), encoding="utf-8")
    return Path(folder)


def _main(path: Path) -> tuple[str, Path]:
    """Return the main file and its language, which its name shows."""
    files = [path] if path.is_file() else [file for name in MAIN.values() for file in sorted(path.rglob(name))]
    main = [(language, file) for file in files for language, name in MAIN.items() if file.name == name]
    if len(main) > 1:
        listed = ", ".join(str(file) for _, file in main)
        raise DataError(Problem(str(path), f"holds several: {listed}"), "Import one file at a time, by its path.")
    if not main:
        wrong = "is called neither input.json (Chinese) nor input_en.json (English)"
        wrong = wrong if path.is_file() else "holds neither input.json nor input_en.json"
        raise DataError(Problem(str(path), wrong), REMEDY)
    return main[0]


def _samples(user: str, parts: Any, file: str, reading: ImportResult) -> list[tuple[str, Sample]]:
    """Return the sessions of a user with their part, in the order of time."""
    shape = parts
    if isinstance(parts, Mapping):  # what stands in the lists is checked session by session
        shape = {part: [] if isinstance(items, list) else items for part, items in parts.items()}
    problems = [*find_unstorable(user, file, "the user's name")]
    problems = problems or check(shape, _USER, f"{file} {user}", reading.unknown)
    if problems:
        lists = parts.values() if isinstance(parts, Mapping) else ()
        reading.reject(problems, parts, sessions=sum(len(items) for items in lists if isinstance(items, list)))
        return []
    samples: list[tuple[str, Sample]] = []
    seen: set[str] = set()
    for part in PARTS:
        for i, item in enumerate(parts[part]):
            place = f"{file} {_id(item) or f'{user}.{part}[{i}]'}"
            ((_, sample),) = read_each([(place, item, item)], reading, SAMPLE, partial(read_sample, reading=reading))
            if sample and sample.session in seen:
                reading.reject([Problem(place, "is the sample_id of a second session, expected each once")], item)
            elif sample:
                samples.append((part, sample))
                seen.add(sample.session)
    _order(user, samples, reading)
    return sorted(samples, key=lambda one: one[1].at)


def _id(item: Any) -> str:
    """Return the id of a session, if it has one that can be shown."""
    id = item.get("sample_id") if isinstance(item, Mapping) else None
    return id if isinstance(id, str) and not any(find_unstorable(id, "")) else ""


def _order(user: str, samples: list[tuple[str, Sample]], reading: ImportResult) -> None:
    """Count what is not in the order that the release promises."""
    times = [sample.at for _, sample in samples]
    reading.note("users whose sessions were out of order, sorted", times != sorted(times))
    expected = [f"{user}_sample{i}" for i in range(len(samples))]
    named = [sample.session for _, sample in samples]
    reading.note("users whose sessions do not count from sample0 without a gap", named != expected)
    for (_, before), (_, after) in pairwise(samples):
        early = sum(log["at"] <= before.at for log in after.logs)
        reading.note("logs no later than the dialogue before their session", early)
    reading.note("users without a query session", "query" not in {part for part, _ in samples})


def _join(extras: dict[str, Rows], side: SideFiles, reading: ImportResult) -> None:
    """Give records of a date its session and topics the id of their requirement; count where files differ."""
    by_date = {(row["user"], f"{row['started_at']:%Y-%m-%d}"): row["session"] for row in reading.sessions}
    for row in (row for own in side.rows.values() for row in own if "date" in row):
        row["session"] = by_date.get((row["user"], row["date"]))
    ids = {(row["user"], row["session"]): row["requirement_ids"] for row in extras["situations"]}
    frameworks, candidates = (
        {tuple(row[key] for key in TOPIC): row for row in extras[name]}
        for name in ("frameworks", "candidate_solutions")
    )
    for topic in extras["topics"]:
        own: tuple[str, ...] = ids.get((topic["user"], topic["session"]), ())
        place = int(topic["topic"].removeprefix("topic-")) - 1
        topic["requirement_id"] = own[place] if place < len(own) else None
        key = tuple(topic[part] for part in TOPIC)
        if "requirement_framework" in side.read:
            same = frameworks.get(key, {}).get("requirement") == topic["requirement"]
            reading.note("topics whose requirement is not the one of their framework", not same)
        if "candidate_solution" in side.read:
            same = sorted(candidates.get(key, {}).get("candidates", ())) == sorted(topic["candidates"])
            reading.note("topics whose candidates are not the ones of the side file", not same)
    if "situation" in side.read:
        lost = sum(topic["requirement_id"] is None for topic in extras["topics"])
        reading.note("topics without a requirement id among the situations", lost)
    for name in ("frameworks", "candidate_solutions", "solution_preferences"):
        reading.note(f"{name} of no session", sum(row["session"] is None for row in extras[name]))


def _make_frame(rows: Rows, columns: list[str]) -> pd.DataFrame:
    """Return rows as a frame with exactly these columns."""
    built = pd.DataFrame(rows, columns=columns)
    times = [c for c in ("start", "end") if c in columns]
    texts = [c for c in ("session", "requirement_id", "user_action", "assistant_action") if c in columns]
    return built.astype(dict.fromkeys(times, "datetime64[us]") | dict.fromkeys(texts, "str"))


def per_user(corpus: Corpus) -> pd.DataFrame:
    """Return a row per user and part: sessions, logs, dialogue turns, dialogue topics, months.

    Months are calendar months in which a dialogue took place.
    """
    keys = ["user", "scenario"]
    month = corpus.sessions["started_at"].dt.to_period("M")
    counts = {
        "sessions": corpus.sessions.groupby(keys).size(),
        "logs": corpus.events.groupby(keys).size(),
        "dialogue turns": corpus.turns.groupby(keys).size(),
        "dialogue topics": corpus.extras["topics"].groupby(keys).size(),
        "months": corpus.sessions.assign(month=month).groupby(keys)["month"].nunique(),
    }
    every = pd.MultiIndex.from_product([corpus.users["user"], PARTS], names=keys)
    return pd.DataFrame({name: rows.reindex(every, fill_value=0) for name, rows in counts.items()})


def averages(corpus: Corpus) -> pd.DataFrame:
    """Return Table 1: the mean per user of each count, next to the published mean."""
    means = per_user(corpus).groupby("scenario").mean().T[list(PARTS)]
    published = read_csv(__file__, "published/mem_pal_table1.csv").set_index("count")[list(PARTS)]
    table = means.join(published.add_suffix(", published"))
    return table.rename_axis(index="average per user", columns=None)
