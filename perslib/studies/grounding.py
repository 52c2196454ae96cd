"""The sources of a rationale's terms: the reply before it, or material that only the user's other scenarios contain.

A rationale is a set of terms: words without their endings, and in Chinese all runs of two and three characters.
Function words are excluded. A term has the weight idf over the sessions of the corpus, so that common words count
little. The weight is reduced by the share of this judge's rationales on *other users'* replies in the scenario that
use the term too: this is the judge's habit. A term that occurs nowhere in the corpus has no weight. A term is

    near   in the task, the conversation or the reply that is judged
    far    in the memory or the sessions of the user's other scenarios, not near, and typical of one of them:
           in its sessions at least `HOME` times as frequent as in those of the judged scenario
    else   neither: it might be about anything

A rationale is *off-task* if at least `FAR` of its weight is far. It is *grounded* if it is not off-task and at least
`NEAR` of its weight is near. A judge's habit is known from `HABIT` rationales on. With fewer, no rationale is
called off-task.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from perslib.corpus import SESSION, Block, Corpus, Target
from perslib.paths import read_toml

#: Chosen on rationales of known origin; tests/studies/test_rationales.py measures how well they work.
HOME, FAR, NEAR, HABIT = 4.0, 0.15, 0.2, 10
_RUN = re.compile(r"[\u3400-\u9fff]+|[^\W\d_\u3400-\u9fff]+(?:['’][^\W\d_]+)?")
_ENDING = re.compile(r"(?<=\w{3})(?:['’]s|ing|ed|es|s|ly|e)$")
_CHINESE = re.compile(r"[\u3400-\u9fff]")
#: Function characters of Chinese. A pair or triple that contains one of them is not a term.
_PARTICLES = frozenset(read_toml(__file__, "grounding.toml")["particles"])


@dataclass(frozen=True)
class Grounds:
    """The sources of one rationale's terms, as shares of their weight."""

    near: float = float("nan")
    far: float = float("nan")
    terms: tuple[str, ...] = ()
    """The far terms, as the rationale writes them."""
    habit: int = 0
    """The number of the judge's other rationales from which its habit is known."""

    @property
    def is_decided(self) -> bool:
        """Return whether enough rationales are known to decide if this one is off-task."""
        return self.habit >= HABIT

    @property
    def is_off_task(self) -> bool:
        """Return whether the rationale cites material that only other scenarios contain."""
        return self.is_decided and self.far >= FAR

    @property
    def is_grounded(self) -> bool:
        """Return whether the rationale refers to the judged conversation."""
        return not self.is_off_task and self.near >= NEAR


def locate_terms(text: str) -> list[tuple[str, int, int]]:
    """Return the terms of a text, each with start and end."""
    located = []
    for run in _RUN.finditer(text):
        word, start = run[0].lower(), run.start()
        if not _CHINESE.match(word):
            if word not in ENGLISH_STOP_WORDS:
                located.append((_ENDING.sub("", word), start, run.end()))
            continue
        for length in (2, 3):
            for i in range(len(word) - length + 1):
                if _PARTICLES.isdisjoint(word[i : i + length]):
                    located.append((word[i : i + length], start + i, start + i + length))
    return located


@lru_cache(maxsize=500)
def extract_terms(text: str) -> frozenset[str]:
    """Return the distinct terms of a text."""
    return frozenset(term for term, _, _ in locate_terms(text))


class Grounding:
    """The corpus statistics that locate the terms of one judge's rationales.

    `rationales` has the columns user, scenario and rationale; `measured` are words for what the judge measures in the
    reply itself, which are near whatever the reply's own words are.
    """

    def __init__(self, corpus: Corpus, rationales: pd.DataFrame, measured: str = ""):
        self._measured = extract_terms(measured)
        term_sets = [extract_terms(text) for text in rationales["rationale"]]
        wanted = set().union(*term_sets)
        texts = _collect_session_texts(corpus)
        self._session_terms = {key: extract_terms(text) & wanted for key, text in texts.items()}
        self._sessions = Counter(scenario for _, scenario, _ in texts)
        self._session_counts: dict[str, Counter[str]] = {s: Counter() for s in self._sessions}
        for (_, scenario, _), session_terms in self._session_terms.items():
            self._session_counts[scenario].update(session_terms)
        everywhere: Counter[str] = sum(self._session_counts.values(), Counter())
        self.idf = {t: math.log((len(texts) + 1) / (n + 1)) for t, n in everywhere.items()}
        self._rationales = list(zip(rationales["user"], rationales["scenario"], term_sets))
        self._sources: dict[tuple[str, str], Mapping[str, frozenset[str]]] = {}
        self._habits: dict[tuple[str, str], tuple[Counter[str], int]] = {}

    def trace_terms(self, rationale: str, block: Block, target: Target, memory: Iterable[str] = ()) -> Grounds:
        """Return the sources of the terms of a rationale on a reply; `memory` has the statements behind it."""
        messages = [message["content"] for message in target.prefix]
        texts = [target.scenario, target.task or "", *messages, target.response]
        near = self._measured.union(*map(extract_terms, texts))
        remembered = frozenset().union(*map(extract_terms, memory))
        sources = {scenario: remembered | terms for scenario, terms in self._list_sources(block).items()}
        located = locate_terms(rationale)
        habit, rationales = self._count_habit(block)
        used = {t: habit[t] / max(1, rationales) for t, _, _ in located}
        weights = {t: self.idf[t] * (1 - used[t]) for t in used if self.idf.get(t, 0) > 0}
        total = sum(weights.values())
        if not total:
            return Grounds(habit=rationales)
        far = {t for t in weights if t not in near and self._is_far(t, block.scenario, used[t], sources)}
        near_share = sum((weights[t] / total for t in weights if t in near), 0.0)
        far_share = sum((weights[t] / total for t in weights if t in far), 0.0)
        return Grounds(near_share, far_share, _quote_terms(rationale, located, far), rationales)

    def _list_sources(self, block: Block) -> Mapping[str, frozenset[str]]:
        """Return for each other scenario of the user the terms of its sessions."""
        key = (block.user, block.scenario)
        if key not in self._sources:
            sessions = list(dict.fromkeys(zip(block.evidence["scenario"], block.evidence["session"])))
            self._sources[key] = {
                scenario: extract_terms(scenario).union(
                    *(self._session_terms[block.user, s, session] for s, session in sessions if s == scenario)
                )
                for scenario, _ in sessions
            }
        return self._sources[key]

    def _is_far(
        self, term: str, judged_scenario: str, habit_share: float, sources: Mapping[str, frozenset[str]]
    ) -> bool:
        """Return whether a term belongs to another scenario, and the material about the user from there contains it."""
        best = max(
            (self._measure_rate(term, s) for s, source_terms in sources.items() if term in source_terms), default=0.0
        )
        return best >= HOME * max(self._measure_rate(term, judged_scenario), habit_share)

    def _measure_rate(self, term: str, scenario: str) -> float:
        """Return the share of a scenario's sessions with a term; half a session is added, so that it is never 0."""
        return (self._session_counts[scenario][term] + 0.5) / (self._sessions[scenario] + 1)

    def _count_habit(self, block: Block) -> tuple[Counter[str], int]:
        """Return in how many rationales on other users' replies in this scenario each term occurs, and their number."""
        key = (block.user, block.scenario)
        if key not in self._habits:
            others = [term_set for user, s, term_set in self._rationales if s == block.scenario and user != block.user]
            self._habits[key] = Counter(t for term_set in others for t in term_set), len(others)
        return self._habits[key]


def _collect_session_texts(corpus: Corpus) -> dict[tuple[str, str, str], str]:
    """Return all messages of each session and its task, as one text."""
    texts_by_session: dict[tuple[str, str, str], list[str]] = {}
    for user, scenario, session, task in corpus.sessions[[*SESSION, "task"]].itertuples(index=False):
        texts_by_session[user, scenario, session] = [task if isinstance(task, str) else ""]
    turns = corpus.turns[[*SESSION, "request", "earlier", "response"]]
    for user, scenario, session, request, earlier, response in turns.itertuples(index=False):
        texts_by_session[user, scenario, session] += [*earlier, request if isinstance(request, str) else "", response]
    return {key: "\n".join(texts) for key, texts in texts_by_session.items()}


def _quote_terms(text: str, located: list[tuple[str, int, int]], chosen: set[str]) -> tuple[str, ...]:
    """Return the chosen terms as the text writes them; terms that touch or overlap are joined."""
    merged: list[list[int]] = []
    for _, start, end in sorted((p for p in located if p[0] in chosen), key=lambda p: (p[1], -p[2])):
        if merged and text[merged[-1][1] : start].strip() == "":
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return tuple(dict.fromkeys(text[a:b] for a, b in merged))
