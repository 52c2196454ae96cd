"""Candidates: the replies of a session that behaviour speaks for or against, without any model.

What is known of a case is taken from the log and never from a model: the request is the last user message before the
reply, the history what was said strictly before the request, the reaction the first user message after the reply.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from perslib.corpus.uxbench_messages import Message
from perslib.signals import NEGATIVE, Reaction
from perslib.signals.model import POSITIVE, PRECEDENCE
from perslib.ux.construct.rules import Rejection, Rules, Side
from perslib.ux.construct.sources import Talk

#: Strength of a signal → how far it is to be trusted, in the words of the released splits.
CONFIDENCE = {"explicit": "high", "strong": "medium", "weak": "low"}
_STRENGTHS = ("weak", "strong", "explicit")
#: The signal of a reply that a model found by what the user said, and the rules did not.
SAID = "said"


class Candidate(NamedTuple):
    """A reply that may become a case, with its surroundings."""

    case: str
    talk: str
    cid: str
    user: str
    side: Side
    query_turn: int
    reply_turn: int
    after_turn: int | None
    query: str
    history: tuple[dict[str, Any], ...]
    reply: str
    after: str
    signal: str
    strength: str
    score: float
    signals: tuple[str, ...]
    language: str
    asked_at: str | None
    outcome: str | None


def candidates(talk: Talk, rules: Rules, rejected: list[Rejection]) -> list[Candidate]:
    """The candidates of a session on both sides; a reply with a signal that is none is added to `rejected`."""
    found = []
    for reaction in talk.reactions:
        against = [s for s in reaction.signals if s.name in rules.bad]
        in_favour = [s for s in reaction.signals if s.name in rules.good]
        if not against and not in_favour:
            continue
        why = _unfit(reaction, rules)
        side: Side = "bad" if against else "good"
        made = None if why else candidate(talk, reaction, side)
        if made is None:
            place = f"{talk.key} reply {reaction.idx}"
            rejected.append(Rejection("candidates", why or "no_query", place, " ".join(reaction.names)))
        else:
            found.append(made)
    return found


def _unfit(reaction: Reaction, rules: Rules) -> str | None:
    names = set(reaction.names)
    if reaction.interrupted or "system_failure" in names:
        return "interrupted"
    if reaction.conflict or (names & set(NEGATIVE) and names & set(POSITIVE)):
        return "mixed_signals"
    wanted = [s for s in reaction.signals if s.name in (*rules.bad, *rules.good)]
    if all(s.strength == "weak" and s.name in rules.never_weak for s in wanted):
        return "too_weak"
    return None


def candidate(talk: Talk, reaction: Reaction, side: Side, shown_in: int | None = None) -> Candidate | None:
    """The candidate about one reply, or None where nothing was asked before it.

    `shown_in` is the user message in which a model saw what the rules did not.
    """
    messages = talk.session.messages
    reply = messages[reaction.idx]
    asked = next((m for m in reversed(messages[: reaction.idx]) if m.role == "user" and m.text.strip()), None)
    if asked is None or not reply.text.strip():
        return None
    own = [s for s in reaction.signals if s.name in (NEGATIVE if side == "bad" else POSITIVE)]
    if shown_in is None:
        first = min(own, key=lambda s: (-_STRENGTHS.index(s.strength), PRECEDENCE.index(s.name)))
        signal, strength, score = first.name, first.strength, float(first.score)
    else:
        signal, strength, score = SAID, "weak", 0.5
    after = reaction.next if shown_in is None else shown_in
    return Candidate(
        case=case_id(side, talk.session.cid, asked.idx, reply.text),
        talk=talk.key,
        cid=talk.session.cid,
        user=talk.user,
        side=side,
        query_turn=asked.idx,
        reply_turn=reply.idx,
        after_turn=after,
        query=asked.text,
        history=tuple(_shown(m) for m in messages[: asked.idx] if m.role in ("user", "assistant")),
        reply=reply.text,
        after="" if after is None else messages[after].text,
        signal=signal,
        strength=strength,
        score=score,
        signals=tuple(s.name for s in own),
        language=reaction.lang,
        asked_at=talk.times[asked.idx],
        outcome=reaction.outcome,
    )


def _shown(message: Message) -> dict[str, Any]:
    return {"turn_index": message.idx, "role": message.role, "content": message.text}


def case_id(side: str, cid: str, query_turn: int, reply: str) -> str:
    """A key that stays: of side, session, request's place, and reply; one session can give several cases."""
    text = "\0".join((side, cid, str(query_turn), reply))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
