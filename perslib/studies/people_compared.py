"""Several replies to a request: whose taste differs, and whether judges order replies as this person does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Corpus, Scale
from perslib.corpus.scale import gold_of
from perslib.errors import NotEnough
from perslib.judge import Judge
from perslib.llm import Backbone
from perslib.replay import scored
from perslib.stats import SEED, floats, picks
from perslib.stats.picks import order_of
from perslib.worlds import rate

#: What reads no reply: any of them, the longest, the model that others like most, and that with the user's own past ratings.
RANDOM, LONGEST, EVERYONE, OWN = CONTROLS = ("any reply", "longest reply", "liked by everyone", "liked by this user")
#: Requests that judges are measured on, unless told otherwise.
REQUESTS = 1000
#: How many of a user's own ratings weigh as much as everybody's mean; the best of these on train users is taken.
WEIGHTS = (1, 2, 4, 8, 16, 32, 64)


def collect_ratings(corpus: Corpus, scale: str = "1-100", seed: int = SEED) -> tuple[Corpus, pd.DataFrame, str]:
    """The corpus, its rated replies, and where the ratings are from: people, preferences or world.

    The synthetic world's users rate them here, on `scale`. Columns of the replies: those of `candidates`; gold, the rating
    as given (of preferences 1 for the preferred one); liked, the same less the request's mean; model; turn_id. Requests
    of which fewer than two replies are rated are left out.
    """
    given = corpus.extras.get("candidates", pd.DataFrame(columns=["candidate", *TURN]))
    origin = next(
        (
            kind
            for kind, c in (("people", "score"), ("preferences", "chosen"))
            if given.get(c, pd.Series()).notna().any()
        ),
        "",
    )
    if not origin and "utility" in given:
        corpus, origin = rate(corpus, Scale.parse(scale), seed), "world"
        given = corpus.extras["candidates"]
    if not origin:
        raise NotEnough(
            "{corpus} has no request to which a person rated several replies. Such ratings come with PRISM and others "
            "(data/README.md), or in a table of your own with a row per reply and a column `candidate`.",
            corpus=corpus.name,
        )
    gold = (
        floats(given["chosen"])
        if origin == "preferences"
        else corpus.scale.from_five(floats(gold_of(given, corpus.scale)))
    )
    rated = given.assign(gold=gold).dropna(subset=["gold"]).reset_index(drop=True)
    rated = rated.assign(
        turn_id=rated.groupby(TURN, sort=False).ngroup(), model=rated["candidate"].str.replace(r"#\d+$", "", regex=True)
    )
    request = rated.groupby("turn_id")["gold"]
    rated = rated.assign(liked=rated["gold"] - request.transform("mean"))
    return corpus, rated[request.transform("size") > 1].reset_index(drop=True), origin


def add_controls(rated: pd.DataFrame, corpus: Corpus) -> tuple[pd.DataFrame, int]:
    """The replies with a score from each control, and how many own ratings weigh as much as everybody's mean.

    What is known of a user's liking is what the corpus's evidence allows: other scenarios or conversations, or earlier ones.
    """
    by_model, mine = rated.groupby("model")["liked"], rated.groupby(["model", "user"])["liked"]
    others = by_model.transform("size") - mine.transform("size")
    sums = by_model.transform("sum") - mine.transform("sum")
    everyone = (sums / others.where(others > 0)).fillna(0.0)
    known = rated.groupby(["user", "model", "scenario"], sort=False)["liked"].agg(["sum", "size"])
    within = known.groupby(level=["user", "model"], sort=False)
    elsewhere = (within.cumsum() if corpus.evidence == "earlier" else within.transform("sum")) - known
    own = elsewhere.reindex(pd.MultiIndex.from_frame(rated[["user", "model", "scenario"]]))
    total, count = own["sum"].to_numpy(), own["size"].to_numpy()
    train = rated["user"].isin(corpus.split().get("train", ())).to_numpy()
    train = train if train.any() else np.ones(len(rated), bool)

    def shrunk(weight: int) -> np.ndarray:
        return np.asarray((total + weight * everyone) / (count + weight))

    best = min(WEIGHTS, key=lambda weight: float(((shrunk(weight) - rated["liked"]) ** 2)[train].sum()))
    scores = (0.0, rated["response"].str.len().astype(float), everyone, shrunk(best))
    return rated.assign(**dict(zip(CONTROLS, scores))), best


def draw_requests(rated: pd.DataFrame, corpus: Corpus, limit: int, seed: int = SEED) -> pd.DataFrame:
    """The replies to at most so many requests of test users, drawn at random."""
    own = rated[rated["user"].isin(corpus.split().get("test", corpus.users["user"]))]
    requests = own["turn_id"].drop_duplicates()
    drawn = requests.sample(limit, random_state=seed) if 0 < limit < len(requests) else requests
    return own[own["turn_id"].isin(drawn)].reset_index(drop=True)


def judge_replies(
    rated: pd.DataFrame, judges: Sequence[Judge], corpus: Corpus, backbone: Backbone | None
) -> pd.DataFrame:
    """The replies with a column of scores for each judge: the mean of its distribution, else its score."""
    frame = rated[["candidate", *TURN, "response"]]
    for judge in judges:
        verdicts = scored(judge, corpus, frame, backbone, progress=judge.sees.model)
        score = floats(verdicts["expected"].fillna(verdicts["raw"]))
        rated = rated.assign(**{judge.name: score})
    return rated


def compare_picks(rated: pd.DataFrame, judges: Sequence[str]) -> pd.DataFrame:
    """`perslib.stats.picks` of the controls and these judges, each against what everyone likes.

    The user's own past ratings have no τ: added up over conversations, they are what they would be compared with.
    """
    found = picks(rated.assign(candidate=rated["model"]), [*CONTROLS, *judges], EVERYONE)
    numbers = [c for c in found if c.startswith(("value", "gain"))]
    found.loc[(found["judge"] == OWN) & (found["metric"] == "tau"), numbers] = np.nan
    return found


def tastes(rated: pd.DataFrame) -> pd.DataFrame:
    """How each user likes each model, beside everybody else: user, requests, tau, favourite, of_everyone."""
    order = order_of(rated.assign(candidate=rated["model"]), EVERYONE)
    mean = rated.groupby(["user", "model"])["liked"].mean()
    of_others = rated.groupby(["user", "model"])[EVERYONE].mean()
    return (
        pd.DataFrame(
            {
                "requests": rated.groupby("user")["turn_id"].nunique(),
                "tau": order,
                "favourite": mean.groupby(level="user").idxmax().str[1],
                "of_everyone": of_others.groupby(level="user").idxmax().str[1],
            }
        )
        .rename_axis("user")
        .reset_index()
    )


def liking(rated: pd.DataFrame, users: int = 12) -> pd.DataFrame:
    """How much the users with most ratings like each model more than the other replies: users × models, best liked first."""
    most = rated["user"].value_counts().head(users).index
    order = rated.groupby("model")["liked"].mean().sort_values(ascending=False).index
    wide = rated[rated["user"].isin(most)].pivot_table(index="user", columns="model", values="liked", aggfunc="mean")
    return wide.reindex(columns=order).dropna(axis=1, how="all")


def costly_picks(rated: pd.DataFrame, judge: str, count: int = 5) -> pd.DataFrame:
    """The requests where the judge's pick cost the person most: both replies with the person's ratings."""
    rows = []
    for (user, _), own in rated.dropna(subset=judge).groupby(["user", "turn_id"], sort=False):
        best, pick = own.loc[own["gold"].idxmax()], own.loc[own[judge].idxmax()]
        rows.append(
            {"user": user, "regret": best["gold"] - pick["gold"], "liked_best": _begins(best), "picked": _begins(pick)}
        )
    table = pd.DataFrame(rows, columns=["user", "regret", "liked_best", "picked"])
    return table.nlargest(count, "regret").reset_index(drop=True)


def _begins(reply: pd.Series, longest: int = 120) -> str:
    text = " ".join(str(reply["response"]).split())
    return f"{reply['candidate']} ({reply['gold']:g}): {text[:longest]}{' …' if len(text) > longest else ''}"
