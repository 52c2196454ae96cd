"""Judging user experience from what users do, and how judges err at it (UXBench).

verdicts = judged_by(UXJudge("zh"), cases, backbone)          # good or bad, unread ones counted
judged(verdicts)                                              # accuracy, d′ and criterion, with intervals
own_family_gap(good_shares, families)                         # does a judge prefer its own family?
recovered = answered(cases, backbone, Recovery("cot"))        # replies after a complaint
published("table3")                                           # the paper's numbers, for comparison
"""

from perslib.ux.coefficients import (
    cohen,
    counted,
    gwet,
    kendall_w,
    krippendorff,
    raters_agreement,
)
from perslib.ux.confusion import (
    METRICS,
    escapes,
    judged,
)
from perslib.ux.detection import (
    Detection,
    detection,
)
from perslib.ux.labels import (
    BAD,
    GOOD,
    NEUTRAL,
)
from perslib.ux.paired import (
    mcnemar,
    paired_differences,
    rank_sets,
    separability,
)
from perslib.ux.power import (
    cases_needed,
)
from perslib.ux.published import (
    CASES,
    REWARD_MODEL,
    TABLES,
    families,
    published,
)
from perslib.ux.scored import (
    Calibrated,
    at_learned_threshold,
    best_threshold,
    probability_metrics,
    reliability,
    verdict_of,
)
from perslib.ux.shares import (
    rank_sets_of_shares,
    unpaired,
    wilson,
)

__all__ = [
    "BAD",
    "CASES",
    "GOOD",
    "METRICS",
    "NEUTRAL",
    "REWARD_MODEL",
    "TABLES",
    "Calibrated",
    "Detection",
    "at_learned_threshold",
    "best_threshold",
    "cases_needed",
    "cohen",
    "counted",
    "detection",
    "escapes",
    "families",
    "gwet",
    "judged",
    "kendall_w",
    "krippendorff",
    "mcnemar",
    "paired_differences",
    "probability_metrics",
    "published",
    "rank_sets",
    "rank_sets_of_shares",
    "raters_agreement",
    "reliability",
    "separability",
    "unpaired",
    "verdict_of",
    "wilson",
]
