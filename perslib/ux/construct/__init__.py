"""UXBench's construction (section 3): from a log to cases that are graded, checked and drawn, with any model.

estimate(log, miner=small, judge=large)                     # calls, tokens, cost, before anything is asked
made = construct(log, "folder", miner=small, judge=large)   # made.cases, made.funnel, made.reasons
export_review(made.cases, "review.csv")                     # to people; import_review reads what comes back
kept, _ = reviewed(made.cases, import_review("review.csv", made.cases))
write_splits("splits", splits(kept))                        # files that `perslib import uxbench` reads

De-identified sessions pass a gate; replies that users showed to be good or bad are candidates; the miner says which are
cases and of what kind; the judge grades five axes, from which all else is counted here; checkers keep, doubt or reject,
and doubt is no; rules take out what is double, private or cannot be judged. All that is left out has a reason.
"""

from perslib.ux.construct.candidates import Candidate, candidates
from perslib.ux.construct.checking import Check
from perslib.ux.construct.cleaning import cleaned
from perslib.ux.construct.grading import Grades
from perslib.ux.construct.labels import label_id
from perslib.ux.construct.mining import Mined
from perslib.ux.construct.pipeline import Construction, construct, estimate, read_cases
from perslib.ux.construct.review import export_review, import_review, review_agreement, reviewed
from perslib.ux.construct.rules import REASONS, Rejection, Rules
from perslib.ux.construct.sampling import Sample, apportioned, inclusion, matched, sampled, systematic
from perslib.ux.construct.sources import Talk, records_of, talks
from perslib.ux.construct.splits import splits, write_splits
from perslib.ux.construct.taxonomy import AXES, DIMENSIONS, FAILURES, SCENARIOS, SUCCESSES
from perslib.ux.construct.windows import Windows, in_windows

__all__ = [
    "AXES",
    "DIMENSIONS",
    "FAILURES",
    "REASONS",
    "SCENARIOS",
    "SUCCESSES",
    "Candidate",
    "Check",
    "Construction",
    "Grades",
    "Mined",
    "Rejection",
    "Rules",
    "Sample",
    "Talk",
    "Windows",
    "apportioned",
    "candidates",
    "cleaned",
    "construct",
    "estimate",
    "export_review",
    "import_review",
    "in_windows",
    "inclusion",
    "label_id",
    "matched",
    "read_cases",
    "records_of",
    "review_agreement",
    "reviewed",
    "sampled",
    "splits",
    "systematic",
    "talks",
    "write_splits",
]
