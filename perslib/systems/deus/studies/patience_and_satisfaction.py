"""The study of patience against ratings: f and h learned from outcomes of dialogues, compared with ratings of turns.

DEUS learns the cost of a turn (f) and the budget of a user (h) from success and failure alone. A corpus of rated turns
can show whether f is satisfaction. Every dialogue is estimated by a fit that has not seen it, and that knew only the
outcomes of the others. If success is not recorded, it is read from the end of a dialogue; the turn that it is read from
is left out of the comparison.

Controls: the number of the turn, the outcome alone, chance, a fit on shuffled outcomes. As an upper mark, a ridge
regression learns the ratings themselves, from the same features in the same folds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import RidgeCV

from perslib.corpus import SESSION, TURN, Corpus, relabel
from perslib.errors import UnknownName
from perslib.judge.scope import FEWEST_REPLIES
from perslib.memory.features import measure_traits, read_evidence_turns
from perslib.report.show.claims import Estimate, Side
from perslib.stats import SEED, Resamples, agreement, estimate, floats, mean_by, of_turns, ratio
from perslib.stats.resample.leave_one_out import count_carriers, drop_if_few
from perslib.systems.deus import FAILURE, SUCCESS, Dialogues, PatienceModel
from perslib.systems.deus.studies.patience_text import WORDS, fit_encoder
from perslib.systems.deus.text import Bow, TextDialogue, as_dialogues, crowd, read_texts
from perslib.systems.deus.text.dialogues import SAYS
from perslib.systems.deus.user_profiles import with_profiles

#: Ways to determine whether a dialogue was successful.
SUCCESSES = ("last rating", "recorded", "session rating", "behaviour")
SATISFIED = 4
FOLDS = 3
F, BUDGET = "turn satisfaction", "budget after the turn"
USER_KNOWN = ", user known"
SHUFFLED = "turn satisfaction, outcomes shuffled"
RIDGE = "taught the ratings"
OUTCOME = "outcome alone"
CONTROLS = ("turn number alone", OUTCOME, "random", SHUFFLED)
PREDICTORS = (F, BUDGET, F + USER_KNOWN, BUDGET + USER_KNOWN, *CONTROLS, RIDGE)
METRICS = ("pearson", "wc_pearson")


@dataclass(frozen=True)
class FinishedDialogues:
    """Finished dialogues with their success, and the rating of each of their turns."""

    dialogues: Dialogues
    turns: pd.DataFrame
    """One row per turn, in the dialogues' order.

    Columns: the keys, dialogue, number (from 1), rating, and compared (whether it counts).
    """

    @property
    def success_rate(self) -> float:
        """Return the share of successful dialogues; 0 if there are none."""
        return float(np.mean(self.dialogues.status == SUCCESS)) if len(self.dialogues) else 0.0

    @property
    def has_both_endings(self) -> bool:
        """Return whether there are enough successes and failures for learning in every fold."""
        return min((self.dialogues.status == end).sum() for end in (SUCCESS, FAILURE)) >= 2 * FOLDS

    @property
    def has_enough_turns(self) -> bool:
        """Return whether enough turns are compared for a correlation."""
        return int(self.turns["compared"].sum()) >= FEWEST_REPLIES

    @property
    def has_returning_users(self) -> bool:
        """Return whether users come back often enough for a fit to know them."""
        return len(self.dialogues) >= 3 * len({d.user for d in self.dialogues})


# -- dialogues -------------------------------------------------------------------------------------------


def read_endings(
    corpus: Corpus, success: str = "last rating", encoder: str = "measured", least: float = SATISFIED
) -> FinishedDialogues:
    """Return the corpus' sessions as finished dialogues; sessions with an unknown end are left out.

    Raise UnknownName for another value of `success`.

    Parameters
    ----------
    corpus : sessions with rated turns.
    success : last rating (the last reply was rated `least` or more), session rating (the session was), recorded (in the
        corpus), behaviour (the weak label of what followed the last reply is `least` or more, without any rating).
    encoder : measured (features of replies and requests), or one of the page on patience.
    least : the lowest rating that is a success.
    """
    if success not in SUCCESSES:
        raise UnknownName("way to tell success", success, SUCCESSES)
    ended = _read_success(corpus, success, least).rename("ended")
    turns = corpus.turns.assign(task=of_turns(corpus, "task"), assistant=of_turns(corpus, "assistant"))
    turns = turns.join(ended, on=SESSION).dropna(subset="ended", ignore_index=True)
    turns = turns.iloc[turns.groupby(SESSION, sort=False).ngroup().argsort(kind="stable")]
    turns = turns.assign(dialogue=turns["user"] + "/" + turns["scenario"] + "/" + turns["session"])
    frame = turns[[*TURN, "dialogue"]].assign(
        number=turns.groupby("dialogue", sort=False).cumcount() + 1,
        rating=floats(turns["score"]),
        compared=turns["score"].notna() & (turns.duplicated("dialogue", keep="last") | (success != "last rating")),
    )
    if turns.empty:
        return FinishedDialogues(Dialogues((), SAYS, (), ()), frame)
    is_task = corpus.meta.get("kind") in ("uss", "convlab", "dstc")
    goals = {text.id: text.goal for text in read_texts(corpus)} if is_task else {}
    texts = []
    for id, rows in turns.groupby("dialogue", sort=False):
        exchanges, first = tuple(zip(rows["request"].fillna(""), rows["response"])), rows.iloc[0]
        end = SUCCESS if first["ended"] else FAILURE
        texts.append(TextDialogue(id, exchanges, goals.get(id, (first["scenario"],)), end, user=first["user"]))
    vectors = _encode_turns(turns, texts, encoder, corpus.language)
    # The vectors have the order of the pairs.
    encoded: Any = SimpleNamespace(name=encoder, encode=lambda pairs: vectors)
    return FinishedDialogues(as_dialogues(texts, encoded), frame)


def _read_success(corpus: Corpus, success: str, least: float) -> pd.Series:
    """Return whether each session was successful, by session; missing if that is unknown."""
    if success in ("recorded", "session rating"):
        sessions = corpus.sessions.set_index(SESSION)
        return sessions["success"] if success == "recorded" else _is_at_least(sessions["satisfaction"], least)
    turns = relabel["behaviour"](corpus).turns if success == "behaviour" else corpus.turns
    last = turns.drop_duplicates(SESSION, keep="last").set_index(SESSION)
    return _is_at_least(last["score"], least)


def _is_at_least(values: pd.Series, least: float) -> pd.Series:
    numbers = values.astype("Float64")
    return (numbers >= least).where(numbers.notna())


def _encode_turns(turns: pd.DataFrame, texts: list[TextDialogue], encoder: str, language: str) -> np.ndarray:
    """Return the input of f for each turn, scaled to mean 0 and variance 1; no label is used."""
    if encoder == "measured":
        sessions = (rows for _, rows in turns.groupby(SESSION, sort=False))
        vectors = np.array([measure_traits(exchange) for rows in sessions for exchange in read_evidence_turns(rows)])
    else:
        pairs = [pair for text in texts for pair in text.pairs()]
        vectors = fit_encoder(encoder, language, texts).encode(pairs)
    scaled: np.ndarray = (vectors - vectors.mean(0)) / np.maximum(vectors.std(0), 0.05)
    return scaled.clip(-4, 4).astype(np.float32)


# -- estimates -------------------------------------------------------------------------------------------


def estimate_turns(finished: FinishedDialogues, seed: int = SEED) -> pd.DataFrame:
    """Return the turns with every predictor next to the rating; each dialogue's fit has not seen it.

    With `user known`, the user enters h, so that people may have different patience; the dialogue itself stays unseen.
    If users rarely return, these two predictors are missing.
    """
    rng = np.random.default_rng(seed)
    plain, folds = finished.dialogues, rng.permutation(len(finished.dialogues)) % FOLDS
    named = with_profiles(plain, {d.user: (d.user,) for d in plain}, least=1)
    dealt = rng.permutation(plain.status)
    shuffled = replace(plain, dialogues=tuple(replace(d, status=int(s)) for d, s in zip(plain, dealt)))
    turns = finished.turns
    columns = dict(zip((F, BUDGET), _estimate_held_out(plain, folds, seed)))
    if finished.has_returning_users:
        columns |= dict(
            zip((F + USER_KNOWN, BUDGET + USER_KNOWN), _estimate_held_out(named, folds, seed, profile=True))
        )
    columns |= {
        "turn number alone": -turns["number"].to_numpy(float),
        OUTCOME: np.repeat(plain.status, plain.turns).astype(float),
        "random": rng.random(len(turns)),
        SHUFFLED: _estimate_held_out(shuffled, folds, seed)[0],
        RIDGE: _fit_ridge(plain, turns, np.repeat(folds, plain.turns)),
    }
    return turns.assign(**columns, status=np.repeat(plain.status, plain.turns))


def correlate_simulated(number: int, language: str, seed: int = SEED) -> float:
    """Return r of f with the true costs of turns, on `number` simulated dialogues.

    The simulated people leave when their patience is spent.
    """
    texts = crowd(number, language, seed)
    pairs = [pair for text in texts for pair in text.pairs()]
    dialogues = as_dialogues(texts, Bow(language, words=150).fit(pairs))
    f, _ = _estimate_held_out(dialogues, np.random.default_rng(seed).permutation(number) % FOLDS, seed)
    costs = np.concatenate([d.true_costs for d in dialogues])
    return float(np.corrcoef(f, -costs)[0, 1])


def _estimate_held_out(
    dialogues: Dialogues, folds: np.ndarray, seed: int, profile: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return f of every turn, and the budget after it, each by a fit that has not seen the dialogue."""
    fold_of_turn = np.repeat(folds, dialogues.turns)
    f, budget = np.empty(len(fold_of_turn)), np.empty(len(fold_of_turn))
    for fold in range(FOLDS):
        model = PatienceModel(**WORDS, profile=profile, seed=seed)
        turns = model.fit(dialogues[folds != fold]).turn_satisfaction(dialogues[folds == fold])
        f[fold_of_turn == fold], budget[fold_of_turn == fold] = turns["satisfaction"], turns["budget"]
    return f, budget


def _fit_ridge(dialogues: Dialogues, turns: pd.DataFrame, fold_of_turn: np.ndarray) -> np.ndarray:
    """Return the predictions of a ridge regression that learned the ratings of the other folds, from the input of f."""
    x, y = np.concatenate([d.states for d in dialogues]), turns["rating"].to_numpy(float)
    predicted = np.full(len(y), np.nan)
    for fold in range(FOLDS):
        rated = (fold_of_turn != fold) & np.isfinite(y)
        if rated.sum() > 10:
            predicted[fold_of_turn == fold] = (
                RidgeCV(np.logspace(0, 4, 9)).fit(x[rated], y[rated]).predict(x[fold_of_turn == fold])
            )
    return predicted


def predict_outcomes(frame: pd.DataFrame) -> dict[str, float]:
    """Return how well the budget left at the end predicts the outcome: accuracy, accuracy_low and accuracy_high.

    Accuracies are balanced over success and failure, so that chance is one half. A fit that is not better than chance
    has not learned why dialogues end, whatever f correlates with.
    """
    ends = frame.drop_duplicates("dialogue", keep="last")
    right = (ends[BUDGET] >= 0) == (ends["status"] == SUCCESS)
    users = Resamples(ends["user"])
    sides = (ends["status"] == status for status in (SUCCESS, FAILURE))
    recalls = [ratio(users.total(side & right), users.total(side)) for side in sides]
    carriers = count_carriers(ends["status"] == SUCCESS, ends["user"])
    return estimate(drop_if_few(np.mean(recalls, axis=0), carriers), "accuracy", "share")


# -- against ratings -------------------------------------------------------------------------------------


def compare_with_ratings(frame: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Return the agreement of each predictor with the ratings, pooled and within users.

    It is measured as by `perslib.stats.agreement`. Predictors have a gain over the best of the controls that do not
    know the outcome; controls have none.
    """
    compared_turns = frame[frame["compared"]]
    names = [name for name in PREDICTORS if name in compared_turns and compared_turns[name].notna().all()]
    long = compared_turns.melt(TURN, names, "judge", "real")
    knows = long["judge"] == OUTCOME
    blind = [name for name in CONTROLS if name != OUTCOME]
    settings: dict[str, Any] = {"scores": ["real"], "metrics": METRICS}
    parts = [agreement(long[~knows], corpus, controls=blind, **settings), agreement(long[knows], corpus, **settings)]
    agreed = pd.concat(parts, ignore_index=True)
    return agreed.sort_values(
        ["metric", "judge"], key=lambda c: c.map([*METRICS, *PREDICTORS].index), ignore_index=True
    )


def average_by_rating(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of some estimates at each rating, in units of their standard deviation.

    Columns: rating, mean, mean_low, mean_high, turns, users, predictor.
    """
    compared_turns = frame[frame["compared"]]
    parts = []
    for name in (F, BUDGET, SHUFFLED, RIDGE):
        if compared_turns[name].notna().all():
            scaled = (compared_turns[name] - compared_turns[name].mean()) / max(compared_turns[name].std(), 1e-9)
            parts.append(mean_by(compared_turns.assign(scaled=scaled), "scaled", "rating").assign(predictor=name))
    return pd.concat(parts, ignore_index=True)


def summarize_comparison(frame: pd.DataFrame, compared: pd.DataFrame) -> dict[str, Any]:
    """Return the values of the page's sentences on a comparison.

    Keys:

    - f, f_within, budget, control (the best): rows of the comparison, all but f within users;
    - is_flat: whether f is the same for every turn, so that it correlates with nothing;
    - accuracy: how well outcomes are predicted, beside chance;
    - difference: by how much f is better than the control within users;
    - learned: the side on which it is known whether f is better *and* outcomes are predicted: above (both), below (outcomes alone), open,
      unknown. A fit that cannot predict the end of unseen dialogues has learned nothing from outcomes, whatever its f correlates with;
    - same: the share of shuffled outcomes that are still the true ones.
    """
    pooled, within = (compared[compared["metric"] == metric].set_index("judge", drop=False) for metric in METRICS)
    value, low, high = predict_outcomes(frame).values()
    accuracy = Estimate(value, low, high, line=0.5)
    difference = Estimate.of(within.loc[F], "gain")
    learned: Side = accuracy.side if accuracy.side != "above" else "above" if difference.side == "above" else "below"
    successes = float((frame.drop_duplicates("dialogue")["status"] == SUCCESS).mean())
    return {
        "f": pooled.loc[F],
        "f_within": within.loc[F],
        "budget": within.loc[BUDGET],
        "control": within.loc[within.at[F, "control"]],
        "is_flat": bool(np.ptp(frame[F]) < 1e-9),
        "accuracy": accuracy,
        "difference": difference,
        "learned": "open" if learned == "below" and accuracy.side == "below" else learned,
        "same": successes**2 + (1 - successes) ** 2,
    }
