"""The page on judge bias: what the published tables of UXBench say, and an audit of judges on a corpus at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.stats import kendalltau, pearsonr, spearmanr

from perslib.corpus import TURN, Block, Corpus
from perslib.errors import NotEnough
from perslib.judge import Judge
from perslib.judge.evaluate import evaluate, targets
from perslib.llm import Backbone
from perslib.report.tables import with_interval
from perslib.stats import SEED, floats, wilson
from perslib.studies.extent import Extent
from perslib.ux import (
    CASES,
    REWARD_MODEL,
    Form,
    PairJudge,
    at_learned_threshold,
    bradley_terry,
    cases_needed,
    detection,
    double_centred,
    families,
    judge_cases,
    judged,
    length_audit,
    own_family_gaps,
    padding_audit,
    pairs_of,
    position_audit,
    preferences,
    published,
    rank_sets_of_shares,
    wall,
)

#: Tasks of Table 3 by the column that holds their percentage.
TASKS = {"accuracy": "UX Judge", "eval_good": "UX Eval", "recovery_good": "UX Recovery"}
METRICS = ("balanced", "good_acc", "bad_acc", "positive_bias", "d_prime", "criterion")
#: Metrics that go by another name on the page.
LABELS = {"balanced": "balanced_accuracy"}
#: Baselines that stand beside the judges of a corpus.
BESIDE = ("majority", "length only", "query only", "reply only")
#: Recorded replies that are judged where no model is asked; those of them that are padded, and as many of each user's
#: candidates' replies that pairs are drawn from.
JUDGED, PADDED = 400, 80


# -- published tables -------------------------------------------------------------------------------------------------


def sensitivity() -> pd.DataFrame:
    """Table 3 with intervals and signal detection: how mild each judge is, and how well it tells bad from good.

    Columns: model, family, accuracy, low, high (Wilson), good_acc, bad_acc, positive_bias (all in percent), d_prime,
    d_prime_se, criterion, at_best (accuracy at the best threshold, in percent).
    """
    table = published("table3")
    n_good, n_bad = CASES["good_acc"], CASES["bad_acc"]
    found = detection(
        table["bad_acc"] / 100 * n_bad, n_bad, n_good - table["good_acc"] / 100 * n_good, n_good
    )
    low, high = wilson(table["accuracy"] / 100 * CASES["accuracy"], CASES["accuracy"])
    return table[["model", "family", "accuracy"]].assign(
        low=100 * low,
        high=100 * high,
        good_acc=table["good_acc"],
        bad_acc=table["bad_acc"],
        positive_bias=table["good_acc"] - table["bad_acc"],
        d_prime=found.d_prime,
        d_prime_se=found.d_prime_se,
        criterion=found.criterion,
        at_best=100 * found.at_best,
    )


def ranks() -> pd.DataFrame:
    """The ranks that Table 3 leaves open in each task, one task after another (the trained judge is left out)."""
    table = published("table3").set_index("model").drop(REWARD_MODEL)
    parts = [
        rank_sets_of_shares(table[column], CASES[column]).assign(task=task) for column, task in TASKS.items()
    ]
    return pd.concat(parts, ignore_index=True)


def between_tasks() -> pd.DataFrame:
    """How the tasks of Table 3, and the benchmarks of Table 5, order the same models: Pearson, Spearman, Kendall."""
    three = published("table3").query("model != @REWARD_MODEL")
    five = published("table5")
    named = {**TASKS, "good_acc": "good recall", "bad_acc": "bad recall"}
    pairs = [
        ("accuracy", "eval_good"),
        ("accuracy", "recovery_good"),
        ("eval_good", "recovery_good"),
        ("good_acc", "bad_acc"),
    ]
    rows = [_correlated(three, a, b, named[a], named[b]) for a, b in pairs]
    others = {"arena_hard": "Arena-Hard", "wildbench": "WildBench", "alpaca_eval": "AlpacaEval"}
    rows += [_correlated(five, "uxbench", column, "UXBench", name) for column, name in others.items()]
    return pd.DataFrame(rows)


def _correlated(table: pd.DataFrame, x: str, y: str, one: str, other: str) -> dict[str, object]:
    found = {"pearson_r": pearsonr, "spearman_rho": spearmanr, "kendall_tau_b": kendalltau}
    values = {name: with_interval(float(f(table[x], table[y])[0])) for name, f in found.items()}
    return {"ranking": one, "with": other, **values, "models": len(table)}


def matrix() -> pd.DataFrame:
    """Table 9, models × judges in percent."""
    return published("table9").set_index("model").drop(columns="family")


def residuals() -> pd.DataFrame:
    """Table 9 double-centred, ordered by family as published."""
    return double_centred(matrix())


def gaps() -> pd.DataFrame:
    """Own family less others in Table 9, with permutation intervals."""
    return own_family_gaps(matrix(), families())


def pairs() -> pd.DataFrame:
    """Table 10 as counts of 500 cases a pair, with tests; a is of the judge's own family in every row."""
    return preferences(_pair_counts())


def strengths(by_judge: bool = True) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Bradley–Terry on Table 10 with an own-family term (a judge): its table, and its likelihood-ratio tests."""
    fitted = bradley_terry(_pair_counts(), families(), by_judge=by_judge)
    return fitted.table, fitted.tests


def _pair_counts() -> pd.DataFrame:
    table, n = published("table10"), CASES["pair"]
    counted = {to: (table[of] / 100 * n).round().astype(int) for to, of in (("a_wins", "a_wins"), ("b_wins", "b_wins"), ("ties", "tie"))}  # fmt: skip
    return table[["judge", "a", "b"]].assign(**counted)


def escapes() -> pd.DataFrame:
    """Bad cases called neutral, with intervals; and recall of bad cases at low and high reasoning effort."""
    n = CASES["bad_acc"]
    neutral = (
        published("neutral").rename(columns={"bad_to_neutral": "percent"}).assign(quantity="called neutral")
    )
    effort = published("effort").melt("model", var_name="quantity", value_name="percent")
    effort["quantity"] = effort["quantity"].map("bad recall, {} effort".format)
    both = pd.concat([neutral, effort], ignore_index=True).rename(columns={"model": "model_name"})
    low, high = wilson(both["percent"] / 100 * n, n)
    return both.assign(low=100 * low, high=100 * high)[["quantity", "model_name", "percent", "low", "high"]]


def sizes() -> pd.DataFrame:
    """Cases it takes to tell two judges apart that are tried on the same cases, at 80 % power."""
    rows = [
        {
            "points": points,
            **{f"rho_{int(100 * r)}": cases_needed(points, correlation=r) for r in (0.0, 0.5, 0.8)},
        }
        for points in (1, 2, 3, 5, 10)
    ]
    return pd.DataFrame(rows)


# -- an audit of judges on a corpus -------------------------------------------------------------------------------------


def pair_judge(language: str, look: Extent) -> PairJudge:
    """A judge that chooses between two replies; at a first look it is shown the request alone."""
    return PairJudge(Form(language, window=look.window if look.is_short else None))


@dataclass(frozen=True)
class Audit:
    """What the page finds out about judges on a corpus; a table is empty where the corpus has nothing for it."""

    quality: pd.DataFrame
    """Judges and baselines on clearly good and clearly bad replies."""
    length: pd.DataFrame
    padding: pd.DataFrame
    position: pd.DataFrame
    cases: int = 0
    lacking: tuple[NotEnough, ...] = ()
    """Why judges were left out, and why nothing is said of quality."""

    @property
    def padded(self) -> pd.DataFrame:
        """`padding` of at least one judge."""
        if self.padding.empty:
            raise NotEnough("No judge could be audited for length; the reasons are given above.")
        return self.padding


def replies(judges: Sequence[Judge], look: Extent, limit: int) -> int | None:
    """How many recorded replies a limit means: where no judge asks a model, 0 is `JUDGED` of them."""
    if any(judge.sees.model for judge in judges):
        return look.turns
    return {0: JUDGED, -1: None}.get(limit, limit)


def audit(
    judges: Sequence[Judge],
    corpus: Corpus,
    backbone: Backbone | None = None,
    *,
    pairwise: PairJudge | None = None,
    pairs: int = 30,
    limit: int | None = None,
    seed: int = SEED,
) -> Audit:
    """Quality, length, padding and place of each judge, on the same replies; each judge learns once.

    `limit` bounds the recorded replies that are judged. Candidates' replies come with the corpus, or there are no pairs.
    A judge that has too little to learn from is left out, and `lacking` says why.
    """
    blocks = [block for block in targets(corpus, limit=limit, seed=seed) if len(block)]
    candidates = corpus.extras.get("candidates", pd.DataFrame(columns=["candidate", *TURN, "response"]))
    own = candidates[candidates["user"].isin({b.user for b in blocks})]
    drawn = (
        pairs_of(own[own.groupby("user", sort=False).cumcount() < PADDED], pairs, seed) if len(own) else own
    )
    verdicts, padding, position = [], [], []
    lacking: list[NotEnough] = []
    for judge in judges:
        try:
            verdicts.append(evaluate(judge, corpus, backbone, blocks=blocks, progress=False))
        except NotEnough as missing:
            lacking.append(missing)
            continue
        padding.append(
            padding_audit(
                judge, corpus, backbone, blocks=_few(blocks, PADDED), fit=False, seed=seed, progress=False
            )
        )
        if len(drawn):
            position.append(
                position_audit(judge, drawn, corpus, backbone, fit=False, seed=seed, progress=False)
            )
    if pairwise is not None and len(drawn):
        position.append(position_audit(pairwise, drawn, corpus, backbone, seed=seed, progress=True))
    every, quality = _joined(verdicts), pd.DataFrame()
    if verdicts:
        try:
            quality = _quality(every, corpus, blocks, seed)
        except NotEnough as missing:
            lacking.append(missing)
    rated = verdicts and corpus.turns["score"].notna().any()
    return Audit(
        quality,
        length_audit(every, corpus, seed=seed) if rated else pd.DataFrame(),
        _joined(padding),
        _joined(position),
        int(quality["cases"].max()) if len(quality) else 0,
        tuple(lacking),
    )


def _joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _few(blocks: Sequence[Block], replies: int) -> list[Block]:
    """About so many replies, the first few of one block of each user."""
    first = {block.user: block for block in reversed(blocks)}
    each = -(-replies // len(first)) if first else 0
    return [replace(block, targets=block.targets.head(each)) for block in first.values()]


def _quality(verdicts: pd.DataFrame, corpus: Corpus, blocks: Sequence[Block], seed: int) -> pd.DataFrame:
    """Judges as judges of good and bad: 4 and up is good. One row a judge or baseline, and a metric.

    Baselines learn from the other users judged here, judges from train users.
    """
    cases = judge_cases(corpus, balanced=False)
    seen = {"/".join(str(v) for v in key) for b in blocks for key in b.targets[TURN].itertuples(index=False)}
    cases = [c for c in cases if c.case in seen]
    if len({c.gold for c in cases}) < 2:
        raise NotEnough(
            "Users showed {good} of the replies judged here to be clearly good and {bad} clearly bad; both kinds "
            "are needed. Add scores of 5 and of 2 or lower, likes or dislikes.",
            good=sum(c.gold == 1 for c in cases),
            bad=sum(c.gold == -1 for c in cases),
        )
    gold = pd.DataFrame({"case": [c.case for c in cases], "gold": [c.gold for c in cases]})
    score = floats(verdicts["expected"].fillna(verdicts["raw"]))
    own = verdicts.assign(case=verdicts[TURN].astype(str).agg("/".join, axis=1), score=(score - 1) / 4)
    own = own.merge(gold, on="case")
    own = own.assign(
        said=np.where(own["raw"].isna(), np.nan, np.where(own["raw"].astype(float) >= 3.5, 1, -1))
    )
    beside = wall(cases, BESIDE, seed=seed).assign(score=lambda f: f["p_good"])
    both = pd.concat([f[["judge", "case", "user", "gold", "said", "score"]].astype({"said": "Float64", "score": "Float64", "gold": "Int64"}) for f in (own, beside)])  # fmt: skip
    table = judged(both, metrics=METRICS, unit="user", seed=seed)
    learned = [
        {"judge": judge, "metric": "at_learned", "value": f.calibrated, "cases": f.cases}
        for judge, part in both.groupby("judge", sort=False)
        for f in [at_learned_threshold(part["gold"], part["score"].clip(0, 1), part["user"], seed=seed)]
    ]
    return pd.concat([table, pd.DataFrame(learned)], ignore_index=True).assign(
        is_baseline=lambda f: f["judge"].isin(BESIDE)
    )
