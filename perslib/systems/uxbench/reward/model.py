"""A reward model: how likely a user likes this reply to this request (UXBench, section 5).

    model = Reward().learn(lessons_of(corpus))          # seconds; calibrated on users held out
    model.score(history, query, response)               # P(good)
    model.verdicts(cases)                               # good or bad by the threshold, and where it abstains
    model.explain(history, query, response)             # what spoke for and against
    model.save("runs/reward"); Reward.load("runs/reward")

What learns is the backend: `WordBackend()` (default), `EmbeddingBackend()` or `Lora("model")`. Around it all is alike: probabilities
are calibrated, the threshold is chosen, and what it takes to be sure is found, on cases of users that the backend has
not seen.

It is a judge as any other: it judges blocks, and learns from a corpus' train users where it is evaluated on one.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import logit

import perslib
from perslib.corpus import Block, Corpus
from perslib.corpus.corpus import group_shuffle_split
from perslib.corpus.schema import BAD, GOOD
from perslib.errors import DataError, NotEnough, PerslibError, Problem
from perslib.judge import Judge, JudgeInputs, Verdict, judge
from perslib.judge.asking.labels import SCORES
from perslib.llm import Ask
from perslib.llm.request import Message, digest
from perslib.model_files import load_model, save_model
from perslib.stats import SEED
from perslib.systems.uxbench.reward.linear import Backend, EmbeddingBackend, WordBackend
from perslib.systems.uxbench.reward.lora import Lora
from perslib.systems.uxbench.statistics.abstention import Abstention, fit_abstention
from perslib.systems.uxbench.statistics.calibration import Calibration, Kind, fit_calibration
from perslib.systems.uxbench.statistics.probabilities import probability_metrics
from perslib.systems.uxbench.statistics.thresholds import best_threshold, cheapest_threshold, verdict_of
from perslib.systems.uxbench.tasks.cases import Case, case_weights, goods, lessons_of, owners, select_labelled_cases
from perslib.systems.uxbench.tasks.judging import COLUMNS

Floats = npt.NDArray[np.float64]
HELD, FOLDS = 0.2, 5
ALPHA = 0.1
LEAST_P = 1e-6
FORMAT = 2
KINDS: dict[str, Any] = {kind.kind: kind for kind in (WordBackend, EmbeddingBackend, Lora)}


@judge("reward model")
class Reward(Judge):
    """P(good) of replies, from a `backend` that learns log odds.

    calibration   "platt", "temperature", "isotonic" or "none", on the held-out users
    threshold     "balanced" (greatest balanced accuracy), "cost" (least `cost`), or a probability
    cost          of a bad reply called good, and of a good one called bad
    held          share of users that calibration, threshold and abstention are learned on; 0: none of them is. Where that
                  share, or what is learned from, lacks good cases or bad ones, `FOLDS` folds are taken instead
    folds         2 or more, for few users: instead of a share, each fold of the users is held out in turn, and what is
                  kept learns from all; abstention then promises 1 − 2 alpha (Barber et al. 2021) and mostly gives 1 − alpha
    alpha         of good replies, and of bad ones, at most this share is called the other without abstaining
    """

    inputs = JudgeInputs(reply=True, train=True)
    values = (SCORES[BAD], SCORES[GOOD])

    def __init__(
        self,
        backend: Backend | None = None,
        *,
        calibration: Kind = "platt",
        threshold: Literal["balanced", "cost"] | float = "balanced",
        cost: tuple[float, float] = (1.0, 1.0),
        held: float = HELD,
        folds: int = 0,
        alpha: float = ALPHA,
        seed: int = SEED,
        name: str | None = None,
    ):
        self.backend: Backend = WordBackend() if backend is None else backend
        self.chosen, self.calibration, self.cost = threshold, calibration, cost
        self.held, self.folds, self.alpha, self.seed = held, folds, alpha, seed
        self.name = name or self.backend.name
        self.threshold = 0.5
        self.calibration_, self.abstention_ = Calibration(), Abstention(alpha)
        self.card_: dict[str, Any] | None = None
        self._check()

    def learn(self, cases: Sequence[Case], held_out: Sequence[Case] | None = None) -> Self:
        """Learn from labelled cases; `held_out` are cases of other users, taken instead of a share of these."""
        known = select_labelled_cases(cases)
        if self.folds and held_out is None:
            return self._fit_crossed(known)
        learn, held = (known, select_labelled_cases(held_out)) if held_out is not None else self._parts(known)
        calibrates = held and self.calibration != "none"
        if held_out is None and (_one_sided(learn) or (calibrates and _one_sided(held))):
            return self._fit_crossed(known)
        if shared := set(owners(learn).tolist()) & set(owners(held).tolist()):
            raise DataError(
                Problem("held_out", f"{min(map(str, shared))} is among those that are learned from"),
                "Hold out whole users: what is alike in their cases would be taken for knowledge.",
            )
        self.backend.fit(select_labelled_cases(learn), goods(learn), case_weights(learn), self.seed)
        numbers = self._decide(self.backend.logits(held), held) if held else {}
        self.card_ = self._card(learn, held, numbers)
        return self

    def _fit_crossed(self, known: list[Case]) -> Self:
        """Learn with log odds of every case by a backend that has not seen its user; the one that stays learns from
        all.
        """
        of = owners(known)
        users = np.random.default_rng(self.seed).permutation(sorted(set(of.tolist())))
        if len(users) < 2:
            raise _too_few_users(of)
        logits = np.full(len(known), np.nan)
        for fold in np.array_split(users, min(self.folds or FOLDS, len(users))):
            out = np.isin(of.astype(str), fold)
            learn = [c for c, is_out in zip(known, out) if not is_out]
            if _one_sided(learn):
                raise _too_few_users(of)
            other = copy.copy(self.backend)
            other.fit(learn, goods(learn), case_weights(learn), self.seed)
            logits[out] = other.logits([c for c, is_out in zip(known, out) if is_out])
        self.backend.fit(known, goods(known), case_weights(known), self.seed)
        self.card_ = self._card(known, known, self._decide(logits, known))
        return self

    def _parts(self, known: list[Case]) -> tuple[list[Case], list[Case]]:
        if self.held == 0:
            return known, []
        of = owners(known)
        if len(set(of.tolist())) < 2:
            raise _too_few_users(of)
        parts = group_shuffle_split(of.tolist(), 1 - self.held, self.seed)
        train = set(parts["train"])
        learn, held = ([c for c, o in zip(known, of) if (o in train) is side] for side in (True, False))
        return learn, held

    def _decide(self, logits: Floats, held: Sequence[Case]) -> dict[str, Any]:
        """Return the calibration, threshold and abstention from the log odds of cases held out, and numbers on these."""
        logits, good = np.asarray(logits, dtype=float), goods(held)
        self.calibration_ = fit_calibration(self.calibration, logits, good, case_weights(held))
        p, known = self.calibration_(logits), ~np.isnan(logits)
        if self.chosen == "balanced":
            self.threshold = best_threshold(good[known], p[known])
        elif self.chosen == "cost":
            self.threshold = cheapest_threshold(good, p, self.cost)
        self.abstention_ = fit_abstention(logits, good, owners(held), self.alpha)
        gold = np.where(good, 1, -1)
        return {"scored": int(known.sum()), **probability_metrics(gold, p)}

    # -- judging ----------------------------------------------------------------------------------------

    def score(self, history: Sequence[Message], query: str, response: str) -> float:
        """Return P(good) of one reply; not a number where the backend says nothing."""
        return float(self.scores([Case("0", query, tuple(history), response)])[0])

    def scores(self, cases: Sequence[Case]) -> Floats:
        """Return P(good) of each case."""
        return self.calibration_(self.logits(cases))

    def logits(self, cases: Sequence[Case]) -> Floats:
        """Return the log odds of each case as the backend gives them, before calibration."""
        self._check_fitted()
        return np.asarray(self.backend.logits(cases), dtype=float)

    def verdicts(self, cases: Sequence[Case]) -> pd.DataFrame:
        """Return one row a case, as `perslib.systems.uxbench.bench.judge_each_case` has them, with `abstains` and
        `sure`.

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
        rest = {"judge": self.name, "backbone": None, "mode": "reward", "rationale": None}
        error = [f"no score: {self.backend.name} says nothing of it" if np.isnan(x) else None for x in p]
        frame = pd.DataFrame({**about, "said": labels, "p_good": p, **rest, "error": error})
        kinds = {"gold": "Int64", "said": "Int64", "p_good": "Float64", "error": "str"}
        return frame[COLUMNS].astype(kinds).assign(abstains=~sure, sure=far)

    def explain(self, history: Sequence[Message], query: str, response: str) -> pd.DataFrame:
        """Return what spoke for the reply (above zero) and against it, in log odds, the strongest first."""
        return self.backend.explain(Case("0", query, tuple(history), response))

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Learn from the rated replies of these users."""
        self.learn(lessons_of(train))

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Return good or bad, which are scores of 5 and 1, with P(good) between them."""
        p = self.scores([Case.of(target) for target in block])
        unscored = Verdict(mode="unscored", error=f"no score: {self.backend.name} says nothing of it")
        return [
            unscored
            if np.isnan(one)
            else Verdict(raw=SCORES[int(label)], expected=1 + 4 * one, p=(1 - one, 0.0, 0.0, 0.0, one), mode="reward")
            for one, label in zip(p.tolist(), verdict_of(p, self.threshold))
        ]

    def copy_unfitted(self) -> Reward:
        """Return a reward model like this one that has learned nothing: for cross-validation."""
        other = copy.copy(self)
        other.backend, other.card_ = copy.copy(self.backend), None
        return other

    # -- saving ----------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> Path:
        """Return weights, and a card: what it learned from, which labels, numbers, and their hashes (`perslib.model_files`)."""
        card = {
            **self._check_fitted(),
            "decision": {
                "threshold": self.threshold,
                "chosen": self.chosen,
                "cost": list(self.cost),
                "held": self.held,
                "folds": self.folds,
                "calibration": asdict(self.calibration_),
                "abstention": {k: None if v == float("inf") else v for k, v in asdict(self.abstention_).items()},
            },
        }
        Path(folder).mkdir(parents=True, exist_ok=True)
        return save_model(folder, card, self.backend.write(Path(folder)))

    @classmethod
    def load(cls, folder: str | Path, backend: Backend | None = None) -> Self:
        """Return what `save` wrote, or an error where a file is not the one that was written; `backend` where it is
        none of `KINDS`.
        """
        with load_model(folder, "reward model") as (card, arrays):
            if card["format"] != FORMAT:
                raise ValueError(f"its format is {card['format']}, expected {FORMAT}")
            if backend is None:
                settings = dict(card["backend"])
                name = settings.pop("kind")
                if name not in KINDS:
                    raise ValueError(f"its backend, {name}, is not stored: give it with backend=…")
                backend = KINDS[name].read(Path(folder), settings, arrays)
            how, fitted = card["decision"], card["decision"]["calibration"]
            model = cls(
                backend, calibration=fitted["kind"], threshold=how["chosen"], cost=tuple(how["cost"]), held=how["held"],
                folds=how["folds"], alpha=how["abstention"]["alpha"], seed=card["seed"], name=card["name"],
            )  # fmt: skip
            model.threshold = float(how["threshold"])
            model.calibration_ = Calibration(**{**fitted, "x": tuple(fitted["x"]), "y": tuple(fitted["y"])})
            bounds: dict[str, Any] = {k: float("inf") if v is None else v for k, v in how["abstention"].items()}
            model.abstention_, model.card_ = Abstention(**bounds), card
        return model

    def _check_fitted(self) -> dict[str, Any]:
        if self.card_ is None:
            raise PerslibError("This reward model has not learned anything yet: run its learn(cases) first.")
        return self.card_

    def _card(self, learn: Sequence[Case], held: Sequence[Case], numbers: dict[str, Any]) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "name": self.name,
            "backend": self.backend.settings(),
            "labels": "1 good, -1 bad: what the user thought of the reply; p is P(good)",
            "learned_from": _about(learn),
            "held_out": _about(held),
            "numbers": {
                "of": "the held-out users, on whom it was calibrated: ranking is honest, calibration flattered",
                **{k: round(float(v), 6) for k, v in numbers.items() if np.isfinite(v)},
            },
            "seed": self.seed,
            "versions": {"perslib": perslib.__version__, "numpy": np.__version__},
        }

    def _check(self) -> None:
        if not 0 <= self.held < 1:
            raise DataError(Problem("held", f"is {self.held}, expected a share of users below 1"))
        if self.folds < 0 or self.folds == 1:
            raise DataError(Problem("folds", f"is {self.folds}, expected 2 or more, or 0 to hold out a share"))
        if isinstance(self.chosen, str):
            if self.chosen not in ("balanced", "cost"):
                raise DataError(Problem("threshold", f"is {self.chosen!r}, expected balanced, cost or a probability"))
        elif 0 <= self.chosen <= 1:
            self.threshold = float(self.chosen)
        else:
            raise DataError(Problem("threshold", f"is {self.chosen}, expected a probability"))
        if min(self.cost) < 0 or sum(self.cost) <= 0:
            raise DataError(Problem("cost", f"is {self.cost}, expected two costs, one of them above 0"))


def _one_sided(cases: Sequence[Case]) -> bool:
    return len(set(goods(cases).tolist())) < 2


def _too_few_users(owners_: npt.NDArray[np.object_]) -> NotEnough:
    users = len(set(owners_.tolist()))
    return NotEnough(
        "A reward model is calibrated on users that it was not trained on, but without them there are no good "
        "replies or no bad ones (users: {users}). Add labelled replies of more users (in code: set held=0).",
        users=users,
    )


def _about(cases: Sequence[Case]) -> dict[str, Any]:
    """Return how many cases, whose, of which labels and sources, and the hash of all that was learned from."""
    good = goods(cases)
    content = [[c.case, list(c.history), c.query, c.reply, c.gold, getattr(c, "weight", 1.0)] for c in cases]
    return {
        "cases": len(cases),
        "users": len(set(owners(cases).tolist())),
        "good": int(good.sum()),
        "bad": int((~good).sum()),
        "weight": round(float(case_weights(cases).sum()), 6),
        "sources": dict(sorted(Counter(getattr(c, "source", "") or "unknown" for c in cases).items())),
        "sha256": digest({"cases": content}),
    }


def audit_swapped_replies(reward: Reward, cases: Sequence[Case], *, seed: int = SEED) -> pd.Series:
    """Return what happens to scores when replies change places between cases of one scenario: a reward model has to
    notice.

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
    other = _another(some, seed)
    moved = [replace(c, reply=o.reply) for c, o in zip(some, other)]
    known = np.array([c.reply != o.reply for c, o in zip(some, other)])
    before, after = reward.logits(some), reward.logits(moved)
    known &= ~np.isnan(before) & ~np.isnan(after)
    change = (after - before)[known]
    good = known & np.array([c.gold != BAD for c in some])
    ahead = before[good] - after[good]
    p = [reward.calibration_(s[good]) for s in (before, after)]
    return pd.Series(
        {
            "cases": int(known.sum()),
            "changed": _mean(np.abs(change) > 0.05),
            "median_move": float(np.median(np.abs(change))) if len(change) else float("nan"),
            "own_preferred": _mean((ahead > 0) + (ahead == 0) / 2),
            "gap": _mean(p[0] - p[1]),
        }
    )


def _mean(values: npt.NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _another(cases: Sequence[Case], seed: int) -> list[Case]:
    """Return for each case another of its scenario, each once: a rotation of a random order (of all, where a scenario
    has one).
    """
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
