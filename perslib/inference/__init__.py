"""How sure a number is when users, not turns, were sampled.

from perslib.inference import classical_mean, ppi_mean, resample_users, users_needed

ppi_mean(gold, judged, judged_unlabelled, cluster=users, cluster_unlabelled=other_users)  # few labels, many verdicts
classical_mean(gold, cluster=users)                                                       # the labels alone
users_needed(differences)           # users × turns that tell two candidates apart
repeats_worth(retest(calls), budget=100, call=0.01, turn=0.02)      # asking a judge again, or about more turns?
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
    interval,
    mean_by,
    pearson,
    resample_users,
    sign_flip,
    two_sided_p,
)
from perslib.inference.multiplicity import benjamini_hochberg, holm, joint_sign_flip
from perslib.inference.power import TURNS_PER_USER, Components, components, power_of, users_needed
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
from perslib.inference.proportions import wilson
from perslib.inference.quantiles import classical_quantile, ppi_quantile
from perslib.inference.repeats import REPEATS, Retest, reliability, repeats_worth, retest
from perslib.inference.resampled import resampled

__all__ = [
    "FEWEST_USERS",
    "LEVEL",
    "REPEATS",
    "RESAMPLES",
    "SEED",
    "TURNS_PER_USER",
    "Components",
    "Conformal",
    "Estimate",
    "Powered",
    "Retest",
    "UserSums",
    "benjamini_hochberg",
    "classical_difference",
    "classical_mean",
    "classical_quantile",
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
    "ppi_quantile",
    "reliability",
    "repeats_worth",
    "resample_users",
    "resampled",
    "retest",
    "sign_flip",
    "two_sided_p",
    "users_needed",
    "wilson",
]
