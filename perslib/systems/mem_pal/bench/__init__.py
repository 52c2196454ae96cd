"""PAL-Bench: what a memory is worth when requirements are restated, solutions proposed and chosen, and talked over.

    who = people(corpus)
    answers, served = run([H2Memory("zh"), *baselines("zh")], who, backbone, PromptSettings("zh"))
    samples = scored(graded(answers, who, judge, PromptSettings("zh")), who)
    results(samples), differences(samples, "H²Memory"), costs(answers, served)

    dialogues = talked(begun(memories, who, backbone), user, assistant, PromptSettings("zh"))
    pairs = outcomes(judged(dialogues, judge, PromptSettings("zh"), method="H²Memory"))
    win_tie_lose(pairs), agreement_with_people(pairs, voted(read_votes("votes.csv")))

`shortened(person, history=3, logs=20)` cuts a user's months; `Faultless(corpus)` is H²Memory from the truth of a synthetic
set, without a model. Mem-PAL, section 5. What fails is recorded where it fails, left out of means, and counted beside them.
"""

from perslib.systems.mem_pal.bench.comparisons import judged, outcomes, read_votes, voted
from perslib.systems.mem_pal.bench.faultless import Faultless
from perslib.systems.mem_pal.bench.measures import best_bleu, bleu
from perslib.systems.mem_pal.bench.multi_turn import Dialogue, as_frame, begun, draw_templates, read_templates, talked
from perslib.systems.mem_pal.bench.tables import (
    agreement_with_people,
    costs,
    differences,
    results,
    scored,
    win_tie_lose,
)
from perslib.systems.mem_pal.bench.tasks import Served, graded, run
from perslib.systems.mem_pal.bench.topics import Person, Scene, Topic, people, shortened

__all__ = [
    "Dialogue",
    "Faultless",
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
    "graded",
    "judged",
    "outcomes",
    "people",
    "read_templates",
    "read_votes",
    "results",
    "run",
    "scored",
    "shortened",
    "talked",
    "voted",
    "win_tie_lose",
]
