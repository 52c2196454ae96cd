"""Dialogues as they are read: what was said, the goal, how it ended, and how people rated the whole.

Turns are exchanges: what the user said, and what the system answered. The goal is a set of names; items of one domain
begin alike (`hotel.info.area`, `hotel`). An encoder (`perslib.systems.deus.text.encoders`) makes vectors of the turns,
which take the place of state and action (DEUS, section 4.2).

`read_texts(corpus)` reads them from an imported corpus: ConvLab and DSTC (`perslib import convlab`, `dstc`) say goal and
success; for USS there are proxies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import SESSION, Corpus
from perslib.errors import DataError
from perslib.systems.deus.text.encoders import Encoder
from perslib.systems.deus.world.records import FAILURE, SUCCESS, Actions, Dialogue, Dialogues

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
        """Return each system turn with the utterances before it, `[SEP]` between them, the user's last among them."""
        utterances = [utterance for turn in self.turns for utterance in turn]
        return [
            (" [SEP] ".join(u for u in utterances[max(0, 2 * k + 1 - window) : 2 * k + 1] if u), system)
            for k, (_, system) in enumerate(self.turns)
        ]


def goal_names(texts: Sequence[TextDialogue]) -> tuple[str, ...]:
    """Return every item that occurs in a goal, in order of the alphabet."""
    return tuple(sorted({item for text in texts for item in text.goal}))


def as_dialogues(texts: Sequence[TextDialogue], encoder: Encoder, names: tuple[str, ...] | None = None) -> Dialogues:
    """Return what `PatienceModel(actions="none")` is fitted on: vectors of what was said, goals, and how it ended.

    Give test dialogues the `names` of the training dialogues' goals; items that only the test has are left out.
    """
    if not texts:
        raise DataError("There are no dialogues.", "Read or make some first.")
    names = goal_names(texts) if names is None else names
    pairs = [pair for text in texts for pair in text.pairs()]
    vectors = np.asarray(encoder.encode(pairs), dtype=np.float32)
    ends = np.cumsum([len(text.turns) for text in texts])
    dialogues = []
    for text, states in zip(texts, np.split(vectors, ends[:-1])):
        wanted = set(text.goal)
        dialogues.append(
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
    return Dialogues(tuple(dialogues), SAYS, names, width)


def make_rating_frame(texts: Sequence[TextDialogue]) -> pd.DataFrame:
    """Return one row a dialogue: dialogue, user, system, turns, status, reason, and a column a rating."""
    columns = ["dialogue", "user", "system", "turns", "status", "reason"]
    rows = [(t.id, t.user, t.system, len(t.turns), t.status, t.reason) for t in texts]
    return pd.DataFrame(rows, columns=columns).join(pd.DataFrame([t.ratings for t in texts]))


#: Acts of USS that end a dialogue well, and those that report a failure (MultiWOZ and SGD call them so).
ENDS = ("thank", "bye", "goodbye", "select")
FAILURES = ("notify_failure", "nooffer", "nobook")
#: Rating of a whole dialogue → column of `sessions`.
RATINGS = {"appropriateness": "appropriateness", "understanding": "understanding", "overall": "satisfaction"}


def read_texts(corpus: Corpus) -> list[TextDialogue]:
    """Return rated dialogues of a corpus, with recorded goal and success; of USS, which tells neither, with proxies.

    Proxies, made without a look at ratings: a dialogue succeeded if its user ends with thanks, a goodbye or a choice,
    and none of the last three system turns reports a failure or has nothing to offer; the goal is the set of
    acts that the user needed. The spread of USS's ratings is small: most dialogues of MWOZ and SGD are rated 3 or 4.
    """
    sessions = corpus.sessions.set_index(SESSION)
    is_recorded = {"goal", "success"} <= set(sessions)
    if not is_recorded and "request_action" not in corpus.turns:
        raise DataError(
            f"{corpus.name} tells neither goal and success of its dialogues nor what was done in them.",
            "Import dialogues of ConvLab, DSTC or USS; data/README.md says how.",
        )
    dialogues = []
    for key, turns in corpus.turns.sort_values("turn").groupby(SESSION, sort=False):
        session = sessions.loc[key]
        goal, status = _read_end(session) if is_recorded else _guess_end(turns)
        ratings = {name: session.get(column) for name, column in RATINGS.items()}
        dialogues.append(
            TextDialogue(
                id="/".join(map(str, key)),
                turns=tuple(zip(turns["request"].map(_text), turns["response"].map(_text))),
                goal=goal or ("talk",),
                status=status,
                ratings={name: float(rating) for name, rating in ratings.items() if pd.notna(rating)},
                reason="" if is_recorded else "proxy",
                user=str(key[0]),
                system=_text(session.get("assistant")) if is_recorded else str(key[1]),
            )
        )
    return dialogues


def _read_end(session: pd.Series) -> tuple[tuple[str, ...], int]:
    ended = session["success"]
    return tuple(session["goal"]), 0 if pd.isna(ended) else SUCCESS if ended else FAILURE


def _guess_end(turns: pd.DataFrame) -> tuple[tuple[str, ...], int]:
    asked, did = (turns[name].map(_text).tolist() for name in ("request_action", "response_action"))
    content = any(end in asked[-1].lower() for end in ENDS)
    failed = any(sign in act.lower() for act in did[-3:] for sign in FAILURES)
    acts = {act for part in asked for act in part.split(",") if act}
    return tuple(sorted(acts)), SUCCESS if content and not failed else FAILURE


def _text(text: Any) -> str:
    return text if isinstance(text, str) else ""
