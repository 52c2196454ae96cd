"""The replay study: which turns, whose replies, which judges; and how the candidates compare.

Candidates come from three places: the recorded replies, files (or the corpus itself, where a synthetic world says
what other assistants would have answered), and a backbone that answers now, in several contexts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from perslib import replay
from perslib.corpus import BLOCK, TURN, Corpus, coerce
from perslib.errors import DataError, PerslibError, Problem, UnknownName
from perslib.judge import Judge
from perslib.judge.extent import FEWEST_REPLIES, Extent, listed
from perslib.judge.noted_memories import Memories, collect_memories
from perslib.llm import Backbone
from perslib.stats import agreement

#: The recorded replies once more, as a candidate.
AGAIN = "recorded again"
#: Candidates whose model answers on the spot reply to so many turns at a first look, with so many tokens.
LOOK_TURNS, LOOK_TOKENS = 3, 64
#: So many recorded replies of a block are judged for reference at a first look by a judge that asks a model.
LOOK_REFERENCE = 4
#: The contexts of a backbone, and those whose prompts a model on this machine reads in a moment.
CONTEXTS, LOOK_CONTEXTS = "prefix, task, tfidf, structured", "prefix, task, profile"
#: How turns may be selected, by the name that parameters use; "both" replays the turns of the two sets.
SELECTIONS = ("stratified", "hard", "both")
#: Replay sets by how their turns were chosen.
Sets = dict[str, pd.DataFrame]


@dataclass(frozen=True)
class Replay:
    """Replay sets and all replies to them. The page's standings are on the first set."""

    sets: Sets
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
    def is_whole(self) -> bool:
        """Whether the backbone answers every turn of the first set."""
        return len(self.contexts[TURN].drop_duplicates()) == len(self.turns)


def collect_replies(
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
    """Collect the replies that a page compares; the backbone answers now.

    Parameters
    ----------
    corpus, backbone, look : whose turns are replayed, who answers them anew, and how many.
    selection : one of `SELECTIONS`; replies to other turns are left out. If empty, the recorded replies say which turns
        are replayed; where there are none, turns are drawn at random.
    turns_file : a file of turns instead of a selection (`read_turns`).
    contexts : what the backbone is shown, see `make_candidates`.
    files : JSONL files of replies, separated by commas, instead of those that the corpus has for test users.
    common : whether turns that not every candidate answers are left out; otherwise they are an error.
    language, seed : of the prompts, and for what is drawn at random.
    few : whether only the turns of a first look are replayed.
    """
    if selection and turns_file:
        raise PerslibError(f"Turns come from the file {turns_file} and by selection={selection!r}: leave one out.")
    given, repeated = _given(corpus, files)
    if turns_file:
        sets = {"listed": replay.read_turns(turns_file, corpus)}
    elif given.empty or selection:
        size = 300 if look.is_first_look else look.turns or len(corpus.turns)
        sets = select_turns(corpus, selection or "stratified", size, seed)
    else:
        sets = {"recorded": coerce(given[TURN].drop_duplicates(), "replay_turns")}
    if few:
        sets = _restrict(sets, _asked(sets, look, seed))
    turns = _unite(sets)
    replies, left_out = replay.originals(corpus, turns), 0
    if not given.empty:
        both = pd.concat([replies, replay.recorded(given, turns)], ignore_index=True)
        replies = replay.checked(both, turns, common=common)
        left_out = int(replies.attrs.get("left_out", 0))
    if left_out:
        sets = _restrict(sets, replies[TURN].drop_duplicates())
        # The sets are no longer what was drawn.
        sets = {n: t.assign(inclusion=pd.array([pd.NA] * len(t), "Float64")) for n, t in sets.items()}
    asked = _asked(sets, look, seed)
    candidates = make_candidates(contexts, language, look)
    new = [replay.generated(candidate, corpus, asked, backbone) for candidate in candidates]
    beside = replay.checked(pd.concat([replies.merge(asked[TURN], on=TURN), *new], ignore_index=True), asked)
    everywhere = beside if len(asked) == len(_unite(sets)) else replies
    every = pd.concat([everywhere, beside], ignore_index=True).drop_duplicates(["candidate", *TURN], ignore_index=True)
    every["unlike"] = replay.name_differences(corpus, every)
    everywhere, beside = (select_replies(every, own) for own in (everywhere, beside))
    first = next(iter(sets.values()))
    return Replay(sets, everywhere, beside.merge(first[TURN], on=TURN), left_out, repeated)


def _restrict(sets: Sets, turns: pd.DataFrame) -> Sets:
    """The sets without other turns, and without sets that have none of these."""
    kept = {name: own.merge(turns[TURN], on=TURN) for name, own in sets.items()}
    return {name: own for name, own in kept.items() if len(own)}


def _unite(sets: Sets) -> pd.DataFrame:
    """Every turn of these sets once, without probabilities unless there is one set only."""
    if len(sets) == 1:
        return next(iter(sets.values()))
    return coerce(pd.concat([turns[TURN] for turns in sets.values()]).drop_duplicates(), "replay_turns")


def _given(corpus: Corpus, files: str) -> tuple[pd.DataFrame, int]:
    """Replies that are there already (empty without any), and how many lines of files came twice."""
    known = [replay.read_replies(file, corpus) for file in listed(files)]
    if known:
        return pd.concat(known, ignore_index=True), sum(len(k.attrs.get("left_out", ())) for k in known)
    brought = corpus.extras.get("candidates", pd.DataFrame(columns=["candidate", *TURN, "response"]))
    return brought[brought["user"].isin(corpus.split().get("test", corpus.users["user"]))], 0


def _asked(sets: Sets, look: Extent, seed: int) -> pd.DataFrame:
    """The turns that the backbone answers: all that were drawn; of recorded or listed ones as many as the limit says,
    drawn at random. At a first look, the first few of the block with the most, which one memory serves."""
    turns = next(iter(sets.values()))
    if look.is_first_look:
        largest = turns.groupby(BLOCK, sort=False)["turn"].transform("size")
        return turns[largest == largest.max()].head(LOOK_TURNS)
    if len(sets) > 1 or look.turns is None or look.turns >= len(turns):
        return _unite(sets)
    return turns.sample(look.turns, random_state=seed).sort_index()


def make_candidates(contexts: str, language: str, look: Extent) -> list[replay.Candidate]:
    """Make the candidates that a parameter names by their contexts: "" is those that suit the backbone, "none" none.

    Contexts are prefix, task, profile, tfidf, diverse, and any memory that can be written without scores.
    """
    named = contexts or (LOOK_CONTEXTS if look.is_short else CONTEXTS)
    about: dict[str, Any] = {"language": language, "max_tokens": 1024}
    if look.is_short:
        about |= {"max_tokens": LOOK_TOKENS, "window": look.window}
    names = [] if named == "none" else listed(named)
    made = [replay.make_context(name, language, **look.memory) for name in names]
    return [replay.Candidate(context=context, **about) for context in made]


def add_controls(run: Replay) -> pd.DataFrame:
    """Return all replies of a page, and the recorded ones once more as a candidate, which must be a tie everywhere."""
    own = run.replies[run.replies["candidate"] == replay.ORIGINAL].assign(candidate=AGAIN)
    new = run.contexts[~run.contexts["candidate"].isin(run.everywhere["candidate"])]
    return pd.concat([run.everywhere, own, new], ignore_index=True)


def select_replies(verdicts: pd.DataFrame, replies: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts on these candidates' replies to these turns."""
    return verdicts.merge(replies[["candidate", *TURN]], on=["candidate", *TURN])


def judge_replies(
    judges: Iterable[Judge],
    corpus: Corpus,
    replies: pd.DataFrame,
    backbone: Backbone | None = None,
    *,
    most: int | None = None,
) -> tuple[pd.DataFrame, Memories]:
    """Return all judges' verdicts on all replies, with what is `unlike` about these, and the memories behind them.

    Verdicts are raw, and calibrated by the judge's scores of the recorded replies of the blocks; `most` bounds how many
    of a block a judge that asks a model scores for that.
    """
    turns = replies[TURN].drop_duplicates()

    def judge_all(judge: Judge) -> pd.DataFrame:
        verdicts, bound = replay.scored(judge, corpus, replies, backbone), most if judge.sees.model else None
        beside = replay.reference(judge, corpus, turns, backbone, most=bound, fit=False)
        return replay.on_reference(verdicts, beside, corpus)

    verdicts, memories = collect_memories(judges, judge_all)
    return verdicts.merge(replies[["candidate", *TURN, "unlike"]], on=["candidate", *TURN]), memories


def correlate_with_people(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Return each judge's r with people on the recorded replies that they rated, where these are enough for one."""
    own = verdicts[verdicts["candidate"] == replay.ORIGINAL].drop(columns="candidate")
    found = agreement(own, corpus, scores=["real"], metrics=["pearson"])
    return found[found["turns"] >= FEWEST_REPLIES]


# -- turns -------------------------------------------------------------------------------------------------------


def select_turns(corpus: Corpus, selection: str, size: int = 300, seed: int = 42) -> Sets:
    """Return the replay sets of so many turns that a parameter names; of both, the one drawn at random comes first."""
    if selection not in SELECTIONS:
        raise UnknownName("selection of turns", selection, SELECTIONS)
    found: Sets = {}
    if selection != "hard":
        found["stratified"] = replay.stratified_set(corpus, size, seed=seed)
    if selection != "stratified":
        found["hard"] = replay.hard_set(corpus, size)
        if found["hard"].empty:
            raise DataError(
                Problem(corpus.name, "the published selection is empty: it takes none but rated later turns"),
                "Replay turns drawn at random, with selection='stratified'.",
            )
    return found


def draw_selections(corpus: Corpus, seed: int = 42) -> Sets:
    """Return both selections of turns, or the stratified one where users rated nothing to select by."""
    try:
        return select_turns(corpus, "both", seed=seed)
    except DataError:
        return select_turns(corpus, "stratified", seed=seed)


def describe_selections(profile: pd.DataFrame) -> dict[str, float]:
    """Describe the published selection beside all turns: mean scores, and shares rated 3 or lower and 5."""
    gold, mean = profile.xs("gold", level="part"), profile.xs("mean gold", level="part").iloc[0]
    low = gold.loc[["1", "2", "3"]].sum()
    found = {"all": mean["all"], "stratified": mean["stratified"], "published": mean["hard"]}
    found |= {"low": low["hard"], "all_low": low["all"]}
    return found | {"fives": gold.loc["5", "hard"], "all_fives": gold.loc["5", "all"]}
