"""How sure a number is when users, not turns, were sampled.

from perslib.inference import classical_mean, ppi_mean, resample_users, users_needed

ppi_mean(gold, judged, judged_unlabelled, cluster=users, cluster_unlabelled=other_users)  # few labels, many verdicts
classical_mean(gold, cluster=users)                                                       # the labels alone
users_needed(differences)           # users × turns that tell two candidates apart
fit_conformal(held_out, alpha=0.1)  # sets of scores that hold a new user's true one nine times in ten
"""

from perslib.calibrate import Conformal, coverage, fit_conformal
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
    resample_units,
    resample_users,
    resampled_mean,
    sign_flip,
    two_sided_p,
    wilson,
)
from perslib.inference.power import Components, components, power_of, users_needed
from perslib.inference.prediction_powered import (
    Estimate,
    Powered,
    UserSums,
    classical_difference,
    classical_mean,
    ppi_difference,
    ppi_mean,
    ppi_of_sums,
)

__all__ = [
    "FEWEST_USERS",
    "LEVEL",
    "RESAMPLES",
    "SEED",
    "Components",
    "Conformal",
    "Estimate",
    "Powered",
    "UserSums",
    "classical_difference",
    "classical_mean",
    "components",
    "correlation",
    "coverage",
    "fit_conformal",
    "floats",
    "holm",
    "interval",
    "joint_sign_flip",
    "mean_by",
    "pearson",
    "power_of",
    "ppi_difference",
    "ppi_mean",
    "ppi_of_sums",
    "resample_units",
    "resample_users",
    "resampled_mean",
    "sign_flip",
    "two_sided_p",
    "users_needed",
    "wilson",
]
