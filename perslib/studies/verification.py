"""Table 2 for any corpus and backbone: the judges, their verdicts, what calibration makes of them, what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Corpus
from perslib.errors import NotEnough, UnknownName
from perslib.judge import (
    Constant,
    Episodic,
    Generic,
    Judge,
    LearnedJudge,
    Manner,
    Nearest,
    OfPopulation,
    OfTask,
    Personal,
    Random,
    Spur,
    Supervised,
    UserMean,
    UserMedian,
    Verdict,
    controls,
    evaluate,
    nearest_baselines,
    session_judges,
    targets,
)
from perslib.judge.base import frame
from perslib.llm import Backbone
from perslib.memory import MEMORIES, Measured, Structured
from perslib.memory import memory as named
from perslib.memory.named import EDITED
from perslib.report.tables import agreement_table
from perslib.stats import agreement, calibrated, fit_thresholds, histories, with_gold
from perslib.studies.extent import FEWEST_REPLIES, Extent, listed

#: The judges that no table of agreement is without.
CONTROLS = tuple(judge.name for judge in controls())
#: The paper's four metrics, and agreement when each user's own level is taken away.
SHOWN = ("pearson", "spearman", "qwk", "f1_dsat", "wc_pearson")
#: Score columns: as given, and read off the user's own history.
SCORES = ("real", "cdf")
#: Judges that ask no model, by the names that parameters use.
COMPUTED: dict[str, Callable[[], Judge]] = {
    "learned": LearnedJudge,
    "supervised": Supervised,
    "nearest": Nearest,
    "user mean": UserMean,
}
#: Judges that ask a model, by the names that parameters and tables use.
ASKED = (
    *("personal", "measured", "personal + measured", "scores only", "no memory"),
    *("zero-shot", "few-shot", "task rubric", "Prometheus"),
    *("RAG", "RAG boundary-first", "SPUR", "learned + measured"),
)

#: Rows of Table 2 that differ in the personal judge's memory → that memory.
_REMEMBERS = {
    "personal": "structured",
    "measured": "measured",
    "personal + measured": "structured + measured",
    "scores only": "scores",
}


def asks(name: str) -> bool:
    """Whether this is the name of a judge that asks a model."""
    return name in ASKED or name in MEMORIES or name.startswith(EDITED)


def computed_judges() -> list[Judge]:
    """The judges that ask no model: controls, baselines, and those that learn from train users."""
    population = [OfPopulation("mean"), OfTask("mean")]
    return [*controls(), *population, *nearest_baselines(), Supervised(), LearnedJudge()]


def asked_judge(name: str, manner: Manner, **memory: Any) -> Judge:
    """A judge by its name in `ASKED` or `COMPUTED`; `memory` are options of `Structured`.

    A name of `perslib.memory.MEMORIES` is the personal judge with that memory, "edited: NAME" with the memories that
    were saved under this name in the explorer.
    """
    if name in COMPUTED:
        return COMPUTED[name]()
    if name in _REMEMBERS or (name not in ASKED and asks(name)):
        memory_system = named(_REMEMBERS.get(name, name), manner.language, **memory)
        return Personal(memory_system, manner, name=name)
    if name == "learned + measured":
        return LearnedJudge(Personal(Measured(manner.language), manner, name="measured"))
    if name == "no memory":
        return Personal(None, manner, name=name)
    if name == "RAG":
        return Episodic(manner=manner, name=name)
    # These two decide something else first and have no score alone to give.
    if name == "RAG boundary-first":
        return Episodic(boundary_first=True, manner=replace(manner, written=True), name=name)
    if name == "SPUR":
        return Spur(replace(manner, written=True))
    if name in ASKED:
        return Generic(name, manner)
    raise UnknownName("judge", name, [*COMPUTED, *ASKED, *MEMORIES])


def asked_judges(names: str | Iterable[str], manner: Manner, **memory: Any) -> list[Judge]:
    """The judges that a parameter names, separated by commas, each once; "all" is every one that asks a model."""
    given = listed(names) if isinstance(names, str) else list(names)
    wanted = ASKED if names == "all" else given
    return [asked_judge(name, manner, **memory) for name in dict.fromkeys(wanted)]


def judged(
    judges: Iterable[Judge],
    corpus: Corpus,
    backbone: Backbone | None = None,
    *,
    limit: int | None = None,
    seed: int = 42,
) -> pd.DataFrame:
    """Verdicts of all these judges on the test users' replies, in one frame, with calibrated columns.

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
    return on_history(pd.concat(frames, ignore_index=True), corpus)


def judged_by_session(
    sessions: Corpus, backbone: Backbone, manner: Manner, look: Extent, *, seed: int = 42
) -> pd.DataFrame:
    """Verdicts on whole sessions of the judges that ask (Table 7); empty where the extent leaves no room for any."""
    memory = Structured(manner.language, **look.memory) if look.is_short else None
    asking = session_judges(manner, memory) if look.turns != 0 else []
    return judged(asking, sessions, backbone, limit=look.turns or None, seed=seed)


def beside_computed(asked: pd.DataFrame, sessions: Corpus) -> pd.DataFrame:
    """These verdicts on sessions, and the computed judges' on the same; without any, the computed judges' on all."""
    computed = judged([*controls(), Nearest(), LearnedJudge()], sessions)
    return computed if asked.empty else pd.concat([on_turns_of(computed, asked), asked], ignore_index=True)


def on_history(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """The verdicts with `real` (the mean of the distribution where there is one, else the score) and its
    calibrations on the user's history, `mean_shift` and `cdf`."""
    real = verdicts.assign(real=verdicts["expected"].fillna(verdicts["raw"]))
    return calibrated(real, histories(corpus), score="real")


def on_turns_of(verdicts: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """The verdicts on the turns that the others are about, so that both can stand in one table."""
    return verdicts.merge(others[TURN].drop_duplicates(), on=TURN, how="inner")


def enough(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The verdicts of the judges that scored at least `FEWEST_REPLIES` replies, so that agreement says something."""
    if verdicts.empty:
        return verdicts
    has_score = verdicts["raw"].notna()
    return verdicts[has_score.groupby(verdicts["judge"]).transform("sum") >= FEWEST_REPLIES]


def compared(
    verdicts: pd.DataFrame,
    corpus: Corpus,
    *,
    scores: Sequence[str] = SCORES,
    metrics: Sequence[str] = SHOWN,
    seed: int = 42,
) -> pd.DataFrame:
    """Agreement of all judges in the frame, each beside its gain over the best control."""
    present = [name for name in CONTROLS if name in set(verdicts["judge"])]
    return agreement(verdicts, corpus, scores=scores, metrics=metrics, controls=present, seed=seed)


def of_judges(computed: pd.DataFrame, asked: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The verdicts of the computed judges of these names and of all that asked."""
    return pd.concat([computed[computed["judge"].isin(names)], asked], ignore_index=True)


def table_of(agreed: pd.DataFrame) -> pd.DataFrame:
    """The agreement frame as a paper's table, a row a judge and calibration."""
    wide = agreement_table(agreed).rename(columns={"score": "calibration"})
    return wide.drop(columns="backbone", errors="ignore")


def gains_of(agreed: pd.DataFrame, metrics: Sequence[str] = ("pearson", "qwk", "wc_pearson")) -> pd.DataFrame:
    """What each judge gains over the best control, a row a judge and calibration; the controls have none."""
    own = agreed[~agreed["judge"].isin(CONTROLS)]
    wide = agreement_table(own, list(metrics), gains=metrics).rename(columns={"score": "calibration"})
    return wide[["judge", "calibration", *(f"gain: {name}" for name in metrics)]]


def costs(verdicts: pd.DataFrame, agreed: pd.DataFrame, metric: str = "pearson") -> pd.DataFrame:
    """What a judgment takes, beside what it is worth: one row a judge that asks a model.

    Columns: judge, backbone, judged, unscored, tokens_in, tokens_cached, tokens_out, seconds, cost (means a
    reply; the memory's or the rules' one-off costs are in the run's ledger), and the metric with its interval.
    """
    asked = verdicts[verdicts["tokens_in"].notna()]
    spent = ["tokens_in", "tokens_cached", "tokens_out", "seconds", "cost"]
    by = asked.groupby(["judge", "backbone"], sort=False)
    table = by[spent].mean().astype(float)
    table.insert(0, "judged", by.size())
    table.insert(1, "unscored", by["raw"].agg(lambda raw: int(raw.isna().sum())))
    worth = agreed[(agreed["metric"] == metric) & (agreed["score"] == "real")]
    names = {f"value{end}": f"{metric}{end}" for end in ("", "_low", "_high")}
    worth = worth[["judge", "backbone", *names]].rename(columns=names)
    return table.reset_index().merge(worth, on=["judge", "backbone"], how="left")


def up_to(corpus: Corpus, key: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A conversation up to and with one judged reply, as messages."""
    block = corpus.block(key["user"], key["scenario"])
    target = block.target(key["session"], key["turn"])
    return [*target.prefix, {"role": "assistant", "content": target.response, "score": int(key["gold"])}]


def task_of(corpus: Corpus, key: Mapping[str, Any]) -> str:
    """The task of the session that a turn belongs to."""
    return corpus.task(key["user"], key["scenario"], key["session"])


def beside_gold(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Each reply with the user's own score (`gold`) and those of the judges, a column each."""
    found = with_gold(verdicts, corpus, ["real"])
    return found.pivot(index=[*TURN, "gold"], columns="judge", values="real").reset_index()


def opinions(verdicts: pd.DataFrame, key: Mapping[str, Any], judges: Sequence[str]) -> pd.DataFrame:
    """What these judges said of one turn: judge, real, cdf, reason, rationale."""
    own = verdicts[(verdicts[TURN] == pd.Series(key)[TURN]).all(axis=1) & verdicts["judge"].isin(judges)]
    said = own[["judge", "real", "cdf", "reason", "rationale"]]
    return said.dropna(axis=1, how="all")


#: What the learned evaluator was built to reach on unseen users of PersTurnBench, by metric and score column.
AIMS = {
    ("pearson", "real"): 0.47,
    ("spearman", "real"): 0.49,
    ("wc_pearson", "real"): 0.20,
    ("qwk", "whole"): 0.39,
    ("f1_dsat", "whole"): 0.41,
}


def with_whole_scores(verdicts: pd.DataFrame, learned: LearnedJudge, corpus: Corpus) -> pd.DataFrame:
    """The verdicts of the learned evaluator (which has been fitted) and of the controls, with whole scores.

    Thresholds come from train users: the learned evaluator's from its held-out verdicts on them. The random
    judge's scores are whole as they are. Who has no score of a train user has no thresholds and is left out.
    """
    train = {learned.name: learned.held_out} if hasattr(learned, "held_out") else {}
    for control in (UserMean(), UserMedian(), Constant(4)) if corpus.split().get("train") else ():
        train[control.name] = with_gold(evaluate(control, corpus, split="train"), corpus, ["raw"])
    frames = [
        fit_thresholds(known, "raw").transform(verdicts[verdicts["judge"] == name], "whole")
        for name, known in train.items()
        if known["raw"].notna().any()
    ]
    random = verdicts[verdicts["judge"] == Random().name]
    return pd.concat([*frames, random.assign(whole=random["raw"])], ignore_index=True)


def reached(verdicts: pd.DataFrame, corpus: Corpus, seed: int = 42) -> pd.DataFrame:
    """The learned evaluator against what it was built to reach, and against the best control.

    Columns: those of `agreement` and aim, reached (by the estimate), surely (by the whole interval).
    """
    names = [name for name in dict.fromkeys(verdicts["judge"]) if name != LearnedJudge.name]
    metrics: Sequence[str] = list(dict.fromkeys(metric for metric, _ in AIMS))
    agreed = agreement(verdicts, corpus, scores=["real", "whole"], metrics=metrics, controls=names, seed=seed)
    own = agreed[agreed["judge"] == LearnedJudge.name].rename(columns={"score": "calibration"})
    aims = [AIMS.get(key, np.nan) for key in zip(own["metric"], own["calibration"])]
    own = own.assign(aim=aims).dropna(subset="aim").reset_index(drop=True)
    return own.assign(reached=own["value"] >= own["aim"], surely=own["value_low"] >= own["aim"])
