"""Agreement of judges with users. Gold labels meet verdicts here, and nowhere else."""

from perslib.metrics.agreement import DEFAULT, agreement, paired
from perslib.metrics.calibration import proper_scores, reliability
from perslib.metrics.gold import with_gold
from perslib.metrics.measures import METRICS, Metric, measure
from perslib.metrics.raters import Rating, between, rate, rater, read_ratings
from perslib.metrics.reasons import reason_agreement, reason_confusion, reason_pairs
from perslib.metrics.table import number, table, with_interval
from perslib.metrics.turns import after_dissatisfied, consistency, disagreements

__all__ = [
    "DEFAULT",
    "METRICS",
    "Metric",
    "Rating",
    "after_dissatisfied",
    "agreement",
    "between",
    "consistency",
    "disagreements",
    "measure",
    "number",
    "paired",
    "proper_scores",
    "rate",
    "rater",
    "read_ratings",
    "reason_agreement",
    "reason_confusion",
    "reason_pairs",
    "reliability",
    "table",
    "with_gold",
    "with_interval",
]
