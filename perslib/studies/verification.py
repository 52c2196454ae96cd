"""Table 2 for any corpus and backbone: the judges, their verdicts, their calibrations, and their costs."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, TURN, Block, Corpus
from perslib.errors import FewTrainUsers, NotEnough
from perslib.judge import (
    Judge,
    JudgeSettings,
    LearnedJudge,
    Supervised,
    Verdict,
    blind_judge,
    evaluate,
    select_blocks,
    session_judges,
)
from perslib.judge.base import make_verdict_frame
from perslib.judge.baselines import (
    NoTextControl,
    PopulationStatistic,
    TaskStatistic,
    controls,
    history_baselines,
    nearest_baselines,
)
from perslib.judge.evaluate import judge_blocks
from perslib.judge.scope import FEWEST_REPLIES, StudyScope, require_replies
from perslib.llm import Backbone
from perslib.llm.event_loop import compute
from perslib.memory import Structured
from perslib.paths import read_csv
from perslib.report.show.claims import Estimate, choose
from perslib.report.show.tables import format_number, show_estimate
from perslib.stats import Resamples, agreement, calibrate_verdicts, fit_population, floats, histories, with_gold
from perslib.stats.agreement.for_whom import measure_losses
from perslib.stats.calibrate.tilt import P
from perslib.stats.calibrate.user_scale import to_scale
from perslib.stats.calibrate.verdicts import of_blocks
from perslib.stats.resample.leave_one_out import name_bounds

#: The controls, which are in every table of agreement.
CONTROLS = tuple(judge.name for judge in controls())
#: The paper's four metrics, and agreement after the mean of each block is subtracted.
SHOWN_METRICS = ("pearson", "spearman", "qwk", "f1_dsat", "wb_pearson")
#: Metrics with a gain over the best control in tables.
GAIN_METRICS = ("pearson", "qwk", "wb_pearson")
#: Score columns: as given, and calibrated on the user's own history.
SCORES = ("real", "cdf")
#: Protocols: perslib's own, or the published one of PersTurnBench (rounding, ties, written scores).
PROTOCOLS = ("", "published")
#: A corpus with fewer turns is divided into blocks once for all judges. All blocks of a larger one need gigabytes.
MOST_CUT_TURNS = 30_000
#: Number of test users on whom judges are measured while they learn from more and more train users.
TRACED_USERS = 50
#: From this r within blocks with what the learned judge misses on, another judge is worth its requests.
WORTH_ASKING = 0.1
#: Table 2 of PersTurnBench.
PUBLISHED = read_csv(__file__, "published/persturnbench_table2.csv")


#: What a judge may know, each with all before it: the last reads the texts.
KNOWLEDGE = ("user mean", NoTextControl.name, f"{LearnedJudge.name}, blinded", LearnedJudge.name)


def make_computed_judges(names: Iterable[str] = (), protocol: str = "") -> list[Judge]:
    """Return the judges that ask no model, or those of these names.

    They are controls, baselines, and judges that learn from train users. With the published protocol, baselines give
    whole scores.
    """
    baselines = [PopulationStatistic("mean"), TaskStatistic("mean"), *nearest_baselines()]
    if protocol == "published":
        baselines = [*history_baselines("half up"), *nearest_baselines("half even")]
    every = [*controls(), *baselines, Supervised(), blind_judge(LearnedJudge()), LearnedJudge()]
    return [judge for judge in every if judge.name in names] if names else every


def judge_test_users(
    judges: Iterable[Judge],
    corpus: Corpus,
    backbone: Backbone | None = None,
    *,
    limit: int | None = None,
    protocol: str = "",
    seed: int = 42,
) -> pd.DataFrame:
    """Return verdicts of all these judges on the test users' replies, in one frame.

    A `limit` draws among rated replies. `real` is the mean of the distribution if there is one, otherwise the score.
    `mean_shift` and `cdf` are its calibrations on the user's history; with the published protocol, turn numbers break
    ties. A judge that has nothing to learn from leaves every reply unscored, with the reason.
    """
    judges = list(judges)
    if not judges:
        return pd.DataFrame()
    is_cut_once = limit is not None or len(corpus.turns) < MOST_CUT_TURNS
    blocks = list(select_blocks(corpus, limit=limit, seed=seed, has_score=True)) if is_cut_once else None
    frames = []
    for judge in judges:
        try:
            verdicts = evaluate(judge, corpus, backbone, blocks=blocks)
        except NotEnough as error:
            without = Verdict(mode="computed", error=f"no score: {error}")
            unscored = blocks or list(select_blocks(corpus, limit=limit, seed=seed, has_score=True))
            verdicts = make_verdict_frame(
                judge, corpus, backbone, unscored, [[without] * len(block) for block in unscored]
            )
        frames.append(verdicts)
    verdicts = pd.concat(frames, ignore_index=True)
    real = verdicts.assign(real=verdicts["expected"].fillna(verdicts["raw"]))
    return calibrate_verdicts(real, histories(corpus), score="real", ties="turn_index" if protocol else "expected")


def restrict_to_published_users(corpus: Corpus, count: int = 20) -> Corpus:
    """Return the corpus with the test users of PersTurnBench's Tables 3 and 6: the first 20, sorted as text."""
    split = corpus.split()
    users_by_split = {**split, "test": sorted(split["test"])[:count]}
    fewer = corpus.of_users([user for users in users_by_split.values() for user in users])
    return replace(fewer, meta={**corpus.meta, "splits": users_by_split})


def judge_sessions(
    sessions: Corpus, backbone: Backbone | None, settings: JudgeSettings, scope: StudyScope, *, seed: int = 42
) -> pd.DataFrame:
    """Return verdicts on whole sessions of the judges that ask (Table 7); empty without a model, and if the extent
    allows none.
    """
    memory = Structured(settings.language, **scope.memory) if scope.is_short else None
    is_asked = scope.turns != 0 and backbone is not None and backbone.writes_texts
    asking = session_judges(settings, memory) if is_asked else []
    return judge_test_users(asking, sessions, backbone, limit=scope.turns or None, seed=seed)


def join_verdicts(computed_verdicts: pd.DataFrame, model_verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts of the judges that asked a model, and the computed ones on the same turns.

    If no judge asked a model, all computed verdicts are returned.
    """
    if model_verdicts.empty:
        return computed_verdicts
    return pd.concat(
        [computed_verdicts.merge(model_verdicts[TURN].drop_duplicates(), on=TURN), model_verdicts], ignore_index=True
    )


def keep_scored_judges(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Return the verdicts of the judges that scored `FEWEST_REPLIES` or more rated replies, as agreement needs them."""
    if verdicts.empty:
        return verdicts
    both = with_gold(verdicts, corpus, ["raw"]).dropna(subset=["gold", "raw"])
    counts = both["judge"].value_counts()
    return verdicts[verdicts["judge"].isin(counts.index[counts >= FEWEST_REPLIES])]


def compare_judges(
    verdicts: pd.DataFrame,
    corpus: Corpus,
    *,
    scores: Sequence[str] = SCORES,
    metrics: Sequence[str] = SHOWN_METRICS,
    controls: Sequence[str] = CONTROLS,
) -> pd.DataFrame:
    """Return the agreement of all judges in the frame, each next to its gain over the best control.

    For a correlation within blocks, turns and users are those with a second turn in their block. With fewer than
    `FEWEST_REPLIES` turns there is no value.
    """
    judges = set(keep_scored_judges(verdicts, corpus)["judge"]) or set(verdicts["judge"])
    present = [name for name in controls if name in judges]
    agreed = agreement(verdicts, corpus, scores=scores, metrics=metrics, controls=present)
    within = agreed["metric"].str.startswith("wb_")
    agreed = pd.concat([agreed[~within], _count_in_blocks(agreed[within], verdicts, corpus)]).sort_index()
    measured = agreed.columns[agreed.columns.str.match("value|gain|control")]
    agreed[measured] = agreed[measured].where(agreed["turns"] >= FEWEST_REPLIES)
    return agreed


def _count_in_blocks(agreed: pd.DataFrame, verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Return rows of agreement with the turns and users of blocks in which a judge scored two rated turns or more."""
    counted = []
    for score, rows in agreed.groupby("score", sort=False):
        both = with_gold(verdicts, corpus, [score]).dropna(subset=["gold", score])
        judge = ["judge", "backbone"]
        peers = both.groupby([*judge, *BLOCK], dropna=False)["gold"].transform("size") > 1
        counts = both[peers].groupby(judge, dropna=False)["user"].agg(turns="size", users="nunique")
        counted_rows = rows[judge].merge(counts.reset_index(), on=judge, how="left").fillna({"turns": 0, "users": 0})
        counted.append(rows.assign(**{name: counted_rows[name].to_numpy(int) for name in ("turns", "users")}))
    return pd.concat(counted) if counted else agreed


def sum_judging_costs(verdicts: pd.DataFrame, agreed: pd.DataFrame) -> pd.DataFrame:
    """Return the cost of a judgment and the agreement that it reaches, one row per judge that asks a model.

    Columns: judge, backbone, judged, unscored, tokens_in, tokens_cached, tokens_out, seconds, cost (means per reply;
    the one-off costs of memory or rules are in the run's ledger), and pearson with its interval.
    """
    asking = verdicts[verdicts["tokens_in"].notna()]
    spent = ["tokens_in", "tokens_cached", "tokens_out", "seconds", "cost"]
    by = asking.groupby(["judge", "backbone"], sort=False)
    table = by[spent].mean().astype(float)
    table.insert(0, "judged", by.size())
    table.insert(1, "unscored", by["raw"].agg(lambda raw: int(raw.isna().sum())))
    worth = agreed[(agreed["metric"] == "pearson") & (agreed["score"] == "real")]
    names = {f"value{end}": f"pearson{end}" for end in ("", "_low", "_high")}
    worth = worth[["judge", "backbone", *names]].rename(columns=names)
    return table.reset_index().merge(worth, on=["judge", "backbone"], how="left")


def read_messages_up_to(corpus: Corpus, key: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a conversation up to and including one judged reply, as messages."""
    block = corpus.block(key["user"], key["scenario"])
    target = block.target(key["session"], key["turn"])
    return [*target.prefix, {"role": "assistant", "content": target.response, "score": round(key["gold"])}]


def pivot_with_gold(verdicts: pd.DataFrame, corpus: Corpus, score: str = "real") -> pd.DataFrame:
    """Return each reply with the user's own score (`gold`) and those of the judges, one column each."""
    with_scores = with_gold(verdicts, corpus, [score])
    return with_scores.pivot(index=[*TURN, "gold"], columns="judge", values=score).reset_index()


def trace_knowledge(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Return the agreement of `KNOWLEDGE`, and what each adds to the one before it, paired on the same replies.

    Columns: judge, metric, value with bounds, added with bounds and p. The last step is what requests and replies add.
    """
    shown = [name for name in KNOWLEDGE if name in set(verdicts["judge"])]
    parts = []
    for name, before in zip(shown, [None, *shown]):
        of_both = verdicts[verdicts["judge"].isin([name, before])]
        known = ["pearson", "wb_pearson"]
        agreed = compare_judges(of_both, corpus, scores=["real"], metrics=known, controls=[before] if before else ())
        parts.append(agreed[agreed["judge"] == name])
    steps = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["judge", "metric", "value"])
    require_replies(int(steps["turns"].max()) if len(steps) else 0)
    added = {f"gain{end}": f"added{end}" for end in ("", "_low", "_high", "_p")}
    steps = steps.rename(columns=added).reindex(columns=["judge", "metric", *name_bounds("value"), *added.values()])
    # A user's mean does not differ within a block, so the first r within blocks adds to zero.
    return steps.assign(added=steps["added"].fillna(steps["value"].where(steps["metric"] == "wb_pearson")))


def describe_knowledge(steps: pd.DataFrame) -> dict[str, Any]:
    """Return the numbers of a sentence on `trace_knowledge`: r of each step, and what the texts add, as texts."""
    wide = steps[steps["metric"] == "pearson"].set_index("judge")
    text = steps[steps["judge"] == LearnedJudge.name].set_index("metric")
    facts: dict[str, Any] = {str(metric): show_estimate(row, "added") for metric, row in text.iterrows()}
    facts |= {f"step{place}": format_number(wide["value"].get(name, np.nan)) for place, name in enumerate(KNOWLEDGE)}
    nothing = dict.fromkeys(name_bounds("added"), np.nan)
    texts = Estimate.of(text.loc["pearson"] if "pearson" in text.index else nothing, "added")
    ends = (float(wide["value"].get(name, np.nan)) for name in KNOWLEDGE[:1:-1])
    return facts | {"texts": texts.between(*ends)}


def phrase_knowledge(texts: Estimate) -> str:
    """Return the wording of what texts add, for the numbers of `describe_knowledge`."""
    return choose(
        texts,
        above="**Reading the texts adds {texts} to r**, which is then {step3}; the user's mean alone gives {step0}, with turn and assistant "
        "{step1}. Within blocks texts add {wb_pearson}.",
        open="Nothing shows that texts add to r = {step2}, which the judge reaches without them: with texts it is {step3}, a difference of "
        "{texts}; within blocks of {wb_pearson}. The user's mean alone gives {step0}.",
        unknown="The judge reaches r = {step3} with texts, {step2} without; the user's mean alone gives {step0}. With so few users, or scores "
        "that do not differ, the difference has no interval.",
    )


def measure_reading(verdicts: pd.DataFrame, corpus: Corpus, judges: Sequence[str]) -> pd.DataFrame:
    """Return how far the scores of each judge follow what the learned judge misses of the labels, both less the mean of their block.

    Columns: judge, rest (r) with bounds, turns, users.
    """
    own = with_gold(verdicts, corpus, ["real"]).dropna(subset=["gold", "real"])
    own = own.assign(real=floats(own["real"]), missed=floats(own["gold"]) - floats(own["real"]))
    missed = own.loc[own["judge"] == LearnedJudge.name, [*TURN, "missed"]]
    rows = []
    for judge in judges:
        both = own[own["judge"] == judge].drop(columns="missed").merge(missed, on=TURN)
        both = both[both.groupby(BLOCK)["real"].transform("size") > 1]
        if len(both) >= FEWEST_REPLIES:
            within = both[["real", "missed"]] - both.groupby(BLOCK)[["real", "missed"]].transform("mean")
            users = Resamples(both["user"])
            r = users.correlate(within["real"].to_numpy(), within["missed"].to_numpy())
            rows.append(
                {
                    "judge": judge,
                    **users.estimate(r, "rest", "correlation"),
                    "turns": len(both),
                    "users": both["user"].nunique(),
                }
            )
    return pd.DataFrame(rows, columns=["judge", *name_bounds("rest"), "turns", "users"])


def phrase_reading(row: Mapping[Any, Any]) -> str:
    """Return the wording of what a judge adds to the learned one, for a row of `measure_reading`; it takes {judge} and {rest}."""
    return choose(
        Estimate.of(row, "rest", WORTH_ASKING),
        above="**{judge} reads what the learned judge misses**: its scores follow that with r = {rest} within blocks.",
        below="{judge} adds too little to the learned judge to be worth a request: what that misses it follows with r = {rest} within blocks, "
        "less than {least}.",
        open="Whether {judge} adds to the learned judge what is worth a request is open: what that misses it follows with r = {rest} within "
        "blocks; worth it is {least}.",
        unknown="What the learned judge misses, {judge} follows with r = {rest} within blocks; too few users for an interval.",
    )


def measure_distributions(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Return the quality of the learned judge's probabilities and of those that read no reply; smaller is better.

    The user's history is shrunk towards the shares of all users (`fit_population`). The frame is empty without train
    users or rated turns.

    Columns: judge, log_loss and rps (ranked probability score), each with its interval, gain (in log loss over the
    history) with interval and p, text_adds (in log loss over the same judge without texts) with interval and p.
    """
    learned = with_gold(verdicts[verdicts["judge"] == LearnedJudge.name], corpus, P).dropna(subset=["gold", *P])
    of_blinded = verdicts.loc[verdicts["judge"] == KNOWLEDGE[2], [*TURN, *P]]
    users, own = Resamples(learned["user"]), histories(corpus)
    shrunk, shares = (np.full((len(learned), len(P)), np.nan) for _ in range(2))
    for teaching, judged in corpus.lessons:
        train = corpus.of_users(teaching)
        if learned.empty or train.turns["score"].isna().all():
            return pd.DataFrame(columns=["judge", "log_loss", "rps", "gain"])
        rows, everybody = learned["user"].isin(judged).to_numpy(), fit_population(train)
        shrunk[rows] = of_blocks(learned[rows], everybody.shrink(own))
        shares[rows] = everybody.shares
    gold = to_scale(floats(learned["gold"]))
    history = shrunk / shrunk.sum(axis=1, keepdims=True)
    unread = learned[TURN].merge(of_blinded, "left", on=TURN)[P].to_numpy(float)
    probabilities = {
        LearnedJudge.name: learned[P].to_numpy(float),
        **({KNOWLEDGE[2]: unread} if np.isfinite(unread).all() else {}),
        "history": history,
        "population": shares,
    }
    loss, rps = ({name: measure_losses(p, gold)[i] for name, p in probabilities.items()} for i in (0, 1))
    rows = []
    for name in probabilities:
        gain = users.estimate(users.mean(loss["history"] - loss[name]), "gain", p=True) if name != "history" else {}
        measured = users.estimate(users.mean(loss[name]), "log_loss", "error") | users.estimate(
            users.mean(rps[name]), "rps", "error"
        )
        if name == LearnedJudge.name and KNOWLEDGE[2] in loss:
            gain |= users.estimate(users.mean(loss[KNOWLEDGE[2]] - loss[name]), "text_adds", p=True)
        rows.append({"judge": name, **measured, **gain})
    return pd.DataFrame(rows)


def trace_learning(verdicts: pd.DataFrame, corpus: Corpus, seed: int = 42) -> pd.DataFrame:
    """Return the agreement of the learned judge and of the control without text by their number of train users.

    `verdicts` has what they say after learning from all of them. Train users are drawn at random. The judges score replies of
    at most `TRACED_USERS` test users. The frame is empty with fewer than eight train users, or where each fold has its own.

    Columns: train_users, and those of `agreement`.
    """
    train = np.random.default_rng(seed).permutation([] if corpus.folds else corpus.split().get("train", [])).tolist()
    test = corpus.split().get("test", corpus.users["user"])
    traced = set(
        test if len(test) <= TRACED_USERS else np.random.default_rng(seed).choice(test, TRACED_USERS, replace=False)
    )
    blocks, parts = [block for block in select_blocks(corpus) if block.user in traced], []
    quarters = (1, 2, 3, 4) if len(train) < TRACED_USERS else (1, 2, 4)  # of many, three quarters say little more
    for count in dict.fromkeys(len(train) * part // 4 for part in quarters if len(train) >= 8):
        for judge in (LearnedJudge(), NoTextControl()):
            known = verdicts[(verdicts["judge"] == judge.name) & verdicts["user"].isin(traced)]
            taught = (
                known if len(known) and count == len(train) else teach_and_judge(judge, corpus, train[:count], blocks)
            )
            metrics = ["pearson", "wb_pearson"]
            agreed = compare_judges(taught, corpus, scores=["raw"], metrics=metrics, controls=())
            parts.append(agreed.assign(train_users=count))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def teach_and_judge(judge: Judge, corpus: Corpus, users: Sequence[str], blocks: Sequence[Block]) -> pd.DataFrame:
    """Return a judge's verdicts on these blocks after it has learned from these users."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewTrainUsers)
        compute(partial(judge.fit, corpus.of_users(users)))
    return make_verdict_frame(judge, corpus, None, blocks, judge_blocks(judge, blocks, progress=False))
