"""Turns in numbers: what can be read off a request, a reply, and where they stand.

`FEATURES` is the list, one line of meaning each. Nothing here knows a score, a user or a corpus: a turn's features
follow from its own prefix and reply, so a turn has the same features as evidence and as target. Chinese and English
are read by the same expressions, and lengths count characters of Chinese and words of other scripts alike.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import SESSION, Block, Corpus, Target
from perslib.corpus.block import Message
from perslib.memory.retrieval import list_messages_before
from perslib.paths import read_toml

_CUES = read_toml(__file__, "cues.toml")
#: Group → feature → meaning; the evaluator weighs groups.
FEATURES: dict[str, dict[str, str]] = _CUES["features"]
NAMES = [name for group in FEATURES.values() for name in group]
#: Feature → whether it is a number ("count"), a share, there or not ("mark"), or a log ratio ("times").
KINDS: dict[str, str] = {name: kind for name, kind in _CUES["traits"].items() if kind != "hidden"} | _CUES["kinds"]
_MARKS = [name for name in FEATURES["marks"] if name != "complaints_before"]

_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W\d_\u3400-\u9fff]+|\d+(?:[.,]\d+)*")
_CJK = re.compile(r"[\u3400-\u9fff]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


#: Expressions for what a reply and a request can hold, by name.
_IN_REPLY, _IN_REQUEST = (
    {name: re.compile("|".join(cues), re.IGNORECASE | re.MULTILINE) for name, cues in _CUES[side].items()}
    for side in ("reply", "request")
)
_BOLD = re.compile(r"\*\*[^*\n]+\*\*")
_TABLE = re.compile(r"\|\s*:?-{2,}")
_END = re.compile(r"[^\w\s]\s*$")


KEPT = 40_000
"""So many turns' features are remembered, more than PersTurnBench has; of neighbouring tokens, 40 kB a text, fewer."""


def _log(count: float) -> float:
    return float(np.log1p(count))


def _times(expression: re.Pattern[str], text: str) -> float:
    """Return how often an expression is in a text, on the scale of logarithms."""
    return _log(len(expression.findall(text)))


def _has(expression: re.Pattern[str], text: str) -> float:
    """Return 1 where an expression is in a text, else 0."""
    return float(bool(expression.search(text)))


def tokens(text: str) -> list[str]:
    """Return characters of Chinese, words and numbers of anything else, in lower case."""
    return _TOKEN.findall(text.lower())


@lru_cache(maxsize=2_000)
def _pairs(text: str) -> frozenset[int]:
    """Return neighbouring tokens of a text, as hashes of themselves (ints are small to keep)."""
    words = tokens(text)
    return frozenset(map(hash, pairwise(words))) if len(words) > 1 else frozenset(map(hash, words))


def _share(part: frozenset[int], whole: frozenset[int]) -> float:
    return len(part & whole) / len(part) if part else 0.0


def _drop_open_bold(text: str) -> str:
    """Return a text without the asterisks at its end that begin bold type which never ends."""
    return text.rstrip().removesuffix("**") if text.count("**") % 2 else text


@lru_cache(maxsize=KEPT)
def measure_reply(text: str) -> dict[str, float]:
    """Return what a reply alone shows, by trait."""
    words = tokens(text)
    return {
        "length": _log(len(words)),
        "short": max(_log(60) - _log(len(words)), 0.0),
        "lines": _log(text.count("\n")),
        "items": _times(_IN_REPLY["item"], text),
        "headings": _times(_IN_REPLY["heading"], text),
        "bold": _times(_BOLD, text),
        "table": _has(_TABLE, text),
        "variety": len(set(words[:200])) / max(len(words[:200]), 1),
        "numbers": _times(_NUMBER, text),
        "prices": _times(_IN_REPLY["price"], text),
        "links": _has(_IN_REPLY["link"], text),
        "asks_back": _has(_IN_REPLY["asks_back"], text[-60:]),
        "apology": _has(_IN_REPLY["apology"], text[:200]),
        "refusal": _has(_IN_REPLY["refusal"], text),
        "hedges": _times(_IN_REPLY["hedge"], text),
        "cut_off": 1 - _has(_END, _drop_open_bold(text)[-5:]),
    }


@lru_cache(maxsize=KEPT)
def _request(text: str) -> dict[str, float]:
    return {
        "request_length": _log(len(tokens(text))),
        "questions": _times(_IN_REQUEST["question"], text),
        **{name: _has(_IN_REQUEST[name], text) for name in _MARKS},
    }


def _between(turn: TurnContext) -> dict[str, float]:
    asked, replied = _pairs(turn.request), _pairs(turn.reply)
    numbers = set(_NUMBER.findall(turn.request))
    before = turn.replies[-1] if turn.replies else ""
    growth = measure_reply(turn.reply)["length"] - measure_reply(before)["length"]
    return {
        "foreign": float(bool(turn.request) and _has(_CJK, turn.request) != _has(_CJK, turn.reply)),
        "answers": _share(asked, replied),
        "on_task": _share(_pairs(turn.task), replied),
        "keeps_numbers": len(numbers & set(_NUMBER.findall(turn.reply))) / len(numbers) if numbers else 1.0,
        "price_missing": float(
            bool(_IN_REQUEST["asks_price"].search(turn.request)) and not _IN_REPLY["price"].search(turn.reply)
        ),
        "repeats_reply": _share(replied, _pairs(before)),
        "growth": growth if turn.replies else 0.0,
        "from_task": _share(asked, _pairs(turn.task)),
        "repeats_request": max((_share(asked, _pairs(r)) for r in turn.requests), default=0.0),
        "refers_back": _share(asked, _pairs(before)),
        "first": float(not turn.replies),
        "turn": _log(len(turn.replies)),
        "complaints_before": _log(sum(_request(r)["complaint"] for r in turn.requests)),
    }


@dataclass(frozen=True)
class TurnContext:
    """A reply and what it goes by: the request it answers, the task, and what either side had said before."""

    request: str
    reply: str
    task: str
    assistant: str
    scenario: str
    session: str
    requests: tuple[str, ...]
    replies: tuple[str, ...]

    def __hash__(self) -> int:
        """Return a hash of what nearly always tells turns apart: a whole conversation is long to go through."""
        return hash((self.reply, self.request, self.session, self.scenario))


@lru_cache(maxsize=KEPT)
def measure_traits(turn: TurnContext) -> np.ndarray:
    """Return the features of one turn, in the order of `NAMES`."""
    traits = {**measure_reply(turn.reply), **_request(turn.request), **_between(turn)}
    return np.array([traits[name] for name in NAMES])


def read_block_turns(block: Block) -> tuple[list[TurnContext], list[TurnContext]]:
    """Return the turns of a block as they were said: those of the evidence, row by row, and the targets."""
    return read_evidence_turns(block.evidence), [read_target_turn(target) for target in block]


def read_evidence_turns(turns: pd.DataFrame) -> list[TurnContext]:
    """Return turns of a block's evidence as they were said, row by row."""
    before = list_messages_before(turns, sys.maxsize)
    names = ("request", "response", "task", "assistant", "scenario", "session")
    return list(map(_make_context, *(turns[name].to_numpy(object) for name in names), before))


def read_corpus_turns(corpus: Corpus) -> pd.DataFrame:
    """Return all replies of a corpus as they were said (`said`), in its order: many times as fast as block by block."""
    about = corpus.sessions[[*SESSION, "task", "assistant"]]
    turns = corpus.turns.merge(about, on=SESSION, how="left", validate="m:1")
    of_users = [own.assign(said=read_evidence_turns(own)) for _, own in turns.groupby("user", sort=False)]
    every = pd.concat(of_users) if of_users else turns.assign(said=None)
    return every[~every["leads"].to_numpy(bool)] if "leads" in every else every


def read_target_turn(target: Target) -> TurnContext:
    """Return a target as it was said."""
    where = target.task, target.assistant, target.scenario, target.session
    return _make_context(target.request, target.response, *where, target.prefix)


def _make_context(
    request: Any, reply: str, task: Any, assistant: Any, scenario: str, session: str, prefix: Sequence[Message]
) -> TurnContext:
    """Return a turn as it was said after these messages; a request is the last of them."""
    asked, replies = (tuple([m["content"] for m in prefix if m["role"] == role]) for role in ("user", "assistant"))
    before = asked[:-1] if isinstance(request, str) else asked
    return TurnContext(_text(request), reply, _text(task), _text(assistant), scenario, session, before, replies)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
