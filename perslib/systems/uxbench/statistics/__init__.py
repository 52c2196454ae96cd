"""The statistics of UXBench: how well good is told from bad, by verdicts or probabilities, and how judges err at it.

measure_verdicts(verdicts)          # accuracy, d′ and criterion of each judge, with intervals
own_family_gaps(shares, families)   # does a judge prefer its own family?
"""

from perslib.systems.uxbench.statistics.bradley_terry import bradley_terry
from perslib.systems.uxbench.statistics.choices import order_effects, preferences
from perslib.systems.uxbench.statistics.detection import compare_auroc, detection, escapes, measure_verdicts
from perslib.systems.uxbench.statistics.length import length_audit
from perslib.systems.uxbench.statistics.own_family_gaps import centre_doubly, own_family_gaps
from perslib.systems.uxbench.statistics.probabilities import reward_numbers, selective_risk
from perslib.systems.uxbench.statistics.sample_size import cases_needed
from perslib.systems.uxbench.statistics.thresholds import at_learned_threshold, best_threshold

__all__ = [
    "at_learned_threshold",
    "best_threshold",
    "bradley_terry",
    "cases_needed",
    "centre_doubly",
    "compare_auroc",
    "detection",
    "escapes",
    "length_audit",
    "measure_verdicts",
    "order_effects",
    "own_family_gaps",
    "preferences",
    "reward_numbers",
    "selective_risk",
]
