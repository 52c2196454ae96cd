"""What the columns of anybody's file are: by their names, types and values, said before anything is stored.

    found = recognise(records, "ratings.csv")    # records as `read_records` gives them
    found.taken         # our column → their field
    found.notes         # what was assumed: the scale, who rated, what a conversation is
    found.rows          # rows under our names, with their places, as a table of one's own has them

A field that is named on request (`columns`) is taken as said, and the rest follows. Where two fields fit equally well, `Ambiguous` asks
which; nothing else is asked, and what was assumed is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from perslib.corpus.loaders.fields import FITS, Field, choose_field, find_people
from perslib.corpus.loaders.ratings import find_named_scale, find_scale_of, number_of, read_rating
from perslib.corpus.loaders.shapes import ROLES, WHO, WORDS, Conversation, Flat, flatten_record, name_of_path
from perslib.errors import DataError, Problem

NAMES: Mapping[str, list[list[str]]] = WORDS["names"]
PAIRS: Mapping[str, list[str]] = WORDS["pairs"]
#: The user of rows of which nobody is named.
EVERYBODY = "everybody"
#: Rows by which columns are told.
LOOKED_AT = 2_000
#: Columns that a file may have beside what was asked, replied and rated.
OTHERS = ("session", "turn", "scenario", "assistant", "asked_at", "task", "satisfaction")
_CHINESE = re.compile(r"[\u3400-\u9fff]")


class Ambiguous(DataError):
    """Two fields fit one column equally well: which is it?"""

    def __init__(self, column: str, choices: Sequence[str], place: str):
        self.column, self.choices = column, list(choices)
        remedy = f"Say which: --columns {column}={choices[0]}"
        super().__init__(Problem(place, f"more than one field may be the {column}: {', '.join(choices)}"), remedy)


@dataclass
class Recognised:
    """What a file was taken for."""

    taken: dict[str, str]
    rows: list[tuple[str, dict[str, Any] | None]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    scales: dict[str, str | None] = field(default_factory=dict)
    """By score and satisfaction, the scale of the ratings."""
    language: str = "en"


def recognise(
    records: Sequence[tuple[str, Any, Any]], name: str, columns: Mapping[str, str] | None = None
) -> Recognised:
    """Return what records are taken for; DataError where no reply, or nothing that was asked, can be found in them."""
    flat = [
        (place, own) for place, record, _ in records if isinstance(record, Mapping) for own in flatten_record(record)
    ]
    values: dict[str, list[Any]] = {}
    for _, own in flat[:LOOKED_AT]:
        for path, value in own.items():
            values.setdefault(path, []).append(value)
    fields = {path: Field(path, own, min(len(flat), LOOKED_AT)) for path, own in values.items()}
    columns = dict(columns or {})
    if not fields:
        raise DataError(Problem(name, "holds no records with fields"))
    if unknown := [path for path in columns.values() if path not in fields]:
        raise DataError(Problem(name, f"has no field {', '.join(unknown)}"), f"Found: {', '.join(fields)}")
    found = _Recognising(fields, flat, name, columns).recognised
    found.rows += [(place, None) for place, record, _ in records if not isinstance(record, Mapping)]
    return found


class _Recognising:
    """Columns found one after the other; a field is taken once."""

    def __init__(self, fields: dict[str, Field], flat: list[tuple[str, Flat]], name: str, columns: dict[str, str]):
        self.fields, self.flat, self.name = fields, flat, name
        self.recognised = Recognised(columns)
        self.taken, self.note, self.scales = columns, self.recognised.notes.append, self.recognised.scales
        self.people: tuple[str, ...] = ()
        self.role: str | None = None
        self._find_dialogue()
        self._find_user()
        self._find_score()
        for column in OTHERS:
            self._find(column)
        self._settle()
        rows = [(place, self._row(own)) for place, own in self._spread()]
        self.recognised.rows = self._join_messages(rows) if self.role else [*rows]
        texts = [str(row.get("response") or row.get("response_a") or row.get("messages")) for _, row in rows[:200]]
        chinese = sum(len(_CHINESE.findall(text)) for text in texts)
        self.recognised.language = "zh" if chinese * 5 > sum(map(len, texts)) else "en"

    def _get(self, column: str) -> Field | None:
        return self.fields.get(self.taken[column]) if column in self.taken else None

    def _free(self, column: str) -> list[Field]:
        last, never = (set(WORDS[key].get(column, ())) for key in ("not", "never"))
        return [
            one
            for one in self.fields.values()
            if one.path not in self.taken.values()
            and one.words
            and one.words[-1] not in last
            and not never & set(one.words)
        ]

    def _find(self, column: str) -> None:
        """Take the field whose name says most plainly that it is this column, and whose values can be it."""
        if column not in self.taken:
            fitting = [one for one in self._free(column) if FITS[column](one)]
            if (found := choose_field(fitting, NAMES[column])) is not None:
                self.taken[column] = found.path

    # -- what was asked and replied ------------------------------------------------------------------------------

    def _find_dialogue(self) -> None:
        """Find a pair of replies, a conversation, a message a row, or request and response."""
        if {"request", "response"} <= set(self.taken) or "messages" in self.taken or self._find_pair():
            return
        talks = [one for one in self.fields.values() if one.is_conversation]
        whole = [one for one in talks if any(m["role"] == "assistant" for v in one.values for m in v.messages)]
        best = max(whole or talks, key=lambda one: sum(len(v.messages) for v in one.values), default=None)
        texts = [one for one in self._free("response") if one.is_text]
        reply = self._get("response") or choose_field(texts, NAMES["response"])
        if best is not None and (reply is not None or best in whole):
            ends = sum(v.messages[-1]["role"] == "assistant" for v in best.values) > len(best.values) / 2
            self.taken |= {"messages": best.path} | ({} if ends or reply is None else {"response": reply.path})
            return
        if self._find_messages():
            return
        taken = reply.path if reply else ""
        requests = [one for one in self._free("request") if one.is_text and one.path != taken]
        request = self._get("request") or choose_field(requests, NAMES["request"])
        if reply is None and request is not None:
            rest = [one for one in texts if one.path != request.path and one.length > 20]
            reply = rest[0] if len(rest) == 1 else None
        if reply is None or request is None:
            column, wanted = ("response", "an assistant's reply") if reply is None else ("request", "what was asked")
            remedy = f"Found: {', '.join(self.fields)}. Name it: --columns {column}=FIELD"
            raise DataError(Problem(self.name, f"no field is plainly {wanted}"), remedy)
        for column, chosen, among in (("response", reply, texts), ("request", request, requests)):
            same = [o for o in among if o.name == chosen.name and o not in (reply, request) and o.kinds != chosen.kinds]
            if same and column not in self.taken:
                raise Ambiguous(column, [chosen.path, *(one.path for one in same)], self.name)
        self.taken |= {"request": request.path, "response": reply.path}

    def _find_pair(self) -> bool:
        keys = ("response_a", "response_b", "candidate_a", "candidate_b", "preferred", "won_a", "won_b")
        found = {column: choose_field([*self.fields.values()], [PAIRS[column]]) for column in keys}
        paths = {column: one.path for column, one in found.items() if one is not None}
        if not {"response_a", "response_b"} <= set(paths):
            return False
        chosen = name_of_path(paths["response_a"]) == "chosen"
        won = ", ".join(paths[key] for key in ("won_a", "won_b") if key in paths)
        preferred = "(chosen)" if chosen else paths.get("preferred") or (won if "," in won else "")
        if not preferred:
            return False
        self.taken |= {column: paths[column] for column in keys[:4] if column in paths} | {"preferred": preferred}
        request = choose_field([one for one in self._free("request") if one.is_text], NAMES["request"])
        self.taken |= {"request": request.path} if request is not None else {}
        return True

    def _find_messages(self) -> bool:
        """Find tables of a message a row: a field says which side wrote it."""
        sides = [
            one
            for one in self.fields.values()
            if not one.is_conversation and {ROLES.get(k.lower()) for k in one.kinds} >= {"user", "assistant"}
        ]
        texts = [one for one in self.fields.values() if one.is_text and one.length > 8]
        text = choose_field(texts, [WORDS["messages"]["content"], ["message", "text", "content"]])
        if not sides or text is None or any(ROLES.get(k.lower()) is None for k in sides[0].kinds):
            return False
        self.role = sides[0].path
        self.taken |= {"messages": text.path}
        self.note(f"messages: one a row; {self.role} says who wrote it")
        return True

    # -- who rated what --------------------------------------------------------------------------------------------

    def _find_user(self) -> None:
        if "user" not in self.taken and WHO in self.fields:
            named = choose_field(
                [one for one in self._free("user") if FITS["user"](one) and one.path != WHO], NAMES["user"]
            )
            self.taken["user"] = WHO
            self.note(
                "users: those who annotated"
                + (f"; {named.path} is kept as it is (--columns user={named.path})" if named else "")
            )
        self._find("user")

    def _find_score(self) -> None:
        """Find the rating; of several annotators with a column each, each is a user."""
        if "preferred" in self.taken:
            return
        ratings = [one for one in self._free("score") if one.scale is not None]
        if "score" not in self.taken and (people := find_people(ratings)):
            self.people = people
            self.taken |= {"user": f"({', '.join(people)})", "score": f"({', '.join(people)})"}
            self.note(f"users: the annotators, a column each: {', '.join(people)}")
            self.scales["score"] = find_scale_of([value for path in people for value in self.fields[path].values])
        else:
            lists = {word for name in WORDS["annotations"]["lists"] for word in name.split()}
            annotated = [one for one in ratings if lists & set(one.words[:-1]) or one.path == "rating"]
            chosen = choose_field(ratings, NAMES["score"]) or (annotated[0] if annotated else None)
            chosen = self._get("score") or chosen
            talks = [
                message
                for one in self.fields.values()
                if one.is_conversation
                for v in one.values
                for message in v.messages
            ]
            in_messages = [message["score"] for message in talks if "score" in message]
            if chosen is None:
                self.note("ratings: with the messages" if in_messages else "ratings: none were found")
                self.scales["score"] = find_scale_of(in_messages) if in_messages else None
                return
            self.taken["score"], self.scales["score"] = chosen.path, find_named_scale(chosen.path) or chosen.scale
            words = {word for name in NAMES["score"][0] for word in name.split()} | lists
            others = [
                one.path
                for one in ratings
                if one is not chosen and words & set(one.words) and one.name not in NAMES["turn"][0]
            ]
            if others:
                self.note(
                    f"ratings: {chosen.path} is the score; also there: {', '.join(others[:5])} (--columns score=FIELD)"
                )
        if self.scales["score"] not in (None, "1-5"):
            self.note(
                f"scale: {self.scales['score'].replace('-1-1', '−1 to 1')}, as these ratings are (--scale says otherwise)"
            )

    def _settle(self) -> None:
        """Say whose rows are where no field says it, and what a conversation is."""
        taken = self.taken
        if "user" not in taken:
            taken["user"] = f"({EVERYBODY})"
            self.note(
                f"users: no field says whose a reply is; all are of one user, {EVERYBODY!r} (--columns user=FIELD)"
            )
        session = self._get("session")
        if session is not None and len(session.kinds) == 1 < session.rows / 10:
            self.note(f"conversations: {session.path} is the same everywhere, so it is none")
            del taken["session"]
            session = None
        is_alone = session is None or (len(session.kinds) == len(session.values) and not self.role)
        if is_alone:
            taken.pop("turn", None)  # of how many, not which
        if session is not None:
            self.note(
                "conversations: " + ("each row is one" if is_alone else f"rows of one {session.path}, in their order")
            )
        elif self.role:
            raise DataError(
                Problem(self.name, "has a message a row, and no field says which conversation it is of"),
                "Name it: --columns session=FIELD",
            )
        else:
            self.note("conversations: each row is one")

    # -- rows --------------------------------------------------------------------------------------------------------

    def _spread(self) -> Iterator[tuple[str, Flat]]:
        """Yield the flat records, those of several annotators in columns once for each who rated."""
        for place, own in self.flat:
            yield from ((place, {**own, "\0": path}) for path in self.people if path in own)
            if not self.people:
                yield place, own

    def _row(self, own: Flat) -> dict[str, Any]:
        taken = self.taken
        row: dict[str, Any] = {c: own[path] for c, path in taken.items() if path in own}
        if self.people:
            row |= {"user": own["\0"], "score": own[own["\0"]]}
        row["user"] = str(row["user"]) if row.get("user") not in (None, "") else EVERYBODY
        row |= {column: str(row[column]) for column in ("session", "scenario", "assistant") if column in row}
        row |= {c: read_rating(row[c], self.scales.get(c)) for c in ("score", "satisfaction") if c in row}
        row |= self._compare(own) if "preferred" in taken else {}
        row |= self._converse(row) if "messages" in row and not self.role else {}
        row |= {"role": ROLES[str(own[self.role]).lower()]} if self.role and self.role in own else {}
        known = {*taken.values(), *self.people, self.role, "\0"}
        rest = {
            re.sub(r"\W+", "_", path).strip("_"): v
            for path, v in own.items()
            if path not in known and not isinstance(v, Conversation)
        }
        return {k: v for k, v in rest.items() if k and k not in row and k not in _OURS} | {
            k: v for k, v in row.items() if v is not None
        }

    def _converse(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a conversation as messages, with the reply that stands beside it at its end, and its rating."""
        rated = self.scales.get("score")
        messages = [
            {**m, **({"score": read_rating(m["score"], rated)} if "score" in m else {})}
            for m in row["messages"].messages
        ]
        if row.get("response"):
            messages.append({"role": "assistant", "content": str(row["response"])})
        made: dict[str, Any] = {
            "request": None,
            "response": None,
            "messages": [m for m in messages if m["role"] != "system"],
        }
        if row.get("score") is not None and messages[-1]["role"] == "assistant":
            messages[-1]["score"], made["score"] = row["score"], None
        return made

    def _compare(self, own: Flat) -> dict[str, Any]:
        """Return two replies to one request and which was preferred; of two conversations, their last replies."""
        made: dict[str, Any] = {}
        for side in ("response_a", "response_b"):
            held = own.get(self.taken[side])
            if isinstance(held, Conversation):
                said = {
                    role: [m["content"] for m in held.messages if m["role"] == role] for role in ("user", "assistant")
                }
                made |= {"request": (said["user"] or [None])[-1], side: (said["assistant"] or [None])[-1]}
        given = self.taken["preferred"]
        if given == "(chosen)":
            made["preferred"] = "a"
        elif given in own:
            word = str(own[given]).strip().lower().replace("_", " ")
            made["preferred"] = next((side for side in ("a", "b", "tie") if word in PAIRS[side]), word)
        else:
            won = [number_of(own.get(path.strip())) == 1 for path in given.split(",")]
            made["preferred"] = "a" if won[0] else "b" if won[1] else "tie"
        return made

    def _join_messages(self, rows: Iterable[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any] | None]]:
        """Return a row a conversation from rows of a message; a rating is of the reply that it stands with or follows."""
        joined: dict[tuple[str, ...], tuple[str, dict[str, Any]]] = {}
        users = {
            row["session"]: row["user"] for _, row in rows if row.get("role") == "user" and row["user"] != EVERYBODY
        }
        for place, row in rows:
            session = row.get("session", "")
            key = (users.get(session, row["user"]), session)
            whole = joined.setdefault(
                key,
                (
                    place,
                    {
                        **{k: v for k, v in row.items() if k not in ("messages", "role", "score", "turn")},
                        "user": key[0],
                        "messages": [],
                    },
                ),
            )[1]
            message = {"role": row.get("role", "user"), "content": str(row.get("messages", ""))}
            if message["role"] != "system":
                whole["messages"].append(message)
            replies = [m for m in whole["messages"] if m["role"] == "assistant"]
            if row.get("score") is not None and replies:
                replies[-1]["score"] = row["score"]
        return [*joined.values()]


_OURS = {
    "user",
    "request",
    "response",
    "messages",
    "session",
    "scenario",
    "turn",
    "score",
    "satisfaction",
    "candidate",
    "role",
}
