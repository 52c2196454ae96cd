"""URS, the User Reported Scenarios (Wang et al., EMNLP 2024): whole conversations that their users rated.

Two files, `chinese_merged.json` and `english_processed.json`, each one JSON list. An item is a conversation:
`user_id`, `intent_label`, `user_satisfaction` (one of five words), `conversation_history`, `title`, `llm`.
Users become `zh_<id>` or `en_<id>`, intents scenarios. The rating is the session's `satisfaction`; single
replies have none (`perslib.judge.by_session` makes a corpus in which the session is what is judged).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perslib.corpus.reading import Intake, Reading, parse_json, unfit
from perslib.errors import DataError, Problem
from perslib.paths import read_toml

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


def looks_like(path: Path) -> bool:
    """Whether a file, or one in a folder, has a name of this release."""
    return any((path / name).is_file() for name in FILES) if path.is_dir() else path.name in FILES


def read(path: Path, *, skip_bad: bool = False, name: str | None = None) -> Reading:
    """Read one of the two files, or a folder that holds one of them; see `perslib import urs`."""
    file, language = _file(path)
    items = parse_json(file.read_bytes(), file.name)
    if isinstance(items, Problem):
        raise DataError(items)
    if not isinstance(items, list) or not items:
        found = "an empty list" if items == [] else f"a {type(items).__name__}"
        raise DataError(Problem(file.name, f"holds {found}, expected a list of conversations"))
    intake = Intake(skip_bad)
    sessions: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    of_block: Counter[tuple[str, str]] = Counter()
    of_user: Counter[str] = Counter()
    for i, item in enumerate(items):
        place = f"{file.name}[{i}]"
        problems = list(unfit(item, place))
        session = None if problems else _session(item, language, place, problems, intake)
        said = list(_messages(item, place, problems)) if session else []
        if problems or session is None:
            intake.reject(problems, item)
            continue
        block = session["user"], session["scenario"]
        session |= {"session": str(of_block[block]), "position": of_user[session["user"]]}
        of_block[block] += 1
        of_user[session["user"]] += 1
        own, trailing = _turns(said, {c: session[c] for c in ("user", "scenario", "session")})
        intake.note("conversations without any reply", int(not own))
        intake.note("conversations without a rating", int(session["satisfaction"] is None))
        sessions.append({**session, "trailing": trailing})
        turns += own
    intake.settle()
    if not sessions:
        raise DataError(intake.problems, "No conversation of the file can be read.")
    meta, name = {"kind": "urs", "scenarios": INTENTS}, name or f"urs-{language}"
    return intake.reading(meta, name, language, {user: {} for user in of_user}, sessions, turns)


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


def _session(
    item: Any, language: str, place: str, problems: list[Problem], intake: Intake
) -> dict[str, Any] | None:
    """The session's row without its number."""
    if not isinstance(item, dict):
        problems.append(Problem(place, f"is a {type(item).__name__}, expected an object"))
        return None
    user, intent = (_text(item.get(key)) for key in ("user_id", "intent_label"))
    if not user or not intent:
        missing = " and ".join(k for k, v in (("user_id", user), ("intent_label", intent)) if not v)
        problems.append(
            Problem(place, f"has no {missing}; its fields are {', '.join(map(str, item)) or 'none'}")
        )
        return None
    scenario = LABELS.get(intent.lower(), intent.lower() if intent.lower() in INTENTS else intent)
    intake.note(f"conversations under an intent of another name ({intent})", int(scenario not in INTENTS))
    rating = item.get("user_satisfaction")
    score = None if rating in (None, "") else _score(rating, place, intake)
    if isinstance(score, Problem):
        problems.append(score)
        return None
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
    return (
        str(value).strip() or None if isinstance(value, str | int) and not isinstance(value, bool) else None
    )


def _score(rating: Any, place: str, intake: Intake) -> float | Problem:
    """1–5 from a digit or one of the five words."""
    word = " ".join(rating.lower().split()) if isinstance(rating, str) else None
    score = intake.score(_STEPS.get(word or "", rating), "user_satisfaction", place)
    if isinstance(score, Problem):
        known = " < ".join(words[0] for words in WORDS["zh"]), " < ".join(words[0] for words in WORDS["en"])
        return Problem(place, f"{score.message}, {known[0]} or {known[1]}")
    return score


def _messages(item: dict[str, Any], place: str, problems: list[Problem]) -> Iterator[tuple[str, str]]:
    """Role and text of each message: from `{role, content}`, `[user, assistant]`, or texts by turns."""
    history = item.get("conversation_history")
    if not isinstance(history, list) or not history:
        shown = json.dumps(history, ensure_ascii=False, default=str)[:60]
        problems.append(Problem(f"{place} conversation_history", f"is {shown}, expected a list of messages"))
        return
    turn = 0
    for i, message in enumerate(history):
        at = f"{place} conversation_history[{i}]"
        match message:
            case {"role": str(role), "content": str(content)} if role.lower() in ROLES:
                yield role.lower(), content
            case {"role": role, "content": str()}:
                problems.append(Problem(at, f"role is {role!r}, expected 'user' or 'assistant'"))
            case [str(asked), str(reply)]:
                yield from zip(ROLES, (asked, reply))
            case str():
                yield ROLES[turn], message
                turn = 1 - turn
            case _:
                shown = json.dumps(message, ensure_ascii=False, default=str)[:60]
                problems.append(
                    Problem(at, f"is {shown}, expected {{role, content}}, [user, assistant] or a text")
                )


def _turns(said: list[tuple[str, str]], key: dict[str, Any]) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """The replies with what they answer, and what the user said after the last of them."""
    turns: list[dict[str, Any]] = []
    waiting: list[str] = []
    for role, content in said:
        if role == "user":
            waiting.append(content)
            continue
        asked = {"request": waiting[-1] if waiting else None, "earlier": tuple(waiting[:-1])}
        turns.append({**key, "turn": len(turns), **asked, "response": content})
        waiting = []
    return turns, tuple(waiting)
