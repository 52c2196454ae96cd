"""Numbers and how sure they are: users, not turns, are what was sampled.

    from perslib.stats import agreement, ppi_mean, users_needed, fit_conformal

    agreement(verdicts, corpus)         # every metric of every judge, with intervals and gains over controls
    ppi_mean(gold, judged, judged_unlabelled, cluster=users, cluster_unlabelled=others)
    users_needed(differences)           # users × turns that tell two candidates apart
    fit_conformal(held_out, alpha=0.1)  # sets of scores that hold a new user's true one nine times in ten

Gold labels meet verdicts in `agreement` and `with_gold`, and nowhere else.
"""

from perslib.stats.agreement.gold import disagreements, of_turns, with_gold
from perslib.stats.agreement.judges import agreement, agreement_between
from perslib.stats.agreement.metrics import METRICS, measure
from perslib.stats.agreement.raters import cohen, cohen_under, fleiss, krippendorff, raters_agreement
from perslib.stats.agreement.reasons import reason_agreement, reason_confusion, reason_pairs
from perslib.stats.agreement.reliability import calibration_bins, reliability
from perslib.stats.calibrate.conformal import coverage, fit_conformal
from perslib.stats.calibrate.isotonic import fit_isotonic
from perslib.stats.calibrate.ordinal import fit_ordinal
from perslib.stats.calibrate.short_histories import fit_population
from perslib.stats.calibrate.thresholds import fit_thresholds
from perslib.stats.calibrate.tilt import Tilted, fit_tilt
from perslib.stats.calibrate.user_scale import SCORES, Ties, to_scale
from perslib.stats.calibrate.verdicts import calibrate_verdicts, fallbacks, histories
from perslib.stats.compare.best_reply import measure_best_replies
from perslib.stats.compare.own_family import own_family_preference
from perslib.stats.compare.paired import compare_paired, mcnemar
from perslib.stats.compare.power import Components, estimate_components, power_of, users_needed
from perslib.stats.compare.rank_sets import rank_sets
from perslib.stats.compare.user_preferences import compare_user_preferences
from perslib.stats.ppi import (
    FEWEST_LABELLED,
    MeanEstimate,
    PpiEstimates,
    UserSums,
    classical_mean,
    ppi_difference,
    ppi_mean,
    ppi_of_sums,
)
from perslib.stats.resample.leave_one_out import (
    FEWEST_FLIPPED,
    FEWEST_USERS,
    LEVEL,
    SEED,
    Floats,
    Resamples,
    correlation,
    estimate,
    floats,
    interval,
    leave_out,
    mean_by,
    pearson_from_moments,
    ratio,
    resample_users,
)
from perslib.stats.resample.sign_flips import holm, joint_sign_flip, sign_flip
from perslib.stats.resample.wilson import wilson, with_wilson

__all__ = [
    "FEWEST_FLIPPED",
    "FEWEST_LABELLED",
    "FEWEST_USERS",
    "LEVEL",
    "METRICS",
    "SCORES",
    "SEED",
    "Components",
    "Floats",
    "MeanEstimate",
    "PpiEstimates",
    "Resamples",
    "Ties",
    "Tilted",
    "UserSums",
    "agreement",
    "agreement_between",
    "calibrate_verdicts",
    "calibration_bins",
    "classical_mean",
    "cohen",
    "cohen_under",
    "compare_paired",
    "compare_user_preferences",
    "correlation",
    "coverage",
    "disagreements",
    "estimate",
    "estimate_components",
    "fallbacks",
    "fit_conformal",
    "fit_isotonic",
    "fit_ordinal",
    "fit_population",
    "fit_thresholds",
    "fit_tilt",
    "fleiss",
    "floats",
    "histories",
    "holm",
    "interval",
    "joint_sign_flip",
    "krippendorff",
    "leave_out",
    "mcnemar",
    "mean_by",
    "measure",
    "measure_best_replies",
    "of_turns",
    "own_family_preference",
    "pearson_from_moments",
    "power_of",
    "ppi_difference",
    "ppi_mean",
    "ppi_of_sums",
    "rank_sets",
    "raters_agreement",
    "ratio",
    "reason_agreement",
    "reason_confusion",
    "reason_pairs",
    "reliability",
    "resample_users",
    "sign_flip",
    "to_scale",
    "users_needed",
    "wilson",
    "with_gold",
    "with_wilson",
]  # fmt: skip
