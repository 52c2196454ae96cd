"""PAL-Bench: what a memory is worth when requirements are restated, solutions proposed and chosen, and talked over.

    who = people(corpus)
    answers, served = run([H2Memory("zh"), *baselines("zh")], who, backbone, Form("zh"))
    samples = scored(graded(answers, who, judge, Form("zh")), who)
    with_costs(results(samples), answers, served), differences(samples, "H²Memory")

    dialogues = talked(begun(memories, who, backbone), user, assistant, Form("zh"))
    pairs = outcomes(judged(dialogues, judge, Form("zh"), method="H²Memory"))
    win_tie_lose(pairs), agreement_with_people(pairs, voted(read_votes("votes.csv")))

`shortened(person, history=3, logs=20)` cuts a user's months; `Faultless(corpus)` is H²Memory from the truth of a synthetic
set, without a model. Mem-PAL, section 5. What fails is recorded where it fails, left out of means, and counted beside them.
"""

from perslib.palbench.compared import DIMENSIONS, judged, outcomes, read_votes, voted
from perslib.palbench.faultless import Faultless
from perslib.palbench.measures import (
    best_bleu,
    bleu,
    grade,
    kappa_of_decided,
    outcome,
    points,
    runs,
    tokens_of,
    vote,
)
from perslib.palbench.multi_turn import (
    PATTERNS,
    Dialogue,
    as_frame,
    begun,
    draw_templates,
    read_templates,
    talked,
    template,
)
from perslib.palbench.tables import (
    agreement_with_people,
    costs,
    differences,
    results,
    scored,
    win_tie_lose,
    with_costs,
)
from perslib.palbench.tasks import Served, graded, run
from perslib.palbench.topics import Form, Person, Scene, Topic, people, shortened

__all__ = [
    "DIMENSIONS",
    "PATTERNS",
    "Dialogue",
    "Faultless",
    "Form",
    "Person",
    "Scene",
    "Served",
    "Topic",
    "agreement_with_people",
    "as_frame",
    "begun",
    "best_bleu",
    "bleu",
    "costs",
    "differences",
    "draw_templates",
    "grade",
    "graded",
    "judged",
    "kappa_of_decided",
    "outcome",
    "outcomes",
    "people",
    "points",
    "read_templates",
    "read_votes",
    "results",
    "run",
    "runs",
    "scored",
    "shortened",
    "talked",
    "template",
    "tokens_of",
    "vote",
    "voted",
    "win_tie_lose",
    "with_costs",
]
