"""The page on UXBench: construction's funnel and the three tasks, on the corpus at hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Corpus
from perslib.corpus.uxbench_reading import Source
from perslib.errors import DataError, NotEnough
from perslib.judge import LearnedJudge
from perslib.judge.evaluate import evaluate, targets
from perslib.llm import Backbone
from perslib.stats import SEED, floats
from perslib.studies.extent import Extent
from perslib.ux import (
    SYSTEMS,
    VARIANTS,
    Case,
    Form,
    Generation,
    Recovery,
    UXJudge,
    against_wall,
    answered,
    at_learned_threshold,
    detection,
    eval_cases,
    good_share,
    judge_cases,
    judged,
    judged_by,
    published,
    recovery_cases,
    released_cases,
    shots,
    strategies_of,
    strategy_gains,
    wall,
)
from perslib.ux.construct import Construction, Rejection, Rules, Talk, candidates, construct, estimate, talks
from perslib.ux.judging import SHOTS, Strategy

METRICS = (
    "balanced",
    "accuracy",
    "good_acc",
    "bad_acc",
    "positive_bias",
    "d_prime",
    "criterion",
    "parse_rate",
)
#: What one thing alone tells of cases (`perslib.ux.wall`).
BESIDE = ("majority", "length only", "history only", "query only", "reply only")
#: Cases that are judged, answered and made good where a study does not say.
CASES = 400
#: A first look is had on some of the shortest cases, this many at least, so that it stays short.
SHORT = 10
#: Sessions that an estimate goes through.
ESTIMATED = 60
RECORDED = "as recorded"


# -- construction -----------------------------------------------------------------------------------------------------


def funnel(source: Source | Corpus) -> tuple[pd.DataFrame, pd.DataFrame, list[Talk]]:
    """What construction takes up before any model is asked: a row a stage, how often each reason was given, and the
    sessions that are left."""
    rules, held, unfit = Rules(), list[Rejection](), list[Rejection]()
    found = talks(source, rules, held)
    if not found and not held:
        raise NotEnough(
            "Cases are constructed from sessions with replies, and there are none. Give a raw log: `-p log=PATH`."
        )
    every = [one for talk in found for one in candidates(talk, rules, unfit)]
    rows = [
        ("read and gate", len(found) + len(held), len(found), len(held)),
        ("candidates", len(every) + len(unfit), len(every), len(unfit)),
    ]
    sides = pd.Series([one.side for one in every], dtype="str").value_counts()
    rows += [(f"candidates, {side}", int(n), int(n), 0) for side, n in sides.items()]
    why = pd.DataFrame([(one.stage, one.reason) for one in [*held, *unfit]], columns=["stage", "reason"])
    reasons = why.value_counts().rename("count").reset_index()
    return pd.DataFrame(rows, columns=["stage", "in", "left", "rejected"]), reasons, found


def takes(sessions: Sequence[Talk], model: Backbone, language: str) -> pd.DataFrame:
    """Calls, tokens and cost of a construction at most, a row a stage; nothing is asked. Of many sessions some are
    gone through and counted for all."""
    every = -(-len(sessions) // ESTIMATED) or 1
    return estimate(sessions, miner=model, language=language, every=every).reset_index()


def constructed(
    sessions: Sequence[Talk],
    model: Backbone,
    judge: Backbone | None,
    language: str,
    folder: str,
    look: Extent,
    seed: int = SEED,
) -> Construction:
    """The construction itself, with models that are really asked, from as many of the sessions as the look allows."""
    drawn = np.sort(np.random.default_rng(seed).permutation(len(sessions))[: look.turns or len(sessions)])
    where = Path(folder) / "construction" if folder else None
    return construct([sessions[i] for i in drawn], where, miner=model, judge=judge, language=language)


# -- UX Judge ---------------------------------------------------------------------------------------------------------


def cases_to_judge(corpus: Corpus, limit: int = CASES, seed: int = SEED) -> list[Case]:
    """A released split's cases, else replies that users clearly liked or did not, as many of either."""
    try:
        found = [c for c in released_cases(corpus, "task1") if c.gold is not None]
    except DataError:
        return judge_cases(corpus, limit, seed=seed)
    drawn = np.sort(np.random.default_rng(seed).permutation(len(found))[:limit])
    return [found[i] for i in drawn]


def asked(
    cases: Sequence[Case],
    model: Backbone,
    language: str,
    look: Extent,
    strategies: Sequence[str],
    effort: str = "",
    seed: int = SEED,
) -> pd.DataFrame:
    """A model's verdicts with two classes and with three; at a first look on a few cases, shown the request alone.

    Examples for few-shot are cases that are not judged.
    """
    if not cases:
        raise NotEnough("The model was not asked: there is no case to judge.")
    if look.is_first_look:
        cases = sorted(cases, key=lambda c: len(c.query) + len(c.reply))[: max(SHORT, len(cases) // 4)]
    few = few_of(cases, look.turns or len(cases), seed)
    form = Form(language, window=0 if look.is_short else None, effort=effort or None)
    if "few-shot" in strategies and len(few) > len(cases) - 2 * SHOTS:
        if len(cases) <= 2 * SHOTS:
            raise NotEnough(
                "Few-shot needs {kept} cases for its examples, and there are {cases} in all. Add cases, or remove "
                "few-shot from `strategies`.",
                kept=2 * SHOTS,
                cases=len(cases),
            )
        few = few_of(cases, len(cases) - 2 * SHOTS, seed)
    judged_too = {case.case for case in few}
    rest = [case for case in cases if case.case not in judged_too]

    def judge(strategy: str, classes: Literal[2, 3] = 2) -> UXJudge:
        examples = shots(rest, seed=seed) if strategy == "few-shot" else ()
        return UXJudge(form, cast(Strategy, strategy), classes, examples)

    judges = [*map(judge, strategies), judge(strategies[0], 3)]
    return pd.concat([judged_by(judge, few, model) for judge in judges], ignore_index=True)


def few_of(cases: Sequence[Case], number: int, seed: int = SEED) -> list[Case]:
    """So many cases, good and bad in turn, drawn by the seed."""
    rng = np.random.default_rng(seed)
    sides = [[c for c in cases if c.gold == side] for side in (1, -1)]
    mixed = [side[i] for side in sides for i in rng.permutation(len(side))[: -(-number // 2)]]
    return mixed if len(mixed) <= number else mixed[: number // 2] + mixed[-(number - number // 2) :]


def two_classes(verdicts: pd.DataFrame, look: Extent) -> pd.DataFrame:
    """Verdicts that are counted beside other judges': good or bad, and more than a first look."""
    three = verdicts["judge"].str.contains("three")
    return verdicts.iloc[:0] if look.is_first_look else verdicts[~three]


def gains(verdicts: pd.DataFrame) -> pd.DataFrame:
    """What other ways of asking add to the first one's accuracy, paired; nothing where there is one way only."""
    found = {
        str(name): own for name, own in verdicts.groupby("judge", sort=False) if "three" not in str(name)
    }
    return strategy_gains(found, next(iter(found))) if len(found) > 1 else pd.DataFrame()


def learned(corpus: Corpus, cases: Sequence[Case], seed: int = SEED) -> pd.DataFrame:
    """The learned judge on the cases of test users: 4 and up is good; as a third class, what rounds to 3 is neutral."""
    test = [u for u in corpus.split().get("test", []) if u in {c.user for c in cases}]
    if not corpus.block_ids(test) or not corpus.turns["score"].notna().any():
        raise _nothing_for_learned(corpus)
    known = {c.case: c for c in cases}
    every = ((b, _names(b.targets).isin(known)) for b in targets(corpus, users=test))
    blocks = [replace(b, targets=b.targets[own].reset_index(drop=True)) for b, own in every if own.any()]
    if not blocks:
        raise _nothing_for_learned(corpus)
    found = evaluate(LearnedJudge(), corpus, blocks=blocks, progress=False)
    found = found.assign(case=_names(found))
    found = found[found["case"].isin(known) & found["expected"].notna()].reset_index(drop=True)
    own, score = [known[c] for c in found["case"]], floats(found["expected"])
    table = pd.DataFrame(
        {
            **{"judge": "learned", "case": [c.case for c in own], "user": [c.user for c in own]},
            **{"scenario": [c.scenario for c in own], "gold": [c.gold for c in own]},
            **{"said": np.where(score >= 3.5, 1, -1), "p_good": (score - 1) / 4, "score": score},
        }
    )
    return table.astype({"gold": "Int64", "said": "Int64", "p_good": "Float64"})


def _nothing_for_learned(corpus: Corpus) -> NotEnough:
    return NotEnough(
        "The learned judge uses scores that users gave in other scenarios, and in {name} no user with a case "
        "here has any. Add scores from 1 to 5 in several scenarios.",
        name=corpus.name,
    )


def baselines(cases: Sequence[Case], seed: int = SEED) -> pd.DataFrame:
    """The verdicts of the baselines that judges have to beat."""
    return wall(cases, BESIDE, seed=seed)


@dataclass(frozen=True)
class Judging:
    """Verdicts of judges and baselines on the same cases, and what they come to."""

    cases: list[Case]
    verdicts: pd.DataFrame
    wall: pd.DataFrame
    quality: pd.DataFrame
    """A row a judge or baseline and metric; `at_learned` is balanced accuracy at a threshold learned on other users."""


def judging(cases: list[Case], verdicts: Iterable[pd.DataFrame], seed: int = SEED) -> Judging:
    """Metrics of judges and `baselines`, users resampled."""
    columns = ["judge", "case", "user", "scenario", "gold", "said", "p_good"]
    found = [v[columns] for v in verdicts if len(v)]
    if not cases:
        raise NotEnough(
            "There is no case to judge: users did not show one reply here to be clearly good and one clearly bad. "
            "Add scores of 5 and of 2 or lower, likes and dislikes, or a released split of Task 1."
        )
    if not found:
        raise NotEnough(
            "There are {cases} cases, but no judge or baseline with verdicts on them.",
            cases=len(cases),
        )
    both = pd.concat(found, ignore_index=True)
    both["unit"] = both["user"].where(both["user"] != "", both["case"])
    table = judged(both, metrics=METRICS, unit="unit", seed=seed)
    rows = [
        {"judge": judge, "metric": "at_learned", "value": f.calibrated, "cases": f.cases}
        for judge, part in both.groupby("judge", sort=False)
        for f in [at_learned_threshold(part["gold"], part["p_good"], part["unit"], seed=seed)]
    ]
    quality = pd.concat([table, pd.DataFrame(rows)], ignore_index=True)
    beside = both["judge"].isin(BESIDE)
    own, grey = (both[beside == of].drop(columns="unit").reset_index(drop=True) for of in (False, True))
    return Judging(cases, own, grey, quality.assign(is_baseline=quality["judge"].isin(BESIDE)))


def held_against_wall(judging: Judging, seed: int = SEED) -> pd.DataFrame:
    """Each judge against each baseline, paired."""
    if judging.verdicts.empty or judging.wall.empty:
        raise NotEnough("Comparing judges with baselines needs both; what is missing is said above.")
    return against_wall(judging.verdicts, judging.wall, unit="user", seed=seed)


def neutral(verdicts: pd.DataFrame, scored: pd.DataFrame) -> pd.DataFrame:
    """Three classes: verdicts of judges that may say neutral, and of the learned judge where its score rounds to 3."""
    three = verdicts[verdicts["judge"].str.contains("three", na=False)] if len(verdicts) else verdicts
    parts = [three[["judge", "gold", "said"]]] if len(three) else []
    if len(scored):
        middle = scored["score"].between(2.5, 3.5, inclusive="left")
        parts.append(scored.assign(said=scored["said"].mask(middle, 0))[["judge", "gold", "said"]])
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def published_points() -> pd.DataFrame:
    """Table 3's judges by d′ and criterion."""
    table, n = published("table3"), 1000
    found = detection(table["bad_acc"] / 100 * n, n, n - table["good_acc"] / 100 * n, n)
    return table[["model", "family"]].assign(d_prime=found.d_prime, criterion=found.criterion)


# -- UX Eval and UX Recovery ------------------------------------------------------------------------------------------


def recorded_replies(corpus: Corpus) -> tuple[list[Case], pd.DataFrame]:
    """Requests that candidates answered, and their replies, with the recorded ones; `truth` is a known mean score.

    Of the cases, `dimension` is "disliked" where the recorded reply was: UX Eval proper.
    """
    given = corpus.extras.get("candidates", pd.DataFrame(columns=[*TURN, "candidate", "response"]))
    name = _names(given)
    truth = given["expected"] if "expected" in given else pd.Series(np.nan, given.index)
    theirs = pd.DataFrame(
        {"case": name, "model": given["candidate"], "reply": given["response"], "truth": truth}
    )
    rated = corpus.turns.assign(case=_names(corpus.turns)).set_index("case")
    every = judge_cases(corpus, good_from=4, bad_to=3, balanced=False) if len(given) else []
    answered_too = set(name)
    own = [c for c in every if c.case in answered_too]
    bad = {c.case for c in eval_cases(corpus)} if own else set()
    cases = [replace(c, reply="", gold=None, dimension="disliked" if c.case in bad else "") for c in own]
    turns = rated.loc[[c.case for c in own]].reset_index()
    ours = turns.assign(model=RECORDED, reply=turns["response"], truth=turns["score"].astype(float))
    both = pd.concat([theirs, ours[["case", "model", "reply", "truth"]]], ignore_index=True)
    return cases, _about(both[both["case"].isin({c.case for c in own})].assign(how=RECORDED), cases)


def recorded_recoveries(corpus: Corpus) -> tuple[list[Case], pd.DataFrame]:
    """Disliked replies with what the user wrote next, and the replies that followed, with the users' own scores."""
    cases = recovery_cases(corpus) if corpus.turns["score"].notna().any() else []
    after = corpus.turns.assign(turn=corpus.turns["turn"] - 1)
    own = after.assign(case=_names(after)).set_index("case").reindex([c.case for c in cases])
    replies = pd.DataFrame(
        {
            **{"case": own.index, "model": RECORDED, "how": RECORDED},
            **{"reply": own["response"].to_numpy(), "truth": own["score"].to_numpy()},
        }
    )
    replies = replies[replies["reply"].notna()].reset_index(drop=True)
    return cases, _about(replies, cases)


def _names(frame: pd.DataFrame) -> pd.Series:
    """What the case of each row's turn is called."""
    keys = frame[TURN].itertuples(index=False, name=None)
    return pd.Series(["/".join(map(str, key)) for key in keys], frame.index, dtype="str")


def _about(replies: pd.DataFrame, cases: Sequence[Case]) -> pd.DataFrame:
    known = {c.case: c for c in cases}
    own = [known[c] for c in replies["case"]]
    about = {"user": [c.user for c in own], "scenario": [c.scenario for c in own]}
    return replies.assign(**about, dimension=[c.dimension for c in own]).reset_index(drop=True)


def to_answer(corpus: Corpus) -> list[Case]:
    """UX Eval's cases: a released split's, else requests whose recorded reply was disliked."""
    try:
        return released_cases(corpus, "task2")
    except DataError:
        return eval_cases(corpus)


def to_recover(corpus: Corpus) -> list[Case]:
    """UX Recovery's cases: a released split's, else disliked replies after which the user wrote again."""
    try:
        return released_cases(corpus, "task3")
    except DataError:
        return recovery_cases(corpus)


def replied(
    cases: Sequence[Case], model: Backbone, language: str, limit: int, seed: int = SEED
) -> pd.DataFrame:
    """A model's replies under each system prompt, or after a complaint by each way of asking for recovery."""
    if not cases:
        raise NotEnough(
            "The model was not asked for replies: no reply here was disliked and followed by a message of the "
            "user. Add low scores and dislikes, or a released split of this task."
        )
    drawn = np.sort(np.random.default_rng(seed).permutation(len(cases))[:limit])
    own, form = [cases[i] for i in drawn], Form(language)
    recovers = bool(own[0].complaint)
    ways = [Recovery(v, form=form) for v in VARIANTS] if recovers else [Generation(s, form) for s in SYSTEMS]  # type: ignore[arg-type]
    return pd.concat([answered(way, own, model) for way in ways], ignore_index=True)


def shares(scored: pd.DataFrame, seed: int = SEED) -> pd.DataFrame:
    """Good% of each model and way of asking; Wilson bounds by case, and users resampled."""
    if scored.empty:
        return pd.DataFrame()
    table = good_share(scored, ("model", "how"), unit="user", seed=seed)
    if "truth" in scored:
        known = scored.assign(liked=(scored["truth"].astype("Float64") >= 4).where(scored["truth"].notna()))
        own = known.groupby(["model", "how"])["liked"].mean().astype(float) * 100
        table["liked_percent"] = own.reindex(pd.MultiIndex.from_frame(table[["model", "how"]])).to_numpy()
    return table


def labelled(scored: pd.DataFrame) -> pd.DataFrame:
    """Recoveries with the strategy that they open with, by rules."""
    return strategies_of(scored) if len(scored) else scored
