"""What is said of choices between two replies: whose taste foretells them, and what a recorded judge adds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import load
from perslib.judge.learned.choices import HABIT, LIKES, TASTES
from perslib.report.show.claims import Estimate, choose, list_on_side
from perslib.report.show.tables import show_estimate
from perslib.studies.choices import (
    NEIGHBOUR,
    PEER,
    ForetoldChoices,
    add_recorded,
    compare_preferences,
    count_circles,
    foretell,
    foretell_later_half,
)
from perslib.studies.people_compared import collect_rated_replies
from perslib.text import translate

#: Circular triads among choices at random.
CIRCULAR_BY_CHANCE = 0.25
#: A difference in r below this does not matter, however sure it is.
LEAST = 0.002


def describe_foretold(table: pd.DataFrame) -> list[tuple[str, dict[str, Any]]]:
    """Return the wordings and numbers of `compare_foretold`: own tastes beside everybody's, the neighbour's, and recorded judges."""
    rows = table.set_index("known")
    about = {"tastes": show_estimate(rows.loc[TASTES], "value", 2), "likes": show_estimate(rows.loc[LIKES], "value", 2)}
    people = int(rows.loc[TASTES, "people"])
    sentences: list[tuple[str, dict[str, Any]]] = []
    for name, row in rows.drop(index=[LIKES, TASTES]).iterrows():
        if np.isnan(row["value"]):
            constant = choose("open", open="The recorded verdicts of {other} do not differ, so they foretell nothing.")
            sentences.append((constant, {"other": str(name)}))
            continue
        ahead = replace(Estimate.of(row, "own_ahead", digits=2), least=LEAST)
        numbers = {**about, "people": people, "other": str(name), "r": show_estimate(row, "value", 2), "ahead": ahead}
        sentences.append((_WORDINGS.get(str(name), _word_recorded)(ahead), numbers))
    return sentences


def describe_choosing(foretold: ForetoldChoices) -> list[tuple[str, dict[str, Any]]]:
    """Return the wordings and numbers of what recorded judges add to the person's tastes, of the later half, and of circles."""
    sentences: list[tuple[str, dict[str, Any]]] = []
    for name in foretold.recorded:
        if foretold.frame[name].nunique() < 2:
            continue
        added = replace(Estimate.of(row := add_recorded(foretold, name), "own_ahead"), least=LEAST)
        sentences.append(
            (
                choose(
                    added,
                    above="{other} knows more than traits and tastes: with its verdict as one more trait r is {added} higher, on the"
                    " {choices:,} choices that it judged.",
                    open="{other} adds nothing that is shown to traits and tastes: with its verdict as one more trait r changes by "
                    "{added}, on the {choices:,} choices that it judged.",
                    unknown="With the verdict of {other} as one more trait r changes by {added}.",
                ),
                {"other": name, "added": added, "choices": int(row["compared"])},
            )
        )
    if (later := foretell_later_half(foretold))["compared"]:
        ahead = replace(Estimate.of(later, "own_ahead", digits=2), least=LEAST)
        sentences.append(
            (
                choose(
                    ahead,
                    above="Tastes last: learned from the first half of a person's choices, they foretell the second half better than"
                    " everybody's likes and the habit of side, by {ahead} ({people} people with four choices or more).",
                    open="Learned from the first half of a person's choices, own tastes foretell the second half no better, as far "
                    "as is shown, than everybody's likes and the habit of side: {ahead} ({people} people with four choices or "
                    "more).",
                    unknown="Learned from the first half of a person's choices, own tastes add {ahead} in the second half to "
                    "everybody's likes and the habit of side ({people} people).",
                ),
                {"ahead": ahead, "people": int(later["people"])},
            )
        )
    if (circles := count_circles(foretold.frame))["triads"]:
        below = Estimate.of(circles, "circular", line=CIRCULAR_BY_CHANCE, digits=2)
        sentences.append(
            (
                choose(
                    below,
                    below="Choices keep an order: of {triads:,} triads of models, each two compared by one person, {circular} go in "
                    "a circle; at random {chance:g} would.",
                    open="Of {triads:,} triads of models, each two compared by one person, {circular} go in a circle, not surely "
                    "fewer than the {chance:g} of choices at random.",
                    unknown="Of {triads:,} triads of models, each two compared by one person, {circular} go in a circle; at random "
                    "{chance:g} would.",
                ),
                {"circular": below, "triads": circles["triads"], "chance": CIRCULAR_BY_CHANCE},
            )
        )
    return sentences


def describe_preferences(preferences: pd.DataFrame, other: str) -> tuple[str, dict[str, Any]]:
    """Return the wording and numbers of what a recorded judge chooses more, and less, often than people: see `compare_preferences`."""
    rows = preferences[preferences["recorded_judge"] == other]
    more, less = (list_on_side(rows, side, "gap", label="more_of") for side in ("above", "below"))
    most = rows.iloc[0]
    numbers = {
        "judge": show_estimate(most, "judge_share", 2),
        "people": show_estimate(most, "people", 2),
        "what": most["more_of"],
    }
    return choose(
        "open",
        open="More often than people {other} chooses the reply that has more of: {more}; less often: {less}. They differ most in {what}: people "
        "choose it in {people}, {other} in {judge}.",
    ), {**numbers, "other": other, "more": more, "less": less}


def make_demo() -> tuple[pd.DataFrame, list[str]]:
    """Return people's choices with GPT-4o's recorded verdicts, as a table of one's own would have them, and what GPT-4o prefers."""
    scored, rated, _ = collect_rated_replies(load("people/cragc"))
    foretold = foretell(rated, scored)
    frame, (other,) = foretold.frame, foretold.recorded
    text, numbers = describe_preferences(compare_preferences(foretold), other)
    table = pd.DataFrame({
        "item_id": frame["one"].astype(str) + " or " + frame["two"].astype(str), "annotator": frame["user"],
        "human_choice": np.where(frame["y"] > 0, "a", "b"), "gpt4o": frame["gpt4o"].replace("n", "tie"),
    })  # fmt: skip
    return table, [translate(text, **numbers)]


def _word_own(ahead: Estimate) -> str:
    return choose(
        ahead,
        above="**A person's own tastes foretell choices beyond what everybody likes**: of {people} people r is {likes} "
        "with everybody's likes, {r} with the person's habit of side too, {tastes} with own tastes. They add "
        "{ahead}.",
        open="Everybody's likes foretell choices of {people} people at r = {likes}, with the habit of side {r}, with "
        "own tastes {tastes}: that tastes differ is not shown, {ahead}.",
        below="Everybody's likes foretell choices of {people} people at r = {likes}, with the habit of side {r}; own "
        "tastes make it worse, {tastes}, by {ahead}.",
        unknown="Everybody's likes foretell choices of {people} people at r = {likes}, with the habit of side {r}, with "
        "own tastes {tastes}. Intervals need ten panels.",
    )


def _word_neighbour(ahead: Estimate) -> str:
    return choose(
        ahead,
        above="They are this person's: with the weights of another person who compared the same two replies r is {r}, "
        "{ahead} less.",
        open="Whether they are this person's is open: with the weights of another person who compared the same two "
        "replies r is {r}; the difference is {ahead}.",
        below="With the weights of another person who compared the same two replies r is {r}, which is more; the "
        "difference is {ahead}.",
        unknown="With the weights of another person who compared the same two replies r is {r}.",
    )


def _word_peer(_: Estimate) -> str:
    return choose(
        "open",
        open="Another person's choice between the same two replies foretells it at r = {r}: that is how far people agree.",
    )


def _word_recorded(ahead: Estimate) -> str:
    return choose(
        ahead,
        above="**The person's tastes foretell more than {other}**, whose recorded verdicts reach r = {r} on the pairs "
        "that it judged; tastes are ahead by {ahead} there.",
        open="{other}, whose verdicts are recorded, reaches r = {r} on the pairs that it judged; the difference to the "
        "person's tastes there is open, {ahead}.",
        below="**{other} foretells more than the person's tastes**: its recorded verdicts reach r = {r} on the pairs "
        "that it judged; tastes are behind there, by {ahead}.",
        unknown="{other}, whose verdicts are recorded, reaches r = {r} on the pairs that it judged.",
    )


_WORDINGS = {HABIT: _word_own, NEIGHBOUR: _word_neighbour, PEER: _word_peer}
