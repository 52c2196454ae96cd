"""The study of evidence: the users' ratings, their behaviour, or both, at the same number of labels.

N labelled turns of other scenarios can come from N ratings, or from N observations of what the user did next.
Everything else stays the same: the conversations, the turns that carry a label, the judge, and what it learned about
other people (always from the ratings of train users; they are the pilot group that did rate).

    ratings              N of the user's own scores
    half and half        the same N turns: every second one is rated, the others are labelled by behaviour
    ratings and log      N ratings, and behaviour on every other turn, which costs no effort
    behaviour            what the user did after the reply, on the same N turns
    dealt out            control: N ratings, assigned at random among all users

The weak labels of behaviour (`perslib.systems.uxbench.signals`) are converted to the scale of ratings by an isotonic regression on the
train users, who have both. If the user goes on talking, this says little about a reply, so its value is near the mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.isotonic import IsotonicRegression

from perslib.corpus import BLOCK, TURN, Block, Corpus
from perslib.errors import NotEnough
from perslib.judge import TaskStatistic, asks_model, make_judges
from perslib.judge.evaluate import fit_judge, judge_blocks, select_blocks
from perslib.judge.scope import StudyScope, choose_scope, require_replies, split_names, whole_numbers
from perslib.llm import Backbone, find_model
from perslib.report.show.tables import FormattedCell, format_number
from perslib.stats import SEED, Resamples, estimate, floats, holm, resample_users
from perslib.stats.agreement.metrics import measure_under
from perslib.stats.resample.agreement_sums import AgreementSums
from perslib.systems.uxbench.signals import behavioural
from perslib.text import translate

KINDS = ("ratings", "half and half", "ratings and log", "behaviour", "dealt out")
#: A kind of label, and how many of them.
Way = tuple[str, int]
#: The kind that others are compared with, and the kind for a judge that needs no label.
BASE, NO_LABELS = "ratings", ("nothing", 0)
METRICS = ("pearson", "wb_pearson")
#: Default number of replies to judge.
REPLIES = 240
COLUMNS = ["judge", "reads", "kind", "budget", "labels", *TURN, "score"]


def choose_scope_and_model(names: str, backbone: str, limit: int) -> tuple[StudyScope, Backbone | None]:
    """Return how much is judged, and the model that judges ask, or None if no judge asks one."""
    model = find_model(backbone) if any(map(asks_model, split_names(names))) else None
    return choose_scope(model, limit, usual=REPLIES), model


# -- labels ----------------------------------------------------------------------------------------------


def find_labels(corpus: Corpus, seed: int = SEED) -> pd.DataFrame:
    """Return the turns that were rated and have informative behaviour, with an order drawn by the seed.

    The index is TURN. Columns: rated; weak, the whole score that behaviour votes for; behaviour, the same on the scale
    of ratings, as train users' ratings teach it; dealt, the rating of a random turn; order.
    """
    weak = behavioural(corpus).turns
    labels = corpus.turns[TURN].assign(
        rated=floats(corpus.turns["score"]), weak=floats(weak["score"]), said=floats(weak["weak_label"])
    )
    labels = labels.dropna().set_index(TURN)
    train = labels[labels.index.get_level_values("user").isin(corpus.split().get("train", []))]
    behaviour = labels["said"]
    if len(train):
        to_ratings = IsotonicRegression(out_of_bounds="clip").fit(train["said"], train["rated"])
        behaviour = to_ratings.predict(labels["said"])
    rng = np.random.default_rng(seed)
    dealt = labels["rated"].to_numpy()[rng.permutation(len(labels))]
    return labels.drop(columns="said").assign(behaviour=behaviour, dealt=dealt, order=rng.permutation(len(labels)))


def relabel_block(
    block: Block, labelled: pd.DataFrame, ways: Iterable[Way], *, use_whole_scores: bool = False
) -> list[Block]:
    """Return the block once for every kind and number of labels: its first turns in their order have a label.

    Conversations stay unchanged; other labels, reasons and outcomes of sessions are removed. `use_whole_scores` takes
    the whole scores that behaviour votes for, for judges that ask a model.
    """
    labels = labelled.reindex(_list_turn_keys(block))
    place = labels["order"].rank().to_numpy() - 1  # NaN if a turn does not have both labels
    rated, weak, dealt = (labels[c].to_numpy() for c in ("rated", "weak" if use_whole_scores else "behaviour", "dealt"))
    bare = block.evidence.assign(reason=None, ratings=[()] * len(block.evidence))
    sessions = block.sessions.assign(satisfaction=None, success=None)
    relabelled = []
    for kind, budget in ways:
        first = place < budget
        label = {"behaviour": weak, "dealt out": dealt, "half and half": np.where(place % 2, weak, rated)}
        elsewhere = weak if kind == "ratings and log" else np.nan
        score = np.where(first, label.get(kind, rated), elsewhere)
        evidence = bare.assign(score=pd.array(score, dtype="Int64" if use_whole_scores else "Float64"))
        relabelled.append(replace(block, evidence=evidence, sessions=sessions))
    return relabelled


# -- judging ---------------------------------------------------------------------------------------------


def judge_labels(
    names: str,
    corpus: Corpus,
    budgets: str,
    scope: StudyScope,
    language: str = "en",
    backbone: Backbone | None = None,
    *,
    seed: int = SEED,
) -> pd.DataFrame:
    """Judge the test users' rated replies under every kind and number of labels.

    A larger budget contains the smaller one, and all kinds have the same turns. Control: the mean of the task, which no
    label changes. Raise NotEnough if no user has labels of both sorts.

    Parameters
    ----------
    names, budgets : judges and numbers of labels, as the page's parameters list them.
    corpus, scope : whose replies, and how many.
    language, backbone, seed : of the prompts, of judges that ask a model, and of random draws.

    Columns: judge, reads (whether it reads the reply), kind, budget, labels (the actual number in the evidence), TURN,
    score, gold.
    """
    labelled, numbers = find_labels(corpus, seed), whole_numbers(budgets, "budgets")
    judgeable = corpus.block_ids(corpus.split().get("test", []))
    drawn_blocks = select_blocks(corpus, limit=scope.turns, seed=seed, has_score=True) if judgeable else []
    blocks = [b for b in drawn_blocks if len(b) and labelled.index.isin(_list_turn_keys(b)).any()]
    if not blocks:
        raise NotEnough(
            "{corpus} has no test user with rated replies in two scenarios and with informative behaviour, so "
            "there is no evidence and nothing to judge.",
            corpus=corpus.name,
        )
    rows: list[tuple[object, ...]] = []
    for judge in [TaskStatistic("mean"), *make_judges(names, scope.make_settings(language), **scope.memory)]:
        fit_judge(judge, corpus, blocks, backbone, progress=False)
        ways: list[Way] = [(kind, n) for n in numbers for kind in KINDS] if judge.inputs.history else [NO_LABELS]
        # The variants of a block stand next to each other, so that they share the statistics of its texts.
        relabelled = [
            way for block in blocks for way in relabel_block(block, labelled, ways, use_whole_scores=judge.inputs.model)
        ]
        verdicts = judge_blocks(judge, relabelled, backbone, progress=judge.inputs.model)
        for block, way, block_verdicts in zip(relabelled, ways * len(blocks), verdicts):
            columns = (judge.name, judge.inputs.reply, *way, int(block.evidence["score"].notna().sum()))
            keys = block.targets[TURN].itertuples(index=False, name=None)
            rows += [(*columns, *key, v.score) for key, v in zip(keys, block_verdicts)]
    gold = corpus.turns[[*TURN, "score"]].rename(columns={"score": "gold"}).dropna()
    return pd.DataFrame(rows, columns=COLUMNS).astype({"score": float}).merge(gold, on=TURN)


def _list_turn_keys(block: Block) -> pd.MultiIndex:
    return pd.MultiIndex.from_frame(block.evidence[TURN])


# -- the worth of labels ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Curves:
    """Agreement with the users' scores by judge, kind and number of labels."""

    points: pd.DataFrame
    """Columns: judge, kind, budget, labels (mean over replies), metric, value with bounds, replies, users."""
    control: float
    """r of the mean of the task."""
    jackknife_values: dict[tuple[str, str, int, str], np.ndarray]
    """The agreement by (judge, kind, budget, metric): the sample's value, then the value without each user."""
    bootstrap_values: dict[tuple[str, str, int, str], np.ndarray]
    """The agreement in samples of users drawn with replacement, for values that change in steps."""

    @property
    def judges(self) -> list[str]:
        """Return the judges that use labels."""
        return list(dict.fromkeys(self.points["judge"]))

    @property
    def budgets(self) -> list[int]:
        """Return the numbers of labels."""
        return sorted(set(self.points["budget"]))


def trace_curves(scores: pd.DataFrame) -> Curves:
    """Return the agreement at every point, on the replies that every point scored.

    Raise NotEnough if there are too few replies.
    """
    ways = ["judge", "kind", "budget"]
    wide = scores.pivot(index=[*TURN, "gold"], columns=ways, values="score").dropna()
    require_replies(len(wide))
    places = wide.index.to_frame(index=False)
    users, gold = Resamples(places["user"]), floats(places["gold"])
    block = places.groupby(BLOCK).ngroup().to_numpy()
    reads, mean_labels = dict(zip(scores["judge"], scores["reads"])), scores.groupby(ways)["labels"].mean()
    weights = np.hstack([users.weights, resample_users(len(users))])
    without, drawn, rows = {}, {}, []
    for way, column in wide.items():
        judge, kind, budget = way
        sums = AgreementSums(gold, column.to_numpy(float), users.group, len(users), block)
        # A judge that reads no reply cannot tell one reply of a user from another.
        for metric, r in measure_under(sums, METRICS[: 1 + reads[judge]], weights).items():
            key = (judge, kind, budget, metric)
            without[key], drawn[key] = np.split(r, [users.weights.shape[1]])
            columns = {"judge": judge, "kind": kind, "budget": budget, "labels": mean_labels[way], "metric": metric}
            rows.append(
                {**columns, **estimate(without[key], scale="correlation"), "replies": len(wide), "users": len(users)}
            )
    points = pd.DataFrame(rows)
    by_label = points["kind"].isin(KINDS)
    return Curves(points[by_label].reset_index(drop=True), points.loc[~by_label, "value"].iloc[0], without, drawn)


def compare_kinds(curves: Curves) -> pd.DataFrame:
    """Return the difference of every kind except the control from ratings at the same number of labels.

    Columns: judge, kind, budget, difference (kind less ratings), difference_low, difference_high, difference_p,
    difference_p_holm (corrected over all of them).
    """
    rows = []
    for judge, budget, kind in product(curves.judges, curves.budgets, KINDS[1:-1]):
        moved = (
            curves.jackknife_values[judge, kind, budget, "pearson"]
            - curves.jackknife_values[judge, BASE, budget, "pearson"]
        )
        columns = {"judge": judge, "kind": kind, "budget": budget}
        rows.append({**columns, **estimate(moved, "difference", p=True)})
    table = pd.DataFrame(rows)
    return table.assign(difference_p_holm=holm(table["difference_p"]))


def estimate_worth(curves: Curves) -> pd.DataFrame:
    """Return how many behavioural labels are worth one rating: the least m with r(m behaviour) ≥ r(n ratings), over n.

    Between budgets r is interpolated over log m, and more labels never count for less. The worth is infinite if even
    the largest budget, `most` times n, is too small. Numbers below the smallest budget, `least` times n, were not
    tried.

    Columns: judge, budget (n), least, most, worth, worth_low, worth_high.
    """
    labels = curves.points.drop_duplicates(["judge", "kind", "budget"])
    mean_labels = labels.set_index(["judge", "kind", "budget"])["labels"].sort_index()
    rows = []
    for judge in curves.judges:
        numbers = mean_labels[judge, "behaviour"].reindex(curves.budgets).to_numpy(float)
        reached = np.array([curves.bootstrap_values[judge, "behaviour", n, "pearson"] for n in curves.budgets])
        for budget in curves.budgets:
            n = mean_labels[judge, BASE, budget]
            needed = count_needed_labels(curves.bootstrap_values[judge, BASE, budget, "pearson"], numbers, reached) / n
            columns = {"judge": judge, "budget": budget, "least": numbers[0] / n, "most": numbers[-1] / n}
            low, high = _find_interval(needed[1:])
            rows.append({**columns, "worth": needed[0], "worth_low": low, "worth_high": high})
    return pd.DataFrame(rows)


def count_needed_labels(aim: np.ndarray, numbers: np.ndarray, reached: np.ndarray) -> np.ndarray:
    """Return the number of labels that reach the aim, for each resample; `reached` is numbers × resamples."""
    rising = np.maximum.accumulate(reached, axis=0)
    first = (rising >= aim).argmax(axis=0)
    at = np.arange(len(aim))
    before = np.maximum(first - 1, 0)
    up, down = rising[first, at], rising[before, at]
    part = np.where(first > 0, (aim - down) / np.where(up > down, up - down, 1), 0.0)
    log = np.log(numbers)
    needed = np.exp(log[before] + part * (log[first] - log[before]))
    unknown = ~np.isfinite(rising).all(axis=0) | ~np.isfinite(aim)
    return np.where(unknown, np.nan, np.where(rising[-1] >= aim, needed, np.inf))


def _find_interval(needed: np.ndarray) -> tuple[float, float]:
    """Return the interval of values of which some are infinite; no value is interpolated."""
    values = needed[~np.isnan(needed)]
    if len(values) * 2 <= len(needed):
        return float("nan"), float("nan")
    low, high = np.quantile(values, [0.025, 0.975], method="nearest")
    return float(low), float(high)


def format_worths(worth: pd.DataFrame) -> list[FormattedCell]:
    """Return worths as cells of a table: `4.4 [≤ 1.0, > 8.0]`, limited by the budgets."""

    def format_value(value: float, row: Any) -> str:
        if np.isinf(value):
            return f"> {row.most:.1f}"
        return f"≤ {row.least:.1f}" if value <= row.least * (1 + 1e-9) else format_number(value, 1)

    cells = []
    for row in worth.itertuples():
        if row.worth_low <= row.least and np.isinf(row.worth_high):  # anything is possible
            cells.append(FormattedCell(translate("not known"), row.worth, low=row.worth_low, high=row.worth_high))
            continue
        middle, *ends = (format_value(value, row) for value in (row.worth, row.worth_low, row.worth_high))
        if np.isnan(row.worth_low) or {middle} == set(ends):
            cells.append(FormattedCell(middle, row.worth))
        else:
            ends_of_interval = {"low": row.worth_low, "high": row.worth_high}
            cells.append(FormattedCell(f"{middle} [{', '.join(ends)}]", row.worth, **ends_of_interval))
    return cells
