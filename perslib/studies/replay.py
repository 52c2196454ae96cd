"""The replay study: which turns, whose replies, which judges; then the tables of one page.

Candidates come from three places: the recorded replies, files (or the corpus itself, where a synthetic world says
what other assistants would have answered), and a backbone that answers now, in several contexts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from perslib.corpus import TURN, Corpus, coerce
from perslib.errors import UnknownName
from perslib.judge import Judge, LearnedJudge, Manner, Nearest, Supervised
from perslib.llm import Backbone
from perslib.memory import MemorySystem, Structured
from perslib.replay import (
    ORIGINAL,
    Candidate,
    checked,
    generated,
    hard_set,
    on_reference,
    originals,
    read_replies,
    recorded,
    reference,
    scored,
    stratified_set,
)
from perslib.studies.extent import Extent
from perslib.studies.verification import asked_judge

#: How turns may be selected, by the name that parameters use.
SELECTIONS = {"stratified": stratified_set, "hard": hard_set}
#: The calibrations that a ranking should survive.
VIEWS = ("reference_cdf", "reference_mean_shift", "real")
#: Judges that ask no model, by the names that parameters use.
COMPUTED = {"learned": LearnedJudge, "supervised": Supervised, "nearest": Nearest}
#: The recorded replies once more, as a candidate.
AGAIN = "recorded again"
#: Candidates whose model answers on the spot reply to so many turns at a first look, with so many tokens.
LOOK_TURNS, LOOK_TOKENS = 3, 64
#: The contexts of a backbone, and those whose prompts a model on this machine reads in a moment.
CONTEXTS, LOOK_CONTEXTS = "prefix, task, tfidf, structured", "prefix, task, profile"


@dataclass(frozen=True)
class Replay:
    """A replay set and all replies to it."""

    turns: pd.DataFrame
    replies: pd.DataFrame
    """Of candidates that answer every turn."""
    contexts: pd.DataFrame
    """Of the backbone in its contexts, and of the others on the same turns; at a first look on a few turns only."""
    selection: str
    """How the turns were chosen: stratified, hard, or recorded where the replies said which."""

    @property
    def inclusion(self) -> pd.DataFrame | None:
        """The turns with their probabilities, where the set was drawn by lot."""
        return self.turns if self.turns["inclusion"].notna().all() else None


def replay(
    corpus: Corpus,
    backbone: Backbone,
    look: Extent,
    *,
    selection: str = "stratified",
    contexts: str = "",
    files: str = "",
    common: bool = False,
    language: str = "en",
    seed: int = 42,
) -> Replay:
    """The replies that a page compares.

    `files` are JSONL files of replies, separated by commas; without any, those count that the corpus brings along for
    test users. Where there are such replies they say which turns are replayed, else `selection` draws them. Turns that
    not every candidate answers are an error, or with `common` left out.
    """
    if selection not in SELECTIONS:
        raise UnknownName("selection of turns", selection, SELECTIONS)
    given = _given(corpus, files)
    if given.empty:
        size = 300 if look.is_first_look else look.turns or len(corpus.turns)
        turns = hard_set(corpus, size) if selection == "hard" else stratified_set(corpus, size, seed=seed)
        replies = checked(originals(corpus, turns), turns)
    else:
        turns, selection = coerce(given[TURN].drop_duplicates(), "replay_turns"), "recorded"
        both = pd.concat([originals(corpus, turns), recorded(given, turns)], ignore_index=True)
        replies = checked(both, turns, common=common)
        turns = turns.merge(replies[TURN].drop_duplicates(), on=TURN)
    asked = _asked(turns, look, seed)
    new = [generated(c, corpus, asked, backbone) for c in asking(contexts, language, look)]
    beside = checked(pd.concat([replies.merge(asked[TURN], on=TURN), *new], ignore_index=True), asked)
    return Replay(turns, beside if len(asked) == len(turns) else replies, beside, selection)


def _given(corpus: Corpus, files: str) -> pd.DataFrame:
    """Replies that are there already; empty without any."""
    known = [read_replies(Path(f.strip()), corpus) for f in files.split(",") if f.strip()]
    if known:
        return pd.concat(known, ignore_index=True)
    brought = corpus.extras.get("candidates", pd.DataFrame(columns=["candidate", *TURN, "response"]))
    return brought[brought["user"].isin(corpus.split().get("test", corpus.users["user"]))]


def _asked(turns: pd.DataFrame, look: Extent, seed: int) -> pd.DataFrame:
    """The turns that the backbone answers: all, as many as the limit says by lot, or at a first look the first few
    of the block with the most, which one memory serves."""
    if look.is_first_look:
        largest = turns.groupby(["user", "scenario"], sort=False)["turn"].transform("size")
        return turns[largest == largest.max()].head(LOOK_TURNS)
    if look.turns is None or look.turns >= len(turns):
        return turns
    return turns.sample(look.turns, random_state=seed).sort_index()


def asking(contexts: str, language: str, look: Extent) -> list[Candidate]:
    """The candidates that a parameter names by their contexts, "" for those that suit the backbone, "none" for none.

    Contexts are prefix, task, profile, tfidf, diverse, and structured: a memory written without scores.
    """
    named = contexts or (LOOK_CONTEXTS if look.is_first_look else CONTEXTS)
    listed = [] if named == "none" else [name.strip() for name in named.split(",") if name.strip()]
    most = LOOK_TOKENS if look.is_first_look else 1024
    window = look.window if look.is_first_look else None
    return [
        Candidate(context=_context(name, language, look), language=language, max_tokens=most, window=window)
        for name in listed
    ]


def _context(name: str, language: str, look: Extent) -> str | MemorySystem:
    return Structured(language, **look.memory) if name == "structured" else name


def to_judge(run: Replay) -> pd.DataFrame:
    """All replies of a page, and the recorded ones once more as a candidate, which whatever is fair calls a tie."""
    own = run.replies[run.replies["candidate"] == ORIGINAL].assign(candidate=AGAIN)
    new = run.contexts[~run.contexts["candidate"].isin(run.replies["candidate"])]
    return pd.concat([run.replies, own, new], ignore_index=True)


def of_candidates(verdicts: pd.DataFrame, replies: pd.DataFrame) -> pd.DataFrame:
    """The verdicts on these candidates' replies to these turns."""
    return verdicts.merge(replies[["candidate", *TURN]], on=["candidate", *TURN])


def judge_named(name: str, manner: Manner, look: Extent) -> Judge:
    """A judge by the name that parameters use: one of `COMPUTED`, or one that asks a model."""
    return COMPUTED[name]() if name in COMPUTED else asked_judge(name, manner, **look.memory)


def judged(
    judges: Iterable[Judge],
    corpus: Corpus,
    replies: pd.DataFrame,
    backbone: Backbone | None = None,
    *,
    most: int | None = None,
) -> pd.DataFrame:
    """All judges' verdicts on all replies, raw and calibrated by their scores of the recorded replies of the blocks.

    `most` bounds how many recorded replies of a block are judged for that.
    """
    turns = replies[TURN].drop_duplicates()
    frames = []
    for judge in judges:
        verdicts = scored(judge, corpus, replies, backbone)
        frames.append(on_reference(verdicts, reference(judge, corpus, turns, backbone, most=most), corpus))
    return pd.concat(frames, ignore_index=True)
