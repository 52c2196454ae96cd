"""What the columns of anybody's file are: by their names, types and values, said before anything is stored.

    found = recognise(records, "ratings.csv")    # records as `read_records` gives them
    found.taken         # our column → their field
    found.notes         # what was assumed: the scale, who rated, what a conversation is
    found.rows          # rows under our names, with their places, as a table of one's own has them

A field that is named on request (`columns`) is taken as said, and the rest follows. Where two fields fit equally well, `Ambiguous` asks
which; nothing else is asked, and what was assumed is said.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from perslib.errors import Ambiguous, DataError, Problem
from perslib.systems.readers.any_file.fields import (
    FITS,
    Field,
    choose_field,
    find_pair_of_texts,
    find_people,
    find_unnamed_ratings,
    find_wide_replies,
    pivot_dimensions,
)
from perslib.systems.readers.any_file.ratings import find_named_scale, find_scale_of, spell_scale
from perslib.systems.readers.any_file.recognised_rows import CHOSEN, EVERYBODY, Recognised, make_rows
from perslib.systems.readers.any_file.shapes import (
    REPLY,
    WHO,
    WORDS,
    Flat,
    find_roles,
    flatten_record,
    keep_mixed_as_texts,
    name_of_path,
    take_quotes_off,
)

NAMES: Mapping[str, list[list[str]]] = WORDS["names"]
PAIRS: Mapping[str, list[str]] = WORDS["pairs"]
#: Rows by which columns are told.
LOOKED_AT = 2_000
#: So many further turns of conversations do not have the rating of the first by chance.
SEVERAL = 10
#: Columns that a file may have beside what was asked, replied and rated.
OTHERS = ("scenario", "assistant", "asked_at", "task", "satisfaction")
_CHINESE = re.compile(r"[\u3400-\u9fff]")


def recognise(
    records: Sequence[tuple[str, Any, Any]], name: str, columns: Mapping[str, str] | None = None
) -> Recognised:
    """Return what records are taken for; DataError where no reply, or nothing that was asked, can be found in them."""
    flat = [
        (place, own) for place, record, _ in records if isinstance(record, Mapping) for own in flatten_record(record)
    ]
    flat, pivoted = pivot_dimensions(flat)
    values: dict[str, list[Any]] = {}
    for _, own in flat[:LOOKED_AT]:
        for path, value in own.items():
            values.setdefault(path, []).append(value)
    keep_mixed_as_texts(flat, values)
    take_quotes_off(flat, values)
    fields = {path: Field(path, own, min(len(flat), LOOKED_AT)) for path, own in values.items() if path != REPLY}
    columns = dict(columns or {})
    if not fields:
        raise DataError(Problem(name, "holds no records with fields"))
    if unknown := [
        path for own in columns.values() for path in ([own] if own in fields else own.split("+")) if path not in fields
    ]:
        raise DataError(Problem(name, f"has no field {', '.join(unknown)}"), f"Found: {', '.join(fields)}")
    recognised = _Recognising(fields, flat, name, columns).recognised
    recognised.notes[:0] = pivoted
    recognised.rows = make_rows(flat, recognised)
    read = [row for _, row in recognised.rows[:200] if row]
    texts = [str(row.get("response") or row.get("response_a") or row.get("messages")) for row in read]
    chinese = sum(len(_CHINESE.findall(text)) for text in texts)
    recognised.language = "zh" if chinese * 5 > sum(map(len, texts)) else "en"
    recognised.rows += [(place, None) for place, record, _ in records if not isinstance(record, Mapping)]
    return recognised


class _Recognising:
    """Columns found one after the other; a field is taken once."""

    def __init__(self, fields: dict[str, Field], flat: list[tuple[str, Flat]], name: str, columns: dict[str, str]):
        self.fields, self.flat, self.name = fields, flat, name
        self.recognised, self.named = Recognised(columns), frozenset(columns)
        self.taken, self.note, self.scales = columns, self.recognised.notes.append, self.recognised.scales
        self._find_dialogue()
        self._find_user()
        self._find("session")
        self._find("turn")
        self._find_score()
        for column in OTHERS:
            self._find(column)
        self._leave_opening()
        self._settle()

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

    def _find(self, column: str, besides: Collection[str] = ()) -> None:
        """Take the field whose name says most plainly that it is this column, and whose values can be it."""
        if column not in self.taken:
            fitting = [one for one in self._free(column) if FITS[column](one) and one.path not in besides]
            if (chosen := choose_field(fitting, NAMES[column])) is not None:
                self.taken[column] = chosen.path

    # -- what was asked and replied ------------------------------------------------------------------------------

    def _find_dialogue(self) -> None:
        """Find a pair of replies, a conversation, a message a row, or request and response."""
        if {"request", "response"} <= set(self.taken) or "messages" in self.taken or self._find_pair():
            return
        self.recognised.wide = {} if "response" in self.taken else find_wide_replies([*self.fields.values()])
        self.recognised.wide = self.recognised.wide if len(self.recognised.wide) > 1 else {}
        talks = [one for one in self.fields.values() if one.is_conversation]
        whole = [one for one in talks if any(m["role"] == "assistant" for v in one.values for m in v.messages)]
        best = max(whole or talks, key=lambda one: sum(len(v.messages) for v in one.values), default=None)
        texts = [one for one in self._free("response") if one.is_text]
        reply = self._get("response") or choose_field(texts, NAMES["response"])
        if best is not None and (reply is not None or best in whole):
            self._take_conversation(best, reply)
            return
        if self._find_messages():
            return
        if self.recognised.wide:
            reply = self.fields[next(iter(self.recognised.wide.values()))[0]]
            self.note(f"replies: one of each of {', '.join(self.recognised.wide)}")
        taken = reply.path if reply else ""
        requests = [one for one in self._free("request") if one.is_text and one.path != taken]
        request = self._get("request") or choose_field(requests, NAMES["request"])
        if reply is None and request is not None:
            rest = [one for one in texts if one.path != request.path and one.length > 20]
            reply = rest[0] if len(rest) == 1 else None
        if reply is not None and request is None:
            rest = [one for one in requests if one.path != reply.path and one.length > 8]
            request = rest[0] if len(rest) == 1 else None
        if reply is None or request is None:
            column, wanted = ("response", "an assistant's reply") if reply is None else ("request", "what was asked")
            remedy = f"Found: {', '.join(self.fields)}. Name it: --columns {column}=FIELD"
            raise DataError(Problem(self.name, f"no field is plainly {wanted}"), remedy)
        for column, chosen, among in (("response", reply, texts), ("request", request, requests)):
            same = [o for o in among if o.name == chosen.name and o not in (reply, request) and o.kinds != chosen.kinds]
            if same and column not in self.taken and not self.recognised.wide:
                raise Ambiguous(column, [chosen.path, *(one.path for one in same)], self.name)
        self.taken |= {"request": request.path, "response": reply.path}

    def _take_conversation(self, talk: Field, reply: Field | None) -> None:
        """Take a conversation, and what stands beside it and goes on with it: a reply, or a request and a reply."""
        self.taken["messages"] = talk.path
        if any(v.is_assumed for v in talk.values):
            self.note(f"messages: nothing says who wrote what in {talk.path}; user and assistant take turns")
        ends = sum(v.messages[-1]["role"] == "assistant" for v in talk.values) > len(talk.values) / 2
        texts = [one for one in self._free("request") if one.is_text and one is not reply]
        request = self._get("request") or choose_field(texts, NAMES["request"][:1])
        written = {m["content"] for v in talk.values for m in v.messages}
        if reply is not None and not ends:
            self.taken["response"] = reply.path
        elif reply is not None and request is not None and not written & {*reply.kinds, *request.kinds}:
            self.taken |= {"request": request.path, "response": reply.path}

    def _find_pair(self) -> bool:
        """Find two replies to one request and which was preferred: by name, by its own field, or by one for each side."""
        keys = ("response_a", "response_b", "candidate_a", "candidate_b", "preferred", "won_a", "won_b")
        fields = {column: choose_field([*self.fields.values()], [PAIRS[column]]) for column in keys}
        paths = {column: one.path for column, one in fields.items() if one is not None}
        asked_for = {column: self.taken.pop(column) for column in keys[5:] if column in self.taken}
        paths |= asked_for
        if not {"response_a", "response_b"} <= set(paths):
            paths |= self._find_named_pair() or find_pair_of_texts([*self.fields.values()])
        if not {"response_a", "response_b"} <= set(paths):
            return False
        won = ", ".join(f"{key[-1]}: {paths[key]}" for key in keys[5:] if key in paths)
        if name_of_path(paths["response_a"]) in PAIRS["better"]:
            preferred = CHOSEN
        elif asked_for or "," in won:
            preferred = won
        elif preferred := paths.get("preferred", ""):
            self._check_preference(self.fields[preferred])
        else:
            return False
        self.taken |= {column: paths[column] for column in keys[:4] if column in paths} | {"preferred": preferred}
        free = [one for one in self._free("request") if one.is_text or one.is_conversation]
        request = choose_field([one for one in free if one.is_text], NAMES["request"])
        request = request or next((one for one in free if one.is_conversation), None)
        self.taken |= {"request": request.path} if request is not None else {}
        return True

    def _check_preference(self, given: Field) -> None:
        """Say how numbers are read that prefer one of two replies; refuse 0 and 1, of which nothing says what they mean."""
        if {*given.kinds} == {"0", "1"}:
            wrong = f"{given.path} is 0 or 1, and nothing says which of the two replies 1 is"
            remedy = f"Say which: --columns won_a={given.path} where 1 is the first, won_b={given.path} where it is the second"
            raise DataError(Problem(self.name, wrong), remedy)
        if any(kind.startswith("-") for kind in given.kinds):
            self.recognised.is_signed = True
            self.note(f"preferred: below 0 in {given.path} is the first of the two, above 0 the second")

    def _find_named_pair(self) -> dict[str, str]:
        """Return two texts between whose names the values of a third field choose."""
        for one in self.fields.values():
            named = [kind for kind in one.kinds if kind.lower() not in PAIRS["tie"]]
            if len(named) == 2 and all(kind in self.fields and self.fields[kind].is_text for kind in named):
                first, second = sorted(named)
                return {"response_a": first, "response_b": second, "preferred": one.path}
        return {}

    def _find_messages(self) -> bool:
        """Find tables of a message a row: a field says which side wrote it."""
        sides = [
            one
            for one in self.fields.values()
            if not one.is_conversation and {*_find_sides(one).values()} >= {"user", "assistant"}
        ]
        texts = [one for one in self.fields.values() if one.is_text and one.length > 8]
        text = choose_field(texts, [WORDS["messages"]["content"], ["message", "text", "content"]])
        if not sides or text is None or None in _find_sides(sides[0]).values():
            return False
        self.recognised.role, self.recognised.roles = sides[0].path, _find_sides(sides[0])
        self.taken |= {"messages": text.path}
        self.note(f"messages: one a row; {self.recognised.role} says who wrote it")
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
        people = find_people([one for one in self._free("score") if one.scale is not None])
        self._find("user", besides=people)

    def _find_score(self) -> None:
        """Find the rating; of several annotators with a column each, each is a user."""
        if "preferred" in self.taken:
            return
        column = "score"
        ratings = [one for one in self._free("score") if one.scale is not None]
        given = self.taken.get("score", "")
        several = tuple(given.split("+")) if given and given not in self.fields else ()
        if people := several or (() if given else find_people(ratings)):
            self.recognised.people = people
            self.taken |= {"user": f"({', '.join(people)})", "score": f"({', '.join(people)})"}
            self.note(f"users: the annotators, a column each: {', '.join(people)}")
            self.scales["score"] = find_scale_of([value for path in people for value in self.fields[path].values])
        else:
            lists = {word for name in WORDS["annotations"]["lists"] for word in name.split()}
            annotated = [one for one in ratings if lists & set(one.words[:-1]) or one.path == "rating"]
            differ = [one for one in ratings if len(one.kinds) > 1]
            chosen = (
                choose_field(differ, NAMES["score"])
                or choose_field(ratings, NAMES["score"])
                or (annotated[0] if annotated else None)
            )
            chosen = self._get("score") or (
                self.fields[next(iter(self.recognised.wide.values()))[1]] if self.recognised.wide else chosen
            )
            talks = [
                message
                for one in self.fields.values()
                if one.is_conversation
                for v in one.values
                for message in v.messages
            ]
            in_messages = [message["score"] for message in talks if "score" in message]
            if chosen is None and not in_messages and (chosen := self._find_unnamed(ratings)):
                self.note(f"ratings: {chosen.path}, by its values; its name does not say so (--columns score=FIELD)")
            if chosen is None:
                numbers = [one.path for one in ratings if len(one.kinds) > 2][:5]
                also = f"; fields with numbers: {', '.join(numbers)} (--columns score=FIELD)" if numbers else ""
                self.note("ratings: with the messages" if in_messages else f"ratings: none were found{also}")
                self.scales["score"] = find_scale_of(in_messages) if in_messages else None
                return
            together = [value for _, rating in self.recognised.wide.values() for value in self.fields[rating].values]
            scale = find_scale_of(together) if together else chosen.scale
            is_of_conversation = (
                not {"score", "satisfaction"} & self.named and self._share_differing(chosen, SEVERAL) == 0
            )
            column = "satisfaction" if is_of_conversation else "score"
            self.taken[column], self.scales[column] = chosen.path, find_named_scale(chosen.path) or scale
            words = {word for name in NAMES["score"][0] for word in name.split()} - {*NAMES["user"][0]} | lists
            others = [
                one.path
                for one in ratings
                if one is not chosen
                and not self.recognised.wide
                and words & set(one.words)
                and one.name not in NAMES["turn"][0]
            ]
            what = "the same in all turns, so it rates the conversation" if is_of_conversation else "the score"
            if others or is_of_conversation:
                also = f"; also there: {', '.join(others[:5])}" if others else ""
                self.note(f"ratings: {chosen.path} is {what}{also} (--columns score=FIELD)")
            talk = self._get("messages")
            rows = len(talk.values) if talk is not None and talk.is_conversation else math.inf
            if column == "score" and sum(message["role"] == "assistant" for message in talks) > rows:
                whole = f"--columns satisfaction={chosen.path} where it rates the whole"
                self.note(f"ratings: {chosen.path} rates the last reply of each conversation ({whole})")
        if (spelled := spell_scale(self.scales[column])) not in ("", "1-5"):
            self.note(f"scale: {spelled.replace('-1-1', '−1 to 1')}, as these ratings are (--scale says otherwise)")

    def _leave_opening(self) -> None:
        """Take another field as the request where it is one text in all turns of a conversation: what opens it, or its task."""
        if (request := self._get("request")) is None or "request" in self.named or "turn" not in self.taken:
            return
        if self._share_differing(request) != 0:
            return
        others = [one for one in self._free("request") if one.is_text and one.name in NAMES["request"][0]]
        varying = [one for one in others if self._share_differing(one) > 0.5]
        if (better := choose_field(varying, NAMES["request"])) is not None:
            self.taken["request"] = better.path
            self.note(f"request: {better.path}; {request.path} is the same in all turns of a conversation")

    def _share_differing(self, field: Field, fewest: int = 1) -> float:
        """Return the share of conversations in which turns differ in a field, of those with several; NaN for fewer further turns."""
        if (session := self.taken.get("session")) is None:
            return math.nan
        by_session = pd.DataFrame([(own.get(session), own.get(field.path)) for _, own in self.flat]).groupby(0)[1]
        turns = by_session.count()
        is_enough = (turns - 1).clip(0).sum() >= fewest
        return float((by_session.nunique() > 1)[turns > 1].mean()) if is_enough else math.nan

    def _find_unnamed(self, ratings: list[Field]) -> Field | None:
        """Return the one field that may hold ratings; ask where several may, or all, of an annotator each."""
        paths = find_unnamed_ratings(ratings)
        if len(paths) > 1:
            raise Ambiguous("score", [*paths, "+".join(paths)], self.name)
        return self.fields[paths[0]] if paths else None

    def _settle(self) -> None:
        """Say whose rows are where no field says it, and what a conversation is."""
        taken = self.taken
        talk = self._get("messages")
        if "user" not in taken and talk is not None and talk.is_conversation and any(v.user for v in talk.values):
            taken["user"] = f"(in {talk.path})"
            self.note(f"users: those who wrote in {talk.path}")
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
        if session is not None and "messages" in taken and not self.recognised.role:
            who, where = taken.get("user", ""), session.path
            keys = [(own.get(who), own[where]) for _, own in self.flat if where in own]
            if len({*keys}) < len(keys):
                self.note(
                    f"conversations: each row is one, and {where} is of several, so it is none (--columns session={where})"
                )
                del taken["session"]
                session = None
        is_alone = session is None or (len(session.kinds) == len(session.values) and not self.recognised.role)
        if is_alone:
            taken.pop("turn", None)  # of how many, not which
        if session is not None:
            self.note(
                "conversations: " + ("each row is one" if is_alone else f"rows of one {session.path}, in their order")
            )
        elif self.recognised.role:
            raise DataError(
                Problem(self.name, "has a message a row, and no field says which conversation it is of"),
                "Name it: --columns session=FIELD",
            )
        else:
            self.note("conversations: each row is one")


def _find_sides(field: Field) -> dict[str, str | None]:
    """Return the sides that the values of a field name, in lower case."""
    return find_roles([kind.lower() for kind in field.kinds])
