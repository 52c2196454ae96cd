"""Choices between two replies: whose taste foretells them, and what a recorded judge adds.

    foretold = foretell(rated, corpus)     each choice, from other people's and from the person's other choices
    compare_foretold(foretold)             r and share right, over panels

`rated` is of `people_compared.collect_rated_replies`.

People who compare the same two replies are a panel. Everybody's weights come from other panels, a person's own from the person's choices
between other replies; the neighbour's from another person of the panel, for the same two replies.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Corpus
from perslib.errors import NotEnough
from perslib.judge.learned.choices import (
    HABIT,
    KNOWN,
    SIDE,
    TASTES,
    TRAITS,
    Array,
    Choices,
    TasteModel,
    measure_replies,
)
from perslib.prompts import read_phrases
from perslib.stats import SEED, floats
from perslib.stats.agreement.raters import find_panels
from perslib.stats.resample.leave_one_out import FEWEST_USERS, Resamples, name_bounds
from perslib.stats.resample.sign_flips import holm

FOLDS = 5
#: Choices of a person from which it is asked whether the first half of them foretells the second, or goes in circles.
FEWEST_CHOICES = 4
NEIGHBOUR, PEER = "neighbour's tastes", "another's choice"
SIDED = "of side"
"""How much of what own tastes foretell is the side's."""
VERDICTS = {"a": 1.0, "b": -1.0, "n": 0.0, "tie": 0.0}


@dataclass(frozen=True)
class ForetoldChoices:
    """Choices with what was foretold of each."""

    frame: pd.DataFrame
    """user, panel, pair, place, y, a column for each of `KNOWN`, and recorded verdicts (by name)."""
    choices: Choices
    fold: Array
    recorded: tuple[str, ...]


def collect_choices(rated: pd.DataFrame, corpus: Corpus) -> tuple[pd.DataFrame, Choices, tuple[str, ...]]:
    """Return every two replies to a request that a person compared, their traits, and the names of recorded judges.

    Columns: those of a turn, user, panel, pair, place (in the person's order), one, two (which texts they are), kind_one, kind_two (their
    models), y (1 for the first, −1 for the second, 0 for a tie), and a column for each recorded judge that `meta` names. The first is the one on the left, where `side`
    says where the preferred reply stood, otherwise the one that is listed first.
    """
    about = [
        name for name in ("request", "side", "item", "panel", *corpus.meta.get("recorded", {})) if name in corpus.turns
    ]
    rated = rated.drop(columns=[name for name in about if name in rated]).merge(
        corpus.turns[[*TURN, *about]], on=TURN, how="left"
    )
    places = [own.index.to_numpy() for _, own in rated.groupby("turn_id", sort=False)]
    one, two = (np.concatenate([rows[np.triu_indices(len(rows), 1)[end]] for rows in places]) for end in (0, 1))
    y = np.sign(floats(rated["gold"])[one] - floats(rated["gold"])[two])
    if "side" in about:
        turned = rated["side"].map(VERDICTS).to_numpy(float)[one] == -y
        one, two, y = np.where(turned, two, one), np.where(turned, one, two), np.where(turned & (y != 0), -y, y)
    x = measure_replies(rated).to_numpy()
    texts = rated["response"].to_numpy(object)
    replies = [
        (r, *sorted(pair)) for r, *pair in zip(rated["request"].astype(object).to_numpy()[one], texts[one], texts[two])
    ]
    frame = rated.iloc[one][[*TURN, *about]].reset_index(drop=True)
    frame["pair"], frame["y"] = pd.MultiIndex.from_tuples(replies).factorize()[0], y
    which = pd.factorize(texts)[0]
    frame["one"], frame["two"] = which[one], which[two]
    frame["kind_one"], frame["kind_two"] = (rated["model"].to_numpy(object)[rows] for rows in (one, two))
    order = floats(frame["item"]) if "item" in frame else np.arange(len(frame))
    frame["place"] = pd.Series(order).groupby(frame["user"]).rank(method="first")
    frame["panel"] = find_panels(
        frame["user"].to_numpy(object), pd.factorize(frame["panel" if "panel" in about else "pair"])[0]
    )
    recorded = {column: name for column, name in corpus.meta.get("recorded", {}).items() if column in frame}
    for column, name in recorded.items():
        frame[name] = frame[column].map(VERDICTS).astype(float)
    choices = Choices(x[one] - x[two], y, frame["user"].to_numpy(object), frame["pair"].to_numpy())
    return frame, choices, tuple(recorded.values())


def foretell(rated: pd.DataFrame, corpus: Corpus, seed: int = SEED) -> ForetoldChoices:
    """Foretell each choice from what is known at each step of `KNOWN`, by weights learned from other panels.

    Raise NotEnough where there are fewer than two panels, or nobody made several choices.
    """
    return foretell_choices(*collect_choices(rated, corpus), seed)


def foretell_choices(
    frame: pd.DataFrame, choices: Choices, recorded: tuple[str, ...] = (), seed: int = SEED
) -> ForetoldChoices:
    """Foretell collected choices; see `foretell`."""
    panels = frame["panel"].to_numpy()
    if panels.max(initial=0) < 1 or frame["pair"].groupby(frame["user"]).nunique().max() < 2:
        raise NotEnough(
            "{panels} panels and at most {most} choices a person: whose taste foretells a choice needs two panels or more, and people "
            "with several choices.",
            panels=len(set(panels)),
            most=int(frame["user"].value_counts().max()),
        )
    fold = np.random.default_rng(seed).permutation(panels.max() + 1)[panels] % FOLDS
    foretold = cross_validate(choices, fold, KNOWN)
    return ForetoldChoices(frame.assign(**foretold), choices, fold, recorded)


def cross_validate(
    choices: Choices, fold: Array, known: Iterable[str], taught: Array | None = None
) -> dict[str, Array]:
    """Return the predictions for each fold by a model of the other folds, and what is the side's in the last of them (`SIDED`).

    Where `taught` is given, a person's own weights come from these choices alone.
    """
    foretold = {name: np.full(len(fold), np.nan) for name in (*known, SIDED)}
    for number in np.unique(fold):
        here = fold == number
        if not here.all():
            model = TasteModel.fit(choices.take(~here))
            for name in known:
                x, weights = model.weigh(choices.take(here), name, None if taught is None else taught[here])
                foretold[name][here], foretold[SIDED][here] = (x * weights).sum(axis=1).clip(-1, 1), weights[:, 0]
    return foretold


def compare_foretold(foretold: ForetoldChoices) -> pd.DataFrame:
    """Compare what is foretold at each step, by a neighbour and by recorded judges, over panels.

    Columns: known, value (r with bounds), foretold (the share of choices that are no tie, of equal predictions half, with bounds), own_ahead (r of
    the person's own tastes less this one's, on the same choices, with bounds and p_holm), compared, people, panels.
    """
    frame, rows = foretold.frame, []
    for name in (*KNOWN, *foretold.recorded):
        known = frame[np.isfinite(frame[name])]
        rows.append(_measure_row(name, known, known[name]))
        if name == TASTES:
            lent = lend_predictions(frame)
            rows += [_measure_row(other, lent, lent[other]) for other in (NEIGHBOUR, PEER) if len(lent)]
    table = pd.DataFrame(rows)
    return table.assign(own_ahead_p_holm=holm(floats(table["own_ahead_p"])))


def lend_predictions(frame: pd.DataFrame) -> pd.DataFrame:
    """Return each choice once for every other person who compared the same two replies, foretold by that person's weights, and by
    that person's choice itself: how far people agree.

    Of weights the habit of side remains the person's own: it is no taste.
    """
    both = frame.merge(frame[["pair", "user", "one", "y", TASTES, SIDED]], on="pair", suffixes=("", "_of"))
    both = both[both["user"] != both["user_of"]]
    turned = np.where(both["one"] == both["one_of"], 1.0, -1.0)
    own_side = both[SIDED] + turned * (both[f"{TASTES}_of"] - both[f"{SIDED}_of"])
    return both.assign(**{NEIGHBOUR: own_side, PEER: turned * both["y_of"]})


def _measure_row(name: str, frame: pd.DataFrame, foretold: pd.Series) -> dict[str, Any]:
    panels, y = Resamples(frame["panel"]), frame["y"].to_numpy()
    values, tastes = foretold.to_numpy(float), frame[TASTES].to_numpy(float)
    r, own = (panels.correlate(x, y) for x in (values, tastes))
    right = np.where(y == 0, np.nan, (1 + np.sign(values) * y) / 2)
    about = {"compared": len(frame), "people": frame["user"].nunique(), "panels": len(panels)}
    gap = (
        panels.estimate(own - r, "own_ahead", p=True)
        if name != TASTES
        else dict.fromkeys(name_bounds("own_ahead", p=True), np.nan)
    )
    if name in (NEIGHBOUR, PEER):
        about["compared"] = len(frame[["user", "pair"]].drop_duplicates())
    return {
        "known": name,
        **panels.estimate(r, "value", "correlation"),
        **panels.estimate(panels.mean(right), "foretold", "share"),
        **gap,
        **about,
    }


def add_recorded(foretold: ForetoldChoices, name: str) -> dict[str, Any]:
    """Return the row of the person's tastes beside tastes that have a recorded judge's verdict as one more trait (`own_ahead` is what it adds), on
    the choices that have one.
    """
    verdicts = foretold.frame[name].to_numpy(float)
    choices = foretold.choices.with_column(np.nan_to_num(verdicts))
    together = cross_validate(choices, foretold.fold, [TASTES])
    judged = foretold.frame.assign(alone=foretold.frame[TASTES], **together)[np.isfinite(verdicts)]
    return _measure_row("alone", judged, judged["alone"])


def foretell_later_half(foretold: ForetoldChoices) -> dict[str, Any]:
    """Return how the first half of a person's choices foretells the second half by the habit of side; `own_ahead` is what own tastes add."""
    frame = foretold.frame
    counts = frame.groupby("user")["place"].transform("max")
    later = (frame["place"] > counts / 2).to_numpy()
    first = frame.assign(**cross_validate(foretold.choices, foretold.fold, (HABIT, TASTES), taught=~later))
    judged = first[later & (counts >= FEWEST_CHOICES).to_numpy() & np.isfinite(first[TASTES])]
    return _measure_row(HABIT, judged, judged[HABIT])


def count_circles(frame: pd.DataFrame) -> dict[str, Any]:
    """Return how many triads (three kinds of replies, each two of them compared by one person) go in a circle, with bounds over panels."""
    ahead = frame.assign(
        low=frame[["kind_one", "kind_two"]].min(axis=1), high=frame[["kind_one", "kind_two"]].max(axis=1)
    )
    ahead["won"] = np.where(ahead["low"] == ahead["kind_one"], ahead["y"], -ahead["y"])
    ahead = ahead[ahead["low"] != ahead["high"]].groupby(["panel", "user", "low", "high"])["won"].sum().reset_index()
    sides = ahead[ahead["won"] != 0].assign(won=lambda own: own["won"] > 0)
    on = ["panel", "user"]
    ab, bc, ac = (
        sides.rename(columns={"low": low, "high": high, "won": low + high}) for low, high in ("ab", "bc", "ac")
    )
    triads = ab.merge(bc, on=[*on, "b"]).merge(ac, on=[*on, "a", "c"])
    circular = (triads["ab"] == triads["bc"]) & (triads["ab"] != triads["ac"])
    panels = Resamples(triads["panel"])
    return {**panels.estimate(panels.mean(circular.astype(float)), "circular", "share"), "triads": len(triads)}


def _read_trait_names(language: str) -> dict[str, str]:
    return {**read_phrases("traits", language), **read_phrases("choices", language)}


def list_tastes(foretold: ForetoldChoices, language: str = "en") -> pd.DataFrame:
    """Return what everybody likes, and how far people differ in it, a trait a row.

    Columns: trait (in words), weight (what one standard deviation more is worth, in points of −1 to 1, with bounds and p_holm over panels), differs
    (the standard deviation of people's own weights).
    """
    choices, panel = foretold.choices, foretold.frame["panel"].to_numpy()
    model = TasteModel.fit(choices)
    n = int(panel.max()) + 1
    without = [TasteModel.fit(choices.take(panel != own)).shared for own in range(n)] if FEWEST_USERS <= n <= 60 else []
    weights = np.array([model.shared, *without]).T
    panels = Resamples(np.arange(len(without)))
    rows = []
    for name, own, variance in zip([SIDE, *TRAITS], weights, model.own):
        alone = dict(zip(name_bounds("weight", p=True), [own[0], np.nan, np.nan, np.nan]))
        weight = panels.estimate(own, "weight", p=True) if without else alone
        rows.append({"trait": name, **weight, "differs": float(np.sqrt(variance))})
    table = pd.DataFrame(rows)
    table["trait"] = table["trait"].map(_read_trait_names(language))
    return table.assign(weight_p_holm=holm(floats(table["weight_p"]))).sort_values(
        "weight", key=np.abs, ascending=False, kind="stable"
    )


def compare_preferences(foretold: ForetoldChoices, language: str = "en") -> pd.DataFrame:
    """Return how often people and each recorded judge choose the reply that has more of a trait, on the choices that both made.

    Words of models' names that several models share ("gpt-4o bullet", "gpt-4o essay") count as traits. Columns: recorded_judge (the
    judge), more_of, people and judge_share (with bounds over panels), gap (judge less people, with bounds and p_holm), compared.
    """
    named = _read_trait_names(language)
    ahead = {named[name]: column for name, column in zip(TRAITS, foretold.choices.x.T)}
    kinds = [foretold.frame[name].str.split() for name in ("kind_one", "kind_two")]
    words = pd.Series(
        [word for kind in set(map(tuple, pd.concat(kinds))) for word in set(kind)], dtype=object
    ).value_counts()
    for word in words.index[words > 1]:
        one, two = (np.array([word in kind for kind in side], float) for side in kinds)
        ahead[f"“{word}”"] = one - two
    rows = []
    for name in foretold.recorded:
        for what, more in ahead.items():
            verdict, y = foretold.frame[name].to_numpy(float), foretold.frame["y"].to_numpy()
            judged = (more != 0) & np.isfinite(verdict)
            panels = Resamples(foretold.frame["panel"][judged])
            if len(panels) < 2:
                continue
            people, judge = (panels.mean((1 + np.sign(own * more)[judged]) / 2) for own in (y, verdict))
            rows.append({
                "recorded_judge": name, "more_of": what, "compared": int(judged.sum()),
                **panels.estimate(people, "people", "share"), **panels.estimate(judge, "judge_share", "share"),
                **panels.estimate(judge - people, "gap", p=True),
            })  # fmt: skip
    columns = [
        "recorded_judge",
        "more_of",
        "compared",
        *name_bounds("people"),
        *name_bounds("judge_share"),
        *name_bounds("gap", p=True),
    ]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(gap_p_holm=holm(floats(table["gap_p"]))).sort_values(
        "gap", key=np.abs, ascending=False, kind="stable"
    )
