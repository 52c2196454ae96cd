"""What was written is looked through and mended (Mem-PAL, Section 3): logs of the wrong type, turns that do not do
their action, content that contradicts the person. The paper names the faults; how they are found and mended is ours.

    check    every log against the pattern of its type, every utterance against what it must not say (no model); where
             `UserSynthesis.check` is on, a model lists what it finds in a session
    mend     what was found is written anew, at most twice, and a mended session is looked through again
    record   what is still wrong stays as it is and is recorded with its reason

A session is a dialogue and the logs of all situations since the one before it, as in the release.

The text of a log is, type by type (Table 7), parts between semicolons, each saying one thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import Any

from perslib.llm import Ask
from perslib.llm.structured.checked_questions import ParsedReply
from perslib.paths import read_toml
from perslib.systems.mem_pal.loaders.palset_records import LOG_TYPES
from perslib.systems.mem_pal.synthesis.personas import Persona, Read
from perslib.systems.mem_pal.synthesis.questions import UserSynthesis, has_text
from perslib.systems.mem_pal.synthesis.sessions import DraftSession

_SAID = read_toml(__file__, "patterns.toml")
#: The parts of each type, in the order of `LOG_TYPES`.
PARTS: list[list[str]] = _SAID["parts"]
_SPAN = re.compile(_SAID["span"], re.IGNORECASE | re.DOTALL)


def pattern_fault(kind: str, text: str, language: str) -> str | None:
    """Return what keeps a text from being a log of this type; None where it is one."""
    parts = PARTS[LOG_TYPES[language].index(kind)]
    # The last part may hold semicolons of its own.
    segments = [part.strip(" .…\u3002") for part in re.split("[;\uff1b]", text, maxsplit=len(parts) - 1)]
    if len(segments) < len(parts) or not all(segments):
        return f"is no {kind}: expected {', '.join(parts)}, with semicolons between"
    for part, own in zip(parts, segments, strict=True):
        words = _SAID[language]["words"].get(part, ())
        if words and not any(word in own.lower() for word in words):
            return f"is no {kind}: expected {', '.join(words)} as its {part}, not {own!r}"
        if part == "span" and not _SPAN.search(own):
            return f"is no {kind}: expected from when to when, not {own!r}"
    return None


def fill_log_text(kind: str, texts: Iterable[str], language: str) -> str:
    """Return a text of this type that says nothing, its free parts taken from `texts`."""
    free = iter(texts)
    words = {part: own[0] for part, own in _SAID[language]["words"].items()} | {"span": "09:00–10:00"}
    phrases = [words.get(part) or next(free) for part in PARTS[LOG_TYPES[language].index(kind)]]
    return str(_SAID[language]["between"]).join(phrases)


ROUNDS = 2
KINDS: dict[str, str] = _SAID["kinds"]
_LABEL = re.compile(r"(?<![A-Za-z0-9])[TNS]\d(?![A-Za-z0-9])|<\w[\w ]*>")

Found = dict[str, list[str]]
"""What is wrong with a session: id of a log (L3) or an utterance (U2, A2) → reasons."""


async def correct(one: Persona, session: DraftSession, writing: UserSynthesis, ask: Ask) -> None:
    """Correct a session in place; what stays wrong is recorded."""
    place = f"{one.user} {session.date}"
    for mended in range(ROUNDS + 1):
        faults = find_session_faults(session, writing.language)
        if writing.check:
            about = _about(one, session, session.logs())
            for id, reason in await writing.write(ask, "check", place, _make_reader(session), **about) or ():
                faults.setdefault(id, []).append(reason)
        words = None
        if faults and mended < ROUNDS:
            wrong = [{"id": id, "what": "; ".join(reasons)} for id, reasons in faults.items()]
            about = _about(one, session, faults)
            words = await writing.write(ask, "repair", place, partial(_mend_texts, faults), **about, wrong=wrong)
        if not words:  # nothing new to look through
            break
        session.mend(words)
    for id, reasons in faults.items():
        writing.reject("correction", f"{one.user} {session.place(id)}", reasons, is_kept=True)


# -- without a model ---------------------------------------------------------------------------------------


def find_session_faults(session: DraftSession, language: str) -> Found:
    """Return logs that do not read like their type; utterances that name labels, repeat or run ahead of their turn."""
    faults: Found = {}
    for id, entry in session.logs().items():
        if fault := pattern_fault(entry.type, entry.content, language):
            faults[id] = [fault]
    ahead = {
        f"{topic['id']} {part['id']}": part["text"].strip(" .\u3002")
        for topic in session.last.script.topics
        for part in (*topic["needs"], *topic["solutions"])
    }
    texts: dict[str, str] = {}
    for turn in session.turns():
        reasons = []
        if label := _LABEL.search(turn["text"]):
            reasons.append(f"names the label {label.group()}")
        if turn["text"] in texts:
            reasons.append(f"says the same as {texts[turn['text']]}")
        ahead.pop(turn["about"], None)  # from here on it may be said
        reasons += [f"tells {key} before its turn" for key, text in ahead.items() if text in turn["text"]]
        texts[turn["text"]] = turn["id"]
        if reasons:
            faults[turn["id"]] = reasons
    return faults


# -- with a model ------------------------------------------------------------------------------------------


def _about(one: Persona, session: DraftSession, ids: Iterable[str]) -> dict[str, Any]:
    """Return what both questions are told, with the logs of these ids."""
    logs = session.logs()
    return {
        "profile": one.profile,
        "situations": [chapter.situation.make_fields() for chapter in session.chapters],
        "topics": session.last.script.topics,
        "turns": session.turns(),
        "logs": [{"id": id, **logs[id].make_fields()} for id in ids if id in logs],
    }


def _make_reader(session: DraftSession) -> Read:
    known = {*session.logs(), *(turn["id"] for turn in session.turns())}

    def read(data: Any) -> ParsedReply[list[tuple[str, str]]]:
        given = [(v["id"].strip().upper(), f"{KINDS[v['kind']]}: {v['what']}") for v in data["violations"]]
        unknown = tuple(f"{id} is no id that was given" for id, _ in given if id not in known)
        return ParsedReply([(id, reason) for id, reason in given if id in known], unknown)

    return read


def _mend_texts(faults: Found, data: Any) -> ParsedReply[dict[str, dict[str, str]]]:
    given = {m["id"].strip().upper(): m for m in (*data["logs"], *data["turns"]) if has_text(m["text"])}
    lacking = tuple(f"{id} is not mended" for id in faults if id not in given)
    return ParsedReply({id: m for id, m in given.items() if id in faults} or None, lacking)
