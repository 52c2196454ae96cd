"""Which rows of a table are one conversation: those of a session, the messages of a row, or a single request."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from perslib.corpus import several_replies as several
from perslib.corpus.files.reading import ImportResult, parse_json, turns_of
from perslib.corpus.files.records import check_width
from perslib.errors import Problem

Row = tuple[str, dict[str, Any]]
Placed = Iterable[tuple[str, dict[str, Any] | None]]
#: User, scenario and session.
Key = tuple[str, str, str]


def split_conversations(
    placed: Placed, reading: ImportResult, names: set[str], once: Collection[str], unanswered: str = ""
) -> Placed:
    """Give rows of a reply as they are, a row of a conversation as the rows of its replies; `once` stands in the first.

    Conversations without a reply are left out, or counted as `unanswered` and given as one row that says so.
    """
    columns: set[str] = set()
    for number, (place, row) in enumerate(placed):
        if row is None:
            yield place, None
            continue
        columns.update(row)
        check_width(columns, place)
        if several.is_choice(row):
            yield from ((place, own) for own in several.of_choice(row, place))
            continue
        if row.get("messages") is None:
            yield place, row
            continue
        messages = row["messages"]
        if isinstance(messages, str):
            messages = parse_json(messages.encode("utf-8", "surrogatepass"), f"{place} messages")
        about = {c: v for c, v in row.items() if c != "messages"}
        if about.get("session") is None:
            about["session"] = _name_session(number, names)
        try:
            parsed = [_message(message) for message in messages]
        except (TypeError, KeyError, AttributeError):
            wrong = "messages is no list of {role, content}"
            problem = messages if isinstance(messages, Problem) else Problem(place, wrong)
            reading.reject([problem], row, sessions=0)
            yield place, None
            continue
        turns, trailing = turns_of(parsed)
        if not turns:
            reading.note(unanswered or "conversations without a reply, left out")
        if not turns and unanswered:
            yield place, about | {"trailing": trailing, "request": None, "response": "", "is_unanswered": True}
        for turn in turns:
            yield place, about | {"trailing": trailing} | turn
            about = {c: v for c, v in about.items() if c not in once}


def _message(message: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """Return role, text and further columns of a message; of content in parts, the joined texts."""
    content = message["content"]
    if isinstance(content, list | tuple):
        content = "\n".join(
            part["text"] for part in content if part.get("type") in ("text", "input_text", "output_text")
        )
    more = {c: v for c, v in message.items() if c not in ("role", "content")}
    return message["role"].lower(), content, more if message["role"].lower() == "assistant" else {}


def _name_session(number: int, names: set[str], form: str = "{}") -> str:
    """Name a session by its number, other than all that have a name."""
    name = form.format(number)
    while name in names:
        name += "'"
    return name


def _owner(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return user and scenario of a row."""
    user, scenario = row.get("user"), row.get("scenario")
    return "" if user is None else str(user), "all" if scenario is None else str(scenario)


def group_rows(
    placed: list[tuple[str, dict[str, Any] | None]],
    reading: ImportResult,
    names: set[str],
    check_row: Callable[[dict[str, Any], str, ImportResult], list[Problem]],
) -> tuple[dict[Key, list[Row]], set[Key], list[list[Row]]]:
    """Return the rows of each session, the sessions with a bad row, and the rows that name neither session nor turn.

    The latter are sessions of their own, by user and scenario here; candidates for one request are in one.
    """
    by_session: dict[Key, list[Row]] = {}
    spoiled: set[Key] = set()
    alone: dict[tuple[str, str], list[Row]] = {}
    requests: dict[Key, str] = {}
    before: Key | None = None
    is_torn = False
    numbered = {_owner(row) for _, row in placed if row and row.get("session") is None and row.get("turn") is not None}
    for number, (place, row) in enumerate(placed, 1):
        if row is None:  # an unreadable line may belong to the session before it, or to the one after
            spoiled |= {before} if before else set()
            before, is_torn = None, True
            continue
        problems = check_row(row, place, reading)
        owner = _owner(row)
        session = "0" if row.get("session") is None else str(row["session"])
        is_alone = row.get("session") is None and owner not in numbered
        is_single = is_alone and row.get("candidate") is None
        if is_alone:
            about = *owner, place if is_single else str(row.get("request") or place)
            session = requests.setdefault(about, _name_session(number, names, "#{}"))
        key = (*owner, session)
        if is_torn and not is_single:
            spoiled.add(key)
        before, is_torn = None if is_single else key, False
        if problems:
            reading.reject(problems, row, sessions=0)
            spoiled.add(key)
        else:
            by_session.setdefault(key, []).append((place, row))
            if is_alone:
                alone.setdefault(owner, []).append((place, row))
    return by_session, spoiled, list(alone.values())


def say_alone(alone: list[list[Row]]) -> Iterator[str]:
    """Yield a note if rows became separate conversations because nothing shows which belong together."""
    if any(len(rows) > 1 for rows in alone):
        yield (
            f"sessions: {sum(map(len, alone))} rows name no session and no turn; each request is a conversation of its own. "
            "If a column groups them: --columns session=YOURS (user, where the rows of a user are one conversation)"
        )
