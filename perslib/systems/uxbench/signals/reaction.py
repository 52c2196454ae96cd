"""How every reply of a session was taken: all that the next message, the clock and the buttons say of it.

What the user says next speaks of the last reply before it. Earlier replies to the same question were superseded, and a
reply that was cut off says something about the system, not about its quality.

`find_outcome` says what became of a reply that was not liked: did the next one mend it?

recovered        the reply that followed was taken well: like, thanks, or the talk went on without a negative signal
failed_recovery  the reply that followed was not liked either
unknown_left     the user left, or turned to something else; to leave after a complaint is not to be content
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from perslib.systems.uxbench.loaders.log_records import LogSession, Message
from perslib.systems.uxbench.signals.model import (
    DEFAULT,
    EXPRESSED,
    NEGATIVE,
    RANK,
    Reaction,
    Signal,
    SignalSettings,
    Strength,
)
from perslib.systems.uxbench.signals.similarity import is_parallel_request, same_content, same_topic, similarity
from perslib.systems.uxbench.signals.user_messages import UserMessage, is_interrupted, read_messages
from perslib.systems.uxbench.signals.wording import language, reading_seconds


class _Asked(NamedTuple):
    """A user message, as later ones are compared with it; `round` counts the replies before it."""

    message: Message
    read: UserMessage
    round: int


def reactions(
    session: LogSession,
    settings: SignalSettings = DEFAULT,
    reading: Sequence[float] | None = None,
    read: Mapping[str, UserMessage] | None = None,
) -> list[Reaction]:
    """Return one reaction per reply, in the order of the session.

    `reading` are the seconds that it took to read the replies, if texts were replaced since then; `read` are its user
    messages, and maybe others, if they were read before.
    """
    if read is None:
        read = read_messages((m.text for m in session.messages if m.role == "user"), settings)
    replies: list[Message] = []
    asked: list[list[_Asked]] = [[]]  # before the first reply, then after each
    for message in session.messages:
        if message.role == "user":
            asked[-1].append(_Asked(message, read[message.text], len(replies)))
        elif message.role == "assistant":
            replies.append(message)
            asked.append([])
    if reading is None:
        reading = reading_seconds([reply.text for reply in replies]).tolist()
    readings: list[Reaction] = []
    before = deque(asked[0], maxlen=2 * settings.rounds_back)
    trouble = -settings.topics_back - 1  # the place of the last reply that was not liked
    for place, (reply, after) in enumerate(zip(replies, asked[1:])):
        superseded = not after and place + 1 < len(replies)
        recently = place - trouble <= settings.topics_back
        one = _make_reaction(reply, after, before, place, reading[place], recently, superseded, settings)
        before.extend(after)
        if one.signals and not EXPRESSED.isdisjoint(one.names):
            trouble = place
        readings.append(one)
    return add_outcomes(readings)


def _make_reaction(
    reply: Message,
    after: Sequence[_Asked],
    before: Sequence[_Asked],
    place: int,
    reading: float,
    recently: bool,
    superseded: bool,
    settings: SignalSettings,
) -> Reaction:
    """Return the reaction to a reply, by what the user said `after` it, if anything.

    `place` counts the replies before, `recently` says whether one of the last few was not liked, `superseded` whether
    another reply followed at once.
    """
    first = after[0].message if after else None
    gap = None if first is None or first.t is None or reply.t is None else first.t - reply.t
    fraction = None
    signals = _read_buttons(reply)
    broken = not superseded and is_interrupted(reply.text)
    if broken:
        signals.append(Signal("system_failure", 1.0, "strong", "interrupted", reply.idx, 0, len(reply.text)))
    elif first is not None:
        for one in after:
            _say(signals, one, before, place, settings)
        content = bool(signals) and any(s.score > 0.5 and s.name in ("thanks", "ack") for s in signals)
        if gap is not None and gap >= 0 and reading > 0:
            typing = min(first.n_chars / settings.typing_rate, gap / 2)
            fraction = (gap - typing) / reading
            if fraction < settings.skimmed_weakly and reading >= settings.least_reading and not content:
                strength: Strength = "strong" if fraction < settings.skimmed else "weak"
                signals.append(Signal("skim", 1 - fraction, strength, "clock", first.idx))
        if recently and not content and all(s.name == "skim" for s in signals):
            texts = [one.message.text for one in reversed(before)]
            if not same_topic(first.text, [*texts, reply.text]):
                signals.append(Signal("abandon", 0.4, "weak", "topic", first.idx, 0, len(first.text)))
    primary, conflict = _primary(signals, "continue" if after else "superseded" if superseded else "no_followup")
    asked = after[0] if after else before[-1] if before else None
    return Reaction(
        reply.idx,
        None if first is None else first.idx,
        asked.read.lang if asked else language(reply.text),
        primary,
        tuple(signals),
        superseded,
        broken,
        conflict,
        first is not None and (gap is None or gap < 0),
        gap,
        reading,
        reply.n_chars,
        fraction,
    )


def _primary(signals: list[Signal], otherwise: str) -> tuple[str, bool]:
    """Return the first signal in the order of precedence, and whether a like contradicts one that speaks against the
    reply.
    """
    if len(signals) < 2:
        return signals[0].name if signals else otherwise, False
    signals.sort(key=lambda signal: RANK[signal.name])
    against = any(s.name in EXPRESSED and s.strength != "weak" for s in signals)
    return signals[0].name, against and any(s.name == "like" for s in signals)


def _read_buttons(reply: Message) -> list[Signal]:
    """Return what the buttons say."""
    if reply.feedback == 0:
        return []
    signals = [Signal("dislike" if reply.feedback < 0 else "like", 1.0, "explicit", "button", reply.idx)]
    if reply.is_both:
        signals.append(Signal("like", 1.0, "explicit", "button", reply.idx))
    return signals


# -- what the next message says ---------------------------------------------------------------------------


def _say(signals: list[Signal], one: _Asked, before: Sequence[_Asked], place: int, settings: SignalSettings) -> None:
    """Add the signals of what a user message says."""
    message, blame, closed = one.message, one.read.blame, one.read.closed
    blamed = blame is not None and blame.score >= settings.complained
    if blame is not None and blame.score >= settings.complained_weakly:
        strength: Strength = "strong" if blamed else "weak"
        signals.append(Signal("complain", blame.score, strength, blame.rule, message.idx, blame.start, blame.end))
    if (meant := one.read.meant) is not None:
        signals.append(Signal(meant.name, meant.score, "strong", "second reader", message.idx, 0, len(message.text)))
    if closed is not None:
        if closed.name != "more" and not (blamed and closed.name in ("thanks", "ack")):
            end = closed.rest or len(message.text)
            signals.append(Signal(closed.name, closed.score, closed.strength, closed.rule, message.idx, 0, end))
        if not closed.rest:
            return
    again = _again(message, one.read, before, place, settings)
    if again is not None:
        signals.append(again)


def _again(
    message: Message, own: UserMessage, before: Sequence[_Asked], place: int, settings: SignalSettings
) -> Signal | None:
    """Return the signal of a message that asks again what was asked in the last rounds: repeat, rephrase, or the same
    of another thing; None for any other message.
    """
    if not own.asks.tokens:
        return None
    cue = own.again
    best, sim = None, settings.rephrased_with_cue if cue else settings.rephrased
    for earlier in reversed(before):
        if place - earlier.round >= settings.rounds_back:
            break
        score = similarity(own.asks, earlier.read.asks, sim)
        if score > sim or (best is None and score == sim):
            best, sim = earlier, score
    if best is None:
        return None
    span = (message.idx, 0, len(message.text), best.message.idx)
    if sim < 1 and is_parallel_request(best.message.text, message.text, best.read.asks, own.asks):
        return Signal("parallel_request", sim, "weak", "frame", *span)
    if sim >= settings.repeated and (len(own.asks.tokens) > 1 or own.asks.tokens[0] < "\u2fff"):
        return Signal("repeat", sim, "strong", "similarity", *span)
    if cue:
        return Signal("rephrase", max(sim, 0.5), "strong", "cue", *span)
    if not same_content(best.message.text, message.text):
        return None
    return Signal("rephrase", sim, "strong" if sim >= 0.7 else "weak", "similarity", *span)


_NEGATIVE = frozenset(NEGATIVE)
_AGAINST = EXPRESSED - {"abandon"}


def shows_dissatisfaction(reaction: Reaction) -> bool:
    """Return whether the user showed on purpose that a reply was not good enough."""
    return bool(reaction.signals) and not _AGAINST.isdisjoint(reaction.names)


def add_outcomes(reactions: list[Reaction]) -> list[Reaction]:
    """Return the reactions with their outcomes, and whether the session ended on a negative note."""
    if _NEGATIVE.isdisjoint([r.primary for r in reactions]):
        return reactions
    done = list(reactions)
    for i, reaction in enumerate(reactions):
        if not reaction.superseded and shows_dissatisfaction(reaction):
            done[i] = Reaction(*reaction[:-1], find_outcome(reactions, i + 1))  # a quarter of the time of `_replace`
    spoken = next((r for r in reversed(done) if r.next is not None), None)
    if spoken is not None and shows_dissatisfaction(spoken):  # what the user said last was against a reply
        done[-1] = done[-1]._replace(left_after_negative=True)
    return done


def find_outcome(reactions: Sequence[Reaction], begin: int) -> str:
    """Return the outcome, from the reactions to the replies that followed, the first of them at `begin`."""
    for place in range(begin, len(reactions)):
        reaction = reactions[place]
        if reaction.superseded:
            continue  # regenerated: the last of the siblings is what the user saw
        if shows_dissatisfaction(reaction):
            return "failed_recovery"
        names = reaction.names
        if "like" in names or "thanks" in names:
            return "recovered"
        left = reaction.next is None or "abandon" in names or "system_failure" in names
        return "unknown_left" if left else "recovered"
    return "unknown_left"
