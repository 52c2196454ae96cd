"""The replay study: which turns, whose replies, which judges; and how the candidates compare.

Candidates come from three places: the recorded replies, files (or the corpus itself, where a synthetic world says
what other assistants would have answered), and a backbone that answers now, in several contexts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from perslib.corpus import BLOCK, TURN, Corpus, coerce
from perslib.errors import DataError, PerslibError, Problem, UnknownName
from perslib.judge import Judge, LearnedJudge, Manner, Nearest, Supervised
from perslib.llm import Backbone
from perslib.memory import MEMORIES, UserMemory, memory
from perslib.replay import (
    ORIGINAL,
    Candidate,
    checked,
    generated,
    hard_set,
    on_reference,
    originals,
    read_replies,
    read_turns,
    recorded,
    reference,
    scored,
    stratified_set,
)
from perslib.stats import agreement
from perslib.studies.extent import FEWEST_REPLIES, Extent, listed
from perslib.studies.rationales import Memories, keeping
from perslib.studies.verification import ASKED, asked_judge, asks

#: Judges that ask no model, by the names that parameters use.
COMPUTED = {"learned": LearnedJudge, "supervised": Supervised, "nearest": Nearest}
#: The recorded replies once more, as a candidate.
AGAIN = "recorded again"
#: Candidates whose model answers on the spot reply to so many turns at a first look, with so many tokens.
LOOK_TURNS, LOOK_TOKENS = 3, 64
#: So many recorded replies of a block are judged for reference at a first look by a judge that asks a model.
LOOK_REFERENCE = 4
#: The contexts of a backbone, and those whose prompts a model on this machine reads in a moment.
CONTEXTS, LOOK_CONTEXTS = "prefix, task, tfidf, structured", "prefix, task, profile"


@dataclass(frozen=True)
class Replay:
    """Replay sets and all replies to them. The page's standings are on the first set."""

    sets: dict[str, pd.DataFrame]
    """By how the turns were chosen: stratified, hard, both of these, listed in a file, or recorded where the replies
    said which."""
    everywhere: pd.DataFrame
    """Replies of candidates that answer every turn of every set."""
    contexts: pd.DataFrame
    """Of the backbone in its contexts, and of the others on the same turns; on a few turns only at a first look."""
    left_out: int = 0
    """Turns that some candidate answers and others do not."""
    repeated: int = 0
    """Lines of files that came twice; the last counts."""

    @property
    def selection(self) -> str:
        """The name of the first set."""
        return next(iter(self.sets))

    @property
    def turns(self) -> pd.DataFrame:
        """The first set."""
        return self.sets[self.selection]

    @property
    def replies(self) -> pd.DataFrame:
        """Those to the turns of the first set."""
        return self.everywhere.merge(self.turns[TURN], on=TURN) if len(self.sets) > 1 else self.everywhere

    @property
    def inclusion(self) -> pd.DataFrame | None:
        """The first set with the probabilities of its turns, where it was drawn by lot."""
        return chance(self.turns)

    @property
    def is_whole(self) -> bool:
        """Whether the backbone answers every turn of the first set."""
        return len(self.contexts[TURN].drop_duplicates()) == len(self.turns)


def replay(
    corpus: Corpus,
    backbone: Backbone,
    look: Extent,
    *,
    selection: str = "",
    turns_file: str = "",
    contexts: str = "",
    files: str = "",
    common: bool = False,
    language: str = "en",
    seed: int = 42,
    few: bool = False,
) -> Replay:
    """The replies that a page compares.

    `files` are JSONL files of replies, separated by commas; without any, those count that the corpus brings along for
    test users. With an empty `selection` such replies say which turns are replayed, and without any the turns are
    drawn by lot; a selection that is named draws them in any case, and replies to other turns are left aside. "both"
    replays the fair draw and the published selection, each in full. Instead of a selection, `turns_file` may list
    the turns (`read_turns`). Turns that not every candidate answers are an error, or with `common` left out. `few`
    keeps to the turns of a first look.
    """
    if selection and turns_file:
        raise PerslibError(
            f"Turns come from the file {turns_file} and by selection={selection!r}: leave one out."
        )
    given, repeated = _given(corpus, files)
    if turns_file:
        sets = {"listed": read_turns(turns_file, corpus)}
    elif given.empty or selection:
        size = 300 if look.is_first_look else look.turns or len(corpus.turns)
        sets = selected(corpus, selection or "stratified", size, seed)
    else:
        sets = {"recorded": coerce(given[TURN].drop_duplicates(), "replay_turns")}
    if few:
        sets = _only(sets, _asked(sets, look, seed))
    turns = united(sets)
    replies = originals(corpus, turns)
    left_out = 0
    if not given.empty:
        both = pd.concat([replies, recorded(given, turns)], ignore_index=True)
        replies = checked(both, turns, common=common)
        left_out = int(replies.attrs.get("left_out", 0))
        if left_out:
            sets = _only(sets, replies[TURN].drop_duplicates())
            gone = {"inclusion": "Float64"}  # no longer what was drawn
            sets = {name: own.assign(inclusion=pd.NA).astype(gone) for name, own in sets.items()}
    asked = _asked(sets, look, seed)
    new = [generated(c, corpus, asked, backbone) for c in asking(contexts, language, look)]
    beside = checked(pd.concat([replies.merge(asked[TURN], on=TURN), *new], ignore_index=True), asked)
    whole = beside if len(asked) == len(united(sets)) else replies
    first = next(iter(sets.values()))
    return Replay(sets, whole, beside.merge(first[TURN], on=TURN), left_out, repeated)


def _only(sets: dict[str, pd.DataFrame], turns: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The sets without other turns; those that have none of these are no sets any more."""
    kept = {name: own.merge(turns[TURN], on=TURN) for name, own in sets.items()}
    return {name: own for name, own in kept.items() if len(own)}


def _given(corpus: Corpus, files: str) -> tuple[pd.DataFrame, int]:
    """Replies that are there already (empty without any), and how many lines of files came twice."""
    known = [read_replies(file, corpus) for file in listed(files)]
    if known:
        return pd.concat(known, ignore_index=True), sum(len(k.attrs.get("left_out", ())) for k in known)
    brought = corpus.extras.get("candidates", pd.DataFrame(columns=["candidate", *TURN, "response"]))
    return brought[brought["user"].isin(corpus.split().get("test", corpus.users["user"]))], 0


def _asked(sets: dict[str, pd.DataFrame], look: Extent, seed: int) -> pd.DataFrame:
    """The turns that the backbone answers: all that were drawn; of recorded or listed ones as many as the limit says,
    by lot. At a first look, the first few of the block with the most, which one memory serves."""
    turns = next(iter(sets.values()))
    if look.is_first_look:
        largest = turns.groupby(BLOCK, sort=False)["turn"].transform("size")
        return turns[largest == largest.max()].head(LOOK_TURNS)
    if len(sets) > 1 or look.turns is None or look.turns >= len(turns):
        return united(sets)
    return turns.sample(look.turns, random_state=seed).sort_index()


def asking(contexts: str, language: str, look: Extent) -> list[Candidate]:
    """The candidates that a parameter names by their contexts, "" for those that suit the backbone, "none" for none.

    Contexts are prefix, task, profile, tfidf, diverse, and any memory of `perslib.memory.MEMORIES` that can be written
    without scores.
    """
    named = contexts or (LOOK_CONTEXTS if look.is_short else CONTEXTS)
    about: dict[str, Any] = {"language": language, "max_tokens": LOOK_TOKENS if look.is_short else 1024}
    about["window"] = look.window if look.is_short else None
    found = []
    for name in [] if named == "none" else listed(named):
        wanted = name.removeprefix("memory: ")
        context = memory(wanted, language, **look.memory) if wanted in MEMORIES else name
        found.append(Candidate(context=context, **about))
    return found


def to_judge(run: Replay) -> pd.DataFrame:
    """All replies of a page, and the recorded ones once more as a candidate, which whatever is fair calls a tie."""
    own = run.replies[run.replies["candidate"] == ORIGINAL].assign(candidate=AGAIN)
    new = run.contexts[~run.contexts["candidate"].isin(run.everywhere["candidate"])]
    return pd.concat([run.everywhere, own, new], ignore_index=True)


def of_candidates(verdicts: pd.DataFrame, replies: pd.DataFrame) -> pd.DataFrame:
    """The verdicts on these candidates' replies to these turns."""
    return verdicts.merge(replies[["candidate", *TURN]], on=["candidate", *TURN])


def judges_named(frozen: str, others: str, manner: Manner, look: Extent) -> list[Judge]:
    """The frozen judge and those it is compared with, each once: of `COMPUTED`, or such as ask a model."""
    names = listed(f"{frozen}, {others}")
    for name in names:
        if name not in COMPUTED and not asks(name):
            raise UnknownName("judge", name, [*COMPUTED, *ASKED])
    return [
        COMPUTED[name]() if name in COMPUTED else asked_judge(name, manner, **look.memory)
        for name in dict.fromkeys(names)
    ]


def judged(
    judges: Iterable[Judge],
    corpus: Corpus,
    replies: pd.DataFrame,
    backbone: Backbone | None = None,
    *,
    most: int | None = None,
) -> tuple[pd.DataFrame, Memories]:
    """All judges' verdicts on all replies, raw and calibrated by their scores of the recorded replies of the blocks,
    and the memories behind them.

    `most` bounds how many recorded replies of a block a judge that asks a model scores for that.
    """
    turns = replies[TURN].drop_duplicates()
    frames: list[pd.DataFrame] = []
    memories: dict[tuple[str, str, str], UserMemory] = {}
    for judge, built in map(keeping, judges):
        verdicts = scored(judge, corpus, replies, backbone)
        beside = reference(judge, corpus, turns, backbone, most=most if judge.sees.model else None, fit=False)
        frames.append(on_reference(verdicts, beside, corpus))
        memories |= {(judge.name, user, scenario): memory for (user, scenario, _), memory in built.items()}
    return pd.concat(frames, ignore_index=True), memories


def with_people(verdicts: pd.DataFrame, corpus: Corpus, seed: int = 42) -> pd.DataFrame:
    """Each judge's r with people on the recorded replies that they rated, where these are enough for one."""
    own = verdicts[verdicts["candidate"] == ORIGINAL].drop(columns="candidate")
    found = agreement(own, corpus, scores=["real"], metrics=["pearson"], seed=seed)
    return found[found["turns"] >= FEWEST_REPLIES]


#: How turns may be selected, by the name that parameters use; "both" replays the turns of the two sets.
SELECTIONS = ("stratified", "hard", "both")


def selected(corpus: Corpus, selection: str, size: int, seed: int = 42) -> dict[str, pd.DataFrame]:
    """The replay sets of so many turns that a parameter names; of both, the one drawn by lot comes first."""
    if selection not in SELECTIONS:
        raise UnknownName("selection of turns", selection, SELECTIONS)
    names = ("stratified", "hard") if selection == "both" else (selection,)
    found = {
        name: hard_set(corpus, size) if name == "hard" else stratified_set(corpus, size, seed=seed)
        for name in names
    }
    if "hard" in found and found["hard"].empty:
        raise DataError(
            Problem(corpus.name, "the published selection is empty: it takes none but rated later turns"),
            "Replay turns drawn by lot, with selection='stratified'.",
        )
    return found


def united(sets: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Every turn of these sets once: a replay set without probabilities, unless it is one set alone."""
    if len(sets) == 1:
        return next(iter(sets.values()))
    return coerce(pd.concat([turns[TURN] for turns in sets.values()]).drop_duplicates(), "replay_turns")


def sets(corpus: Corpus, seed: int = 42) -> dict[str, pd.DataFrame]:
    """The fair draw and the published selection; without the latter where users rated nothing to select by."""
    drawn = {"stratified": stratified_set(corpus, seed=seed)}
    if corpus.turns["score"].isna().all():
        return drawn
    hard = hard_set(corpus)
    return drawn | ({"hard": hard} if len(hard) else {})


def chance(turns: pd.DataFrame) -> pd.DataFrame | None:
    """The turns with their probabilities, where the set was drawn by lot."""
    return turns if len(turns) and turns["inclusion"].notna().all() else None


def selection_facts(profile: pd.DataFrame) -> dict[str, float]:
    """What the published selection does to the recorded replies: mean scores, and shares rated low and 5."""
    gold, mean = profile.xs("gold", level="part"), profile.xs("mean gold", level="part").iloc[0]
    low = gold.loc[["1", "2", "3"]].sum()
    found = {"all": mean["all"], "stratified": mean["stratified"], "published": mean["hard"]}
    found |= {"low": low["hard"], "all_low": low["all"]}
    return found | {"fives": gold.loc["5", "hard"], "all_fives": gold.loc["5", "all"]}
