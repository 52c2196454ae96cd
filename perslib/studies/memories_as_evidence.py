"""The study of memories as evidence: every memory system before the same judge, what it is worth and what it costs.

    look = extent(model, limit)
    found = judged("", data, model, look, "en")      verdicts, and what building each memory took
    agreed = compared(found, data)                   agreement, and what each memory gains over none
    spent = costs(found)                             calls, tokens and seconds, building and judging

The judge gives the score alone, one token a reply, and differs in nothing but what it is shown of the user. What a
memory took is summed from the answers themselves, so that it is the same number when they come out of the cache.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from perslib.corpus import Block, Corpus
from perslib.errors import UnknownName
from perslib.judge import Judge, LearnedJudge, Manner, Nearest, Personal, UserMean
from perslib.llm import Answer, Backbone, Steps
from perslib.llm.steps import through
from perslib.memory import MEMORIES, UserMemory
from perslib.memory import memory as named
from perslib.memory.base import Noting
from perslib.memory.named import EDITED, long_term
from perslib.memory.remembering import Remembered
from perslib.stats import agreement
from perslib.studies import verification
from perslib.studies.extent import Extent, listed

NOTHING, RETRIEVAL, LOGS = "no memory", "RAG", "vanilla (with log)"
#: Every kind of evidence, what asks nothing for being built in front.
ALL = (
    NOTHING,
    "scores",
    "measured",
    RETRIEVAL,
    LOGS,
    *(m for m in MEMORIES if m not in ("scores", "measured")),
)
#: A first look: what is built at once and soon read, and the memory that other pages have had written already.
LOOK = (NOTHING, "scores", "measured", "structured")
METRICS = ("pearson", "wc_pearson", "qwk")


@dataclass
class Taken:
    """What building one memory took."""

    answers: list[Answer] = field(default_factory=list)
    seconds: float = 0.0
    """Time spent on computing, between questions: counting, comparing, embedding."""

    def computed(self, seconds: float) -> None:
        """Count these seconds in."""
        self.seconds += seconds


class Weighed(Noting[Taken]):
    """A memory system that notes what building takes."""

    def build(self, block: Block, judged: pd.DataFrame | None = None) -> Steps[UserMemory]:
        """The system's own memory."""
        taken = Taken()
        build = self.system.build(block, judged)
        memory = yield from through(build, hear=taken.answers.extend, took=taken.computed)
        self.notes[self.key(block, judged)] = taken
        return memory

    @property
    def blocks(self) -> int:
        """How many memories were built."""
        return len(self.notes)

    @property
    def answers(self) -> list[Answer]:
        """All answers that went into them."""
        return [answer for taken in self.notes.values() for answer in taken.answers]

    @property
    def seconds(self) -> float:
        """The computing of all of them."""
        return sum(taken.seconds for taken in self.notes.values())


@dataclass(frozen=True)
class Judged:
    """Verdicts of every judge on the same replies, and what was built for them."""

    verdicts: pd.DataFrame
    memories: dict[str, Weighed]
    left_out: tuple[str, ...]


def memories_of(names: str, look: Extent) -> list[str]:
    """The memories of a parameter: named, "all", or where it is empty what suits the backbone; none comes first."""
    wanted = listed(names) if names not in ("", "all") else list(LOOK if not names and look.is_short else ALL)
    for name in wanted:
        if name not in ALL and not name.startswith(EDITED):
            raise UnknownName("memory", name, ALL)
    return list(dict.fromkeys([NOTHING, *wanted]))


def judge_with(name: str, manner: Manner, **memory: Any) -> tuple[Judge, Weighed | None]:
    """The judge that is shown this memory, and the memory where one is built; `memory` are options of `Structured`."""
    if name in (NOTHING, RETRIEVAL):
        return verification.asked_judge(name, manner), None
    system = (
        Remembered(long_term(manner.language)[name], manner.language)
        if name == LOGS
        else named(name, manner.language, **memory)
    )
    weighed = Weighed(system)
    return Personal(weighed, manner, name=f"memory: {name}"), weighed


def computing() -> list[Judge]:
    """What the same past gives without a model: marks to stand beside."""
    return [UserMean(), Nearest(), LearnedJudge()]


def judged(
    names: str, corpus: Corpus, model: Backbone, look: Extent, language: str, *, seed: int = 42
) -> Judged:
    """The judge with each memory on the same test users' replies; beside them judges that ask no model."""
    manner = look.manner(language)
    frames, weighed = [], {}
    chosen = memories_of(names, look)
    for name in chosen:
        judge, memory = judge_with(name, manner, **look.memory)
        if memory is not None:
            weighed[judge.name] = memory
        frames.append(verification.judged([judge], corpus, model, limit=look.turns, seed=seed))
    asked = pd.concat(frames, ignore_index=True)
    marks = verification.judged(computing(), corpus, limit=look.turns, seed=seed)
    left_out = tuple(name for name in ALL if name not in chosen)
    return Judged(pd.concat([marks, asked], ignore_index=True), weighed, left_out)


def compared(found: Judged, corpus: Corpus, seed: int = 42) -> pd.DataFrame:
    """Agreement of every judge, and what each memory gains over no memory, corrected after Holm a metric."""
    return agreement(found.verdicts, corpus, scores=("real",), metrics=METRICS, controls=[NOTHING], seed=seed)


def costs(found: Judged) -> pd.DataFrame:
    """What a memory takes: a row a judge that asks a model.

    Columns: judge, judged, unscored; building, a user and scenario: build_calls, build_tokens, build_seconds; judging, a
    reply: answer_tokens, answer_seconds; tokens, both together a reply; memory_failed, calls that gave nothing.
    """
    asked = found.verdicts[found.verdicts["backbone"].notna()]
    rows = []
    for judge, own in asked.groupby("judge", sort=False):
        memory = found.memories.get(str(judge))
        blocks, answers = (memory.blocks, memory.answers) if memory else (0, [])
        of_building = sum(a.tokens_in + a.tokens_out for a in answers)
        of_judging = (own["tokens_in"] + own["tokens_out"]).astype(float)
        seconds = sum(a.seconds for a in answers) + (memory.seconds if memory else 0.0)
        rows.append(
            {
                **{"judge": judge, "judged": len(own), "unscored": int(own["raw"].isna().sum())},
                "build_calls": len(answers) / max(1, blocks),
                "build_tokens": of_building / max(1, blocks),
                "build_seconds": seconds / max(1, blocks),
                "answer_tokens": of_judging.mean(),
                "answer_seconds": own["seconds"].astype(float).mean(),
                "tokens": (of_building + of_judging.sum()) / max(1, len(own)),
                "memory_failed": sum(a.error is not None for a in answers),
            }
        )
    return pd.DataFrame(rows)


def frontier(agreed: pd.DataFrame, spent: pd.DataFrame, metric: str = "pearson") -> list[str]:
    """The judges that none beats in agreement at fewer tokens, the cheapest first."""
    r = agreed[agreed["metric"] == metric].set_index("judge")["value"]
    by_cost = (
        spent.assign(value=spent["judge"].map(r)).dropna(subset="value").sort_values("tokens", kind="stable")
    )
    ahead = by_cost["value"].cummax().shift(fill_value=-2.0) < by_cost["value"]
    return by_cost.loc[ahead, "judge"].tolist()
