"""Tests by flipping signs of users' differences, one by one or together, and Holm's correction."""

from __future__ import annotations

import numpy as np
import pandas as pd

from perslib.stats.resample.leave_one_out import FLIPS, SEED, Floats


def sign_flip(differences: Floats, flips: int = FLIPS, seed: int = SEED) -> float:
    """Return two-sided p of "the mean difference over users is zero", one difference a user.

    If the two judges do equally well, each user's difference is as likely to have the other sign, so the
    observed |mean| is compared with those after random flips; the sample itself counts among them.
    """
    known = np.asarray(differences, dtype=float)
    return float(joint_sign_flip(known[np.isfinite(known), None], flips, seed)[0])


def holm(p: Floats | pd.Series) -> Floats:
    """Return Holm's step-down correction: p_(i) → max over j ≤ i of (m − j + 1) · p_(j), at most 1.

    Missing p-values stay missing and do not count as tests.
    """
    given = np.asarray(p, dtype=float)
    known = np.flatnonzero(np.isfinite(given))
    order = known[np.argsort(given[known], kind="stable")]
    stepped = given[order] * np.arange(len(order), 0, -1)
    adjusted = np.full(given.shape, np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted


def joint_sign_flip(differences: Floats, flips: int = FLIPS, seed: int = SEED) -> Floats:
    """Return sign-flip p of several mean differences at once (users × tests), adjusted for all of them.

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
