"""Many tests at once: p-values that say how sure one may be of all of them, or of those that are reported."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from perslib.inference.bootstrap import RESAMPLES, SEED


def holm(p: np.ndarray | pd.Series) -> np.ndarray:
    """Holm's step-down correction: p_(i) → max over j ≤ i of (m − j + 1) · p_(j), at most 1.

    Missing p-values stay missing and do not count as tests.
    """
    given, order = _sorted(p)
    stepped = given[order] * np.arange(len(order), 0, -1)
    return _placed(given, order, np.maximum.accumulate(stepped))


def benjamini_hochberg(p: np.ndarray | pd.Series) -> np.ndarray:
    """Benjamini & Hochberg's (1995) step-up correction: p_(i) → min over j ≥ i of m / j · p_(j), at most 1.

    Of the tests that it leaves at or below α, on average a share of at most α is wrong (tests independent or
    positively dependent). That is for sifting many; where a single wrong one counts, take `holm`. Missing p-values stay
    missing and do not count as tests.
    """
    given, order = _sorted(p)
    stepped = given[order] * (len(order) / np.arange(1, len(order) + 1))
    return _placed(given, order, np.minimum.accumulate(stepped[::-1])[::-1])


def _sorted(p: npt.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The p-values, and the places of the known ones from the least to the largest."""
    given = np.asarray(p, dtype=float)
    known = np.flatnonzero(np.isfinite(given))
    return given, known[np.argsort(given[known], kind="stable")]


def _placed(given: np.ndarray, order: np.ndarray, stepped: np.ndarray) -> np.ndarray:
    adjusted = np.full(given.shape, np.nan)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def joint_sign_flip(differences: np.ndarray, flips: int = RESAMPLES, seed: int = SEED) -> np.ndarray:
    """Sign-flip p of several mean differences at once (users × tests), adjusted for all of them.

    A flip turns all of a user's differences together, and each statistic |Σ d| / √Σ d² is compared with the
    largest of those not yet rejected (step-down maxT: Westfall & Young 1993; Romano & Wolf 2005). So what tests
    have in common is not paid for twice, and the least p is 1 / (flips + 1) however many there are. A missing
    difference adds nothing; a test without any is missing.
    """
    known = np.nan_to_num(np.asarray(differences, dtype=float))
    spread = np.sqrt((known**2).sum(axis=0))
    scaled = known / np.where(spread > 1e-12, spread, 1.0)
    observed = np.abs(scaled.sum(axis=0))
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(flips, len(known)))
    order = np.argsort(-observed, kind="stable")
    flipped = np.abs(signs @ scaled[:, order])
    largest = np.maximum.accumulate(flipped[:, ::-1], axis=1)[:, ::-1]
    reached = (largest >= observed[order] * (1 - 1e-12)).sum(axis=0)
    adjusted = np.full(known.shape[1], np.nan)
    adjusted[order] = np.maximum.accumulate((reached + 1) / (flips + 1))
    adjusted[~np.isfinite(differences).any(axis=0)] = np.nan
    return adjusted
