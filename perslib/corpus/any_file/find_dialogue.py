"""What was asked and replied: a pair of replies, a conversation, a message a row, or request and response."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perslib.corpus.any_file.choices import choose_text
from perslib.corpus.any_file.fields import Field, choose_field, find_pair_of_texts, find_wide_replies
from perslib.corpus.any_file.recognised_rows import CHOSEN
from perslib.corpus.any_file.search import Search, share_differing
from perslib.corpus.any_file.shapes import WORDS, find_roles, name_of_path
from perslib.errors import Ambiguous, DataError, Problem

NAMES: Mapping[str, list[list[str]]] = WORDS["names"]
PAIRS: Mapping[str, list[str]] = WORDS["pairs"]


def find_dialogue(it: Search) -> None:
    """Find a pair of replies, a conversation, a message a row, or request and response."""
    if {"request", "response"} <= set(it.taken) or "messages" in it.taken or find_pair(it):
        return
    it.recognised.wide = {} if "response" in it.taken else find_wide_replies([*it.fields.values()])
    it.recognised.wide = it.recognised.wide if len(it.recognised.wide) > 1 else {}
    talks = [one for one in it.fields.values() if one.is_conversation]
    whole = [one for one in talks if any(m["role"] == "assistant" for v in one.values for m in v.messages)]
    best = max(whole or talks, key=lambda one: sum(len(v.messages) for v in one.values), default=None)
    texts = [one for one in it.free("response") if one.is_text]
    reply = it.get("response") or (
        choose_field(texts, NAMES["response"]) if talks or it.recognised.wide else find_text(it, "response", texts)
    )
    if best is not None and (reply is not None or best in whole):
        take_conversation(it, best, reply)
        return
    if find_messages(it):
        return
    if it.recognised.wide:
        reply = it.fields[next(iter(it.recognised.wide.values()))[0]]
        it.note(f"replies: one of each of {', '.join(it.recognised.wide)}")
    taken = reply.path if reply else ""
    requests = [one for one in it.free("request") if one.is_text and one.path != taken]
    request = it.get("request") or find_text(it, "request", requests)
    if reply is None and request is not None:
        rest = [one for one in texts if one.path != request.path and one.length > 20]
        reply = rest[0] if len(rest) == 1 else None
    if reply is not None and request is None:
        rest = [one for one in requests if one.path != reply.path and one.length > 8]
        request = rest[0] if len(rest) == 1 else None
    if reply is None or request is None:
        column, wanted = ("response", "an assistant's reply") if reply is None else ("request", "what was asked")
        remedy = f"Found: {', '.join(it.fields)}. Name it: --columns {column}=FIELD"
        raise DataError(Problem(it.name, f"no field is plainly {wanted}"), remedy)
    for column, chosen, among in (("response", reply, texts), ("request", request, requests)):
        same = [o for o in among if o.name == chosen.name and o not in (reply, request) and o.kinds != chosen.kinds]
        if same and column not in it.taken and not it.recognised.wide:
            raise Ambiguous(column, [chosen.path, *(one.path for one in same)], it.name)
    it.taken.update({"request": request.path, "response": reply.path})


def find_text(it: Search, column: str, texts: Sequence[Field]) -> Field | None:
    """Return the text of a request or response, and say between which fields its name decided."""
    choice = choose_text(column, texts, it.name)
    if choice.field is not None and choice.also:
        it.note(f"{column}: {choice.field.path}; also there: {', '.join(choice.also)} (--columns {column}=FIELD)")
    return choice.field


def take_conversation(it: Search, talk: Field, reply: Field | None) -> None:
    """Take a conversation, and what stands beside it and goes on with it: a reply, or a request and a reply."""
    it.taken["messages"] = talk.path
    if any(v.is_assumed for v in talk.values):
        it.note(f"messages: nothing says who wrote what in {talk.path}; user and assistant take turns")
    ends = sum(v.messages[-1]["role"] == "assistant" for v in talk.values) > len(talk.values) / 2
    texts = [one for one in it.free("request") if one.is_text and one is not reply]
    request = it.get("request") or choose_field(texts, NAMES["request"][:1])
    written = {m["content"] for v in talk.values for m in v.messages}
    if reply is not None and not ends:
        it.taken["response"] = reply.path
    elif reply is not None and request is not None and not written & {*reply.kinds, *request.kinds}:
        it.taken.update({"request": request.path, "response": reply.path})


def find_pair(it: Search) -> bool:
    """Find two replies to one request and which was preferred: by name, by its own field, or by one for each side."""
    keys = ("response_a", "response_b", "candidate_a", "candidate_b", "preferred", "won_a", "won_b")
    fields = {column: choose_field([*it.fields.values()], [PAIRS[column]]) for column in keys}
    paths = {column: one.path for column, one in fields.items() if one is not None}
    asked_for = {column: it.taken.pop(column) for column in keys[5:] if column in it.taken}
    paths |= asked_for
    if not {"response_a", "response_b"} <= set(paths):
        paths |= find_named_pair(it) or find_pair_of_texts([*it.fields.values()])
    if not {"response_a", "response_b"} <= set(paths):
        return False
    won = ", ".join(f"{key[-1]}: {paths[key]}" for key in keys[5:] if key in paths)
    if name_of_path(paths["response_a"]) in PAIRS["better"]:
        preferred = CHOSEN
    elif asked_for or "," in won:
        preferred = won
    elif preferred := paths.get("preferred", ""):
        check_preference(it, it.fields[preferred])
    else:
        return False
    it.taken.update({column: paths[column] for column in keys[:4] if column in paths} | {"preferred": preferred})
    free = [one for one in it.free("request") if one.is_text or one.is_conversation]
    request = choose_field([one for one in free if one.is_text], NAMES["request"])
    request = request or next((one for one in free if one.is_conversation), None)
    it.taken.update({"request": request.path} if request is not None else {})
    return True


def check_preference(it: Search, given: Field) -> None:
    """Say how numbers are read that prefer one of two replies; refuse 0 and 1, of which nothing says what they mean."""
    if {*given.kinds} == {"0", "1"}:
        wrong = f"{given.path} is 0 or 1, and nothing says which of the two replies 1 is"
        remedy = (
            f"Say which: --columns won_a={given.path} where 1 is the first, won_b={given.path} where it is the second"
        )
        raise DataError(Problem(it.name, wrong), remedy)
    if any(kind.startswith("-") for kind in given.kinds):
        it.recognised.is_signed = True
        it.note(f"preferred: below 0 in {given.path} is the first of the two, above 0 the second")


def find_named_pair(it: Search) -> dict[str, str]:
    """Return two texts between whose names the values of a third field choose."""
    for one in it.fields.values():
        named = [kind for kind in one.kinds if kind.lower() not in PAIRS["tie"]]
        if len(named) == 2 and all(kind in it.fields and it.fields[kind].is_text for kind in named):
            first, second = sorted(named)
            return {"response_a": first, "response_b": second, "preferred": one.path}
    return {}


def find_messages(it: Search) -> bool:
    """Find tables of a message a row: a field says which side wrote it."""
    sides = [
        one
        for one in it.fields.values()
        if not one.is_conversation and {*_find_sides(one).values()} >= {"user", "assistant"}
    ]
    texts = [one for one in it.fields.values() if one.is_text and one.length > 8]
    text = choose_field(texts, [WORDS["messages"]["content"], ["message", "text", "content"]])
    if not sides or text is None or None in _find_sides(sides[0]).values():
        return False
    it.recognised.role, it.recognised.roles = sides[0].path, _find_sides(sides[0])
    it.taken.update({"messages": text.path})
    it.note(f"messages: one a row; {it.recognised.role} says who wrote it")
    return True


def leave_opening(it: Search) -> None:
    """Take another field as the request where it is one text in all turns of a conversation: what opens it, or its task."""
    if (request := it.get("request")) is None or "request" in it.named or "turn" not in it.taken:
        return
    if share_differing(it, request) != 0:
        return
    others = [one for one in it.free("request") if one.is_text and one.name in NAMES["request"][0]]
    varying = [one for one in others if share_differing(it, one) > 0.5]
    if (better := choose_field(varying, NAMES["request"])) is not None:
        it.taken["request"] = better.path
        it.note(f"request: {better.path}; {request.path} is the same in all turns of a conversation")


def _find_sides(field: Field) -> dict[str, str | None]:
    """Return the sides that the values of a field name, in lower case."""
    return find_roles([kind.lower() for kind in field.kinds])
