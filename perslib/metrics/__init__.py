"""Agreement of judges with users. Gold labels meet verdicts here, and nowhere else."""

from perslib.metrics.agreement import agreement, paired
from perslib.metrics.gold import disagreements, reliability, with_gold
from perslib.metrics.measures import METRICS, measure
from perslib.metrics.raters import Rating, between, rate, rater, read_ratings
from perslib.metrics.reasons import reason_agreement, reason_confusion, reason_pairs
from perslib.metrics.table import Shown, number, table, with_interval

__all__ = [
    "METRICS",
    "Rating",
    "Shown",
    "agreement",
    "between",
    "disagreements",
    "measure",
    "number",
    "paired",
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
