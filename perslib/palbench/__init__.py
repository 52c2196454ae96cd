"""PAL-Bench: what a memory is worth when requirements are restated, solutions proposed and chosen, and talked over."""

from perslib.palbench.bleu import WEIGHTS, best_bleu, bleu
from perslib.palbench.kappa import fleiss, kappa_of_decided, vote
from perslib.palbench.pairwise import RUNS, Run, outcome, runs
from perslib.palbench.scores import GRADES, POINTS, grade, points, pooled

__all__ = [
    "GRADES",
    "POINTS",
    "RUNS",
    "WEIGHTS",
    "Run",
    "best_bleu",
    "bleu",
    "fleiss",
    "grade",
    "kappa_of_decided",
    "outcome",
    "points",
    "pooled",
    "runs",
    "vote",
]
