"""What became of a reply that was not liked: did the next one mend it?

recovered        the reply that followed was taken well: like, thanks, or the talk went on without a negative signal
failed_recovery  the reply that followed was not liked either
unknown_left     the user left, or turned to something else; to leave after a complaint is not to be content
"""

from __future__ import annotations

from collections.abc import Sequence

from perslib.signals.model import EXPRESSED, NEGATIVE, Reaction

_NEGATIVE = frozenset(NEGATIVE)
_AGAINST = EXPRESSED - {"abandon"}


def expressed(reaction: Reaction) -> bool:
    """Whether the user showed on purpose that a reply was not good enough."""
    return any(signal.name in _AGAINST for signal in reaction.signals)


def followed(found: list[Reaction]) -> list[Reaction]:
    """The reactions with their outcomes, and whether the session ended on a negative note."""
    if not any(r.primary in _NEGATIVE for r in found):
        return found
    done = list(found)
    for i, reaction in enumerate(found):
        if reaction.signals and not reaction.superseded and expressed(reaction):
            done[i] = reaction._replace(outcome=outcome(found, i + 1))
    last = done[-1]
    spoken = next((r for r in reversed(done) if r.next is not None), None)
    if spoken is not None and expressed(spoken):  # what the user said last was against a reply
        done[-1] = last._replace(left_after_negative=True)
    return done


def outcome(found: Sequence[Reaction], begin: int) -> str:
    """The outcome, from the reactions to the replies that followed, the first of them at `begin`."""
    for place in range(begin, len(found)):
        reaction = found[place]
        if reaction.superseded:
            continue  # regenerated: the last of the siblings is what the user saw
        if expressed(reaction):
            return "failed_recovery"
        names = reaction.names
        if "like" in names or "thanks" in names:
            return "recovered"
        left = reaction.next is None or "abandon" in names or "system_failure" in names
        return "unknown_left" if left else "recovered"
    return "unknown_left"
