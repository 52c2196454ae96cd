"""Whole scores of judges that give means: thresholds from verdicts on people whom the judge did not learn from."""

from __future__ import annotations

import pandas as pd

from perslib.corpus import Corpus
from perslib.judge import LearnedJudge, select_blocks
from perslib.judge.baselines import controls
from perslib.paths import read_csv
from perslib.stats import fit_thresholds, with_gold
from perslib.studies.verification import CONTROLS, compare_judges, teach_and_judge

#: The aims of the learned judge on unseen users of PersTurnBench, by metric and score column.
AIMS = read_csv(__file__, "published/learned_aims.csv")


def cut_whole_scores(verdicts: pd.DataFrame, learned: LearnedJudge, corpus: Corpus) -> pd.DataFrame:
    """Return the verdicts of the learned judge (already fitted) and of the controls, with whole scores.

    Thresholds come from train users: those of the learned judge from its held-out verdicts on them. A control learns at
    most ten numbers, so its verdicts on the users from whom it learned are sufficient. The scores of the random judge
    are already whole. A judge without a score of a train user has no thresholds and is left out.
    """
    train = {learned.name: learned.held_out} if hasattr(learned, "held_out") else {}
    users = [] if corpus.folds else corpus.split().get("train", [])
    blocks = list(select_blocks(corpus, split="train")) if users else []
    for control in controls() if users else ():
        train[control.name] = with_gold(teach_and_judge(control, corpus, users, blocks), corpus, ["raw"])
    random = verdicts["judge"] == "random"
    whole = [verdicts[random].assign(whole=verdicts["raw"])]
    for name, own in verdicts[verdicts["judge"].isin([learned.name, *CONTROLS]) & ~random].groupby("judge", sort=False):
        if corpus.folds:  # of each fold, the verdicts on all others are held out
            held_out = with_gold(own, corpus, ["raw"])
            lessons = [(held_out[~held_out["user"].isin(fold)], own["user"].isin(fold)) for fold in corpus.folds]
        else:
            lessons = [(train[name], own["user"].notna())] if name in train else []
        whole += [
            fit_thresholds(taught, "raw").transform(own[rows], "whole")
            for taught, rows in lessons
            if taught[["raw", "gold"]].notna().all(axis=1).any() and rows.any()
        ]
    return pd.concat(whole, ignore_index=True)


def compare_to_aims(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Return the agreement of the learned judge, compared with the best control, and on PersTurnBench with its aims.

    Columns: those of `agreement`; there also aim, reached (by the estimate), surely (by the whole interval).
    """
    agreed = compare_judges(verdicts, corpus, scores=["real", "whole"], metrics=[*AIMS["metric"]])
    learned = agreed[agreed["judge"] == LearnedJudge.name].merge(AIMS, on=["metric", "score"])
    learned = learned.rename(columns={"score": "calibration"})
    if corpus.meta.get("kind") != "persturnbench":
        return learned.drop(columns="aim")
    return learned.assign(reached=learned["value"] >= learned["aim"], surely=learned["value_low"] >= learned["aim"])
