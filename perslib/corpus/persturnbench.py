"""The PersTurnBench data release: `data/User_<n>/<scenario>/<k>.json`, as a folder or a tar.gz.

Format facts: users are directories, read in the order of their names as text; four scenarios in a fixed
order; sessions are files `<integer>.json` in numeric order. Scores are digits as text; a reason stands
where the score is 3 or lower.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from perslib.corpus.corpus import Corpus
from perslib.corpus.reading import Intake, Reading, frame, parse_json, score_of
from perslib.corpus.reasons import labels
from perslib.corpus.schema import SCHEMA
from perslib.corpus.split import group_shuffle_split
from perslib.errors import DataError, Problem

SCENARIOS = ["旅行规划", "礼物准备", "菜谱规划", "技能学习规划"]
SATISFIED, OTHER = labels("zh")["satisfied"], labels("zh")["other"]
REASONS = [label for label in labels("zh").values() if label != SATISFIED]
_SPLIT_FILES = ("splits.json", "split.json")


def looks_like(path: Path) -> bool:
    """Whether a folder or archive holds this release."""
    if path.is_dir():
        return any((root / "User_0").is_dir() or any(root.glob("User_*")) for root in (path, path / "data"))
    return path.name.endswith((".tar.gz", ".tgz", ".tar"))


def read(path: Path, *, skip_bad: bool = False, name: str = "persturnbench") -> Reading:
    """Read the release; see `perslib import persturnbench`."""
    intake = Intake(skip_bad)
    sessions: dict[tuple[str, str, str], bytes] = {}
    shipped: dict[str, bytes] = {}
    for file, raw in _files(path):
        key = _session_key(file, intake)
        if key in sessions:
            intake.reject(
                [Problem(str(file), "is a second file for the same session")], raw.decode("utf-8", "replace")
            )
        elif key:
            sessions[key] = raw
        elif file.name in _SPLIT_FILES:
            shipped[file.name] = raw
    if not sessions:
        raise DataError(
            Problem(
                str(path), "no User_<n>/<scenario>/<k>.json with one of the scenarios " + ", ".join(SCENARIOS)
            ),
            "Is this the PersTurnBench release? Give the folder that holds data/, or its tar.gz.",
        )
    corpus = _corpus(sessions, shipped, intake, name)
    return Reading(corpus, intake.rejected)


def _files(path: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    if path.is_dir():
        # The split lies beside data/, not in it.
        beside = [path.parent / name for name in _SPLIT_FILES] if path.name == "data" else []
        for file in [*sorted(path.rglob("*.json")), *(f for f in beside if f.is_file())]:
            yield PurePosixPath(file.as_posix()), file.read_bytes()
        return
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                stream = (
                    archive.extractfile(member) if member.isfile() and member.name.endswith(".json") else None
                )
                if stream:
                    yield PurePosixPath(member.name), stream.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        short = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(
            Problem(str(path), f"cannot be read as a tar archive ({short})"),
            "Give the folder that holds data/, or the release's tar.gz; a table of your own is `perslib import table`.",
        ) from error


def _session_key(file: PurePosixPath, intake: Intake) -> tuple[str, str, str] | None:
    """(user, scenario, session) of a conversation file; None for any other file."""
    if len(file.parts) < 3 or not file.parts[-3].startswith("User_"):
        return None
    user, scenario = file.parts[-3:-1]
    number = file.name.split(".")[0]
    if scenario not in SCENARIOS:
        intake.note(f"files in folders that are no scenario, left out ({scenario})")
    elif not number.isdecimal():
        intake.note(f"files whose name is no number, left out ({file.name})")
    else:
        return user, scenario, str(int(number))
    return None


def _corpus(
    sessions: dict[tuple[str, str, str], bytes], shipped: dict[str, bytes], intake: Intake, name: str
) -> Corpus:
    rows: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    profiles: dict[str, dict[str, Any]] = {}
    for key in sorted(sessions, key=lambda k: (k[0], SCENARIOS.index(k[1]), int(k[2]))):
        place = "/".join(key) + ".json"
        found = _session(sessions[key], key, place, intake)
        if found is None:
            continue
        row, own, profile = found
        rows.append(row)
        turns += own
        # The published programs take the profile of the user's first session; a differing one is kept there.
        if profiles.setdefault(key[0], profile) != profile:
            row["profile_here"] = json.dumps(profile, ensure_ascii=False)
            intake.note("sessions with a profile unlike the user's first")
    intake.settle()
    users = pd.DataFrame({"user": list(profiles), "profile": list(profiles.values())})
    meta: dict[str, Any] = {
        "kind": "persturnbench",
        "scenarios": SCENARIOS,
        "reasons": REASONS,
        "satisfied": SATISFIED,
    }
    meta["irregularities"] = dict(sorted(intake.irregularities.items()))
    session_frame, turn_frame = frame(rows, list(SCHEMA["sessions"])), frame(turns, list(SCHEMA["turns"]))
    corpus = Corpus(name, "zh", users, session_frame, turn_frame, meta=meta)
    return _with_splits(corpus, shipped)


def _session(
    raw: bytes, key: tuple[str, str, str], place: str, intake: Intake
) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]] | None:
    value = parse_json(raw, place)
    if isinstance(value, Problem):
        intake.reject([value], raw.decode("utf-8", "replace"))
        return None
    if not isinstance(value, dict):
        intake.reject(
            [Problem(place, f"holds a {type(value).__name__}, expected an object with 'history'")], value
        )
        return None
    if "history" not in value:
        intake.note("files without a history, left out")
        return None
    problems: list[Problem] = []
    turns, trailing = _turns(value["history"], key, place, problems, intake)
    profile = value.get("profile", {})
    if not isinstance(profile, dict):
        problems.append(Problem(f"{place} profile", f"is a {type(profile).__name__}, expected an object"))
    if problems:
        intake.reject(problems, value)
        return None
    if not turns:
        intake.note("sessions without any assistant message")
    intake.note("sessions that end with a user message", int(bool(trailing) and bool(turns)))
    user, scenario, session = key
    row = {"user": user, "scenario": scenario, "session": session, "task": value.get("task_context", "")}
    row |= {"assistant": value.get("chat_model", "unknown"), "trailing": trailing}
    return row, turns, {k: v for k, v in profile.items() if k != "complete_tid"}


def _turns(
    history: Any, key: tuple[str, str, str], place: str, problems: list[Problem], intake: Intake
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    if not isinstance(history, list):
        problems.append(
            Problem(f"{place} history", f"is a {type(history).__name__}, expected a list of messages")
        )
        return [], ()
    turns: list[dict[str, Any]] = []
    waiting: list[str] = []
    for i, message in enumerate(history):
        at = f"{place} history[{i}]"
        content = message.get("content") if isinstance(message, dict) else None
        role = message.get("role") if isinstance(message, dict) else None
        if not isinstance(content, str):
            problems.append(Problem(at, "has no text under 'content'"))
        elif role == "user":
            waiting.append(content)
        elif role == "assistant":
            label = _label(message, at, problems, intake)
            user, scenario, session = key
            asked = {"request": waiting[-1] if waiting else None, "earlier": tuple(waiting[:-1])}
            intake.note("user messages followed by another user message", len(waiting[:-1]))
            turn = {"user": user, "scenario": scenario, "session": session, "turn": len(turns)}
            turns.append({**turn, **asked, "response": content, **label})
            waiting = []
        else:
            problems.append(Problem(at, f"role is {role!r}, expected 'user' or 'assistant'"))
    return turns, tuple(waiting)


def _label(message: dict[str, Any], at: str, problems: list[Problem], intake: Intake) -> dict[str, Any]:
    """Score and reason under the legality rule: a reason stands exactly where the score is 3 or lower."""
    if "satisfaction" not in message:
        problems.append(Problem(at, "has no 'satisfaction'; expected 1–5 on every assistant message"))
        return {}
    score = score_of(message["satisfaction"], "satisfaction", at)
    if isinstance(score, Problem):
        problems.append(score)
        return {}
    reason = message.get("reason")
    if score >= 4:
        intake.note(
            "reasons given with a score of 4 or 5, left out", int(reason not in (None, "", SATISFIED))
        )
        reason = None
    elif reason not in REASONS:
        intake.note(f"scores of 3 or lower without a published reason, stored as {OTHER}")
        reason = OTHER
    label = {"score": score, "reason": reason}
    return label | ({"hallucination": message["hallucination"]} if "hallucination" in message else {})


def _with_splits(corpus: Corpus, shipped: dict[str, bytes]) -> Corpus:
    """Attach the split: the one the release ships where it can be understood, else the recomputed one.

    Official programs always recompute it; a release that holds only some of the users cannot.
    """
    drawn = group_shuffle_split({user for user, _ in corpus.block_ids()} or set(corpus.users["user"]))
    splits, origin = drawn, "recomputed (seed 42, users with a block)"
    for file, raw in shipped.items():
        parsed = _parse_splits(parse_json(raw, file), set(corpus.users["user"]))
        if parsed:
            same = {k: sorted(v) for k, v in parsed.items()} == drawn
            splits, origin = parsed, f"{file}" + (", equal to the recomputed one" if same else "")
        else:
            corpus.meta["irregularities"][f"{file} not understood, split recomputed"] = 1
    corpus.meta.update(splits=splits, split_origin=origin)
    return corpus


def _parse_splits(value: Any, users: set[str]) -> dict[str, list[str]]:
    """Lists of user ids under keys that speak of train or test; {} when there is nothing of the kind."""
    found: dict[str, list[str]] = {}
    for key, names in value.items() if isinstance(value, dict) else ():
        part = re.search(r"train|test|valid|dev", str(key).lower())
        if isinstance(names, dict):
            found |= _parse_splits(names, users)
        elif part and isinstance(names, list) and names and all(isinstance(n, str) for n in names):
            known = [n for n in names if n in users]
            if known:
                found.setdefault(part.group(), known)
    return found if {"train", "test"} <= set(found) else {}
