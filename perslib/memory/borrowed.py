"""Whose memory is it? Another user's evidence in place of the user's own, for any memory and any judge.

    lend_history(Structured("en"), pool, "nearest")       a memory built from the nearest other user's history
    lend_history(LearnedJudge(), pool, "random")          a judge that is shown another user's history

A judge is personal by what the user's own memory gives it beyond the nearest other user's. Who is near is decided by
the shares of scores in both users' other scenarios, never by anything of the scenario that is judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, SESSION, Block, Corpus
from perslib.errors import NotEnough, check_names
from perslib.llm import Ask
from perslib.memory.base import MemorySystem, OnAnother, UserMemory

Whose = Literal["nearest", "farthest", "random", "pooled", "level", "nothing"]


class Lender:
    """Blocks of a pool of users with other evidence than their own.

    `nearest` and `farthest` lend the history of the user whose shares of scores differ least and most (by the area between
    their cumulative shares); `random` that of any other; `pooled` sessions of all others, drawn until they have as many
    rated turns as the user's own; `level` the user's own turns with their scores dealt out anew, which leaves the level and
    the spread; `nothing` no evidence.
    """

    def __init__(self, pool: Corpus, whose: Whose, seed: int = 42):
        check_names("owner of the evidence", whose, get_args(Whose))
        self.whose, self.seed = whose, seed
        turns = pool.turns.merge(pool.sessions[[*SESSION, "task", "assistant"]], on=SESSION, how="left")
        turns = turns[~turns["leads"].astype(bool)] if "leads" in turns else turns
        self._parts = {"evidence": turns, "sessions": pool.sessions, "events": pool.events.dropna(subset="session")}
        scored = turns.dropna(subset="score")
        scores = scored["score"].astype(int).to_numpy()
        shares = scored[BLOCK].assign(**{f"s{k}": scores == k for k in range(1, 6)})
        self._counts = shares.groupby(BLOCK).sum()
        self._of_user = self._counts.groupby("user").sum()

    def lend(self, block: Block) -> Block:
        """Return the block with evidence of somebody else; profile and replies to judge stay."""
        if self.whose == "nothing":
            return replace(block, evidence=block.evidence.iloc[:0], sessions=block.sessions.iloc[:0])
        rng = np.random.default_rng([self.seed, *f"{block.user}\0{block.scenario}".encode()])
        if self.whose == "level":
            return replace(block, evidence=_deal_out(block.evidence, rng))
        shares = self._shares_elsewhere(block)
        if shares.empty:
            raise NotEnough(
                "Nobody but {user} has rated replies outside {scenario}, so there is no memory to borrow; "
                "take a pool of several users.",
                user=block.user,
                scenario=block.scenario,
            )
        if self.whose == "pooled":
            return self._pool(block, list(shares.index), rng)
        if self.whose == "random":
            return self._take(block, str(rng.choice(shares.index.to_numpy())))
        distance = np.abs(shares.cumsum(axis=1) - _shares(block.evidence).cumsum()).sum(axis=1).round(12)
        order = distance.sample(frac=1, random_state=rng).sort_values(kind="stable", ascending=self.whose == "nearest")
        return self._take(block, str(order.index[0]))

    def _shares_elsewhere(self, block: Block) -> pd.DataFrame:
        """Return shares of scores of each other user in the scenarios that are not judged."""
        here = self._counts[self._counts.index.get_level_values("scenario") == block.scenario].droplevel("scenario")
        counts = self._of_user.sub(here, fill_value=0).drop(index=block.user, errors="ignore").sort_index()
        counts = counts[counts.sum(axis=1) > 0]
        return counts.div(counts.sum(axis=1), axis=0)

    def _take(self, block: Block, user: str) -> Block:
        """Return the block with all that this user did in other scenarios."""
        return _as_own(
            block,
            {
                part: rows[(rows["user"] == user) & (rows["scenario"] != block.scenario)]
                for part, rows in self._parts.items()
            },
        )

    def _pool(self, block: Block, users: Sequence[str], rng: np.random.Generator) -> Block:
        """Return the block with sessions of all others, as many as it takes to have the user's number of rated turns."""
        turns = self._parts["evidence"]
        others = turns[turns["user"].isin(users) & (turns["scenario"] != block.scenario)]
        rated = others.dropna(subset="score").groupby(SESSION).size().sample(frac=1, random_state=rng)
        wanted = int(block.evidence["score"].notna().sum())
        drawn = rated.index[(rated.cumsum() - rated < wanted).to_numpy()].to_frame(index=False)
        parts = {part: rows.merge(drawn, on=SESSION) for part, rows in self._parts.items()}
        return _as_own(
            block, {part: rows.assign(session=rows["user"] + ":" + rows["session"]) for part, rows in parts.items()}
        )


def _as_own(block: Block, parts: Mapping[str, pd.DataFrame]) -> Block:
    """Return the block with these turns, sessions and logs as its user's own."""
    frames = {}
    for part, rows in parts.items():
        own = getattr(block, part)
        lent = rows.reindex(columns=own.columns).assign(user=block.user)
        lent = lent.astype({name: dtype for name, dtype in own.dtypes.items() if lent[name].dtype != dtype})
        # What led up to the sessions that are judged is no memory of others, and stays.
        stays = own[own["scenario"] == block.scenario] if part == "events" else own.iloc[:0]
        frames[part] = pd.concat([stays, lent], ignore_index=True)
    return replace(block, **frames)


def _deal_out(evidence: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return the turns with their scores, and the reasons of these, dealt out anew over the rated ones."""
    rated = np.flatnonzero(evidence["score"].notna())
    columns = [name for name in ("score", "reason", "given") if name in evidence]
    dealt = evidence.copy()
    dealt.iloc[rated, [dealt.columns.get_loc(name) for name in columns]] = evidence.iloc[rng.permutation(rated)][
        columns
    ].to_numpy(object)
    return dealt


def _shares(evidence: pd.DataFrame) -> np.ndarray:
    """Return shares of the scores 1 to 5."""
    scores = evidence["score"].dropna().astype(int).to_numpy()
    counts = np.bincount(scores, minlength=6)[1:6].astype(float)
    return counts / max(counts.sum(), 1.0)


class BorrowedMemory(OnAnother):
    """What a memory system builds from somebody else's evidence."""

    def __init__(self, system: MemorySystem, lender: Lender):
        super().__init__(system, f"{system.name}, {lender.whose}")
        self.lender = lender

    async def build(self, block: Block, ask: Ask, judged: pd.DataFrame | None = None) -> UserMemory:
        """Return the system's memory of the borrowed evidence."""
        return await self.system.build(self.lender.lend(block), ask, judged)
