"""The study of patience against ratings: f and h learned from how dialogues ended, held against what turns were rated.

DEUS learns what a turn costs (f) and what a user brings (h) from success and failure alone. A corpus of rated turns can
say whether that is satisfaction. Every dialogue is estimated by a fit that has not seen it, and that knew of the others
how they ended and nothing else. Success, where it is not recorded, is read from the end of a dialogue; the turn it is
read from is left out of the comparison.

Controls: the number of the turn, the outcome alone, chance, a fit on outcomes dealt out at random; and as an upper mark
a ridge regression that is taught the ratings themselves, on the same features in the same folds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import RidgeCV

from perslib.corpus import SESSION, TURN, Corpus
from perslib.errors import UnknownName
from perslib.judge.extent import FEWEST_REPLIES
from perslib.memory.features import read, said_of
from perslib.patience import FAILURE, SUCCESS, Dialogues, Patience
from perslib.patience.personal import with_profiles
from perslib.patience.text import Bow, TextDialogue, as_dialogues, crowd, read_texts
from perslib.patience.text.dialogues import SAYS
from perslib.signals import behavioural
from perslib.stats import LEVEL, SEED, Resamples, agreement, estimate, floats, mean_by, of_turns, ratio
from perslib.studies.patience_text import WORDS, encoder_of

#: Ways to tell how a dialogue ended.
SUCCESSES = ("last rating", "recorded", "session rating", "behaviour")
SATISFIED = 4
FOLDS, EPOCHS = 3, 30
F, BUDGET = "turn satisfaction", "budget after the turn"
USER = ", user known"
SHUFFLED = "turn satisfaction, outcomes shuffled"
RIDGE = "taught the ratings"
OUTCOME = "outcome alone"
CONTROLS = ("turn number alone", OUTCOME, "random", SHUFFLED)
PREDICTORS = (F, BUDGET, F + USER, BUDGET + USER, *CONTROLS, RIDGE)
METRICS = ("pearson", "wc_pearson")


@dataclass(frozen=True)
class Ended:
    """Dialogues that ended well or not, and the rating of each of their turns."""

    dialogues: Dialogues
    turns: pd.DataFrame
    """A row a turn, in the dialogues' order: its keys, dialogue, number (from 1), rating, and compared, whether it counts."""

    @property
    def success_rate(self) -> float:
        """The share of dialogues that ended well; 0 where there are none."""
        return float(np.mean(self.dialogues.status == SUCCESS)) if len(self.dialogues) else 0.0

    @property
    def both_ways(self) -> bool:
        """Whether there are enough of either end to learn from in every fold."""
        return min((self.dialogues.status == end).sum() for end in (SUCCESS, FAILURE)) >= 2 * FOLDS

    @property
    def enough(self) -> bool:
        """Whether enough turns are compared for a correlation."""
        return int(self.turns["compared"].sum()) >= FEWEST_REPLIES

    @property
    def returning(self) -> bool:
        """Whether users come back often enough for a fit to know them."""
        return len(self.dialogues) >= 3 * len({d.user for d in self.dialogues})


# -- dialogues -------------------------------------------------------------------------------------------


def read_endings(
    corpus: Corpus, success: str = "last rating", encoder: str = "measured", least: float = SATISFIED
) -> Ended:
    """Return the corpus' sessions as finished dialogues; those whose end is not known are left out.

    Parameters
    ----------
    corpus : sessions with rated turns.
    success : last rating (the last reply was rated `least` or more), session rating (the session was), recorded (the
        corpus says it), behaviour (what followed the last reply votes for so much, without any rating).
    encoder : measured (features of replies and requests), or one of the page on patience.
    least : the lowest rating that is a success.
    """
    if success not in SUCCESSES:
        raise UnknownName("way to tell success", success, SUCCESSES)
    ended = _status(corpus, success, least).rename("ended")
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
        return Ended(Dialogues((), SAYS, (), ()), frame)
    is_task = corpus.meta.get("kind") in ("uss", "convlab", "dstc")
    goals = {text.id: text.goal for text in read_texts(corpus)} if is_task else {}
    texts = []
    for id, own in turns.groupby("dialogue", sort=False):
        said, first = tuple(zip(own["request"].fillna(""), own["response"])), own.iloc[0]
        end = SUCCESS if first["ended"] else FAILURE
        texts.append(TextDialogue(id, said, goals.get(id, (first["scenario"],)), end, user=first["user"]))
    vectors = _vectors(turns, texts, encoder, corpus.language)
    known: Any = SimpleNamespace(name=encoder, encode=lambda pairs: vectors)  # they stand in the order of the pairs
    return Ended(as_dialogues(texts, known), frame)


def _status(corpus: Corpus, success: str, least: float) -> pd.Series:
    """Session → whether it ended well; missing where that is not known."""
    if success in ("recorded", "session rating"):
        own = corpus.sessions.set_index(SESSION)
        return own["success"] if success == "recorded" else _at_least(own["satisfaction"], least)
    turns = behavioural(corpus).turns if success == "behaviour" else corpus.turns
    last = turns.drop_duplicates(SESSION, keep="last").set_index(SESSION)
    return _at_least(last["score"], least)


def _at_least(values: pd.Series, least: float) -> pd.Series:
    known = values.astype("Float64")
    return (known >= least).where(known.notna())


def _vectors(turns: pd.DataFrame, texts: list[TextDialogue], encoder: str, language: str) -> np.ndarray:
    """What f sees of each turn, brought to mean 0 and variance 1; no label is looked at."""
    if encoder == "measured":
        found = np.array([read(said) for _, own in turns.groupby(SESSION, sort=False) for said in said_of(own)])
    else:
        pairs = [pair for text in texts for pair in text.pairs()]
        found = encoder_of(encoder, language, texts).encode(pairs)
    scaled: np.ndarray = (found - found.mean(0)) / np.maximum(found.std(0), 0.05)
    return scaled.clip(-4, 4).astype(np.float32)


# -- estimates -------------------------------------------------------------------------------------------


def estimate_turns(known: Ended, estimator: str = "linear", seed: int = SEED) -> pd.DataFrame:
    """Return the turns with every predictor beside the rating; each dialogue by a fit that has not seen it.

    With `user known` the user enters h, so that people may bring different patience; the dialogue itself stays unseen.
    Where users hardly return, these two are missing.
    """
    rng = np.random.default_rng(seed)
    plain, folds = known.dialogues, rng.permutation(len(known.dialogues)) % FOLDS
    named = with_profiles(plain, {d.user: (d.user,) for d in plain}, least=1)
    dealt = rng.permutation(plain.status)
    shuffled = replace(plain, dialogues=tuple(replace(d, status=int(s)) for d, s in zip(plain, dealt)))
    turns = known.turns
    columns = dict(zip((F, BUDGET), _held_out(plain, folds, estimator, seed)))
    if known.returning:
        columns |= dict(zip((F + USER, BUDGET + USER), _held_out(named, folds, estimator, seed, profile=True)))
    columns |= {
        "turn number alone": -turns["number"].to_numpy(float),
        OUTCOME: np.repeat(plain.status, plain.turns).astype(float),
        "random": rng.random(len(turns)),
        SHUFFLED: _held_out(shuffled, folds, estimator, seed)[0],
        RIDGE: _fit_ridge(plain, turns, np.repeat(folds, plain.turns)),
    }
    return turns.assign(**columns, status=np.repeat(plain.status, plain.turns))


def correlate_simulated(number: int, language: str, estimator: str = "linear", seed: int = SEED) -> float:
    """Return r of f with what turns truly took, on as many dialogues of people who do leave for want of patience."""
    texts = crowd(number, language, seed)
    pairs = [pair for text in texts for pair in text.pairs()]
    dialogues = as_dialogues(texts, Bow(language, words=150).fit(pairs))
    f, _ = _held_out(dialogues, np.random.default_rng(seed).permutation(number) % FOLDS, estimator, seed)
    costs = np.concatenate([d.true_costs for d in dialogues])
    return float(np.corrcoef(f, -costs)[0, 1])


def _held_out(
    dialogues: Dialogues, folds: np.ndarray, estimator: Any, seed: int, profile: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """f of every turn, and the budget after it."""
    of = np.repeat(folds, dialogues.turns)
    f, budget = np.empty(len(of)), np.empty(len(of))
    for fold in range(FOLDS):
        how = {**WORDS, "estimator": estimator, "profile": profile, "hidden": (32,), "epochs": EPOCHS, "seed": seed}
        model = Patience(**how)
        turns = model.fit(dialogues[folds != fold]).turn_satisfaction(dialogues[folds == fold])
        f[of == fold], budget[of == fold] = turns["satisfaction"], turns["budget"]
    return f, budget


def _fit_ridge(dialogues: Dialogues, turns: pd.DataFrame, of: np.ndarray) -> np.ndarray:
    """What a ridge regression says that learned the ratings of the other folds, from what f sees."""
    x, y = np.concatenate([d.states for d in dialogues]), turns["rating"].to_numpy(float)
    found = np.full(len(y), np.nan)
    for fold in range(FOLDS):
        rated = (of != fold) & np.isfinite(y)
        if rated.sum() > 10:
            found[of == fold] = RidgeCV(np.logspace(0, 4, 9)).fit(x[rated], y[rated]).predict(x[of == fold])
    return found


def predict_outcomes(frame: pd.DataFrame) -> dict[str, float]:
    """Return how well the budget left at the end predicts the outcome: accuracy, accuracy_low and accuracy_high.

    Accuracies are balanced over success and failure. One half is chance: a fit that does no better has learned nothing of
    what ends dialogues, whatever f goes with.
    """
    ends = frame.drop_duplicates("dialogue", keep="last")
    right = (ends[BUDGET] >= 0) == (ends["status"] == SUCCESS)
    users = Resamples(ends["user"])
    sides = (ends["status"] == status for status in (SUCCESS, FAILURE))
    recalls = [ratio(users.total(own & right), users.total(own)) for own in sides]
    return estimate(np.mean(recalls, axis=0), "accuracy", "share")


# -- against ratings -------------------------------------------------------------------------------------


def compare_with_ratings(frame: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Compare each predictor with the ratings, pooled and within users, as `perslib.stats.agreement` compares judges.

    What is no control has a gain, over the control that does best of those that do not know the outcome.
    """
    own = frame[frame["compared"]]
    names = [name for name in PREDICTORS if name in own and own[name].notna().all()]
    long = own.melt(TURN, names, "judge", "real")
    knows = long["judge"] == OUTCOME
    blind = [name for name in CONTROLS if name != OUTCOME]
    how: dict[str, Any] = {"scores": ["real"], "metrics": METRICS}
    parts = [agreement(long[~knows], corpus, controls=blind, **how), agreement(long[knows], corpus, **how)]
    found = pd.concat(parts, ignore_index=True)
    return found.sort_values(["metric", "judge"], key=lambda c: c.map([*METRICS, *PREDICTORS].index), ignore_index=True)


def mean_by_rating(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of some estimates at each rating, in their own standard deviations.

    Columns: rating, mean, mean_low, mean_high, turns, users, predictor.
    """
    own = frame[frame["compared"]]
    parts = []
    for name in (F, BUDGET, SHUFFLED, RIDGE):
        if own[name].notna().all():
            scaled = (own[name] - own[name].mean()) / max(own[name].std(), 1e-9)
            parts.append(mean_by(own.assign(scaled=scaled), "scaled", "rating").assign(predictor=name))
    return pd.concat(parts, ignore_index=True)


def summarize(frame: pd.DataFrame, compared: pd.DataFrame) -> dict[str, Any]:
    """Return what the page says of a comparison.

    f, f_within, budget, control (the best): rows of the comparison, but for the first within users. accuracy: how well
    outcomes are predicted, with its bounds; predicted: whether better than by chance. difference: f is better or worse than
    the control within users, or it is unclear. learned: whether f is better and outcomes are predicted, for a fit that
    cannot tell how unseen dialogues end has learned nothing from outcomes, whatever its f goes with. same: the share of
    shuffled outcomes that are still the true ones.
    """
    pooled, within = (compared[compared["metric"] == metric].set_index("judge", drop=False) for metric in METRICS)
    accuracy = tuple(predict_outcomes(frame).values())
    successes = float((frame.drop_duplicates("dialogue")["status"] == SUCCESS).mean())
    gain, is_sure, predicted = within.at[F, "gain"], within.at[F, "gain_p_holm"] < 1 - LEVEL, bool(accuracy[1] > 0.5)
    difference = ("better" if gain > 0 else "worse") if is_sure else "unclear"
    return {
        "f": pooled.loc[F],
        "f_within": within.loc[F],
        "budget": within.loc[BUDGET],
        "control": within.loc[within.at[F, "control"]],
        "accuracy": accuracy,
        "difference": difference,
        "predicted": predicted,
        "learned": difference == "better" and predicted,
        "same": successes**2 + (1 - successes) ** 2,
    }
