"""URS, the User Reported Scenarios (Wang et al., EMNLP 2024): whole conversations that their users rated.

Two files, `chinese_merged.json` and `english_processed.json`, each one JSON list. An item is a conversation:
`user_id`, `intent_label`, `user_satisfaction` (one of five words), `conversation_history`, `title`, `llm`.
Users become `zh_<id>` or `en_<id>`, intents scenarios. The rating is the session's `satisfaction`; single
replies have none (`perslib.judge.by_session` makes a corpus in which the session is what is judged).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perslib.corpus.files.reading import Reading
from perslib.corpus.files.records import json_items, read_each
from perslib.errors import DataError, Problem
from perslib.paths import read_toml
from perslib.schemas import read_schema

#: Published file → language.
FILES = {"chinese_merged.json": "zh", "english_processed.json": "en"}
INTENTS = ["professional", "retrieval", "text", "advice", "creative", "leisure", "other"]
_NAMES = read_toml(__file__, "names.toml")["urs"]
#: Intent as the files call it → scenario.
LABELS: dict[str, str] = _NAMES["intents"]
#: The five words of either file, from 1 to 5; where several stand for a step, any of them.
WORDS: dict[str, list[list[str]]] = _NAMES["satisfaction"]
_STEPS = {w: s for steps in WORDS.values() for s, words in enumerate(steps, 1) for w in words}
ROLES = ("user", "assistant")
_SCHEMA = read_schema(__file__, "records.schema.toml", "urs")


def looks_like(path: Path) -> bool:
    """Whether a file, or one in a folder, has a name of this release."""
    return any((path / name).is_file() for name in FILES) if path.is_dir() else path.name in FILES


def read(path: Path, *, skip_bad: bool = False, name: str | None = None) -> Reading:
    """Read one of the two files, or a folder that holds one of them; see `perslib import urs`."""
    file, language = _file(path)
    reading = Reading(skip_bad)
    of_block: Counter[tuple[str, str]] = Counter()
    of_user: Counter[str] = Counter()

    def add(item: dict[str, Any], place: str) -> None:
        session = _session(item, language, place, reading)
        user, block = session["user"], (session["user"], session["scenario"])
        session |= {"session": str(of_block[block]), "position": of_user[user]}
        own, _ = reading.add(session, ((role, text, {}) for role, text in _messages(item["conversation_history"])))
        of_block[block] += 1
        of_user[user] += 1
        reading.note("conversations without any reply", not own)
        reading.note("conversations without a rating", session["satisfaction"] is None)

    read_each(json_items(file), reading, _SCHEMA, add)
    meta, name = {"kind": "urs", "scenarios": INTENTS}, name or f"urs-{language}"
    nothing, remedy = Problem(file.name, "holds none"), "No conversation of the file can be read."
    return reading.finish(meta, name, language, nothing, remedy)


def _file(path: Path) -> tuple[Path, str]:
    """The file to read and its language, which its name tells."""
    found = [path / name for name in FILES if (path / name).is_file()] if path.is_dir() else [path]
    if len(found) > 1:
        raise DataError(
            Problem(str(path), "holds a Chinese and an English file; a corpus has one language"),
            f"Import them one by one: perslib import urs {found[0]}",
        )
    language = next((lang for name, lang in FILES.items() if found and found[0].name == name), None)
    if language is None:
        raise DataError(Problem(str(path), f"is not, and does not hold, {' or '.join(FILES)}"))
    return found[0], language


def _session(item: dict[str, Any], language: str, place: str, reading: Reading) -> dict[str, Any]:
    """The session's row without its number; an error where its rating is none."""
    user, intent = str(item["user_id"]).strip(), str(item["intent_label"]).strip()
    scenario = LABELS.get(intent.lower(), intent.lower() if intent.lower() in INTENTS else intent)
    reading.note(f"conversations under an intent of another name ({intent})", scenario not in INTENTS)
    rating = item.get("user_satisfaction")
    score = None if rating in (None, "") else _score(rating, place, reading)
    if isinstance(score, Problem):
        raise DataError(score)
    prefix = f"{language}_"
    return {
        "user": user if user.startswith(prefix) else prefix + user,
        "scenario": scenario,
        "task": _text(item.get("title")),
        "assistant": _text(item.get("llm")),
        "satisfaction": score,
    }


def _text(value: Any) -> str | None:
    """A text or a number as text; None for anything else and for nothing."""
    is_named = isinstance(value, str | int) and not isinstance(value, bool)
    return str(value).strip() or None if is_named else None


def _score(rating: Any, place: str, reading: Reading) -> float | Problem:
    """1–5 from a digit or one of the five words."""
    word = " ".join(rating.lower().split()) if isinstance(rating, str) else None
    score = reading.score(_STEPS.get(word or "", rating), "user_satisfaction", place)
    if isinstance(score, Problem):
        known = " < ".join(words[0] for words in WORDS["zh"]), " < ".join(words[0] for words in WORDS["en"])
        return Problem(place, f"{score.message}, {known[0]} or {known[1]}")
    return score


def _messages(history: list[Any]) -> Iterator[tuple[str, str]]:
    """Role and text of each message: from `{role, content}`, `[user, assistant]`, or texts by turns."""
    turn = 0
    for message in history:
        if isinstance(message, dict):
            yield message["role"].lower(), message["content"]
        elif isinstance(message, list):
            yield from zip(ROLES, message)
        else:
            yield ROLES[turn], message
            turn = 1 - turn
