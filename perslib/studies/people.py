"""What knowing a person adds, set by set: everybody's likes, the person's level, the person's tastes, all by measured traits.

    describe_set(load("people/ji"))        a row of docs/people.md

Choices between two replies are foretold as on page 13. Ratings are foretold alike: x are the traits of the reply (of a conversation, their
means), the assistant and the turn, and the person's level stands where the habit of side stands.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import SESSION, TURN, Corpus
from perslib.errors import NotEnough
from perslib.judge.learned.choices import KNOWN, MEASURED, TASTES, Choices, measure_replies
from perslib.stats import SEED, floats
from perslib.studies.choices import FOLDS, ForetoldChoices, compare_foretold, cross_validate, foretell
from perslib.studies.people_compared import collect_rated_replies

#: Assistants that are told apart; what is rarer is one.
ASSISTANTS = 12
TEXTLESS = "no text"
"""Own tastes without the reply's traits: in assistants and turns, and the person's level."""


def describe_set(corpus: Corpus, seed: int = SEED) -> pd.DataFrame:
    """Return what each step foretells of a corpus's choices, or else of its ratings: see `compare_foretold`."""
    if corpus.extras.get("candidates", pd.DataFrame()).get("chosen", pd.Series()).notna().any():
        scored, rated, _ = collect_rated_replies(corpus, seed=seed)
        return compare_foretold(foretell(rated, scored, seed))
    return compare_foretold(foretell_ratings(corpus, seed))


def foretell_ratings(corpus: Corpus, seed: int = SEED) -> ForetoldChoices:
    """Foretell each rating of a reply, or of a conversation where no reply is rated, from other people and from the person's other ratings.

    Of a person's ratings those of the same conversation are left out together. Raise NotEnough with fewer than `FOLDS` people.
    """
    rated = _collect_ratings(corpus)
    people = rated["user"].nunique()
    if people < FOLDS:
        raise NotEnough("{people} people rated; a ladder over people needs {least}.", people=people, least=FOLDS)
    user = rated["user"].to_numpy(object)
    common = rated["assistant"].value_counts().index[:ASSISTANTS]
    known = np.column_stack(
        [*(rated["assistant"] == name for name in common), rated["turn"].clip(upper=5), rated["turn"] == 0]
    )
    x = np.column_stack([known.astype(float), rated[MEASURED].to_numpy(float)])
    y = (floats(rated["score"]) - 3) / 2
    session = rated.groupby(SESSION, sort=False).ngroup().to_numpy()
    frame = pd.DataFrame({"user": user, "panel": pd.factorize(user)[0], "pair": session, "one": 0, "y": y})
    fold = np.random.default_rng(seed).permutation(people)[frame["panel"]] % FOLDS
    textless = cross_validate(Choices(known.astype(float), y, user, session), fold, [TASTES])
    choices = Choices(x, y, user, session)
    foretold = cross_validate(choices, fold, KNOWN)
    return ForetoldChoices(frame.assign(**{TEXTLESS: textless[TASTES], **foretold}), choices, fold, (TEXTLESS,))


def _collect_ratings(corpus: Corpus) -> pd.DataFrame:
    """Return what people rated, a row a rating, with the traits of the reply or their means over the conversation."""
    turns, sessions = corpus.turns, corpus.sessions
    if not set(MEASURED) <= {*turns, *sessions}:
        turns = turns.join(measure_replies(turns))
    if turns["score"].notna().any():
        rated = turns.dropna(subset="score").merge(sessions[[*SESSION, "assistant"]], on=SESSION, how="left")
        return rated[[*TURN, "score", "assistant", *MEASURED]].fillna({"assistant": ""})
    rated = sessions.rename(columns={"satisfaction": "score"}).dropna(subset="score")
    if not set(MEASURED) <= set(rated):
        rated = rated.merge(turns.groupby(SESSION)[MEASURED].mean().reset_index(), on=SESSION)
    return rated.assign(turn=0).fillna({"assistant": ""})[[*TURN, "score", "assistant", *MEASURED]]


def list_numbers(table: pd.DataFrame) -> dict[str, Any]:
    """Return the row of one set: people, judgments, r by each step, and by how much own tastes are ahead of it (`ahead of …`)."""
    rows = table.set_index("known")
    numbers: dict[str, Any] = {
        "people": int(rows.loc[TASTES, "people"]),
        "judgments": int(rows.loc[TASTES, "compared"]),
    }
    for name, row in rows.iterrows():
        for end in ("", "_low", "_high"):
            numbers |= {f"{name}{end}": row[f"value{end}"], f"ahead of {name}{end}": row[f"own_ahead{end}"]}
    return numbers
