"""The study of memories as evidence: every memory system with the same judge, its worth and its cost.

    scope = choose_scope(model, limit)
    found = judge_memories("", data, model, scope, "en")    verdicts, and the cost of building each memory
    agreed = compare_memories(found, data)                 agreement, and the gain of each memory over none
    spent = sum_costs(found)                               calls, tokens and seconds, building and judging
    find_best_memories(agreed, spent)                      the memories that are better, worse, or cheapest for their r

The judge gives the score alone, one token per reply; only the information about the user differs. The cost of a memory
is summed from the answers themselves, so that it is the same number when they come from the cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from perslib.corpus import Corpus
from perslib.errors import UnknownName
from perslib.judge import Judge, JudgeSettings, Personal, make_judge, select_blocks
from perslib.judge.memory_records import note_memories
from perslib.judge.scope import StudyScope, require_model, require_replies, split_names
from perslib.llm import Backbone, Embedder, embedder
from perslib.llm.tokens import count_tokens
from perslib.memory import is_memory, make_memory
from perslib.memory import memory as memories
from perslib.memory.base import BuildRecord
from perslib.stats import agreement
from perslib.studies import verification

NOTHING, RETRIEVAL, LOGS = "no memory", "RAG", "vanilla (with log)"
#: Memories of a first look: those that are fast to build and read, and the one that other pages have already written.
FIRST_LOOK_MEMORIES = (NOTHING, "scores", "measured", "structured")
METRICS = ("pearson", "wb_pearson", "qwk")
#: Number of tokens of the judged users' texts that the embedded model reads in some minutes.
MOST_EMBEDDED_TOKENS = 250_000


@dataclass(frozen=True)
class MemoryVerdicts:
    """Verdicts of every judge on the same replies, and the memories that were built for them."""

    verdicts: pd.DataFrame
    notes: Mapping[str, Sequence[BuildRecord]]
    """The memories that each judge was shown, by judge."""
    left_out: tuple[str, ...]
    compared_by_characters: tuple[str, ...] = ()
    """Memories whose texts were compared by characters, because the embedded model would need too long."""

    @property
    def model_verdicts(self) -> pd.DataFrame:
        """Return the verdicts of judges that ask a model."""
        return self.verdicts[self.verdicts["backbone"].notna()]


def list_memories() -> list[str]:
    """Return every kind of evidence; kinds that need no model for being built come first."""
    return list(dict.fromkeys([NOTHING, "scores", "measured", RETRIEVAL, LOGS, *memories]))


def choose_memories(names: str, scope: StudyScope) -> list[str]:
    """Return the memories that a parameter names, "all", or if it is empty those that suit the backbone.

    "No memory" is always first. Raise UnknownName for other names.
    """
    names_known = list_memories()
    wanted = (
        split_names(names)
        if names not in ("", "all")
        else FIRST_LOOK_MEMORIES
        if not names and scope.is_short
        else names_known
    )
    for name in wanted:
        if name not in names_known and not is_memory(name):
            raise UnknownName("memory", name, names_known)
    return list(dict.fromkeys([NOTHING, *wanted]))


def choose_embedder(name: str, corpus: Corpus, scope: StudyScope, seed: int = 42) -> Embedder | str:
    """Return the embedder of the memories: the one named, otherwise the embedded model.

    If the embedded model would need too long, `tfidf` is used; its weights of characters come from replies to train
    users.
    """
    judged = corpus.of_users({block.user for block in select_blocks(corpus, limit=scope.turns, seed=seed)})
    texts = pd.concat([judged.turns["request"], judged.turns["response"], judged.events["content"]]).dropna()
    if name or texts.map(count_tokens).sum() <= MOST_EMBEDDED_TOKENS:
        return name or "auto"
    by_characters = embedder("tfidf")
    train = corpus.turns[corpus.turns["user"].isin(corpus.split().get("train", []))]
    by_characters.embed((train if len(train) else corpus.turns)["response"].head(2000).tolist())
    return by_characters


def has_lookup(name: str) -> bool:
    """Return whether this memory selects what it shows by similarity."""
    return name in memories and getattr(memories[name], "looks_up", False)


def make_memory_judge(name: str, settings: JudgeSettings, **memory: Any) -> Judge:
    """Return the judge that is shown this memory; `memory` has options of `Structured`."""
    if name in (NOTHING, RETRIEVAL):
        return make_judge(name, settings)
    return Personal(make_memory(name, settings.language, **memory), settings, name=f"memory: {name}")


def judge_memories(
    names: str,
    corpus: Corpus,
    model: Backbone | None,
    scope: StudyScope,
    language: str,
    *,
    embedder: str = "",
    seed: int = 42,
) -> MemoryVerdicts:
    """Judge the same test users' replies with each memory, and by judges that ask no model.

    Parameters
    ----------
    names : memories, as the page's parameter lists them.
    corpus, model, scope : whose replies, the model that judges and writes memories, and how much it is asked.
    language, seed : of the prompts, and of the draw of replies.
    embedder : the name of the embedder of the memories; see `choose_embedder`.
    """
    chosen, model = choose_memories(names, scope), require_model(model)
    looking = [name for name in chosen if has_lookup(name)]
    used = choose_embedder(embedder, corpus, scope, seed) if looking else embedder or "auto"
    options = {**scope.memory, "embedder": used}
    asking = [note_memories(make_memory_judge(name, scope.make_settings(language), **options)) for name in chosen]
    asking_verdicts = verification.judge_test_users(
        [judge for judge, _ in asking], corpus, model, limit=scope.turns, seed=seed
    )
    computed = verification.make_computed_judges(["user mean", "nearest 6, weighted", "learned"])
    computed_verdicts = verification.judge_test_users(computed, corpus, limit=scope.turns, seed=seed)
    notes = {judge.name: tuple(judge_notes.values()) for judge, judge_notes in asking}
    left_out = tuple(name for name in list_memories() if name not in chosen)
    by_characters = () if isinstance(used, str) else tuple(looking)
    return MemoryVerdicts(
        pd.concat([computed_verdicts, asking_verdicts], ignore_index=True), notes, left_out, by_characters
    )


def compare_memories(judged: MemoryVerdicts, corpus: Corpus) -> pd.DataFrame:
    """Return the agreement of every judge, and the gain of each memory over no memory, corrected after Holm per metric.

    Raise NotEnough if too few replies were scored.
    """
    require_replies(judged.model_verdicts.groupby("judge")["raw"].count().max())
    return agreement(judged.verdicts, corpus, scores=("real",), metrics=METRICS, controls=[NOTHING])


def sum_costs(judged: MemoryVerdicts) -> pd.DataFrame:
    """Return the cost of each memory, one row per judge that asks a model.

    Columns: judge, judged, unscored; building, per user and scenario: build_calls, build_tokens, build_seconds;
    judging, per reply: answer_tokens, answer_seconds; tokens, both together per reply; memory_failed, calls without a
    result.
    """
    rows = []
    for judge, judge_verdicts in judged.model_verdicts.groupby("judge", sort=False):
        notes = judged.notes[str(judge)]
        answers, blocks = [answer for note in notes for answer in note.answers], max(1, len(notes))
        of_building = sum(a.tokens_in + a.tokens_out for a in answers)
        of_judging = (judge_verdicts["tokens_in"] + judge_verdicts["tokens_out"]).astype(float)
        seconds = sum(a.seconds for a in answers) + sum(note.seconds for note in notes)
        rows.append(
            {
                **{"judge": judge, "judged": len(judge_verdicts), "unscored": int(judge_verdicts["raw"].isna().sum())},
                "build_calls": len(answers) / blocks,
                "build_tokens": of_building / blocks,
                "build_seconds": seconds / blocks,
                "answer_tokens": of_judging.mean(),
                "answer_seconds": judge_verdicts["seconds"].astype(float).mean(),
                "tokens": (of_building + of_judging.sum()) / max(1, len(judge_verdicts)),
                "memory_failed": sum(a.error is not None for a in answers),
            }
        )
    return pd.DataFrame(rows)


def find_best_memories(agreed: pd.DataFrame, spent: pd.DataFrame) -> dict[str, list[str]]:
    """Return the judges whose r is better and worse than without a memory, and those that no cheaper judge matches.

    Keys: better and worse, significant after Holm's correction; frontier, the cheapest first.
    """
    rows = agreed[agreed["metric"] == "pearson"].merge(spent[["judge", "tokens"]], on="judge")
    moved = rows[rows["gain_p_holm"] < 0.05]
    cheap = rows.dropna(subset="value").sort_values("tokens", kind="stable")
    ahead = cheap["value"].cummax().shift(fill_value=-2.0) < cheap["value"]
    groups = {"better": moved[moved["gain_low"] > 0], "worse": moved[moved["gain_high"] < 0]}
    return {name: frame["judge"].tolist() for name, frame in (groups | {"frontier": cheap[ahead]}).items()}
