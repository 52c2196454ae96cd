"""A reward model: how likely a user likes this reply to this request (UXBench, section 5).

    model = Reward().learn(lessons_of(corpus))          # seconds
    model.score(history, query, response)               # P(good)
    model.verdicts(cases)                               # good or bad by the threshold, and where it abstains
    model.explain(history, query, response)             # what spoke for and against
    model.save("runs/reward"); Reward.load("runs/reward")

A logistic regression on TF-IDF of the request, the reply and the user's messages before, on the traits of a turn, and on the user's
level: the share of good ones among the user's other replies, where it is known. Penalty, calibration, threshold and abstention are chosen
on log odds of models that have not seen the user. It is a judge as any other. A causal language model in its place: docs/extend.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from scipy.special import expit, logit
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict

from perslib.corpus import Block, Corpus
from perslib.corpus.schema import BAD, GOOD
from perslib.errors import NotEnough, PerslibError
from perslib.judge import Judge, JudgeInputs, Verdict, judge
from perslib.judge.asking.labels import SCORES
from perslib.judge.learned.learned_judge import split_terms
from perslib.llm import Ask
from perslib.llm.request import Message, digest
from perslib.memory.features import NAMES, TurnContext, measure_traits
from perslib.model_files import load_model, pack, save_model, unpack
from perslib.stats import SEED, Floats, floats
from perslib.systems.uxbench.statistics.abstention import Abstention, fit_abstention
from perslib.systems.uxbench.statistics.calibration import Calibration, fit_calibration
from perslib.systems.uxbench.statistics.thresholds import best_threshold, verdict_of
from perslib.systems.uxbench.tasks.cases import Case, case_weights, goods, lessons_of, owners, select_labelled_cases
from perslib.systems.uxbench.tasks.judging import COLUMNS

FOLDS, PENALTIES, MOST_TERMS = 5, (0.01, 0.1, 1.0), 30_000
ALPHA = 0.05
"""Half of the share of good replies, and of bad ones, that may be called the other without abstaining: folds promise twice it at most
(Barber et al. 2021), and mostly keep to it."""
IMAGINARY = 4.0
"""So many replies of everybody's stand beside the user's own in the level."""
LEAST_P, FORMAT = 1e-6, 3
VIEWS: Mapping[str, Callable[[Case], str]] = {
    "query": lambda case: case.query,
    "reply": lambda case: case.reply,
    "before": lambda case: "\n".join([m["content"] for m in case.history if m["role"] == "user"][-2:]),
}
NUMBERS = [*NAMES, "level"]
_KEPT = (Calibration, Abstention)


@judge("reward model")
class Reward(Judge):
    """P(good) of replies, learned from labelled cases of other users."""

    inputs = JudgeInputs(reply=True, history=True, train=True)
    values = (SCORES[BAD], SCORES[GOOD])

    def __init__(self, *, alpha: float = ALPHA, seed: int = SEED, name: str = "reward"):
        self.alpha, self.seed, self.name = alpha, seed, name
        self.card_: dict[str, Any] | None = None

    def learn(self, cases: Sequence[Case]) -> Self:
        """Learn from labelled cases of several users."""
        known = select_labelled_cases(cases)
        good, weight, of = goods(known), case_weights(known), owners(known)
        folds = self._part_users(good, of)
        self.share_ = float(np.average(good, weights=weight))
        texts = {view: [see(case) for case in known] for view, see in VIEWS.items()}
        least = 3 if len(known) > 100 else 1
        self.words_ = {view: _fit_words(own, least) for view, own in texts.items()}
        numbers = self._measure(known)
        self.scale_ = numbers.mean(axis=0), numbers.std(axis=0).clip(0.05)
        x = self._encode(known)
        balanced = weight * np.where(good, 0.5 / weight[good].sum(), 0.5 / weight[~good].sum()) * len(good)
        losses: dict[float, tuple[float, Floats]] = {}
        for c in PENALTIES:
            weights = {"sample_weight": balanced}
            log_odds = cross_val_predict(_model(c), x, good, cv=folds, method="decision_function", params=weights)
            losses[c] = log_loss(good, expit(log_odds), sample_weight=balanced), log_odds
        penalty = min(losses, key=lambda c: losses[c][0])
        unseen, model = losses[penalty][1], _model(penalty).fit(x, good, sample_weight=balanced)
        self.coef_, self.intercept_ = model.coef_[0].astype(float), float(model.intercept_[0])
        self.calibration_ = fit_calibration(unseen, good, weight)
        self.threshold = best_threshold(good, self.calibration_(unseen))
        self.abstention_ = fit_abstention(unseen, good, of, self.alpha)
        self.card_ = {"format": FORMAT, "name": self.name, "learned_from": _describe(known), "seed": self.seed}
        return self

    def _part_users(self, good: npt.NDArray[np.bool_], of: npt.NDArray[np.object_]) -> list[tuple[Any, Any]]:
        """Return places to learn from and to hold out; a user's cases stay together, and both labels are learned from."""
        group, users = pd.factorize(of)
        count = min(FOLDS, len(users), int(good.sum()), int((~good).sum()))
        splitter = StratifiedGroupKFold(max(count, 2), shuffle=True, random_state=self.seed)
        folds = list(splitter.split(good, good, group)) if count > 1 else []
        if not folds or any(len(np.unique(good[train])) < 2 for train, _ in folds):
            raise NotEnough(
                "A reward model is calibrated on users that it was not trained on, but without them there are no good "
                "replies or no bad ones (users: {users}). Add labelled replies of more users.",
                users=len(users),
            )
        return folds

    def _measure(self, cases: Sequence[Case]) -> Floats:
        """Return the traits of each turn, and the user's level."""
        traits = [measure_traits(_make_context(case)) for case in cases]
        past = np.array([case.past for case in cases], float).reshape(-1, 2)
        level = (past[:, 0] + IMAGINARY * self.share_) / (past[:, 1] + IMAGINARY)
        return np.column_stack([np.reshape(traits, (len(cases), len(NAMES))), level])

    def _encode(self, cases: Sequence[Case]) -> Any:
        """Return words of each view, rows of length one, and numbers beside them: a third of a standard deviation is the size of a word."""
        mean, spread = self.scale_
        scaled = ((self._measure(cases) - mean) / spread).clip(-4, 4) / 3
        words = [self.words_[view].transform([see(case) for case in cases]) for view, see in VIEWS.items()]
        return sparse.hstack([*words, sparse.csr_array(scaled)], format="csr")

    # -- judging ----------------------------------------------------------------------------------------

    def score(self, history: Sequence[Message], query: str, response: str) -> float:
        """Return P(good) of one reply to a user of whom nothing is known."""
        return float(self.scores([Case("0", query, tuple(history), response)])[0])

    def scores(self, cases: Sequence[Case]) -> Floats:
        """Return P(good) of each case."""
        return self._check_fitted().calibration_(self.logits(cases))

    def logits(self, cases: Sequence[Case]) -> Floats:
        """Return the log odds of each case before calibration."""
        fitted = self._check_fitted()
        return floats(self._encode(cases) @ fitted.coef_) + fitted.intercept_ if len(cases) else np.zeros(0)

    def verdicts(self, cases: Sequence[Case]) -> pd.DataFrame:
        """Return one row a case, as `perslib.systems.uxbench.bench.judge_each_case` has them, with `abstains` and `sure`.

        It abstains where its conformal set does not hold the label it says, and that label alone: see `Abstention`.
        `sure` is how far P(good) is from the threshold, in log odds.
        """
        logits = self.logits(cases)
        p = self.calibration_(logits)
        labels, line = verdict_of(p, self.threshold), np.clip(self.threshold, LEAST_P, 1 - LEAST_P)
        far = np.abs(logit(np.clip(p, LEAST_P, 1 - LEAST_P)) - logit(line))
        good, bad = self.abstention_.sets(logits)
        sure = np.where(labels == 1, good & ~bad, np.where(labels == -1, bad & ~good, False))
        about = {c: [getattr(x, c) for x in cases] for c in ("case", "user", "scenario", "dimension", "gold")}
        rest = {"judge": self.name, "backbone": None, "mode": "reward", "rationale": None, "error": None}
        frame = pd.DataFrame({**about, "said": labels, "p_good": p, **rest})
        kinds = {"gold": "Int64", "said": "Int64", "p_good": "Float64", "error": "str"}
        return frame[COLUMNS].astype(kinds).assign(abstains=~sure, sure=far)

    def explain(self, history: Sequence[Message], query: str, response: str) -> pd.DataFrame:
        """Return what spoke for the reply (above zero) and against it: part, feature, contribution to the log odds; the strongest first."""
        pushes = self._encode([Case("0", query, tuple(history), response)]).multiply(self._check_fitted().coef_).tocoo()
        names = [(view, term) for view, own in self.words_.items() for term in own.get_feature_names_out()]
        names += [("numbers", name) for name in NUMBERS]
        rows = [(*names[column], float(push)) for column, push in zip(pushes.coords[1], pushes.data)]
        table = pd.DataFrame(rows, columns=["part", "feature", "contribution"])
        return table.sort_values("contribution", key=np.abs, ascending=False, kind="stable", ignore_index=True)

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Learn from the rated replies of these users."""
        self.learn(lessons_of(train))

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Return good or bad, which are scores of 5 and 1, with P(good) between them."""
        rated = block.evidence["score"].dropna()
        past = (int((rated >= 4).sum()), len(rated))
        p = self.scores([replace(Case.of(target), past=past) for target in block])
        return [
            Verdict(raw=SCORES[int(label)], expected=1 + 4 * one, p=(1 - one, 0.0, 0.0, 0.0, one), mode="reward")
            for one, label in zip(p.tolist(), verdict_of(p, self.threshold))
        ]

    def copy_unfitted(self) -> Reward:
        """Return a reward model like this one that has learned nothing: for cross-validation."""
        return Reward(alpha=self.alpha, seed=self.seed, name=self.name)

    # -- saving ----------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> Path:
        """Write what was learned, and a card: from whom, which labels, and hashes (`perslib.model_files`)."""
        words = {
            view: {"terms": list(own.get_feature_names_out()), "idf": own.idf_}
            for view, own in self._check_fitted().words_.items()
        }
        learned = {name: own for name, own in vars(self).items() if name not in ("card_", "words_")} | {"words": words}
        arrays: dict[str, Any] = {}
        return save_model(folder, {**(self.card_ or {}), "learned": pack(learned, arrays, _KEPT)}, arrays)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Return what `save` wrote, or an error where a file is not the one that was written."""
        with load_model(folder, "reward model") as (card, arrays):
            if card["format"] != FORMAT:
                raise ValueError(f"its format is {card['format']}, expected {FORMAT}")
            learned, model = unpack(card["learned"], arrays, _KEPT), cls()
            model.words_ = {view: _find_words(**own) for view, own in learned.pop("words").items()}
            vars(model).update(learned, card_=card)
        return model

    def _check_fitted(self) -> Self:
        if self.card_ is None:
            raise PerslibError("This reward model has not learned anything yet: run its learn(cases) first.")
        return self


def _model(penalty: float) -> LogisticRegression:
    return LogisticRegression(C=penalty, max_iter=300, tol=1e-3)


def _fit_words(texts: Sequence[str], least: int) -> TfidfVectorizer:
    """Return the weights of terms in texts; where no text has any, one stands for all."""
    words = TfidfVectorizer(analyzer=split_terms, sublinear_tf=True, min_df=least, max_features=MOST_TERMS)
    try:
        return words.fit(texts)
    except ValueError:  # no term is left
        return _find_words([""], np.ones(1))


def _find_words(terms: Sequence[str], idf: npt.ArrayLike) -> TfidfVectorizer:
    words = TfidfVectorizer(analyzer=split_terms, sublinear_tf=True, vocabulary=list(terms))
    words.idf_ = np.asarray(idf)
    return words


def _make_context(case: Case) -> TurnContext:
    asked, replied = (tuple(m["content"] for m in case.history if m["role"] == role) for role in ("user", "assistant"))
    return TurnContext(case.query, case.reply, "", "", case.scenario, "", asked, replied)


def _describe(cases: Sequence[Case]) -> dict[str, Any]:
    """Return how many cases, whose, of which labels and sources, and the hash of all that was learned from."""
    good = goods(cases)
    content = [[c.case, list(c.history), c.query, c.reply, c.gold, getattr(c, "weight", 1.0)] for c in cases]
    return {
        "cases": len(cases),
        "users": len(set(owners(cases).tolist())),
        "good": int(good.sum()),
        "bad": int((~good).sum()),
        "sources": dict(sorted(Counter(getattr(c, "source", "") or "unknown" for c in cases).items())),
        "sha256": digest({"cases": content}),
    }


def audit_swapped_replies(reward: Reward, cases: Sequence[Case], *, seed: int = SEED) -> pd.Series:
    """Return what happens to scores when replies change places between cases of one scenario: a reward model has to notice.

    - changed: share of cases whose log odds move by more than .05; median_move: the median of |change|
    - own_preferred: share of good cases whose own reply scores above the swapped-in one; ½ is not knowing replies from requests
    - gap: mean P(good) of own replies less that of swapped ones, over good cases

    Where fewer than half of the scores change it hardly reads the reply.
    """
    some = list(cases)
    if len({c.reply for c in some}) < 2:
        raise NotEnough(
            "Replies cannot be swapped: the cases of users that the reward model has not seen have only one "
            "reply, or none. Add judged cases."
        )
    moved = [replace(c, reply=other.reply) for c, other in zip(some, _find_others(some, seed))]
    differ = np.array([c.reply != other.reply for c, other in zip(some, moved)])
    before, after = reward.logits(some), reward.logits(moved)
    change, good = (after - before)[differ], differ & np.array([c.gold != BAD for c in some])
    ahead, p = before[good] - after[good], [reward.calibration_(s[good]) for s in (before, after)]
    means = {"changed": np.abs(change) > 0.05, "own_preferred": (ahead > 0) + (ahead == 0) / 2, "gap": p[0] - p[1]}
    means = {name: float(np.mean(values)) if len(values) else np.nan for name, values in means.items()}
    median = float(np.median(np.abs(change))) if len(change) else np.nan
    return pd.Series({"cases": int(differ.sum()), "median_move": median, **means})


def _find_others(cases: Sequence[Case], seed: int) -> list[Case]:
    """Return for each case another of its scenario, each once: a rotation of a random order (of all, where a scenario has one)."""
    rng = np.random.default_rng(seed)
    scenario = pd.Series([c.scenario for c in cases])
    alone = scenario.map(scenario.value_counts()) < 2
    out: list[Case] = list(cases)
    for _, places in scenario.where(~alone, "").groupby(scenario.where(~alone, "")).groups.items():
        order = rng.permutation(np.asarray(places, dtype=int))
        for i, j in zip(order, np.roll(order, 1)):
            out[i] = cases[j]
    if alone.sum() == 1:  # alone among the lonely: any other will do
        i = int(np.flatnonzero(alone)[0])
        out[i] = cases[(i + 1) % len(cases)]
    return out
