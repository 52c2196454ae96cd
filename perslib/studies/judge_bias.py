"""The page on judge bias: what the published tables of UXBench say, and an audit of judges on a corpus at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import kendalltau, norm, pearsonr, spearmanr

from perslib import stats, ux
from perslib.corpus import TURN, Block, Corpus
from perslib.errors import NotEnough
from perslib.judge import Judge
from perslib.judge.evaluate import evaluate, targets
from perslib.llm import Backbone
from perslib.studies.extent import FEWEST_REPLIES, Extent
from perslib.ux import CASES, REWARD_MODEL, PairJudge, families, published

#: Tasks of Table 3 by the column that holds their percentage.
TASKS = {"accuracy": "UX Judge", "eval_good": "UX Eval", "recovery_good": "UX Recovery"}
METRICS = ("balanced", "good_acc", "bad_acc", "positive_bias", "d_prime", "criterion")
#: Baselines that stand beside the judges of a corpus.
BESIDE = ("majority", "length only", "query only", "reply only")
#: Recorded replies that are judged where no model is asked; those of them that are padded, and as many of each user's
#: candidates' replies that pairs are drawn from.
JUDGED, PADDED = 400, 80


# -- published tables -------------------------------------------------------------------------------------------------


def with_wilson(table: pd.DataFrame, column: str, cases: int) -> pd.DataFrame:
    """Add the Wilson bounds of a column of percentages, all of so many cases."""
    low, high = stats.wilson(table[column] / 100 * cases, cases)
    return table.assign(**{f"{column}_low": 100 * low, f"{column}_high": 100 * high})


def sensitivity() -> pd.DataFrame:
    """Table 3 with intervals and signal detection: how mild each judge is, and how well it tells bad from good.

    Columns: model, family, accuracy, accuracy_low, accuracy_high (Wilson), good_acc, bad_acc, positive_bias (all in
    percent), d_prime, d_prime_low, d_prime_high, d_prime_se, criterion, at_best (accuracy at the best threshold, percent).
    """
    columns = ["model", "family", "accuracy", "good_acc", "bad_acc"]
    table = with_wilson(published("table3")[columns], "accuracy", CASES["accuracy"])
    n_good, n_bad = CASES["good_acc"], CASES["bad_acc"]
    found = stats.detection(
        table["bad_acc"] / 100 * n_bad, n_bad, n_good - table["good_acc"] / 100 * n_good, n_good
    )
    reach = 1.96 * found.d_prime_se
    return table.assign(
        positive_bias=table["good_acc"] - table["bad_acc"],
        d_prime=found.d_prime,
        d_prime_low=found.d_prime - reach,
        d_prime_high=found.d_prime + reach,
        d_prime_se=found.d_prime_se,
        criterion=found.criterion,
        at_best=100 * found.at_best,
    )


def accuracy_at(d_prime: np.ndarray, criterion: np.ndarray) -> np.ndarray:
    """The accuracy on a balanced set of a judge with this sensitivity and criterion."""
    accuracies: np.ndarray = norm.cdf(d_prime / 2 - criterion) + norm.cdf(d_prime / 2 + criterion)
    return accuracies / 2


def summarize_mildness(table: pd.DataFrame) -> dict[str, Any]:
    """The mildest and the strictest of the zero-shot judges, and their mean."""
    bias = table[table["model"] != REWARD_MODEL].set_index("model")["positive_bias"]
    ends = {"least": bias.min(), "strictest": bias.idxmin(), "most": bias.max(), "mildest": bias.idxmax()}
    return {"n": len(bias), "mean": bias.mean(), **ends}


def summarize_sensitivity(table: pd.DataFrame) -> dict[str, Any]:
    """How much of the trained judge's lead is a threshold."""
    own, trained = table[table["model"] != REWARD_MODEL], table[table["model"] == REWARD_MODEL].iloc[0]
    best = own.loc[own["at_best"].idxmax()]
    return {
        **{f"with_{name[0]}": own["accuracy"].corr(own[name]) for name in ("criterion", "d_prime")},
        **{"n": len(own), "equal": int((own["d_prime"] >= trained["d_prime"]).sum())},
        **{"best": best["model"], "best_accuracy": best["at_best"], "d_prime": trained["d_prime"]},
        **{"trained_best": trained["at_best"], "trained_accuracy": trained["accuracy"]},
        **{"least_error": table["d_prime_se"].min(), "most_error": table["d_prime_se"].max()},
    }


def ranks() -> pd.DataFrame:
    """The ranks that Table 3 leaves open in each task, one task after another (the trained judge is left out).

    Columns: as of `rank_sets_of_shares`, the best and worst rank as rank_low and rank_high, and task.
    """
    table = published("table3").set_index("model").drop(REWARD_MODEL)
    parts = [stats.rank_sets_of_shares(table[c], CASES[c]).assign(task=task) for c, task in TASKS.items()]
    bounds = {"best_rank": "rank_low", "worst_rank": "rank_high"}
    return pd.concat(parts, ignore_index=True).rename(columns=bounds)


def between_tasks() -> pd.DataFrame:
    """How the tasks of Table 3, and the benchmarks of Table 5, order the same models: Pearson, Spearman, Kendall."""
    named = {**TASKS, "good_acc": "good recall", "bad_acc": "bad recall", "uxbench": "UXBench"}
    named |= {"arena_hard": "Arena-Hard", "wildbench": "WildBench", "alpaca_eval": "AlpacaEval"}
    tasks = [("accuracy", "eval_good"), ("accuracy", "recovery_good"), ("eval_good", "recovery_good")]
    others = [("uxbench", name) for name in ("arena_hard", "wildbench", "alpaca_eval")]
    zero_shot = published("table3").query("model != @REWARD_MODEL")
    found = {"pearson_r": pearsonr, "spearman_rho": spearmanr, "kendall_tau_b": kendalltau}
    rows = []
    for table, pairs in ((zero_shot, [*tasks, ("good_acc", "bad_acc")]), (published("table5"), others)):
        for one, other in pairs:
            values = {name: float(f(table[one], table[other])[0]) for name, f in found.items()}
            rows.append({"ranking": named[one], "with": named[other], **values, "models": len(table)})
    return pd.DataFrame(rows)


def residuals() -> pd.DataFrame:
    """Table 9, models × judges in percent, double-centred."""
    return stats.centre_doubly(_table9())


def is_own_family(matrix: pd.DataFrame) -> pd.DataFrame:
    """Whether the model of each row is of the family of the judge of each column."""
    of = matrix.index.map(families()).to_numpy()[:, None] == matrix.columns.map(families()).to_numpy()
    return pd.DataFrame(of, matrix.index, matrix.columns)


def gaps() -> pd.DataFrame:
    """Own family less others in Table 9, with permutation intervals; the last row is of all judges.

    Columns: judge, own_models, own_mean, others_mean, and raw_gap and adjusted_gap with bounds and p.
    """
    names = {"own": "own_mean", "others": "others_mean"}
    table = stats.own_family_gaps(_table9(), families()).rename(columns=names)
    table.columns = table.columns.str.replace(r"^(raw|adjusted)", r"\1_gap", regex=True)
    return table.astype({"own_models": "Int64"})


def _table9() -> pd.DataFrame:
    return published("table9").set_index("model").drop(columns="family")


def pairs() -> pd.DataFrame:
    """Table 10 as counts of 500 cases a pair, with tests; a is of the judge's own family in every row."""
    return stats.preferences(_pair_counts()).assign(pair=lambda table: table["a"] + " – " + table["b"])


def strengths() -> pd.DataFrame:
    """Own-family terms of a Bradley–Terry model of Table 10: judge, own_family_effect with bounds and p, odds."""
    table = stats.bradley_terry(_pair_counts(), families(), by_judge=True).table
    own = table[table["kind"] == "own family"].rename(columns={"term": "judge"})
    own.columns = own.columns.str.replace("estimate", "own_family_effect")
    return own.assign(odds=np.exp(own["own_family_effect"])).reset_index(drop=True)


def _pair_counts() -> pd.DataFrame:
    table = published("table10").rename(columns={"tie": "ties"})
    wins = ["a_wins", "b_wins", "ties"]
    return table.assign(**(table[wins] / 100 * CASES["pair"]).round().astype(int))


def escapes() -> pd.DataFrame:
    """Bad cases called neutral, and recall of bad cases at low and high reasoning effort: percents with intervals."""
    neutral = published("neutral").rename(columns={"bad_to_neutral": "called neutral"})
    effort = published("effort").set_index("model").add_prefix("bad recall, ").add_suffix(" effort")
    parts = [
        t.melt("model", var_name="quantity", value_name="percent") for t in (neutral, effort.reset_index())
    ]
    both = pd.concat(parts, ignore_index=True).rename(columns={"model": "model_name"})
    return with_wilson(both[["quantity", "model_name", "percent"]], "percent", CASES["bad_acc"])


def sizes() -> pd.DataFrame:
    """Cases it takes to tell two judges apart that are tried on the same cases, at 80 % power."""
    correlations = (0.0, 0.5, 0.8)
    rows = [
        {"points": n, **{f"rho_{100 * r:.0f}": stats.cases_needed(n, correlation=r) for r in correlations}}
        for n in (1, 2, 3, 5, 10)
    ]
    return pd.DataFrame(rows)


# -- an audit of judges on a corpus -------------------------------------------------------------------------------------


def pair_judge(language: str, look: Extent) -> PairJudge:
    """A judge that chooses between two replies; at a first look it is shown the request alone."""
    return PairJudge(ux.Form(language, window=look.window if look.is_short else None))


@dataclass(frozen=True)
class Audit:
    """What the page finds out about judges on a corpus; a table is empty where the corpus has nothing for it."""

    quality: pd.DataFrame
    """Judges and baselines on clearly good and clearly bad replies, a row each."""
    length: pd.DataFrame
    """Slopes on length and what padding does, a row a judge."""
    position: pd.DataFrame
    cases: int = 0
    lacking: tuple[NotEnough, ...] = ()
    """Why judges were left out, and why nothing is said of quality."""

    def biased(self) -> dict[str, list[str]]:
        """Judges that prefer long replies at equal gold, padded ones, and one of two places."""
        long = self.length.query("at_equal_gold_low > 0")
        padded, placed = (
            self.length.query("padding_change_low > 0"),
            self.position.query("position_bias_p < 0.05"),
        )
        return {"long": [*long["judge"]], "padded": [*padded["judge"]], "placed": [*placed["judge"]]}

    def compare_with_baselines(self) -> dict[str, Any]:
        """The best baseline and judge as given and at learned thresholds, and the judges above the best baseline."""
        base = self.quality[self.quality["is_baseline"]].set_index("judge")
        own = self.quality[~self.quality["is_baseline"]].set_index("judge")
        best = base["balanced_accuracy"].sort_values().index[-1]
        rival, first = (t["at_learned"].dropna().sort_values().index[-1] for t in (base, own))
        line = base["balanced_accuracy"][best]
        better = list(own.index[own["balanced_accuracy_low"] > line])
        values = {"best_value": line, "first_value": own["at_learned"][first]}
        values |= {"rival_value": base["at_learned"][rival]}
        gained = own["at_learned"][first] - own["balanced_accuracy"][first]
        return {"best": best, "first": first, "rival": rival, "better": better, "gained": gained, **values}


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
    seed: int = stats.SEED,
) -> Audit:
    """Audit quality, length, padding and place of each judge, on the same replies; each judge learns once.

    Parameters
    ----------
    judges, backbone : who is audited, and the model that they ask.
    corpus : its candidates' replies are shown in pairs; without any there are no pairs.
    pairwise : a judge of pairs, audited for place alone.
    pairs, limit : how many pairs, and how many recorded replies are judged.
    seed : for everything drawn at random.

    A judge that has too little to learn from is left out, and `lacking` says why.
    """
    lacking: list[NotEnough] = []
    try:
        blocks = [block for block in targets(corpus, limit=limit, seed=seed) if len(block)]
    except NotEnough as missing:
        blocks, judges, lacking = [], [], [missing]
    candidates = corpus.extras.get("candidates", pd.DataFrame(columns=["candidate", *TURN, "response"]))
    own = (
        candidates[candidates["user"].isin({b.user for b in blocks})].groupby("user", sort=False).head(PADDED)
    )
    drawn = ux.pairs_of(own, pairs, seed) if len(own) else own
    verdicts, padding, position = [], [], []
    for judge in judges:
        try:
            verdicts.append(evaluate(judge, corpus, backbone, blocks=blocks, progress=False))
        except NotEnough as missing:
            lacking.append(missing)
            continue
        again: dict[str, Any] = {"fit": False, "seed": seed, "progress": False}
        padding.append(ux.padding_audit(judge, corpus, backbone, blocks=_few(blocks, PADDED), **again))
        if len(drawn):
            position.append(ux.position_audit(judge, drawn, corpus, backbone, **again))
    if pairwise is not None and len(drawn):
        position.append(ux.position_audit(pairwise, drawn, corpus, backbone, seed=seed, progress=True))
    quality, cases, slopes = pd.DataFrame(columns=QUALITY), 0, pd.DataFrame(columns=SLOPES)
    if verdicts:
        every = pd.concat(verdicts, ignore_index=True)
        found = stats.length_audit(every, corpus, seed=seed)
        slopes = found.loc[found["turns"] >= FEWEST_REPLIES, SLOPES]
        try:
            quality, cases = _quality(every, corpus, blocks, seed)
        except NotEnough as missing:
            lacking.append(missing)
    padded = _joined(padding, ["judge", "difference", "difference_low", "difference_high"])
    padded.columns = padded.columns.str.replace("difference", "padding_change")
    length, placed = padded.merge(slopes, how="left"), _joined(position, ["judge", "position_bias_p"])
    return Audit(quality, length, placed, cases, tuple(lacking))


#: What is drawn of judges' quality, and shown of `length_audit`.
QUALITY = ["judge", "balanced_accuracy", "at_learned", "d_prime", "criterion"]
SLOPES = ["judge", "of_score", "of_gold", "at_equal_gold", "at_equal_gold_low", "at_equal_gold_high"]


def _joined(frames: Sequence[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)


def _few(blocks: Sequence[Block], replies: int) -> list[Block]:
    """About so many replies, the first few of one block of each user."""
    first = {block.user: block for block in reversed(blocks)}
    each = -(-replies // len(first)) if first else 0
    return [replace(block, targets=block.targets.head(each)) for block in first.values()]


def _quality(
    verdicts: pd.DataFrame, corpus: Corpus, blocks: Sequence[Block], seed: int
) -> tuple[pd.DataFrame, int]:
    """Judges as judges of good and bad: 4 and up is good. One row a judge or baseline, a column a metric; and how many cases.

    Baselines learn from the other users judged here, judges from train users.
    """
    seen = {"/".join(map(str, key)) for b in blocks for key in b.targets[TURN].itertuples(index=False)}
    cases = [c for c in ux.judge_cases(corpus, balanced=False) if c.case in seen]
    if len({c.gold for c in cases}) < 2:
        raise NotEnough(
            "Users showed {good} of the replies judged here to be clearly good and {bad} clearly bad; both kinds "
            "are needed. Add scores of 5 and of 2 or lower, likes or dislikes.",
            good=sum(c.gold == 1 for c in cases),
            bad=sum(c.gold == -1 for c in cases),
        )
    score, raw = stats.floats(verdicts["expected"].fillna(verdicts["raw"])), stats.floats(verdicts["raw"])
    own = verdicts[["judge", "user"]].assign(
        case=verdicts[TURN].astype(str).agg("/".join, axis=1),
        said=np.where(np.isnan(raw), np.nan, np.where(raw >= 3.5, 1, -1)),
        p_good=((score - 1) / 4).clip(0, 1),
    )
    own["gold"] = own["case"].map({c.case: float(c.gold or 0) for c in cases})
    base = ux.wall(cases, BESIDE, seed=seed)[own.columns].astype(own.dtypes)
    both = pd.concat([own.dropna(subset="gold"), base])
    groups = both.groupby("judge", sort=False)
    measured = stats.measure_verdicts(both, metrics=METRICS, unit="user", seed=seed)
    measured = measured.set_index(["metric", "judge"])
    table = pd.DataFrame(index=pd.Index(groups.groups, name="judge"))
    for metric in METRICS:
        bounds = measured.loc[metric, ["value", "value_low", "value_high"]]
        name = "balanced_accuracy" if metric == "balanced" else metric
        table = table.join(bounds.set_axis([name, f"{name}_low", f"{name}_high"], axis=1))
    learned = {
        judge: stats.at_learned_threshold(part["gold"], part["p_good"], part["user"], seed=seed).calibrated
        for judge, part in groups
    }
    table = table.assign(at_learned=pd.Series(learned), is_baseline=table.index.isin(BESIDE))
    return table.reset_index(), int(measured["cases"].max())
