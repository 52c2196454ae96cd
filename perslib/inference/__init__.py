"""How sure a number is when users, not turns, were sampled: resampled users, few labels, and how many to ask."""

from perslib.inference.bootstrap import (
    FEWEST_USERS,
    LEVEL,
    RESAMPLES,
    SEED,
    correlation,
    floats,
    holm,
    interval,
    joint_sign_flip,
    mean_by,
    pearson,
    resample_users,
    sign_flip,
    two_sided_p,
)
from perslib.inference.power import TURNS_PER_USER, Components, components, power_of, users_needed
from perslib.inference.prediction_powered import (
    Estimate,
    classical_difference,
    classical_mean,
    ppi_difference,
    ppi_mean,
)
from perslib.inference.proportions import wilson

__all__ = [
    "FEWEST_USERS",
    "LEVEL",
    "RESAMPLES",
    "SEED",
    "TURNS_PER_USER",
    "Components",
    "Estimate",
    "classical_difference",
    "classical_mean",
    "components",
    "correlation",
    "floats",
    "holm",
    "interval",
    "joint_sign_flip",
    "mean_by",
    "pearson",
    "power_of",
    "ppi_difference",
    "ppi_mean",
    "resample_users",
    "sign_flip",
    "two_sided_p",
    "users_needed",
    "wilson",
]
