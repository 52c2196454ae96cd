"""Cases of a session: candidates by behaviour, and what a model makes of them.

Candidates are the replies of a session that behaviour speaks for or against, without any model.

What is known of a case is taken from the log and never from a model: the request is the last user message before the
reply, the history what was said strictly before the request, the reaction the first user message after the reply.

The miner is a model that reads a session with its signals and says which replies are cases, and of what kind.

Bad cases and good ones are mined apart, with mirrored prompts. The model names messages by number; every text of a case
is taken from the log. A reply that showed no signal can become a case where the model points to the user's words.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

from perslib.llm import Ask
from perslib.llm.structured.checked_questions import ParsedReply
from perslib.systems.uxbench.construction.questions import QuestionSettings, select_messages
from perslib.systems.uxbench.construction.rules import Rejection, Rules, Side, replace_half_characters
from perslib.systems.uxbench.construction.sources import FilteredSession
from perslib.systems.uxbench.loaders.log_records import Message
from perslib.systems.uxbench.signals import NEGATIVE, Reaction
from perslib.systems.uxbench.signals.model import POSITIVE, PRECEDENCE
from perslib.systems.uxbench.signals.personal_data import audit

#: Strength of a signal → how far it is to be trusted, in the words of the released splits.
CONFIDENCE = {"explicit": "high", "strong": "medium", "weak": "low"}
_STRENGTHS = ("weak", "strong", "explicit")
#: The signal of a reply that a model found by what the user said, and the rules did not.
SAID = "said"


class CaseCandidate(NamedTuple):
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


def find_case_candidates(talk: FilteredSession, rules: Rules, rejected: list[Rejection]) -> list[CaseCandidate]:
    """Return the candidates of a session on both sides; a reply with a signal that is none is added to `rejected`."""
    candidates = []
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
            candidates.append(made)
    return candidates


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


def candidate(
    talk: FilteredSession, reaction: Reaction, side: Side, shown_in: int | None = None
) -> CaseCandidate | None:
    """Return the candidate about one reply, or None where nothing was asked before it.

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
    return CaseCandidate(
        case=case_id(side, talk.session.cid, asked.idx, reply.text),
        talk=talk.key,
        cid=talk.session.cid,
        user=talk.user,
        side=side,
        query_turn=asked.idx,
        reply_turn=reply.idx,
        after_turn=after,
        query=asked.text,
        history=tuple(_make_message_fields(m) for m in messages[: asked.idx] if m.role in ("user", "assistant")),
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


def _make_message_fields(message: Message) -> dict[str, Any]:
    return {"turn_index": message.idx, "role": message.role, "content": message.text}


def case_id(side: str, cid: str, query_turn: int, reply: str) -> str:
    """Return a key that stays: of side, session, request's place, and reply; one session can give several cases."""
    text = "\0".join((side, cid, str(query_turn), reply))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


_LETTER = re.compile(r"[^\W\d_]")
LEAST_LETTERS = 8
"""An explanation with fewer letters explains nothing; small models like to give the example's own "…" back."""


class MinedCase(NamedTuple):
    """A candidate that the miner took for a case, and what it said of it."""

    candidate: CaseCandidate
    dimension: str
    scenario: str
    sentiment: str
    representativeness: str
    confidence: float
    explanation: str
    quote: str
    """The user's words that show it, where the model quoted them as they stand."""

    @property
    def signal_confidence(self) -> str:
        """How far the signal is to be trusted: high, medium or low."""
        return CONFIDENCE[self.candidate.strength]


async def mine_cases(
    talk: FilteredSession, side: Side, candidates: Sequence[CaseCandidate], asking: QuestionSettings, ask: Ask
) -> tuple[list[MinedCase], list[Rejection]]:
    """Return the cases of one side of a session, and why its other candidates are none."""
    known = {c.reply_turn: c for c in candidates}
    reading = await asking.put(
        ask,
        f"mine_{side}",
        talk.key,
        _reader(talk, known),
        about=len(candidates),
        dialogue=select_messages(talk, known, asking.rules),
        candidates=", ".join(str(turn) for turn in known),
    )
    rejected: list[Rejection] = []

    def reject(reason: str, turn: Any, detail: str = "") -> None:
        place = known[turn].case if turn in known else f"{talk.key} message {turn}"
        rejected.append(Rejection("mine", reason, place, detail))

    if reading.value is None:
        for turn in known:
            reject("unread", turn, "; ".join(reading.faults)[:300])
        return [], rejected
    cases: list[MinedCase] = []
    named: set[int] = set()
    for case in reading.value:
        turn = case["reply"]
        if turn in named:
            continue
        named.add(turn)
        own, why = known.get(turn), ""
        if own is None:
            own, why = _beyond(talk, side, case, asking.rules)
        if own is None:
            if why:
                reject(why, turn)
        elif case["confidence"] < asking.rules.confident:
            reject("unsure", turn, str(case["confidence"]))
        elif len(_LETTER.findall(case["explanation"])) < LEAST_LETTERS:
            reject("unexplained", turn, replace_half_characters(case["explanation"])[:120])
        else:
            cases.append(_make_case(own, case, talk))
    for turn in known.keys() - named:
        reject("declined", turn)
    return cases, rejected


def _reader(talk: FilteredSession, known: dict[int, CaseCandidate]) -> Any:
    """Return reads an answer; numbers that are no replies are faults, which the model is told once."""
    replies = {r.idx for r in talk.reactions}

    def read(data: Any) -> ParsedReply[list[dict[str, Any]]]:
        faults = [
            f"message {record['reply']} is not one of the assistant's replies"
            for record in data["cases"]
            if record["reply"] not in replies
        ]
        return ParsedReply(list(data["cases"]), tuple(faults))

    return read


def _beyond(
    talk: FilteredSession, side: Side, record: dict[str, Any], rules: Rules
) -> tuple[CaseCandidate | None, str]:
    """Return a candidate that the rules did not find, if the user's own words after the reply show it; else why not.

    Replies with a signal were candidates or were rejected before, so nothing more is said of them.
    """
    reaction = next((r for r in talk.reactions if r.idx == record["reply"]), None)
    if reaction is None:
        return None, "wrong_turn"
    if set(reaction.names) & {*rules.bad, *rules.good}:
        return None, ""
    where = record["shown_in"]
    later = {m.idx: m for m in talk.session.messages if m.role == "user" and m.idx > reaction.idx}
    is_shown = where in later and _is_quoted(record["quote"], later[where].text)
    if not is_shown or reaction.interrupted or reaction.superseded:
        return None, "unfounded"
    made = candidate(talk, reaction, side, shown_in=where)
    return made, "" if made else "unfounded"


def _make_case(own: CaseCandidate, record: dict[str, Any], talk: FilteredSession) -> MinedCase:
    after = next((m.text for m in talk.session.messages if m.idx == own.after_turn), "")
    return MinedCase(
        own,
        record["dimension"],
        record["scenario"],
        "explicit" if own.strength == "explicit" else record["sentiment"],
        record["representativeness"],
        record["confidence"] / 100,
        replace_half_characters(record["explanation"]).strip(),
        record["quote"].strip() if _is_quoted(record["quote"], after) else "",
    )


def _is_quoted(quote: str, text: str) -> bool:
    """Return whether words stand in a text, but for spaces, width and case."""
    plain, whole = (re.sub(r"\s+", "", unicodedata.normalize("NFKC", t)).casefold() for t in (quote, text))
    return bool(plain) and plain in whole and not audit([quote])
