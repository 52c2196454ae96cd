"""UXBench's construction (section 3): from a log to cases that are graded, checked and drawn, with any model.

estimate(log, miner=small, judge=large)                     # calls, tokens, cost, before anything is asked
made = construct(log, "folder", miner=small, judge=large)   # made.cases, made.funnel, made.reasons
export_review(made.cases, "review.csv")                     # to people; import_review reads what comes back
kept, _ = apply_reviews(made.cases, import_review("review.csv", made.cases))
write_splits("splits", splits(kept))                        # files that `perslib import uxbench` reads

De-identified sessions pass a gate; replies that users showed to be good or bad are candidates; the miner says which are
cases and of what kind; the judge grades five axes, from which all else is counted here; checkers keep, doubt or reject,
and doubt is no; rules take out what is double, private or cannot be judged. All that is left out has a reason.
"""

from perslib.systems.uxbench.construction.estimate import estimate_construction
from perslib.systems.uxbench.construction.mining import find_case_candidates
from perslib.systems.uxbench.construction.pipeline import Construction, construct, read_cases
from perslib.systems.uxbench.construction.review import apply_reviews, export_review, import_review, review_agreement
from perslib.systems.uxbench.construction.rules import REASONS, Rejection, Rules
from perslib.systems.uxbench.construction.sources import FilteredSession, clean_cases, read_filtered_sessions
from perslib.systems.uxbench.construction.splits import (
    count_unused,
    dimension_shares,
    sample_cases,
    sample_matched_cases,
    split_statistics,
    splits,
    systematic,
    write_splits,
)
from perslib.systems.uxbench.construction.taxonomy import AXES, DIMENSIONS, SCENARIOS, label_id

__all__ = [
    "AXES",
    "DIMENSIONS",
    "REASONS",
    "SCENARIOS",
    "Construction",
    "FilteredSession",
    "Rejection",
    "Rules",
    "apply_reviews",
    "clean_cases",
    "construct",
    "count_unused",
    "dimension_shares",
    "estimate_construction",
    "export_review",
    "find_case_candidates",
    "import_review",
    "label_id",
    "read_cases",
    "read_filtered_sessions",
    "review_agreement",
    "sample_cases",
    "sample_matched_cases",
    "split_statistics",
    "splits",
    "systematic",
    "write_splits",
]  # fmt: skip
