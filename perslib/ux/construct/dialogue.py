"""How a session is shown to a model: numbered messages with what was noticed about each, within a budget."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from perslib.ux.construct.rules import Rules, clipped
from perslib.ux.construct.sources import Talk


def shown(talk: Talk, about: Collection[int], rules: Rules) -> list[dict[str, Any]]:
    """The messages as {number, role, signals, seconds, text}; those nearest to the messages `about` are kept.

    `signals` are the names of what a reply met with, `seconds` the time since the message before, where it is known.
    """
    taken = {r.idx: r for r in talk.reactions}
    said = [m for m in talk.session.messages if m.role in ("user", "assistant")]
    texts = {m.idx: clipped(m.text, rules.shown) for m in said}
    left = rules.dialogue
    kept: set[int] = set()
    for message in sorted(said, key=lambda m: (min(abs(m.idx - i) for i in about), m.idx)):
        left -= len(texts[message.idx])
        if left < 0 and kept:
            break
        kept.add(message.idx)
    lines: list[dict[str, Any]] = []
    before: float | None = None
    for message in said:
        gap = None if before is None or message.t is None else message.t - before
        before = message.t
        if message.idx in kept:
            names = taken[message.idx].names if message.idx in taken else ()
            lines.append(
                {
                    "number": message.idx,
                    "role": message.role,
                    "signals": ", ".join(dict.fromkeys(names)),
                    "seconds": "" if gap is None or gap < 0 else str(round(gap)),
                    "text": texts[message.idx],
                }
            )
    return lines
