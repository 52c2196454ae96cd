"""The page on UXBench: construction's funnel, the reward model and the three tasks, on a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, cast

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Corpus
from perslib.errors import DataError, NotEnough
from perslib.judge import Judge, LearnedJudge, TaskStatistic, UserMean
from perslib.judge.evaluate import evaluate, select_blocks
from perslib.judge.scope import FEWEST_REPLIES, StudyScope, require_model
from perslib.llm import Backbone
from perslib.llm.answerers.choice import is_dry_run
from perslib.prompts import PromptSettings
from perslib.report.show.claims import Estimate
from perslib.report.show.tables import show_estimate
from perslib.stats import SEED, Resamples
from perslib.stats.agreement.metrics import measure_under
from perslib.stats.resample.agreement_sums import AgreementSums
from perslib.systems.uxbench import bench as ux
from perslib.systems.uxbench.construction import (
    FilteredSession,
    Rejection,
    Rules,
    find_case_candidates,
    read_filtered_sessions,
)
from perslib.systems.uxbench.loaders.logs import Source
from perslib.systems.uxbench.signals import SignalSettings, behavioural
from perslib.systems.uxbench.signals.model import DEFAULT
from perslib.systems.uxbench.statistics import compare_auroc, detection
from perslib.systems.uxbench.tasks.judging import SHOTS, Strategy

#: Baselines of `perslib.systems.uxbench.bench.judge_with_baselines`, each of which uses a single property of cases.
BASELINES = ("majority", "length only", "history only", "query only", "reply only")
#: The control beside the reward model: the user's mean rating elsewhere, which reads no reply.
USER_MEAN = UserMean().name
#: Minimum number of cases of a first look; it uses the shortest cases, so that it stays fast.
FEWEST_LOOK_CASES = 10
#: Number of replies on which judges with each memory are compared.
MEMORY_REPLIES = 120
#: The reward model that has learned from all rated replies of other users, and not only from the judged cases.
ALL_RATED = "reward, all ratings"


# -- construction -----------------------------------------------------------------------------------------------------


def count_candidates(source: Source | Corpus) -> tuple[pd.DataFrame, pd.DataFrame, list[FilteredSession]]:
    """Count what construction keeps before any model is asked; return a row per stage, the reasons, and the sessions.

    The sessions are those that remain. Raise NotEnough if there are no sessions with replies.
    """
    rules, rejected, unfit = Rules(), list[Rejection](), list[Rejection]()
    sessions = read_filtered_sessions(source, rules, rejected)
    if not sessions and not rejected:
        raise NotEnough(
            "Cases are constructed from sessions with replies, and there are none. Give a raw log: `-p log=PATH`."
        )
    case_candidates = [one for talk in sessions for one in find_case_candidates(talk, rules, unfit)]
    sides = pd.Series([one.side for one in case_candidates], dtype="str").value_counts()
    rows = [("read and gate", len(sessions), len(rejected)), ("candidates", len(case_candidates), len(unfit))]
    rows += [(f"candidates, {side}", n, 0) for side, n in sides.items()]
    funnel = pd.DataFrame(rows, columns=["stage", "left", "rejected"])
    funnel.insert(1, "in", funnel["left"] + funnel["rejected"])
    reasons = pd.DataFrame([*rejected, *unfit], columns=Rejection._fields)[["stage", "reason"]]
    return funnel, reasons.value_counts().rename("count").reset_index(), sessions


def draw_places(number: int, most: int | None, seed: int = SEED) -> list[int]:
    """Return at most `most` places, drawn by the seed, in their order; all places if `most` is None or 0."""
    return sorted(np.random.default_rng(seed).permutation(number)[: most or number].tolist())


# -- a memory of behaviour --------------------------------------------------------------------------------------------


def compare_behaviour_memory(
    corpus: Corpus,
    limit: int = MEMORY_REPLIES,
    judges: Sequence[Judge] | None = None,
    seed: int = SEED,
    settings: SignalSettings = DEFAULT,
) -> pd.DataFrame:
    """Return the agreement of judges with the users' scores, with a memory of ratings and with one of behaviour.

    A judge learns from labels of the same kind as its memory. The controls are `task mean` on ratings, and shuffled
    labels. All are compared on the replies that all scored, with intervals over users. Raise NotEnough if these are too
    few.

    Columns: judge, memory, turns, users, r, kept (r over that of the rated memory), both with bounds.
    """
    weak = behavioural(corpus, settings)
    dealt = pd.array(weak.turns["score"].sample(frac=1, random_state=seed).to_numpy(), "Int64")
    shuffled = replace(weak, name=f"{corpus.name}-shuffled", turns=weak.turns.assign(score=dealt))
    memories = {"rated": corpus, "behaviour": weak, "shuffled": shuffled}
    blocks = {
        memory: list(select_blocks(blocks_of_memory, limit=limit, seed=seed))
        for memory, blocks_of_memory in memories.items()
    }
    # The simplest and the strongest judge that use a memory without asking a model.
    ways = list(product([UserMean(), LearnedJudge()] if judges is None else judges, memories))
    scores_by_way = {}
    for judge, memory in [*ways, (TaskStatistic("mean"), "rated")]:
        blocks_of_memory = [block for block in blocks[memory] if len(block)]
        verdicts = evaluate(judge, memories[memory], blocks=blocks_of_memory, progress=False).set_index(TURN)
        scores_by_way[judge.name, memory] = verdicts["expected"].fillna(verdicts["raw"]).astype(float)
    scores = corpus.turns.set_index(TURN)["score"].dropna().astype(float)
    wide = pd.concat(scores_by_way, axis=1).sort_index()
    complete = wide[wide.index.isin(scores.index)].dropna()
    if len(complete) < FEWEST_REPLIES:
        raise NotEnough("Memories are not compared: only {n} rated replies were scored by all judges.", n=len(complete))
    users = Resamples(complete.index.get_level_values("user"))
    gold, r_by_way, rows = scores.loc[complete.index].to_numpy(), {}, []
    for name, memory in scores_by_way:
        sums = AgreementSums(gold, complete[name, memory].to_numpy(), users.group, len(users))
        r = r_by_way[name, memory] = measure_under(sums, ["pearson"], users.weights)["pearson"]
        rated = r_by_way[name, "rated"]
        share = np.divide(r, rated, out=np.full(len(r), np.nan), where=np.abs(rated) > 1e-9)
        columns = {"judge": name, "memory": memory, "turns": len(complete), "users": len(users)}
        share_kept = share if memory != "rated" else share[:1]
        rows.append(columns | users.estimate(r, "r", "correlation") | users.estimate(share_kept, "kept"))
    return pd.DataFrame(rows)


# -- the reward model -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rewards:
    """Two reward models; each learned from one half of the users and scores the other half."""

    models: list[ux.Reward]
    unseen_by: dict[str, int]
    """User → the index of the model that has not seen this user."""
    verdicts: pd.DataFrame
    """Verdicts on every labelled reply, by the model that has not seen its user."""
    labels: str
    """What the models learned from: ratings, gold labels or behaviour."""

    def select_unseen(self, cases: Iterable[ux.Case], model: int) -> list[ux.Case]:
        """Return the cases of users that a model has not seen."""
        return [case for case in cases if self.unseen_by.get(case.user or case.case, 0) == model]

    def score(self, replies: pd.DataFrame, cases: Sequence[ux.Case]) -> pd.DataFrame:
        """Return the replies with a verdict each, by the model that has not seen the case's user."""
        parts = [replies.iloc[:0]]
        for i, model in enumerate(self.models):
            unseen_replies = replies[replies["case"].isin({case.case for case in self.select_unseen(cases, i)})]
            parts += [ux.judge_task_replies(unseen_replies, cases, model)] if len(unseen_replies) else []
        return pd.concat(parts[1:] or parts).sort_index()


def fit_rewards(corpus: Corpus, seed: int = SEED) -> Rewards:
    """Fit reward models to all ratings, otherwise to gold labels, clicks, or what behaviour shows.

    Raise NotEnough if a half of the users lacks good or bad replies.
    """
    lessons, labels = ux.lessons_of(corpus), "ratings"
    if any(lesson.source.startswith("gold") for lesson in lessons):
        labels = "gold labels"
    if len({c.gold for c in lessons}) < 2:
        lessons, labels = ux.lessons_of(behavioural(corpus)), "behaviour"
    users = sorted({c.user or c.case for c in lessons})
    order = np.random.default_rng(seed).permutation(len(users))
    half = {users[i]: place % 2 for place, i in enumerate(order)}
    sides = [[c for c in lessons if half[c.user or c.case] == side] for side in (0, 1)]
    if any(len({c.gold for c in side_lessons}) < 2 for side_lessons in sides):
        good = sum(c.gold == 1 for c in lessons)
        raise NotEnough(
            "A reward model is trained on good and bad replies of one half of the users and applied to the other "
            "half; here one half lacks either (in all {good} good and {bad} bad ones, users: {users}). Add "
            "ratings, likes and dislikes, or complaints and thanks, of more users.",
            good=good,
            bad=len(lessons) - good,
            users=len(users),
        )
    models = [ux.Reward(seed=seed, name=ALL_RATED) for _ in sides]
    if is_dry_run():  # nobody looks at what they would say
        return Rewards(models, half, pd.DataFrame(), labels)
    models = [model.learn(sides[1 - side]) for side, model in enumerate(models)]
    verdicts = pd.concat([m.verdicts(side_lessons) for m, side_lessons in zip(models, sides)], ignore_index=True)
    return Rewards(models, half, verdicts, labels)


# -- UX Judge ---------------------------------------------------------------------------------------------------------


def select_cases(corpus: Corpus, limit: int, seed: int = SEED) -> list[ux.Case]:
    """Return a released split's cases, otherwise as many replies that users clearly liked as clearly disliked."""
    try:
        released = [c for c in ux.released_cases(corpus, "task1") if c.gold is not None]
    except DataError:
        return ux.judge_cases(corpus, limit, seed=seed)
    return [released[i] for i in draw_places(len(released), limit, seed)]


def ask_model(
    cases: Sequence[ux.Case],
    model: Backbone | None,
    language: str,
    scope: StudyScope,
    strategies: Sequence[str],
    effort: str = "",
    seed: int = SEED,
) -> pd.DataFrame:
    """Ask a model for verdicts with two classes and with three.

    A first look has a few cases and shows only the request. Examples for few-shot are cases that are not judged. Raise
    NotEnough if there are too few cases.
    """
    if not cases:
        raise NotEnough("The model was not asked: there is no case to judge.")
    require_model(model)
    if scope.is_first_look:
        cases = sorted(cases, key=lambda c: len(c.query) + len(c.reply))[: max(FEWEST_LOOK_CASES, len(cases) // 4)]
    most = scope.turns or len(cases)
    if "few-shot" in strategies:
        if len(cases) <= 2 * SHOTS:
            raise NotEnough(
                "Few-shot needs {kept} cases for its examples, and there are {cases} in all. Add cases, or remove "
                "few-shot from `strategies`.",
                kept=2 * SHOTS,
                cases=len(cases),
            )
        most = min(most, len(cases) - 2 * SHOTS)
    few = draw_balanced(cases, most, seed)
    drawn_ids = {case.case for case in few}
    rest = [case for case in cases if case.case not in drawn_ids]
    form = PromptSettings(language, window=0 if scope.is_short else None, effort=effort or None)
    verdicts = []
    for strategy, classes in [*((strategy, 2) for strategy in strategies), (strategies[0], 3)]:
        examples = ux.sample_shots(rest, seed=seed) if strategy == "few-shot" else ()
        judge = ux.UXJudge(form, cast(Strategy, strategy), cast(Literal[2, 3], classes), examples)
        verdicts.append(ux.judge_each_case(judge, few, model))
    return pd.concat(verdicts, ignore_index=True)


def draw_balanced(cases: Sequence[ux.Case], number: int, seed: int = SEED) -> list[ux.Case]:
    """Return `number` cases drawn by the seed, half of them good and half bad."""
    rng = np.random.default_rng(seed)
    sides = [[c for c in cases if c.gold == side] for side in (1, -1)]
    mixed = [side[i] for side in sides for i in rng.permutation(len(side))[: -(-number // 2)]]
    return mixed if len(mixed) <= number else mixed[: number // 2] + mixed[-(number - number // 2) :]


def judge_by_ratings(corpus: Corpus, cases: Sequence[ux.Case]) -> pd.DataFrame:
    """Return verdicts of the learned judge, and of the user's mean, on the cases of test users.

    Columns as in `perslib.systems.uxbench.bench.verdicts_of_scores`.

    Raise NotEnough if no user with a case has scores in other scenarios.
    """
    test = [u for u in corpus.split().get("test", []) if u in {c.user for c in cases}]
    table = pd.DataFrame()
    if corpus.block_ids(test) and corpus.turns["score"].notna().any():
        by_each = [evaluate(judge, corpus, users=test, progress=False) for judge in (LearnedJudge(), UserMean())]
        verdicts = by_each[0].dropna(subset="expected")
        of_mean = by_each[1].merge(verdicts[TURN], on=TURN)  # on the same replies
        table = ux.verdicts_of_scores(pd.concat([verdicts, of_mean], ignore_index=True), cases)
    if table.empty:
        raise NotEnough(
            "The learned judge uses scores that users gave in other scenarios, and in {name} no user with a case "
            "here has any. Add scores from 1 to 5 in several scenarios.",
            name=corpus.name,
        )
    return table


def describe_user_mean(reward: pd.DataFrame, by_ratings: pd.DataFrame) -> dict[str, Any]:
    """Return the AUROC of a reward model beside the user's mean, on the cases where both are known, and the difference.

    Keys: cases (a number), own, mean and ahead (texts). `by_ratings` has the verdicts of `judge_by_ratings`.
    """
    of_mean = by_ratings[by_ratings["judge"] == USER_MEAN]
    compared = compare_auroc(pd.concat([reward, of_mean], ignore_index=True))
    own, mean = compared.iloc[0], compared.iloc[1]
    shown = {
        "own": show_estimate(own, "auroc"),
        "mean": show_estimate(mean, "auroc"),
        "ahead": Estimate.of(mean, "ahead").between(own["auroc"], mean["auroc"]),
    }
    return {"cases": compared["cases"].max(), **shown}


def measure_judges(
    cases: Sequence[ux.Case], verdicts: Sequence[pd.DataFrame], baselines: pd.DataFrame, seed: int = SEED
) -> pd.DataFrame:
    """Return the quality of judges and baselines; columns as in `perslib.systems.uxbench.bench.measure_with_baselines`.

    Raise NotEnough if there are no cases or no verdicts.
    """
    if not cases:
        raise NotEnough(
            "There is no case to judge: users did not show one reply here to be clearly good and one clearly bad. "
            "Add scores of 5 and of 2 or lower, likes and dislikes, or a released split of Task 1."
        )
    if not any(map(len, [*verdicts, baselines])):
        raise NotEnough("There are {cases} cases, but no judge or baseline with verdicts on them.", cases=len(cases))
    return ux.measure_with_baselines(pd.concat([*verdicts, baselines.iloc[:0]]), baselines, seed=seed)


def measure_detection(quality: pd.DataFrame) -> pd.DataFrame:
    """Return d′ and criterion of judges and baselines, and of the judges of the paper's Table 3.

    Columns: kind (the judge; baseline; published, zero-shot; published, trained), baseline (its name), criterion and
    d_prime; judges have bounds.
    """
    table, n_good, n_bad = ux.read_ux_table("table3"), ux.CASES["good_acc"], ux.CASES["bad_acc"]
    told_apart = detection(table["bad_acc"] / 100 * n_bad, n_bad, n_good - table["good_acc"] / 100 * n_good, n_good)
    kind = np.where(table["model"] == ux.REWARD_MODEL, "published, trained", "published, zero-shot")
    published = pd.DataFrame({"criterion": told_apart.criterion, "d_prime": told_apart.d_prime, "kind": kind})
    bounds = quality.filter(regex="^(criterion|d_prime)_").where(~quality["is_baseline"])
    placed = quality[["criterion", "d_prime"]].join(bounds)
    placed["kind"] = quality["judge"].mask(quality["is_baseline"], "baseline")
    placed["baseline"] = quality["judge"].where(quality["is_baseline"])
    return pd.concat([published, placed], ignore_index=True).fillna({"baseline": ""})


def allow_neutral(verdicts: pd.DataFrame, scored: pd.DataFrame) -> pd.DataFrame:
    """Return verdicts of judges that may answer neutral, and of the learned judge, neutral if its score rounds to 3."""
    parts = [verdicts[verdicts["judge"].str.contains("three")]] if len(verdicts) else []
    if len(scored):
        is_middle = scored["score"].between(2.5, 3.5, inclusive="left")
        parts.append(scored.assign(said=scored["said"].mask(is_middle, 0)))
    return pd.concat([part[["judge", "gold", "said"]] for part in parts]) if parts else pd.DataFrame()
