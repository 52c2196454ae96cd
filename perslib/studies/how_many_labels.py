"""How many labels a ranking takes, with a judge's help and without: studies drawn again and again from known users.

Of some users everything is known: what they say of each candidate's replies, and what the judge says. They are the
population. A study draws users from it with replacement, has the judge score all of their replies, and asks the first
few users for labels; what it then says is held against the population's own means, which are known to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from perslib import stats
from perslib.corpus import TURN, Corpus
from perslib.corpus.scale import gold_of
from perslib.errors import DataError, PerslibError
from perslib.judge import Judge
from perslib.judge.extent import FEWEST_REPLIES, listed
from perslib.llm import Backbone
from perslib.replay import ORIGINAL, originals, read_labels, read_replies, recorded, scored
from perslib.stats import Floats, estimate, floats, of_turns
from perslib.worlds.chats.rating import satisfaction_of

#: Turns that each candidate is judged on, unless told otherwise.
TURNS = 150
#: Judges that know nothing, or lean: what an honest method must survive.
SHUFFLED, CONSTANT, PARTIAL = "scores of other users", "always the same", "partial to the worst"
#: Ways of estimating: λ = 0 is labels alone; tuned; λ = 1 as first published; the judge's own scores of all users.
LABELS, BOTH, PLAIN, ALONE = "labels alone", "labels and judge", "labels and judge, λ = 1", "judge alone"
_LAM: dict[str, float | None] = {LABELS: 0.0, BOTH: None, PLAIN: 1.0, ALONE: 0.0}


@dataclass(frozen=True)
class Pool:
    """The population: what the turns of each user (rows) with each candidate (columns) sum to."""

    users: list[str]
    candidates: list[str]
    turns: Floats
    gold: Floats
    judged: dict[str, Floats]
    """By judge, the one under study first."""

    @property
    def judge(self) -> str:
        """The judge under study."""
        return next(iter(self.judged))

    @property
    def truth(self) -> Floats:
        """Each candidate's mean over all turns, by people."""
        return np.asarray(self.gold.sum(axis=0) / self.turns.sum(axis=0))

    @property
    def is_paired(self) -> bool:
        """Whether there are several candidates, and all answer the same turns."""
        return len(self.candidates) > 1 and bool((self.turns == self.turns[:, :1]).all())

    def with_pairs(self, values: Floats) -> Floats:
        """Add to a row a candidate the first less the second of every two, in the order of `np.triu_indices`."""
        return np.concatenate([values, _subtract_pairs(values)]) if self.is_paired else values


def collect_ratings(
    corpus: Corpus, *, replies: str = "", labels: str = "", limit: int = TURNS, seed: int = stats.SEED
) -> pd.DataFrame:
    """Collect replies to turns of test users that people rated: candidate, the keys of a turn, response, gold.

    They come from the files `replies` and `labels`, where given (labels: CSV or JSONL with candidate, user, scenario, session,
    turn and score), else from the corpus, where people rated several replies to a turn. A synthetic world says how its users would have rated each candidate's reply: by their
    own thresholds, with their own noise, once. In other corpora they are the recorded replies with their ratings, and
    the assistants that gave them are the candidates. `limit` turns are drawn at random.
    """
    test = corpus.split().get("test", corpus.users["user"])
    if bool(replies) != bool(labels):
        raise PerslibError("Replies of candidates and people's labels of them go together: give both or neither.")
    if labels:
        given = pd.concat([read_replies(file, corpus) for file in listed(replies)], ignore_index=True)
        turns = given[TURN].drop_duplicates()
        everyone = pd.concat([originals(corpus, turns), recorded(given, turns)], ignore_index=True)
        known = everyone.merge(read_labels(labels), on=["candidate", *TURN])
    elif (brought := corpus.extras.get("candidates", pd.DataFrame())).get("score", pd.Series()).notna().any():
        known = brought.assign(gold=gold_of(brought, corpus.scale)).dropna(subset="gold")
    elif {"utility", "expected"} <= set(brought):
        felt = satisfaction_of(brought, corpus.extras["truth_users"], np.random.default_rng(seed))
        known = brought.assign(gold=np.rint(felt))
    else:
        by = of_turns(corpus, "assistant").to_numpy()
        is_named = pd.notna(by).all() and len(set(by)) > 1
        known = corpus.turns.assign(candidate=by if is_named else ORIGINAL).rename(columns={"score": "gold"})
        known = known.dropna(subset=["gold", "response"])
    known = known[known["user"].isin(test)][["candidate", *TURN, "response", "gold"]]
    turns = known[TURN].drop_duplicates()
    if 0 < limit < len(turns):
        known = known.merge(turns.sample(limit, random_state=seed), on=TURN)
    if known["user"].nunique() < stats.FEWEST_LABELLED:
        raise DataError(
            f"People's scores of {known['user'].nunique()} test users' replies are known",
            f"It takes {stats.FEWEST_LABELLED} users to draw from, better twenty: give more of them, or set limit = -1.",
        )
    return known.reset_index(drop=True)


def score_replies(known: pd.DataFrame, judge: Judge, corpus: Corpus, backbone: Backbone | None = None) -> pd.DataFrame:
    """Return the rated replies with the frozen judge's verdict; its score is `judged` (expected, else as given; unscored: its mean)."""
    verdicts = scored(judge, corpus, known[["candidate", *TURN, "response"]], backbone, progress=False)
    score = floats(verdicts["expected"])
    score = np.where(np.isnan(score), floats(verdicts["raw"]), score)
    if np.isnan(score).all():
        raise DataError(f"The judge {judge.name!r} scored none of these replies", "Name another judge.")
    about = verdicts[["judge", "backbone", "raw", "expected", "asked"]].set_index(known.index)
    return known.join(about).assign(judged=np.where(np.isnan(score), np.nanmean(score), score))


def build_pool(known: pd.DataFrame, judge: str) -> Pool:
    """Sum up replies with `gold` and `judged`, and beside the judge the controls.

    Scores of other users: the judge's own, which each study deals out to users anew (`estimate_means`). Always the same:
    their mean. Partial: the judge's own, with as much added for the candidate whom people like least that it comes out first.
    """
    mean = known.groupby("candidate")[["gold", "judged"]].mean()
    score, worst = known["judged"].astype(float), mean["gold"].idxmin()
    lean = mean["judged"].max() - mean.loc[worst, "judged"] + 0.2
    by_judge = {
        judge: score,
        PARTIAL: score + lean * (known["candidate"] == worst),
        SHUFFLED: score,
        CONSTANT: pd.Series(score.to_numpy().mean(), known.index),
    }
    if len(mean) < 2:
        del by_judge[PARTIAL]

    def summed(values: pd.Series) -> pd.DataFrame:
        return values.groupby([known["user"], known["candidate"]]).sum().unstack(fill_value=0.0).astype(float)

    turns = summed(pd.Series(1.0, known.index))
    judged = {name: summed(values).to_numpy() for name, values in by_judge.items()}
    gold = summed(known["gold"].astype(float)).to_numpy()
    return Pool(turns.index.tolist(), turns.columns.tolist(), turns.to_numpy(), gold, judged)


def compare_candidates(known: pd.DataFrame) -> pd.DataFrame:
    """Compare each candidate's mean by people with the judge's, and correlate the two.

    Columns: candidate, turns, gold, gold_low, gold_high (over users), judged, bias, and the correlation of judge and
    people over turns (r_turns) and over users' means (r_users), missing below thirty turns.
    """
    by_people = stats.mean_by(known, "gold", "candidate").set_index("candidate").filter(like="mean")
    by_people = by_people.rename(columns=lambda name: name.replace("mean", "gold"))
    own = known.groupby("candidate")
    table = pd.DataFrame({"turns": own.size()}).join(by_people).assign(judged=own["judged"].mean())
    table["bias"] = table["judged"] - own["gold"].mean()
    means = known.groupby(["candidate", "user"])[["gold", "judged"]].mean().groupby("candidate")
    for name, parts in (("r_turns", own), ("r_users", means)):
        r = {candidate: _correlate(part) for candidate, part in parts}
        table[name] = pd.Series(r, dtype=float).where(table["turns"] >= FEWEST_REPLIES)
    return table.reset_index()


def correlate_differences(known: pd.DataFrame) -> float:
    """Correlate judge and people over users, in the differences of every two candidates, each pair less its mean."""
    means = known.groupby(["user", "candidate"])[["gold", "judged"]].mean().unstack("candidate")
    gaps = []
    for one, other in combinations(sorted(known["candidate"].unique()), 2):
        gap = pd.DataFrame({v: means[v][one] - means[v][other] for v in ("gold", "judged")}).dropna()
        gaps.append(gap - gap.mean())
    return _correlate(pd.concat(gaps)) if gaps else np.nan


def _correlate(pairs: pd.DataFrame) -> float:
    return float(pairs[["gold", "judged"]].astype(float).corr(min_periods=3).iat[0, 1])


# -- studies drawn from the population ------------------------------------------------------------------


def draw_studies(pool: Pool, users: int, draws: int, seed: int = stats.SEED) -> np.ndarray:
    """Draw studies × users: who takes part; one drawn twice counts as two who are alike."""
    if users < 2 or draws < 2:
        raise PerslibError(f"A study of {users} users, drawn {draws} times, says nothing: take two of each or more.")
    return np.random.default_rng(seed).integers(0, len(pool.users), size=(draws, users))


def estimate_means(pool: Pool, who: np.ndarray, labelled: int, judge: str, method: str) -> stats.Powered:
    """Estimate each candidate's mean (rows) in each study (columns) by one method.

    Below them stands the difference of every two, where all answer the same turns (`Pool.with_pairs`). With a judge, a
    candidate without a label has the judge's mean, corrected by its mean error on all labels, and no interval.

    Parameters
    ----------
    pool, who : the population, and the users of each study.
    labelled : how many of them, the first, are asked for labels.
    judge, method : whose scores are used, and how.
    """
    few = np.arange(who.shape[1]) < labelled
    gold, score = pool.with_pairs(pool.gold.T), pool.with_pairs(pool.judged[judge].T)
    turns = pool.turns.T if len(gold) == len(pool.candidates) else np.repeat(pool.turns.T[:1], len(gold), axis=0)
    n, y, f = turns[:, who], gold[:, who], score[:, who]
    if judge == SHUFFLED:
        every, of_all = (values.sum(axis=1, keepdims=True) for values in (score, turns))
        mean = np.where(turns > 0, score, every) / np.where(turns > 0, turns, of_all)
        f = n * mean[:, np.random.default_rng([stats.SEED, 1]).integers(0, len(pool.users), who.shape)]
    parts = stats.UserSums(n * few, y * few, f * few, n * ~few, f * ~few)
    with np.errstate(invalid="ignore", divide="ignore"):  # without a labelled turn there is no estimate
        found = stats.ppi_of_sums(stats.UserSums(n, f, f, 0 * n, 0 * n) if method == ALONE else parts, _LAM[method])
        if method not in (BOTH, PLAIN):
            return found
        error = (parts.gold - parts.judged).sum(axis=(0, 2)) / parts.n.sum(axis=(0, 2))
        expected = f.sum(axis=2) / n.sum(axis=2) + error
    return found._replace(value=np.where(np.isnan(found.value), expected, found.value))


def measure_budgets(pool: Pool, who: np.ndarray, budgets: Sequence[int]) -> pd.DataFrame:
    """Measure every method at every budget, with the judge under study, averaged over candidates and studies.

    Columns: judge, method, labelled (users), lam, and measures, each with its interval over studies: interval_width, of the
    95 % interval of a candidate's mean; holds_truth (share of intervals that hold the truth); best (share of studies that
    put the truly best candidate first, one without an estimate at a place at random); tau (Kendall's, with the true order); apart, wrong (share of pairs whose difference
    has an interval beyond zero on the right side, on the wrong one); bias (|mean error|, mean over candidates); worth,
    worth_pairs (how many users' labels alone would err as little about a candidate's mean, about a difference:
    labelled · MSE of labels alone / MSE). Without a second candidate there is no ranking, and without the same turns for all
    there are no pairs.
    """
    few = [k for k in budgets if k < who.shape[1]]
    if not few:
        raise PerslibError(f"No budget of {list(budgets)} is below the {who.shape[1]} users that the judge scores.")
    cases = [(pool.judge, method) for method in _LAM]
    return pd.concat([_measure_all(pool, who, k, cases) for k in few], ignore_index=True)


def measure_controls(pool: Pool, who: np.ndarray, labelled: int) -> pd.DataFrame:
    """Measure the same for one budget, with the judge and with each control in its place.

    What scores of other users or equal scores say alone is left out: it is nothing about these users.
    """
    cases = [(name, method) for name in pool.judged for method in (BOTH, PLAIN, ALONE)]
    cases = [(name, method) for name, method in cases if method != ALONE or name in (pool.judge, PARTIAL)]
    return _measure_all(pool, who, labelled, [(pool.judge, LABELS), *cases])


def measure_choices(pool: Pool, who: np.ndarray, labelled: int) -> pd.DataFrame:
    """Measure what becomes of methods if labels are asked for where the judge scored low, not at random.

    Of twice as many users as are labelled, those take part whom the judge finds the less satisfied half. Columns:
    chosen (at random, by low scores), method, and the measures, each with its interval.
    """
    mean = pool.judged[pool.judge].sum(axis=1) / pool.turns.sum(axis=1)
    wide = min(2 * labelled, who.shape[1])
    order = np.argsort(mean[who[:, :wide]], axis=1, kind="stable")
    low = np.concatenate([np.take_along_axis(who[:, :wide], order, axis=1), who[:, wide:]], axis=1)
    cases = [(pool.judge, LABELS), (pool.judge, BOTH)]
    parts = {"at random": who, "by low scores": low}
    found = [_measure_all(pool, own, labelled, cases).assign(chosen=name) for name, own in parts.items()]
    return pd.concat(found, ignore_index=True)


def pick_budget(measured: pd.DataFrame) -> int:
    """Return the budget that sentences speak of: the one nearest ten users, with intervals where any has them."""
    tried = measured.loc[measured["method"] == LABELS, "labelled"]
    enough = tried[tried >= stats.FEWEST_LABELLED]
    of = enough if len(enough) else tried
    return int(of.iloc[(of - 10).abs().argmin()])


def find_sufficient(measured: pd.DataFrame, method: str) -> int | None:
    """Return the least budget from which on nine of ten studies find the best candidate; None where none suffices."""
    own = measured[measured["method"] == method].sort_values("labelled")
    enough = own["best"].ge(0.9)[::-1].cummin()[::-1]
    return int(own["labelled"][enough].min()) if enough.any() else None


# -- one row a judge and method ----------------------------------------------------------------------------


def _measure_all(pool: Pool, who: np.ndarray, k: int, cases: Iterable[tuple[str, str]]) -> pd.DataFrame:
    by_labels = estimate_means(pool, who, k, pool.judge, LABELS)
    one, pair = slice(len(pool.candidates)), slice(len(pool.candidates), None)
    worths = {"worth": one, "worth_pairs": pair} if pool.is_paired else {"worth": one}
    truth = pool.with_pairs(pool.truth)[:, None]
    rows = []
    for judge, method in cases:
        own = by_labels if method == LABELS else estimate_means(pool, who, k, judge, method)
        lam = float(own.lam[one].mean()) if method in (BOTH, PLAIN) else np.nan
        errors, alone = own.value - truth, by_labels.value - truth
        row = {"judge": None if method == LABELS else judge, "method": method, "labelled": k, "lam": lam}
        row |= _average(_by_study(pool, own)) | estimate(
            np.abs(_mean_without_each(errors[one])).mean(axis=0), "bias", "error"
        )
        for name, rows_of in worths.items():
            drawn = _worth(k, errors[rows_of], alone[rows_of])
            row |= estimate(drawn[:1] if method == LABELS else drawn, name, "error")  # worth themselves
        rows.append(row)
    return pd.DataFrame(rows)


def _by_study(pool: Pool, of: stats.Powered) -> pd.DataFrame:
    """Return the measures that each study has by itself: studies × measures."""
    k, half, truth = len(pool.candidates), of.half(stats.LEVEL), pool.truth[:, None]
    held = np.where(np.isnan(half), np.nan, np.abs(of.value - pool.with_pairs(pool.truth)[:, None]) <= half)
    found = {"interval_width": 2 * half[:k], "holds_truth": held[:k]}
    if k > 1:
        order = np.sign(_subtract_pairs(truth))
        known = np.isfinite(of.value[:k])
        values = np.where(known, of.value[:k], -np.inf)
        ahead = known & (values == values.max(axis=0))
        # Of several first, one at random; a candidate without an estimate takes any of the k places.
        first = np.where(known, ahead / np.maximum(ahead.sum(axis=0), 1) * known.mean(axis=0), 1 / k)
        found["best"] = first[[truth.argmax()]]
        found["tau"] = np.nan_to_num(np.sign(_subtract_pairs(of.value[:k]))) * order
        if pool.is_paired:
            side = np.sign(of.value[k:]) * (np.abs(of.value[k:]) > half[k:]) * order
            for name, sign in (("apart", 1), ("wrong", -1)):
                found[name] = np.where(np.isnan(of.freedom[k:]), np.nan, side == sign)
    return pd.DataFrame({name: pd.DataFrame(values).mean() for name, values in found.items()})


def _average(by_study: pd.DataFrame) -> dict[str, float]:
    """Return each measure's mean over studies with its interval; a share of all studies has Wilson's."""
    mean, error = by_study.mean(), 1.96 * by_study.sem()
    table = pd.DataFrame({"": mean, "_low": mean - error, "_high": mean + error})
    if "best" in by_study:
        table.loc["best", ["_low", "_high"]] = stats.wilson(by_study["best"].sum(), len(by_study))
    return {f"{name}{end}": value for (name, end), value in table.stack(future_stack=True).items()}


def _mean_without_each(values: Floats) -> Floats:
    """Return each row's mean over studies, in all of them and without each."""
    known, weights = np.isfinite(values), stats.leave_out(values.shape[1])
    return np.asarray(np.where(known, values, 0) @ weights / np.maximum(known @ weights, 1))


def _worth(k: int, errors: Floats, alone: Floats) -> Floats:
    """Return k times the squared error of labels alone over the method's, in all studies and without each."""
    known, weights = np.isfinite(alone) & np.isfinite(errors), stats.leave_out(errors.shape[1])
    squares, of_labels = ((np.where(known, e, 0) ** 2).sum(axis=0) @ weights for e in (errors, alone))
    return np.asarray(k * of_labels / np.maximum(squares, 1e-300))


def _subtract_pairs(values: Floats) -> Floats:
    """Return the first less the second of every two rows."""
    one, other = np.triu_indices(len(values), 1)
    return np.asarray(values[one] - values[other])
