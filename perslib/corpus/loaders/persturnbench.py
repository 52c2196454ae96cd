"""The PersTurnBench data release: `data/User_<n>/<scenario>/<k>.json`, as a folder or a tar.gz.

Format facts: users are directories, read in the order of their names as text; four scenarios in a fixed
order; sessions are files `<integer>.json` in numeric order. Scores are digits as text; a score of 3 or lower has a
reason.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from itertools import islice, product
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from perslib.corpus.corpus import group_shuffle_split
from perslib.corpus.files.reading import ImportResult, parse_json
from perslib.corpus.files.records import Lines, read_each
from perslib.corpus.schema import SESSION, reason_labels
from perslib.errors import DataError, Problem
from perslib.paths import read_toml
from perslib.schemas import find_unstorable, read_schema

SCENARIOS: list[str] = read_toml(__file__, "names.toml")["persturnbench"]["scenarios"]
SATISFIED, OTHER = reason_labels("zh")["satisfied"], reason_labels("zh")["other"]
REASONS = [label for label in reason_labels("zh").values() if label != SATISFIED]
_SCHEMA = read_schema(__file__, "records.schema.toml", "persturnbench")
FOLLOWED = "user messages followed by another user message"
_SPLIT_FILES = ("splits.json", "split.json")
#: What an archive may hold: bytes of a file, bytes of all files, and files; many times what the release has.
_FILE, _ALL, _FILES = 16 << 20, 256 << 20, 100_000
_GZIP = b"\x1f\x8b"
Key: TypeAlias = tuple[str, str, str]


def looks_like(path: Path) -> bool:
    """Return whether a folder or archive holds this release."""
    if path.is_dir():
        return any((root / "User_0").is_dir() or any(root.glob("User_*")) for root in (path, path / "data"))
    return path.name.endswith((".tar.gz", ".tgz", ".tar"))


def read(path: Path, *, skip_bad: bool = False, name: str = "persturnbench") -> ImportResult:
    """Read the release; see `perslib import persturnbench`."""
    reading = ImportResult(skip_bad)
    sessions: dict[Key, bytes] = {}
    shipped: dict[str, bytes] = {}
    for file, raw in _files(path):
        key = _session_key(file, reading)
        if key in sessions:
            place = "/".join(file.parts[-3:])
            problem = Problem(place, "is a second file for the same session")
            reading.reject([problem], raw.decode("utf-8", "replace"), sessions=0)
        elif key:
            sessions[key] = raw
        elif file.name in _SPLIT_FILES:
            shipped[file.name] = raw
    if not sessions:
        raise DataError(
            Problem(str(path), "no User_<n>/<scenario>/<k>.json with one of the scenarios " + ", ".join(SCENARIOS)),
            "Is this the PersTurnBench release? Give the folder that holds data/, or its tar.gz.",
        )
    files = sorted(sessions.items(), key=lambda own: (own[0][0], SCENARIOS.index(own[0][1]), int(own[0][2])))
    read_each(_parse_histories(files, reading), reading, _SCHEMA, partial(_session, reading=reading))
    meta = {"kind": "persturnbench", "scenarios": SCENARIOS, "reasons": REASONS, "satisfied": SATISFIED}
    reading.finish(meta, name, "zh", Problem(str(path), "holds no session that can be read"))
    _add_splits(reading, shipped)
    return reading


def _files(path: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    if path.is_dir():
        # The split lies beside data/, not in it.
        siblings = [path.parent / name for name in _SPLIT_FILES] if path.name == "data" else []
        for file in [*sorted(path.rglob("*.json")), *(f for f in siblings if f.is_file())]:
            yield PurePosixPath(file.as_posix()), file.read_bytes()
        return
    try:
        with path.open("rb") as packed, gzip.open(packed) if packed.peek(2)[:2] == _GZIP else packed as stream:
            raw = stream.read(_ALL + 1)  # now no header that says its own size can be larger
        if len(raw) > _ALL:
            raise tarfile.ReadError(f"unpacked, it has more than {_ALL:,} bytes")
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as archive:
            size = 0
            for number, member in enumerate(archive, start=1):
                size += member.size
                if number > _FILES or member.size > _FILE or size > _ALL:
                    raise tarfile.ReadError(
                        f"{member.name} has {member.size:,} bytes, and with it {number:,} files have {size:,}; "
                        f"read are {_FILES:,} files of {_FILE:,} bytes, {_ALL:,} in all"
                    )
                is_json = member.isfile() and member.name.endswith(".json")
                if is_json and (content := archive.extractfile(member)):
                    yield PurePosixPath(member.name), content.read()
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        short = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(
            Problem(str(path), f"cannot be read as a tar archive ({short})"),
            "Give the folder that holds data/, or the release's tar.gz; a table of your own is `perslib import table`.",
        ) from error


def _session_key(file: PurePosixPath, reading: ImportResult) -> Key | None:
    """Return (user, scenario, session) of a conversation file; None for any other file."""
    if len(file.parts) < 3 or not file.parts[-3].startswith("User_"):
        return None
    user, scenario = file.parts[-3:-1]
    number = file.name.split(".")[0]
    if scenario not in SCENARIOS:
        reading.note(f"files in folders that are no scenario, left out ({scenario})")
    elif not number.isdecimal():
        reading.note(f"files whose name is no number, left out ({file.name})")
    else:
        return user, scenario, str(int(number))
    return None


def _parse_histories(files: list[tuple[Key, bytes]], reading: ImportResult) -> Lines:
    """Yield the content of each file that has a history."""
    for key, raw in files:
        place = "/".join(key) + ".json"
        value: Any = parse_json(raw, place)
        wrong = [p for part in key for p in find_unstorable(part, place, "the name")]
        if isinstance(value, dict) and "history" not in value:
            reading.note("files without a history, left out")
        else:
            yield place, wrong[0] if wrong else value, raw


def _session(value: dict[str, Any], place: str, reading: ImportResult) -> None:
    key = place.removesuffix(".json").split("/")
    labels: list[dict[str, Any]] = []
    problems = []
    for i, message in enumerate(value["history"]):
        label = _label(message, f"{place} history[{i}]", reading) if message["role"] == "assistant" else {}
        if isinstance(label, Problem):
            problems.append(label)
        else:
            labels.append(label)
    if problems:
        raise DataError(problems)
    row = {"task": value.get("task_context", ""), "assistant": value.get("chat_model", "unknown")}
    profile = {k: v for k, v in value.get("profile", {}).items() if k != "complete_tid"}
    # The published programs take the profile of the user's first session; a differing one is kept there.
    if reading.profiles.setdefault(key[0], profile) != profile:
        row["profile_here"] = json.dumps(profile, ensure_ascii=False)
        reading.note("sessions with a profile unlike the user's first")
    labelled = zip(value["history"], labels, strict=True)
    messages = ((message["role"], message["content"], label) for message, label in labelled)
    turns, trailing = reading.add({**dict(zip(SESSION, key)), **row}, messages)
    reading.note(FOLLOWED, sum(len(turn["earlier"]) for turn in turns) + max(0, len(trailing) - 1))
    reading.note("sessions without any assistant message", not turns)
    reading.note("sessions that end with a user message", bool(trailing and turns))


def _label(message: dict[str, Any], at: str, reading: ImportResult) -> dict[str, Any] | Problem:
    """Return score and reason under the legality rule: a reason stands exactly where the score is 3 or lower."""
    score = reading.score(message["satisfaction"], "satisfaction", at)
    if isinstance(score, Problem):
        return score
    reason = message.get("reason")
    if score >= 4:
        is_odd = reason not in (None, "", SATISFIED)
        reading.note("reasons given with a score of 4 or 5, left out", is_odd)
        reason = None
    elif reason not in REASONS:
        reading.note(f"scores of 3 or lower without a published reason, stored as {OTHER}")
        reason = OTHER
    label = {"score": score, "reason": reason}
    return label | ({"hallucination": message["hallucination"]} if "hallucination" in message else {})


def _add_splits(reading: ImportResult, shipped: dict[str, bytes]) -> None:
    """Attach the split: the one the release ships where it divides the users at hand in two, else the recomputed one.

    Official programs always recompute it; a release that holds only some of the users cannot.
    """
    meta = reading.corpus.meta
    users = {user for user, _ in reading.corpus.block_ids()} or set(reading.profiles)
    drawn = group_shuffle_split(users)
    meta |= {"splits": drawn, "split_origin": "recomputed (seed 42, users with a block)"}
    for file, raw in shipped.items():
        if parsed := _partition(parse_json(raw, file), users):
            same = {k: sorted(v) for k, v in parsed.items()} == drawn
            origin = f"{file}, {'equal to' if same else 'unlike'} the recomputed one"
            meta |= {"splits": parsed, "split_origin": origin}
        else:
            why = f"{file} does not divide these users into train and test, split recomputed"
            reading.note(why)
            meta["irregularities"][why] = 1


def _partition(value: Any, users: set[str]) -> dict[str, list[str]]:
    """Return the lists under keys about train and test in which each user stands once; {} if there are none."""
    named: defaultdict[str, list[list[str]]] = defaultdict(list)
    todo = [value]
    for held in todo:
        for key, names in held.items() if isinstance(held, dict) else ():
            part = re.search(r"train|test|valid|dev", str(key).lower())
            if isinstance(names, dict):
                todo.append(names)
            elif part and isinstance(names, list) and all(isinstance(n, str) for n in names):
                named[part.group()].append(names)
    for chosen in islice(product(*named.values()), 1_000):
        every = [name for names in chosen for name in names]
        own = {part: [n for n in names if n in users] for part, names in zip(named, chosen)}
        if len(every) == len(set(every)) and users <= set(every) and own.get("train") and own.get("test"):
            return own
    return {}
