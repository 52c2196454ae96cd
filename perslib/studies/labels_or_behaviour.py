"""The study of evidence: what users rated, what they did, or both, at the same number of labels.

Who knows a user by N labelled turns of other scenarios can have asked for N ratings, or have watched N times what the
user did next. Everything else stays the same: the conversations, the turns that carry a label, the judge, and what it
learned of other people (always from the ratings of train users; they are the pilot group that did rate).

    ratings              N of the user's own scores
    half and half        of the same N turns every second one rated, the others labelled by behaviour
    ratings and log      N ratings, and behaviour on every other turn, which costs nobody anything
    behaviour            what the user did after the reply, on the same N turns
    dealt out            control: N ratings, dealt out at random among all users

Behaviour's weak labels (`perslib.signals`) are brought to the scale of ratings by an isotonic regression on the train
users, who have both: to go on talking says little of a reply, so it comes out near everybody's mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from sklearn.isotonic import IsotonicRegression

from perslib.corpus import TURN, Block, Corpus
from perslib.judge import Judge, LearnedJudge, Nearest, OfTask, UserMean, Verdict
from perslib.judge.evaluate import fit, targets, verdicts_on
from perslib.llm import Backbone
from perslib.llm import backbone as model_named
from perslib.signals import behavioural
from perslib.stats import FEWEST_USERS, SEED, floats, holm, interval, pearson, resample_users, two_sided_p
from perslib.stats.sums import Sums
from perslib.studies.extent import Extent, extent, listed, whole_numbers
from perslib.studies.verification import asked_judge

KINDS = ("ratings", "half and half", "ratings and log", "behaviour", "dealt out")
#: A kind of label, and how many of them.
Way = tuple[str, int]
#: What a difference is taken from, and what a judge has that asks for no label.
BASE, NOTHING = "ratings", ("nothing", 0)
METRICS = ("pearson", "wc_pearson")
#: The judges that ask no model and live on what is known of a user.
COMPUTED: dict[str, Callable[[], Judge]] = {
    "user mean": UserMean,
    "nearest": Nearest,
    "learned": LearnedJudge,
}
#: Replies judged, where nothing else is asked for.
REPLIES = 240
SAID = ["judge", "reads", "kind", "budget", "labels", *TURN, "said"]
#: Resamples of users; curves have many points.
RESAMPLES = 2000


def budgets_of(text: str) -> list[int]:
    """The numbers of labels in a parameter: "5, 10, 20" → 5, 10 and 20, in order."""
    return whole_numbers(text, "budgets")


def judges_of(names: str, look: Extent, language: str) -> list[Judge]:
    """The judges of a parameter: of `COMPUTED`, or one that asks a model, by its name on the page of judges."""
    return [
        COMPUTED[name]() if name in COMPUTED else asked_judge(name, look.manner(language), **look.memory)
        for name in listed(names)
    ]


def extent_of(names: str, backbone: str, limit: int) -> tuple[Extent, Backbone | None]:
    """How much is judged, and the model behind it; there is none where none of the judges asks one."""
    if any(name not in COMPUTED for name in listed(names)):
        model = model_named(backbone)
        return extent(model, limit, usual=REPLIES), model
    turns = {0: REPLIES, -1: None}.get(limit, limit)
    return Extent(turns, 5, "published", 6000, False), None


# -- labels ----------------------------------------------------------------------------------------------


def labels(corpus: Corpus, seed: int = SEED) -> pd.DataFrame:
    """The turns that were rated and of which behaviour says something, in an order drawn by the seed.

    Indexed by TURN: rated; weak, the whole score that behaviour votes for; behaviour, the same on the scale of ratings,
    as train users' ratings teach it; dealt, somebody's rating; order.
    """
    weak = behavioural(corpus).turns
    known = corpus.turns[TURN].assign(
        rated=floats(corpus.turns["score"]), weak=floats(weak["score"]), said=floats(weak["weak_label"])
    )
    known = known.dropna().set_index(TURN)
    train = known[known.index.get_level_values("user").isin(corpus.split().get("train", []))]
    behaviour = known["said"]
    if len(train):
        to_ratings = IsotonicRegression(out_of_bounds="clip").fit(train["said"], train["rated"])
        behaviour = to_ratings.predict(known["said"])
    rng = np.random.default_rng(seed)
    dealt = known["rated"].to_numpy()[rng.permutation(len(known))]
    return known.drop(columns="said").assign(
        behaviour=behaviour, dealt=dealt, order=rng.permutation(len(known))
    )


def with_labels(
    block: Block, known: pd.DataFrame, ways: Iterable[Way], *, whole: bool = False
) -> list[Block]:
    """The block once for every kind and number of labels: the first so many of its turns in their order carry one.

    Conversations stay as they are; other labels, reasons and outcomes of sessions are gone. `whole` takes behaviour's
    whole scores as they were voted, for judges that ask a model.
    """
    here = known.reindex(_keys(block))
    place = here["order"].rank().to_numpy() - 1  # NaN where a turn has not both labels
    rated, weak, dealt = (here[c].to_numpy() for c in ("rated", "weak" if whole else "behaviour", "dealt"))
    bare = block.evidence.assign(reason=None, ratings=[()] * len(block.evidence))
    sessions = block.sessions.assign(satisfaction=None, success=None)
    found = []
    for kind, budget in ways:
        first = place < budget
        score = {
            "half and half": np.where(first, np.where(place % 2 == 0, rated, weak), np.nan),
            "ratings and log": np.where(first, rated, weak),
            "behaviour": np.where(first, weak, np.nan),
            "dealt out": np.where(first, dealt, np.nan),
        }.get(kind, np.where(first, rated, np.nan))
        evidence = bare.assign(score=pd.array(score, dtype="Int64" if whole else "Float64"))
        found.append(replace(block, evidence=evidence, sessions=sessions))
    return found


# -- judging ---------------------------------------------------------------------------------------------


def judged(
    names: str,
    corpus: Corpus,
    budgets: str,
    look: Extent,
    language: str = "en",
    backbone: Backbone | None = None,
    *,
    seed: int = SEED,
) -> pd.DataFrame:
    """What judges say of the test users' rated replies under every kind and number of labels, beside what users said.

    A larger budget holds the smaller, and all kinds have the same turns. Control: the mean of the task, which no label
    changes. Columns: judge, reads (whether it reads the reply), kind, budget, TURN, said, gold, and labels, how many the
    evidence really had. Empty where no user has labels of both sorts.
    """
    known, numbers = labels(corpus, seed), budgets_of(budgets)
    judgeable = corpus.block_ids(corpus.split().get("test", []))
    drawn = targets(corpus, limit=look.turns, seed=seed) if judgeable else []
    blocks = [b for b in drawn if len(b) and known.index.isin(_keys(b)).any()]
    if not blocks:
        return pd.DataFrame(columns=[*SAID, "gold"])
    found: list[dict[str, object]] = []
    for judge in [OfTask("mean"), *judges_of(names, look, language)]:
        fit(judge, corpus, blocks, backbone, progress=False)
        ways: list[Way] = [(kind, n) for n in numbers for kind in KINDS] if judge.sees.history else [NOTHING]
        # A block's variants stand next to each other: what was counted of its texts serves them all.
        given = [way for block in blocks for way in with_labels(block, known, ways, whole=judge.sees.model)]
        verdicts = verdicts_on(judge, given, backbone, progress=judge.sees.model)
        for block, way, own in zip(given, ways * len(blocks), verdicts):
            found += _said(judge, block, way, own)
    gold = corpus.turns[[*TURN, "score"]].rename(columns={"score": "gold"}).dropna()
    return pd.DataFrame(found, columns=SAID).merge(gold, on=TURN)


def _keys(block: Block) -> pd.MultiIndex:
    return pd.MultiIndex.from_frame(block.evidence[TURN])


def _said(judge: Judge, block: Block, way: Way, verdicts: Sequence[Verdict]) -> Iterator[dict[str, object]]:
    about = (judge.name, judge.sees.reply, *way, int(block.evidence["score"].notna().sum()))
    for key, verdict in zip(block.targets[TURN].itertuples(index=False, name=None), verdicts):
        said = verdict.raw if verdict.expected is None else verdict.expected
        yield dict(zip(SAID, (*about, *key, np.nan if said is None else said)))


# -- what it is worth ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Curves:
    """Agreement with the users' scores by judge, kind and number of labels, users resampled."""

    points: pd.DataFrame
    """judge, kind, budget, labels (mean over replies), metric, value, low, high, replies, users."""
    drawn: dict[tuple[str, str, int, str], np.ndarray]
    """The same by (judge, kind, budget, metric): the sample's value, then that of every resample."""

    @property
    def judges(self) -> list[str]:
        """The judges that live on labels."""
        return list(dict.fromkeys(self.points.loc[self.points["kind"].isin(KINDS), "judge"]))

    @property
    def budgets(self) -> list[int]:
        """The numbers of labels."""
        return sorted(set(self.points.loc[self.points["kind"].isin(KINDS), "budget"]))


def curves(said: pd.DataFrame, seed: int = SEED, resamples: int = RESAMPLES) -> Curves:
    """Agreement at every point, on the replies that every point scored."""
    ways = ["judge", "kind", "budget"]
    wide = said.pivot(index=[*TURN, "gold"], columns=ways, values="said").dropna()
    places = wide.index.to_frame(index=False)
    user, names = pd.factorize(places["user"])
    weights = resample_users(len(names), resamples if len(names) >= FEWEST_USERS else 0, seed)
    gold = floats(places["gold"])
    reads = dict(zip(said["judge"], said["reads"]))
    drawn: dict[tuple[str, str, int, str], np.ndarray] = {}
    for (judge, kind, budget), column in wide.items():
        own = column.to_numpy(float)
        for metric in METRICS[: 1 + reads[judge]]:  # who reads no reply tells none of a user's from another
            drawn[judge, kind, budget, metric] = resampled_r(gold, own, user, weights, metric)
    had = said.groupby(ways)["labels"].mean()
    rows = [
        {
            **{"judge": judge, "kind": kind, "budget": budget, "labels": had[judge, kind, budget]},
            **{"metric": metric, "value": r[0]},
            **dict(zip(("low", "high"), interval(r[1:]))),
            **{"replies": len(wide), "users": len(names)},
        }
        for (judge, kind, budget, metric), r in drawn.items()
    ]
    return Curves(pd.DataFrame(rows), drawn)


def resampled_r(
    gold: np.ndarray, said: np.ndarray, user: np.ndarray, weights: np.ndarray, metric: str
) -> np.ndarray:
    """Pearson's r of scores and gold for the sample and every resample of users; `wc_pearson`: less each user's mean."""
    sums = Sums(gold, said, user, len(weights))
    return pearson((sums if metric == "pearson" else sums.centred).moments[:6] @ weights)


def differences(found: Curves, metric: str = "pearson") -> pd.DataFrame:
    """Every kind but the control, less ratings at the same number of labels.

    Columns: judge, kind, budget, difference, low, high, p, p_holm (over all of them).
    """
    rows = []
    for judge in found.judges:
        for budget in found.budgets:
            base = found.drawn[judge, BASE, budget, metric]
            for kind in KINDS[1:-1]:
                moved = found.drawn[judge, kind, budget, metric] - base
                low, high = interval(moved[1:])
                p = two_sided_p(moved[1:])
                about = {"judge": judge, "kind": kind, "budget": budget}
                rows.append({**about, "difference": moved[0], "low": low, "high": high, "p": p})
    table = pd.DataFrame(rows)
    return table.assign(p_holm=holm(table["p"]))


def exchange(found: Curves, metric: str = "pearson") -> pd.DataFrame:
    """How many behavioural labels are worth one rating: judge, budget (n ratings), worth, low, high.

    The least m with r(m behavioural) ≥ r(n ratings), over n. Between budgets r is read off a line over log m, and more
    labels never count for less. Infinite where even the largest budget, `most` times n, falls short; nothing below the
    smallest, `least` times n, was looked at.
    """
    rows = []
    for judge in found.judges:
        own = found.points.query("judge == @judge and kind == 'behaviour' and metric == @metric")
        numbers = own.set_index("budget")["labels"].reindex(found.budgets).to_numpy(float)
        reached = np.array([found.drawn[judge, "behaviour", n, metric] for n in found.budgets])
        rated = found.points.query("judge == @judge and kind == 'ratings' and metric == @metric")
        for budget, had in zip(rated["budget"], rated["labels"]):
            needed = needed_for(found.drawn[judge, BASE, budget, metric], numbers, reached) / had
            low, high = _bounds(needed[1:])
            about = {"judge": judge, "budget": budget, "least": numbers[0] / had, "most": numbers[-1] / had}
            rows.append({**about, "worth": needed[0], "low": low, "high": high})
    return pd.DataFrame(rows)


def needed_for(aim: np.ndarray, numbers: np.ndarray, reached: np.ndarray) -> np.ndarray:
    """How many labels reach the aim, resample by resample; `reached` is numbers × resamples."""
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


def _bounds(needed: np.ndarray) -> tuple[float, float]:
    """The interval of values of which some are infinite: none is interpolated."""
    known = np.sort(needed[~np.isnan(needed)])
    if len(known) * 2 <= len(needed):
        return float("nan"), float("nan")
    low, high = (known[round(q * (len(known) - 1))] for q in (0.025, 0.975))
    return float(low), float(high)
