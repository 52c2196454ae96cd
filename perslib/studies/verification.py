"""Table 2 for any corpus and backbone: the judges, their verdicts, what calibration makes of them, what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from perslib.corpus import TURN, Corpus
from perslib.errors import NotEnough
from perslib.judge import Judge, LearnedJudge, Manner, Supervised, Verdict, evaluate, session_judges, targets
from perslib.judge.base import frame
from perslib.judge.history import OfPopulation, OfTask, controls, nearest_baselines
from perslib.llm import Backbone
from perslib.memory import Structured
from perslib.paths import read_csv
from perslib.stats import agreement, calibrated, fit_thresholds, histories, with_gold
from perslib.studies.extent import FEWEST_REPLIES, Extent

#: The judges that no table of agreement is without.
CONTROLS = tuple(judge.name for judge in controls())
#: The paper's four metrics, and agreement when the mean of each block is taken away.
SHOWN = ("pearson", "spearman", "qwk", "f1_dsat", "wb_pearson")
#: Metrics whose gain over the best control tables show.
GAINS = ("pearson", "qwk", "wb_pearson")
#: Score columns: as given, and read off the user's own history.
SCORES = ("real", "cdf")


def computed_judges(names: Iterable[str] = ()) -> list[Judge]:
    """The judges that ask no model: controls, baselines, and those that learn from train users; or those of these names."""
    population = [OfPopulation("mean"), OfTask("mean")]
    every = [*controls(), *population, *nearest_baselines(), Supervised(), LearnedJudge()]
    return [judge for judge in every if judge.name in names] if names else every


def judged(
    judges: Iterable[Judge],
    corpus: Corpus,
    backbone: Backbone | None = None,
    *,
    limit: int | None = None,
    seed: int = 42,
) -> pd.DataFrame:
    """Verdicts of all these judges on the test users' replies, in one frame.

    `real` is the mean of the distribution where there is one, else the score; `mean_shift` and `cdf` are its calibrations
    on the user's history.
    A judge that finds nothing to learn from leaves every reply unscored and says why.
    """
    judges = list(judges)
    if not judges:
        return pd.DataFrame()
    blocks = list(targets(corpus, limit=limit, seed=seed))
    frames = []
    for judge in judges:
        try:
            found = evaluate(judge, corpus, backbone, blocks=blocks)
        except NotEnough as error:
            without = Verdict(mode="computed", error=f"no score: {error}")
            found = frame(judge, corpus, backbone, blocks, [[without] * len(block) for block in blocks])
        frames.append(found)
    found = pd.concat(frames, ignore_index=True)
    real = found.assign(real=found["expected"].fillna(found["raw"]))
    return calibrated(real, histories(corpus), score="real")


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


def enough(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The verdicts of the judges that scored at least `FEWEST_REPLIES` replies, so that agreement says something."""
    if verdicts.empty:
        return verdicts
    has_score = verdicts["raw"].notna()
    return verdicts[has_score.groupby(verdicts["judge"]).transform("sum") >= FEWEST_REPLIES]


def compared(verdicts: pd.DataFrame, corpus: Corpus, *, scores: Sequence[str] = SCORES, seed: int = 42) -> pd.DataFrame:
    """Agreement of all judges in the frame, each beside its gain over the best control."""
    present = [name for name in CONTROLS if name in set(verdicts["judge"])]
    return agreement(verdicts, corpus, scores=scores, metrics=SHOWN, controls=present, seed=seed)


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
    return [*target.prefix, {"role": "assistant", "content": target.response, "score": int(key["gold"])}]


def beside_gold(verdicts: pd.DataFrame, corpus: Corpus, score: str = "real") -> pd.DataFrame:
    """Each reply with the user's own score (`gold`) and those of the judges, a column each."""
    found = with_gold(verdicts, corpus, [score])
    return found.pivot(index=[*TURN, "gold"], columns="judge", values=score).reset_index()


#: What the learned evaluator was built to reach on unseen users of PersTurnBench, by metric and score column.
AIMS = read_csv(__file__, "published/learned_aims.csv")


def with_whole_scores(verdicts: pd.DataFrame, learned: LearnedJudge, corpus: Corpus) -> pd.DataFrame:
    """The verdicts of the learned evaluator (which has been fitted) and of the controls, with whole scores.

    Thresholds come from train users: the learned evaluator's from its held-out verdicts on them. The random
    judge's scores are whole as they are. Who has no score of a train user has no thresholds and is left out.
    """
    train = {learned.name: learned.held_out} if hasattr(learned, "held_out") else {}
    for control in controls() if corpus.split().get("train") else ():
        train[control.name] = with_gold(evaluate(control, corpus, split="train"), corpus, ["raw"])
    random = verdicts[verdicts["judge"] == "random"]
    frames = [
        fit_thresholds(known, "raw").transform(verdicts[verdicts["judge"] == name], "whole")
        for name, known in train.items()
        if name != "random" and known["raw"].notna().any()
    ]
    return pd.concat([*frames, random.assign(whole=random["raw"])], ignore_index=True)


def reached(verdicts: pd.DataFrame, corpus: Corpus, seed: int = 42) -> pd.DataFrame:
    """The learned evaluator against what it was built to reach, and against the best control.

    Columns: those of `agreement` and aim, reached (by the estimate), surely (by the whole interval).
    """
    names = verdicts["judge"].drop(verdicts.index[verdicts["judge"] == LearnedJudge.name]).unique()
    agreed = agreement(
        verdicts, corpus, scores=["real", "whole"], metrics=[*AIMS["metric"]], controls=[*names], seed=seed
    )
    own = agreed[agreed["judge"] == LearnedJudge.name].merge(AIMS, on=["metric", "score"])
    own = own.rename(columns={"score": "calibration"})
    return own.assign(reached=own["value"] >= own["aim"], surely=own["value_low"] >= own["aim"])
