"""What a judge is: something that says of each reply of a block how satisfied the user is with it.

    await judge.fit(train, ask)      once, with the corpus of the train users; most judges have nothing to learn
    await judge.judge(block, ask)    one verdict a target, in the order of the targets

Both are async methods that get `ask` (`perslib.llm.request`), which is all that a judge knows of a model: every judge
can be run with every backbone, concurrently, from the cache, or in a test. A judge sees blocks only: evidence of other
scenarios, targets without labels.

`frame` lays verdicts out as the documented frame, one row a reply.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from math import isnan
from typing import Any

import pandas as pd

from perslib.corpus import TURN, Block, Corpus, coerce
from perslib.corpus.files.parquet import GrowingFrame
from perslib.corpus.schema import REASONS, legal_reason
from perslib.errors import PerslibError
from perslib.llm import Ask, Backbone


@dataclass(frozen=True)
class JudgeInputs:
    """What a judge goes by; the like-for-like table lists it."""

    reply: bool = False
    """the reply and the conversation before it"""
    task: bool = False
    """the task background or the scenario"""
    profile: bool = False
    """the user's profile"""
    history: bool = False
    """the user's rated turns in other scenarios"""
    train: bool = False
    """labels of train users"""
    model: bool = False
    """a language model is asked"""


@dataclass(frozen=True)
class Verdict:
    """What a judge says of one reply. Unscored is a verdict too: `raw` is None and `error` says why."""

    raw: float | None = None
    """The score as the judge gives it, 1–5; a whole number where the judge writes one."""
    expected: float | None = None
    """Mean of the score distribution, where there is one."""
    p: tuple[float, ...] | None = None
    """Probabilities of the scores 1 to 5, where there are any."""
    reason: str | None = None
    rationale: str | None = None
    evidence: tuple[str, ...] = ()
    """Ids of the turns (`scenario/session/turn`) and statements that the rationale rests on."""
    mode: str | None = None
    """How the score was read: computed, schema, json, text, reask, prose, digit, weighed, samples, decided, token; or unscored."""
    memory: str | None = None
    """The memory behind it, and what it lacked."""
    prompt: str | None = None
    asked: str | None = None
    """Where the answer cache has the question and the answer: `Cache().read_request(asked)`, `perslib cache show`."""
    tokens_in: int | None = None
    tokens_cached: int | None = None
    tokens_out: int | None = None
    seconds: float | None = None
    cost: float | None = None
    error: str | None = None

    @property
    def score(self) -> float | None:
        """The expected score, else the raw one; None where it is unscored."""
        return self.raw if self.expected is None else self.expected


#: What an answer took, by the same names in an answer, a verdict, and the frames of verdicts and replies.
SPENT = ("tokens_in", "tokens_cached", "tokens_out", "seconds", "cost")


def sum_spent(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return what verdicts took together; None where none of them says."""
    given = {name: [getattr(verdict, name) for verdict in verdicts] for name in SPENT}
    known = {name: [value for value in values if value is not None] for name, values in given.items()}
    return {name: sum(values) if values else None for name, values in known.items()}


class Judge(ABC):
    """One row of an agreement table."""

    name: str
    """How tables and verdicts call this judge."""
    inputs: JudgeInputs = JudgeInputs()
    values: tuple[float, ...] = (1, 2, 3, 4, 5)
    """The scores that it can give, where it gives whole ones."""

    @property
    def samples(self) -> int:
        """How often a model is asked about each reply."""
        return 1

    @property
    def reads_texts(self) -> bool:
        """Whether it needs the texts of replies or tasks when it judges."""
        return self.inputs.reply or self.inputs.task

    async def fit(self, train: Corpus, ask: Ask) -> None:  # noqa: B027 - most judges have nothing to learn
        """Learn from the labels of train users; the default has nothing to learn."""

    @abstractmethod
    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Return one verdict for each target of the block, in order."""


class OnAnotherJudge(Judge):
    """A judge that builds on another one, and learns where that learns."""

    def __init__(self, judge: Judge, how: str):
        self.judge_itself, self.name = judge, f"{judge.name}, {how}"
        self.inputs, self.values = judge.inputs, judge.values

    @property
    def samples(self) -> int:
        """How often a model is asked about each reply."""
        return self.judge_itself.samples

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Let the judge learn."""
        await self.judge_itself.fit(train, ask)


def make_unfitted_error(judge: Judge) -> PerslibError:
    """Say what to do with a judge that has yet to learn."""
    return PerslibError(f"{judge.name} learns from train users: run its fit(train) before judge(block)")


class Computed(Judge):
    """A judge that computes its scores and asks no model: `scores` is all it has to say."""

    lack = "the block has nothing to compute it from"
    """Why there is no score where there is none."""

    @abstractmethod
    def scores(self, block: Block) -> Sequence[float | None] | pd.Series:
        """Return one score a target, real-valued where the method gives real values; None or NaN is unscored."""

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Return the scores as verdicts."""
        unscored = Verdict(mode="computed", error=f"no score: {self.lack}")
        scores = pd.Series(self.scores(block), dtype=float)
        return [unscored if isnan(s) else Verdict(raw=s, mode="computed") for s in scores]


def like_for_like(judges: Iterable[Judge]) -> pd.DataFrame:
    """Return what each judge sees, one a row; judges with the same marks can be compared like for like."""
    rows = [{"judge": judge.name, **vars(judge.inputs)} for judge in judges]
    return pd.DataFrame(rows, columns=["judge", *vars(JudgeInputs())])


#: Verdicts become rows of a frame by so many: as objects they take several times the room.
TOGETHER = 2000
#: Whose replies a corpus holds, as candidates are named.
RECORDED = repeat(None)


def make_verdict_frame(
    judge: Judge,
    corpus: Corpus,
    backbone: Backbone | None,
    blocks: Sequence[Block],
    verdicts: Sequence[Sequence[Verdict]],
    candidates: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return verdicts as the documented frame; reasons under the labels of the corpus' language.

    `candidates` says of each target, block by block, whose reply it holds; None are the recorded replies.
    """
    rows = VerdictRows(judge, corpus, backbone)
    whose = iter(candidates) if candidates is not None else RECORDED
    for row in zip(blocks, verdicts, strict=True):
        rows.add(row, whose)
    return rows.make_verdict_frame()


class VerdictRows:
    """The frame of a judge's verdicts on a corpus, as it grows block by block."""

    def __init__(self, judge: Judge, corpus: Corpus, backbone: Backbone | None):
        self._judged_by = make_judge_columns(judge, corpus, backbone)
        self._language = corpus.language
        self._rows: list[dict[str, object]] = []
        self._frame = GrowingFrame()

    def add(self, judged: tuple[Block, Sequence[Verdict]], candidates: Iterable[str | None] = RECORDED) -> None:
        """Add a block and its verdicts, a row a target."""
        block, verdicts = judged
        if len(verdicts) != len(block):
            raise PerslibError(
                f"Judge {self._judged_by['judge']!r} gave {len(verdicts)} verdicts for the {len(block)} targets of {block.id}."
            )
        for key, verdict, candidate in zip(zip(*(block.targets[name] for name in TURN)), verdicts, candidates):
            columns = _columns(verdict, self._language)
            self._rows.append({**self._judged_by, "candidate": candidate, **dict(zip(TURN, key)), **columns})
        if len(self._rows) >= TOGETHER:
            self._settle()

    def make_verdict_frame(self) -> pd.DataFrame:
        """Return all rows; to be called once, at the end."""
        self._settle()
        return self._frame.frame()

    def _settle(self) -> None:
        columns = ["corpus", "candidate", "judge", "backbone", *TURN, *_columns(Verdict(), "en")]
        self._frame.add(coerce(pd.DataFrame(self._rows, columns=columns), "verdicts"))
        self._rows = []


def make_judge_columns(judge: Judge, corpus: Corpus, backbone: Backbone | None) -> dict[str, object]:
    """Return the columns that say whose verdicts these are: corpus, judge and backbone."""
    asked = backbone.name if backbone is not None and judge.inputs.model else None
    return {"corpus": corpus.name, "judge": judge.name, "backbone": asked}


def _columns(verdict: Verdict, language: str) -> dict[str, object]:
    columns = dict(vars(verdict))
    p = columns.pop("p") or (None,) * 5
    score, reason = verdict.raw, verdict.reason
    if score is not None and reason is not None and language in REASONS:
        columns["reason"] = legal_reason(score, reason, language)
    satisfied = None if score is None else bool(round(score) >= 4)
    return {**columns, **{f"p{s}": p[s - 1] for s in range(1, 6)}, "satisfied": satisfied}
