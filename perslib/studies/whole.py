"""Whole scores where κ and F1 want them: thresholds learned on train users, for judges and controls alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from perslib.calibrate import fit_thresholds
from perslib.corpus import Corpus
from perslib.judge import Constant, LearnedJudge, Random, UserMean, UserMedian, evaluate
from perslib.metrics import agreement, with_gold, with_interval

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
    judge's scores are whole as they are.
    """
    train = {learned.name: learned.held_out}
    for control in (UserMean(), UserMedian(), Constant(4)):
        train[control.name] = with_gold(evaluate(control, corpus, split="train"), corpus, ["raw"])
    frames = [
        fit_thresholds(known, "raw").transform(verdicts[verdicts["judge"] == name], "whole")
        for name, known in train.items()
    ]
    random = verdicts[verdicts["judge"] == Random().name]
    return pd.concat([*frames, random.assign(whole=random["raw"])], ignore_index=True)


def reached(verdicts: pd.DataFrame, corpus: Corpus, seed: int = 42) -> pd.DataFrame:
    """The learned evaluator against what it was built to reach, and against the best control.

    Columns: metric, calibration, value, aim, reached (by the estimate), surely (by the whole interval), control
    and gain over it; value and gain with their intervals.
    """
    names = [name for name in dict.fromkeys(verdicts["judge"]) if name != LearnedJudge.name]
    metrics: Sequence[str] = list(dict.fromkeys(metric for metric, _ in AIMS))
    agreed = agreement(verdicts, corpus, scores=["real", "whole"], metrics=metrics, controls=names, seed=seed)
    own = agreed[agreed["judge"] == LearnedJudge.name].rename(columns={"score": "calibration"})
    aims = [AIMS.get(key, np.nan) for key in zip(own["metric"], own["calibration"])]
    own = own.assign(aim=aims).dropna(subset="aim").reset_index(drop=True)
    return pd.DataFrame(
        {
            **own[["metric", "calibration"]],
            "value": [with_interval(*row) for row in own[["value", "low", "high"]].to_numpy(float)],
            "aim": own["aim"],
            "reached": own["value"] >= own["aim"],
            "surely": own["low"] >= own["aim"],
            "control": own["control"],
            "gain": [with_interval(*row) for row in own[["gain", "gain_low", "gain_high"]].to_numpy(float)],
        }
    )
