"""The study of patience against ratings: f and h learned from how dialogues ended, held against what turns were rated.

DEUS learns what a turn costs (f) and what a user brings (h) from success and failure alone. A corpus of rated turns can
say whether that is satisfaction. Every dialogue is estimated by a fit that has not seen it, and that knew of the others
how they ended and nothing else. Success, where it is not recorded, is read from the end of a dialogue; the turn it is
read from is left out of the comparison.

Controls: the number of the turn, the outcome alone, chance, a fit on outcomes dealt out at random; and as an upper mark
a ridge regression that is taught the ratings themselves, on the same features in the same folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from sklearn.linear_model import RidgeCV

from perslib.corpus import SESSION, Corpus
from perslib.errors import UnknownName
from perslib.memory.features import read, said_of
from perslib.patience import FAILURE, SUCCESS, Dialogues, Patience
from perslib.patience.personal import with_profiles
from perslib.patience.text import Bow, TextDialogue, as_dialogues, crowd, uss
from perslib.patience.text.dialogues import SAYS
from perslib.signals import behavioural
from perslib.stats import FEWEST_USERS, SEED, floats, holm, interval, resample_users, two_sided_p
from perslib.stats.gold import of_turns
from perslib.studies.labels_or_behaviour import resampled_r
from perslib.studies.patience_text import encoder_of

#: Ways to tell how a dialogue ended.
SUCCESSES = ("last rating", "recorded", "session rating", "behaviour")
SATISFIED = 4
FOLDS, EPOCHS, RESAMPLES = 3, 30, 2000
F, BUDGET = "turn satisfaction", "budget after the turn"
USER = ", user known"
SHUFFLED = "turn satisfaction, outcomes shuffled"
RIDGE = "taught the ratings"
CONTROLS = ("turn number alone", "outcome alone", "random", SHUFFLED)
PREDICTORS = (F, BUDGET, F + USER, BUDGET + USER, *CONTROLS, RIDGE)
METRICS = ("pearson", "wc_pearson")


@dataclass(frozen=True)
class Ended:
    """Dialogues that ended well or not, and the rating of each of their turns."""

    dialogues: Dialogues
    turns: pd.DataFrame
    """A row a turn, in the dialogues' order: dialogue, user, turn (from 1), rating, and compared, whether it counts."""
    how: str

    @property
    def successes(self) -> int:
        """How many ended well."""
        return int((self.dialogues.status == SUCCESS).sum())

    @property
    def both_ways(self) -> bool:
        """Whether there are enough of either end to learn from in every fold."""
        return min(self.successes, len(self.dialogues) - self.successes) >= 2 * FOLDS

    @property
    def returning(self) -> bool:
        """Whether users come back often enough for a fit to know them."""
        return len(self.dialogues) >= 3 * len({d.user for d in self.dialogues})


# -- dialogues -------------------------------------------------------------------------------------------


def ended(
    corpus: Corpus, success: str = "last rating", encoder: str = "measured", least: float = SATISFIED
) -> Ended:
    """The corpus' sessions as finished dialogues; those whose end is not known are left out.

    `success`: last rating (the last reply was rated `least` or more), session rating (the session was), recorded (the
    corpus says it), behaviour (what followed the last reply votes for so much, without any rating). `encoder`: measured (features of replies and
    requests), or one of the page on patience.
    """
    if success not in SUCCESSES:
        raise UnknownName("way to tell success", success, SUCCESSES)
    status = _status(corpus, success, least)
    proxies = {text.id: text for text in uss(corpus)} if corpus.meta.get("kind") == "uss" else {}
    turns = corpus.turns.assign(task=of_turns(corpus, "task"), assistant=of_turns(corpus, "assistant"))
    texts: list[TextDialogue] = []
    rows: list[pd.DataFrame] = []
    for key, own in turns.groupby(SESSION, sort=False):
        end = status.get(key)
        if end is None or pd.isna(end):
            continue
        id = "/".join(map(str, key))
        said = tuple(zip(own["request"].fillna(""), own["response"]))
        goal = proxies[id].goal if id in proxies else (str(key[1]),)
        texts.append(TextDialogue(id, said, goal, SUCCESS if end else FAILURE, user=str(key[0])))
        rows.append(own)
    every = pd.concat(rows, ignore_index=True) if rows else turns.iloc[:0]
    number = every.groupby(SESSION, sort=False).cumcount() + 1
    last = ~every.duplicated(SESSION, keep="last")
    frame = pd.DataFrame(
        {
            **{
                "dialogue": ["/".join(map(str, key)) for key in every[SESSION].itertuples(index=False)],
                "user": every["user"],
            },
            **{"turn": number, "rating": floats(every["score"])},
            "compared": every["score"].notna() & (~last if success == "last rating" else True),
        }
    )
    if not texts:
        return Ended(Dialogues((), SAYS, (), ()), frame, success)
    vectors = _vectors(every, texts, encoder, corpus.language)
    return Ended(as_dialogues(texts, _Known(encoder, vectors)), frame, success)


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


@dataclass(frozen=True)
class _Known:
    """Vectors that are there already, as an encoder."""

    name: str
    vectors: np.ndarray

    def encode(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """They stand in the order of the pairs."""
        return self.vectors


def _vectors(turns: pd.DataFrame, texts: list[TextDialogue], encoder: str, language: str) -> np.ndarray:
    """What f sees of each turn, brought to mean 0 and variance 1; no label is looked at."""
    if encoder == "measured":
        found = np.array(
            [read(said) for _, own in turns.groupby(SESSION, sort=False) for said in said_of(own)]
        )
    else:
        pairs = [pair for text in texts for pair in text.pairs()]
        found = encoder_of(encoder, language, pairs).encode(pairs)
    scaled: np.ndarray = (found - found.mean(0)) / np.maximum(found.std(0), 0.05)
    return scaled.clip(-4, 4).astype(np.float32)


def crowd_ended(number: int, language: str, seed: int = SEED) -> Ended:
    """Dialogues of the simulated crowd, who do leave for want of patience; for a rating, what each turn truly took."""
    texts = crowd(number, language, seed)
    pairs = [pair for text in texts for pair in text.pairs()]
    dialogues = as_dialogues(texts, Bow(language, words=150).fit(pairs))
    of = np.repeat(np.arange(len(texts)), dialogues.turns)
    frame = pd.DataFrame(
        {
            "dialogue": np.array([d.id for d in dialogues], object)[of],
            "user": np.array([d.user for d in dialogues], object)[of],
            "turn": np.concatenate([np.arange(1, n + 1) for n in dialogues.turns]),
            "rating": -np.concatenate([d.true_costs for d in dialogues]),
            "compared": True,
        }
    )
    return Ended(dialogues, frame, "crowd")


# -- estimates -------------------------------------------------------------------------------------------


def estimated(known: Ended, seed: int = SEED) -> pd.DataFrame:
    """The turns with every predictor beside the rating; each dialogue by a fit that has not seen it.

    With `user known` the user enters h, so that people may bring different patience; the dialogue itself stays unseen.
    Where users hardly return, these two are missing.
    """
    rng = np.random.default_rng(seed)
    plain, folds = known.dialogues, rng.permutation(len(known.dialogues)) % FOLDS
    named = with_profiles(plain, {d.user: (d.user,) for d in plain}, least=1)
    dealt = rng.permutation(plain.status)
    shuffled = replace(plain, dialogues=tuple(replace(d, status=int(s)) for d, s in zip(plain, dealt)))
    turns = known.turns
    f, budget = _held_out(plain, folds, seed)
    nobody = np.full(len(turns), np.nan), np.full(len(turns), np.nan)
    f_user, budget_user = _held_out(named, folds, seed, profile="h") if known.returning else nobody
    columns = {
        **{F: f, BUDGET: budget, F + USER: f_user, BUDGET + USER: budget_user},
        "turn number alone": -turns["turn"].to_numpy(float),
        "outcome alone": np.repeat(plain.status, plain.turns).astype(float),
        "random": rng.random(len(turns)),
        SHUFFLED: _held_out(shuffled, folds, seed)[0],
        RIDGE: _taught(plain, turns, np.repeat(folds, plain.turns)),
    }
    return turns.assign(**columns, status=np.repeat(plain.status, plain.turns))


def where_it_holds(number: int, language: str, seed: int = SEED) -> float:
    """r of f with what turns truly took, on as many dialogues of people who do leave for want of patience."""
    known = crowd_ended(number, language, seed)
    folds = np.random.default_rng(seed).permutation(len(known.dialogues)) % FOLDS
    f, _ = _held_out(known.dialogues, folds, seed)
    return float(np.corrcoef(f, known.turns["rating"])[0, 1])


def _held_out(
    dialogues: Dialogues, folds: np.ndarray, seed: int, profile: str = ""
) -> tuple[np.ndarray, np.ndarray]:
    """f of every turn, and the budget after it."""
    of = np.repeat(folds, dialogues.turns)
    f, budget = np.empty(len(of)), np.empty(len(of))
    for fold in range(FOLDS):
        model = Patience(actions="none", profile=profile, hidden=(32,), epochs=EPOCHS, seed=seed)
        turns = model.fit(dialogues[folds != fold]).turn_satisfaction(dialogues[folds == fold])
        f[of == fold], budget[of == fold] = turns["satisfaction"], turns["budget"]
    return f, budget


def _taught(dialogues: Dialogues, turns: pd.DataFrame, of: np.ndarray) -> np.ndarray:
    """What a ridge regression says that learned the ratings of the other folds, from what f sees."""
    x, y = np.concatenate([d.states for d in dialogues]), turns["rating"].to_numpy(float)
    found = np.full(len(y), np.nan)
    for fold in range(FOLDS):
        rated = (of != fold) & np.isfinite(y)
        if rated.sum() > 10:
            found[of == fold] = RidgeCV(np.logspace(0, 4, 9)).fit(x[rated], y[rated]).predict(x[of == fold])
    return found


def foretold(
    frame: pd.DataFrame, budget: str = BUDGET, seed: int = SEED, resamples: int = RESAMPLES
) -> tuple[float, float, float]:
    """Balanced accuracy of the budget left at the end as a forecast of the outcome, its interval over users.

    One half is chance: a fit that does no better has learned nothing of what ends dialogues, whatever f goes with.
    """
    ends = frame.drop_duplicates("dialogue", keep="last")
    right = ((ends[budget] >= 0) == (ends["status"] == SUCCESS)).to_numpy(float)
    user, users = pd.factorize(ends["user"])
    weights = resample_users(len(users), resamples if len(users) >= FEWEST_USERS else 0, seed)
    recalls = []
    for status in (SUCCESS, FAILURE):
        own = (ends["status"] == status).to_numpy(float)
        hits, all_ = (np.bincount(user, v, len(users)) @ weights for v in (own * right, own))
        recalls.append(np.divide(hits, all_, out=np.full(len(all_), np.nan), where=all_ > 0))
    both = np.mean(recalls, axis=0)
    return float(both[0]), *interval(both[1:])


# -- against ratings -------------------------------------------------------------------------------------


def compared(frame: pd.DataFrame, seed: int = SEED, resamples: int = RESAMPLES) -> pd.DataFrame:
    """Each predictor against the ratings, pooled and within users; users resampled.

    Columns: judge (the predictor), score, metric, value, value_low, value_high, turns, users; and for what is no control: control
    (that does best of those that do not know the outcome), gain, gain_low, gain_high, gain_p, gain_p_holm.
    """
    own = frame[frame["compared"]]
    names = [name for name in PREDICTORS if own[name].notna().all()]
    user, users = pd.factorize(own["user"])
    weights = resample_users(len(users), resamples if len(users) >= FEWEST_USERS else 0, seed)
    rating = own["rating"].to_numpy(float)
    rows = []
    for metric in METRICS:
        drawn = {
            name: resampled_r(rating, own[name].to_numpy(float), user, weights, metric) for name in names
        }
        rivals = [name for name in CONTROLS if np.isfinite(drawn[name][0]) and name != "outcome alone"]
        best = max(rivals, key=lambda name: drawn[name][0])
        for name, r in drawn.items():
            row = {"judge": name, "score": "real", "metric": metric, "value": r[0], **_bounds("value_", r)}
            if name not in CONTROLS:
                gain = r - drawn[best]
                p = two_sided_p(gain[1:])
                row |= {"control": best, "gain": gain[0], **_bounds("gain_", gain), "gain_p": p}
            rows.append({**row, "turns": len(own), "users": len(users)})
    table = pd.DataFrame(rows)
    return table.assign(
        gain_p_holm=table.groupby("metric")["gain_p"].transform(lambda p: holm(p.to_numpy(float)))
    )


def _bounds(prefix: str, r: np.ndarray) -> dict[str, float]:
    low, high = interval(r[1:])
    return {f"{prefix}low": low, f"{prefix}high": high}
