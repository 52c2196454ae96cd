"""Numbers and how sure they are: users, not turns, are what was sampled.

    from perslib.stats import agreement, ppi_mean, users_needed, fit_conformal

    agreement(verdicts, corpus)         # every metric of every judge, with intervals and gains over controls
    ppi_mean(gold, judged, judged_unlabelled, cluster=users, cluster_unlabelled=others)
    users_needed(differences)           # users × turns that tell two candidates apart
    fit_conformal(held_out, alpha=0.1)  # sets of scores that hold a new user's true one nine times in ten
    measure_verdicts(verdicts)          # verdicts of good and bad: accuracy, d′ and criterion, with intervals
    own_family_gaps(shares, families)   # does a judge prefer its own family?

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
from perslib.stats.choices import bradley_terry, exact_test, order_effects, preferences
from perslib.stats.conformal import Conformal, coverage, fit_conformal
from perslib.stats.detection import Detection, compare_auroc, detection, escapes, measure_verdicts
from perslib.stats.fitted import Population, Tilted, fit_isotonic, fit_ordinal, fit_population, fit_tilt
from perslib.stats.gold import disagreements, reliability, with_gold
from perslib.stats.measures import METRICS, measure
from perslib.stats.pairs import (
    compare_paired,
    compare_unpaired,
    mcnemar,
    rank_sets,
    rank_sets_of_shares,
    ranks_left_open,
)
from perslib.stats.power import Components, cases_needed, components, power_of, users_needed
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
from perslib.stats.preference import (
    centre_doubly,
    length_audit,
    own_family_gaps,
    own_family_preference,
    permutation_test,
    share_good,
)
from perslib.stats.probabilities import (
    Abstention,
    Calibration,
    at_learned_threshold,
    best_threshold,
    calibration_bins,
    cheapest_threshold,
    fit_abstention,
    fit_calibration,
    probability_metrics,
    reward_numbers,
    selective_risk,
)
from perslib.stats.raters import cohen, count_ratings, fleiss, gwet, krippendorff, raters_agreement
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
    resample_users,
    sign_flip,
    two_sided_p,
    wilson,
    with_wilson,
)
from perslib.stats.thresholds import fit_thresholds

__all__ = [
    "FEWEST_USERS",
    "LEVEL",
    "METRICS",
    "RESAMPLES",
    "SCORES",
    "SEED",
    "Abstention",
    "Calibration",
    "Components",
    "Conformal",
    "Detection",
    "Estimate",
    "Population",
    "Powered",
    "Resamples",
    "Ties",
    "Tilted",
    "UserSums",
    "agreement",
    "agreement_between",
    "at_learned_threshold",
    "best_threshold",
    "bradley_terry",
    "calibrated",
    "calibration_bins",
    "cases_needed",
    "cdf",
    "centre_doubly",
    "cheapest_threshold",
    "classical_difference",
    "classical_mean",
    "cohen",
    "compare_auroc",
    "compare_paired",
    "compare_unpaired",
    "components",
    "correlation",
    "count_ratings",
    "coverage",
    "detection",
    "disagreements",
    "escapes",
    "exact_test",
    "fallbacks",
    "fit_abstention",
    "fit_calibration",
    "fit_conformal",
    "fit_isotonic",
    "fit_ordinal",
    "fit_population",
    "fit_thresholds",
    "fit_tilt",
    "fleiss",
    "floats",
    "gwet",
    "histories",
    "holm",
    "interval",
    "joint_sign_flip",
    "krippendorff",
    "length_audit",
    "mcnemar",
    "mean_by",
    "mean_shift",
    "measure",
    "measure_verdicts",
    "order_effects",
    "own_family_gaps",
    "own_family_preference",
    "paired",
    "pearson",
    "permutation_test",
    "pooled_reference_cdf",
    "power_of",
    "ppi_difference",
    "ppi_mean",
    "ppi_of_sums",
    "preferences",
    "probability_metrics",
    "rank_sets",
    "rank_sets_of_shares",
    "ranks_left_open",
    "raters_agreement",
    "reason_agreement",
    "reason_confusion",
    "reason_pairs",
    "reference_calibrated",
    "reference_cdf",
    "reference_mean_shift",
    "reference_transfer",
    "reliability",
    "resample_users",
    "reward_numbers",
    "selective_risk",
    "share_good",
    "sign_flip",
    "to_scale",
    "two_sided_p",
    "users_needed",
    "wilson",
    "with_gold",
    "with_wilson",
]
