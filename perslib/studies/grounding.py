"""What a rationale speaks of: the reply before it, or what only the user's other scenarios contain.

A rationale is taken as a set of terms: words less their endings, and in Chinese every two and three characters
in a row; function words are none. A term weighs its idf over the sessions of the corpus, so that common words
count for little, less the share of this judge's rationales on *other users'* replies in the scenario that use
it too, which is how the judge always talks. What occurs nowhere in the corpus weighs nothing. A term is

    near   in the task, the conversation or the reply that is judged
    far    in the memory or the sessions of the user's other scenarios, nowhere near, and at home in one of them:
           in its sessions at least `HOME` times as frequent as in those of the judged scenario
    else   neither: it might be about anything

A rationale is *off-task* if at least `FAR` of its weight is far, and *grounded* if it is not and at least
`NEAR` of its weight is near. How a judge always talks is known from `HABIT` rationales on; with fewer, none
is called off-task.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from perslib.corpus import SESSION, Block, Corpus, Target
from perslib.paths import read_toml

#: Chosen on rationales whose origin is known by construction; tests/studies/test_rationales.py says how well they do.
HOME, FAR, NEAR, HABIT = 4.0, 0.15, 0.2, 10
_RUN = re.compile(r"[\u3400-\u9fff]+|[^\W\d_\u3400-\u9fff]+(?:['’][^\W\d_]+)?")
_ENDING = re.compile(r"(?<=\w{3})(?:['’]s|ing|ed|es|s|ly|e)$")
_CHINESE = re.compile(r"[\u3400-\u9fff]")
#: Characters that hold a Chinese sentence together; a pair or triple with one of them in it is no term.
_PARTICLES = frozenset(read_toml(__file__, "grounding.toml")["particles"])


@dataclass(frozen=True)
class Grounds:
    """What the terms of one rationale are found in, as shares of their weight."""

    near: float = float("nan")
    far: float = float("nan")
    terms: tuple[str, ...] = ()
    """The far terms, as the rationale writes them."""
    habit: int = 0
    """From how many of the judge's other rationales its way of talking is known."""

    @property
    def is_decided(self) -> bool:
        """Whether it can be told if this is off-task."""
        return self.habit >= HABIT

    @property
    def is_off_task(self) -> bool:
        """Whether it cites what only other scenarios contain."""
        return self.is_decided and self.far >= FAR

    @property
    def is_grounded(self) -> bool:
        """Whether it speaks of what is there."""
        return not self.is_off_task and self.near >= NEAR


def spans(text: str) -> list[tuple[str, int, int]]:
    """The terms of a text, with where each stands."""
    found = []
    for run in _RUN.finditer(text):
        said, start = run[0].lower(), run.start()
        if not _CHINESE.match(said):
            if said not in ENGLISH_STOP_WORDS:
                found.append((_ENDING.sub("", said), start, run.end()))
            continue
        for length in (2, 3):
            for i in range(len(said) - length + 1):
                if _PARTICLES.isdisjoint(said[i : i + length]):
                    found.append((said[i : i + length], start + i, start + i + length))
    return found


def terms(text: str) -> set[str]:
    """The different terms of a text."""
    return {term for term, _, _ in spans(text)}


class Grounding:
    """Finds what one judge's rationales speak of; made once for a corpus and the rationales.

    `rationales` has the columns user, scenario and rationale.
    """

    def __init__(self, corpus: Corpus, rationales: pd.DataFrame):
        said = [terms(text) for text in rationales["rationale"]]
        wanted = set().union(*said)
        texts = _texts_of_sessions(corpus)
        self._of_session = {key: terms(text) & wanted for key, text in texts.items()}
        self._sessions = Counter(scenario for _, scenario, _ in texts)
        self._in: dict[str, Counter[str]] = {s: Counter() for s in self._sessions}
        for (_, scenario, _), held in self._of_session.items():
            self._in[scenario].update(held)
        everywhere: Counter[str] = sum(self._in.values(), Counter())
        self.idf = {t: math.log((len(texts) + 1) / (n + 1)) for t, n in everywhere.items()}
        self._said = list(zip(rationales["user"], rationales["scenario"], said))
        self._habits: dict[tuple[str, str], tuple[Counter[str], int]] = {}

    def grounds(self, rationale: str, block: Block, target: Target, memory: Iterable[str] = ()) -> Grounds:
        """Where the terms of this rationale on this reply come from; `memory` are the statements behind it."""
        said = [message["content"] for message in target.prefix]
        near = terms("\n".join([target.scenario, target.task or "", *said, target.response]))
        noted = terms("\n".join(memory))
        sources = {s: noted | terms(s) for s in dict.fromkeys(block.evidence["scenario"])}
        for scenario, session in dict.fromkeys(zip(block.evidence["scenario"], block.evidence["session"])):
            sources[scenario] |= self._of_session[block.user, scenario, session]
        placed = spans(rationale)
        habit, rationales = self._habit(block)
        used = {t: habit[t] / max(1, rationales) for t, _, _ in placed}
        weights = {t: self.idf[t] * (1 - used[t]) for t in used if self.idf.get(t, 0) > 0}
        total = sum(weights.values())
        if not total:
            return Grounds(habit=rationales)
        far = {t for t in weights if t not in near and self._is_far(t, block.scenario, used[t], sources)}
        near_share = sum((weights[t] / total for t in weights if t in near), 0.0)
        far_share = sum((weights[t] / total for t in weights if t in far), 0.0)
        return Grounds(near_share, far_share, _written(rationale, placed, far), rationales)

    def _is_far(self, term: str, here: str, used: float, sources: Mapping[str, set[str]]) -> bool:
        """Whether a term belongs to another scenario, and what is known of the user from there holds it."""
        best = max((self._rate(term, s) for s, held in sources.items() if term in held), default=0.0)
        return best >= HOME * max(self._rate(term, here), used)

    def _rate(self, term: str, scenario: str) -> float:
        """In what share of a scenario's sessions a term occurs; half a session is added, none is never."""
        return (self._in[scenario][term] + 0.5) / (self._sessions[scenario] + 1)

    def _habit(self, block: Block) -> tuple[Counter[str], int]:
        """In how many of the rationales on other users' replies in this scenario each term is, and how many there are."""
        key = (block.user, block.scenario)
        if key not in self._habits:
            others = [held for user, s, held in self._said if s == block.scenario and user != block.user]
            self._habits[key] = Counter(t for held in others for t in held), len(others)
        return self._habits[key]


def _texts_of_sessions(corpus: Corpus) -> dict[tuple[str, str, str], str]:
    """Everything that was said in each session, and its task."""
    said: dict[tuple[str, str, str], list[str]] = {}
    for user, scenario, session, task in corpus.sessions[[*SESSION, "task"]].itertuples(index=False):
        said[user, scenario, session] = [task if isinstance(task, str) else ""]
    turns = corpus.turns[[*SESSION, "request", "earlier", "response"]]
    for user, scenario, session, request, earlier, response in turns.itertuples(index=False):
        said[user, scenario, session] += [*earlier, request if isinstance(request, str) else "", response]
    return {key: "\n".join(texts) for key, texts in said.items()}


def _written(text: str, placed: list[tuple[str, int, int]], chosen: set[str]) -> tuple[str, ...]:
    """The chosen terms as the text writes them: those that touch or overlap are one."""
    merged: list[list[int]] = []
    for _, start, end in sorted((p for p in placed if p[0] in chosen), key=lambda p: (p[1], -p[2])):
        if merged and text[merged[-1][1] : start].strip() == "":
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return tuple(dict.fromkeys(text[a:b] for a, b in merged))
