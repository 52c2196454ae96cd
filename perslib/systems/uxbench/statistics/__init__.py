"""The statistics of UXBench: how well good is told from bad, by verdicts or probabilities, and how judges err at it.

measure_verdicts(verdicts)          # accuracy, d′ and criterion of each judge, with intervals
"""

from perslib.systems.uxbench.statistics.choices import order_effects
from perslib.systems.uxbench.statistics.detection import compare_auroc, detection, escapes, measure_verdicts
from perslib.systems.uxbench.statistics.length import length_audit
from perslib.systems.uxbench.statistics.probabilities import reward_numbers, selective_risk
from perslib.systems.uxbench.statistics.thresholds import at_learned_threshold, best_threshold

__all__ = [
    "at_learned_threshold",
    "best_threshold",
    "compare_auroc",
    "detection",
    "escapes",
    "length_audit",
    "measure_verdicts",
    "order_effects",
    "reward_numbers",
    "selective_risk",
]
