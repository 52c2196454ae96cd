"""The replay study: the turns, the sources of replies, the judges, and the comparison of candidates.

Candidates come from three sources: the recorded replies; files, or the corpus itself if a synthetic world has the
replies of other assistants; and a backbone that answers now, in several contexts.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from perslib import replay
from perslib.corpus import BLOCK, TURN, Corpus, coerce
from perslib.errors import DataError, NotEnough, PerslibError, Problem, UnknownName
from perslib.judge import Judge
from perslib.judge.answering import Guarded
from perslib.judge.memory_records import Memories, collect_memories
from perslib.judge.registry import GUARDED
from perslib.judge.scope import FEWEST_REPLIES, StudyScope, split_names
from perslib.llm import Backbone
from perslib.llm.answerers.choice import is_dry_run
from perslib.replay.score_arrays import SCORE
from perslib.stats import agreement

#: The recorded replies a second time, as a candidate.
RECORDED_AGAIN = "recorded again"
#: On a first look, a candidate whose model answers now replies to this number of turns, with this number of tokens.
LOOK_TURNS, LOOK_TOKENS = 3, 64
#: On a first look, a judge that asks a model scores this number of recorded replies per block for reference.
LOOK_REFERENCE = 4
#: The contexts of a backbone, and those with prompts that a model on this machine reads fast.
CONTEXTS, LOOK_CONTEXTS = "prefix, task, tfidf, structured", "prefix, task, profile"
#: Selections of turns by their name in parameters; "both" replays the turns of the two sets.
SELECTIONS = ("stratified", "hard", "both")
#: Replay sets by the selection of their turns.
Sets = dict[str, pd.DataFrame]


@dataclass(frozen=True)
class Replay:
    """Replay sets and all replies to them. The page's standings are on the first set."""

    sets: Sets
    """By selection: stratified, hard, both, listed (in a file), or recorded (if the replies determine the turns)."""
    common_replies: pd.DataFrame
    """Replies of candidates that answer every turn of every set."""
    context_replies: pd.DataFrame
    """Replies of the backbone in its contexts, and of the others on the same turns; few turns on a first look."""
    left_out: int = 0
    """Number of turns that only some candidates answer."""
    repeated: int = 0
    """Number of repeated lines in files; the last one counts."""

    @property
    def selection(self) -> str:
        """Return the name of the first set."""
        return next(iter(self.sets))

    @property
    def turns(self) -> pd.DataFrame:
        """Return the first set."""
        return self.sets[self.selection]

    @property
    def replies(self) -> pd.DataFrame:
        """Return the replies to the turns of the first set."""
        return self.common_replies.merge(self.turns[TURN], on=TURN) if len(self.sets) > 1 else self.common_replies

    @property
    def is_complete(self) -> bool:
        """Return whether the backbone answers every turn of the first set."""
        return len(self.context_replies[TURN].drop_duplicates()) == len(self.turns)


def collect_replies(
    corpus: Corpus,
    backbone: Backbone | None,
    scope: StudyScope,
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

    Raise PerslibError if both `selection` and `turns_file` are given.

    Parameters
    ----------
    corpus, backbone, scope : whose turns are replayed, who answers them again (without a model nobody), and how many.
    selection : one of `SELECTIONS`; replies to other turns are left out. If empty, the recorded replies determine the
        turns; without recorded replies, turns are drawn at random.
    turns_file : a file of turns instead of a selection (`read_turns`).
    contexts : what the backbone is shown, see `make_candidates`.
    files : JSONL files of replies, separated by commas, instead of those that the corpus has for test users.
    common : whether turns that not every candidate answers are left out; otherwise they are an error.
    language, seed : of the prompts, and of random draws.
    few : whether only the turns of a first look are replayed.
    """
    if selection and turns_file:
        raise PerslibError(f"Both the file {turns_file} and selection={selection!r} give the turns: leave one out.")
    known_replies, repeated = _read_known_replies(corpus, files)
    if turns_file:
        sets = {"listed": replay.read_turns(turns_file, corpus)}
    elif known_replies.empty or selection:
        size = 300 if scope.is_first_look else scope.turns or len(corpus.turns)
        sets = select_turns(corpus, selection or "stratified", size, seed)
    else:
        sets = {"recorded": coerce(known_replies[TURN].drop_duplicates(), "replay_turns")}
    if few:
        sets = _restrict(sets, _select_answered_turns(sets, scope, seed))
    turns = _unite(sets)
    replies, left_out = replay.originals(corpus, turns), 0
    if not known_replies.empty:
        both = pd.concat([replies, replay.select_recorded_replies(known_replies, turns)], ignore_index=True)
        replies = replay.align_replies(both, turns, common=common)
        left_out = int(replies.attrs.get("left_out", 0))
    if left_out:
        sets = _restrict(sets, replies[TURN].drop_duplicates())
        # The sets are no longer what was drawn.
        sets = {n: t.assign(inclusion=pd.array([pd.NA] * len(t), "Float64")) for n, t in sets.items()}
    answered_turns = _select_answered_turns(sets, scope, seed)
    candidates = make_candidates(contexts, language, scope)
    new = [replay.generate_replies(candidate, corpus, answered_turns, backbone) for candidate in candidates if backbone]
    in_contexts = replay.align_replies(
        pd.concat([replies.merge(answered_turns[TURN], on=TURN), *new], ignore_index=True), answered_turns
    )
    everywhere = in_contexts if len(answered_turns) == len(_unite(sets)) else replies
    all_replies = pd.concat([everywhere, in_contexts], ignore_index=True).drop_duplicates(
        ["candidate", *TURN], ignore_index=True
    )
    all_replies["unusual_feature"] = "" if is_dry_run() else replay.name_differences(corpus, all_replies)
    everywhere, in_contexts = (select_replies(all_replies, frame) for frame in (everywhere, in_contexts))
    first = next(iter(sets.values()))
    return Replay(sets, everywhere, in_contexts.merge(first[TURN], on=TURN), left_out, repeated)


def _restrict(sets: Sets, turns: pd.DataFrame) -> Sets:
    """Return the sets without other turns, and without sets that have none of these turns."""
    restricted = {name: rows.merge(turns[TURN], on=TURN) for name, rows in sets.items()}
    return {name: rows for name, rows in restricted.items() if len(rows)}


def _unite(sets: Sets) -> pd.DataFrame:
    """Return every turn of these sets once, without probabilities unless there is only one set."""
    if len(sets) == 1:
        return next(iter(sets.values()))
    return coerce(pd.concat([turns[TURN] for turns in sets.values()]).drop_duplicates(), "replay_turns")


def _read_known_replies(corpus: Corpus, files: str) -> tuple[pd.DataFrame, int]:
    """Return the existing replies (empty without any), and the number of repeated lines in files."""
    from_files = [replay.read_replies(file, corpus) for file in split_names(files)]
    if from_files:
        return pd.concat(from_files, ignore_index=True), sum(len(k.attrs.get("left_out", ())) for k in from_files)
    brought = corpus.extras.get("candidates", pd.DataFrame(columns=["candidate", *TURN, "response"]))
    return brought[brought["user"].isin(corpus.split().get("test", corpus.users["user"]))], 0


def _select_answered_turns(sets: Sets, scope: StudyScope, seed: int) -> pd.DataFrame:
    """Return the turns that the backbone answers.

    These are all drawn turns. Of recorded or listed turns, the limit determines how many are drawn at random. On a
    first look, they are the first few turns of the largest block, so that one memory serves them.
    """
    turns = next(iter(sets.values()))
    if scope.is_first_look:
        largest = turns.groupby(BLOCK, sort=False)["turn"].transform("size")
        return turns[largest == largest.max()].head(LOOK_TURNS)
    if len(sets) > 1 or scope.turns is None or scope.turns >= len(turns):
        return _unite(sets)
    return turns.sample(scope.turns, random_state=seed).sort_index()


def make_candidates(contexts: str, language: str, scope: StudyScope) -> list[replay.Candidate]:
    """Return the candidates that a parameter names by their contexts: "" those that suit the backbone, "none" none.

    Contexts are prefix, task, profile, tfidf, diverse, and any memory that can be written without scores.
    """
    named = contexts or (LOOK_CONTEXTS if scope.is_short else CONTEXTS)
    settings: dict[str, Any] = {"language": language, "max_tokens": 1024}
    if scope.is_short:
        settings |= {"max_tokens": LOOK_TOKENS, "window": scope.window}
    names = [] if named == "none" else split_names(named)
    made_contexts = [replay.make_context(name, language, **scope.memory) for name in names]
    return [replay.Candidate(context=context, **settings) for context in made_contexts]


def add_recorded_again(run: Replay) -> pd.DataFrame:
    """Return all replies of a page, and the recorded ones again as a candidate, which must be a tie everywhere."""
    recorded = run.replies[run.replies["candidate"] == replay.ORIGINAL].assign(candidate=RECORDED_AGAIN)
    new = run.context_replies[~run.context_replies["candidate"].isin(run.common_replies["candidate"])]
    return pd.concat([run.common_replies, recorded, new], ignore_index=True)


def select_replies(verdicts: pd.DataFrame, replies: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts on these candidates' replies to these turns."""
    return verdicts.merge(replies[["candidate", *TURN]], on=["candidate", *TURN])


def find_ranking_judge(judge: Judge, unanswered: replay.Unanswered, verdicts: pd.DataFrame) -> Judge:
    """Return the judge as it ranks: with a guard where replies that do not answer count as the lowest, and it could learn which these are."""
    is_guarded = unanswered == "lowest" and verdicts["unanswered"].notna().any()
    return Guarded(judge) if is_guarded and not judge.name.startswith(GUARDED) else judge


def judge_replies(
    judges: Iterable[Judge],
    corpus: Corpus,
    replies: pd.DataFrame,
    backbone: Backbone | None = None,
    *,
    most: int | None = None,
    unanswered: replay.Unanswered = "lowest",
) -> tuple[pd.DataFrame, Memories]:
    """Return all judges' verdicts on all replies with the replies' column `unusual_feature`, and the memories behind them.

    Verdicts are raw, and calibrated by the judge's scores of the recorded replies of the blocks. `most` limits how many
    replies of a block a judge that asks a model scores for this calibration. A reply that does not answer its request
    (column `unanswered`; missing where nothing could be learned of it) counts as `unanswered` says; `as_read` is what the judge
    alone makes of each reply.
    """
    turns = replies[TURN].drop_duplicates()
    marks = replies[["candidate", *TURN]].assign(chance=np.nan, unanswered=None)
    if not is_dry_run():
        with suppress(NotEnough):
            marks = replay.mark_unanswered(corpus, replies)

    def judge_all(judge: Judge) -> pd.DataFrame:
        verdicts, bound = (
            replay.judge_candidates(judge, corpus, replies, backbone),
            most if judge.inputs.model else None,
        )
        reference = replay.judge_recorded_replies(judge, corpus, turns, backbone, most=bound, fit=False)
        as_read = replay.calibrate_on_reference(verdicts, reference, corpus)
        counted = replay.count_unanswered(verdicts, marks, corpus, unanswered)
        calibrated = as_read if counted is verdicts else replay.calibrate_on_reference(counted, reference, corpus)
        return calibrated.assign(as_read=as_read[SCORE].to_numpy())

    verdicts, memories = collect_memories(judges, judge_all)
    about = replies[["candidate", *TURN, "unusual_feature"]].merge(
        marks.drop(columns="chance"), on=["candidate", *TURN]
    )
    return verdicts.merge(about, on=["candidate", *TURN]), memories


def correlate_with_people(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Return each judge's r with people on the recorded replies that they rated, if there are enough of them."""
    recorded = verdicts[verdicts["candidate"] == replay.ORIGINAL].drop(columns="candidate")
    agreed = agreement(recorded, corpus, scores=["real"], metrics=["pearson"])
    return agreed[agreed["turns"] >= FEWEST_REPLIES]


# -- turns -------------------------------------------------------------------------------------------------------


def select_turns(corpus: Corpus, selection: str, size: int = 300, seed: int = 42) -> Sets:
    """Return the replay sets of a selection, each with `size` turns; for "both", the set drawn at random comes first.

    Raise UnknownName for another selection, and DataError if the published selection is empty.
    """
    if selection not in SELECTIONS:
        raise UnknownName("selection of turns", selection, SELECTIONS)
    sets: Sets = {}
    if selection != "hard":
        sets["stratified"] = replay.stratified_set(corpus, size, seed=seed)
    if selection != "stratified":
        sets["hard"] = replay.hard_set(corpus, size)
        if sets["hard"].empty:
            raise DataError(
                Problem(corpus.name, "the published selection is empty: it takes only rated later turns"),
                "Replay turns drawn at random, with selection='stratified'.",
            )
    return sets


def draw_selections(corpus: Corpus, seed: int = 42) -> Sets:
    """Return both selections of turns, or only the stratified one if users rated nothing that could be selected."""
    try:
        return select_turns(corpus, "both", seed=seed)
    except DataError:
        return select_turns(corpus, "stratified", seed=seed)


def describe_selections(profile: pd.DataFrame) -> dict[str, float]:
    """Return the mean scores, and shares rated 3 or lower and 5, of the published selection and of all turns."""
    gold, mean = profile.xs("gold", level="part"), profile.xs("mean gold", level="part").iloc[0]
    low = gold.loc[["1", "2", "3"]].sum()
    numbers = {"all": mean["all"], "stratified": mean["stratified"], "published": mean["hard"]}
    numbers |= {"low": low["hard"], "all_low": low["all"]}
    return numbers | {"fives": gold.loc["5", "hard"], "all_fives": gold.loc["5", "all"]}
