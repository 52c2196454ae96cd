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

from perslib.palbench.asking import Form, Spent, counted
from perslib.palbench.bleu import WEIGHTS, best_bleu, bleu, tokens_of
from perslib.palbench.compared import DIMENSIONS, judged, outcomes, read_votes, voted
from perslib.palbench.faultless import Faultless
from perslib.palbench.kappa import fleiss, kappa_of_decided, vote
from perslib.palbench.multi_turn import Dialogue, Line, as_frame, begun, talked
from perslib.palbench.pairwise import RUNS, Run, outcome, runs
from perslib.palbench.scores import GRADES, POINTS, grade, points, pooled
from perslib.palbench.tables import (
    agreement_with_people,
    costs,
    differences,
    results,
    scored,
    wide,
    win_tie_lose,
    with_costs,
)
from perslib.palbench.tasks import TASKS, Served, graded, remembered, run, serve
from perslib.palbench.templates import PATTERNS, draw_templates, read_templates, template, write_templates
from perslib.palbench.topics import Person, Scene, Topic, people, shortened

__all__ = [
    "DIMENSIONS",
    "GRADES",
    "PATTERNS",
    "POINTS",
    "RUNS",
    "TASKS",
    "WEIGHTS",
    "Dialogue",
    "Faultless",
    "Form",
    "Line",
    "Person",
    "Run",
    "Scene",
    "Served",
    "Spent",
    "Topic",
    "agreement_with_people",
    "as_frame",
    "begun",
    "best_bleu",
    "bleu",
    "costs",
    "counted",
    "differences",
    "draw_templates",
    "fleiss",
    "grade",
    "graded",
    "judged",
    "kappa_of_decided",
    "outcome",
    "outcomes",
    "people",
    "points",
    "pooled",
    "read_templates",
    "read_votes",
    "remembered",
    "results",
    "run",
    "runs",
    "scored",
    "serve",
    "shortened",
    "talked",
    "template",
    "tokens_of",
    "vote",
    "voted",
    "wide",
    "win_tie_lose",
    "with_costs",
    "write_templates",
]
