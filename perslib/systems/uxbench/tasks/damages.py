"""What does a judge notice? Replies are damaged in known ways, without a model, and scored beside what they were.

    damage_audit(judge, corpus)        a row a damage: change of score, share lowered, AUROC, intervals over users

A judge *notices* a damage where the score falls by `SMALLEST` points or more and the whole interval of the change lies below
zero; it *rewards* one where the score rises so. White space added to a reply is the harmless change that nothing should come of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, Block, Corpus, Target
from perslib.judge.base import Judge, Verdict
from perslib.judge.broken import cut_in_half, shuffle_sentences, strip_structure
from perslib.judge.evaluate import fit_judge as fit_judge
from perslib.judge.evaluate import judge_blocks, select_blocks
from perslib.llm import Backbone
from perslib.prompts import read_phrases
from perslib.stats import FEWEST_USERS, SEED, Floats, Resamples, estimate
from perslib.stats.agreement.auroc import auroc_under
from perslib.stats.resample.leave_one_out import name_bounds
from perslib.systems.uxbench.tasks.audits import pad_reply

#: The change that is none: chance level.
HARMLESS = "white space added"
SMALLEST = 0.05
"""Points of the scale: a smaller change turns no ranking, however sure it is."""
#: A damaged reply of a target, or None where there is nothing to damage: of a sentence of the language, by draws.
Damage = Callable[[Target, "Elsewhere", np.random.Generator], str | None]


class Elsewhere:
    """Replies that were given elsewhere, and phrases of a language."""

    def __init__(self, blocks: Sequence[Block], language: str):
        self.language, self.phrases = language, read_phrases("damages", language)
        other = read_phrases("padding", "zh" if language == "en" else "en")["text"]
        self.foreign = str(other)
        rows = [(b.user, b.scenario, t.session, t.turn, t.response) for b in blocks for t in b if t.response]
        self._replies = pd.DataFrame(rows, columns=["user", "scenario", "session", "turn", "response"])

    def draw(self, target: Target, rng: np.random.Generator, *, same_session: bool) -> str | None:
        """Return a reply to another question of this session, or to somebody else's question in another scenario."""
        elsewhere = self._replies
        own = (
            (elsewhere["user"] == target.user)
            & (elsewhere["scenario"] == target.scenario)
            & (elsewhere["session"] == target.session)
        )
        there = own & (elsewhere["turn"] != target.turn)
        if not same_session:
            there = (elsewhere["user"] != target.user) & (elsewhere["scenario"] != target.scenario)
        replies = elsewhere.loc[there, "response"]
        return str(replies.iloc[int(rng.integers(len(replies)))]) if len(replies) else None


def _cut(target: Target, where: Elsewhere, rng: np.random.Generator) -> str | None:
    return cut_in_half(target.response) or None


def _change_numbers(target: Target, where: Elsewhere, rng: np.random.Generator) -> str | None:
    return re.sub(r"\d", lambda digit: str((int(digit[0]) + 4) % 10), target.response)


def _deny(target: Target, where: Elsewhere, rng: np.random.Generator) -> str | None:
    clauses = [
        part.strip()
        for part in re.split(r"[,.;!?\uff0c\u3002\uff1b\uff01\uff1f\n]", target.request or "")
        if len(part.strip()) > 3
    ]
    clause = max(clauses, key=len, default="")
    return f"{where.phrases['denied'].format(said=clause)} {target.response}" if clause else None


def _repeat_last(target: Target, where: Elsewhere, rng: np.random.Generator) -> str | None:
    return next((m["content"] for m in reversed(target.prefix) if m["role"] == "assistant"), None)


def _shuffle(target: Target, where: Elsewhere, rng: np.random.Generator) -> str | None:
    return shuffle_sentences(target.response, rng)


def _speak_another(target: Target, where: Elsewhere, rng: np.random.Generator) -> str | None:
    return where.foreign * max(1, round(len(target.response) / len(where.foreign)))


def _pad(target: Target, where: Elsewhere, rng: np.random.Generator) -> str | None:
    return pad_reply(target.response, where.language)


def _strip(target: Target, where: Elsewhere, rng: np.random.Generator) -> str | None:
    return strip_structure(target.response)


DAMAGES: dict[str, Damage] = {
    "another's other question": lambda target, where, rng: where.draw(target, rng, same_session=False),
    "another question of the session": lambda target, where, rng: where.draw(target, rng, same_session=True),
    "second half cut off": _cut,
    "numbers changed": _change_numbers,
    "a wish of the request denied": _deny,
    "the last reply repeated": _repeat_last,
    "another language": _speak_another,
    "sentences shuffled": _shuffle,
    "empty words doubled": _pad,
    "praise added": lambda target, where, rng: f"{where.phrases['praise']} {target.response}",
    "structure stripped": _strip,
    "a refusal": lambda target, where, rng: str(where.phrases["refusal"]),
    HARMLESS: lambda target, where, rng: f"{target.response}  \n",
}


def damage_audit(
    judge: Judge,
    corpus: Corpus,
    backbone: Backbone | None = None,
    *,
    blocks: Sequence[Block] | None = None,
    limit: int | None = None,
    fit: bool = True,
    seed: int = SEED,
    progress: bool = True,
) -> pd.DataFrame:
    """Score replies as they are and damaged in every way; a row a damage.

    Columns: judge, damage, change (of the score, in points) with bounds, lowered (share of replies), auroc (the chance that an
    undamaged reply is scored above a damaged one) with bounds, turns, users, verdict: notices, does not notice, rewards (the score
    rises, surely on average or for most replies); or too few. Replies that a damage leaves as they are do not count. `blocks` are judged where they are given, else draws.
    """
    blocks = list(select_blocks(corpus, limit=limit, seed=seed)) if blocks is None else blocks
    blocks = [block for block in blocks if len(block)]
    where = Elsewhere(blocks, corpus.language)
    if fit:
        fit_judge(judge, corpus, blocks, backbone, progress=progress)
    damaged = pd.concat([_damage_all(block, where, seed) for block in blocks], ignore_index=True)
    # All of a block at once: no verdict depends on the replies beside it.
    wide = [replace(block, targets=own) for block, own in zip(blocks, _split(damaged, blocks))]
    verdicts = judge_blocks(judge, wide, backbone, progress=progress)
    damaged["after"] = scores_of(verdicts)
    damaged["before"] = damaged.groupby("place")["after"].transform("first")
    rows = []
    for name in DAMAGES:
        own = damaged[damaged["damage"] == name]
        rows.append(
            {
                "judge": judge.name,
                "damage": name,
                **_compare(own["before"].to_numpy(float), own["after"].to_numpy(float), own["user"].to_numpy()),
            }
        )
    return pd.DataFrame(rows)


def scores_of(verdicts: Sequence[Sequence[Verdict]]) -> Floats:
    """Return the scores of all verdicts in a row, NaN where there is none."""
    return np.array([verdict.score for of_block in verdicts for verdict in of_block], float)


def _damage_all(block: Block, where: Elsewhere, seed: int) -> pd.DataFrame:
    """Return the targets of a block, each followed by its damaged replies: `damage` is "" for the reply itself."""
    rows = []
    for number, target in enumerate(block):
        place = (block.user, block.scenario, target.session, target.turn)
        rows.append((number, place, "", target.response))
        for kind, (name, damage) in enumerate(DAMAGES.items()):
            rng = np.random.default_rng([seed, kind, *"/".join(map(str, place)).encode()])
            reply = damage(target, where, rng)
            if reply is not None and reply != target.response:
                rows.append((number, place, name, reply))
    numbers, places, names, replies = zip(*rows)
    damaged = block.targets.iloc[list(numbers)].reset_index(drop=True).assign(response=replies)
    return damaged.assign(damage=names, place=places)


def _split(replies: pd.DataFrame, blocks: Sequence[Block]) -> list[pd.DataFrame]:
    parts = dict(iter(replies.groupby(BLOCK, sort=False)))
    return [parts[block.user, block.scenario][block.targets.columns].reset_index(drop=True) for block in blocks]


def estimate_change(change: np.ndarray, users: Resamples) -> dict[str, float]:
    """Return the mean change of a score with bounds over users; one that is the same for everybody is sure."""
    if not len(change):
        return dict.fromkeys(name_bounds("change"), np.nan)
    means = users.mean(change)
    row = users.estimate(means, "change")
    if len(users) >= FEWEST_USERS and np.ptp(means) < 1e-9:
        row |= dict.fromkeys(("change_low", "change_high"), row["change"])
    return row


def _compare(before: np.ndarray, after: np.ndarray, user: np.ndarray) -> dict[str, object]:
    known = np.isfinite(before) & np.isfinite(after)
    change, users = (after - before)[known], Resamples(user[known])
    counts = {"turns": int(known.sum()), "users": len(users)}
    if not known.any():
        return {"verdict": "too few", **counts}
    row = estimate_change(change, users)
    good = np.repeat([True, False], known.sum())
    areas = auroc_under(good, np.concatenate([before[known], after[known]]), np.tile(users.group, 2), users.weights)
    area = estimate(areas, "auroc", "share")
    verdict = (
        "too few"
        if np.isnan(row["change_low"])
        else "notices"
        if row["change_high"] < 0 and row["change"] <= -SMALLEST
        else "rewards"
        if row["change"] >= SMALLEST and (row["change_low"] > 0 or area["auroc_high"] < 0.5)
        else "does not notice"
    )
    return {**row, "lowered": float((change < -1e-9).mean()), **area, **counts, "verdict": verdict}
