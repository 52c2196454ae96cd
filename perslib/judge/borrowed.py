"""A judge that is shown somebody else's evidence: see `perslib.memory.borrowed`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from perslib.corpus import Block, Corpus
from perslib.judge.base import Judge, OnAnotherJudge, Verdict
from perslib.llm import Ask
from perslib.memory import MemorySystem
from perslib.memory.borrowed import BorrowedMemory, Lender, Whose


class Borrowed(OnAnotherJudge):
    """A judge of which nothing changes but whose history it sees."""

    def __init__(self, judge: Judge, lender: Lender):
        super().__init__(judge, lender.whose)
        self.lender = lender

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Return the judge's verdicts on the same replies."""
        return await self.judge_itself.judge(self.lender.lend(block), ask)


@overload
def lend_history(what: Judge, pool: Corpus, whose: Whose = "nearest", seed: int = 42) -> Borrowed: ...
@overload
def lend_history(what: MemorySystem, pool: Corpus, whose: Whose = "nearest", seed: int = 42) -> BorrowedMemory: ...
def lend_history(
    what: Judge | MemorySystem, pool: Corpus, whose: Whose = "nearest", seed: int = 42
) -> Borrowed | BorrowedMemory:
    """Give a memory, or a judge with whatever it remembers, the evidence of another user of the pool.

    `whose` is nearest, farthest, random, pooled, level or nothing: see `Lender`.
    """
    lender = Lender(pool, whose, seed)
    return Borrowed(what, lender) if isinstance(what, Judge) else BorrowedMemory(what, lender)
