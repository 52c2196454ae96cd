"""How many labels a ranking takes, with a judge's help and without: studies drawn again and again from known users.

Of some users everything is known: what they say of each candidate's replies, and what the judge says. They are the
population. A study draws users from it with replacement, has the judge score all of their replies, and asks the first
few users for labels; what it then says is held against the population's own means, which are known to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Corpus
from perslib.corpus.reading import csv_lines, json_lines, number_in, unfit
from perslib.errors import DataError, PerslibError, Problem
from perslib.judge import Judge
from perslib.llm import Backbone
from perslib.replay import ORIGINAL, originals, read_replies, recorded, scored
from perslib.replay.published_lines import turn_of
from perslib.stats import FEWEST_USERS, SEED, correlation, floats, mean_by, measure
from perslib.stats.gold import of_turns
from perslib.stats.resamples import Floats
from perslib.studies.extent import FEWEST_REPLIES, listed, require_replies, whole_numbers
from perslib.worlds.satisfaction import borders

#: Turns that each candidate is judged on, unless told otherwise.
TURNS = 150
#: Judges that know nothing, or lean: what an honest method must survive.
SHUFFLED, CONSTANT, PARTIAL = "scores of other users", "always the same", "partial to the worst"


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
        """Whether all candidates answer the same turns."""
        return bool((self.turns == self.turns[:, :1]).all())


def read_budgets(text: str) -> list[int]:
    """Return the numbers of labelled users that a parameter lists."""
    return whole_numbers(
        text, "budgets", "For label budgets give numbers of users, such as '2, 4, 6, 10, 20'."
    )


def collect_ratings(
    corpus: Corpus, *, replies: str = "", labels: str = "", limit: int = TURNS, seed: int = SEED
) -> pd.DataFrame:
    """Collect replies to turns of test users that people rated: candidate, the keys of a turn, response, gold.

    They come from the files `replies` and `labels`, where given (labels: CSV or JSONL with candidate, user, scenario, session,
    turn and score). Else a synthetic world says how its users would have rated each candidate's reply: by their
    own thresholds, with their own noise, once. In other corpora they are the recorded replies with their ratings, and
    the assistants that gave them are the candidates. `limit` turns are drawn at random.
    """
    test = corpus.split().get("test", corpus.users["user"])
    if bool(replies) != bool(labels):
        raise PerslibError(
            "Replies of candidates and people's labels of them go together: give both or neither."
        )
    if labels:
        given = pd.concat([read_replies(file, corpus) for file in listed(replies)], ignore_index=True)
        turns = given[TURN].drop_duplicates()
        everyone = pd.concat([originals(corpus, turns), recorded(given, turns)], ignore_index=True)
        known = everyone.merge(_read_labels(labels), on=["candidate", *TURN])
    elif {"utility", "expected"} <= set(brought := corpus.extras.get("candidates", pd.DataFrame())):
        known = brought.assign(gold=_world_ratings(brought, corpus.extras["truth_users"], seed))
    else:
        known = corpus.turns.dropna(subset=["score", "response"]).assign(candidate=_assistants(corpus))
        known = known.rename(columns={"score": "gold"})
    known = known[known["user"].isin(test)][["candidate", *TURN, "response", "gold"]]
    turns = known[TURN].drop_duplicates()
    if 0 < limit < len(turns):
        known = known.merge(turns.sample(limit, random_state=seed), on=TURN)
    if known["user"].nunique() < FEWEST_USERS:
        raise DataError(
            f"People's scores of {known['user'].nunique()} test users' replies are known",
            f"It takes {FEWEST_USERS} users to draw from, better twenty: give more of them, or set limit = -1.",
        )
    return known.reset_index(drop=True)


def _read_labels(file: str) -> pd.DataFrame:
    path = Path(file)
    if not path.is_file():
        raise DataError(Problem(str(path), "there is no such file"), "Give a CSV or JSONL file of labels.")
    lines: Iterator[tuple[str, Any, Any]]
    if path.suffix.lower() in {".jsonl", ".ndjson"}:
        lines = json_lines(path.read_bytes(), path.name)
    else:
        lines = csv_lines(path.read_bytes(), path.name, ("candidate", *TURN, "score"))
    found = [_label(value, place) for place, value, _ in lines]
    problems = [label for label in found if isinstance(label, Problem)]
    if problems or not found:
        raise DataError(problems or Problem(path.name, "holds no label"), "Mend the file of labels.")
    return pd.DataFrame(found, columns=["candidate", *TURN, "gold"])


def _label(value: Any, place: str) -> dict[str, Any] | Problem:
    """What one line says: candidate, the keys of a turn, gold."""
    if not isinstance(value, dict):
        return value if isinstance(value, Problem) else Problem(place, "is no JSON object")
    turn, gold = turn_of(value, place), number_in(value.get("score"))
    candidate = value.get("candidate")
    if isinstance(turn, Problem):
        return turn
    if not isinstance(candidate, str) or any(unfit(candidate, place)):
        return Problem(place, f"candidate is {candidate!r}, expected a name")
    if gold is None or not 1 <= gold <= 5:
        return Problem(place, "score is not between 1 and 5")
    return {"candidate": candidate, **dict(zip(TURN, turn)), "gold": gold}


def _world_ratings(replies: pd.DataFrame, users: pd.DataFrame, seed: int) -> Floats:
    """1 + the number of the user's thresholds below utility + noise, as the world rates."""
    of = users.set_index("user").loc[replies["user"]]
    steps = np.array([borders(*own) for own in of[["strictness", "top_shift"]].to_numpy(float)])
    noise = np.random.default_rng(seed).normal(0, of["noise"].to_numpy(float))
    latent = replies["utility"].to_numpy(float) + noise
    return np.asarray(1.0 + (latent[:, None] > steps).sum(axis=1))


def _assistants(corpus: Corpus) -> pd.Series:
    """Who gave each recorded reply, where sessions say so of every one, and of more than one."""
    by = of_turns(corpus, "assistant")
    named = by.notna().all() and by.nunique() > 1
    return pd.Series(by.to_numpy() if named else ORIGINAL, corpus.turns.index)


def score_replies(
    known: pd.DataFrame, judge: Judge, corpus: Corpus, backbone: Backbone | None = None
) -> pd.DataFrame:
    """Return the rated replies with the frozen judge's score (expected, else as given); unscored ones at its mean."""
    verdicts = scored(judge, corpus, known[["candidate", *TURN, "response"]], backbone, progress=False)
    score = floats(verdicts["expected"])
    score = np.where(np.isnan(score), floats(verdicts["raw"]), score)
    if np.isnan(score).all():
        raise DataError(f"The judge {judge.name!r} scored none of these replies", "Name another judge.")
    return known.assign(judged=np.where(np.isnan(score), np.nanmean(score), score))


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

    Columns: candidate, turns, gold, gold_low, gold_high (users resampled), judged, bias, and the correlation of judge and
    people over turns (r_turns) and over users' means (r_users), missing below thirty turns.
    """
    by_people = mean_by(known, "gold", "candidate").set_index("candidate")
    by_people = by_people.rename(columns=lambda name: name.replace("mean", "gold"))[
        ["gold", "gold_low", "gold_high"]
    ]
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


def correlate_with_people(known: pd.DataFrame, judge: str) -> pd.DataFrame:
    """Return the judge's r with people over all replies, in the columns of `perslib.stats.agreement`."""
    require_replies(len(known))
    value, low, high = correlation(known["gold"], known["judged"], known["user"])
    return pd.DataFrame(
        [{"judge": judge, "metric": "pearson", "value": value, "value_low": low, "value_high": high}]
    )


def _correlate(pairs: pd.DataFrame) -> float:
    return (
        float(measure(pairs["gold"], pairs["judged"], metrics=["pearson"]).iloc[0])
        if len(pairs) > 2
        else np.nan
    )
