"""Numbers and how sure they are: users, not turns, are what was sampled.

    from perslib.stats import agreement, ppi_mean, users_needed, fit_conformal

    agreement(verdicts, corpus)         # every metric of every judge, with intervals and gains over controls
    ppi_mean(gold, judged, judged_unlabelled, cluster=users, cluster_unlabelled=others)
    users_needed(differences)           # users × turns that tell two candidates apart
    fit_conformal(held_out, alpha=0.1)  # sets of scores that hold a new user's true one nine times in ten

Gold labels meet verdicts in `agreement` and `with_gold`, and nowhere else.
"""

from perslib.stats.agreement import agreement, agreement_between, paired
from perslib.stats.calibrated import calibrated, fallbacks, histories, reference_calibrated
from perslib.stats.calibration import SCORES, Ties, cdf, mean_shift, to_scale
from perslib.stats.calibration_on_replay import (
    pooled_reference_cdf,
    reference_cdf,
    reference_mean_shift,
    reference_transfer,
)
from perslib.stats.conformal import Conformal, coverage, fit_conformal
from perslib.stats.fitted import Population, Tilted, fit_isotonic, fit_ordinal, fit_population, fit_tilt
from perslib.stats.gold import disagreements, reliability, with_gold
from perslib.stats.measures import METRICS, measure
from perslib.stats.pairs import compare_paired, mcnemar, rank_sets, ranks_left_open
from perslib.stats.power import Components, components, power_of, users_needed
from perslib.stats.ppi import (
    Estimate,
    Powered,
    UserSums,
    classical_difference,
    classical_mean,
    ppi_difference,
    ppi_mean,
    ppi_of_sums,
)
from perslib.stats.reasons import reason_agreement, reason_confusion, reason_pairs
from perslib.stats.resamples import (
    FEWEST_USERS,
    LEVEL,
    RESAMPLES,
    SEED,
    Resamples,
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
from perslib.stats.thresholds import fit_thresholds

__all__ = [
    "FEWEST_USERS",
    "LEVEL",
    "METRICS",
    "RESAMPLES",
    "SCORES",
    "SEED",
    "Components",
    "Conformal",
    "Estimate",
    "Population",
    "Powered",
    "Resamples",
    "Ties",
    "Tilted",
    "UserSums",
    "agreement",
    "agreement_between",
    "calibrated",
    "cdf",
    "classical_difference",
    "classical_mean",
    "compare_paired",
    "components",
    "correlation",
    "coverage",
    "disagreements",
    "fallbacks",
    "fit_conformal",
    "fit_isotonic",
    "fit_ordinal",
    "fit_population",
    "fit_thresholds",
    "fit_tilt",
    "floats",
    "histories",
    "holm",
    "interval",
    "joint_sign_flip",
    "mcnemar",
    "mean_by",
    "mean_shift",
    "measure",
    "paired",
    "pearson",
    "pooled_reference_cdf",
    "power_of",
    "ppi_difference",
    "ppi_mean",
    "ppi_of_sums",
    "rank_sets",
    "ranks_left_open",
    "reason_agreement",
    "reason_confusion",
    "reason_pairs",
    "reference_calibrated",
    "reference_cdf",
    "reference_mean_shift",
    "reference_transfer",
    "reliability",
    "resample_units",
    "resample_users",
    "resampled_mean",
    "sign_flip",
    "to_scale",
    "two_sided_p",
    "users_needed",
    "wilson",
    "with_gold",
]
