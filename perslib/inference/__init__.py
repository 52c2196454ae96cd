"""How sure a number is when users, not turns, were sampled: resampled users, few labels, and how many to ask."""

from perslib.inference.bootstrap import (
    FEWEST_USERS,
    LEVEL,
    RESAMPLES,
    SEED,
    correlation,
    holm,
    interval,
    mean_by,
    pearson,
    resample_users,
    sign_flip,
    two_sided_p,
)

__all__ = [
    "FEWEST_USERS",
    "LEVEL",
    "RESAMPLES",
    "SEED",
    "correlation",
    "holm",
    "interval",
    "mean_by",
    "pearson",
    "resample_users",
    "sign_flip",
    "two_sided_p",
]
