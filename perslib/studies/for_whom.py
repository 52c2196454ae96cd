"""For whom a judge's probabilities are right: as it gives them, and after a calibration on each user's history.

The calibration (`fit_tilt`) is learned from other users of the same verdicts, a part of the users at a time, so it can be had
for any judge: no train user has to be judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import Corpus
from perslib.errors import NotEnough
from perslib.judge.scope import FEWEST_REPLIES
from perslib.report import name_of
from perslib.report.show.tables import format_number, show_estimate
from perslib.stats import Floats, fit_population, fit_tilt, floats, histories, with_gold
from perslib.stats.agreement.for_whom import measure_for_whom
from perslib.stats.agreement.gold import of_judges
from perslib.stats.calibrate.tilt import P
from perslib.stats.calibrate.user_scale import to_scale
from perslib.stats.calibrate.verdicts import of_blocks
from perslib.stats.resample.leave_one_out import name_bounds

FOLDS = 5
GIVEN, TILTED = "raw", "tilted"


def compare_for_whom(verdicts: pd.DataFrame, corpus: Corpus) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compare, for each judge with a distribution, its probabilities as given and calibrated, in numbers and by user.

    Raise NotEnough where no judge has a distribution on `FEWEST_REPLIES` rated replies, or nobody's history is known. Columns of
    the first frame: judge, calibration and those of `ForWhom.numbers`; of the second: judge, calibration, user_level (mean of
    the user's scores) and those of `ForWhom.users`.
    """
    rated = with_gold(verdicts, corpus, P).dropna(subset=["gold", *P])
    train = corpus.of_users(corpus.split().get("train", []))
    if train.turns["score"].isna().all():
        raise NotEnough(
            "No train user has rated a reply, so nobody's own shares of 1 to 5 can be drawn towards theirs."
        )
    shrunk = fit_population(train).shrink(histories(corpus))
    rows, each = list[dict[str, Any]](), list[pd.DataFrame]()
    for who, own in of_judges(rated):
        if len(own) < FEWEST_REPLIES:
            continue
        counts = of_blocks(own, shrunk)
        shares, gold = counts / counts.sum(axis=1, keepdims=True), to_scale(floats(own["gold"]))
        level = pd.Series(gold).groupby(own["user"].to_numpy()).mean()
        for calibration, p in _calibrate(own, gold, shrunk):
            table = measure_for_whom(p, gold, own["user"], shares)
            about = {"judge": who.judge, "backbone": who.backbone, "calibration": calibration}
            rows.append({**about, **table.numbers})
            each.append(table.users.assign(**about, user_level=table.users["user"].map(level)))
    if not rows:
        raise NotEnough("No judge gave probabilities of 1 to 5 for {n} rated replies.", n=FEWEST_REPLIES)
    return pd.DataFrame(rows), pd.concat(each, ignore_index=True)


def _calibrate(own: pd.DataFrame, gold: Floats, shrunk: pd.DataFrame) -> Iterator[tuple[str, Floats]]:
    """Yield the probabilities of one judge as given, and tilted by what other users teach; of few users only the first."""
    p = floats(own[P])
    yield GIVEN, p
    users = np.unique(own["user"])
    if len(users) < 2 * FOLDS:
        return
    tilted, rows = np.empty_like(p), own.assign(gold=gold)
    for fold in (users[i::FOLDS] for i in range(FOLDS)):
        is_here = own["user"].isin(fold).to_numpy()
        tilted[is_here] = fit_tilt(rows[~is_here], shrunk).distribution(rows[is_here], shrunk)
    yield TILTED, tilted


def describe_for_whom(compared: pd.DataFrame) -> dict[str, Any]:
    """Return the numbers of a sentence on the judge that comes last in the table, as given, and what calibrating it does."""
    own = compared[compared["judge"] == compared["judge"].iloc[-1]].set_index("calibration")
    given = own.loc[GIVEN]
    numbers = ("ece", "ece_chance", "user_ece", "user_ece_chance")
    chances = own["users_worse_chance"].map("{:.0%}".format)
    shares = 100 * own[name_bounds("users_worse")]
    percents: dict[Any, Any] = {name: show_estimate(row, "users_worse", 1) for name, row in shares.iterrows()}
    return {
        "judge": name_of(given["judge"]),
        "users": int(given["users"]),
        **{name: format_number(given[name]) for name in numbers},
        "worse": percents[GIVEN],
        "worse_chance": chances[GIVEN],
        "after": percents.get(TILTED),
        "after_chance": chances.get(TILTED),
    }
