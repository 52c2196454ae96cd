"""Table 2 for any corpus and backbone: the judges, their verdicts, what calibration makes of them, what they cost."""

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
from perslib.judge import Judge, LearnedJudge, Manner, Supervised, Verdict, evaluate, session_judges, targets
from perslib.judge.base import frame
from perslib.judge.evaluate import verdicts_on
from perslib.judge.extent import FEWEST_REPLIES, Extent
from perslib.judge.history import OfPopulation, OfTask, WithoutText, controls, history_baselines, nearest_baselines
from perslib.llm import Backbone
from perslib.llm.event_loop import compute
from perslib.memory import Structured
from perslib.paths import read_csv
from perslib.stats import Resamples, agreement, calibrated, fit_population, fit_thresholds, floats, histories, with_gold
from perslib.stats.calibrate.history import SCORES as FIVE
from perslib.stats.calibrate.history import to_scale
from perslib.stats.calibrate.tilt import P
from perslib.stats.calibrate.verdicts import of_blocks

#: The judges that no table of agreement is without.
CONTROLS = tuple(judge.name for judge in controls())
#: The paper's four metrics, and agreement when the mean of each block is taken away.
SHOWN = ("pearson", "spearman", "qwk", "f1_dsat", "wb_pearson")
#: Metrics whose gain over the best control tables show.
GAINS = ("pearson", "qwk", "wb_pearson")
#: Score columns: as given, and read off the user's own history.
SCORES = ("real", "cdf")
#: How things are done: as perslib does, or as PersTurnBench published them (rounding, ties, written scores).
PROTOCOLS = ("", "published")
#: Turns of a corpus whose blocks are cut once for all judges; all blocks of a larger one take gigabytes.
CUT_ONCE = 30_000
#: Test users that judges are tried on as they learn from more and more train users.
TRACED = 200
#: Table 2 of PersTurnBench.
PUBLISHED = read_csv(__file__, "published/persturnbench_table2.csv")


def computed_judges(names: Iterable[str] = (), protocol: str = "") -> list[Judge]:
    """The judges that ask no model: controls, baselines, and those that learn from train users; or those of these names.

    By the published protocol baselines give whole scores.
    """
    baselines = [OfPopulation("mean"), OfTask("mean"), *nearest_baselines()]
    if protocol == "published":
        baselines = [*history_baselines("half up"), *nearest_baselines("half even")]
    every = [*controls(), *baselines, Supervised(), LearnedJudge()]
    return [judge for judge in every if judge.name in names] if names else every


def judged(
    judges: Iterable[Judge],
    corpus: Corpus,
    backbone: Backbone | None = None,
    *,
    limit: int | None = None,
    protocol: str = "",
    seed: int = 42,
) -> pd.DataFrame:
    """Verdicts of all these judges on the test users' replies, in one frame; a `limit` draws among rated ones.

    `real` is the mean of the distribution where there is one, else the score; `mean_shift` and `cdf` are its calibrations
    on the user's history, where by the published protocol turn numbers break ties.
    A judge that finds nothing to learn from leaves every reply unscored and says why.
    """
    judges = list(judges)
    if not judges:
        return pd.DataFrame()
    is_cut_once = limit is not None or len(corpus.turns) < CUT_ONCE
    blocks = list(targets(corpus, limit=limit, seed=seed, has_score=True)) if is_cut_once else None
    frames = []
    for judge in judges:
        try:
            found = evaluate(judge, corpus, backbone, blocks=blocks)
        except NotEnough as error:
            without = Verdict(mode="computed", error=f"no score: {error}")
            unscored = blocks or list(targets(corpus, limit=limit, seed=seed, has_score=True))
            found = frame(judge, corpus, backbone, unscored, [[without] * len(block) for block in unscored])
        frames.append(found)
    found = pd.concat(frames, ignore_index=True)
    real = found.assign(real=found["expected"].fillna(found["raw"]))
    return calibrated(real, histories(corpus), score="real", ties="turn_index" if protocol else "expected")


def published_users(corpus: Corpus, count: int = 20) -> Corpus:
    """The corpus with the test users of PersTurnBench's Tables 3 and 6: the first 20, as text."""
    split = corpus.split()
    kept = {**split, "test": sorted(split["test"])[:count]}
    fewer = corpus.of_users([user for users in kept.values() for user in users])
    return replace(fewer, meta={**corpus.meta, "splits": kept})


def judged_by_session(
    sessions: Corpus, backbone: Backbone, manner: Manner, look: Extent, *, seed: int = 42
) -> pd.DataFrame:
    """Verdicts on whole sessions of the judges that ask (Table 7); empty where the extent leaves no room for any."""
    memory = Structured(manner.language, **look.memory) if look.is_short else None
    asking = session_judges(manner, memory) if look.turns != 0 else []
    return judged(asking, sessions, backbone, limit=look.turns or None, seed=seed)


def beside(computed: pd.DataFrame, asked: pd.DataFrame) -> pd.DataFrame:
    """The verdicts of the judges that asked, and the computed ones on the same turns; all of these where nobody asked."""
    if asked.empty:
        return computed
    return pd.concat([computed.merge(asked[TURN].drop_duplicates(), on=TURN), asked], ignore_index=True)


def enough(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """The verdicts of the judges that scored `FEWEST_REPLIES` or more replies that users rated: agreement needs them."""
    if verdicts.empty:
        return verdicts
    both = with_gold(verdicts, corpus, ["raw"]).dropna(subset=["gold", "raw"])
    counts = both["judge"].value_counts()
    return verdicts[verdicts["judge"].isin(counts.index[counts >= FEWEST_REPLIES])]


def compared(
    verdicts: pd.DataFrame,
    corpus: Corpus,
    *,
    scores: Sequence[str] = SCORES,
    metrics: Sequence[str] = SHOWN,
    controls: Sequence[str] = CONTROLS,
) -> pd.DataFrame:
    """Agreement of all judges in the frame, each beside its gain over the best control.

    A correlation within blocks has the turns and users that it rests on: those with a second turn in their block. From
    fewer than `FEWEST_REPLIES` turns there is no value.
    """
    known = set(enough(verdicts, corpus)["judge"]) or set(verdicts["judge"])
    present = [name for name in controls if name in known]
    agreed = agreement(verdicts, corpus, scores=scores, metrics=metrics, controls=present)
    within = agreed["metric"].str.startswith("wb_")
    agreed = pd.concat([agreed[~within], _count_in_blocks(agreed[within], verdicts, corpus)]).sort_index()
    measured = agreed.columns[agreed.columns.str.match("value|gain|control")]
    agreed[measured] = agreed[measured].where(agreed["turns"] >= FEWEST_REPLIES)
    return agreed


def _count_in_blocks(agreed: pd.DataFrame, verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Return rows of agreement with the turns and users of blocks in which a judge scored two rated turns or more."""
    counted = []
    for score, own in agreed.groupby("score", sort=False):
        both = with_gold(verdicts, corpus, [score]).dropna(subset=["gold", score])
        judge = ["judge", "backbone"]
        peers = both.groupby([*judge, *BLOCK], dropna=False)["gold"].transform("size") > 1
        counts = both[peers].groupby(judge, dropna=False)["user"].agg(turns="size", users="nunique")
        found = own[judge].merge(counts.reset_index(), on=judge, how="left").fillna({"turns": 0, "users": 0})
        counted.append(own.assign(**{name: found[name].to_numpy(int) for name in ("turns", "users")}))
    return pd.concat(counted) if counted else agreed


def costs(verdicts: pd.DataFrame, agreed: pd.DataFrame) -> pd.DataFrame:
    """What a judgment takes, beside what it is worth: one row a judge that asks a model.

    Columns: judge, backbone, judged, unscored, tokens_in, tokens_cached, tokens_out, seconds, cost (means a
    reply; the memory's or the rules' one-off costs are in the run's ledger), and pearson with its interval.
    """
    asked = verdicts[verdicts["tokens_in"].notna()]
    spent = ["tokens_in", "tokens_cached", "tokens_out", "seconds", "cost"]
    by = asked.groupby(["judge", "backbone"], sort=False)
    table = by[spent].mean().astype(float)
    table.insert(0, "judged", by.size())
    table.insert(1, "unscored", by["raw"].agg(lambda raw: int(raw.isna().sum())))
    worth = agreed[(agreed["metric"] == "pearson") & (agreed["score"] == "real")]
    names = {f"value{end}": f"pearson{end}" for end in ("", "_low", "_high")}
    worth = worth[["judge", "backbone", *names]].rename(columns=names)
    return table.reset_index().merge(worth, on=["judge", "backbone"], how="left")


def up_to(corpus: Corpus, key: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A conversation up to and with one judged reply, as messages."""
    block = corpus.block(key["user"], key["scenario"])
    target = block.target(key["session"], key["turn"])
    return [*target.prefix, {"role": "assistant", "content": target.response, "score": round(key["gold"])}]


def beside_gold(verdicts: pd.DataFrame, corpus: Corpus, score: str = "real") -> pd.DataFrame:
    """Each reply with the user's own score (`gold`) and those of the judges, a column each."""
    found = with_gold(verdicts, corpus, [score])
    return found.pivot(index=[*TURN, "gold"], columns="judge", values=score).reset_index()


#: What the learned evaluator was built to reach on unseen users of PersTurnBench, by metric and score column.
AIMS = read_csv(__file__, "published/learned_aims.csv")


def with_whole_scores(verdicts: pd.DataFrame, learned: LearnedJudge, corpus: Corpus) -> pd.DataFrame:
    """The verdicts of the learned evaluator (which has been fitted) and of the controls, with whole scores.

    Thresholds come from train users: the learned evaluator's from its held-out verdicts on them (a control learns ten
    numbers at most: its verdicts on those whom it learned from will do). The random
    judge's scores are whole as they are. Who has no score of a train user has no thresholds and is left out.
    """
    train = {learned.name: learned.held_out} if hasattr(learned, "held_out") else {}
    users = corpus.split().get("train", [])
    blocks = list(targets(corpus, split="train")) if users else []
    for control in controls() if users else ():
        train[control.name] = with_gold(_teach(control, corpus, users, blocks), corpus, ["raw"])
    random = verdicts[verdicts["judge"] == "random"]
    frames = [
        fit_thresholds(known, "raw").transform(verdicts[verdicts["judge"] == name], "whole")
        for name, known in train.items()
        if name != "random" and known[["raw", "gold"]].notna().all(axis=1).any()
    ]
    return pd.concat([*frames, random.assign(whole=random["raw"])], ignore_index=True)


def reached(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """The learned evaluator against what it was built to reach, and against the best control.

    Columns: those of `agreement` and aim, reached (by the estimate), surely (by the whole interval).
    """
    agreed = compared(verdicts, corpus, scores=["real", "whole"], metrics=[*AIMS["metric"]])
    own = agreed[agreed["judge"] == LearnedJudge.name].merge(AIMS, on=["metric", "score"])
    own = own.rename(columns={"score": "calibration"})
    return own.assign(reached=own["value"] >= own["aim"], surely=own["value_low"] >= own["aim"])


def measure_distributions(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Measure how good the learned evaluator's probabilities are, beside those that read no reply; smaller is better.

    The user's history is shrunk towards everybody's shares (`fit_population`). Columns: judge, log_loss and rps (ranked
    probability score), each with its interval, gain (in log loss over the history) with interval and p. Empty without train users or rated turns.
    """
    own = with_gold(verdicts[verdicts["judge"] == LearnedJudge.name], corpus, P).dropna(subset=["gold", *P])
    train = corpus.of_users(corpus.split().get("train", []))
    if own.empty or train.turns["score"].isna().all():
        return pd.DataFrame(columns=["judge", "log_loss", "rps", "gain"])
    everybody, users = fit_population(train), Resamples(own["user"])
    known = of_blocks(own, everybody.shrink(histories(corpus)))
    given = to_scale(floats(own["gold"]))[:, None]
    history = known / known.sum(axis=1, keepdims=True)
    said = {
        LearnedJudge.name: own[P].to_numpy(float),
        "history": history,
        "population": np.tile(everybody.shares, (len(own), 1)),
    }
    loss = {name: -np.log(np.maximum(p, 1e-4))[given == FIVE] for name, p in said.items()}
    rows = []
    for name, p in said.items():
        rps = ((p.cumsum(axis=1) - (given <= FIVE)) ** 2).sum(axis=1) / 4
        gain = users.estimate(users.mean(loss["history"] - loss[name]), "gain", p=True) if name != "history" else {}
        measured = users.estimate(users.mean(loss[name]), "log_loss", "error") | users.estimate(
            users.mean(rps), "rps", "error"
        )
        rows.append({"judge": name, **measured, **gain})
    return pd.DataFrame(rows)


def trace_learning(corpus: Corpus, seed: int = 42) -> pd.DataFrame:
    """Teach the learned evaluator and the control without text by more and more train users, drawn at random.

    They judge replies of at most `TRACED` test users. Columns: train_users, and those of `agreement`. Empty with fewer than eight train users.
    """
    train = np.random.default_rng(seed).permutation(corpus.split().get("train", [])).tolist()
    test = corpus.split().get("test", corpus.users["user"])
    traced = set(test if len(test) <= TRACED else np.random.default_rng(seed).choice(test, TRACED, replace=False))
    blocks, found = [block for block in targets(corpus) if block.user in traced], []
    for count in dict.fromkeys(len(train) * part // 4 for part in (1, 2, 3, 4) if len(train) >= 8):
        for judge in (LearnedJudge(), WithoutText()):
            verdicts = _teach(judge, corpus, train[:count], blocks)
            metrics = ["pearson", "wb_pearson"]
            agreed = compared(verdicts, corpus, scores=["raw"], metrics=metrics, controls=())
            found.append(agreed.assign(train_users=count))
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def _teach(judge: Judge, corpus: Corpus, users: Sequence[str], blocks: Sequence[Block]) -> pd.DataFrame:
    """Return a judge's verdicts on these blocks after it has learned from these users."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewTrainUsers)
        compute(partial(judge.fit, corpus.of_users(users)))
    return frame(judge, corpus, None, blocks, verdicts_on(judge, blocks, progress=False))
