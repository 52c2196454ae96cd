"""Dialogues as they are read: what was said, the goal, how it ended, and how people rated the whole.

Turns are exchanges: what the user said, and what the system answered. The goal is a set of names; items of one domain
begin alike (`hotel.info.area`, `hotel`). An encoder (`perslib.patience.text.encoders`) makes vectors of the turns,
which take the place of state and action (DEUS, section 4.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from perslib.errors import DataError
from perslib.patience.dialogues import Actions, Dialogue, Dialogues
from perslib.patience.text.encoders import Encoder

#: There is one action, to say something; what was said is in the state.
SAYS = Actions(("says",), ("says",), np.ones((1, 1), np.float32))
WINDOW = 2


@dataclass(frozen=True)
class TextDialogue:
    """One finished dialogue in words."""

    id: str
    turns: tuple[tuple[str, str], ...]
    goal: tuple[str, ...]
    status: int
    """+1 success, −1 failure, 0 not known."""
    ratings: Mapping[str, float] = field(default_factory=dict)
    """Ratings of the whole dialogue by name, as `appropriateness`; 1 to 5."""
    reason: str = ""
    user: str = ""
    system: str = ""
    true_costs: tuple[float, ...] | None = field(default=None, repr=False)
    true_patience: float | None = field(default=None, repr=False)

    def pairs(self, window: int = WINDOW) -> list[tuple[str, str]]:
        """Each system turn with the utterances before it, `[SEP]` between them, the user's last among them."""
        said = [utterance for turn in self.turns for utterance in turn]
        return [
            (" [SEP] ".join(u for u in said[max(0, 2 * k + 1 - window) : 2 * k + 1] if u), system)
            for k, (_, system) in enumerate(self.turns)
        ]


def goal_names(texts: Sequence[TextDialogue]) -> tuple[str, ...]:
    """Every item that occurs in a goal, in order of the alphabet."""
    return tuple(sorted({item for text in texts for item in text.goal}))


def as_dialogues(
    texts: Sequence[TextDialogue], encoder: Encoder, names: tuple[str, ...] | None = None
) -> Dialogues:
    """What `Patience(actions="none")` is fitted on: vectors of what was said, goals, and how it ended.

    Give test dialogues the `names` of the training dialogues' goals; items that only the test has are left out.
    """
    if not texts:
        raise DataError("There are no dialogues.", "Read or make some first.")
    names = goal_names(texts) if names is None else names
    pairs = [pair for text in texts for pair in text.pairs()]
    vectors = np.asarray(encoder.encode(pairs), dtype=np.float32)
    ends = np.cumsum([len(text.turns) for text in texts])
    found = []
    for text, states in zip(texts, np.split(vectors, ends[:-1])):
        wanted = set(text.goal)
        found.append(
            Dialogue(
                goal=np.array([n in wanted for n in names], dtype=np.float32),
                states=states,
                actions=np.zeros(len(text.turns), dtype=int),
                status=text.status,
                reason=text.reason,
                user=text.user,
                id=text.id,
                true_costs=None if text.true_costs is None else np.array(text.true_costs, np.float32),
                true_patience=text.true_patience,
            )
        )
    width = tuple(f"{encoder.name}:{i}" for i in range(vectors.shape[1]))
    return Dialogues(tuple(found), SAYS, names, width)


def rated(texts: Sequence[TextDialogue]) -> pd.DataFrame:
    """One row a dialogue: dialogue, user, system, turns, status, reason, and a column a rating."""
    return pd.DataFrame(
        [
            {
                "dialogue": t.id,
                "user": t.user,
                "system": t.system,
                "turns": len(t.turns),
                "status": t.status,
                "reason": t.reason,
                **t.ratings,
            }
            for t in texts
        ]
    )
