"""Several replies to a request: whose taste differs, and whether judges order replies as this person does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Corpus, Scale, by_reply, compared_replies, reply_sessions, score_preferences
from perslib.corpus.known_truth import rate
from perslib.corpus.scale import gold_of
from perslib.errors import NotEnough
from perslib.judge import Judge
from perslib.llm import Backbone
from perslib.replay import judge_candidates
from perslib.stats import SEED, floats, measure_best_replies

#: Controls, which read no reply: any reply, the longest, the model that others like most, and the user's own favourite.
ANY_REPLY, LONGEST_REPLY, LIKED_BY_EVERYONE, LIKED_BY_USER = CONTROLS = (
    "any reply",
    "longest reply",
    "liked by everyone",
    "liked by this user",
)
#: Default number of requests on which judges are measured.
REQUESTS = 1000
#: Number of rated replies of train users that judges learn from, by whole users: the time grows with its cube.
TRAIN_REPLIES = 3000
#: Names of the replies of a pair if their models are unknown.
PLACE_NAMES = frozenset("abcd")
#: Numbers of a user's own ratings with the weight of the mean of all users; the best one on train users is used.
WEIGHTS = (1, 2, 4, 8, 16, 32, 64)


def collect_rated_replies(corpus: Corpus, scale: str = "1-100", seed: int = SEED) -> tuple[Corpus, pd.DataFrame, str]:
    """Return the corpus, its rated replies, and the origin of the ratings: people, preferences or world.

    The users of the synthetic world rate the replies here, on `scale`; for preferences see `score_preferences`.
    Requests with fewer than two rated replies are left out. Raise NotEnough if there are no such ratings.

    Columns of the replies: those of `candidates`; gold, the rating as given; liked, the same less the request's mean;
    model; turn_id.
    """
    original, corpus = corpus, score_preferences(corpus)
    rated, origin = compared_replies(corpus), "people" if corpus is original else "preferences"
    if rated.empty and "utility" in corpus.extras.get("candidates", ()):
        corpus, origin = rate(corpus, Scale.parse(scale), seed), "world"
        rated = compared_replies(corpus)
    if rated.empty:
        raise NotEnough(
            "{corpus} has no request to which a person rated several replies. Such ratings come with PRISM and others "
            "(data/README.md), or in a table of your own with a row per reply and a column `candidate`.",
            corpus=corpus.name,
        )
    rated = rated.assign(
        gold=corpus.scale.from_five(floats(gold_of(rated, corpus.scale))),
        turn_id=rated.groupby(TURN, sort=False).ngroup(),
        model=rated["candidate"].str.replace(r"#\d+$", "", regex=True),
    )
    rated = rated.assign(liked=rated["gold"] - rated.groupby("turn_id")["gold"].transform("mean"))
    return corpus, rated, origin


def add_controls(rated: pd.DataFrame, corpus: Corpus) -> tuple[pd.DataFrame, int]:
    """Return the replies with a score from each control, and how many own ratings weigh as much as the mean of all.

    The corpus's evidence determines which of a user's ratings are known: other scenarios or conversations, or earlier
    ones.
    """
    by_model, mine = rated.groupby("model")["liked"], rated.groupby(["model", "user"])["liked"]
    others = by_model.transform("size") - mine.transform("size")
    sums = by_model.transform("sum") - mine.transform("sum")
    everyone = (sums / others.where(others > 0)).fillna(0.0)
    sums_by_scenario = rated.groupby(["user", "model", "scenario"], sort=False)["liked"].agg(["sum", "size"])
    within = sums_by_scenario.groupby(level=["user", "model"], sort=False)
    elsewhere = (within.cumsum() if corpus.evidence == "earlier" else within.transform("sum")) - sums_by_scenario
    own_sums = elsewhere.reindex(pd.MultiIndex.from_frame(rated[["user", "model", "scenario"]]))
    total, count = own_sums["sum"].to_numpy(), own_sums["size"].to_numpy()
    train = rated["user"].isin(corpus.split().get("train", ())).to_numpy()
    train = train if train.any() else np.ones(len(rated), bool)

    def shrink_ratings(weight: int) -> np.ndarray:
        return np.asarray((total + weight * everyone) / (count + weight))

    best = min(WEIGHTS, key=lambda weight: float(((shrink_ratings(weight) - rated["liked"]) ** 2)[train].sum()))
    lengths = rated.get("trait_length", rated["response"].str.len()).astype(float)
    scores = (0.0, lengths, everyone, shrink_ratings(best))
    return rated.assign(**dict(zip(CONTROLS, scores))), best


def draw_requests(rated: pd.DataFrame, corpus: Corpus, limit: int, seed: int = SEED) -> tuple[Corpus, pd.DataFrame]:
    """Return replies to at most `limit` requests of test users, drawn at random, and the corpus for judging them.

    In this corpus each rated reply is a turn (`by_reply`), so that judges learn from all of them and not only from the
    best. It has the users who are judged, and train users with up to `TRAIN_REPLIES` rated replies. Raise NotEnough if the
    test users rated all replies to a request alike.
    """
    split = corpus.split()
    test_replies = rated[rated["user"].isin(split.get("test", corpus.users["user"]))]
    requests = test_replies["turn_id"].drop_duplicates()
    drawn_requests = requests.sample(limit, random_state=seed) if 0 < limit < len(requests) else requests
    test_replies = test_replies[test_replies["turn_id"].isin(drawn_requests)].reset_index(drop=True)
    if not test_replies["liked"].any():
        raise NotEnough(
            "{corpus}: test users rated all replies to a request alike, so no judge can pick better than another.",
            corpus=corpus.name,
        )
    lessons = rated.groupby("user").size().reindex(split.get("train", [])).fillna(0)
    judged, train = (
        test_replies["user"].unique().tolist(),
        lessons.index[lessons.cumsum() - lessons < TRAIN_REPLIES].tolist(),
    )
    smaller = corpus.of_users([*judged, *train])
    smaller = by_reply(replace(smaller, meta={**smaller.meta, "splits": {"train": train, "test": judged}}))
    return smaller, test_replies.assign(session=reply_sessions(test_replies))


def add_judge_scores(rated: pd.DataFrame, judge: Judge, corpus: Corpus, backbone: Backbone | None) -> pd.DataFrame:
    """Return the replies with a column of the judge's scores: the mean of its distribution, otherwise its score.

    Raise NotEnough if the judge scored no reply.
    """
    frame = rated[["candidate", *TURN, "response"]]
    verdicts = judge_candidates(judge, corpus, frame, backbone, progress=judge.inputs.model)
    expected, raw = floats(verdicts["expected"]), floats(verdicts["raw"])
    scores = np.where(np.isfinite(expected), expected, raw)
    if not np.isfinite(scores).any():
        raise NotEnough(
            "Judge {judge!r} scored none of the {replies:,} replies: {error}.",
            judge=judge.name,
            replies=len(rated),
            error=verdicts["error"].mode().iloc[0],
        )
    return rated.assign(**{judge.name: scores})


def compare_picks(rated: pd.DataFrame, judges: Sequence[str], control: str = LIKED_BY_EVERYONE) -> pd.DataFrame:
    """Return `perslib.stats.measure_best_replies` of the controls and these judges, each against one control.

    The user's own past ratings have no τ: summed over conversations, they are what τ would compare them with.
    """
    compared = measure_best_replies(rated.assign(candidate=rated["model"]), [*CONTROLS, *judges], control)
    numbers = [c for c in compared if c.startswith(("value", "gain"))]
    compared.loc[(compared["judge"] == LIKED_BY_USER) & (compared["metric"] == "tau"), numbers] = np.nan
    return compared


def find_best_judge(compared: pd.DataFrame, judges: Iterable[str]) -> pd.Series:
    """Return the row of the judge, among these, whose picks are most often the person's best reply."""
    rows = compared[(compared["metric"] == "best_reply") & compared["judge"].isin(list(judges))]
    return rows.loc[rows["value"].idxmax()]


def has_place_names(rated: pd.DataFrame, origin: str) -> bool:
    """Return whether the names of candidates are places in a comparison, and not authors."""
    return origin == "preferences" and PLACE_NAMES.issuperset(rated["model"])


def measure_liking(rated: pd.DataFrame) -> pd.DataFrame:
    """Return how much more the twelve users with most ratings like each model than the other replies.

    Rows are users, columns are models, the best liked model first.
    """
    most = rated["user"].value_counts().head(12).index
    order = rated.groupby("model")["liked"].mean().sort_values(ascending=False).index
    wide = rated[rated["user"].isin(most)].pivot_table(index="user", columns="model", values="liked", aggfunc="mean")
    return wide.reindex(columns=order).dropna(axis=1, how="all")


def list_costly_picks(rated: pd.DataFrame, judge: str) -> pd.DataFrame:
    """Return the five requests where the judge's pick cost the person most: both replies with the person's ratings."""
    rows = []
    for (user, _), replies in rated.dropna(subset=judge).groupby(["user", "turn_id"], sort=False):
        best, pick = replies.loc[replies["gold"].idxmax()], replies.loc[replies[judge].idxmax()]
        rows.append(
            {
                "user": user,
                "regret": best["gold"] - pick["gold"],
                "liked_best": _quote_reply(best),
                "picked": _quote_reply(pick),
            }
        )
    table = pd.DataFrame(rows, columns=["user", "regret", "liked_best", "picked"])
    return table.nlargest(5, "regret").reset_index(drop=True)


def _quote_reply(reply: pd.Series) -> str:
    text = " ".join(str(reply["response"]).split())
    return f"{reply['candidate']} ({reply['gold']:g}): {text[:120]}{' …' if len(text) > 120 else ''}"
