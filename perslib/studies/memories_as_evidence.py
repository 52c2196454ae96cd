"""The study of memories as evidence: every memory system before the same judge, what it is worth and what it costs.

    look = extent(model, limit)
    found = judge_memories("", data, model, look, "en")    verdicts, and what building each memory took
    agreed = compare_memories(found, data)                 agreement, and what each memory gains over none
    spent = sum_costs(found)                               calls, tokens and seconds, building and judging
    find_best(agreed, spent)                               which memories are better, worse, or cheapest for their r

The judge gives the score alone, one token a reply, and differs in nothing but what it is shown of the user. What a
memory took is summed from the answers themselves, so that it is the same number when they come out of the cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from perslib.corpus import Corpus
from perslib.errors import UnknownName
from perslib.judge import Judge, Manner, Personal, make_judge, targets
from perslib.judge.extent import Extent, listed, require_replies
from perslib.judge.noted_memories import note_memories
from perslib.llm import Backbone, Embedder, embedder
from perslib.llm.tokens import tokens_of
from perslib.memory import is_memory, make_memory
from perslib.memory import memory as memories
from perslib.memory.base import Note
from perslib.memory.long_term import LongTermMemory
from perslib.stats import agreement
from perslib.studies import verification

NOTHING, RETRIEVAL, LOGS = "no memory", "RAG", "vanilla (with log)"
#: A first look: what is built at once and soon read, and the memory that other pages have had written already.
LOOK = (NOTHING, "scores", "measured", "structured")
METRICS = ("pearson", "wb_pearson", "qwk")
#: Tokens of what the judged users were told that the embedded model reads in some minutes.
EMBEDDED_AT_MOST = 250_000


@dataclass(frozen=True)
class Judged:
    """Verdicts of every judge on the same replies, and what was built for them."""

    verdicts: pd.DataFrame
    notes: Mapping[str, Sequence[Note]]
    """By judge, of the memories that it was shown."""
    left_out: tuple[str, ...]
    looked_up: tuple[str, ...] = ()
    """Memories whose texts were looked up by characters, since the embedded model would have read long."""

    @property
    def asked(self) -> pd.DataFrame:
        """The verdicts of judges that ask a model."""
        return self.verdicts[self.verdicts["backbone"].notna()]


def list_memories() -> list[str]:
    """Return every kind of evidence, what asks nothing for being built in front."""
    return list(dict.fromkeys([NOTHING, "scores", "measured", RETRIEVAL, LOGS, *memories]))


def choose_memories(names: str, look: Extent) -> list[str]:
    """Return the memories of a parameter: named, "all", or where it is empty what suits the backbone; none comes first."""
    known = list_memories()
    wanted = listed(names) if names not in ("", "all") else LOOK if not names and look.is_short else known
    for name in wanted:
        if name not in known and not is_memory(name):
            raise UnknownName("memory", name, known)
    return list(dict.fromkeys([NOTHING, *wanted]))


def choose_embedder(name: str, corpus: Corpus, look: Extent, seed: int = 42) -> Embedder | str:
    """Return what memories look things up with: the one named; without a name the embedded model, or `tfidf` where that reads long.

    What characters count is fixed by the replies to train users.
    """
    judged = corpus.of_users({block.user for block in targets(corpus, limit=look.turns, seed=seed)})
    told = pd.concat([judged.turns["request"], judged.turns["response"], judged.events["content"]]).dropna()
    if name or told.map(tokens_of).sum() <= EMBEDDED_AT_MOST:
        return name or "auto"
    found = embedder("tfidf")
    train = corpus.turns[corpus.turns["user"].isin(corpus.split().get("train", []))]
    found.embed((train if len(train) else corpus.turns)["response"].head(2000).tolist())
    return found


def has_lookup(name: str) -> bool:
    """Return whether what this memory shows is looked up by likeness."""
    if name not in memories:
        return False
    system = memories[name]
    return isinstance(system, type) and issubclass(system, LongTermMemory) and getattr(system, "looks_up", True)


def make_judge_with(name: str, manner: Manner, **memory: Any) -> Judge:
    """Make the judge that is shown this memory; `memory` are options of `Structured`."""
    if name in (NOTHING, RETRIEVAL):
        return make_judge(name, manner)
    return Personal(make_memory(name, manner.language, **memory), manner, name=f"memory: {name}")


def judge_memories(
    names: str, corpus: Corpus, model: Backbone, look: Extent, language: str, *, embedder: str = "", seed: int = 42
) -> Judged:
    """Judge the same test users' replies with each memory, and by judges that ask no model.

    Parameters
    ----------
    names : memories, as the page's parameter lists them.
    corpus, model, look : whose replies, the model that judges and writes memories, and how much it is asked.
    language, seed : of the prompts, and of the draw of replies.
    embedder : what memories look things up with, by name; see `choose_embedder`.
    """
    chosen = choose_memories(names, look)
    looking = [name for name in chosen if has_lookup(name)]
    used = choose_embedder(embedder, corpus, look, seed) if looking else embedder or "auto"
    options = {**look.memory, "embedder": used}
    asking = [note_memories(make_judge_with(name, look.manner(language), **options)) for name in chosen]
    asked = verification.judged([judge for judge, _ in asking], corpus, model, limit=look.turns, seed=seed)
    computed = verification.computed_judges(["user mean", "nearest 6, weighted", "learned"])
    marks = verification.judged(computed, corpus, limit=look.turns, seed=seed)
    notes = {judge.name: tuple(noted.values()) for judge, noted in asking}
    left_out = tuple(name for name in list_memories() if name not in chosen)
    by_characters = () if isinstance(used, str) else tuple(looking)
    return Judged(pd.concat([marks, asked], ignore_index=True), notes, left_out, by_characters)


def compare_memories(found: Judged, corpus: Corpus) -> pd.DataFrame:
    """Return the agreement of every judge, and what each memory gains over no memory, corrected after Holm a metric."""
    require_replies(found.asked.groupby("judge")["raw"].count().max())
    return agreement(found.verdicts, corpus, scores=("real",), metrics=METRICS, controls=[NOTHING])


def sum_costs(found: Judged) -> pd.DataFrame:
    """Sum what each memory takes: a row a judge that asks a model.

    Columns: judge, judged, unscored; building, a user and scenario: build_calls, build_tokens, build_seconds; judging, a
    reply: answer_tokens, answer_seconds; tokens, both together a reply; memory_failed, calls that gave nothing.
    """
    rows = []
    for judge, own in found.asked.groupby("judge", sort=False):
        notes = found.notes[str(judge)]
        answers, blocks = [answer for note in notes for answer in note.answers], max(1, len(notes))
        of_building = sum(a.tokens_in + a.tokens_out for a in answers)
        of_judging = (own["tokens_in"] + own["tokens_out"]).astype(float)
        seconds = sum(a.seconds for a in answers) + sum(note.seconds for note in notes)
        rows.append(
            {
                **{"judge": judge, "judged": len(own), "unscored": int(own["raw"].isna().sum())},
                "build_calls": len(answers) / blocks,
                "build_tokens": of_building / blocks,
                "build_seconds": seconds / blocks,
                "answer_tokens": of_judging.mean(),
                "answer_seconds": own["seconds"].astype(float).mean(),
                "tokens": (of_building + of_judging.sum()) / max(1, len(own)),
                "memory_failed": sum(a.error is not None for a in answers),
            }
        )
    return pd.DataFrame(rows)


def find_best(agreed: pd.DataFrame, spent: pd.DataFrame) -> dict[str, list[str]]:
    """Return the judges whose r is better and worse than without a memory, and those that no cheaper one matches.

    Keys: better and worse, significant after Holm's correction; frontier, the cheapest first.
    """
    own = agreed[agreed["metric"] == "pearson"].merge(spent[["judge", "tokens"]], on="judge")
    moved = own[own["gain_p_holm"] < 0.05]
    cheap = own.dropna(subset="value").sort_values("tokens", kind="stable")
    ahead = cheap["value"].cummax().shift(fill_value=-2.0) < cheap["value"]
    found = {"better": moved[moved["gain_low"] > 0], "worse": moved[moved["gain_high"] < 0]}
    return {name: frame["judge"].tolist() for name, frame in (found | {"frontier": cheap[ahead]}).items()}
